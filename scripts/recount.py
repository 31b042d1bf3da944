"""The long table of edition 2 computed a second time, from its records alone.

    python3 scripts/recount.py docs/results/edition-2-long.jsonl.xz

It imports nothing of mdbench, and nothing that Python does not bring: what it shares with the page
is the file of records and the texts of methods' folders (``algorithms/*/method.toml``).  The table
of measurements is left out: whether a law was recovered there is a bootstrap over its folds.

A test holds it equal to the page's own table.
"""

from __future__ import annotations

import json
import lzma
import sys
import tomllib
from collections import defaultdict
from itertools import pairwise
from math import comb, sqrt
from pathlib import Path
from typing import Any

PARTS = {"ode": 60.0, "srsd": 60.0, "surface": 60.0, "pde": 120.0}
"""The budget of each data type, in reference seconds."""
NOT_METHODS = {"truth", "zero", "mean", "linear"}
FEWEST_JOBS, FEWEST_EVALUATIONS = 5, 10_000
LEVEL = 0.05
Z = 1.959963984540054
"""The 97.5 % point of the normal distribution."""


def main(*files: str) -> None:
    """Print a line for each part and method: the share, its interval and the method's group."""
    texts = [lzma.decompress(Path(file).read_bytes()).decode() for file in files]
    ours = recount([json.loads(line) for text in texts for line in text.splitlines()])
    for part, rows in ours.items():
        print(f"{part}: {next(iter(rows.values()))['jobs']} jobs")
        for method, row in rows.items():
            low, high = row["interval"]
            group = row["group"] or ("not measured" if row["short"] else "knew the cases")
            print(f"  {method:30} {row['share']:6.1%}  [{low:.1%}, {high:.1%}]  {group}")


def recount(records: list[dict[str, Any]]) -> dict[str, dict[str, dict[str, Any]]]:
    """Return by data type and method the share of jobs that it identified, and what belongs to it.

    Parameters
    ----------
    records
        Lines of a file of records, as JSON has them.
    """
    newest: dict[tuple[Any, ...], dict[str, Any]] = {}
    for record in sorted(records, key=lambda record: record["measured"]["started"]):
        if belongs(record):
            newest[record["data_type"], record["algorithm"], record["system"]] = record
    table = {}
    for part in PARTS:
        jobs: dict[str, dict[str, dict[str, Any]]] = defaultdict(dict)
        for (data_type, method, system), record in newest.items():
            if data_type == part:
                undecided = answered(record) and record["metrics"]["identified"] is None
                jobs[method].update({} if undecided else {system: record})
        shared = set.intersection(*map(set, jobs.values())) if jobs else set()
        if len(shared) >= FEWEST_JOBS:
            table[part] = rows(part, {m: [jobs[m][s] for s in sorted(shared)] for m in jobs})
    return table


def belongs(record: dict[str, Any]) -> bool:
    """Whether a record is of the table: no noise, strict rules, the first seed, its own budget."""
    return bool(
        PARTS.get(record["data_type"]) == record["budget"]["work_s"]
        and record["snr_db"] is None
        and record["protocol"] == "strict"
        and record["seed"] == 0
        and record["algorithm"] not in NOT_METHODS
        and record["status"] not in {"interrupted", "unavailable"}
    )


def answered(record: dict[str, Any]) -> bool:
    """Whether there is an answer, at the end or at the limit."""
    return record["status"] in {"ok", "partial"}


def too_short(record: dict[str, Any]) -> bool:
    """Whether the limit ended a job too early to say anything of its method."""
    limit, measured = record["budget"]["work_s"], record["measured"]
    used, count = measured["work_s"] or 0.0, measured["evaluations"]
    if not answered(record):
        spent = record["status"] == "failed" and used >= 0.9 * limit
        return bool(record["status"] == "timeout" or spent)
    few = count is not None and count < FEWEST_EVALUATIONS and used >= 0.5 * limit
    right = answered(record) and record["metrics"].get("identified") == 1
    return bool(record["status"] == "partial" and few and not right)


def rows(part: str, jobs: dict[str, list[dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    """Return share, interval, whether jobs were too short, and the group of each method."""
    right = {
        method: [answered(one) and one["metrics"].get("identified") == 1 for one in records]
        for method, records in jobs.items()
    }
    order = sorted(right, key=lambda method: (-sum(right[method]), method))
    short = {m: 2 * sum(map(too_short, jobs[m])) > len(jobs[m]) for m in jobs}
    ranked = [method for method in order if not short[method] and not knew(method, part)]
    first_of = starts(ranked, right)
    table = {}
    for method in order:
        n, hits = len(right[method]), sum(right[method])
        group = sum(k <= ranked.index(method) for k in first_of) if method in ranked else 0
        interval = wilson(hits, n)
        row = {"jobs": n, "share": hits / n, "interval": interval}
        table[method] = {**row, "short": short[method], "group": group}
    return table


def knew(method: str, part: str) -> bool:
    """Whether a method's folder says that its maker knew the cases."""
    path = Path(__file__).resolve().parent.parent / "algorithms" / method / "method.toml"
    return path.exists() and part in tomllib.loads(path.read_text("utf-8")).get("knows", {})


def starts(ranked: list[str], right: dict[str, list[bool]]) -> list[int]:
    """Return where groups begin in the order of methods.

    The first method of a group is tested against all below it (McNemar's exact test, two-sided;
    Holm's correction for these tests); the first of them that is apart begins the next group.
    """
    begins = [0] if ranked else []
    while begins:
        below = ranked[begins[-1] + 1 :]
        p = [mcnemar(right[ranked[begins[-1]]], right[other]) for other in below]
        order = sorted(range(len(p)), key=p.__getitem__)
        steps = [min(1.0, (len(p) - rank) * p[k]) for rank, k in enumerate(order)]
        for rank, (before, after) in enumerate(pairwise(steps), 1):
            steps[rank] = max(steps[rank - 1], before, after)
        apart = {k for k, step in zip(order, steps, strict=True) if step < LEVEL}
        if not apart:
            break
        begins.append(begins[-1] + 1 + min(apart))
    return begins


def mcnemar(first: list[bool], second: list[bool]) -> float:
    """Return the exact two-sided p-value of McNemar's test."""
    b = sum(x and not y for x, y in zip(first, second, strict=True))
    c = sum(y and not x for x, y in zip(first, second, strict=True))
    tail = sum(comb(b + c, k) for k in range(min(b, c) + 1))
    return float(min(1.0, 2 * tail / 2 ** (b + c)))


def wilson(hits: int, n: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval: the shares p with |hits - n p| <= Z sqrt(n p (1 - p))."""
    a, b, c = n**2 + Z**2 * n, 2 * n * hits + Z**2 * n, float(hits**2)
    root = sqrt(max(0.0, b**2 - 4 * a * c))
    return (b - root) / (2 * a), (b + root) / (2 * a)


if __name__ == "__main__":
    main(*sys.argv[1:])
