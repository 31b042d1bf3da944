"""The options of ``mdbench run``, ``plan`` and ``study``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from mdbench.cli.options import (
    PASSTHROUGH,
    Exit,
    ParsedArgs,
    PassthroughCommand,
    settings,
    with_methods,
    with_run_options,
)
from mdbench.cli.parameters import Json
from mdbench.runs.study import Study


@settings(cls=PassthroughCommand, context_settings=PASSTHROUGH)
@with_methods
@with_run_options
def run(
    study: Study,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Print what plan prints, and run nothing."),
    ] = False,
    json: Json = False,
) -> int:
    """Run methods on datasets; every job leaves a record, and the same command goes on."""
    from mdbench.cli.run import run_study, show_plan

    if dry_run:
        show_plan(study, Console(highlight=False), json_=json)
        return Exit.DONE
    return run_study(study, console=Console(highlight=False, stderr=json), json_=json)


@settings(cls=PassthroughCommand, context_settings=PASSTHROUGH)
@with_methods
@with_run_options
def plan(
    study: Study,
    why: Annotated[
        bool, typer.Option("--why", help="Show for each job why it would be run, or not.")
    ] = False,
    json: Json = False,
) -> None:
    """Show what the same options given to run would do, why, and at what cost."""
    from mdbench.cli.run import show_plan

    show_plan(study, Console(highlight=False), json_=json, each_job=why)


@settings(cls=PassthroughCommand, context_settings=PASSTHROUGH)
@with_methods
@with_run_options
def study_(
    args: ParsedArgs,
    init: Annotated[
        Path | None,
        typer.Option("--init", metavar="FILE", help="Write these options into a new study."),
    ] = None,
) -> None:
    """Write a study file from options, or check one: --study FILE."""
    from mdbench.cli.run import write_or_check_study

    write_or_check_study(args, init, Console(highlight=False))
