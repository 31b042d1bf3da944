"""What methods identify of laws whose targets have noise, with dummy columns and without."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from findings import named, to_table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mdbench.records import Record

_DUMMY, _NOISE = "dummy", "noise="


def target_noise_table(records: Iterable[Record]) -> str:
    """Write how many laws each method identifies at each level of noise, of how many.

    A law without an answer is not identified.  Counted are laws with a record of every method under
    every condition.  The last column counts verdicts that could not be decided.
    """
    known: dict[tuple[bool, float], dict[str, dict[str, Record]]]
    known = defaultdict(lambda: defaultdict(dict))
    for one in records:
        law, *conditions = one.dataset.split("+")
        levels = [float(part.removeprefix(_NOISE)) for part in conditions if _NOISE in part]
        known[_DUMMY in conditions, sum(levels)][one.algorithm][law] = one
    if not known:
        return "No record is here yet."
    columns = sorted(known)
    methods = sorted({name for by_method in known.values() for name in by_method})
    laws = set.intersection(
        *(set(by_method.get(name, ())) for by_method in known.values() for name in methods)
    )
    lines = []
    for name in methods:
        counts, open_ = [], 0
        for column in columns:
            ones = [known[column][name][law] for law in laws]
            verdicts = [one.metrics.get("identified") if one.answered else 0.0 for one in ones]
            counts.append(sum(verdict == 1 for verdict in verdicts))
            open_ += verdicts.count(None)
        cells = [named(name), *map(str, counts), str(open_) if open_ else "–"]
        lines.append((-sum(counts), name, cells))
    head = ["method"]
    head += [f"{noise:g}{', dummy columns' if dummy else ''}" for dummy, noise in columns]
    rows = [cells for *_, cells in sorted(lines)]
    return f"Of {len(laws)} laws:\n\n" + to_table([*head, "undecided"], rows)
