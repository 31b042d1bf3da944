"""The options of ``export``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console

from mdbench.cli.options import with_methods
from mdbench.cli.parameters import RESULTS, OfBudget, OfStudies, Places
from mdbench.errors import UsageError


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
    from mdbench.extensions.papers.writing import export_tables
    from mdbench.reports.classes import RecordFilter

    asked: dict[Literal["latex", "markdown", "csv"], bool]
    asked = {"latex": latex, "markdown": markdown, "csv": csv}
    forms = [form for form, chosen in asked.items() if chosen]
    by_ending: dict[str, Literal["latex", "markdown", "csv"]]
    by_ending = {".tex": "latex", ".md": "markdown", ".csv": "csv"}
    if not forms and out is not None and out.suffix.lower() in by_ending:
        forms = [by_ending[out.suffix.lower()]]
    if len(forms) != 1:
        options = " and ".join(f"--{form}" for form in forms)
        raise UsageError(
            f"export got {options}." if forms else "export got no form to write.",
            "Give one of --latex, --markdown and --csv, or --out FILE that ends in .tex, .md or "
            ".csv.  All records as one table: mdbench combine --out all.csv",
        )
    if published and not markdown:
        raise UsageError("--published is of --markdown.", "Give --markdown --published.")
    wanted = RecordFilter(study or (), budget)
    console = Console(highlight=False)
    export_tables(results or RESULTS, out, console, forms[0], published=published, wanted=wanted)
