"""Tables of derivations from the labels that records keep, those of several seeds together."""

from __future__ import annotations

import csv
import math
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mdbench.datatypes.derivation.answers import (
    classes_of_labels,
    pooled,
    read_labels,
    scores_of_labels,
)
from mdbench.datatypes.derivation.scores import (
    PAIRED,
    bootstrap_difference,
    by_class,
    by_example,
    of_pairs,
)
from mdbench.records.files import attached, unpack_answers
from mdbench.reports.statistics import wilson

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from mdbench.datatypes.derivation.answers import KeptLabel
    from mdbench.datatypes.derivation.scores import Hits
    from mdbench.records import Record

    Interval = tuple[float, float, float]
    """A share, and the ends of its interval of 95 %."""

PAPER: Final = "derivations-2023"
STRUCTURED: Final = {
    "static_accuracy": "static",
    "vr_accuracy": "VR",
    "ee_accuracy": "EE",
    "ar_accuracy": "AR",
    "both_signs": "Static+-",
    "all_derivations": "All",
    "not_perturbed": "Not P",
}
"""The columns of the paper's tables of derivations."""
CALCULUS: Final = {
    "static_accuracy": "static",
    "vr_accuracy": "VR",
    "ec_accuracy": "EC",
    "easy_accuracy": "easy",
    "all_derivations": "All",
}
"""Those of its table of calculus."""
_TABLES: Final = {
    ("structured-2", "structured-3", "structured-4"): STRUCTURED,
    ("differentiate", "integrate"): CALCULUS,
}
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


class LabelSummary(NamedTuple):
    """What the labels of a method say, those of several seeds of data together.

    Attributes
    ----------
    metrics
        The scores, without the probe.
    intervals
        By the name of a score, a share with its interval over classes.
    classes
        How many examples of the static set each class has, in each seed; empty where classes were
        not kept.
    """

    metrics: Mapping[str, Any]
    intervals: Mapping[str, Interval]
    classes: Sequence[Counter[str]]


def summary(records: Sequence[Record], folder: Path) -> LabelSummary | None:
    """Read the labels of the records of some seeds in a folder; None where one has none."""
    files = [attached([folder], one.answers) for one in records]
    return _of_files(tuple(file for file in files if file)) if files and all(files) else None


@lru_cache(maxsize=1000)
def _of_files(files: tuple[Path, ...]) -> LabelSummary:
    runs = [read_labels(unpack_answers(file)) for file in files]
    labels = pooled(runs)
    by_seed = [
        Counter(one.alpha_class for one in run if one.set == "static" and one.alpha_class)
        for run in runs
    ]
    metrics = scores_of_labels(labels)
    if not all(by_seed):
        metrics = {name: value for name, value in metrics.items() if not _is_of_classes(name)}
        return LabelSummary(metrics, {}, ())
    return LabelSummary(metrics, intervals_of(labels), by_seed)


def _is_of_classes(name: str) -> bool:
    """Whether only the classes of examples can say it."""
    return name in {"static_macro", "effective_classes"} or name.endswith(("_low", "_high"))


def intervals_of(labels: Sequence[KeptLabel]) -> dict[str, Interval]:
    """Return the columns of the paper's tables, with intervals by a bootstrap over classes."""
    classes = classes_of_labels(labels)
    right: dict[str, Hits] = {}
    for kept_label in labels:
        for sign, hit in zip((True, False), kept_label.correct, strict=True):
            if hit is not None:
                right.setdefault(kept_label.set, {})[kept_label.example, sign] = hit
    values = {f"{name}_accuracy": (name, by_example(hits)) for name, hits in right.items()}
    perturbed = [name for name in PAIRED if name in right]
    values |= {name: ("static", own) for name, own in of_pairs(right, perturbed).items()}
    return {
        name: bootstrap_difference(by_class(of_examples, classes.get(of_set, classes["static"])))
        for name, (of_set, of_examples) in values.items()
        if of_examples and name in STRUCTURED | CALCULUS
    }


def with_label_scores(records: Iterable[Record], folder: Path) -> list[Record]:
    """Give records of derivations the scores that they lack and that labels in a folder give."""
    return [
        one
        if one.data_type != "derivation" or not (scores := _scores(one, folder))
        else one.model_copy(update={"metrics": {**scores, **one.metrics}})
        for one in records
    ]


def _scores(record: Record, folder: Path) -> Mapping[str, Any]:
    """Return the scores of a record's labels, or of those of a job with all its accuracies."""
    if "all_derivations" in record.metrics:
        return {}
    own = attached([folder], record.answers)
    alike = (folder / "answers" / f"{record.algorithm}-{record.data_type}").glob(
        f"{record.dataset}_seed_*.answers.xz"
    )
    for file in [own] if own else sorted(alike):
        scores = _of_files((file,)).metrics
        if all(
            math.isclose(value, scores.get(name, math.nan), abs_tol=1e-12)
            for name, value in record.metrics.items()
            if name.endswith(("_accuracy", "_f1")) and isinstance(value, float)
        ):
            return scores
    return {}


Groups = dict[tuple[str, str], list["Record"]]
"""Records of the same dataset and method: those of several seeds."""


def groups_of(records: Iterable[Record]) -> Groups:
    """Return the records by dataset and method, the seeds in their order."""
    groups: Groups = {}
    for one in sorted(records, key=lambda one: (one.dataset, one.method, one.seed)):
        groups.setdefault((one.dataset, one.method), []).append(one)
    return groups


