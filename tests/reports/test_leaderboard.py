from __future__ import annotations

import math
from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING, Any

import pytest
from reporting import DROPPED, MOTION, SPECS, boards, compare, data, many, points, result, texts

from mdbench.drawing.numbers import fixed, percent
from mdbench.metrics.spec import MetricSpec
from mdbench.reports import leaderboard
from mdbench.reports.entries import Aggregated, entry, specs_of
from mdbench.reports.tables import GREY, leaderboard_table
from mdbench.reports.terminal import leaderboards

if TYPE_CHECKING:
    from mdbench.reports.leaderboard import Leaderboard, Row


def row(found: Leaderboard, method: str) -> Row:
    return next(each for each in found.rows if each.method == method)


def value(found: Leaderboard, method: str, name: str = "nmse") -> float | None:
    return row(found, method).values[name].value


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
    ranks = {each.method: each.mean_rank for each in found.rows}
    expected = {"a": 5 / 3, "b": 4.5 / 3, "c": 8.5 / 3}
    assert ranks == pytest.approx(expected)
    # The place is by the median of 1e-5, 1e-3 and a failure, of 1e-5, 1e-2 and 1e-2, ...
    assert [(each.method, each.rank) for each in found.rows] == [("a", 1), ("b", 2), ("c", 3)]
    assert value(found, "c") == math.inf
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
    assert row(found, "a").mean_rank == pytest.approx(5 / 3)
    assert row(found, "b").mean_rank == pytest.approx(4 / 3)
    assert found.pairs[0].test.n == 3


def test_seeds_are_merged_by_their_median() -> None:
    errors = (1e-4, 1e-1, None)
    records = [
        data("a", nmse=error, seed=seed, status="ok" if error else "timeout")
        for seed, error in enumerate(errors)
    ]
    assert value(compare(records), "a") == 0.1


def test_an_error_below_the_floor_counts_as_the_floor() -> None:
    records = [data("a", nmse=1e-6, floor=1e-2), data("b", nmse=9e-3, floor=1e-2)]
    found = compare(records)
    assert row(found, "a").mean_rank == row(found, "b").mean_rank == 1.5
    assert row(found, "a").rank == row(found, "b").rank == 1
    assert row(found, "a").above_floor == 1
    assert found.pairs[0].test.zeros == 1


def test_where_the_truth_states_nothing_nobody_is_ranked_and_the_data_alone_decide() -> None:
    records = [
        data("a", "noisy", nmse=1e-3, floor=1.2),
        data("b", "noisy", nmse=5.0, floor=1.2, verdict="identified"),
        data("a", "flat", nmse=0.2),
        data("b", "flat", nmse=2.5e3, verdict="identified"),  # what a method achieved counts not
        data("a", "plain", nmse=0.5, floor=0.01),
        data("b", "plain", nmse=0.1, floor=0.01),
    ]
    found = compare(records)
    assert {case.system: floor for case, floor in found.unfit.items()} == {"noisy": 1.2}
    assert found.systems == ("flat", "plain")
    assert row(found, "b").mean_rank == 1.5
    assert value(found, "b") == (2.5e3 + 0.1) / 2
    assert row(found, "b").values["identified"] == Aggregated(2 / 3, 3, 0, {})


def test_a_method_that_is_given_the_truth_is_not_ranked_and_gives_no_floor() -> None:
    given = {"truth": 0.2, "sindy": 0.1, "operon": 0.5, "zero": 1.0, "forest": 1e-9}
    found = compare([data(method, nmse=error) for method, error in given.items()])
    assert row(found, "truth").rank is None
    assert row(found, "truth").reference
    assert value(found, "sindy") == 0.1
    assert found.ranked == ("operon", "sindy")
    assert [each.method for each in found.rows] == ["sindy", "operon", "zero", "truth", "forest"]
    assert [each.standing for each in found.rows[2:]] == ["baseline", "reference", "predictor"]
    assert row(found, "forest").rank is None
    assert row(found, "zero").rank is None


