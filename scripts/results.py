"""Runs the reference results, and writes their tables and figures into ``docs``.

What is written is between two comments of a page, ``<!-- NAME -->`` and ``<!-- end -->``;
the rest of the page is prose, and stays.  Blocks of further runs on the same page have the run's
name before their own: ``<!-- paper-runs -->``.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from html import escape
from importlib import resources
from itertools import zip_longest
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from author_pages import stale_pages, write_pages
from box_plots import Drawn, box_figures, taxonomy_figure
from bundles import parts_of, read_bundle
from derivation_labels import paper_table, probes_table, with_label_scores
from edition_findings import edition_findings, suites_finding
from edition_page import (
    best_table,
    derivations_table,
    edition_figures,
    elsewhere_table,
    field_figures,
    methods_table,
    negligible_table,
    predictions_table,
    sizes_table,
    suites_table,
    surface_figures,
)
from edition_results import Results
from effort import effort_table
from findings import finding_of_work, named, recovered_table
from fresh_ranks import ranks_finding, ranks_table
from mock_table import mock_faults, mock_finding, mock_table
from operators import operator_tables, operators_figure, operators_markdown
from parity import UPSTREAM, parity_table
from prose import with_numbers, wrong_numbers
from rank_correlation import ranks_text
from recovery import recovery_table
from reference_runs import (
    PREFIXES,
    RUNS,
    STUDIES,
    command_of,
    data_type_of,
    page_of,
    prefix_of,
)
from whose_merit import conditions_table, effects_table, finding_of_merit

from mdbench.cli.report import leaderboards_of, write
from mdbench.datatypes.real.problem import read_measurements
from mdbench.drawing.numbers import duration, fixed, noise_name
from mdbench.drawing.svg import COLOURS, HEIGHT, LEFT, RIGHT, WIDTH, marker
from mdbench.errors import MdbenchError
from mdbench.reports import export
from mdbench.reports.classes import latest
from mdbench.reports.combine import read_rows, write_table
from mdbench.reports.comparison import Published, read_published, read_published_sets
from mdbench.reports.entries import marked
from mdbench.reports.figures import critical_difference, figures, heat_map
from mdbench.reports.sets import sets_table, variants_table
from mdbench.runs.catalog import Catalog
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from mdbench.metrics.spec import MetricSpec
    from mdbench.records import Record
    from mdbench.reports.leaderboard import Leaderboard

_NAMES_A_LINE, _LEGEND_LINE = 5, 18
_STYLE = re.compile(r"<style>.*?</style>", re.DOTALL)
_BLOCK = re.compile(r"(<!-- ([a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


@dataclass(frozen=True)
class Reference:
    """The reference results of a data type: a board for each class, of equal budgets and rules."""

    data_type: str
    boards: Sequence[Leaderboard]
    numbers: dict[str, int]
    folder: Path
    results: Sequence[Record] = ()
    groups: Mapping[str, Sequence[str]] = field(default_factory=dict)
    truths: Mapping[str, str] = field(default_factory=dict)
    name: str = ""
    kept: Path = Path()
    """The folder that records name their labels in."""

    @cached_property
    def edition(self) -> Results:
        """The results as an edition counts them."""
        return Results(self.results)

    @property
    def runs(self) -> str:
        """The commands that give them."""
        name = self.name or self.data_type
        return "\n".join(f"    {command_of(name, run)}" for run in RUNS[name])

    def leaderboard(self) -> str:
        """Return the leaderboards of the run."""
        return self._each(export.leaderboard_markdown)

    def published(self) -> str:
        """Numbers of systems that are identified, here and in the paper."""
        paper, protocol = self._paper, "published"
        if paper is None:  # not like for like: a section of its own says so
            paper, protocol = read_published(), "strict"
        return self._each(
            lambda board: export.published_table(board, self.data_type, paper), protocol
        )

    def found(self) -> str:
        """Numbers of systems that are identified, by noise."""
        return self._each(export.marks_table)

    def systems(self) -> str:
        """Each method on each clean system; the paper's entries are of another protocol."""
        return self._each(lambda board: export.systems_table(board, self.data_type, None))

    def published_protocol(self) -> str:
        """The same under the published protocol, next to the paper's entry on the same data."""
        paper = self._paper
        return self._each(
            lambda board: export.systems_table(board, self.data_type, None, paper), "published"
        )

    @property
    def _paper(self) -> Published | None:
        """MDBench's tables; None next to what is not like for like."""
        if self.name not in STUDIES or not STUDIES[self.name].paper:
            return None
        paper = read_published().without(_OTHERS)
        return paper.of_variant("released") if self.data_type == "pde" else paper

    def _each(self, write_: Callable[[Leaderboard], str], protocol: str = "strict") -> str:
        """Write something of each class of a protocol, with its name where there are several."""
        boards = [board for board in self.boards if board.entries[0].case.protocol == protocol]
        texts = {board.title: text for board in boards if (text := write_(board))}
        if len(boards) < 2:  # noqa: PLR2004 - then there is nothing to tell apart
            return "\n\n".join(texts.values())
        return "\n\n".join(f"**{title}**\n\n{text}" for title, text in texts.items())

    def beside(self) -> str:
        """Published results on whole sets, and what was measured."""
        published = read_published_sets(self.data_type)
        return sets_table(
            self.results, self.data_type, self.groups, self._specs_of_sets, published, named=named
        )

    def recovery(self) -> str:
        """Numbers of tables of measurements that are recovered, by the kind of truth."""
        return recovery_table(self.results, self.truths)

    def sets(self) -> str:
        """The same, with all methods that either has."""
        published = read_published_sets(self.data_type)
        return sets_table(
            self.results,
            self.data_type,
            self.groups,
            self._specs_of_sets,
            published,
            every=True,
            named=named,
        )

    def variants(self) -> str:
        """Means by what was asked for behind the datasets' names."""
        return variants_table(self.results, self._specs_of_sets, named)

    @property
    def _specs_of_sets(self) -> dict[str, MetricSpec]:
        known = {spec.name: spec for spec in self.boards[0].specs}
        return {name: known[name] for name in _OF_SETS[self.data_type] if name in known}

    def labels(self) -> str:
        """Shares of right labels of each set, and the interval of what each set loses.

        Sets that none of the datasets has are left out.
        """
        specs = {
            name: spec
            for name, spec in self._specs_of_sets.items()
            if any(isinstance(one.metrics.get(name), float) for one in self.results)
        }
        groups: dict[tuple[str, str], list[Record]] = {}
        for one in sorted(self.results, key=lambda one: (one.dataset, one.method)):
            groups.setdefault((one.dataset, one.method), []).append(one)
        several = any(len(ones) > 1 for ones in groups.values())
        head = ["dataset", "method", *["seeds"] * several, *(spec.title for spec in specs.values())]
        lines = [
            [
                f"`{dataset}`",
                named(method) + " (one label for all)" * all(map(_is_constant, ones)),
                *[str(len(ones))] * several,
                *_shares(ones, specs),
                _cpu(ones),
            ]
            for (dataset, method), ones in groups.items()
        ]
        head.append("CPU")
        rule = [":--", ":--", *["--:"] * (len(head) - 2)]
        return "\n".join(f"| {' | '.join(line)} |" for line in [head, rule, *lines])

    def operators(self) -> str:
        """Which operators go with right labels: a table and a figure of each dataset."""
        parts = []
        for dataset, tables in operator_tables(self.results, self.kept):
            svg, text = operators_figure(tables, self.numbers)
            name = f"{self.name}-operators-{dataset}.svg"
            write(self.folder / name, standalone(svg))
            title = f"Operators behind right labels, {dataset}"
            parts += [
                f"**`{dataset}`, {method}**\n\n{operators_markdown(rows)}"
                for method, rows in tables.items()
            ]
            parts.append(f"![{title}]({self.folder.name}/{name})\n\n*{title}.* {text}")
        return "\n\n".join(parts)

    def boxes(self) -> str:
        """Box plots of each class, and of surfaces the kinds of failure."""
        return self._each(self._boxes)

    def _boxes(self, board: Leaderboard) -> str:
        drawn = [*box_figures(board), taxonomy_figure(board)]
        of = f" {board.title}" * (len(self.boards) > 1)
        return self._files((one for one in drawn if one is not None), "boxes ", of)

    def benchmarks_part(self) -> str:
        """What the benchmark does for methods, and whether they do as well on unseen problems."""
        made = [
            made_of(records_of(name, self.kept.parent))
            for name, made_of in {
                "whose-merit": finding_of_merit,
                "fresh-ranks": ranks_finding,
                "fresh-ranks-srsd": ranks_finding,
            }.items()
        ]
        return "\n".join(f"- {one}" for one in made)

    def surface_figures(self) -> str:
        """Errors in and out of the domain, and kinds of failure, of an edition."""
        return self._files(surface_figures(self.edition))

    def field_figures(self) -> str:
        """Errors, sizes and work on fields, of an edition."""
        return self._files(field_figures(self.edition))

    def edition_figures(self) -> str:
        """Recovery against work and by noise, and the sizes of answers."""
        boards = leaderboards_of(self.edition.of_every_level, None)
        return self._files(edition_figures(self.edition, boards.values()))

    def _files(self, drawn: Iterable[Drawn], before: str = "", after: str = "") -> str:
        """Write figures to files, and return the lines that show them."""
        parts = []
        for each in drawn:
            stem = re.sub(r"[^a-z0-9]+", "-", f"{before}{each.title}{after}".lower()).strip("-")
            name = f"{self.name or self.data_type}-{stem}.svg"
            write(self.folder / name, standalone(each.svg, each.legend))
            parts.append(
                f"![{each.title}]({self.folder.name}/{name})\n\n*{each.title}.* {each.caption}"
            )
        return "\n\n".join(parts)

    def cost(self) -> str:
        """Time and memory."""
        return self._each(export.cost_table)

    def figures(self) -> str:
        """All figures of the report, written to files, of each class that compares methods."""
        for old in self.folder.glob(f"{self.name or self.data_type}-*.svg"):
            old.unlink()
        return self._each(lambda board: self._figures(board) if len(board.ranked) > 1 else "")

    def _figures(self, board: Leaderboard) -> str:
        names = {row.method: self.numbers[row.method] for row in board.drawn}
        drawn = [
            (one.title, one.caption, standalone(one.svg, names))
            for one in figures(board, self.numbers)
        ]
        if ranks := critical_difference(board, self.numbers):
            drawn.append((ranks.title, ranks.caption, standalone(ranks.svg)))
        text = "".join(f"{spec.mark} {spec.title}, " for spec in marked(board.known))
        text += "otherwise the power of ten of " * (board.primary.scale == "log")
        text += board.primary.title
        for snr_db in board.noise_levels:
            title = f"Methods and systems, {noise_name(snr_db)}"
            drawn.append((title, text, standalone(heat_map(board, snr_db))))
        of = f" {board.title}" * (len(self.boards) > 1)
        parts = []
        for title, caption, svg in drawn:
            stem = re.sub(r"[^a-z0-9]+", "-", f"{title}{of}".lower())
            name = f"{self.name or self.data_type}-{stem}.svg"
            write(self.folder / name, svg)
            parts.append(f"![{title}]({self.folder.name}/{name})\n\n*{title}.* {caption}")
        return "\n\n".join(parts)


