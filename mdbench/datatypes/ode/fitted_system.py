"""A system next to samples: where its constants fit best, and how near its neighbours fit.

A *change* of a system takes one term out of an equation, puts another and no longer one in its
place, or adds one.  How much the misfit of the changed system differs is computed from the linear
model first; for those that are asked about, by a fit of all constants and starts.

The misfit is the weighted sum of squared differences between solutions and samples; where a weight
is one over the noise's standard deviation, it is minus two log-likelihoods but for a constant.
"""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from eqverdict.expand import expand
from eqverdict.fidelity.models import Model
from eqverdict.fidelity.notation_variants import plain_writing
from eqverdict.grammar import read
from eqverdict.tidy import tidy
from eqverdict.tree import parts
from mdbench.datatypes.equations.files import compile_equations
from mdbench.datatypes.equations.identifiability import FAR
from mdbench.datatypes.ode.fitting import Fitting
from mdbench.datatypes.ode.sensitivity import Course, LostError, MovingSystem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from eqverdict.atoms import Monomial, Sum

    Array = NDArray[np.float64]

_FARTHEST = 0.8
"""Shares of themselves by which constants move at most before a fit."""
_HUGE = 1e60
"""Derivatives of no use."""
_LARGE = 1e9
_NO_POWER = re.compile(r"\*\*1\.0(?![\d])")
_FEW = 3
_ALIKE = 1e-8
"""The part of a direction's length that others have to leave of it, to be another direction."""


class Series(NamedTuple):
    """The samples of one trajectory.

    Attributes
    ----------
    t
        Times, (n,).
    states
        What solutions are compared with, (n, d).
    weights
        Of the differences, (n, d).
    size
        Of the largest state.
    """

    t: Array
    states: Array
    weights: Array
    size: float


class Change(NamedTuple):
    """A system that differs in one term of one equation.

    Attributes
    ----------
    equation
        The number of the equation.
    sum
        The changed equation.
    gone
        The constants that are no longer there, by number.
    moves
        By how much the others are moved in the linear model.
    misfit
        By how much the misfit is larger there; negative where it is smaller.
    added
        The term that is new; empty where there is none.
    """

    equation: int
    sum: Sum
    gone: tuple[int, ...]
    moves: Array
    misfit: float
    added: str = ""


class Fit(NamedTuple):
    """Constants, and the start of each trajectory, where the misfit is least."""

    constants: Array
    starts: list[Array]
    misfit: float


