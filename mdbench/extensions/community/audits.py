"""Audits: a random sample of a bundle's jobs, run again by somebody else.

The sample follows from the bundle's own SHA-256 and the auditor's salt, so that whoever makes a
bundle cannot know which of its records will be run again.
"""

from __future__ import annotations

import hashlib
import json
import math
import subprocess
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from mdbench.errors import RecordsError, UnavailableError, counted, first_fault
from mdbench.records import Machine, Status
from mdbench.runs.reproduce import Agreement

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from mdbench.methods import Method
    from mdbench.records import Record

FORMAT: Final = 1
NAMESPACE: Final = "mdbench-audit"
"""What a signature is for, so that one made for another purpose is none (``ssh-keygen -n``)."""
_LARGEST: Final = 2**22
_DECIDES: Final = frozenset({Agreement.SAME, Agreement.NEARLY})


class AuditedJob(BaseModel):
    """One job of the sample: its record's key, and how its results agreed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    key: str = Field(pattern="^[0-9a-f]{64}$")
    job: str
    outcome: Literal["equal", "different", "undecided"]
    reason: str = ""


class _File(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    audit: int
    bundle: str = Field(pattern="^[0-9a-f]{64}$")
    share: float = Field(gt=0.0, le=1.0)
    salt: str
    mdbench: str
    made: AwareDatetime
    machine: Machine
    jobs: tuple[AuditedJob, ...] = Field(min_length=1)


@dataclass(frozen=True)
class Audit:
    """The result of an audit.

    Attributes
    ----------
    bundle
        The SHA-256 of the archive.
    name
        The first digits of the audit's own SHA-256.
    jobs
        The jobs that were run again.
    signer
        Who has signed it; empty where nobody's signature was asked for.
    """

    bundle: str
    name: str
    share: float
    salt: str
    jobs: tuple[AuditedJob, ...]
    signer: str = ""

    @property
    def differing(self) -> int:
        """How many results differ."""
        return sum(job.outcome == "different" for job in self.jobs)

    @property
    def equal(self) -> int:
        """How many results are equal."""
        return sum(job.outcome == "equal" for job in self.jobs)

    @property
    def passed(self) -> bool:
        """Whether no result differs and at least one could be decided."""
        return not self.differing and self.equal > 0

    @property
    def words(self) -> str:
        """The result in words."""
        decided = self.equal + self.differing
        by = f", signed by {self.signer}" if self.signer else ""
        return f"{self.differing} of {counted(decided, 'result')} differ{by}"

    def by(self, signer: str) -> Audit:
        """Return the audit with who has signed it."""
        return replace(self, signer=signer)


def sample(records: Sequence[Record], bundle_sha256: str, share: float, salt: str) -> list[Record]:
    """Return the records that are run again, at least one.

    Parameters
    ----------
    records
        The records of the bundle, in any order.
    bundle_sha256
        Of the archive.
    share
        Part of the records, above 0 and at most 1.
    salt
        The auditor's own text.
    """

    def place(record: Record) -> str:
        return hashlib.sha256(f"{bundle_sha256} {salt} {record.key}".encode()).hexdigest()

    candidates = [record for record in records if record.attempted]
    return sorted(candidates, key=place)[: max(1, math.ceil(share * len(candidates)))]


def outcome_of(
    before: Record, after: Record, agreement: Agreement, method: Method
) -> tuple[Literal["equal", "different", "undecided"], str]:
    """Return whether a job that was run again has left an equal result, and what to remark.

    Where the answer depends on how far a method came in its time, or on chance that no seed
    holds, another answer proves nothing.  Then only an answer where there was none, or none where
    there was one, is a difference.
    """
    if agreement in _DECIDES:
        return "equal", ""
    for part in ("adapter", "environment"):
        if before.key_parts.get(part) != after.key_parts.get(part):
            return "undecided", f"the method here has another {part}"
    ended = {Status.PARTIAL, Status.TIMEOUT} & {before.status, after.status}
    if before.answered != after.answered and not ended:
        return "different", f"{before.status} in the bundle, {after.status} here"
    if not method.spec.repeatable or agreement is Agreement.CHAOTIC:
        return "undecided", "the method's answers differ from run to run"
    if ended:
        return "undecided", "the job was ended by its limit"
    return "different", "another result"


def write_audit(
    path: Path,
    *,
    bundle_sha256: str,
    share: float,
    salt: str,
    jobs: Iterable[AuditedJob],
    machine: Machine,
    made: AwareDatetime,
    version: str,
) -> Audit:
    """Write an audit's file and return it."""
    content = _File(
        audit=FORMAT,
        bundle=bundle_sha256,
        share=share,
        salt=salt,
        mdbench=version,
        made=made,
        machine=machine,
        jobs=tuple(jobs),
    )
    path.write_text(content.model_dump_json(indent=1) + "\n", encoding="utf-8")
    return read_audit(path)


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
        if isinstance(number, int) and number > FORMAT:
            raise RecordsError(f"{path} is an audit of format {number}.", "Update mdbench.")
        file = _File.model_validate_json(content)
    except ValidationError as error:
        raise RecordsError(f"{path} is no audit: {first_fault(error, 'it')}", hint) from None
    except (OSError, ValueError, AttributeError, RecursionError) as error:
        raise RecordsError(f"{path} is no audit: {error}", hint) from None
    name = hashlib.sha256(content).hexdigest()[:8]
    return Audit(file.bundle, name, file.share, file.salt, file.jobs)


