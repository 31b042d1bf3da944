"""A registry: a folder with the bundles and audits of many people.

``bundles/SHA256.zip`` are bundles and ``audits/SHA256.json`` audits, each named by its own bytes,
with the signature next to it.  ``verdicts/`` keeps what was found when a bundle's records were
scored again; it can be removed, and is made again.  Two registries are merged by copying files.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from mdbench import __version__
from mdbench.errors import RecordsError, UsageError
from mdbench.extensions.community.audits import Audit, read_audit, signer_of
from mdbench.extensions.community.checks import Trust, Verdict, check_records
from mdbench.records import Record, parse_records, read_content, results_files
from mdbench.reports.bundle import described, is_bundle, opened, sha256_of
from mdbench.workspace import bench_hash, write_whole

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mdbench.workspace import Workspace

BUNDLES: Final = "bundles"
AUDITS: Final = "audits"
_VERDICTS: Final = "verdicts"
SIGNERS: Final = "allowed_signers"
"""The file with the public keys of auditors, as ``ssh-keygen`` reads it.

Where it is there, only audits that one of them has signed count.
"""
_MOST_FAULTS: Final = 20
"""Refused records that an error shows."""


@dataclass(frozen=True)
class Submission:
    """A bundle of a registry, and what was found about its records.

    Attributes
    ----------
    sha256
        The hash of the archive.
    about
        What it states of itself: ``title``, ``first``, ``last``, ``methods``.
    verdicts
        The verdicts on its records, in their order.
    audits
        The audits that count.
    """

    sha256: str
    about: dict[str, Any]
    verdicts: tuple[Verdict, ...]
    audits: tuple[Audit, ...]

    @property
    def name(self) -> str:
        """A short name."""
        return self.sha256[:8]

    def trust(self, verdict: Verdict) -> tuple[Trust, str]:
        """Return the class of one of its records with the reason, after all audits."""
        if failed := [audit for audit in self.audits if audit.differing]:
            one = failed[0]
            return Trust.CLAIMED, f"audit {one.name}: {one.words}"
        if any(audit.passed for audit in self.audits):
            return Trust.RERUN, ""
        return verdict.trust, verdict.reason


class Registry:
    """A folder of bundles.

    Parameters
    ----------
    folder
        The folder; need not exist before something is added.
    workspace
        Where the datasets and methods are.
    """

    def __init__(self, folder: Path, workspace: Workspace) -> None:
        self.folder = folder
        self._workspace = workspace

    def submit(self, bundle: Path, *, n_jobs: int | None) -> Submission:
        """Verify a bundle and copy it into the registry; one that is there already stays.

        Raises
        ------
        RecordsError
            If it is damaged, or if a record does not fit together or has not the scores of its
            answer: it is refused as a whole.
        UsageError
            If it is no bundle.
        """
        if not is_bundle(bundle):
            raise UsageError(
                f"{bundle} is no bundle.", "Make one of results: mdbench bundle results"
            )
        submission = self._verify(bundle, self._audits()[0], n_jobs)
        refused = [verdict for verdict in submission.verdicts if verdict.faults]
        if refused:
            lines = [
                f"{one.record.algorithm} · {one.record.system} · seed {one.record.seed}: "
                f"{'; '.join(one.faults[:3])}"
                for one in refused[:_MOST_FAULTS]
            ]
            more = len(refused) - len(lines)
            raise RecordsError(
                f"{len(refused)} of {len(submission.verdicts)} records of {bundle} are refused:\n  "
                + "\n  ".join([*lines, *[f"and {more} more"] * bool(more)]),
                "Scores by an older version are made again by: mdbench rescore RESULTS.  Results "
                "that were edited are run again.",
            )
        target = self.folder / BUNDLES / f"{submission.sha256}.zip"
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            write_whole(target, lambda file: _copy(bundle, file))
        return submission

    def add_audit(self, path: Path) -> Audit:
        """Copy an audit and its signature into the registry.

        Raises
        ------
        RecordsError
            If it cannot be read, or is of a bundle that is not here.
        """
        audit = read_audit(path)
        if not (self.folder / BUNDLES / f"{audit.bundle}.zip").is_file():
            raise RecordsError(
                f"{path} is an audit of the bundle {audit.bundle[:8]}, which is not in "
                f"{self.folder}.",
                "Submit the bundle first: mdbench registry submit BUNDLE REGISTRY",
            )
        content = path.read_bytes()
        target = self.folder / AUDITS / f"{hashlib.sha256(content).hexdigest()}.json"
        target.parent.mkdir(parents=True, exist_ok=True)
        signature = path.with_name(f"{path.name}.sig")
        if signature.is_file():
            text = signature.read_bytes()
            write_whole(target.with_name(f"{target.name}.sig"), lambda file: file.write(text))
        write_whole(target, lambda file: file.write(content))
        return audit

    def submissions(self, *, n_jobs: int | None = 1) -> tuple[list[Submission], list[str]]:
        """Return the bundles in the order of their sums, and what was left out with the reason.

        A file that is not what its name says, or whose records are refused, is left out: whoever
        can write into the folder can put anything there.
        """
        submitted, left_out = [], []
        audits, no_audits = self._audits()
        for path in sorted((self.folder / BUNDLES).glob("*.zip")):
            try:
                submission = self._verify(path, audits, n_jobs)
            except (RecordsError, UsageError) as error:
                left_out.append(f"{path.name}: {error.message}")
                continue
            if submission.sha256 != path.stem:
                left_out.append(f"{path.name}: its SHA-256 is {submission.sha256}.")
            elif refused := [verdict for verdict in submission.verdicts if verdict.faults]:
                left_out.append(
                    f"{path.name}: {len(refused)} records are refused, the first as "
                    f"{refused[0].faults[0]}."
                )
            else:
                submitted.append(submission)
        return submitted, [*left_out, *no_audits]

    def _verify(self, bundle: Path, audits: Sequence[Audit], n_jobs: int | None) -> Submission:
        sha256 = sha256_of(bundle)
        with opened(bundle) as place:
            records = _newest(bundle, place)
        about = described(bundle)
        cached = self.folder / _VERDICTS / f"{sha256}.json"
        context = bench_hash()
        verdicts = _read_verdicts(cached, context)
        if verdicts is None or len(verdicts) != len(records):
            verdicts = tuple(check_records(records, self._workspace, n_jobs))
            cached.parent.mkdir(parents=True, exist_ok=True)
            text = json.dumps(
                {
                    "mdbench": __version__,
                    "context": context,
                    "verdicts": [_as_json(verdict) for verdict in verdicts],
                }
            )
            write_whole(cached, lambda file: file.write(text.encode()))
        own = tuple(audit for audit in audits if audit.bundle == sha256)
        return Submission(sha256, about, verdicts, own)

    def _audits(self) -> tuple[list[Audit], list[str]]:
        """Return the audits that count, and those that do not with the reason."""
        signers = self.folder / SIGNERS
        audits, left_out = [], []
        for path in sorted((self.folder / AUDITS).glob("*.json")):
            try:
                audit = read_audit(path)
                signer = signer_of(path, signers) if signers.is_file() else ""
            except RecordsError as error:
                left_out.append(f"audit {path.name}: {error.message}")
                continue
            if sha256_of(path) == path.stem:
                audits.append(audit.by(signer))
            else:
                left_out.append(f"audit {path.name}: its SHA-256 is another.")
        return audits, left_out


def _copy(bundle: Path, file: Any) -> None:
    with bundle.open("rb") as source:
        shutil.copyfileobj(source, file)


def _newest(bundle: Path, folder: Path) -> list[Record]:
    """Read the records of a bundle, of each job the newest of a file.

    Raises
    ------
    RecordsError
        If two files have a result of one job: nobody could say which counts.
    """
    seen: dict[str, Record] = {}
    for path in results_files(folder):
        own = {record.key: record for record in parse_records(path, read_content(path))}
        if twice := sorted(own.keys() & seen.keys()):
            record_of_two = own[twice[0]]
            raise RecordsError(
                f"{bundle} has two results of one job: {record_of_two.algorithm} on "
                f"{record_of_two.system}, seed "
                f"{record_of_two.seed}.",
                "Bundle the results of one folder.",
            )
        seen |= own
    return list(seen.values())


def _as_json(verdict: Verdict) -> dict[str, Any]:
    return {
        "record": verdict.record.model_dump(mode="json", by_alias=True),
        "trust": verdict.trust.value,
        "reason": verdict.reason,
        "faults": list(verdict.faults),
    }


def _read_verdicts(path: Path, context: str) -> tuple[Verdict, ...] | None:
    """Read what was found before by this version; None where there is nothing."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["context"] != context:
            return None
        return tuple(
            Verdict(
                Record.model_validate(verdict["record"]),
                Trust(verdict["trust"]),
                str(verdict["reason"]),
                tuple(map(str, verdict["faults"])),
            )
            for verdict in content["verdicts"]
        )
    except (OSError, ValueError, LookupError, TypeError):
        return None
