"""The index of `mdbench place` is that of the records in docs/results."""

from __future__ import annotations

import edition_index
import pytest

from mdbench.extensions.standings.editions import INDEX, EditionIndex


def test_the_index_is_of_all_editions() -> None:
    assert EditionIndex.read().names == tuple(edition_index.edition_names())


@pytest.mark.nightly
def test_the_index_is_that_of_the_records(capsys: pytest.CaptureFixture[str]) -> None:
    text = INDEX.read_text(encoding="utf-8")
    assert edition_index.main(["--check"]) == 0, capsys.readouterr().err
    assert INDEX.read_text(encoding="utf-8") == text
