"""The long table of edition 2: its tests between methods against SciPy, its cells by hand."""

from __future__ import annotations

import csv
import hashlib
import itertools
import json
from typing import TYPE_CHECKING, Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from long_files import COLUMNS, files_table, schema
from long_table import (
    PARTS,
    LongTable,
    budgets_table,
    effort_of_parts,
    groups,
    home_table,
    long_finding,
    long_table,
    mcnemar,
    rows_of,
)
from reporting import EXAMPLE
from scipy.stats import binomtest

from mdbench.records import Record
from mdbench.reports.coverage import Job
from mdbench.reports.entries import Case

if TYPE_CHECKING:
    from pathlib import Path

LAWS = next(part for part in PARTS if part.data_type == "srsd")


def jobs(values: str) -> dict[Job, float]:
    return {
        Job(Case(f"law-{number}", None, "strict"), "0"): float(value)
        for number, value in enumerate(values)
    }


def test_mcnemars_test_is_the_binomial_test_of_the_jobs_that_one_alone_identifies() -> None:
    for first, second, both in itertools.product(range(9), range(9), (0, 3)):
        ours = jobs("1" * first + "0" * second + "1" * both)
        theirs = jobs("0" * first + "1" * second + "1" * both)
        right = binomtest(first, first + second).pvalue if first + second else 1.0
        assert mcnemar(ours, theirs) == pytest.approx(right)
        assert mcnemar(theirs, ours) == mcnemar(ours, theirs)


def test_methods_stand_in_groups_that_the_cases_tell_apart() -> None:
    several = {
        "best": jobs("1" * 20),
        "good": jobs("1" * 17 + "000"),
        "low": jobs("1" * 4 + "0" * 16),
        "lower": jobs("1" * 3 + "0" * 17),
        "none": jobs("0" * 20),
    }
    # best and good differ in three jobs (p = 0.25); low lacks 16 of those of best.
    assert groups(several) == [["best", "good"], ["low", "lower", "none"]]
    assert groups({}) == []
    assert groups({"alone": jobs("10")}) == [["alone"]]


def test_small_steps_do_not_put_the_first_and_the_last_into_one_group() -> None:
    steps = {f"m{k:02}": jobs("1" * (24 - 2 * k) + "0" * (2 * k)) for k in range(13)}
    several = groups(steps)
    assert [name for one in several for name in one] == list(steps)
    assert len(several) > 1
    for one in several:
        assert mcnemar(steps[one[0]], steps[one[-1]]) >= 0.05 / len(steps)


def record(method: str, law: int, *, right: bool = False, **changes: Any) -> Record:
    data = {
        **EXAMPLE,
        "key": f"{law:032x}{method.encode().hex():>032}"[:64],
        "algorithm": method,
        "data_type": "srsd",
        "dataset": f"law-{law}",
        "system": f"law-{law}",
        "seed": 0,
        "protocol": "strict",
        "status": "ok",
        "snr_db": None,
        "metrics": {"identified": float(right)},
        "budget": {"timeout_s": 1e4, "threads": 1, "work_s": LAWS.work_s},
        "measured": {**EXAMPLE["measured"], "work_s": 60.0, "smaller_budgets": []},
    }
    return Record.model_validate({**data, **changes})


def smaller(after_2: bool, after_10: bool) -> dict[str, Any]:
    budgets = [
        {"work_s": work, "equations": ["x"], "metrics": {"identified": float(value)}}
        for work, value in ((2.0, after_2), (10.0, after_10))
    ]
    return {"measured": {**EXAMPLE["measured"], "work_s": 60.0, "smaller_budgets": budgets}}


def made() -> LongTable:
    laws = range(20)
    records = [record("operon", law, right=True, **smaller(law < 5, law < 15)) for law in laws]
    records += [record("gplearn", law, right=law < 4, **smaller(False, law < 2)) for law in laws]
    records += [record("screening", law, right=True, **smaller(True, True)) for law in laws]
    late: dict[str, Any] = {"status": "timeout", "metrics": {}, "equations": None}
    records += [record("physo", law, right=False, **late) for law in laws]
    records += [record("zero", law) for law in laws]
    other_budget = {"timeout_s": 1e4, "threads": 1, "work_s": 2.0}
    records += [record("operon", law, budget=other_budget) for law in range(20, 30)]
    records += [record("operon", law, seed=1) for law in range(30, 40)]
    return LongTable(records)


def test_what_a_maker_knew_is_no_part_of_the_order_and_what_is_not_measured_neither() -> None:
    table = made()
    [one] = table.compared
    assert one.jobs == 20
    assert one.group == {"operon": 1, "gplearn": 2}
    lines = {line.split("|")[1].strip(): line for line in long_table(table).splitlines()}
    assert "**100% [84% … 100%]** 1" in lines["operon"]
    assert "20% [8% … 42%] 2" in lines["gplearn"]
    assert "(100% [84% … 100%])" in lines["screening ‡"]
    assert "not measured" in lines["physo"]
    assert "zero" not in lines
    assert "SRSD" in home_table(table)
    assert long_finding(table).startswith("**Of 20 laws of SRSD and SRBench operon identifies 100%")


def test_one_run_gives_the_shares_after_less_work() -> None:
    table = made()
    [one] = table.compared
    assert one.after(2.0) == {"operon": 0.25, "gplearn": 0.0, "screening": 1.0, "physo": 0.0}
    assert one.after(10.0) == {"operon": 0.75, "gplearn": 0.1, "screening": 1.0, "physo": 0.0}
    line = budgets_table(table).splitlines()[-1]
    assert [cell.strip() for cell in line.split("|")[1:-1]][:2] == ["laws", "31.2%"]
    rows = [row for row in rows_of(table) if row["method"] == "operon"]
    assert [(row["work_s"], row["identified"]) for row in rows] == [(2, 5), (10, 15), (60, 20)]
    effort = effort_of_parts(table).splitlines()
    assert next(line for line in effort if "physo" in line).split("|")[2:6] == [
        " 20 ", " 0.3 ", " 20 ", " 20 "
    ]  # fmt: skip


def test_the_files_of_the_table_have_the_same_lines_by_their_schema(tmp_path: Path) -> None:
    records = tmp_path / "records"
    records.mkdir()
    (records / "x.jsonl.xz").write_bytes(b"packed")
    page = files_table(made(), tmp_path, "x", records)
    whole = json.loads((tmp_path / "x-table.json").read_text("utf-8"))
    of_file = json.loads((tmp_path / "x-table.schema.json").read_text("utf-8"))
    assert of_file == schema()
    jsonschema.validate(whole, of_file)
    assert len(whole["rows"]) == 12  # four methods, three budgets
    with (tmp_path / "x-table.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    assert [list(line.values()) for line in lines] == [
        ["" if row[name] is None else str(row[name]) for name in COLUMNS] for row in whole["rows"]
    ]
    for path in (*tmp_path.glob("x-*"), records / "x.jsonl.xz"):
        (line,) = (line for line in page.splitlines() if f"[{path.name}]" in line)
        assert hashlib.sha256(path.read_bytes()).hexdigest() in line
    for row in whole["rows"]:
        for name in COLUMNS:
            wrong = {**whole, "rows": [{**row, name: "?" if name in _NUMBERS else 1}]}
            with pytest.raises(jsonschema.ValidationError):
                jsonschema.validate(wrong, of_file)


_NUMBERS = {name for name, (kind, _) in COLUMNS.items() if kind.startswith(("number", "int", "bo"))}
