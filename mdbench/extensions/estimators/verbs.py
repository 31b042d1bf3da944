"""The options of ``mdbench refit``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from mdbench.cli.parameters import RESULTS, Algorithms, Results


def refit(
    what: Annotated[
        str,
        typer.Argument(metavar="RESULTS|DATASET", help="Results, or a dataset in --results."),
    ],
    data: Annotated[
        Path, typer.Argument(metavar="CSV", help="New data, with the columns of the old ones.")
    ],
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
    from mdbench.extensions.estimators.refit_results import refit_answer

    fitted, method = refit_answer(
        *(what, data, results or RESULTS, algorithm or []), sigma=sigma, time=time
    )
    console = Console(highlight=False)
    console.print(f"{method}'s equations with new constants:", markup=False)
    console.print(str(fitted), markup=False, soft_wrap=True)
