from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from mdbench.runs import recall
from mdbench.runs.recall import Recall


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

    remembers = Recall()
    assert remembers.get("a", load).name == remembers.get("a", load).name == "outer"
    assert len(loaded) == calls


def test_there_is_room_for_so_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recall, "_ROOM", 2500)
    remembers = Recall()
    loaded: list[str] = []

    def load(name: str) -> Any:
        loaded.append(name)
        return Data(name, np.zeros(125))  # 1000 bytes

    for name in "abcabc":
        assert remembers.get(name, lambda name=name: load(name)).name == name
    assert "".join(loaded) == "abcc"
