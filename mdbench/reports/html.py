"""One page with everything: no network, no scripts needed, nothing outside the file."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections import defaultdict
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from markupsafe import Markup

from mdbench import __version__
from mdbench.drawing.numbers import cleanest_first, fixed, noise_name, scientific
from mdbench.drawing.svg import COLOURS, marker
from mdbench.errors import counted
from mdbench.records import ANSWERED, Status
from mdbench.reports import columns, figures, leaderboard, ranking
from mdbench.reports.classes import heading
from mdbench.reports.coverage import (
    CUT_EXPLAINED,
    attainable_note,
    conditions_note,
    cut_off_note,
    machine_notes,
    marks_note,
    missing_jobs_note,
    undecided_note,
)
from mdbench.reports.entries import (
    NOT_ATTEMPTED,
    marked,
    measurements,
    report_order,
    run_conditions,
)
from mdbench.reports.figures import FEWEST_COMPARED, heat_map
from mdbench.reports.findings import findings
from mdbench.reports.phases import phase_figures
from mdbench.reports.sections import Shown, sections, templates
from mdbench.reports.systems import Scope, system_section
from mdbench.reports.tables import Cell, format_score, leaderboard_table, warning, without_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from pathlib import Path

    from mdbench.drawing.svg import Figure
    from mdbench.metrics.spec import MetricSpec
    from mdbench.records import Record
    from mdbench.reports.classes import Category
    from mdbench.reports.entries import Entry
    from mdbench.reports.leaderboard import Leaderboard
    from mdbench.reports.pictures import Draw
    from mdbench.reports.tables import Table

PACKED_FROM = 2000
"""Results from which on the closed parts of a page are packed, and made when they are opened."""
PACKING = 6
"""The level of zlib: a higher one takes three times as long for 2 % less."""
MOST_OPEN = 3
"""Systems up to which a page shows equations and pictures open, above the boards."""
SCORES_AT_ONCE = 4
"""Scores of an answer that are always shown; the others are behind a switch."""
_OF_ENTRIES = ("m", "s", "n", "r", "d", "x", "f", "a")
"""The columns of `_columns` that have a value for each entry."""
MOST_REASONS = 40
"""Kinds of failure that are listed for a data type."""


def page(
    results: Iterable[Record],
    boards: Mapping[str, Leaderboard],
    *,
    title: str = "mdbench report",
    picture: Draw | None = None,
    describe: Callable[[str, str], str] | None = None,
    derivatives: Mapping[str, str] | None = None,
    places: Sequence[Path] = (),
    categories: Mapping[str, Sequence[Category]] | None = None,
    options: Mapping[str, Collection[str]] | None = None,
    axes: Mapping[str, Mapping[str, str]] | None = None,
    in_progress: bool = False,
    files: Mapping[str, str] | None = None,
    parts: Parts | None = None,
) -> str:
    """Make the page.

    Parameters
    ----------
    results
        The records that count, of all data types.
    boards
        The comparisons of them, of each data type and class.
    title
        The page's heading.
    picture
        Draws a system, given its results and the methods' numbers.
    describe
        Describes a dataset in a few words, given its data type and name.
    derivatives
        The letter of derivatives on the left-hand sides of a data type, where it is no d.
    places
        The folders of results, for sections that read other files there.
    categories
        The categories of each data type that has several, with comparisons of their own.
    options
        The keys of the options of each data type.
    axes
        The axes of sweeps of each data type, with their usual values.
    in_progress
        Whether a run adds results.
    files
        The address of the file that a record is in, by the record's key, where it is known.
    parts
        Takes the closed parts of a large page, for files next to it; without it they are in the
        page, packed.

    Returns
    -------
    str
        HTML in UTF-8.
    """
    results = sorted(results, key=report_order)
    methods = sorted({result.method for result in results})
    by_type: dict[str, list[Record]] = defaultdict(list)
    for result in results:
        by_type[result.data_type].append(result)
    scope = replace(
        scope_of(results, [*boards.values()], picture=picture, describe=describe),
        axes=axes or {},
        files=files or {},
    )
    numbers, noise, classes = scope.numbers, scope.noise, scope.classes
    known = {row.method: row for board in boards.values() for row in board.rows}
    boards_of: dict[str, list[Leaderboard]] = defaultdict(list)
    for board in boards.values():
        boards_of[board.data_type].append(board)
    of_types = [
        _section(kind, by_type[kind], several, scope, (derivatives or {}).get(kind, "d"))
        for kind, several in boards_of.items()
    ]
    for section in of_types:
        kind = section["name"]
        section["parts"] = _parts(by_type[kind], (categories or {}).get(kind, ()))
        opened = {(system.name, system.own) for system in section["systems"] if system.first}
        for part in section["parts"]:
            part["waiting"] = part["systems"] - opened
    packed = len(results) >= PACKED_FROM
    data_json = {
        "methods": [
            [m, known[m].family, int(known[m].reference), known[m].origin, known[m].mark]
            for m in methods
        ],
        "noise": noise,
        "classes": classes,
        "statuses": [str(status) for status in Status],
        "answered": [str(status) for status in sorted(ANSWERED)],
        "silent": [str(status) for status in sorted(NOT_ATTEMPTED)],
        "resamples": ranking.RESAMPLES,
        "fewest": ranking.FEWEST,
        "quantiles": ranking.QUANTILES,
        "standings": leaderboard.STANDINGS,
        "apart": leaderboard.APART_FAMILIES,
        "cut": CUT_EXPLAINED,
        "not_measured": columns.NOT_MEASURED,
        "columns": columns.as_json(),
        "types": {
            _identifier(kind, number): columns if not packed else _without_columns(columns, parts)
            for kind, several in boards_of.items()
            for number, board in enumerate(several)
            for columns in [_columns(board, methods, noise)]
        },
    }
    later = partial(_maybe_packed, packed=packed, parts=parts)
    shown = Shown(results, boards, places, numbers, later)
    days = [result.measured.started.date().isoformat() for result in results]
    dims = sorted({result.dim for result in results if result.dim is not None})
    return (
        templates("mdbench.reports")
        .get_template("report.html.j2")
        .render(
            title=title,
            version=__version__,
            sections=of_types,
            more=[section.html(shown) for section in sections()],
            count=len(results),
            run_conditions=run_conditions(results, options),
            first=min(days, default=""),
            last=max(days, default=""),
            noise=[noise_name(snr_db, measured=measurements(results)) for snr_db in noise],
            dims=dims,
            families=sorted({row.family for row in known.values()}),
            classes=classes,
            in_progress=in_progress,
            counted=counted,
            at_once=SCORES_AT_ONCE,
            packed=packed,
            beside=packed and parts is not None,
            later=later,
            resamples=ranking.RESAMPLES,
            fewest=ranking.FEWEST,
            data=Markup(_json(data_json)),  # noqa: S704 - `<` is escaped
        )
    )


def scope_of(
    results: Sequence[Record],
    boards: Sequence[Leaderboard],
    *,
    picture: Draw | None,
    describe: Callable[[str, str], str] | None,
) -> Scope:
    """Gather what all systems of a page share: colours, levels of noise, who counts nowhere."""
    methods_by_type: dict[str, set[str]] = defaultdict(set)
    for result in results:
        methods_by_type[result.data_type].add(result.method)
    noise = list(dict.fromkeys(result.snr_db for result in results))
    noise.sort(key=cleanest_first)
    rows = {row.method: row for board in boards for row in board.rows}
    return Scope(
        numbers_of([*methods_by_type.values()]),
        noise,
        list(dict.fromkeys(board.title for board in boards)),
        picture,
        describe,
        {row.method for row in rows.values() if row.reference},
        {row.method for row in rows.values() if row.family in leaderboard.APART_FAMILIES},
    )


class Parts:
    """The closed parts of a large page, in files next to it.

    A file is a script, as pages that are opened from a disk may read nothing else.

    Parameters
    ----------
    page
        The name of the page's file.
    """

    def __init__(self, page: str) -> None:
        self.folder = f"{page}.parts"
        self.files: dict[str, str] = {}

    def keep(self, packed: str) -> str:
        """Keep a part, and return its address as the page has it."""
        name = f"{len(self.files) + 1}.js"
        address = quote(f"{self.folder}/{name}")
        self.files[name] = f'mdbench.parts[{json.dumps(address)}]="{packed}"'
        return address


def _packed(part: str, parts: Parts | None) -> dict[str, str]:
    """Pack a part (zlib, base64); return its text, or the address of the file that has it."""
    text = base64.b64encode(zlib.compress(part.encode(), PACKING)).decode("ascii")
    return {"text": text} if parts is None else {"address": parts.keep(text)}


def _maybe_packed(
    caller: Callable[[], str], *, shown: bool = False, packed: bool, parts: Parts | None
) -> str:
    """Return a part of the page; `packed` unless it is `shown` at first."""
    part = caller()
    if shown or not packed:
        return part
    packed_part = _packed(part, parts)
    more = f' data-address="{packed_part["address"]}"' if "address" in packed_part else ""
    text = packed_part.get("text", "")
    return Markup(f'<script type="text/plain" class="packed"{more}>{text}</script>')  # noqa: S704 - base64


def _without_columns(columns: Mapping[str, Any], parts: Parts | None) -> dict[str, Any]:
    """Pack what only filters need: a value for each entry."""
    heavy = {name: columns[name] for name in _OF_ENTRIES} | {
        "v": [spec["v"] for spec in columns["specs"]]
    }
    light = {name: value for name, value in columns.items() if name not in heavy}
    specs = [
        {name: value for name, value in spec.items() if name != "v"} for spec in light["specs"]
    ]
    return {**light, "specs": specs, "packed": _packed(_json(heavy), parts)}


def numbers_of(together: Sequence[AbstractSet[str]]) -> dict[str, int]:
    """Number methods so that those of one data type share a colour only where they must."""
    numbers: dict[str, int] = {}
    everyone = set[str]().union(*together)
    for method in sorted(everyone, key=lambda m: (-sum(m in ones for ones in together), m)):
        near = [
            numbers[m] % COLOURS for ones in together if method in ones for m in ones & {*numbers}
        ]
        free = (n for n in range(COLOURS * (len(numbers) + 1)) if n not in numbers.values())
        numbers[method] = min(free, key=lambda n: (near.count(n % COLOURS), n))
    return numbers


def _identifier(data_type: str, number: int) -> str:
    """Return what a board of a data type is called in the page's addresses."""
    return f"{data_type}-class-{number}" if number else data_type


