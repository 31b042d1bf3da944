"""``mdbench watch``: the report of a run that goes on, until it is interrupted."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from rich.markup import escape

from mdbench.cli.options import Exit
from mdbench.cli.report import goes_on, html_of, read_results
from mdbench.extensions.live.server import LivePage, LiveServer

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

NICER = 10
"""Added to the niceness of the server of pages, so that the run comes first."""


def serve_report(folder: Path, console: Console, *, host: str, port: int, title: str) -> int:
    """Serve the report of a run that goes on, until it is interrupted."""

    def make() -> str:
        results = read_results([folder])
        return html_of(results, title=title, places=[folder], in_progress=goes_on(folder))

    page = LivePage(folder, make, title=title)
    with contextlib.suppress(KeyboardInterrupt), LiveServer(page, host=host, port=port) as server:
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
        with contextlib.suppress(OSError):
            os.nice(NICER)
        page.follow()
    return Exit.DONE
