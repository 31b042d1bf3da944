"""Nothing that the kernel keeps when a job has ended is found by the next one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import kept_state
import pytest
from flavours import FLAVOURS
from harness import make_workspace
from isolated import HOME, Bench
from kept_table import BEGIN, COLUMNS, DOCUMENT, END, measured

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.slow
@pytest.mark.parametrize("flavour", FLAVOURS)
def test_nothing_that_is_kept_passes(tmp_path: Path, flavour: str) -> None:
    bench = Bench(flavour, make_workspace(tmp_path, HOME), "")
    found = measured(bench)
    bench.runtime.close()
    places = {place.name: place.per for place in kept_state.PLACES}
    passed = {name for name, whether in found.items() if whether}
    assert {name for name in passed if places[name] != kept_state.MACHINE} == set()


def test_the_document_has_what_was_measured_of_each_place() -> None:
    table = DOCUMENT.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]
    assert [row[:2] for row in rows] == [[each.name, each.per] for each in kept_state.PLACES]
    for row in rows:
        assert set(row[2:]) <= {"nothing", "**passes**"}
        assert len(row) == 2 + len(COLUMNS)
        assert row[1] == kept_state.MACHINE or set(row[2:]) == {"nothing"}


def test_the_bits_are_found_where_nothing_separates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The adapter itself, twice in one process: what it tries would be seen if it passed."""
    monkeypatch.chdir(tmp_path)
    for name in (
        "rights of the job's folder",
        "times of the job's folder",
        "size of the job's folder",
    ):
        place = next(each for each in kept_state.PLACES if each.name == name)
        for bit in (0, 1):
            place.put(bit)
            assert place.get() == bit
