"""The table of what was recovered of measurements: by hand."""

from __future__ import annotations

from typing import Any

from recovery import pool_tables, recovery_table
from reporting import EXAMPLE

from mdbench.datatypes.real.recovery import ROW_ERRORS
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
        "notes": {ROW_ERRORS: [f"{fvu:.4g}", "1"]},
        "floor": 1.0,
    }
    return Record.model_validate({**data, **changes})


def test_a_sandbox_that_could_not_be_had_is_not_counted() -> None:
    gone = result(2, 0.0, status=Status.UNAVAILABLE, metrics={})
    pooled = pool_tables([result(1, 1.0), gone])["one", "kepler"]
    assert pooled.recovered
    assert pooled.folds == 1


def test_kinds_of_truth_stand_apart() -> None:
    results = [
        result(1, 1.0),
        result(1, 9.0, dataset="planck", system="planck"),
        result(1, 1.0, dataset="misra1", system="misra1", metrics={"fvu": 1.0, "same_law": None}),
        result(1, 1.0, dataset="kepler-binaries", system="kepler-binaries"),
    ]
    kinds = {"kepler": "reference", "planck": "exact", "misra1": "accepted"}
    table = recovery_table(results, kinds | {"kepler-binaries": "few"})
    assert "too few rows to tell: recovered" in table.splitlines()[0]
    last = "| one | 1/1 | 1/1 | 1/1 | – | 1/1 | – | 0/1 | 0/1 | 1/1 | 1/1 | 1/1 | 1/1 |"
    assert table.splitlines()[-1] == last


def test_a_share_of_tables_that_were_ended_too_early_says_so() -> None:
    budget = {"timeout_s": 60.0, "threads": 1, "work_s": 2.0}
    late: dict[str, Any] = {"status": "timeout", "metrics": {}, "notes": {}, "budget": budget}
    ended = [result(fold, 1.0, dataset="planck", system="planck", **late) for fold in (2, 3)]
    folds = [result(1, 1.0), result(1, 1.0, dataset="planck", system="planck"), *ended]
    kinds = {"kepler": "reference", "planck": "reference"}
    # One table of two is half of them, and two of three are more.
    assert "not measured" not in recovery_table(folds, kinds)
    other = [result(1, 1.0, dataset="hooke", system="hooke", **late)]
    last = recovery_table(folds + other, kinds | {"hooke": "reference"}).splitlines()[-1]
    assert last.startswith("| one | not measured (")