def test_what_is_not_the_methods_fault_is_not_counted() -> None:
    records = [
        data("a", status="interrupted"),
        data("a", "s2", nmse=0.5),
        data("b", "s2", nmse=1.0),
    ]
    found = compare(records)
    assert row(found, "a").cases == 1
    assert row(found, "a").coverage == row(found, "b").coverage == 1
    assert value(found, "a") == 0.5
    assert row(found, "a").causes == {"interrupted": 1}
    assert row(found, "a").values["identified"].of == 1


def test_a_method_that_has_hardly_begun_is_not_ranked() -> None:
    records = [data(m, f"s{i}", nmse=0.1) for i in range(5) for m in "ab"] + [data("c", "s1")]
    found = compare(records)
    assert found.ranked == ("a", "b")
    assert len(found.systems) == 5
    assert row(found, "c").rank is None
    assert row(found, "c").coverage == 0.2
    assert found.missing == {"c": 4}


def test_failures_count_as_their_metrics_say() -> None:
    records = [
        data("a", verdict="identified", complexity=7, scores={"ended": "stiff"}),
        data("a", "s2", status="timeout"),
        data("a", "s3", status="timeout", judged_by=["nmse"]),  # nobody knows the truth
    ]
    values = row(compare(records), "a").values
    assert values["nmse"] == Aggregated(math.inf, 3, 0, {})
    assert values["identified"] == Aggregated(0.5, 2, 0, {})
    assert values["f1"] == Aggregated(0.5, 2, 0, {})
    assert values["complexity"] == Aggregated(7, 1, 0, {})
    assert values["ended"] == Aggregated(1, 1, 0, {"stiff": 1})


def test_a_flag_that_is_undecided_is_not_reached_and_a_mean_lacks_it() -> None:
    records = [
        data("a", verdict="identified"),
        data("a", "s2", scores={"identified": None, "ended": None, "f1": None}),
        data("a", "s3", nmse=None),
        *(data("b", system, nmse=0.5) for system in ("lorenz", "s2", "s3", "s4")),
        data("b", "s4", nmse=0.5, seed=1),
        data("a", "s4", nmse=0.25),
        data("a", "s4", nmse=None, seed=1),
    ]
    found = compare(records)
    values = row(found, "a").values
    assert values["identified"] == Aggregated(0.2, 5, 1, {})
    assert values["ended"] == Aggregated(0, 4, 1, {})
    assert values["f1"] == Aggregated(1.0, 4, 1, {})
    assert values["nmse"] == Aggregated(1e-3, 3, 2, {})
    assert row(found, "a").cases == 3  # nobody knows who is better on s3
    assert found.ranked == ("a", "b")
    assert found.systems == ("lorenz", "s2", "s4")


def test_what_an_answer_does_not_have_is_not_undecided() -> None:
    records = [data("a", scores={"r2_test": DROPPED}), data("a", "s2", scores={"r2_test": 0.5})]
    assert row(compare(records), "a").values["r2_test"] == Aggregated(0.5, 1, 0, {})
    known = compare(records[:1]).known
    assert "r2_test" not in {spec.name for spec in known}


def test_higher_may_be_better() -> None:
    scores = {"s1": (0.9, 0.5), "s2": (0.75, None), "s3": (None, 0.25)}
    records = [
        data(
            method,
            system,
            data_type="texts",
            scores={"accuracy": accuracy, "likelihood": accuracy},
            status="failed" if accuracy is None else "ok",
        )
        for system, each in scores.items()
        for method, accuracy in zip("ab", each, strict=True)
    ]
    found = compare(records, "texts")
    assert [one.method for one in found.rows] == ["a", "b"]
    assert [one.mean_rank for one in found.rows] == pytest.approx([4 / 3, 5 / 3])
    assert row(found, "a").values["accuracy"] == Aggregated((0.9 + 0.75 + 0.0) / 3, 3, 0, {})
    assert row(found, "b").values["likelihood"] == Aggregated(0.25, 3, 0, {})
    assert (found.pairs[0].test.wins, found.pairs[0].test.losses) == (2, 1)
    assert not found.has_floors
    assert found.weighs is None


