"""The verbs with all their options, each a call of another module of this package.

It is longer than other modules, as it declares the options of 25 verbs and does nothing else.
"""

from __future__ import annotations

import codecs
import faulthandler
import resource
import shutil
import signal
import sys
import threading
import unicodedata
from contextlib import suppress
from copy import copy
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.markup import escape

from mdbench import __version__
from mdbench.cli.options import (
    COMPLETIONS,
    PASSTHROUGH,
    Command,
    Exit,
    Group,
    ParsedArgs,
    PassthroughCommand,
    spread,
    with_methods,
    with_options_of,
    with_run_options,
)
from mdbench.errors import MdbenchError, UsageError
from mdbench.runs.options import read_jobs, read_protocol, read_snr
from mdbench.runs.study import (
    JudgeOptions,
    ProbeOptions,
    Study,
)

app = typer.Typer(
    name="mdbench",
    cls=Group,
    help="Benchmark for equation discovery: run methods, score their equations, compare.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

DataType = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Kind of problem, e.g. ode.",
        autocompletion=COMPLETIONS["data_type"],
    ),
]
Datasets = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="Exact name or glob; several allowed.  Default: all.",
        autocompletion=COMPLETIONS["dataset"],
    ),
]
Json = Annotated[bool, typer.Option("--json", help="As JSON.")]
NJobs = Annotated[
    str | None, typer.Option(metavar="N", help="Jobs at a time; -1: one a core, the default.")
]
RuntimeName = Annotated[
    str,
    typer.Option(
        "--runtime",
        metavar="NAME",
        envvar="MDBENCH_RUNTIME",
        help="auto, venv, docker, podman or apptainer.",
    ),
]


def main(arguments: list[str] | None = None) -> int:
    """Run one command line and return its exit status, an `Exit`."""
    given = sys.argv[1:] if arguments is None else arguments
    codecs.register_error(PLAIN, _in_plain_letters)
    for stream in (sys.stdout, sys.stderr):  # signs on a terminal without UTF-8
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors=PLAIN)
    with suppress(AttributeError, ValueError, OSError):  # a stream that is no file
        faulthandler.enable()  # a library that crashes leaves a word, and where it was
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # how a cluster asks to stop
        if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:  # else nohup: the terminal may go
            signal.signal(signal.SIGHUP, signal.default_int_handler)
    try:
        _refuse_little_memory()
        program = _program_of(given)
        code = program(args=spread(given) or ["--help"], prog_name="mdbench", standalone_mode=False)
    except MdbenchError as error:
        complain(error)
        return Exit.ERROR
    except (typer.Abort, KeyboardInterrupt):
        print("Interrupted. The same command goes on from here.", file=sys.stderr)
        return Exit.INTERRUPTED
    except Exception as error:
        if hasattr(error, "format_message"):  # the parser's own errors
            complain(UsageError(error.format_message(), _where_to_look(given)))
            return Exit.ERROR
        raise
    return int(code or 0)


def _program_of(given: list[str]) -> typer.Typer:
    """Return the program with the verb that was typed alone, so that it starts sooner, or all."""
    verbs = {
        command.name or getattr(command.callback, "__name__", "").replace("_", "-"): command
        for command in app.registered_commands
    }
    if not given or given[0] not in verbs:
        return app
    program, verb = copy(app), copy(verbs[given[0]])
    if not issubclass(verb.cls or Command, Command):
        verb.cls = Command
    program.registered_commands = [verb]
    return program


PLAIN = "mdbench-plain"
"""The name of the codec error handler that writes signs in words."""
_SIGNS = (
    "✓ yes  ✗ no  ⚠ !  † +  ‡ #  … ...  → ->  × x  – -  — -  − -  ’ '  ‘ '  · -  ∞ inf  ± +-  ─ -"
    "  ━ -  │ |  • *  ∂ d"
)
_IN_WORDS = dict(pair.split(" ") for pair in _SIGNS.split("  "))


