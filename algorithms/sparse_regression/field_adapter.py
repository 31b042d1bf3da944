"""What the adapters of methods for fields have in common: all but how models are found."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from library import FieldTerms, usable
from models import write_sum

from mdbench.worker import Candidate, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from library import FieldLibrary
    from models import Models
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["FieldAdapter", "Setting"]


class Setting(Protocol):
    """One point of a grid."""

    @property
    def library(self) -> FieldLibrary:
        """The terms that it may use."""


class FieldAdapter(ABC):
    """An adapter that fits a grid of settings at once; one setting is a grid of one.

    Parameters
    ----------
    seed
        Of what the method draws.
    threads
        Not used: the bench limits the threads of NumPy.
    hyperparameters
        What `setting` takes.
    """

    most_terms: ClassVar[int] = 1000
    """Larger libraries are left out: one setting of theirs takes minutes."""

    def __init__(self, *, seed: int, threads: int, **hyperparameters: Any) -> None:
        del threads
        self._seed = seed
        self._setting = self.setting(**hyperparameters)

    @classmethod
    @abstractmethod
    def setting(cls, **hyperparameters: Any) -> Setting:
        """Read a setting."""

    @classmethod
    @abstractmethod
    def find(
        cls, problem: Problem, terms: FieldTerms, settings: Sequence[Any], *, seed: int
    ) -> Models:
        """Find the models of all settings."""

    def fit(self, problem: Problem) -> None:
        """Find the sparse model of each target."""
        usable([self._setting.library], problem, self.most_terms)
        self._terms = FieldTerms([self._setting.library], problem)
        models = self.find(problem, self._terms, [self._setting], seed=self._seed)
        self._coefficients = models.coefficients[models.of_setting[0]]

    def predict(self, problem: Problem) -> Array:
        """Evaluate the model at each point of a field; gives an array like its states."""
        return self._terms.predict(self._coefficients, problem)

    def equations(self) -> list[str]:
        """Give one right-hand side for each target."""
        texts = self._terms.texts()
        return [write_sum(row, texts) for row in self._coefficients]

    @classmethod
    def sweep(
        cls,
        train: Problem,
        validation: Problem,
        grid: Sequence[dict[str, Any]],
        *,
        seed: int,
        threads: int,
        **hyperparameters: Any,
    ) -> Iterator[Candidate]:
        """Fit every setting of `grid` on `train`; yield each set of equal models once.

        Settings that give the same models may part when they are fitted again, to more data.  Of
        those with the smallest library, and with it the least to go wrong, the one in the middle
        stands for all: it is the farthest from thresholds that would have changed the models.
        Libraries of too many terms are left out, which the log says.
        """
        del threads
        settings = [cls.setting(**{**hyperparameters, **setting}) for setting in grid]
        small = usable([setting.library for setting in settings], train, cls.most_terms)
        places = np.flatnonzero(small).tolist()
        chosen = [settings[place] for place in places]
        terms = FieldTerms([setting.library for setting in chosen], train)
        models = cls.find(train, terms, chosen, seed=seed)
        sizes = [int(terms.columns(setting.library).sum()) for setting in chosen]
        texts = terms.texts()
        for equal, indices in models.distinct():
            smallest = min(sizes[place] for place in equal)
            alike = [place for place in equal if sizes[place] == smallest]
            coefficients = models.coefficients[indices]
            yield Candidate(
                equations=tuple(write_sum(row, texts) for row in coefficients),
                predictions=terms.predict(coefficients, validation),
                hyperparameters=grid[places[alike[len(alike) // 2]]],
            )
