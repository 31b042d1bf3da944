"""Smoothed series and their derivatives, with as much noise taken out as the data show.

A smoothing spline of degree 5 that penalises its third derivative: unlike the usual cubic one it
does not force the curvature at both ends to zero, where the derivative would suffer most.  How
smooth it is follows from the data, by restricted maximum likelihood (Wahba, Annals of Statistics
13, 1378 (1985), there called generalised maximum likelihood).  A long series in which 400 splines
cannot follow what the samples show is smoothed in overlapping stretches.

Every curve is checked against the samples before it is handed out (see `mdbench.data.splines`).
Where it fails, finite differences of the samples take its place, and `remarks` has a note.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from mdbench.data.derivatives import time_derivative
from mdbench.data.splines import (
    MOST_FUNCTIONS,
    MOST_REMOVED,
    TINY,
    SplineBasis,
    contradicted_derivatives,
    contradicted_values,
    kept_shares,
    spline_basis,
    strongest_wave,
    wave_basis,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

FEWEST_SAMPLES = 7
"""The shortest series that can be smoothed."""
_SHORTEST = 3
"""Steps of the shortest stretch that has a curve of its own."""
DIFFERENCES = "smoothing failed its check against the samples; finite differences were used"
WAVE = (
    "what smoothing took away as noise is mostly one oscillation, of about {:.2g} samples each; "
    "more samples per time are needed to know its derivative"
)
_MEDIAN = 0.4549364231195724
"""The median of the square of a standard normal variable."""
_ANYWHERE = 4.0
"""Largest mean noise that a curve may remove, relative to that in half of the samples."""
_OVERLAP = 8
"""Two stretches share a quarter of a series: an eighth to each side of its middle."""
_ROUNDING = 1e-9
"""A remainder below this share of the size of a series is rounding."""
_SAME_WAVE = 0.5
"""The share of its strongest wave from which on noise is called an oscillation."""
_FEWEST_FOR_WAVES = 40
"""Samples below which white noise may have so strong a wave by chance."""
_SEEN = 0.01
"""The share of a series' variance above which an oscillation taken for noise matters."""


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
    at
        Evaluates the curves at other times (m,) within those of the samples, (m, d).
    remarks
        For each state, what has to be known of how its curve was made; mostly empty.
    """

    t: Array
    u: Array = field(repr=False)
    du: Array = field(repr=False)
    variances: Array
    at: Callable[[Array], Array] = field(repr=False)
    remarks: tuple[str, ...]


def smooth(t: Array, u: Array) -> Smoothed:
    """Smooth each state of a series by itself.

    Parameters
    ----------
    t
        Increasing times, (n,) with n at least `FEWEST_SAMPLES`; they need not be equidistant.
    u
        Values with or without noise, (n, d).

    Raises
    ------
    ValueError
        If there are fewer samples.

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
    with np.errstate(all="ignore"):
        try:
            curves = _curves(t, u)
        except np.linalg.LinAlgError:  # of times that no basis can be made for
            return _stacked([_by_differences(t, u[:, [i]]) for i in range(u.shape[1])])
        wrong = _wrong(curves, u)
        if wrong.any():
            curves = _stacked(
                [
                    _by_differences(t, u[:, [i]]) if bad else _only(curves, i)
                    for i, bad in enumerate(wrong)
                ]
            )
        return curves


def centred_curves(t: Array, u: Array) -> Smoothed:
    """Smooth each state about its mean, so that an offset of any size changes nothing.

    A series too short to be smoothed is interpolated by cubic splines, of three samples by a
    parabola.

    Parameters
    ----------
    t
        Increasing times, (n,) with n at least 3.
    u
        Values, (n, d).
    """
    offset = np.mean(u, axis=0)
    if len(t) >= FEWEST_SAMPLES:
        smoothed = smooth(t, u - offset)
    else:
        from scipy.interpolate import CubicSpline  # noqa: PLC0415 - few need it

        curve = CubicSpline(t, u - offset)
        none = np.zeros(u.shape[1])
        smoothed = Smoothed(t, curve(t), curve(t, 1), none, curve, ("",) * u.shape[1])
    at = smoothed.at
    return replace(smoothed, u=smoothed.u + offset, at=lambda times: at(times) + offset)