def _section(
    data_type: str,
    results: Sequence[Record],
    boards: Sequence[Leaderboard],
    scope: Scope,
    derivative: str,
) -> dict[str, Any]:
    """Gather what the template shows of a data type."""
    by_system: dict[tuple[str, bool], list[Record]] = defaultdict(list)
    for result in results:
        by_system[result.system, result.dataset_path is not None].append(result)
    unfit: dict[str, dict[str, None]] = defaultdict(dict)
    for board in boards:
        for case, floor in board.unfit.items():
            reason = f"the truth scores {format_score(board.primary, floor)}"
            unfit[case.system][f"{noise_name(case.snr_db)}: {reason}"] = None
    known = {spec.name: spec for board in boards for spec in board.known}
    specs = [spec for spec in boards[0].specs if spec.name in known]
    systems = [
        system_section(
            identifier,
            of_system,
            scope,
            specs,
            unfit=list(unfit[name]),
            derivative=derivative,
            named_classes=len(boards) > 1,
            first=_comes_first(own, [*by_system]),
        )
        for identifier, ((name, own), of_system) in zip(
            anchors_of(data_type, by_system), by_system.items(), strict=True
        )
    ]
    primary = boards[0].primary
    return {
        "name": data_type,
        "blocks": [
            _block(_identifier(data_type, number), board, scope)
            | {"finding": findings(board, results)}
            for number, board in enumerate(boards)
        ],
        "primary": primary,
        "marks": marked(specs),
        "nothing": format_score(primary, primary.nothing),
        "resolution": format_score(primary, primary.resolution) if primary.resolution else "",
        "unfit": sorted(f"{name}: {why}" for name, reasons in unfit.items() for why in reasons),
        "hidden": any(
            board.is_hidden(job.case.system, job.case.snr_db)
            for board in boards
            for job in board.plan.jobs
        ),
        "reasons": reasons_of(results),
        "systems": systems,
    }


