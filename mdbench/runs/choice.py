"""Picks among the candidates that a method proposed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from mdbench import expressions
from mdbench.datatypes.base import Protocol
from mdbench.errors import EquationError
from mdbench.metrics.selection import select

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mdbench.datatypes.base import DataType, Part
    from mdbench.runtimes.protocol import CandidateItem

__all__ = ["Candidates", "Choice", "Offer"]


@dataclass(frozen=True)
class Offer:
    """A candidate that may win: its place in the order of arrival, and how good it is."""

    index: int
    equations: tuple[expressions.Equation, ...]
    hyperparameters: dict[str, Any]
    target: int | None
    loss: float
    complexity: int
    fitness: float


@dataclass(frozen=True)
class Choice:
    """The winner: one offer for all targets, or one for each of them."""

    offers: tuple[Offer, ...]

    @property
    def equations(self) -> tuple[expressions.Equation, ...]:
        """One equation a target."""
        return tuple(equation for offer in self.offers for equation in offer.equations)

    @property
    def indices(self) -> list[int]:
        """The places of the winners in the order in which the candidates came."""
        return [offer.index for offer in self.offers]

    @property
    def hyperparameters(self) -> dict[str, Any]:
        """The setting of the winner (one for all targets)."""
        return self.offers[0].hyperparameters

    @property
    def complexity(self) -> int:
        """The nodes of all equations together."""
        return sum(offer.complexity for offer in self.offers)

    @property
    def fitness(self) -> float:
        """The fitness of the winner; the mean over the targets where each has its own."""
        return float(np.mean([offer.fitness for offer in self.offers]))

    @property
    def loss(self) -> float:
        """The loss of the winner; the mean over the targets where each has its own."""
        return float(np.mean([offer.loss for offer in self.offers]))


@dataclass
class Candidates:
    """All candidates of a job so far.

    Parameters
    ----------
    part
        The data on which candidates are compared.
    variables
        The names that an equation may use.
    """

    data_type: DataType
    part: Part
    variables: tuple[str, ...]
    protocol: Protocol
    offers: list[Offer] = field(default_factory=list)
    came: int = 0
    invalid: int = 0
    first_reason: str = ""

    @property
    def targets(self) -> int:
        """The number of equations that a full set has."""
        return int(self.part.targets.shape[-1])

    def shape(self, target: int | None) -> tuple[int, ...]:
        """The shape that a candidate's predictions must have."""
        whole = self.part.targets.shape
        return whole if target is None else whole[:-1]

    def refuse(self, items: list[CandidateItem], reason: str) -> None:
        """Count candidates that cannot win, and keep the first reason."""
        self.came += len(items)
        self.invalid += len(items)
        self.first_reason = self.first_reason or reason

    def add(self, item: CandidateItem, predictions: NDArray[np.float64]) -> None:
        """Judge one candidate by its predictions on the selection data."""
        try:
            offer = self._judge(item, predictions)
        except EquationError as error:
            self.refuse([item], error.message)
            return
        except _InvalidError as error:
            self.refuse([item], str(error))
            return
        self.came += 1
        self.offers.append(offer)

    def choose(self) -> Choice | None:
        """Pick the fittest candidate, of each target's where they came one by one."""
        whole = [offer for offer in self.offers if offer.target is None]
        if whole:
            return self._best([whole])
        return self._best(
            [[o for o in self.offers if o.target == target] for target in range(self.targets)]
        )

    def _best(self, groups: list[list[Offer]]) -> Choice | None:
        winners = []
        for group in groups:
            best = select(
                [offer.loss for offer in group],
                [offer.complexity for offer in group],
                fitness=self.data_type.fitness,
            )
            if best is None:
                return None
            winners.append(group[best])
        return Choice(tuple(winners))

    def _judge(self, item: CandidateItem, predictions: NDArray[np.float64]) -> Offer:
        wanted = self.targets if item.target is None else 1
        if len(item.equations) != wanted:
            raise _InvalidError(f"{len(item.equations)} equations; {wanted} expected")
        if item.target is not None and item.target >= self.targets:
            raise _InvalidError(f"target {item.target}; there are {self.targets}, counted from 0")
        if not np.isfinite(predictions).all():
            raise _InvalidError("predictions that are not finite")
        equations = tuple(expressions.parse(text, self.variables) for text in item.equations)
        if self.protocol is Protocol.PUBLISHED and any(e.text.strip() == "0" for e in equations):
            raise _InvalidError("an equation is zero, which the published pipeline refuses")
        truth = self.part.targets
        if item.target is not None:
            truth = truth[..., item.target : item.target + 1]
            predictions = predictions[..., None]
        loss = self.data_type.loss(predictions, truth)
        complexity = sum(equation.complexity for equation in equations)
        return Offer(
            index=self.came,
            equations=equations,
            hyperparameters=item.hyperparameters,
            target=item.target,
            loss=loss,
            complexity=complexity,
            fitness=self.data_type.fitness(loss, complexity),
        )


class _InvalidError(Exception):
    """A candidate that breaks the contract."""
