"""Folds pooled to tables: by hand."""

from __future__ import annotations

from typing import Any

import pytest
from recovery import pool, recovery_table
from reporting import EXAMPLE

from mdbench.records import Record, Status


def result(fold: int, fvu: float, *, same: float | None = 1.0, **changes: Any) -> Record:
    data = {
        **EXAMPLE,
        "key": f"{fold:064x}",
        "algorithm": "one",
        "data_type": "real",
        "dataset": "kepler",
        "system": "kepler",
        "part": f"fold={fold}",
        "seed": 0,
        "protocol": "strict",
        "status": "ok",
        "metrics": {"fvu": fvu, "same_law": same},
        "floor": 1.0,
    }
    return Record.model_validate({**data, **changes})


def recovered(*results: Record) -> bool | None:
    found: bool | None = pool(results, 0.01)["one", "kepler"].recovered
    return found


def test_the_mean_over_the_folds_counts() -> None:
    assert recovered(result(1, 1.5), result(2, 0.5))
    assert recovered(result(1, 1.5), result(2, 0.52))
    assert not recovered(result(1, 1.5), result(2, 0.53))


def test_more_than_half_of_the_answers_must_have_the_form() -> None:
    assert recovered(result(1, 1.0), result(2, 1.0), result(3, 1.0, same=0.0))
    assert not recovered(result(1, 1.0), result(2, 1.0, same=0.0))


def test_what_nobody_knows_is_not_counted_where_it_matters() -> None:
    assert recovered(result(1, 1.0), result(2, 1.0, same=None)) is None
    assert recovered(result(1, 1.0), result(2, 1.0), result(3, 1.0, same=None)) is True
    assert recovered(result(1, 9.0), result(2, 1.0, same=None)) is False


@pytest.mark.parametrize("status", ["timeout", "failed"])
def test_a_fold_without_an_answer_is_a_failure(status: str) -> None:
    gone = result(2, 0.0, status=Status(status), metrics={})
    assert not recovered(result(1, 0.1), gone, result(3, 0.1))


def test_a_sandbox_that_could_not_be_had_is_not_counted() -> None:
    gone = result(2, 0.0, status=Status.UNAVAILABLE, metrics={})
    assert recovered(result(1, 1.0), gone)
    assert pool([result(1, 1.0), gone], 0.01)["one", "kepler"].folds == 1


def test_kinds_of_truth_stand_apart() -> None:
    results = [
        result(1, 1.0),
        result(1, 9.0, dataset="planck", system="planck"),
        result(1, 1.0, dataset="misra1", system="misra1", metrics={"fvu": 1.0, "same_law": None}),
    ]
    table = recovery_table(
        results, {"kepler": "reference", "planck": "exact", "misra1": "accepted"}, 0.01
    )
    assert table.splitlines()[-1] == "| one | 1/1 | 1/1 | 1/1 | – | 1/1 | – | 0/1 | 0/1 | 1/1 |"
