"""Tables of a factorial: what each method identifies by itself, and what by the benchmark.

The factors are the derivatives that methods are given, and who chooses among their candidates.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from findings import named

from mdbench.datatypes.facts import Choice
from mdbench.drawing.numbers import noise_name
from mdbench.reports.classes import class_of
from mdbench.reports.ranking import FEWEST

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from mdbench.records import Record

DERIVATIVES: Final = ("fd", "smooth", "exact")
CHOICES: Final = (str(Choice.OWN), str(Choice.BENCHMARK))
_DRAWS = 2000


class Cell(NamedTuple):
    """One method at one noise level.

    Attributes
    ----------
    systems
        Those that every condition has, in order.
    identified
        Whether each is identified, (derivatives, choices, systems).
    left_out
        How many systems lack a condition.
    """

    systems: tuple[str, ...]
    identified: NDArray[np.bool_]
    left_out: int


def cells(results: Iterable[Record]) -> dict[tuple[str, str, float | None], Cell]:
    """Sort results into cells by data type, method and noise; a failure identifies nothing.

    A system of which a condition was not attempted, or could not be decided, is left out of its
    cell: conditions are compared on the same systems.
    """
    known: dict[tuple[str, str, float | None], dict[str, dict[tuple[str, str], bool]]]
    known = defaultdict(lambda: defaultdict(dict))
    for one in results:
        verdict = one.metrics.get("identified") if one.answered else 0.0
        if one.attempted and verdict is not None:
            at = class_of(one)
            found = known[one.data_type, one.method, one.snr_db][one.dataset]
            found[at.derivatives, at.choice] = verdict == 1
    conditions = [(way, who) for way in DERIVATIVES for who in CHOICES]
    cells_ = {}
    for place, by_system in known.items():
        whole = {name: each for name, each in by_system.items() if len(each) == len(conditions)}
        table = [[each[condition] for condition in conditions] for each in whole.values()]
        identified = np.array(table, dtype=bool).T.reshape(len(DERIVATIVES), len(CHOICES), -1)
        cells_[place] = Cell(tuple(whole), identified, len(by_system) - len(whole))
    return {place: one for place, one in cells_.items() if one.systems}


def conditions_table(results: Iterable[Record]) -> str:
    """Write how many systems are identified under each condition, of how many."""
    head = ["data", "method", "noise", "systems"]
    head += [f"{way}, {who}" for way in DERIVATIVES for who in CHOICES]
    lines = []
    for (kind, method, snr_db), one in _ordered(cells(results)):
        counts = one.identified.sum(axis=-1).ravel().tolist()
        lines.append(
            [kind, named(method), noise_name(snr_db), str(len(one.systems)), *map(str, counts)]
        )
    return _markdown(head, lines, texts=3)


def effects_table(results: Iterable[Record]) -> str:
    """Write the main effects of each method, over all its noise levels.

    An effect is the mean difference in the share of systems that are identified, in points of a
    hundred, over the levels of the other factor; in brackets is its interval of 95 % when systems
    are drawn again, each with all its noise levels.  There is none of fewer than five.
    """
    pooled: dict[tuple[str, str], list[Cell]] = defaultdict(list)
    for (kind, method, _), one in _ordered(cells(results)):
        pooled[kind, method].append(one)
    head = ["data", "method", "systems", "jobs", "smooth - fd", "exact - fd", "benchmark - own"]
    head += ["of the benchmark's (smooth, benchmark)", "also by the method (fd, own)"]
    lines = []
    for (kind, method), ones in pooled.items():
        shared = sorted(set.intersection(*(set(one.systems) for one in ones)))
        if not shared:
            continue
        rows = [[one.systems.index(name) for name in shared] for one in ones]
        # Levels of noise, derivatives, choices, systems.
        found = np.stack([one.identified[..., at] for one, at in zip(ones, rows, strict=True)])
        fd, smooth, exact = (found[:, way].mean(axis=(0, 1)) for way in range(len(DERIVATIVES)))
        own, ours = (found[:, :, who].mean(axis=(0, 1)) for who in range(len(CHOICES)))
        best, alone = found[:, 1, 1], found[:, 0, 0]
        lines.append(
            [
                kind,
                named(method),
                str(len(shared)),
                str(found.size),
                *map(_effect, (smooth - fd, exact - fd, ours - own)),
                str(int(best.sum())),
                str(int((best & alone).sum())),
            ]
        )
    return _markdown(head, lines, texts=2)


def finding_of_merit(results: Iterable[Record]) -> str:
    """Say of each method what it identifies as leaderboards run it, and what by itself."""
    pooled: dict[tuple[str, str], list[Cell]] = defaultdict(list)
    for (kind, method, _), one in _ordered(cells(results)):
        pooled[kind, method].append(one)
    parts = []
    for (_, method), ones in pooled.items():
        best = sum(int(one.identified[1, 1].sum()) for one in ones)
        alone = sum(int(one.identified[0, 0].sum()) for one in ones)
        jobs = sum(len(one.systems) for one in ones)
        parts.append((alone - best, method, f"`{method}` {best} and {alone} of {jobs}"))
    if not parts:
        return "No method has all conditions yet."
    texts = ", ".join(text for *_, text in sorted(parts))
    return (
        "**What methods identify with the benchmark's smoothing and choice, and what by "
        f"themselves, with plain differences and their own choice: {texts}.**"
    )


def _effect(differences: NDArray[np.float64]) -> str:
    text = f"{100 * differences.mean():+.0f}"
    if len(differences) < FEWEST:
        return text
    draws = np.random.default_rng(0).integers(len(differences), size=(_DRAWS, len(differences)))
    low, high = np.quantile(100 * differences[draws].mean(axis=1), [0.025, 0.975])
    return f"{text} [{low:+.0f} … {high:+.0f}]"


def _ordered(
    found: Mapping[tuple[str, str, float | None], Cell],
) -> list[tuple[tuple[str, str, float | None], Cell]]:
    """Sort by data type and method, clean data first and then from little noise to much."""
    return sorted(
        found.items(),
        key=lambda each: (*each[0][:2], -np.inf if each[0][2] is None else -each[0][2]),
    )


def _markdown(head: Sequence[str], lines: Iterable[Sequence[str]], *, texts: int) -> str:
    rule = [":--"] * texts + ["--:"] * (len(head) - texts)
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, rule, *lines])
