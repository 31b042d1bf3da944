"""SINDy-PI: implicit sparse regression, in which every term in turn is explained by the others.

Kaheman, Kutz and Brunton, Proc. R. Soc. A 476, 20200279 (2020).  An equation f(u, u_t) = 0 that is
linear in u_t is a sum of library terms and of library terms times u_t.  One term of the true
equation, explained by the others, is a regression with a sparse solution; one that is not in it has
none.  So each term is tried, which is a problem of its own, and the answer is a quotient of sums.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from singular import lstsq
from states import Library, StateTerm, StateTerms, list_terms

from mdbench.worker import Candidate, Unsupported, columns_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from mdbench.worker import Problem

    Array = NDArray[np.float64]

__all__ = ["Adapter"]

_ROUNDS = 20
_KEPT = 3
"""Quotients of one number of terms that are proposed: the bench reads each."""
_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class _Quotient:
    """A right-hand side of a target: a sum over another, each of the terms of a library."""

    target: int
    library: StateTerms
    terms: Sequence[StateTerm]
    numerator: Array
    denominator: Array
    error: float

    def support(self) -> tuple[frozenset[StateTerm], frozenset[StateTerm]]:
        above, below = (
            frozenset(self.terms[place] for place in np.flatnonzero(part).tolist())
            for part in (self.numerator, self.denominator)
        )
        return above, below

    def size(self) -> int:
        return sum(map(len, self.support()))

    def can_be_reduced(self) -> bool:
        """Return whether all terms are products that have one state in common."""
        parts = [
            set() if t.function else set(t.factors) for t in frozenset().union(*self.support())
        ]
        return bool(set.intersection(*parts))

    def equation(self) -> str:
        above, below = (self.library.write(part, 0) for part in (self.numerator, self.denominator))
        return above if below in ("1", "1.0") else f"({above})/({below})"

    def values(self, columns: Array) -> Array:
        features = self.library.features(columns)
        with np.errstate(all="ignore"):
            return np.asarray((features @ self.numerator) / (features @ self.denominator))


class Adapter:
    """Quotients of sums of terms, from each term as the one that is explained.

    Parameters
    ----------
    seed, threads
        Nothing is drawn, and NumPy's threads are the bench's.
    bases, orders
        The libraries: ``polynomial``, with ``+sin`` and ``+cos`` of single states; the degrees of
        products of states.
    thresholds
        Terms below them leave, where each column has the norm 1.
    most_terms
        Longer libraries are left out: there are twice as many columns, and as many problems.
    """

    def __init__(
        self,
        *,
        seed: int,
        threads: int,
        bases: Sequence[str],
        orders: Sequence[int],
        thresholds: Sequence[float],
        most_terms: int,
    ) -> None:
        del seed, threads
        self._libraries = [Library("cross", basis, order) for order in orders for basis in bases]
        self._thresholds = [float(each) for each in thresholds]
        self._most = most_terms
        self.stopped_early = False

    def fit(self, problem: Problem) -> None:
        """Find quotients for each target, library by library, until the budget is used up.

        Raises
        ------
        ValueError
            If the data are not finite.
        Unsupported
            If every library is too long.
        """
        self._columns = columns_of(problem)
        if not (np.isfinite(self._columns).all() and np.isfinite(problem.du).all()):
            raise ValueError("the data are not finite")
        self._found: list[_Quotient] = []
        count = len(problem.variables)
        listed = {library: list_terms([library], count) for library in self._libraries}
        fitting = {key: terms for key, terms in listed.items() if len(terms) <= self._most}
        if not fitting:
            shortest = min(map(len, listed.values()))
            raise Unsupported(f"the shortest library has {shortest} terms; {self._most} are tried")
        is_late = problem.budget.after(problem.budget.share(1))
        for quotient in self._searched(problem, fitting):
            self._found.append(quotient)
            done = {each.target for each in self._found}
            if len(done) == len(problem.targets) and is_late():
                self.stopped_early = True
                break
        missing = [
            name
            for target, name in enumerate(problem.targets)
            if all(each.target != target for each in self._found)
        ]
        if missing:
            raise RuntimeError(f"no quotient for {', '.join(missing)} is finite on the data")
        self._found = _shortest_and_best(self._found)
        self._chosen = [
            min((each for each in self._found if each.target == target), key=lambda q: q.error)
            for target in range(len(problem.targets))
        ]

    def candidates(self) -> Iterator[Candidate]:
        """Yield each quotient."""
        for each in self._found:
            yield Candidate((each.equation(),), each.values(self._columns), target=each.target)

    def choose(self, indices: Sequence[int]) -> None:
        """Use these candidates, one a target; before, those of least error are used."""
        self._chosen = [self._found[index] for index in indices]

    def equations(self) -> list[str]:
        """Return the chosen right-hand side of each target."""
        return [each.equation() for each in self._chosen]

    def predict(self, problem: Problem) -> Array:
        """Evaluate the chosen quotients, (n, targets)."""
        return np.stack([each.values(columns_of(problem)) for each in self._chosen], axis=1)

    def _searched(
        self, problem: Problem, libraries: Mapping[Library, Sequence[StateTerm]]
    ) -> Iterator[_Quotient]:
        """Yield what is finite on the data, library by library."""
        for kind, terms in libraries.items():
            library = StateTerms([kind], problem.variables)
            features = library.features(self._columns)
            for target, rate in enumerate(problem.du.T):
                for above, below in self._supported(features, rate):
                    quotient = _Quotient(target, library, terms, above, below, 0.0)
                    if quotient.can_be_reduced():
                        continue  # the same with shorter terms is in the library, too
                    with np.errstate(all="ignore"):
                        error = float(np.mean((quotient.values(self._columns) - rate) ** 2))
                    if np.isfinite(error):
                        yield replace(quotient, error=error)

    def _supported(self, features: Array, rate: Array) -> Iterator[tuple[Array, Array]]:
        """Yield numerators and denominators of each different support, of (n, p) and (n,)."""
        p = features.shape[1]
        columns = np.concatenate([features, features * rate[:, None]], axis=1)
        norms = np.linalg.norm(columns, axis=0)
        # The same sums of squares in fewer rows.
        factor = np.asarray(np.linalg.qr(columns / np.where(norms > 0, norms, 1.0), mode="r"))
        usable = np.isfinite(norms) & (norms > 0)
        seen: set[bytes] = set()
        for explained in np.flatnonzero(usable).tolist():
            for threshold in self._thresholds:
                found = _explain(factor, explained, usable, threshold)
                kept = (found != 0).tobytes()
                if kept in seen or not found[p:].any():
                    continue  # nothing is said of the rate
                seen.add(kept)
                weights = np.divide(found, norms, out=np.zeros_like(found), where=found != 0)
                first = weights[p:][np.flatnonzero(weights[p:])[0]]
                yield -weights[:p] / first, weights[p:] / first


def _shortest_and_best(found: Sequence[_Quotient]) -> list[_Quotient]:
    """Return the best quotients of each target and number of terms, from short to long."""
    best: dict[tuple[int, object], _Quotient] = {}
    for each in sorted(found, key=lambda quotient: quotient.error):
        best.setdefault((each.target, each.support()), each)
    of_size: dict[tuple[int, int], list[_Quotient]] = {}
    for each in best.values():
        of_size.setdefault((each.target, each.size()), []).append(each)
    return [each for place in sorted(of_size) for each in of_size[place][:_KEPT]]


def _explain(factor: Array, explained: int, usable: NDArray[np.bool_], threshold: float) -> Array:
    """Explain one column by a few others, by sequentially thresholded least squares.

    Returns
    -------
    ndarray
        The weights of a sum of columns (2 p,) that is zero, with -1 for the one explained.
    """
    left = usable.copy()
    left[explained] = False
    cut_off = _EPS * len(left)
    weights = np.zeros(len(left))
    for _ in range(_ROUNDS):
        solved = lstsq(factor[:, left], factor[:, explained], cut_off)
        weights[:] = 0.0
        weights[left] = solved
        small = left & (np.abs(weights) < threshold)
        if not small.any():
            break
        left &= ~small
        weights[small] = 0.0
    weights[explained] = -1.0
    return weights