def paper_tables(records: Sequence[Record], docs: Path) -> str:
    """Write the paper's numbers, and ours with intervals below them: derivations and calculus."""
    published: dict[tuple[str, str], dict[str, float]] = {}
    with (docs / "published-numbers.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["paper"] == PAPER:
                shares = published.setdefault((row["data"], row["method"]), {})
                shares[row["metric"]] = float(row["value"])
    groups = groups_of(records)
    tables = []
    for systems, columns in _TABLES.items():
        lines = []
        for system in systems:
            for (data, method), shares in published.items():
                if data == system:
                    cells = [_of_paper(method, shares.get(name)) for name in columns]
                    lines.append([f"`{system}`", f"*{method}*", "", *cells])
            lines += [
                [f"`{system}`", method, str(len(ones)), *_cells(ones, docs / "results", columns)]
                for method in _BESIDE
                if (ones := groups.get((system, method)))
            ]
        tables.append(_table(["dataset", "method", "seeds", *columns.values()], lines))
    return "\n\n".join(tables)


_DERIVATIONS: Final = 2000
"""Derivations of the paper's tests."""


def _of_paper(method: str, value: float | None) -> str:
    """Write a share of the paper's; of a single model with Wilson's interval."""
    if value is None:
        return ""
    if method.startswith("mean"):  # of several models, not of cases
        return f"{value:.3f}"
    return _written((value, *wilson(value, _DERIVATIONS)))


def _cells(ones: Sequence[Record], folder: Path, columns: Iterable[str]) -> list[str]:
    """Write the shares of a method, with intervals over classes where its labels have them."""
    said = summary(ones, folder)
    cells = []
    for name in columns:
        value = mean_of(ones, name)
        interval = said.intervals.get(name) if said else None
        cells.append("" if value is None else _written((value, *(interval or ())[1:])))
    return cells


def mean_of(ones: Sequence[Record], name: str) -> float | None:
    """Return the mean over seeds of a score; None where one lacks it."""
    values = [value for one in ones if isinstance(value := one.metrics.get(name), float)]
    return math.fsum(values) / len(values) if values and len(values) == len(ones) else None


def _written(share: tuple[float, ...]) -> str:
    value, *ends = share
    return f"{value:.3f}" + f" [{' … '.join(f'{end:.3f}' for end in ends)}]" * bool(ends)


def probes_table(records: Sequence[Record], folder: Path) -> str:
    """Write what methods have that see less, and on derivations of one operator."""
    groups = groups_of(records)
    lines = [
        [
            f"`{dataset}`",
            method,
            sees,
            str(len(ones)),
            *_cells(ones, folder, ["static_accuracy"]),
            _alike(ones),
            *_cells(ones, folder, ["all_derivations"]),
        ]
        for dataset in sorted({dataset for dataset, _ in groups})
        for method, sees in _PROBES.items()
        if (ones := groups.get((dataset, method))) and _of_one_operator(ones) >= _FEWEST
    ]
    head = ["dataset", "method", "sees", "seeds", "static", "one operator", "All"]
    return _table(head, lines, words=3)


_FEWEST: Final = 50
"""Derivations of one operator that a dataset needs for its rows."""


def _of_one_operator(ones: Sequence[Record]) -> int:
    """Return how many derivations of one operator there are in the tests of all seeds."""
    return round(sum(_number(one, "same_operator_derivations") for one in ones))


def _number(record: Record, name: str) -> float:
    """Return a score, and 0 where there is none."""
    value = record.metrics.get(name)
    return value if isinstance(value, float) else 0.0


def _alike(ones: Sequence[Record]) -> str:
    """Write the accuracy on derivations of one operator of all seeds, and how many these are."""
    total = _of_one_operator(ones)
    right = sum(
        _number(one, "same_operator_accuracy") * _number(one, "same_operator_derivations")
        for one in ones
    )
    return f"{_written((right / total, *wilson(right / total, total)))} of {total}"


def forms_table(records: Sequence[Record], folder: Path) -> str:
    """Write how many forms the static test sets are of, and how much the largest has."""
    lines = []
    of_dataset: dict[str, list[Record]] = {}
    for (dataset, _), ones in groups_of(records).items():
        of_dataset[dataset] = max(of_dataset.get(dataset, []), ones, key=len)
    for dataset, ones in sorted(of_dataset.items()):
        said = summary(ones, folder)
        if said is None or not said.classes:
            continue
        every = sum(said.classes, Counter())
        largest = ", ".join(f"{max(own.values()) / own.total():.0%}" for own in said.classes)
        own_effective = ", ".join(f"{_effective(own):.1f}" for own in said.classes)
        lines.append(
            [
                f"`{dataset}`",
                str(len(ones)),
                f"{every.total():,}",
                f"{len(every):,}",
                f"{_effective(every):.1f}",
                own_effective,
                largest.replace("%", " %"),
            ]
        )
    head = ["dataset", "seeds", "examples", "classes", "effective classes"]
    return _table([*head, "by seed", "share of the largest, by seed"], lines, words=1)


def _effective(classes: Counter[str]) -> float:
    """Return the effective number of classes: that of as many equal ones."""
    return classes.total() ** 2 / sum(count**2 for count in classes.values())


def _table(head: Sequence[str], lines: Sequence[Sequence[str]], words: int = 2) -> str:
    rule = [*[":--"] * words, *["--:"] * (len(head) - words)]
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, rule, *lines])
