"""What audits say of the records of bundles.

Evidence is of a job: what it left when a named auditor ran it again.  It holds for all bundles with
a record of that job, whatever they are called and whoever packed them.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from mdbench.errors import counted
from mdbench.extensions.community.audits import ENOUGH, VERSION, is_evidence, job_of, outcome_of
from mdbench.extensions.community.checks import Trust
from mdbench.records import Measured
from mdbench.runs.reproduce import RESULT

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mdbench.extensions.community.audits import Outcome, RerunJob
    from mdbench.extensions.community.checks import Verdict
    from mdbench.extensions.community.store import Content, Submission
    from mdbench.records import Record


@dataclass(frozen=True)
class JudgedRecord:
    """One record of a bundle, after all audits.

    Attributes
    ----------
    record
        As it counts: where its job was run again, with the answer, scores and times of that;
        otherwise without times, as nobody but its bundle knows them.
    claimed_wall_s
        The time that its bundle states, in seconds.
    trust, reason
        Its class, and why it is no better one; or why an audit could not decide.
    refuted
        What was found instead, where a job that was run again left another result.
    """

    record: Record
    claimed_wall_s: float | None
    trust: Trust
    reason: str = ""
    refuted: str = ""


class _Rerun(NamedTuple):
    job: RerunJob
    verdict: Verdict
    auditor: str


class Evidence:
    """All jobs that were run again in audits that count.

    Parameters
    ----------
    content
        What the registry has.
    """

    def __init__(self, content: Content) -> None:
        self._reruns: dict[str, list[_Rerun]] = defaultdict(list)
        self._withdrawn = content.withdrawn
        for checked in content.audits:
            before = {verdict.key: verdict.record for verdict in checked.audited.verdicts}
            for job, verdict in zip(checked.audit.jobs, checked.verdicts, strict=True):
                rerun = _Rerun(job, verdict, checked.signer)
                self._reruns[_job(before[job.key])].append(rerun)

    def judge(self, submission: Submission) -> list[JudgedRecord]:
        """Return the records of a bundle as they count.

        A bundle with a record that was refuted is not trusted: of the others only those count that
        were run again.
        """
        judged = [self._judge(verdict) for verdict in submission.verdicts]
        refuted = [record for record in judged if record.refuted]
        doubt = self._withdrawn.get(submission.sha256, "")
        if refuted:
            doubt = (
                f"{counted(len(refuted), 'job')} of its bundle left another result when run again"
            )
        if not doubt:
            return judged
        return [
            record
            if record.trust in {Trust.RERUN, Trust.CLAIMED}
            else replace(record, trust=Trust.CLAIMED, reason=record.refuted or doubt)
            for record in judged
        ]

    def _judge(self, verdict: Verdict) -> JudgedRecord:
        record, wall_s = verdict.record, verdict.record.measured.wall_s
        without_times = JudgedRecord(_without_claims(record), wall_s, verdict.trust, verdict.reason)
        if verdict.trust is Trust.CLAIMED:
            return without_times
        outcomes: dict[Outcome, list[tuple[_Rerun, str]]] = defaultdict(list)
        for rerun in self._reruns.get(_job(record), ()):
            after = rerun.verdict.record
            if rerun.verdict.trust is not Trust.CLAIMED and is_evidence(after, record):
                outcome, why = outcome_of(record, rerun.job, after)
                outcomes[outcome].append((rerun, why))
        if outcomes["equal"] and outcomes["different"]:
            return replace(without_times, reason="auditors have different results of it")
        for rerun, _ in outcomes["equal"]:
            # Of another kernel an answer is equal whose last digits are others, which anybody can
            # choose: what counts is what the auditor's job left.
            after = rerun.verdict.record
            result = {name: getattr(after, name) for name in (*RESULT, "measured")}
            return JudgedRecord(record.model_copy(update=result), wall_s, Trust.RERUN)
        for rerun, why in outcomes["different"]:
            return replace(without_times, refuted=f"run again by {rerun.auditor}: {why}")
        for rerun, why in outcomes["undecided"]:
            return replace(without_times, reason=f"run again by {rerun.auditor}, undecided: {why}")
        return without_times


def _job(record: Record) -> str:
    return job_of(record, *VERSION, limits=False)


def share_run_again(judged: Sequence[JudgedRecord]) -> str:
    """Return how many of a method's jobs were run again, and what that proves for the others."""
    equal = sum(record.trust is Trust.RERUN for record in judged)
    if not equal:
        return ""
    enough = equal >= min(ENOUGH, len(judged))
    return f"{equal} of {len(judged)}{'' if enough else ', too few to speak for the others'}"


def _without_claims(record: Record) -> Record:
    """Return a record without what only its maker has measured."""
    changes: dict[str, object] = {"measured": Measured(started=record.measured.started)}
    if record.llm is not None:
        amounts = ("calls", "failed", "prompt_tokens", "completion_tokens", "reasoning_tokens")
        unknown = dict.fromkeys((*amounts, "money", "spent", "estimated", "curve"))
        changes["llm"] = record.llm.model_copy(update=unknown)
    return record.model_copy(update=changes)


def count_by_trust(judged: Iterable[JudgedRecord]) -> dict[Trust, int]:
    """Return how many records are of each class, the best first."""
    classes = [record.trust for record in judged]
    return {trust: classes.count(trust) for trust in Trust if trust in classes}
