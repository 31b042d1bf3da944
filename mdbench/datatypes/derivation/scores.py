"""Labels of examples in several sets: the static one, and perturbed ones of the same examples."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from mdbench.datatypes.derivation.datasets import CALCULUS_SETS, STRUCTURED_SETS
from mdbench.datatypes.derivation.records import SEPARATOR
from mdbench.metrics.spec import MetricSpec

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from mdbench.metrics.spec import Place, Value

    Flags = NDArray[np.bool_]
    Array = NDArray[np.float64]

SETS = tuple(dict.fromkeys(STRUCTURED_SETS + CALCULUS_SETS))
OF_PAIRS = ("both_signs", "all_sets", "not_perturbed", "first_pair")
"""The metrics of derivations rather than of sequences."""
TITLES = {
    "static": "static",
    "vr": "VR",
    "ee": "EE",
    "ar": "AR",
    "s1": "s-1",
    "s2": "s-2",
    "ec": "EC",
    "easy": "easy",
}
_WHAT = {
    "static": "derivations as they are",
    "vr": "the same with Greek letters",
    "ee": "the same with all sides swapped",
    "ar": "the same with the annotation of the other candidate",
    "s1": "derivations of a step less",
    "s2": "derivations of two steps less",
    "ec": "the same as equations",
    "easy": "expressions of one variable",
}
_FIRST = ("the right one", "the wrong one", "both", "neither")
PAIRED = ("vr", "ee", "ar", "ec")
"""The sets that are made of the same examples as the static one."""


def _share(
    name: str, title: str, explanation: str, nothing: float | None, *places: Place, **more: Any
) -> MetricSpec:
    return MetricSpec(
        name=name,
        title=title,
        explanation=explanation,
        better=more.get("better", "higher"),
        on_failure=more.get("on_failure", 0.0),
        aggregate="mean",
        digits=3,
        nothing=nothing,
        places=frozenset(places),
    )


def specs() -> tuple[MetricSpec, ...]:
    """Declare all metrics, the accuracy on the static set first."""
    metrics = [
        _share(
            f"{name}_accuracy",
            TITLES[name],
            f"the share of sequences that are labelled rightly: {_WHAT[name]}; always the same "
            "label has 0.5",
            0.5,
            *(("board", "answer", "brief", "figure") if name == "static" else ("board", "answer")),
        )
        for name in SETS
    ]
    metrics += [
        _share(
            "both_signs",
            "Static+-",
            "the share of derivations of which both sequences are labelled rightly",
            None,
            "board",
            "answer",
        ),
        _share(
            "all_sets",
            "All",
            "the share of sequences that are labelled rightly in the static set and in all "
            "perturbed ones",
            None,
            "board",
            "answer",
        ),
        _share(
            "not_perturbed",
            "Not P",
            "the share of derivations whose right candidate is known in the static set and in no "
            "perturbed one",
            None,
            "answer",
            better="neither",
            on_failure=None,
        ),
    ]
    for name in SETS:
        title = TITLES[name]
        metrics.append(
            _share(
                f"{name}_f1",
                f"F1 {title}",
                f"F1 of the label 1, {_WHAT[name]}; always 1 has 0.667",
                2 / 3,
                *(("board", "answer") if name == "static" else ("answer",)),
            )
        )
        more = {"better": "neither", "on_failure": None}
        if name != "static":
            metrics += [
                _share(f"{name}_drop", f"drop {title}", "static accuracy less this", None,
                       "answer", **more),
                _share(f"{name}_drop_low", f"drop {title}, 2.5 %",
                       "lower end of its 95 % interval (bootstrap over derivations)", None, **more),
                _share(f"{name}_drop_high", f"drop {title}, 97.5 %",
                       "upper end of its 95 % interval (bootstrap over derivations)", None, **more),
            ]  # fmt: skip
        metrics.append(
            _share(
                f"{name}_leak",
                f"leak {title}",
                "accuracy of a naive Bayes that sees only the candidates: the data's, not the "
                f"method's, {_WHAT[name]}",
                None,
                *(("board",) if name in {"static", "ar"} else ()),
                **more,
            )
        )
    metrics.append(
        MetricSpec(
            name="first_pair",
            title="first pair",
            explanation="which candidates of the first derivation of the test are taken for right",
            kind="label",
            labels=_FIRST,
            better="neither",
            on_failure=None,
            aggregate="counts",
            places=frozenset(),
        )
    )
    return tuple(metrics)


@dataclass(frozen=True, eq=False)
class SequenceRows:
    """The sequences of one split.

    Attributes
    ----------
    texts, trees
        Each (n,), texts.
    labels
        1 where the candidate is right, (n,).
    sets, pairs
        The set of each, and the number of its example in the set, (n,).
    """

    texts: list[str] = field(repr=False)
    trees: list[str] = field(repr=False)
    labels: NDArray[np.int8] = field(repr=False)
    sets: NDArray[np.str_] = field(repr=False)
    pairs: NDArray[np.int32] = field(repr=False)


def scores(rows: SequenceRows, predicted: NDArray[np.bool_]) -> dict[str, Value]:
    """Score labels, (n,), set by set, and the pairs of which every perturbation exists."""
    true = rows.labels == 1
    values: dict[str, Value] = {}
    right: dict[str, dict[tuple[int, bool], bool]] = {}
    for name in dict.fromkeys(rows.sets.tolist()):
        own = rows.sets == name
        values[f"{name}_accuracy"] = accuracy(predicted[own], true[own])
        values[f"{name}_f1"] = f1(predicted[own], true[own])
        right[name] = {
            (int(pair), bool(sign)): bool(hit)
            for pair, sign, hit in zip(
                rows.pairs[own], true[own], predicted[own] == true[own], strict=True
            )
        }
    values["first_pair"] = _first(rows, predicted)
    perturbed = [name for name in PAIRED if name in right]
    pairs = sorted(
        pair
        for pair, sign in right["static"]
        if sign and all((pair, True) in right[name] for name in perturbed)
    )
    for name in right:
        if name != "static":
            values |= _drop(name, right, paired=name in perturbed)
    if pairs:
        st = right["static"]
        values["both_signs"] = _mean(st[p, True] and st[p, False] for p in pairs)
        values["all_sets"] = _mean(
            all(right[name][p, sign] for name in ("static", *perturbed))
            for p in pairs
            for sign in (True, False)
        )
        values["not_perturbed"] = _mean(
            st[p, True] and not any(right[name][p, True] for name in perturbed) for p in pairs
        )
    return values


def _first(rows: SequenceRows, predicted: NDArray[np.bool_]) -> str:
    """Return which candidates of the first static example are held for right."""
    own = (rows.sets == "static") & (rows.pairs == 0)
    held = {int(label) for label in rows.labels[own & predicted]}
    return _FIRST[{(1,): 0, (0,): 1, (0, 1): 2, (): 3}[tuple(sorted(held))]]


def _drop(
    name: str, right: Mapping[str, Mapping[tuple[int, bool], bool]], *, paired: bool
) -> dict[str, Value]:
    """Return how much lower the accuracy is than on the static set, with its interval."""
    first, second = (_by_example(right[each]) for each in ("static", name))
    if paired:
        common = sorted(first.keys() & second.keys())
        first, second = ({pair: each[pair] for pair in common} for each in (first, second))
    if not first or not second:
        return {}
    drop, low, high = bootstrap_difference(
        np.array(list(first.values())), np.array(list(second.values())), paired=paired
    )
    return {f"{name}_drop": drop, f"{name}_drop_low": low, f"{name}_drop_high": high}


def _by_example(right: Mapping[tuple[int, bool], bool]) -> dict[int, float]:
    pairs = sorted({pair for pair, _ in right})
    return {pair: (right[pair, True] + right[pair, False]) / 2 for pair in pairs}


def _mean(flags: Iterable[bool]) -> float:
    return float(np.mean(list(flags)))


_RESAMPLES = 2000
_LEVEL = (2.5, 97.5)


def accuracy(found: Flags, true: Flags) -> float:
    """Return the share of labels that are right; both are (n,)."""
    return float(np.mean(found == true))


def f1(found: Flags, true: Flags) -> float:
    """Return the harmonic mean of precision and recall of the label that is true; 0 without any."""
    hits, all_named = np.sum(found & true), np.sum(found) + np.sum(true)
    return float(2 * hits / all_named) if all_named else 0.0


def bootstrap_difference(
    first: Array, second: Array, *, paired: bool
) -> tuple[float, float, float]:
    """Return the difference of two means with its 95 % interval by the percentile bootstrap.

    Parameters
    ----------
    first, second
        A value for each unit, (n,) and (m,).
    paired
        Whether both are of the same units, which are then drawn together.

    Returns
    -------
    tuple of float
        The difference ``mean(one) - mean(other)``, and the interval's ends.
    """
    generator = np.random.default_rng(0)  # the same numbers, the same interval
    draws = []
    for _ in range(_RESAMPLES):
        rows = generator.integers(0, len(first), len(first))
        others = rows if paired else generator.integers(0, len(second), len(second))
        draws.append(first[rows].mean() - second[others].mean())
    low, high = np.percentile(draws, _LEVEL)
    return float(first.mean() - second.mean()), float(low), float(high)


_TOKEN = re.compile(r"\\[A-Za-z]+|[A-Za-z_]+|\d+|[^\sA-Za-z\d]")


def tokens(text: str) -> list[str]:
    r"""Cut a text into commands, words, numbers and signs.

    >>> tokens(r"\frac{d}{d x} = 12")
    ['\\frac', '{', 'd', '}', '{', 'd', 'x', '}', '=', '12']
    """
    return _TOKEN.findall(text)


def probe(train: Sequence[str], labels: Sequence[int], test: Iterable[str]) -> list[bool]:
    """Return which candidates a naive Bayes of words and pairs of them takes for right.

    Where it is right more often than a coin, or less often, the data reveal the label by the
    candidate alone.

    Parameters
    ----------
    train, labels
        Sequences, and 1 where the candidate is right.
    test
        Sequences.

    Returns
    -------
    list of bool
        For each sequence of the test.
    """
    counts: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    for text, label in zip(train, labels, strict=True):
        counts[label].update(_features(text))
    totals = [sum(labels), len(labels) - sum(labels)]
    if not all(totals):
        return [bool(totals[0])] * len(list(test))
    right, wrong = (total + 1.0 for total in totals)
    weights = {
        word: math.log((counts[1][word] + 0.5) / right) - math.log((counts[0][word] + 0.5) / wrong)
        for word in counts[0] | counts[1]
    }
    start = math.log(right / wrong)
    return [
        start + sum(weights.get(word, 0.0) for word in sorted(_features(text))) > 0 for text in test
    ]


def _features(text: str) -> set[str]:
    words = tokens(text.rpartition(SEPARATOR)[2])
    return {*words, *map(" ".join, pairwise(words))}
