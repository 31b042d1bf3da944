"""The options of ``mdbench show``, ``predict``, ``score``, ``reproduce`` and ``rescore``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from mdbench.cli.options import COMPLETIONS, settings, with_methods
from mdbench.cli.parameters import (
    RESULTS,
    Algorithms,
    Datasets,
    Json,
    NJobs,
    Results,
    ResultsOrDataset,
    read_n_jobs,
)
from mdbench.errors import UsageError


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
    every: Annotated[bool, typer.Option("--all", help="All answers, not the best alone.")] = False,
) -> None:
    """Print the best equations found, as text or as code to paste."""
    from mdbench.cli.results import show_answers

    show_answers(
        what,
        Console(highlight=False),
        folders=results or RESULTS,
        algorithm=algorithm or [],
        language=language,
        digits=digits,
        every=every,
    )


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
    from mdbench.cli.predict import PredictionOptions, predict_answer

    asked = PredictionOptions(start, until, points, given)
    predict_answer(
        *(what, asked, out, Console(highlight=False)),
        folders=results or RESULTS,
        algorithm=algorithm or [],
    )


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

    return reproduce_files(results, dataset or [], read_n_jobs(n_jobs), Console(highlight=False))


def rescore(
    results: Annotated[Path, typer.Argument(help="A results file of mdbench run, or a folder.")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would change, and write nothing.")
    ] = False,
    changes: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write a CSV row for each score that changes."),
    ] = None,
    reuse: Annotated[
        bool,
        typer.Option(
            "--reuse",
            help="Take what a record's scorer computed as this one does from the record: quicker, "
            "for records that you made.",
        ),
    ] = False,
    n_jobs: NJobs = None,
) -> int:
    """Score the answers of records again by this version's scorer; no method is run."""
    from mdbench.cli.rescore import Rescoring, rescore_files

    console = Console(highlight=False)
    how = Rescoring(dry_run, reuse, changes, read_n_jobs(n_jobs))
    return rescore_files(results, console, how)


@settings(  # -x0 and -h are predictions
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
