from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import pytest
from reporting import MOTION, TEXTS, boards, data, texts
from rich.console import Console

from mdbench.records import Record, Status
from mdbench.reports import terminal
from mdbench.reports.terminal import failures

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import RenderableType
    from rich.table import Table

NMSE = 1.52e-13
EQUATIONS = ["1.84*u0 - 1.45*u0*u1", "1.62*u0*u1 - 3*u1"]


def record(
    dataset: str = "lotka-volterra", *, wall_s: float | None = 1.25, **changes: Any
) -> Record:
    shape: dict[str, Any] = {
        "nmse": NMSE,
        "equations": EQUATIONS,
        "wall_s": wall_s,
        "algorithm": "sindy",
    }
    return Record.model_validate(data(dataset=dataset, **shape | changes))


def run_table(records: Iterable[Record], datasets: Sequence[str] = ()) -> Table:
    return terminal.run_table(records, datasets, MOTION)


def summary(records: Iterable[Record]) -> Table:
    return terminal.summary(records, MOTION)


def failure(dataset: str, status: str, reason: str, **changes: Any) -> Record:
    return record(dataset, status=status, **{"reason": reason, "equations": None, **changes})


def shown(renderable: RenderableType, width: int = 80) -> list[str]:
    """Render as into a pipe: no colour, no terminal; give the lines that are not blank."""
    console = Console(file=io.StringIO(), record=True, width=width)
    console.print(renderable)
    text = console.export_text()
    assert "\x1b" not in text
    lines = text.splitlines()
    assert max(map(len, lines), default=0) <= width
    return [line.rstrip() for line in lines if line.strip(" ─")]


def rows(renderable: RenderableType, width: int = 80) -> list[str]:
    """Return the rows of a table without its head and its caption."""
    lines = shown(renderable, width)
    (head,) = (number for number, line in enumerate(lines) if "status" in line)
    end = next(number for number, line in enumerate(lines) if line.startswith("size: "))
    return lines[head + 1 : end]


def test_a_small_run_looks_like_this() -> None:
    answers = [
        record("rössler", nmse=0.0, complexity=120, wall_s=0.0423, floor=1e-9),
        record("lotka-volterra", verdict="identified", agreement=0.5),
        record("lorenz", nmse=None, scores={"identified": None}),
        failure("chua", "timeout", "stopped after 60 s, no answer", wall_s=3725.0),
    ]
    assert shown(run_table(answers, ["lotka-volterra", "rössler", "lorenz", "chua"])) == [
        " dataset        status      NMSE  floor found size  time equations",
        " lotka-volterra finished 1.5e-13      - ✓⚠      18 1.3 s 1.84*u0 - 1.45*u0*u1;…",
        " rössler        finished       0 1.0e-9        120 42 ms 1.84*u0 - 1.45*u0*u1;…",
        " lorenz         finished       ?      - ?       18 1.3 s 1.84*u0 - 1.45*u0*u1;…",
        " chua           timeout        -      -          - 1.0 h stopped after 60 s, n…",
        "floor: score of the ground-truth equations on the test set",
        "found: ✓ identified, ±1 one term off; ? undecided, ⚠ agreement is worse than",
        "1.0e-4",
        "size: size of the equations",
    ]
    assert shown(summary(answers)) == [
        "                       NMSE         nodes  time",
        " method jobs answers median   ✓ ±1 median total not finished",
        " sindy     4       3 1.0e-9 25% 0%     18 1.0 h 1 timeout",
        "NMSE: failures rank last; ✓: identified; ±1: one term off",
    ]
    assert shown(failures(answers)) == [
        "sindy, 1 timeout: stopped after 60 s, no answer",
        "  on chua; log: logs/sindy/lotka-volterra.log",
    ]


def test_the_median_is_the_same_as_on_the_page() -> None:
    # Two of seven systems rank nobody: the truth itself scores no better than no equation.
    rows = [
        data("sindy", f"s{n}", scores={"nmse": 10.0**-n}, floor=3.0 if n > 4 else 1e-9)
        for n in range(7)
    ]
    board = boards(rows)["ode"]
    text = shown(summary([Record.model_validate(one) for one in rows]))
    page_value = board.rows[0].values["nmse"].value
    assert page_value == pytest.approx(1e-2)
    assert "0.010" in text[2].split()
    assert "it is of 5 of 7 jobs" in " ".join(text)


def test_answers_without_equations_have_their_scores() -> None:
    records = [Record.model_validate(one) for one in texts(2)]
    found = terminal.run_table(records, (), TEXTS)
    heads = [str(column.header) for column in found.columns]
    assert heads[:-1] == [
        "method",
        "dataset",
        "noise",
        "seed",
        "status",
        "accuracy",
        "found",
        "time",
    ]
    assert "accuracy" in " ".join(shown(terminal.summary(records, TEXTS)))


