"""The likelihood of measured fields: generalised least squares on integrals, without bias.

An integral of a term over noisy samples has noise, too, which least squares would take for signal.
Here each term is taken as linear in the noise, about the smoothed field.  So the covariance of all
integrals follows from their test functions, and so does the part of it that terms share with the
residual, which is taken out of the normal equations.

The covariance of weak residuals: Bortz, Messenger and Dukic, Bull. Math. Biol. 85, 110 (2023).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import comb
from typing import TYPE_CHECKING

import numpy as np
from forms import WeakField, halves_of, periodic_axes, rows_along
from grids import differentiate
from scipy.linalg import cho_solve
from scipy.sparse import csr_array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from summands import Product

    from mdbench.worker import Problem

    Array = NDArray[np.float64]
    Kind = tuple[int, int, int]

__all__ = ["Fit", "Likelihood"]

_FACTOR = 0.6
"""Half the width of a test function, in units of what the spectrum gives."""
_PARTS = 8, 5, 4
"""An axis over the largest half width, for one axis in space, two and three."""
_OVERLAPS = 3.0, 2.0, 2.0
"""Test functions along an axis in the width of half of one, for one axis, two and three."""
_ROWS = 400
"""Test functions at most, about."""
_WIDEST = 3.0
_WEIGHTS = 1_000_000
"""Weights of all test functions together at most."""
_CHUNK = 4_000_000
"""Numbers of a product of matrices that are made at a time."""
_ROUNDS = 3
_WIDE = 12, 6, 6
"""Half a width from which every second node is enough for covariances, by axes in space."""
_REMEMBERED = 12
"""Terms whose responses to the noise are kept."""
_SETTLED = 0.1
"""Change of coefficients, in standard errors, that ends a fit."""
_RIDGE = 1e-6
"""Variance that is added to each integral's, as a share."""


@dataclass(frozen=True)
class Fit:
    """Coefficients of highest likelihood.

    Attributes
    ----------
    coefficients, errors
        With their standard errors.
    square
        The sum of squares of the residuals in units of their noise.  It is the least that a true
        field is from the samples, so that it is minus twice the logarithm of their likelihood.
    inverse
        The inverse of the covariance of the residuals, (rows, rows).
    """

    coefficients: Array
    errors: Array
    square: float
    inverse: Array = field(repr=False)


