"""Audits: jobs of a bundle that somebody else has run again, with the records these left.

The sample follows from the bundle's own SHA-256 and a salt that nobody can choose.  What an audit
says is what it has measured: the board compares its records with those of every bundle.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from mdbench.errors import RecordsError, first_fault
from mdbench.extensions.community.signatures import salt_of, signer_of
from mdbench.records import Record, key_of
from mdbench.runs.reproduce import Agreement, compare_records
from mdbench.runs.spec import JobSpec

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

FORMAT: Final = 2
ENOUGH: Final = 60
"""Jobs of a method that show with 95 % that at most 5 % of its results are not its own."""
_LARGEST: Final = 2**26
_DECIDES: Final = frozenset({Agreement.SAME, Agreement.NEARLY})

_OTHER: Final = "another result"
_BY_CHANCE: Final = "the method's answers differ from run to run"
_LAST_DIGITS: Final = "another kernel, and a method whose answer follows from the last digits"
_HALF: Final = 0.5
"""Part of its limit from which on a job may be ended on another machine."""

Outcome = Literal["equal", "different", "undecided"]


class RerunJob(BaseModel):
    """One job that was run again.

    Attributes
    ----------
    key
        The key of its record in the bundle.
    repeatable, chaotic
        Of its method, as `mdbench.method_spec.MethodSpec` has them.
    record
        What it left.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    key: str = Field(pattern="^[0-9a-f]{64}$")
    repeatable: bool
    chaotic: bool
    record: Record


