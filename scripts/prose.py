"""Numbers in the prose of pages: made from records, or no results.

A number that is a result stands in a marker with the question that it answers::

    <!-- = equal-work method=sindy snr=clean identified -->12<!-- / -->

First the run, then what its records have to be, then the statistic.  The values of a condition are
separated by commas.  The statistic is ``jobs``, ``systems``, ``methods`` or ``seeds`` (how many
there are); a flag among the metrics, such as ``identified`` (how many have it), or its share of the
jobs in per cent (``share:identified``); or ``median``, ``mean``, ``min``, ``max`` or ``sum`` of a
metric or of what was measured, with a format: ``median:measured.work_s:.1f``.
"""

from __future__ import annotations

import re
import statistics
import tomllib
from typing import TYPE_CHECKING, Any, Final

from mdbench.drawing.numbers import noise_name
from mdbench.errors import MdbenchError
from mdbench.extensions.papers.published import read_published, read_published_sets
from mdbench.reports.classes import class_of, latest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from mdbench.records import Record

    Find = Callable[[str], Sequence[Record]]

_MARKER: Final = re.compile(r"(<!-- = (.*?) -->)(.*?)(<!-- / -->)", re.DOTALL)
_NO_PROSE: Final = (
    re.compile(r"<!-- ([a-z-]+) -->\n.*?<!-- end -->", re.DOTALL),
    _MARKER,
    re.compile(r"<!--.*?-->", re.DOTALL),
    re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE),
    re.compile(r"^ {4,}\S.*$", re.MULTILINE),
    re.compile(r"`[^`\n]*`"),
    re.compile(r"\]\([^)\s]*\)"),
    re.compile(r"<[^>]*>"),
)
"""What is no prose: blocks, markers, comments, code, addresses and tags."""
PAPER: Final = "paper"
"""Instead of a run: ``paper ode sindy``, ticks of a method; ``paper srsd easy dsr solution``."""
NOT_RESULTS: Final = "not-results.toml"
"""The list of numbers that are no results, next to the bundles."""

_FIELDS: Final[Mapping[str, Callable[[Record], object]]] = {
    "method": lambda one: one.method,
    "system": lambda one: one.dataset,
    "data_type": lambda one: one.data_type,
    "snr": lambda one: noise_name(one.snr_db).removesuffix(" dB"),
    "seed": lambda one: one.seed,
    "protocol": lambda one: one.protocol,
    "status": lambda one: one.status,
    "variant": lambda one: class_of(one).variant,
    "derivatives": lambda one: class_of(one).derivatives,
    "choice": lambda one: class_of(one).choice,
    "work": lambda one: f"{one.budget.work_s:g}" if one.budget.work_s else "none",
}
_COUNTS: Final[Mapping[str, Callable[[Record], object]]] = {
    "jobs": lambda one: (one.case, class_of(one)),
    "systems": lambda one: one.dataset,
    "methods": lambda one: one.method,
    "seeds": lambda one: one.seed,
}
_SUMMARIES: Final[Mapping[str, Callable[[list[float]], float]]] = {
    "median": statistics.median,
    "mean": statistics.fmean,
    "min": min,
    "max": max,
    "sum": sum,
}


_NO_NUMBER: Final = (ValueError, KeyError, TypeError, OSError, MdbenchError)
"""What a question that has no answer raises."""


def value_of(query: str, find: Find) -> str:
    """Return what a marker has to hold.

    Parameters
    ----------
    find
        Returns the records of a run.

    Raises
    ------
    ValueError
        If it is no question, or if there are no records for it.
    """
    name, *conditions, statistic = query.split()
    if name == PAPER:
        return _of_paper(*conditions, statistic)
    records = [one for one in latest(find(name)) if one.attempted]
    for condition in conditions:
        key, equals, wanted = condition.partition("=")
        if not equals or key not in _FIELDS:
            raise ValueError(f"{condition!r} is no condition; there are: {', '.join(_FIELDS)}")
        records = [one for one in records if str(_FIELDS[key](one)) in wanted.split(",")]
    if not records:
        raise ValueError("no record fits")
    if statistic in _COUNTS:
        return f"{len({_COUNTS[statistic](one) for one in records}):,}"
    kind, _, rest = statistic.partition(":")
    if kind in _SUMMARIES:
        path, _, format_ = rest.partition(":")
        values = [value for one in records if (value := _at(one, path)) is not None]
        if not values:
            raise ValueError(f"no record has {path}")
        return format(_SUMMARIES[kind](values), format_ or ".3g")
    flag = rest if kind == "share" else statistic
    if not any(flag in one.metrics for one in records):
        raise ValueError(f"{statistic!r} is no statistic, and no metric")
    held = sum(one.answered and one.metrics.get(flag) == 1 for one in records)
    return f"{held / len(records):.0%}".replace("%", " %") if kind == "share" else str(held)