def _comes_first(own: bool, systems: Sequence[tuple[str, bool]]) -> bool:
    """Whether a system is shown open, above the boards: of few systems all, else own data."""
    of_own = sum(is_own for _, is_own in systems)
    return len(systems) <= MOST_OPEN or (own and of_own <= MOST_OPEN)


def _compares(board: Leaderboard, snr_db: float | None) -> bool:
    """Whether a table of methods and systems has several of both."""
    grid = board.grid(snr_db)
    return min(len(grid.methods), len({*grid.systems})) >= FEWEST_COMPARED


def anchors_of(data_type: str, systems: Iterable[tuple[str, bool]]) -> list[str]:
    """Name the sections of systems, own ones marked, so that a link holds in the next report.

    Examples
    --------
    >>> anchors_of("kind", [("rc-circuit", False), ("my system", True), ("my?system", True)])
    ['kind/rc-circuit', 'kind/own/my-system', 'kind/own/my-system-2']
    """
    anchors: dict[str, None] = {}
    for name, own in systems:
        plain = f"{data_type}/{'own/' * own}{_NOT_IN_ANCHORS.sub('-', name)}"
        number = 1
        while (anchor := f"{plain}-{number}" if number > 1 else plain) in anchors:
            number += 1
        anchors[anchor] = None
    return list(anchors)


