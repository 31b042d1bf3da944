"""Bases of curves for smoothing, splines and waves, and what is kept of each of their modes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

MOST_FUNCTIONS = 400
"""However many samples there are, a curve is made of no more splines than this."""
PENALISED = 3
"""The derivative that is kept small."""
_DEGREE = 5
TINY = 1e-300
MOST_REMOVED = 2.0
"""Largest ratio of the part that is removed from a field to its expected noise."""
_BEYOND = 3.0
"""Decades that are tried beyond where all is interpolated, and beyond where nothing bends."""
_TRIED = 49
"""Number of degrees of smoothness that are tried, before the best is refined."""
LONGEST_KEPT = 1000
"""Samples up to which a basis is kept for the next series with these times."""


class Modes(NamedTuple):
    """Modes of k splines.

    Attributes
    ----------
    values
        Of each mode at the times, (n, k).
    coefficients
        Of the splines, for each mode, (k, k).
    stiffness
        The mean squared third derivative of each mode, (k,).
    """

    values: Array
    coefficients: Array
    stiffness: Array


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
    def modes(self) -> Modes:
        """The modes whose bending is diagonal."""
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
        return Modes(values @ turned.T, inverse @ turned.T, stiffness)

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


FEWEST_CHECKED = 5
"""The shortest series that can be checked."""
_NEAR = 7
"""A sample and its neighbours, whose largest deviation counts for it."""
_FACTOR = 10.0
"""Largest distance of a derivative from the better polynomial, relative to a parabola's.

Sound ones of three samples an oscillation, and of noise that was not smoothed, stay below a third.
"""
_SHARE = 0.05
"""The share of the largest derivative that a deviation may have in any case: a curve through a step
or a spike swings by so much next to it."""
_ROUNDING = 1e-11
"""Relative to the values, of which differences are taken: what rounding may leave of these."""


def contradicted_derivatives(
    t: Array, u: Array, du: Array, *, one_field: bool = False
) -> NDArray[np.bool_]:
    """Whether derivatives contradict the values at the same times, for each of several series.

    A derivative is compared with that of the polynomial through the five nearest samples.  How far
    the two may be apart follows from how far that one is from the parabola through three of them:
    where samples are many for what they show, hardly at all.  The first and the last sample, where
    a derivative is known least, are left out.

    Parameters
    ----------
    t
        Increasing times, (n,) with n at least `FEWEST_CHECKED`; of any spacing.
    u
        Values, (n, m).
    du
        Their derivatives in time, (n, m).
    one_field
        Whether the series are lines of one field, whose derivatives have one size.

    Returns
    -------
    (m,)
        True where a series has a derivative that is not finite or too far away.

    Examples
    --------
    >>> t = np.linspace(0, 3, 40)
    >>> u, du = np.sin(2 * t)[:, None], 2 * np.cos(2 * t)[:, None]
    >>> contradicted_derivatives(t, u, du), contradicted_derivatives(t, u, -du)
    (array([False]), array([ True]))
    """
    with np.errstate(all="ignore"):
        five, three = _derivatives(t, 5), _derivatives(t, 3)
        good, plain = (_applied(each, u) for each in (five, three))
        rough = _largest_nearby(np.abs(good - plain))
        weight = _largest_nearby(np.abs(five).sum(axis=1)[:, None])
        tiny = _ROUNDING * weight * np.max(np.abs(u), axis=0)
        largest = np.max(np.abs(good), axis=None if one_field else 0)
        most = _FACTOR * rough + _SHARE * largest + tiny
        fine = np.abs(du - good) <= most  # not so where one of them is no number
    return np.asarray(~fine[1:-1].all(axis=0))


def contradicted_values(t: Array, u: Array, middles: Array) -> NDArray[np.bool_]:
    """Whether a curve contradicts its own values at the samples by those between them.

    In the middle between two samples it is compared with the cubic through the nearest four.

    Parameters
    ----------
    t
        Increasing times, (n,) with n at least `FEWEST_CHECKED`.
    u
        Values there, (n, m).
    middles
        Values halfway between the times, (n - 1, m).

    Returns
    -------
    (m,)
    """
    n = len(t)
    first = np.clip(np.arange(n - 1) - 1, 0, n - 4)
    halfway = (t[1:] + t[:-1]) / 2
    with np.errstate(all="ignore"):
        weights = _values_at(t[first[:, None] + np.arange(4)], halfway)
        windows = sliding_window_view(u, 4, axis=0)[first]
        cubic = np.einsum("ik,imk->im", weights, windows)
        line = (u[1:] + u[:-1]) / 2
        rough = _largest_nearby(np.abs(cubic - line))
        most = _FACTOR * rough + _SHARE * np.ptp(u, axis=0)
        fine = np.abs(middles - cubic) <= most + _ROUNDING * np.max(np.abs(u), axis=0)
    return np.asarray(~fine.all(axis=0))


def strongest_wave(residuals: Array) -> tuple[Array, Array]:
    """Find the strongest wave in what was taken away as noise, in (n, m) for each of m.

    White noise of n samples has about 2 log(n) / n of its squares in its strongest wave; what has
    most of them there is an oscillation (Fisher, Proceedings of the Royal Society A 125, 54, 1929).

    Returns
    -------
    share
        Of the squares, from 0 to 1, (m,).
    length
        In samples, (m,).
    """
    powers = np.abs(np.fft.rfft(residuals - residuals.mean(axis=0), axis=0))[1:] ** 2
    whole = powers.sum(axis=0)
    share = np.divide(powers.max(axis=0), whole, out=np.zeros_like(whole), where=whole > 0)
    return share, len(residuals) / (1.0 + np.argmax(powers, axis=0))


def _derivatives(t: Array, size: int) -> Array:
    """Return the weights of the nearest samples in the derivative at each, (n, size).

    The derivative of Lagrange's polynomials at one of their own nodes.
    """
    n = len(t)
    first = np.clip(np.arange(n) - size // 2, 0, n - size)
    nodes = t[first[:, None] + np.arange(size)]
    own = np.arange(n) - first
    apart = nodes[:, :, None] - nodes[:, None, :] + np.eye(size)
    scale = 1.0 / np.prod(apart, axis=2)
    away = t[:, None] - nodes
    away[np.arange(n), own] = 1.0
    weights = scale * np.prod(away, axis=1, keepdims=True) / away
    inverse = 1.0 / away
    inverse[np.arange(n), own] = 0.0
    weights[np.arange(n), own] = inverse.sum(axis=1)
    return np.asarray(weights)


def _values_at(nodes: Array, places: Array) -> Array:
    """Return the weights of nodes, (n, k), in a polynomial's value at one place a row, (n, k)."""
    size = nodes.shape[1]
    apart = nodes[:, :, None] - nodes[:, None, :] + np.eye(size)
    others = np.where(np.eye(size, dtype=bool), 1.0, (places[:, None] - nodes)[:, None, :])
    return np.asarray(np.prod(others, axis=2) / np.prod(apart, axis=2))


