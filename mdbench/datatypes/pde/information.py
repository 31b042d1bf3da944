"""How much a noisy field can say: errors of its equations' coefficients, and rivals of its terms.

Noise is that of `mdbench.data.noise`: a share of each state, with a standard deviation of s.  All
numbers are at s = 1; a misfit goes as ``1 / s**2``, a standard error as ``s``.

Let the states u move by a small v, and the coefficients by e.  To first order the equations hold if

    v_t - J v = F e,

where J are the derivatives of the right-hand sides by the states and their derivatives in space,
and F are the terms.  The information about e is the least sum of squares of v, in units of the
noise, of all v that do so (the bound of Cramér and Rao).  The start is free, and so are states at
ends of axes that are not periodic, and states without an equation, such as a pressure.  This is
generalised least squares: a row is an equation between two neighbouring times, by the implicit
midpoint rule.  Rows with a time in common have noise in common, so that their covariances are
blocks on three diagonals.

A *rival* lacks one term of an equation, or has another in its place that has no more factors and
no higher order of derivatives.  With J of the rival its misfit is right wherever v is small,
however far its coefficients are from the truth.

A field with many nodes is cut into boxes, and what these know is added up.  Each box has ends of
its own, so that this is less than what the whole field knows.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.linalg import cholesky, lu_factor, lu_solve, solve_triangular

from eqverdict.atoms import monomial_text
from eqverdict.expand import expand
from mdbench.data.derivatives import accurate_derivative, space_derivative
from mdbench.data.field import Field, FieldColumns, feature_names
from mdbench.data.trajectory import split_chronologically
from mdbench.datatypes.equations.files import compile_equations
from mdbench.datatypes.equations.identifiability import (
    FAR,
    FLOOR,
    NEAREST,
    Finding,
    Findings,
    limits_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from eqverdict.atoms import Monomial
    from mdbench.datatypes.pde.tasks import PdeDataset

    Array = NDArray[np.float64]

_LARGEST = 700
"""Values at one time in a box, about: its matrices have so many rows."""
_BOXES = 16
"""The most boxes; with more of them their ends would lose too much."""
_ROUNDS = 3
"""Rounds in which a rival's J is computed again from its coefficients."""
_ALIKE = 1e-12
"""The part of a column's square that others have to leave of it, to be another column."""
_NOTHING = 1e-20
"""The least information, of a term that is zero on the whole field."""


class Column(NamedTuple):
    """A term on the right-hand side of a state's equation."""

    state: int
    term: str


@dataclass(frozen=True, eq=False)
class _Box:
    """Nodes that are looked at by themselves.

    Attributes
    ----------
    nodes
        Their numbers in the field, (n,).
    inner
        The places among them where equations are asked to hold, (m,).
    derivatives
        What gives a derivative at these, by its axis and order such as ``xx``; each (m, n).
    """

    nodes: NDArray[np.intp]
    inner: NDArray[np.intp]
    derivatives: Mapping[str, Array]


