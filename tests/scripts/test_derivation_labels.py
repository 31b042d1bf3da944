"""Tables of derivations: seeds together, intervals over classes, forms."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from derivation_labels import (
    forms_table,
    groups_of,
    intervals_of,
    paper_tables,
    probes_table,
    summary,
)
from operators import operator_tables
from reporting import result
from scipy.stats import binom

from mdbench.datatypes.derivation.answers import KeptLabel, pooled, scores_of_labels, write_labels
from mdbench.records.files import pack_answers

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mdbench.records import Record


def labels_of(hits: Sequence[tuple[bool, bool]], classes: Sequence[int]) -> list[KeptLabel]:
    """Answer examples in the static set, and half of them otherwise under VR."""
    return [
        KeptLabel(name, n, ("add",), int(right), int(not wrong), own if name == "static" else None)
        for name in ("static", "vr")
        for n, ((right, wrong), own) in enumerate(
            zip(hits, (f"{c:08x}" for c in classes), strict=True)
        )
    ]


def drawn(seed: int, count: int, of: int) -> list[KeptLabel]:
    generator = np.random.default_rng(seed)
    hits = [(bool(a), bool(b)) for a, b in generator.random((count, 2)) < 0.8]
    return labels_of(hits, generator.integers(of, size=count).tolist())


def accuracy(labels: Sequence[KeptLabel]) -> float:
    return float(np.mean([flag for one in labels if one.set == "static" for flag in one.correct]))


def test_seeds_together_have_the_mean_over_seeds_and_classes_in_common() -> None:
    runs = [drawn(seed, 200, 10) for seed in range(3)]
    scores = scores_of_labels(pooled(runs))
    assert scores["static_accuracy"] == pytest.approx(np.mean([accuracy(one) for one in runs]))
    counts = np.zeros(10)
    right = np.zeros(10)
    for one in (one for run in runs for one in run if one.set == "static"):
        counts[int(str(one.alpha_class), 16)] += 1
        right[int(str(one.alpha_class), 16)] += np.mean([bool(flag) for flag in one.correct])
    assert scores["static_macro"] == pytest.approx(np.mean(right / counts))
    assert scores["effective_classes"] == pytest.approx(600**2 / np.sum(counts**2))


@pytest.mark.parametrize("seeds", [1, 3])
def test_the_interval_is_that_of_a_binomial_law_of_classes(seeds: int) -> None:
    """Examples of 60 classes of equal size, half of which are answered wrongly."""
    one = labels_of(
        [(n % 2 == 0,) * 2 for n in range(60) for _ in range(4)],
        [n for n in range(60) for _ in range(4)],
    )
    other = [
        [
            replace(label, alpha_class=label.alpha_class and f"{seed}{label.alpha_class[1:]}")
            for label in one
        ]
        for seed in range(seeds)
    ]
    for runs, count in (([one] * seeds, 60), (other, 60 * seeds)):
        of_law = binom.ppf([0.025, 0.975], count, 0.5) / count
        mean, *ends = intervals_of(pooled(runs))["static_accuracy"]
        assert mean == 0.5
        assert ends == pytest.approx(of_law, abs=1.5 / count)
        scores = scores_of_labels(pooled(runs))
        assert ends == [scores["static_low"], scores["static_high"]]


def test_the_columns_are_the_scores() -> None:
    labels = pooled(drawn(seed, 150, 7) for seed in range(2))
    half = [
        replace(one, right=0) if one.set == "vr" and one.example % 3 == 0 else one for one in labels
    ]
    scores, columns = scores_of_labels(half), intervals_of(half)
    assert set(columns) == {
        "static_accuracy",
        "vr_accuracy",
        "both_signs",
        "all_derivations",
        "not_perturbed",
    }
    for name, (value, low, high) in columns.items():
        assert value == pytest.approx(scores[name])
        assert low < value < high


def records_with(
    folder: Path, runs: Sequence[Sequence[KeptLabel]], **changes: object
) -> list[Record]:
    ones = []
    for seed, labels in enumerate(runs):
        answers = f"answers/boosting-derivation/{seed}.answers.xz"
        (folder / answers).parent.mkdir(parents=True, exist_ok=True)
        (folder / answers).write_bytes(pack_answers(write_labels(labels)))
        scores = {k: v for k, v in scores_of_labels(labels).items() if isinstance(v, float)}
        one = result(
            "boosting", "structured-2", scores=scores | changes, data_type="derivation", seed=seed
        )
        ones.append(one.model_copy(update={"answers": answers}))
    return ones


def test_a_row_has_the_mean_over_seeds_and_the_interval_of_all(tmp_path: Path) -> None:
    results = tmp_path / "results"
    runs = [drawn(seed, 200, 10) for seed in range(3)]
    ones = records_with(results, runs, same_operator_derivations=50.0, same_operator_accuracy=0.5)
    head = "paper,method,data_type,data,metric,value"
    (tmp_path / "published-numbers.csv").write_text(
        f"{head}\n"
        "derivations-2023,mean of the encoders,derivation,structured-2,static_accuracy,0.886\n"
        "derivations-2023,BERT,derivation,structured-2,static_accuracy,0.5\n", "utf-8"
    )  # fmt: skip
    mean = np.mean([accuracy(one) for one in runs])
    _, low, high = intervals_of(pooled(runs))["static_accuracy"]
    share = f"{mean:.3f} [{low:.3f} … {high:.3f}]"
    table = paper_tables(ones, tmp_path)
    assert f"| `structured-2` | boosting | 3 | {share} |" in table
    assert "| `structured-2` | *mean of the encoders* |  | 0.886 |" in table
    assert "| `structured-2` | *BERT* |  | 0.500 [0.478 … 0.522] |" in table
    assert f"| 3 | {share} | 0.500 [0.421 … 0.579] of 150 |" in probes_table(ones, results)
    [(_, tables)] = operator_tables(ones, results)
    assert [row.derivations for row in tables["boosting"]] == [600]


def test_forms_are_counted_seed_by_seed(tmp_path: Path) -> None:
    """Two seeds: 3 of 4 examples are of one class, and then none of 2 classes has more."""
    right = (True, True)
    runs = [labels_of([right] * 4, [1, 1, 1, 2]), labels_of([right] * 4, [1, 1, 3, 3])]
    *_, line = forms_table(records_with(tmp_path, runs), tmp_path).splitlines()
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells == [
        "`structured-2`",
        "2",
        "8",
        "3",
        f"{64 / (25 + 1 + 4):.1f}",
        "1.6, 2.0",
        "75 %, 50 %",
    ]


def test_without_classes_there_are_no_intervals(tmp_path: Path) -> None:
    old = [[replace(one, alpha_class=None) for one in drawn(0, 50, 5)]]
    ones = records_with(tmp_path / "results", old)
    said = summary(ones, tmp_path / "results")
    assert said is not None
    assert not said.intervals
    assert not any(name.endswith(("_low", "_high")) for name in said.metrics)
    assert forms_table(ones, tmp_path / "results").count("\n") == 1
    assert summary([one.model_copy(update={"answers": None}) for one in ones], tmp_path) is None


def test_records_are_grouped_with_their_seeds_in_order() -> None:
    ones = [
        result(method, dataset, data_type="derivation", seed=seed)
        for seed, method, dataset in product((1, 0), ("b", "a"), ("y", "x"))
    ]
    groups = groups_of(ones)
    assert list(groups) == [("x", "a"), ("x", "b"), ("y", "a"), ("y", "b")]
    assert all([one.seed for one in each] == [0, 1] for each in groups.values())
