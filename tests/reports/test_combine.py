from __future__ import annotations

import csv
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest
from pyarrow import parquet
from reporting import data, write

from mdbench.cli import main
from mdbench.errors import UnavailableError
from mdbench.records import Record
from mdbench.reports.combine import columns_of, flatten, write_table

if TYPE_CHECKING:
    from pathlib import Path

RECORDS = [
    data("sindy", floor=1e-4, notes={"missing": ["u0_t: u0"]}, options={"variant": "released"}),
    data("operon", snr_db=20.0, status="timeout"),
    data("zero", "rössler, the “first”\nline", seed=3, hyperparameters={"a": [1, 2.5]}),
]


def test_csv_has_all_records_failures_too(tmp_path: Path) -> None:
    folder, out = write(tmp_path / "results", RECORDS), tmp_path / "new" / "all.csv"
    assert main(["combine", str(folder), "--out", str(out)]) == 0
    with out.open(encoding="utf-8", newline="") as file:
        rows = {row["algorithm"]: row for row in csv.DictReader(file)}
    assert rows["sindy"]["metrics.nmse"] == "0.001"
    assert rows["sindy"]["floor"] == "0.0001"
    assert rows["sindy"]["metrics.ended"] == "whole"
    assert rows["sindy"]["notes"] == '{"missing": ["u0_t: u0"]}'
    assert rows["sindy"]["options.variant"] == "released"
    assert rows["operon"]["status"] == "timeout"
    assert rows["operon"]["metrics.nmse"] == ""
    assert "nmse" in rows["operon"]["judged_by"]
    assert rows["zero"]["dataset"] == RECORDS[2]["dataset"]
    assert rows["zero"]["hyperparameters"] == '{"a": [1, 2.5]}'
    assert rows["zero"]["file"] == "zero-ode.jsonl"


def test_parquet_has_types_and_nulls(tmp_path: Path) -> None:
    folder, out = write(tmp_path / "results", RECORDS), tmp_path / "all.parquet"
    assert main(["combine", str(folder), "--out", str(out)]) == 0
    rows = {row["algorithm"]: row for row in parquet.read_table(out).to_pylist()}
    assert rows["sindy"]["metrics.nmse"] == 0.001
    assert rows["sindy"]["seed"] == 0
    assert rows["operon"]["metrics.nmse"] is None
    assert rows["operon"]["snr_db"] == 20.0
    assert rows["sindy"]["snr_db"] is None


def test_values_of_several_types_share_a_column(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"a": 1, "b": "x"}, {"a": 2.5, "b": 3}, {"c": None}]
    write_table(rows, tmp_path / "t.parquet")
    table = parquet.read_table(tmp_path / "t.parquet").to_pydict()
    assert table == {"a": [1.0, 2.5, None], "b": ["x", "3", None], "c": [None, None, None]}


def test_a_text_is_no_formula_for_a_spreadsheet(tmp_path: Path) -> None:
    texts = ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\r=1", "x=1", ""]
    rows: list[dict[str, Any]] = [{"name": text, "=x": -1.5} for text in texts]
    write_table(rows, tmp_path / "t.csv")
    with (tmp_path / "t.csv").open(encoding="utf-8", newline="") as file:
        head, *lines = csv.reader(file)
    assert head == ["name", "'=x"]
    assert [line[0] for line in lines] == [*(f"'{text}" for text in texts[:6]), "x=1", ""]
    assert {line[1] for line in lines} == {"-1.5"}


def test_columns_that_belong_together_stand_together() -> None:
    rows: list[dict[str, Any]] = [{"seed": 1, "m.a": 1, "x": 2}, {"algorithm": "a", "m.b": 3}]
    assert columns_of(rows) == ["algorithm", "seed", "m.a", "m.b", "x"]
    assert "provenance" not in flatten("f", Record.model_validate(RECORDS[0]))


def test_mistakes_are_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(write(tmp_path / "results", RECORDS))
    assert main(["combine", folder, "--out", str(tmp_path / "all.xlsx")]) == 2
    assert ".csv and .parquet" in capsys.readouterr().err
    assert main(["combine", str(tmp_path / "none"), "--out", "x.csv"]) == 2
    assert "--result-dir" in capsys.readouterr().err
    assert main(["combine", folder, "--out", f"{folder}/sindy-ode.jsonl/x.csv"]) == 2
    assert "cannot be written" in capsys.readouterr().err


def test_without_pyarrow_it_is_said_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UnavailableError, match="pyarrow"):
        write_table([{"a": 1}], tmp_path / "t.parquet")
    assert not list(tmp_path.iterdir())


def test_each_cell_of_a_table_is_what_the_record_has(tmp_path: Path) -> None:
    row = flatten(
        "mean.jsonl",
        Record.model_validate(
            data("mean", "2", scores={"f1": None}, reason="=1+1", equations=["-u0", "+1"])
        ),
    )
    write_table([row], tmp_path / "t.csv")
    with (tmp_path / "t.csv").open(encoding="utf-8", newline="") as file:
        (cells,) = csv.DictReader(file)
    assert json.loads(cells["equations"]) == ["-u0", "+1"]
    assert cells["reason"] == "'=1+1"  # no formula for a spreadsheet
    assert (cells["metrics.f1"], json.loads(cells["undecided"])) == ("", ["f1"])
    assert cells["runtime"] == row["runtime"]
    numbers = {name: value for name, value in row.items() if isinstance(value, float)}
    assert numbers
    assert {name: float(cells[name]) for name in numbers} == numbers
