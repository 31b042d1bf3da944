"""Tables in Markdown, for a README or a page of documentation."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING

from mdbench.drawing.numbers import NOTHING, duration, fixed, noise_name, rounded
from mdbench.metrics.spec import is_high
from mdbench.reports.entries import counted, marked
from mdbench.reports.figures import FAILED, middle, sign_of
from mdbench.reports.tables import (
    ALARM,
    UNDECIDED,
    leaderboard_table,
    text_table,
    to_markdown,
    without_columns,
    written,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mdbench.metrics.spec import MetricSpec
    from mdbench.records import Record
    from mdbench.reports.entries import Entry
    from mdbench.reports.leaderboard import Board
    from mdbench.reports.published import Published, PublishedSets


def markdown_tables(boards: Mapping[str, Board], published: Published | None = None) -> str:
    """Write for each data type its leaderboard, and a table of systems for each noise level.

    Parameters
    ----------
    boards
        The comparisons by data type.
    published
        Tables of a paper, whose entries stand beside the methods' own.
    """
    parts = []
    for data_type, board in boards.items():
        parts += [f"## {data_type}", leaderboard_markdown(board)]
        protocols = sorted({one.case.protocol for one in board.entries})
        for protocol in protocols:
            of = f", `--protocol {protocol}`" if len(protocols) > 1 else ""
            some = of_protocol(board, protocol)
            if published and (table := published_table(some, data_type, published)):
                parts += [f"### Beside {published.title}{of}", table]
            for snr_db in some.noise_levels:
                parts.append(f"### {noise_name(snr_db)}{of}")
                parts.append(systems_table(some, data_type, snr_db, published))
    return "\n\n".join(parts) + "\n"


def of_protocol(board: Board, protocol: str) -> Board:
    """Keep the results under one protocol; what was compared with the others stays as it was."""
    entries = tuple(one for one in board.entries if one.case.protocol == protocol)
    return replace(board, entries=entries)


def leaderboard_markdown(board: Board) -> str:
    """Return the leaderboard: the columns of the page that say something."""
    table = without_columns(
        leaderboard_table(board),
        lambda column, cells: column.key == "family" or all(c.text == NOTHING for c in cells),
    )
    text = to_markdown(table)
    return f"{text}\n\n{table.caption}" if table.caption else text


def systems_table(
    board: Board, data_type: str, snr_db: float | None, published: Published | None = None
) -> str:
    """Write what each method made of each system at one noise level.

    The mark of the first flag stands for itself; otherwise a cell has the primary score and what it
    is weighed against, and behind them the marks of other flags; a cross is no answer.

    Parameters
    ----------
    board
        The comparison, under one protocol.
    data_type
        What it is of.
    snr_db
        The noise level.
    published
        A paper's tables; their entries are for clean data, and stand nowhere else.
    """
    grid = board.grid(snr_db)
    head = ["system", "floor"]
    with_published = set()
    for method in grid.methods:
        head.append(method)
        if published and snr_db is None and published.has(data_type, method):
            with_published.add(method)
            head.append(published.title)
    lines = []
    for system in grid.systems:
        ones = [entry for method in grid.methods for entry in grid.cell(system, method)]
        floors = [entry.floor for entry in ones if entry.floor is not None]
        floor = median(floors) if floors else None
        high = f" {ALARM}" if is_high(floor, board.primary) else ""
        line = [f"`{system}`", written(board.primary, floor) + high]
        for method in grid.methods:
            line.append(_answer(board, grid.cell(system, method)))
            if method in with_published and published:
                mark = published.of(data_type, system, method)
                line.append("" if mark is None else str(mark))
        lines.append(line)
    return to_markdown(text_table(head, lines, {"system"}))


def found_table(board: Board) -> str:
    """Write at each noise level how many jobs have each mark, of how many; empty without any.

    What the scorer could not decide is not counted.
    """
    flags = marked(board.known)
    groups: dict[tuple[str, float | None], list[Entry]] = defaultdict(list)
    for one in board.entries:
        groups[one.method, one.case.snr_db].append(one)
    lines = []
    for row in board.rows:
        line = [row.method]
        for snr_db in board.noise_levels:
            found = [counted(groups[row.method, snr_db], spec).values for spec in flags]
            held = " + ".join(str(each.count(1)) for each in found)
            line.append(f"{held} of {len(found[0])}" if found and found[0] else "")
        lines.append(line)
    head = ["method", *map(noise_name, board.noise_levels)]
    return to_markdown(text_table(head, lines, {"method"})) if flags else ""


def published_table(board: Board, data_type: str, published: Published) -> str:
    """Write how many systems have the first mark on clean data, here and in a paper's tables.

    Only methods and systems that both have are counted; empty where there are none.
    """
    best = next((spec.mark for spec in marked(board.specs)), None)
    lines = []
    for row in board.rows:
        if not published.has(data_type, row.method):
            continue
        own: dict[str, list[Entry]] = defaultdict(list)
        for one in board.entries:
            system, snr_db, _ = one.case
            both = published.of(data_type, system, row.method) is not None
            if one.method == row.method and snr_db is None and one.attempted and both:
                own[system].append(one)
        here = {system for system, ones in own.items() if sign_of(board, ones) == best}
        there = published.found(data_type, row.method) & own.keys()
        if own:
            counts = (len(own), len(here), len(there), len(here & there))
            only_here, only_there = sorted(here - there), sorted(there - here)
            names = [", ".join(f"`{name}`" for name in each) for each in (only_here, only_there)]
            lines.append([row.method, *map(str, counts), *names])
    head = ["method", "systems", "here", published.title, "both"]
    head += ["only here", f"only in {published.title}"]
    return to_markdown(text_table(head, lines, {"method", *head[-2:]})) if lines else ""


def sets_table(
    results: Iterable[Record],
    data_type: str,
    groups: Mapping[str, Sequence[str]],
    specs: Mapping[str, MetricSpec],
    published: PublishedSets,
    *,
    every: bool = False,
) -> str:
    """Write what a paper reports of methods on whole sets, and what was measured beside it.

    A row is a method that both have, on a set; a pair of columns is a metric.  What the scorer
    could not decide is left out, and a job without an answer counts as the metric says.

    Parameters
    ----------
    groups
        The datasets of each set.
    specs
        Those of the data type's metrics that are shown, by name.
    every
        Whether methods that only one of the two has are rows, too.
    """
    by_cell: dict[tuple[str, str], list[Record]] = defaultdict(list)
    tables = published.values[data_type]
    set_of = {name: group for group in tables for name in groups.get(group, ())}
    for one in results:
        if one.data_type == data_type and one.dataset in set_of and one.attempted:
            by_cell[one.method, set_of[one.dataset]].append(one)
    lines = []
    methods = [each for rows in tables.values() for each in rows]
    for method in dict.fromkeys([*methods, *(method for method, _ in by_cell)]):
        for group, rows in tables.items():
            ones = by_cell.get((method, group), [])
            sides = bool(ones), method in rows
            if not (any(sides) if every else all(sides)):
                continue
            line = [method, group, f"{len(ones)} of {len(groups.get(group, ()))}"]
            for name, spec in specs.items():
                there = rows.get(method, {}).get(name)
                line.append(NOTHING if there is None else fixed(there, 3))
                line.append(_mean(ones, spec))
            lines.append(line)
    head = ["method", "set", "problems here"]
    for spec in specs.values():
        head += [f"{spec.title}, {published.title}", "here"]
    return to_markdown(text_table(head, lines, {"method", "set"}))


def variants_table(results: Iterable[Record], specs: Mapping[str, MetricSpec]) -> str:
    """Write means by method and by what stands behind the datasets' names, such as noise.

    What the scorer could not decide is left out, and a job without an answer counts as the metric
    says; where that is infinitely bad, so is the mean.
    """
    cells: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for one in results:
        if one.attempted:
            cells[one.method, one.dataset.partition("+")[2] or NOTHING].append(one)
    lines = []
    for (method, asked), ones in cells.items():
        line = [method, asked, str(len(ones))]
        lines.append([*line, *(_mean(ones, spec) for spec in specs.values())])
    head = ["method", "asked for", "problems", *(spec.title for spec in specs.values())]
    return to_markdown(text_table(head, lines, {"method", "asked for"}))


def _mean(ones: Iterable[Record], spec: MetricSpec) -> str:
    """Write the mean of a metric over results, those without an answer included."""
    values = [
        one.metrics[spec.name] if one.answered and spec.name in one.metrics else spec.failed
        for one in ones
    ]
    known = [value for value in values if isinstance(value, int | float)]
    return rounded(sum(known) / len(known), 3) if known else NOTHING


def cost_table(board: Board) -> str:
    """Write the wall time and the peak memory of each method on each system, clean data."""
    grid = board.grid(None)
    lines = []
    for system in grid.systems:
        line = [f"`{system}`"]
        for method in grid.methods:
            ones = grid.cell(system, method)
            times = [one.wall_s for one in ones if one.wall_s is not None]
            sizes = [one.memory_mb for one in ones if one.memory_mb]
            parts = [duration(median(times))] if times else []
            parts += [f"{fixed(max(sizes))} MB"] if sizes else []
            line.append(", ".join(parts))
        lines.append(line)
    return to_markdown(text_table(["system", *grid.methods], lines, {"system"}))


def _answer(board: Board, entries: Sequence[Entry]) -> str:
    if not entries:
        return ""
    sign = sign_of(board, entries)
    marks = [spec.mark for spec in marked(board.specs)]
    if sign == FAILED:
        return f"{sign} {next(one.status for one in entries if one.attempted and not one.answered)}"
    if sign in {"", UNDECIDED, *marks[:1]}:
        return sign or ""
    score, size = middle(entries, board.primary), middle(entries, board.weighs)
    shown = UNDECIDED if score is None else written(board.primary, score)
    return f"{shown}{'' if size is None else f' ({fixed(size)})'}{f' {sign}' if sign else ''}"
