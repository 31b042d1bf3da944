from __future__ import annotations

import math
from statistics import median
from typing import TYPE_CHECKING, Any

import pytest
from reporting import data, many, result

from mdbench.reports.entries import entry
from mdbench.reports.leaderboard import Board, Kind, Row, board
from mdbench.reports.results import Result, report_order
from mdbench.reports.terminal import leaderboards

if TYPE_CHECKING:
    from collections.abc import Iterable

KINDS = {"truth": Kind("baseline", reference=True), "sindy": Kind("linear")}


def compare(records: Iterable[dict[str, Any]]) -> Board:
    results = sorted((Result.model_validate(one) for one in records), key=report_order)
    return board([entry(one) for one in results], KINDS)


def row(found: Board, method: str) -> Row:
    return next(each for each in found.rows if each.method == method)


def test_ranks_are_worked_out_by_hand() -> None:
    errors = {  # system: errors of a, b, c; None is a failure
        "s1": (1e-3, 1e-2, None),
        "s2": (None, 1e-2, None),
        "s3": (1e-5, 1e-5, 1e-1),
    }
    records = [
        data(method, system, nmse=error, status="ok" if error else "crashed")
        for system, row in errors.items()
        for method, error in zip("abc", row, strict=True)
    ]
    found = compare(records)
    # s1: 1 2 3; s2: 2.5 1 2.5; s3: 1.5 1.5 3
    ranks = {each.method: each.rank for each in found.rows}
    expected = {"a": 5 / 3, "b": 4.5 / 3, "c": 8.5 / 3}
    assert ranks == pytest.approx(expected)
    assert [each.method for each in found.rows] == ["b", "a", "c"]
    assert row(found, "c").median == math.inf
    assert row(found, "c").causes == {"crashed": 2}
    test = next(pair for pair in found.pairs if (pair.method, pair.other) == ("a", "c"))
    assert (test.test.n, test.test.zeros, test.test.wins, test.test.losses) == (3, 1, 2, 0)


def test_noise_levels_of_a_system_are_one_vote() -> None:
    # a is better on all five levels of s1, b on the one of s2 and s3: b wins 2 to 1.
    records = [
        data(method, "s1", snr_db=snr, nmse=error)
        for snr in (None, 40.0, 30.0, 20.0, 10.0)
        for method, error in (("a", 1e-4), ("b", 1e-2))
    ]
    records += [
        data(method, system, nmse=error)
        for system in ("s2", "s3")
        for method, error in (("a", 1e-2), ("b", 1e-4))
    ]
    found = compare(records)
    assert row(found, "a").rank == pytest.approx(5 / 3)
    assert row(found, "b").rank == pytest.approx(4 / 3)
    assert found.pairs[0].test.n == 3


def test_seeds_are_merged_by_their_median() -> None:
    errors = (1e-4, 1e-1, None)
    records = [
        data("a", nmse=error, seed=seed, status="ok" if error else "timeout")
        for seed, error in enumerate(errors)
    ]
    assert row(compare(records), "a").median == 0.1


def test_an_error_below_the_floor_counts_as_the_floor() -> None:
    records = [data("a", nmse=1e-6, floor=1e-2), data("b", nmse=9e-3, floor=1e-2)]
    found = compare(records)
    assert row(found, "a").rank == row(found, "b").rank == 1.5
    assert row(found, "a").above_floor == 1
    assert found.pairs[0].test.zeros == 1


def test_where_the_truth_fails_errors_do_not_count() -> None:
    records = [
        data("a", "noisy", nmse=1e-3, floor=1.2, verdict="different"),
        data("b", "noisy", nmse=5.0, floor=1.2, verdict="identified"),
        data("a", "flat", nmse=1e-3, verdict="different"),
        data("b", "flat", nmse=2.5e3, verdict="identified"),
        data("a", "plain", nmse=0.5, verdict="different"),
        data("b", "plain", nmse=0.1, verdict="different"),
    ]
    found = compare(records)
    assert {case.system: reason for case, reason in found.unfit.items()} == {
        "noisy": "the true equations score 1.2",
        "flat": "an identified equation scores 2.5e+03",
    }
    assert found.systems == ("plain",)
    assert (row(found, "b").rank, row(found, "b").median) == (1, 0.1)
    assert (row(found, "b").identified, row(found, "b").judged) == (2, 3)


