"""Two sets of results held against each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from reporting import SPECS, result
from scipy import stats

from mdbench.errors import UsageError
from mdbench.reports.comparison import changes

if TYPE_CHECKING:
    from mdbench.records import Record
    from mdbench.reports.comparison import Changes

SYSTEMS = [f"system-{number}" for number in range(12)]


def ones(nmse: list[float], algorithm: str = "sindy", **more: Any) -> list[Record]:
    return [
        result(algorithm, system, nmse=value, **more)
        for system, value in zip(SYSTEMS, nmse, strict=False)
    ]


def held(before: list[Record], after: list[Record]) -> Changes:
    return changes(before, after, SPECS)


def test_nothing_differs_between_results_and_themselves() -> None:
    rows = ones([10.0 ** -(n % 5) for n in range(12)])
    found = held(rows, rows)
    (one,) = found.methods
    assert (one.pairs, one.same, one.better, one.worse) == (12, 12, 0, 0)
    assert one.verdict == "the same"
    assert found.each == ()
    assert found.made_with == {}


def test_better_is_counted_and_tested_as_scipy_does() -> None:
    random = np.random.default_rng(4)
    old = 10.0 ** random.uniform(-4, 0, 12)
    new = old * 10.0 ** random.uniform(-2, 0.5, 12)
    found = held(ones(old.tolist()), ones(new.tolist()))
    (one,) = found.methods
    assert one.better == int((new < old).sum())
    assert one.worse == int((new > old).sum())
    p = stats.wilcoxon(np.log10(old) - np.log10(new)).pvalue
    assert one.corrected == pytest.approx(p, rel=1e-6)
    assert one.verdict == ("better" if p < 0.05 else "not significant")
    back = held(ones(new.tolist()), ones(old.tolist())).methods[0]
    assert (back.better, back.worse) == (one.worse, one.better)
    assert back.verdict == {"better": "worse"}.get(one.verdict, one.verdict)


def test_several_methods_are_corrected_together() -> None:
    old, new = [1e-1] * 12, [1e-3] * 12
    alone = held(ones(old), ones(new)).methods[0].corrected
    both = held(
        ones(old) + ones(old, "operon"), ones(new) + ones([1e-1] * 11 + [1e-2], "operon")
    ).methods
    by_name = {one.method: one for one in both}
    assert by_name["sindy"].corrected == pytest.approx(2 * alone)
    assert by_name["sindy"].verdict == "better"
    assert by_name["operon"].verdict == "not significant"


@pytest.mark.parametrize(
    ("before", "after", "way"),
    [
        ({}, {"status": "timeout"}, "worse"),
        ({"status": "timeout"}, {}, "better"),
        ({"status": "timeout"}, {"status": "crashed"}, "other"),
        ({"status": "timeout"}, {"status": "timeout"}, "same"),
        ({"status": "interrupted"}, {}, "other"),
        ({"nmse": 1e-3}, {"nmse": None}, "other"),
        ({"nmse": 1e-3}, {"nmse": 1.0000001e-3}, "same"),
        ({"nmse": 1e-5, "floor": 1e-2}, {"nmse": 1e-3, "floor": 1e-2}, "same"),
        ({"nmse": 1e-5}, {"nmse": 1e-3}, "worse"),
    ],
)
def test_an_answer_is_better_than_none_and_luck_is_no_gain(
    before: dict[str, Any], after: dict[str, Any], way: str
) -> None:
    found = held([result(**before)], [result(**after)])
    assert [one.way for one in found.each] == ([] if way == "same" else [way])


def test_verdicts_are_reported_where_scores_stay() -> None:
    found = held([result(nmse=1e-9)], [result(nmse=1e-9, verdict="identified")])
    (one,) = found.each
    assert one.way == "same"
    assert one.flags == {"identified": True}
    assert found.methods[0].gained == {"identified": 1}
    assert found.methods[0].lost == {}


def test_what_one_side_has_alone_and_what_was_made_otherwise_are_reported() -> None:
    first = [result(dataset="a"), result(dataset="b"), result("operon", "a")]
    second = [result(dataset="a", key_parts={"scorer": "new"}), result(dataset="c")]
    found = held(first, second)
    assert found.only_before == {("ode", "sindy"): 1, ("ode", "operon"): 1}
    assert found.only_after == {("ode", "sindy"): 1}
    assert found.made_with == {"scorer": 1}


def test_another_machine_and_another_kernel_are_named() -> None:
    before = result(dataset="a")
    machine = before.provenance.machine.model_copy(update={"cpu": "another"})
    after = before.model_copy(
        update={
            "provenance": before.provenance.model_copy(update={"machine": machine}),
            "measured": before.measured.model_copy(update={"blas_kernel": "Prescott"}),
        }
    )
    assert held([before], [after]).made_with == {"machine": 1, "kernel": 1}


def test_seeds_and_noise_are_questions_of_their_own() -> None:
    old = [result(seed=seed, snr_db=snr_db) for seed in (0, 1) for snr_db in (None, 20.0)]
    new = [result(seed=seed, snr_db=snr_db) for seed in (1, 2) for snr_db in (None, 10.0)]
    found = held(old, new)
    assert found.methods[0].pairs == 1
    assert found.only_before == {("ode", "sindy"): 3}


def test_records_of_an_unknown_data_type_are_compared_by_what_they_hold() -> None:
    old = result(data_type="waves", scores={"error": 2.0})
    new = result(data_type="waves", scores={"error": 1.0})
    assert [one.way for one in changes([old], [new], {}).each] == ["better"]


def test_across_options_a_dataset_is_one_question() -> None:
    old = [result(system="lorenz", nmse=1e-2)]
    new = [result(system="lorenz, derivatives=fd", nmse=1e-3)]
    assert held(old, new).methods == ()
    found = changes(old, new, SPECS, across=True)
    assert [one.way for one in found.each] == ["better"]
    assert found.methods[0].test is not None
    with pytest.raises(UsageError, match="sindy on both lorenz"):
        changes(old, new + old, SPECS, across=True)


def test_across_options_a_methods_own_choice_is_paired_with_the_benchmarks() -> None:
    ours = [result(system="lorenz", nmse=1e-2)]
    own = [result(system="lorenz", nmse=1e-3, options={"choice": "own"})]
    assert held(ours, own).methods == ()
    assert [one.way for one in changes(ours, own, SPECS, across=True).each] == ["better"]
    with pytest.raises(UsageError, match=r"both lorenz and lorenz \(choice own\)"):
        changes(ours, ours + own, SPECS, across=True)
