"""The options of ``mdbench run``, ``plan``, ``study``, ``list``, ``install``, ``data`` and more."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from mdbench.cli.options import (
    COMPLETIONS,
    PASSTHROUGH,
    Exit,
    ParsedArgs,
    PassthroughCommand,
    settings,
    with_methods,
    with_run_options,
)
from mdbench.cli.parameters import Datasets, DataType, Json, NJobs, RuntimeName, read_n_jobs
from mdbench.errors import UsageError
from mdbench.runs.options import read_protocol
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


@with_methods
def list_(
    datasets: Annotated[
        bool, typer.Option("--datasets", help="Show every dataset by name.")
    ] = False,
    data_type: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Only this kind of problem.",
            autocompletion=COMPLETIONS["data_type"],
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Show the methods and the datasets."""
    from mdbench.cli.workspace import list_all, list_as_json
    from mdbench.workspace import Workspace

    if json:
        list_as_json(Workspace.find(), data_type)
    else:
        list_all(Workspace.find(), Console(highlight=False), data_type, names=datasets)


@with_methods
def install(
    method: Annotated[
        list[str] | None,
        typer.Argument(help="Methods.  Default: all.", autocompletion=COMPLETIONS["algorithm"]),
    ] = None,
    runtime: RuntimeName = "auto",
    n_jobs: NJobs = None,
    lock: Annotated[
        bool,
        typer.Option("--lock", help="Make requirements.lock of the named methods first."),
    ] = False,
    save: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the images into one file, for docker load."),
    ] = None,
    clean: Annotated[
        bool,
        typer.Option("--clean", help="Remove all environments and images that were made here."),
    ] = False,
) -> int:
    """Prepare the environments of methods ahead of a run, several at a time."""
    from mdbench.cli.workspace import install_all
    from mdbench.workspace import Workspace

    names, workspace = method or [], Workspace.find()
    if clean:
        from mdbench.runtimes.environments.removal import remove_all

        if names or lock:
            raise UsageError("--clean removes all environments.", "Give it alone.")
        remove_all(workspace.home, print)
        return Exit.DONE
    if lock:
        from mdbench.runtimes.environments.requirements import lock_method

        if not names:
            raise UsageError("--lock goes with names of methods.", "mdbench install --lock METHOD")
        for name in names:
            lock_method(name, workspace.algorithms, print)
    return install_all(
        names,
        workspace,
        Console(highlight=False),
        runtime_name=runtime,
        n_jobs=read_n_jobs(n_jobs),
        save=save,
    )


def probe(json: Json = False) -> None:
    """Show what each runtime keeps methods from on this machine."""
    from mdbench.cli.workspace import show_runtimes
    from mdbench.workspace import Workspace

    show_runtimes(Workspace.find(), Console(highlight=False), json_=json)


@settings(cls=PassthroughCommand, context_settings=PASSTHROUGH)
def data(
    context: typer.Context,
    data_type: DataType,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder to write into.")] = None,
    dataset: Datasets = None,
    dataset_path: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Describe data of your own.")
    ] = None,
    with_noise: Annotated[
        bool, typer.Option("--with-noise", help="The noisy files too: 40, 30, 20, 10 dB.")
    ] = False,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the noise.")] = 0,
    protocol: Annotated[
        str, typer.Option(metavar="NAME", help="strict, or published for MDBench's own noise.")
    ] = "strict",
) -> None:
    """Write the project's datasets as NPZ files as MDBench reads them, or look at your own."""
    from mdbench.cli.workspace import DataOptions, export_data
    from mdbench.workspace import Workspace

    export_data(
        Workspace.find(),
        Console(highlight=False),
        data_type,
        DataOptions(out, dataset_path, context.args, dataset or ()),
        with_noise=with_noise,
        seed=seed,
        protocol=read_protocol("--protocol", protocol),
    )


def help_(
    context: typer.Context,
    verb: Annotated[
        list[str] | None, typer.Argument(metavar="VERB", help="Show the options of this one.")
    ] = None,
) -> int:
    """Show all verbs."""
    from mdbench.cli.main import main, write_verbs
    from mdbench.cli.verbs import all_verbs

    if verb:
        return main([*verb, "--help"])
    formatter = context.make_formatter()
    write_verbs(formatter, all_verbs())
    print(formatter.getvalue().rstrip("\n"))
    return 0
