"""Labels kept example by example: what they hold, and the operators behind right ones."""

from __future__ import annotations

import json
from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdbench.datatypes.derivation.answers import (
    CATEGORIES,
    KeptLabel,
    kept_labels,
    operator_table,
    operators_in,
    predictions_of,
    read_labels,
    scores_of_labels,
    write_labels,
)
from mdbench.datatypes.derivation.calculus import calculation
from mdbench.datatypes.derivation.datasets import alternative_results, expression_exchange
from mdbench.datatypes.derivation.generation import generate
from mdbench.datatypes.derivation.operators import OPERATORS
from mdbench.datatypes.derivation.records import trees
from mdbench.datatypes.derivation.scores import SETS, SequenceRows, one_operator, scores
from mdbench.datatypes.derivation.settings import GeneratorSettings
from mdbench.errors import RecordsError

if TYPE_CHECKING:
    from collections.abc import Sequence

OPS = st.lists(st.sampled_from(OPERATORS), min_size=1, max_size=4).map(tuple)
LABEL = st.builds(
    KeptLabel,
    st.sampled_from(SETS),
    st.integers(0, 50),
    OPS,
    st.sampled_from([0, 1, None]),
    st.sampled_from([0, 1, None]),
    st.sampled_from(["0123abcd", None]),
)


def rows_of(
    examples: int,
    sets: Sequence[str],
    seed: int,
    settings: GeneratorSettings = GeneratorSettings(steps=3),  # noqa: B008 - it is frozen
) -> SequenceRows:
    """Make rows of real derivations in a random order, both candidates of each."""
    made = [generate(settings, "main", n) for n in range(examples)]
    versions = {"static": lambda one: one, "ee": expression_exchange, "ar": alternative_results}
    found: list[tuple[str, int, int, str]] = []
    for name in sets:
        for pair, example in enumerate(made):
            written = trees(versions[name](example))
            found += [
                (name, pair, label, tree) for label, tree in zip((1, 0), written, strict=True)
            ]
    Random(seed).shuffle(found)
    return SequenceRows(
        [""] * len(found),
        [tree for *_, tree in found],
        np.array([label for _, _, label, _ in found], np.int8),
        np.array([name for name, *_ in found]),
        np.array([pair for _, pair, _, _ in found], np.int32),
    )


@pytest.fixture(scope="module")
def rows() -> SequenceRows:
    return rows_of(12, ("static", "ee", "ar"), 0)


def test_operators_are_those_of_the_steps_in_their_order() -> None:
    for index in range(10):
        example = generate(GeneratorSettings(steps=4), "main", index)
        for tree in trees(example):
            assert operators_in(tree) == tuple(step.op for step in example.steps)
        other = alternative_results(example)
        assert operators_in(trees(other)[0])[-1] == example.negatives[0].op


def test_operators_of_calculus_are_those_of_the_expression_and_the_task() -> None:
    for task in ("differentiate", "integrate"):
        for index in range(5):
            example = calculation(GeneratorSettings(task=task, premise_size=3), "main", index)
            found = operators_in(trees(example)[0])
            assert found[-1] == task
            assert set(found) <= set(OPERATORS)
            for name in ("sin", "cos", "exp", "log"):
                assert (name in found) == (f"{name}(" in str(example.expression))


def test_what_is_kept_gives_the_scores_again(rows: SequenceRows) -> None:
    found = np.random.default_rng(1).random(len(rows.labels)) < 0.7
    kept = list(kept_labels(rows, found))
    assert len(kept) == len(rows.labels) // 2
    metrics = scores(rows, found, {"static": list("abcdefabcdef")})
    for name in ("static", "ee", "ar"):
        flags = [flag for one in kept if one.set == name for flag in one.correct]
        assert flags.count(True) / len(flags) == metrics[f"{name}_accuracy"]
    table = operator_table(kept)
    assert [row.operator for row in table] == [
        op for op in OPERATORS if any(op in one.operators for one in kept if one.set == "static")
    ]
    both = [one for one in kept if one.set == "static" and all(one.correct)]
    assert len(both) / 12 == pytest.approx(metrics["both_signs"])
    counts, of_all = (
        Counter(op for one in ones for op in one.operators)
        for ones in (both, [one for one in kept if one.set == "static"])
    )
    for row in table:
        share = counts[row.operator] / counts.total()
        whole = of_all[row.operator] / of_all.total()
        assert row.ratios[CATEGORIES.index("Static+-")] == pytest.approx(share / whole)


def test_labels_alone_give_all_scores_with_their_intervals(rows: SequenceRows) -> None:
    answered = np.random.default_rng(4).random(len(rows.labels)) < 0.7
    classes = {"static": [f"{n % 5:016x}" for n in range(12)]}
    classes["static"] = [own[::-1] for own in classes["static"]]  # other digits come first
    kept = read_labels(write_labels(kept_labels(rows, answered, classes)))
    assert [one.alpha_class for one in kept if one.set == "static"] == [
        own[:8] for own in classes["static"]
    ]
    assert {one.alpha_class for one in kept if one.set != "static"} == {None}
    again, metrics = scores_of_labels(kept), scores(rows, answered, classes)
    assert again == {name: pytest.approx(value) for name, value in metrics.items()}