def _in_plain_letters(error: UnicodeError) -> tuple[str, int]:
    """Replace what an encoding does not have: signs by words, letters by those without accents."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    letter = error.object[error.start]
    parts = unicodedata.normalize("NFKD", letter)
    plain = "".join(_IN_WORDS.get(part, part if part.isascii() else "") for part in parts)
    return plain or "?", error.start + 1


_LEAST_MEMORY = 1 << 30
"""Bytes of addresses without which NumPy and SciPy cannot be loaded, or hang while they are."""


def _refuse_little_memory() -> None:
    for kind, name, letter in (
        (resource.RLIMIT_AS, "address space", "v"),
        (resource.RLIMIT_DATA, "data", "d"),
    ):
        soft, hard = resource.getrlimit(kind)
        if 0 <= soft < _LEAST_MEMORY:
            more = (
                f"ulimit -{letter} unlimited" if hard == resource.RLIM_INFINITY else "a new shell"
            )
            raise UsageError(
                f"The shell allows {soft >> 20} MiB of {name} (ulimit -{letter}); mdbench needs "
                f"{_LEAST_MEMORY >> 20} at least.",
                f"Allow more: {more}.  To limit the memory of jobs: --memory 2G",
            )


def _where_to_look(given: list[str]) -> str:
    """Return which help fits what was typed."""
    verbs = typer.main.get_command(app).list_commands(None)  # type: ignore[attr-defined]
    if given and given[0] in verbs:
        return f"To see all options: mdbench {given[0]} --help"
    return "To see all verbs: mdbench --help"


def complain(error: MdbenchError) -> None:
    """Show an error: what is wrong, and below it what to do."""
    console = Console(stderr=True, highlight=False)
    console.print(f"[bold red]error:[/] {escape(error.message)}", soft_wrap=True)
    if error.hint:
        console.print(f"  {escape(error.hint)}", soft_wrap=True)


@app.callback(invoke_without_command=True)
def _version(
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
) -> None:
    if version:
        print(f"mdbench {__version__}")
        raise typer.Exit


@app.command(cls=PassthroughCommand, context_settings=PASSTHROUGH)
@with_methods
@with_run_options
def run(
    study: Study,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Show what would be done and the cost, as plan does."),
    ] = False,
    json: Json = False,
) -> int:
    """Run methods on datasets; every job leaves a record, and the same command goes on."""
    from mdbench.cli.run import run_study, show_plan

    if dry_run:
        show_plan(study, Console(highlight=False), json_=json)
        return Exit.DONE
    return run_study(study, console=Console(highlight=False, stderr=json), json_=json)


@app.command(cls=PassthroughCommand, context_settings=PASSTHROUGH)
@with_methods
@with_run_options
def plan(study: Study, json: Json = False) -> None:
    """Show what the same options given to run would do, why, and at what cost."""
    from mdbench.cli.run import show_plan

    show_plan(study, Console(highlight=False), json_=json)


@app.command(cls=PassthroughCommand, context_settings=PASSTHROUGH)
@with_methods
@with_run_options
def why(study: Study) -> None:
    """Show why the same options given to run would run a job again, or not."""
    from mdbench.cli.run import show_reasons

    show_reasons(study, console=Console(highlight=False))


@app.command("study", cls=PassthroughCommand, context_settings=PASSTHROUGH)
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


@app.command()
def rescore(
    results: Annotated[Path, typer.Argument(help="A results file of mdbench run, or a folder.")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would change, and write nothing.")
    ] = False,
    n_jobs: NJobs = None,
) -> int:
    """Score the answers of records again by this version's scorer; no method is run."""
    from mdbench.cli.results import rescore_files

    console = Console(highlight=False)
    return rescore_files(results, console, dry_run=dry_run, n_jobs=_n_jobs(n_jobs))


@app.command()
@with_methods
def reproduce(
    results: Annotated[
        Path, typer.Argument(help="A results file of mdbench run, a folder, or a bundle.")
    ],
    dataset: Datasets = None,
    n_jobs: NJobs = None,
) -> int:
    """Run the jobs of results again, and compare the records."""
    from mdbench.cli.results import reproduce_files

    return reproduce_files(results, dataset or [], _n_jobs(n_jobs), Console(highlight=False))


@app.command("list")
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


@app.command()
@with_methods
def install(
    method: Annotated[
        list[str] | None,
        typer.Argument(help="Methods.  Default: all.", autocompletion=COMPLETIONS["algorithm"]),
    ] = None,
    runtime: RuntimeName = "auto",
    n_jobs: NJobs = None,
) -> int:
    """Prepare the environments of methods ahead of a run, several at a time."""
    from mdbench.cli.workspace import install_all
    from mdbench.workspace import Workspace

    return install_all(
        method or [],
        Workspace.find(),
        Console(highlight=False),
        runtime_name=runtime,
        n_jobs=_n_jobs(n_jobs),
    )