@dataclass(eq=False)
class FieldInformation:
    """The samples of one field, and what they say of its equations.

    Parameters
    ----------
    equations
        The true right-hand sides by the numbers of their states.  Others are known states.
    given
        The clean field at the times that methods are given.
    explicit
        The coordinates that are variables of the equations.
    deviations
        Of the noise at s = 1, shaped like the states; None for a share of each.
    largest
        Values at one time in a box.
    """

    equations: Mapping[int, str]
    given: Field
    explicit: tuple[str, ...] = ()
    deviations: Array | None = None
    largest: int = _LARGEST
    names: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.names = feature_names(self.given, self.explicit)
        self._sums = {state: expand(text, self.names) for state, text in self.equations.items()}
        size = np.max(np.abs(self.given.u), axis=tuple(range(self.given.u.ndim - 1)))
        share = np.maximum(np.abs(self.given.u), FLOOR * size)
        of_noise = share if self.deviations is None else self.deviations
        # With the times first, then states and nodes.
        self._variances = np.moveaxis(of_noise**2, (-2, -1), (0, 1)).reshape(
            len(self.given.t), self.given.dim, -1
        )

    @classmethod
    def of_dataset(cls, dataset: PdeDataset) -> FieldInformation:
        """Return what methods are given of a system: the times before the test."""
        assert dataset.truth is not None  # noqa: S101 - systems have one
        clean, times = dataset.clean, split_chronologically(len(dataset.clean.t)).refit
        given = replace(clean, t=clean.t[times], u=clean.u[..., times, :], du=None)
        equations = dict(zip(dataset.states, dataset.truth, strict=True))
        return cls(equations, given, dataset.explicit)

    @property
    def has_products_only(self) -> bool:
        """Whether all terms are products of powers, with no constant inside a function."""
        return all(atom.kind == "variable" for _, term, _ in self.own for atom, _ in term)

    @property
    def is_in_few_boxes(self) -> bool:
        """Whether boxes are so few that most of what a field knows is left."""
        return math.prod(self._cuts) <= _BOXES

    @cached_property
    def _cuts(self) -> list[int]:
        """The number of boxes along each axis, with the largest boxes that may be."""
        shape = self.given.u.shape[:-2]
        cuts = [1] * len(shape)
        while (
            self.given.dim * math.prod(-(-n // k) for n, k in zip(shape, cuts, strict=True))
            > self.largest
        ):
            cuts[int(np.argmax([n / k for n, k in zip(shape, cuts, strict=True)]))] += 1
        return cuts

    @cached_property
    def own(self) -> list[tuple[int, Monomial, float]]:
        """The terms of the truth: state, term and coefficient."""
        return [
            (state, monomial, float(coefficient))
            for state, terms in self._sums.items()
            for monomial, coefficient in terms.items()
        ]

    @cached_property
    def _columns(self) -> list[Column]:
        """The terms of the truth, and then all others, of each equation."""
        own = [Column(state, _text(monomial)) for state, monomial, _ in self.own]
        others = [
            Column(state, text)
            for state, terms in self._sums.items()
            for text in self._products
            if not expand(text, self.names).keys() & terms.keys()
        ]
        return own + others

    @cached_property
    def _products(self) -> dict[str, tuple[int, int]]:
        """Products that may be rivals of some term: their factors and order of derivatives."""
        states = [f"u{i}" for i in range(self.given.dim)]
        sizes = [_size(monomial) for _, monomial, _ in self.own]
        most, highest = (max(each) for each in zip(*sizes, strict=True))
        derivatives = {
            name: order
            for name in self.names
            if "_" in name and (order := len(name.partition("_")[2])) <= highest
        }
        orders = {"1": (1, 0)}
        for count in range(int(most) + 1):
            for several in itertools.combinations_with_replacement(states, count):
                if several:
                    orders["*".join(several)] = count, 0
                if count < most:
                    for name, order in derivatives.items():
                        orders["*".join([*several, name])] = count + 1, order
        return orders

    @cached_property
    def _gram(self) -> Array:
        return self.gram(self.equations, self._columns)

    def covariance(self) -> Array:
        """Return the least covariance of the coefficients, each as a share of itself.

        The bound of Cramér and Rao at s = 1, (m, m), in the order of `own`.  What nothing is known
        of has a huge variance.
        """
        sizes = np.array([coefficient for *_, coefficient in self.own])
        gram = self._gram[: len(sizes), : len(sizes)] * np.outer(sizes, sizes)
        scales = np.sqrt(np.maximum(np.diag(gram), _NOTHING))
        known, directions = np.linalg.eigh(gram / np.outer(scales, scales))
        spread = directions / np.sqrt(np.maximum(known, known[-1] * _ALIKE)) / scales[:, None]
        return np.asarray(spread @ spread.T)

    def findings(self) -> Findings:
        """Find what the samples say of the system; minutes for some."""
        return Findings(tuple(self.terms()), limits_of(self.covariance()))

    def terms(self) -> Iterator[Finding]:
        """Find what the samples say of each term."""
        errors = np.sqrt(np.diag(self.covariance()))
        for place, (state, monomial, coefficient) in enumerate(self.own):
            misfit, rival = self._best_rival(place)
            yield Finding(state, _text(monomial), coefficient, float(errors[place]), misfit, rival)

    def _best_rival(self, term: int) -> tuple[float, str]:
        """Return the misfit of the best system without a term of the truth, and its equation."""
        state, monomial, _ = self.own[term]
        others = [k for k in range(len(self.own)) if k != term]
        factors, order = _size(monomial)
        rivals = [others]
        for k, column in enumerate(self._columns[len(self.own) :], len(self.own)):
            count, height = self._products[column.term]
            if column.state == state and count <= factors and height <= order:
                rivals.append([*others, k])
        sizes = np.zeros(len(self._columns))
        sizes[: len(self.own)] = [coefficient for *_, coefficient in self.own]
        misfits = [_regression(self._gram, each, sizes)[0] for each in rivals]
        nearest = sorted(range(1, len(rivals)), key=misfits.__getitem__)[:NEAREST]
        return min(self._fitted(rivals[k], sizes, state) for k in (0, *nearest))

    def _fitted(self, rival: list[int], sizes: Array, state: int) -> tuple[float, str]:
        """Return the misfit of a system of some columns, and its equation of a state."""
        misfit, coefficients = _regression(self._gram, rival, sizes)
        columns = [self._columns[k] for k in rival]
        if misfit < FAR:
            own = self._columns[: len(self.own)]
            asked = list(dict.fromkeys([*own, *columns]))
            places = [asked.index(column) for column in columns]
            truth = np.array([*sizes[: len(own)], *np.zeros(len(asked) - len(own))])
            for _ in range(_ROUNDS):
                dynamics = {of: _equation_text(columns, coefficients, of) for of in self.equations}
                gram = self.gram(dynamics, asked)
                misfit, coefficients = _regression(gram, places, truth)
        return misfit, _equation_text(columns, coefficients, state, digits=4)

    def gram(self, dynamics: Mapping[int, str], columns: Sequence[Column]) -> Array:
        """Return the products of terms, in units of the noise that equations have.

        Parameters
        ----------
        dynamics
            The right-hand sides whose derivatives J has, by the numbers of their states.
        columns
            The terms, k of them.

        Returns
        -------
        Shape (k, k).
        """
        slopes = [
            (row, int(name.partition("_")[0][1:]), name.partition("_")[2], text)
            for row, state in enumerate(dynamics)
            for name, text in _partials(dynamics[state], self.names)
            if name not in self.explicit
        ]
        texts = list(dict.fromkeys([*(slope[3] for slope in slopes), *(c.term for c in columns)]))
        values = dict(zip(texts, self._values(texts), strict=True))
        tails = {tail for _, _, tail, _ in slopes}
        rows = np.array([list(dynamics).index(column.state) for column in columns])
        total = np.zeros((len(columns), len(columns)))
        for box in self._boxes(tails):
            inner = box.nodes[box.inner]
            moves = [
                (row, state, box.derivatives[tail], values[text][inner])
                for row, state, tail, text in slopes
            ]
            terms = np.array([values[column.term][inner] for column in columns])
            total += self._of_box(box, list(dynamics), moves, rows, terms)
        return total

    def _values(self, texts: Sequence[str]) -> list[Array]:
        """Evaluate expressions in the middle of every two times, each (nodes, n_t - 1)."""
        t = self.given.t
        middle = (t[:-1] + t[1:]) / 2
        u = CubicSpline(t, self.given.u, axis=-2)(middle)
        features = FieldColumns(replace(self.given, t=middle, u=u, du=None), self.explicit)
        used = [name for name in self.names if any(name in text for text in texts)]
        evaluate = compile_equations(list(texts), used, np)
        shape = u.shape[:-1]
        found = evaluate(*(features[name] for name in used))
        return [np.broadcast_to(each, shape).reshape(-1, shape[-1]) for each in found]

    def _boxes(self, tails: set[str]) -> Iterator[_Box]:
        """Cut the nodes into boxes."""
        shape, field, cuts = self.given.u.shape[:-2], self.given, self._cuts
        numbers = np.arange(math.prod(shape)).reshape(shape)
        pieces = [np.array_split(np.arange(n), k) for n, k in zip(shape, cuts, strict=True)]
        for places in itertools.product(*pieces):
            axes = [
                _derivative_weights(
                    field, axis, place, sorted({len(t) for t in tails if t.startswith(axis)})
                )
                for axis, place in zip(field.grid, places, strict=True)
            ]
            inner = np.ravel_multi_index(
                np.ix_(*(kept for kept, _ in axes)), [len(place) for place in places]
            )
            derivatives = {
                tail: _of_all_axes(
                    orders[len(tail) if tail.startswith(axis) else 0]
                    for axis, (_, orders) in zip(field.grid, axes, strict=True)
                )
                for tail in tails
            }
            if inner.size:
                yield _Box(numbers[np.ix_(*places)].ravel(), inner.ravel(), derivatives)

    def _of_box(
        self,
        box: _Box,
        states: Sequence[int],
        moves: Sequence[tuple[int, int, Array, Array]],
        rows: NDArray[np.intp],
        terms: Array,
    ) -> Array:
        """Return the products of terms in one box, going through its times.

        `moves` are the parts of J: row, state, derivative (m, n) and factor (m, n_t - 1); `terms`
        (k, m, n_t - 1) stand in the equations of the numbers `rows`.
        """
        d, n, m = self.given.dim, len(box.nodes), len(box.inner)
        own = np.concatenate([state * n + box.inner for state in states])
        known = np.setdiff1d(np.arange(d * n), own)
        variances = self._variances[:, :, box.nodes].reshape(len(self.given.t), d * n)
        size, k = len(own), len(rows)
        total = np.zeros((k, k))
        before: tuple[Array, Array, Array] | None = None
        for step, h in enumerate(np.diff(self.given.t)):
            slopes = np.zeros((len(states), m, d, n))
            for row, state, derivative, factor in moves:
                slopes[row, :, state] += factor[:, step, None] * derivative
            slopes = slopes.reshape(size, d * n) * (h / 2)
            right = np.zeros((len(states), m, k))
            right[rows, :, np.arange(k)] = h * terms[:, :, step]
            from_own = np.eye(size) + slopes[:, own]
            solved = lu_solve(
                lu_factor(np.eye(size) - slopes[:, own], check_finite=False),
                np.hstack([from_own, slopes[:, known], right.reshape(size, k)]),
                check_finite=False,
            )
            step_own, step_known, columns = np.split(solved, [size, d * n], axis=1)
            old, new = variances[step], variances[step + 1]
            covariance = (step_own * old[own]) @ step_own.T
            covariance += (step_known * (old + new)[known]) @ step_known.T
            covariance[np.diag_indices(size)] += new[own]
            if before is not None:
                root, known_before, white_before = before
                shared = (step_known * old[known]) @ known_before.T - step_own * old[own]
                explained = solve_triangular(root, shared.T, lower=True, check_finite=False)
                covariance -= explained.T @ explained
                columns = columns - explained.T @ white_before
            root = cholesky(covariance, lower=True, check_finite=False)
            white = solve_triangular(root, columns, lower=True, check_finite=False)
            total += white.T @ white
            before = root, step_known, white
        return total


def _derivative_weights(
    field: Field, axis: str, positions: NDArray[np.intp], orders: Sequence[int]
) -> tuple[NDArray[np.intp], dict[int, Array]]:
    """Return where derivatives along an axis are central, and what gives them there.

    They are spectral along the whole of a periodic axis, and of second order elsewhere.
    """
    nodes = field.grid[axis]
    whole = np.eye(len(positions))
    if axis in field.periods and len(positions) == len(nodes):
        period = field.periods[axis]
        return np.arange(len(positions)), {0: whole} | {
            order: accurate_derivative(whole, nodes, 0, order, period=period) for order in orders
        }
    border = (max(orders, default=0) + 1) // 2
    inner = np.arange(border, len(positions) - border)
    found = {order: space_derivative(whole, nodes[positions], 0, order)[inner] for order in orders}
    return inner, {0: whole[inner]} | found


def _of_all_axes(matrices: Iterable[Array]) -> Array:
    """Return what acts on nodes of several axes, of what acts along each."""
    product = np.ones((1, 1))
    for matrix in matrices:
        product = np.asarray(np.kron(product, matrix), dtype=float)
    return product


def _partials(text: str, names: Sequence[str]) -> list[tuple[str, str]]:
    """Return the derivatives of an expression by each name that is in it."""
    import sympy  # noqa: PLC0415 - half a second, and only this needs it

    symbols = {name: sympy.Symbol(name, real=True) for name in names}
    value = sympy.sympify(text, locals=symbols)
    found = [(name, sympy.diff(value, symbol)) for name, symbol in symbols.items()]
    return [(name, str(slope)) for name, slope in found if slope != 0]


def _regression(gram: Array, columns: Sequence[int], sizes: Array) -> tuple[float, Array]:
    """Return the least square of a sum of columns less multiples of some, and the multiples.

    All by the products of columns (k, k); `sizes` (k,) are the coefficients of the sum.
    """
    with_sum = gram @ sizes
    scales = np.sqrt(np.diag(gram)[columns])
    scales[scales == 0] = 1.0
    products = gram[np.ix_(columns, columns)] / np.outer(scales, scales)
    coefficients = np.linalg.pinv(products, rcond=_ALIKE, hermitian=True) @ (
        with_sum[columns] / scales
    )
    left = np.copy(sizes)
    np.subtract.at(left, columns, coefficients / scales)
    return max(float(left @ gram @ left), 0.0), coefficients / scales


def _size(monomial: Monomial) -> tuple[float, float]:
    """Return the number of factors, and the order of derivatives in all."""
    orders = [power * len(atom.text.partition("_")[2]) for atom, power in monomial]
    return float(sum(power for _, power in monomial)), float(sum(orders))


def _text(monomial: Monomial) -> str:
    return monomial_text(monomial, Fraction(1))


def _equation_text(
    columns: Sequence[Column], coefficients: Array, state: int, *, digits: int = 17
) -> str:
    """Write the equation of a state."""
    parts = [
        f"{coefficient:.{digits}g}*{column.term}".removesuffix("*1")
        for column, coefficient in zip(columns, coefficients, strict=True)
        if column.state == state and coefficient
    ]
    return " + ".join(parts).replace("+ -", "- ") or "0"
