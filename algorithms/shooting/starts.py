"""Equations to begin with: sums of terms in weak form, in several widths."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from supports import backward, best_supports, compressed, least_squares

if TYPE_CHECKING:
    from collections.abc import Sequence

    from library import Term
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["WeakForm"]

_LARGEST, _WIDTH = 5, 12
"""The largest number of terms of an equation to begin with, and the width of the beam."""


@dataclass(frozen=True)
class WeakForm:
    """Changes of smoothed states against test functions ``(1 - x**2)**3``.

    Attributes
    ----------
    left
        What integrals of right-hand sides have to be, (r, d).
    rows
        Turns values of right-hand sides at samples into these integrals, (r, n).
    width
        Of a test function, in samples.
    """

    left: Array
    rows: Array
    width: int

    @classmethod
    def of(cls, t: Array, u: Array, trajectory: Array | None, width: int) -> WeakForm:
        """Integrate over windows of so many intervals of each trajectory."""
        n = len(t)
        parted = np.zeros(n) if trajectory is None else trajectory
        rows, slopes = [], []
        for several in np.split(np.arange(n), np.flatnonzero(np.diff(parted)) + 1):
            wide = min(width, len(several) - 1)
            for start in range(0, len(several) - wide, max(wide // 6, 1)):
                at = several[start : start + wide + 1]
                x = 2 * (t[at] - t[at[0]]) / (t[at[-1]] - t[at[0]]) - 1
                h = np.zeros(wide + 1)
                h[:-1] += np.diff(t[at]) / 2
                h[1:] += np.diff(t[at]) / 2
                row, slope = np.zeros(n), np.zeros(n)
                row[at] = h * (1 - x**2) ** 3
                size = np.linalg.norm(row)
                row /= size
                slope[at] = h * 6 * x * (1 - x**2) ** 2 * 2 / (t[at[-1]] - t[at[0]]) / size
                rows.append(row)
                slopes.append(slope)
        return cls(np.array(slopes) @ u, np.array(rows), width)

    def equations(
        self, u: Array, terms: Sequence[Term], state: int
    ) -> list[tuple[tuple[Term, ...], Array]]:
        """Return sums of terms for a state's rate, from one of one term to larger ones."""
        columns, kept = [], []
        for term in terms:
            values = np.broadcast_to(term.summand(term.start).values(u), (len(u),))
            if np.isfinite(values).all() and np.abs(values).max() > 0:
                columns.append(self.rows @ values)
                kept.append(term)
        every = np.stack(columns, axis=1)
        target = self.left[:, state]
        unit, along = compressed(every, target)
        found = best_supports(unit, along, min(_LARGEST, len(kept)), _WIDTH)
        supports = {size: list(several[:2]) for size, several in found.items()}
        largest = max(supports)
        for smaller in backward(unit, along, supports[largest][0], largest - 1):
            supports[len(smaller)].append(smaller)
        answers = []
        for size in sorted(supports):
            fits = [(least_squares(every[:, list(s)], target), s) for s in supports[size]]
            (coefficients, _), support = min(fits, key=lambda one: one[0][1])
            answers.append((tuple(kept[k] for k in support), coefficients))
        return answers

    def chosen(
        self, u: Array, terms: Sequence[Term], state: int, weight: float
    ) -> tuple[tuple[Term, ...], Array]:
        """Return the sum of terms of least ``log(square) + weight * size``."""

        def score(one: tuple[tuple[Term, ...], Array]) -> float:
            several, c = one
            values = sum(
                (k * t.summand(t.start).values(u) for k, t in zip(c, several, strict=True)),
                np.zeros(len(u)),
            )
            left = self.left[:, state] - self.rows @ values
            total = float(self.left[:, state] @ self.left[:, state]) + 1e-300
            return math.log(float(left @ left) / total + 1e-12) + weight * len(several)

        return min(self.equations(u, terms, state), key=score)
