"""``mdbench data`` writes tables and surfaces as CSV files, which are read as own data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

import mdbench
from mdbench.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path


def _written(kind: str, name: str, folder: Path) -> None:
    words = ["data", "--data-type", kind, "--dataset", name, "--out", str(folder)]
    assert main(words) == 0


def test_a_table_is_written_whole_and_read_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _written("real", "kepler", tmp_path)
    assert "1 file in" in capsys.readouterr().out  # not one a fold
    path = tmp_path / "kepler.csv"
    fold = mdbench.dataset("kepler", "real")["table"]
    rows = len(fold.refit["X"]) + len(fold.test["X"])
    own = mdbench.dataset("kepler", "real", dataset_path=path)["table"]
    assert len(own.refit["X"]) + len(own.test["X"]) == rows == len(pd.read_csv(path))
    assert own.variables == fold.variables
    assert own.targets == fold.targets


@pytest.mark.parametrize("name", ["EBS4", "PMOS17", "HDIS1"])
def test_a_surface_is_written_in_two_parts(name: str, tmp_path: Path) -> None:
    _written("surface", name, tmp_path)
    view = next(iter(mdbench.dataset(name, "surface").views))
    data = mdbench.dataset(name, "surface")[view]
    for part, split in (("train", data.refit), ("test", data.test)):
        table = pd.read_csv(tmp_path / name / f"{part}.csv")
        assert tuple(table.columns) == (*data.variables, *data.targets)
        assert np.array_equal(table[list(data.variables)].to_numpy(), split["X"])