def test_a_failure_of_what_should_be_high_is_the_lowest() -> None:
    records = [data("a", s, data_type="texts", status="crashed") for s in ("s1", "s2")]
    records.append(data("a", "s3", data_type="texts", scores={"likelihood": 0.5, "accuracy": 1}))
    records = [one | {"judged_by": ["accuracy", "likelihood"]} for one in records]
    assert row(compare(records, "texts"), "a").values["likelihood"].value == -math.inf


def test_infinite_scores_of_answers_are_no_failures() -> None:
    largest = 1.7976931348623157e308
    records = [data("a", f"s{i}", nmse=largest) for i in range(2)]
    found = compare([*records, *(data("b", f"s{i}", status="crashed") for i in range(2))])
    assert [one.method for one in found.rows] == ["a", "b"]
    assert value(found, "a") == 1e300


def test_of_a_data_type_that_is_not_here_metrics_are_made_of_names() -> None:
    records = [
        data("a", data_type="new", scores={"loss": 0.5, "ending": "late"}),
        data("b", data_type="new", scores={"loss": 0.25, "ending": "early"}),
    ]
    found = boards(records)["new"]
    assert [one.method for one in found.rows] == ["b", "a"]
    assert [(spec.title, spec.kind) for spec in found.specs] == [
        ("loss", "number"),
        ("ending", "label"),
    ]
    assert specs_of([result(data_type="none", metrics={}, judged_by=[])], {})["none"]


@pytest.mark.parametrize(
    ("better", "scores", "badness"),
    [
        ("lower", (0.0, 0.5, 0.75), [0.0, 0.5, 0.75]),
        ("higher", (0.0, 0.5, 0.75), [1.0, 0.5, 0.25]),
        ("lower", (0.0, 5.0, 7.0, 9.0), [0.0, 0.25, 0.5, 0.75]),
        ("higher", (0.0, 5.0, 7.0, 9.0), [0.75, 0.5, 0.25, 0.0]),
        ("higher", (-0.5, 0.5), [0.5, 0.0]),
    ],
)
def test_badness_goes_by_value_or_by_place(
    better: Any, scores: tuple[float, ...], badness: list[float]
) -> None:
    spec = replace(MOTION[0], better=better, scale="linear", resolution=0.0)
    entries = [entry(result(dataset=str(n), nmse=s), [spec]) for n, s in enumerate(scores)]
    found = leaderboard.board(entries, {}, [spec])
    assert [found.badness(score) for score in scores] == badness


def test_of_one_method_or_none_there_are_no_tests() -> None:
    assert compare([data("a")]).friedman is None
    assert compare([data("a")]).pairs == ()
    assert compare([]).rows == ()


def test_medians_are_those_of_the_jobs() -> None:
    records = [one for one in many() if one["protocol"] == "strict"]
    found = compare(records)
    assert found.unfit
    for method in ("operon", "linear"):
        expected, cases = [], set()
        unfit = {tuple(case) for case in found.unfit}
        for r in records:
            score = r["metrics"].get("nmse", math.inf)
            case = (r["dataset"], r["snr_db"], r["protocol"])
            tried = r["status"] != "interrupted" and score is not None and case not in unfit
            if r["algorithm"] == method and tried:
                expected.append(max(score, r["floor"], 1e-12))
                cases.add(case)
        got = row(found, method)
        assert got.fit_cases == len(cases)
        middle = got.values["nmse"].value
        assert middle == pytest.approx(median(expected), rel=1e-4)
        assert middle is not None
        assert got.low is not None
        assert got.high is not None
        assert got.low <= middle <= got.high