@app.command()
def probe(json: Json = False) -> None:
    """Show what each runtime keeps methods from on this machine."""
    from mdbench.cli.workspace import show_runtimes
    from mdbench.workspace import Workspace

    show_runtimes(Workspace.find(), Console(highlight=False), json_=json)


@app.command("llm-probe")
@with_options_of(ProbeOptions)
def llm_probe(options: ProbeOptions) -> int:
    """Ask a language model what it knows of problems without data, and with others' data."""
    from mdbench.cli.score import run_llm_probe

    return run_llm_probe(options, Console(highlight=False))


@app.command("llm-judge")
@with_options_of(JudgeOptions)
def llm_judge(options: JudgeOptions) -> int:
    """Ask a language model whether answers are right, and compare it with the rule."""
    from mdbench.cli.score import run_llm_judge

    return run_llm_judge(options, Console(highlight=False))


@app.command("llm-stub")
def llm_stub(
    mode: Annotated[str, typer.Option(metavar="NAME", help="How it answers, or fails to.")] = (
        "good"
    ),
    port: Annotated[int, typer.Option(metavar="N", help="Where it listens.", min=0)] = 8099,
    seed: Annotated[int, typer.Option(metavar="N", help="Of what it draws.")] = 0,
    answer: Annotated[str, typer.Option(metavar="TEXT", help="An equation it knows.")] = "",
    knows: Annotated[
        float, typer.Option(metavar="P", help="Probability of that answer.", min=0.0, max=1.0)
    ] = 0.0,
) -> int:
    """Run a mock language-model server for testing, until it is interrupted."""
    from mdbench.cli.score import serve_stub

    return serve_stub(mode, port, seed, answer, knows, Console(highlight=False))


