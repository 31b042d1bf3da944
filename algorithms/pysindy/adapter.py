"""PySINDy as its users have it: its libraries and optimizers, each over a grid, as one front."""

from __future__ import annotations

import sys
import warnings
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from typing import TYPE_CHECKING, Any

import numpy as np
from models import OPTIMIZERS, OptimizerSettings, PackageModel, explicit, implicit
from terms import PackageTerms, libraries

from mdbench.worker import Candidate, Coordinates, Problem, Unsupported, columns_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_SHARE_OF_TIME = 0.9
"""Part of the time limit for the search; the rest is for choosing and predicting."""


class Adapter:
    """Fits each target with every optimizer, library and setting, and proposes all that differ.

    Parameters
    ----------
    seed, threads
        Not used: nothing is drawn, and nothing runs in parallel.
    optimizers
        Which of PySINDy's: ``stlsq``, ``sr3``, ``ssr``, ``frols``, ``sindy_pi``.
    library
        ``cross``: all monomials up to a total degree; ``powers``: powers of single states.
    bases, orders
        The libraries: ``polynomial``, with ``+sin`` and ``+cos`` of single states; the degrees.
    thresholds, alphas
        Settings of STLSQ, whose columns are not scaled; the thresholds of SR3, too.
    nu
        How far SR3 lets its two coefficient vectors be apart.
    penalties
        Penalties of SINDy-PI.
    most_terms, most_terms_greedy, most_terms_implicit
        The longest library that is tried: at all, by SSR and FROLS, and by SINDy-PI.
    """

    def __init__(
        self,
        *,
        seed: int,
        threads: int,
        optimizers: Sequence[str] = tuple(OPTIMIZERS),
        library: str = "cross",
        bases: Sequence[str] = ("polynomial",),
        orders: Sequence[int] = (1, 2, 3),
        thresholds: Sequence[float] = (1e-3, 1e-2, 1e-1),
        alphas: Sequence[float] = (1e-5,),
        nu: float = 1.0,
        penalties: Sequence[float] = (1e-4,),
        most_terms: int = 1000,
        most_terms_greedy: int = 150,
        most_terms_implicit: int = 20,
    ) -> None:
        del seed, threads
        if unknown := set(optimizers) - OPTIMIZERS.keys():
            raise ValueError(
                f"optimizers has {', '.join(sorted(unknown))}; there are {', '.join(OPTIMIZERS)}"
            )
        self._optimizers = tuple(optimizers)
        self._libraries = libraries(library, bases, orders)
        self._settings = OptimizerSettings(tuple(thresholds), tuple(alphas), nu, tuple(penalties))
        self._most = {
            name: {
                "greedy": most_terms_greedy,
                "implicit": most_terms_implicit,
            }.get(OPTIMIZERS[name], most_terms)
            for name in self._optimizers
        }
        self.stopped_early = False
        self.evaluations = 0

    def fit(self, problem: Problem) -> None:
        """Make the libraries; `candidates` searches, and yields models as they are found.

        Raises
        ------
        ValueError
            If the data are not finite.
        Unsupported
            If every library is too long for every optimizer.
        """
        if not (np.isfinite(problem.u).all() and np.isfinite(problem.du).all()):
            raise ValueError("the data are not finite")
        self._is_late = problem.budget.after(_SHARE_OF_TIME * problem.budget.remaining())
        most = max(self._most.values(), default=0)
        columns = columns_of(problem)
        d = columns.shape[1]
        fitting = [each for each in self._libraries if each.terms(d) <= most]
        if not fitting:
            least = min(each.terms(d) for each in self._libraries)
            raise Unsupported(f"{least} terms for {d} states; at most {most} are tried")
        ways: list[Coordinates | None] = [None]
        if problem.scaled:
            ways = [*Coordinates.choices(columns, problem.du)]
        made = [
            PackageTerms.of(each, columns, problem.variables, way)
            for way in ways
            for each in fitting
        ]
        self._terms = [terms for terms in made if np.isfinite(terms.values).all()]
        if not self._terms:
            raise ValueError("the terms of every library overflow")
        self._du = problem.du
        self._found: list[PackageModel] = []
        self._chosen: list[PackageModel] = []
        self._failures: list[str] = []

    def candidates(self) -> Iterator[Candidate]:
        """Yield each model of each target once.

        Raises
        ------
        RuntimeError
            If there is none.
        """
        seen: set[tuple[int, str]] = set()
        with _quietly():
            for model in self._search():
                key = (model.target, model.equation)
                if key not in seen and np.isfinite(model.fitted).all():
                    seen.add(key)
                    self._found.append(model)
                    yield Candidate((model.equation,), model.fitted, target=model.target)
        if not self._found:
            raise RuntimeError(f"no fit gave a model; the first failure: {self._failures[:1]}")

    def choose(self, indices: Sequence[int]) -> None:
        """Use these candidates, one for each target."""
        self._chosen = [self._found[index] for index in indices]

    def equations(self) -> list[str]:
        """Return the chosen right-hand side of each target."""
        return [model.equation for model in self._models()]

    def predict(self, problem: Problem) -> Array:
        """Evaluate the chosen models with PySINDy's own libraries, (n, targets)."""
        columns = columns_of(problem)
        return np.stack([model.predict(columns) for model in self._models()], axis=1)

    def _search(self) -> Iterator[PackageModel]:
        for name in self._optimizers:
            for terms in self._terms:
                if len(terms.texts) > self._most[name]:
                    continue
                for found in self._fits(name, terms):
                    self.evaluations += len(found)
                    yield from found
                    if self._is_late():
                        self.stopped_early = True
                        return

    def _fits(self, name: str, terms: PackageTerms) -> Iterator[list[PackageModel]]:
        """Yield the models of each fit; data that one optimizer refuses may suit another."""
        du = self._du / [terms.rate(target) for target in range(self._du.shape[1])]
        try:
            if OPTIMIZERS[name] == "implicit":
                yield from implicit(terms, du, self._settings)
            else:
                yield from explicit(name, terms, du, self._settings)
        except (ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
            failure = f"{name} with {len(terms.texts)} terms: {type(error).__name__}: {error}"
            self._failures.append(failure)
            sys.stderr.write(failure + "\n")

    def _error(self, model: PackageModel) -> float:
        return float(np.linalg.norm(model.fitted - self._du[:, model.target]))

    def _models(self) -> list[PackageModel]:
        """Return the chosen models; before the choice, the most accurate ones."""
        if not self._chosen:
            if not self._found:
                list(self.candidates())
            self._chosen = [
                min(
                    (model for model in self._found if model.target == target),
                    key=self._error,
                )
                for target in range(self._du.shape[1])
            ]
        return self._chosen


@contextmanager
def _quietly() -> Iterator[Any]:
    """Keep a warning and a line for each of a thousand fits out of the log."""
    with warnings.catch_warnings(), redirect_stdout(StringIO()), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield
