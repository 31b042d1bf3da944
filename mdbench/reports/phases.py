"""Phase diagrams of sweeps: under which conditions methods identify systems.

Conditions stand behind the names of datasets: ``lorenz+samples=50+noise=0.01``.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, TypeAlias

from mdbench.drawing.svg import Figure
from mdbench.reports.entries import marked
from mdbench.reports.tables import Cell, Column, Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mdbench.metrics.spec import MetricSpec
    from mdbench.reports.leaderboard import Leaderboard

USUAL = "usual"
"""The value on an axis whose usual value depends on the dataset."""
SNR = "SNR (dB)"
"""The axis of noise levels that are no axis of a sweep."""
EVERY = "all"
"""The line of all systems together."""
MOST = 24
"""Diagrams of a board: further ones are left out, and counted."""
_BOX, _GAP, _LEAST_WIDTH = 11, 6, 46

_Conditions: TypeAlias = "dict[str, str]"
_Share: TypeAlias = "tuple[int, int]"


@dataclass(frozen=True)
class Phases:
    """Which share of jobs has the flag that is drawn, along one axis or two.

    Attributes
    ----------
    x, y
        The axes; `y` is empty where one axis is swept.
    xs, ys
        Their values in order; of no second axis one empty text.
    held
        The values of other axes that were swept.
    shares
        By method, system (`EVERY` is all), value of `x` and of `y`: how many jobs have it,
        and of how many.
    """

    x: str
    y: str
    xs: tuple[str, ...]
    ys: tuple[str, ...]
    held: tuple[tuple[str, str], ...]
    shares: Mapping[tuple[str, str, str, str], _Share]
    methods: tuple[str, ...]
    systems: tuple[str, ...]

    @property
    def title(self) -> str:
        """The axes, and what is held."""
        held = "".join(f", {name}={value}" for name, value in self.held)
        return f"{self.x}{f' and {self.y}' * bool(self.y)}{held}"


def split_name(name: str, usual: Mapping[str, str]) -> tuple[str, _Conditions]:
    """Return a dataset's name without conditions of known axes, and these.

    Examples
    --------
    >>> split_name("a+dummy+noise=0.1", {"noise": "0", "samples": ""})
    ('a+dummy', {'noise': '0.1'})
    """
    begin, *parts = name.split("+")
    conditions: _Conditions = {}
    for part in parts:
        axis, equals, value = part.partition("=")
        if equals and axis in usual:
            conditions[axis] = value
        else:
            begin += f"+{part}"
    return begin, conditions


def phases_of(board: Leaderboard, usual: Mapping[str, str]) -> list[Phases]:
    """Return the diagrams of a board; none where nothing was swept.

    Parameters
    ----------
    board
        A comparison.
    usual
        The axes of the data type, with the value of each where a name does not have it; empty
        where that depends on the dataset.
    """
    flags = marked(board.known)
    if not (flags and usual):
        return []
    jobs: dict[tuple[str, str, tuple[tuple[str, str], ...]], list[int]] = defaultdict(list)
    for entry in board.entries:
        if not entry.attempted or flags[0].name not in entry.values:
            continue
        value = entry.values[flags[0].name] if entry.answered else 0.0
        if value is None:
            continue
        system, given = split_name(entry.case.system, usual)
        every = {axis: given.get(axis, text or USUAL) for axis, text in usual.items()}
        every[SNR] = board.noise_name(entry.case.snr_db).removesuffix(" dB")
        jobs[entry.method, system, tuple(every.items())].append(int(value == 1))
    values: dict[str, dict[str, None]] = defaultdict(dict)
    for _, _, conditions in jobs:
        for axis, value_ in conditions:
            values[axis][value_] = None
    swept = {axis: _ordered(axis, found) for axis, found in values.items() if len(found) > 1}
    if not swept.keys() - {SNR}:
        return []
    return _diagrams(board, jobs, swept)


def _diagrams(
    board: Leaderboard,
    jobs: Mapping[tuple[str, str, tuple[tuple[str, str], ...]], Sequence[int]],
    swept: Mapping[str, tuple[str, ...]],
) -> list[Phases]:
    """Make a diagram along the two axes with the most values for each value of the others."""
    x, *rest = sorted(swept, key=lambda axis: -len(swept[axis]))
    y, others = (rest[0], rest[1:]) if rest else ("", [])
    counts: dict[tuple[str, ...], dict[tuple[str, str, str, str], list[int]]] = {}
    for (method, system, conditions), outcomes in jobs.items():
        at = dict(conditions)
        held = tuple(at[axis] for axis in others)
        cells = counts.setdefault(held, defaultdict(lambda: [0, 0]))
        for each in (system, EVERY):
            cell = cells[method, each, at[x], at.get(y, "")]
            cell[0] += sum(outcomes)
            cell[1] += len(outcomes)
    order = [row.method for row in board.rows]
    made = []
    for held in itertools.product(*(swept[axis] for axis in others)):
        if held not in counts:
            continue
        cells = counts[held]
        there = {key[0] for key in cells}
        solved: dict[str, list[float]] = defaultdict(list)
        for (_, system, *_), (done, of) in cells.items():
            solved[system].append(done / of)
        systems = sorted(solved.keys() - {EVERY}, key=lambda one: (-_mean(solved[one]), one))
        made.append(
            Phases(
                *(x, y, swept[x], swept[y] if y else ("",)),
                held=tuple(zip(others, held, strict=True)),
                shares={key: (done, of) for key, (done, of) in cells.items()},
                methods=tuple(method for method in order if method in there),
                systems=(EVERY, *systems) if len(systems) > 1 else tuple(systems),
            )
        )
    return made


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _ordered(axis: str, values: Iterable[str]) -> tuple[str, ...]:
    """Sort values: numbers by size, then texts, then what is usual; noise levels cleanest first.

    Examples
    --------
    >>> _ordered("samples", ["usual", "100", "20"]), _ordered(SNR, ["20", "clean", "40"])
    (('20', '100', 'usual'), ('clean', '40', '20'))
    """

    def key(value: str) -> tuple[bool, float, str]:
        try:
            return False, -float(value) if axis == SNR else float(value), value
        except ValueError:
            return value == USUAL, -math.inf if axis == SNR else math.inf, value

    return tuple(sorted(values, key=key))


def phase_figures(board: Leaderboard, usual: Mapping[str, str]) -> list[Figure]:
    """Draw the phase diagrams of a board: methods against systems, and in each cell the sweep."""
    diagrams = phases_of(board, usual)
    flags = marked(board.known)
    figures = [_figure(each, flags[0]) for each in diagrams[:MOST]]
    if len(diagrams) > MOST and figures:
        last = figures[-1]
        left = f" {len(diagrams) - MOST} diagrams of further conditions are left out."
        figures[-1] = Figure(last.title, last.caption + left, last.svg, whole=True)
    return figures


def _figure(phases: Phases, flag: MetricSpec) -> Figure:
    columns, lines = len(phases.xs), len(phases.ys)
    wide = max(_LEAST_WIDTH, _BOX * columns + _GAP)
    box = (wide - _GAP) / columns
    tall = max(17, _BOX * lines + _GAP)
    high = (tall - _GAP) / lines if lines > 1 else tall - 4
    left_edge = 30 + round(6.3 * max(map(len, phases.systems)))
    head = 24 + 5 * max(map(len, phases.methods))
    foot = 12 + 6 * max(map(len, phases.xs))
    width, height = (
        left_edge + wide * len(phases.methods) + 60,
        head + tall * len(phases.systems) + foot,
    )
    title = f"Phase diagram: {phases.title}"
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    parts = [f'<svg class="phases" {size} role="img"><title>{escape(title)}</title>']
    for j, method in enumerate(phases.methods):
        x = left_edge + wide * j
        parts.append(
            f'<text transform="translate({x + wide / 2:.0f} {head - 8}) rotate(-40)">'
            f"{escape(method)}</text>"
        )
        for k, value in enumerate(phases.xs):
            parts.append(
                f'<text class="count" text-anchor="end" transform="translate('
                f'{x + box * (k + 0.5) + 3:.1f} {height - foot + 10}) rotate(-90)">'
                f"{escape(value)}</text>"
            )
    for i, system in enumerate(phases.systems):
        y = head + tall * i
        parts.append(
            f'<text x="{left_edge - 8}" y="{y + tall / 2 + 2:.0f}" text-anchor="end">'
            f"{escape(system)}</text>"
        )
        for j, method in enumerate(phases.methods):
            for (k, at), (line, other) in itertools.product(
                enumerate(phases.xs), enumerate(reversed(phases.ys))
            ):
                if (share := phases.shares.get((method, system, at, other))) is None:
                    continue
                done, of = share
                where = f"{phases.x}={at}{f', {phases.y}={other}' * bool(phases.y)}"
                parts.append(
                    f'<rect x="{left_edge + wide * j + box * k:.1f}" y="{y + high * line:.1f}" '
                    f'width="{box - 1:.1f}" height="{high - 1:.1f}" fill="#0072b2" '
                    f'fill-opacity="{done / of:.2f}"><title>{escape(method)}, {escape(system)}, '
                    f"{escape(where)}: {done} of {of}</title></rect>"
                )
    caption = (
        f"{flag.explanation}: the share of jobs, from white (none) to blue (all); without a frame "
        f"nothing was run. In each cell, {phases.x} from left to right ({', '.join(phases.xs)})"
    )
    if phases.y:
        caption += f", {phases.y} from bottom to top ({', '.join(phases.ys)})"
    caption = f"{caption[:1].upper()}{caption[1:]}. Failures count as not {flag.title}."
    return Figure(title, caption, "".join(parts) + "</svg>", whole=True)


def phase_tables(board: Leaderboard, usual: Mapping[str, str]) -> list[Table]:
    """Return the same of all systems together, as tables of methods and conditions."""
    tables = []
    for phases in phases_of(board, usual):
        heads = [Column("method", left=True), *(Column(phases.y) for _ in [0] * bool(phases.y))]
        rows = []
        every = EVERY if EVERY in phases.systems else phases.systems[0]
        for method, other in itertools.product(phases.methods, phases.ys):
            found = [phases.shares.get((method, every, at, other)) for at in phases.xs]
            if any(found):
                shares = ["" if one is None else f"{one[0]} of {one[1]}" for one in found]
                rows.append([*map(Cell, [method, *[other] * bool(phases.y), *shares])])
        columns = [*heads, *(Column(f"{phases.x}={at}") for at in phases.xs)]
        tables.append(Table(columns, rows, title=phases.title))
    return tables
