"""Equations by maximum likelihood of the measured samples, term by term; see docs/shooting.md."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import samples as increments
from discovery import Discovery, Recording
from search import Settings

from mdbench.worker import Unsupported, columns_of

if TYPE_CHECKING:
    from likelihood import Fit
    from numpy.typing import NDArray

    from mdbench.worker import Alternative, Problem

    Array = NDArray[np.float64]

_INTEGRAL: dict[str, Any] = {"weight": 0.25, "terms": 400, "noisy_terms": 60, "inner": True}
_TIME_PART = 0.85
"""Part of the time limit for the search."""
_LAST_PART = 0.6
"""Part of the time limit after which no more terms with constants inside are looked for."""


def _integral() -> Any:
    """Return the adapter of ``integral``, whose module has the name of this one."""
    file = Path(str(increments.__file__)).with_name("adapter.py")
    spec = importlib.util.spec_from_file_location("integral_adapter", file)
    assert spec is not None  # noqa: S101 - the file is there: its neighbour was imported
    assert spec.loader is not None  # noqa: S101
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


_CLEAN = _integral()


class Adapter:
    """Maximum likelihood by multiple shooting; of data without noise ``integral`` has the answer.

    Parameters
    ----------
    seed, threads
        Not used: nothing is drawn.
    terms
        Largest number of terms without constants inside.
    substeps
        Steps of integration for each interval, at least.
    """

    stopped_early: bool = False
    """Whether the last fit ran out of time before its search was over."""

    def __init__(self, *, seed: int, threads: int, terms: int, substeps: int) -> None:
        self._clean = _CLEAN.Adapter(seed=seed, threads=threads, margin=0.0, **_INTEGRAL)
        self._terms, self._substeps = terms, substeps
        self.fitted: Fit | None = None
        self._texts: list[str] = []
        self._others: list[Alternative] = []

    def fit(self, problem: Problem) -> None:
        """Search for the equations of all states together."""
        self.fitted = None
        self.stopped_early = False
        left = problem.budget.remaining()
        soon, late = (problem.budget.after(part * left) for part in (_LAST_PART, _TIME_PART))
        if self._is_clean(problem, late):
            self._clean.fit(problem)
            self.stopped_early = self._clean.stopped_early
            self._texts = self._clean.equations()
            self._others = list(self._clean.alternatives())
            return
        recording = Recording(
            problem.t,
            problem.arrays.get("measured", problem.u),
            problem.u,
            problem.arrays.get("trajectory"),
        )
        found = Discovery(recording, self._terms, self._substeps, late, soon)
        self.fitted = found.search()
        self.stopped_early = late()
        self._texts = found.equations(self.fitted, problem.variables)
        self._others = list(found.alternatives(self.fitted, problem.variables))
        found.report(self.fitted, problem.variables)

    def _is_clean(self, problem: Problem, late: Any) -> bool:
        """Return whether there is no noise, or equations that refute it."""
        several = problem.arrays.get("trajectory")
        measured = problem.arrays.get("measured", problem.u)
        try:
            smooth, raw = (
                increments.Sampled.of(problem.t, measured, each, several)
                for each in (problem.u, measured)
            )
        except ValueError as error:
            raise Unsupported(str(error)) from error
        with np.errstate(all="ignore"):
            return not smooth.noise or bool(
                _CLEAN._is_followed(raw, smooth.noise, Settings(**_INTEGRAL), late)  # noqa: SLF001
            )

    def predict(self, problem: Problem) -> Array:
        """Evaluate the equations at each point."""
        if self.fitted is None:
            return np.asarray(self._clean.predict(problem))
        return self.fitted.model.rates(columns_of(problem))

    def alternatives(self) -> list[Alternative]:
        """Return equations of structures that fit nearly as well."""
        return self._others

    def equations(self) -> list[str]:
        """Return one right-hand side for each target."""
        return self._texts
