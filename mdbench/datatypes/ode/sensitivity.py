"""Solutions of a system, and their derivatives by its constants, its start and further terms.

The derivatives solve the linear equations along the solution (the variational equations, Hairer,
Norsett and Wanner, "Solving Ordinary Differential Equations I", section I.14).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from eqverdict.fidelity.models import Model

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from eqverdict.atoms import Sum

    Array = NDArray[np.float64]

_SOLVER: dict[str, Any] = {"rtol": 1e-9, "atol": 1e-11, "mxstep": 5_000}
_MOST_RATES = 60_000
"""Evaluations of right-hand sides for one solution; a rival that needs more is lost."""
_LARGE = 1e4
"""A rival whose states are so many times as large as the true ones is lost."""
_STEPS = (8, 16, 32, 64, 128, 256, 512)
"""Steps between two samples: tried in this order until the result hardly changes."""
_NEAR, _ROUGHLY = 1e-3, 0.1
"""How near derivatives have to be to those of half the steps; and how near those of most steps have
to be: chaotic solutions move them by the solver's own errors, however short the steps."""
_LARGEST = 1e12
_LARGEST_EXPONENT = 50.0
"""Constants beyond these are of no equation that anybody would propose."""


class LostError(ArithmeticError):
    """A system has no solution up to the last sample."""


class Course(NamedTuple):
    """What a solution is computed for.

    Attributes
    ----------
    start
        The states at the first time, (d,).
    t
        The times of the samples, (n,).
    size
        Of the largest true state.
    """

    start: Array
    t: Array
    size: float


@dataclass(frozen=True)
class _Constants:
    """The constants of one equation.

    Attributes
    ----------
    values
        As they are written.
    units
        What a change of each is a share of: its size; 1 for a phase.
    free
        The constants and starts that an estimator has to find.
    largest
        The largest size that each may have.
    """

    values: Array
    units: Array
    free: NDArray[np.bool_]
    largest: Array


class MovingSystem:
    """Equations with constants that move, and their solution with its derivatives.

    Parameters
    ----------
    equations
        Each as a sum of terms.
    names
        The states.
    """

    def __init__(self, equations: Sequence[Sum], names: Sequence[str]) -> None:
        import sympy  # noqa: PLC0415 - half a second, and only this needs it

        self.dim = len(names)
        models = [Model(terms) for terms in equations]
        self.parts = [_constants(model) for model in models]
        states = sympy.symbols(tuple(names), real=True)
        rates, moving = [], []
        for i, model in enumerate(models):
            symbols = sympy.symbols(
                [f"p{i}_{k}" for k in range(len(model.moving))], real=True, cls=sympy.Symbol
            )
            known = dict(zip(names, states, strict=True))
            written = model.written([str(each) for each in symbols])
            rate = sympy.sympify(written, locals=known | {str(each): each for each in symbols})
            rates.append(rate)
            moving += [(i, symbol) for symbol in symbols]
        everything = [symbol for _, symbol in moving]
        self.owners = np.array([i for i, _ in moving], dtype=int)
        self.values = np.concatenate([part.values for part in self.parts])
        self.units = np.concatenate([part.units for part in self.parts])
        self.free = np.concatenate([part.free for part in self.parts])
        self._largest = np.concatenate([part.largest for part in self.parts])
        slopes = [[sympy.diff(rate, state) for state in states] for rate in rates]
        effects = [sympy.diff(rates[i], symbol) for i, symbol in moving]
        arguments = [*states, *everything]
        self._rates = sympy.lambdify(arguments, rates, "math", cse=True)
        self._slopes = sympy.lambdify(arguments, slopes, "numpy", cse=True)
        self._effects = sympy.lambdify(arguments, effects, "numpy", cse=True)

    def effects(self, u: Array, constants: Array) -> Array:
        """Return the derivatives (m, N) of the rates by each constant, at states (d, N)."""
        values = self._effects(*u, *constants)
        return np.array([np.broadcast_to(value, u.shape[1]) for value in values], dtype=float)

    def solution(self, constants: Array, course: Course) -> Array:
        """Return the states (n, d) at the times of a course.

        Raises
        ------
        LostError
            If there is no solution, if it is far beyond the size, or if a constant is absurd.
        """
        if not np.all(np.abs(constants) <= self._largest):
            raise LostError
        from scipy.integrate import odeint  # noqa: PLC0415 - a moment that few need

        left, largest, fixed = _MOST_RATES, _LARGE * course.size, constants.tolist()

        def rates(u: Array, _: float) -> Any:
            nonlocal left
            left -= 1
            values = u.tolist()
            if not left or not sum(map(abs, values)) < largest:
                raise LostError
            return self._rates(*values, *fixed)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                solution, how = odeint(rates, course.start, course.t, full_output=True, **_SOLVER)
            except (ArithmeticError, TypeError, ValueError) as error:  # a root of -1 is complex
                raise LostError from error
        if how["message"] != "Integration successful." or not np.isfinite(solution).all():
            raise LostError
        states: Array = solution
        return states

    def derivatives(
        self,
        constants: Array,
        course: Course,
        others: Callable[[Array], Array] | None = None,
        steps: int = 0,
    ) -> tuple[Array, Array, int]:
        """Return the states at the times of a course, and their derivatives.

        Parameters
        ----------
        constants
            Shape (m,).
        others
            Values (k, N) of k other terms at states (d, N).
        steps
            Between two samples; 0 for as many as it takes.

        Returns
        -------
        states
            Shape (n, d).
        derivatives
            Shape (n, d, m + d + d * k): by each constant as a share of its unit, by the start as a
            share of the size, and by the coefficient of each other term in each equation.
        steps
            How many were taken.

        Raises
        ------
        LostError
            If there is no solution.
        """
        if steps:
            return *self._along(constants, course, steps, others), steps
        before: Array | None = None
        for more in _STEPS:
            states, made = self._along(constants, course, more, others)
            near = _NEAR if more < _STEPS[-1] else _ROUGHLY
            if before is not None and _is_near(before, made, near):
                return states, made, more
            before = made
        raise LostError

    def _along(
        self,
        constants: Array,
        course: Course,
        steps: int,
        others: Callable[[Array], Array] | None,
    ) -> tuple[Array, Array]:
        t, halves = course.t, 2 * steps
        grid = np.append(
            (t[:-1, None] + np.diff(t)[:, None] * np.arange(halves) / halves).ravel(), t[-1]
        )
        u = self.solution(constants, course._replace(t=grid)).T
        with np.errstate(all="ignore"):
            slopes, forcing = self._along_states(u, constants, others)
            first = np.zeros(forcing.shape[1:])
            m = len(constants)
            first[:, m : m + self.dim] = np.eye(self.dim) * course.size
            return u.T[::halves], _linear(slopes, forcing, first, t, steps)

    def _along_states(
        self, u: Array, constants: Array, others: Callable[[Array], Array] | None
    ) -> tuple[Array, Array]:
        """Return what drives the derivatives at states (d, N).

        Returns
        -------
        slopes
            Shape (N, d, d).
        forcing
            Shape (N, d, m + d + d * k).
        """
        d, m, n = self.dim, len(constants), u.shape[1]
        slopes, driven = np.empty((n, d, d)), np.zeros((n, d, m + d))
        for i, row in enumerate(self._slopes(*u, *constants)):
            for j, value in enumerate(row):
                slopes[:, i, j] = value
        for k, value in enumerate(self.effects(u, constants)):
            driven[:, self.owners[k], k] = value * self.units[k]
        parts = [driven]
        if others is not None:
            values = others(u)
            shared = np.zeros((n, d, d * len(values)))
            for i in range(d):
                shared[:, i, i * len(values) : (i + 1) * len(values)] = values.T
            parts.append(shared)
        forcing = np.concatenate(parts, axis=2)
        if not (np.isfinite(slopes).all() and np.isfinite(forcing).all()):
            raise LostError
        return slopes, forcing


