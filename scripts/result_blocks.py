"""The blocks of pages of results: tables and figures between two comments, each made of a run.

A block stands between ``<!-- NAME -->`` and ``<!-- end -->``; `BLOCKS` has what each name gives.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from importlib import resources
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from box_plots import Drawn, box_figures
from bundles import read_bundle
from derivation_labels import (
    forms_table,
    groups_of,
    mean_of,
    paper_tables,
    probes_table,
    summary,
)
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
    ranges_table,
    sizes_table,
    suites_table,
    surface_figures,
)
from edition_results import Results
from effort import effort_table
from findings import finding_of_work, named, recovered_table
from fresh_ranks import ranks_finding, ranks_table
from long_files import files_table
from long_table import (
    LongTable,
    budgets_table,
    effort_of_parts,
    home_table,
    long_finding,
    long_table,
)
from mock_table import mock_faults, mock_finding, mock_table, mock_tokens
from operators import operator_tables, operators_figure, operators_markdown
from parity import parity_table
from rank_correlation import ranks_text
from recovery import recovery_table
from reference_runs import PREFIXES, STUDIES
from target_noise import target_noise_table
from whose_merit import conditions_table, effects_table, finding_of_merit

from mdbench.cli.report import leaderboards_of, write
from mdbench.drawing.numbers import duration, fixed, noise_name
from mdbench.drawing.svg import COLOURS, HEIGHT, LEFT, RIGHT, WIDTH, marker
from mdbench.extensions.papers import export
from mdbench.extensions.papers.published import Published, read_published
from mdbench.reports.entries import marked
from mdbench.reports.figures import critical_difference, figures, heat_map

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from mdbench.metrics.spec import MetricSpec
    from mdbench.records import Record
    from mdbench.reports.leaderboard import Leaderboard

_NAMES_A_LINE, _LEGEND_LINE = 5, 18
BLOCK = re.compile(r"(<!-- ([a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def records_of(name: str, docs: Path) -> list[Record]:
    """Return the records of a run, of its bundles in the repository.

    Raises
    ------
    RecordsError
        If they cannot be read.
    """
    kept = docs / "results"
    return [one for bundle in STUDIES[name].bundles for one in read_bundle(kept, bundle)]


@dataclass(frozen=True)
class Reference:
    """The reference results of a data type: a board for each class, of equal budgets and rules."""

    data_type: str
    boards: Sequence[Leaderboard]
    numbers: dict[str, int]
    folder: Path
    results: Sequence[Record] = ()
    groups: Callable[[], Mapping[str, Sequence[str]]] = dict
    """Returns the datasets of each set of the data type."""
    truths: Mapping[str, str] = field(default_factory=dict)
    name: str = ""
    kept: Path = Path()
    """The folder that records name their labels in."""

    @cached_property
    def edition(self) -> Results:
        """The results as an edition counts them."""
        return Results(self.results)

    @cached_property
    def long_table(self) -> LongTable:
        """The results as the long table of an edition counts them."""
        return LongTable(self.results)

    @property
    def runs(self) -> str:
        """The commands that give them."""
        return "\n".join(f"    scripts/edition {file}" for file in STUDIES[self.name].files)

    def leaderboard(self) -> str:
        """Return the leaderboards of the run."""
        return self._each(export.leaderboard_markdown)

    def published(self) -> str:
        """Numbers of systems that are identified, here and in the paper."""
        paper = self._paper
        assert paper is not None
        return self._each(
            lambda board: export.published_table(board, self.data_type, paper), "published"
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

    def recovery(self) -> str:
        """Numbers of tables of measurements that are recovered, by the kind of truth."""
        return recovery_table(self.results, self.truths)

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
        groups = groups_of(self.results)
        several = any(len(ones) > 1 for ones in groups.values())
        head = ["dataset", "method", *["seeds"] * several, *(spec.title for spec in specs.values())]
        lines = [
            [
                f"`{dataset}`",
                named(method) + " (one label for all)" * all(map(_is_constant, ones)),
                *[str(len(ones))] * several,
                *_shares(ones, specs, self._ends(ones)),
                _cpu(ones),
            ]
            for (dataset, method), ones in groups.items()
        ]
        head.append("CPU")
        rule = [":--", ":--", *["--:"] * (len(head) - 2)]
        return "\n".join(f"| {' | '.join(line)} |" for line in [head, rule, *lines])

    def _ends(self, ones: Sequence[Record]) -> Mapping[str, object]:
        """Return the metrics of one seed, or those of the labels of several together."""
        if len(ones) == 1:
            return ones[0].metrics
        said = summary(ones, self.kept)
        return said.metrics if said else {}

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
            parts.append(f"![{title}]({name})\n\n*{title}.* {text}")
        return "\n\n".join(parts)

    def boxes(self) -> str:
        """Box plots of each class."""
        return self._each(self._boxes)

    def _boxes(self, board: Leaderboard) -> str:
        of = f" {board.title}" * (len(self.boards) > 1)
        return self._files(box_figures(board), "boxes ", of)

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
            parts.append(f"![{each.title}]({name})\n\n*{each.title}.* {each.caption}")
        return "\n\n".join(parts)

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
            parts.append(f"![{title}]({name})\n\n*{title}.* {caption}")
        return "\n\n".join(parts)


BLOCKS: dict[str, Callable[[Reference], str]] = {
    "runs": lambda reference: reference.runs,
    "leaderboard": Reference.leaderboard,
    "published": Reference.published,
    "found": Reference.found,
    "systems": Reference.systems,
    "published-protocol": Reference.published_protocol,
    "figures": Reference.figures,
    "boxes": Reference.boxes,
    "recovery": Reference.recovery,
    "labels": Reference.labels,
    "operators": Reference.operators,
    "paper": lambda reference: paper_tables(reference.results, reference.kept.parent),
    "probes": lambda reference: probes_table(reference.results, reference.kept),
    "forms": lambda reference: forms_table(reference.results, reference.kept),
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
    "tokens": lambda reference: mock_tokens(reference.results),
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
    "ranges": lambda reference: ranges_table(reference.edition, reference.groups()),
    "sizes": lambda reference: sizes_table(reference.edition),
    "benchmarks-part": Reference.benchmarks_part,
    "findings": lambda reference: edition_findings(reference.edition),
    "versions": lambda reference: methods_table(reference.edition),
    "elsewhere": lambda reference: elsewhere_table(reference.edition),
    "long-finding": lambda reference: long_finding(reference.long_table),
    "long-table": lambda reference: long_table(reference.long_table),
    "long-budgets": lambda reference: budgets_table(reference.long_table),
    "long-effort": lambda reference: effort_of_parts(reference.long_table),
    "long-home": lambda reference: home_table(reference.long_table),
    "long-files": lambda reference: files_table(
        reference.long_table, reference.folder, reference.name, reference.kept
    ),
    "noise": lambda reference: target_noise_table(reference.results),
    "ranks": lambda reference: ranks_table(reference.results),
    "ranks-finding": lambda reference: ranks_finding(reference.results),
}
_OTHERS = {"bayesian"}
"""Methods that are not the paper's of the same name (docs/methods.md)."""
_OF_SETS = {
    "derivation": (
        "static_accuracy",
        "static_macro",
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


def _shares(
    ones: Sequence[Record], names: Iterable[str], together: Mapping[str, object]
) -> Iterator[str]:
    """Write each share, of several seeds their mean.

    Of an accuracy F1 is next to it.  The interval of what it is lower by than the first is in
    brackets, if known: of several seeds that of their examples together.
    """
    for name in names:
        stem = name.removesuffix("_accuracy")
        of = "static" if stem == "static" else f"{stem}_drop"
        ends = [together.get(f"{of}_{end}") for end in ("low", "high")]
        interval = [fixed(end, 3) for end in ends if isinstance(end, float)]
        value = mean_of(ones, name)
        text = fixed(value, 3) if value is not None else ""
        f1 = mean_of(ones, f"{stem}_f1")
        if stem != name and text and f1 is not None:
            text += f" / {fixed(f1, 3)}"
        yield text + f" ({' to '.join(interval)})" * bool(text and interval)


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
    own = STUDIES[reference.name].prefix if reference.name else ""

    def block(match: re.Match[str]) -> str:
        run, _, name = match[2].partition("-")
        if run not in PREFIXES:
            run, name = "", match[2]
        if name not in BLOCKS:
            sys.exit(f"<!-- {match[2]} --> is no block; there are: {', '.join(BLOCKS)}")
        if run != own:
            return match[0]  # of other runs
        return f"{match[1]}\n{BLOCKS[name](reference)}\n\n{match[3]}"

    return BLOCK.sub(block, page)
