"""What the paper on surfaces reports, compared with what was measured."""

from __future__ import annotations

from typing import Any

from reporting import EXAMPLE

from mdbench.datatypes.surface.data_type import SurfaceType
from mdbench.extensions.papers.published import read_published_sets
from mdbench.extensions.papers.sets import sets_table
from mdbench.records import Record

NAMES = ("skeleton", "nmse", "chamfer", "hausdorff")
_KNOWN = {spec.name: spec for spec in SurfaceType.metrics}
SPECS = {name: _KNOWN[name] for name in NAMES}


def result(dataset: str, method: str, **changes: Any) -> Record:
    metrics = {"skeleton": 1.0, "nmse": 0.5, "chamfer": 0.1, "hausdorff": 0.3}
    given = {
        **EXAMPLE,
        "algorithm": method,
        "data_type": "surface",
        "dataset": dataset,
        "system": dataset,
        "seed": 0,
        "protocol": "strict",
        "status": "ok",
        "metrics": metrics,
    }
    return Record.model_validate(given | changes)


def rows(table: str) -> dict[tuple[str, str], list[str]]:
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    return {(row[0], row[1]): row[2:] for row in cells}


def test_the_papers_tables() -> None:
    tables = read_published_sets("surface").values["surface"]
    assert {name: len(each) for name, each in tables.items()} == {
        "explicit": 19,
        "implicit": 19,
        "parametric": 4,
    }
    assert tables["explicit"]["pysr"] == {
        "skeleton": 0.25,
        "nmse": 0.18,
        "chamfer": 0.13,
        "hausdorff": 0.41,
    }
    assert tables["parametric"]["pysr"]["hausdorff"] == 5.53
    assert all(set(row) == set(NAMES) for each in tables.values() for row in each.values())


def test_methods_of_either_side_are_rows() -> None:
    groups = {"explicit": ["a", "b"], "implicit": ["c"], "piecewise-surfaces": ["a"]}
    ones = [
        result("a", "gplearn"),
        result("b", "gplearn", status="failed", metrics={}),
        result("a", "operon"),
        result("c", "operon"),
    ]
    published = read_published_sets("surface")
    table = rows(sets_table(ones, "surface", groups, SPECS, published, every=True))
    # Nothing there counts as a surface a diagonal away: a mean of (0.1 + 2)/2.
    assert table["gplearn", "explicit"][0] == "2 of 2"
    assert table["gplearn", "explicit"][-4:] == ["0.610", "1.050", "1.090", "0.650"]
    assert table["operon", "explicit"][-4:] == ["–", "0.100", "–", "0.300"]
    assert table["operon", "implicit"][0] == "1 of 1"
    assert table["pysr", "parametric"][0] == "0 of 0"
    both = rows(sets_table(ones, "surface", groups, SPECS, published))
    assert set(both) - {("method", "set"), (":--", ":--")} == {("gplearn", "explicit")}