@app.command()
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

    It is made in the first folder of MDBENCH_METHODS where that is set, else in algorithms/.
    """
    from mdbench.authoring.check import make_method
    from mdbench.methods import own_folder, refuse_taken
    from mdbench.workspace import Workspace

    if torch and scikit_learn:
        raise UsageError("--torch and --scikit-learn were given.", "Give one of them.")
    place = Workspace.find()
    refuse_taken(name, place.algorithms)
    start = "torch" if torch else "scikit_learn" if scikit_learn else ""
    folder = make_method(name, own_folder(place.algorithms), start)
    what = "a random forest" if scikit_learn else "a linear fit"
    shown, lock = _short(folder), _short(place.root / "scripts" / "lock")
    run = "./run.sh" if Path("run.sh").exists() else _short(place.root / "run.sh")
    print(f"Made {shown}: a method that can be run as it is ({what}).")
    print(f"  1. Put your method into {shown}/adapter.py and its facts into method.toml.")
    print(f"  2. Name its packages in {shown}/requirements.in, then: {lock} {name}")
    print(f"  3. {_program()} check {name}\n  4. {run} --algorithm {name} --data-type ode")


@app.command()
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
            n_jobs=_n_jobs(n_jobs),
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


@app.command()
@with_methods
def fresh(
    seed: Annotated[str, typer.Option(metavar="TEXT", help="By which problems are drawn.")],
    data_type: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Kind of problem; several allowed.  Default: all that are drawn.",
            autocompletion=COMPLETIONS["data_type"],
        ),
    ] = None,
    count: Annotated[
        int | None, typer.Option(metavar="N", min=1, max=10_000, help="Problems of each kind.")
    ] = None,
    commit: Annotated[
        bool,
        typer.Option(
            "--commit", help="Print the hash of the seed and of all methods, and draw nothing."
        ),
    ] = False,
    commitment: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="What --commit printed: compare the seed with it."),
    ] = None,
) -> None:
    """Draw problems that nobody has seen, as suites of their data types."""
    from mdbench.cli.fresh import draw_fresh, print_commitment
    from mdbench.workspace import Workspace

    workspace = Workspace.find()
    if commit:
        print_commitment(seed, workspace)
        return
    draw_fresh(
        seed,
        workspace,
        Console(highlight=False),
        wanted=data_type or (),
        count=count,
        published=commitment,
    )


@app.command(cls=PassthroughCommand, context_settings=PASSTHROUGH)
def data(
    context: typer.Context,
    data_type: DataType,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder to write into.")] = None,
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
        DataOptions(out, dataset_path, context.args),
        with_noise=with_noise,
        seed=seed,
        protocol=read_protocol("--protocol", protocol),
    )


Places = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="[RESULTS]...",
        help="Folders of results, as --result-dir of run, files and bundles.  Default: results.",
    ),
]
RESULTS = (Path("results"),)
"""Where results are read if nobody names a place."""


OfStudies = Annotated[
    list[str] | None,
    typer.Option(
        "--study",
        metavar="STUDY",
        help="Only results that it asked for: a study's file, or the first digits of its SHA-256; "
        "several allowed.",
    ),
]
OfBudget = Annotated[
    float | None,
    typer.Option(
        "--budget", metavar="SECONDS", help="Only results with this budget, of work or of time."
    ),
]


@app.command()
def combine(
    out: Annotated[Path, typer.Option(metavar="FILE", help="A .csv or .parquet to write.")],
    results: Places = None,
    study: OfStudies = None,
    budget: OfBudget = None,
) -> None:
    """Write all records of folders and bundles as one table, failures too."""
    from mdbench.cli.report import combine_records
    from mdbench.reports.classes import Wanted

    combine_records(results or RESULTS, out, Console(highlight=False), Wanted(study or (), budget))


@app.command()
@with_methods
def report(
    results: Places = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The page.  Default: report.html.")
    ] = None,
    text: Annotated[
        bool, typer.Option("--text", help="Print the leaderboards; a page only with --out.")
    ] = False,
    title: Annotated[
        str, typer.Option(metavar="TEXT", help="The page's heading.")
    ] = "mdbench report",
    json: Annotated[
        bool, typer.Option("--json", help="Print the leaderboards as JSON; a page only with --out.")
    ] = False,
    study: OfStudies = None,
    budget: OfBudget = None,
) -> None:
    """Compare methods: one HTML page that needs no network, or text."""
    from mdbench.cli.report import write_report
    from mdbench.reports.classes import Wanted

    page = out if text or json else out or Path("report.html")
    console = Console(highlight=False, stderr=json)
    wanted = Wanted(study or (), budget)
    places = results or RESULTS
    write_report(places, page, console, title=title, text=text, json_=json, wanted=wanted)


@app.command()
@with_methods
def watch(
    folder: Annotated[
        Path,
        typer.Argument(metavar="[RESULTS]", help="Folder of results, as --result-dir of run."),
    ] = Path("results"),
    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="Where it listens; another than a loopback address takes a token.",
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(metavar="N", min=0, max=65535, help="Its port.  Default: a free one.")
    ] = 0,
    title: Annotated[
        str, typer.Option(metavar="TEXT", help="The page's heading.")
    ] = "mdbench report",
) -> int:
    """Serve the report of a run that goes on, until it is interrupted."""
    from mdbench.cli.report import serve_report

    return serve_report(folder, Console(highlight=False), host=host, port=port, title=title)


Results = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FOLDER",
        help="As --result-dir of run, or a bundle; several allowed.  Default: results.",
    ),
]
ResultsOrDataset = Annotated[
    str | None,
    typer.Argument(
        metavar="[RESULTS|DATASET]", help="Results, or the name or glob of datasets in --results."
    ),
]
Algorithms = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME", help="Only of these methods.", autocompletion=COMPLETIONS["algorithm"]
    ),
]


@app.command()
def show(
    what: ResultsOrDataset = None,
    results: Results = None,
    algorithm: Algorithms = None,
    language: Annotated[
        str,
        typer.Option(
            "--as",
            metavar="LANGUAGE",
            help="plain, python, sympy, julia, c or latex.",
            autocompletion=COMPLETIONS["language"],
        ),
    ] = "plain",
    digits: Annotated[
        int | None,
        typer.Option(min=1, max=17, help="Of numbers.  Default: 4 in plain text, all in code."),
    ] = None,
    every: Annotated[
        bool,
        typer.Option("--all", help="All answers, not the best alone; of transcripts all of each."),
    ] = False,
    transcript: Annotated[
        bool,
        typer.Option(
            "--transcript", help="What was asked of a language model, and answered, job by job."
        ),
    ] = False,
) -> None:
    """Print the best equations found, as text or as code to paste; or what a model was asked."""
    from mdbench.cli.results import show_answers
    from mdbench.cli.transcripts import show_transcripts

    if transcript:
        console = Console(highlight=False)
        show_transcripts(what, console, results or RESULTS, algorithm or [], every=every)
        return
    show_answers(
        what,
        Console(highlight=False),
        folders=results or RESULTS,
        algorithm=algorithm or [],
        language=language,
        digits=digits,
        every=every,
    )


@app.command()
def predict(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="[RESULTS|DATASET]", help="Results, or a dataset (name or glob) in --results."
        ),
    ] = None,
    results: Results = None,
    algorithm: Algorithms = None,
    start: Annotated[
        str | None, typer.Option(metavar="NAME=X,...", help="The states to set out from.")
    ] = None,
    until: Annotated[
        float | None, typer.Option(metavar="T", help="The last time; the first is 0.")
    ] = None,
    points: Annotated[int, typer.Option(min=2, help="How many times.")] = 200,
    given: Annotated[
        Path | None,
        typer.Option(
            metavar="CSV",
            help="Times and inputs, instead of --until; for equations without rates, the columns.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="CSV", help="The file.  Default: print.")
    ] = None,
) -> None:
    """Integrate the best equations found from a start of yours, or evaluate them."""
    from mdbench.cli.results import PredictionOptions, predict_answer

    asked = PredictionOptions(start, until, points, given)
    predict_answer(
        *(what, asked, out, Console(highlight=False)),
        folders=results or RESULTS,
        algorithm=algorithm or [],
    )


@app.command()
@with_methods
def export(
    results: Places = None,
    latex: Annotated[bool, typer.Option("--latex", help="As LaTeX tables.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="As Markdown tables.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="The leaderboards as CSV.")] = False,
    published: Annotated[
        bool, typer.Option("--published", help="With what the papers report (--markdown only).")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The file.  Default: print.")
    ] = None,
    study: OfStudies = None,
    budget: OfBudget = None,
) -> None:
    """Print or write the results as tables for a paper."""
    from mdbench.cli.report import export_tables
    from mdbench.reports.classes import Wanted

    asked: dict[Literal["latex", "markdown", "csv"], bool]
    asked = {"latex": latex, "markdown": markdown, "csv": csv}
    forms = [form for form, chosen in asked.items() if chosen]
    if len(forms) != 1:
        given = " and ".join(f"--{form}" for form in forms)
        both = "both " * (len(forms) == 2)  # noqa: PLR2004
        raise UsageError(
            f"export got {both}{given}." if forms else "export got no form to write.",
            "Give --latex or --markdown. For the numbers in full: --csv.",
        )
    if published and not markdown:
        raise UsageError("--published is of --markdown.", "Give --markdown --published.")
    wanted = Wanted(study or (), budget)
    console = Console(highlight=False)
    export_tables(results or RESULTS, out, console, forms[0], published=published, wanted=wanted)


@app.command()
@with_methods
def bundle(
    results: Places = None,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The archive.")] = Path("results.zip"),
    study: OfStudies = None,
    title: Annotated[str, typer.Option(metavar="TEXT", help="To cite it by.")] = (
        "Results of mdbench"
    ),
    author: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="'Family, Given', or a group; several allowed."),
    ] = None,
    logs: Annotated[bool, typer.Option("--logs", help="The logs of jobs, too.")] = False,
) -> None:
    """Put results, methods, locks and the report into one archive that can be cited."""
    from mdbench.cli.report import write_archive

    write_archive(
        results or RESULTS,
        out,
        Console(highlight=False),
        studies_asked=study or [],
        title=title,
        authors=author or [],
        logs=logs,
    )


@app.command()
def compare(
    before: Annotated[Path, typer.Argument(metavar="A", help="A folder of results, or a bundle.")],
    after: Annotated[Path, typer.Argument(metavar="B", help="Later ones.")],
    each: Annotated[bool, typer.Option("--each", help="Every result that changed.")] = False,
    across_options: Annotated[
        bool, typer.Option("--across-options", help="Whatever the data type's options were.")
    ] = False,
    across_budgets: Annotated[
        bool, typer.Option("--across-budgets", help="Results with unlike budgets, too.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="As JSON, with every change.")] = False,
    study: OfStudies = None,
    budget: OfBudget = None,
) -> None:
    """Show what changed from one folder of results to another, and what of it beyond chance."""
    from mdbench.cli.compare import compare_results
    from mdbench.reports.classes import Wanted

    compare_results(
        before,
        after,
        Console(highlight=False),
        each=each,
        json_=json,
        across=across_options,
        across_budgets=across_budgets,
        wanted=Wanted(study or (), budget),
    )


Registry = Annotated[
    Path, typer.Argument(metavar="REGISTRY", help="A folder of bundles, such as a git checkout.")
]


@app.command()
def submit(
    bundle: Annotated[
        Path, typer.Argument(metavar="BUNDLE", help="A bundle, or the file of an audit.")
    ],
    registry: Registry,
    n_jobs: NJobs = None,
) -> int:
    """Verify a bundle, score its answers again, and add it to a registry."""
    from mdbench.cli.registry import submit_bundle

    return submit_bundle(bundle, registry, Console(highlight=False), _n_jobs(n_jobs))


@app.command()
@with_methods
def audit(
    bundle: Annotated[Path, typer.Argument(metavar="BUNDLE", help="Somebody else's bundle.")],
    share: Annotated[
        float, typer.Option("--sample", metavar="SHARE", help="Part of its jobs to run again.")
    ] = 0.05,
    salt: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="What else chooses the jobs.  Default: random."),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The result.")] = Path("audit.json"),
    sign: Annotated[
        Path | None, typer.Option(metavar="KEY", help="A private SSH key that signs the result.")
    ] = None,
    moved: Annotated[
        bool,
        typer.Option(
            "--moved",
            help="Run its methods of ode on the same laws with other constants, too.",
        ),
    ] = False,
    n_jobs: NJobs = None,
) -> int:
    """Run a random sample of a bundle's jobs again, and write how the results agree."""
    from mdbench.cli.registry import audit_bundle

    console = Console(highlight=False)
    return audit_bundle(
        bundle,
        console,
        share=share,
        salt=salt,
        out=out,
        key=sign,
        moved=moved,
        n_jobs=_n_jobs(n_jobs),
    )


