"""Fills docs/results/published-numbers.md when pages are built: papers' numbers next to ours."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Final

from bundles import read_bundle
from findings import known, named, to_table

from mdbench import datatypes
from mdbench.cli.workspace import members
from mdbench.datatypes.facts import Protocol
from mdbench.reports.classes import latest
from mdbench.reports.columns import hides_share
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from mdbench.method_spec import MethodSpec
    from mdbench.records import Record

ROOT: Final = Path(__file__).resolve().parent.parent
NUMBERS: Final = ROOT / "docs" / "published-numbers.csv"
RUN: Final = "edition-1"
HEAD: Final = ("method", "data", "metric", "paper", "here", "what differs", "where it stands")
_BLOCK: Final = re.compile(r"(<!-- numbers -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(text: str) -> str:
    """Return the page with the table of numbers in the place that it has for it."""
    return _BLOCK.sub(lambda match: f"{match[1]}\n{table()}\n{match[2]}", text)


def table() -> str:
    """Return all numbers, each with what the records of the edition give, where they have it."""
    records = latest(read_bundle(ROOT / "docs" / "results", RUN))
    workspace = Workspace.find()
    specs = {one.spec.name: one.spec for one in known()}
    rows = []
    for number in numbers():
        ours = here(number, records, datasets_of(number, workspace))
        method = number["method"]
        differs = [number["differs"], *what_differs(specs.get(method))]
        rows.append(
            [
                f"`{method}`{named(method).removeprefix(method)}",
                number["data"],
                number["metric"].replace("_", " "),
                f"{float(number['value']):.3g}",
                ours or "–",
                "; ".join(filter(None, differs)) or "–",
                number["source"],
            ]
        )
    return to_table(HEAD, rows)


def what_differs(spec: MethodSpec | None) -> Iterator[str]:
    """Yield why a record of a method is no test of its paper: other code, or other settings."""
    if spec is not None and spec.implementation == "own":
        yield "our own code, which neither confirms nor contradicts it"
    elif spec is not None and spec.settings != "author":
        yield "settings that are not the author’s"


def numbers() -> Iterator[Mapping[str, str]]:
    """Yield the numbers of papers, by the names of the columns of their file."""
    with NUMBERS.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def datasets_of(number: Mapping[str, str], workspace: Workspace) -> Collection[str]:
    """Return the datasets here that a number is of, with what was asked of them."""
    name, plus, asked = number["data"].partition("+")
    kind = number["data_type"]
    if kind not in datatypes.names():
        return ()
    source = datatypes.find(kind, workspace.datasets / kind, workspace.arrays / kind).source()
    own = source.names()
    group = members(name, kind, own, source.groups()) or [one for one in own if one == name]
    return {f"{one}{plus}{asked}" for one in group}


def here(number: Mapping[str, str], records: Iterable[Record], datasets: Collection[str]) -> str:
    """Return what records of the same method and data have: a share, or the median R2; or nothing.

    A job without an answer counts as 0 in a share, and is left out of a median of R2.  That is 1
    less the unexplained share of the variance (`fvu`).  Where most jobs were ended too early to be
    measured there is no share.
    """
    name = "fvu" if number["metric"] == "r2" else number["metric"]
    alike = [
        record
        for record in records
        if (record.algorithm, record.data_type) == (number["method"], number["data_type"])
        and record.dataset in datasets
        and record.snr_db is None
        and record.protocol == Protocol.STRICT
    ]
    values = [value for one in alike if isinstance(value := one.metrics.get(name), int | float)]
    if not values:
        answered = any(one.answered for one in alike)
        return "" if answered or not alike else f"no answer ({len(alike)} jobs)"
    short = sum(one.not_measured for one in alike)
    if name != "fvu" and hides_share(short, len(alike)):
        return f"not measured ({short} of {len(alike)} jobs)"
    value = 1 - median(values) if name == "fvu" else sum(values) / len(alike)
    return f"{value:.3g} ({len(alike)} jobs)"
