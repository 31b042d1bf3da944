"""``mdbench place``: where a method stands among those of the editions, on the jobs it has done."""

from __future__ import annotations

import json
import shlex
from collections import defaultdict
from html import escape as escape_html
from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape

from mdbench import methods
from mdbench.cli.options import Exit
from mdbench.cli.parameters import RESULTS
from mdbench.drawing.numbers import percent
from mdbench.errors import UsageError, counted, did_you_mean
from mdbench.extensions.standings.editions import EditionIndex, Standing, rule_of
from mdbench.installation import command
from mdbench.records.files import parse_records, read_content, results_files
from mdbench.workspace import Workspace, write_whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from mdbench.methods import Method
    from mdbench.records import Record

_NEIGHBOURS = 2
"""Methods that are shown above and below."""
_MOST_NAMED = 8
_BAR = 30
_ROW_HEIGHT, _BAR_WIDTH, _LETTER = 18, 300, 7.5


def records_of_method(method: str, folders: Sequence[Path]) -> list[Record]:
    """Return a method's records of some folders; of others no line is read as a record."""
    mark = f'"algorithm":{json.dumps(method)}'.encode()
    records = []
    for file in (file for folder in folders for file in results_files(folder)):
        lines = (line for line in read_content(file).splitlines(keepends=True) if mark in line)
        records += list(parse_records(file, b"".join(lines)))
    return records


def place_method(
    method: str,
    results: Sequence[Path] | None,
    console: Console,
    *,
    figure: Path | None = None,
    json_: bool = False,
) -> int:
    """Print where a method stands, suite by suite.

    Parameters
    ----------
    results
        Folders and files with its records; None for those of this folder and, where there are
        none, of the editions.
    figure
        A file for the figure, as SVG; None for none.

    Raises
    ------
    UsageError
        If it has no record, or none that can be compared.
    """
    index = EditionIndex.read()
    folders = results or RESULTS
    absent = [folder for folder in folders if not folder.exists()]
    records = [] if absent else records_of_method(method, folders)
    standings = index.standings(records, method)
    is_the_editions = not records and not results
    if is_the_editions:
        standings = index.standings_of_its_own(method)
    if not standings and absent:
        raise UsageError(
            f"There is no folder {absent[0]} here with results of {method}.",
            f"Name the folder: --results DIR.  To make some: {run_hint(method, ['ode'])}",
        )
    if not standings:
        raise _nothing_to_compare(method, records, folders, index)
    if json_:
        print(json.dumps({"schema": 1, "method": method, "suites": list(map(_as_json, standings))}))
    else:
        for line in (line for standing in standings for line in _lines(standing, index)):
            console.print(line, soft_wrap=True)
        if is_the_editions:
            editions = " and ".join(index.names)
            console.print(f"By the records of {editions}, as {folders[0]} here has none of it.")
        for line in _notes(records, index):
            console.print(escape(line), style="yellow", soft_wrap=True)
    if figure is not None:
        text = "".join(_svg(standings, index))
        write_whole(figure, lambda stream: stream.write(text.encode()))
        if not json_:
            console.print(f"Figure: {escape(str(figure))}", soft_wrap=True)
    return Exit.DONE


def after_check(method: Method) -> str:
    """Return a line for each suite in which a method stands; without a record what makes some.

    Nothing of methods that cannot stand: without equations, or with a service.
    """
    if not method.spec.equations or method.spec.service:
        return ""
    try:
        records = records_of_method(method.name, RESULTS)
    except UsageError:  # no folder of results yet
        records = []
    if standings := EditionIndex.read().standings(records, method.name):
        return "\n".join(_headline(standing) for standing in standings)
    run = run_hint(method.name, method.spec.data_types)
    folder = method.folder.parent
    sources = methods.folders(Workspace.find().algorithms)
    if Path(sources.get(folder.resolve(), "")).is_absolute():  # else it is found without an option
        where = folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder
        run = run.replace(" --algorithm", f" --methods {shlex.quote(str(where))} --algorithm", 1)
    return f"How good is it?  {run}, then mdbench place {method.name}"


def run_hint(method: str, data_types: Sequence[str]) -> str:
    """Return the command whose records can be compared, for the first data type that has some."""
    return _run(method, data_types, EditionIndex.read()) or command("./run.sh --help")


def _run(method: str, data_types: Sequence[str], index: EditionIndex) -> str:
    works = {suite.data_type: suite.work_s for suite in index.suites if suite.rule.count(",") == 1}
    for data_type in data_types:
        if (work_s := works.get(data_type)) is not None:
            return command(
                f"./run.sh --algorithm {method} --data-type {data_type} --work {work_s:g}"
            )
    return ""


def _nothing_to_compare(
    method: str, records: Sequence[Record], folders: Sequence[Path], index: EditionIndex
) -> UsageError:
    where = ", ".join(map(str, folders))
    if not records:
        files = [file for folder in folders for file in results_files(folder)]
        names = {file.name.rpartition("-")[0] for file in files}
        return UsageError(
            f"{method} has no record in {where}.",
            f"{did_you_mean(method, sorted(names))} To make some: {run_hint(method, ['ode'])}",
        )
    kinds = sorted({record.data_type for record in records})
    run = _run(method, kinds, index)
    return UsageError(
        f"No record of {method} in {where} has the budget and the rules of an edition's.",
        f"For some that have: {run}" if run else f"The editions have no {', '.join(kinds)}.",
    )


