"""Data types are found by looking."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import mdbench
from mdbench import datatypes
from mdbench.datatypes.base import DataType
from mdbench.errors import UsageError

ROOT = Path(mdbench.__file__).parents[1]


def test_every_folder_with_a_data_type_is_one_of_its_name(tmp_path: Path) -> None:
    folder = Path(datatypes.__file__).parent
    expected = {path.parent.name for path in folder.rglob("data_type.py")}
    assert set(datatypes.names()) == expected >= {"ode"}
    for name in datatypes.names():
        data_type = datatypes.find(name, ROOT / "datasets" / name, tmp_path)
        assert isinstance(data_type, DataType)
        assert data_type.name == name
        assert data_type.views


def test_a_new_folder_is_found_without_being_named_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "data_type.py").write_text(
        "class Toy:\n    def __init__(self, *folders): ...\nDATA_TYPE = Toy\n"
    )
    (tmp_path / "helper").mkdir()
    (tmp_path / "helper" / "other.py").write_text("raise RuntimeError\n")
    monkeypatch.setattr(datatypes, "__path__", [*datatypes.__path__, str(tmp_path)])
    assert "toy" in datatypes.names()
    assert type(datatypes.find("toy", tmp_path, tmp_path)).__name__ == "Toy"
    monkeypatch.delitem(sys.modules, "mdbench.datatypes.toy.data_type")
    monkeypatch.delitem(sys.modules, "mdbench.datatypes.toy")


def test_names_are_listed_without_importing_any() -> None:
    script = (
        "import sys, mdbench.datatypes as kinds; kinds.names(); "
        "print('mdbench.datatypes.ode.data_type' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "False\n"


@pytest.mark.parametrize("name", ["odes", "", "base", "../ode", "ode.py", "__init__"])
def test_an_unknown_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="ode"):
        datatypes.find(name, tmp_path, tmp_path)
