"""What ``scripts/results`` writes into docs/authors: a letter for each method of somebody else."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from bundles import read_bundle
from edition_page import share_or_why
from edition_results import Results
from effort import effort_cells, not_measured, records_of
from findings import known, to_table
from settings_page import PAGE as SETTINGS
from settings_page import filled, fingerprint, is_of_others, settings

from mdbench.reports.classes import latest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from edition_results import Suite
    from settings_page import Setting

    from mdbench.methods import Method
    from mdbench.records import Record

RUN: Final = "edition-1"
FOLDER: Final = Path("docs") / "authors"
INDEX: Final = Path("docs") / "authors.md"
_BLOCK: Final = re.compile(r"(<!-- letters -->\n).*?(<!-- end -->)", re.DOTALL)
_CODE: Final = {
    "own": "Your program is not run here. What is run is our own code after your paper, and all "
    "tables mark it with the sign §. It may be better or worse than your program, so it neither "
    "confirms nor contradicts a number of yours.",
    "package": "What is run is your package, by a short adapter that hands the settings on.",
}
_WHOSE: Final = {
    "author": "They are meant to be your own.",
    "upstream": "They are those of a published benchmark.",
    "ours": "They are ours.",
}
_QUESTIONS: Final = {
    "own": "Does our code do what your paper says? Is there a package to run in its place?",
    "package": "Is your package called as it should be? Which example should it reproduce?",
}
_TEMPLATE: Final = (Path(__file__).parent / "letter.md").read_text(encoding="utf-8")


_EXPLAINED: Final = (
    "*Identified* are answers with the terms of the true equations, no other, and constants within "
    "5 %; in brackets is the 95 % interval. *Partial* is the share of jobs that the limit ended. "
    "*Not measured*: most jobs were ended too early to say anything of the method, and the number "
    "behind it counts them."
)
_CHANGED: Final = " The folder was changed after these jobs: they have its earlier settings."


class Letter(NamedTuple):
    """What a letter is about: a method, with others of the same paper that are variants of it."""

    method: Method
    variants: Sequence[Method]


def letters(methods: Iterable[Method]) -> list[Letter]:
    """Return whom letters are for: packages and papers of others, each once.

    None are controls, baselines, methods that only predict, and those that were designed here. A
    method whose name begins with that of another one of the same paper is a variant of it.
    """
    ours = [one for one in methods if is_of_others(one)]
    by_name = {one.name: one for one in ours}
    found: dict[str, list[Method]] = {}
    for one in sorted(ours, key=lambda each: each.name):
        stem = next((name for name in found if _is_variant(one, by_name[name])), one.name)
        found.setdefault(stem, []).append(one)
    return [Letter(first, variants) for first, *variants in found.values()]


def _is_variant(one: Method, first: Method) -> bool:
    return one.name.startswith(f"{first.name}_") and one.spec.paper == first.spec.paper


def letter_text(letter: Letter, results: Results, counts: dict[Suite, dict[str, int]]) -> str:
    """Write a letter.

    Parameters
    ----------
    results
        The records of the edition.
    counts
        By suite and method the jobs that are not measured.
    """
    spec = letter.method.spec
    ours = [letter.method, *letter.variants]
    return _TEMPLATE.format(
        name=spec.name,
        paper=spec.paper.rstrip(".") or f"the package {spec.name}",
        code=_CODE[spec.implementation or "own"],
        whose=_WHOSE.get(spec.settings or "", ""),
        settings=settings_table(settings(ours), several=len(ours) > 1),
        results=results_text(ours, results, counts),
        question=_QUESTIONS[spec.implementation or "own"],
    )


def settings_table(found: Sequence[Setting], *, several: bool) -> str:
    """Write the settings, with the method's name where there are several.

    Data types with the same settings share a line.
    """
    kinds: dict[tuple[str, ...], list[str]] = {}
    for one in found:
        cells = (one.functions, one.rows, one.source or "none named", one.differs or "–")
        kinds.setdefault((one.method.name, *cells), []).append(one.data_type)
    lines = [
        [*[f"`{name}`"] * several, ", ".join(names), *cells]
        for (name, *cells), names in kinds.items()
    ]
    head = [*["method"] * several, "data types", "functions", "rows", "source", "what differs"]
    texts = [place for place, name in enumerate(head) if name != "rows"]
    return to_table(head, lines, texts)


def results_text(
    methods: Sequence[Method], results: Results, counts: dict[Suite, dict[str, int]]
) -> str:
    """Write what methods get in the edition: a line a suite, or that they have no record there."""
    lines = []
    for method in methods:
        for one in results.shown:
            if method.name in one.verdicts:
                records = records_of(results, one)[method.name]
                cell = share_or_why(one, method.name, counts[one.suite])
                title = f"{one.suite.title} ({one.jobs})"
                name = [f"`{method.name}`"] * (len(methods) > 1)
                lines.append([*name, title, cell, *effort_cells(records)])
    if not lines:
        return "Not measured: edition 1 has no record of it, or too few to compare."
    head = [*["method"] * (len(methods) > 1), "cases (jobs)", "identified"]
    table = to_table(
        [*head, "partial", "evaluations", "no answer"], lines, texts=range(len(head) - 1)
    )
    changed = any(_has_changed(method, results.records) for method in methods)
    return f"{table}\n\n{_EXPLAINED}{_CHANGED * changed}"


def _has_changed(method: Method, records: Iterable[Record]) -> bool:
    made = {one.key_parts.get("adapter") for one in records if one.algorithm == method.name}
    return bool(made) and fingerprint(method.name) not in made


def index_text(page: str, found: Sequence[Letter]) -> str:
    """Return the index with a line for each letter."""
    lines = [
        f"- [{one.method.name}](authors/{one.method.name}.md): {_kind(one.method)}" for one in found
    ]
    listed = "\n".join(lines)
    return _BLOCK.sub(lambda match: f"{match[1]}\n{listed}\n\n{match[2]}", page)


def _kind(method: Method) -> str:
    code = "our own code (§)" if method.spec.implementation == "own" else "package"
    return f"{method.spec.paper or 'no paper'}; {code}"


def letter_pages(root: Path, records: Iterable[Record]) -> dict[Path, str]:
    """Return the text of each letter and of the index, by its place in the repository."""
    results = Results(latest(list(records)))
    counts = {one.suite: not_measured(results, one) for one in results.shown}
    found = letters(known())
    made = {FOLDER / f"{one.method.name}.md": letter_text(one, results, counts) for one in found}
    return made | {INDEX: index_text((root / INDEX).read_text(encoding="utf-8"), found)}


def made_pages(root: Path) -> dict[Path, str]:
    """Return the page of settings, and all letters, as the folders and records give them."""
    kept = root / "docs" / "results"
    page = (root / SETTINGS).read_text(encoding="utf-8")
    made = {SETTINGS: filled(page, lambda bundle: read_bundle(kept, bundle))}
    return made | letter_pages(root, read_bundle(kept, RUN))


def stale_pages(root: Path) -> list[Path]:
    """Return the pages that are not what `made_pages` gives, and letters that nobody gets."""
    made = made_pages(root)
    there = [path.relative_to(root) for path in sorted((root / FOLDER).glob("*.md"))]
    texts = {
        path: (root / path).read_text(encoding="utf-8") for path in made if (root / path).is_file()
    }
    unlike = [path for path, text in made.items() if texts.get(path) != text]
    return [*unlike, *(path for path in there if path not in made)]


def write_pages(root: Path) -> None:
    """Write these pages, and take letters away that nobody gets."""
    made = made_pages(root)
    (root / FOLDER).mkdir(exist_ok=True)
    for path in (root / FOLDER).glob("*.md"):
        if path.relative_to(root) not in made:
            path.unlink()
    for place, text in made.items():
        (root / place).write_text(text, encoding="utf-8")
