"""``mdbench report``, ``combine`` and ``bundle``."""

from __future__ import annotations

import contextlib
import json
import math
import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict
from urllib.parse import quote

from rich.markup import escape

from mdbench import datatypes, methods
from mdbench.cli.contradictions import (
    Conflict,
    conflict_lines,
    conflicts_of_jobs,
    contradictions,
    lines_on_names,
    torn_lines,
)
from mdbench.cli.options import Exit
from mdbench.errors import MdbenchError, MethodError, UsageError, counted
from mdbench.records import Record, being_written, without_garbage_collection
from mdbench.reports.bundle import is_bundle, opened_all, write_bundle
from mdbench.reports.classes import Category, RecordFilter, by_category, latest
from mdbench.reports.combine import CONFLICT, flatten, write_table
from mdbench.reports.entries import given_options, studies
from mdbench.reports.joining import conflicts, other_scorers, read_places, versions
from mdbench.reports.leaderboard import Leaderboard, MethodFacts
from mdbench.reports.leaderboard import boards as boards_of
from mdbench.reports.sections import Shown, folders_of, sections
from mdbench.runs.plan import make_plan
from mdbench.runs.spec import JobSpec
from mdbench.runs.study import Study
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rich.console import Console

    from mdbench.datatypes.base import DataType, Source
    from mdbench.metrics.spec import MetricSpec
    from mdbench.reports.entries import Entry
    from mdbench.reports.html import Parts
    from mdbench.reports.pictures import Draw


ALL = RecordFilter()
"""No records are left out."""


def combine_records(
    places: Sequence[Path], out: Path, console: Console, wanted: RecordFilter = ALL
) -> int:
    """Write all records of folders and bundles as one table.

    Returns
    -------
    int
        The exit status: not 0 where two files have different results of one job.
    """
    records = read_places(places)
    kept = {id(record) for record in wanted.of([record for _, record in records], names_of(places))}
    records = [(path, record) for path, record in records if id(record) in kept]
    conflicts = conflicts_of_jobs(records, workspace_or_none())
    others = {conflict.record.identity: conflict.files for conflict in conflicts}
    whole = places[0].is_dir() or is_bundle(places[0])
    base = (places[0] if whole else places[0].parent) if len(places) == 1 else None
    rows = [
        flatten((path if base is None else path.relative_to(base)).as_posix(), record)
        | {CONFLICT: " ".join(str(x) for x in others.get(record.identity, ()) if x != path)}
        for path, record in records
    ]
    write_table(rows, out)
    files = len({path for path, _ in records})
    for line in [*conflict_lines(conflicts), *lines_on_names(records), *torn_lines(places)]:
        console.print(escape(line), style="yellow", soft_wrap=True)
    console.print(
        f"{counted(len(rows), 'record')} of {counted(files, 'file')} in {escape(str(out))}",
        soft_wrap=True,
    )
    return _exit_of(conflicts)


def _exit_of(conflicts: Sequence[Conflict]) -> int:
    failed = any(conflict.decides for conflict in conflicts)
    return Exit.NOT_AS_WISHED if failed else Exit.DONE


@without_garbage_collection()
def write_report(
    places: Sequence[Path],
    out: Path | None,
    console: Console,
    *,
    title: str,
    text: bool,
    json_: bool = False,
    wanted: RecordFilter = ALL,
) -> int:
    """Write the page, or print the leaderboards.

    Returns
    -------
    int
        The exit status: not 0 where two files have different results of one job.
    """
    with console.status(f"Reading {names_of(places)} ..."):
        rows = _rows_of(places)
    chosen = wanted.of([record for _, record in rows], names_of(places))
    asked = {id(record) for record in chosen}
    asked_rows = [row for row in rows if id(row[1]) in asked]
    job_conflicts = conflicts_of_jobs(asked_rows, workspace_or_none())
    results = latest(chosen)
    in_progress = any(map(goes_on, places))
    on_jobs = [*conflict_lines(job_conflicts), *lines_on_names(asked_rows)]
    remarks = [*versions(rows), *on_jobs, *torn_lines(places)]
    for line in [*remarks, *conflicts(results), *other_scorers(results), *_misfits(results)]:
        console.print(escape(line), style="yellow", soft_wrap=True)
    if json_:
        boards = leaderboards_of(results, workspace_or_none())
        by_name = {name: _board_json(board) for name, board in boards.items()}
        found = {"schema": 1, "results": len(results), "in_progress": in_progress}
        of_jobs = [conflict.as_json() for conflict in job_conflicts]
        print(json.dumps(found | {"conflicts": of_jobs, "data_types": by_name}))
    if text:
        if in_progress:
            console.print("A run is in progress: its results are not complete.")
        boards = leaderboards_of(results, workspace_or_none())
        from mdbench.reports.terminal import leaderboards

        for sha256, number in studies(results):
            are = "is" if number == 1 else "are"
            of = f"of the study with SHA-256 {sha256}"
            of = of if sha256 else f"that {are} not part of a study"
            console.print(f"{counted(number, 'result')} {of}", soft_wrap=True)
        for each in given_options(results, _options(results)):
            console.print(f"{each.name}: {escape(each.value)}", soft_wrap=True)
        for table in leaderboards(boards, console.width):
            console.print(table)
        with opened_all(places) as opened:
            shown = Shown(results, boards, list(opened.values()))
            for table in (table for section in sections() for table in section.tables(shown)):
                console.print(table)
    if out is None:
        return _exit_of(job_conflicts)
    doing = f"Comparing and drawing {counted(len(results), 'result')} ..."
    from mdbench.reports.html import Parts

    parts = Parts(out.name)
    with opened_all(places) as opened, console.status(doing):
        html = html_of(
            results,
            title=title,
            places=[*opened.values()],
            in_progress=in_progress,
            files=_addresses(rows, out),
            parts=parts,
        )
    written = _write_page(out, html, parts)
    console.print(escape(f"{counted(len(results), 'result')} in {written}"), soft_wrap=True)
    return _exit_of(job_conflicts)


