"""The figures of a data type, drawn from the same numbers as its leaderboard."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from html import escape
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from mdbench.reports.entries import HOLDS
from mdbench.drawing.numbers import noise_name, scientific
from mdbench.drawing.svg import BOTTOM, COLOURS, HEIGHT, WIDTH, Axis, Plot, marker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from mdbench.reports.entries import Entry
    from mdbench.reports.leaderboard import Board

__all__ = ["Figure", "critical_difference", "figures"]

WORST = 1e6
"""Errors above this are drawn at this height: nothing tells them apart."""
BEST = 1e-12
LABEL, LINE = 90, 13
"""Pixels that the name of a method may take."""
FOUND_TO = 1e-2
"""Where nobody compared equations with the truth: which error counts as having found it."""


@dataclass(frozen=True)
class Figure:
    """A picture, and the sentence that says how to read it."""

    title: str
    caption: str
    svg: str


def figures(board: Board, numbers: Mapping[str, int]) -> list[Figure]:
    """Draw all figures for which there are numbers.

    Parameters
    ----------
    board
        The comparison.
    numbers
        The number of each method, which sets its colour and its sign.
    """
    order = [row.method for row in board.rows]
    found = [_nmse_by_noise(board, numbers, order), _complexity_by_noise(board, numbers, order)]
    found += [_accuracy_and_complexity(board, numbers), _robustness(board, numbers, order)]
    found += [_followed(board, numbers, order), _residual_by_noise(board, numbers, order)]
    found.append(_time_by_dimension(board, numbers, order))
    return [figure for figure in found if figure is not None]


def _clip(value: float) -> float:
    return value if math.isinf(value) else min(WORST, max(BEST, value))


def _quartiles(values: Sequence[float]) -> tuple[float, float]:
    ordered = sorted(values)
    return ordered[len(ordered) // 4], ordered[min(len(ordered) - 1, 3 * len(ordered) // 4)]


def _by_level(
    title: str,
    board: Board,
    numbers: Mapping[str, int],
    order: Sequence[str],
    values: Callable[[str, float | None], Sequence[float]],
    *,
    label: str,
    log: bool,
    beyond: str = "",
) -> str | None:
    levels = board.noise_levels
    drawn = {
        method: [(i, found) for i, snr in enumerate(levels) if (found := values(method, snr))]
        for method in order
    }
    everything = [v for each in drawn.values() for _, found in each for v in _ends(found)]
    if not everything:
        return None
    axis = Axis(everything, log=log, zero=True)
    plot = Plot(title, [noise_name(snr) for snr in levels], axis, ("noise", label), beyond)
    for place, method in enumerate(order):
        aside = (place - (len(order) - 1) / 2) * min(0.11, 0.7 / max(1, len(order)))
        points = [(i + aside, median(found)) for i, found in drawn[method]]
        if points:
            spreads = [_quartiles(found) for _, found in drawn[method]]
            plot.series(numbers[method], method, points, spreads)
    return plot.render()


def _ends(found: Sequence[float]) -> list[float]:
    return [median(found), *_quartiles(found)]


def _nmse_by_noise(board: Board, numbers: Mapping[str, int], order: Sequence[str]) -> Figure | None:
    def values(method: str, snr: float | None) -> list[float]:
        losses = board.losses[method].items()
        return [_clip(e) for case, e in losses if case.snr_db == snr and case not in board.unfit]

    svg = _by_level(
        "NMSE by noise", board, numbers, order, values, label="NMSE", log=True, beyond="none"
    )
    caption = "Median and quartiles over the systems; “none” is no answer. "
    caption += "An error under the noise floor is drawn at the floor."
    return Figure("Error by noise", caption, svg) if svg else None


def _complexity_by_noise(
    board: Board, numbers: Mapping[str, int], order: Sequence[str]
) -> Figure | None:
    found: dict[tuple[str, float | None], list[float]] = defaultdict(list)
    for entry in board.entries:
        if entry.complexity is not None:
            found[entry.method, entry.case.snr_db].append(float(entry.complexity))

    def values(method: str, snr: float | None) -> list[float]:
        return found[method, snr]

    title = "Complexity by noise"
    svg = _by_level(title, board, numbers, order, values, label="nodes", log=True)
    caption = "Nodes of the answers: median and quartiles. Jobs without an answer have none."
    return Figure(title, caption, svg) if svg else None


def _accuracy_and_complexity(board: Board, numbers: Mapping[str, int]) -> Figure | None:
    rows = [row for row in board.rows if row.complexity and row.median is not None]
    if not rows:
        return None
    places = {row.method: (row.complexity or 1.0, _clip(row.median or 0.0)) for row in rows}
    x = Axis([x for x, _ in places.values()], log=True)
    y = Axis([y for _, y in places.values()], log=True)
    plot = Plot("Accuracy against complexity", x, y, ("complexity (nodes)", "NMSE"), "none")
    front = pareto([places[row.method] for row in rows if not row.reference])
    if front:
        path = f"M{plot.at_x(front[0][0]):.1f} {plot.at_y(front[0][1]):.1f}"
        for px, py in front[1:]:
            path += f"H{plot.at_x(px):.1f}V{plot.at_y(py):.1f}"
        plot.parts.append(f'<path class="front" d="{path}"/>')
    taken: list[tuple[float, float]] = []
    for row in sorted(rows, key=lambda row: -places[row.method][1]):
        px, py = places[row.method]
        plot.series(numbers[row.method], row.method, [(px, py)])
        at_x, at_y = plot.at_x(px), plot.at_y(py)
        shift, anchor = (-9, "end") if at_x > 0.7 * WIDTH else (9, "start")
        label, step = at_y - 5, 1
        while any(abs(at_x - ox) < LABEL and abs(label - oy) < LINE for ox, oy in taken):
            if label >= HEIGHT - BOTTOM:  # not over the axis: on upwards, past what is there
                step = -1
            label += step
        taken.append((at_x, label))
        plot.text(at_x + shift, label, row.method, anchor, "halo")
    caption = "Medians of each method. The line is the Pareto front: no method left of it and "
    caption += "below it is both simpler and more accurate. References are not part of it."
    return Figure("Accuracy against complexity", caption, plot.render())


def pareto(points: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Give the points that no other one beats in both coordinates, from left to right.

    Examples
    --------
    >>> pareto([(1, 5), (2, 6), (3, 1), (3, 2)])
    [(1, 5), (3, 1)]
    """
    front: list[tuple[float, float]] = []
    for point in sorted(points):
        if not math.isinf(point[1]) and (not front or point[1] < front[-1][1]):
            front.append(point)
    return front


