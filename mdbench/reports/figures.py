"""The figures of a data type, drawn from the same numbers as its leaderboard."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from html import escape
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

from mdbench.drawing.numbers import ENDLESS, NO_ANSWER, fixed, rounded, scientific
from mdbench.drawing.svg import (
    BOTTOM,
    COLOURS,
    HEIGHT,
    LEFT,
    TOP,
    WIDTH,
    Axis,
    Figure,
    Plot,
    marker,
)
from mdbench.reports.coverage import attainable_cases
from mdbench.reports.entries import best_mark, counted_values, marked
from mdbench.reports.statistics import quartiles, wilson
from mdbench.reports.tables import ALARM, UNDECIDED, warning

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mdbench.metrics.spec import MetricSpec
    from mdbench.reports.entries import Entry
    from mdbench.reports.leaderboard import Leaderboard

SMALLEST, LARGEST = 1e-12, 1e6
"""Scores beyond these are drawn here: they cannot be distinguished."""
SHARES_WORTH_DRAWING = 2
LONGEST_LABEL = 16
"""Characters of a method's name next to a figure."""
FEWEST_COMPARED = 2
"""Methods, or systems, from how many on a figure compares anything."""
FEWEST_PLACES, MOST_COUNTED = 2, 5
"""Places along an axis: from how many on there is a figure, and with how many it has counts."""
SPREAD, WIDEST = 0.84, 0.06
"""The share of a place's width that its marks take at most, and of what one of them may take."""
SIZE, SMALLEST_SIZE = 4.5, 3.0
"""Half the width of a mark, and that of the smallest."""
CLOSEST = 4.6
"""Pixels between two marks at one place."""
LETTER, LINE = 7.6, 13
"""Pixels of a letter of a method's name, and of a line of names."""


def figures(board: Leaderboard, numbers: Mapping[str, int]) -> list[Figure]:
    """Draw all figures for which there are numbers.

    Parameters
    ----------
    board
        The comparison.
    numbers
        The number of each method, which sets its colour and its sign.
    """
    order = [row.method for row in board.drawn]
    drawn = [
        by_noise(spec, board, numbers, order) for spec in board.known if "figure" in spec.places
    ]
    drawn.append(_accuracy_and_size(board, numbers))
    drawn.append(_time_by_dimension(board, numbers, order))
    drawn.append(_quality_against_time(board, numbers, order))
    return [figure for figure in drawn if figure is not None]


def _clip(value: float, *, log: bool) -> float:
    lowest = SMALLEST if log else -LARGEST
    return value if math.isinf(value) else min(LARGEST, max(lowest, value))


Values = dict[tuple[str, Any], list[float]]
"""Values by method and by position on the horizontal axis."""


def _values(spec: MetricSpec, board: Leaderboard) -> Values:
    """Gather what a metric comes to at each noise level, failures included where they count."""
    values_by_key: Values = defaultdict(list)
    if spec is board.primary:
        cases = {job.case for job in board.common} - board.unfit.keys()
        for row in board.drawn:
            for case, loss in board.losses[row.method].items():
                value = spec.failed if math.isinf(loss) else spec.loss(loss)
                if case in cases and value is not None:
                    values_by_key[row.method, case.snr_db].append(value)
        return values_by_key
    groups: dict[tuple[str, float | None], list[Entry]] = defaultdict(list)
    for one in board.drawn_entries:
        groups[one.method, one.case.snr_db].append(one)
    for key, ones in groups.items():
        values = counted_values(ones, spec).values
        values_by_key[key] = [float(value) for value in values if not isinstance(value, str)]
    return values_by_key


