from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from harness import ROOT

from mdbench import datatypes
from mdbench.datatypes.facts import Protocol
from mdbench.runs import catalog
from mdbench.runs.catalog import SizedCache

if TYPE_CHECKING:
    from pathlib import Path

    from mdbench.datatypes.base import Dataset


@dataclass(frozen=True)
class Data:
    name: str
    arrays: Any


@pytest.mark.parametrize(
    ("arrays", "calls"),
    [
        ({"u": np.zeros(100)}, 1),
        ([np.zeros(100), (1, None, 2.0)], 1),
        (np.zeros(2**18), 2),
        (Data("inner", np.zeros(2**18)), 2),
        (object(), 2),
    ],
)
def test_what_is_small_is_loaded_once(arrays: Any, calls: int) -> None:
    loaded: list[Data] = []

    def load() -> Any:
        loaded.append(Data("outer", arrays))
        return loaded[-1]

    remembers = SizedCache[Any]()
    assert remembers.get("a", load).name == remembers.get("a", load).name == "outer"
    assert len(loaded) == calls


def test_the_size_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "_ALL_TOGETHER", 2500)
    remembers = SizedCache[Any]()
    loaded: list[str] = []

    def load(name: str) -> Any:
        loaded.append(name)
        return Data(name, np.zeros(125))  # 1000 bytes

    for name in "abcabc":
        assert remembers.get(name, partial(load, name)).name == name
    assert "".join(loaded) == "abcc"


@pytest.mark.parametrize("name", ["rc-circuit", "lorenz-equations-chaotic"])
def test_a_trajectory_is_remembered(tmp_path: Path, name: str) -> None:
    source = datatypes.find("ode", ROOT / "datasets" / "ode", tmp_path).source()
    remembers = SizedCache[Any]()

    def load() -> Dataset:
        loaded: Dataset = source.load(name, snr_db=None, seed=0, protocol=Protocol.STRICT)
        return loaded

    assert remembers.get(name, load) is remembers.get(name, load)
