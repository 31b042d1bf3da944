"""What the build of the pages puts into docs/methods.md: all methods, from folders and records."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from bundles import read_bundle
from edition_results import FEWEST, Results
from findings import compared, to_table

from mdbench import datatypes, methods
from mdbench.datatypes.facts import Protocol
from mdbench.method_spec import FAMILIES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from edition_results import Suite

    from mdbench.methods import Method
    from mdbench.records import Record

ROOT: Final = Path(__file__).resolve().parent.parent
SIZES: Final = ROOT / "benchmarks" / "environments.json"
"""MB of environments by the SHA-256 of their locks: see benchmarks/bench_environments.py."""
RUN: Final = "equal-work"
MORE_RUNS: Final = ("edition-1", "pde-released")
"""Runs of other suites, whose work is another one: see the page."""
FURTHER_RUNS: Final = {"srsd-search": "drawn laws of SRSD", "deepmod-published": "three fields"}
"""Runs of methods that the others have no record of, and their cases."""
HEAD: Final = (
    *("method", "what it is", "data types", "code", "licence", "environment"),
    *("identified", "of small sets", "first candidate"),
)
RULE: Final = "| :-- | :-- | :-- | :-- | :-- | --: | --: | :-- | --: |"
_BLOCK: Final = re.compile(r"(<!-- methods -->\n).*?(<!-- end -->)", re.DOTALL)
_SECTION: Final = re.compile(r"^## (.+)$", re.MULTILINE)
_NONE: Final = "–"


def table(sections: dict[str, str]) -> str:
    """Return the table of all methods, those of a family together.

    Parameters
    ----------
    sections
        By method, where it is described.
    """
    sizes: dict[str, Any] = json.loads(SIZES.read_text(encoding="utf-8"))
    results = results_of(RUN)
    more = small_sets(MORE_RUNS)
    parts = []
    found = [
        method
        for method in methods.discover(ROOT / "algorithms").values()
        if isinstance(method, methods.Method)
    ]
    families = dict.fromkeys(FAMILIES) | {one.spec.family: None for one in found}
    for family in families:
        lines = [
            row(method, sizes, results, more, sections)
            for method in found
            if method.spec.family == family
        ]
        if lines:
            head, _, *rest = to_table(HEAD, lines).split("\n")
            parts.append("\n".join([f"### {family}", "", head, RULE, *rest, ""]))
    return "\n".join(parts)


def row(
    method: Method,
    sizes: dict[str, Any],
    results: dict[str, tuple[str, str]],
    more: dict[str, SmallSets],
    sections: dict[str, str],
) -> list[str]:
    """Return the cells of a method."""
    spec = method.spec
    title = re.sub(r" \(our own \w+\)$", "", spec.title.partition(": ")[2] or spec.title)
    kinds = sorted(spec.data_types, key=datatypes.names().index)
    lock = hashlib.sha256(method.lock.read_bytes()).hexdigest()
    size = sizes.get(lock[:12])
    place = sections.get(spec.name) or sections.get(spec.control_of)
    identified, first = results.get(spec.name, (_NONE, _NONE))
    others = more.get(spec.name, SmallSets())
    return [
        f"[`{spec.name}`]({place or f'{kinds[0]}.md#methods'}){f' {spec.mark}' * bool(spec.mark)}",
        title[0].upper() + title[1:],
        " ".join(kinds),
        spec.implementation or _NONE,
        spec.licence,
        f"{size} MB" if size else _NONE,
        identified,
        "; ".join(others.counts) or _NONE,
        others.first if first == _NONE and others.first else first,
    ]


@dataclass
class SmallSets:
    """What a method identified of suites other than that of the equal-work run.

    Attributes
    ----------
    counts
        Of each suite, as text.
    first
        The median work to a first candidate in the first of these suites, with its title.
    """

    counts: list[str] = field(default_factory=list)
    first: str = ""


def small_sets(runs: Sequence[str]) -> dict[str, SmallSets]:
    """Return by method what it identified of each clean suite of some runs.

    In a suite all methods have the same jobs, and the same work: those that any of them lacks are
    left out, and so is a suite of too few jobs.  A suite is of the first run that has it.
    """
    found: dict[str, SmallSets] = defaultdict(SmallSets)
    counted_ones: set[Suite] = set()
    for run in runs:
        results = Results(read_bundle(ROOT / "docs" / "results", run))
        for suite in results.shown:
            other = suite.suite.snr_db is not None or suite.suite.protocol != Protocol.STRICT
            if other or suite.suite in counted_ones:
                continue
            counted_ones.add(suite.suite)
            held = results.held[suite.suite]
            for method, verdicts in suite.verdicts.items():
                ours = found[method]
                ours.counts.append(
                    f"{suite.suite.title} {sum(verdicts.values()):.0f}/{len(verdicts)}"
                )
                work = first_candidate(held, method)
                if work and not ours.first:
                    ours.first = f"{work} ({suite.suite.title})"
        for method, text in shares_of(results):
            found[method].counts.append(text)
    for method, text in further(set(found)):
        found[method].counts.append(text)
    return dict(found)


def shares_of(results: Results) -> Iterator[tuple[str, str]]:
    """Yield for each method what it leaves unexplained of black-box tables, or labels rightly."""
    errors = results.errors
    for method in next(iter(errors.values()), {}) if len(errors) >= FEWEST else ():
        left = median(each[method] for each in errors.values())
        yield method, f"unexplained {left:.2f}" if math.isfinite(left) else "no answer"
    for method, shares in results.labelled.items():
        yield method, f"labels {shares['static']:.2f}"


def further(known: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield what methods that are not known yet identified in `FURTHER_RUNS`."""
    for run, cases in FURTHER_RUNS.items():
        for suite in Results(read_bundle(ROOT / "docs" / "results", run)).suites:
            for method, verdicts in suite.verdicts.items():
                if method not in known:
                    yield method, f"{cases} {sum(verdicts.values()):.0f}/{len(verdicts)}"


def first_candidate(records: Iterable[Record], method: str) -> str:
    """Write the median work until a method has a candidate; empty where no record says."""
    first = [
        one.measured.anytime[0].work_s
        for one in records
        if one.method == method and one.measured.anytime and one.measured.anytime[0].work_s
    ]
    return f"{median(first):.2f} s" if first else ""


def results_of(run: str) -> dict[str, tuple[str, str]]:
    """Return by method what it identified on clean data, and the work to its first candidate."""
    records = read_bundle(ROOT / "docs" / "results", run)
    found = {}
    for method, verdicts in compared(records).items():
        clean = [value for job, value in verdicts.items() if job.case.snr_db is None]
        work = first_candidate(records, method) or _NONE
        found[method] = (f"{sum(clean):.0f} of {len(clean)}", work)
    return found


def sections_of(text: str) -> dict[str, str]:
    """Return by method the link to its section: one with its name alone before one of several."""
    found: dict[str, str] = {}
    for heading in sorted(_SECTION.findall(text), key=len):
        anchor = re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-")
        for name in re.findall(r"[a-z][a-z0-9_]+", heading):
            found.setdefault(name, f"#{anchor}")
    return found


def filled(text: str) -> str:
    """Return the page with the table of all methods in the place that it has for it."""
    made = table(sections_of(text))
    return _BLOCK.sub(lambda match: f"{match[1]}\n{made}\n{match[2]}", text)
