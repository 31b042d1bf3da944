"""The options of ``report``, ``combine``, ``bundle`` and ``compare``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from mdbench.cli.options import Exit, with_methods
from mdbench.cli.parameters import RESULTS, OfBudget, OfStudies, Places


@with_methods
def report(
    results: Places = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The page.  Default: report.html.")
    ] = None,
    text: Annotated[
        bool, typer.Option("--text", help="Print the leaderboards; a page only with --out.")
    ] = False,
    title: Annotated[
        str, typer.Option(metavar="TEXT", help="The page's heading.")
    ] = "mdbench report",
    json: Annotated[
        bool, typer.Option("--json", help="Print the leaderboards as JSON; a page only with --out.")
    ] = False,
    site: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Write a site: scores, a page a problem and a page a method; a page only with "
            "--out.",
        ),
    ] = None,
    study: OfStudies = None,
    budget: OfBudget = None,
) -> int:
    """Compare methods: one HTML page that needs no network, or text, or a site."""
    from mdbench.cli.report import write_report
    from mdbench.reports.classes import RecordFilter
    from mdbench.reports.sections import FORMS

    page = out if text or json else out or Path("report.html")
    console = Console(highlight=False, stderr=json)
    wanted = RecordFilter(study or (), budget)
    places = results or RESULTS
    if site is not None:
        FORMS.load("site")(places, site, console, title=title, wanted=wanted)
        if not (out or text or json):
            return Exit.DONE
    return write_report(places, page, console, title=title, text=text, json_=json, wanted=wanted)


def combine(
    out: Annotated[Path, typer.Option(metavar="FILE", help="A .csv or .parquet to write.")],
    results: Places = None,
    study: OfStudies = None,
    budget: OfBudget = None,
) -> int:
    """Write all records of folders and bundles as one table, failures too."""
    from mdbench.cli.report import combine_records
    from mdbench.reports.classes import RecordFilter

    return combine_records(
        results or RESULTS, out, Console(highlight=False), RecordFilter(study or (), budget)
    )


@with_methods
def bundle(
    results: Places = None,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The archive.")] = Path("results.zip"),
    study: OfStudies = None,
    title: Annotated[str, typer.Option(metavar="TEXT", help="To cite it by.")] = (
        "Results of mdbench"
    ),
    author: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="'Family, Given', or a group; several allowed."),
    ] = None,
    logs: Annotated[bool, typer.Option("--logs", help="The logs of jobs, too.")] = False,
) -> None:
    """Put results, methods, locks and the report into one archive that can be cited."""
    from mdbench.cli.report import write_archive

    write_archive(
        results or RESULTS,
        out,
        Console(highlight=False),
        studies_asked=study or [],
        title=title,
        authors=author or [],
        logs=logs,
    )


def compare(
    before: Annotated[Path, typer.Argument(metavar="A", help="A folder of results, or a bundle.")],
    after: Annotated[Path, typer.Argument(metavar="B", help="Later ones.")],
    each: Annotated[bool, typer.Option("--each", help="Every result that changed.")] = False,
    across_options: Annotated[
        bool, typer.Option("--across-options", help="Whatever the data type's options were.")
    ] = False,
    across_budgets: Annotated[
        bool, typer.Option("--across-budgets", help="Results with unlike budgets, too.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="As JSON, with every change.")] = False,
    study: OfStudies = None,
    budget: OfBudget = None,
) -> None:
    """Show what changed from one folder of results to another, and what of it beyond chance."""
    from mdbench.cli.compare import compare_results
    from mdbench.reports.classes import RecordFilter

    compare_results(
        before,
        after,
        Console(highlight=False),
        every=each,
        json_=json,
        across=across_options,
        across_budgets=across_budgets,
        wanted=RecordFilter(study or (), budget),
    )
