"""How much noisy samples of a system can say: errors of its constants, and rivals of its terms.

The noise is that of `mdbench.data.noise`: a share of each state, with a standard deviation of s.
All numbers here are at s = 1.  A least squared misfit goes as ``1 / s**2`` and a standard error
as ``s``: at a signal-to-noise ratio of q dB they are ``10**(q/10)`` and ``10**(-q/20)`` times as
large.

- An estimator that knows the terms has at least the standard errors of Cramér and Rao: those of
  the inverse of the information matrix of all constants and of the start.
- A *rival* lacks one term, or has another and no longer one in its place.  Its misfit is the
  weighted sum of squares between the solutions, with all its constants and its start where it is
  least.  Likelihoods differ by half of it, on average.

The information in the size of the noise is left out: at 10 dB it is a tenth of all.
"""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mdbench.data.trajectory import split_as_published
from mdbench.datatypes.equations.files import compile_equations
from mdbench.datatypes.ode.identifiability import Finding, Findings, Limits
from mdbench.datatypes.ode.sensitivity import Course, LostError, MovingSystem
from mdbench.expressions.expand import expand
from mdbench.expressions.fidelity.models import Model
from mdbench.expressions.fidelity.writings import plain_writing
from mdbench.expressions.grammar import read
from mdbench.expressions.tidy import tidy
from mdbench.expressions.tree import parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from mdbench.datatypes.ode.systems import OdeSystem
    from mdbench.expressions.atoms import Monomial, Sum

    Array = NDArray[np.float64]

_FLOOR = 1e-3
"""Noise is at least what it is at this share of a state's largest value: else a sample of a state
that crosses zero says everything."""
_WITHIN = 0.05
"""Identified answers have each constant within this share."""
_DRAWS = 20_000
_ROUNDS = 30
_FAR = 30.0
"""Misfits above this are left as the linear model has them: at 10 dB they are three hundred."""
_FARTHEST = 0.8
"""Shares of themselves by which constants move at most before a fit."""
_LOST = 1e3
"""The difference that stands for one where there is no solution."""
_HUGE = 1e60
"""Derivatives of no use."""
_PARTS = (1, 2, 5)
"""A fit begins with a fifth of the samples, then with half of them."""
_NEAREST = 2
"""Others that are fitted in the place of a term, with the least misfits in the linear model."""
_LARGE = 1e9
_NO_POWER = re.compile(r"\*\*1\.0(?![\d])")
_FEW = 3
_ALIKE = 1e-8
"""The part of a direction's length that others have to leave of it, to be another direction."""


class _Series(NamedTuple):
    """The true states (n, d) of a trajectory, their weights, and the size of the largest."""

    states: Array
    weights: Array
    size: float