def sign(path: Path, key: Path) -> Path:
    """Sign a file with an SSH key and return the signature's file.

    Raises
    ------
    UnavailableError
        If there is no ``ssh-keygen``, or if it refuses the key.
    """
    signature = path.with_name(f"{path.name}.sig")
    signature.unlink(missing_ok=True)
    done = _ssh_keygen("-Y", "sign", "-f", str(key), "-n", NAMESPACE, str(path))
    if done.returncode or not signature.is_file():
        raise UnavailableError(
            f"{path} was not signed: {done.stderr.strip().splitlines()[-1:] or done.returncode}",
            "Name a private key as ssh-keygen makes it: --sign ~/.ssh/id_ed25519",
        )
    return signature


def signer_of(path: Path, signers: Path) -> str:
    """Return who has signed an audit.

    Parameters
    ----------
    path
        The audit; its signature is next to it.
    signers
        A file of public keys by name, as ``ssh-keygen`` reads it (``allowed_signers``).

    Raises
    ------
    RecordsError
        If none of the keys in `signers` made the signature.
    """
    signature = path.with_name(f"{path.name}.sig")
    if not signature.is_file():
        raise RecordsError(f"it is not signed, and {signers.name} names whose audits count")
    arguments = ["-s", str(signature)]
    found = _ssh_keygen("-Y", "find-principals", *arguments, "-f", str(signers))
    for name in found.stdout.split("\n"):
        if not name.strip():
            continue
        checked = _ssh_keygen(
            *("-Y", "verify", *arguments, "-f", str(signers), "-n", NAMESPACE, "-I", name.strip()),
            content=path.read_bytes(),
        )
        if checked.returncode == 0:
            return name.strip()
    raise RecordsError(f"its signature is of nobody in {signers.name}")


def _ssh_keygen(*arguments: str, content: bytes = b"") -> subprocess.CompletedProcess[str]:
    try:
        done = subprocess.run(
            ["ssh-keygen", *arguments], input=content, capture_output=True, check=False
        )
    except OSError as error:
        raise UnavailableError(
            "Signatures need ssh-keygen, which was not found.",
            "Install OpenSSH's client (on Debian and Ubuntu: apt install openssh-client).",
        ) from error
    return subprocess.CompletedProcess(
        done.args, done.returncode, done.stdout.decode(), done.stderr.decode(errors="replace")
    )