def curves_between(t: Array, u: Array, breaks: Sequence[int]) -> Smoothed:
    """Smooth each stretch between some samples by itself, where rates jump there.

    Parameters
    ----------
    t, u
        As of `centred_curves`.
    breaks
        Rows at which rates jump, rising; the rate there is that after the jump.
    """
    ends = [0]
    for row in breaks:
        if row - ends[-1] >= _SHORTEST and len(t) - row > _SHORTEST:
            ends.append(row)
    stretches = [
        slice(first, last + 1) for first, last in zip(ends, [*ends[1:], len(t) - 1], strict=True)
    ]
    pieces = [centred_curves(t[rows], u[rows]) for rows in stretches]
    if len(pieces) == 1:
        return pieces[0]
    shares = np.array([len(one.t) for one in pieces], dtype=float)
    u_joined, du_joined = (
        np.concatenate([*(each[:-1] for each in several[:-1]), several[-1]])
        for several in ([one.u for one in pieces], [one.du for one in pieces])
    )

    def at(times: Array) -> Array:
        of = np.clip(np.searchsorted(t[ends], times, side="right") - 1, 0, None)
        values = np.empty((len(times), u.shape[1]))
        for place in np.unique(of):
            values[of == place] = pieces[place].at(times[of == place])
        return values

    variances = np.average([one.variances for one in pieces], axis=0, weights=shares)
    remarks = tuple(
        next((one.remarks[i] for one in pieces if one.remarks[i]), "") for i in range(u.shape[1])
    )
    return Smoothed(t, u_joined, du_joined, variances, at, remarks)


def _wrong(curves: Smoothed, u: Array) -> NDArray[np.bool_]:
    """Whether each curve contradicts its samples, its derivative, or itself between samples."""
    t = curves.t
    misfit = np.mean((u - curves.u) ** 2, axis=0)
    most = MOST_REMOVED * _ANYWHERE * _scatter(t, u) + _ROUNDING**2 * np.mean(u**2, axis=0)
    middles = curves.at((t[1:] + t[:-1]) / 2)
    too_far = ~(misfit <= np.maximum(most, 1.01 * curves.variances))
    inside = contradicted_values(t, curves.u, middles)
    return np.asarray(too_far | inside | contradicted_derivatives(t, curves.u, curves.du))


def _by_differences(t: Array, u: Array) -> Smoothed:
    """Take one state as it was measured, (n, 1), with finite differences."""
    variance = np.minimum(_scatter(t, u), np.var(u, axis=0))

    def at(times: Array) -> Array:
        return np.interp(times, t, u[:, 0])[:, None]

    return Smoothed(t, u, time_derivative(t, u), variance, at, (DIFFERENCES,))


def _only(curves: Smoothed, state: int) -> Smoothed:
    chosen = [state]
    return Smoothed(
        curves.t,
        curves.u[:, chosen],
        curves.du[:, chosen],
        curves.variances[chosen],
        lambda times: curves.at(times)[:, chosen],
        (curves.remarks[state],),
    )


def _stacked(states: Sequence[Smoothed]) -> Smoothed:
    """Stack curves of single states."""
    return Smoothed(
        states[0].t,
        np.concatenate([one.u for one in states], axis=1),
        np.concatenate([one.du for one in states], axis=1),
        np.concatenate([one.variances for one in states]),
        lambda times: np.concatenate([one.at(times) for one in states], axis=1),
        tuple(remark for one in states for remark in one.remarks),
    )


def _curves(t: Array, u: Array) -> Smoothed:
    """Smooth each state, (n, d), in as few stretches as can follow it."""
    basis = spline_basis(t)
    if not _follows(basis, t, u):
        if u.shape[1] > 1:
            return _stacked([_curves(t, u[:, [i]]) for i in range(u.shape[1])])
        cut = _Cut(t)
        return cut.joined(_curves(t[cut.left], u[cut.left]), _curves(t[cut.right], u[cut.right]))
    values, turned, stiffness = basis.modes
    modes = values.T @ u
    outside = np.sum((u - values @ modes) ** 2, axis=0)
    noise = _ANYWHERE * _scatter(t, u)
    fits = [
        kept_shares(modes[:, i], float(outside[i]), stiffness, len(t), noise[i])
        for i in range(u.shape[1])
    ]
    kept = np.stack([modes[:, i] * share for i, (share, _) in enumerate(fits)], axis=-1)
    coefficients = turned @ kept
    smoothed = values @ kept
    return Smoothed(
        t,
        smoothed,
        basis.matrix(t, 1) @ coefficients,
        np.array([variance for _, variance in fits]),
        lambda times: np.asarray(basis.matrix(times) @ coefficients),
        _remarks(u, smoothed),
    )