def _write_page(out: Path, html: str, parts: Parts) -> str:
    """Write a page with its parts; return where they are, and their sizes."""
    write(out, html)
    folder = out.with_name(parts.folder)
    write_parts(folder, parts)
    page = f"{out} ({len(html.encode()) / 1e6:.1f} MB)"
    if not parts.files:
        return page
    more = sum(map(len, parts.files.values())) / 1e6
    return f"{page}, and what is closed at first in {folder} ({more:.1f} MB)"


def _addresses(rows: Sequence[tuple[Path, Record]], out: Path) -> dict[str, str]:
    """Return the address of the file of each record, as seen from the page, by its key."""
    folder = out.resolve().parent
    paths = {path for path, _ in rows if path.is_file()}
    links = {path: quote(os.path.relpath(path.resolve(), folder)) for path in paths}
    return {record.key: links[path] for path, record in rows if path in links}


def _misfits(results: Sequence[Record]) -> list[str]:
    """Return how many records do not fit together, as those that were edited by hand."""
    misfits = [(one, faults[0]) for one in results if (faults := contradictions(one))]
    if not misfits:
        return []
    record, fault = misfits[0]
    verb = "does" if len(misfits) == 1 else "do"
    of = f"{len(misfits)} of {counted(len(results), 'record')} {verb}"
    where = f"{record.algorithm} on {record.dataset}, seed {record.seed}"
    return [f"{of} not fit together, as if edited: {where}: {fault}."]