@dataclass
class Information:
    """The samples of one system, and what they say of it.

    Parameters
    ----------
    equations
        The true right-hand sides.
    names
        The states, in order.
    starts
        The states at the first time of each trajectory, each (d,).
    t
        The times of the samples, (n,).
    """

    equations: Sequence[str]
    names: tuple[str, ...]
    starts: Sequence[Sequence[float]]
    t: Array
    truth: list[Sum] = field(init=False)

    def __post_init__(self) -> None:
        self.truth = [expand(text, self.names) for text in self.equations]
        self._system = MovingSystem(self.truth, self.names)
        self._starts = [np.array(start, dtype=float) for start in self.starts]
        self._series: list[_Series] = []
        self._steps: list[int] = []
        for start in self._starts:
            found = self._system.solution(self._system.values, Course(start, self.t, math.inf))
            floor = _FLOOR * np.max(np.abs(found), axis=0)
            weights = 1.0 / np.maximum(np.abs(found), np.where(floor > 0, floor, 1.0))
            self._series.append(_Series(found, weights, float(np.max(np.abs(found)))))
        self._others = _other_terms(self.names, np.concatenate(self.states).T)
        self._all = self._directions(
            self._system, self._system.values, self._starts, len(self.t), others=True
        )[1]

    @classmethod
    def of_system(cls, system: OdeSystem) -> Information:
        """Return what methods are given of a system: the first four fifths of one trajectory."""
        t = np.linspace(0.0, system.end, system.samples)
        rows = split_as_published(len(t)).refit
        return cls(system.truth, tuple(system.variables), system.initial_conditions[:1], t[rows])

    def covariance(self) -> Array:
        """Return the least covariance of the free constants, each as a share of its unit.

        The bound of Cramér and Rao, shape (m, m), for constants in the order of the equations.
        Those of which nothing follows have a huge variance.
        """
        return _inverse(self._all[:, self._own()])[: self._count(), : self._count()]

    def limits(self) -> Limits:
        """Return the noise levels at which the constants of all terms are near enough."""
        covariance = self.covariance()
        errors = np.sqrt(np.diag(covariance))
        sizes, directions = np.linalg.eigh(covariance / np.outer(errors, errors))
        normal = np.random.default_rng(0).standard_normal((_DRAWS, len(errors)))
        drawn = (normal * np.sqrt(np.maximum(sizes, 0.0))) @ directions.T * errors
        largest = np.quantile(np.max(np.abs(drawn), axis=1), (0.1, 0.5, 0.9))
        return Limits(*(20 * np.log10(largest / _WITHIN)).tolist())

    def findings(self) -> Findings:
        """Find what the samples say of the system; minutes for some."""
        return Findings(tuple(self.terms()), self.limits())

    def terms(self) -> Iterator[Finding]:
        """Find what the samples say of each term."""
        covariance = self.covariance()
        errors = np.sqrt(np.diag(covariance))
        free = np.flatnonzero(self._system.free).tolist()
        first = 0
        for i, terms in enumerate(self.truth):
            model = Model(terms)
            inside = [[first + k for k in several] for several in model.inside]
            for place, (monomial, coefficient) in enumerate(terms.items()):
                own = [errors[free.index(k)] for k in inside[place] if k in free]
                others = {k for at, each in enumerate(inside) if at != place for k in each}
                gone = [k for k in inside[place] if k not in others]
                misfit, rival = self._best_rival(i, monomial, gone)
                yield Finding(
                    i,
                    _neat({monomial: Fraction(1)}, self.names),
                    float(coefficient),
                    float(max(own)),
                    misfit,
                    rival,
                )
            first += len(model.moving)

    @property
    def states(self) -> list[Array]:
        """The true states of each trajectory at the times of the samples, each (n, d)."""
        return [each.states for each in self._series]

    def estimate(self, measured: Sequence[Array]) -> Array:
        """Return the most likely constants of the true equations for measured states.

        Parameters
        ----------
        measured
            Of each trajectory, each (n, d).

        Returns
        -------
        moves
            Shape (m,): how far each free constant is from the true one, as a share of its unit.

        Raises
        ------
        ArithmeticError
            If no solution with such constants is near.
        """
        from scipy.optimize import least_squares  # noqa: PLC0415 - a moment that few need

        several = zip(self._series, measured, strict=True)
        error = np.concatenate([((own.states - u) * own.weights).ravel() for own, u in several])
        columns, free = self._own(), np.flatnonzero(self._system.free)

        def found(x: Array) -> tuple[Array, Array]:
            placed = self._placed(self._system, free, x)
            differences, directions = self._directions(self._system, *placed, len(self.t))
            return differences + error, directions[:, columns]

        reached = least_squares(
            lambda x: found(x)[0],
            np.zeros(len(columns)),
            jac=lambda x: found(x)[1],
            x_scale="jac",
            max_nfev=_ROUNDS,
        )
        moves: Array = reached.x[: self._count()]
        return moves

    def _placed(
        self, system: MovingSystem, free: NDArray[np.intp], x: Array
    ) -> tuple[Array, list[Array]]:
        """Return the constants and the starts that moves of the free ones lead to."""
        constants = system.values.copy()
        constants[free] += x[: len(free)] * system.units[free]
        moves = x[len(free) :].reshape(len(self._starts), system.dim)
        pairs = zip(self._starts, moves, self._series, strict=True)
        return constants, [start + move * series.size for start, move, series in pairs]

    def _count(self) -> int:
        return int(np.count_nonzero(self._system.free))

    def _own(self) -> list[int]:
        """Return the columns of the free constants, and of all starts."""
        m = len(self._system.values)
        return [*np.flatnonzero(self._system.free).tolist(), *self._start_columns(m)]

    def _start_columns(self, m: int) -> range:
        return range(m, m + self._system.dim * len(self._starts))

    def _directions(
        self,
        system: MovingSystem,
        constants: Array,
        starts: Sequence[Array],
        samples: int,
        *,
        others: bool = False,
    ) -> tuple[Array, Array]:
        """Return weighted differences from the true states, and the derivatives of these.

        Returns
        -------
        differences
            Shape (N,), over trajectories, samples and states.
        derivatives
            Shape (N, m + d * trajectories + others).
        """
        m, d = len(constants), system.dim
        differences, rows = [], []
        for k, (start, series) in enumerate(zip(starts, self._series, strict=True)):
            u, made, steps = system.derivatives(
                constants,
                Course(start, self.t[:samples], series.size),
                self._others.values if others else None,
                0 if others else self._steps[k],
            )
            if not np.max(np.abs(made)) < _HUGE:
                raise LostError
            if others:
                self._steps.append(steps)
            weights = series.weights[:samples]
            differences.append(((u - series.states[:samples]) * weights).ravel())
            weighted = (made * weights[:, :, None]).reshape(-1, made.shape[2])
            moved = np.zeros((len(weighted), d * len(starts)))
            moved[:, k * d : (k + 1) * d] = weighted[:, m : m + d]
            rows.append(np.hstack([weighted[:, :m], moved, weighted[:, m + d :]]))
        return np.concatenate(differences), np.vstack(rows)

    def _best_rival(self, i: int, monomial: Monomial, gone: list[int]) -> tuple[float, str]:
        """Return the misfit of the best system without a term of equation i, and its equation.

        The constants of the term alone are `gone`, its coefficient first.
        """
        without = [dict(terms) for terms in self.truth]
        del without[i][monomial]
        m = len(self._system.values)
        rest = [k for k in self._own() if k not in gone]
        # A change of the coefficient by all of its size.
        lost = self._all[:, gone[0]] * (1.0 if self.truth[i][monomial] > 0 else -1.0)
        least, moves = _misfit(self._all[:, rest], lost)
        # Its place among them, should a term be added to this equation.
        place = sum(1 for k in rest if k < m and self._system.owners[k] <= i)
        found: list[tuple[float, Sum, Array]] = [(least, without[i], moves)]
        ahead = m + self._system.dim * len(self._starts) + i * len(self._others.texts)
        size = _nodes(plain_writing({monomial: abs(self.truth[i][monomial])}), self.names)
        exchanged: list[tuple[float, int, Array]] = []
        for k, (text, length) in enumerate(
            zip(self._others.texts, self._others.sizes, strict=True)
        ):
            if length <= size and next(iter(expand(text, self.names))) not in self.truth[i]:
                misfit, coefficients = _misfit(self._all[:, [*rest, ahead + k]], lost)
                exchanged.append((misfit, k, coefficients))
        for misfit, k, coefficients in sorted(exchanged, key=lambda each: each[:2])[:_NEAREST]:
            (other,) = expand(self._others.texts[k], self.names)
            equation = {**without[i], other: Fraction(float(coefficients[-1]))}
            found.append((misfit, equation, np.insert(coefficients[:-1], place, 0.0)))
        best = (math.inf, "")
        for misfit, equation, moves in sorted(found, key=lambda each: each[0]):
            value, text = misfit, _neat(equation, self.names)
            if misfit < _FAR:
                system = [*self.truth[:i], equation, *self.truth[i + 1 :]]
                value, text = self._fitted(system, i, gone, moves)
            best = min(best, (value, text))
        return best

    def _matched(
        self,
        system: MovingSystem,
        i: int,
        gone: Sequence[int],
        columns: Sequence[int],
        *,
        other: bool,
    ) -> Array:
        """Return moves of a rival's constants with which equation i has the most similar rates."""
        u = np.concatenate(self.states).T
        with np.errstate(all="ignore"):
            own = self._system.effects(u, self._system.values)
            lost = own[gone[0]] * self._system.values[gone[0]]
            effects = system.effects(u, system.values) * system.units[:, None]
            if other:
                last = np.flatnonzero(system.owners == i)[-1]
                lost = lost - effects[last] * np.sign(system.values[last])
        mine = [
            place
            for place, k in enumerate(columns)
            if k < len(system.values) and system.owners[k] == i
        ]
        x = np.zeros(len(columns))
        directions = effects[[columns[place] for place in mine]].T
        if mine and np.isfinite(directions).all() and np.isfinite(lost).all():
            x[mine] = _misfit(directions, lost)[1]
        return x

    def _fitted(
        self, equations: Sequence[Sum], i: int, gone: Sequence[int], moves: Array
    ) -> tuple[float, str]:
        """Return the misfit of a system with its constants where it is least, and its equation i.

        It is looked for from the true constants, from those whose rates are nearest to the true
        ones, and from where the linear model moves them.
        """
        system = MovingSystem([each or {(): Fraction(0)} for each in equations], self.names)
        m, d = len(system.values), system.dim
        free = np.flatnonzero(system.free & (system.values != 0))
        columns = [*free.tolist(), *range(m, m + d * len(self._starts))]

        known: dict[tuple[bytes, int], tuple[Array, Array]] = {}

        def found(x: Array, samples: int) -> tuple[Array, Array]:
            key = x.tobytes(), samples
            if key not in known:
                known.clear()
                try:
                    differences, directions = self._directions(
                        system, *self._placed(system, free, x), samples
                    )
                    known[key] = differences, directions[:, columns]
                except LostError:
                    n = samples * d * len(self._starts)
                    known[key] = np.full(n, _LOST), np.zeros((n, len(columns)))
            return known[key]

        other = len(equations[i]) == len(self.truth[i])
        starts = [np.zeros(len(columns)), self._matched(system, i, gone, columns, other=other)]
        if len(moves) == len(columns):
            starts.append(np.clip(moves, -_FARTHEST, _FARTHEST))
        parts = sorted({max(len(self.t) // k, len(columns) + 2) for k in _PARTS})
        reached = [each for x in starts if (each := _least(found, x, parts)) is not None]
        best = min(reached, key=lambda each: float(each.cost), default=None)
        if best is None:
            return math.inf, ""
        constants, _ = self._placed(system, free, best.x)
        first = sum(len(part.values) for part in system.parts[:i])
        mine = constants[first : first + len(system.parts[i].values)]
        model = Model(equations[i] or {(): Fraction(0)})
        numbers = [repr(float(c)) if k in model.plain else f"{c:.4g}" for k, c in enumerate(mine)]
        return 2 * float(best.cost), _neat(expand(model.written(numbers), self.names), self.names)


def _least(
    found: Callable[[Array, int], tuple[Array, Array]], x: Array, parts: Sequence[int]
) -> Any:
    """Return what SciPy's least squares reach from x on; None where there is no solution.

    Over a part of the samples first: a long solution depends on constants in a way that has many
    lowest points.
    """
    from scipy.optimize import least_squares  # noqa: PLC0415 - a moment that few need

    reached = None
    for samples in parts:
        at = x if reached is None else reached.x
        if np.all(found(at, samples)[0] == _LOST):
            reached = None
            continue
        reached = least_squares(
            lambda x, samples=samples: found(x, samples)[0],
            at,
            jac=lambda x, samples=samples: found(x, samples)[1],
            x_scale="jac",
            max_nfev=_ROUNDS,
            xtol=1e-8,
            ftol=1e-5,
            gtol=1e-12,
        )
    return reached


def _nodes(text: str, names: tuple[str, ...]) -> int:
    return sum(1 for _ in parts(tidy(read(text, names))))


def _neat(terms: Sum, names: tuple[str, ...]) -> str:
    """Write a sum for people, with four digits."""
    import sympy  # noqa: PLC0415 - half a second, and only this needs it

    known = dict(zip(names, sympy.symbols(names, real=True), strict=True))
    value = sympy.sympify(plain_writing(terms) or "0", locals=known)
    if not value.atoms(sympy.Float):
        return str(value)
    return _NO_POWER.sub("", str(value.evalf(4)))


def _misfit(directions: Array, lost: Array) -> tuple[float, Array]:
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
