"""Classes of records, own data, runs in progress, and times of unlike machines."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from report_pages import html
from reporting import MOTION, boards, compare, data, result

from mdbench.records import Status
from mdbench.reports import leaderboard
from mdbench.reports.classes import class_of, latest
from mdbench.reports.columns import work_s
from mdbench.reports.coverage import UNLIKE, machine_notes, missing_jobs_note, pooling_note
from mdbench.reports.entries import Case, Entry, entry
from mdbench.reports.tables import leaderboard_table

if TYPE_CHECKING:
    from mdbench.metrics.spec import Value

BUDGET = data()["budget"]


def limit(seconds: float | None, **more: Any) -> dict[str, Any]:
    return {**BUDGET, "timeout_s": seconds, **more}


@pytest.mark.parametrize(
    ("changes", "title"),
    [
        ({}, "limit 60 s, strict"),
        ({"protocol": "published"}, "limit 60 s, published"),
        ({"protocol": "later"}, "limit 60 s, later"),
        ({"budget": limit(43200.0)}, "limit 12.0 h, strict"),
        ({"budget": limit(None)}, "no limit, strict"),
        ({"budget": limit(2.0, threads=4)}, "limit 2.0 s, 4 threads, strict"),
        ({"options": {"variant": "released"}}, "limit 60 s, strict, variant released"),
        ({"options": {"derivatives": "smooth"}}, "limit 60 s, strict"),
        ({"options": {"derivatives": "fd"}}, "limit 60 s, strict, derivatives fd"),
        ({"options": {"max_rows": 10}}, "limit 60 s, strict"),
        ({"dataset_path": "mine.csv"}, "limit 60 s, strict, own data"),
    ],
)
def test_a_class_is_budget_protocol_variant_derivatives_and_whose_data(
    changes: dict[str, Any], title: str
) -> None:
    assert class_of(result(**changes)).title == title


def test_a_budget_of_work_goes_before_the_time_limit() -> None:
    record = SimpleNamespace(
        budget=SimpleNamespace(work_s=30.0, timeout_s=900.0, threads=1),
        dataset_path=None,
        protocol="strict",
        options={},
    )
    found = class_of(record)  # type: ignore[arg-type]
    assert found.title == "work 30 s, strict"
    record.budget.timeout_s = 300.0  # the limit of time is no more than a backstop
    assert class_of(record) == found  # type: ignore[arg-type]


def test_work_that_was_measured_is_a_column() -> None:
    ones = [
        entry(result("a", f"s{n}"), MOTION)._replace(amounts={work_s: w})
        for n, w in enumerate((1.0, 3.0))
    ]
    table = leaderboard_table(leaderboard.board(ones, {}, MOTION))
    (place,) = [n for n, column in enumerate(table.columns) if column.title == "work"]
    assert table.rows[0][place].text == "2.0 s"
    assert "work" not in [column.title for column in leaderboard_table(compare([data()])).columns]


def test_of_one_question_the_newest_counts_in_each_class() -> None:
    ones = [
        result(nmse=nmse, budget=limit(seconds), started=f"2030-01-0{day}T00:00:00Z")
        for day, (nmse, seconds) in enumerate([(0.1, 10.0), (0.2, 60.0), (0.3, 10.0)], start=1)
    ]
    assert sorted(one.metrics["nmse"] or 0 for one in latest(ones)) == [0.2, 0.3]


def test_each_class_has_a_board_and_what_is_apart_is_on_all_of_its_rules() -> None:
    records = [
        *(data("sindy", f"s{n}", budget=limit(10.0)) for n in range(3)),
        *(data("operon", f"s{n}", budget=limit(60.0)) for n in range(4)),
        data("operon", "s0", protocol="published"),
        *(data("truth", f"s{n}", budget=limit(43200.0)) for n in range(5)),
        data("zero", "s0", budget=limit(10.0)),
        data("zero", "s0", budget=limit(60.0)) | {"key": "0" * 64},
    ]
    found = boards(records)
    titles = ["limit 60 s, strict", "limit 10 s, strict", "limit 60 s, published"]
    assert [board.title for board in found.values()] == titles
    assert list(found) == ["ode", f"ode, {titles[1]}", f"ode, {titles[2]}"]
    rows = [[row.method for row in board.rows] for board in found.values()]
    assert rows == [["operon", "zero", "truth"], ["sindy", "zero", "truth"], ["operon"]]
    # The rows of those apart are of the jobs of the board alone.
    assert [row.jobs for row in found["ode"].rows] == [4, 1, 4]


def test_of_baselines_alone_there_is_a_board_without_ranks() -> None:
    found = compare([data("zero"), data("truth")])
    assert [(row.method, row.rank, row.coverage) for row in found.rows] == [
        ("zero", None, 1.0),
        ("truth", None, 1.0),
    ]
    assert found.ranked == ()
    assert found.friedman is None
    html([data("zero"), data("truth")])


def test_own_data_are_no_system_of_the_benchmark() -> None:
    records = [data(method, f"s{n}") for method in ("sindy", "operon") for n in range(3)]
    own = [data("sindy", "mine", dataset_path="mine.csv"), data("sindy", "s0", dataset_path="s0")]
    found = boards([*records, *own])
    assert list(found) == ["ode", "ode, limit 60 s, strict, own data"]
    assert found["ode"].systems == ("s0", "s1", "s2")
    assert found["ode"].rows[0].coverage == found["ode"].rows[1].coverage == 1
    # On the page a system of the same name is another one.
    page = html([*records, *own])
    assert page.count('<details class="system"') == 5
    assert page.count("<small>own data</small>") == 2


def test_a_baseline_and_a_reference_change_no_test() -> None:
    records = [
        data(method, f"s{n}", nmse=10.0 ** -(n + place))
        for place, method in enumerate(("sindy", "operon", "gplearn"))
        for n in range(6)
    ]
    apart = [data(method, f"s{n}") for method in ("zero", "truth", "forest") for n in range(6)]
    alone, together = compare(records), compare([*records, *apart])
    assert alone.friedman is not None
    assert together.friedman == alone.friedman
    assert together.pairs == alone.pairs


def test_a_run_in_progress_is_said_to_be_one() -> None:
    records = [data(method, f"s{n}") for method in "ab" for n in range(4)]
    assert missing_jobs_note(compare(records)) == ""
    note = missing_jobs_note(compare([*records, data("c", "s0")]))
    assert note.startswith("In progress, or incomplete: ")
    assert "some of the 4 jobs (c 3)" in note
    text = html([*records, data("c", "s0")])
    assert f'<p class="note progress">{note}</p>' in text
    assert '<tr data-g="1" class="grey"><td>–</td><td data-v="c">c</td><td data-v="0.25">25' in text
    # What a method does not support is not missing, and no failure.
    cannot = [data("c", f"s{n}", status="unsupported" if n else "ok") for n in range(4)]
    found = compare([*records, *cannot])
    assert missing_jobs_note(found) == ""
    assert (found.rows[-1].method, found.rows[-1].coverage) == ("c", 0.25)
    assert found.rows[-1].values["nmse"].of == 1
    crashed = [data("c", f"s{n}", status="crashed" if n else "ok") for n in range(4)]
    assert compare([*records, *crashed]).rows[-1].coverage == 1


def test_of_few_systems_there_is_no_interval() -> None:
    for number in range(1, 8):
        row = compare([data("a", f"s{n}", snr_db=s) for n in range(number) for s in (None, 10.0)])
        assert (row.rows[0].low is None) == (row.rows[0].high is None) == (number < 5)


def timed(machine: str, speed: float | None) -> Entry:
    values: dict[str, Value] = {}
    case = Case("s", None, "strict")
    one = Entry("a", case, 1, Status.OK, values, None, {}, speed)
    return one._replace(machine=machine)


@pytest.mark.parametrize(
    ("speeds", "says"),
    [
        ({}, ""),
        ({"a": [None, 10.0]}, ""),
        ({"a": [10.0], "b": [10.0 * UNLIKE]}, ""),
        (
            {"a": [10.0, None], "b": [21.0]},
            "not alike: by the calibration jobs the fastest was 2.1 times as fast",
        ),
        # One machine with other work now and then is one machine.
        ({"a": [10.0, 21.0]}, "the speed of the machine varied by a factor of 2.1"),
        ({"": [10.0, 21.0]}, "machines, or under other work, that were not alike"),
        ({"a": [10.0, 30.0, 11.0], "b": [10.0]}, "varied by a factor of 3:"),
    ],
)
def test_times_of_unlike_machines_and_of_a_busy_one_are_told_apart(
    speeds: dict[str, list[float | None]], says: str
) -> None:
    class Leaderboard:
        entries = tuple(timed(name, each) for name, ones in speeds.items() for each in ones)

    text = pooling_note(Leaderboard())  # type: ignore[arg-type]
    assert bool(text) == bool(says)
    assert says in text


def test_results_of_several_machines_stand_with_their_machines() -> None:
    class Leaderboard:
        entries = (
            *(timed("a lab's, 4 cores", 10.0)._replace(method=name) for name in ("sindy", "dsr")),
            timed("H100, 16 cores", 10.0)._replace(method="tpsr"),
            timed("", 10.0)._replace(method="pysr"),
        )

    board: Any = Leaderboard()
    assert machine_notes(board) == (
        "Run on 3 machines: dsr, sindy on a lab's, 4 cores; tpsr on H100, 16 cores; "
        "pysr on a machine that is not known."
    )
    Leaderboard.entries = Leaderboard.entries[:2] * 2
    assert machine_notes(board) == ""
    many = (timed(f"m{n:02}", 10.0)._replace(method=f"a{i}") for n in range(8) for i in range(7))
    Leaderboard.entries = tuple(many)
    assert machine_notes(board).endswith("; and others on 3 more.")
    assert "a0, a1, a2, a3, a4, 2 more methods on m00" in machine_notes(board)


def test_a_machine_is_known_by_its_parts() -> None:
    assert entry(result(), compare([data()]).specs).machine