def by_noise(
    spec: MetricSpec, board: Leaderboard, numbers: Mapping[str, int], order: Sequence[str]
) -> Figure | None:
    """Draw a metric at each noise level, with a line for each method of the order."""
    share, mean = spec.aggregate == "share", spec.aggregate in {"share", "mean"}
    log = spec.scale == "log"
    scale = 100.0 if share else 1.0
    values_by_key = {
        key: [_clip(scale * value, log=log) for value in values]
        for key, values in _values(spec, board).items()
    }
    title = f"{spec.title[:1].upper()}{spec.title[1:]} by noise"
    label = f"{spec.title} (%)" if share else f"{spec.title} ({spec.unit})".replace(" ()", "")
    levels = {snr_db: board.noise_name(snr_db).removesuffix(" dB") for snr_db in board.noise_levels}
    page_data = {"figure": spec.name, "places": json.dumps(list(levels))}
    ceiling = {
        key: scale * sum(allowed) / len(allowed)
        for key, allowed in attainable_cases(spec, board).items()
    }
    svg = _lines(
        *(title, levels, values_by_key, numbers, order),
        labels=("SNR (dB)", label),
        log=log,
        mean=mean,
        share=share,
        ceiling=ceiling,
        page_data=page_data,
    )
    what = "share of jobs, with Wilson’s 95 % interval" if share else "mean"
    caption = (
        f"{spec.explanation}: {what if mean else 'median and quartiles'}. n: values per mark. "
    )
    if spec is board.primary:
        caption += "A score that is better than the truth’s is drawn as that. "
    if ceiling:
        caption += f"The dotted steps are the cases that can be {spec.title} under noise. "
    if spec.failed is None:
        caption += "Jobs without an answer have none."
    elif math.isinf(spec.failed):
        caption += f"“{NO_ANSWER}” is no answer."
    else:
        caption += "Failures are included."
    return Figure(title, caption[:1].upper() + caption[1:], svg) if svg else None


def _lines(
    title: str,
    places: Mapping[Any, str],
    values_by_key: Values,
    numbers: Mapping[str, int],
    order: Sequence[str],
    *,
    labels: tuple[str, str],
    log: bool,
    mean: bool,
    share: bool = False,
    ceiling: Mapping[Any, float] | None = None,
    page_data: Mapping[str, str],
) -> str | None:
    """Draw a line for each method: means, shares with intervals, or medians with quartiles.

    Methods are side by side at each place, in the order of the leaderboard, so that none hides
    another one that has the same values.  None where there is one place only: there is nothing to
    compare along the axis, and the leaderboard has the numbers.  Where there is a ceiling, it is a
    dotted step at its places.
    """
    if len(places) < FEWEST_PLACES:
        return None
    centre = fmean if mean else median
    drawn = {
        method: [
            (i, values)
            for i, key in enumerate(places)
            if (values := values_by_key.get((method, key)))
        ]
        for method in order
    }
    ends = [
        end
        for each in drawn.values()
        for _, values in each
        for end in [centre(values), *_spread(values, mean=mean, share=share)]
    ]
    if not ends:
        return None
    ends += (ceiling or {}).values()
    axis = Axis(ends, log=log, zero=min(ends) >= 0)
    beyond = NO_ANSWER if any(math.isinf(value) for value in ends) else ""
    counts = [
        _count([len(values_by_key.get((method, key), ())) for method in order]) for key in places
    ]
    if len(places) > MOST_COUNTED:
        counts = []
    plot = Plot(title, [*places.values()], axis, labels, beyond, counts=counts)
    _set_attributes(plot, page_data, mean=mean, share=share)
    shown = [method for method in order if drawn[method]]
    width = plot.at_x(1) - plot.at_x(0)
    for i, key in enumerate(places):
        if ceiling and key in ceiling:
            left, at = plot.at_x(i) - width / 2, plot.at_y(ceiling[key])
            # The page's script takes it away where some of the results are shown alone.
            plot.parts.append(f'<path class="split" d="M{left:.1f} {at:.1f}h{width:.1f}"/>')
    widest = SPREAD * width / len(shown)
    step = min(widest, max(CLOSEST, WIDEST * width))
    size = min(SIZE, max(SMALLEST_SIZE, step / 2))
    for place, method in enumerate(shown):
        aside = (place - (len(shown) - 1) / 2) * step
        points = [(float(i), centre(values)) for i, values in drawn[method]]
        spreads = [
            pair for _, values in drawn[method] if (pair := _spread(values, mean=mean, share=share))
        ]
        names = [*places.values()]
        hovers = [f"{method}, {names[int(i)]}: {labels[1]} {value:.3g}" for i, value in points]
        plot.series(numbers[method], method, points, spreads, size=size, aside=aside, hovers=hovers)
    return plot.render()


def _spread(values: Sequence[float], *, mean: bool, share: bool) -> tuple[()] | tuple[float, float]:
    """Return the ends of the bar of a mark: quartiles, or the interval of a share in per cent."""
    if share:
        low, high = wilson(fmean(values) / 100, len(values))
        return 100 * low, 100 * high
    return () if mean else quartiles(values)


