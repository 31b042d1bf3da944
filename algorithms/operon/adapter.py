"""Operon: one genetic-programming run for each target, each with its own front."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyoperon
import pyoperon.sklearn
from pyoperon.sklearn import SymbolicRegressor

from mdbench.worker import Candidate, Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_DECIMALS = 60
"""Decimals for every digit of a single-precision constant down to about 1e-50."""
_HANDY = 1e-10, 1e10
"""Columns of a typical size between these are given to Operon as they are, the others scaled: its
sums of squares overflow, in single precision, from a norm of 1.8e19 on."""
_ROUNDING = 2.0**-20
"""Rounding error of eight steps of single precision, as a share of a target's size."""
_INTERCEPT = re.compile(r"\((\(-[0-9.e+-]+\)|[0-9.e+-]+) \+ (\(.*\)|\w+)\)")
_NUMBER = re.compile(r"\d+\.\d+")
_WEIGHT = re.compile(r"\((\(-[0-9.e+-]+\)|[0-9.e+-]+) \* (\w+)\)")
_UNIT_WEIGHT = re.compile(r"\(1\.0 \* (\w+)\)")


@dataclass(frozen=True)
class _Scales:
    """Powers of two by which columns are divided before Operon sees them."""

    x: Array
    y: Array

    @classmethod
    def of(cls, problem: Problem) -> _Scales:
        """Scale columns of extreme size by powers of two, so that no digit is lost."""
        return cls(_powers_of_two(problem.X), _powers_of_two(problem.Y))


@dataclass(frozen=True)
class _Member:
    """A member of the front of one target."""

    target: int
    tree: pyoperon.Tree
    equation: str
    dropped: float
    predictions: Array
    error: float


class _Ending:
    """What ends a run before a generation that might not fit into its share of the budget.

    Operon's own limit is in whole seconds of wall time.  Here it has no evaluations left instead.

    Parameters
    ----------
    another_fits
        Returns whether another generation fits: see ``Budget.rounds``.

    Attributes
    ----------
    evaluators
        Those of the run.
    came
        Whether it has ended the run.
    """

    def __init__(self, another_fits: Callable[[], bool]) -> None:
        self.evaluators: list[Any] = []
        self.came = False
        self._another_fits = another_fits
        another_fits()

    def __call__(self) -> None:
        """Look at the budget: Operon calls this after each generation."""
        if not self.came and not self._another_fits():
            self.came = True
            for evaluator in self.evaluators:
                evaluator.Budget = 0

    @property
    def evaluations(self) -> int:
        """Expressions that were evaluated, each once for all objectives."""
        return max((int(each.CallCount) for each in self.evaluators), default=0)


class _Package:
    """The package as its regressor uses it, with runs that an `_Ending` ends."""

    def __init__(self, ending: _Ending) -> None:
        self._ending = ending

    def __getattr__(self, name: str) -> Any:
        found = getattr(pyoperon, name)
        if name.endswith("Algorithm"):
            return self._ended(found)
        if name.endswith("Evaluator"):
            return lambda *parts, **named: self._kept(found(*parts, **named))
        return found

    def _ended(self, kind: Any) -> Any:
        ending = self._ending

        class Ended(kind):  # type: ignore[misc] # a class of the package
            def Run(self, random: Any, _: Any, threads: int, warm_start: bool) -> None:  # noqa: N802
                super().Run(random, ending, threads, warm_start)

        return Ended

    def _kept(self, evaluator: Any) -> Any:
        self._ending.evaluators.append(evaluator)
        return evaluator


class Adapter:
    """Operon, as it was run for MDBench.

    Parameters
    ----------
    seed
        The run's random state; every target starts from the same one.
    threads
        Threads of a run.
    hyperparameters
        Parameters of ``pyoperon.sklearn.SymbolicRegressor``.
    """

    def __init__(self, *, seed: int, threads: int, **hyperparameters: Any) -> None:
        self._parameters = {**hyperparameters, "random_state": seed, "n_threads": threads}

    def fit(self, problem: Problem) -> None:
        """Run Operon on each target, sharing the budget.

        Raises
        ------
        ValueError
            If the data are not finite.
        RuntimeError
            If no expression for a target is finite on the data of the fit.
        """
        if not (np.isfinite(problem.X).all() and np.isfinite(problem.Y).all()):
            raise ValueError("the data are not finite")
        self._scales = _Scales.of(problem)
        X, Y = problem.X / self._scales.x, problem.Y / self._scales.y
        self._members: list[_Member] = []
        self.stopped_early = False
        self.evaluations = 0
        budget = problem.budget
        for target, name in enumerate(problem.targets):
            share = budget.share(len(problem.targets) - target)
            ending = _Ending(budget.rounds(share))
            pyoperon.sklearn.op = _Package(ending)
            regressor = SymbolicRegressor(**self._parameters).fit(X, Y[:, target])
            self.stopped_early |= ending.came
            self.evaluations += ending.evaluations
            members = list(_front(regressor, target, problem, self._scales))
            if not members:
                raise RuntimeError(f"Operon's front for {name} has no finite member")
            self._members += members
        self._chosen = [
            min((m for m in self._members if m.target == target), key=lambda m: m.error)
            for target in range(len(problem.targets))
        ]

    def candidates(self) -> Iterator[Candidate]:
        """Yield the Pareto front of each target, one target after the other."""
        for member in self._members:
            yield Candidate((member.equation,), member.predictions, target=member.target)

    def choose(self, indices: Sequence[int]) -> None:
        """Use these candidates, one for each target; before, the most accurate ones are used."""
        self._chosen = [self._members[index] for index in indices]

    def predict(self, problem: Problem) -> Array:
        """Evaluate the chosen expressions with Operon itself, in single precision."""
        X = problem.X / self._scales.x
        columns = [_evaluate(member.tree, X) - member.dropped for member in self._chosen]
        return np.stack(columns, axis=1) * self._scales.y

    def equations(self) -> list[str]:
        """Return the chosen right-hand side of each target."""
        return [member.equation for member in self._chosen]