@app.command()
def board(
    registry: Registry,
    out: Annotated[Path, typer.Option(metavar="DIR", help="The site.")] = Path("board"),
    title: Annotated[str, typer.Option(metavar="TEXT", help="Its heading.")] = "mdbench board",
    n_jobs: NJobs = None,
    json: Json = False,
) -> int:
    """Make a site of all bundles of a registry, with what is verified of each result."""
    from mdbench.cli.registry import make_board

    console = Console(highlight=False, stderr=json)
    return make_board(registry, out, console, title=title, n_jobs=_n_jobs(n_jobs), json_=json)


@app.command()
def why_not(
    datasets: Annotated[
        list[str], typer.Argument(metavar="DATASET", help="Names of systems or fields; globs too.")
    ],
    snr: Annotated[
        float, typer.Option(metavar="DB", help="The signal-to-noise ratio in dB.")
    ] = 20.0,
    json: Json = False,
) -> int:
    """Show whether noise lets anybody identify a system, and the equation that is as likely."""
    from mdbench.cli.why_not import explain

    console = Console(highlight=False, stderr=json)
    return explain(datasets, snr, console, json_=json)


@app.command()
def claims(
    results: Annotated[
        list[Path] | None,
        typer.Argument(metavar="RESULTS...", help="Folders of results, or bundles."),
    ] = None,
    paper: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Its claims alone; several allowed.")
    ] = None,
    method: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Claims of it alone; several allowed.")
    ] = None,
    file: Annotated[
        list[Path] | None,
        typer.Option("--claims", metavar="FILE", help="Claims of your own, too: docs/claims.md."),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="List those of which records cannot say anything, too.")
    ] = False,
    latex: Annotated[bool, typer.Option("--latex", help="As a LaTeX table.")] = False,
    json: Json = False,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="With --latex or --json.")
    ] = None,
) -> int:
    """Show which claims of papers the results confirm or contradict, and which they cannot."""
    from mdbench.cli.claims import show_claims

    return show_claims(
        results or [],
        Console(highlight=False, stderr=json or latex),
        papers=paper or [],
        wanted=method or [],
        extra=file or [],
        every=every,
        latex=latex,
        json_=json,
        out=out,
    )


