"""Gene-pool optimal mixing, and populations of growing size that take turns.

Virgolin, Alderliesten, Witteveen and Bosman, Evolutionary Computation 29, 211-237, 2021,
doi:10.1162/evco_a_00278; constants by Virgolin and Bosman, GECCO Companion 2022, 2289-2297,
doi:10.1145/3520304.3534036.  Every tree takes over the symbols of a set of nodes from a tree that
is drawn, set by set of the linkage tree, and keeps what is no worse.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from genotypes import Genotypes
from linkage import linkage_sets, mutual_information
from pareto import Archive

if TYPE_CHECKING:
    from collections.abc import Callable

    from evaluation import Samples
    from genotypes import Template
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["Mixing", "Population"]

_BINS = 25
"""Constants of one node count as so many symbols, by their size."""
_CLOSE = 1e-7
"""Below this error the difference of two sums has no digits left, and residuals are formed."""


class Mixing:
    """The search for one target.

    Parameters
    ----------
    data
        All samples.
    template
        The trees.
    first_population, growth
        The size of the first population, and the generations of one before the next one, of twice
        as many trees, has one.
    largest_population
        No population is larger.
    generations
        Of the first population at most.
    stop_threshold
        The search ends at this error.
    rng, is_late
        What is drawn from, and whether the search is to end.
    """

    def __init__(
        self,
        data: Samples,
        template: Template,
        *,
        first_population: int,
        growth: int,
        largest_population: int,
        generations: int,
        stop_threshold: float,
        rng: np.random.Generator,
        is_late: Callable[[], bool],
    ) -> None:
        self.archive = Archive()
        self.template = template
        self.rng = rng
        self.stopped_early = False
        self._data = data
        self._columns = np.ascontiguousarray(data.X.T)
        self._centred = data.y - data.y.mean()
        self._sum = float(self._centred @ self._centred)
        self._sizes = first_population, growth, largest_population
        self._generations, self._enough = generations, stop_threshold
        self._is_late = is_late
        self._best = np.full(template.nodes + 1, np.inf)
        self.evaluations = 0
        largest = float(np.abs(data.X).max(initial=1.0))
        self.constants = np.array([-largest, largest])

    def run(self) -> None:
        """Let populations take turns until the error, the time or the plan ends the search."""
        size, growth, largest = self._sizes
        populations: list[Population | None] = [Population(self, size)]
        for turn in range(1, self._generations + 1):
            for number, each in enumerate(populations):
                if each is not None and turn % growth**number == 0 and not self.over():
                    each.step()
            if self.over():
                return
            # A larger population that is better makes the smaller ones superfluous; one of equal
            # trees has come to its end.
            best = np.inf
            for number, each in reversed(list(enumerate(populations))):
                if each is not None and (best < each.middle or each.converged()):
                    populations[number] = None
                elif each is not None:
                    best = min(best, each.middle)
            new = size * 2 ** len(populations)
            if all(each is None for each in populations):
                size = min(new, largest)
                populations = [Population(self, size)]
            elif turn % growth ** len(populations) == 0 and new <= largest:
                populations.append(Population(self, new))

    def over(self) -> bool:
        """Whether the search is to end."""
        late = self._is_late()
        self.stopped_early |= late
        return late or self.archive.error <= self._enough

    def errors(self, trees: Genotypes) -> Array:
        """Return the mean squared error of each, with its best line, over the variance, (m,)."""
        if not len(trees):
            return np.empty(0)
        self.evaluations += len(trees)
        values = self.template.evaluate(trees, self._columns)
        centred = values - values.mean(axis=1, keepdims=True)
        squares = np.einsum("ij,ij->i", centred, centred)
        products = centred @ self._centred
        usable = (squares > 0) & np.isfinite(squares) & np.isfinite(products)
        divided = np.divide(products**2, squares, out=np.zeros(len(values)), where=usable)
        share = divided / (self._sum or 1.0)
        found = np.where(np.isfinite(squares), np.maximum(1.0 - share, 0.0), np.inf)
        close = np.flatnonzero(usable & (found < _CLOSE))
        for k in close.tolist():
            rest = self._centred - products[k] / squares[k] * centred[k]
            found[k] = float(rest @ rest) / (self._sum or 1.0)
        self._record(trees, found)
        return found

    def _record(self, trees: Genotypes, errors: Array) -> None:
        """Keep the best tree of each size."""
        sizes = self.template.active(trees).sum(axis=1)
        for k in np.flatnonzero(errors < self._best[sizes]).tolist():
            if errors[k] < self._best[sizes[k]]:
                self._best[sizes[k]] = errors[k]
                tree = self.template.tree(trees[np.array([k])])
                self.archive.add(tree, self._data.fit(tree))


class Population:
    """Trees that exchange parts."""

    def __init__(self, search: Mixing, size: int) -> None:
        self._search = search
        self._trees = search.template.draw(size, search.constants, search.rng)
        self._errors = search.errors(self._trees)
        first = mutual_information(*self._symbols())
        # The first trees are drawn, node by node: what seems to be alike there is the shape of the
        # template.  A factor for each pair makes it none (the paper's correction).
        entropy = np.sqrt(np.outer(np.diag(first), np.diag(first)))
        self._alike = np.divide(1.0, first, out=np.ones_like(first), where=entropy * first > 0)

    def __len__(self) -> int:
        return len(self._trees)

    @property
    def middle(self) -> float:
        """The median error, which a tree without a value does not make infinite."""
        return float(np.median(self._errors))

    def converged(self) -> bool:
        """Whether all trees are one."""
        symbols = self._trees.symbols
        return bool((symbols == symbols[0]).all())

    def step(self) -> None:
        """Let every tree take over parts of others, set by set, and then better constants."""
        search = self._search
        sets = linkage_sets(mutual_information(*self._symbols()) * self._alike, search.rng)
        parents, trees = self._trees, self._trees.copy()
        order = np.argsort(search.rng.random((len(trees), len(sets))), axis=1)
        for turn in range(len(sets)):
            if search.over():
                break
            donors = parents[search.rng.integers(0, len(parents), len(trees))]
            taken = sets[order[:, turn]]
            mixed = Genotypes(
                np.where(taken, donors.symbols, trees.symbols),
                np.where(taken, donors.values, trees.values),
            )
            self._keep_no_worse(trees, mixed)
        for _ in range(len(sets) // 8):
            if search.over():
                break
            self._keep_no_worse(trees, self._mutated(trees))
        self._trees = trees

    def _mutated(self, trees: Genotypes) -> Genotypes:
        """Disturb constants, each with a probability, by a step whose size is drawn, too."""
        rng = self._search.rng
        size = 10.0 ** rng.uniform(-4, 0, (len(trees), 1))
        steps = 1.0 + size * rng.standard_normal(trees.values.shape)
        changed = rng.random(trees.values.shape) < 0.5  # noqa: PLR2004 - a coin
        return Genotypes(trees.symbols, np.where(changed, trees.values * steps, trees.values))

    def _keep_no_worse(self, trees: Genotypes, others: Genotypes) -> None:
        """Replace trees by others that are no worse; what has no effect is taken over, too."""
        template = self._search.template
        same = others.symbols == trees.symbols
        same &= (others.symbols != template.constant) | (others.values == trees.values)
        changed = np.flatnonzero((template.active(trees) & ~same).any(axis=1))
        errors = self._errors.copy()
        errors[changed] = self._search.errors(others[changed])
        kept = errors <= self._errors
        trees.put(kept, others[kept])
        self._errors = np.where(kept, errors, self._errors)

    def _symbols(self) -> tuple[NDArray[np.integer], int]:
        """Return the symbols, with constants of one node sorted into bins, and their number."""
        template = self._search.template
        symbols = self._trees.symbols.astype(np.intp)
        low, high = self._search.constants
        place = (self._trees.values - low) / (high - low) * _BINS
        binned = template.constant + np.clip(place, 0, _BINS - 1).astype(np.intp)
        return np.where(symbols == template.constant, binned, symbols), template.constant + _BINS
