"""Smoothed series and their derivatives, with as much noise taken out as the data themselves tell.

A smoothing spline of degree 5 that penalises its third derivative: unlike the usual cubic one it
does not force the curvature at both ends to zero, where the derivative would suffer most.  How
smooth it is follows from the data, by restricted maximum likelihood (Wahba, Annals of Statistics
13, 1378 (1985), there called generalised maximum likelihood).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = [
    "FEWEST_SAMPLES",
    "MOST_FUNCTIONS",
    "InTime",
    "Smoothed",
    "Smoother",
    "smooth",
    "smooth_in_time",
    "smoother_along",
]

MOST_FUNCTIONS = 400
"""However many samples there are, a curve is made of no more splines than this."""
FEWEST_SAMPLES = 7
"""The shortest series that can be smoothed."""
_DEGREE = 5
_PENALISED = 3
"""The derivative that is kept small."""
_TRIED = 49
"""How many degrees of smoothness are tried, before the best is made more exact."""
_BEYOND = 3.0
"""Decades that are tried beyond where all is interpolated, and beyond where nothing bends."""
_MEDIAN = 0.4549364231195724
"""The median of the square of a standard normal variable."""
_ANYWHERE = 4.0
"""How much more noise than half of the samples have a curve may take away in the mean."""
_TINY = 1e-300
_MORE = 2.0
"""How much more than is expected of its noise may be taken away from a field."""


@dataclass(frozen=True)
class Smoothed:
    """Curves through noisy samples, one a state.

    Attributes
    ----------
    t
        The times of the samples, (n,).
    u, du
        The curves there and their derivatives in time, (n, d).
    variances
        The estimated variance of the noise of each state, (d,).
    """

    t: Array
    u: Array = field(repr=False)
    du: Array = field(repr=False)
    variances: Array
    _coefficients: Array = field(repr=False)

    def at(self, times: Array) -> Array:
        """Give the curves at other times within those of the samples, (m, d)."""
        return np.asarray(_splines(self.t.tobytes()).matrix(times) @ self._coefficients)


def smooth(t: Array, u: Array) -> Smoothed:
    """Smooth each state of a series by itself.

    Parameters
    ----------
    t
        Increasing times, (n,) with n at least `FEWEST_SAMPLES`; they need not be equidistant.
    u
        Values with or without noise, (n, d).

    Examples
    --------
    >>> t = np.linspace(0, 3, 60)
    >>> noise = 0.01 * np.random.default_rng(0).standard_normal(60)
    >>> curve = smooth(t, np.sin(t)[:, None] + noise[:, None])
    >>> bool(abs(curve.du[:, 0] - np.cos(t)).max() < 0.1)
    True
    >>> bool(0.005 < curve.variances[0] ** 0.5 < 0.02)
    True
    """
    if len(t) < FEWEST_SAMPLES:
        raise ValueError(f"{len(t)} samples; {FEWEST_SAMPLES} are the fewest")
    t = np.ascontiguousarray(t, dtype=np.float64)
    splines = _splines(t.tobytes())
    modes = splines.orthonormal.T @ u
    outside = np.sum((u - splines.orthonormal @ modes) ** 2, axis=0)
    noise = _ANYWHERE * _scatter(t, u)
    curves = [
        _shrunk(modes[:, i], float(outside[i]), splines.stiffness, len(t), noise[i])
        for i in range(u.shape[1])
    ]
    kept = np.stack([modes[:, i] * share for i, (share, _) in enumerate(curves)], axis=-1)
    coefficients = splines.coefficients @ kept
    return Smoothed(
        t,
        splines.orthonormal @ kept,
        splines.matrix(t, 1) @ coefficients,
        np.array([variance for _, variance in curves]),
        coefficients,
    )


@dataclass(frozen=True)
class Smoother:
    """Smooths all lines of a field along an axis to the same degree.

    Attributes
    ----------
    axis
        The number of the axis.
    left
        The share of the variance of white noise that is left.
    """

    axis: int
    left: float
    _orthonormal: Array = field(repr=False)
    _share: Array = field(repr=False)

    def __call__(self, values: Array) -> Array:
        """Smooth values of the shape that it was made for; gives them in that shape."""
        lines = np.moveaxis(values, self.axis, 0)
        flat = lines.reshape(len(lines), -1)
        smoothed = self._orthonormal @ (self._share[:, None] * (self._orthonormal.T @ flat))
        return np.moveaxis(smoothed.reshape(lines.shape), 0, self.axis)


class InTime(NamedTuple):
    """A field that was smoothed in time.

    Attributes
    ----------
    u, du
        It and its derivative in time, shaped like the field.
    noise
        The estimated variance of its noise.
    """

    u: Array
    du: Array
    noise: float


def smoother_along(
    values: Array, nodes: Array, axis: int, *, periodic: bool = False, noise: float = np.inf
) -> Smoother:
    """Choose how a field is smoothed along one axis.

    Along a periodic axis the curves are sums of waves; else they are those of `smooth`.

    Parameters
    ----------
    values
        With or without noise, of any shape.
    nodes
        Increasing places along `axis`, at least `FEWEST_SAMPLES`; equidistant on a periodic axis,
        which comes back one step behind the last.
    noise
        The variance of the noise, where it is known: no more is taken away than that.

    Examples
    --------
    >>> x = np.arange(64) * 2 * np.pi / 64
    >>> noise = 0.1 * np.random.default_rng(0).standard_normal((64, 50))
    >>> field = np.sin(x)[:, None] + noise
    >>> smoothed = smoother_along(field, x, 0, periodic=True)(field)
    >>> bool(np.std(smoothed - np.sin(x)[:, None]) < 0.03)
    True
    """
    if periodic:
        orthonormal, stiffness = _waves(len(nodes))
    else:
        splines = _splines(np.ascontiguousarray(nodes, dtype=np.float64).tobytes())
        orthonormal, stiffness = splines.orthonormal, splines.stiffness
    share, _ = _common(values, orthonormal, stiffness, axis, noise)
    return Smoother(axis, float(np.sum(share**2)) / len(nodes), orthonormal, share)


def smooth_in_time(values: Array, t: Array, axis: int) -> InTime:
    """Smooth a field in time, all of it to the same degree.

    Parameters
    ----------
    values
        With or without noise, of any shape.
    t
        Increasing times along `axis`, at least `FEWEST_SAMPLES`.
    """
    splines = _splines(np.ascontiguousarray(t, dtype=np.float64).tobytes())
    orthonormal = splines.orthonormal
    share, noise = _common(values, orthonormal, splines.stiffness, axis, np.inf)
    lines = np.moveaxis(values, axis, 0)
    modes = share[:, None] * (orthonormal.T @ lines.reshape(len(t), -1))
    rates = splines.matrix(t, 1) @ splines.coefficients
    u, du = (
        np.moveaxis((matrix @ modes).reshape(lines.shape), 0, axis)
        for matrix in (orthonormal, rates)
    )
    return InTime(u, du, noise)


def _scatter(t: Array, u: Array) -> Array:
    """Estimate the variance of noise by what half of the samples have, of (n, d) for each of d.

    Four samples in a row are compared with a parabola.  The median of the squares is blind to
    spikes, which the likelihood of curves of one smoothness takes for noise.  Noise may be as large
    everywhere, or grow with the values: the larger estimate counts.
    """
    places = sliding_window_view(t, 4)
    apart = places[:, :, None] - places[:, None, :] + np.eye(4)
    weights = 1.0 / np.prod(apart, axis=2)
    weights /= np.linalg.norm(weights, axis=1, keepdims=True)
    near = sliding_window_view(u, 4, axis=0)
    squares = np.einsum("nk,ndk->nd", weights, near) ** 2
    sizes = np.maximum(np.einsum("nk,ndk->nd", weights**2, near**2), _TINY)
    growing = np.median(squares / sizes, axis=0) * np.mean(u**2, axis=0)
    return np.asarray(np.maximum(np.median(squares, axis=0), growing) / _MEDIAN)


def _common(
    values: Array, orthonormal: Array, stiffness: Array, axis: int, noise: float
) -> tuple[Array, float]:
    """Choose the share of each mode that is kept in all lines along an axis, and their noise."""
    lines = np.moveaxis(values, axis, 0)
    lines = lines.reshape(len(lines), -1)
    powers = np.mean((orthonormal.T @ lines) ** 2, axis=1)
    outside = max(float(np.mean(np.sum(lines**2, axis=0)) - powers.sum()), 0.0)
    return _shrunk(np.sqrt(powers), outside, stiffness, len(lines), noise)


@lru_cache(maxsize=16)
def _waves(n: int) -> tuple[Array, Array]:
    """Give orthonormal waves on n nodes, (n, n), and what bending each costs."""
    angles = 2 * np.pi * np.outer(np.arange(n), np.arange(n // 2 + 1)) / n
    waves = np.concatenate([np.cos(angles), np.sin(angles[:, 1 : (n + 1) // 2])], axis=1)
    numbers = np.concatenate([np.arange(n // 2 + 1), np.arange(1, (n + 1) // 2)])
    return waves / np.linalg.norm(waves, axis=0), (2 * np.pi * numbers / n) ** (2 * _PENALISED)


def _shrunk(
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
        """Give minus twice the logarithm of the restricted likelihood, but for a constant."""
        share, residual = shares(exponent)
        bent = 10.0**exponent * float((modes * share) ** 2 @ stiffness)
        costs = 10.0**exponent * bends
        return (n - free) * float(np.log(max(residual + bent, _TINY))) - float(
            np.sum(np.log(costs) - np.log1p(costs))
        )

    tried = np.linspace(-np.log10(bends.max()) - _BEYOND, -np.log10(bends.min()) + _BEYOND, _TRIED)
    best, step = float(min(tried, key=unlikely)), float(tried[1] - tried[0])
    for _ in range(4):
        step /= 2
        best = min((best, best - step, best + step), key=unlikely)
    share, residual = shares(best)
    while residual > _MORE * noise * float(np.sum((1.0 - share) ** 2)) and best > tried[0]:
        best -= step
        share, residual = shares(best)
    return share, residual / max(n - float(share.sum()), 1.0)


@dataclass(frozen=True)
class _Splines:
    """The curves that can be made for some times, turned so that their bending is diagonal.

    Attributes
    ----------
    origin, step
        Times are counted from the first, in mean steps.
    knots
        Of the splines, in those units.
    orthonormal
        The values of each mode at the times, (n, k).
    coefficients
        Of the splines, for each mode, (k, k).
    stiffness
        The mean squared third derivative of each mode, (k,).
    """

    origin: float
    step: float
    knots: Array
    orthonormal: Array
    coefficients: Array
    stiffness: Array

    def matrix(self, times: Array, order: int = 0) -> Array:
        """Evaluate all splines, or a derivative of theirs, (m, k)."""
        return _evaluated(self.knots, (times - self.origin) / self.step, order) / self.step**order


@lru_cache(maxsize=64)
def _splines(times: bytes) -> _Splines:
    t = np.frombuffer(times)
    n, step = len(t), float((t[-1] - t[0]) / (len(t) - 1))
    s = (t - t[0]) / step
    # As many splines as samples: the knots next to both ends are left out.
    inner = s[_PENALISED:-_PENALISED]
    if n > MOST_FUNCTIONS:
        places = np.linspace(0, n - 1, MOST_FUNCTIONS - 2 * _PENALISED + 2)[1:-1]
        inner = np.interp(places, np.arange(n), s)
    ends = np.ones(_DEGREE + 1)
    knots = np.concatenate([s[0] * ends, inner, s[-1] * ends])
    values, triangle = np.linalg.qr(_evaluated(knots, s, 0))
    # The third derivative is a parabola between knots, so that three nodes integrate its square.
    nodes, weights = np.polynomial.legendre.leggauss(_PENALISED)
    edges = np.unique(knots)
    half = np.diff(edges)[:, None] / 2
    places = (edges[:-1, None] + half * (nodes + 1)).ravel()
    bent = _evaluated(knots, places, _PENALISED) * np.sqrt((half * weights).ravel())[:, None]
    inverse = np.linalg.solve(triangle, np.eye(len(triangle)))
    _, lengths, turned = np.linalg.svd(bent @ inverse)
    stiffness = np.zeros(len(triangle))
    stiffness[: len(lengths)] = lengths**2
    stiffness[-_PENALISED:] = 0.0  # parabolas: what is left there is rounding
    return _Splines(float(t[0]), step, knots, values @ turned.T, inverse @ turned.T, stiffness)


def _evaluated(knots: Array, places: Array, order: int) -> Array:
    from scipy.interpolate import BSpline  # noqa: PLC0415 - takes a moment to load

    size = len(knots) - _DEGREE - 1
    splines = BSpline(knots, np.eye(size), _DEGREE)
    return np.asarray(splines(places, nu=order))
