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
from mdbench.runs.options import read_snr


@with_methods
def new(
    name: Annotated[str, typer.Argument(help="The method's name.")],
    torch: Annotated[
        bool, typer.Option("--torch", help="With PyTorch's build without CUDA (200 MB to fetch).")
    ] = False,
    scikit_learn: Annotated[
        bool,
        typer.Option(
            "--scikit-learn",
            help="Around a class with the interface of scikit-learn's, which predicts and has no "
            "equations (an environment of 268 MB).",
        ),
    ] = False,
) -> None:
    """Make a method's folder that can be run as it is.

    It is made in the first folder of MDBENCH_METHODS where that is set, else in algorithms/: of the
    clone, or of the current folder where mdbench is an installed package.
    """
    from mdbench.authoring.check import make_method
    from mdbench.installation import CLONE, command, resource
    from mdbench.methods import own_folder, refuse_taken
    from mdbench.workspace import Workspace

    if torch and scikit_learn:
        raise UsageError("--torch and --scikit-learn were given.", "Give one of them.")
    place = Workspace.find()
    refuse_taken(name, place.algorithms)
    start = "torch" if torch else "scikit_learn" if scikit_learn else ""
    folder = make_method(name, own_folder(place.algorithms), start)
    what = "a random forest" if scikit_learn else "a linear fit"
    shown, lock, run = _short(folder), command("scripts/lock"), command("./run.sh")
    if CLONE is None:
        lock, run = (line.replace("mdbench", _program(), 1) for line in (lock, run))
    elif Path.cwd() != CLONE:
        lock, run = str(resource(lock)), str(resource(run))
    print(f"Made {shown}: a method that can be run as it is ({what}).")
    print(f"  1. Put your method into {shown}/adapter.py and its facts into method.toml.")
    print(f"  2. Name its packages in {shown}/requirements.in, then: {lock} {name}")
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
    truths: Annotated[
        bool,
        typer.Option(
            "--truths",
            help="Check the datasets instead: is the truth the best answer to each, and does no "
            "single term explain what it leaves?",
        ),
    ] = False,
    moved: Annotated[
        bool,
        typer.Option(
            "--moved",
            help="Does a method identify laws of ode by their data, or know them?  The same with "
            "other constants, starts and order of states.",
        ),
    ] = False,
    data_type: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="With --truths: this kind of problem.  Default: all."),
    ] = None,
    dataset: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="With --truths: exact name, glob or set; several allowed."
        ),
    ] = None,
    dataset_path: Annotated[
        Path | None, typer.Option(metavar="PATH", help="With --truths: your own data.")
    ] = None,
    snr: Annotated[
        list[str] | None,
        typer.Option(
            metavar="DB", help="With --truths: noise level in dB, or clean.  Default: all."
        ),
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="With --truths: results, or tables of combine, whose wrong answers are to be "
            "worse than the truth.",
        ),
    ] = None,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="With --truths: print Markdown tables.")
    ] = False,
    each: Annotated[
        bool,
        typer.Option("--each", help="With --truths: a line for each dataset, where it wins, too."),
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
    """Check that methods keep their contract, or that truths win; explains each failure."""
    from mdbench.cli.check import check_all_truths, check_one_method
    from mdbench.cli.check_methods import check_several, methods_matching
    from mdbench.workspace import Workspace

    wanted = [
        what for what, there in (("methods", name), ("--all", every), ("--truths", truths)) if there
    ]
    if len(wanted) != 1:
        raise UsageError(
            f"check got {' and '.join(wanted) or 'nothing to check'}.",
            "Give one: mdbench check METHOD..., or mdbench check --all, or mdbench check --truths",
        )
    if not truths:
        own = (data_type, dataset, dataset_path, snr, results, markdown, each)
        if any(own):
            raise UsageError(
                "--data-type, --dataset, --dataset-path, --snr, --results, --markdown and --each "
                "go with --truths.",
                f"Leave them out: mdbench check {' '.join(name or ['--all'])}",
            )
        console, workspace = Console(highlight=False), Workspace.find()
        if moved:
            from mdbench.cli.check import check_moved_laws

            return check_moved_laws(name or [], workspace, console, runtime, seconds=timeout)
        if name and len(name) == 1 and not set("*?[") & set(name[0]):
            return check_one_method(
                name[0], workspace, console, runtime, seconds=timeout, json_=json
            )
        return check_several(
            methods_matching(name or [], workspace),
            workspace,
            console,
            runtime,
            seconds=timeout,
            n_jobs=read_n_jobs(n_jobs),
            json_=json,
        )
    if timeout is not None or n_jobs is not None:
        raise UsageError(
            f"{'--n-jobs' if timeout is None else '--timeout'} goes with methods.",
            "Leave it out, or: mdbench check METHOD --timeout 60",
        )
    return check_all_truths(
        Workspace.find(),
        Console(highlight=False),
        data_type=data_type,
        patterns=dataset or [],
        path=dataset_path,
        levels=[level for text in snr or [] for level in read_snr("--snr", text)],
        results=results,
        markdown=markdown,
        each=each,
    )
