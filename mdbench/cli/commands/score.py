"""The options of ``mdbench score``."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from mdbench.cli.options import settings
from mdbench.cli.parameters import Json
from mdbench.errors import UsageError


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
