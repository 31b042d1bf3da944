"""Common part of adapters of sparse regression: all but the search for models."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from grids import target_states
from library import FieldTerms, usable
from models import Models
from states import StateTerms

from mdbench.worker import (
    Budget,
    Candidate,
    Coordinates,
    FieldCoordinates,
    Problem,
    columns_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["FieldAdapter", "SparseAdapter", "StateAdapter", "fit_libraries"]

_MOST_BYTES = 1_000_000_000
"""Largest size of the predictions of all proposed systems, in bytes."""
_TIME_PART = 0.5
"""Part of the time limit for finding models."""
_GROWTH = 2.5
"""Time for a library grows with this power of its size."""


FoundSystem = tuple[list[int], list[int]]
"""The settings that found a system, and its model for each target."""


class Predictions:
    """What a model predicts, as an array that is made when it is asked for.

    Where mdbench compares equations it reads no predictions.
    """

    dtype = np.dtype(np.float64)

    def __init__(self, values: Callable[[], Callable[[Array], Array]], coefficients: Array) -> None:
        self._values, self._coefficients = values, coefficients

    def __array__(self, dtype: Any = None, *, copy: bool | None = None) -> Array:
        """Work them out."""
        del dtype, copy
        return self._values()(self._coefficients)


class LibraryTerms(Protocol):
    """The terms of several libraries, each once."""

    def columns(self, library: Any) -> NDArray[np.bool_]:
        """Return which terms a library has, (p,)."""

    def write(self, coefficients: Array, target: int) -> str:
        """Write a model (p,) of a target in Python syntax."""

    def at(self, problem: Problem) -> Callable[[Array], Array]:
        """Return a function that evaluates models (k, p), to arrays like a problem's targets."""


