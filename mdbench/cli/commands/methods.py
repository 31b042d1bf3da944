"""The options of ``mdbench new`` and ``check``."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from mdbench.cli.options import COMPLETIONS, with_methods
from mdbench.cli.parameters import NJobs, RuntimeName, read_n_jobs
from mdbench.errors import UsageError


@with_methods
def new(
    name: Annotated[str, typer.Argument(help="The method's name.")],
    torch: Annotated[
        bool, typer.Option("--torch", help="With PyTorch's build without CUDA (200 MB to fetch).")
    ] = False,
    front: Annotated[
        bool, typer.Option("--front", help="A search that sends candidates as it finds them.")
    ] = False,
    trajectory: Annotated[
        bool,
        typer.Option("--trajectory", help="Given times, states and rates in place of a table."),
    ] = False,
    program: Annotated[
        bool, typer.Option("--program", help="A program in C, for one in any language.")
    ] = False,
    scikit_learn: Annotated[
        bool,
        typer.Option(
            "--scikit-learn",
            help="Around a class with the interface of scikit-learn's, which predicts and has no "
            "equations.",
        ),
    ] = False,
) -> None:
    """Make a method's folder that can be run as it is.

    It is made in the first folder of MDBENCH_METHODS where that is set, else in algorithms/: of the
    clone, or of the current folder where mdbench is an installed package.
    """
    from mdbench.authoring import STARTS, make_method
    from mdbench.installation import CLONE, command, resource
    from mdbench.methods import own_folder, refuse_taken
    from mdbench.workspace import Workspace

    starts = {
        "front": front,
        "trajectory": trajectory,
        "program": program,
        "scikit_learn": scikit_learn,
        "torch": torch,
    }
    start, *more = [start for start, wanted in starts.items() if wanted] or [""]
    if more:
        typed = " and ".join(f"--{name.replace('_', '-')}" for name in (start, *more))
        raise UsageError(f"{typed} were given.", "Give one of them.")
    workspace = Workspace.find()
    refuse_taken(name, workspace.algorithms)
    folder = make_method(name, own_folder(workspace.algorithms), start)
    shown, lock, run = _short(folder), command("scripts/lock"), command("./run.sh")
    if CLONE is None:
        lock, run = (line.replace("mdbench", _program(), 1) for line in (lock, run))
    elif Path.cwd() != CLONE:
        lock, run = str(resource(lock)), str(resource(run))
    print(f"Made {shown}: a method that can be run as it is ({STARTS[start]}).")
    source = "linear_fit.c (or another file)" if program else "adapter.py"
    packages = f"Name its packages in {shown}/requirements.in, then: {lock} {name}"
    compiled = f"What compiles it is {shown}/fetch.py; files that it reads are sources there."
    print(f"  1. Put your method into {shown}/{source} and its facts into method.toml.")
    print(f"  2. {compiled if program else packages}")
    print(f"  3. {_program()} check {name}\n  4. {run} --algorithm {name} --data-type ode")


def _program() -> str:
    """Return this command as the user can type it from here."""
    if shutil.which("mdbench"):
        return "mdbench"
    started = Path(sys.argv[0])
    return "python -m mdbench" if started.name == "__main__.py" else _short(started.absolute())


def _short(path: Path) -> str:
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)


@with_methods
def check(
    name: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="METHOD",
            help="Names of methods, or globs.",
            autocompletion=COMPLETIONS["algorithm"],
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Check all methods.")] = False,
    n_jobs: NJobs = None,
    runtime: RuntimeName = "auto",
    moved: Annotated[
        bool,
        typer.Option(
            "--moved",
            help="Does a method identify laws of ode by their data, or know them?  The same with "
            "other constants, starts and order of states.",
        ),
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="The findings about a method as JSON.")
    ] = False,
    timeout: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS", help="Time for each try of a method.  Default: 20.", min=1.0
        ),
    ] = None,
) -> int:
    """Check that methods keep their contract; explains each failure."""
    from mdbench.cli.check import (
        check_moved_laws,
        check_one_method,
        check_several,
        methods_matching,
    )
    from mdbench.workspace import Workspace

    if bool(name) == every:
        raise UsageError(
            "check got methods and --all." if every else "check got nothing to check.",
            "Give one: mdbench check METHOD..., or mdbench check --all",
        )
    console, workspace = Console(highlight=False), Workspace.find()
    if moved:
        return check_moved_laws(name or [], workspace, console, runtime, seconds=timeout)
    if name and len(name) == 1 and not set("*?[") & set(name[0]):
        return check_one_method(name[0], workspace, console, runtime, seconds=timeout, json_=json)
    return check_several(
        methods_matching(name or [], workspace),
        workspace,
        console,
        runtime,
        seconds=timeout,
        n_jobs=read_n_jobs(n_jobs),
        json_=json,
    )
