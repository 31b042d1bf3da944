from __future__ import annotations

import re

import pytest
from reporting import data, many

from mdbench.reports.entries import Case, entry
from mdbench.reports.heat import _short, cell_of, heat_map
from mdbench.reports.leaderboard import Board, Kind, board
from mdbench.reports.results import Result


def comparison(records: list[dict[str, object]]) -> Board:
    found = [entry(Result.model_validate(one)) for one in records]
    return board(found, {"truth": Kind("baseline", reference=True)})


@pytest.mark.parametrize(
    ("records", "kind", "text"),
    [
        ([data(verdict="identified")], "found", "✓"),
        ([data(verdict="one_term_off")], "near", "±1"),
        ([data(nmse=3e-5)], "off e2", "−5"),
        ([data(nmse=3e4)], "off e5", "4"),
        ([data(nmse=0.0)], "off e0", "exact"),
        ([data(status="crashed")], "failed", "✗"),
        ([data(status="interrupted")], "missing", ""),
        ([data(verdict="identified"), data(verdict="different", nmse=0.5)], "off e4", "−1"),
        ([data(verdict="identified"), data(status="interrupted")], "found", "✓"),
    ],
)
def test_cells_of_the_heat_map(records: list[dict[str, object]], kind: str, text: str) -> None:
    assert cell_of(comparison(records).entries) == (kind, text)


def test_the_heat_map_has_a_cell_for_every_result_and_marks_the_unfit() -> None:
    found = comparison(many())
    svg = heat_map(found, 10.0)
    assert svg.count("<g ") == 9 * 5
    unfit = {case.system for case in found.unfit if case.snr_db == 10.0}
    assert unfit
    assert set(re.findall(r">([^<]*) \*<", svg)) == unfit
    assert isinstance(next(iter(found.unfit)), Case)


def test_long_names_stay_different() -> None:
    names = [f"improved-logistic-equation-harvesting{end}" for end in ("", "-dimensionless")]
    assert [len(_short(name)) for name in names] == [32, 32]
    assert _short(names[0]) != _short(names[1])
    assert _short("lorenz") == "lorenz"
    svg = heat_map(comparison([data("a", name) for name in names]), None)
    assert all(f"<title>{name}</title>" in svg for name in names)