class SparseAdapter(ABC):
    """An adapter that fits a grid of settings at once; one setting is a grid of one.

    Parameters
    ----------
    seed
        Seed of what the method draws.
    threads
        Not used: the bench limits the threads of NumPy.
    hyperparameters
        Arguments of `setting`.

    Notes
    -----
    Settings that give the same models may part when they are fitted again, to more data.  Of
    those with the smallest library, and with it the least to go wrong, the one in the middle
    represents all: it is the farthest from thresholds that would have changed the models.
    """

    stopped_early: bool = False
    """Whether the last sweep ran out of time before all of its settings were fitted."""

    def __init__(self, *, seed: int, threads: int, **hyperparameters: Any) -> None:
        del threads
        self._seed = seed
        self._setting = self.setting(**hyperparameters)

    @classmethod
    @abstractmethod
    def setting(cls, **hyperparameters: Any) -> Any:
        """Read a setting; it has a `library`, and what else the method needs."""

    @classmethod
    @abstractmethod
    def terms(cls, settings: Sequence[Any], problem: Problem) -> Any:
        """List the terms of all settings."""

    @classmethod
    @abstractmethod
    def find(cls, problem: Problem, terms: Any, settings: Sequence[Any], *, seed: int) -> Models:
        """Find the models of all settings."""

    @classmethod
    def fitting(cls, settings: Sequence[Any], problem: Problem) -> list[bool]:
        """Return which settings can be fitted."""
        del problem
        return [True] * len(settings)

    @classmethod
    def representative(cls, equal: Sequence[int], sizes: Sequence[int]) -> int:
        """Choose among settings with equal models; `sizes` are those of all settings' libraries."""
        smallest = min(sizes[place] for place in equal)
        alike = [place for place in equal if sizes[place] == smallest]
        return alike[len(alike) // 2]

    @classmethod
    def propose(
        cls, systems: list[FoundSystem], models: Models, validation: Problem
    ) -> list[FoundSystem]:
        """Choose the systems to propose, and their order."""
        del models, validation
        return systems

    def fit(self, problem: Problem) -> None:
        """Find the sparse model of each target."""
        self.fitting([self._setting], problem)
        self._terms = self.listed(problem)
        models = self.find(problem, self._terms, [self._setting], seed=self._seed)
        self._coefficients = models.coefficients[models.of_setting[0]]
        for key, value in models.remarks[0].items():
            print(f"{key}: {value}")  # noqa: T201 - for the log

    def listed(self, problem: Problem) -> Any:
        """List the terms of the own setting."""
        return self.terms([self._setting], problem)

    def predict(self, problem: Problem) -> Array:
        """Evaluate the model at each point; return an array like the targets."""
        return np.asarray(self._terms.at(problem)(self._coefficients))

    def equations(self) -> list[str]:
        """Return one right-hand side for each target."""
        return [self._terms.write(row, target) for target, row in enumerate(self._coefficients)]

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
        """Fit every setting of `grid` on `train`; yield each set of equal models once."""
        settings = {"seed": seed, "threads": threads, **hyperparameters}
        yield from cls.swept(cls.terms, train, validation, grid, **settings)

    @classmethod
    def swept(
        cls,
        list_terms: Callable[[Sequence[Any], Problem], Any],
        train: Problem,
        validation: Problem,
        grid: Sequence[dict[str, Any]],
        *,
        seed: int,
        threads: int,
        **hyperparameters: Any,
    ) -> Iterator[Candidate]:
        """Fit every setting with terms as they are listed."""
        del threads
        settings = [cls.setting(**{**hyperparameters, **setting}) for setting in grid]
        places = np.flatnonzero(cls.fitting(settings, train)).tolist()
        chosen = [settings[place] for place in places]
        terms = list_terms(chosen, train)
        models = cls.find(train, terms, chosen, seed=seed)
        cls.stopped_early = models.fitted is not None
        if models.fitted is not None:
            places = [places[place] for place in models.fitted]
            chosen = [chosen[place] for place in models.fitted]
        sizes = [int(terms.columns(setting.library).sum()) for setting in chosen]
        values = cache(partial(terms.at, validation))
        for equal, indices in cls.propose(list(models.distinct()), models, validation):
            representative = cls.representative(equal, sizes)
            predictions: Any = Predictions(values, models.coefficients[indices])
            yield Candidate(
                equations=tuple(models.written(terms, index) for index in indices),
                predictions=predictions,
                hyperparameters={**grid[places[representative]], **models.remarks[representative]},
            )


class StateAdapter(SparseAdapter):
    """For trajectories, with inputs or without.

    A problem in units of a user's is fitted in coordinates of size 1; where values are far from
    zero, in centred ones, too, and the setting has their name as ``coordinates``.
    """

    def __init__(
        self, *, seed: int, threads: int, coordinates: str = "", **hyperparameters: Any
    ) -> None:
        super().__init__(seed=seed, threads=threads, **hyperparameters)
        self._coordinates = coordinates

    @classmethod
    def terms(
        cls, settings: Sequence[Any], problem: Problem, coordinates: Coordinates | None = None
    ) -> StateTerms:
        """List the terms of all settings."""
        libraries = [setting.library for setting in settings]
        return StateTerms(libraries, problem.variables, coordinates)

    def listed(self, problem: Problem) -> StateTerms:
        """List the terms of the own setting."""
        made = None
        if problem.scaled:
            name = self._coordinates or "scaled"
            made = Coordinates.of(name, columns_of(problem), problem.du)
        return self.terms([self._setting], problem, made)

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
        """Fit every setting in all coordinates that may be needed."""
        settings: dict[str, Any] = {"seed": seed, "threads": threads, **hyperparameters}
        if not train.scaled:
            yield from super().sweep(train, validation, grid, **settings)
            return
        stopped = False
        for made in Coordinates.choices(columns_of(train), train.du):
            terms = partial(cls.terms, coordinates=made)
            for each in cls.swept(terms, train, validation, grid, **settings):
                named = {**each.hyperparameters, "coordinates": made.name}
                yield replace(each, hyperparameters=named)
            stopped |= cls.stopped_early
        cls.stopped_early = stopped


class FieldAdapter(SparseAdapter):
    """For fields.

    Libraries of too many terms are left out, as the log shows.  Systems are proposed from short
    to long, since the bench takes seconds to read one of hundreds of terms; longer ones it could
    not read are left out.
    """

    most_terms: ClassVar[int] = 1000
    """In larger libraries one setting takes minutes."""
    longest: ClassVar[int] = 300
    """Largest number of terms in one equation of those that are proposed."""
    most_systems: ClassVar[int] = 1000
    """Largest number of systems: the bench reads as many in a minute or two."""

    _coordinates: FieldCoordinates | None = None

    @classmethod
    def terms(
        cls, settings: Sequence[Any], problem: Problem, coordinates: FieldCoordinates | None = None
    ) -> FieldTerms:
        """List the terms of all settings."""
        return FieldTerms([setting.library for setting in settings], problem, coordinates)

    def listed(self, problem: Problem) -> FieldTerms:
        """List the terms of the own setting."""
        return self.terms([self._setting], problem, self._coordinates)

    def fit(self, problem: Problem) -> None:
        """Find the sparse model of each target, in coordinates of size 1 where it takes these."""
        self._coordinates = made = FieldCoordinates.of(problem, target_states(problem))
        super().fit(problem if made is None else made.problem(problem))

    def predict(self, problem: Problem) -> Array:
        """Evaluate the model at each point; return an array like the targets."""
        made = self._coordinates
        return super().predict(problem if made is None else made.problem(problem))

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
        """Fit every setting, in coordinates of size 1 where the field takes these.

        Functions, such as a sine, are then left out: of another unit they are others.
        """
        settings: dict[str, Any] = {"seed": seed, "threads": threads, **hyperparameters}
        made = FieldCoordinates.of(train, target_states(train))
        if made is None:
            yield from super().sweep(train, validation, grid, **settings)
            return
        kept = [each for each in grid if "+" not in each.get("basis", "")] or grid
        shown = made.problem(train), made.problem(validation)
        yield from cls.swept(partial(cls.terms, coordinates=made), *shown, kept, **settings)

    @classmethod
    def fitting(cls, settings: Sequence[Any], problem: Problem) -> list[bool]:
        """Return which settings have few enough terms."""
        return usable([setting.library for setting in settings], problem, cls.most_terms)

    @classmethod
    def propose(
        cls, systems: list[FoundSystem], models: Models, validation: Problem
    ) -> list[FoundSystem]:
        """Sort systems by their number of terms, and leave some out where they are too many.

        Of systems with the same terms, which differ a little in coefficients, that one is then
        kept that most settings found; if there still are too many, the shortest ones.
        """
        kept = models.coefficients != 0
        counts = kept.sum(axis=1)
        ordered = sorted(systems, key=lambda system: int(counts[system[1]].sum()))
        chosen = [each for each in ordered if counts[each[1]].max() <= cls.longest] or ordered[:1]
        if len(chosen) < len(ordered):
            removed = len(ordered) - len(chosen)
            _report(removed, f"have more than {cls.longest} terms in an equation")
        most = max(1, min(cls.most_systems, _MOST_BYTES // validation.u.nbytes))
        if len(chosen) <= most:
            return chosen
        best: dict[bytes, FoundSystem] = {}
        for system in chosen:
            key = np.packbits(kept[system[1]]).tobytes()
            if key not in best or len(system[0]) > len(best[key][0]):
                best[key] = system
        short = list(best.values())[:most]
        _report(len(chosen) - len(short), f"are more than {most} and like others, or longer")
        return short


def fit_libraries(
    settings: Sequence[Any],
    terms: FieldTerms,
    problem: Problem,
    fit: Callable[[Sequence[Any]], Array],
    *,
    start: float,
) -> Models:
    """Fit the settings of one library after the other, from small to large, while there is time.

    The log names the libraries that are left out.  The rest of the time is for the candidates, and
    for the winner to be fitted again.

    Parameters
    ----------
    settings, terms, problem
        Arguments of `FieldAdapter.find`.
    fit
        Fits settings of one library; returns the coefficients (settings, k, p).
    start
        What of the problem's budget had been spent when the work on it began.
    """
    found = np.zeros((len(settings), len(problem.targets), len(terms)))
    fitted: list[int] = []
    for places in _in_time(settings, terms, problem.budget, start):
        found[places] = fit([settings[place] for place in places])
        fitted += places
    if len(fitted) == len(settings):
        return Models(found)
    fitted.sort()
    return Models(found[fitted], fitted=fitted)


def _in_time(
    settings: Sequence[Any], terms: FieldTerms, budget: Budget, start: float
) -> Iterator[list[int]]:
    alike: dict[Any, list[int]] = {}
    for place, setting in enumerate(settings):
        alike.setdefault(setting.library, []).append(place)
    sizes = {library: int(terms.columns(library).sum()) for library in alike}
    libraries = sorted(sizes, key=sizes.__getitem__)
    before = budget.spent()
    for number, library in enumerate(libraries):
        now = budget.spent()
        if number:
            grown = (sizes[library] / sizes[libraries[number - 1]]) ** _GROWTH
            if now - start + grown * (now - before) > _TIME_PART * budget.limit:
                for each in libraries[number:]:
                    print(f"left out for lack of time: {each}")  # noqa: T201 - for the log
                return
        before = now
        yield alike[library]


def _report(count: int, reason: str) -> None:
    print(f"left out: {count} systems, which {reason}")  # noqa: T201 - for the log
