"""Picks among the candidates that a method proposed."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from mdbench import expressions
from mdbench.datatypes.base import Protocol
from mdbench.errors import EquationError
from mdbench.metrics.selection import select

if TYPE_CHECKING:
    from collections.abc import Callable

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


@dataclass(frozen=True)
class _Heard:
    """A candidate whose predictions were compared, and whose equations nobody has read yet."""

    index: int
    item: CandidateItem
    loss: float


@dataclass
class Candidates:
    """All candidates of a job.

    They are heard while the method runs, which is cheap, and judged when it waits: an equation
    may cost seconds to count, and that time is not the method's.

    Parameters
    ----------
    part
        The data on which candidates predict.
    variables
        The names that an equation may use.
    validation
        The data on which they are compared, by evaluating their equations; None to compare
        what they predict.
    """

    data_type: DataType
    part: Part
    variables: tuple[str, ...]
    protocol: Protocol
    validation: Part | None = None
    offers: list[Offer] = field(default_factory=list)
    came: int = 0
    invalid: int = 0
    first_reason: str = ""
    _heard: list[_Heard] = field(default_factory=list)

    @property
    def targets(self) -> int:
        """The number of equations that a full set has."""
        return int(self.part.targets.shape[-1])

    def shape(self, target: int | None) -> tuple[int, ...]:
        """The shape that a candidate's predictions must have."""
        whole = self.part.targets.shape
        return whole if target is None else whole[:-1]

    def refuse(self, items: list[CandidateItem], reason: str) -> None:
        """Count candidates that have come and cannot win."""
        self.came += len(items)
        self._refuse(len(items), reason)

    def hear(self, item: CandidateItem, predictions: NDArray[np.float64]) -> None:
        """Take one candidate, and its predictions on the selection data (of the right shape)."""
        fault = self._fault(item, predictions)
        if fault:
            self.refuse([item], fault)
            return
        truth = self.part.targets
        if item.target is not None:
            truth = truth[..., item.target : item.target + 1]
            predictions = predictions[..., None]
        self._heard.append(_Heard(self.came, item, self.data_type.loss(predictions, truth)))
        self.came += 1

    def judge(self, seconds: float, stopped: Callable[[], bool]) -> None:
        """Read the equations of all that was heard; what is not read in time cannot win."""
        end = time.monotonic() + seconds
        heard, self._heard = self._heard, []
        for number, one in enumerate(heard):
            if time.monotonic() > end or stopped():
                self._refuse(len(heard) - number, f"not read within {seconds:g} s")
                return
            try:
                self.offers.append(self._read(one))
            except EquationError as error:
                self._refuse(1, error.message)

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

    def _refuse(self, count: int, reason: str) -> None:
        self.invalid += count
        self.first_reason = self.first_reason or reason

    def _fault(self, item: CandidateItem, predictions: NDArray[np.float64]) -> str:
        wanted = self.targets if item.target is None else 1
        if len(item.equations) != wanted:
            return f"{len(item.equations)} equations; {wanted} expected"
        if item.target is not None and item.target >= self.targets:
            return f"target {item.target}; there are {self.targets}, counted from 0"
        if not np.isfinite(predictions).all():
            return "predictions that are not finite"
        if self.protocol is Protocol.PUBLISHED and "0" in map(str.strip, item.equations):
            return "an equation is zero, which the published pipeline refuses"
        return ""

    def _read(self, one: _Heard) -> Offer:
        equations = tuple(expressions.parse(text, self.variables) for text in one.item.equations)
        complexity = sum(equation.complexity for equation in equations)
        loss = one.loss if self.validation is None else self._validate(equations, one.item.target)
        return Offer(
            index=one.index,
            equations=equations,
            hyperparameters=one.item.hyperparameters,
            target=one.item.target,
            loss=loss,
            complexity=complexity,
            fitness=self.data_type.fitness(loss, complexity),
        )

    def _validate(self, equations: tuple[expressions.Equation, ...], target: int | None) -> float:
        assert self.validation is not None  # noqa: S101 - for the type checker
        columns = self.validation.columns
        predictions = np.stack([equation.evaluate(columns) for equation in equations], axis=-1)
        if not np.isfinite(predictions).all():
            raise EquationError("an equation is not finite on the validation data")
        truth = self.validation.targets
        if target is not None:
            truth = truth[..., target : target + 1]
        return self.data_type.loss(predictions, truth)