def test_without_specifications_scores_stand_under_their_names() -> None:
    found = terminal.run_table([record()])
    assert "nmse" in [str(column.header) for column in found.columns]
    assert shown(terminal.summary([record(), failure("b", "crashed", "")]))


def test_sixty_three_systems_take_a_line_each_at_every_width() -> None:
    names = [f"a-system-with-quite-a-long-name-number-{number}" for number in range(63)]
    equations = [" + ".join(f"{n}.123456789*u0**{n}" for n in range(40))] * 2
    statuses = list(Status)
    records = [
        record(name, status=statuses[number % 10], reason="r" * 500, equations=equations)
        for number, name in enumerate(names)
    ]
    for width in (60, 80, 130, 250):
        lines = rows(run_table(records, names), width)
        assert len(lines) == 63
        assert all(line.startswith(" a-system") for line in lines)
        assert width < 80 or all(line.endswith("…") for line in lines)
        assert all(name in line for name, line in zip(names, lines, strict=True))


def test_rows_follow_the_given_order_then_noise_then_seed() -> None:
    wanted = [
        ("sindy", "b", None, 0),
        ("sindy", "b", None, 1),
        ("sindy", "b", 40.0, 0),
        ("sindy", "b", 10.0, 0),
        ("sindy", "a", None, 0),
        ("sindy", "not in the order", None, 0),
        ("zindy", "b", 20.0, 0),
    ]
    records = [
        record(dataset, algorithm=algorithm, snr_db=snr_db, seed=seed)
        for algorithm, dataset, snr_db, seed in reversed(wanted)
    ]
    lines = rows(run_table(records, ["b", "a"]), width=120)
    expected = [
        f"{algorithm} {dataset} {'clean' if snr_db is None else f'{snr_db:g} dB'} {seed} finished"
        for algorithm, dataset, snr_db, seed in wanted
    ]
    assert [" ".join(line.split()) for line in lines] == [
        f"{start} {NMSE:.1e} 18 1.3 s {'; '.join(EQUATIONS)}" for start in expected
    ]


def test_columns_that_would_say_the_same_are_left_out() -> None:
    head = " ".join(shown(run_table([record("a"), record("b")]))[0].split())
    assert head == "dataset status NMSE size time equations"
    head = " ".join(shown(run_table([record("a"), record("a", seed=1)]))[0].split())
    assert head == "dataset seed status NMSE size time equations"


@pytest.mark.parametrize(
    ("equation", "expected"),
    [
        ("0.43478260869*u0 - 1.0000001*u1", "0.435*u0 - u1"),
        ("123456.789*u0**2 + 1.5e-07*u10", "1.23e+05*u0**2 + 1.5e-07*u10"),
        ("2*u0**10 + 1e5*x2", "2*u0**10 + 1e+05*x2"),
        ("u1.5", "u1.5"),
        ("exp(-0.3333333*u0)", "exp(-0.333*u0)"),
    ],
)
def test_numbers_in_equations_are_shown_with_three_digits(equation: str, expected: str) -> None:
    shown_row = rows(run_table([record(equations=[equation] * 2)]), width=150)[0]
    assert shown_row.endswith(f" {expected}; {expected}")


def test_what_a_method_states_can_neither_style_nor_steer_the_terminal() -> None:
    attack = "[bold]no[/] [/] \x1b[2J\x07 \u202edlrow :warning:"
    records = [
        failure(attack, "failed", attack, log=attack),
        record("b", equations=[attack, attack], status="partial"),
    ]
    for renderable in (run_table(records), summary(records), failures(records)):
        text = "\n".join(shown(renderable, width=300))
        assert "\x07" not in text
        assert "\u202e" not in text
    assert (
        r"[bold]no[/] [/] \x1b[2J\x07 \u202edlrow :warning:"
        in shown(failures(records), width=300)[0]
    )


def test_failures_show_their_reason_even_next_to_equations() -> None:
    line = rows(run_table([record(status="failed", reason="the reason")]))[0]
    assert line.endswith("the reason")


def test_the_summary_counts_a_job_without_an_answer_as_the_worst() -> None:
    answers = [
        record(str(n), nmse=loss, verdict="identified" if n == 0 else "")
        for n, loss in enumerate([1e-9, 1e-5, 0.5])
    ]
    lost = [failure(str(n), "crashed", "signal 11") for n in range(2)]
    # Five jobs: the median is the third, and one in five is identified.
    assert shown(summary(answers + lost))[2].split()[:7] == [
        *("sindy", "5", "3", "0.50", "20%", "0%", "18"),
    ]
    more = [failure(str(n), "timeout", "") for n in range(2, 4)]
    assert shown(summary(answers + lost + more))[2].split()[3:6] == ["-", "14%", "0%"]