class FittedSystem:
    """A system whose constants and starts are where its misfit is least.

    Attributes
    ----------
    differences
        The weighted differences from the samples, over trajectories, times and states.
    misfit
        The sum of their squares.

    Parameters
    ----------
    equations
        Each as a sum of terms.
    names
        The states.
    starts
        The states at the first time of each trajectory, each (d,).
    series
        The measured states that the solution is compared with.

    Raises
    ------
    LostError
        If there is no solution.
    """

    def __init__(
        self,
        equations: Sequence[Sum],
        names: tuple[str, ...],
        starts: Sequence[Array],
        series: Sequence[Series],
    ) -> None:
        self.equations, self.names = list(equations), names
        self.starts, self.series = list(starts), list(series)
        self.system = MovingSystem(self.equations, names)
        self._steps = [0] * len(self.series)
        self.differences, self._own = self.compared(
            self.system, self.system.values, self.starts, self.longest
        )
        self.misfit = float(self.differences @ self.differences)

    @cached_property
    def _others(self) -> _Others:
        states = np.concatenate([one.states for one in self.series]).T
        return _other_terms(self.names, states)

    @cached_property
    def _all(self) -> Array:
        """The derivatives by the constants, the starts, and the coefficients of other terms.

        Those of the other terms are many, and only changes need them.
        """
        values = self.system.values
        return self.compared(self.system, values, self.starts, self.longest, others=True)[1]

    @property
    def longest(self) -> int:
        """The number of samples of the longest trajectory."""
        return max(len(one.t) for one in self.series)

    @property
    def free(self) -> NDArray[np.intp]:
        """The numbers of the constants that an estimator has to find."""
        return np.flatnonzero(self.system.free)

    def covariance(self) -> Array:
        """Return the least covariance of the free constants, each as a share of its unit.

        The bound of Cramér and Rao, shape (m, m), for constants in the order of the equations and
        weights of one over the noise's deviation.  Those of which nothing follows have a huge
        variance.
        """
        count = len(self.free)
        return _inverse(self._own[:, self.own_columns])[:count, :count]

    def terms(self) -> Iterator[tuple[int, Monomial, list[int], tuple[int, ...]]]:
        """Return each term with its equation, its constants, and those that it alone has.

        The coefficient is the first of them.
        """
        first = 0
        for i, terms in enumerate(self.equations):
            model = Model(terms)
            inside = [[first + k for k in several] for several in model.inside]
            for index, monomial in enumerate(terms):
                others = {k for at, each in enumerate(inside) if at != index for k in each}
                gone = tuple(k for k in inside[index] if k not in others)
                yield i, monomial, inside[index], gone
            first += len(model.moving)

    def without(self, i: int, monomial: Monomial, gone: tuple[int, ...]) -> list[Change]:
        """Return the system without a term, and all with another, no longer one in its place."""
        less = dict(self.equations[i])
        del less[monomial]
        m = len(self.system.values)
        others = [k for k in self.own_columns if k not in gone]
        # A change of the coefficient by all of its size.
        lost = self._all[:, gone[0]] * (1.0 if self.equations[i][monomial] > 0 else -1.0)
        misfit, moves = self._misfit(others, lost)
        # Its place among them, should a term be added to this equation.
        index = sum(1 for k in others if k < m and self.system.owners[k] <= i)
        changes = [Change(i, less, gone, moves, misfit)]
        size = _nodes(plain_writing({monomial: abs(self.equations[i][monomial])}), self.names)
        for column, other, text, length in self._new_terms(i):
            if length <= size:
                misfit, coefficients = self._misfit([*others, column], lost)
                equation = {**less, other: Fraction(float(coefficients[-1]))}
                moves = np.insert(coefficients[:-1], index, 0.0)
                changes.append(Change(i, equation, gone, moves, misfit, text))
        return changes

    def with_another(self, i: int) -> list[Change]:
        """Return all systems with a term more in an equation."""
        m = len(self.system.values)
        own = self.own_columns
        index = sum(1 for k in own if k < m and self.system.owners[k] <= i)
        changes = []
        for column, other, text, _ in self._new_terms(i):
            misfit, coefficients = self._misfit([*own, column], np.zeros(len(self.differences)))
            equation = {**self.equations[i], other: Fraction(float(coefficients[-1]))}
            moves = np.insert(coefficients[:-1], index, 0.0)
            changes.append(Change(i, equation, (), moves, misfit, text))
        return changes

    def _new_terms(self, i: int) -> Iterator[tuple[int, Monomial, str, int]]:
        """Return the terms that an equation has not: column, term, text, nodes."""
        ahead = len(self.system.values) + self.system.dim * len(self.starts)
        ahead += i * len(self._others.texts)
        for k, (text, length) in enumerate(
            zip(self._others.texts, self._others.sizes, strict=True)
        ):
            (other,) = expand(text, self.names)
            if other not in self.equations[i]:
                yield ahead + k, other, text, length

    def fitted(self, change: Change) -> tuple[float, str]:
        """Return by how much a changed system's misfit is larger at its least, and its equation.

        It is looked for from all of `moves_to`.  Infinite where no solution is found.  Where the
        linear model's misfit is large, that is taken as it is.
        """
        if change.misfit >= FAR:
            return change.misfit, neat(change.sum, self.names)
        system, free = self.changed(change)
        best = self.best_fit(system, free, self.moves_to(change, system, free))
        if best is None:
            return math.inf, ""
        return best.misfit - self.misfit, self.written(change, system, best.constants)

    def changed(self, change: Change) -> tuple[MovingSystem, NDArray[np.intp]]:
        """Return a changed system, and the numbers of its free constants."""
        equations = list(self.equations)
        equations[change.equation] = change.sum
        system = MovingSystem([each or {(): Fraction(0)} for each in equations], self.names)
        return system, np.flatnonzero(system.free & (system.values != 0))

    def moves_to(self, change: Change, system: MovingSystem, free: NDArray[np.intp]) -> list[Array]:
        """Return moves of constants and starts from which on a changed system is fitted.

        They lead to the constants of this system, to those whose rates are nearest to its own, and
        to where the linear model moves them.
        """
        columns = len(free) + system.dim * len(self.starts)
        starts = [np.zeros(columns), self._matched(system, change, free)]
        if len(change.moves) == columns:
            starts.append(np.clip(change.moves, -_FARTHEST, _FARTHEST))
        return starts

    def written(self, change: Change, system: MovingSystem, constants: Array) -> str:
        """Return the changed equation with the constants of its system, for people."""
        i = change.equation
        first = sum(len(part.values) for part in system.parts[:i])
        mine = constants[first : first + len(system.parts[i].values)]
        model = Model(change.sum or {(): Fraction(0)})
        numbers = [repr(float(c)) if k in model.plain else f"{c:.4g}" for k, c in enumerate(mine)]
        return neat(expand(model.written(numbers), self.names), self.names)

    def best_fit(
        self, system: MovingSystem, free: NDArray[np.intp], starts: Sequence[Array]
    ) -> Fit | None:
        """Fit constants and starts, from several moves (m + d * trajectories,) of them on.

        None where there is no solution.
        """
        fitting = Fitting(self, system, free)
        reached = [each for x in starts if (each := fitting.through(x)) is not None]
        best = min(reached, key=lambda each: each.misfit, default=None)
        if best is None:
            return None
        return Fit(*self.placed(system, free, best.moves), best.misfit)

    def placed(
        self, system: MovingSystem, free: NDArray[np.intp], x: Array
    ) -> tuple[Array, list[Array]]:
        """Return the constants and the starts that moves of the free ones lead to."""
        constants = system.values.copy()
        constants[free] += x[: len(free)] * system.units[free]
        moves = x[len(free) :].reshape(len(self.starts), system.dim)
        pairs = zip(self.starts, moves, self.series, strict=True)
        return constants, [start + move * series.size for start, move, series in pairs]

    def compared(
        self,
        system: MovingSystem,
        constants: Array,
        starts: Sequence[Array],
        samples: int,
        *,
        others: bool = False,
    ) -> tuple[Array, Array]:
        """Return weighted differences from the samples, and the derivatives of these.

        Returns
        -------
        differences
            Shape (N,), over trajectories, samples and states.
        derivatives
            Shape (N, m + d * trajectories + others).
        """
        m, d = len(constants), system.dim
        differences, rows = [], []
        for k, (start, series) in enumerate(zip(starts, self.series, strict=True)):
            u, made, steps = system.derivatives(
                constants,
                Course(start, series.t[:samples], series.size),
                self._others.values if others else None,
                0 if others else self._steps[k],
            )
            if not np.max(np.abs(made)) < _HUGE:
                raise LostError
            if not self._steps[k] or others:
                self._steps[k] = steps // 2  # of which the double was no different
            weights = series.weights[:samples]
            differences.append(((u - series.states[:samples]) * weights).ravel())
            weighted = (made * weights[:, :, None]).reshape(-1, made.shape[2])
            moved = np.zeros((len(weighted), d * len(starts)))
            moved[:, k * d : (k + 1) * d] = weighted[:, m : m + d]
            rows.append(np.hstack([weighted[:, :m], moved, weighted[:, m + d :]]))
        return np.concatenate(differences), np.vstack(rows)

    @property
    def own_columns(self) -> list[int]:
        """The columns of the free constants, and of all starts."""
        m = len(self.system.values)
        return [*self.free.tolist(), *range(m, m + self.system.dim * len(self.starts))]

    def _misfit(self, columns: Sequence[int], lost: Array) -> tuple[float, Array]:
        """Return by how much the misfit grows in the linear model, and the moves of constants."""
        value, moves = least_squares_of(self._all[:, columns], lost - self.differences)
        return value - self.misfit, moves

    def _matched(self, system: MovingSystem, change: Change, free: NDArray[np.intp]) -> Array:
        """Return moves of a changed system's constants with which its rates are most similar."""
        i, x = change.equation, np.zeros(len(free) + system.dim * len(self.starts))
        if not change.gone:
            return x
        u = np.concatenate([one.states for one in self.series]).T
        with np.errstate(all="ignore"):
            own = self.system.effects(u, self.system.values)
            lost = own[change.gone[0]] * self.system.values[change.gone[0]]
            effects = system.effects(u, system.values) * system.units[:, None]
            if change.added:
                last = np.flatnonzero(system.owners == i)[-1]
                lost = lost - effects[last] * np.sign(system.values[last])
        mine = [place for place, k in enumerate(free) if system.owners[k] == i]
        directions = effects[[free[place] for place in mine]].T
        if mine and np.isfinite(directions).all() and np.isfinite(lost).all():
            x[mine] = least_squares_of(directions, lost)[1]
        return x


