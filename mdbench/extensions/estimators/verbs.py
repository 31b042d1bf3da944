"""The options of ``mdbench fit`` and ``mdbench refit``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from mdbench.cli.options import (
    PASSTHROUGH,
    PassthroughCommand,
    settings,
    with_methods,
    with_run_options,
)
from mdbench.cli.parameters import RESULTS, Algorithms, Json, Results
from mdbench.runs.study import Study


@settings(cls=PassthroughCommand, context_settings=PASSTHROUGH)
@with_methods
@with_run_options
def fit(
    study: Study,
    operators: Annotated[
        str | None,
        typer.Option("--operators", metavar="NAMES", help="What a search may use: +,*,sin,exp"),
    ] = None,
    library: Annotated[
        str | None,
        typer.Option(
            "--library",
            metavar="NAMES",
            help="Functions next to polynomials: sin,cos; or polynomial.",
        ),
    ] = None,
    degree: Annotated[
        int | None, typer.Option("--degree", metavar="N", help="The highest degree of polynomials.")
    ] = None,
    guess: Annotated[
        str | None,
        typer.Option(
            "--guess",
            metavar="EQUATIONS",
            help="What you think the law is, with letters for constants that are not known: "
            "'dx/dt = a*x - b*x*y'",
        ),
    ] = None,
    shape: Annotated[
        str | None,
        typer.Option(
            "--shape",
            metavar="TEXT",
            help="What the law has to have: 'y >= 0; y increases with x for x in 0..10'",
        ),
    ] = None,
    sigma: Annotated[
        str | None,
        typer.Option(
            "--sigma",
            metavar="NUMBER|COLUMN",
            help="Standard errors of what is measured: one, or a column of a CSV.",
        ),
    ] = None,
    json: Json = False,
) -> int:
    """Run methods on your own data, with what you know of the law."""
    from mdbench.extensions.estimators.fitting import fit_own_data
    from mdbench.extensions.estimators.vocabulary import Wishes

    return fit_own_data(
        study.whole,
        Wishes.of(operators, library, degree),
        Console(highlight=False, stderr=json),
        guess=guess,
        shape=shape,
        sigma=sigma,
        json_=json,
    )


def refit(
    what: Annotated[
        str,
        typer.Argument(metavar="RESULTS|DATASET", help="Results, or a dataset in --results."),
    ],
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="CSV",
            help="New data, with the columns of the old ones.  Default: the data of the answer.",
        ),
    ] = None,
    results: Results = None,
    algorithm: Algorithms = None,
    sigma: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER|COLUMN",
            help="Standard errors of the target: one, or a column of the new data.",
        ),
    ] = None,
    time: Annotated[
        str, typer.Option(metavar="COLUMN", help="The times, for equations of motion.")
    ] = "t",
) -> None:
    """Fit the constants of the best equations to new data, and test whether they still hold."""
    from mdbench.extensions.estimators.refit_results import refit_answer, refit_own

    if data is None:
        several, method = refit_own(what, results or RESULTS, algorithm or [], sigma=sigma)
    else:
        fitted, method = refit_answer(
            *(what, data, results or RESULTS, algorithm or []), sigma=sigma, time=time
        )
        several = [fitted]
    console = Console(highlight=False)
    console.print(f"{method}'s equations with new constants:", markup=False)
    for fitted in several:
        console.print(str(fitted), markup=False, soft_wrap=True)
