"""Orthogonal distance regression of trajectories: states and coefficients are fitted together.

The states at the samples are unknowns, and the equations hold softly at all of them.  Fung
(arXiv:2507.23426) minimises over states X (n, d) and coefficients P (d, m) ::

    |(X - Y) / sigma_x|^2 / 2 + |(D X - F(X) P') / sigma_y|^2 / 2 + |P / sigma_p|^2 / 2

where Y are the samples, D takes central differences, and F are the terms of a library.  What
couples states is near the diagonal, so that a step takes a band and a border.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import (
    LinAlgError,
    block_diag,
    cho_factor,
    cho_solve,
    cho_solve_banded,
    cholesky_banded,
)
from scipy.sparse import csr_array

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Mask = NDArray[np.bool_]

__all__ = ["Fit", "Library", "Regression", "central_differences"]

_REACH = 3
"""Neighbours on each side in a central difference: order 6, as in the paper's Lorenz systems."""
_CHORDS = 2
"""Corrections of a step with the same matrix, since the equations bend what a step moves along."""
_WORST = 1e8
"""Damping at which a fit is given up."""
_SOFTER = (100.0, 10.0, 1.0)
"""Multiples of sigma_y, one after the other, for a start that is far from the equations."""


def central_differences(
    t: Array, several: Sequence[NDArray[np.intp]], reach: int = _REACH
) -> csr_array:
    """Return the matrix of central differences in time, of order ``2 * reach``, (n, n).

    Rows of samples that have fewer neighbours on a side than `_REACH` are empty.

    Parameters
    ----------
    t
        Times, (n,), which need not be equally far apart.
    several
        The samples of each trajectory, in their order in time.
    reach
        Neighbours on each side, at most `_REACH`.
    """
    rows, columns, values = [], [], []
    offsets = np.arange(-reach, reach + 1)
    for samples in several:
        middles = np.arange(_REACH, len(samples) - _REACH)
        if not len(middles):
            continue
        near = samples[middles[:, None] + offsets]
        away = t[near] - t[samples[middles], None]
        step = np.abs(away).max(axis=1, keepdims=True)
        powers = (away / step)[:, None, :] ** np.arange(2 * reach + 1)[None, :, None]
        one = np.zeros((len(middles), 2 * reach + 1, 1))
        one[:, 1] = 1.0
        values.append(np.linalg.solve(powers, one)[..., 0] / step)
        rows.append(np.broadcast_to(samples[middles, None], near.shape))
        columns.append(near)
    shape = (len(t), len(t))
    if not rows:
        return csr_array(shape)
    places = (np.concatenate(rows).ravel(), np.concatenate(columns).ravel())
    return csr_array((np.concatenate(values).ravel(), places), shape=shape)


@dataclass(frozen=True)
class Library:
    """The terms of all equations, on states (n, d).

    Attributes
    ----------
    values
        Returns the terms, (n, m).
    gradients
        Returns their derivatives by the states, (n, m, d).
    """

    values: Callable[[Array], Array]
    gradients: Callable[[Array], Array]


