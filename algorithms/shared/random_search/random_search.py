"""A random search of another method's hyperparameters: each trial is one run with drawn values."""

from __future__ import annotations

import importlib.util
import sys
import tomllib
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from written_equations import values

from mdbench.worker import Candidate, Problem, Unsupported

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["RandomSearch", "draw"]

_KINDS = ("choices", "log", "uniform", "whole")
_METHODS = Path(__file__).resolve().parents[2]


class RandomSearch:
    """The answers of a number of trials of a method, of which the benchmark chooses one.

    Each trial has a seed and a draw of its own, and an equal share of what the budget has left:
    what a trial does not use is for those that follow.  A trial that fails is left out.

    Parameters
    ----------
    seed
        The seed of a trial follows from it and from the trial's number.
    threads
        Handed on.
    method
        The name of the method, which ``uses`` has to list.  Values that are not drawn are those of
        its ``method.toml``: its hyperparameters, and the first value of each key of its grid.
    trials
        The number of trials, at least 1.
    space
        For each hyperparameter that is drawn one of ``{whole = [low, high]}``, both included,
        ``{uniform = [low, high]}``, ``{log = [low, high]}``, whose logarithm is uniform, and
        ``{choices = [...]}``.
    """

    def __init__(
        self,
        *,
        seed: int,
        threads: int,
        method: str,
        trials: int,
        space: Mapping[str, Mapping[str, Sequence[Any]]],
    ) -> None:
        if trials < 1:
            raise ValueError(f"trials is {trials}; it must be at least 1")
        self._fixed = _values_of(method)
        if unknown := sorted(space.keys() - self._fixed.keys()):
            raise ValueError(
                f"{method} has no hyperparameter {unknown[0]!r}; it has {sorted(self._fixed)}"
            )
        self._adapter = _adapter_of(method)
        self._seed, self._threads = seed, threads
        self._trials, self._space = trials, space
        draw(space, seed, 0)  # refuses a wrong space before the first trial

    def fit(self, problem: Problem) -> None:
        """Run the trials one after the other, and keep the equations that each of them finds.

        Raises
        ------
        RuntimeError
            If all of them fail.
        Unsupported
            If there is more than one target.
        """
        if len(problem.targets) != 1:
            raise Unsupported(f"the search is for one target; there are {len(problem.targets)}")
        budget = problem.budget
        self._problem = problem
        self._found: dict[str, dict[str, Any]] = {}
        self._trial: tuple[Any, dict[str, Any]] | None = None
        self.stopped_early = False
        self.evaluations = 0
        done, failures = 0, []
        for trial in range(self._trials):
            share = budget.share(self._trials - trial)
            if trial and share <= 0:
                self.stopped_early = True
                break
            drawn = draw(self._space, self._seed, trial)
            model = self._adapter(
                seed=(self._seed * 1_000_003 + trial) % 2**32,
                threads=self._threads,
                **{**self._fixed, **drawn},
            )
            part = budget.part(share)
            self._trial = model, {"trial": trial, **drawn}
            try:
                model.fit(replace(problem, budget=part, time_limit=part.time_limit))
                self._keep_trial()
            except Unsupported:
                raise
            except Exception as error:  # noqa: BLE001 - one bad setting is no failed search
                print(f"trial {trial} failed: {error} (with {drawn})")  # noqa: T201
                failures.append(error)
                self._trial = None
                continue
            done += 1
            self.stopped_early |= bool(getattr(model, "stopped_early", False))
            self.evaluations += getattr(model, "evaluations", 0)
        self._trial = None  # one that time has stopped stays, for `candidates`
        print(f"{done} of {self._trials} trials have an answer")  # noqa: T201
        if not self._found:
            raise RuntimeError(f"all {len(failures)} trials failed, the first with: {failures[0]}")
        self._chosen = min(self._found, key=self._error)

    def candidates(self) -> Iterator[Candidate]:
        """Yield what the trials found, equal equations once; that of one that was stopped, too."""
        with suppress(Exception):  # it may have none yet
            self._keep_trial()
        for equation, setting in self._found.items():
            yield Candidate((equation,), self._values(equation, self._problem), setting, target=0)

    def choose(self, indices: Sequence[int]) -> None:
        """Use this candidate; before, that of the least error on the data of the fit is used."""
        self._chosen = list(self._found)[indices[0]]

    def predict(self, problem: Problem) -> Array:
        """Evaluate the chosen equation as it is printed; return (n, 1)."""
        return self._values(self._chosen, problem)[:, None]

    def equations(self) -> list[str]:
        """Return the chosen equation."""
        return [self._chosen]

    def _keep_trial(self) -> None:
        """Keep the equations of the present trial: its model may be large, and is let go."""
        if self._trial is None:
            return
        model, setting = self._trial
        if hasattr(model, "candidates"):
            equations = [candidate.equations[0] for candidate in model.candidates()]
        else:
            equations = model.equations()
        for equation in equations:
            self._found.setdefault(equation, setting)

    def _values(self, equation: str, problem: Problem) -> Array:
        return values(equation, problem.variables, problem.X)

    def _error(self, equation: str) -> float:
        error = np.mean(np.square(self._values(equation, self._problem) - self._problem.Y[:, 0]))
        return float(error) if np.isfinite(error) else np.inf


def draw(space: Mapping[str, Mapping[str, Sequence[Any]]], seed: int, trial: int) -> dict[str, Any]:
    """Draw a value of each hyperparameter, by the seed and the number of the trial.

    Raises
    ------
    ValueError
        If an entry of the space is none of those that `RandomSearch` lists.
    """
    random = np.random.default_rng([seed, trial])
    return {name: _value(name, entry, random) for name, entry in space.items()}


def _value(name: str, entry: Mapping[str, Sequence[Any]], random: np.random.Generator) -> Any:
    if len(entry) != 1 or next(iter(entry)) not in _KINDS:
        raise ValueError(f"space.{name} has {list(entry)}; it has one of {', '.join(_KINDS)}")
    [(kind, values)] = entry.items()
    if kind == "choices":
        if not values:
            raise ValueError(f"space.{name} has no choices; give at least one")
        return values[int(random.integers(len(values)))]
    if len(values) != 2 or not values[0] <= values[1]:  # noqa: PLR2004 - two ends
        raise ValueError(f"space.{name} is {list(values)}; give the lowest and the highest value")
    low, high = values
    if kind == "whole":
        return int(random.integers(low, high, endpoint=True))
    if kind == "uniform":
        return float(random.uniform(low, high))
    if low <= 0:
        raise ValueError(f"space.{name} is {list(values)}; a logarithm needs values above 0")
    return float(np.exp(random.uniform(np.log(low), np.log(high))))


def _values_of(method: str) -> dict[str, Any]:
    """Return the hyperparameters of a method, and the first value of each key of its grid."""
    file = _METHODS / method / "method.toml"
    content = tomllib.loads(file.read_text(encoding="utf-8"))
    grid = {name: values[0] for name, values in content.get("grid", {}).items()}
    return {**content.get("hyperparameters", {}), **grid}


def _adapter_of(method: str) -> Any:
    """Return the class ``Adapter`` of a method, whose modules can be imported."""
    name = f"{method}_adapter"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, _METHODS / method / "adapter.py")
        if spec is None or spec.loader is None:
            raise ImportError(f"{method} has no adapter.py")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name].Adapter
