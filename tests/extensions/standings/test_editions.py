"""The index of what methods identified, and the rank of a method in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from reporting import EXAMPLE, data

from mdbench.extensions.standings.editions import (
    INDEX,
    EditionIndex,
    Standing,
    make_index,
    verdicts_of,
)
from mdbench.records import Record

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

JOBS = ("a", "b", "c", "d")


def record(method: str, job: str, right: bool, work_s: float = 2.0, **changes: Any) -> Record:
    budget = {**EXAMPLE["budget"], "work_s": work_s}
    made = data(method, job, identified=float(right), budget=budget, snr_db=None, seed=0)
    return Record.model_validate({**made, "dataset_path": None, "part": "", **changes})


def records(method: str, right: str, **changes: Any) -> list[Record]:
    """Return records of a method: of each job, whether it is identified, as ``1`` or ``0``."""
    jobs = zip(JOBS, right, strict=False)
    return [record(method, job, letter == "1", **changes) for job, letter in jobs]


EDITION = [
    *records("best", "1110"),
    *records("middle", "1100"),
    *records("last", "1000"),
    *records("short", "11"),
    *records("longer", "1111", work_s=10.0),
    *records("zero", "1111"),
]


def made(rows: list[Record] = EDITION) -> EditionIndex:
    return make_index(rows, ["edition-0"], {"zero"}, lambda name: "‡" * (name == "best"))


def standing(own: str, rows: list[Record] = EDITION, **changes: Any) -> Standing:
    (only,) = made(rows).standings(records("mine", own, **changes), "mine")
    return only


@pytest.mark.parametrize(
    ("own", "rank", "of"),
    [("1111", 1, 4), ("1110", 1, 4), ("1100", 2, 4), ("0001", 3, 4), ("0000", 4, 4), ("11", 1, 5)],
)
def test_a_rank_is_one_more_than_the_methods_that_identify_more(
    own: str, rank: int, of: int
) -> None:
    ours = standing(own)
    assert (ours.row.rank, len(ours.rows)) == (rank, of)
    assert ours.row.identified == own.count("1")
    assert (ours.row.wins, ours.row.losses) == (0, 0)


def test_wins_and_losses_are_of_the_same_jobs() -> None:
    rows = {row.method: (row.wins, row.losses) for row in standing("0101").rows}
    assert rows == {"mine": (0, 0), "best": (1, 2), "middle": (1, 1), "last": (2, 1)}


def test_what_one_alone_identifies_and_what_it_misses() -> None:
    ours = standing("0001")
    assert ours.only_mine == ["d"]
    assert ours.missed == [("a", 3), ("b", 2)]  # of three others; c has one alone
    assert standing("1110").only_mine == []


@pytest.mark.parametrize(
    ("own", "alone", "unlike_better"),
    [
        ("0001", ["a"], ["a", "b"]),  # best and middle are better, last has as many
        ("0110", ["a"], ["a"]),
        ("1001", [], ["b", "c"]),  # middle has as many
        ("0111", ["a"], []),  # nobody is better
        ("0000", ["a"], ["a"]),
        ("1111", [], []),
    ],
)
def test_what_it_alone_misses_of_all_and_of_the_better_methods(
    own: str, alone: list[str], unlike_better: list[str]
) -> None:
    ours = standing(own)
    assert ours.missed_by_it_alone == alone
    assert ours.missed_unlike_better == unlike_better


def test_where_nobody_can_be_compared_nothing_is_missed_by_it_alone() -> None:
    rows = [*records("short", "11"), record("other", "c", right=True)]
    (ours,) = made(rows).standings(records("mine", "0000"), "mine")
    assert (ours.compared, ours.missed_by_it_alone, ours.missed_unlike_better) == ({}, [], [])


def test_only_the_same_budget_noise_and_data_are_compared() -> None:
    (only,) = made().standings(records("mine", "1111", work_s=10.0), "mine")
    assert [row.method for row in only.rows] == ["mine", "longer"]
    for changes in ({"work_s": 5.0}, {"snr_db": 20.0}, {"seed": 1}, {"protocol": "published"}):
        assert made().standings(records("mine", "1111", **changes), "mine") == []
    own_data = records("mine", "1111", dataset_path="a.csv")
    assert made().standings(own_data, "mine") == []


def test_a_method_with_fewer_jobs_is_not_ranked_and_jobs_that_nobody_has_are_counted() -> None:
    more = [*records("mine", "1000"), record("mine", "new", right=True)]
    (ours,) = made().standings(more, "mine")
    assert "short" not in ours.compared
    assert ours.others.keys() - ours.compared.keys() == {"short"}
    assert (ours.unknown, len(ours.own)) == (1, 4)


def test_the_edition_s_own_record_of_a_method_is_no_rival_of_its_new_one() -> None:
    (ours,) = made().standings(records("best", "0000"), "best")
    assert [(row.rank, row.method) for row in ours.rows] == [
        (1, "middle"),
        (2, "last"),
        (3, "best"),
    ]


def test_failures_and_undecided_answers_are_not_identified_and_no_attempt_is_no_job() -> None:
    rows = [
        record("mine", "a", right=True, status="failed", equations=None, metrics={}),
        record("mine", "b", right=True, metrics={**data()["metrics"], "identified": None}),
        record("mine", "c", right=True, status="unavailable", equations=None, metrics={}),
    ]
    (verdicts,) = (methods["mine"] for methods in verdicts_of(rows).values())
    assert verdicts == {"a": "0", "b": "0"}


def test_the_newest_record_counts() -> None:
    def at(day: int, *, right: bool) -> Record:
        measured = {**data()["measured"], "started": f"2026-11-{day:02}T00:00:00Z"}
        return record("mine", "a", right=right, measured=measured)

    rows = [at(20, right=True), at(25, right=False), at(10, right=True)]
    (verdicts,) = (methods["mine"] for methods in verdicts_of(rows).values())
    assert verdicts == {"a": "0"}


def test_smaller_budgets_of_a_record_are_compared_with_those_budgets() -> None:
    smaller = [{"work_s": 2.0, "equations": ["u0"], "metrics": {"identified": 1.0}}]
    measured = {**data()["measured"], "smaller_budgets": smaller}
    rows = [record("mine", job, right=False, work_s=60.0, measured=measured) for job in JOBS]
    (ours,) = made().standings(rows, "mine")
    assert (ours.suite.work_s, ours.row.identified, ours.row.rank) == (2.0, 4, 1)


def test_who_is_mostly_not_measured_is_marked() -> None:
    measured: Mapping[str, Any] = {**data()["measured"], "evaluations": 5, "work_s": 2.0}
    reason = "the method ended its fit early, for the 2 s of work"
    cut = {"status": "partial", "reason": reason, "measured": measured}
    rows = [*EDITION, *records("slow", "0001", **cut)]
    flags = {row.method: row.not_measured for row in standing("1111", rows).rows}
    assert flags == {name: name == "slow" for name in flags}


def test_the_file_gives_the_same_index(tmp_path: Path) -> None:
    file = tmp_path / "editions.json"
    file.write_text(made().to_json(), encoding="utf-8")
    read = EditionIndex.read(file)
    assert (read.names, read.marks, read.scorers) == (("edition-0",), {"best": "‡"}, made().scorers)
    assert {suite: dict(methods) for suite, methods in read.suites.items()} == {
        suite: dict(methods) for suite, methods in made().suites.items()
    }
    assert read.to_json() == made().to_json()


def test_the_index_has_the_numbers_of_the_edition_s_page() -> None:
    """Of ODEBench's 63 systems, by docs/results/edition-1.md."""
    methods = next(
        methods
        for suite, methods in EditionIndex.read(INDEX).suites.items()
        if suite.title == "ode, work 2.0 s, strict, clean"
    )
    own = {"integral": 44, "shooting": 42, "rk4sindy": 30}
    for method, count in own.items():
        letters = [v for job, v in methods[method].items() if not job.startswith("dysts-")]
        assert (letters.count("1"), len(letters)) == (count, 63)