def test_a_method_that_is_told_the_truth_is_not_ranked_and_gives_the_floor() -> None:
    records = [data("truth", nmse=0.2), data("sindy", nmse=0.1), data("zero", nmse=1.0)]
    found = compare(records)
    assert row(found, "truth").rank is None
    assert row(found, "truth").reference
    assert row(found, "sindy").median == 0.2
    assert found.ranked == ("sindy", "zero")


def test_what_says_nothing_about_a_method_is_not_counted() -> None:
    records = [
        data("a", status="interrupted"),
        data("a", "s2", nmse=0.5),
        data("b", "s2", nmse=1.0),
    ]
    found = compare(records)
    assert row(found, "a").cases == 1
    assert row(found, "a").median == 0.5
    assert row(found, "a").causes == {"interrupted": 1}
    assert row(found, "a").judged == 1


def test_a_method_that_has_hardly_begun_is_not_ranked() -> None:
    records = [data(m, f"s{i}", nmse=0.1) for i in range(5) for m in "ab"] + [data("c", "s1")]
    found = compare(records)
    assert found.ranked == ("a", "b")
    assert len(found.systems) == 5
    assert row(found, "c").rank is None


def test_failures_count_as_not_identified() -> None:
    records = [data("a", verdict="identified"), data("a", "s2", status="timeout")]
    found = row(compare(records), "a")
    assert (found.identified, found.judged, found.f1) == (1, 2, 0.5)


def test_without_verdicts_nothing_is_said_to_be_identified() -> None:
    found = row(compare([data("a", verdict=None), data("a", "s2", status="timeout")]), "a")
    assert found.judged == 0


def test_of_one_method_or_none_there_are_no_tests() -> None:
    assert compare([data("a")]).friedman is None
    assert compare([data("a")]).pairs == ()
    assert compare([]).rows == ()


def test_medians_are_those_of_the_cases() -> None:
    records = many()
    found = compare(records)
    for method in ("operon", "zero"):
        by_case: dict[tuple[Any, ...], list[float]] = {}
        floors = {
            (r["dataset"], r["snr_db"]): r["metrics"]["nmse_floor"] for r in records if r["metrics"]
        }
        for r in records:
            if r["algorithm"] == method and r["status"] != "interrupted":
                case = (r["dataset"], r["snr_db"], r["protocol"])
                error = r["metrics"].get("nmse", math.inf)
                by_case.setdefault(case, []).append(max(error, 1e-12))
        unfit = {tuple(case) for case in found.unfit}
        expected = [median(errors) for case, errors in by_case.items() if case not in unfit]
        assert len(expected) == row(found, method).fit_cases
        assert len(floors) == 27
        got = row(found, method)
        assert got.low is not None
        assert got.median is not None
        assert got.high is not None
        assert got.low <= got.median <= got.high


def test_the_terminal_has_the_same_numbers() -> None:
    results = [Result.model_validate(one) for one in many()]
    (table,) = leaderboards(results, KINDS)
    found = compare(many())
    names = [str(cell) for cell in table.columns[1].cells]
    assert names == [f"{r.method}*" if r.reference else r.method for r in found.rows]
    assert str(next(iter(table.columns[0].cells))) == f"{found.rows[0].rank:.2f}"


def test_results_round_to_six_digits() -> None:
    assert entry(result(nmse=1.23456789e-5)).nmse == 1.23457e-5


def motion(r2: float | None, unseen: float | None, ended: str = "whole") -> dict[str, Any]:
    return {"r2": r2, "r2_unseen": unseen, "ended": ended}


