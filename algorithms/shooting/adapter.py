"""Equations by maximum likelihood of the measured samples, term by term; see docs/shooting.md."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import samples as increments
from discovery import Discovery, Recording
from library import of_sums, written
from search import FEW_STATES, Settings, find

from mdbench.worker import Candidate, Unsupported, columns_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from likelihood import Fit
    from numpy.typing import NDArray

    from mdbench.worker import Alternative, Problem

    Array = NDArray[np.float64]

_INTEGRAL: dict[str, Any] = {"weight": 0.25, "terms": 400, "noisy_terms": 60, "inner": True}
_SETTINGS = Settings(**_INTEGRAL)
_FOLLOWED_PART, _WEAK_PART = 0.15, 0.3
"""Of many states, parts of the time limit in which equations refute noise, and are looked for in
weak form."""
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
        self.fitted, self._texts = None, []
        self.stopped_early = False
        left = problem.budget.remaining()
        many = problem.u.shape[1] > FEW_STATES
        shares = _LAST_PART, _LAST_PART if many else _TIME_PART
        soon, late = (problem.budget.after(share * left) for share in shares)
        followed = problem.budget.after(_FOLLOWED_PART * left) if many else late
        if self._is_clean(problem, followed):
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
        if many:
            weak = problem.budget.after(_WEAK_PART * left)
            smooth = increments.Sampled.of(
                problem.t, recording.y, recording.u, recording.trajectory
            )
            with np.errstate(all="ignore"):
                pools = find(increments.Integrals(smooth), _SETTINGS, weak, inner=False)
            begin, library = of_sums(pools, _SETTINGS.weight)
            found = Discovery(recording, self._terms, self._substeps, late, soon, library=library)
            self._texts = written(pools, _SETTINGS.weight, problem.variables)
            self.fitted = found.search(begin)
        else:
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
                _CLEAN._is_followed(raw, smooth.noise, _SETTINGS, late)  # noqa: SLF001
            )

    def candidates(self) -> Iterator[Candidate]:
        """Yield the equation of each state: of many states the best so far, if time ran out."""
        for target, text in enumerate(self._texts):
            yield Candidate((text,), target=target)

    def choose(self, indices: Sequence[int]) -> None:
        """Use these candidates: there are no others."""

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