def _count(numbers: Iterable[int]) -> str:
    known = [number for number in numbers if number]
    if not known:
        return ""
    low, high = min(known), max(known)
    return f"n {low}" if low == high else f"n {low}–{high}"


def _set_attributes(plot: Plot, page_data: Mapping[str, str], **more: bool) -> None:
    """Set what the page's script needs to draw the points again: axes and their ends."""
    for name, axis in (("x", plot.x), ("y", plot.y)):
        if isinstance(axis, Axis):
            plot.data_attributes[name] = f"{axis.low!r} {axis.high!r} {int(axis.log)}"
    plot.data_attributes |= {**page_data, "top": f"{plot.top}"} | {
        name: "1" for name, is_so in more.items() if is_so
    }


def _accuracy_and_size(board: Leaderboard, numbers: Mapping[str, int]) -> Figure | None:
    primary, size = board.primary, board.weighs
    if size is None:
        return None
    log = primary.scale == "log"
    places: dict[str, tuple[float, float]] = {}
    for row in board.drawn:
        x, y = row.values[size.name].value, row.values[primary.name].value
        if x and y is not None:
            places[row.method] = x, _clip(y, log=log)
    rows = [row for row in board.drawn if row.method in places]
    if len(rows) < FEWEST_COMPARED:
        return None
    title = f"{primary.title} against {size.title}"
    # The truth's score, such as 1e-12, would leave little of the axis to the methods.
    known = [row.method for row in rows if not row.reference] or [*places]
    truths = [row.method for row in rows if row.reference and row.method not in known]
    x_axis = Axis([x for x, _ in places.values()], log=True)
    y_axis = Axis([places[method][1] for method in known], log=log)
    beyond = NO_ANSWER if any(math.isinf(y) for _, y in places.values()) else ""
    right = 30 + LETTER * min(LONGEST_LABEL, max(map(len, places)))
    labels = size.title, primary.title
    plot = Plot(title, x_axis, y_axis, labels, beyond, right=right)
    _set_attributes(plot, {"figure": "weighed", "end": f"{plot.end:.1f}"})
    for method in truths:
        at = plot.at_y(places[method][1])
        plot.parts.append(f'<path class="split" d="M{LEFT} {at:.1f}H{plot.end:.1f}"/>')
    own = [places[row.method] for row in rows if row.standing == "compared"]
    front = pareto((x, primary.loss(y)) for x, y in own)
    if front:
        path = f"M{plot.at_x(front[0][0]):.1f} {plot.at_y(primary.loss(front[0][1])):.1f}"
        for px, loss in front[1:]:
            path += f"H{plot.at_x(px):.1f}V{plot.at_y(primary.loss(loss)):.1f}"
        plot.parts.append(f'<path class="front" d="{path}"/>')
    name_and_mark(plot, places, numbers)
    caption = (
        f"Of each method. The line is the Pareto front: no method has both fewer {size.title} "
    )
    caption += f"and a better {primary.title} than one on it. "
    caption += (
        "Baselines and references are not part of it. Marks that would overlap are side by side."
    )
    if truths:
        caption += f" The dotted line is {', '.join(truths)}, at the edge if beyond the axis."
    return Figure(title, caption, plot.render())


def name_and_mark(
    plot: Plot, places: Mapping[str, tuple[float, float]], numbers: Mapping[str, int]
) -> None:
    """Draw methods as marks, and their names on the right, with lines from the marks."""
    marks: dict[str, tuple[float, float]] = {}
    for method in sorted(places, key=lambda method: -places[method][1]):
        x, y = places[method]
        at_y = plot.at_y(y)
        marks[method] = _move_aside(plot.at_x(x), at_y, marks.values()), at_y
    ordered = sorted(marks, key=lambda method: (marks[method][1], -marks[method][0]))
    heights = _heights([marks[method][1] for method in ordered])
    for method, height in zip(ordered, heights, strict=False):
        at_x, at_y = marks[method]
        end = plot.end + 14
        plot.parts.append(
            f'<path class="lead" d="M{at_x + SIZE:.1f} {at_y:.1f}L{end:.1f} {height:.1f}h4"/>'
        )
        plot.text(end + 8, height + 4, _cut(method), "start", "halo")
    for method, (at_x, _) in marks.items():  # over the lines
        point = places[method]
        hover = f"{method}: {plot.labels[0]} {point[0]:.4g}, {plot.labels[1]} {point[1]:.3g}"
        aside = at_x - plot.at_x(point[0])
        plot.series(numbers[method], method, [point], aside=aside, hovers=[hover])


