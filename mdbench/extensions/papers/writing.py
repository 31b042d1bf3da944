"""``mdbench export``: results as tables for a paper, next to those that papers report."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from rich.markup import escape

from mdbench.cli.report import (
    ALL,
    axes_of,
    data_type_or_none,
    facts_of_methods,
    leaderboards_of,
    read_results,
    types_of,
    workspace_or_none,
    write,
)
from mdbench.extensions.papers.export import csv_tables, latex_tables, markdown_tables
from mdbench.extensions.papers.published import (
    papers_of_sets,
    read_published,
    read_published_sets,
)
from mdbench.extensions.papers.sets import sets_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from rich.console import Console

    from mdbench.records import Record
    from mdbench.reports.classes import RecordFilter


def export_tables(
    places: Sequence[Path],
    out: Path | None,
    console: Console,
    form: Literal["latex", "markdown", "csv"],
    *,
    published: bool = False,
    wanted: RecordFilter = ALL,
) -> None:
    """Write the tables, or print them; `published` adds a paper's entries."""
    results = read_results(places, wanted=wanted)
    boards = leaderboards_of(results, workspace_or_none())
    if form == "latex":
        tables = latex_tables(boards)
    elif form == "csv":
        tables = csv_tables(boards)
    else:
        tables_of_papers = read_published() if published else None
        tables = markdown_tables(boards, tables_of_papers, axes_of(results))
        tables += "".join(_beside_sets(results)) if published else ""
    if out is None:
        print(tables, end="")
        return
    write(out, tables)
    console.print(f"Tables in {escape(str(out))}", soft_wrap=True)


def _beside_sets(results: Sequence[Record]) -> Iterator[str]:
    """Write what papers report of whole sets that there are results of, and these results."""
    workspace = workspace_or_none()
    kinds = facts_of_methods(workspace)

    def named(method: str) -> str:
        mark = kinds[method].mark if method in kinds else ""
        return f"{method} {mark}" if mark else method

    for name, kind in types_of(results).items() if workspace else ():
        data_type = data_type_or_none(workspace, name) if workspace else None
        own = [one for one in results if one.data_type == name and one.dataset_path is None]
        for paper in papers_of_sets() if data_type and own else ():
            published = read_published_sets(paper)
            groups = data_type.source().groups() if data_type and name in published.values else {}
            set_of = published.set_of(name, groups) if groups else {}
            here = {set_of[one.dataset] for one in own if one.dataset in set_of}
            if here:
                sets = {each: rows for each, rows in published.values[name].items() if each in here}
                shown = {key for rows in sets.values() for row in rows.values() for key in row}
                specs = {spec.name: spec for spec in kind.metrics if spec.name in shown}
                part = replace(published, values={name: sets})
                table = sets_table(own, name, groups, specs, part, every=True, named=named)
                yield f"\n## {name}: sets of {published.title}\n\n{table}\n"
