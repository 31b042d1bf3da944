"""Scores of derivations from labels that were kept, and tables of them with the paper's."""

from __future__ import annotations

import csv
import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from mdbench.datatypes.derivation.answers import read_labels, scores_of_labels
from mdbench.records.files import attached, unpack_answers

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from mdbench.records import Record

PAPER: Final = "derivations-2023"
SETS: Final = {
    "static_accuracy": "static",
    "vr_accuracy": "VR",
    "ee_accuracy": "EE",
    "ar_accuracy": "AR",
    "both_signs": "Static+-",
    "all_derivations": "All",
    "not_perturbed": "Not P",
}
"""The columns of the tables with the paper's."""
_SYSTEMS: Final = ("structured-2", "structured-3", "structured-4")
_BESIDE: Final = ("boosting", "tagged_lr", "transformer", "candidate_only")
_PROBES: Final = {
    "candidate_only": "the candidate",
    "operation_candidate": "the operation's name, the candidate",
    "operand_candidate": "the operation, its operand, the candidate",
    "tagged_lr": "all words; those of the candidate with the operation",
    "boosting": "the equation referred to, the operation, the candidate",
    "transformer": "all words in their order",
    "replay": "all; it knows the rules",
}
"""What a method sees, in the order of the table."""


def with_label_scores(records: Iterable[Record], folder: Path) -> list[Record]:
    """Give records of derivations the scores that they lack and that labels in a folder give."""
    return [
        one
        if one.data_type != "derivation" or not (scores := _scores(one, folder))
        else one.model_copy(update={"metrics": {**scores, **one.metrics}})
        for one in records
    ]


def _scores(record: Record, folder: Path) -> dict[str, Any]:
    """Return the scores of a record's labels, or of those of a job with all its accuracies."""
    if "all_derivations" in record.metrics:
        return {}
    own = attached([folder], record.answers)
    alike = (folder / "answers" / f"{record.algorithm}-{record.data_type}").glob(
        f"{record.dataset}_seed_*.answers.xz"
    )
    for file in [own] if own else sorted(alike):
        scores = dict(_of_file(file))
        if all(
            math.isclose(value, scores.get(name, math.nan), abs_tol=1e-12)
            for name, value in record.metrics.items()
            if name.endswith(("_accuracy", "_f1")) and isinstance(value, float)
        ):
            return {name: value for name, value in scores.items() if name not in _OF_CLASSES}
    return {}


_OF_CLASSES = ("static_macro", "effective_classes")
"""What only the data can say."""


@lru_cache(maxsize=200)
def _of_file(file: Path) -> tuple[tuple[str, Any], ...]:
    return tuple(scores_of_labels(read_labels(unpack_answers(file))).items())


def wilson(share: float, count: int) -> tuple[float, float]:
    """Return the 95 % interval of a share of so many cases (Wilson)."""
    z = 1.959963984540054
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z * math.sqrt(share * (1 - share) / count + (z / (2 * count)) ** 2) / (1 + z * z / count)
    return max(0.0, middle - half), min(1.0, middle + half)


def paper_table(records: Sequence[Record], docs: Path) -> str:
    """Write the paper's numbers of structured derivations, and ours with intervals below them."""
    published: dict[tuple[str, str], dict[str, float]] = {}
    with (docs / "published-numbers.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["paper"] == PAPER and row["data"] in _SYSTEMS:
                shares = published.setdefault((row["data"], row["method"]), {})
                shares[row["metric"]] = float(row["value"])
    known = {(one.dataset, one.method): one for one in records}
    lines = []
    for system in _SYSTEMS:
        theirs = {method: shares for (data, method), shares in published.items() if data == system}
        for method, shares in theirs.items():
            cells = _with_intervals(shares)
            if method.startswith("mean"):  # of several models, not of cases
                cells = [cell.partition(" ")[0] for cell in cells]
            lines.append([system[-1], f"*{method}*", *cells])
        lines += [
            [system[-1], method, *_with_intervals(known[system, method].metrics)]
            for method in _BESIDE
            if (system, method) in known
        ]
    return _table(["steps", "method", *SETS.values()], lines)


_DERIVATIONS: Final = 2000
"""Derivations of a test at the paper's size, here and there."""


def _with_intervals(shares: Mapping[str, Any]) -> list[str]:
    """Write each share with its interval, as if both sequences of a derivation were one case."""
    cells = []
    for name in SETS:
        value = shares.get(name)
        low, high = wilson(value or 0.0, _DERIVATIONS)
        cells.append("" if value is None else f"{value:.3f} [{low:.3f} … {high:.3f}]")
    return cells


def probes_table(records: Sequence[Record]) -> str:
    """Write what methods have that see less, and on derivations of one operator."""
    known = {(one.dataset, one.method): one for one in records if one.seed == 0}
    lines = [
        [f"`{dataset}`", method, sees, *_apart(known[dataset, method].metrics)]
        for dataset in sorted({dataset for dataset, _ in known})
        for method, sees in _PROBES.items()
        if (dataset, method) in known
        and known[dataset, method].metrics.get("same_operator_accuracy") is not None
    ]
    head = ["dataset", "method", "sees", "static", "one operator", "All"]
    return _table([*head, "derivations of one operator"], lines, words=3)


def _apart(metrics: Mapping[str, Any]) -> list[str]:
    """Write the static accuracy, and that of derivations of one operator."""
    static, alike, count = (
        metrics.get(name)
        for name in ("static_accuracy", "same_operator_accuracy", "same_operator_derivations")
    )
    low, high = metrics.get("static_low"), metrics.get("static_high")
    if static is None or alike is None or count is None or low is None or high is None:
        return [""] * 4
    ends = wilson(float(alike), int(count))
    return [
        f"{static:.3f} [{low:.3f} … {high:.3f}]",
        f"{alike:.3f} [{ends[0]:.3f} … {ends[1]:.3f}]",
        f"{metrics['all_derivations']:.3f}",
        f"{count:.0f}",
    ]


def _table(head: Sequence[str], lines: Sequence[Sequence[str]], words: int = 2) -> str:
    rule = [*[":--"] * words, *["--:"] * (len(head) - words)]
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, rule, *lines])
