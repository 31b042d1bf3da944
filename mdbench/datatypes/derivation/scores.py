"""Labels of examples in several sets: the static one, and perturbed ones of the same examples."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

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
OF_PAIRS = ("both_signs", "all_derivations", "all_sets", "not_perturbed", "first_pair")
"""The metrics of derivations in several sets."""
OF_OPERATORS = ("same_operator_accuracy", "same_operator_derivations")
"""Those of derivations whose two candidates are of one operator."""
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
            "all_derivations",
            "All",
            "the share of derivations of which both sequences are labelled rightly in the static "
            "set and in all perturbed ones; always the same label has 0",
            None,
            "board",
            "answer",
        ),
        _share(
            "all_sets",
            "All, by sequence",
            "the share of sequences that are labelled rightly in the static set and in all "
            "perturbed ones; always the same label has 0.5",
            0.5,
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
    metrics += _of_classes()
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
                       "lower end of its 95 % interval (bootstrap over classes)", None, **more),
                _share(f"{name}_drop_high", f"drop {title}, 97.5 %",
                       "upper end of its 95 % interval (bootstrap over classes)", None, **more),
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


def _of_classes() -> list[MetricSpec]:
    """Declare what the static set says once more, by classes and of one operator."""
    more = {"better": "neither", "on_failure": None}
    number = MetricSpec(
        name="effective_classes",
        title="effective classes",
        explanation="how many classes of equal size give as much: 1 over the sum of squared "
        "shares; the data's, not the method's",
        better="neither",
        on_failure=None,
        aggregate="mean",
        digits=1,
        places=frozenset({"answer"}),
    )
    return [
        _share("static_low", "static, 2.5 %",
               "lower end of the 95 % interval of the static accuracy (bootstrap over classes: "
               "what both candidates begin with, whatever the names)", None, "answer", **more),
        _share("static_high", "static, 97.5 %",
               "upper end of the 95 % interval of the static accuracy (bootstrap over classes)",
               None, "answer", **more),
        _share("static_macro", "static, by class",
               "the mean over classes of the static accuracy within each", 0.5, "answer"),
        number,
        _share("same_operator_accuracy", "one operator",
               "static accuracy on derivations whose two candidates are of one operator, so that "
               "its name does not tell which is right", 0.5, "board", "answer"),
        replace(number, name="same_operator_derivations", title="derivations of one operator",
                explanation="how many these are; the data's, not the method's", digits=0),
    ]  # fmt: skip


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


Hits = dict[tuple[int, bool], bool]
"""Whether sequences, each an example and its sign, are labelled rightly."""


def scores(
    rows: SequenceRows, predicted: NDArray[np.bool_], classes: Mapping[str, Sequence[str]]
) -> dict[str, Value]:
    """Score labels, (n,), set by set, and the pairs of which every perturbation exists.

    Parameters
    ----------
    classes
        By set, the class of each example; a set without any has those of the static one.
    """
    true = rows.labels == 1
    values: dict[str, Value] = {}
    right: dict[str, Hits] = {}
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
    examples = {name: by_example(hits) for name, hits in right.items()}
    sums = {
        name: by_class(of_set, classes.get(name, classes["static"]))
        for name, of_set in examples.items()
    }
    values |= _static(sums["static"])
    alike = one_operator(rows)
    if alike is not None:
        of_one = [share for pair, share in examples["static"].items() if pair in alike]
        values["same_operator_derivations"] = float(len(of_one))
        values["same_operator_accuracy"] = _mean(of_one) if of_one else None
    perturbed = [name for name in PAIRED if name in right]
    for name in right:
        if name in perturbed:
            common = examples["static"].keys() & examples[name].keys()
            difference = {pair: examples["static"][pair] - examples[name][pair] for pair in common}
            values |= _drop(name, by_class(difference, classes["static"]), None)
        elif name != "static":
            values |= _drop(name, sums["static"], sums[name])
    return values | _of_pairs(right, perturbed)


def _of_pairs(right: Mapping[str, Hits], perturbed: Sequence[str]) -> dict[str, Value]:
    return {name: _mean(own.values()) for name, own in of_pairs(right, perturbed).items() if own}


def of_pairs(right: Mapping[str, Hits], perturbed: Sequence[str]) -> dict[str, dict[int, float]]:
    """Return by score the value of each pair of which every perturbation exists.

    Parameters
    ----------
    right
        By set, whether each sequence, an example and its sign, is labelled rightly.
    perturbed
        The perturbed sets.
    """
    pairs = sorted(
        pair
        for pair, sign in right["static"]
        if sign and all((pair, True) in right[name] for name in perturbed)
    )
    st = right["static"]
    everywhere = {
        p: [all(right[name][p, sign] for name in ("static", *perturbed)) for sign in (True, False)]
        for p in pairs
    }
    return {
        "both_signs": {p: float(st[p, True] and st[p, False]) for p in pairs},
        "all_derivations": {p: float(all(everywhere[p])) for p in pairs},
        "all_sets": {p: _mean(everywhere[p]) for p in pairs},
        "not_perturbed": {
            p: float(st[p, True] and not any(right[name][p, True] for name in perturbed))
            for p in pairs
        },
    }


def one_operator(rows: SequenceRows) -> set[int] | None:
    """Return the derivations whose candidates are of one operator; None where none is known.

    The operator of the wrong candidate is what the perturbed derivation AR asks for.
    """
    asked: dict[str, dict[int, str]] = {"static": {}, "ar": {}}
    for name, pair, tree in zip(rows.sets.tolist(), rows.pairs.tolist(), rows.trees, strict=True):
        if name in asked and pair not in asked[name]:
            asked[name][pair] = json.loads(tree).get("op", "")
    if not asked["ar"]:
        return None
    return {pair for pair, op in asked["ar"].items() if asked["static"].get(pair) == op}


def _first(rows: SequenceRows, predicted: NDArray[np.bool_]) -> str:
    """Return which candidates of the first static example are held for right."""
    own = (rows.sets == "static") & (rows.pairs == 0)
    held = {int(label) for label in rows.labels[own & predicted]}
    return _FIRST[{(1,): 0, (0,): 1, (0, 1): 2, (): 3}[tuple(sorted(held))]]


class ClassSums(NamedTuple):
    """The sum of a value over the examples of each class, and how many these are; (c,) each."""

    sums: Array
    counts: Array


def by_class(values: Mapping[int, float], classes: Sequence[str]) -> ClassSums:
    """Add up the values of examples, which are their numbers in `classes`, class by class."""
    sums: dict[str, float] = {}
    counts: Counter[str] = Counter()
    for pair, value in values.items():
        sums[classes[pair]] = sums.get(classes[pair], 0.0) + value
        counts[classes[pair]] += 1
    return ClassSums(
        np.array([sums[name] for name in counts], float), np.array(list(counts.values()), float)
    )


def _static(static: ClassSums) -> dict[str, Value]:
    """Return the interval of the static accuracy, the mean over classes, and how many there are."""
    _, low, high = bootstrap_difference(static)
    shares = static.counts / static.counts.sum()
    return {
        "static_low": low,
        "static_high": high,
        "static_macro": float(np.mean(static.sums / static.counts)),
        "effective_classes": float(1 / np.sum(shares**2)),
    }


def _drop(name: str, first: ClassSums, second: ClassSums | None) -> dict[str, Value]:
    """Return how much lower the accuracy is than on the static set, with its interval."""
    if not len(first.counts):
        return {}
    drop, low, high = bootstrap_difference(first, second)
    return {f"{name}_drop": drop, f"{name}_drop_low": low, f"{name}_drop_high": high}


def by_example(right: Hits) -> dict[int, float]:
    """Return the share of an example's sequences that is labelled rightly."""
    signs: dict[int, list[bool]] = {}
    for (pair, _), hit in right.items():
        signs.setdefault(pair, []).append(hit)
    return {pair: sum(hits) / len(hits) for pair, hits in sorted(signs.items())}


