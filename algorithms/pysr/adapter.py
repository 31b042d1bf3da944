"""PySR: one search for each target, each with its own front."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import julia
import numpy as np
from tables import read_table

from mdbench.worker import Candidate, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_KEPT = 0.1
"""Part of the remaining time for the search; the rest is for Julia's start and for the fronts."""
_NEARLY = 0.98
"""A search that lasted so much of its limit was ended by it."""
_FUNCTIONS = {
    name: getattr(np, name)
    for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "log", "sqrt", "abs")
} | {"asin": np.arcsin, "acos": np.arccos, "atan": np.arctan}


@dataclass(frozen=True)
class _Member:
    target: int
    equation: str
    predictions: Array
    loss: float


class Adapter:
    """PySR, one thread, the same seed the same answer.

    Parameters
    ----------
    seed
        Seed of the search for each target.
    threads
        PySR is deterministic in one thread alone; more are not used.
    hyperparameters
        Parameters of ``pysr.PySRRegressor``.
    """

    def __init__(self, *, seed: int, threads: int, **hyperparameters: Any) -> None:
        del threads
        self._parameters = _in_tuples(hyperparameters) | {
            "random_state": seed,
            "deterministic": True,
            "parallelism": "serial",
            "precision": 64,
            "progress": False,
            "verbosity": 0,
            "temp_equation_file": False,
        }
        self.stopped_early = False

    def fit(self, problem: Problem) -> None:
        """Search for each target, sharing the time.

        Raises
        ------
        Unavailable
            If there is no Julia.
        ValueError
            If the data are not finite.
        RuntimeError
            If there is no finite equation for a target.
        """
        self._problem = problem
        self._tables: list[Path] = []
        self._members: list[_Member] = []
        self._chosen: list[_Member] = []
        if not (np.isfinite(problem.X).all() and np.isfinite(problem.Y).all()):
            raise ValueError("the data are not finite")
        regressor = julia.regressor()
        for target in range(len(problem.targets)):
            parameters: dict[str, Any] = {"output_directory": str(Path("scratch").resolve())}
            limit = float("inf")
            share = problem.budget.share(len(problem.targets) - target, _KEPT)
            if share < limit:  # Julia's clock is that of wall time
                limit = max(1.0, problem.budget.seconds(share))
                parameters["timeout_in_seconds"] = limit
            name = f"target{target}"
            self._tables.append(Path(parameters["output_directory"]) / name / "hall_of_fame.csv")
            model = regressor(**self._parameters, **parameters, run_id=name)
            start = time.monotonic()
            names = [f"x{place}" for place in range(len(problem.variables))]
            model.fit(problem.X, problem.Y[:, target], variable_names=names)
            self.stopped_early |= time.monotonic() - start >= _NEARLY * limit
        members = list(self._front())
        for target, name in enumerate(problem.targets):
            if all(member.target != target for member in members):
                raise RuntimeError(f"PySR's front for {name} has no finite equation")
        self._members = members
        self._chosen = [
            min((m for m in members if m.target == target), key=lambda m: m.loss)
            for target in range(len(problem.targets))
        ]

    def candidates(self) -> Iterator[Candidate]:
        """Yield the front of each target; of a search that was stopped, what its table has."""
        self._members = self._members or list(self._front())
        for member in self._members:
            yield Candidate((member.equation,), member.predictions, target=member.target)

    def choose(self, indices: Sequence[int]) -> None:
        """Use these candidates, one for each target; before, the most accurate ones are used."""
        self._chosen = [self._members[index] for index in indices]

    def equations(self) -> list[str]:
        """Return the chosen right-hand side of each target."""
        return [member.equation for member in self._chosen]

    def predict(self, problem: Problem) -> Array:
        """Evaluate the chosen equations, (n, targets)."""
        columns = [_evaluate(member.equation, problem) for member in self._chosen]
        return np.stack(columns, axis=1)

    def _front(self) -> Iterator[_Member]:
        for target, table in enumerate(self._tables):
            for row in read_table(table, self._problem.variables):
                predictions = _evaluate(row.equation, self._problem)
                if np.isfinite(predictions).all():
                    yield _Member(target, row.equation, predictions, row.loss)


def _in_tuples(hyperparameters: dict[str, Any]) -> dict[str, Any]:
    """Make tuples of the lists among the constraints, as PySR requires."""
    constraints = hyperparameters.get("constraints")
    if constraints is None:
        return hyperparameters
    tuples = {
        name: tuple(most) if isinstance(most, list) else most for name, most in constraints.items()
    }
    return {**hyperparameters, "constraints": tuples}


def _evaluate(equation: str, problem: Problem) -> Array:
    """Evaluate an equation that `tables.in_python` has written, and so checked; return (n,)."""
    columns = dict(zip(problem.variables, problem.X.T, strict=True))
    with np.errstate(all="ignore"):
        values = eval(equation, {"__builtins__": {}}, {**_FUNCTIONS, **columns})  # noqa: S307
    return np.broadcast_to(np.asarray(values, dtype=np.float64), (len(problem.X),))