def _robustness(board: Board, numbers: Mapping[str, int], order: Sequence[str]) -> Figure | None:
    judged = any(entry.verdict for entry in board.entries)
    title, caption = "Robustness against noise", "Share of all jobs, failures included."
    done = [entry for entry in board.entries if entry.attempted]
    if judged:
        goods = [(entry, entry.verdict == "identified") for entry in done if entry.judged]
        return _shares(board, numbers, order, goods, (title, caption, "identified (%)"))
    goods = [(entry, entry.nmse < FOUND_TO) for entry in done]
    return _shares(board, numbers, order, goods, (title, caption, f"NMSE below {FOUND_TO:g} (%)"))


def _followed(board: Board, numbers: Mapping[str, int], order: Sequence[str]) -> Figure | None:
    if not any(row.simulated_unseen for row in board.rows):
        return None
    goods = [
        (entry, bool(entry.holds_unseen))
        for entry in board.entries
        if entry.attempted
        and (entry.holds_unseen is not None or (entry.judged and not entry.answered))
    ]
    caption = (
        f"Share of jobs whose equations have an R² above {HOLDS} when they are integrated from "
    )
    caption += "the second initial condition, which no method is given; failures included."
    return _shares(board, numbers, order, goods, ("Unseen trajectories", caption, "followed (%)"))


def _residual_by_noise(
    board: Board, numbers: Mapping[str, int], order: Sequence[str]
) -> Figure | None:
    if not board.has_residuals:
        return None
    found: dict[tuple[str, float | None], list[float]] = defaultdict(list)
    for entry in board.entries:
        if entry.residual is not None:
            found[entry.method, entry.case.snr_db].append(_clip(entry.residual))
        elif entry.judged and entry.attempted and not entry.answered:
            found[entry.method, entry.case.snr_db].append(math.inf)

    def values(method: str, snr: float | None) -> list[float]:
        return found[method, snr]

    title = "Residual by noise"
    svg = _by_level(title, board, numbers, order, values, label="NMSE", log=True, beyond="none")
    caption = "The error of the answers on the clean field, whatever noise the method was given: "
    caption += "median and quartiles over the systems; “none” is no answer."
    return Figure(title, caption, svg) if svg else None


def _shares(
    board: Board,
    numbers: Mapping[str, int],
    order: Sequence[str],
    goods: Iterable[tuple[Entry, bool]],
    texts: tuple[str, str, str],
) -> Figure | None:
    """Draw by noise which share of results is good; `texts` are title, caption and label."""
    found: dict[tuple[str, float | None], list[float]] = defaultdict(list)
    for entry, good in goods:
        found[entry.method, entry.case.snr_db].append(100.0 * good)
    levels = board.noise_levels
    title, caption, label = texts
    shares = {
        method: [
            (i, float(np.mean(found[method, snr])))
            for i, snr in enumerate(levels)
            if found[method, snr]
        ]
        for method in order
    }
    if not any(shares.values()):
        return None
    axis = Axis([share for each in shares.values() for _, share in each], log=False, zero=True)
    names = [noise_name(snr) for snr in levels]
    plot = Plot(title, names, axis, ("noise", label))
    for method in order:
        if shares[method]:
            plot.series(numbers[method], method, shares[method])
    return Figure(title, caption, plot.render())


