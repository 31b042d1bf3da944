"""The door by which formats of data files come in: a reader of somebody else's, and the pages."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from harness import ROOT

from mdbench.data.csv import read_columns
from mdbench.data.field_files import refuse_tables
from mdbench.data.readers import READERS, choice, ending_of, endings, reader_of, stem_of
from mdbench.datatypes import find
from mdbench.datatypes.facts import Protocol
from mdbench.errors import DataError, UnavailableError

if TYPE_CHECKING:
    from pathlib import Path

    from mdbench.datatypes.base import Source

PAGE = (ROOT / "docs" / "datasets.md").read_text(encoding="utf-8")
TYPES = {"series": "ode", "table": "real", "field": "pde", "points": "surface"}
T = np.arange(60) / 10
X = 2 * np.exp(-0.3 * T)

ARRAYS = """
import json

import numpy as np

from mdbench.data.field_files import Variable
from mdbench.data.formats.arrays import ArraysReader


class JsonArrays(ArraysReader):
    def variables(self, path):
        arrays = json.loads(path.read_text())
        return {name: Variable(np.array(array)) for name, array in arrays.items()}


ARRAYS = JsonArrays()
"""


def code(language: str, words: str) -> str:
    """Return the block of code of the page that has some words."""
    blocks = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    [block] = [block for block in blocks if words in block]
    return str(block)


@pytest.fixture
def extensions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of extensions with that of the page, which is looked at."""
    folder = tmp_path / "extensions"
    (folder / "json_lines").mkdir(parents=True)
    points = code("ini", "mdbench.readers") + ".jarr = json_lines.arrays:ARRAYS\n"
    points += ".odd.gz = json_lines.missing:ODD\n"
    (folder / "json_lines" / "entry_points.txt").write_text(points)
    (folder / "json_lines" / "reader.py").write_text(code("python", "JSON_LINES"))
    (folder / "json_lines" / "arrays.py").write_text(ARRAYS)
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name in ("json_lines", "json_lines.reader", "json_lines.arrays"):
        monkeypatch.setitem(sys.modules, name, None)
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setenv("MDBENCH_EXTENSIONS", str(folder))
    return folder


def source(kind: str, path: Path, cache: Path) -> Source[Any]:
    return find(kind, ROOT / "datasets" / kind, cache).source(path)


def json_lines(path: Path) -> Path:
    rows = [f'{{"t": {t!r}, "x": {x!r}}}' for t, x in zip(T.tolist(), X.tolist(), strict=True)]
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.mark.usefixtures("extensions")
@pytest.mark.parametrize("name", ["mine.jsonl", "Mine.of.2026.JSONL"])
@pytest.mark.parametrize("in_a_folder", [False, True])
def test_a_series_of_another_format(tmp_path: Path, name: str, in_a_folder: bool) -> None:
    (tmp_path / "data").mkdir()
    path = json_lines(tmp_path / "data" / name)
    found = source("ode", path.parent if in_a_folder else path, tmp_path)
    assert found.names() == [path.name[: -len(".jsonl")]] == [stem_of(path)]
    data = found.load(found.names()[0], snr_db=None, seed=0, protocol=Protocol.STRICT)
    np.testing.assert_array_equal(data.clean.t, T)
    np.testing.assert_array_equal(data.clean.u[:, 0], X)


@pytest.mark.usefixtures("extensions")
def test_a_table_of_another_format(tmp_path: Path) -> None:
    found: Any = source("real", json_lines(tmp_path / "mine.jsonl"), tmp_path)
    assert found.names() == ["mine"]
    table = found.table("mine")
    np.testing.assert_array_equal(table.x[:, 0], T)
    np.testing.assert_array_equal(table.y, X)


@pytest.mark.usefixtures("extensions")
def test_arrays_of_another_format(tmp_path: Path) -> None:
    series = tmp_path / "series.jarr"
    series.write_text(f'{{"t": {T.tolist()}, "u": {X[:, None].tolist()}}}')
    data = source("ode", series, tmp_path).load(
        "series", snr_db=None, seed=0, protocol=Protocol.STRICT
    )
    np.testing.assert_array_equal(data.clean.u[:, 0], X)
    u = np.add.outer(np.arange(20.0), T)
    field = tmp_path / "field.jarr"
    field.write_text(f'{{"t": {T.tolist()}, "x": {list(range(20))}, "u": {u.tolist()}}}')
    np.testing.assert_array_equal(reader_of(field).field(field).u[..., 0], u)


@pytest.mark.usefixtures("extensions")
def test_endings_of_others_stand_in_messages(tmp_path: Path) -> None:
    wrong = tmp_path / "mine.sav"
    wrong.write_bytes(b"")
    (tmp_path / "empty").mkdir()
    for kind in ("ode", "real"):
        with pytest.raises(DataError, match=r"\.jsonl"):
            _ = source(kind, wrong, tmp_path).names()
        with pytest.raises(DataError, match=r"\.jsonl"):
            _ = source(kind, tmp_path / "empty", tmp_path).names()
    with pytest.raises(DataError, match=r"\.jarr") as caught:
        source("pde", wrong, tmp_path)
    assert ".jsonl" not in str(caught.value)
    with pytest.raises(DataError, match="needs a grid"):
        refuse_tables(json_lines(tmp_path / "mine.jsonl"))


@pytest.mark.usefixtures("extensions")
def test_a_reader_that_cannot_be_loaded_hinders_no_others(tmp_path: Path) -> None:
    path = tmp_path / "mine.odd.gz"
    path.write_bytes(b"")
    assert ending_of(path) == ".odd.gz"
    with pytest.raises(UnavailableError, match=r"\.odd\.gz \(json_lines\.missing:ODD\)"):
        reader_of(path).series(path)
    assert source("ode", json_lines(tmp_path / "mine.jsonl"), tmp_path).names() == ["mine"]


def test_without_the_folder_its_ending_is_not_known(tmp_path: Path) -> None:
    assert ".jsonl" not in endings("series")
    with pytest.raises(DataError, match=r"ends in \.jsonl"):
        source("ode", json_lines(tmp_path / "mine.jsonl"), tmp_path)


@pytest.mark.parametrize("view", TYPES)
def test_what_a_format_does_not_have_is_refused(tmp_path: Path, view: str) -> None:
    for ending in READERS.names():
        reader = READERS.load(ending)
        if view not in reader.views:
            with pytest.raises(DataError, match="cannot be read as") as caught:
                getattr(reader, view)(tmp_path / f"mine{ending}")
            assert choice(view) in caught.value.hint  # type: ignore[arg-type]


def test_arrays_in_the_place_of_a_table(tmp_path: Path) -> None:
    np.savez(tmp_path / "mine.npz", t=T, x=X)
    with pytest.raises(DataError, match="cannot be read as a table"):
        read_columns(tmp_path / "mine.npz")


def rows_of(head: str) -> list[list[str]]:
    table = PAGE[PAGE.index(head) :].split("\n\n", 1)[0].splitlines()[2:]
    return [line.strip("|").split("|") for line in table]


def test_the_table_of_the_page_has_all_endings() -> None:
    listed = {}
    for first, _, types in rows_of("| ending | what | data types |"):
        for ending in re.findall(r"`(\.[^`]+)`", first):
            listed[ending] = set(re.findall(r"`(\w+)`", types))
    assert listed == {
        ending: {TYPES[view] for view in READERS.load(ending).views} for ending in READERS.core
    }
    fields = " ".join(first for first, *_ in rows_of("| ending | names | notes |"))
    assert set(re.findall(r"`(\.[^`]+)`", fields)) == set(endings("field"))
