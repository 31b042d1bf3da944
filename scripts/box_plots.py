"""Box plots by method, and kinds of failure: figures of pages of results, from a leaderboard."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Final

from mdbench.drawing.numbers import noise_name
from mdbench.drawing.svg import COLOURS, Axis, ticks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from mdbench.reports.entries import Entry
    from mdbench.reports.leaderboard import Leaderboard

_WIDTH, _LEFT, _RIGHT, _TOP, _BOTTOM = 480, 96, 46, 22, 34
_BOX, _GAP, _LETTER = 9, 8, 7
_SMALLEST, _LARGEST = 1e-12, 1e6
_NOISE: Final = (None, 20.0)
"""Noise levels of a figure by noise: without, and in the middle."""

Values = tuple[float, ...]
Rows = dict[str, dict[str, Values]]
"""By method and by what stands side by side; infinite without an answer."""
Scored = dict[str, list["Mapping[str, object]"]]
"""By method the scores of each job; without an answer there are none, or they are None."""


@dataclass(frozen=True)
class Drawn:
    """A figure, and the sentence that explains it.

    Attributes
    ----------
    legend
        The numbers of the methods whose signs are to stand below it.
    """

    title: str
    caption: str
    svg: str
    legend: Mapping[str, int] = field(default_factory=dict)


def box_figures(board: Leaderboard) -> list[Drawn]:
    """Draw the box plots of a data type: error, size and time by noise.

    A method without any value is left out.
    """
    wanted = [
        ("NMSE", _by_noise(board, lambda one: _score(one, "nmse")), True),
        ("Nodes of the equations", _by_noise(board, lambda one: _score(one, "complexity")), True),
        ("Time of a job (s)", _by_noise(board, lambda one: one.wall_s), True),
    ]
    return [
        Drawn(title, boxes_caption(rows), boxes(title, rows, log=log))
        for title, rows, log in wanted
        if rows
    ]


def boxes_caption(rows: Rows) -> str:
    """Say what the boxes are, and in which order they stand."""
    series = list(dict.fromkeys(name for each in rows.values() for name in each))
    order = f"From above: {', then '.join(series)}." if len(series) > 1 else f"Data: {series[0]}."
    return (
        "A box is from the lower to the upper quartile, its line the median, the thin line from "
        f"the 10 % to the 90 % quantile. {order} On the right stands how many jobs have no answer, "
        "if any; they count as worse than all."
    )


def _score(one: Entry, name: str) -> float | None:
    if not one.attempted:
        return None
    value = one.values.get(name)
    return float(value) if isinstance(value, int | float) else math.inf


def _by_noise(board: Leaderboard, value: Callable[[Entry], float | None]) -> Rows:
    def of(method: str, snr_db: float | None) -> Iterable[float]:
        for one in board.entries:
            found = value(one) if (one.method, one.case.snr_db) == (method, snr_db) else None
            if found is not None:
                yield found

    rows: Rows = {}
    levels = [level for level in _NOISE if level in {one.case.snr_db for one in board.entries}]
    for row in board.drawn:
        series = {noise_name(snr_db): tuple(of(row.method, snr_db)) for snr_db in levels}
        if any(series.values()):
            rows[row.method] = series
    return rows


def inside_and_outside(scored: Scored) -> Drawn | None:
    """Draw the errors of answers inside and outside of the domain; None without."""
    rows: Rows = {}
    for method, jobs in scored.items():
        if known := [each for each in jobs if "nmse_ood" in each]:
            rows[method] = {
                title: tuple(
                    float(value) if isinstance(value := each.get(name), int | float) else math.inf
                    for each in known
                )
                for title, name in (("inside", "nmse"), ("outside", "nmse_ood"))
            }
    title = "NMSE inside and outside of the domain"
    return Drawn(title, boxes_caption(rows), boxes(title, rows, log=True)) if rows else None


def quantile(values: Sequence[float], share: float) -> float:
    """Return a quantile, one of the values themselves: those without an answer are infinite.

    Examples
    --------
    >>> quantile([1.0, 2.0, 3.0, math.inf], 0.5)
    2.0
    """
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def _left_of(methods: Iterable[str]) -> int:
    """Return where the drawing begins: right of the longest name."""
    return max(_LEFT, 8 + math.ceil(_LETTER * max(map(len, methods))))


def boxes(title: str, rows: Rows, *, log: bool) -> str:
    """Draw box plots of each method, one above the other; infinite values are counted apart."""
    values = [
        min(max(value, _SMALLEST), _LARGEST)
        for series in rows.values()
        for each in series.values()
        for value in each
        if math.isfinite(value)
    ]
    axis = Axis(values or [1.0], log=log)
    left = _left_of(rows)
    wide = _WIDTH - left - _RIGHT
    height_each = max(map(len, rows.values())) * _BOX + _GAP
    height = _TOP + height_each * len(rows) + _BOTTOM

    def at(value: float) -> float:
        return left + wide * (1.0 if math.isinf(value) else axis.place(max(value, _SMALLEST)))

    parts = []
    for tick in ticks(axis.low, axis.high, log=log):
        x = at(tick)
        parts.append(f'<path class="grid" d="M{x:.1f} {_TOP}V{height - _BOTTOM}"/>')
        parts.append(
            f'<text x="{x:.1f}" y="{height - _BOTTOM + 16}" text-anchor="middle">'
            f"{axis.label(tick)}</text>"
        )
    for place, (method, series) in enumerate(rows.items()):
        top = _TOP + place * height_each
        parts.append(f'<text x="4" y="{top + height_each / 2:.1f}">{escape(method)}</text>')
        for line, (name, each) in enumerate(series.items()):
            if not each:
                continue
            y, middle = top + line * _BOX, top + line * _BOX + _BOX / 2 - 1
            low, first, median, third, high = (
                quantile(each, q) for q in (0.1, 0.25, 0.5, 0.75, 0.9)
            )
            hover = escape(f"{method}, {name}: median {median:.3g} of {len(each)}")
            parts.append(
                f'<g class="m{line % COLOURS}"><title>{hover}</title>'
                f'<path class="line" d="M{at(low):.1f} {middle:.1f}H{at(high):.1f}"/>'
                f'<path d="M{at(first):.1f} {y}H{at(third):.1f}v{_BOX - 2}H{at(first):.1f}z"/></g>'
                f'<path d="M{at(median):.1f} {y - 1}v{_BOX}" stroke="currentColor" '
                'stroke-width="2"/>'
            )
            if missing := sum(map(math.isinf, each)):
                parts.append(
                    f'<text x="{_WIDTH - 4}" y="{y + _BOX}" text-anchor="end">{missing}</text>'
                )
    parts.append(
        f'<text class="label" x="{left + wide / 2}" y="{height - 4}" text-anchor="middle">'
        f"{escape(title)}</text>"
    )
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height}" role="img"><title>{escape(title)}</title>'
        f"{''.join(parts)}</svg>"
    )


_KINDS: Final = {
    "none": "the right law",
    "fitting": "the right families, a wrong structure or constant",
    "search": "a family missing or too many",
    "": "no answer",
}


def kinds_of_failure(scored: Scored) -> Drawn | None:
    """Draw how answers fail, by the rule of docs/surface.md; None where no job has a kind."""
    counts: dict[str, Counter[str]] = {}
    for method, jobs in scored.items():
        kinds = [each.get("failure_kind") for each in jobs]
        if any(isinstance(kind, str) for kind in kinds):
            counts[method] = Counter(kind if isinstance(kind, str) else "" for kind in kinds)
    if not counts:
        return None
    title = "Kinds of failure"
    caption = f"Shares of the jobs of each method, from the left: {'; '.join(_KINDS.values())}."
    return Drawn(title, caption, _bars(title, counts))


def _bars(title: str, counts: Mapping[str, Counter[str]]) -> str:
    left = _left_of(counts)
    wide, each = _WIDTH - left - _RIGHT, _BOX + _GAP + 4
    height = _TOP + each * len(counts) + 8
    parts = []
    for place, (method, kinds) in enumerate(counts.items()):
        y, x, total = _TOP + place * each, float(left), kinds.total()
        parts.append(f'<text x="4" y="{y + _BOX + 2}">{escape(method)}</text>')
        for number, (kind, meaning) in enumerate(_KINDS.items()):
            length = wide * kinds[kind] / total
            hover = escape(f"{method}: {kinds[kind]} of {total}, {meaning}")
            parts.append(
                f'<g class="m{number}"><title>{hover}</title>'
                f'<path d="M{x:.1f} {y}h{length:.1f}v{_BOX + 4}h{-length:.1f}z"/></g>'
            )
            if kinds[kind] / total > 0.06:  # noqa: PLR2004 - room for the number
                parts.append(
                    f'<text x="{x + length / 2:.1f}" y="{y + _BOX + 2}" text-anchor="middle">'
                    f"{kinds[kind]}</text>"
                )
            x += length
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height}" role="img"><title>{escape(title)}</title>'
        f"{''.join(parts)}</svg>"
    )
