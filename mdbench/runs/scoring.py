"""Candidates and answers evaluated by their data type: losses, the selection, scores."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from mdbench.datatypes.base import Answer, Candidate, Scores, select_per_target
from mdbench.errors import AnswerError, counted
from mdbench.records import ANSWERED, RERUN_ALWAYS, ScoreSoFar, SmallerBudget, Status
from mdbench.runtimes.usage import ResourceUsage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from mdbench.datatypes.base import DataType, ScoredCandidate, Selection, Split, Task
    from mdbench.metrics.spec import Value
    from mdbench.runs.services import ServiceUse
    from mdbench.runs.spec import JobSpec
    from mdbench.runtimes.protocol import AlternativeItem, CandidateItem


@dataclass
class JobResult:
    """The result of a job before it is scored.

    Attributes
    ----------
    from_method
        Whether it was the method that reported `unavailable`.
    lost
        Whether what ran the job was lost, by no fault of the method.
    killed
        Whether it was ended by a signal that anybody may have sent.
    retries
        How often it was tried again for that.
    answer
        The method's answer; None where it did not.
    timeout_reason
        How the job ran out of time, where the answer is its best candidate, which the method
        could not be asked about.
    selection, front
        The candidate that was selected, and all that might have been where the front is kept.
    candidates
        All candidates that might have been selected.
    answered_s, answered_work_s
        Seconds of the job's time up to its answer, and its work; None where the bench selected one
        for it.
    n_candidates, n_invalid
        How many candidates arrived, and how many of them could not win.
    use
        The use of a service; None where it could ask none.
    work_s, speed, speed_before
        The job's work in reference seconds, the mean speed of its cores, and that before it; None
        where they are not measured.
    alternatives
        Equations that by the method's word fit nearly as well as the answer's.
    evaluations
        How many expressions the method has evaluated, as it reports.
    import_s
        CPU seconds until its worker had imported the adapter.
    """

    status: Status
    reason: str = ""
    answer: Answer | None = None
    timeout_reason: str = ""
    hyperparameters: dict[str, Any] | None = None
    selection: Selection | None = None
    front: list[ScoredCandidate] | None = None
    candidates: list[ScoredCandidate] = field(default_factory=list)
    answered_s: float | None = None
    answered_work_s: float | None = None
    n_candidates: int = 0
    n_invalid: int = 0
    work_s: float | None = None
    speed: float | None = None
    speed_before: float | None = None
    alternatives: tuple[AlternativeItem, ...] = ()
    evaluations: int | None = None
    import_s: float | None = None
    fit_s: float | None = None
    predict_s: float | None = None
    costs: ResourceUsage = field(default_factory=ResourceUsage)
    isolation: Mapping[str, Any] = field(default_factory=dict)
    blas_kernel: str | None = None
    blas_threads: int | None = None
    from_method: bool = False
    use: ServiceUse | None = None
    lost: bool = False
    killed: bool = False
    retries: int = 0

    @property
    def is_final(self) -> bool:
        """Whether the job ended by its method's doing, and will not go on from where it was."""
        ended = self.use is not None and self.use.ended
        return not ended and self.status not in RERUN_ALWAYS

    def fail(self, status: Status, reason: str) -> None:
        """Make it a failure: drop the answer."""
        self.status, self.reason = status, reason
        self.answer = self.hyperparameters = self.selection = None
        self.alternatives = ()
        self.timeout_reason = ""


