"""ITEA: evolution of sums of transformed products of powers, coefficients by least squares."""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
from itea.regression import ITEA_regressor
from written_fronts import WrittenFronts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["Adapter"]

_EXACT = 1e-14
"""Root mean square error over the target's that is rounding: nothing is left to be found."""
_TRANSFORMATIONS: dict[str, tuple[Callable[[Array], Array], str]] = {
    "id": (lambda z: z, "({})"),
    "sin": (np.sin, "sin({})"),
    "cos": (np.cos, "cos({})"),
    "tanh": (np.tanh, "tanh({})"),
    "exp": (np.exp, "exp({})"),
    "log": (np.log, "log({})"),
    "sqrtabs": (lambda z: np.sqrt(np.abs(z)), "sqrt(abs({}))"),
}
"""What can be applied to a product of powers, and how it is written."""


class _EndedError(Exception):
    """Nothing is left of the budget, or to be found."""


class _Evolution(ITEA_regressor):  # type: ignore[misc]
    """The package's evolution, which calls back after each generation."""

    after: Callable[[Sequence[Any]], None]

    def _create_population(self, **options: Any) -> Any:
        population = super()._create_population(**options)
        self.after(population)
        return population

    def _select_population(self, **options: Any) -> Any:
        population = super()._select_population(**options)
        self.after(population)
        return population

    def _explain_bestsol(self, *_: Any) -> None:
        """Leave out how important each variable is, which is no part of an answer."""


class Adapter(WrittenFronts):
    """One evolution a target; of each number of terms the best expression is a candidate.

    Parameters
    ----------
    seed
        Of the package's random numbers.
    threads
        The package has one.
    transformations
        Names of functions of a product of powers; ``id`` is always among them.
    population_size, generations
        As ``popsize`` and ``gens`` of ``ITEA_regressor``.
    smallest_exponent, largest_exponent
        Of a variable in a product.
    max_terms
        The most terms of an expression.
    max_rows
        Largest number of samples in the search; of more, a random part is drawn.
    """

    package = "ITEA"

    def __init__(
        self,
        *,
        seed: int,
        threads: int,
        transformations: Sequence[str],
        population_size: int,
        generations: int,
        smallest_exponent: int,
        largest_exponent: int,
        max_terms: int,
        max_rows: int,
    ) -> None:
        super().__init__(seed=seed, threads=threads, max_rows=max_rows)
        if unknown := [name for name in transformations if name not in _TRANSFORMATIONS]:
            raise ValueError(
                f"no function is called {unknown[0]!r}; there are {list(_TRANSFORMATIONS)}"
            )
        self._settings: dict[str, Any] = {
            "tfuncs": {name: _TRANSFORMATIONS[name][0] for name in ("id", *transformations)},
            "popsize": population_size,
            "gens": generations,
            "expolim": (smallest_exponent, largest_exponent),
            "max_terms": max_terms,
            "random_state": seed % 2**32,
        }
        self.evaluations = 0

    def search(self, X: Array, y: Array, target: int, limit: float | None) -> list[str]:
        """Evolve until the generations are over, the budget is spent or an expression is exact."""
        del target, limit
        mean = float(np.mean(y))
        self._errors = {repr(mean): float(np.std(y))}
        if np.ptp(y) == 0.0:
            return list(self._errors)
        best: dict[int, float] = {}
        exact = _EXACT * float(np.sqrt(np.mean(y**2)))
        another_fits = self.budget.rounds(self.end - self.budget.spent())

        def after(population: Sequence[Any]) -> None:
            self.evaluations += self._settings["popsize"]
            for member in population:
                if member._fitness < best.get(member.n_terms, np.inf):  # noqa: SLF001
                    best[member.n_terms] = member._fitness  # noqa: SLF001
                    self._errors[_text(member)] = float(member._fitness)  # noqa: SLF001
            if min(best.values(), default=np.inf) <= exact:
                raise _EndedError
            if not another_fits():
                self.stopped_early = True
                raise _EndedError

        labels = [f"x{i}" for i in range(X.shape[1])]
        evolution = _Evolution(**self._settings, labels=labels)
        evolution.after = after
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # overflow in expressions that are tried
            with suppress(_EndedError):
                evolution.fit(X, y)
        return list(self.found(0))


def _text(member: Any) -> str:
    """Write an expression with all digits."""
    terms = [repr(float(member.intercept_))]
    for (name, exponents), coefficient in zip(member.expr, member.coef_, strict=True):
        powers = [f"x{i}**({e})" for i, e in enumerate(exponents) if e]
        inside = "*".join(powers) or "1.0"
        terms.append(f"({float(coefficient)!r})*{_TRANSFORMATIONS[name][1].format(inside)}")
    return " + ".join(terms)