def _applied(weights: Array, u: Array) -> Array:
    """Apply weights of the nearest samples, (n, size), to series (n, m)."""
    n, size = weights.shape
    first = np.clip(np.arange(n) - size // 2, 0, n - size)
    result = np.zeros(u.shape)
    for k in range(size):
        result += weights[:, k, None] * u[first + k]
    return result


def _largest_nearby(values: Array) -> Array:
    """Return the largest value of each sample and its neighbours, shaped like the values."""
    ends = ((_NEAR // 2, _NEAR // 2), (0, 0))
    padded = np.pad(values, ends, mode="edge")
    return np.asarray(sliding_window_view(padded, _NEAR, axis=0).max(axis=-1))


def kept_shares(
    modes: Array, outside: float, stiffness: Array, n: int, noise: float = np.inf
) -> tuple[Array, float]:
    """Choose the share of each mode of a state that is kept, and estimate its noise.

    Parameters
    ----------
    modes
        The state's amplitudes, (k,).
    outside
        The sum of squares of what no mode explains.
    stiffness
        What bending each mode costs, (k,); zero for the parabolas, which are free.
    n
        The number of samples.
    noise
        The variance of the noise, where it is known.  What is no noise is kept: of detail that
        nothing else explains likelihood alone would make some.
    """
    bends = stiffness[stiffness > 0]
    free = len(stiffness) - len(bends)

    def shares(exponent: float) -> tuple[Array, float]:
        share = 1.0 / (1.0 + 10.0**exponent * stiffness)
        return share, outside + float(np.sum((modes * (1.0 - share)) ** 2))

    def unlikely(exponent: float) -> float:
        """Return minus twice the logarithm of the restricted likelihood, but for a constant."""
        share, residual = shares(exponent)
        bent = 10.0**exponent * float((modes * share) ** 2 @ stiffness)
        costs = 10.0**exponent * bends
        return (n - free) * float(np.log(max(residual + bent, TINY))) - float(
            np.sum(np.log(costs) - np.log1p(costs))
        )

    tried = np.linspace(-np.log10(bends.max()) - _BEYOND, -np.log10(bends.min()) + _BEYOND, _TRIED)
    best, step = float(min(tried, key=unlikely)), float(tried[1] - tried[0])
    for _ in range(4):
        step /= 2
        best = min((best, best - step, best + step), key=unlikely)
    share, residual = shares(best)
    while best > tried[0] and residual > MOST_REMOVED * noise * (
        float(np.sum((1.0 - share) ** 2)) + n - len(share)  # what no mode explains is noise, too
    ):
        best -= step
        share, residual = shares(best)
    return share, residual / max(n - float(share.sum()), 1.0)
