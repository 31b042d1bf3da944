"""The criteria by which a candidate is selected under `strict`, and the rule of selection.

The choice uses only what a scientist would have, noisy data, and is made in a form in which noise
is not differentiated.  docs/scoring.md compares the rule with others.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from mdbench.data.trajectory import state_names
from mdbench.metrics.regression import relative_error

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from eqverdict import Equation
    from mdbench.data.smoothing import Smoothed
    from mdbench.data.trajectory import Trajectory

    Array = NDArray[np.float64]

PIECE = 0.5
"""The decrease of the loss's logarithm that a piece of an equation must give to stay."""
INTEGRATED_TO = 1e-5
"""Data that were integrated are exact to this share of themselves; fits to less mean nothing."""
_NODES = 3
"""At which a right-hand side is evaluated between two samples (Gauss and Legendre)."""
_FEWEST = 8
"""Samples in a window."""
_SATURATED = 0.1
"""Rows to spare where there are none."""
_CLEAR = 0.01
"""The floor up to which a window is long enough."""
_SHORT = 2_000
"""Samples up to which the rows of all windows are remembered."""


def preference(losses: Array, floors: Array, pieces: int) -> float:
    """Weigh how well equations explain data against what they are made of; higher is better.

    ``-sum_i log(loss_i + floor_i) - pieces / 2``: each piece (see `Equation.pieces`) has to lower
    the product of the losses by 40 %, and nothing is gained far below the data's own noise.

    Parameters
    ----------
    losses
        For each target the mean square of the residual over that of the target.
    floors
        What noise and rounding leave of these for the true equations, (d,).
    pieces
        The number of pieces of all equations together.
    """
    return float(-np.sum(np.log(losses + floors)) - PIECE * pieces)


@dataclass(frozen=True, eq=False)
class Evidence(ABC):
    """Data in the form in which equations are compared with them.

    Attributes
    ----------
    columns
        What equations are evaluated on, by variable.
    floors
        What noise leaves of each target's loss for the true equations, (d,).
    """

    columns: Mapping[str, Array] = field(repr=False)
    floors: Array
    shares_terms: ClassVar[bool] = False
    """Whether there are `summary` and `loss_of_sum`, so that terms are worked out once."""

    @abstractmethod
    def loss(self, values: Array, target: int) -> float:
        """Compare one equation's values on the columns with the data; the answer 0 has 1."""

    def summary(self, values: Array, target: int) -> Array:
        """Return the linear functionals of values that a loss depends on, (rows,)."""
        raise NotImplementedError

    def loss_of_sum(
        self, coefficients: Array, summaries: Array, sizes: Array, target: int
    ) -> float | None:
        """Return the loss of a sum of terms; None where rounding could show in it.

        Parameters
        ----------
        coefficients
            Of the terms, (k,).
        summaries
            What `summary` returns for each term, (k, rows).
        sizes
            The largest absolute value of each term, (k,).
        """
        raise NotImplementedError

    def preference(
        self, losses: Array, targets: Sequence[int], equations: Sequence[Equation]
    ) -> float:
        """Weigh losses of some targets against what their equations are made of.

        Higher is better.
        """
        pieces = sum(equation.pieces for equation in equations)
        return preference(losses, self.floors[list(targets)], pieces)


@dataclass(frozen=True, eq=False)
class Ratios(Evidence):
    """Targets that are measured themselves, of any size."""

    targets: Array = field(repr=False)

    def loss(self, values: Array, target: int) -> float:
        """Return the mean squared relative error."""
        return relative_error(values, self.targets[..., target])


@dataclass(frozen=True, eq=False)
class NoisyRows(Evidence):
    """A few rows with noise, that of the targets: the mean squared error counts.

    Attributes
    ----------
    variances
        Of each target, (d,).
    structure
        Whether the form of an equation has a price, besides its constants.
    """

    targets: Array = field(repr=False)
    variances: Array
    structure: bool = False

    def loss(self, values: Array, target: int) -> float:
        """Return the mean squared error over the variance of the target."""
        off = values - self.targets[..., target]
        return float(np.mean(off**2) / self.variances[target])

    def preference(
        self, losses: Array, targets: Sequence[int], equations: Sequence[Equation]
    ) -> float:
        """Weigh losses by a criterion of information, over -2, with a correction for few rows.

        ``-n/2 sum_i log(loss_i + floor_i) - k max(1, log(n)/2) - k (k + 1) / (n - k - 1)`` for n
        rows of independent noise and k fitted constants, or pieces where there are fewer (Schwarz,
        Annals of Statistics 6, 461, 1978; Hurvich and Tsai, Biometrika 76, 297, 1989).  With about
        as many constants as rows anything can be explained, and nothing is.  The price of the form
        is the length of its description, `Equation.structure` (Bartlett, Desmond and Ferreira,
        IEEE Transactions on Evolutionary Computation 28, 950, 2023).
        """
        n = len(self.targets)
        k = sum(max(1, min(each.constants, each.pieces)) for each in equations)
        likely = -n / 2 * float(np.sum(np.log(losses + self.floors[list(targets)])))
        form = sum(equation.structure for equation in equations) if self.structure else 0.0
        return (
            likely
            - k * max(1.0, float(np.log(n)) / 2)
            - k * (k + 1) / max(n - k - 1, _SATURATED)
            - form
        )


