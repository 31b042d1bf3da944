"""Constants of a formula fitted to data: Levenberg and Marquardt from fixed starts, or Adam.

Nothing is drawn while a fit is made and no clock is read, so that a fit can be repeated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from formula_graphs import FormulaGraph

if TYPE_CHECKING:
    from collections.abc import Sequence

    from formula_graphs import GraphNode
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["Adam", "FittedFormula", "fit_formula", "fixed_starts", "spread"]

_FIRST_DAMPING, _CAREFUL, _LEAST, _MOST = 1e-2, 10.0, 1e-9, 1e8
"""Every fourth start is a careful one, whose first steps are short."""
_GAIN = 1e-7
"""A step that lowers the error by less of it is the last, and so is one below `_EXACT`."""
_EXACT = 1e-30
_DECAYS = 0.9, 0.999
"""Decay rates of Adam's two means (Kingma and Ba, ICLR 2015)."""
_BETWEEN_NOTES = 100


@dataclass(frozen=True)
class FittedFormula:
    """Fit of a formula: its constants and its error.

    Attributes
    ----------
    constants
        Values of its parameters, by their index.
    error
        Mean squared error over the variance of the targets; infinite where it has no finite value.
    """

    constants: dict[int, float]
    error: float


def spread(y: Array) -> float:
    """Return the standard deviation of targets (n,), or their size where all are equal, or 1."""
    largest = float(np.max(np.abs(y), initial=0.0)) or 1.0
    found = float(np.std(y / largest))  # as it is, a square could overflow
    return largest * found if found > 1e-14 else largest  # noqa: PLR2004 - rounding


def fixed_starts(count: int, parameters: int, seed: int) -> Array:
    """Return starts (count, parameters): ones first, the others drawn from the seed."""
    draw = np.random.default_rng(seed)
    sizes = 10.0 ** draw.uniform(-1.0, 1.0, (max(0, count - 1), parameters))
    signs = np.where(draw.uniform(size=sizes.shape) < 0.5, -1.0, 1.0)  # noqa: PLR2004
    return np.concatenate([np.ones((1, parameters)), signs * sizes])[:count]


def fit_formula(
    root: GraphNode, X: Array, y: Array, starts: Array, *, iterations: int
) -> FittedFormula:
    """Fit from several starts together, and keep the best.

    Parameters
    ----------
    X, y
        (n, d) and (n,).
    starts
        (S, P), a column for each parameter by its index; what the formula does not use is ignored.
    iterations
        Largest number of steps.
    """
    graph, scale = FormulaGraph(root, X), spread(y)
    constants = np.array(starts[:, graph.indices], dtype=np.float64)
    if not graph.indices:
        constants = constants[:1]
    with np.errstate(all="ignore"):
        error, constants = _descend(graph, y, scale, constants, iterations)
    best = int(np.argmin(error))
    found = dict(zip(graph.indices, constants[best].tolist(), strict=True))
    return FittedFormula(found, float(error[best]))


def _descend(
    graph: FormulaGraph, y: Array, scale: float, constants: Array, iterations: int
) -> tuple[Array, Array]:
    error, residual, slopes = _evaluated(graph, y, scale, constants)
    careful = np.arange(len(constants)) % 4 == 3  # noqa: PLR2004
    damping = np.where(careful, _CAREFUL, _FIRST_DAMPING)
    active = np.flatnonzero(np.isfinite(error)) if graph.indices else np.arange(0)
    for _ in range(iterations):
        if not len(active):
            break
        step = _steps(slopes[active], residual[active], damping[active])
        trial = constants[active] + step
        tried, left, there = _evaluated(graph, y, scale, trial)
        better = tried < error[active]
        gain = 1.0 - np.where(better, tried, 1.0) / np.where(error[active] > 0, error[active], 1.0)
        rows = active[better]
        constants[rows], error[rows] = trial[better], tried[better]
        residual[rows], slopes[rows] = left[better], there[better]
        damping[active] = np.clip(
            np.where(better, damping[active] / 5, damping[active] * 4), _LEAST, _MOST
        )
        small = better & (gain < _GAIN) & (damping[active] <= _FIRST_DAMPING)
        over = small | (damping[active] >= _MOST)
        if (error[active] < _EXACT).any():
            break
        active = active[~over]
    return error, constants