@pytest.mark.parametrize("data_type", SPECS)
def test_the_terminal_has_the_same_numbers(data_type: str) -> None:
    records = {"ode": many(), "texts": texts(), "points": points()}[data_type]
    table, other = leaderboards(boards(records))
    found = compare(records, data_type)
    shown = [[str(cell) for cell in column.cells] for column in table.columns]
    apart = {"baseline", "reference"}
    assert shown[1] == [f"{r.method}*" if r.standing in apart else r.method for r in found.rows]
    assert shown[0] == [fixed(r.rank) for r in found.rows]
    assert shown[2] == [percent(r.coverage, "") for r in found.rows]
    heads = [str(column.header) for column in table.columns]
    assert (heads[5] == "✓") == (data_type == "ode")
    assert "could not decide" in str(table.caption)
    assert str(table.title).startswith(f"{data_type}, limit 60 s, strict: ")
    assert str(other.title).startswith(f"{data_type}, limit 60 s, published: ")
    grey = [n for n, each in enumerate(table.rows) for n in [n] * (found.rows[n].coverage < 1)]
    for column in table.columns:
        styles = [getattr(cell, "style", "") for cell in column.cells]
        assert [n for n, style in enumerate(styles) if style == GREY] == grey


def test_the_terminal_has_counts_of_marks_and_shares_of_other_flags() -> None:
    records = [
        data("a", verdict="identified", scores={"follows": 1.0}),
        data("a", "s2", scores={"follows": 0.0}),
        data("a", "s3", scores={"follows": 1.0}),
        data("a", "s4", status="interrupted"),
    ]
    (table,) = leaderboards(boards(records))
    shown = {str(column.header): str(next(iter(column.cells))) for column in table.columns}
    assert (shown["✓"], shown["R²\ntest"], shown["jobs"]) == ("1/3", "67%", "4")


def test_a_board_says_which_conditions_it_counts_together() -> None:
    alike = [data("a", f"law-{n}+noise=0.1") for n in range(3)]
    unlike = [*alike, *(data("a", f"law-{n}") for n in range(3))]
    for records, expected in ((alike, False), (unlike, True)):
        (table,) = leaderboards(boards(records))
        note = "Datasets under 2 conditions are counted together, each as a system of its own: "
        assert (f"{note}none, noise=0.1." in str(table.caption)) == expected


@pytest.mark.parametrize("data_type", SPECS)
def test_the_terminal_names_the_columns_that_it_leaves_out(data_type: str) -> None:
    records = {"ode": many(), "texts": texts(), "points": points()}[data_type]

    def heads(width: int) -> tuple[set[str], str]:
        table = next(leaderboards(boards(records), width))
        shown = {" ".join(str(column.header).split()) for column in table.columns}
        return shown, " ".join(str(table.caption).split())

    whole, caption = heads(1000)
    assert "Left out" not in caption
    for width in (20, 40, 60, 80, 100, 200):
        shown, caption = heads(width)
        _, _, left = caption.partition(f"Left out, as {width} columns are too few: ")
        named = {*left.partition(".")[0].split(", ")} if left else set()
        assert named == whole - shown


def test_scores_round_to_six_digits_and_misfits_are_undecided() -> None:
    assert entry(result(nmse=1.23456789e-5), MOTION).values["nmse"] == 1.23457e-5
    odd = entry(result(scores={"nmse": "text", "ended": "unheard-of"}), MOTION)
    assert (odd.values["nmse"], odd.values["ended"]) == (None, None)


def test_a_label_needs_no_order_and_flags_are_shares() -> None:
    with pytest.raises(ValueError, match="aggregated"):
        MetricSpec(name="x", title="x", explanation="", kind="flag")


@pytest.mark.parametrize("status", ["ok", "interrupted"])
def test_counts_of_nothing_have_no_column(status: str) -> None:
    """What counts faults has a column from the first one on, and while one is undecided."""

    def shown(*ends: str | None) -> bool:
        records = [
            data("a", f"s{n}", scores={"ended": end}, status=status) for n, end in enumerate(ends)
        ]
        keys = [column.key for column in leaderboard_table(compare(records)).columns]
        return "ended" in keys

    assert not shown("whole", "whole")
    assert shown("whole", "stiff") == (status == "ok")
    assert shown("whole", None) == (status == "ok")