def _headline(standing: Standing) -> str:
    row, jobs = standing.row, len(standing.own)
    rank = f"rank {row.rank} of {len(standing.rows)}"
    right = f"{row.identified} of {counted(jobs, 'job')} identified"
    share = f"{right} ({percent(row.identified / jobs, ' ')})"
    return f"{standing.suite.title}: {rank if standing.compared else 'no rank'}, {share}"


def _lines(standing: Standing, index: EditionIndex) -> Iterator[str]:
    yield f"[bold]{escape(_headline(standing))}[/]"
    if standing.compared:
        yield "  rank  method                       identified  wins  losses"
        shown = standing.neighbours(_NEIGHBOURS)
        if standing.rows[0] not in shown:
            shown = [standing.rows[0], *shown]
        most = max(1, standing.rows[0].identified)
        before = 0
        for row in shown:
            at = standing.rows.index(row)
            if at > before:
                yield "        ..."
            before = at + 1
            own = row.method == standing.method
            name = " ".join(filter(None, [row.method, index.marks.get(row.method, "") * (not own)]))
            against = " " * 14 if own else f"{row.wins:6d}{row.losses:8d}"
            bar = "█" * round(_BAR * row.identified / most)
            line = f"{row.rank:6d}  {escape(f'{name:28}')} {row.identified:10d}{against}  {bar}"
            line += "  (mostly not measured)" * row.not_measured
            yield f"[green]{line}[/]" if own else line
        yield "  wins: it identifies the job and that method does not; losses: the other way round"
        yield from _named("  it alone identifies: ", standing.only_mine or ["none"])
        yield from _named("  it alone misses: ", standing.missed_by_it_alone or ["none"])
        number = len(standing.better)
        who = f"all {number} methods" if number > 1 else "the method"
        verb = "identify" if number > 1 else "identifies"
        head = f"  it misses what {who} of better rank {verb}: "
        yield from _named(head, standing.missed_unlike_better)
        most_miss = [f"{job} ({count})" for job, count in standing.missed]
        others = counted(len(standing.compared), "other")
        yield from _named(f"  it misses what most of the {others} identify: ", most_miss)
    away = sorted(standing.others.keys() - standing.compared.keys())
    if away:
        yield from _named(f"  not compared, {len(away)} with fewer of these jobs: ", away)
    if standing.unknown:
        yield f"  {counted(standing.unknown, 'more job')} that no edition has, left out"


def _named(head: str, names: Sequence[str]) -> Iterator[str]:
    if names:
        more = len(names) - _MOST_NAMED
        text = ", ".join(names[:_MOST_NAMED]) + f" and {more} more" * (more > 0)
        yield f"{head}{escape(text)}"


def _notes(records: Sequence[Record], index: EditionIndex) -> Iterator[str]:
    own: dict[str, set[str]] = defaultdict(set)
    for record in records:
        own[rule_of(record)].add(record.provenance.scorer or "none")
    for rule, scorer in index.scorers.items():
        if other := sorted(own[rule] - {scorer}):
            yield (
                f"{rule}: some of these records were scored by version {', '.join(other)} of the "
                f"scorer, the edition's by {scorer}: mdbench rescore first"
            )


def _as_json(standing: Standing) -> dict[str, object]:
    return {
        **standing.suite._asdict(),
        "method": standing.method,
        "jobs": len(standing.own),
        "rank": standing.row.rank if standing.compared else None,
        "ranking": [row._asdict() for row in standing.rows],
        "only_mine": standing.only_mine,
        "missed_by_it_alone": standing.missed_by_it_alone,
        "missed_unlike_better": standing.missed_unlike_better,
        "missed": dict(standing.missed),
        "unknown": standing.unknown,
    }


def _svg(standings: Sequence[Standing], index: EditionIndex) -> Iterator[str]:
    """Draw a bar for each method of each suite, the method's own in another colour."""
    rows = sum(len(standing.rows) + 2 for standing in standings)
    names = [
        [
            f"{row.rank}. {row.method} "
            f"{'' if row.method == standing.method else index.marks.get(row.method, '')}"
            for row in standing.rows
        ]
        for standing in standings
    ]
    margin = 10 + _LETTER * max(len(name) for several in names for name in several)
    width = max(margin + _BAR_WIDTH + 60, *(_LETTER * len(_headline(each)) for each in standings))
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" '
        f'height="{rows * _ROW_HEIGHT}" font-family="sans-serif" font-size="12">\n'
        '<rect width="100%" height="100%" fill="white"/>\n'
    )
    y = _ROW_HEIGHT
    for standing, several in zip(standings, names, strict=True):
        yield f'<text x="4" y="{y}" font-weight="bold">{escape_html(_headline(standing))}</text>\n'
        most = max(1, standing.rows[0].identified)
        for row, name in zip(standing.rows, several, strict=True):
            y += _ROW_HEIGHT
            own = row.method == standing.method
            length = _BAR_WIDTH * row.identified / most
            yield (
                f'<text x="{margin - 6:.1f}" y="{y}" text-anchor="end">{escape_html(name)}</text>'
                f'<rect x="{margin:.1f}" y="{y - 10}" width="{length:.1f}" height="12" '
                f'fill="{"#c0392b" if own else "#7f9bb3"}"/>'
                f'<text x="{margin + length + 5:.1f}" y="{y}">{row.identified}</text>\n'
            )
        y += 2 * _ROW_HEIGHT
    yield "</svg>\n"
