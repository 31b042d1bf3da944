"""What a job came to, before anybody has judged it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mdbench.runtimes.usage import Costs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mdbench.datatypes.base import Answer, ScoredCandidate, Selection
    from mdbench.language_models.conversation import ModelUse
    from mdbench.records import Status

__all__ = ["Outcome"]


@dataclass
class Outcome:
    """What a job came to, before anybody has judged it.

    Attributes
    ----------
    by_the_method
        Whether it is the method that said `unavailable`.
    lost
        Whether what ran the job has gone, by no doing of the method.
    killed
        Whether it was ended by a signal that anybody may have sent.
    retries
        How often it was tried again for that.
    raw
        What the method answered; None where it did not.
    late
        How the job ran out of time, where the answer is its best candidate, which the method
        could not be asked about.
    choice, front
        The candidate that was chosen, and all that might have been where the front is kept.
    offers
        All candidates that might have been chosen.
    answered_s
        Seconds of the job's time up to its answer; None where the bench chose one for it.
    came, invalid
        How many candidates came, and how many of them could not win.
    asked
        What was asked of a language model; None where nothing could be.
    curve
        Where candidates say after how many calls they were found: each number of calls after which
        the best loss was better than before, and that loss.
    """

    status: Status
    reason: str = ""
    raw: Answer | None = None
    late: str = ""
    hyperparameters: dict[str, Any] | None = None
    choice: Selection | None = None
    front: list[ScoredCandidate] | None = None
    offers: list[ScoredCandidate] = field(default_factory=list)
    answered_s: float | None = None
    came: int = 0
    invalid: int = 0
    fit_s: float | None = None
    predict_s: float | None = None
    costs: Costs = field(default_factory=Costs)
    seclusion: Mapping[str, Any] = field(default_factory=dict)
    blas_kernel: str | None = None
    blas_threads: int | None = None
    by_the_method: bool = False
    asked: ModelUse | None = None
    curve: tuple[tuple[int, float], ...] | None = None
    lost: bool = False
    killed: bool = False
    retries: int = 0

    def fail(self, status: Status, reason: str) -> None:
        """Be no answer after all."""
        self.status, self.reason = status, reason
        self.raw = self.hyperparameters = self.choice = None
        self.late = ""