def _evaluated(
    graph: FormulaGraph, y: Array, scale: float, constants: Array
) -> tuple[Array, Array, Array]:
    """Return errors (S,), residuals (S, n) and derivatives (S, K, n), over the targets' scale."""
    values, slopes = graph.linearised(constants)
    residual = (y - values) / scale
    slopes /= scale
    fine = np.isfinite(residual).all(axis=1)
    residual[~fine] = 0.0
    error = np.where(fine, np.einsum("sn,sn->s", residual, residual) / len(y), np.inf)
    slopes[~np.isfinite(slopes).all(axis=2)] = 0.0
    return np.where(np.isfinite(error), error, np.inf), residual, slopes


def _steps(slopes: Array, residual: Array, damping: Array) -> Array:
    """Solve the damped normal equations of each start; return (S, K)."""
    sizes = np.sqrt(np.einsum("skn,skn->sk", slopes, slopes))
    fine = np.isfinite(sizes) & (sizes > 0)
    scale = np.where(fine, sizes, 1.0)
    scaled = np.where(fine[:, :, np.newaxis], slopes / scale[:, :, np.newaxis], 0.0)
    gram = scaled @ scaled.transpose(0, 2, 1)
    right = scaled @ residual[:, :, np.newaxis]
    diagonal = np.arange(gram.shape[1])
    gram[:, diagonal, diagonal] += np.where(fine, damping[:, np.newaxis], 1.0)
    try:
        step = np.linalg.solve(gram, right)[:, :, 0] / scale
    except np.linalg.LinAlgError:  # several columns that are one, to the last digit
        gram[:, diagonal, diagonal] += 1e-6
        step = np.linalg.solve(gram, right)[:, :, 0] / scale
    return np.where(np.isfinite(step), step, 0.0)


@dataclass(frozen=True)
class Adam:
    """Adam on all rows in double precision (Kingma and Ba, ICLR 2015).

    Attributes
    ----------
    steps, rate
        Number and length of the steps.
    clip
        The largest norm of a gradient.
    """

    steps: int
    rate: float
    clip: float

    def fit(
        self, roots: Sequence[GraphNode], X: Array, Y: Array, start: Sequence[float]
    ) -> tuple[tuple[float, ...], float, list[float]]:
        """Fit the parameters that several formulas share.

        Parameters
        ----------
        X, Y
            (n, d), and (n, outputs), a column for each formula.
        start
            First values of the parameters.

        Returns
        -------
        constants
            Those of the lowest loss.
        loss
            The mean over the formulas of the mean squared error over the targets' variance;
            infinite if it was never finite.
        curve
            The loss at the beginning, after every hundredth step, and at the end.
        """
        graphs = [FormulaGraph(root, X) for root in roots]
        scales = [spread(y) for y in Y.T]
        now = np.array(start, dtype=np.float64)
        first, second = np.zeros_like(now), np.zeros_like(now)
        best, lowest, curve = now.copy(), np.inf, []
        steps = self.steps if len(now) else 0
        with np.errstate(all="ignore"):
            for count in range(steps + 1):
                loss, slope = _loss(graphs, Y, scales, now)
                if count % _BETWEEN_NOTES == 0 or count == steps:
                    curve.append(loss)
                if loss < lowest:
                    best, lowest = now.copy(), loss
                if not (np.isfinite(loss) and np.isfinite(slope).all()) or lowest < _EXACT:
                    break
                norm = float(np.sqrt(slope @ slope))
                slope *= min(1.0, self.clip / norm) if norm > 0 else 1.0
                first = _DECAYS[0] * first + (1 - _DECAYS[0]) * slope
                second = _DECAYS[1] * second + (1 - _DECAYS[1]) * slope**2
                straight = first / (1 - _DECAYS[0] ** (count + 1))
                size = np.sqrt(second / (1 - _DECAYS[1] ** (count + 1)))
                now = now - self.rate * straight / (size + 1e-8)
        return tuple(best.tolist()), float(lowest), curve


def _loss(
    graphs: Sequence[FormulaGraph], Y: Array, scales: Sequence[float], constants: Array
) -> tuple[float, Array]:
    total, slope = 0.0, np.zeros_like(constants)
    for graph, y, scale in zip(graphs, Y.T, scales, strict=True):
        values, slopes = graph.linearised(constants[np.newaxis, graph.indices])
        off = (values[0] - y) / scale
        total += float(off @ off) / len(y) / len(graphs)
        slope[graph.indices] += 2.0 * (slopes[0] / scale) @ off / len(y) / len(graphs)
    return total if np.isfinite(total) else float("inf"), slope
