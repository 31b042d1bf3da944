"""Labels kept example by example, and the operators behind right and wrong ones.

The analysis is that of Meadows et al. (2023), section 5: how frequent operators are among the
derivations that a method labels rightly, relative to the whole static set.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mdbench.datatypes.derivation.operators import OPERATORS
from mdbench.datatypes.derivation.scores import PAIRED, SETS, SequenceRows, scores
from mdbench.errors import RecordsError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from mdbench.metrics.spec import Value

_CONSTRUCTOR = re.compile(r"\b(Add|Mul|Pow|sin|cos|exp|log)\(")
_NAMES = {"Add": "add", "Mul": "times", "Pow": "power"}
"""The names that operations in a written expression have as operators."""
_MOST_EXAMPLES = 1_000_000
_CLASS_DIGITS = 8
_CLASS = re.compile(r"[0-9a-f]{8}")


@dataclass(frozen=True)
class KeptLabel:
    """The labels that a method gave one example in one set.

    Attributes
    ----------
    set, example
        The set, and the number of the example in its split.
    operators
        Those of a derivation's steps in their order, the last being what is asked for; of calculus,
        those that the expression has, and the task.
    right, wrong
        The labels given to its right and to its wrong candidate, 1 or 0; None where the sequence is
        not in the test.
    alpha_class
        Eight hex digits of the example's class: of what both candidates begin with, whatever the
        names.  None in sets that are made of the examples of the static one, which has it.
    """

    set: str
    example: int
    operators: tuple[str, ...]
    right: int | None
    wrong: int | None
    alpha_class: str | None = None

    @property
    def correct(self) -> tuple[bool | None, bool | None]:
        """Whether each of both labels is the true one."""
        return (
            None if self.right is None else self.right == 1,
            None if self.wrong is None else self.wrong == 0,
        )


def kept_labels(
    rows: SequenceRows,
    predicted: NDArray[np.bool_],
    classes: Mapping[str, Sequence[str]] | None = None,
) -> Iterator[KeptLabel]:
    """Yield the labels, (n,), example by example: the sets in their order.

    Parameters
    ----------
    classes
        By set, the class of each example, if known.
    """
    places: dict[tuple[str, int], list[int | None]] = {}
    for index, (name, pair, label) in enumerate(
        zip(rows.sets.tolist(), rows.pairs.tolist(), rows.labels.tolist(), strict=True)
    ):
        places.setdefault((name, pair), [None, None])[1 - label] = index
    for (name, pair), (right, wrong) in sorted(
        places.items(), key=lambda one: (SETS.index(one[0][0]), one[0][1])
    ):
        shown = right if right is not None else wrong
        if shown is not None:
            own = None if classes is None or name not in classes else classes[name][pair]
            yield KeptLabel(
                name,
                pair,
                operators_in(rows.trees[shown]),
                None if right is None else int(predicted[right]),
                None if wrong is None else int(predicted[wrong]),
                None if own is None else own[:_CLASS_DIGITS],
            )


def predictions_of(rows: SequenceRows, labels: Sequence[KeptLabel]) -> NDArray[np.float64]:
    """Return the labels of sequences, (n, 1), that `kept_labels` kept.

    Raises
    ------
    RecordsError
        If they are not those of these sequences.
    """
    known = {(one.set, one.example): (one.wrong, one.right) for one in labels}
    predictions = np.empty((len(rows.labels), 1))
    for index, (name, pair, label) in enumerate(
        zip(rows.sets.tolist(), rows.pairs.tolist(), rows.labels.tolist(), strict=True)
    ):
        value = known.get((name, pair), (None, None))[label]
        if value is None:
            raise RecordsError(f"no label of example {pair} in the set {name} was kept.")
        predictions[index] = value
    return predictions


def pooled(runs: Iterable[Sequence[KeptLabel]]) -> list[KeptLabel]:
    """Return the labels of several seeds, each of data of its own, as those of one set."""
    together: list[KeptLabel] = []
    first = 0
    for labels in runs:
        together += [replace(one, example=first + one.example) for one in labels]
        first = 1 + max((one.example for one in together), default=-1)
    return together


def classes_of_labels(labels: Sequence[KeptLabel]) -> dict[str, list[str]]:
    """Return by set the class of each example; those that were not kept are classes of their own.

    Perturbed sets are left out, as they have those of the static set.
    """
    count = 1 + max((kept_label.example for kept_label in labels), default=-1)
    names = {kept_label.set for kept_label in labels} - {*PAIRED} | {"static"}
    classes = {name: [str(n) for n in range(count)] for name in sorted(names)}
    for kept_label in labels:
        if kept_label.alpha_class and kept_label.set in names:
            classes[kept_label.set][kept_label.example] = kept_label.alpha_class
    return classes


def scores_of_labels(labels: Sequence[KeptLabel]) -> dict[str, Value]:
    """Score labels without their data: all but the probe of what candidates give away."""
    sequences = [
        (kept_label, sign, label)
        for kept_label in labels
        for sign, label in ((1, kept_label.right), (0, kept_label.wrong))
        if label is not None
    ]
    last = {kept_label.operators[-1] for kept_label, _, _ in sequences}
    trees = {name: json.dumps({"op": name}) for name in last}
    rows = SequenceRows(
        texts=[""] * len(sequences),
        trees=[trees[kept_label.operators[-1]] for kept_label, _, _ in sequences],
        labels=np.array([sign for _, sign, _ in sequences], np.int8),
        sets=np.array([kept_label.set for kept_label, _, _ in sequences]),
        pairs=np.array([kept_label.example for kept_label, _, _ in sequences], np.int32),
    )
    answered = np.array([label == 1 for _, _, label in sequences])
    return scores(rows, answered, classes_of_labels(labels))


def operators_in(tree: str) -> tuple[str, ...]:
    """Return the operators of a sequence, of which `tree` is the JSON form."""
    data = json.loads(tree)
    if "steps" in data:
        return (*(step["op"] for step in data["steps"]), data["op"])
    own = dict.fromkeys(_CONSTRUCTOR.findall(data["expression"]))
    return (*(_NAMES.get(name, name) for name in own), data["task"])


def write_labels(labels: Iterable[KeptLabel]) -> bytes:
    """Write labels as JSON lines; docs/derivation.md explains the keys."""
    lines = []
    for kept_label in labels:
        known = {key: value for key, value in vars(kept_label).items() if key != "alpha_class"}
        if kept_label.alpha_class:
            known["alpha_class"] = kept_label.alpha_class
        lines.append(json.dumps(known, separators=(",", ":")))
    return "".join(f"{line}\n" for line in lines).encode()


def read_labels(content: bytes) -> list[KeptLabel]:
    """Read what `write_labels` wrote.

    Raises
    ------
    RecordsError
        If a line is none; names it.
    """
    labels = []
    lines = content.splitlines()
    if len(lines) > _MOST_EXAMPLES:
        raise RecordsError(f"{len(lines)} lines of labels; {_MOST_EXAMPLES} at most are read.")
    for number, line in enumerate(lines, 1):
        try:
            labels.append(_label(json.loads(line.decode())))
        except (ValueError, RecursionError) as error:
            raise RecordsError(f"line {number} of the labels is none: {error}") from None
    return labels


def _label(data: object) -> KeptLabel:
    match data:
        case {
            "set": str(name),
            "example": int(example),
            "operators": [*operators],
            "right": (0 | 1 | None) as right,
            "wrong": (0 | 1 | None) as wrong,
            **further,
        } if name in SETS and operators and set(map(str, operators)) <= set(OPERATORS):
            own = further.get("alpha_class")
            if own is None or (isinstance(own, str) and _CLASS.fullmatch(own)):
                return KeptLabel(name, example, tuple(map(str, operators)), right, wrong, own)
    raise ValueError(f"{str(data)[:80]!r}")


CATEGORIES = ("Static+-", "All", "Not P")
"""The categories of derivations: as the scores of these names, of whole derivations."""


class OperatorRow(NamedTuple):
    """How an operator goes with right labels.

    Attributes
    ----------
    derivations
        How many examples of the static set have it.
    accuracy
        The share of their sequences that are labelled rightly; with no effect of the operator it is
        the accuracy on the static set.
    asked
        The same for those whose final operation it is, in the static set and in each perturbed one,
        by the set; a set without any is left out.
    ratios
        For each of the `CATEGORIES`, the operator's frequency among the steps of its derivations,
        divided by that in the static set; None where the category is empty.
    """

    operator: str
    derivations: int
    accuracy: float
    asked: Mapping[str, float]
    ratios: tuple[float | None, ...]


def operator_table(labels: Sequence[KeptLabel]) -> list[OperatorRow]:
    """Return a row for each operator that the static set has, in the order of `OPERATORS`.

    Only derivations of which every perturbation exists count in the categories.
    """
    sets: dict[str, dict[int, KeptLabel]] = {}
    for one in labels:
        if None not in one.correct:
            sets.setdefault(one.set, {})[one.example] = one
    static = sets.get("static", {})
    perturbed = [sets[name] for name in PAIRED if name in sets]
    members = _categories(static, perturbed)
    whole = _frequencies(static.values())
    parts = [_frequencies(static[n] for n in members[name]) for name in CATEGORIES]
    rows_of_table = []
    for operator in OPERATORS:
        own = [one for one in static.values() if operator in one.operators]
        if not own:
            continue
        asked = {
            name: _accuracy(answers)
            for name in ("static", *PAIRED)
            if (
                answers := [
                    one for one in sets.get(name, {}).values() if one.operators[-1] == operator
                ]
            )
        }
        rows_of_table.append(
            OperatorRow(
                operator,
                len(own),
                _accuracy(own),
                asked,
                tuple(
                    part.get(operator, 0.0) / whole[operator] if part else None for part in parts
                ),
            )
        )
    return rows_of_table


def _categories(
    static: Mapping[int, KeptLabel], perturbed: Sequence[Mapping[int, KeptLabel]]
) -> dict[str, list[int]]:
    """Return the numbers of the derivations in each category."""
    known = [n for n in static if all(n in each for each in perturbed)]
    rows_by_category: dict[str, list[int]] = {name: [] for name in CATEGORIES}
    for n in known:
        own = static[n].correct
        others = [each[n].correct for each in perturbed]
        if all(own):
            rows_by_category["Static+-"].append(n)
            if all(all(each) for each in others):
                rows_by_category["All"].append(n)
        if own[0] and others and not any(right for right, _ in others):
            rows_by_category["Not P"].append(n)
    return rows_by_category


def _frequencies(examples: Iterable[KeptLabel]) -> dict[str, float]:
    """Return the share that each operator has of all steps; empty of no examples."""
    counts = Counter(operator for one in examples for operator in one.operators)
    return {operator: count / counts.total() for operator, count in counts.items()}


def _accuracy(examples: Sequence[KeptLabel]) -> float:
    return float(np.mean([flag for one in examples for flag in one.correct]))