BLOCKS: dict[str, Callable[[Reference], str]] = {
    "runs": lambda reference: reference.runs,
    "leaderboard": Reference.leaderboard,
    "published": Reference.published,
    "found": Reference.found,
    "systems": Reference.systems,
    "published-protocol": Reference.published_protocol,
    "cost": Reference.cost,
    "figures": Reference.figures,
    "boxes": Reference.boxes,
    "beside": Reference.beside,
    "recovery": Reference.recovery,
    "variants": Reference.variants,
    "sets": Reference.sets,
    "labels": Reference.labels,
    "operators": Reference.operators,
    "paper": lambda reference: paper_table(reference.results, reference.kept.parent),
    "probes": lambda reference: probes_table(reference.results),
    "finding": lambda reference: finding_of_work(reference.results),
    "recovered": lambda reference: recovered_table(reference.results),
    "merit": lambda reference: finding_of_merit(reference.results),
    "order": lambda reference: ranks_text(reference.results),
    "parity": lambda reference: parity_table(reference.results),
    "conditions": lambda reference: conditions_table(reference.results),
    "effects": lambda reference: effects_table(reference.results),
    "mocks-finding": lambda reference: mock_finding(reference.results),
    "mocks": lambda reference: mock_table(reference.results),
    "faults": lambda reference: mock_faults(reference.results),
    "suites": lambda reference: suites_table(reference.edition),
    "measured-suites": lambda reference: suites_table(reference.edition, measured=True),
    "measured-best": lambda reference: best_table(reference.edition, measured=True),
    "effort": lambda reference: effort_table(reference.edition),
    "best": lambda reference: best_table(reference.edition),
    "negligible": lambda reference: negligible_table(reference.edition),
    "predictions": lambda reference: predictions_table(reference.edition),
    "derivations": lambda reference: derivations_table(reference.edition),
    "suites-finding": lambda reference: suites_finding(reference.edition),
    "suites-figures": Reference.edition_figures,
    "surfaces": Reference.surface_figures,
    "fields": Reference.field_figures,
    "sizes": lambda reference: sizes_table(reference.edition),
    "benchmarks-part": Reference.benchmarks_part,
    "findings": lambda reference: edition_findings(reference.edition),
    "versions": lambda reference: methods_table(reference.edition),
    "elsewhere": lambda reference: elsewhere_table(reference.edition),
    "ranks": lambda reference: ranks_table(reference.results),
    "ranks-finding": lambda reference: ranks_finding(reference.results),
}
_OTHERS = {"bayesian"}
"""Methods that are not the paper's of the same name (docs/methods.md)."""
_OF_SETS = {
    "srsd": ("r2_accuracy", "solution", "srbench_solution", "normalized_edit_distance"),
    "surface": ("skeleton", "nmse", "chamfer", "hausdorff"),
    "derivation": (
        "static_accuracy",
        "vr_accuracy",
        "ee_accuracy",
        "ar_accuracy",
        "s1_accuracy",
        "s2_accuracy",
        "ec_accuracy",
        "easy_accuracy",
        "both_signs",
        "all_derivations",
        "all_sets",
        "same_operator_accuracy",
        "not_perturbed",
        "static_leak",
        "ar_leak",
    ),
}
"""The metrics of a paper's tables of sets, in the order of these columns."""