@app.command()
def similarity(
    one: Annotated[
        str, typer.Argument(metavar="ONE", help="A data type, or datasets of one: srsd:easy.")
    ],
    other: Annotated[str, typer.Argument(metavar="OTHER", help="The same, to compare with.")],
    json: Json = False,
) -> int:
    """Show how alike the equations of two collections are, by operators and by trees."""
    from mdbench.cli.similarity import compare_collections

    return compare_collections(one, other, Console(highlight=False, stderr=json), json_=json)


@app.command()
def rivals(
    what: ResultsOrDataset = None,
    results: Results = None,
    algorithm: Algorithms = None,
    seconds: Annotated[
        float, typer.Option(min=0, metavar="S", help="For the rivals of one answer.")
    ] = 60.0,
    json: Json = False,
) -> int:
    """Show how sure the best equations are, and which others fit the samples as well (ode)."""
    from mdbench.cli.rivals import show_rivals

    return show_rivals(
        *(what, Console(highlight=False, stderr=json)),
        folders=results or RESULTS,
        algorithm=algorithm or [],
        seconds=seconds,
        json_=json,
    )


@app.command()
def certify(
    results: Annotated[
        list[Path], typer.Argument(metavar="RESULTS...", help="Folders of results, or bundles.")
    ],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The certificates.")] = Path(
        "certificates.jsonl"
    ),
) -> int:
    """Write a proof of each verdict, identified or not, that has one."""
    from mdbench.cli.certificates import certify_results

    return certify_results(results, out, Console(highlight=False))


