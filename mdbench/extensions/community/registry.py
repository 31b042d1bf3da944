"""``mdbench registry submit``, ``audit`` and ``board``: results of many people."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pydantic import ValidationError
from rich.markup import escape

from mdbench import __version__, methods
from mdbench.authoring.memory import DATA_TYPE, MOST_DRAWS
from mdbench.cli.check import check_moved_laws
from mdbench.cli.options import Exit
from mdbench.cli.report import html_of, metrics_of, write
from mdbench.cli.results import run_again
from mdbench.errors import UsageError, counted, first_fault
from mdbench.extensions.community.audits import (
    ENOUGH,
    FORMAT,
    Audit,
    RerunJob,
    Sample,
    draw_text,
    outcome_of,
    without_candidates,
    write_audit,
)
from mdbench.extensions.community.board import PAGE, make_site, name_of
from mdbench.extensions.community.checks import Trust
from mdbench.extensions.community.editions import EDITION, difference, edition_of
from mdbench.extensions.community.evidence import Evidence, count_by_trust
from mdbench.extensions.community.signatures import salt_of, sign, signature_of
from mdbench.extensions.community.store import (
    AUDITS,
    BUNDLES,
    SIGNERS,
    STUDY,
    Registry,
    newest_of,
)
from mdbench.extensions.community.withdrawals import Withdrawal, is_withdrawal
from mdbench.reports.bundle import is_bundle, opened, sha256_of
from mdbench.runs.plan import make_plan
from mdbench.runs.spec import JobSpec
from mdbench.runs.study import Study
from mdbench.runtimes.registry import AUTOMATIC
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from rich.console import Console

    from mdbench.cli.results import RunAgain
    from mdbench.extensions.community.audits import Outcome
    from mdbench.records import Record


SHARE = 0.05
"""Part of the records of each method that an audit runs again, where nothing is asked for."""


def submit_bundle(path: Path, registry: Path, console: Console, n_jobs: int | None) -> int:
    """Verify a bundle, or read an audit or a withdrawal, and add it to a registry."""
    here = Registry(registry, Workspace.find())
    if path.suffix == ".json":
        return _submit_statement(path, here, console)
    submission = here.submit(path, n_jobs=n_jobs)
    judged = Evidence(here.read(n_jobs=n_jobs)).judge(submission)
    shown = ", ".join(f"{number} {trust}" for trust, number in count_by_trust(judged).items())
    console.print(
        f"Added bundle {submission.name} to {escape(str(registry))}: "
        f"{counted(len(judged), 'record')}, {shown}.",
        soft_wrap=True,
    )
    reasons = Counter(record.reason for record in judged if record.trust is Trust.CLAIMED)
    for reason, number in reasons.most_common():
        console.print(f"  {number} claimed, as {escape(reason)}", soft_wrap=True)
    versions = {here.folders.named(record.record).algorithm for record in judged}
    for name in sorted(versions - {record.record.algorithm for record in judged}):
        console.print(f"  shown as {escape(name)}", soft_wrap=True)
    return Exit.DONE


def _submit_statement(path: Path, registry: Registry, console: Console) -> int:
    """Add an audit or a withdrawal to a registry."""
    if is_withdrawal(path):
        registry.add_withdrawal(path)
        console.print(f"Added a withdrawal: {escape(str(path))}", soft_wrap=True)
    else:
        audit = registry.add_audit(path)
        console.print(
            f"Added an audit of bundle {audit.bundle[:8]}: {counted(len(audit.jobs), 'job')}.",
            soft_wrap=True,
        )
    if not (registry.folder / SIGNERS).is_file():
        console.print(
            f"[yellow]It counts once {SIGNERS} in {escape(str(registry.folder))} names its "
            "signer.[/]",
            soft_wrap=True,
        )
    return Exit.DONE


def audit_bundle(
    bundle: Path,
    console: Console,
    *,
    share: float | None,
    salt: str | None,
    out: Path,
    key: Path | None,
    moved: bool,
    n_jobs: int | None,
) -> int:
    """Run a random sample of a bundle's jobs again, and write what they left.

    With `moved` its methods are run on moved laws, too, by a draw that the salt decides.
    """
    if not is_bundle(bundle):
        raise UsageError(f"{bundle} is no bundle.", "Bundles come from: mdbench bundle")
    if share is not None and not 0.0 < share <= 1.0:
        raise UsageError(
            f"--sample is {share:g}.", "Give a part of the records, above 0 and at most 1: 0.05"
        )
    if key is not None and salt is not None:
        raise UsageError(
            "--salt was given with --sign.", "The salt of an audit that counts is the key's own."
        )
    sha256 = sha256_of(bundle)
    draw = "" if key is None else signature_of(draw_text(sha256), key)
    salt = salt_of(draw) if draw else salt or secrets.token_hex(8)
    how = Sample(SHARE, ENOUGH, salt) if share is None else Sample(share, 1, salt)
    with opened(bundle) as folder:
        records = newest_of(bundle, folder)
        chosen = how.of(records, sha256)
        if not chosen:
            raise UsageError(f"{bundle} has no job that could be run again.")
        console.print(
            f"Running {counted(len(chosen), 'job')} of {len(records)} again, chosen by the "
            f"bundle's SHA-256 and the salt {escape(salt)}",
            soft_wrap=True,
        )
        pairs = []
        keys = {record.key for record in chosen}
        # As here, whatever the records name: a bundle could name a runtime that nobody has.
        runtime = os.environ.get("MDBENCH_RUNTIME") or AUTOMATIC
        for pair in run_again(folder, keys, [], n_jobs, console, runtime=runtime):
            if pair is None:
                return Exit.INTERRUPTED
            pairs.append(_rerun_job(pair, console))
    jobs, outcomes = [job for job, _ in pairs], Counter(outcome for _, outcome in pairs)
    audit = Audit(
        audit=FORMAT,
        bundle=sha256,
        share=how.share,
        least=how.least,
        salt=salt,
        draw=draw,
        mdbench=__version__,
        made=datetime.now(UTC),
        jobs=tuple(sorted(jobs, key=lambda job: job.key)),
    )
    write_audit(out, audit)
    if key is not None:
        console.print(f"Signed: {escape(str(sign(out, key)))}", soft_wrap=True)
    console.print(
        f"{outcomes['equal']} equal, {outcomes['different']} different, "
        f"{outcomes['undecided']} undecided: {escape(str(out))}",
        soft_wrap=True,
    )
    if key is None:
        console.print("It is not signed, and counts in no registry: --sign KEY", soft_wrap=True)
    known = moved and _know_laws(records, salt, console)
    return Exit.NOT_AS_WISHED if outcomes["different"] or known else Exit.DONE


def _rerun_job(pair: RunAgain, console: Console) -> tuple[RerunJob, Outcome]:
    """Print how a job that was run again agrees, and return what an audit has of it."""
    spec = pair.method.spec
    job = RerunJob(
        key=pair.before.key,
        repeatable=spec.repeatable,
        chaotic=spec.chaotic,
        record=without_candidates(pair.after),
    )
    outcome, reason = outcome_of(pair.before, job, pair.after)
    text = f"{name_of(pair.before)}  {outcome}{f': {reason}' if reason else ''}"
    console.print(escape(text), soft_wrap=True)
    return job, outcome


def withdraw(
    sha256: str, registry: Path, console: Console, *, reason: str, out: Path, key: Path
) -> int:
    """Write and sign that a bundle or an audit counts no more, and add that to a registry.

    `sha256` may be the beginning of the sum.
    """
    files = [*registry.glob(f"{BUNDLES}/*.zip"), *registry.glob(f"{AUDITS}/*.json")]
    names = sorted(path.stem for path in files if path.stem.startswith(sha256))
    if len(names) != 1 or not sha256:
        some = f"{len(names)} bundles or audits begin" if names else "No bundle or audit begins"
        raise UsageError(
            f"{some} with {sha256!r} in {registry}.", "Give the first digits of its SHA-256."
        )
    try:
        text = Withdrawal(of=names[0], reason=reason).model_dump_json(indent=1)
    except ValidationError as error:
        raise UsageError(f"--reason: {first_fault(error)}", "Give one line.") from None
    out.write_text(f"{text}\n", encoding="utf-8")
    sign(out, key)
    return _submit_statement(out, Registry(registry, Workspace.find()), console)


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


def make_board(
    registry: Path, out: Path, console: Console, *, title: str, n_jobs: int | None, json_: bool
) -> int:
    """Make the site of a registry."""
    if not registry.is_dir():
        raise UsageError(
            f"There is no registry {registry}.",
            f"Add a bundle: mdbench registry submit BUNDLE {registry}",
        )
    workspace = Workspace.find()
    here = Registry(registry, workspace)
    content = here.read(n_jobs=n_jobs)
    if not content.submissions:
        raise UsageError(
            f"{registry} has no bundle that can be shown.",
            content.left_out[0]
            if content.left_out
            else f"Add one: mdbench registry submit BUNDLE {registry}",
        )
    study = registry / STUDY
    records = [verdict.record for one in content.submissions for verdict in one.verdicts]
    files = make_site(
        content,
        here.folders,
        metrics_of(records),
        lambda rows, heading: html_of(rows, title=heading),
        title=title,
        wanted=_asked_by(study, workspace) if study.is_file() else None,
        warnings=(warnings := _warnings(registry)),
    )
    files[EDITION] = json.dumps(edition_of(registry, records), indent=1) + "\n"
    for name, text in files.items():
        write(out / name, text)
    if json_:
        print(
            json.dumps(
                {
                    "schema": 1,
                    "page": str(out / PAGE),
                    "bundles": [one.sha256 for one in content.submissions],
                    "left_out": content.left_out,
                    "warnings": warnings,
                }
            )
        )
        return Exit.DONE
    for line in [*warnings, *(f"left out: {line}" for line in content.left_out)]:
        console.print(f"[yellow]{escape(line)}[/]", soft_wrap=True)
    console.print(
        f"{counted(len(records), 'record')} of {counted(len(content.submissions), 'bundle')} in "
        f"{escape(str(out / PAGE))}",
        soft_wrap=True,
    )
    return Exit.DONE


def show_difference(before: Path, after: Path, console: Console) -> int:
    """Print what differs between two editions of a board."""
    lines = difference(before, after).lines()
    for line in lines or ["Nothing differs."]:
        console.print(escape(line), soft_wrap=True)
    return Exit.NOT_AS_WISHED if lines else Exit.DONE


def _warnings(registry: Path) -> list[str]:
    """Return what a registry lacks that keeps its board from being bent."""
    lines = []
    if not (registry / SIGNERS).is_file():
        lines.append(f"No audit counts: there is no {SIGNERS}, which names the auditors.")
    if not (registry / STUDY).is_file():
        lines.append(
            f"There is no {STUDY}, which names the jobs of this board: whoever submits other jobs "
            "changes who has done them all, and so who is compared."
        )
    return lines


def _asked_by(study: Path, workspace: Workspace) -> Callable[[Record], bool]:
    """Return whether a record is of a question that a study asks, of whatever method."""

    def question(job: JobSpec) -> tuple[object, ...]:
        return (*job.question, job.option_text)

    asked = {question(job) for job in make_plan(Study.read(study), workspace).jobs}
    return lambda record: question(JobSpec.of(record)) in asked
