"""What a method proposes: heard while it runs, weighed by the data type when it waits."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from mdbench.datatypes.base import Candidate
from mdbench.drawing.numbers import counted
from mdbench.errors import AnswerError
from mdbench.runs.scoring import MISTAKES

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from mdbench.datatypes.base import DataType, ScoredCandidate, Selection, Split, Task
    from mdbench.runtimes.protocol import CandidateItem

__all__ = ["Proposals"]


@dataclass
class Proposals:
    """All candidates of a job.

    They are heard while the method runs, which is cheap, and weighed when it waits: an equation
    may cost seconds to count, and that time is not the method's.

    Parameters
    ----------
    task
        What they are for.
    part
        The data on which they are compared.
    predicted
        The data on which a method predicts for each candidate.
    clock
        Gives the seconds since the job began, without those for which it stood.
    """

    data_type: DataType[Any, Any]
    task: Task[Any]
    part: Split
    predicted: Split
    clock: Callable[[], float] = lambda: 0.0
    offers: list[ScoredCandidate] = field(default_factory=list)
    came: int = 0
    invalid: int = 0
    first_reason: str = ""
    _heard: list[Candidate] = field(default_factory=list)
    _weighed: dict[tuple[tuple[str, ...], int | None], ScoredCandidate | str] = field(
        default_factory=dict
    )

    @property
    def by_equations(self) -> bool:
        """Whether nobody asks what the candidates predict."""
        return self.data_type.compares_equations(self.task)

    def shape(self, target: int | None) -> tuple[int, ...]:
        """The shape that a candidate's predictions must have."""
        whole = self.predicted.targets.shape
        return whole if target is None else whole[:-1]

    def refuse(self, items: list[CandidateItem], reason: str) -> None:
        """Count candidates that have come and cannot win."""
        self.came += len(items)
        self._refuse(len(items), reason)

    def hear(self, item: CandidateItem, predictions: NDArray[Any] | None) -> None:
        """Take one candidate, and what it predicts (of the right shape) where that is asked for."""
        targets = len(self.task.targets)
        wanted = (targets if item.target is None else 1) if self.task.has_equations else 0
        if len(item.equations) != wanted:
            self.refuse([item], f"{counted(len(item.equations), 'equation')}; {wanted} expected")
        elif item.target is not None and item.target >= targets:
            self.refuse([item], f"target {item.target}; there are {targets}, counted from 0")
        else:
            self._heard.append(
                Candidate(
                    self.came,
                    item.equations,
                    item.hyperparameters,
                    item.target,
                    predictions,
                    self.clock(),
                )
            )
            self.came += 1

    def weigh(self, seconds: float, stopped: Callable[[], bool]) -> None:
        """Read all that was heard; what is not read in time cannot win."""
        end = time.monotonic() + seconds
        heard, self._heard = self._heard, []
        for number, candidate in enumerate(heard):
            if time.monotonic() > end or stopped():
                self._refuse(len(heard) - number, f"not read within {seconds:g} s")
                return
            offer = self._weigh(candidate)
            if isinstance(offer, str):
                self._refuse(1, offer)
            else:
                self.offers.append(offer)

    def choose(self) -> Selection | None:
        """Let the data type choose among all that may win."""
        return self.data_type.select(self.task, self.offers)

    def _weigh(self, candidate: Candidate) -> ScoredCandidate | str:
        """Weigh a candidate, or say why it cannot win; a grid often gives the same one again."""
        same = candidate.equations, candidate.target
        known = self._weighed.get(same) if self.by_equations else None
        if known is None:
            try:
                known = self.data_type.evaluate_candidate(self.task, self.part, candidate)
            except AnswerError as error:
                known = error.message
            except MISTAKES as error:
                known = f"could not weigh it: {type(error).__name__}: {error}"
            self._weighed[same] = known
        return known if isinstance(known, str) else replace(known, candidate=candidate)

    def _refuse(self, count: int, reason: str) -> None:
        self.invalid += count
        self.first_reason = self.first_reason or reason
