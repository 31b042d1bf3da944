"""Tables of measurements: which methods recovered the law of a table, over all its folds."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mdbench.reports.ranking import FEWEST

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mdbench.records import Record

_DRAWS = 2000


class Pooled(NamedTuple):
    """A method on all folds of a table.

    Attributes
    ----------
    folds
        How many there are records of.
    as_good
        Whether its mean error over the folds is at most 1 % above the reference's.
    same_law
        Whether more than half of its answers have an accepted form; None where the scorer could not
        decide on so many that it matters.
    """

    folds: int
    as_good: bool
    same_law: bool | None

    @property
    def recovered(self) -> bool | None:
        """Whether the table's law is recovered; None where nobody knows."""
        return False if not self.as_good else self.same_law


def pool(results: Iterable[Record], margin: float) -> dict[tuple[str, str], Pooled]:
    """Pool the folds of each table, by method and table.

    Pooled, one row held out by itself does not decide: in one fold the right law with its constants
    a little away from the best fit is better than the reference, in the next one worse.

    Parameters
    ----------
    results
        Of data type ``real``; a failure is an infinite error.
    margin
        By which share the mean error may be above that of the reference.
    """
    folds: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for one in results:
        if one.attempted and one.floor is not None:
            folds[one.algorithm, one.dataset].append(one)
    found = {}
    for key, ones in folds.items():
        errors = [unexplained(one) for one in ones]
        bar = (1 + margin) * float(np.mean([one.floor or 0.0 for one in ones]))
        verdicts = [one.metrics.get("same_law", 0.0) if one.answered else 0.0 for one in ones]
        right = sum(verdict == 1 for verdict in verdicts)
        unknown = sum(verdict is None for verdict in verdicts)
        half = len(ones) / 2
        same = True if right > half else False if right + unknown <= half else None
        single = float(np.finfo(np.float32).eps)
        found[key] = Pooled(len(ones), float(np.mean(errors)) <= max(bar, single), same)
    return found


def recovery_table(results: Iterable[Record], truths: Mapping[str, str], margin: float) -> str:
    """Write how many tables each method recovered, by the kind of their truth.

    Parameters
    ----------
    truths
        The kind of truth of each table: kinds are never pooled.

    Returns
    -------
    str
        Markdown; in brackets the 95 % interval when tables are drawn again.
    """
    pooled = pool(results, margin)
    methods = sorted({method for method, _ in pooled})
    kinds = [kind for kind in ("reference", "accepted", "exact") if kind in truths.values()]
    heads = {"reference": "a law people took", "accepted": "several laws", "exact": "made by a law"}
    titles = " | ".join(f"{heads[kind]}: recovered | as good | same law" for kind in kinds)
    lines = [f"| method | {titles} |", "| :-- |" + " --: | --: | --: |" * len(kinds)]
    for method in methods:
        cells = []
        for kind in kinds:
            ones = [
                one
                for (name, table), one in pooled.items()
                if name == method and truths.get(table) == kind
            ]
            cells += [
                _share([one.recovered for one in ones]),
                _share([one.as_good for one in ones]),
                _share([one.same_law for one in ones]),
            ]
        lines.append(f"| {method} | " + " | ".join(cells) + " |")
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