def _of_paper(data_type: str, *words: str) -> str:
    """Return a number of a paper's tables: ticks of a method, or a value of a set; ``max``: most.

    Raises
    ------
    ValueError
        If the tables do not have it.
    """
    if len(words) == 1:
        paper = read_published()
        rows = paper.marks.get(data_type, {}).values()
        methods = {method for row in rows for method in row if words[0] in {method, "max"}}
        if not methods:
            raise ValueError(f"the paper's tables of {data_type} have no {words[0]}")
        return str(max(len(paper.found(data_type, method)) for method in methods))
    set_, method, metric = words
    rows_of_set = read_published_sets(data_type).values[data_type][set_]
    values = [
        row[metric]
        for name, row in rows_of_set.items()
        if method in {name, "max"} and metric in row
    ]
    if not values:
        raise ValueError(f"the paper's tables have no {' '.join(words)}")
    return format(max(values), ".2f")


def _at(record: Record, path: str) -> float | None:
    """Return a number of a record: a metric of its answer, or what was measured."""
    group, _, name = path.partition(".")
    value: Any = getattr(record.measured, name) if group == "measured" else record.metrics.get(path)
    counts = isinstance(value, int | float) and (group == "measured" or record.answered)
    return float(value) if counts else None


def with_numbers(text: str, find: Find) -> str:
    """Write the numbers of all markers of a page again; one that no record gives stays."""

    def number(match: re.Match[str]) -> str:
        try:
            return f"{match[1]}{value_of(match[2], find)}{match[4]}"
        except _NO_NUMBER:
            return match[0]

    return _MARKER.sub(number, text)


def wrong_numbers(page: Path, find: Find) -> Iterator[str]:
    """Name each number in the prose of a page that is not what records give, or that none gives."""
    text = page.read_text(encoding="utf-8")
    for match in _MARKER.finditer(text):
        if text[: match.start()].endswith("\n"):
            # There a comment begins a block of HTML, which would end the paragraph before it.
            yield f"{page.name}: <!-- = {match[2]} --> begins a line; join it to the one before"
        try:
            value = value_of(match[2], find)
        except _NO_NUMBER as error:
            yield f"{page.name}: <!-- = {match[2]} -->: {error}"
            continue
        if value != match[3]:
            yield f"{page.name}: {match[2]} is {value}, and the page has {match[3]}"
    for number, line in uncovered(text, _not_results(page)):
        yield f"{page.name}, line {number}: a number that no record gives: {line.strip()}"
    for phrase in _phrases(page):
        if phrase not in text:
            yield f"{page.name}: {NOT_RESULTS} has {phrase!r}, and the page has not"


def uncovered(text: str, patterns: Iterable[re.Pattern[str]]) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each line of prose with a digit that nothing covers."""
    shown = text.splitlines()
    for pattern in (*_NO_PROSE, *patterns):
        text = pattern.sub(_blank, text)
    for number, line in enumerate(text.splitlines(), start=1):
        if re.search(r"\d", line):
            yield number, shown[number - 1]


def _blank(match: re.Match[str]) -> str:
    """Return as many lines as there were, empty."""
    return " " + "\n" * match[0].count("\n")


def _listed(page: Path) -> dict[str, Any]:
    file = page.parent / NOT_RESULTS
    return tomllib.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


def _phrases(page: Path) -> list[str]:
    phrases: list[str] = _listed(page).get("pages", {}).get(page.stem, [])
    return phrases


def _not_results(page: Path) -> Iterator[re.Pattern[str]]:
    # The longest first: a short one may be a part of it.
    for phrase in sorted(_phrases(page), key=len, reverse=True):
        yield re.compile(r"(?<![\w.])" + re.escape(phrase).replace(r"\ ", r"\s+") + r"(?!\w)")
    for pattern in _listed(page).get("everywhere", []):
        yield re.compile(pattern)