def _follows(basis: SplineBasis, t: Array, lines: Array, *, in_sum: bool = False) -> bool:
    """Whether splines can follow series (n, m) up to noise of the size that is seen.

    Series that are smoothed to the same degree are looked at in the sum.
    """
    n = len(t)
    if n <= MOST_FUNCTIONS:
        return True
    spare = n - MOST_FUNCTIONS
    # So large a sum of squares of `spare` normal variables is not met by chance.
    most = _ANYWHERE * _scatter(t, lines) * (spare + 4 * np.sqrt(2 * spare) + 16)
    most += _ROUNDING**2 * np.sum(lines**2, axis=0)
    missed = basis.unexplained(lines)
    return bool(missed.sum() <= most.sum() if in_sum else np.all(missed <= most))


class _Cut:
    """A series cut into two stretches that overlap, and how they are joined again."""

    def __init__(self, t: Array) -> None:
        n = len(t)
        self.t = t
        first, last = n // 2 - n // _OVERLAP, n // 2 + n // _OVERLAP
        self.left, self.right = slice(0, last), slice(first, n)
        self._shared = slice(first, last)
        self._from, self._to = float(t[first]), float(t[last - 1])

    def weights(self, times: Array) -> tuple[Array, Array]:
        """Return the weight of the left stretch, falling from 1 to 0, and its slope."""
        width = self._to - self._from
        x = np.clip((times - self._from) / width, 0, 1)
        return 1 - x**3 * (10 - 15 * x + 6 * x**2), -30 * (x * (1 - x)) ** 2 / width

    def blended(self, left: Array, right: Array) -> Array:
        """Join values of the left and of the right stretch along the first axis."""
        whole = np.concatenate([left[: self._shared.start], right])
        inner = left[self._shared.start :]
        weight = self.weights(self.t[self._shared])[0].reshape(-1, *[1] * (left.ndim - 1))
        whole[self._shared] = weight * inner + (1 - weight) * right[: len(inner)]
        return np.asarray(whole)

    def rates(self, u: tuple[Array, Array], du: tuple[Array, Array]) -> Array:
        """Return the derivative of `blended` values, of those of both stretches."""
        whole = self.blended(*du)
        size = self._shared.stop - self._shared.start
        slope = self.weights(self.t[self._shared])[1][:, None]
        whole[self._shared] += slope * (u[0][-size:] - u[1][:size])
        return whole

    def joined(self, first: Smoothed, second: Smoothed) -> Smoothed:
        """Join the curves of both stretches into one."""

        def at(times: Array) -> Array:
            weight = self.weights(times)[0][:, None]
            before = first.at(np.minimum(times, first.t[-1]))
            after = second.at(np.maximum(times, second.t[0]))
            return np.asarray(weight * before + (1 - weight) * after)

        n = len(first.t), len(second.t)
        remarks = (one or other for one, other in zip(first.remarks, second.remarks, strict=True))
        return Smoothed(
            self.t,
            self.blended(first.u, second.u),
            self.rates((first.u, second.u), (first.du, second.du)),
            (n[0] * first.variances + n[1] * second.variances) / sum(n),
            at,
            tuple(remarks),
        )


def _remarks(u: Array, smoothed: Array) -> tuple[str, ...]:
    """Return a remark for each state from which an oscillation was removed in place of noise."""
    n = len(u)
    if n < _FEWEST_FOR_WAVES:
        return tuple("" for _ in range(u.shape[1]))
    left = u - smoothed
    matters = np.mean(left**2, axis=0) > _SEEN * np.var(u, axis=0)
    shares, lengths = strongest_wave(left)
    waves = matters & (shares > _SAME_WAVE)
    return tuple(WAVE.format(float(lengths[i])) if waves[i] else "" for i in range(len(waves)))


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
    _stretch: _Stretch = field(repr=False)

    def __call__(self, values: Array) -> Array:
        """Smooth values of the shape that it was made for; return them in that shape."""
        lines = np.moveaxis(values, self.axis, 0)
        smoothed = self._stretch.values(lines.reshape(len(lines), -1))
        return np.moveaxis(smoothed.reshape(lines.shape), 0, self.axis)


class TimeSmoothing(NamedTuple):
    """A field that was smoothed in time.

    Attributes
    ----------
    u, du
        It and its derivative in time, shaped like the field.
    noise
        The estimated variance of its noise.
    remark
        What has to be known of how it was made; mostly empty.
    """

    u: Array
    du: Array
    noise: float
    remark: str


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
    lines = np.moveaxis(values, axis, 0)
    lines = lines.reshape(len(lines), -1)
    if periodic:
        orthonormal, stiffness = wave_basis(len(nodes))
        stretch: _Stretch = _Whole.of(lines, orthonormal, stiffness, noise)
    else:
        stretch = _stretch(nodes, lines, noise)
    return Smoother(axis, stretch.left, stretch)


