from __future__ import annotations

import re
from typing import Any

import pytest
from reporting import compare, data, many

from mdbench.reports.figures import cell_of, heat_map


def text(accuracy: float | None, system: str = "a", **changes: Any) -> dict[str, Any]:
    return data("m", system, data_type="texts", scores={"accuracy": accuracy}, **changes)


@pytest.mark.parametrize(
    ("records", "kind", "shown"),
    [
        ([data(verdict="identified")], "found", "✓"),
        ([data(verdict="one_term_off")], "near", "±1"),
        ([data(scores={"identified": 1.0, "one_term_off": 1.0})], "found", "✓"),
        ([data(scores={"identified": None}, nmse=3e-5)], "off e2", "−5"),
        ([data(nmse=3e4)], "off e5", "4"),
        ([data(nmse=1.7e308)], "off e5", "∞"),
        ([data(nmse=0.0)], "off e0", "exact"),
        ([data(nmse=None)], "unknown", "?"),
        ([data(verdict="identified", agreement=0.5)], "found", "✓⚠"),
        ([data(status="crashed")], "failed", "✗"),
        ([data(status="interrupted")], "missing", ""),
        ([data(verdict="identified"), data(nmse=0.5, seed=1)], "off e4", "−1"),
        ([data(verdict="identified"), data(status="interrupted", seed=1)], "found", "✓"),
        ([data(nmse=0.5), data(nmse=None, seed=1)], "unknown", "?"),
    ],
)
def test_cells_of_the_heat_map(records: list[dict[str, Any]], kind: str, shown: str) -> None:
    found = compare(records)
    assert cell_of(found, found.entries) == (kind, shown)


@pytest.mark.parametrize(
    ("accuracy", "kind", "shown"),
    [(1.0, "off e0", "1.00"), (0.5, "off e2", "0.50"), (0.0, "off e5", "0.00⚠")],
)
def test_linear_scores_have_two_digits_and_a_shade(accuracy: float, kind: str, shown: str) -> None:
    found = compare([text(accuracy)], "texts")
    assert cell_of(found, found.entries) == (kind, shown)


def test_the_heat_map_has_a_cell_for_every_result_and_marks_who_ranks_nobody() -> None:
    found = compare(many())
    svg = heat_map(found, 10.0)
    assert svg.count("<g class=") == 9 * 5
    unfit = {case.system for case in found.unfit if case.snr_db == 10.0}
    assert unfit
    assert set(re.findall(r">([^<]*) \*<", svg)) == unfit
    alarmed = heat_map(compare([data(agreement=0.5)]), None)
    assert "<title>agreement is worse than 1.0e-4</title>" in alarmed


def test_long_names_are_whole_in_two_lines() -> None:
    names = [f"improved-logistic-equation-harvesting{end}" for end in ("", "-dimensionless")]
    names += ["lorenz", "a" * 80]
    svg = heat_map(compare([data("a", name) for name in names]), None)
    written = [re.sub("<title>.*?</title>|<[^>]*>", "", each) for each in svg.split("</text>")]
    assert set(names) <= set(written)
    assert svg.count("<tspan") == 2 * 3