@dataclass(frozen=True)
class Fit:
    """A model at the minimum of its loss.

    Attributes
    ----------
    mask
        The terms of each equation, (d, m).
    coefficients
        (d, m), 0 outside the mask.
    states
        The states that the regression takes for true, (n, d).
    loss
        The minimum.
    cost
        Minus the logarithm of the evidence, by Laplace's approximation, up to a constant.
    covariance
        Of the coefficients in the mask, (k, k): the inverse of the loss' curvature when the
        states follow.
    follow
        By how much the states follow a coefficient, (n d, k), with the other sign.
    """

    mask: Mask
    coefficients: Array = field(repr=False)
    states: Array = field(repr=False)
    loss: float
    cost: float = np.inf
    covariance: Array = field(repr=False, default_factory=lambda: np.zeros((0, 0)))
    follow: Array = field(repr=False, default_factory=lambda: np.zeros((0, 0)))

    @property
    def errors(self) -> Array:
        """Standard errors of the coefficients in the mask, (k,)."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0))


@dataclass(frozen=True)
class _Point:
    """States and coefficients, and what is computed from them: see `Regression._at`."""

    states: Array
    coefficients: Array
    terms: Array
    misses: Array
    loss: float


@dataclass(frozen=True)
class _Matrix:
    """The factors of the normal equations at a point."""

    slopes: Array
    band: Array
    coupling: Array
    follow: Array
    factor: tuple[Array, bool]

    def step(self, by_states: Array, by_coefficients: Array) -> tuple[Array, Array]:
        """Return the steps of states (n d,) and coefficients (k,) down a gradient."""
        own = cho_solve_banded((self.band, True), by_states, check_finite=False)
        rest = by_coefficients - self.coupling.T @ own
        coefficients = -cho_solve(self.factor, rest, check_finite=False)
        return -own - self.follow @ coefficients, coefficients


class Regression:
    """The loss of one set of samples.

    Parameters
    ----------
    differences
        Central differences, (n, n).
    samples
        (n, d).
    library
        The terms.
    sigma_x, sigma_y, sigma_p
        Standard deviations of the samples (n, d), of what the equations miss the differences by
        (d,), and of coefficients before anything is known (d, m).
    """

    def __init__(
        self,
        differences: csr_array,
        samples: Array,
        library: Library,
        sigma_x: Array,
        sigma_y: Array,
        sigma_p: Array,
    ) -> None:
        self.samples, self.library, self.sigma_p = samples, library, sigma_p
        self._weights = 1.0 / sigma_x**2
        self._tight = 1.0 / sigma_y**2
        self._prior = 1.0 / sigma_p**2
        self._d = differences
        self._back = differences.T.tocsr()
        self._has = np.diff(differences.indptr) > 0
        square = (self._back @ differences).tocsr()
        n = len(samples)
        wide = min(2 * _REACH, n - 1)
        self._square = [square.diagonal(-k) for k in range(wide + 1)]
        near = min(_REACH, n - 1)
        self._below = [differences.diagonal(-k) for k in range(near + 1)]
        self._above = [differences.diagonal(k) for k in range(near + 1)]

    def softened(self, by: float) -> Regression:
        """Return the same with another sigma_y, `by` times as large."""
        found = object.__new__(Regression)
        found.__dict__ = {**self.__dict__, "_tight": self._tight / by**2}
        return found

    def start(self, states: Array, mask: Mask) -> Array:
        """Return the coefficients of a ridge regression on given states, (d, m)."""
        terms = self.library.values(states)[self._has]
        rates = (self._d @ states)[self._has]
        found = np.zeros(mask.shape)
        for k, chosen in enumerate(mask):
            own = terms[:, chosen]
            size = np.linalg.norm(own, axis=0) + 1e-300
            # Of a softer equation: what the states miss by is no longer small against sigma_y.
            unit = np.concatenate([own / size, 1e-5 * np.eye(own.shape[1])])
            target = np.concatenate([rates[:, k], np.zeros(own.shape[1])])
            found[k, chosen] = np.linalg.lstsq(unit, target, rcond=None)[0] / size
        return found

    def first(self, states: Array, mask: Mask, rounds: int, late: Callable[[], bool]) -> Fit:
        """Fit from given states, with equations that become stricter."""
        coefficients = self.start(states, mask)
        for softer in _SOFTER[:-1]:
            part = self.softened(softer)
            found = part.minimised(states, coefficients, mask, rounds, late, enough=0.1)
            states, coefficients = found.states, found.coefficients
        return self.fit(states, coefficients, mask, rounds, late)

    def without(self, fit: Fit, place: int, rounds: int, late: Callable[[], bool]) -> Fit:
        """Fit again without a term, the `place`-th in the mask."""
        mask, states, coefficients = self._moved(fit, place)
        return self.fit(states, coefficients, mask, rounds, late)

    def predicted(self, fit: Fit) -> Array:
        """Return the cost without each term in turn, if the loss were a parabola, (k,)."""
        value = fit.coefficients[fit.mask]
        variance = np.diag(fit.covariance)
        gone = value**2 / (2 * variance) + np.log(variance) / 2
        return fit.cost + gone - np.log(self.sigma_p[fit.mask])

    def fit(
        self,
        states: Array,
        coefficients: Array,
        mask: Mask,
        rounds: int,
        late: Callable[[], bool],
    ) -> Fit:
        """Minimise the loss over states and the coefficients in a mask, and find the evidence."""
        found = self.minimised(states, coefficients, mask, rounds, late)
        point = self._at(found.states, found.coefficients)
        matrix = None if point is None else self._matrix(point, mask, 0.0)
        if matrix is None:
            return found
        identity = np.eye(int(mask.sum()))
        covariance = cho_solve(matrix.factor, identity, check_finite=False)
        volume = float(np.log(np.diag(matrix.factor[0])).sum())
        cost = found.loss + float(np.log(self.sigma_p[mask]).sum()) + volume
        return replace(found, cost=cost, covariance=covariance, follow=matrix.follow)

    def minimised(
        self,
        states: Array,
        coefficients: Array,
        mask: Mask,
        rounds: int,
        late: Callable[[], bool],
        enough: float = 0.01,
    ) -> Fit:
        """Minimise the loss by damped steps of Gauss and Newton, without evidence."""
        point = self._at(states, coefficients)
        if point is None:
            return Fit(mask, coefficients, states, np.inf)
        damping = 0.0
        for _ in range(rounds):
            if late():
                break
            matrix = self._matrix(point, mask, damping)
            further = None if matrix is None else self._stepped(point, matrix, mask)
            if further is None or not further.loss < point.loss:
                damping = max(damping * 10, 1e-3)
                if damping > _WORST:
                    break
                continue
            gained, point = point.loss - further.loss, further
            damping = damping / 10 if damping > 1e-6 else 0.0
            if gained < enough and damping < 1:
                break
        return Fit(mask, point.coefficients, point.states, point.loss)

    def _moved(self, fit: Fit, place: int) -> tuple[Mask, Array, Array]:
        """Return where a parabola has its minimum without a term."""
        where = np.argwhere(fit.mask)[place]
        mask = fit.mask.copy()
        mask[tuple(where)] = False
        value = fit.coefficients[tuple(where)]
        change = -fit.covariance[:, place] * (value / fit.covariance[place, place])
        coefficients = fit.coefficients.copy()
        coefficients[fit.mask] += change
        coefficients[tuple(where)] = 0.0
        states = fit.states - (fit.follow @ change).reshape(fit.states.shape)
        straight = self._at(states, coefficients)
        stay = np.where(mask, fit.coefficients, 0.0)
        kept = self._at(fit.states, stay)
        if straight is None or (kept is not None and kept.loss < straight.loss):
            return mask, fit.states, stay
        return mask, states, coefficients

    def _at(self, states: Array, coefficients: Array) -> _Point | None:
        """Return the loss there, None where the terms overflow."""
        with np.errstate(all="ignore"):
            try:
                terms = self.library.values(states) * self._has[:, None]
            except ValueError:
                return None
            misses = self._d @ states - terms @ coefficients.T
            loss = 0.5 * float(
                np.sum((states - self.samples) ** 2 * self._weights)
                + np.sum(misses**2 * self._tight)
                + np.sum(coefficients**2 * self._prior)
            )
        return _Point(states, coefficients, terms, misses, loss) if np.isfinite(loss) else None

    def _slopes(self, point: _Point) -> Array:
        """Return the derivatives of right-hand sides by states, (n, d, d)."""
        by = self.library.gradients(point.states) * self._has[:, None, None]
        return np.asarray(np.matmul(point.coefficients, by))

    def _gradient(self, point: _Point, slopes: Array, mask: Mask) -> tuple[Array, Array]:
        pulled = point.misses * self._tight
        by_states = (point.states - self.samples) * self._weights + self._back @ pulled
        by_states -= np.matmul(pulled[:, None, :], slopes)[:, 0]
        by_coefficients = point.coefficients * self._prior - pulled.T @ point.terms
        return by_states.ravel(), by_coefficients[mask]

    def _matrix(self, point: _Point, mask: Mask, damping: float) -> _Matrix | None:
        """Return the factors of the normal equations, None where they have none."""
        slopes = self._slopes(point)
        n, d = point.states.shape
        columns, squares = [], []
        for k, chosen in enumerate(mask):
            own = point.terms[:, chosen]
            heavy = self._tight[k] * own
            column = slopes[:, k, :, None] * heavy[:, None, :]
            column[:, k] -= self._back @ heavy
            columns.append(column.reshape(n * d, -1))
            squares.append(own.T @ heavy)
        coupled = np.concatenate(columns, axis=1)
        curvature = block_diag(*squares)
        curvature[np.diag_indices_from(curvature)] += self._prior[mask]
        try:
            band = cholesky_banded(
                self._band(slopes, damping), overwrite_ab=True, lower=True, check_finite=False
            )
            follow = cho_solve_banded((band, True), coupled, check_finite=False)
            whole = curvature - coupled.T @ follow
            whole[np.diag_indices_from(whole)] *= 1 + damping
            factor = cho_factor((whole + whole.T) / 2, check_finite=False)
        except (LinAlgError, ValueError):
            return None
        return _Matrix(slopes, band, coupled, follow, factor)

    def _band(self, slopes: Array, damping: float) -> Array:
        """Return the normal equations' part of the states, its lower band, (7 d, n d)."""
        n, d = self.samples.shape
        each = np.arange(d)
        heavy = slopes * self._tight[None, :, None]
        blocks = np.zeros((len(self._square), n, d, d))  # the later sample's states come first
        for offset, square in enumerate(self._square):
            block = blocks[offset, : n - offset]
            block[:, each, each] = square[:, None] * self._tight
            if offset < len(self._below):
                block -= self._below[offset][:, None, None] * heavy[offset:].transpose(0, 2, 1)
                block -= self._above[offset][:, None, None] * heavy[: n - offset]
        blocks[0] += np.matmul(heavy.transpose(0, 2, 1), slopes)
        blocks[0][:, each, each] += (1 + damping) * self._weights
        band = np.zeros((len(blocks) * d, n, d))
        for later in range(d):
            for earlier in range(d):
                first = int(later < earlier)  # what is above the diagonal is left out
                places = np.arange(first, len(blocks)) * d + later - earlier
                band[places, :, earlier] = blocks[first:, :, later, earlier]
        return band.reshape(len(band), n * d)

    def _stepped(self, point: _Point, matrix: _Matrix, mask: Mask) -> _Point | None:
        """Return the best point after a step and its corrections."""
        best: _Point | None = None
        for number in range(1 + _CHORDS):
            slopes = self._slopes(point) if number else matrix.slopes
            gradient = self._gradient(point, slopes, mask)
            states, change = matrix.step(*gradient)
            coefficients = point.coefficients.copy()
            coefficients[mask] += change
            moved = self._at(point.states + states.reshape(point.states.shape), coefficients)
            if moved is None or (best is not None and not moved.loss < best.loss):
                break
            best = point = moved
        return best