def smooth_in_time(values: Array, t: Array, axis: int) -> TimeSmoothing:
    """Smooth a field in time, all of it to the same degree.

    Parameters
    ----------
    values
        With or without noise, of any shape.
    t
        Increasing times along `axis`, at least `FEWEST_SAMPLES`.
    """
    lines = np.moveaxis(values, axis, 0)
    flat = lines.reshape(len(t), -1)
    with np.errstate(all="ignore"):
        stretch = _stretch(t, flat, np.inf)
        u, du = stretch.values(flat), stretch.rates(flat)
        noise, remark = stretch.noise, ""
        if contradicted_derivatives(t, u, du, one_field=True).any():
            u, du, remark = flat, time_derivative(t, flat), DIFFERENCES
    u, du = (np.moveaxis(each.reshape(lines.shape), 0, axis) for each in (u, du))
    return TimeSmoothing(u, du, noise, remark)


def noise_in_time(values: Array, t: Array, axis: int) -> float:
    """Estimate the variance of a field's noise, as `smooth_in_time` does."""
    lines = np.moveaxis(values, axis, 0)
    with np.errstate(all="ignore"):
        return _stretch(t, lines.reshape(len(t), -1), np.inf).noise


class _Whole:
    """Smooths lines (n, m) with one basis, each mode of them to the same share.

    Attributes
    ----------
    left
        The share of the variance of white noise that is left.
    noise
        The estimated variance of the noise.
    """

    def __init__(
        self, orthonormal: Array, share: Array, noise: float, rates: Callable[[], Array] | None
    ) -> None:
        self.left = float(np.sum(share**2)) / len(orthonormal)
        self.noise = noise
        self._orthonormal, self._share, self._rates = orthonormal, share, rates

    @classmethod
    def of(
        cls,
        lines: Array,
        orthonormal: Array,
        stiffness: Array,
        noise: float,
        rates: Callable[[], Array] | None = None,
    ) -> _Whole:
        """Choose the share of each mode that is kept in all lines, and estimate their noise."""
        powers = np.mean((orthonormal.T @ lines) ** 2, axis=1)
        outside = max(float(np.mean(np.sum(lines**2, axis=0)) - powers.sum()), 0.0)
        share, found = kept_shares(np.sqrt(powers), outside, stiffness, len(lines), noise)
        return cls(orthonormal, share, found, rates)

    def values(self, lines: Array) -> Array:
        return np.asarray(self._orthonormal @ self._modes(lines))

    def rates(self, lines: Array) -> Array:
        assert self._rates is not None  # noqa: S101 - waves are along space
        return np.asarray(self._rates() @ self._modes(lines))

    def _modes(self, lines: Array) -> Array:
        return np.asarray(self._share[:, None] * (self._orthonormal.T @ lines))


class _JoinedStretches:
    """Smooths lines (n, m) in two stretches that overlap."""

    def __init__(self, cut: _Cut, left: _Stretch, right: _Stretch) -> None:
        self._cut, self._left, self._right = cut, left, right
        self.left: float = (left.left + right.left) / 2
        self.noise: float = (left.noise + right.noise) / 2

    def values(self, lines: Array) -> Array:
        return self._cut.blended(*self._both(lines))

    def rates(self, lines: Array) -> Array:
        cut = self._cut
        du = self._left.rates(lines[cut.left]), self._right.rates(lines[cut.right])
        return cut.rates(self._both(lines), du)

    def _both(self, lines: Array) -> tuple[Array, Array]:
        cut = self._cut
        return self._left.values(lines[cut.left]), self._right.values(lines[cut.right])


_Stretch = _Whole | _JoinedStretches


def _stretch(t: Array, lines: Array, noise: float) -> _Stretch:
    """Smooth lines (n, m) of a field, in as few stretches as can follow them."""
    basis = spline_basis(t)
    if not _follows(basis, t, lines, in_sum=True):
        cut = _Cut(t)
        left, right = (_stretch(t[part], lines[part], noise) for part in (cut.left, cut.right))
        return _JoinedStretches(cut, left, right)

    def rates() -> Array:
        return np.asarray(basis.matrix(t, 1) @ basis.modes.coefficients)

    return _Whole.of(lines, basis.modes.values, basis.modes.stiffness, noise, rates)


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
    sizes = np.maximum(np.einsum("nk,ndk->nd", weights**2, near**2), TINY)
    growing = np.median(squares / sizes, axis=0) * np.mean(u**2, axis=0)
    return np.asarray(np.maximum(np.median(squares, axis=0), growing) / _MEDIAN)