def _shares(ones: Sequence[Record], names: Iterable[str]) -> Iterator[str]:
    """Write each share, of several seeds their mean.

    Of an accuracy F1 is next to it.  Of one seed the interval of what it is lower by than the first
    is in brackets, if known.
    """
    for name in names:
        values = [value for one in ones if isinstance(value := one.metrics.get(name), float)]
        stem = name.removesuffix("_accuracy")
        of = "static" if stem == "static" else f"{stem}_drop"
        ends = [ones[0].metrics.get(f"{of}_{end}") for end in ("low", "high")]
        interval = [fixed(end, 3) for end in ends if isinstance(end, float) and len(ones) == 1]
        text = fixed(fmean(values), 3) if values else ""
        f1 = [value for one in ones if isinstance(value := one.metrics.get(f"{stem}_f1"), float)]
        if stem != name and values and len(f1) == len(values):
            text += f" / {fixed(fmean(f1), 3)}"
        yield text + f" ({' to '.join(interval)})" * bool(values and interval)


def _is_constant(one: Record) -> bool:
    """Whether a record gives all sequences of the static set one label."""
    f1 = one.metrics.get("static_f1")
    alike = isinstance(f1, float) and min(f1, abs(f1 - 2 / 3)) < 1e-12  # noqa: PLR2004 - rounding
    return alike and one.metrics.get("static_accuracy") == 0.5  # noqa: PLR2004 - half are right