_NOT_IN_ANCHORS = re.compile(r"[^A-Za-z0-9_.+=-]+")


def _block(identifier: str, board: Leaderboard, scope: Scope) -> dict[str, Any]:
    """Gather what the template shows of a board."""
    numbers = scope.numbers
    table = leaderboard_table(board)
    cd = figures.critical_difference(board, numbers)
    return {
        "id": identifier,
        "title": board.title,
        "board": board,
        "columns": table.columns,
        "rows": rows_of(table, board),
        "incomplete": missing_jobs_note(board),
        "conditions": conditions_note(board),
        "attainable": attainable_note(board),
        "undecided": undecided_note(board),
        "cut_off": cut_off_note(board.rows),
        "marks": marks_note(board.rows),
        "machines": machine_notes(board),
        "count": len(board.entries),
        "further": sum(e.attempted and e.job not in board.plan.jobs for e in board.entries),
        "figures": [safe_figure(figure) for figure in figures.figures(board, numbers)],
        "legend": [
            (row.method, numbers[row.method] % COLOURS, _sign(numbers[row.method]))
            for row in sorted(board.drawn, key=lambda row: row.method)
        ],
        "heat": [
            (scope.noise.index(snr_db), board.noise_name(snr_db), Markup(heat_map(board, snr_db)))  # noqa: S704 - our own SVG
            for snr_db in board.noise_levels
            if _compares(board, snr_db)
        ],
        "phases": [
            safe_figure(one) for one in phase_figures(board, scope.axes.get(board.data_type, {}))
        ],
        "cd": cd and safe_figure(cd),
        "pairs": [_pair(pair) for pair in board.pairs],
        "partial_pairs": [_pair(pair) for pair in board.partial_pairs],
    }


def rows_of(table: Table, board: Leaderboard) -> list[dict[str, Any]]:
    """Return the rows with their classes in the page's style, and the groups they stay in."""
    return [
        {
            "cells": cells,
            "css": "grey" if number in table.grey else "",
            "group": leaderboard.STANDINGS.index(row.standing),
        }
        for number, (cells, row) in enumerate(zip(table.rows, board.rows, strict=True))
    ]


def _parts(results: Sequence[Record], categories: Sequence[Category]) -> list[dict[str, Any]]:
    """Gather what is shown of each category, and of own data; no heading where there is none."""
    everything = {(one.system, one.dataset_path is not None) for one in results}
    parts, shown = [], set()
    for category in categories:
        names = {(one.system, False) for one in results if one.dataset in category.datasets}
        names &= everything
        shown |= names
        parts.append(
            {
                "title": heading(category.name),
                "systems": names,
                "tables": [
                    _part(board, named=len(category.boards) > 1) for board in category.boards
                ],
            }
        )
    if rest := everything - shown:
        title = "Own data" if categories else ""
        parts.append({"title": title, "systems": rest, "tables": []})
    return parts