def test_the_summary_leaves_out_what_is_not_the_methods_fault() -> None:
    records = [
        record("a", nmse=1e-7, verdict="identified"),
        record("b", nmse=1e-3, status="partial"),
        failure("c", "interrupted", ""),
        failure("d", "unavailable", "", wall_s=None),
    ]
    lines = shown(summary(records))
    expected = ["sindy", "4", "2", "5.0e-4", "50%", "0%", "18", "3.8", "s", "1", "partial"]
    assert lines[2].split() == expected
    assert [line.strip() for line in lines[3:5]] == ["1 unavailable", "1 interrupted"]
    lines = shown(summary(records[2:]))
    start = ["sindy", "2", "0", "-", "-", "-", "-", "1.3", "s", "1", "unavailable"]
    assert lines[2].split() == start


def test_the_summary_has_a_row_for_each_method_and_noise() -> None:
    records = [
        record(str(number), algorithm=algorithm, snr_db=snr_db)
        for number in range(3)
        for snr_db in (10.0, None, 40.0)
        for algorithm in ("sindy", "operon")
    ]
    lines = [line.split() for line in shown(summary(records))]
    noise = [["clean"], ["40", "dB"], ["10", "dB"]]
    assert [line[: len(level) + 2] for line, level in zip(lines[2:8], noise * 2, strict=True)] == [
        [algorithm, *level, "3"] for algorithm in ("operon", "sindy") for level in noise
    ]


def test_the_summary_pools_no_conditions_that_stand_in_the_names_of_datasets() -> None:
    records = [
        record(f"law-{number}{condition}", nmse=loss)
        for number in range(3)
        for condition, loss in (("", 1e-9), ("+noise=0.1", 0.5), ("+dummy+noise=0.1", 0.7))
    ]
    lines = [line.split() for line in shown(summary(records))]
    assert "conditions" in lines[1]
    assert [line[:5] for line in lines[2:5]] == [
        ["sindy", "-", "3", "3", "1.0e-9"],
        ["sindy", "dummy+noise=0.1", "3", "3", "0.70"],
        ["sindy", "noise=0.1", "3", "3", "0.50"],
    ]
    assert "conditions" not in shown(summary(records[1::3]))[1]


def test_the_summary_pools_no_protocols_and_no_variants() -> None:
    records = [record("a", nmse=1e-9), record("a", nmse=0.5, protocol="published")]
    records.append(record("a", nmse=0.7, options={"variant": "released"}))
    lines = [line.split() for line in shown(summary(records), 120)]
    assert [line[1:-6] for line in lines[2:5]] == [
        ["published", "1", "1", "0.50"],
        ["strict", "1", "1", "1.0e-9"],
        ["strict", "variant=released", "1", "1", "0.70"],
    ]


def test_failures_of_a_kind_are_reported_together() -> None:
    records = [failure(f"d{n}", "unavailable", "no uv here", log=None) for n in range(5)]
    records += [failure("d0", "unavailable", "no uv here", log=None, seed=1)]
    records += [failure("d9", "failed", "ValueError: x", algorithm="operon"), record("fine")]
    assert shown(failures(records)) == [
        "sindy, 6 unavailable: no uv here",
        "  on d0, d1, d2 and 2 more",
        "operon, 1 failed: ValueError: x",
        "  on d9; log: logs/sindy/lotka-volterra.log",
    ]
    assert not failures([record()])


def test_no_records_make_empty_tables() -> None:
    assert rows(run_table([])) == []
    assert len(shown(summary([]))) == 3
    assert not failures([])


def test_tables_can_be_written_where_only_ascii_can() -> None:
    raw = io.BytesIO()
    console = Console(file=io.TextIOWrapper(raw, encoding="ascii", errors="replace"), width=80)
    console.print(run_table([record("rössler", equations=["u0" * 100] * 2)]))
    console.file.flush()
    assert b"-----" in raw.getvalue()


def test_a_floor_so_high_that_scores_say_little_is_marked() -> None:
    lost = [record("quiet", nmse=0.1, floor=1e-9), record("lost", nmse=0.2, floor=0.4)]
    told = "\n".join(shown(run_table(lost)))
    assert "0.40⚠" in told
    assert "⚠ high: scores mean little" in told
    assert "⚠" not in "\n".join(shown(run_table(lost[:1])))