class Audit(BaseModel):
    """The file of an audit.

    Attributes
    ----------
    bundle
        The SHA-256 of the archive.
    share, least
        The sample: this part of the records of each method, and at least so many.
    salt
        What chose the jobs, with the bundle's SHA-256.
    draw
        The auditor's signature of `draw_text`, from which the salt follows; empty where there is
        none, and then the audit counts nowhere.
    jobs
        The jobs that were run again.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    audit: int
    bundle: str = Field(pattern="^[0-9a-f]{64}$")
    share: float = Field(gt=0.0, le=1.0)
    least: int = Field(ge=1)
    salt: str
    draw: str = ""
    mdbench: str
    made: AwareDatetime
    jobs: tuple[RerunJob, ...] = Field(min_length=1)


@dataclass(frozen=True)
class Sample:
    """How the jobs of an audit are chosen; see `Audit`."""

    share: float
    least: int
    salt: str

    def of(self, records: Iterable[Record], bundle_sha256: str) -> list[Record]:
        """Return the records whose jobs are run again: of each method its part.

        Parameters
        ----------
        records
            The records of the bundle, in any order.
        bundle_sha256
            Of the archive.
        """

        def position(record: Record) -> str:
            text = f"{bundle_sha256} {self.salt} {record.key}"
            return hashlib.sha256(text.encode()).hexdigest()

        groups: dict[tuple[str, ...], list[Record]] = defaultdict(list)
        for record in records:
            if record.attempted and record.dataset_path is None:
                version = [record.key_parts.get(part, "") for part in VERSION]
                groups[record.data_type, record.algorithm, *version].append(record)
        return [
            record
            for _, group in sorted(groups.items())
            for record in sorted(group, key=position)[
                : max(self.least, math.ceil(self.share * len(group)))
            ]
        ]


def job_of(record: Record, *versions: str, limits: bool = True) -> str:
    """Return what names the job of a record, whatever else stands in its key.

    Parameters
    ----------
    versions
        Parts of the key that tell versions of a method apart: none for any of them.
    limits
        Whether jobs with another limit are others, where it is not the limit that they are
        compared by: that of time where there is one of work, of memory, processes and output.

    Raises
    ------
    UsageError
        If the record does not have all that it takes to run the job.
    """
    parts = {part: record.key_parts.get(part, "") for part in versions}
    parts |= JobSpec.of(record).key_parts() | {"algorithm": record.algorithm}
    if not limits:
        incidental = ("memory_mb", "processes", "output_mb", *["timeout_s"] * ("work_s" in parts))
        parts = {name: part for name, part in parts.items() if name not in incidental}
    return key_of(parts)


VERSION: Final = ("adapter", "environment")
"""The parts of a key that tell versions of a method apart."""


def without_candidates(record: Record) -> Record:
    """Return a record without what is neither scored nor compared."""
    return record.model_copy(update={"front": None, "alternatives": ()})


def outcome_of(before: Record, job: RerunJob, after: Record) -> tuple[Outcome, str]:
    """Return whether a job that was run again has left an equal result, and what to remark.

    Where the answer depends on how far a method came in its time, or on chance that no seed
    holds, another answer proves nothing.  Then only an answer where there was none, or none where
    there was one, is a difference.  A job that is done here long before its limit was not ended by
    it elsewhere, whatever its record states.

    Parameters
    ----------
    before
        The record of the bundle.
    job
        The job that was run again.
    after
        Its record, which may be scored again.
    """
    if why := _why_it_decides_nothing(after):
        return "undecided", why
    agreed = compare_records(
        without_candidates(before), without_candidates(after), chaotic=job.chaotic
    )
    if agreed.sameness in _DECIDES:
        return "equal", ""
    for part in VERSION:
        if before.key_parts.get(part) != after.key_parts.get(part):
            return "undecided", f"the method here has another {part}"
    ended = (before.cut_off or after.cut_off) and _share_used(after) >= _HALF
    if before.answered != after.answered and not ended:
        return "different", f"{before.status.word} in the bundle, {after.status.word} here"
    if not job.repeatable or agreed.sameness is Agreement.CHAOTIC:
        return "undecided", _LAST_DIGITS if job.repeatable else _BY_CHANCE
    return ("undecided", "the job was ended by its limit") if ended else ("different", _OTHER)


def is_evidence(rerun: Record, record: Record) -> bool:
    """Return whether a job that was run again says something of a record with other limits.

    It does where neither met a limit: then no limit has made the answer.
    """
    if rerun.budget == record.budget:
        return True
    unlimited = rerun.answered and not rerun.cut_off and record.answered
    in_time = (rerun.measured.wall_s or 0.0) < _HALF * (record.budget.timeout_s or math.inf)
    return unlimited and (in_time or not record.cut_off)


def _share_used(record: Record) -> float:
    """Return how much of its time or work a job has used, of whichever it has used most."""
    budget, measured = record.budget, record.measured
    pairs = ((measured.work_s, budget.work_s), (measured.wall_s, budget.timeout_s))
    return max((used / limit for used, limit in pairs if used and limit), default=0.0)


def _why_it_decides_nothing(after: Record) -> str:
    """Return why not even an equal result would prove anything; empty where it would."""
    if after.llm is not None and after.llm.model is not None:
        return "its language model answers from the bundle's own log"
    return "" if after.attempted else f"the job could not be run: {after.status.word}"


def draw_text(bundle_sha256: str) -> bytes:
    """Return what an auditor signs to get the salt of an audit."""
    return f"mdbench audit of {bundle_sha256}\n".encode()


def check_sample(audit: Audit, signer: str, signers: Path, records: Sequence[Record]) -> None:
    """Check that an audit's jobs are those that its bundle and its signer's key give.

    Parameters
    ----------
    signer
        Who has signed the audit.
    records
        The records of the bundle, as they are in it.

    Raises
    ------
    RecordsError
        If they are not.
    """
    if not audit.draw or salt_of(audit.draw) != audit.salt:
        raise RecordsError("its salt does not follow from the auditor's key: give --sign to audit")
    if signer_of(draw_text(audit.bundle), audit.draw, signers) != signer:
        raise RecordsError("its salt is by another key than its signature")
    chosen = Sample(audit.share, audit.least, audit.salt).of(records, audit.bundle)
    wanted = {record.key: job_of(record) for record in chosen}
    if {job.key: job_of(job.record) for job in audit.jobs} != wanted or len(audit.jobs) != len(
        wanted
    ):
        raise RecordsError(
            f"its {len(audit.jobs)} jobs are not the {len(wanted)} of the sample that follows from "
            "the bundle, the salt and the share"
        )


def write_audit(path: Path, audit: Audit) -> None:
    """Write an audit's file."""
    path.write_text(audit.model_dump_json(indent=1, by_alias=True) + "\n", encoding="utf-8")


def read_audit(path: Path) -> Audit:
    """Read an audit's file.

    Raises
    ------
    RecordsError
        If it is no audit, or of another format.
    """
    hint = "Audits come from: mdbench registry audit BUNDLE"
    try:
        content = path.read_bytes()
        if len(content) > _LARGEST:
            raise RecordsError(f"{path} is too large to be an audit.", hint)
        number = json.loads(content).get("audit")
        if isinstance(number, int) and number != FORMAT:
            again = "Update mdbench." if number > FORMAT else f"Make it again.  {hint}"
            raise RecordsError(f"{path} is an audit of format {number}.", again)
        return Audit.model_validate_json(content)
    except ValidationError as error:
        raise RecordsError(f"{path} is no audit: {first_fault(error, 'it')}", hint) from None
    except (OSError, ValueError, AttributeError, RecursionError) as error:
        raise RecordsError(f"{path} is no audit: {error}", hint) from None