def _powers_of_two(columns: Array) -> Array:
    """Return a scale for each column of (n, d): 1 where its root mean square is not extreme."""
    largest = np.max(np.abs(columns), axis=0)
    safe = np.where(largest > 0, largest, 1.0)
    typical = safe * np.sqrt(np.mean(np.square(columns / safe), axis=0))
    handy = (largest == 0) | ((typical >= _HANDY[0]) & (typical <= _HANDY[1]))
    return np.where(handy, 1.0, np.exp2(np.round(np.log2(np.where(handy, 1.0, typical)))))


def _front(
    regressor: SymbolicRegressor, target: int, problem: Problem, scales: _Scales
) -> Iterator[_Member]:
    """Yield the members of a front that are finite on the data of the fit."""
    names = dict(zip(regressor.variables_, problem.variables, strict=True))
    weights = dict(zip(problem.variables, (1.0 / scales.x).tolist(), strict=True))
    X, scale = problem.X / scales.x, float(scales.y[target])
    size = float(np.sqrt(np.mean((problem.Y[:, target] / scale) ** 2)))
    for solution in regressor.pareto_front_:
        tree = solution["tree"]
        equation, dropped = _without_rounding(_equation(tree, names, weights), size)
        predictions = (_evaluate(tree, X) - dropped) * scale
        error = float(np.mean(((predictions - problem.Y[:, target]) / scale) ** 2))
        if np.isfinite(error):
            if scale != 1.0:
                equation = f"{scale!r} * ({equation})"
            yield _Member(target, tree, equation, dropped, predictions, error)


def _evaluate(tree: pyoperon.Tree, X: Array) -> Array:
    """Evaluate a tree, the linear scaling included, on the rows of `X` (n, d); return (n,)."""
    dataset = pyoperon.Dataset(np.asfortranarray(X))
    everything = pyoperon.Range(0, dataset.Rows)
    values = pyoperon.Evaluate(pyoperon.DispatchTable(), tree, dataset, everything)
    return np.asarray(values, dtype=np.float64).reshape(-1)


def _equation(tree: pyoperon.Tree, names: dict[int, str], weights: dict[str, float]) -> str:
    """Write a tree in Python syntax.

    Constants get the fewest digits that read back as the same single-precision number; a
    weight or scale of exactly one is left out.  Weights of variables that were scaled become
    those of the variables themselves.
    """
    text = pyoperon.InfixFormatter.Format(tree, names, _DECIMALS)
    text = _NUMBER.sub(lambda number: str(np.float32(number[0])), text)
    text = _WEIGHT.sub(lambda found: _weighted(found[1], found[2], weights), text)
    return _UNIT_WEIGHT.sub(r"\1", text).replace("(1.0 * (", "((").replace("^", "**")


def _without_rounding(equation: str, size: float) -> tuple[str, float]:
    """Leave out an intercept that is no more than the rounding of single precision.

    Operon scales every model linearly, and its sums in single precision leave an intercept where
    there should be none.

    Parameters
    ----------
    equation
        As written by `_equation`.
    size
        The root mean square of the target.

    Returns
    -------
    tuple
        The equation, and the intercept that it lost.
    """
    found = _INTERCEPT.fullmatch(equation)
    if found is None:
        return equation, 0.0
    intercept = float(found[1].strip("()"))
    return (found[2], intercept) if abs(intercept) <= _ROUNDING * size else (equation, 0.0)


def _weighted(number: str, name: str, weights: dict[str, float]) -> str:
    weight = weights.get(name, 1.0)
    if weight == 1.0:
        return f"({number} * {name})"
    return f"(({float(number.strip('()')) * weight!r}) * {name})"