def neat(terms: Sum, names: tuple[str, ...]) -> str:
    """Write a sum for people, with four digits."""
    import sympy  # noqa: PLC0415 - half a second, and only this needs it

    known = dict(zip(names, sympy.symbols(names, real=True), strict=True))
    value = sympy.sympify(plain_writing(terms) or "0", locals=known)
    if not value.atoms(sympy.Float):
        return str(value)
    return _NO_POWER.sub("", str(value.evalf(4)))


def _nodes(text: str, names: tuple[str, ...]) -> int:
    return sum(1 for _ in parts(tidy(read(text, names))))


def least_squares_of(directions: Array, lost: Array) -> tuple[float, Array]:
    """Return the least square of a difference and of multiples of directions, and these."""
    if not directions.shape[1]:
        return float(lost @ lost), np.zeros(0)
    scales = np.linalg.norm(directions, axis=0)
    scales[scales == 0] = 1.0
    found = np.linalg.lstsq(directions / scales, lost, rcond=_ALIKE)[0]
    left = lost - directions / scales @ found
    return float(left @ left), found / scales


def _inverse(directions: Array) -> Array:
    """Return the inverse of the information matrix; huge where directions are alike."""
    scales = np.linalg.norm(directions, axis=0)
    scales[scales == 0] = 1e-150
    _, sizes, rows = np.linalg.svd(directions / scales, full_matrices=False)
    spread = rows.T / np.maximum(sizes, sizes[0] * 1e-15) / scales[:, None]
    covariance: Array = spread @ spread.T
    return covariance


