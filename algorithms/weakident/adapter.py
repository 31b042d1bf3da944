"""WeakIdent for fields: derivatives of monomials, integrated against test functions."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from features import Feature, FieldWindows
from forms import values_of
from grids import derivatives_of, target_states
from identification import Found, WeakSystem, dynamic_rows
from states import Library, list_terms

from mdbench.worker import Candidate, FieldCoordinates, Problem, Unsupported, sum_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray
    from summands import Product

    Array = NDArray[np.float64]

__all__ = ["Adapter"]

_BINS = 200
_TERMS, _MORE_TERMS = 10, 25
"""Largest numbers of terms of an equation, and of one of several states in several dimensions."""


@dataclass(frozen=True)
class _Answer:
    """A right-hand side of a target, multiplied out."""

    target: int
    found: Found = field(repr=False)
    terms: tuple[Product, ...] = field(repr=False)
    coefficients: tuple[float, ...] = field(repr=False)


class Adapter:
    """Right-hand sides of few features, one for each number of terms and degree.

    Parameters
    ----------
    seed, threads
        Nothing is drawn, and NumPy's threads are the bench's.
    order
        The highest degree of a product of states.
    most_features
        Of longer libraries the degree is lowered.
    """

    def __init__(self, *, seed: int, threads: int, order: int, most_features: int) -> None:
        del seed, threads
        self._order, self._most = int(order), int(most_features)
        self._answers: list[_Answer] = []
        self._chosen: list[_Answer] = []
        self._coordinates: FieldCoordinates | None = None
        self._scored: Problem | None = None
        self._names: tuple[str, ...] = ()
        self.stopped_early = False

    def fit(self, problem: Problem) -> None:
        """Integrate the features of the measured states, and search for each target.

        Raises
        ------
        Unsupported
            If only some rows may be used, an axis is too short for a window, or the field is not
            finite.
        """
        states = target_states(problem)
        self._coordinates = made = FieldCoordinates.of(problem, states)
        problem = problem if made is None else made.problem(problem)
        self._names = problem.variables
        self._scored = None if "periods" in problem.arrays else problem
        measured = problem.arrays.get("measured", problem.u)
        if not np.isfinite(measured).all():
            raise Unsupported("measured has values that are not finite")
        windows = FieldWindows(problem, measured)
        library = self._library(problem, measured.shape[-1])
        is_late = problem.budget.after(problem.budget.share(1))
        with np.errstate(all="ignore"):  # what overflows is left out
            features = np.stack([windows.feature(each) for each in library], axis=1)
            scales = np.stack([windows.scale(each) for each in library], axis=1)
            narrow = dynamic_rows(_activity(library, scales), _BINS)
        scales = np.abs(scales[narrow]).mean(axis=0)
        dims = measured.ndim - 2
        most = _MORE_TERMS if measured.shape[-1] > 1 and dims > 1 else _TERMS
        degrees = np.array([len(each.states) for each in library])
        libraries = [degrees <= order for order in range(1, self._order + 1)]
        expanded = [each.expanded() for each in library]
        self._answers = []
        for target, state in enumerate(states):
            rates = windows.rates(state)
            system = WeakSystem(features, rates, scales, narrow)
            found, is_cut = system.distinct(libraries, most, is_late)
            self.stopped_early |= is_cut
            self._answers += [_multiplied(target, each, expanded) for each in found]
        self.choose([self._best(target) for target in range(len(states))])

    def candidates(self) -> Iterator[Candidate]:
        """Yield all right-hand sides, with their errors in cross-validation.

        Under `published`, where plain differences are known by missing ``periods``, the bench
        compares what they predict; else their equations.
        """
        for one in self._answers:
            values = None
            if self._scored is not None:
                values = values_of(self._scored, one.terms, one.coefficients)
            remarks = {"cross_validation": one.found.error}
            yield Candidate((self._written(one),), values, remarks, one.target)

    def choose(self, indices: Sequence[int]) -> None:
        """Use these candidates, one a target; before, those of least error in cross-validation."""
        self._chosen = [self._answers[index] for index in indices]

    def equations(self) -> list[str]:
        """Return the chosen right-hand side of each target."""
        return [self._written(one) for one in self._chosen]

    def predict(self, problem: Problem) -> Array:
        """Evaluate the chosen right-hand sides at each point."""
        made = self._coordinates
        shown = problem if made is None else made.problem(problem)
        values = [values_of(shown, one.terms, one.coefficients) for one in self._chosen]
        return np.stack(values, axis=-1) * (1.0 if made is None else made.states.rate)

    def _best(self, target: int) -> int:
        places = [k for k, one in enumerate(self._answers) if one.target == target]
        return min(places, key=lambda k: (self._answers[k].found.rank, k))

    def _written(self, one: _Answer) -> str:
        """Write an answer in the problem's values."""
        made = self._coordinates
        if made is None:
            texts = [term.text for term in one.terms]
            return sum_of(list(zip(one.coefficients, texts, strict=True)))
        parts: dict[tuple[str, float], dict[tuple[int, ...], float]] = {}
        for term, weight in zip(one.terms, one.coefficients, strict=True):
            larger = math.prod(made.slope(d.state, d.axis, d.order) for d in term.derivatives)
            key = "*".join(each.name for each in term.derivatives), larger
            parts.setdefault(key, {})[term.states] = weight
        return made.write(parts, self._names, one.target)

    def _library(self, problem: Problem, states: int) -> list[Feature]:
        """List the features, of the highest degree that is not too many."""
        orders = {(each.axis, each.order) for each in derivatives_of(problem.variables)}
        for order in range(self._order, 0, -1):
            terms = list_terms([Library("cross", "polynomial", order)], states)
            found = [Feature(())]
            for term in terms[1:]:
                found.append(Feature(term.factors))
                found += [Feature(term.factors, *each) for each in sorted(orders)]
            if len(found) <= self._most:
                break
        self._order = order
        return found


def _activity(library: Sequence[Feature], scales: Array) -> Array:
    """Return how much the data change in each window, by the squares' first derivatives.

    So it is in the paper for one dimension; for two it takes some cubes as well.
    """
    felt = {(state, state) for each in library for state in each.states}
    squares = [k for k, each in enumerate(library) if each.order == 1 and each.states in felt]
    return np.asarray(np.abs(scales[:, squares]).sum(axis=1))


def _multiplied(target: int, found: Found, expanded: Sequence[dict[Product, int]]) -> _Answer:
    """Write a right-hand side as a sum of products, each once."""
    parts: dict[Product, float] = {}
    for place in np.flatnonzero(found.coefficients).tolist():
        for product, count in expanded[place].items():
            parts[product] = parts.get(product, 0.0) + count * float(found.coefficients[place])
    kept = {product: value for product, value in parts.items() if value}
    return _Answer(target, found, tuple(kept), tuple(kept.values()))
