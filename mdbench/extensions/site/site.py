"""Results as a site: the scores, a page for each problem and for each method, as static files."""

from __future__ import annotations

import json
import re
import shutil
from collections import defaultdict
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup

from eqverdict.printers import rounded_to
from mdbench import __version__
from mdbench.drawing.numbers import noise_name
from mdbench.errors import UsageError, counted
from mdbench.reports.classes import class_of, heading
from mdbench.reports.coverage import cut_off_note, marks_note
from mdbench.reports.entries import marked, measurements, report_order, run_conditions
from mdbench.reports.findings import findings
from mdbench.reports.html import (
    SCORES_AT_ONCE,
    anchors_of,
    reasons_of,
    rows_of,
    scope_of,
)
from mdbench.reports.sections import templates
from mdbench.reports.systems import system_section, verdict_of, work_cell
from mdbench.reports.tables import answer_cell, beaten, leaderboard_table, without_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from jinja2 import Environment

    from mdbench.metrics.spec import MetricSpec
    from mdbench.records import Record
    from mdbench.reports.classes import Category
    from mdbench.reports.leaderboard import Leaderboard
    from mdbench.reports.pictures import Draw

FIRST_ROWS = 10
"""Methods of each board on the first page; the board's own page has all."""
LONGEST_ANSWER = 160
"""Characters of an answer in the table of a method's answers; the problem's page has all of it."""
DIGITS = 4
"""Digits of the numbers in it."""
MOST_SPECIAL = 10
"""Problems that a method's page names as those that few others solve."""
FEW = 0.5
"""The share of the other methods below which few are right."""
MARK = "made-by-mdbench.txt"
"""A file of every site: a folder that has it, or has nothing, may be written to."""
STYLE, SCRIPT = "site.css", "site.js"
FIRST_VIEW = ("index.html", STYLE, SCRIPT)
FOLDERS = ("boards", "problems", "methods", "records")
_NOT_IN_FILES = re.compile(r"[^A-Za-z0-9_.+=-]+")


class Fact(NamedTuple):
    """A fact of a method, such as whose code it is."""

    name: str
    text: str


@dataclass(frozen=True)
class Written:
    """What was written: how many files, and the bytes that the first page takes with its style."""

    files: int
    first_bytes: int


@dataclass
class _Problem:
    """A system of a data type, and where its page is."""

    data_type: str
    name: str
    own: bool
    records: list[Record]
    address: str

    @property
    def path(self) -> str:
        """The address without the folder of all problems, and without its ending."""
        return self.address.removesuffix(".html").partition("/")[2]