def _heights(wanted: Sequence[float]) -> list[float]:
    """Move labels apart, sorted from the top: as many as there is space for.

    Examples
    --------
    >>> _heights([50.0, 51.0, 100.0])
    [50.0, 63.0, 100.0]
    """
    lowest = HEIGHT - BOTTOM - 4
    heights = list(wanted[: int((lowest - TOP) // LINE) + 1])
    for index, height in enumerate(heights[1:], start=1):
        heights[index] = max(height, heights[index - 1] + LINE)
    for index in reversed(range(len(heights))):
        most = lowest if index == len(heights) - 1 else heights[index + 1] - LINE
        heights[index] = min(heights[index], most)
    return heights


def _cut(name: str) -> str:
    return name if len(name) <= LONGEST_LABEL else f"{name[: LONGEST_LABEL - 1]}…"


def _move_aside(x: float, y: float, marks: Iterable[tuple[float, float]]) -> float:
    """Move a mark aside, to the wider side, until it hides no other one."""
    taken = [other for other, height in marks if abs(y - height) < SIZE]
    step = 2 * SIZE if x <= WIDTH / 2 else -2 * SIZE
    while any(abs(x - other) < SIZE for other in taken):
        x += step
    return x


def pareto(points: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the points that no other one beats in both coordinates, from left to right.

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


def _time_by_dimension(
    board: Leaderboard, numbers: Mapping[str, int], order: Sequence[str]
) -> Figure | None:
    values: Values = defaultdict(list)
    for entry in board.drawn_entries:
        if entry.dim is not None and entry.wall_s and entry.attempted:
            values[entry.method, entry.dim].append(entry.wall_s)
    dims = {dim: str(dim) for dim in sorted({dim for _, dim in values})}
    title, labels = "Run time by dimension", ("dimension", "wall time (s)")
    page_data = {"figure": "time", "places": json.dumps(list(dims))}
    svg = _lines(
        title,
        dims,
        values,
        numbers,
        order,
        labels=labels,
        log=True,
        mean=False,
        page_data=page_data,
    )
    caption = "Wall time of a job, tuning included: median and quartiles, failures included."
    return Figure(title, caption, svg) if svg else None


def _quality_against_time(
    board: Leaderboard, numbers: Mapping[str, int], order: Sequence[str]
) -> Figure | None:
    """Draw what the best answers up to some time score; before the first there is none."""
    primary = board.primary
    log = primary.scale == "log"
    known = [e for e in board.drawn_entries if e.attempted and e.case not in board.unfit]
    shares = sorted({share for one in known for share, _ in one.so_far})
    if len(shares) < SHARES_WORTH_DRAWING:
        return None
    values: Values = defaultdict(list)
    failed = primary.failed
    for record in known:
        page_data = dict(record.so_far)
        for share in shares:
            # A record older than the key has nothing; without an answer there is none at all.
            value = page_data.get(share, failed if record.so_far or not record.answered else None)
            if isinstance(value, int | float):
                values[record.method, share].append(_clip(float(value), log=log))
    medians: dict[str, set[float]] = defaultdict(set)
    for (method, _), scores in values.items():
        medians[method].add(median(scores))
    if all(len(of_method) == 1 for of_method in medians.values()):
        return None  # nobody's answers got better
    places = {share: f"{100 * share:g} %" for share in shares}
    title = f"{primary.title[:1].upper()}{primary.title[1:]} against time"
    labels = ("share of the budget", primary.title)
    svg = _lines(
        title, places, values, numbers, order, labels=labels, log=log, mean=False, page_data={}
    )
    caption = (
        "What the best answer up to a share of the budget (of work, or of time) scores: median and "
        "quartiles of jobs; before the first answer a job counts as a failure."
    )
    return Figure(title, caption, svg, whole=True) if svg else None


def critical_difference(board: Leaderboard, numbers: Mapping[str, int]) -> Figure | None:
    """Draw mean ranks on a line; bars join methods closer than the critical difference."""
    test = board.friedman
    if test is None:
        return None
    ranked = sorted(zip(test.mean_ranks, board.ranked, strict=True))
    k = len(ranked)
    margin = 24.0 + 9 * (max(len(method) for method in board.ranked) + len(" 1.23"))
    left_end, right_end, line = margin, margin + 360.0, 62.0
    half = (k + 1) // 2

    def at(rank: float) -> float:
        return left_end + (right_end - left_end) * (rank - 1) / (k - 1)

    bars = _bars([rank for rank, _ in ranked], test.critical_difference)
    below = line + 14 + 9 * len(bars)
    height = below + 22 * half + 12
    parts = [f'<path class="axis" d="M{left_end} {line}H{right_end}"/>']
    for tick in range(1, k + 1):
        parts.append(f'<path class="axis" d="M{at(tick):.1f} {line - 6}V{line}"/>')
        parts.append(f'<text x="{at(tick):.1f}" y="{line - 10}" text-anchor="middle">{tick}</text>')
    long = min(right_end - left_end, (right_end - left_end) * test.critical_difference / (k - 1))
    parts.append(f'<path class="axis" d="M{left_end} 24v-8H{left_end + long:.1f}v8"/>')
    parts.append(
        f'<text x="{left_end}" y="12">critical difference {test.critical_difference:.2f}</text>'
    )
    for step, (low, high) in enumerate(bars):
        y = line + 10 + 9 * step
        parts.append(f'<path class="bar" d="M{at(low) - 4:.1f} {y}H{at(high) + 4:.1f}"/>')
    for place, (rank, method) in enumerate(ranked):
        on_left = place < half
        level = below + 22 * (place + 1 if on_left else k - place)
        end, anchor = (left_end - 12, "end") if on_left else (right_end + 12, "start")
        edge = left_end if on_left else right_end
        number = numbers[method]
        parts.append(f'<path class="lead" d="M{at(rank):.1f} {line}V{level - 4}H{edge}"/>')
        parts.append(f'<g class="m{number % COLOURS}">{marker(number, edge, level - 4)}</g>')
        parts.append(
            f'<text x="{end}" y="{level}" text-anchor="{anchor}">{escape(method)} {rank:.2f}</text>'
        )
    title = "Critical-difference diagram"
    size = f'viewBox="0 0 {right_end + margin:.0f} {height:.0f}"'
    svg = f'<svg class="wide" {size} role="img"><title>{title}</title>'
    caption = (
        f"Mean rank over {test.blocks} systems, 1 is best. Of methods that a bar joins no "
        f"difference was shown: they are closer than the critical difference (Nemenyi, level 0.05; "
        f"Friedman’s test: p = {scientific(test.p)}). Mean ranks depend on who is compared."
    )
    return Figure(title, caption, svg + "".join(parts) + "</svg>", whole=True)


def _bars(ranks: Sequence[float], critical: float) -> list[tuple[float, float]]:
    """Return the longest runs of ranks that lie within the critical difference."""
    bars: list[tuple[float, float]] = []
    for i, low in enumerate(ranks):
        high = max(rank for rank in ranks[i:] if rank - low <= critical)
        if high > low and (not bars or high > bars[-1][1]):
            bars.append((low, high))
    return bars


LONGEST = 32
"""Characters of a line of a system's name in a heat map, so that cells fit on a telephone."""
FAILED, MISSING = "✗", ""


def sign_of(board: Leaderboard, entries: Sequence[Entry]) -> str | None:
    """Sum up one method on one case in a sign; None where the primary score shows more.

    With several seeds the most common kind of result is shown, the worse one of equals.
    """
    marks = [spec.mark for spec in marked(board.specs)]
    order = [MISSING, *marks, None, UNDECIDED, FAILED]
    kinds = [_sign(board, one) for one in entries]
    return max(kinds, key=lambda sign: (sign != MISSING, kinds.count(sign), order.index(sign)))


def _sign(board: Leaderboard, entry: Entry) -> str | None:
    if not entry.answered:
        return FAILED if entry.attempted else MISSING
    held, _ = best_mark(board.specs, entry.values)
    known = entry.values.get(board.primary.name) is not None
    return held.mark if held else None if known else UNDECIDED


def middle(entries: Iterable[Entry], spec: MetricSpec | None) -> float | None:
    """Return the median of a metric over the answers to one case, where any is known."""
    found = [one.values.get(spec.name) for one in entries if one.answered] if spec else []
    numbers = [value for value in found if isinstance(value, int | float)]
    return median(numbers) if numbers else None


def cell_of(board: Leaderboard, entries: Sequence[Entry]) -> tuple[str, str]:
    """Sum up one method on one case: a class of the style sheet, and the text of the cell."""
    sign = sign_of(board, entries)
    alarm = ALARM if any(one.answered and one.alarms(board.alarmed) for one in entries) else ""
    marks = [spec.mark for spec in marked(board.specs)]
    if sign in marks:
        return "found" if sign == marks[0] else "near", f"{sign}{alarm}"
    if sign is not None:
        return {FAILED: "failed", MISSING: "missing"}.get(sign, "unknown"), f"{sign}{alarm}"
    primary = board.primary
    score = middle([one for one in entries if _sign(board, one) is None], primary)
    if score is None:
        raise AssertionError("without a sign there is a score")
    if primary.scale == "linear":
        shade, text = int(5.999 * board.badness(score)), rounded(score, 2)
    elif score >= ENDLESS:
        shade, text = 5, "∞"
    elif score > 0:
        power = math.floor(math.log10(score))
        # Where higher is better, a power of ten less is a shade darker.
        shade = (power + 10) // 2 if primary.better != "higher" else -power
        text = fixed(float(power))
    else:
        shade, text = 0, "exact"
    return f"off e{min(5, max(0, shade))}", f"{text.replace('-', '−')}{alarm}"


def heat_map(board: Leaderboard, snr_db: float | None) -> str:
    """Draw methods, the best first, against systems, the easiest first, at one noise level."""
    grid = board.grid(snr_db)
    there = {*grid.systems}
    systems, methods = [one for one in board.by_difficulty if one in there], grid.methods
    unfit = {case.system for case in board.unfit if case.snr_db == snr_db}
    head = 24 + 5 * max((len(method) for method in methods), default=0)  # names lean
    longest = max((len(system) for system in systems), default=0)
    left_edge, wide, tall = 30 + round(6.3 * min(longest, LONGEST)), 46, 17
    width, height = left_edge + wide * len(methods) + 40, head + tall * len(systems) + 6
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    title = f"Methods and systems, {board.noise_name(snr_db)}"
    page_data = f'data-left="{left_edge}" data-wide="{wide}" data-head="{head}" data-tall="{tall}"'
    parts = [f'<svg class="heat" {page_data} {size} role="img"><title>{title}</title>']
    for j, method in enumerate(methods):
        x = left_edge + wide * j + wide / 2
        parts.append(
            f'<text data-m="{escape(method)}" '
            f'transform="translate({x + 4:.0f} {head - 8}) rotate(-40)">'
            f"{escape(method)}</text>"
        )
    for i, system in enumerate(systems):
        y = head + tall * i
        known = (one.dim for method in methods for one in grid.cell(system, method))
        dims = [dim for dim in known if dim is not None]
        parts.append(f'<g data-d="{min(dims, default="")}">')
        mark = " *" * (system in unfit) + " †" * board.is_hidden(system, snr_db)
        parts.append(
            f'<text x="{left_edge - 8}" y="{y + 12}" text-anchor="end">'
            f"{_in_lines(system + mark, left_edge - 8)}<title>{escape(system)}</title></text>"
        )
        for j, method in enumerate(methods):
            if not (entries := grid.cell(system, method)):
                continue
            kind, text = cell_of(board, entries)
            alarms = dict.fromkeys(spec for one in entries for spec in one.alarms(board.alarmed))
            text_ = "; ".join(warning(spec) for spec in alarms) if ALARM in text else ""
            x = left_edge + wide * j
            parts.append(
                f'<g class="{kind}"><path d="M{x} {y}h{wide - 1}v{tall - 1}h{1 - wide}z"/>'
                f'<text x="{x + wide // 2}" y="{y + 12}">{escape(text)}</text>'
                f"{f'<title>{escape(text_)}</title>' if text_ else ''}</g>"
            )
        parts.append("</g>")
    return "".join(parts) + "</svg>"


def _in_lines(name: str, x: int) -> str:
    """Return a long name in two small lines, broken at the sign next to its middle."""
    if len(name) <= LONGEST:
        return escape(name)
    breaks = [place for place, sign in enumerate(name, start=1) if sign in "-_ ("]
    place = min(breaks, key=lambda each: abs(each - len(name) / 2), default=LONGEST)
    size = min(8.5, 11 * LONGEST / max(place, len(name) - place))
    lines = ((-4, name[:place]), (8, name[place:]))
    return "".join(
        f'<tspan x="{x}" dy="{dy}" font-size="{size:.1f}">{escape(line)}</tspan>'
        for dy, line in lines
    )
