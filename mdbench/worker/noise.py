"""The noise of measured samples: its form and its size, from the samples alone.

Divided differences of order p of neighbouring samples are free of every polynomial of degree p - 1,
and so of a smooth signal.  Those of white noise keep its variance, once their weights have squares
that sum to 1.  The order is the first from which on the variance is no smaller at higher ones:
what is left then is noise.

See Gasser, Sroka and Jennen-Steinmetz, Biometrika 73, 625 (1986), and Hall, Kay and Titterington,
Biometrika 77, 521 (1990).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

NONE, CONSTANT, PROPORTIONAL, BOTH = "none", "constant", "proportional", "both"
"""The forms of noise."""
_HIGHEST = 12
"""The highest order of differences."""
_FEWEST = 8
"""Samples for each order."""
_FLAT = 1.15
"""A variance that is up to so many times that of any higher order is no longer that of a signal."""
_ROUNDING = 1e-6
"""Noise of a smaller share of a state's root mean square is rounding, or a solver's error."""
_SMALL = 1e-3
"""Where smoothing leaves samples as they are, differences of a smaller share are of the signal."""
_UNKNOWN = 0.02
"""How little of the square of a signal is known near a zero, as a share of its mean in a series."""
_LEAST_WEIGHT = 1e-3
"""The least weight of a sample as a share of the largest."""
_MOST_PLACES = 256
"""Places of a field whose series are looked at."""


@dataclass(frozen=True)
class Noise:
    """The noise of measured states.

    Its variance at a state u is ``constant**2 + (share * u)**2``.

    Attributes
    ----------
    form
        ``none``, ``constant``, ``proportional`` to the state, or ``both``; one for all states.
    constant
        The standard deviation that is the same everywhere, of each state, (d,).
    share
        That which is a share of the state, (d,).
    size
        The root mean square of the noise's standard deviation over the samples, (d,).
    error
        The standard error of `size`, as a share of it, (d,).
    """

    form: str
    constant: Array
    share: Array
    size: Array
    error: Array

    def deviation(self, u: Array) -> Array:
        """Return the standard deviation of the noise at states (..., d)."""
        found: Array = np.hypot(self.constant, self.share * np.abs(u))
        return found

    def weights(self, u: Array) -> Array:
        """Return the weights of samples at states (..., d): one over the deviation, 1 on average.

        They are all 1 without noise, and 1,000 times the least one at most.
        """
        deviation = self.deviation(u)
        axes = tuple(range(u.ndim - 1))
        largest = np.max(deviation, axis=axes, keepdims=True)
        deviation = np.maximum(deviation, _LEAST_WEIGHT * largest)
        made = np.where(largest > 0, 1.0 / np.where(deviation > 0, deviation, 1.0), 1.0)
        weights: Array = made / np.mean(made, axis=axes, keepdims=True)
        return weights


class _NoiseDifferences(NamedTuple):
    """Differences of one state that are free of the signal.

    Attributes
    ----------
    squares
        The squared differences, (N,).
    signal
        What the square of the signal is on average in each, (N,).
    floor
        What of it is not known, (N,).
    alike
        The effective number of neighbours that say the same: 1 for independent ones.
    """

    squares: Array
    signal: Array
    floor: Array
    alike: float

    @property
    def share(self) -> float:
        """The variance of noise that is proportional to the signal, as a share of its square."""
        known = 1.0 / (self.signal + self.floor)
        return float(np.sum(self.squares * known) / max(np.sum(self.signal * known), 1e-300))

    @property
    def independent(self) -> float:
        """The number of independent differences that tell this share."""
        known = self.signal / (self.signal + self.floor)
        return float(np.sum(known) ** 2 / max(np.sum(known**2), 1e-300)) / self.alike


def noise_of(series: Sequence[tuple[Array, Array, Array]]) -> Noise:
    """Find the noise of several series.

    Parameters
    ----------
    series
        Of each the times (n,), the measured states (n, d), and the states without noise as far as
        they are known, (n, d): smoothed ones, or the measured ones again.
    """
    every = np.concatenate([u for _, u, _ in series])
    units = np.max(np.abs(every), axis=0)
    units = np.where(units > 0, units, 1.0)
    # In units of their own, so that no square is too large or too small for a float.
    scaled = [(t, measured / units, u / units) for t, measured, u in series]
    sizes = np.sqrt(np.mean((every / units) ** 2, axis=0))
    with np.errstate(all="ignore"):
        differences = [_noise_differences(scaled, k, float(size)) for k, size in enumerate(sizes)]
        form, constant, share = _form(differences)
    signal = np.concatenate([u for _, _, u in scaled])
    size = np.sqrt(np.mean(constant**2 + (share * signal) ** 2, axis=0))
    error = [0.0 if one is None else np.sqrt(0.5 / one.independent) for one in differences]
    return Noise(form, constant * units, share, size * units, np.array(error))


def noise_of_arrays(view: str, arrays: Mapping[str, Array]) -> Noise | None:
    """Find the noise of a problem's arrays; None in a view that has no series of states."""
    if view not in {"trajectory", "field"} or not {"t", "u"} <= arrays.keys():
        return None
    t, u = arrays["t"], arrays["u"]
    measured = arrays.get("measured", u)
    if view == "field":
        dim = u.shape[-1]
        places = [np.asarray(each).reshape(-1, len(t), dim) for each in (measured, u)]
        step = -(-len(places[0]) // _MOST_PLACES)
        several = zip(*(each[::step] for each in places), strict=True)
        return noise_of([(t, one, other) for one, other in several])
    number = arrays.get("trajectory", np.zeros(len(t)))
    ends = np.flatnonzero(np.diff(number)) + 1
    parts = [np.split(each, ends) for each in (t, measured, u)]
    return noise_of(list(zip(*parts, strict=True)))


def _noise_differences(
    series: Sequence[tuple[Array, Array, Array]], state: int, size: float
) -> _NoiseDifferences | None:
    """Return what differences leave of a state; None where it is signal, or rounding."""
    highest = min(_HIGHEST, max(len(t) for t, _, _ in series) // _FEWEST)
    differences = [each for p in range(1, highest + 1) if (each := _differences(series, state, p))]
    variances = [float(np.mean(one.squares)) for one in differences]
    # A wide window has little of the first and the last sample, which may be the largest.
    shares = [one.share for one in differences]
    for number, difference in enumerate(differences[:-1]):
        variance = variances[number]
        if any(each[number] <= _FLAT * min(each[number + 1 :]) for each in (variances, shares)):
            is_noise = variance > (_ROUNDING * size) ** 2
            is_signal = variance < (_SMALL * size) ** 2 and _removed(series, state) < variance
            return difference if is_noise and not is_signal else None
    return None


def _removed(series: Sequence[tuple[Array, Array, Array]], state: int) -> float:
    """Return a hundred times the variance that smoothing took away; infinite without smoothing."""
    if all(np.array_equal(measured, u) for _, measured, u in series):
        return np.inf
    gone = np.concatenate([(measured - u)[:, state] for _, measured, u in series])
    return 100 * float(np.mean(gone**2))


def _differences(
    series: Sequence[tuple[Array, Array, Array]], state: int, order: int
) -> _NoiseDifferences | None:
    window = np.lib.stride_tricks.sliding_window_view
    squares, signals, floors, alike = [], [], [], 0.0
    for t, measured, u in series:
        if len(t) <= order + 1:
            continue
        weights, shared = _weights(np.ascontiguousarray(t).tobytes(), order)
        squares.append(np.sum(weights * window(measured[:, state], order + 1), axis=1) ** 2)
        signals.append(np.sum(weights**2 * window(u[:, state] ** 2, order + 1), axis=1))
        floors.append(np.full(len(weights), _UNKNOWN * float(np.mean(signals[-1]))))
        alike = alike or shared  # the grids of all are alike
    if not squares:
        return None
    signal, floor = np.concatenate(signals), np.concatenate(floors)
    floor = np.maximum(floor, max(_UNKNOWN**2 * float(np.mean(signal)), 1e-300))
    return _NoiseDifferences(np.concatenate(squares), signal, floor, alike)


@lru_cache(maxsize=4 * _HIGHEST)
def _weights(times: bytes, order: int) -> tuple[Array, float]:
    """Return the weights (N, order + 1) of divided differences, and how many say the same.

    Parameters
    ----------
    times
        The bytes of increasing times: all places of a field have the same.
    """
    at = np.lib.stride_tricks.sliding_window_view(np.frombuffer(times), order + 1)
    lengths = at[:, -1] - at[:, 0]
    weights = np.ones(at.shape)
    for j in range(order + 1):
        for k in range(order + 1):
            if j != k:
                weights[:, j] /= (at[:, j] - at[:, k]) / lengths
    weights /= np.linalg.norm(weights, axis=1, keepdims=True)
    alike = 1.0
    for lag in range(1, min(order, len(weights) - 1) + 1):
        shared = np.sum(weights[:-lag, lag:] * weights[lag:, :-lag], axis=1)
        alike += 2 * float(np.mean(shared**2)) * (len(weights) - lag) / len(weights)
    return weights, alike


def _form(differences: Sequence[_NoiseDifferences | None]) -> tuple[str, Array, Array]:
    """Return the likeliest form of noise, and of each state the deviations that are of it."""
    d = len(differences)
    noise = {form: np.zeros((2, d)) for form in (CONSTANT, PROPORTIONAL, BOTH)}
    gained = dict.fromkeys(noise, 0.0)
    for k, difference in enumerate(differences):
        if difference is None:
            continue
        constant = float(np.mean(difference.squares))
        mixed = _likeliest_variances(difference)
        for form, (a, b) in zip(
            noise, ((constant, 0.0), (0.0, difference.share), mixed), strict=True
        ):
            noise[form][:, k] = np.sqrt((a, b))
            gained[form] += _likelihood(difference, a, b)
    counts = [len(one.squares) / one.alike for one in differences if one is not None]
    if not counts:
        return NONE, np.zeros(d), np.zeros(d)
    price = sum(np.log(count) for count in counts)  # of one more constant a state (BIC)
    simple = max((CONSTANT, PROPORTIONAL), key=lambda form: gained[form])
    form = BOTH if 2 * (gained[BOTH] - gained[simple]) > price else simple
    return form, *noise[form]


def _likeliest_variances(difference: _NoiseDifferences) -> tuple[float, float]:
    """Return the likeliest variances of both parts."""
    tried = [(0.0, difference.share), (float(np.mean(difference.squares)), 0.0)]
    for ratio in np.logspace(-4, 4, 33) * float(np.mean(difference.signal)):
        b = float(np.mean(difference.squares / (ratio + difference.signal)))
        tried.append((ratio * b, b))
    return max(tried, key=lambda each: _likelihood(difference, *each))


def _likelihood(difference: _NoiseDifferences, a: float, b: float) -> float:
    """Return the log-likelihood of variances, but for a constant."""
    variance = np.maximum(a + b * np.maximum(difference.signal, difference.floor), 1e-300)
    return -0.5 * float(np.sum(np.log(variance) + difference.squares / variance)) / difference.alike
