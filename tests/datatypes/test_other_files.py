"""A table that is given to a data type that reads descriptions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from harness import ROOT

from mdbench.datatypes import find
from mdbench.errors import DataError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("kind", ["srsd", "derivation"])
@pytest.mark.parametrize("name", ["mine.txt", "mine.csv", "mine"])
def test_a_table_is_no_description(tmp_path: Path, kind: str, name: str) -> None:
    path = tmp_path / name
    path.write_text("t,x\n0,1\n")
    with pytest.raises(DataError, match="is not a TOML file") as caught:
        find(kind, ROOT / "datasets" / kind, tmp_path).source(path)
    assert "--data-type real" in caught.value.hint
    assert "valid TOML" not in str(caught.value)