def test_trajectories_that_hold_are_counted_by_hand() -> None:
    records = [
        data("a", "s1", simulation=motion(0.95, 0.89)),
        data("a", "s2", simulation=motion(0.9, 0.99)),  # 0.9 is not above 0.9
        data("a", "s3", simulation=motion(0.99, None, "blew_up")),
        data("a", "s4", simulation=motion(None, 0.99, "late")),
        data("a", "s5", simulation=motion(0.99, None)),  # no second initial condition
        data("a", "s6", status="timeout"),
        data("a", "s7", status="interrupted"),
        data("a", "s8", simulation=motion(0.99, 0.99), seed=1),
    ]
    found = row(compare(records), "a")
    assert (found.holds, found.simulated) == (4, 7)
    assert (found.holds_unseen, found.simulated_unseen) == (3, 6)
    assert found.ended == {"blew_up": 1, "late": 1}


def test_the_terminal_has_shares_and_residuals() -> None:
    records = [
        data("a", simulation=motion(0.95, 0.2), residual=0.25),
        data("a", "s2", simulation=motion(0.95, 0.95), residual=4.0),
        data("a", "s3", simulation=motion(0.2, None), residual=1.0),
        data("a", "s4", status="interrupted"),
    ]
    (table,) = leaderboards([Result.model_validate(one) for one in records], KINDS)
    shown = {str(column.header): str(next(iter(column.cells))) for column in table.columns}
    assert (shown["R2>.9"], shown["resid"], shown["jobs"]) == ("66/50%", "1.0e0", "4")
    (table,) = leaderboards([result("a", simulation=None, residual=None)], KINDS)
    assert not {"R2>.9", "resid", "jobs"} & {str(column.header) for column in table.columns}


def test_without_simulations_none_is_said_to_have_failed() -> None:
    records = [data("a", simulation=None), data("a", "s2", status="timeout")]
    found = row(compare(records), "a")
    assert (found.simulated, found.simulated_unseen, found.ended) == (0, 0, {})


def test_a_residual_is_missing_for_all_or_is_a_failure() -> None:
    records = [
        data("a", "s1", residual=0.25),
        data("a", "s2", residual=1.0),
        data("b", "s1", residual=None),  # undefined on clean data, where that of a is not
        data("b", "s2", residual=4.0),
        data("c", "s1", status="crashed"),
        data("c", "s2", status="crashed"),
        *(data(method, "s3", residual=None) for method in "abc"),  # known of nobody
    ]
    found = compare(records)
    assert [row(found, m).residual for m in "abc"] == [0.625, math.inf, math.inf]
    assert row(compare([data("a", residual=None)]), "a").residual is None


def test_solutions_and_edit_distances_are_counted_by_hand() -> None:
    def scores(accurate: float, solution: float | None, distance: float) -> dict[str, float]:
        made = {"r2_accuracy": accurate, "normalized_edit_distance": distance}
        return made if solution is None else {**made, "solution": solution}

    records = [
        data("a", "s1", scores=scores(1.0, 1.0, 0.0)),
        data("a", "s2", scores=scores(1.0, 0.0, 0.5)),
        data("a", "s3", scores=scores(0.0, None, 1.0)),  # nobody knows whether it is a solution
        data("a", "s4", status="timeout"),
        data("a", "s5", status="interrupted"),
        data("b", "s1", status="timeout"),
    ]
    found = row(compare(records), "a")
    assert (found.accurate, found.tabled) == (2, 4)
    assert (found.solved, found.compared) == (1, 3)
    assert found.distance == (0.0 + 0.5 + 1.0 + 1.0) / 4
    failed = row(compare(records), "b")
    assert (failed.accurate, failed.tabled, failed.solved, failed.compared) == (0, 1, 0, 1)
    assert failed.distance == 1.0
    # Without a table there is nothing to count.
    other = row(compare([data("a"), data("a", "s2", status="timeout")]), "a")
    assert (other.tabled, other.compared, other.distance) == (0, 0, None)