def _linear(slopes: Array, forcing: Array, first: Array, t: Array, steps: int) -> Array:
    """Solve x' = slopes x + forcing, by the classical Runge-Kutta method.

    Parameters
    ----------
    slopes, forcing
        At the ends and in the middle of each step, (N, d, d) and (N, d, q).
    first
        The value at the first time, (d, q).

    Returns
    -------
    values
        Shape (n, d, q), at the times t.
    """
    samples, d, halves = len(t) - 1, first.shape[0], 2 * steps
    h = (np.diff(t) / steps)[:, None, None]
    # All intervals between samples at once: their propagators, and what is added in each.
    at = np.arange(samples) * halves
    flow = np.concatenate(
        [np.broadcast_to(np.eye(d), (samples, d, d)), np.zeros((samples, *first.shape))], axis=2
    )
    added = np.concatenate([np.zeros((len(forcing), d, d)), forcing], axis=2)
    for step in range(0, halves, 2):
        begin, middle, end = at + step, at + step + 1, at + step + 2
        k1 = slopes[begin] @ flow + added[begin]
        k2 = slopes[middle] @ (flow + h / 2 * k1) + added[middle]
        k3 = slopes[middle] @ (flow + h / 2 * k2) + added[middle]
        k4 = slopes[end] @ (flow + h * k3) + added[end]
        flow = flow + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    made = np.empty((len(t), *first.shape))
    made[0] = first
    for sample in range(samples):
        made[sample + 1] = flow[sample, :, :d] @ made[sample] + flow[sample, :, d:]
    return made


def _is_near(values: Array, other: Array, near: float) -> bool:
    if not np.isfinite(other).all():
        return False
    sizes = np.linalg.norm(other.reshape(-1, other.shape[-1]), axis=0)
    errors = np.linalg.norm((values - other).reshape(-1, other.shape[-1]), axis=0)
    return bool(np.all(errors <= near * sizes))


def _constants(model: Model) -> _Constants:
    values = np.array([float(each.value) for each in model.moving])
    phases = np.array([each.phase for each in model.moving], dtype=bool)
    free = np.ones(len(values), dtype=bool)
    free[list(model.plain)] = False
    units = np.where(phases, 1.0, np.abs(values))
    largest = np.full(len(values), _LARGEST)
    largest[list(model.exponents)] = _LARGEST_EXPONENT
    return _Constants(values, np.where(units > 0, units, 1.0), free, largest)