def _cpu(ones: Sequence[Record]) -> str:
    known = [one.measured.cpu_s for one in ones if one.measured.cpu_s is not None]
    return duration(fmean(known) if known else None)


def standalone(svg: str, legend: Mapping[str, int] | None = None) -> str:
    """Make a file of a picture: with its name space, and the style of figures inside.

    Parameters
    ----------
    svg
        The picture.
    legend
        The numbers of the methods whose names and signs are to stand below a `Plot`.
    """
    style = resources.files("mdbench.reports").joinpath("templates/figure.css").read_text("utf-8")
    head, rest = svg.split(">", maxsplit=1)
    parts = []
    for place, (name, number) in enumerate((legend or {}).items()):
        row, column = divmod(place, _NAMES_A_LINE)
        x = LEFT + column * (WIDTH - LEFT - RIGHT) / _NAMES_A_LINE
        y = HEIGHT + 12 + row * _LEGEND_LINE
        sign = f'<g class="m{number % COLOURS}">{marker(number, x, y)}</g>'
        parts.append(f'{sign}<text x="{x + 9:.1f}" y="{y + 4:.1f}">{escape(name)}</text>')
    if parts:
        lines = -(-len(parts) // _NAMES_A_LINE)
        height = HEIGHT + 8 + lines * _LEGEND_LINE
        head = head.replace(f"0 0 {WIDTH} {HEIGHT}", f"0 0 {WIDTH} {height}")
        rest = rest.removesuffix("</svg>") + "".join(parts) + "</svg>"
    return (
        f'{head} xmlns="http://www.w3.org/2000/svg"><style>{escape(style, quote=False)}</style>'
        f"{rest}\n"
    )


def fill(page: str, reference: Reference) -> str:
    """Write a page's blocks again.

    Raises
    ------
    SystemExit
        If there is no such block.
    """

    def block(match: re.Match[str]) -> str:
        run, _, name = match[2].partition("-")
        if run not in PREFIXES:
            run, name = "", match[2]
        if name not in BLOCKS:
            sys.exit(f"<!-- {match[2]} --> is no block; there are: {', '.join(BLOCKS)}")
        if run != prefix_of(reference.name):
            return match[0]  # of other runs
        return f"{match[1]}\n{BLOCKS[name](reference)}\n\n{match[3]}"

    return _BLOCK.sub(block, page)


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
    data_type, counted = data_type_of(name), latest(records)
    return replace(
        _compare(data_type, counted, workspace, figures_in),
        results=with_label_scores(counted, workspace.root / "docs" / "results"),
        groups={} if name in STUDIES else Catalog(workspace).source(data_type, None).groups(),
        truths=_truths(workspace) if data_type == "real" else {},
        name=name,
        kept=workspace.root / "docs" / "results",
    )


def records_of(name: str, docs: Path) -> list[Record]:
    """Return the records of a run that the repository has: of its bundles, else of its table.

    Raises
    ------
    RecordsError
        If they cannot be read.
    """
    kept = docs / "results"
    if name in STUDIES:
        return [one for bundle in STUDIES[name].bundles for one in read_bundle(kept, bundle)]
    return [record for _, record in read_rows(kept / f"{name}.csv")]


_COLUMNS = ("algorithm", "data_type", "dataset", "snr_db", "seed", "protocol", "options", "status")
_SCORES = ("identified", "one_term_off", "nmse", "complexity")


def table_of(records: Iterable[Record]) -> list[dict[str, Any]]:
    """Return the rows of the table for people: what was asked, how it ended, and what it scores."""
    rows = []
    for one in latest(records):
        row = {name: getattr(one, name) for name in _COLUMNS}
        row |= {name: one.metrics.get(name) for name in _SCORES if name in one.metrics}
        row |= {"work_s": one.measured.work_s, "equations": json.dumps(one.equations)}
        rows.append({key: value for key, value in row.items() if value not in (None, "null")})
    return sorted(rows, key=lambda row: json.dumps(row, sort_keys=True, default=str))


def tables_of(name: str, docs: Path) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield the rows of the table of each bundle that is there and has no other run of its name."""
    for bundle in STUDIES[name].bundles if name in STUDIES else ():
        if bundle in STUDIES and bundle != name:
            continue
        if records := read_bundle(docs / "results", bundle):
            yield bundle, table_of(records)


def with_blocks_of(page: str, text: str) -> str:
    """Return a text whose blocks are those of the same name of a page, where it has them."""
    made = {match[2]: match[0] for match in _BLOCK.finditer(page)}
    return _BLOCK.sub(lambda match: made.get(match[2], match[0]), text)


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
    for bundle, rows in tables_of(name, docs):
        write_table(rows, docs / "results" / f"{bundle}.csv")
    if name.startswith("edition-"):
        from edition_index import write_index  # noqa: PLC0415 - its extension may be taken away

        write_index(workspace.root)


def differences(name: str, workspace: Workspace, docs: Path) -> list[str]:
    """Make all of a run's blocks and figures again from the records that ``docs`` has.

    Returns
    -------
    list of str
        A line for each block, for each figure, and for the table, that the records do not give.
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
        for bundle, rows in tables_of(name, docs):
            table = Path(folder) / "table.csv"
            write_table(rows, table)
            kept = docs / "results" / f"{bundle}.csv"
            if not kept.is_file() or kept.read_bytes() != table.read_bytes():
                found.append(f"{page.name}: results/{bundle}.csv is not what the records give")
    kept_ones = _drawings(_figures_of(name, docs) if made else ())
    unlike = (file for file in sorted(made | kept_ones) if made.get(file) != kept_ones.get(file))
    return found + [
        f"{page.name}: the figure results/{file} is not what the records give" for file in unlike
    ]


def _figures_of(name: str, docs: Path) -> list[Path]:
    """List the figures of a run, without those of runs whose names begin like its own."""
    longer = tuple(f"{other}-" for other in RUNS if other.startswith(f"{name}-"))
    files = (docs / "results").glob(f"{name}-*.svg")
    return [file for file in files if not file.name.startswith(longer)]


def _drawings(files: Iterable[Path]) -> dict[str, str]:
    """Read figures, without their style, which has no numbers."""
    return {file.name: _STYLE.sub("", file.read_text(encoding="utf-8")) for file in files}


def _unlike(page: str, text: str, again: str) -> Iterator[str]:
    """Name each block that differs, with the first line that does."""
    for old, new in zip(_BLOCK.finditer(text), _BLOCK.finditer(again), strict=True):
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
        prose = _BLOCK.sub("", page.read_text(encoding="utf-8"))
        heading = ""
        lines = prose.splitlines()
        for number, line in enumerate(lines):
            if line.startswith("#"):
                heading = line.lstrip("# ")
            if line.startswith("|") and not lines[number - 1].startswith("|"):
                found.append(f"{page.name}, {heading}: a table that no run makes")
    used = {UPSTREAM.name, *(f"{name}.csv" for name in RUNS)}
    for bundle in {bundle for run in STUDIES.values() for bundle in run.bundles}:
        used |= {f"{bundle}.csv", *(part.name for part in parts_of(docs / "results", bundle))}
    kept = sorted((docs / "results").glob("*.csv")) + sorted((docs / "results").glob("*.xz"))
    return found + [
        f"results/{one.name}: records that no run makes a block of"
        for one in kept
        if one.name not in used
    ]


def result_pages(docs: Path) -> list[Path]:
    """Return the pages that have results."""
    named = {docs / "gallery.md", *(page_of(name, docs) for name in RUNS)}
    return sorted(file for file in {*named, *docs.glob("results-*.md")} if file.is_file())


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
    parser.add_argument("name", choices=RUNS, nargs="?", help="a run; default: all")
    parser.add_argument(
        "--check",
        action="store_true",
        help="write nothing: make all again from the records in docs/results, and fail where a "
        "page has something else",
    )
    asked = parser.parse_args()
    workspace = Workspace.find()
    names = [asked.name] if asked.name else list(RUNS)
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
