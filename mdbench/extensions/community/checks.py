"""What of a record can be verified without running its job again.

A record is somebody's claim.  Its scores follow from its answer and the data, so they are made
again.  What it states of its budget, its key and its measurements must at least fit together.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from mdbench import methods
from mdbench.cli.contradictions import contradictions
from mdbench.errors import MethodError
from mdbench.runs.record import this_machine
from mdbench.runs.reproduce import rescore_all

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mdbench.records import Record
    from mdbench.runs.reproduce import RescoredRecord
    from mdbench.workspace import Workspace


class Trust(StrEnum):
    """How far a result has been verified, the best first."""

    RERUN = "re-run"
    """A second party has run a sample of the bundle's jobs again, and got equal records."""
    RESCORED = "re-scored"
    """Its scores were made again from its answer, by this version's scorer."""
    CLAIMED = "claimed"
    """Nothing of it could be verified here."""


@dataclass(frozen=True)
class Verdict:
    """What is known of one record.

    Attributes
    ----------
    record
        The record as it counts: with the scores of this version's scorer, where they can be made.
    trust
        Its class.
    reason
        Why it is only claimed; empty otherwise.
    faults
        What does not fit together in it.  A record with faults is refused.
    """

    record: Record
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
    adapters = _adapters(workspace)
    for done in rescore_all(records, workspace, n_jobs):
        yield _verdict(done, adapters)


def _adapters(workspace: Workspace) -> dict[str, str]:
    """Return the names of the methods here by the fingerprints of their folders."""
    names = {}
    for name, method in methods.discover(workspace.algorithms).items():
        if not isinstance(method, MethodError):
            with suppress(MethodError, OSError):
                names[method.fingerprint()] = name
    return names


def _faults_of_name(record: Record, adapters: Mapping[str, str]) -> Iterator[str]:
    """Yield that a record's folder is known by another name, which its key does not hold."""
    known = adapters.get(record.key_parts.get("adapter", ""), record.algorithm)
    if known != record.algorithm:
        yield f"algorithm is {record.algorithm!r}, and its folder is that of {known}"


def _verdict(done: RescoredRecord, adapters: Mapping[str, str]) -> Verdict:
    before, after = done.before, done.after
    faults = [*contradictions(before), *_faults_of_name(before, adapters)]
    if done.left:
        reason = "its data are the user's own" if before.dataset_path else done.left
        return Verdict(before, Trust.CLAIMED, reason, tuple(faults))
    for name in _DERIVED:
        old, new = getattr(before, name), getattr(after, name)
        if name == "judged_by" and {*old} < {*new}:
            continue  # metrics were added since; what it scores by them is known now
        if old != new:
            faults.append(f"{name} is {old!r}, and the dataset's is {new!r}")
    if before.provenance.scorer == after.provenance.scorer:
        faults += _faults_of_scores(done)
    return Verdict(after, Trust.RESCORED, faults=tuple(faults))


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