def test_in_a_pipe_no_equation_is_cut() -> None:
    long = " + ".join(f"{i}.5*u0**{i}" for i in range(2, 60))
    whole = terminal.run_table([record(equations=[long, "u0"])], (), MOTION, cut=False)
    assert f"{long}; u0" in "\n".join(shown(whole, width=100_000))
    assert long[:12] in "\n".join(shown(run_table([record(equations=[long, "u0"])])))


def test_what_is_worse_than_nothing_is_marked() -> None:
    bad = record(nmse=5.8)
    text = "\n".join(shown(run_table([bad, record("other")])))
    assert "5.8⚠" in text
    assert "⚠ at NMSE: worse than no equation" in text
    assert "worse than" not in "\n".join(shown(run_table([record(), record("zero", nmse=1.0)])))


def test_what_is_no_fault_of_the_answer_is_not_called_worse_than_nothing() -> None:
    still = {"rest": ["the rates of the test are 6e-06 of those before it"]}
    for given in (
        {"notes": still, "floor": 280.0, "verdict": "identified"},
        {"notes": still, "floor": 280.0},
        {"notes": still},  # of somebody's own, without a truth
    ):
        text = "\n".join(shown(run_table([record(nmse=2.4, **given)])))
        assert "2.4‡" in text
        assert "‡ at NMSE: at rest in the test window" in text
        assert "worse than" not in text
    text = "\n".join(shown(run_table([record(nmse=2.4, floor=1.0)])))
    assert "‡ at NMSE: the truth scores no better than no equation" in text
    assert "rest" not in text
    text = "\n".join(shown(run_table([record(nmse=2.4, floor=0.3, verdict="identified")])))
    assert "2.4 " in text
    assert "‡" not in text
    assert "worse than" not in text
    both = [record(nmse=2.4, notes=still), record("bad", nmse=9.0, floor=0.1)]
    text = "\n".join(shown(run_table(both)))
    assert "2.4‡" in text
    assert "9.0⚠" in text
    assert "⚠ at NMSE: worse than no equation; ‡ at NMSE: at rest" in text.replace("\n", " ")
    one_off = record(nmse=2.4, floor=0.1, verdict="one_term_off")
    assert "2.4⚠" in "\n".join(shown(run_table([one_off])))


def test_whole_equations_stand_below_each_other() -> None:
    found = terminal.answers([record(), failure("glider", "timeout", "late")])
    assert found.plain == (
        "sindy · lotka-volterra\n  u0_t = 1.84*u0 - 1.45*u0*u1\n  u1_t = 1.62*u0*u1 - 3*u1\n"
    )


LORENZ = [f"lorenz-equations-{end}" for end in ("chaotic", "complex-periodic", "periodic")]


@pytest.mark.parametrize("width", [40, 50, 60, 70, 80, 100, 200])
@pytest.mark.parametrize("names", [LORENZ, ["a" * 30 + end for end in "xyz"], ["rc", "b"]])
@pytest.mark.parametrize("methods", [1, 2])
def test_the_name_of_a_row_never_gives_way(width: int, names: list[str], methods: int) -> None:
    records = [
        record(name, algorithm=f"method{m}", snr_db=snr_db, seed=seed, floor=1e-5)
        for m in range(methods)
        for name in names
        for snr_db in (None, 20.0)
        for seed in (0, 1)
    ]
    lines = shown(run_table(records), width)
    for name in names:
        first = name if len(name) + 20 < width else name[:10]
        assert sum(first in line.split() or line.find(first) >= 0 for line in lines) >= 4 * methods
    if max(map(len, names)) + 35 < width:
        found = [line for line in lines if any(f" {name} " in line for name in names)]
        assert len(found) == len({*found}) == len(records)  # no two rows look alike
    (head,) = (line for line in lines if "dataset" in line)
    assert head.split()[0] == ("method" if methods > 1 else "dataset")
    text = "\n".join(shown(summary(records), width))
    assert all(f" method{m} " in text for m in range(methods))


def test_a_table_in_a_pipe_cuts_no_name() -> None:
    names = ["a" * 29, "b" * 31, "c" * 75]
    found = terminal.run_table([record(name) for name in names], (), MOTION, cut=False)
    text = "\n".join(shown(found, 10_000))
    assert all(name in text for name in names)


def test_answers_are_counted_whether_the_job_ended_in_time_or_not() -> None:
    lines = shown(summary([record(str(n), status="partial") for n in range(5)]))
    assert lines[1].split()[:3] == ["method", "jobs", "answers"]
    assert lines[2].split()[:3] == ["sindy", "5", "5"]
    assert lines[2].endswith("5 partial")
