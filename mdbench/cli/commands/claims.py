"""The options of ``mdbench claims``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from mdbench.cli.parameters import Json


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
