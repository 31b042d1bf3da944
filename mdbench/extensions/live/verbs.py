"""The options of ``watch``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from mdbench.cli.options import with_methods


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
    from mdbench.extensions.live.serving import serve_report

    return serve_report(folder, Console(highlight=False), host=host, port=port, title=title)
