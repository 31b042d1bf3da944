"""Bases of curves for smoothing: splines whose bending is diagonal, and waves."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = [
    "LONGEST_KEPT",
    "MOST_FUNCTIONS",
    "PENALISED",
    "SplineBasis",
    "spline_basis",
    "wave_basis",
]

MOST_FUNCTIONS = 400
"""However many samples there are, a curve is made of no more splines than this."""
PENALISED = 3
"""The derivative that is kept small."""
_DEGREE = 5
LONGEST_KEPT = 1000
"""Samples up to which a basis is kept for the next series with these times."""


@dataclass(frozen=True)
class SplineBasis:
    """Splines for some times, turned so that their bending is diagonal.

    Attributes
    ----------
    origin, step
        Times are counted from the first, in mean steps.
    s
        The times in these units, (n,).
    knots
        Of the splines, in these units.
    """

    origin: float
    step: float
    s: Array
    knots: Array

    @cached_property
    def _factors(self) -> tuple[Array, Array]:
        values, triangle = np.linalg.qr(_evaluated(self.knots, self.s, 0))
        return values, triangle

    @cached_property
    def _turned(self) -> tuple[Array, Array, Array]:
        """Values at the times (n, k), coefficients (k, k) and bending (k,) of each mode."""
        values, triangle = self._factors
        # The third derivative is a parabola between knots: three nodes integrate its square.
        nodes, weights = np.polynomial.legendre.leggauss(PENALISED)
        edges = np.unique(self.knots)
        half = np.diff(edges)[:, None] / 2
        places = (edges[:-1, None] + half * (nodes + 1)).ravel()
        bent = (
            _evaluated(self.knots, places, PENALISED) * np.sqrt((half * weights).ravel())[:, None]
        )
        inverse = np.linalg.solve(triangle, np.eye(len(triangle)))
        _, lengths, turned = np.linalg.svd(bent @ inverse)
        stiffness = np.zeros(len(triangle))
        stiffness[: len(lengths)] = lengths**2
        stiffness[-PENALISED:] = 0.0  # parabolas: what is left there is rounding
        return values @ turned.T, inverse @ turned.T, stiffness

    @property
    def orthonormal(self) -> Array:
        """The values of each mode at the times, (n, k)."""
        return self._turned[0]

    @property
    def coefficients(self) -> Array:
        """Of the splines, for each mode, (k, k)."""
        return self._turned[1]

    @property
    def stiffness(self) -> Array:
        """The mean squared third derivative of each mode, (k,)."""
        return self._turned[2]

    def unexplained(self, lines: Array) -> Array:
        """Return the sum of squares that no curve of this basis explains, of (n, m) for each."""
        values, _ = self._factors
        return np.asarray(np.sum((lines - values @ (values.T @ lines)) ** 2, axis=0))

    def matrix(self, times: Array, order: int = 0) -> Array:
        """Evaluate all splines, or a derivative of theirs, (times, k)."""
        return _evaluated(self.knots, (times - self.origin) / self.step, order) / self.step**order


def spline_basis(t: Array) -> SplineBasis:
    """Return the splines of degree 5 for increasing times (n,), at most `MOST_FUNCTIONS`."""
    make = _kept_basis if len(t) <= LONGEST_KEPT else _spline_basis
    return make(np.ascontiguousarray(t, dtype=np.float64).tobytes())


def _spline_basis(times: bytes) -> SplineBasis:
    t = np.frombuffer(times)
    step = float((t[-1] - t[0]) / (len(t) - 1))
    s = (t - t[0]) / step
    # As many splines as samples: the knots next to both ends are left out.  Of a long series some
    # samples are no knots.  A knot is always at a sample: these splines are then some of those with
    # all knots, and as well determined; between samples they would not be.
    inner = s[PENALISED:-PENALISED]
    if len(t) > MOST_FUNCTIONS:
        many = MOST_FUNCTIONS - 2 * PENALISED
        first = max(PENALISED, (len(t) - 1) / (many + 1))
        inner = s[np.round(np.linspace(first, len(t) - 1 - first, many)).astype(int)]
    ends = np.ones(_DEGREE + 1)
    return SplineBasis(float(t[0]), step, s, np.concatenate([s[0] * ends, inner, s[-1] * ends]))


_kept_basis = lru_cache(maxsize=64)(_spline_basis)


@lru_cache(maxsize=16)
def wave_basis(n: int) -> tuple[Array, Array]:
    """Return orthonormal waves on n nodes of a period, (n, n), and the bending of each, (n,)."""
    angles = 2 * np.pi * np.outer(np.arange(n), np.arange(n // 2 + 1)) / n
    waves = np.concatenate([np.cos(angles), np.sin(angles[:, 1 : (n + 1) // 2])], axis=1)
    numbers = np.concatenate([np.arange(n // 2 + 1), np.arange(1, (n + 1) // 2)])
    return waves / np.linalg.norm(waves, axis=0), (2 * np.pi * numbers / n) ** (2 * PENALISED)


def _evaluated(knots: Array, places: Array, order: int) -> Array:
    from scipy.interpolate import BSpline  # noqa: PLC0415 - takes a moment to load

    size = len(knots) - _DEGREE - 1
    splines = BSpline(knots, np.eye(size), _DEGREE)
    return np.asarray(splines(places, nu=order))