def _mean(flags: Iterable[float]) -> float:
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


@lru_cache(maxsize=4)
def _resamples(counts: tuple[int, ...]) -> tuple[Array, ...]:
    """Draw how often each class is in each resample, (2000, c) each: always the same."""
    generator = np.random.default_rng(0)
    return tuple(
        generator.multinomial(count, np.full(count, 1 / count), _RESAMPLES).astype(float)
        for count in counts
    )


def bootstrap_difference(
    first: ClassSums, second: ClassSums | None = None
) -> tuple[float, float, float]:
    """Return a mean, or the difference of two, with its 95 % interval by the percentile bootstrap.

    Whole classes are drawn, as the examples of one are answered alike.

    Parameters
    ----------
    first, second
        Values of examples of two sets, or of one.

    Returns
    -------
    tuple of float
        ``mean(first) - mean(second)``, or ``mean(first)``, and the interval's ends.
    """
    both = [first] if second is None else [first, second]
    resamples = _resamples(tuple(len(each.counts) for each in both))
    means = [
        drawn @ each.sums / (drawn @ each.counts)
        for drawn, each in zip(resamples, both, strict=True)
    ]
    mean = first.sums.sum() / first.counts.sum()
    draws = means[0]
    if second is not None:
        draws = draws - means[1]
        mean -= second.sums.sum() / second.counts.sum()
    low, high = np.percentile(draws, _LEVEL)
    return float(mean), float(low), float(high)


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