class Likelihood:
    """Integrals of a noisy field for one target, and the covariance of their noise.

    Parameters
    ----------
    problem
        A field with what was measured.
    state
        The state of the target.
    waves
        The highest wave number along each axis and in time that is above the noise, in radians a
        node.
    deviation
        The standard deviation of the noise of each sample, shaped like the states.

    Raises
    ------
    ValueError
        If an axis is too short for test functions.
    """

    def __init__(
        self, problem: Problem, state: int, waves: Sequence[float], deviation: Array
    ) -> None:
        u, measured = problem.u, problem.arrays["measured"]
        form = WeakField(problem, u, *_windows(problem, waves))
        if not all(bumps.half for bumps in form.bumps):
            raise ValueError("an axis is too short for test functions")
        self.form = form
        self.rest = [np.ascontiguousarray((measured - u)[..., k]) for k in range(u.shape[-1])]
        self._variances = [deviation[..., k].reshape(-1) ** 2 for k in range(u.shape[-1])]
        self._thinned = [
            _even(bumps.places) if bumps.half >= wide and n % 2 == 0 else bumps.places
            for bumps, n in zip(form.bumps, u.shape[:-1], strict=True)
            for wide in (_WIDE[len(form.axes) - 1],)
        ]
        self._places = self._indices(u.shape[:-1])
        used, dense = np.unique(self._places, return_inverse=True)
        self._dense: NDArray[np.int32] = np.asarray(dense, np.int32).reshape(self._places.shape)
        self._nodes = len(used)
        self._groups = self._neighbours()
        self._local: dict[tuple[int, int], Array] = {}
        self._columns: dict[Product, Array] = {}
        self._responses: dict[Product, dict[int, Array]] = {}
        self.target = form.integral(-measured[..., state], len(form.axes), 1)
        self._left = {state: -self._window(len(form.axes), 1)}

    def column(self, one: Product) -> Array:
        """Return a term's integrals, to first order in the noise, (rows,)."""
        if one not in self._columns:
            column = self.form.column(one)
            for (state, axis, order), g in self._pieces(one).items():
                column = column + self.form.integral(g * self.rest[state], axis, order)
            self._columns[one] = column
        return self._columns[one]

    def fit(self, terms: Sequence[Product], first: Sequence[float]) -> Fit:
        """Fit coefficients, starting from first ones.

        Raises
        ------
        numpy.linalg.LinAlgError
            If a matrix is singular.
        """
        parts = [self._response(one) for one in terms]
        columns = np.stack([self.column(one) for one in terms], axis=1)
        w = np.array(first, dtype=np.float64)
        for _ in range(_ROUNDS):
            total = self._residual_noise(parts, w)
            inverse = _inverse(self._covariance(total, total))
            shared = self._shared(parts, total, inverse)
            through = columns.T @ inverse
            gram = through @ columns
            scale = np.sqrt(np.diag(gram))
            unit = gram / np.outer(scale, scale)
            unit[np.diag_indices(len(w))] += 1e-12
            spread = np.linalg.inv(unit)
            new = spread @ ((through @ self.target - shared) / scale) / scale
            errors = np.sqrt(np.abs(np.diag(spread))) / scale
            change = float(np.max(np.abs(new - w) / errors))
            w = new
            if not np.isfinite(change) or change < _SETTLED:
                break
        residual = self.target - columns @ w
        square = float(residual @ inverse @ residual)
        return Fit(w, errors, square, inverse)

    def _response(self, one: Product) -> dict[int, Array]:
        """Return what a term's integrals are of the noise of each state, (rows, samples)."""
        if one not in self._responses:
            found: dict[int, Array] = {}
            for (state, axis, order), g in self._pieces(one).items():
                part = g.reshape(-1)[self._places] * self._window(axis, order)
                found[state] = found[state] + part if state in found else part
            while len(self._responses) >= _REMEMBERED:
                del self._responses[next(iter(self._responses))]
            self._responses[one] = found
        return self._responses[one]

    def _residual_noise(self, parts: Sequence[dict[int, Array]], w: Array) -> dict[int, Array]:
        total = dict(self._left)
        for response, each in zip(parts, w, strict=True):
            for state, part in response.items():
                total[state] = total.get(state, 0.0) - each * part
        return total

    def _covariance(self, one: dict[int, Array], other: dict[int, Array]) -> Array:
        """Return the covariance of the noise of two sets of integrals, (rows, rows)."""
        found = np.zeros((len(self._places),) * 2)
        for state in one.keys() & other.keys():
            left = self._sparse(self._scaled(one, state))
            found += (left @ self._sparse(other[state]).T).toarray()
        return found

    def _shared(
        self, parts: Sequence[dict[int, Array]], total: dict[int, Array], inverse: Array
    ) -> Array:
        """Return what each term's noise has in common with the residual's, summed with weights.

        It is the trace of `inverse` times the covariance of both, (terms,).
        """
        sums = np.zeros(len(parts))
        for state in total:
            if not any(state in pieces for pieces in parts):
                continue
            matrix = self._sparse(self._scaled(total, state)).T.tocsr()
            for some, nodes, local in self._groups:
                through = matrix[nodes] @ inverse[:, some]  # (nodes, rows of the group)
                gathered = through[local, np.arange(through.shape[1])[:, None]]
                for number, pieces in enumerate(parts):
                    if state in pieces:
                        sums[number] += np.sum(pieces[state][some] * gathered)
        return sums

    def _scaled(self, one: dict[int, Array], state: int) -> Array:
        return one[state] * self._variances[state][self._places]

    def _sparse(self, values: Array) -> csr_array:
        """Return values at the samples of each test function as a matrix, (rows, nodes)."""
        rows, each = self._dense.shape
        starts = np.arange(rows + 1, dtype=np.int32) * np.int32(each)
        shape = rows, self._nodes
        return csr_array((values.reshape(-1), self._dense.reshape(-1), starts), shape=shape)

    def _indices(self, shape: Sequence[int]) -> NDArray[np.int32]:
        """Return the samples under each test function, (rows, samples)."""
        found = np.zeros((1, 1), dtype=np.int64)
        for at, n in zip(self._thinned, shape, strict=True):
            found = found[:, None, :, None] * n + at[None, :, None, :]
            found = found.reshape(found.shape[0] * found.shape[1], -1)
        return np.asarray(found, dtype=np.int32)

    def _neighbours(self) -> list[tuple[slice, NDArray[np.intp], NDArray[np.int32]]]:
        """Return groups of test functions: their rows, their nodes, and places among these.

        Those of a group have the same place along the first axis, so that they share nodes.
        """
        rows, found = len(self._dense), []
        step = max(1, min(rows // len(self.form.bumps[0].places), _CHUNK // self._nodes))
        for start in range(0, rows, step):
            some = slice(start, min(start + step, rows))
            nodes, local = np.unique(self._dense[some], return_inverse=True)
            shape = self._dense[some].shape
            found.append((some, nodes.astype(np.intp), local.reshape(shape).astype(np.int32)))
        return found

    def _window(self, axis: int, order: int) -> Array:
        """Return the weights of all test functions, differentiated along an axis."""
        if (axis, order) not in self._local:
            found = np.ones((1, 1))
            for k, (bumps, at) in enumerate(zip(self.form.bumps, self._thinned, strict=True)):
                weights = bumps.weights[order if k == axis else 0]
                local = np.take_along_axis(weights, at, axis=1)
                if at.shape[1] < bumps.places.shape[1]:
                    local = local * np.sqrt(2.0)  # squares are of every second node
                found = found[:, None, :, None] * local[None, :, None, :]
                found = found.reshape(found.shape[0] * found.shape[1], -1)
            self._local[axis, order] = found
        return self._local[axis, order]

    def _pieces(self, one: Product) -> dict[Kind, Array]:
        """Return what a term is of the noise: sums of factors times test functions' derivatives.

        Keys are the state, and the axis and order of the derivative of the test function.
        """
        form, states = self.form, self.form.states
        pieces: dict[Kind, Array] = {}

        def add(kind: Kind, g: Array) -> None:
            kind = kind if kind[2] else (kind[0], 0, 0)
            pieces[kind] = pieces[kind] + g if kind in pieces else g

        if one.function:
            (state,) = one.states
            u = states[state]
            add((state, 0, 0), np.cos(u) if one.function == "sin" else -np.sin(u))
            return pieces
        slopes = [form.derivative(each.state, each.axis, each.order) for each in one.derivatives]
        for number, state in enumerate(one.states):
            add((state, 0, 0), self._times(one.states, slopes, without=number))
        for number, each in enumerate(one.derivatives):
            others = slopes[:number] + slopes[number + 1 :]
            g = self._times(one.states, others)
            for k in range(1 + each.order * bool(one.states or others)):
                part = differentiate(g, each.axis, form.axes[each.axis], k) if k else g
                sign = (-1) ** each.order * comb(each.order, k)
                add((each.state, each.axis, each.order - k), sign * part)
        return pieces

    def _times(self, states: Sequence[int], slopes: Sequence[Array], without: int = -1) -> Array:
        found = np.ones(self.form.states[0].shape)
        for number, state in enumerate(states):
            if number != without:
                found = found * self.form.states[state]
        for slope in slopes:
            found = found * slope
        return found


def _even(places: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the nodes of even number under each test function, as many of each."""
    half = places.shape[1] // 2
    first = places[:, 0] % 2
    return np.stack([row[a : a + 2 * half : 2] for row, a in zip(places, first, strict=True)])


def _windows(problem: Problem, waves: Sequence[float]) -> tuple[list[int], int, float]:
    """Return half the widths of test functions, how many there are at most, and their overlap."""
    shape, factor = problem.u.shape[:-1], _FACTOR
    part, overlap = _PARTS[len(shape) - 2], _OVERLAPS[len(shape) - 2]
    while True:
        halves = halves_of(problem, factor, waves, part)
        wanted = float(np.prod(rows_along(shape, halves, periodic_axes(problem), overlap)))
        if wanted <= _ROWS or factor > _WIDEST:
            break
        factor *= 1.1
    wide = _WIDE[len(shape) - 2]
    each = float(np.prod([half if half >= wide else 2 * half + 1 for half in halves]))
    return halves, int(min(_ROWS, max(_WEIGHTS / each, 50))), overlap


def _inverse(covariance: Array) -> Array:
    size = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    unit = covariance / np.outer(size, size)
    unit[np.diag_indices(len(unit))] += _RIDGE
    lower = np.linalg.cholesky(unit)
    return np.asarray(cho_solve((lower, True), np.eye(len(unit))) / np.outer(size, size))