@app.command()
def verify(
    certificates: Annotated[Path, typer.Argument(help="What certify has written.")],
    results: Annotated[
        list[Path] | None,
        typer.Argument(metavar="RESULTS...", help="Folders of results, or bundles."),
    ] = None,
) -> int:
    """Check proofs of verdicts by a small program, and that they are of these records."""
    from mdbench.cli.certificates import verify_certificates

    return verify_certificates(certificates, results or [], Console(highlight=False))


@app.command(  # -x0 and -h are predictions
    context_settings={"ignore_unknown_options": True, "help_option_names": ["--help"]}
)
def score(
    truth: Annotated[str, typer.Argument(metavar="TRUTH", help="The true right-hand side.")],
    prediction: Annotated[
        str | None, typer.Argument(metavar="PREDICTION", help="What was found.")
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="Names they may use: x0,x1.  Default: the truth's."),
    ] = None,
    any_sign: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="Which of them may be negative.  Default: none."),
    ] = None,
    r2: Annotated[
        float | None,
        typer.Option(metavar="NUMBER", help="On test data, for SRBench's own rule."),
    ] = None,
    timeout: Annotated[
        int, typer.Option(metavar="SECONDS", min=1, help="CPU time a step may take.")
    ] = 30,
    difficulty: Annotated[
        bool,
        typer.Option(
            "--difficulty",
            help="How hard TRUTH is by SRSD's rule: a law with --ranges, or names of datasets.",
        ),
    ] = False,
    ranges: Annotated[
        str | None,
        typer.Option(metavar="RANGES", help="With --difficulty: x0=1:5,x1=0.1:10."),
    ] = None,
    json: Json = False,
) -> None:
    """Compare an equation with the true one: verdict, edit distance, solution, complexity."""
    from mdbench.cli.score import score_equation, show_difficulty

    if difficulty or ranges is not None:
        if prediction is not None or not difficulty:
            raise UsageError(
                "--difficulty is of one law, and --ranges go with it.",
                "mdbench score 'x0*x1' --difficulty --ranges x0=1:5,x1=0.1:10",
            )
        show_difficulty(truth, ranges, Console(highlight=False), seconds=timeout, json_=json)
        return
    if prediction is None:
        raise UsageError(
            "PREDICTION is missing.", "mdbench score TRUTH PREDICTION, or TRUTH --difficulty"
        )
    score_equation(
        truth,
        prediction,
        columns,
        Console(highlight=False),
        any_sign=any_sign,
        r2=r2,
        seconds=timeout,
        json_=json,
    )


def _n_jobs(text: str | None) -> int | None:
    return None if text is None else read_jobs("--n-jobs", text)


def _program() -> str:
    """Return this command as the user can type it from here."""
    return "mdbench" if shutil.which("mdbench") else _short(Path(sys.argv[0]).absolute())


def _short(path: Path) -> str:
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
