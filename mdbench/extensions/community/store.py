"""A registry: a folder with the bundles and audits of many people.

``bundles/SHA256.zip`` are bundles, ``audits/SHA256.json`` audits and ``withdrawals/SHA256.json``
withdrawals, each named by its own bytes, with the signature next to it.  Two registries are merged
by copying files.  What was found when records were scored again is kept outside, as whoever can
write into a registry could write that, too.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from mdbench import __version__
from mdbench.errors import RecordsError, UsageError
from mdbench.extensions.community.audits import Audit, check_sample, job_of, read_audit
from mdbench.extensions.community.checks import Folders, Trust, Verdict, check_records
from mdbench.extensions.community.signatures import signer_of_file
from mdbench.extensions.community.withdrawals import read_withdrawal
from mdbench.records import Record, parse_records, read_content, results_files
from mdbench.reports.bundle import described, is_bundle, opened, sha256_of
from mdbench.workspace import bench_hash, write_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from mdbench.workspace import Workspace

BUNDLES: Final = "bundles"
AUDITS: Final = "audits"
WITHDRAWALS: Final = "withdrawals"
_VERDICTS: Final = "verdicts"
SIGNERS: Final = "allowed_signers"
"""The file with the public keys of those whose word counts, as ``ssh-keygen`` reads it."""
STUDY: Final = "study.toml"
"""The study whose jobs the board is of; all jobs where there is none."""
_MOST_FAULTS: Final = 20
"""Refused records that an error shows."""


@dataclass(frozen=True)
class Submission:
    """A bundle of a registry, and what was found about its records, each by itself.

    Attributes
    ----------
    sha256
        The hash of the archive.
    about
        What it states of itself: ``title``, ``mdbench``.
    verdicts
        The verdicts on its records, in their order.
    """

    sha256: str
    about: dict[str, Any]
    verdicts: tuple[Verdict, ...]

    @property
    def name(self) -> str:
        """A short name."""
        return self.sha256[:8]


@dataclass(frozen=True)
class CheckedAudit:
    """An audit that counts.

    Attributes
    ----------
    name
        The first digits of its SHA-256.
    signer
        Who has signed it.
    audited
        The bundle.
    verdicts
        The verdicts on the records that its jobs left, in their order.
    """

    audit: Audit
    name: str
    signer: str
    audited: Submission
    verdicts: tuple[Verdict, ...]


@dataclass(frozen=True)
class Content:
    """All that a registry has.

    Attributes
    ----------
    withdrawn
        Why bundles are withdrawn, by their SHA-256.
    left_out
        What does not count, with the reason.
    """

    submissions: tuple[Submission, ...]
    audits: tuple[CheckedAudit, ...]
    withdrawn: dict[str, str]
    left_out: tuple[str, ...]


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
        self.folders = Folders(workspace)

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
        submission = self._verify(bundle, n_jobs)
        refused = [verdict for verdict in submission.verdicts if verdict.faults]
        if refused:
            lines = [
                f"{verdict.record.algorithm} · {verdict.record.system} · seed "
                f"{verdict.record.seed}: {'; '.join(verdict.faults[:3])}"
                for verdict in refused[:_MOST_FAULTS]
            ]
            more = len(refused) - len(lines)
            raise RecordsError(
                f"{len(refused)} of {len(submission.verdicts)} records of {bundle} are refused:\n  "
                + "\n  ".join([*lines, *[f"and {more} more"] * bool(more)]),
                "Scores by an older version are made again by: mdbench rescore RESULTS.  Results "
                "that were edited are run again.",
            )
        target = self._path(BUNDLES, submission.sha256)
        if not target.exists():
            write_whole(target, lambda file: _copy(bundle, file))
        return submission

    def _path(self, kind: str, sha256: str) -> Path:
        return self.folder / kind / f"{sha256}{'.zip' if kind == BUNDLES else '.json'}"

    def add_audit(self, path: Path) -> Audit:
        """Copy an audit and its signature into the registry.

        Raises
        ------
        RecordsError
            If it cannot be read, or is of a bundle that is not here.
        """
        audit = read_audit(path)
        self.check_bundle(audit.bundle, f"{path} is an audit of")
        self._add_signed(AUDITS, path)
        return audit

    def check_bundle(self, sha256: str, what: str) -> None:
        """Check that a bundle is here.

        Raises
        ------
        RecordsError
            If it is not; `what` begins the message.
        """
        if not self._path(BUNDLES, sha256).is_file():
            raise RecordsError(
                f"{what} the bundle {sha256[:8]}, which is not in {self.folder}.",
                "Submit the bundle first: mdbench registry submit BUNDLE REGISTRY",
            )

    def add_withdrawal(self, path: Path) -> None:
        """Copy a withdrawal and its signature into the registry.

        Raises
        ------
        RecordsError
            If it cannot be read, or is of nothing that is here.
        """
        sha256 = read_withdrawal(path).of
        if not self._path(AUDITS, sha256).is_file():
            self.check_bundle(sha256, f"{path} withdraws")
        self._add_signed(WITHDRAWALS, path)

    def _add_signed(self, kind: str, path: Path) -> None:
        content = path.read_bytes()
        target = self._path(kind, hashlib.sha256(content).hexdigest())
        signature = path.with_name(f"{path.name}.sig")
        if signature.is_file():
            text = signature.read_bytes()
            write_whole(target.with_name(f"{target.name}.sig"), lambda file: file.write(text))
        write_whole(target, lambda file: file.write(content))

    def read(self, *, n_jobs: int | None = 1) -> Content:
        """Return all that the registry has, the bundles in the order of their sums.

        A file that is not what its name says, or whose records are refused, is left out: whoever
        can write into the folder can put anything there.
        """
        left_out: list[str] = []
        withdrawn: dict[str, str] = {}

        def withdraw(path: Path) -> None:
            withdrawal = read_withdrawal(path)
            signer = signer_of_file(path, self.folder / SIGNERS)
            withdrawn[withdrawal.of] = f"withdrawn by {signer}: {withdrawal.reason}"

        submissions: dict[str, Submission] = {}

        def add(path: Path) -> None:
            submission = self._verify(path, n_jobs)
            if refused := [verdict for verdict in submission.verdicts if verdict.faults]:
                raise RecordsError(
                    f"{len(refused)} records are refused, the first as {refused[0].faults[0]}"
                )
            submissions[submission.sha256] = submission

        audits: list[CheckedAudit] = []

        def check(path: Path) -> None:
            if path.stem in withdrawn:
                raise RecordsError(withdrawn[path.stem])
            audits.append(self._check_audit(path, submissions, n_jobs))

        for kind, ending, take in (
            (WITHDRAWALS, "json", withdraw),
            (BUNDLES, "zip", add),
            (AUDITS, "json", check),
        ):
            for path in sorted((self.folder / kind).glob(f"*.{ending}")):
                reason = _why_left_out(path, take)
                left_out += [f"{kind}/{path.name}: {reason}"] * bool(reason)
        return Content(tuple(submissions.values()), tuple(audits), withdrawn, tuple(left_out))

    def _check_audit(
        self, path: Path, submissions: dict[str, Submission], n_jobs: int | None
    ) -> CheckedAudit:
        """Read an audit, and refuse one that is not signed or not of the sample that it should be.

        Raises
        ------
        RecordsError
            If it does not count.
        """
        audit = read_audit(path)
        signers = self.folder / SIGNERS
        signer = signer_of_file(path, signers)
        if audit.bundle not in submissions:
            raise RecordsError(f"its bundle {audit.bundle[:8]} is not among those that count")
        audited = submissions[audit.bundle]
        as_they_came = [
            verdict.record.model_copy(update={"key": verdict.key}) for verdict in audited.verdicts
        ]
        check_sample(audit, signer, signers, as_they_came)
        records = [job.record for job in audit.jobs]
        verdicts = tuple(
            # A record that does not fit together is no evidence.
            replace(verdict, trust=Trust.CLAIMED) if verdict.faults else verdict
            for verdict in self._verdicts(path.stem, records, n_jobs)
        )
        return CheckedAudit(audit, path.stem[:8], signer, audited, verdicts)

    def _verify(self, bundle: Path, n_jobs: int | None) -> Submission:
        sha256 = sha256_of(bundle)
        with opened(bundle) as folder:
            records = newest_of(bundle, folder)
        return Submission(sha256, described(bundle), self._verdicts(sha256, records, n_jobs))

    def _verdicts(
        self, name: str, records: Sequence[Record], n_jobs: int | None
    ) -> tuple[Verdict, ...]:
        """Return the verdicts on records; those of before by this version are taken from a file."""
        cached = self._workspace.home / _VERDICTS / f"{name}.json"
        context = bench_hash()
        verdicts = _read_verdicts(cached, context)
        if verdicts is None or [verdict.key for verdict in verdicts] != [r.key for r in records]:
            verdicts = tuple(check_records(records, self._workspace, n_jobs))
            text = json.dumps(
                {
                    "mdbench": __version__,
                    "context": context,
                    "verdicts": [_as_json(verdict) for verdict in verdicts],
                }
            )
            write_whole(cached, lambda file: file.write(text.encode()))
        return tuple(
            replace(verdict, faults=(*verdict.faults, *self.folders.faults(record)))
            for verdict, record in zip(verdicts, records, strict=True)
        )


def _why_left_out(path: Path, take: Callable[[Path], None]) -> str:
    """Take a file in, and return why it cannot be; empty where it can."""
    try:
        if (sha256 := sha256_of(path)) != path.stem:
            return f"its SHA-256 is {sha256}"
        take(path)
    except (RecordsError, UsageError) as error:
        return error.message
    return ""


def _copy(bundle: Path, file: Any) -> None:
    with bundle.open("rb") as source:
        shutil.copyfileobj(source, file)


def newest_of(bundle: Path, folder: Path) -> list[Record]:
    """Read the records of a bundle, of each job the newest of a file.

    Raises
    ------
    RecordsError
        If two files have a result of one job: nobody could say which counts; or if a key, which is
        of one folder of a method, is there under two names.
    """
    seen: dict[str, Record] = {}
    for path in results_files(folder):
        own = {_job(record): record for record in parse_records(path, read_content(path))}
        if twice := sorted(own.keys() & seen.keys()):
            record_of_two = own[twice[0]]
            raise RecordsError(
                f"{bundle} has two results of one job: {record_of_two.algorithm} on "
                f"{record_of_two.system}, seed "
                f"{record_of_two.seed}.",
                "Bundle the results of one folder.",
            )
        seen |= own
    names: dict[str, str] = {}
    for record in seen.values():
        if (other := names.setdefault(record.key, record.algorithm)) != record.algorithm:
            raise RecordsError(
                f"{bundle} has one job under two names of methods: {other} and "
                f"{record.algorithm}, on {record.system}, seed {record.seed}.",
                "One of them is not its own: bundle the results without it.",
            )
    return list(seen.values())


def _job(record: Record) -> str:
    try:
        return job_of(record)
    except (
        UsageError,
        ValueError,
        TypeError,
    ):  # it is refused, with the reason, when it is checked
        return record.key


def _as_json(verdict: Verdict) -> dict[str, Any]:
    return {
        "record": verdict.record.model_dump(mode="json", by_alias=True),
        "key": verdict.key,
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
                str(verdict["key"]),
                Trust(verdict["trust"]),
                str(verdict["reason"]),
                tuple(map(str, verdict["faults"])),
            )
            for verdict in content["verdicts"]
        )
    except (OSError, ValueError, LookupError, TypeError):
        return None