class _Stretch(NamedTuple):
    """One trajectory, as increments are taken of it.

    Attributes
    ----------
    measured
        States, (n, d).
    weights
        The weights of the nodes between two samples, (n - 1, nodes).
    whole
        The mean variance of each state within the windows, (d,).
    window
        In samples.
    share
        The trajectory's share of all samples.
    """

    measured: Array
    weights: Array
    whole: Array
    window: int
    share: float


@dataclass(frozen=True, eq=False)
class Increments(Evidence):
    """States whose changes within windows are to be the integrals of right-hand sides.

    The right-hand sides are evaluated on smoothed states between the samples, and their integrals
    compared with the states as they were measured.  In each of the windows, which overlap by
    half, a constant of integration is free.  Several trajectories count by their samples.
    """

    stretches: tuple[_Stretch, ...] = field(repr=False)

    @classmethod
    def of(
        cls, curves: Sequence[Smoothed], measured: Sequence[Trajectory], *, centred: bool = False
    ) -> Increments:
        """Make it of noisy trajectories and of what they are when they are smoothed.

        Parameters
        ----------
        centred
            Whether states are exact to a share of their deviation, not of their size, so that
            an offset means nothing.
        """
        _, weights = _gauss()
        total = sum(len(one.t) for one in measured)
        states, stretches, floors = [], [], []
        for curve, series in zip(curves, measured, strict=True):
            t = curve.t
            half = np.diff(t)[:, None] / 2
            times = nodes_between(t)
            at = [curve.at(times)]
            if series.inputs is not None:
                at.append(series.inputs_at(times))
            states.append(np.concatenate(at, axis=1))
            offset = np.mean(series.u, axis=0) if centred else 0.0
            window, whole, floor = windows(series.u - offset, curve.variances)
            share = len(t) / total
            stretches.append(_Stretch(series.u, half * weights, whole, window, share))
            floors.append(floor)
        names = state_names(measured[0])
        columns = dict(zip(names, np.ascontiguousarray(np.concatenate(states).T), strict=True))
        pooled = floors[0]
        if len(floors) > 1:
            pairs = list(zip(floors, stretches, strict=True))
            left = sum(one.share * one.whole * floor for floor, one in pairs)
            pooled = np.asarray(left / sum(one.share * one.whole for one in stretches))
        return cls(columns, pooled, tuple(stretches))

    def loss(self, values: Array, target: int) -> float:
        """Return the variance of what is left within windows over that of the state."""
        first, unexplained, whole = 0, 0.0, 0.0
        for stretch in self.stretches:
            last = first + stretch.weights.size
            steps = np.sum(
                values[first:last].reshape(stretch.weights.shape) * stretch.weights, axis=1
            )
            rest = stretch.measured[:, target].copy()
            rest[1:] -= np.cumsum(steps)
            unexplained += stretch.share * float(scatters(rest, stretch.window))
            whole += stretch.share * float(stretch.whole[target])
            first = last
        return unexplained / whole


@cache
def _gauss() -> tuple[Array, Array]:
    """Return nodes and weights for integrals from -1 to 1."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return nodes, weights


def nodes_between(t: Array) -> Array:
    """Return the times, ((n - 1) nodes,), at which right-hand sides are evaluated, of samples'."""
    nodes, _ = _gauss()
    half = np.diff(t)[:, None] / 2
    return np.asarray((t[:-1, None] + half * (nodes + 1)).ravel())


def windows(u: Array, variances: Array) -> tuple[int, Array, Array]:
    """Choose windows of time, as short as noise allows.

    A window is a quarter of the samples; where noise alone would leave more than a hundredth of
    the changes within it unexplained, it is half of them, and else all.

    Parameters
    ----------
    u
        Measured series: (n, d), or (n, patches, d) of which those of one state are counted as one.
    variances
        Of their noise, (d,).

    Returns
    -------
    window
        In samples.
    whole
        The mean variance within the windows, (d,).
    floors
        What noise and the rounding of the states leave of it, (d,).
    """
    exact = INTEGRATED_TO**2 * np.mean(u.reshape(-1, u.shape[-1]) ** 2, axis=0)
    for parts in (4, 2, 1):
        window = max(_FEWEST, len(u) // parts)
        whole = np.mean(scatters(u, window).reshape(-1, u.shape[-1]), axis=0)
        whole[whole == 0] = 1.0
        floors = np.maximum((variances + exact) / whole, np.finfo(float).tiny)
        if np.mean(floors) <= _CLEAR:
            break
    return window, whole, floors


def scatters(u: Array, window: int) -> Array:
    """Return the mean variance of each series (n, ...) within the windows, shaped like one row."""
    size = min(window, len(u))
    if u.ndim == 1 and len(u) <= _SHORT:  # the same to the bit, for thousands of candidates
        parts = u[_rows_of_windows(len(u), size, max(1, window // 2))]
        off = parts - np.add.reduce(parts, axis=1, keepdims=True) / size
        variances = np.add.reduce(np.multiply(off, off, out=off), axis=1) / (size - 1)
        return np.asarray(np.add.reduce(variances) / len(variances))
    cut = sliding_window_view(u, size, axis=0)[:: max(1, window // 2)]
    return np.asarray(np.mean(np.var(cut, axis=-1, ddof=1), axis=0))


@lru_cache(maxsize=32)
def _rows_of_windows(n: int, size: int, step: int) -> NDArray[np.intp]:
    """Return the rows of a series of n samples that are in each window, (windows, size)."""
    return np.arange(0, n - size + 1, step)[:, None] + np.arange(size)
