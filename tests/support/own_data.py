"""Data as users have them: generators of members of each kind, and methods run on them in-process.

A method's adapter is imported here, without a sandbox, so that many members can be tried; the
benchmark's own code makes the task, selects the candidate and scores the answer.
"""

from __future__ import annotations

import csv
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from harness import ROOT
from scipy.integrate import solve_ivp

from mdbench import datatypes
from mdbench.datatypes.base import Answer
from mdbench.datatypes.base import Candidate as HostCandidate
from mdbench.datatypes.facts import Protocol
from mdbench.errors import AnswerError
from mdbench.method_spec import MethodSpec
from mdbench.worker import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from mdbench.datatypes.base import Split

    Array = NDArray[np.float64]


@dataclass(frozen=True)
class Found:
    """The answer of a method: its equations in the user's names, and its scores."""

    equations: tuple[str, ...]
    scores: Mapping[str, Any]
    notes: Mapping[str, Any]
    task: Any

    @property
    def nmse(self) -> float:
        """The error on the test."""
        return float(self.scores["nmse"])


def table(path: Path, columns: Mapping[str, Sequence[Any] | Array]) -> Path:
    """Write a CSV file with all digits."""
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(columns)
        cells = [
            [repr(float(v)) if isinstance(v, float | np.floating) else str(v) for v in values]
            for values in columns.values()
        ]
        rows.writerows(zip(*cells, strict=True))
    return path


def integrated(
    slope: Callable[[float, Any], Any], start: Sequence[float] | Array, t: Array
) -> Array:
    """Integrate a system, (n, d)."""
    done = solve_ivp(slope, t[[0, -1]], start, t_eval=t, rtol=1e-11, atol=1e-13, method="DOP853")
    return np.asarray(done.y.T)


def task_of(
    path: Path, kind_name: str = "ode", view: str = "trajectory", **options: Any
) -> tuple[Any, Any]:
    """Return a data type, and the task of the user's only dataset at a path."""
    kind = datatypes.find(kind_name, ROOT / "datasets" / kind_name, path.parent / "cache")
    source = kind.source(path)
    [(name, given)] = kind.expand_options(list(source.names()), options)
    dataset = source.load(name, snr_db=None, seed=0, protocol=Protocol.STRICT, options=given)
    return kind, kind.task(dataset, view, Protocol.STRICT)


def problem_of(task: Any, part: Split, *, targets: bool = True) -> Problem:
    """Return what a method is given of a part of a task."""
    arrays = dict(part.inputs)
    if targets:
        arrays[part.target_name] = part.targets
    return Problem(
        *(task.view, task.variables, task.targets, arrays),
        scaled=task.scaled,
        held=task.held,
    )


HERE: dict[str, dict[str, Any]] = {
    # SINDy-PI takes a solver that only PySINDy's own environment has.
    "pysindy": {"optimizers": ["stlsq", "sr3", "ssr", "frols"], "orders": [1, 2, 3]},
}
"""Settings of methods that cannot do all of theirs in the environment of the tests."""


def solved(module: Any, method: str, path: Path, kind_name: str = "ode", **options: Any) -> Found:
    """Run a method on the user's data as a job does.

    Parameters
    ----------
    module
        The method's imported adapter.
    """
    content = tomllib.loads((ROOT / "algorithms" / method / "method.toml").read_text("utf-8"))
    spec = MethodSpec.model_validate(content)
    kind, task = task_of(path, kind_name, spec.view, **options)
    fixed: dict[str, Any] = {"seed": 0, "threads": 1, **spec.fixed("strict", kind_name)}
    fixed |= HERE.get(method, {})
    train = problem_of(task, task.refit)
    if spec.tuning == "grid":
        shown = problem_of(task, task.refit, targets=False)
        grid = spec.combinations("strict", kind_name)
        candidates = list(module.Adapter.sweep(train, shown, grid, **fixed))
        fitted = None
    else:
        fitted = module.Adapter(**fixed)
        fitted.fit(train)
        candidates = list(fitted.candidates())
    scored = []
    for index, one in enumerate(candidates):
        given = HostCandidate(
            index, one.equations, one.hyperparameters, one.target, one.predictions
        )
        try:
            scored.append(kind.evaluate_candidate(task, task.refit, given))
        except AnswerError:
            continue
    choice = kind.select(task, scored)
    assert choice is not None
    if fitted is None:
        fitted = module.Adapter(**{**fixed, **choice.hyperparameters})
        fitted.fit(train)
    else:
        fitted.choose(choice.indices)
    equations = tuple(fitted.equations())
    predictions = fitted.predict(problem_of(task, task.test, targets=False))
    answer = kind.read_answer(task, Answer(equations, predictions))
    scores = kind.score(task, answer)
    return Found(equations, scores.metrics, scores.notes, task)
