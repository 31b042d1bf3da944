"""Operon: one genetic-programming run for each target, each with a front of its own."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyoperon
from pyoperon.sklearn import SymbolicRegressor

from mdbench.worker import Candidate, Problem, Unsupported

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_SHARE_OF_TIME = 0.95
"""Of the time that is left; the rest is for evaluating the fronts and handing them over."""
_NEARLY = 0.98
"""A run that lasted so much of its limit was ended by it: the limit is kept to some 20 ms."""
_DECIMALS = 60
"""Enough for every digit of a single-precision constant down to about 1e-50."""
_LARGEST = float(np.sqrt(np.finfo(np.float32).max))
"""The norm of a column from which on Operon's sums of squares overflow."""
_NUMBER = re.compile(r"\d+\.\d+")
_UNIT_WEIGHT = re.compile(r"\(1\.0 \* (\w+)\)")


@dataclass(frozen=True)
class _Member:
    """A member of the front of one target."""

    target: int
    tree: pyoperon.Tree
    equation: str
    predictions: Array
    error: float


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
        """Run Operon on each target, sharing what time there is.

        Raises
        ------
        Unsupported
            If a column is too large for single precision.
        RuntimeError
            If no expression for a target is finite on the data of the fit.
        """
        start = time.monotonic()
        _refuse_large(problem)
        self._members: list[_Member] = []
        self.stopped_early = False
        for target, name in enumerate(problem.targets):
            parameters = dict(self._parameters)
            if problem.time_limit is not None:
                left = problem.time_limit - (time.monotonic() - start)
                share = _SHARE_OF_TIME * left / (len(problem.targets) - target)
                parameters["max_time"] = max(1, int(share))
            begin = time.monotonic()
            regressor = SymbolicRegressor(**parameters).fit(problem.X, problem.Y[:, target])
            limit = parameters.get("max_time", float("inf"))
            self.stopped_early |= time.monotonic() - begin >= _NEARLY * limit
            members = list(_front(regressor, target, problem))
            if not members:
                raise RuntimeError(f"Operon's front for {name} has no finite member")
            self._members += members
        self._chosen = [
            min((m for m in self._members if m.target == target), key=lambda m: m.error)
            for target in range(len(problem.targets))
        ]

    def candidates(self) -> Iterator[Candidate]:
        """Give the front of each target, one target after the other."""
        for member in self._members:
            yield Candidate((member.equation,), member.predictions, target=member.target)

    def choose(self, indices: Sequence[int]) -> None:
        """Use these candidates, one for each target; before, the most accurate ones are used."""
        self._chosen = [self._members[index] for index in indices]

    def predict(self, problem: Problem) -> Array:
        """Evaluate the chosen expressions with Operon itself, in single precision."""
        return np.stack([_evaluate(member.tree, problem.X) for member in self._chosen], axis=1)

    def equations(self) -> list[str]:
        """Give the chosen right-hand side of each target."""
        return [member.equation for member in self._chosen]


def _refuse_large(problem: Problem) -> None:
    names = (*problem.variables, *problem.targets)
    norms = np.linalg.norm(np.hstack([problem.X, problem.Y]), axis=0)
    for name, norm in zip(names, norms, strict=True):
        if norm > _LARGEST:
            raise Unsupported(
                f"Operon computes in single precision, and {name} is too large for it: its norm "
                f"is {norm:.1e}, and {_LARGEST:.1e} is the most; scale the data"
            )


def _front(regressor: SymbolicRegressor, target: int, problem: Problem) -> Iterator[_Member]:
    """Give the members of a front that are finite on the data of the fit."""
    names = dict(zip(regressor.variables_, problem.variables, strict=True))
    for solution in regressor.pareto_front_:
        tree = solution["tree"]
        predictions = _evaluate(tree, problem.X)
        error = float(np.mean((predictions - problem.Y[:, target]) ** 2))
        if np.isfinite(error):
            yield _Member(target, tree, _equation(tree, names), predictions, error)


def _evaluate(tree: pyoperon.Tree, X: Array) -> Array:
    """Evaluate a tree, the linear scaling included, on the rows of `X` (n, d); gives (n,)."""
    dataset = pyoperon.Dataset(np.asfortranarray(X))
    everything = pyoperon.Range(0, dataset.Rows)
    values = pyoperon.Evaluate(pyoperon.DispatchTable(), tree, dataset, everything)
    return np.asarray(values, dtype=np.float64).reshape(-1)


def _equation(tree: pyoperon.Tree, names: dict[int, str]) -> str:
    """Write a tree in Python syntax.

    Constants get the fewest digits that read back as the same single-precision number; a
    weight or scale of exactly one is left out.
    """
    text = pyoperon.InfixFormatter.Format(tree, names, _DECIMALS)
    text = _NUMBER.sub(lambda number: str(np.float32(number[0])), text)
    return _UNIT_WEIGHT.sub(r"\1", text).replace("(1.0 * (", "((").replace("^", "**")