def test_labels_are_read_back_as_predictions_of_the_same_rows(rows: SequenceRows) -> None:
    answered = np.random.default_rng(2).random(len(rows.labels)) < 0.5
    kept = read_labels(write_labels(kept_labels(rows, answered)))
    Random(3).shuffle(kept)
    assert np.array_equal(predictions_of(rows, kept)[:, 0] > 0.5, answered)
    with pytest.raises(RecordsError, match="in the set ee was kept"):
        predictions_of(rows, [one for one in kept if one.set != "ee"])


def test_a_share_of_all_is_one_of_derivations(rows: SequenceRows) -> None:
    """Who errs in one set about one candidate loses the derivation, and half of its sequences."""
    classes = {"static": ["a"] * 12}
    right = rows.labels == 1
    for name, label in (("static", 1), ("ee", 0), ("ar", 1)):
        for wrong in range(1, 13):
            err = (rows.sets == name) & (rows.pairs < wrong) & (rows.labels == label)
            metrics = scores(rows, right ^ err, classes)
            assert metrics["all_derivations"] == pytest.approx(1 - wrong / 12)
            assert metrics["all_sets"] == pytest.approx(1 - wrong / 24)
    for constant in (True, False):
        metrics = scores(rows, np.full(len(right), constant), classes)
        assert metrics["all_derivations"] == 0
        assert metrics["all_sets"] == 0.5


def test_derivations_of_one_operator_are_those_whose_negative_has_the_final_one() -> None:
    settings = GeneratorSettings(steps=3, negatives="balanced")
    rows = rows_of(24, ("static", "ar"), 1, settings)
    made = [generate(settings, "main", n) for n in range(24)]
    alike = {n for n, one in enumerate(made) if one.final.op == one.negatives[0].op}
    assert 6 < len(alike) < 18
    assert one_operator(rows) == alike
    right = rows.labels == 1
    err = np.isin(rows.pairs, sorted(alike)) & (rows.sets == "static") & right
    metrics = scores(rows, right ^ err, {"static": ["a"] * 24})
    assert metrics["same_operator_derivations"] == len(alike)
    assert metrics["same_operator_accuracy"] == 0.5
    assert metrics["static_accuracy"] == pytest.approx(1 - len(alike) / 48)
    assert one_operator(rows_of(4, ("static", "ee"), 1)) is None


def test_who_is_always_right_has_every_ratio_one(rows: SequenceRows) -> None:
    for row in operator_table(list(kept_labels(rows, rows.labels == 1))):
        assert row.accuracy == 1
        assert set(row.asked.values()) <= {1}
        assert row.ratios[:2] == pytest.approx((1, 1))
        assert row.ratios[2] is None  # no derivation is known in the static set alone


def test_who_fails_at_one_operator_shows_it(rows: SequenceRows) -> None:
    every = list(kept_labels(rows, rows.labels == 1))
    [(worst, _)] = Counter(one.operators[-1] for one in every if one.set == "static").most_common(1)
    wrong = [
        KeptLabel(one.set, one.example, one.operators, 0, 1) if one.operators[-1] == worst else one
        for one in every
    ]
    table = {row.operator: row for row in operator_table(wrong)}
    assert set(table[worst].asked.values()) == {0}
    assert set(table[worst].asked) >= {"static"}
    assert all(set(row.asked.values()) <= {1} for name, row in table.items() if name != worst)
    ratio = table[worst].ratios[0]
    assert ratio is not None
    assert ratio < 1


@given(st.lists(LABEL, max_size=8))
def test_what_is_written_is_read_back(labels: list[KeptLabel]) -> None:
    assert read_labels(write_labels(labels)) == labels
    operator_table(labels)  # whatever there is, there is a table


@pytest.mark.parametrize(
    "change",
    [
        {"set": "other"},
        {"operators": []},
        {"operators": ["nonsense"]},
        {"right": 2},
        {"right": "1"},
        {"example": "0"},
        {"wrong": 0.5},
        {"alpha_class": 1},
        {"alpha_class": "0123abcde"},
        {"alpha_class": "0123ABCD"},
    ],
)
def test_what_is_no_label_is_refused_with_its_line(change: dict[str, Any]) -> None:
    good = {"set": "static", "example": 0, "operators": ["add"], "right": 1, "wrong": 0}
    content = f"{json.dumps(good)}\n{json.dumps(good | change)}\n".encode()
    with pytest.raises(RecordsError, match="line 2"):
        read_labels(content)


@pytest.mark.parametrize("content", [b"\xff\n", b"[" * 100_000, b"no\n", b"{}\n"])
def test_what_is_no_json_is_refused(content: bytes) -> None:
    with pytest.raises(RecordsError, match="line 1"):
        read_labels(content)
