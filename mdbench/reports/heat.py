"""Methods against systems, each pair a coloured cell."""

from __future__ import annotations

import math
from html import escape
from statistics import median
from typing import TYPE_CHECKING

from mdbench.drawing.numbers import ENDLESS, fixed, rounded
from mdbench.reports.columns import ALARM, UNDECIDED, warning
from mdbench.reports.entries import best_mark, marked

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mdbench.metrics.spec import MetricSpec
    from mdbench.reports.entries import Entry
    from mdbench.reports.leaderboard import Board

__all__ = ["cell_of", "heat_map", "middle", "sign_of"]

LONGEST = 32
"""Characters of a system's name that a heat map shows, so that a telephone has room for cells."""
FAILED, MISSING = "✗", ""


def sign_of(board: Board, entries: Sequence[Entry]) -> str | None:
    """Sum up one method on one case in a sign; None where the primary score says more.

    With several seeds the most common kind of result is shown, the worse one of equals.
    """
    marks = [spec.mark for spec in marked(board.specs)]
    order = [MISSING, *marks, None, UNDECIDED, FAILED]
    kinds = [_sign(board, one) for one in entries]
    return max(kinds, key=lambda sign: (sign != MISSING, kinds.count(sign), order.index(sign)))


def _sign(board: Board, one: Entry) -> str | None:
    if not one.answered:
        return FAILED if one.attempted else MISSING
    held, _ = best_mark(board.specs, one.values)
    known = one.values.get(board.primary.name) is not None
    return held.mark if held else None if known else UNDECIDED


def middle(entries: Iterable[Entry], spec: MetricSpec | None) -> float | None:
    """Give the median of a metric over the answers to one case, where any is known."""
    found = [one.values.get(spec.name) for one in entries if one.answered] if spec else []
    numbers = [value for value in found if isinstance(value, int | float)]
    return median(numbers) if numbers else None


def cell_of(board: Board, entries: Sequence[Entry]) -> tuple[str, str]:
    """Sum up one method on one case: a class of the style sheet, and what the cell says."""
    sign = sign_of(board, entries)
    alarm = ALARM if any(one.answered and one.alarms(board.known) for one in entries) else ""
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


def heat_map(board: Board, snr_db: float | None) -> str:
    """Draw methods against systems at one noise level."""
    grid = board.grid(snr_db)
    systems, methods = grid.systems, grid.methods
    unfit = {case.system for case in board.unfit if case.snr_db == snr_db}
    head = 24 + 5 * max((len(method) for method in methods), default=0)  # names lean
    longest = max((len(system) for system in systems), default=0)
    left, wide, tall = 30 + round(6.3 * min(longest, LONGEST)), 46, 17
    width, height = left + wide * len(methods) + 40, head + tall * len(systems) + 6
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    title = f"Methods and systems, {board.noise_name(snr_db)}"
    told = f'data-left="{left}" data-wide="{wide}" data-head="{head}" data-tall="{tall}"'
    parts = [f'<svg class="heat" {told} {size} role="img"><title>{title}</title>']
    for j, method in enumerate(methods):
        x = left + wide * j + wide / 2
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
        mark = " *" if system in unfit else ""
        parts.append(
            f'<text x="{left - 8}" y="{y + 12}" text-anchor="end">{escape(_short(system) + mark)}'
            f"<title>{escape(system)}</title></text>"
        )
        for j, method in enumerate(methods):
            if not (found := grid.cell(system, method)):
                continue
            kind, text = cell_of(board, found)
            alarms = dict.fromkeys(spec for one in found for spec in one.alarms(board.known))
            says = "; ".join(warning(spec) for spec in alarms) if ALARM in text else ""
            x = left + wide * j
            parts.append(
                f'<g class="{kind}"><path d="M{x} {y}h{wide - 1}v{tall - 1}h{1 - wide}z"/>'
                f'<text x="{x + wide // 2}" y="{y + 12}">{escape(text)}</text>'
                f"{f'<title>{escape(says)}</title>' if says else ''}</g>"
            )
        parts.append("</g>")
    return "".join(parts) + "</svg>"


def _short(name: str) -> str:
    """Cut a long name in its middle, as names differ at their ends."""
    if len(name) <= LONGEST:
        return name
    last = LONGEST * 2 // 5
    return f"{name[: LONGEST - 1 - last]}…{name[-last:]}"