def _part(board: Leaderboard, *, named: bool) -> dict[str, Any]:
    table = without_columns(leaderboard_table(board), lambda column, _: column.more)
    title = board.title if named else ""
    return {"title": title, "columns": table.columns, "rows": rows_of(table, board)}


def _pair(pair: ranking.Pair) -> dict[str, Any]:
    test = pair.test
    better = pair.method if test.effect < 0 else pair.other
    return {
        "names": f"{pair.method} – {pair.other}",
        "n": test.n,
        "wins": test.wins,
        "ties": test.zeros,
        "losses": test.losses,
        "effect": Cell(fixed(test.effect, 2), abs(test.effect)),
        "p": Cell(scientific(test.p), test.p),
        "corrected": Cell(scientific(pair.corrected), pair.corrected),
        "verdict": f"{better} is better" if pair.corrected < 0.05 else "not significant",  # noqa: PLR2004
    }


def reasons_of(results: Sequence[Record]) -> list[dict[str, Any]]:
    """Group the failures of a method by status and reason, the most frequent first."""
    groups: dict[tuple[str, Status, str], list[Record]] = defaultdict(list)
    for result in results:
        if result.status is not Status.OK:
            groups[result.method, result.status, result.reason].append(result)
    most = sorted(groups.items(), key=lambda group: -len(group[1]))[:MOST_REASONS]
    return [
        {
            "method": method,
            "status": status.word,
            "reason": reason,
            "count": len(failures),
            "example": failures[0].system,
        }
        for (method, status, reason), failures in most
    ]


def _columns(
    board: Leaderboard,
    methods: Sequence[str],
    noise: Sequence[float | None],
) -> dict[str, Any]:
    """Write entries as columns for the page's script; small numbers instead of names.

    A metric's column ``v`` has its values, labels as their numbers: null without one, and
    nothing (an empty text) where the job is not scored by it.
    """
    systems: dict[str, int] = {}
    repeats: dict[str, int] = {}
    statuses = {status: number for number, status in enumerate(Status)}
    lists: dict[str, list[Any]] = defaultdict(list)
    for entry in board.entries:
        lists["m"].append(methods.index(entry.method))
        lists["s"].append(systems.setdefault(entry.case.system, len(systems)))
        lists["n"].append(noise.index(entry.case.snr_db))
        lists["r"].append(repeats.setdefault(entry.repeat, len(repeats)))
        lists["d"].append(entry.dim)
        lists["x"].append(statuses[entry.status])
        lists["f"].append(entry.floor)
    specs = {spec.name: number for number, spec in enumerate(board.known)}
    return {
        **lists,
        "a": [[one.amounts[amount] for one in board.entries] for amount in columns.amounts()],
        "class": board.title,
        "repeats": len(repeats),
        "specs": [
            spec.as_json()
            | {
                "warning": "" if spec.alarm is None else warning(spec),
                "v": [_coded(spec, one) for one in board.entries],
            }
            for spec in board.known
        ],
        "columns": [specs[c.key] if c.spec else c.key for c in columns.columns_of(board, "page")],
    }


def _coded(spec: MetricSpec, one: Entry) -> float | str | None:
    value = one.values.get(spec.name, "")
    if isinstance(value, str):
        return spec.labels.index(value) if value else ""
    return int(value) if value in {0.0, 1.0} else value


def _json(value: Any) -> str:
    # Inside a script element only this sign could end it.
    return json.dumps(value, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def safe_figure(figure: Figure) -> dict[str, Any]:
    """Return what templates show of a figure."""
    svg = Markup(figure.svg)  # noqa: S704 - our own SVG, whose texts were escaped
    return {
        "title": figure.title,
        "caption": figure.caption,
        "svg": svg,
        "whole": figure.whole,
    }


def _sign(number: int) -> Markup:
    shape = marker(number, 8, 8, 5)
    svg = f'<svg class="sign m{number % COLOURS}" viewBox="0 0 16 16" aria-hidden="true">{shape}'
    return Markup(svg + "</svg>")  # noqa: S704 - our own SVG