def _time_by_dimension(
    board: Board, numbers: Mapping[str, int], order: Sequence[str]
) -> Figure | None:
    found: dict[tuple[str, int], list[float]] = defaultdict(list)
    for entry in board.entries:
        if entry.dim is not None and entry.wall_s and entry.attempted:
            found[entry.method, entry.dim].append(entry.wall_s)
    if not found:
        return None
    dims = sorted({dim for _, dim in found})
    places = {dim: i for i, dim in enumerate(dims)}
    axis = Axis([v for values in found.values() for v in _ends(values)], log=True)
    names = [str(dim) for dim in dims]
    plot = Plot("Run time by dimension", names, axis, ("equations", "wall time (s)"))
    for place, method in enumerate(order):
        aside = (place - (len(order) - 1) / 2) * min(0.11, 0.7 / max(1, len(order)))
        own = [(dim, found[method, dim]) for dim in dims if found[method, dim]]
        points = [(places[dim] + aside, median(values)) for dim, values in own]
        if points:
            plot.series(numbers[method], method, points, [_quartiles(v) for _, v in own])
    caption = "Wall time of a job, tuning included: median and quartiles, failures included."
    return Figure("Run time by dimension", caption, plot.render())


def critical_difference(board: Board, numbers: Mapping[str, int]) -> Figure | None:
    """Draw mean ranks on a line; bars join methods closer than the critical difference."""
    test = board.friedman
    if test is None:
        return None
    ranked = sorted(zip(test.mean_ranks, board.ranked, strict=True))
    k = len(ranked)
    beside = 24.0 + 9 * (max(len(method) for method in board.ranked) + len(" 1.23"))
    left, right, line = beside, beside + 360.0, 62.0
    half = (k + 1) // 2

    def at(rank: float) -> float:
        return left + (right - left) * (rank - 1) / (k - 1)

    bars = _bars([rank for rank, _ in ranked], test.critical_difference)
    below = line + 14 + 9 * len(bars)
    height = below + 22 * half + 12
    parts = [f'<path class="axis" d="M{left} {line}H{right}"/>']
    for tick in range(1, k + 1):
        parts.append(f'<path class="axis" d="M{at(tick):.1f} {line - 6}V{line}"/>')
        parts.append(f'<text x="{at(tick):.1f}" y="{line - 10}" text-anchor="middle">{tick}</text>')
    long = min(right - left, (right - left) * test.critical_difference / (k - 1))
    parts.append(f'<path class="axis" d="M{left} 24v-8H{left + long:.1f}v8"/>')
    parts.append(
        f'<text x="{left}" y="12">critical difference {test.critical_difference:.2f}</text>'
    )
    for step, (low, high) in enumerate(bars):
        y = line + 10 + 9 * step
        parts.append(f'<path class="bar" d="M{at(low) - 4:.1f} {y}H{at(high) + 4:.1f}"/>')
    for place, (rank, method) in enumerate(ranked):
        on_left = place < half
        level = below + 22 * (place + 1 if on_left else k - place)
        end, anchor = (left - 12, "end") if on_left else (right + 12, "start")
        edge = left if on_left else right
        number = numbers[method]
        parts.append(f'<path class="lead" d="M{at(rank):.1f} {line}V{level - 4}H{edge}"/>')
        parts.append(f'<g class="m{number % COLOURS}">{marker(number, edge, level - 4)}</g>')
        parts.append(
            f'<text x="{end}" y="{level}" text-anchor="{anchor}">{escape(method)} {rank:.2f}</text>'
        )
    title = "Critical-difference diagram"
    size = f'viewBox="0 0 {right + beside:.0f} {height:.0f}"'
    svg = f'<svg class="wide" {size} role="img"><title>{title}</title>'
    caption = (
        f"Mean rank over {test.blocks} systems, 1 is best. Methods that a bar joins are closer "
        f"than the critical difference (Nemenyi, level 0.05; Friedman’s test: p = "
        f"{scientific(test.p)})."
    )
    return Figure(title, caption, svg + "".join(parts) + "</svg>")


def _bars(ranks: Sequence[float], critical: float) -> list[tuple[float, float]]:
    """Give the longest runs of ranks that lie within the critical difference."""
    bars: list[tuple[float, float]] = []
    for i, low in enumerate(ranks):
        high = max(rank for rank in ranks[i:] if rank - low <= critical)
        if high > low and (not bars or high > bars[-1][1]):
            bars.append((low, high))
    return bars
