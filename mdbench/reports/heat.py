"""Methods against systems, each pair a coloured cell."""

from __future__ import annotations

import math
from collections import defaultdict
from html import escape
from statistics import median
from typing import TYPE_CHECKING

from mdbench.drawing.numbers import noise_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mdbench.reports.entries import Entry
    from mdbench.reports.leaderboard import Board

__all__ = ["cell_of", "error_and_complexity", "heat_map"]

LONGEST = 32
"""Characters of a system's name that a heat map shows, so that a telephone has room for cells."""


def cell_of(entries: Sequence[Entry]) -> tuple[str, str]:
    """Sum up one method on one case: a class of the style sheet, and what the cell says.

    With several seeds the most common kind of result is shown, the worse one of equals.
    """
    kinds = defaultdict(list)
    for entry in entries:
        if not entry.attempted:
            kind = "missing"
        elif not entry.answered:
            kind = "failed"
        else:
            kind = {"identified": "found", "one_term_off": "near"}.get(entry.verdict or "", "off")
        kinds[kind].append(entry)
    order = ("missing", "found", "near", "off", "failed")
    kind = max(kinds, key=lambda name: (name != "missing", len(kinds[name]), order.index(name)))
    if kind != "off":
        return kind, {"found": "✓", "near": "±1", "failed": "✗", "missing": ""}[kind]
    error = median(entry.nmse for entry in kinds[kind])
    power = math.floor(math.log10(error)) if 0 < error < math.inf else None
    if power is None:
        return ("off e0", "exact") if error == 0 else ("failed", "✗")
    return f"off e{min(5, max(0, (power + 10) // 2))}", f"{power}".replace("-", "−")


def error_and_complexity(entries: Sequence[Entry]) -> tuple[float, float | None]:
    """Give the medians over the answers to one case; complexities may be unknown."""
    answers = [entry for entry in entries if entry.answered]
    sizes = [entry.complexity for entry in answers if entry.complexity is not None]
    return median(entry.nmse for entry in answers), median(sizes) if sizes else None


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
    title = f"Methods and systems, {noise_name(snr_db)}"
    parts = [f'<svg class="heat" {size} role="img"><title>{title}</title>']
    for j, method in enumerate(methods):
        x = left + wide * j + wide / 2
        parts.append(
            f'<text transform="translate({x + 4:.0f} {head - 8}) rotate(-40)">'
            f"{escape(method)}</text>"
        )
    for i, system in enumerate(systems):
        y = head + tall * i
        mark = " *" if system in unfit else ""
        parts.append(
            f'<text x="{left - 8}" y="{y + 12}" text-anchor="end">{escape(_short(system) + mark)}'
            f"<title>{escape(system)}</title></text>"
        )
        for j, method in enumerate(methods):
            kind, text = cell_of(found) if (found := grid.cell(system, method)) else ("", "")
            if kind:
                x = left + wide * j
                parts.append(
                    f'<g class="{kind}"><path d="M{x} {y}h{wide - 1}v{tall - 1}h{1 - wide}z"/>'
                    f'<text x="{x + wide // 2}" y="{y + 12}">{text}</text></g>'
                )
    return "".join(parts) + "</svg>"


def _short(name: str) -> str:
    """Cut a long name in its middle, as names differ at their ends."""
    if len(name) <= LONGEST:
        return name
    last = LONGEST * 2 // 5
    return f"{name[: LONGEST - 1 - last]}…{name[-last:]}"
