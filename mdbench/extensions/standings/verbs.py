"""The options of ``mdbench place``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from mdbench.cli.options import COMPLETIONS
from mdbench.cli.parameters import Json, Results


def place(
    method: Annotated[
        str,
        typer.Argument(help="The method's name.", autocompletion=COMPLETIONS["algorithm"]),
    ],
    results: Results = None,
    figure: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the ranking into this SVG file.")
    ] = None,
    json: Json = False,
) -> int:
    """Show a method's rank in the edition.

    It is among the methods that have done all of its jobs.  Compared are records with the same
    data, noise, protocol and budget of work (--work 2 on ode), of seed 0, by the share of true
    equations identified.  A method of the edition has a rank without records here, too.
    """
    from mdbench.extensions.standings.place import place_method

    console = Console(highlight=False)
    return place_method(method, results, console, figure=figure, json_=json)
