"""Runs the reference results, and writes their tables and figures into ``docs``.

What is written is between two comments of a page, ``<!-- NAME -->`` and ``<!-- end -->``;
the rest of the page is prose, and stays.  Blocks of further runs on the same page have the run's
name before their own: ``<!-- paper-runs -->``.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from dataclasses import replace
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from author_pages import stale_pages, write_pages
from bundles import parts_of
from derivation_labels import with_label_scores
from parity import UPSTREAM
from prose import with_numbers, wrong_numbers
from reference_runs import STUDIES, page_of
from result_blocks import BLOCK, Reference, fill, records_of

from mdbench.cli.report import leaderboards_of, write
from mdbench.datatypes.real.problem import read_measurements
from mdbench.errors import MdbenchError
from mdbench.reports.classes import latest
from mdbench.runs.catalog import Catalog
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mdbench.records import Record

_STYLE = re.compile(r"<style>.*?</style>", re.DOTALL)


def _compare(
    data_type: str,
    records: Sequence[Record],
    workspace: Workspace,
    figures_in: Path,
) -> Reference:
    own = [one for one in records if one.data_type == data_type]
    ours = [*leaderboards_of(own, workspace).values()]
    methods = sorted({one.method for board in ours for one in board.entries})
    numbers = {method: number for number, method in enumerate(methods)}
    return Reference(data_type, ours, numbers, figures_in)


def _truths(workspace: Workspace) -> dict[str, str]:
    files = sorted((workspace.datasets / "real").glob("*.toml"))
    return {table.name: table.kind for table in map(read_measurements, files)}


def reference_of(
    name: str, records: Sequence[Record], workspace: Workspace, figures_in: Path
) -> Reference:
    """Compare the records of a run."""
    data_type, counted = STUDIES[name].data_type, latest(records)
    return replace(
        _compare(data_type, counted, workspace, figures_in),
        results=with_label_scores(counted, workspace.root / "docs" / "results"),
        groups=lambda: Catalog(workspace).source(data_type, None).groups(),
        truths=_truths(workspace) if data_type == "real" else {},
        name=name,
        kept=workspace.root / "docs" / "results",
    )


def with_blocks_of(page: str, text: str) -> str:
    """Return a text whose blocks are those of the same name of a page, where it has them."""
    made = {match[2]: match[0] for match in BLOCK.finditer(page)}
    return BLOCK.sub(lambda match: made.get(match[2], match[0]), text)


def write_page(name: str, workspace: Workspace) -> None:
    """Write the tables and figures of a run again, from the records in ``docs/results``."""
    docs = workspace.root / "docs"
    page, records = page_of(name, docs), records_of(name, docs)
    made = reference_of(name, records, workspace, docs / "results")
    text = fill(page.read_text(encoding="utf-8"), made)
    write(page, with_numbers(text, partial(records_of, docs=docs)))
    readme = workspace.root / "README.md"
    if readme.is_file():
        write(readme, with_blocks_of(text, readme.read_text(encoding="utf-8")))
    if name.startswith("edition-"):
        from edition_index import write_index  # noqa: PLC0415 - its extension may be taken away

        write_index(workspace.root)


def differences(name: str, workspace: Workspace, docs: Path) -> list[str]:
    """Make all of a run's blocks and figures again from the records that ``docs`` has.

    Returns
    -------
    list of str
        A line for each block and for each figure that the records do not give.
    """
    page = page_of(name, docs)
    text = page.read_text(encoding="utf-8")
    records = records_of(name, docs)
    with tempfile.TemporaryDirectory() as folder:
        figures_in = Path(folder) / "results"
        figures_in.mkdir()
        again = fill(text, reference_of(name, records, workspace, figures_in))
        found = list(_unlike(page.name, text, again))
        made = _drawings(figures_in.iterdir())
    kept_ones = _drawings(_figures_of(name, docs) if made else ())
    unlike = (file for file in sorted(made | kept_ones) if made.get(file) != kept_ones.get(file))
    return found + [
        f"{page.name}: the file results/{file} is not what the records give" for file in unlike
    ]


def _figures_of(name: str, docs: Path) -> list[Path]:
    """List what is drawn or written of a run, without runs whose names begin like its own."""
    longer = tuple(f"{other}-" for other in STUDIES if other.startswith(f"{name}-"))
    folder = docs / "results"
    files = [*folder.glob(f"{name}-*.svg"), *folder.glob(f"{name}-table.*")]
    return [file for file in files if not file.name.startswith(longer)]


def _drawings(files: Iterable[Path]) -> dict[str, str]:
    """Read figures, without their style, which has no numbers."""
    return {file.name: _STYLE.sub("", file.read_text(encoding="utf-8")) for file in files}


def _unlike(page: str, text: str, again: str) -> Iterator[str]:
    """Name each block that differs, with the first line that does."""
    for old, new in zip(BLOCK.finditer(text), BLOCK.finditer(again), strict=True):
        pairs = zip_longest(old[0].splitlines(), new[0].splitlines(), fillvalue="")
        first = next(((one, other) for one, other in pairs if one != other), None)
        if first is not None:
            yield (
                f"{page}: the block {old[2]} is not what the records give\n"
                f"    the page has:     {first[0]}\n    the records give: {first[1]}"
            )


def without_records(docs: Path) -> list[str]:
    """Name the tables of the pages of results that no run makes, and records that no run has."""
    found = []
    for page in result_pages(docs):
        prose = BLOCK.sub("", page.read_text(encoding="utf-8"))
        heading = ""
        lines = prose.splitlines()
        for number, line in enumerate(lines):
            if line.startswith("#"):
                heading = line.lstrip("# ")
            if line.startswith("|") and not lines[number - 1].startswith("|"):
                found.append(f"{page.name}, {heading}: a table that no run makes")
    used = {UPSTREAM.name}
    for bundle in {bundle for run in STUDIES.values() for bundle in run.bundles}:
        used |= {part.name for part in parts_of(docs / "results", bundle)}
    used |= {f"{name}-table.csv" for name in STUDIES}
    kept = sorted((docs / "results").glob("*.csv")) + sorted((docs / "results").glob("*.xz"))
    return found + [
        f"results/{one.name}: records that no run makes a block of"
        for one in kept
        if one.name not in used
    ]


def result_pages(docs: Path) -> list[Path]:
    """Return the pages that have results."""
    folder = docs / "results"
    named = {folder / "gallery.md", *(page_of(name, docs) for name in STUDIES)}
    return sorted(file for file in {*named, *folder.glob("results-*.md")} if file.is_file())


def check(names: Iterable[str], workspace: Workspace) -> int:
    """Print what is not as the records give it, or has none; return 1 if there is anything."""
    docs = workspace.root / "docs"
    names = list(names)
    failed = 0
    for name in names:
        try:
            lines = differences(name, workspace, docs)
        except MdbenchError as error:
            lines = [f"{name}: {error.message}"]
        failed += bool(lines)
        print(*(lines or [f"{name}: as the records give it"]), sep="\n", flush=True)
    of_names = {page_of(name, docs) for name in names}
    pages = [page for page in result_pages(docs) if page in of_names or len(names) > 1]
    numbers = [
        line for page in pages for line in wrong_numbers(page, partial(records_of, docs=docs))
    ]
    others = without_records(docs) if len(names) > 1 else []
    if len(names) > 1:
        others += [
            f"{path}: not what the folders and records give" for path in stale_pages(workspace.root)
        ]
    for line in [*numbers, *others]:
        print(line)
    print(
        f"{len(pages)} pages: {len(numbers)} numbers in prose, {len(others)} tables or files, and "
        f"blocks, figures or tables of {failed} of {len(names)} runs are not what records give"
    )
    return int(failed > 0 or bool(numbers) or bool(others))


def main() -> int:
    """Write pages again, or check what is written."""
    parser = argparse.ArgumentParser(description="Write the tables of results from their records.")
    parser.add_argument("name", choices=STUDIES, nargs="?", help="a run; default: all")
    parser.add_argument(
        "--check",
        action="store_true",
        help="write nothing: make all again from the records in docs/results, and fail where a "
        "page has something else",
    )
    asked = parser.parse_args()
    workspace = Workspace.find()
    names = [asked.name] if asked.name else list(STUDIES)
    if asked.check:
        return check(names, workspace)
    for name in names:
        write_page(name, workspace)
        print(f"{name}: {page_of(name, workspace.root / 'docs').name}")
    if not asked.name:
        write_pages(workspace.root)
        print("settings.md and the letters to authors")
    return 0


if __name__ == "__main__":
    sys.exit(main())
