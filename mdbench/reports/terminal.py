"""Tables for a terminal: those at the end of a run, and the leaderboards."""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import groupby
from operator import attrgetter
from statistics import median
from typing import TYPE_CHECKING, TypeAlias

from rich.text import Text

from eqverdict.printers import tidied
from mdbench.drawing.numbers import cleanest_first, duration, noise_name, percent
from mdbench.errors import counted
from mdbench.metrics.spec import MetricSpec, is_high, raised, ranks
from mdbench.records import ANSWERED, Record, Status
from mdbench.reports.columns import SHOWN_APART, TERMINAL, columns_of
from mdbench.reports.coverage import (
    attainable_note,
    conditions_note,
    cut_off_note,
    machine_notes,
    marks_note,
    missing_jobs_note,
    undecided_note,
)
from mdbench.reports.entries import (
    aggregate,
    best_mark,
    conditions_of,
    counted_values,
    marked,
    outcome,
    specs_of,
)
from mdbench.reports.tables import (
    ALARM,
    APART,
    UNDECIDED,
    Cell,
    Column,
    Table,
    beaten,
    board_cell,
    format_score,
    grey_rows,
    to_terminal,
    warning,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import rich.table

    from mdbench.reports.columns import BoardColumn
    from mdbench.reports.entries import Aggregated
    from mdbench.reports.leaderboard import Leaderboard, Row

STYLES = {Status.OK: "green", Status.PARTIAL: "yellow"}
NOTHING = "-"
NAMES_SHOWN = 3
_Case: TypeAlias = tuple[str, "float | None", str]
_CASE: Callable[[Record], _Case] = attrgetter("system", "snr_db", "protocol")
"""Gives the system, the noise level and the protocol of a record."""
LEFT = ("method", "status", "found")
"""Columns of words; the others are of numbers."""

DECIMAL = re.compile(r"(?<![\w.])\d+(?:\.\d*(?:[eE][+-]?\d+)?|[eE][+-]?\d+)")
"""A number with a point or an exponent; whole numbers are exponents or exact, and stay."""


def run_table(
    records: Iterable[Record],
    datasets: Sequence[str] = (),
    specs: Sequence[MetricSpec] = (),
    *,
    cut: bool = True,
) -> rich.table.Table:
    """Return a table with one row for each job.

    The last column takes what is left of the width: equations with their numbers rounded to
    three digits, or the reason why there are none.  Columns that would be the same in every
    row (method, noise, seed) are left out.

    Parameters
    ----------
    records
        The records of the run, in any order.
    datasets
        The order of the datasets; those that are not in it come last, by name.
    specs
        The metrics of the data type; where none are given they are made of what records hold.
    cut
        Whether what is too long for the width is cut; else the table is as wide as it needs.
    """
    order = {name: number for number, name in enumerate(datasets)}
    rows = sorted(
        records,
        key=lambda record: (
            record.algorithm,
            order.get(record.dataset, len(order)),
            record.dataset,
            cleanest_first(record.snr_db),
            record.seed,
        ),
    )
    primary, *others = specs = _specs(rows, specs)
    # One column takes what is left of the width.
    answer = "equations" if any(record.equations for record in rows) else "answer"
    size = next((spec for spec in others if spec.weighs), None)
    cells = {
        "method": [_plain(record.algorithm) for record in rows],
        "dataset": [_plain(record.dataset) for record in rows],
        "noise": [Cell(noise_name(record.snr_db)) for record in rows],
        "seed": [Cell(str(record.seed)) for record in rows],
        "status": [_status(record) for record in rows],
        primary.title: [_primary(specs, record) for record in rows],
        "floor": [_floor(primary, record.floor) for record in rows],
        "found": [_mark(specs, record) for record in rows],
        "size": [Cell(_value(size, record)) for record in rows] if size else [],
        "time": [Cell(_time(record.measured.wall_s)) for record in rows],
        answer: [_equations_or_reason(record) for record in rows],
    }
    notes = {
        "floor": _of_floors([record.floor for record in rows], primary),
        "found": f"found: {'; '.join(_signs(specs, rows))}",
        "size": f"size: {size.explanation or size.title}" if size else "",
    }
    notes["found"] *= any(cell.text for cell in cells["found"])
    for name in ("method", "noise", "seed"):
        if len({cell.text for cell in cells[name]}) <= 1:
            del cells[name]
    for name, text in notes.items():
        if not text:
            del cells[name]
    notes["worse"] = _of_beaten(specs, rows)
    columns = {name: Column(name, left=name in LEFT) for name in cells} | {
        "dataset": Column("dataset", left=True, wraps=True, names=True),
        "method": Column("method", left=True, wraps=True, names=True),
        answer: Column(answer, left=True, fills=cut),
    }
    table = Table(
        [columns[name] for name in cells],
        [*zip(*cells.values(), strict=True)],
        caption="\n".join(filter(None, notes.values())),
    )
    least = ["floor", "size", "time", "found"]
    choices = [least[:number] for number in range(len(least) + 1)]
    further = [answer], [primary.title], [answer, primary.title], [answer, primary.title, "status"]
    choices += [[*least, *each] for each in further]
    return to_terminal(table, expand=cut, choices=choices if cut else ())


def _status(record: Record) -> Cell:
    return Cell(record.status.word, style=STYLES.get(record.status, "red"))


def answers(records: Iterable[Record]) -> Text:
    """Write whole equations below each other, for a terminal that is too narrow for a column."""
    lines = Text()
    for record in records:
        if record.equations is None or not record.answered:
            continue
        lines.append(f"{printable(record.algorithm)} · {printable(record.dataset)}\n", "bold")
        for target, equation in zip(record.targets, record.equations, strict=True):
            text = tidied(DECIMAL.sub(_rounded, equation))
            lines.append(f"  {printable(target)} = {printable(text)}\n")
    return lines


def _primary(specs: Sequence[MetricSpec], record: Record) -> Cell:
    text, sign = _value(specs[0], record), beaten(specs[0], specs, record).sign
    return Cell(f"{text}{sign}", style="yellow" if sign else "")


def _of_beaten(specs: Sequence[MetricSpec], records: Sequence[Record]) -> str:
    """Explain the signs behind scores that no equation would beat."""
    words: dict[str, list[str]] = {}
    for mark in sorted({beaten(specs[0], specs, record) for record in records}, reverse=True):
        if mark.sign:
            words.setdefault(mark.sign, []).append(mark.meaning)
    return "; ".join(
        f"{sign} at {specs[0].title}: {' or '.join(meanings)}" for sign, meanings in words.items()
    )


def _floor(primary: MetricSpec, floor: float | None) -> Cell:
    """Return a floor, with a mark where it is high."""
    text = NOTHING if floor is None else format_score(primary, floor)
    high = is_high(floor, primary)
    return Cell(f"{text}{ALARM * high}", style="yellow" if high else "")


def _of_floors(floors: Sequence[float | None], primary: MetricSpec) -> str:
    """Return a note on the column of floors; empty where none is known."""
    if all(floor is None for floor in floors):
        return ""
    high = any(is_high(floor, primary) for floor in floors)
    mark = f"\n{ALARM} high: scores mean little" if high else ""
    return f"floor: score of the ground-truth equations on the test set{mark}"


def summary(records: Iterable[Record], specs: Sequence[MetricSpec] = ()) -> rich.table.Table:
    """Return a table with one row for each method, noise level and set of conditions.

    Conditions are what a dataset's name has behind its system, as noise of the targets, the variant
    of the data and the protocol.

    A job without an answer counts by the rule of its metric; where there is none it counts as worse
    than every answer.  So a method gains nothing by failing on what is hard.  Jobs that were
    interrupted, or whose environment could not be made, are no attempt of the method and do not
    count there.  The total of the time is over all jobs.
    """
    rows = sorted(records, key=lambda r: (r.algorithm, cleanest_first(r.snr_db), _conditions(r)))
    told_apart = [len(set(each)) > 1 for each in zip(*map(_conditions, rows), strict=True)]
    with_noise = len({record.snr_db for record in rows}) > 1
    primary, *others = specs = _specs(rows, specs)
    shown = [primary, *marked(specs), *(spec for spec in others if spec.weighs)]
    marks = "".join(f"; {spec.mark}: {spec.title}" for spec in marked(specs))
    heads = [spec.mark or f"{spec.title}\n{spec.aggregate}" for spec in shown]
    floors = _floors(rows)
    unfit = sum(not ranks(floors[_CASE(record)], primary) for record in rows)
    lines = []
    for (algorithm, snr_db, conditions), group in groupby(
        rows, key=lambda r: (r.algorithm, r.snr_db, _conditions(r))
    ):
        jobs = list(group)
        apart = [each for each, shown in zip(conditions, told_apart, strict=True) if shown]
        counts = Counter(job.status for job in jobs)
        causes = [f"{counts[s]} {s}" for s in Status if s is not Status.OK and counts[s]]
        outcomes = [outcome(job, specs) for job in jobs]
        values = [aggregate(spec, *counted_values(outcomes, spec)) for spec in shown[1:]]
        values.insert(0, aggregate(primary, _fit_scores(jobs, specs, floors), 0))
        lines.append(
            [
                printable(algorithm),
                *([noise_name(snr_db)] if with_noise else []),
                *([printable(" ".join(filter(None, apart))) or NOTHING] if apart else []),
                str(len(jobs)),
                str(sum(counts[status] for status in ANSWERED)),
                *(_summed(spec, found) for spec, found in zip(shown, values, strict=True)),
                _time(sum(job.measured.wall_s or 0.0 for job in jobs)),
                "\n".join(causes) or NOTHING,
            ]
        )
    table = Table(
        [
            Column("method", left=True, wraps=True, names=True),
            *[Column("noise")] * with_noise,
            *[Column("conditions", left=True, wraps=True, names=True)] * any(told_apart),
            *map(Column, ("jobs", "answers", *heads, "time\ntotal")),
            Column("not finished", left=True, wraps=True, fills=True),
        ],
        [[*map(Cell, line)] for line in lines],
        caption=f"{primary.title}: failures rank last{_of_unfit(unfit, len(rows))}{marks}",
    )
    gone = ["time\ntotal", "jobs", *heads[:0:-1], "not finished"]
    choices = [gone[:number] for number in range(len(gone) + 1)]
    return to_terminal(table, expand=True, choices=choices)


def _floors(records: Iterable[Record]) -> dict[_Case, float | None]:
    """Return what the truth scores on each case."""
    known: dict[_Case, list[float]] = {}
    for record in records:
        of_case = known.setdefault(_CASE(record), [])
        of_case += [] if record.floor is None else [record.floor]
    return {case: median(floors) if floors else None for case, floors in known.items()}


def _fit_scores(
    jobs: Iterable[Record], specs: Sequence[MetricSpec], floors: Mapping[_Case, float | None]
) -> list[float | str]:
    """Return the scores that the page's board has: of cases that rank methods, floors applied."""
    primary = specs[0]
    scores: list[float | str] = []
    for job in jobs:
        floor = floors[_CASE(job)]
        if ranks(floor, primary):
            own = floor if job.floor is None else job.floor
            for score in counted_values([outcome(job, specs)], primary).values:
                plain = isinstance(score, str) or not job.answered
                scores.append(score if plain else raised(float(score), own, primary))
    return scores


def _of_unfit(count: int, jobs: int) -> str:
    if not count:
        return ""
    return f", and it is of {jobs - count} of {jobs} jobs: of the others the truth scores no better"


def _conditions(record: Record) -> tuple[str, ...]:
    """Return the protocol, the variant of the data, and what stands in the dataset's name."""
    variant = record.options.get("variant", "")
    return record.protocol, f"variant={variant}" * bool(variant), conditions_of(record.dataset)


def failures(records: Iterable[Record]) -> Text:
    """Return for each kind of failure what went wrong, in which jobs, and where a log is.

    Jobs of one method with the same status and the same reason are one entry.  The text
    is empty where every job has an answer.
    """
    kinds: dict[tuple[str, Status, str], list[Record]] = {}
    for record in records:
        if not record.answered:
            kind = record.algorithm, record.status, record.reason
            kinds.setdefault(kind, []).append(record)
    lines = []
    for (algorithm, status, reason), jobs in kinds.items():
        names = list(dict.fromkeys(job.dataset for job in jobs))
        others = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
        log = next((job.log for job in jobs if job.log), None)
        lines.append(f"{algorithm}, {len(jobs)} {status}: {reason}")
        lines.append(
            f"  on {', '.join(names[:NAMES_SHOWN])}{others}{f'; log: {log}' if log else ''}"
        )
    return Text("\n").join(Text(printable(line)) for line in lines)


def _plain(text: str) -> Cell:
    return Cell(printable(text))


def printable(text: str) -> str:
    """Return a text that cannot steer the terminal, as a method's message might."""
    return "".join(char if char.isprintable() else "�" for char in text)


def _equations_or_reason(record: Record) -> Cell:
    if record.equations is None or not record.answered:
        return _plain(record.reason or NOTHING)
    equations = (tidied(DECIMAL.sub(_rounded, equation)) for equation in record.equations)
    others = f" ({counted(n, 'alternative')})" if (n := len(record.alternatives)) else ""
    return _plain("; ".join(equations) + others)


def _rounded(number: re.Match[str]) -> str:
    return f"{float(number.group()):.3g}"


def _specs(records: Sequence[Record], specs: Sequence[MetricSpec]) -> tuple[MetricSpec, ...]:
    if specs:
        return tuple(specs)
    made = specs_of(records, {})
    return next(iter(made.values()), (MetricSpec(name="", title="score", explanation=""),))


def _value(spec: MetricSpec, record: Record) -> str:
    if not record.answered or spec.name not in record.metrics:
        return NOTHING
    value = record.metrics[spec.name]
    return UNDECIDED if value is None else format_score(spec, value)


def _mark(specs: Sequence[MetricSpec], record: Record) -> Cell:
    if not record.answered:
        return Cell("")
    held, unknown = best_mark(specs, record.metrics)
    alarmed = any(spec.alarming(record.metrics.get(spec.name)) for spec in specs)
    sign = held.mark if held else UNDECIDED * unknown
    return Cell(sign + ALARM * alarmed)


def _signs(specs: Sequence[MetricSpec], records: Sequence[Record]) -> list[str]:
    """Explain the signs that may follow a score."""
    alarms = [
        f"{ALARM} {warning(spec)}"
        for spec in specs
        if any(spec.alarming(record.metrics.get(spec.name)) for record in records)
    ]
    marks = [f"{spec.mark} {spec.title}" for spec in marked(specs)]
    return [*filter(None, [", ".join(marks)]), ", ".join([f"{UNDECIDED} undecided", *alarms])]


def _summed(spec: MetricSpec, result: Aggregated) -> str:
    if result.value is None or math.isinf(result.value):
        return NOTHING
    return percent(result.value, "") if spec.mark else format_score(spec, result.value)


def _time(seconds: float | None) -> str:
    return NOTHING if seconds is None else duration(seconds)


def leaderboards(boards: Mapping[str, Leaderboard], width: int = 80) -> Iterator[rich.table.Table]:
    """Yield a table for each board: the page's leaderboard, as far as the width goes.

    The columns of a data type are explained below its first board.
    """
    explained: set[str] = set()
    for board in boards.values():
        table = _leaderboard(board, width, explain=board.data_type not in explained)
        explained.add(board.data_type)
        yield to_terminal(table)


def _leaderboard(board: Leaderboard, width: int, *, explain: bool) -> Table:
    primary = board.primary
    shown = columns_of(board, "terminal")
    columns = {
        _head(column): (column, [_short(board, row, column) for row in board.rows])
        for column in shown
    }
    # The later ones are the first to go where a terminal is narrow.
    given_up = sorted((c for c in reversed(shown) if c.stays is not None), key=_column_priority)
    left_out = _leave_out(columns, map(_head, given_up), width)
    meanings = [
        f"{_head(column)}: {column.spec.explanation}"
        for column in shown
        if column.spec and column.spec.explanation and _head(column) in columns
    ]
    caption = [f"rank: by {primary.title}", *meanings, "a failure ranks behind every answer"]
    if any(row.standing in APART for row in board.rows):
        caption.append(f"{SHOWN_APART} baseline or reference, not ranked")
        if any(row.standing == "predictor" for row in board.rows):
            caption[-1] = f"{SHOWN_APART} baseline, reference or predictor, not ranked"
    compared = counted(len(board.ranked), "method")
    over = f"{compared} on {counted(len(board.systems), 'system')}"
    captions = f"{'; '.join(caption)}." if explain else ""
    notes = [
        captions,
        left_out,
        cut_off_note(board.rows),
        marks_note(board.rows),
        missing_jobs_note(board),
        conditions_note(board),
    ]
    return Table(
        [
            Column(
                head if column.wraps else head.replace(" ", "\n"),
                left=column.left,
                wraps=column.left,
                names=column.key == "method",
            )
            for head, (column, _) in columns.items()
        ],
        [[*map(Cell, row)] for row in zip(*(cells for _, cells in columns.values()), strict=True)],
        f"{board.name}: {counted(len(board.entries), 'result')}, compared: {over}",
        " ".join(
            filter(
                None, [*notes, attainable_note(board), undecided_note(board), machine_notes(board)]
            )
        ),
        grey_rows(board),
    )


def _leave_out(
    columns: dict[str, tuple[BoardColumn, list[str]]], given_up: Iterable[str], width: int
) -> str:
    """Take out columns, the first first, until the others have space; return which, in words."""
    gone: list[str] = []
    for head in given_up:
        widths = (_narrowest(head, *column) for head, column in columns.items())
        if sum(widths) + len(columns) < width:
            break
        if columns.pop(head, None) is not None:
            gone.append(head)
    return f"Left out, as {width} columns are too few: {', '.join(gone)}." if gone else ""


def _narrowest(head: str, column: BoardColumn, cells: Sequence[str]) -> int:
    """Return how many characters a column takes at least; only the last one wraps."""
    words = [word for text in cells for word in (text.split() if column.wraps else [text])]
    return max(map(len, [*head.split(" "), *words]))


def _column_priority(column: BoardColumn) -> int:
    """Return the place of a column among those that go; metrics that are not marks go first."""
    spec = column.spec
    return -1 if spec and not (spec.mark or spec.weighs) else column.stays or 0


def _head(column: BoardColumn) -> str:
    return (column.spec and column.spec.mark) or column.head_of("terminal")


def _short(board: Leaderboard, row: Row, column: BoardColumn) -> str:
    """Write a flag that has a mark as a count, another as a share, as all tables."""
    spec = column.spec
    text = board_cell(board, row, column, TERMINAL).text
    if spec is None or spec is board.primary:
        return text
    value = row.values[spec.name].value
    shared = spec.aggregate == "share" and row.mostly_not_measured
    if spec.kind == "flag" and not spec.mark and value is not None and not shared:
        return percent(value, "")
    return text.partition(" (")[0]
