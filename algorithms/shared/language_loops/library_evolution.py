"""LaSR on our own genetic programming: operators that sometimes ask a model.

The genetic programming is that of AFP (``age_fitness``).  Whether to ask is drawn from a generator
of its own, so that with probability 0 the search is AFP's, to the bit.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
from asking import Asker
from concept_library import ConceptLibrary
from grammar_draws import DrawingModel, GrammarDraws
from hillclimb import least_squares
from program_loops import counted, python_names, situation_of
from regressor import AgeFitness
from scaling import in_own_units, line, text
from trees import FUNCTIONS

from mdbench.worker import Candidate, language_model

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from evolution import Evolution
    from language import Language
    from trees import Node

    from mdbench.worker import Problem

__all__ = ["LibraryLanguage", "LibrarySearch"]

_STEPS = 20
"""Steps of Gauss and Newton for the constants of a tree that a model proposed."""
_SHARE_OF_TIME = 0.95
_WORST = 4
"""One in so many individuals of a population counts as bad."""
_MOST_DRAWN_FUNCTIONS = ("sin", "cos", "exp", "log", "sqrt", "tan", "tanh")


class LibraryLanguage:
    """AFP's operators, which ask a model with a probability, and are unchanged otherwise.

    Parameters
    ----------
    plain
        AFP's own.
    library
        Asks the model, and has the concepts.
    evolution
        Whose samples constants are fitted on.
    probability
        Probability of asking, each time.
    random
        Generator of these draws only.
    """

    def __init__(
        self,
        plain: Language,
        library: ConceptLibrary,
        evolution: Evolution,
        *,
        probability: float,
        random: Random,
    ) -> None:
        self.max_size = plain.max_size
        self._max_depth = plain._max_depth  # noqa: SLF001 - this takes its place
        self._plain, self._library, self._evolution = plain, library, evolution
        self._probability, self._random = probability, random

    def new(self) -> Node:
        """Return a new tree."""
        tree = self._proposed("Propose expressions that could be the formula.")
        return self._plain.new() if tree is None else tree

    def crossover(self, first: Node, second: Node) -> Node:
        """Return a child of two trees."""
        tree = self._proposed(
            "Propose new expressions that combine the strengths of the two.", first, second
        )
        return self._plain.crossover(first, second) if tree is None else tree

    def mutate(self, tree: Node) -> Node:
        """Return a child of a tree."""
        child = self._proposed("Propose variants of the expression that could fit better.", tree)
        return self._plain.mutate(tree) if child is None else child

    def _proposed(self, request: str, *shown: Node) -> Node | None:
        if self._library.asker.over or self._random.random() >= self._probability:
            return None
        tree = self._library.tree(request, shown)
        if tree is None:
            return None
        if tree.size > self.max_size or tree.depth > self._max_depth:
            self._library.asker.note("the expression is larger than a tree may be")
            return None
        return self._fitted(tree)

    def _fitted(self, tree: Node) -> Node:
        """Fit constants at once: as ones, they would show nothing of the proposal."""
        if not tree.constants:
            return tree
        data = self._evolution._data  # noqa: SLF001 - this is a part of it
        fit = data.fit(tree)
        for _ in range(_STEPS):
            before = fit.error
            tree, fit = least_squares(data, tree, fit, self._random)
            if not fit.error < before:
                break
        return tree


class LibrarySearch(AgeFitness):
    """AFP with a library of concepts; the populations of all targets take turns.

    Parameters
    ----------
    probability
        Probability with which each operator asks; 0 is AFP.
    iteration
        Generations between two updates of the concepts.
    expressions, context, most_concepts
        As for `ConceptLibrary`.
    samples, max_tokens, temperature
        Largest number of completions of all targets, and of tokens of each; sampling temperature.
    control_budget
        Limits of what the method may ask for of which this is the control.
    others
        Those of `AgeFitness`.
    """

    nollm = False
    """Whether random draws of the grammar replace replies."""

    def __init__(
        self,
        *,
        probability: float,
        iteration: int,
        expressions: int,
        context: int,
        most_concepts: int,
        samples: int,
        max_tokens: int,
        temperature: float,
        control_budget: dict[str, Any] | None = None,
        **others: Any,
    ) -> None:
        super().__init__(**others)
        self._control_budget = control_budget
        if not 0.0 <= probability <= 1.0:
            raise ValueError(f"probability is {probability}; it must be from 0 to 1")
        self._probability, self._iteration = probability, iteration
        self._asking = {"samples": samples, "max_tokens": max_tokens}
        self._library_plan = {
            "expressions": expressions,
            "context": context,
            "most": most_concepts,
        }
        self._expressions, self._temperature = expressions, temperature

    def fit(self, problem: Problem) -> None:
        """Search for all targets, a generation of each in turn.

        Raises
        ------
        ValueError
            If the data are not finite.
        RuntimeError
            If nothing that was found for a target is finite on the data.
        """
        if not (np.isfinite(problem.X).all() and np.isfinite(problem.Y).all()):
            raise ValueError("the data have values that are not finite")
        is_late = problem.budget.after(_SHARE_OF_TIME * problem.budget.remaining())
        self._problem = problem
        self._chosen = []
        self._runs = [self._make_run(target, is_late) for target in range(len(problem.targets))]
        self.asker = self._make_asker(is_late)
        searches = [
            _LibraryRun(
                run.evolution,
                self._make_library(target),
                probability=self._probability,
                iteration=self._iteration,
                random=Random(f"{self._seed} {target} asks"),  # noqa: S311 - a search, no secret
            )
            for target, run in enumerate(self._runs)
        ]
        self._searches = searches
        with np.errstate(all="ignore"):
            going = searches
            while going:
                going = [search for search in going if search.advance()]
        if self._probability:
            print(self.asker.summary())  # noqa: T201 - for the log
        self.evaluations = sum(run.evolution.evaluations for run in self._runs)
        self.stopped_early = any(run.evolution.stopped_early for run in self._runs)
        self.stopped_early |= self.asker.late
        self._members = list(self._all_members())
        for target, name in enumerate(problem.targets):
            members = [member for member in self._members if member.target == target]
            if not members:
                raise RuntimeError(f"nothing that was found for {name} is finite on all the data")
            self._chosen.append(min(members, key=lambda member: member.error))

    def candidates(self) -> Iterator[Candidate]:
        """Yield the front of each target, and after how many completions each was found."""
        calls: dict[tuple[int, str], int] = {}
        with np.errstate(all="ignore"):
            for run, search in zip(self._runs, self._searches, strict=True):
                y = self._problem.Y[:, run.target]
                for tree, fit in run.evolution.archive.front():
                    own = in_own_units(tree, run.scales)
                    shown = line(run.scale * fit.slope, own, run.scale * fit.intercept, like=y)
                    equation = text(shown, self._problem.variables)
                    calls.setdefault((run.target, equation), search.found.get(tree, 0))
        for candidate in super().candidates():
            key = int(candidate.target or 0), candidate.equations[0]
            yield counted(candidate, calls.get(key, 0), self._problem)

    def _make_asker(self, is_late: Callable[[], bool]) -> Asker:
        asks = self._probability > 0 and not self.nollm
        model = language_model() if asks else DrawingModel(self._drawn, self._control_budget)
        names = python_names(self._problem.variables)
        functions = [
            name for name in self._functions if name in _MOST_DRAWN_FUNCTIONS and name in FUNCTIONS
        ]
        self._draws = GrammarDraws(
            self._seed,
            names,
            max_size=self._limits["max_initial_size"],
            call="{}",
            functions=functions,
        )
        return Asker(model, seed=self._seed, is_late=is_late, **self._asking)

    def _drawn(self) -> str:
        """Write a reply of drawn expressions."""
        drawn = [self._draws.expression(lambda _index: "C")[0] for _ in range(self._expressions)]
        return "[" + ", ".join(f'"{expression}"' for expression in drawn) + "]"

    def _make_library(self, target: int) -> ConceptLibrary:
        return ConceptLibrary(
            self.asker,
            situation=situation_of(self._problem, [self._problem.targets[target]]),
            names=python_names(self._problem.variables),
            functions=self._functions,
            random=Random(f"{self._seed} {target}"),  # noqa: S311 - a search, no secret
            temperature=self._temperature,
            **self._library_plan,
        )


class _LibraryRun:
    """One target's population with its library, a generation at a time.

    Attributes
    ----------
    found
        Completions that had been asked for after the generation that brought each tree.
    """

    def __init__(
        self,
        evolution: Evolution,
        library: ConceptLibrary,
        *,
        probability: float,
        iteration: int,
        random: Random,
    ) -> None:
        self._evolution, self._library = evolution, library
        self._asks, self._iteration = probability > 0, iteration
        self._plan = evolution._plan  # noqa: SLF001 - this drives it
        self.found: dict[Node, int] = {}
        if self._asks:
            language: Any = LibraryLanguage(
                evolution._language,  # noqa: SLF001
                library,
                evolution,
                probability=probability,
                random=random,
            )
            evolution._language = language  # noqa: SLF001

    def advance(self) -> bool:
        """Run one generation, and return whether there may be another."""
        evolution, plan = self._evolution, self._plan
        last = min(plan.generations, evolution.generation + 1)
        evolution._plan = replace(plan, generations=last)  # noqa: SLF001
        evolution.run()
        if self._asks and evolution.generation % self._iteration == 0:
            ranked = sorted(evolution.population, key=lambda one: -one.fit.error)
            bad = [one.tree for one in ranked[: 1 + len(ranked) // _WORST]]
            self._library.learn([tree for tree, _ in evolution.archive.front()], bad)
        for tree, _ in evolution.archive.front():
            self.found.setdefault(tree, self._library.asker.asked)
        return (
            evolution.generation < plan.generations
            and evolution.archive.error > plan.stop_threshold
            and not evolution.stopped_early
            and not self._library.asker.over
        )
