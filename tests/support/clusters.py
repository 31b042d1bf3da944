"""What tests of backends share: methods that take a while, and runtimes that nodes can open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness import HereRuntime, add_method, make_workspace

from mdbench.errors import UnavailableError
from mdbench.records import comparable
from mdbench.runs.plan import Plan, make_plan
from mdbench.runs.study import RunOptions

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from mdbench.records import Record
    from mdbench.workspace import Workspace

WAITS = """
import time
import numpy as np

class Adapter:
    def __init__(self, *, seed, threads): ...
    def fit(self, problem):
        self.targets = len(problem.targets)
        time.sleep({seconds})
    def predict(self, problem):
        return np.zeros((len(problem.X), self.targets))
    def equations(self):
        return ["0"] * self.targets
"""


def open_here(name: str, *_: Any, **__: Any) -> HereRuntime:
    """Open the runtime that makes no environment, on any node."""
    assert name == HereRuntime.name
    return HereRuntime()


def no_engine(*_: Any, **__: Any) -> HereRuntime:
    """Find no engine, on any node."""
    raise UnavailableError("No Docker engine answers.", "Start it.")


def place_with(tmp_path: Path, home: Path, seconds: float = 0.0) -> Workspace:
    """Make a workspace with a method ``waits`` that takes so long."""
    workspace = make_workspace(tmp_path, home)
    add_method(workspace, "waits", WAITS.format(seconds=seconds))
    return workspace


def plan_of(workspace: Workspace, **changes: Any) -> Plan:
    """Plan jobs of it on some systems."""
    given: dict[str, Any] = {
        "datasets": ("rc-circuit", "velocity-falling-object", "autocatalysis", "gompertz*"),
        "result_dir": workspace.root / "results",
        "n_jobs": 2,
        "timeout_s": 60.0,
        **changes,
    }
    return make_plan(RunOptions(("waits",), "ode", **given), workspace)


def outcome(records: Iterable[Record]) -> dict[str, dict[str, Any]]:
    """Give what has to be equal wherever jobs are done, by key; each key may be there once."""
    found: dict[str, dict[str, Any]] = {}
    for record in records:
        assert record.key not in found
        found[record.key] = comparable(record)
    return found


def differences(
    found: dict[str, dict[str, Any]], wanted: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    """Give what differs, and nothing else: by key and name, what was found and what was wanted."""
    every = {
        (key, name): (found.get(key, {}).get(name), wanted.get(key, {}).get(name))
        for key in found.keys() | wanted.keys()
        for name in found.get(key, {}).keys() | wanted.get(key, {}).keys()
    }
    return {f"{key[:8]} {name}": two for (key, name), two in every.items() if two[0] != two[1]}