def _board_json(board: Leaderboard) -> dict[str, Any]:
    """Return a leaderboard: its metrics and its rows; infinite is the text ``inf``."""
    return {
        "data_type": board.data_type,
        "class": board.title,
        "jobs": len(board.plan.jobs),
        "compared": list(board.ranked),
        "missing": dict(board.missing),
        "primary": board.primary.name,
        "metrics": [spec.as_json() for spec in board.known],
        "systems": len(board.systems),
        "rows": [_finite(row.as_json()) for row in board.rows],
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


def goes_on(folder: Path) -> bool:
    """Whether a run adds records to a folder."""
    return not is_bundle(folder) and being_written(folder)


def html_of(
    results: Sequence[Record],
    *,
    title: str,
    places: Sequence[Path] = (),
    in_progress: bool = False,
    files: Mapping[str, str] | None = None,
    parts: Parts | None = None,
) -> str:
    """Make the page of results; `places` are their folders, of a bundle the one it is opened in.

    `files` are the addresses of the files of records, by the records' keys.  `parts` are as for
    `mdbench.reports.html.page`.
    """
    from mdbench.reports.html import page

    workspace = workspace_or_none()
    reduced: dict[int, Entry] = {}
    return page(
        results,
        leaderboards_of(results, workspace, reduced),
        title=title,
        places=places,
        axes=axes_of(results),
        in_progress=in_progress,
        files=files,
        parts=parts,
        **known_of_data(results, workspace, places, reduced=reduced),
    )


class KnownOfData(TypedDict):
    """What pages of results show of data: parameters of `mdbench.reports.html.page`."""

    picture: Draw | None
    describe: Callable[[str, str], str] | None
    derivatives: Mapping[str, str]
    categories: Mapping[str, Sequence[Category]] | None
    options: Mapping[str, Sequence[str]]


def known_of_data(
    results: Sequence[Record],
    workspace: Workspace | None,
    places: Sequence[Path],
    *,
    evaluations: int | None = None,
    reduced: dict[int, Entry] | None = None,
) -> KnownOfData:
    """Return what data types and files of data say of the results.

    `evaluations` limits the work of all pictures; None for that of a report's.  `reduced` is as
    for `mdbench.reports.leaderboard.boards`.
    """
    from mdbench.reports.pictures import ALL_EVALUATIONS, Pictures

    most, folders = evaluations or ALL_EVALUATIONS, folders_of(places)
    return {
        "picture": Pictures(partial(data_type_or_none, workspace), folders, evaluations=most).draw
        if workspace
        else None,
        "describe": _Titles(workspace) if workspace else None,
        "derivatives": {name: kind.derivative for name, kind in types_of(results).items()},
        "categories": _categories(results, workspace, reduced) if workspace else None,
        "options": _options(results),
    }


def _options(results: Sequence[Record]) -> dict[str, list[str]]:
    """Name the options of each data type, as they are in records."""
    return {name: [each.key for each in kind.options] for name, kind in types_of(results).items()}


def axes_of(results: Sequence[Record]) -> dict[str, Mapping[str, str]]:
    """Return the axes of sweeps of each data type."""
    return {name: kind.axes for name, kind in types_of(results).items()}


def _categories(
    results: Sequence[Record], workspace: Workspace, reduced: dict[int, Entry] | None
) -> dict[str, list[Category]]:
    """Compare methods on each category of systems, where a data type has several."""
    categories: dict[str, list[Category]] = {}
    known = _known(results, workspace)
    for name, here in types_of(results).items():
        kind = data_type_or_none(workspace, name)
        ones = [one for one in results if one.data_type == name and one.dataset_path is None]
        groups = by_category(ones, kind.source().groups()) if kind else {}
        categories[name] = [
            Category(
                group,
                frozenset(one.dataset for one in part),
                tuple(boards_of(part, known, {name: here.metrics}, reduced).values()),
            )
            for group, part in groups.items()
        ]
    return categories


def write_parts(folder: Path, parts: Parts) -> None:
    """Write the parts of a page into a folder of their own, and remove those of an older page."""
    try:
        for old in folder.glob("*.js") if folder.is_dir() else ():
            if old.name not in parts.files and old.stem.isdecimal():
                old.unlink()
        if parts.files:
            folder.mkdir(parents=True, exist_ok=True)
        elif folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
        for name, text in parts.files.items():
            (folder / name).write_text(text, encoding="ascii")
    except OSError as error:
        raise UsageError(
            f"{folder} cannot be written: {error.strerror or error}.", "Choose another --out."
        ) from None


def write(out: Path, text: str) -> None:
    """Write a file, whole or not at all."""
    if out.is_dir():
        raise UsageError(f"{out} is a folder.", "Name a file with --out.")
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
    """Describes datasets; remembers each data type's source."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.sources: dict[str, Source[Any] | None] = {}

    def __call__(self, data_type: str, name: str) -> str:
        if data_type not in self.sources:
            kind = data_type_or_none(self.workspace, data_type)
            self.sources[data_type] = None if kind is None else kind.source()
        source = self.sources[data_type]
        if source is None:
            return ""
        try:
            return source.title(name)
        except MdbenchError:  # this version does not have it
            return ""


def data_type_or_none(workspace: Workspace, name: str) -> DataType[Any, Any] | None:
    """Return a data type; None where this version does not have it."""
    try:
        return datatypes.find(name, workspace.datasets / name, workspace.arrays / name)
    except MdbenchError:
        return None


def read_results(places: Sequence[Path], *, wanted: RecordFilter = ALL) -> Sequence[Record]:
    """Return the results of folders and bundles that count: of each class of records the newest.

    Raises
    ------
    UsageError
        If there are none, or none that are wanted.
    """
    return latest(wanted.of(records_of(places), names_of(places)))


def records_of(places: Sequence[Path]) -> list[Record]:
    """Return all records of folders and bundles; a UsageError where there are none."""
    return [record for _, record in _rows_of(places)]


def _rows_of(places: Sequence[Path]) -> list[tuple[Path, Record]]:
    rows = read_places(places)
    if not rows:
        raise UsageError(
            f"There are no records in {names_of(places)} yet.", "Results come from: mdbench run"
        )
    return rows


def names_of(places: Sequence[Path]) -> str:
    """Return places as a message names them."""
    return ", ".join(map(str, places))


def workspace_or_none() -> Workspace | None:
    """Return the workspace; None where results are looked at outside of any."""
    try:
        return Workspace.find()
    except UsageError:
        return None


def leaderboards_of(
    results: Sequence[Record], workspace: Workspace | None, reduced: dict[int, Entry] | None = None
) -> dict[str, Leaderboard]:
    """Compare methods on each data type and in each class of records.

    What methods are is taken from a workspace, if there is one.
    """
    return boards_of(results, _known(results, workspace), metrics_of(results), reduced)


def metrics_of(results: Sequence[Record]) -> dict[str, Sequence[MetricSpec]]:
    """Return the metrics of each data type of the results, the primary one first."""
    return {name: kind.metrics for name, kind in types_of(results).items()}


def _known(results: Sequence[Record], workspace: Workspace | None) -> dict[str, MethodFacts]:
    """Return what methods are, by the names in the report and by those of their folders.

    Whoever was given the truth is a reference, whatever its folder says or whether it is here.
    """
    kinds = facts_of_methods(workspace)
    known = kinds | {one.method: kinds[one.algorithm] for one in results if one.algorithm in kinds}
    for one in results:
        if "truth" in one.given:
            known[one.method] = known.get(one.method, MethodFacts())._replace(reference=True)
    return known


def types_of(results: Sequence[Record]) -> dict[str, type[DataType[Any, Any]]]:
    """Return the data types of results that are here, by their names."""
    wanted = filter(datatypes.is_known, {record.data_type for record in results})
    return {kind.name: kind for kind in datatypes.classes(wanted)}


def facts_of_methods(workspace: Workspace | None) -> dict[str, MethodFacts]:
    """Return what the folders of methods say of them, by the folders' names."""
    if workspace is None:
        return {}
    return {
        name: MethodFacts(
            method.spec.family, "truth" in method.spec.given, method.spec.origin, method.spec.mark
        )
        for name, method in methods.discover(workspace.algorithms).items()
        if not isinstance(method, MethodError)
    }


def write_archive(
    places: Sequence[Path],
    out: Path,
    console: Console,
    *,
    studies_asked: Sequence[str],
    title: str,
    authors: Sequence[str],
    logs: bool,
) -> None:
    """Write the archive, and print what is in it and what is not.

    Raises
    ------
    UsageError
        If its name is that of another kind of archive, which would not open by that name.
    """
    if out.suffix.lower() != ".zip":
        raise UsageError(
            f"--out is {str(out)!r}, and a bundle is a ZIP archive.",
            f"Give it a name that ends so: --out {out.name.partition('.')[0] or 'results'}.zip",
        )
    workspace = Workspace.find()
    here = {
        name: method
        for name, method in methods.discover(workspace.algorithms).items()
        if not isinstance(method, MethodError)
    }
    results = read_results(places, wanted=RecordFilter(studies_asked))
    jobs, jobs_left = _jobs_of(studies_asked, results, workspace)
    with opened_all(places) as found:
        page = html_of(results, title=title, places=[*found.values()])
    made = write_bundle(
        places,
        out,
        methods=here,
        studies_asked=studies_asked,
        page=page,
        title=title,
        authors=authors,
        logs=logs,
        jobs_left=jobs_left,
    )
    size = made.size / 1e6
    console.print(
        f"{counted(made.records, 'record')} in {escape(str(out))} ({size:.1f} MB)", soft_wrap=True
    )
    console.print(f"SHA-256 {made.sha256}", soft_wrap=True)
    if jobs_left:
        console.print(
            f"[yellow]{jobs_left} of {counted(jobs, 'job')} of the study have no record.[/]",
            soft_wrap=True,
        )
    if made.changed:
        console.print(
            f"Folders not in it, as records were made with others: {', '.join(made.changed)}",
            soft_wrap=True,
        )
    if made.own_data:
        console.print(
            f"Own data, which are not in it: {escape(', '.join(made.own_data))}", soft_wrap=True
        )


def _jobs_of(
    studies_asked: Sequence[str], results: Sequence[Record], workspace: Workspace
) -> tuple[int, int]:
    """Return how many jobs the files of studies ask for, and how many have no record.

    Studies of methods or data that are not here are passed over.
    """
    jobs: set[JobSpec] = set()
    for path in filter(Path.is_file, map(Path, studies_asked)):
        with contextlib.suppress(MdbenchError):
            jobs |= {
                replace(job, study=None) for job in make_plan(Study.read(path), workspace).jobs
            }
    done = {replace(JobSpec.of(record), study=None) for record in results} if jobs else set()
    return len(jobs), len(jobs - done)
