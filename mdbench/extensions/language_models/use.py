"""What a job has used of a language model: in its record, and on its status."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from mdbench.errors import counted
from mdbench.extensions.language_models.answers import no_answers_text
from mdbench.records import ANSWERED, LlmPoint, LlmUse, Status
from mdbench.runs.services import ServiceUse

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mdbench.datatypes.base import ScoredCandidate
    from mdbench.runs.scoring import JobResult

FROM_MODEL: Final = "from_model"
"""The hyperparameter of a candidate by which a method states that its model wrote it."""
_CALLS = "calls"
"""The hyperparameter in which a candidate has the number of calls after which it was found."""
_CLIENTS_ERROR = "LanguageModelError"
"""What a method raises that takes a lost completion for its end (`mdbench.worker`)."""


@dataclass(frozen=True)
class ModelUse(ServiceUse):
    """The requests of a job, and what they used.

    Attributes
    ----------
    calls
        Completions that were asked for, with those that could not be had.
    reasoning_tokens
        Those of the completions that went into reasoning; None where no endpoint counts them.
    failed
        The completions that failed.
    no_answer
        The completions in which the model gave no answer, by the reason.
    refused
        Whether more was asked for than the budget had.
    estimated
        Whether the endpoint did not count some of the tokens.
    money
        By the price that was given; None where none was.
    models, fingerprints
        As the endpoint reports them, each once, in order.
    seconds
        That the endpoint took.
    waited_s
        Seconds of the job in which it waited for a failing endpoint, or for its turn.
    resumed
        Completions of an earlier attempt at the job.
    ended
        Why the endpoint ended the job, which is no doing of the method's; empty where it did not.
    trouble
        Why none of all completions could be had; empty where there was one, or none was wanted.
    missed
        What a replay did not have.
    too_small
        Why not even one completion fitted into the budget; empty where one did.
    curve
        Where candidates have the number of calls after which they were found: each number of calls
        after which the best loss was better than before, and that loss.
    """

    calls: int = 0
    failed: int = 0
    no_answer: Mapping[str, int] = field(default_factory=dict)
    refused: bool = False
    prompt_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int | None = None
    estimated: bool = False
    money: float | None = None
    models: tuple[str, ...] = ()
    fingerprints: tuple[str, ...] = ()
    seconds: float = 0.0
    waited_s: float = 0.0
    resumed: int = 0
    ended: str = ""
    trouble: str = ""
    missed: str = ""
    too_small: str = ""
    curve: tuple[tuple[int, float], ...] | None = None

    @property
    def has_failed(self) -> bool:
        """Whether the endpoint has: what the job states then says nothing of its method."""
        return bool(self.ended or self.trouble)

    def correct(self, result: JobResult) -> None:
        """Keep an endpoint's fault from being the method's, and name what the model did.

        A job whose replay lacks an answer fails.  So does one whose model gave no answer, where
        its method makes nothing of that; the reason is named.
        A job that the endpoint ended has the best that it had found by then, or is as if it had
        never been run: its calls and its end say nothing of the method.
        """
        if self.missed:
            result.fail(Status.FAILED, self.missed)
        elif self.too_small:
            result.fail(Status.UNAVAILABLE, self.too_small)
        elif self.trouble:  # whatever it states: nobody has answered it
            result.fail(Status.UNAVAILABLE, self.ended or self.trouble)
        elif self.ended and (result.status not in ANSWERED or not self.calls):
            result.fail(Status.UNAVAILABLE, self.ended)
        elif self.failed and result.reason.startswith(_CLIENTS_ERROR):
            result.fail(Status.UNAVAILABLE, result.reason)  # of completions that were lost
        elif self.ended:
            answered = counted(self.calls - self.failed, "completion")
            result.status = Status.PARTIAL
            result.reason = f"the best after {answered}, where the endpoint ended it: {self.ended}"
        elif self.no_answer and result.status is Status.FAILED:
            completions = counted(self.calls, "completion")
            result.reason += f" (of {completions}: {no_answers_text(self.no_answer)})"

    def recorded(self, settings: Mapping[str, Any], result: JobResult) -> dict[str, Any]:
        """Return the record's key ``llm``: what was given to and used of the model."""
        if "llm" not in settings:
            return {}
        marks = [
            scored.candidate.hyperparameters.get(FROM_MODEL)
            for scored in (result.selection.candidates if result.selection else ())
        ]
        used = LlmUse(
            **settings["llm"],
            calls=self.calls,
            failed=self.failed,
            no_answer=dict(self.no_answer),
            spent=self.refused,
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
            reasoning_tokens=self.reasoning_tokens,
            ended=self.ended,
            found=any(marks) if marks and None not in marks else None,
            estimated=self.estimated,
            money=self.money,
            answered_by=self.models,
            fingerprints=self.fingerprints,
            curve=None
            if self.curve is None
            else tuple(LlmPoint(calls=calls, loss=loss) for calls, loss in self.curve),
        )
        return {"llm": used}

    def measured(self) -> dict[str, Any]:
        """Return the seconds of the model, those of waiting, and the completions of before."""
        return {
            "llm_s": self.seconds,
            "llm_waited_s": self.waited_s,
            "llm_resumed": self.resumed,
        }


def loss_curve(scored: Iterable[ScoredCandidate]) -> tuple[tuple[int, float], ...] | None:
    """Return after how many calls of a language model the best loss was better than before.

    None where no candidate has that number.
    """
    known = []
    for candidate, loss in ((each.candidate, each.loss) for each in scored):
        calls = candidate.hyperparameters.get(_CALLS)
        if isinstance(calls, int) and calls >= 0 and candidate.target is None:
            known.append((calls, loss))
    curve: list[tuple[int, float]] = []
    for calls, loss in sorted(known):
        if not curve or loss < curve[-1][1]:
            if curve and curve[-1][0] == calls:
                curve.pop()
            curve.append((calls, loss))
    return tuple(curve) or None