SCORER_ERRORS = (
    ArithmeticError,
    AssertionError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""Errors that a mistake in a scorer may raise on an unforeseen answer: one record then lacks its
scores, and no other job is touched."""


@dataclass(frozen=True)
class ScoredResult:
    """The result of a job with its scores; without any where there is no answer.

    Attributes
    ----------
    equations
        As they are recorded; None where there are none.
    kept
        The answer example by example, where its data type keeps it.
    """

    outcome: JobResult
    equations: tuple[str, ...] | None
    scores: Scores
    anytime: tuple[ScoreSoFar, ...] = ()
    smaller_budgets: tuple[SmallerBudget, ...] = ()
    kept: bytes | None = None


def score_result(
    data_type: DataType[Any, Any],
    task: Task[Any],
    outcome: JobResult,
    job: JobSpec | None = None,
) -> ScoredResult:
    """Read and score an answer.

    An answer that the data type refuses is `Status.INVALID_OUTPUT`; where the job had run out of
    time, and the answer was the bench's best guess at one, it is `Status.TIMEOUT`.  Where the
    scorer itself fails, by no fault of the method, all is undecided, and a note has the reason.

    Parameters
    ----------
    job
        Its budget is that of the `anytime_curve` and of `at_smaller_budgets`; None for neither.
    """
    if outcome.answer is None:
        return ScoredResult(outcome, None, Scores({}))
    try:
        answer = _read_answer(data_type, task, outcome.answer)
        scores = _score(data_type, task, answer)
    except AnswerError as error:
        status, reason = Status.INVALID_OUTPUT, error.message
        if outcome.timeout_reason:
            status = Status.TIMEOUT
            reason = f"{outcome.timeout_reason}; of its best candidate: {reason}"
        refused = replace(outcome, status=status, reason=reason, answer=None, selection=None)
        return ScoredResult(refused, None, Scores({}))
    curve = () if job is None else anytime_curve(data_type, task, outcome, scores, job)
    scored = ScoredResult(
        outcome, answer.equations or None, scores, curve, kept=data_type.kept_answers(task, answer)
    )
    if job is None:
        return scored
    return replace(scored, smaller_budgets=at_smaller_budgets(data_type, task, scored, job))


def _read_answer(data_type: DataType[Any, Any], task: Task[Any], raw: Answer) -> Answer:
    try:
        return data_type.read_answer(task, raw)
    except SCORER_ERRORS as error:
        reason = f"the answer cannot be used: {type(error).__name__}: {error}"
        raise AnswerError(reason) from error


def _score(data_type: DataType[Any, Any], task: Task[Any], answer: Answer) -> Scores:
    try:
        return data_type.score(task, answer)
    except SCORER_ERRORS as error:
        undecided = dict.fromkeys(data_type.metric_names(task))
        reason = f"could not score it: {type(error).__name__}: {error}"
        return Scores(undecided, {"scorer": [reason]})


MOST_CANDIDATES: Final = 100_000
"""Candidates that a job may send; then it ends, as at a limit of time."""
MOST_TEXT: Final = 2**26
"""Characters that its candidates may have together: equations, and what stands for a setting."""
_MOST_DIFFERENT = 20_000
"""Different candidates of a job that are evaluated."""
_FLOOD, _FLOOD_TEXT = 5000, 2**22
"""Different candidates, and characters of theirs, above which those of a job that has reached a
limit are sampled: it is to end soon, whatever it has sent."""
_SAMPLE, _SAMPLE_TEXT, _SAMPLE_SECONDS = 100, 2**17, 1.0
"""How many are evaluated then, how many characters of theirs, and for how long after the first."""
_MOST_WAITING = 2**26
"""Bytes of predictions that wait to be compared."""
_SETTING_FACTOR = 32
"""Bytes that an object of JSON takes in memory, for each of its characters."""


@dataclass
class CandidatePool:
    """All candidates of a job.

    They are collected while the method runs, which is cheap, and evaluated when it waits: an
    equation may cost seconds to count, and that time is not the method's.

    Parameters
    ----------
    task
        The task that the candidates are for.
    part
        The data on which they are compared.
    predicted
        The data on which a method predicts for each candidate.
    clock
        Returns the seconds since the job began, without those for which it was paused, and its
        work in reference seconds; None where that is not measured.
    by_error
        Whether the one of least error is selected, whatever its complexity; else the data type's
        rule decides.

    Attributes
    ----------
    overflow
        Why no more can be taken; empty as long as some can.
    """

    data_type: DataType[Any, Any]
    task: Task[Any]
    part: Split
    predicted: Split
    clock: Callable[[], tuple[float, float | None]] = lambda: (0.0, None)
    by_error: bool = field(default=False, kw_only=True)
    scored: list[ScoredCandidate] = field(default_factory=list)
    count: int = 0
    n_invalid: int = 0
    first_reason: str = ""
    overflow: str = ""
    _text: int = 0
    _predicted: int = 0
    _sampled: bool = False
    _waiting: list[Candidate] = field(default_factory=list)
    _evaluated: dict[tuple[tuple[str, ...], int | None], ScoredCandidate | str] = field(
        default_factory=dict
    )

    @property
    def by_equations(self) -> bool:
        """Whether candidates are compared by their equations, without predictions."""
        return self.data_type.compares_equations(self.task)

    def shape(self, target: int | None) -> tuple[int, ...]:
        """The shape that a candidate's predictions must have."""
        whole = self.predicted.targets.shape
        return whole if target is None else whole[:-1]

    @property
    def waits_large(self) -> bool:
        """Whether what waits to be evaluated takes much memory."""
        return self._predicted > _MOST_WAITING

    def reject(self, items: list[CandidateItem], reason: str) -> None:
        """Count candidates that have come and cannot win."""
        self.count += len(items)
        self._reject(len(items), reason)

    def add(self, item: CandidateItem, predictions: NDArray[Any] | None) -> None:
        """Add one candidate, and what it predicts (of the right shape) where that is asked for."""
        if self.count >= MOST_CANDIDATES:
            self.overflow = f"sent more than {MOST_CANDIDATES} candidates"
        self._text += sum(map(len, item.equations))
        if item.hyperparameters:
            self._text += _SETTING_FACTOR * len(json.dumps(item.hyperparameters))
        if self._text > MOST_TEXT:
            self.overflow = f"sent more than {MOST_TEXT // 2**20} MiB of candidates"
        if self.overflow:
            self.reject([item], self.overflow)
            return
        targets = len(self.task.targets)
        wanted = (targets if item.target is None else 1) if self.task.has_equations else 0
        if len(item.equations) != wanted:
            self.reject([item], f"{counted(len(item.equations), 'equation')}; {wanted} expected")
        elif item.target is not None and item.target >= targets:
            self.reject([item], f"target {item.target}; there are {targets}, counted from 0")
        else:
            self._waiting.append(
                Candidate(
                    self.count,
                    item.equations,
                    item.hyperparameters,
                    item.target,
                    predictions,
                    *self.clock(),
                )
            )
            self.count += 1
            self._predicted += 0 if predictions is None else predictions.nbytes

    def evaluate(self, seconds: float, stopped: Callable[[], bool]) -> None:
        """Evaluate all that has come; what is not evaluated in time cannot win."""
        waiting, self._waiting, self._predicted = self._waiting, [], 0
        least = 1 if self._sampled else 0
        seconds = _SAMPLE_SECONDS if self._sampled else seconds
        end = time.monotonic() + seconds
        for number, candidate in enumerate(waiting):
            if (number >= least and time.monotonic() > end) or stopped():
                self._reject(len(waiting) - number, f"not read within {seconds:g} s")
                return
            if len(self._evaluated) >= _MOST_DIFFERENT:
                self._reject(
                    len(waiting) - number, f"more than {_MOST_DIFFERENT} different candidates"
                )
                return
            scored = self._evaluate(candidate)
            if isinstance(scored, str):
                self._reject(1, scored)
            else:
                self.scored.append(scored)

    def sample(self) -> None:
        """Keep a few of too many candidates that wait: the job has reached a limit, and is to end.

        They are evenly spaced in their order, and the last is one of them.
        """
        waiting = self._waiting
        different = list({(one.equations, one.target): one for one in waiting}.values())
        text = sum(len(each) for one in different for each in one.equations)
        if len(different) <= _FLOOD and text <= _FLOOD_TEXT:
            return
        most = max(1, min(_SAMPLE, len(different), _SAMPLE_TEXT * len(different) // max(text, 1)))
        self._sampled = True
        self._waiting = [
            different[len(different) * number // most - 1] for number in range(1, most + 1)
        ]
        reason = f"one of {len(different)} different candidates, of which {most} were evaluated"
        self._reject(len(waiting) - most, reason)

    def select(self) -> Selection | None:
        """Return the selection among all that may win."""
        if self.by_error:
            return select_per_target(self.scored, len(self.task.targets), _most_accurate)
        return self.data_type.select(self.task, self.scored)

    def _evaluate(self, candidate: Candidate) -> ScoredCandidate | str:
        """Evaluate a candidate, or return why it cannot win; a grid often repeats one."""
        same = candidate.equations, candidate.target
        known = self._evaluated.get(same) if self.by_equations else None
        if known is None:
            try:
                known = self.data_type.evaluate_candidate(self.task, self.part, candidate)
            except AnswerError as error:
                known = error.message
            except SCORER_ERRORS as error:
                known = f"could not evaluate it: {type(error).__name__}: {error}"
            self._evaluated[same] = known
        if isinstance(known, str):
            return known
        return replace(known, candidate=replace(candidate, predictions=None))

    def _reject(self, count: int, reason: str) -> None:
        self.n_invalid += count
        self.first_reason = self.first_reason or reason


def _most_accurate(scored: Sequence[ScoredCandidate]) -> ScoredCandidate | None:
    """Return the candidate of least loss; of equals the simplest, and of those the first."""
    return min(scored, key=lambda one: (one.loss, one.complexity), default=None)


SHARES: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""Shares of a job's budget, of work where it has one and else of time, at which its best answer so
far is scored: no clock ends that, so that which scores there are follows from the answers."""


def anytime_curve(
    data_type: DataType[Any, Any],
    task: Task[Any],
    outcome: JobResult,
    scores: Scores,
    job: JobSpec,
) -> tuple[ScoreSoFar, ...]:
    """Score the best answer up to each of `SHARES` of the budget.

    Up to the answer that is what the bench would have chosen of the candidates that had come, and
    from then on the answer.

    Parameters
    ----------
    scores
        The scores of the answer.
    job
        With a work limit, which is the budget, or with a time limit.
    """
    if outcome.status not in ANSWERED:
        return ()
    final = scores.metrics.get(data_type.metrics[0].name)
    in_work = job.work_s is not None and outcome.work_s is not None
    budget = job.work_s if in_work and job.work_s is not None else job.timeout_s
    answered = outcome.answered_work_s if in_work else outcome.answered_s
    scored = sorted(outcome.candidates, key=lambda one: one.candidate.arrived_s)
    arrived = [_arrival(one.candidate, in_work=in_work) for one in scored]
    points = []
    last, known = 0, False
    score: Value = None
    for share in SHARES:
        limit = share * budget
        if share == SHARES[-1] or (answered is not None and answered <= limit):
            points.append(
                ScoreSoFar(
                    share=share,
                    score=final,
                    time_s=outcome.answered_s,
                    work_s=outcome.answered_work_s,
                )
            )
            continue
        there = sum(each <= limit for each in arrived)
        if there > last:
            last = there
            known, score = _best(data_type, task, scored[:there])
        if known:
            newest = scored[last - 1].candidate
            points.append(
                ScoreSoFar(
                    share=share,
                    score=score,
                    time_s=newest.arrived_s,
                    work_s=newest.arrived_work_s,
                )
            )
    return tuple(points)


SMALLER_BUDGETS: Final = (2.0, 10.0, 60.0)
"""Reference seconds after which an answer is scored as well, where the budget is twice as much."""


def at_smaller_budgets(
    data_type: DataType[Any, Any], task: Task[Any], scored: ScoredResult, job: JobSpec
) -> tuple[SmallerBudget, ...]:
    """Score what the bench would have chosen after less work, as if that had been the limit.

    A method that plans by its budget may do better with a limit that it knows.

    Returns
    -------
    tuple
        One for each of `SMALLER_BUDGETS`, without equations where there was no candidate by then;
        none without a limit of work, or for an answer that is no equations.
    """
    outcome, answered = scored.outcome, scored.outcome.answered_work_s
    if job.work_s is None or outcome.work_s is None or not task.has_equations:
        return ()
    smaller = []
    for work in SMALLER_BUDGETS:
        if 2 * work > job.work_s:
            break
        if answered is not None and answered <= work:
            metrics = dict(scored.scores.metrics)
            smaller.append(SmallerBudget(work_s=work, equations=scored.equations, metrics=metrics))
            continue
        there = [
            one
            for one in outcome.candidates
            if (arrived := one.candidate.arrived_work_s) is not None and arrived <= work
        ]
        choice = _choose(data_type, task, there)
        smaller.append(
            SmallerBudget(work_s=work)
            if choice is None
            else score_at_budget(data_type, task, choice.equations, work)
        )
    return tuple(smaller)


def score_at_budget(
    data_type: DataType[Any, Any], task: Task[Any], equations: Sequence[str], work: float
) -> SmallerBudget:
    """Score equations that were chosen after some work; without any, where they are refused."""
    try:
        answer = _read_answer(data_type, task, Answer(tuple(equations)))
        metrics = dict(_score(data_type, task, answer).metrics)
    except AnswerError:
        return SmallerBudget(work_s=work)
    return SmallerBudget(work_s=work, equations=answer.equations or None, metrics=metrics)


def _arrival(candidate: Candidate, *, in_work: bool) -> float:
    work = candidate.arrived_work_s
    return work if in_work and work is not None else candidate.arrived_s


def _choose(
    data_type: DataType[Any, Any], task: Task[Any], scored: Sequence[ScoredCandidate]
) -> Selection | None:
    return data_type.select(task, sorted(scored, key=lambda one: one.candidate.index))


def _best(
    data_type: DataType[Any, Any], task: Task[Any], scored: Sequence[ScoredCandidate]
) -> tuple[bool, Value]:
    """Return whether a candidate can be scored, and the score of the one selected."""
    choice = _choose(data_type, task, scored)
    if choice is None or not task.has_equations:
        return False, None
    try:
        answer = data_type.read_answer(task, Answer(choice.equations))
        return True, data_type.primary_score(task, answer)
    except (AnswerError, *SCORER_ERRORS):
        return False, None
