"""Common part of the adapters of dsr and udsr: a search for each target, a front from each."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch
from expression_search import Archived, ExpressionSearch, SearchPlan
from fronts import FrontMember, Units, constant, has_polynomial, refine, written
from growth import Rules
from numpy.typing import NDArray
from policy import Learning
from scaling import power_of_two
from tapes import pad
from tokens import Tokens
from trees import Node, evaluate

from mdbench.worker import Candidate, Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from melding import Melding

Array = NDArray[np.float64]

__all__ = ["DeepRegression", "device_here", "take"]

_KEPT = 0.03
"""Part of the budget that is for writing all."""
_SHARE_OF_TIME, _LAST_FITS = 0.85, 0.95
"""Parts of a target's share of the budget after which the search ends, and the last fits."""
_WITH_POLYNOMIALS = 0.6, 0.75
"""The same where there are polynomials, whose shorter ones are fitted and written after these."""
_FLAT = 1e-14
"""A target that varies by less of its size is a constant, and nothing is searched for."""
_REFINED = 16
"""Expressions of a target whose constants are fitted again on all rows."""
_WITH_POLYNOMIAL = 6
"""Expressions of a target whose polynomial is made shorter and shorter."""
_LONGEST_POLYNOMIAL, _BEAM, _EACH_LENGTH = 8, 30, 4
"""Terms of the longest polynomial that is proposed next to the whole one; width of the search,
and number of polynomials that are proposed of each length."""

_Settings = TypeVar("_Settings")


def take(kind: type[_Settings], hyperparameters: dict[str, Any]) -> _Settings:
    """Make settings of those hyperparameters that are theirs, and take them out."""
    names = {each.name for each in fields(kind)}  # type: ignore[arg-type]
    return kind(**{name: hyperparameters.pop(name) for name in names & hyperparameters.keys()})


