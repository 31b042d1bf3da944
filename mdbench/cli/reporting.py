"""``mdbench combine``, ``mdbench report`` and ``mdbench export``: what the records come to."""

from __future__ import annotations

import contextlib
import json
import math
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from rich.markup import escape

from mdbench import datatypes, methods
from mdbench.drawing.numbers import counted
from mdbench.errors import MdbenchError, MethodError, UsageError
from mdbench.reports.bundle import opened
from mdbench.reports.categories import Category, by_category
from mdbench.reports.circumstances import as_given
from mdbench.reports.combine import flatten, write_table
from mdbench.reports.language_models import asked, read_probes
from mdbench.reports.latex import latex_tables
from mdbench.reports.leaderboard import Board, Kind
from mdbench.reports.leaderboard import boards as boards_of
from mdbench.reports.markdown import markdown_tables
from mdbench.reports.published import read_published
from mdbench.reports.results import Result, read_folder, standing, studies
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from rich.console import Console

    from mdbench.datatypes.base import DataType
    from mdbench.language_models.contamination import Probes

__all__ = ["combine", "compare", "export", "html_of", "read_results", "report", "write"]


def combine(folder: Path, out: Path, console: Console) -> None:
    """Write all records of a folder, or of a bundle, as one table."""
    with opened(folder) as place:
        records = read_folder(place)
        base = place if place.is_dir() else place.parent
        rows = [flatten(path.relative_to(base).as_posix(), data) for path, data in records]
    write_table(rows, out)
    files = len({path for path, _ in records})
    console.print(
        f"{counted(len(rows), 'record')} of {counted(files, 'file')} in {escape(str(out))}",
        soft_wrap=True,
    )


def report(
    folder: Path,
    out: Path | None,
    console: Console,
    *,
    title: str,
    text: bool,
    json_: bool = False,
) -> None:
    """Write the page, or print the leaderboards."""
    results = read_results(folder)
    if json_:
        boards = compare(results, _workspace())
        told = {name: _as_json(board) for name, board in boards.items()}
        print(json.dumps({"schema": 1, "results": len(results), "data_types": told}))
    with opened(folder) as place:
        probes = read_probes(place)
    if text:
        boards = compare(results, _workspace())
        from mdbench.reports.terminal import leaderboards, model_tables

        for sha256, number in studies(results):
            of = f"of the study with SHA-256 {sha256}" if sha256 else "of no study"
            console.print(f"{counted(number, 'result')} {of}", soft_wrap=True)
        for each in as_given(results, _options(results)):
            console.print(f"{each.name}: {escape(each.says)}", soft_wrap=True)
        for table in leaderboards(boards):
            console.print(table)
        for table in model_tables(asked(results, boards), probes):
            console.print(table)
    if out is None:
        return
    html = html_of(results, title=title, probes=probes)
    write(out, html)
    size = len(html.encode()) / 1e6
    console.print(
        f"{counted(len(results), 'result')} in {escape(str(out))} ({size:.1f} MB)", soft_wrap=True
    )


def _as_json(board: Board) -> dict[str, Any]:
    """Give a leaderboard: its metrics and its rows; infinite is the text ``inf``."""
    return {
        "primary": board.primary.name,
        "metrics": [spec.as_json() for spec in board.known],
        "systems": len(board.systems),
        "rows": [_finite(vars(row)) for row in board.rows],
    }


def _finite(value: Any) -> Any:
    """Make strict JSON of numbers that are not finite, and objects of named tuples."""
    match value:
        case float() if not math.isfinite(value):
            return None if math.isnan(value) else "inf" if value > 0 else "-inf"
        case dict():
            return {name: _finite(each) for name, each in value.items()}
        case tuple() if hasattr(value, "_asdict"):
            return _finite(value._asdict())
        case list() | tuple():
            return [_finite(each) for each in value]
    return value


def html_of(results: Sequence[Result], *, title: str, probes: Sequence[Probes] = ()) -> str:
    """Make the page of results."""
    from mdbench.reports.html import page
    from mdbench.reports.pictures import Pictures

    workspace = _workspace()
    return page(
        results,
        compare(results, workspace),
        title=title,
        picture=Pictures(partial(_data_type, workspace)).draw if workspace else None,
        describe=_Titles(workspace) if workspace else None,
        derivatives={name: kind.derivative for name, kind in _here(results).items()},
        probes=probes,
        categories=_categories(results, workspace) if workspace else None,
        options=_options(results),
    )