class Site:
    """Writes the pages.

    Parameters
    ----------
    results, boards
        As `mdbench.reports.html.page` has them.
    title
        The heading of the first page.
    facts
        What is known of each method, from its folder.
    picture, describe, derivatives, categories, options
        As `mdbench.reports.html.page` has them.
    """

    def __init__(
        self,
        results: Iterable[Record],
        boards: Mapping[str, Leaderboard],
        *,
        title: str,
        facts: Mapping[str, Sequence[Fact]],
        picture: Draw | None = None,
        describe: Callable[[str, str], str] | None = None,
        derivatives: Mapping[str, str] | None = None,
        categories: Mapping[str, Sequence[Category]] | None = None,
        options: Mapping[str, Iterable[str]] | None = None,
    ) -> None:
        self.results = sorted(results, key=report_order)
        self.boards = list(boards.values())
        self.title, self.facts = title, facts
        self.derivatives, self.categories = derivatives or {}, categories or {}
        self.options = {name: list(keys) for name, keys in (options or {}).items()}
        self.scope = replace(
            scope_of(self.results, self.boards, picture=picture, describe=describe),
            every_seed=True,
        )
        self.problems = self._find_problems()
        self.methods = self._name_files(sorted({record.method for record in self.results}))
        names = [f"{board.data_type}-{number}" for number, board in enumerate(self.boards)]
        of_categories = (part.boards for parts in self.categories.values() for part in parts)
        every = [*self.boards, *chain.from_iterable(of_categories)]
        self._tables = {id(board): leaderboard_table(board) for board in every}
        self.board_files = dict(zip(map(id, self.boards), names, strict=True))

    def write(self, out: Path) -> Written:
        """Write all pages into a folder.

        Raises
        ------
        UsageError
            If the folder has something else in it, or cannot be written.
        """
        taken = out.is_dir() and any(out.iterdir()) and not (out / MARK).exists()
        if taken or (out.exists() and not out.is_dir()):
            raise UsageError(
                f"{out} is there already, and is no site of results.",
                "Name a new folder, or one that an earlier --site wrote.",
            )
        env = templates("mdbench.extensions.site", "mdbench.reports")
        files = first = 0
        try:
            for name in FOLDERS if (out / MARK).exists() else ():
                shutil.rmtree(out / name, ignore_errors=True)  # pages of earlier results
            for name, text in self._pages(env):
                path = out / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
                files += 1
                first += len(text.encode()) * (name in FIRST_VIEW)
        except OSError as error:
            raise UsageError(
                f"{out} cannot be written: {error.strerror or error}.", "Choose another --site."
            ) from None
        return Written(files, first)

    def _pages(self, env: Environment) -> Iterable[tuple[str, str]]:
        yield MARK, "mdbench report --site wrote this folder, and may write it again.\n"
        for name in (STYLE, SCRIPT):
            yield name, env.get_template(f"{name}.j2").render()
        yield "index.html", self._index(env)
        for board in self.boards:
            yield f"boards/{self.board_files[id(board)]}.html", self._board(env, board)
        specs = self._known_specs()
        rows, words = [], []
        for problem in self.problems:
            system, page = self._problem(env, problem, specs[problem.data_type])
            yield problem.address, page
            lines = (f"{record.model_dump_json()}\n" for record in problem.records)
            yield f"records/{problem.path}.jsonl", "".join(lines)
            rows.append({"problem": problem, "system": system})
            words.append([problem.name, problem.address, f"{problem.data_type} {system.title}"])
        yield "problems.html", self._render(env, "problems", "problems.html", rows=rows)
        yield "methods.html", self._methods(env)
        for method, address in self.methods.items():
            yield address, self._method(env, method, specs)
            words.append([method, address, " ".join(fact.text for fact in self._facts(method))])
        yield "search.js", f"globalThis.searched = {_json(words)};\n"

    def _render(self, env: Environment, template: str, address: str, **values: Any) -> str:
        return env.get_template(f"site_{template}.html.j2").render(
            site=self.title,
            root="../" * address.count("/"),
            version=__version__,
            counted=counted,
            at_once=SCORES_AT_ONCE,
            classes=self.scope.classes,
            methods=self.methods,
            **values,
        )

    def _index(self, env: Environment) -> str:
        of_type: dict[str, list[Record]] = defaultdict(list)
        for record in self.results:
            of_type[record.data_type].append(record)
        blocks = [
            self._table(board, first=True)
            | {"finding": findings(board, of_type[board.data_type]), "board": board}
            for board in self.boards
        ]
        days = [record.measured.started.date().isoformat() for record in self.results]
        return self._render(
            env,
            "index",
            "index.html",
            blocks=blocks,
            conditions=run_conditions(self.results, self.options),
            count=len(self.results),
            days=(min(days), max(days)),
            problems=len(self.problems),
        )

    def _board(self, env: Environment, board: Leaderboard) -> str:
        address = f"boards/{self.board_files[id(board)]}.html"
        notes = [marks_note(board.rows), cut_off_note(board.rows)]
        return self._render(
            env, "board", address, board=board, notes=filter(None, notes), **self._table(board)
        )

    def _table(self, board: Leaderboard, *, first: bool = False) -> dict[str, Any]:
        """Return a board for the templates; for the `first` page its top, without a switch."""
        table = self._tables[id(board)]
        if first:
            table = without_columns(table, lambda column, _: column.further)
        lines = [
            line | {"method": row.method}
            for line, row in zip(rows_of(table, board), board.rows, strict=True)
        ]
        return {
            "id": self.board_files[id(board)],
            "title": board.title,
            "columns": table.columns,
            "rows": lines[:FIRST_ROWS] if first else lines,
            "more": len(lines) if len(lines) > FIRST_ROWS else 0,
        }

    def _problem(
        self, env: Environment, problem: _Problem, specs: Sequence[MetricSpec]
    ) -> tuple[Any, str]:
        path, root = problem.path, "../" * problem.address.count("/")
        files = {record.key: f"{root}records/{path}.jsonl" for record in problem.records}
        system = system_section(
            path,
            problem.records,
            replace(self.scope, files=files),
            specs,
            derivative=self.derivatives.get(problem.data_type, "d"),
            named_classes=len({class_of(record).title for record in problem.records}) > 1,
        )
        page = self._render(env, "problem", problem.address, system=system, problem=problem)
        return system, page

    def _methods(self, env: Environment) -> str:
        rows = []
        for method, address in self.methods.items():
            places = [place for place in self._places(method) if place["rank"]]
            best = min(places, key=lambda place: place["rank"], default=None)
            count = sum(record.method == method for record in self.results)
            facts = dict(self._facts(method))
            rows.append(
                {"name": method, "address": address, "facts": facts, "best": best, "count": count}
            )
        return self._render(env, "methods", "methods.html", rows=rows)

    def _method(
        self, env: Environment, method: str, specs: Mapping[str, Sequence[MetricSpec]]
    ) -> str:
        own = [record for record in self.results if record.method == method]
        address = self.methods[method]
        problems = {
            (problem.data_type, problem.name, problem.own): problem for problem in self.problems
        }
        answers = [self._answer(record, problems, specs[record.data_type]) for record in own]
        return self._render(
            env,
            "method",
            address,
            name=method,
            facts=self._facts(method),
            places=self._places(method),
            special=self._special(method, specs),
            failures=reasons_of(own),
            answers=answers,
        )

    def _answer(
        self,
        record: Record,
        problems: Mapping[tuple[str, str, bool], _Problem],
        specs: Sequence[MetricSpec],
    ) -> dict[str, Any]:
        problem = problems[record.data_type, record.system, record.dataset_path is not None]
        verdict, css = verdict_of(record, specs)
        size = next((spec for spec in specs if spec.weighs), None)
        values = record.metrics if record.answered else {}
        pairs = zip(record.targets, record.equations or (), strict=False)
        text = "; ".join(f"{target} = {rounded_to(equation, DIGITS)}" for target, equation in pairs)
        text = text if record.answered else record.reason
        return {
            "problem": problem,
            "noise": noise_name(record.snr_db, measured=measurements([record])),
            "class": class_of(record).title,
            "seed": record.seed,
            "verdict": verdict,
            "css": css,
            "scores": [
                answer_cell(spec, values, beaten(spec, specs, record))
                for spec in (specs[0], size)
                if spec
            ],
            "work": work_cell(record),
            "answer": text if len(text) <= LONGEST_ANSWER else f"{text[:LONGEST_ANSWER]}…",
        }

    def _places(self, method: str) -> list[dict[str, Any]]:
        """Return where a method stands, on each board and in each category."""
        named = [
            (board.name, f"boards/{self.board_files[id(board)]}.html", board)
            for board in self.boards
        ]
        named += [
            (f"{data_type}: {heading(category.name)}, {board.title}", "", board)
            for data_type, categories in self.categories.items()
            for category in categories
            for board in category.boards
        ]
        places = []
        for title, address, board in named:
            row = next((row for row in board.rows if row.method == method), None)
            if row is None:
                continue
            table = self._tables[id(board)]
            cells = table.rows[board.rows.index(row)]
            by_key = {column.key: cell for column, cell in zip(table.columns, cells, strict=True)}
            best = next(iter(marked(board.specs)), None)
            places.append(
                {
                    "title": title,
                    "address": address,
                    "rank": row.rank,
                    "of": len(board.ranked),
                    "right": by_key[best.name].text if best and best.name in by_key else "",
                    "score": f"{board.primary.title} {by_key[board.primary.name].text}",
                }
            )
        return places

    def _special(
        self, method: str, specs: Mapping[str, Sequence[MetricSpec]]
    ) -> list[tuple[_Problem, int]]:
        """Return problems that a method answers rightly and few others do, with how many others."""
        rare = []
        for problem in self.problems:
            best = next(iter(marked(specs[problem.data_type])), None)
            right = {
                record.method
                for record in problem.records
                if best and record.answered and record.metrics.get(best.name) == 1
            } - self.scope.references
            others = {record.method for record in problem.records} - self.scope.references
            if method in right and len(right) - 1 < FEW * (len(others) - 1):
                rare.append((problem, len(right) - 1))
        return sorted(rare, key=lambda pair: pair[1])[:MOST_SPECIAL]

    def _known_specs(self) -> dict[str, list[MetricSpec]]:
        """Return the metrics of each data type that any of its boards has, in their order."""
        specs: dict[str, list[MetricSpec]] = {}
        for board in self.boards:
            of_type = [one for one in self.boards if one.data_type == board.data_type]
            known = {spec.name for one in of_type for spec in one.known}
            specs[board.data_type] = [spec for spec in board.specs if spec.name in known]
        return specs

    def _facts(self, method: str) -> Sequence[Fact]:
        return self.facts.get(method, ())

    def _find_problems(self) -> list[_Problem]:
        by_type: dict[str, dict[tuple[str, bool], list[Record]]] = defaultdict(dict)
        for record in self.results:
            key = record.system, record.dataset_path is not None
            by_type[record.data_type].setdefault(key, []).append(record)
        return [
            _Problem(data_type, name, own, records, f"problems/{anchor}.html")
            for data_type, systems in by_type.items()
            for anchor, ((name, own), records) in zip(
                anchors_of(data_type, systems), systems.items(), strict=True
            )
        ]

    @staticmethod
    def _name_files(methods: Sequence[str]) -> dict[str, str]:
        """Return the address of each method's page."""
        addresses: dict[str, str] = {}
        for method in methods:
            plain, number = f"methods/{_NOT_IN_FILES.sub('-', method)}", 1
            while (name := f"{plain}-{number}.html" if number > 1 else f"{plain}.html") in {
                *addresses.values()
            }:
                number += 1
            addresses[method] = name
        return addresses


def _json(value: Any) -> Markup:
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return Markup(text.replace("<", "\\u003c"))  # noqa: S704 - a file of its own, and no tag in it
