"""Tables of measurements: which methods recovered the law of a table, over all its folds."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np
from findings import named

from mdbench.datatypes.real.recovery import Pooled, pool
from mdbench.reports.columns import NOT_MEASURED, hides_share
from mdbench.reports.ranking import FEWEST

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mdbench.records import Record

_DRAWS = 2000


def pool_tables(results: Iterable[Record]) -> dict[tuple[str, str], Pooled]:
    """Pool the folds of each table, by method and table.

    Parameters
    ----------
    results
        Of data type ``real``; a job without an answer is no recovery.
    """
    folds: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for one in results:
        if one.attempted and one.floor is not None:
            folds[one.algorithm, one.dataset].append(one)
    return {key: pool(parts) for key, parts in folds.items()}


def tables_not_measured(results: Iterable[Record]) -> set[tuple[str, str]]:
    """Return each method and table of which most folds were ended too early to be measured."""
    folds: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for one in results:
        if one.attempted:
            folds[one.algorithm, one.dataset].append(one.not_measured)
    return {key for key, ones in folds.items() if hides_share(sum(ones), len(ones))}


def recovery_table(results: Iterable[Record], truths: Mapping[str, str]) -> str:
    """Write how many tables each method recovered, by the kind of their truth.

    Parameters
    ----------
    truths
        The kind of truth of each table, ``few`` of those in which nobody can tell laws apart: kinds
        are never pooled.

    Returns
    -------
    str
        Markdown; in brackets the 95 % interval when tables are drawn again, or a share that says
        nothing of a method, as most of its tables are not measured.
    """
    results = list(results)
    pooled = pool_tables(results)
    short = tables_not_measured(results)
    methods = sorted({method for method, _ in pooled})
    heads = {
        "reference": "a law people took",
        "accepted": "several laws",
        "exact": "made by a law",
        "few": "too few rows to tell",
    }
    kinds = [kind for kind in heads if kind in truths.values()]
    titles = " | ".join(f"{heads[kind]}: recovered | as good | same law" for kind in kinds)
    lines = [f"| method | {titles} |", "| :-- |" + " --: | --: | --: |" * len(kinds)]
    for method in methods:
        cells: list[str] = []
        for kind in kinds:
            keys = [key for key in pooled if key[0] == method and truths.get(key[1]) == kind]
            ones = [pooled[key] for key in keys]
            shares = (
                _share([one.recovered for one in ones]),
                _share([one.as_good for one in ones]),
                _share([one.same_law for one in ones]),
            )
            few = hides_share(len(short & set(keys)), len(keys))
            cells += [f"{NOT_MEASURED} ({text})" for text in shares] if few else shares
        lines.append(f"| {named(method)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def unexplained(one: Record) -> float:
    """Return the share of the variance that an answer leaves (FVU), infinite without one."""
    value = one.metrics.get("fvu") if one.answered else None
    return float(value) if isinstance(value, int | float) else float("inf")


def _share(verdicts: list[bool | None]) -> str:
    known = np.array([bool(verdict) for verdict in verdicts if verdict is not None])
    if not len(known):
        return "–"
    unknown = len(verdicts) - len(known)
    text = f"{int(known.sum())}/{len(known)}" + f" ({unknown} undecided)" * bool(unknown)
    if len(known) < FEWEST:
        return text
    drawn = np.random.default_rng(0).integers(len(known), size=(_DRAWS, len(known)))
    low, high = np.quantile(known[drawn].mean(axis=1), [0.025, 0.975])
    return f"{text} [{low:.0%} … {high:.0%}]"