@dataclass(frozen=True)
class _Others:
    """Terms that may stand in another's place.

    Attributes
    ----------
    sizes
        The number of nodes of each.
    values
        Their values (k, N) at states (d, N).
    """

    texts: tuple[str, ...]
    sizes: tuple[int, ...]
    values: Callable[[Array], Array] = field(repr=False)


def _other_terms(names: tuple[str, ...], states: Array) -> _Others:
    """Return products of up to three states (two of four states and more), and usual functions.

    Those that are too large at the states (d, N) are left out.
    """
    degree = 3 if len(names) <= _FEW else 2
    texts = ["1"]
    for count in range(1, degree + 1):
        texts += ["*".join(each) for each in itertools.combinations_with_replacement(names, count)]
    texts += [f"{function}({name})" for name in names for function in ("sin", "cos", "exp")]
    with np.errstate(all="ignore"):
        sizes_here = [np.max(np.abs(each)) for each in compile_equations(texts, names, np)(*states)]
    texts = [text for text, size in zip(texts, sizes_here, strict=True) if size < _LARGE]
    evaluate = compile_equations(texts, names, np)

    def values(u: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.array([np.broadcast_to(each, u.shape[1]) for each in evaluate(*u)], float)

    sizes = tuple(_nodes(text if text == "1" else f"2*{text}", names) for text in texts)
    return _Others(tuple(texts), sizes, values)