def device_here() -> str:
    """Return the device that PyTorch works on: a GPU where there is one."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    print(f"device: {device}; PyTorch {torch.__version__}")  # noqa: T201
    return device


@dataclass(frozen=True)
class _TargetRun:
    """The search for one target, the units in which it is made, and whether its last fits end."""

    target: int
    search: ExpressionSearch
    units: Units
    late: Callable[[], bool]


class DeepRegression:
    """Deep symbolic regression on tables.

    Parameters
    ----------
    seed
        Every target starts from the same one.
    threads
        Number of threads that PyTorch may use.
    functions
        Names of ``trees.FUNCTIONS``; variables are always there.
    max_rows
        Largest number of samples in the search; of more, a random part is drawn.
    polynomial
        Whether there is the linear token.
    melding
        For genetic programming between policy and learning; None for none.
    settings
        Fields of ``Rules``, ``Learning`` and ``SearchPlan``.
    """

    def __init__(
        self,
        *,
        seed: int,
        threads: int,
        functions: Sequence[str],
        max_rows: int,
        polynomial: bool = False,
        melding: Melding | None = None,
        **settings: Any,
    ) -> None:
        self._seed, self._threads = seed, threads
        self._functions, self._polynomial = tuple(functions), polynomial
        if max_rows < 2:  # noqa: PLR2004
            raise ValueError(f"max_rows is {max_rows}; it must be 2 or more")
        self._max_rows = max_rows
        self._rules = take(Rules, settings)
        self._learning = take(Learning, settings)
        self._plan = take(SearchPlan, settings)
        self._melding = melding
        if settings:
            raise TypeError(f"unexpected keyword argument {next(iter(settings))!r}")
        self._tokens(1)
        self.stopped_early = False

    def _tokens(self, variables: int) -> Tokens:
        return Tokens(
            self._functions,
            variables,
            constants=self._rules.max_constants > 0,
            polynomial=self._polynomial,
        )

    def fit(self, problem: Problem) -> None:
        """Search for each target, sharing the time.

        Raises
        ------
        ValueError
            If the data are not finite.
        RuntimeError
            If nothing that was found for a target is finite on the data.
        """
        with np.errstate(all="ignore"):
            self._fit(problem)

    def _fit(self, problem: Problem) -> None:
        if not (np.isfinite(problem.X).all() and np.isfinite(problem.Y).all()):
            raise ValueError("the data have values that are not finite")
        torch.set_num_threads(self._threads)
        self._problem, self._device = problem, device_here()
        self._finished: list[FrontMember] = []
        self._running: _TargetRun | None = None
        self._chosen: list[FrontMember] = []
        self.stopped_early = False
        self.evaluations = 0
        for target, name in enumerate(problem.targets):
            budget = problem.budget
            share = budget.share(len(problem.targets) - target, _KEPT)
            parts = _WITH_POLYNOMIALS if self._polynomial else (_SHARE_OF_TIME, _LAST_FITS)
            limits = [budget.after(part * share) for part in parts]
            self._running = run = self._make_run(target, self._plan.within(share), *limits)
            if np.ptp(problem.Y[:, target]) > _FLAT * np.abs(problem.Y[:, target]).max():
                run.search.run()
            self.evaluations += run.search.evaluations
            self.stopped_early |= run.search.stopped_early
            print(  # noqa: T201
                f"{name}: {run.search.drawn} drawn, {run.search.evaluations} different,"
                f" error {run.search.least_error:.3g} of the variance"
            )
            members = self._members(run)
            if not members:
                raise RuntimeError(f"nothing that was found for {name} is finite on all the data")
            self._finished += members
            self._running = None
            self._chosen.append(min(members, key=lambda member: member.error))

    def candidates(self) -> Iterator[Candidate]:
        """Yield the front of each target, as far as it was found."""
        members = self._finished
        if len(self._chosen) < len(self._problem.targets):
            # The fit was stopped: every target has an answer first, then what was found.
            means = [constant(y, target) for target, y in enumerate(self._problem.Y.T)]
            members = [*means, *members]
        for member in members:
            yield Candidate((member.equation,), member.predictions, target=member.target)
        if self._running is not None:
            with np.errstate(all="ignore"):
                members = self._members(self._running, as_it_is=True)
            for member in members:
                yield Candidate((member.equation,), member.predictions, target=member.target)

    def choose(self, indices: Sequence[int]) -> None:
        """Use these candidates, one for each target; before, the most accurate ones are used."""
        self._chosen = [self._finished[index] for index in indices]

    def predict(self, problem: Problem) -> Array:
        """Evaluate the chosen expressions; return (n, targets)."""
        columns = [evaluate(member.tree, problem.X) for member in self._chosen]
        return np.stack(columns, axis=1)

    def equations(self) -> list[str]:
        """Return the chosen right-hand side of each target."""
        return [member.equation for member in self._chosen]

    def _make_run(
        self,
        target: int,
        plan: SearchPlan,
        is_late: Callable[[], bool],
        fits_late: Callable[[], bool],
    ) -> _TargetRun:
        X, y = self._problem.X, self._problem.Y[:, target]
        units = Units([power_of_two(X[:, i]) for i in range(X.shape[1])], power_of_two(y))
        X, y = X / units.x, y / units.y
        if len(X) > self._max_rows:
            random = np.random.default_rng(self._seed)
            rows = np.sort(random.choice(len(X), self._max_rows, replace=False))
            X, y = X[rows], y[rows]
        search = ExpressionSearch(
            X,
            y,
            tokens=self._tokens(X.shape[1]),
            rules=self._rules,
            learning=self._learning,
            plan=plan,
            melding=self._melding,
            seed=self._seed,
            device=self._device,
            is_late=is_late,
        )
        return _TargetRun(target, search, units, fits_late)

    def _members(self, run: _TargetRun, *, as_it_is: bool = False) -> list[FrontMember]:
        """Fit the best of a search again, and write them in the data's own units."""
        search = run.search
        archived = sorted(
            (each for own in list(search.best.values()) for each in list(own)),
            key=lambda each: (each.error, len(each.codes)),
        )
        found = [(Node.constant(0.0), 0.0, float(np.mean(search.y)))]
        found += [
            (self._tree(search, each), each.slope, each.intercept) for each in _front(archived)
        ]
        X, y = self._problem.X, self._problem.Y[:, run.target]
        if not as_it_is:
            trees = [self._tree(search, each) for each in archived[:_REFINED]]
            trees += [tree for tree, *_ in found[1:]]
            trees += self._shorter(search, archived)
            found += refine(
                trees,
                X / run.units.x,
                y / run.units.y,
                scaling=self._plan.linear_scaling,
                late=run.late,
            )
        return written(
            found, X, y, units=run.units, target=run.target, names=self._problem.variables
        )

    @staticmethod
    def _tree(search: ExpressionSearch, each: Archived) -> Node:
        polynomial = None
        if each.polynomial is not None and search.monomials is not None:
            polynomial = search.monomials.tree(each.polynomial)
        return search.tokens.node(each.codes, each.constants, polynomial)

    def _shorter(self, search: ExpressionSearch, archived: Sequence[Archived]) -> list[Node]:
        """Fit polynomials of few terms in the place of those of the best expressions."""
        if search.monomials is None:
            return []
        own = [each for each in archived if has_polynomial(each.codes, search.tokens)]
        chosen = own[:_WITH_POLYNOMIAL]
        chosen += [each for each in _front(own) if each not in chosen][:_WITH_POLYNOMIAL]
        trees = []
        for each in chosen:
            constants = np.array([each.constants])
            wanted = search.wanted_of(pad([each.codes]), constants)[0]
            if not np.isfinite(wanted).all():
                continue
            for coefficients in search.monomials.shorter(
                wanted, longest=_LONGEST_POLYNOMIAL, beam=_BEAM, kept=_EACH_LENGTH
            ):
                tree = search.monomials.tree(coefficients)
                trees.append(search.tokens.node(each.codes, each.constants, tree))
        return trees


def _front(archived: Sequence[Archived]) -> list[Archived]:
    """Keep those that no shorter one is as good as; shortest first."""
    kept: list[Archived] = []
    for each in sorted(archived, key=lambda each: (len(each.codes), each.error)):
        if not kept or each.error < kept[-1].error:
            kept.append(each)
    return kept