def _options(results: Sequence[Result]) -> dict[str, list[str]]:
    """Name the options of each data type, as they are in records."""
    return {name: [each.key for each in kind.options] for name, kind in _here(results).items()}


def _categories(results: Sequence[Result], workspace: Workspace) -> dict[str, list[Category]]:
    """Compare methods on each category of systems, where a data type has several."""
    found: dict[str, list[Category]] = {}
    known = _known(results, workspace)
    for name, here in _here(results).items():
        kind = _data_type(workspace, name)
        ones = [one for one in results if one.data_type == name]
        groups = by_category(ones, kind.source().groups()) if kind else {}
        found[name] = [
            Category(
                group,
                frozenset(one.dataset for one in part),
                boards_of(part, known, {name: here.metrics})[name],
            )
            for group, part in groups.items()
        ]
    return found


def export(
    folder: Path,
    out: Path | None,
    console: Console,
    form: Literal["latex", "markdown"],
    *,
    published: bool = False,
) -> None:
    """Write the tables, or print them; `published` puts a paper's entries beside them."""
    boards = compare(read_results(folder), _workspace())
    if form == "latex":
        tables = latex_tables(boards)
    else:
        beside = read_published() if published else None
        tables = markdown_tables(boards, beside)
    if out is None:
        print(tables, end="")
        return
    write(out, tables)
    console.print(f"Tables in {escape(str(out))}", soft_wrap=True)


def write(out: Path, text: str) -> None:
    """Write a file, whole or not at all."""
    part = out.with_name(f".{out.name}.part")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(text, encoding="utf-8")
        part.replace(out)
    except OSError as error:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        raise UsageError(
            f"{out} cannot be written: {error.strerror or error}.", "Choose another --out."
        ) from None


class _Titles:
    """Says what a dataset is; remembers each data type's source."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.found: dict[str, Mapping[str, str]] = {}

    def __call__(self, data_type: str, name: str) -> str:
        if data_type not in self.found:
            kind = _data_type(self.workspace, data_type)
            source = kind.source() if kind else None
            names = source.names() if source else ()
            self.found[data_type] = {each: source.title(each) for each in names} if source else {}
        return self.found[data_type].get(name, "")


def _data_type(workspace: Workspace, name: str) -> DataType[Any, Any] | None:
    try:
        return datatypes.find(name, workspace.datasets / name, workspace.arrays / name)
    except MdbenchError:  # this version does not have it
        return None


def read_results(folder: Path, named: Path | None = None) -> Sequence[Result]:
    """Give the results of a folder or a bundle that stand.

    Parameters
    ----------
    named
        What errors call it, where the user named something else.

    Raises
    ------
    UsageError
        If there are none.
    """
    with opened(folder) as place:
        results = standing(read_folder(place))
    if not results:
        raise UsageError(
            f"There are no records in {named or folder} yet.", "Results come from: mdbench run"
        )
    return results


def _workspace() -> Workspace | None:
    # Results can be looked at anywhere; what methods are is then not known.
    try:
        return Workspace.find()
    except UsageError:
        return None


def compare(results: Sequence[Result], workspace: Workspace | None) -> dict[str, Board]:
    """Compare methods on each data type, with what a workspace, if there is one, says of them."""
    specs = {name: kind.metrics for name, kind in _here(results).items()}
    return boards_of(results, _known(results, workspace), specs)


def _known(results: Sequence[Result], workspace: Workspace | None) -> dict[str, Kind]:
    """Say what methods are, also those that a report calls otherwise than their folders."""
    kinds = _kinds(workspace)
    return kinds | {one.algorithm: kinds[one.folder] for one in results if one.folder in kinds}


def _here(results: Sequence[Result]) -> dict[str, type[DataType[Any, Any]]]:
    wanted = {one.data_type for one in results} & {*datatypes.names()}
    return {kind.name: kind for kind in datatypes.classes(wanted)}


def _kinds(workspace: Workspace | None) -> dict[str, Kind]:
    if workspace is None:
        return {}
    return {
        name: Kind(method.spec.family, "truth" in method.spec.given, method.spec.origin)
        for name, method in methods.discover(workspace.algorithms).items()
        if not isinstance(method, MethodError)
    }
