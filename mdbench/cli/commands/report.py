"""The options of ``report``, ``watch``, ``combine``, ``export``, ``bundle`` and ``compare``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console

from mdbench.cli.options import Exit, with_methods
from mdbench.cli.parameters import RESULTS, OfBudget, OfStudies, Places
from mdbench.errors import UsageError


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
    from mdbench.cli.report import write_report, write_results_site
    from mdbench.reports.classes import RecordFilter

    page = out if text or json else out or Path("report.html")
    console = Console(highlight=False, stderr=json)
    wanted = RecordFilter(study or (), budget)
    places = results or RESULTS
    if site is not None:
        write_results_site(places, site, console, title=title, wanted=wanted)
        if not (out or text or json):
            return Exit.DONE
    return write_report(places, page, console, title=title, text=text, json_=json, wanted=wanted)


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
    from mdbench.cli.report import serve_report

    return serve_report(folder, Console(highlight=False), host=host, port=port, title=title)


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
    from mdbench.cli.report import export_tables
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
