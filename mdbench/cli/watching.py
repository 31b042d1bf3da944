"""``mdbench watch``: the report of a run that goes on, in a browser."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from mdbench.cli.exits import Exit

__all__ = ["watch"]

NICER = 10
"""By which a run goes before the pages about it."""


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
    from mdbench.cli.reporting import html_of, read_results
    from mdbench.reports.bundle import opened
    from mdbench.reports.language_models import read_probes
    from mdbench.reports.server import LivePage, LiveServer

    def make() -> str:
        with opened(folder) as place:
            probes = read_probes(place)
        return html_of(read_results(folder), title=title, probes=probes)

    console = Console(highlight=False)
    page = LivePage(folder, make, title=title)
    with suppress(KeyboardInterrupt), LiveServer(page, host=host, port=port) as server:
        if server.token:
            console.print(
                "Whoever has this address can read the report, and whoever reads the network's "
                "traffic has it: it is not encrypted.  Safer: leave --host out, and use ssh -L.",
                soft_wrap=True,
            )
        if not folder.exists():
            console.print(f"{escape(str(folder))} is not there yet.", soft_wrap=True)
        console.print(
            f"The report of {escape(str(folder))}: {server.url}  To stop it: Ctrl-C", soft_wrap=True
        )
        with suppress(OSError):
            os.nice(NICER)
        page.follow()
    return Exit.DONE
