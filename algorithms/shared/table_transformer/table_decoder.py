"""Common part of the adapters of the symbolic transformer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from decoding import decode, table_rows
from fitted import fitted
from fronts import FrontMember, constant, shortlist
from numpy.typing import NDArray
from scaling import line, text
from skeletons import ARITY
from table_network import TableNetwork
from tokens import CONST, Tokens
from trees import evaluate

from mdbench.worker import Candidate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from decoding import Decoded
    from trees import Node

    from mdbench.worker import Problem

Array = NDArray[np.float64]

__all__ = ["STAND_INS", "TableDecoder"]

STAND_INS = (1.1, 1.3, 1.7, 1.9, 2.3, 2.9, 3.1, 3.7)
"""Numbers that are printed for those of a law where they are not fitted, in this order."""
_KEPT, _DECODING = 0.1, 0.5
_FITTED_ROWS = 1000


class TableDecoder:
    """Writes the most probable laws of the network.

    Parameters
    ----------
    seed
        Seed of the rows that are shown to the network.
    threads
        Number of threads that PyTorch may use.
    beam
        Laws that are written side by side.
    rows
        Number of rows of a table, shown to the network at most.
    fit_numbers
        Whether numbers are fitted to the data, for all laws of the beam; else the likeliest law
        alone is returned, with stand-ins for its numbers.
    """

    weights = Path(__file__).resolve().with_name("weights.npz")

    def __init__(self, *, seed: int, threads: int, beam: int, rows: int, fit_numbers: bool) -> None:
        if beam < 1 or rows < 2:  # noqa: PLR2004
            raise ValueError(f"beam is {beam} and rows {rows}; they must be 1 and 2 or more")
        self._seed, self._threads, self._beam, self._rows = seed, threads, beam, rows
        self._fit_numbers = fit_numbers
        self.stopped_early = False

    def fit(self, problem: Problem) -> None:
        """Write laws for each target.

        Raises
        ------
        ValueError
            If the table has more columns than the network supports, or no finite rows.
        """
        budget = problem.budget
        torch.set_num_threads(self._threads)
        self._problem = problem
        self._members: list[FrontMember] = []
        self._chosen: list[FrontMember] = []
        network = TableNetwork.load(self.weights)
        for target in range(problem.Y.shape[1]):
            share = budget.share(problem.Y.shape[1] - target, _KEPT)
            limits = budget.after(_DECODING * share), budget.after(share)
            y = problem.Y[:, target]
            members = self._laws(network, target, *limits)
            members = members or [constant(y[np.isfinite(y)], target)]
            self._members += members
            self._chosen.append(min(members, key=lambda member: member.error))

    def _laws(
        self,
        network: TableNetwork,
        target: int,
        writing_over: Callable[[], bool],
        fitting_over: Callable[[], bool],
    ) -> list[FrontMember]:
        problem = self._problem

        def late(is_over: Callable[[], bool]) -> bool:
            over = is_over()
            self.stopped_early |= over
            return over

        X, y = table_rows(problem.X, problem.Y[:, target], self._rows, self._seed)
        if len(y) < 2:  # noqa: PLR2004
            raise ValueError(f"{problem.targets[target]} has fewer than two finite rows")
        laws = decode(network, X, y, beam=self._beam, late=lambda: late(writing_over))
        for law in laws[:10]:
            print(f"{law.log_chance:8.2f} {' '.join(law.tokens)}")  # noqa: T201 - to the log
        if not self._fit_numbers:
            return self._as_decoded(laws[:1], target)
        X, y = table_rows(problem.X, problem.Y[:, target], _FITTED_ROWS, self._seed)
        found = fitted(laws, X, y, late=lambda: late(fitting_over))
        members = (self._member(target, tree, factor) for tree, factor in found)
        return shortlist([(each.tree.size, each.error, each) for each in members if each])

    def _member(self, target: int, tree: Node, factor: float) -> FrontMember | None:
        """Write a law with its factor in front; None where it has no value on some row."""
        problem, y = self._problem, self._problem.Y[:, target]
        own = line(factor, tree, 0.0, like=y, exact=True)
        predictions = evaluate(own, problem.X)
        with np.errstate(all="ignore"):
            error = float(np.nanmean(np.square((predictions - y) / np.nanmax(np.abs(y)))))
        if not np.isfinite(error):
            return None
        return FrontMember(target, own, text(own, problem.variables), predictions, error)

    def _as_decoded(self, laws: Sequence[Decoded], target: int) -> list[FrontMember]:
        """Print laws with stand-ins for their numbers."""
        problem = self._problem
        tokens = Tokens(tuple(name for name in ARITY if name != CONST), problem.X.shape[1])
        members = []
        for law in laws:
            many = sum(name == CONST for name in law.tokens)
            values = [STAND_INS[place % len(STAND_INS)] for place in range(many)]
            tree = tokens.node([tokens.code(name) for name in law.tokens], values)
            predictions = evaluate(tree, problem.X)
            members.append(FrontMember(target, tree, text(tree, problem.variables), predictions, 0))
        return members

    def candidates(self) -> Iterator[Candidate]:
        """Yield the laws of each target."""
        for member in self._members:
            yield Candidate((member.equation,), member.predictions, target=member.target)

    def choose(self, indices: Sequence[int]) -> None:
        """Use these candidates, one for each target; before, the most accurate ones are used."""
        self._chosen = [self._members[index] for index in indices]

    def predict(self, problem: Problem) -> Array:
        """Evaluate the chosen laws; return (n, targets)."""
        return np.stack([evaluate(each.tree, problem.X) for each in self._chosen], axis=1)

    def equations(self) -> list[str]:
        """Return the chosen law of each target."""
        return [member.equation for member in self._chosen]
