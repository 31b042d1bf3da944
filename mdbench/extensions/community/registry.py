"""``mdbench registry submit``, ``audit`` and ``board``: results of many people."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rich.markup import escape

from mdbench import __version__, methods
from mdbench.authoring.memory import DATA_TYPE, MOST_DRAWS
from mdbench.cli.check import check_moved_laws
from mdbench.cli.options import Exit
from mdbench.cli.report import html_of, metrics_of, write
from mdbench.cli.results import run_again
from mdbench.errors import UsageError, counted
from mdbench.extensions.community.audits import AuditedJob, outcome_of, sample, sign, write_audit
from mdbench.extensions.community.board import PAGE, make_site
from mdbench.extensions.community.checks import Trust
from mdbench.extensions.community.store import Registry
from mdbench.records import RecordStore, results_files
from mdbench.reports.bundle import is_bundle, opened, sha256_of
from mdbench.reports.classes import latest
from mdbench.reports.joining import distinguish
from mdbench.runs.record import this_machine
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.console import Console

    from mdbench.records import Record


def submit_bundle(path: Path, registry: Path, console: Console, n_jobs: int | None) -> int:
    """Verify a bundle, or read an audit, and add it to a registry."""
    here = Registry(registry, Workspace.find())
    if path.suffix == ".json":
        audit = here.add_audit(path)
        console.print(
            f"Added audit {audit.name} of bundle {audit.bundle[:8]}: {audit.words}.",
            soft_wrap=True,
        )
        return Exit.DONE
    submission = here.submit(path, n_jobs=n_jobs)
    classes = Counter(submission.trust(verdict)[0] for verdict in submission.verdicts)
    shown = ", ".join(f"{classes[trust]} {trust}" for trust in Trust if classes[trust])
    console.print(
        f"Added bundle {submission.name} to {escape(str(registry))}: "
        f"{counted(len(submission.verdicts), 'record')}, {shown}.",
        soft_wrap=True,
    )
    reasons = Counter(
        reason
        for trust, reason in map(submission.trust, submission.verdicts)
        if trust is Trust.CLAIMED
    )
    for reason, number in reasons.most_common():
        console.print(f"  {number} claimed, as {escape(reason)}", soft_wrap=True)
    return Exit.DONE


def audit_bundle(
    bundle: Path,
    console: Console,
    *,
    share: float,
    salt: str | None,
    out: Path,
    key: Path | None,
    moved: bool,
    n_jobs: int | None,
) -> int:
    """Run a random sample of a bundle's jobs again, and write what was found.

    With `moved` its methods are run on moved laws, too, by a draw that the salt decides.
    """
    if not is_bundle(bundle):
        raise UsageError(f"{bundle} is no bundle.", "Bundles come from: mdbench bundle")
    if not 0.0 < share <= 1.0:
        raise UsageError(
            f"--sample is {share:g}.", "Give a part of the records, above 0 and at most 1: 0.05"
        )
    salt = secrets.token_hex(8) if salt is None else salt
    sha256 = sha256_of(bundle)
    with opened(bundle) as folder:
        records = [one for file in results_files(folder) for one in RecordStore(file).read()]
        chosen = sample(records, sha256, share, salt)
        if not chosen:
            raise UsageError(f"{bundle} has no job that could be run again.")
        console.print(
            f"Running {counted(len(chosen), 'job')} of {len(records)} again, chosen by the "
            f"bundle's SHA-256 and the salt {escape(salt)}",
            soft_wrap=True,
        )
        jobs = []
        for pair in run_again(folder, {record.key for record in chosen}, [], n_jobs, console):
            if pair is None:
                return Exit.INTERRUPTED
            outcome, reason = outcome_of(pair.before, pair.after, pair.agreed.sameness, pair.method)
            name = _name(pair.before)
            jobs.append(AuditedJob(key=pair.before.key, job=name, outcome=outcome, reason=reason))
            console.print(
                escape(f"{name}  {outcome}{f': {reason}' if reason else ''}"), soft_wrap=True
            )
    audit = write_audit(
        out,
        bundle_sha256=sha256,
        share=share,
        salt=salt,
        jobs=sorted(jobs, key=lambda job: job.key),
        machine=this_machine(),
        made=datetime.now(UTC),
        version=__version__,
    )
    if key is not None:
        console.print(f"Signed: {escape(str(sign(out, key)))}", soft_wrap=True)
    undecided = len(audit.jobs) - audit.equal - audit.differing
    console.print(
        f"{audit.equal} equal, {audit.differing} different, {undecided} undecided: "
        f"{escape(str(out))}",
        soft_wrap=True,
    )
    known = moved and _know_laws(records, salt, console)
    return Exit.NOT_AS_WISHED if audit.differing or known else Exit.DONE


def _know_laws(records: Sequence[Record], salt: str, console: Console) -> bool:
    """Print what each method of a bundle identifies of moved laws; whether one knows laws."""
    workspace = Workspace.find()
    here = methods.discover(workspace.algorithms)
    asked = sorted({one.algorithm for one in records if one.data_type == DATA_TYPE})
    names = [
        name
        for name in asked
        if isinstance(method := here.get(name), methods.Method) and method.spec.equations
    ]
    if missing := [name for name in asked if name not in names]:
        console.print(
            escape(f"--moved: no folder here, or no equations: {', '.join(missing)}"),
            soft_wrap=True,
        )
    if not names:
        return False
    number = 1 + int(hashlib.sha256(salt.encode()).hexdigest(), 16) % MOST_DRAWS
    found = check_moved_laws(names, workspace, console, records[0].runtime.name, number=number)
    return found == Exit.NOT_AS_WISHED


def _name(record: Record) -> str:
    noise = "clean" if record.snr_db is None else f"{record.snr_db:g} dB"
    return f"{record.algorithm} · {record.system} · {noise} · seed {record.seed}"


def make_board(
    registry: Path, out: Path, console: Console, *, title: str, n_jobs: int | None, json_: bool
) -> int:
    """Make the site of a registry."""
    if not registry.is_dir():
        raise UsageError(
            f"There is no registry {registry}.",
            f"Add a bundle: mdbench registry submit BUNDLE {registry}",
        )
    here = Registry(registry, Workspace.find())
    submissions, left_out = here.submissions(n_jobs=n_jobs)
    if not submissions:
        raise UsageError(
            f"{registry} has no bundle that can be shown.",
            left_out[0] if left_out else f"Add one: mdbench registry submit BUNDLE {registry}",
        )

    def page(rows: list[tuple[str, Record]], heading: str) -> str:
        named = distinguish([(registry / name, record) for name, record in rows])
        return html_of(latest(record for _, record in named), title=heading)

    records = [verdict.record for one in submissions for verdict in one.verdicts]
    files = make_site(submissions, left_out, metrics_of(records), page, title=title)
    for name, text in files.items():
        write(out / name, text)
    if json_:
        print(
            json.dumps(
                {
                    "schema": 1,
                    "page": str(out / PAGE),
                    "bundles": [one.sha256 for one in submissions],
                    "left_out": left_out,
                }
            )
        )
        return Exit.DONE
    for line in left_out:
        console.print(f"[yellow]left out: {escape(line)}[/]", soft_wrap=True)
    console.print(
        f"{counted(len(records), 'record')} of {counted(len(submissions), 'bundle')} in "
        f"{escape(str(out / PAGE))}",
        soft_wrap=True,
    )
    return Exit.DONE
