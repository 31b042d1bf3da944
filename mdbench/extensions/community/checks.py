"""What of a record can be verified without running its job again.

A record is somebody's claim.  Its scores follow from its answer and the data, so they are made
again.  What it states of its budget, its key and its measurements must at least fit together.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from mdbench import methods
from mdbench.cli.contradictions import contradictions
from mdbench.errors import MethodError
from mdbench.extensions.community.audits import VERSION, without_candidates
from mdbench.records import Status
from mdbench.runs.record import this_machine
from mdbench.runs.reproduce import rescore_all

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mdbench.records import Record
    from mdbench.runs.reproduce import RescoredRecord
    from mdbench.workspace import Workspace


class Trust(StrEnum):
    """How far a result has been verified, the best first."""

    RERUN = "re-run"
    """A named auditor has run this job again, and got this answer."""
    RESCORED = "re-scored"
    """Its scores were made again from its answer, by this version's scorer."""
    UNANSWERED = "unanswered"
    """It states that there was no answer, which nobody has verified."""
    CLAIMED = "claimed"
    """Nothing of it could be verified here, or something speaks against it."""


@dataclass(frozen=True)
class Verdict:
    """What is known of one record by itself.

    Attributes
    ----------
    record
        The record as it counts: with the scores of this version's scorer, where they can be made.
    key
        Its key as it came.
    trust
        Its class.
    reason
        Why it is only claimed; empty otherwise.
    faults
        What does not fit together in it.  A record with faults is refused.
    """

    record: Record
    key: str
    trust: Trust
    reason: str = ""
    faults: tuple[str, ...] = ()


_NUMERIC: Final = 1e-3
"""Relative difference of a score that is made again on a processor of the same kind."""
_ROUND_OFF: Final = 1e-15
"""Scores that differ by less are both of exact answers."""
_DERIVED: Final = (
    *("dim", "view", "system", "part", "targets", "truth", "target_source", "names"),
    *("measured_in", "judged_by"),
)
"""Keys of a record that follow from the dataset and the options, not from the answer."""
_PARTS: Final = (*VERSION, "dataset", "scorer")
"""Parts that every key has, besides those of its job."""


def check_records(
    records: Sequence[Record], workspace: Workspace, n_jobs: int | None
) -> Iterator[Verdict]:
    """Verify records, in their order.

    Parameters
    ----------
    records
        The records of one bundle.
    workspace
        Where the datasets are.
    n_jobs
        Processes; None for as many as are worth starting.
    """
    # Of a refused answer nothing but the job can be verified, as of one that was never given.
    judged = [
        record.model_copy(update={"status": Status.FAILED})
        if record.status is Status.INVALID_OUTPUT
        else record
        for record in records
    ]
    for record, done in zip(records, rescore_all(judged, workspace, n_jobs), strict=True):
        yield _verdict(record, done)


def _verdict(before: Record, done: RescoredRecord) -> Verdict:
    faults = list(contradictions(before))
    faults += [f"its key_parts have no {part}" for part in _PARTS if part not in before.key_parts]
    if done.left:
        reason = "its data are the user's own" if before.dataset_path else done.left
        claimed = without_candidates(before)
        return Verdict(claimed, before.key, Trust.CLAIMED, reason, tuple(faults))
    after = without_candidates(done.after)
    for name in _DERIVED:
        old, new = getattr(before, name), getattr(after, name)
        if name == "judged_by" and {*old} < {*new}:
            continue  # metrics were added since; what it scores by them is known now
        if old != new:
            faults.append(f"{name} is {old!r}, and the dataset's is {new!r}")
    if before.provenance.scorer == after.provenance.scorer:
        faults += _faults_of_scores(done)
    if before.status is Status.INVALID_OUTPUT:
        after = after.model_copy(update={"status": before.status})
    trust = Trust.RESCORED if after.answered else Trust.UNANSWERED
    return Verdict(after, before.key, trust, faults=tuple(faults))


def _faults_of_scores(done: RescoredRecord) -> Iterator[str]:
    """Yield the scores that are not those of the answer, by the same version of the scorer."""
    elsewhere = done.before.provenance.machine.cpu != this_machine().cpu
    added = {*done.after.judged_by} - {*done.before.judged_by}
    for name, (old, new) in done.changes.items():
        if name in added:
            continue
        # On another processor chaotic systems drift apart; the scores made here are what counts.
        numeric = isinstance(old, float) and isinstance(new, float)
        if numeric and (elsewhere or math.isclose(old, new, rel_tol=_NUMERIC, abs_tol=_ROUND_OFF)):
            continue
        yield f"{name} is {old!r}, and scored again {new!r}"


class Folders:
    """The folders of methods that are here, by what they consist of.

    A name says nothing: whoever writes a record can write any.  What a method is known by is the
    hash of its folder, and that of its lock.

    Parameters
    ----------
    workspace
        Where they are.
    """

    class _Folder(NamedTuple):
        name: str
        lock_sha256: str
        asks_for: tuple[str, ...]
        service: str

    def __init__(self, workspace: Workspace) -> None:
        self._by_hash: dict[str, Folders._Folder] = {}
        for name, method in methods.discover(workspace.algorithms).items():
            if not isinstance(method, MethodError):
                with suppress(MethodError, OSError):
                    spec = method.spec
                    folder = self._Folder(name, method.lock_sha256(), spec.given, spec.service)
                    self._by_hash[method.fingerprint()] = folder

    def faults(self, record: Record) -> Iterator[str]:
        """Yield that the folder of a record has another name here, or asks no language model."""
        folder = self._by_hash.get(record.key_parts.get("adapter", ""))
        if folder is None:
            return
        if folder.name != record.algorithm:
            yield f"algorithm is {record.algorithm!r}, and its folder is that of {folder.name}"
        # What a model has answered cannot be run again, so only who asks one may name one.
        if record.llm is not None and record.llm.model is not None and not folder.service:
            yield f"llm.model is {record.llm.model!r}, and {folder.name} asks no language model"

    def named(self, record: Record) -> Record:
        """Return a record under the name that its folder has here, with what that one asks for.

        One whose folder or lock is not here is named so that nobody takes it for the method here.
        """
        adapter, lock = (record.key_parts.get(part, "") for part in VERSION)
        folder = self._by_hash.get(adapter)
        if folder is not None and folder.lock_sha256 == lock:
            return record.model_copy(update={"given": folder.asks_for})
        what, known_by = ("folder", adapter) if folder is None else ("lock", lock)
        name = f"{record.algorithm} [unknown {what} {known_by[:8]}]"
        return record.model_copy(update={"algorithm": name})
