"""What is answered, what it is worth, and how one candidate is chosen among many."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from mdbench.metrics.spec import Value

__all__ = ["Answer", "Choice", "Offer", "Proposal", "RawAnswer", "Scores", "chosen"]


@dataclass(frozen=True)
class RawAnswer:
    """What a method says, of the right size and type, and not trusted beyond that.

    Attributes
    ----------
    equations
        As many texts as there are targets; none where the task asks for none.
    predictions
        What the method predicts on the test inputs, shaped like the targets; None where it could
        not be asked, as it ran out of time, or as only its record is there.
    recorded
        Its metrics where only its record is there: what had come of its predictions.
    """

    equations: tuple[str, ...]
    predictions: NDArray[Any] | None = None
    recorded: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """An answer that has been read; data types add what they judge.

    Attributes
    ----------
    equations
        As they are recorded; None where an answer has none.
    """

    equations: tuple[str, ...] | None


@dataclass(frozen=True)
class Scores:
    """What an answer is worth.

    Attributes
    ----------
    metrics
        By name; None where the scorer could not decide, which is never the method's fault.  What
        an answer does not have, such as a trajectory that breaks off has no R2, is left out.
    notes
        What is to be told of the answer, by a word for what it is: ``missing`` terms.
    """

    metrics: Mapping[str, Value]
    notes: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Proposal:
    """One proposal of a method.

    Attributes
    ----------
    index
        Its place in the order of arrival.
    equations
        One a target, or a single one where `target` says of which.
    hyperparameters
        The setting that gave it.
    target
        The one target that it is for, or None for all.
    predictions
        What the method predicts on the data of its fit or of its validation; None where
        candidates are compared by their equations.
    heard_s
        Seconds from the start of the job to its arrival, by the bench's clock.
    """

    index: int
    equations: tuple[str, ...]
    hyperparameters: Mapping[str, Any]
    target: int | None = None
    predictions: NDArray[Any] | None = field(default=None, repr=False)
    heard_s: float = 0.0


@dataclass(frozen=True)
class Offer:
    """A candidate that may win, and how good it is on the data of the choice.

    Attributes
    ----------
    loss
        Lower is better.
    complexity
        What accuracy is weighed against; 0 where nothing is.
    fitness
        What it is chosen by; higher is better.
    """

    candidate: Proposal
    loss: float
    complexity: int
    fitness: float


@dataclass(frozen=True)
class Choice:
    """The winner: one offer for all targets, or one for each of them."""

    offers: tuple[Offer, ...]

    @property
    def equations(self) -> tuple[str, ...]:
        """One equation a target."""
        return tuple(text for offer in self.offers for text in offer.candidate.equations)

    @property
    def indices(self) -> list[int]:
        """The places of the winners in the order in which the candidates came."""
        return [offer.candidate.index for offer in self.offers]

    @property
    def hyperparameters(self) -> dict[str, Any]:
        """The setting of the winner; where each target has its own, and they differ, all of them.

        They are then a list under ``by_target``, in the order of the targets.
        """
        settings = [dict(offer.candidate.hyperparameters) for offer in self.offers]
        if all(one == settings[0] for one in settings):
            return settings[0]
        return {"by_target": settings}

    @property
    def fitness(self) -> float:
        """The fitness of the winner; the mean over the targets where each has its own."""
        return float(np.mean([offer.fitness for offer in self.offers]))

    @property
    def loss(self) -> float:
        """The loss of the winner; the mean over the targets where each has its own."""
        return float(np.mean([offer.loss for offer in self.offers]))


def chosen(
    offers: Iterable[Offer], targets: int, fittest: Callable[[Sequence[Offer]], Offer | None]
) -> Choice | None:
    """Choose one offer for all targets, or where they are for one target each, one for each."""
    offers = list(offers)
    whole = [offer for offer in offers if offer.candidate.target is None]
    groups = [whole] if whole else _by_target(offers, targets)
    winners = tuple(winner for group in groups if (winner := fittest(group)) is not None)
    return Choice(winners) if winners and len(winners) == len(groups) else None


def _by_target(offers: Iterable[Offer], targets: int) -> list[list[Offer]]:
    groups: list[list[Offer]] = [[] for _ in range(targets)]
    for offer in offers:
        if offer.candidate.target is not None:
            groups[offer.candidate.target].append(offer)
    return groups
