"""What tests of backends share: methods that take a while, and runtimes that nodes can open."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from harness import HereRuntime, add_method, make_workspace

from mdbench.errors import UnavailableError
from mdbench.records import comparable
from mdbench.runs.plan import Plan, make_plan
from mdbench.runs.study import RunOptions

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mdbench.records import Record
    from mdbench.workspace import Workspace

WAITS = """
import time
from pathlib import Path
import numpy as np

class Adapter:
    def __init__(self, *, seed, threads): ...
    def fit(self, problem):
        self.targets = len(problem.targets)
        time.sleep({seconds})
        self.wait_at_gate()
    def predict(self, problem):
        return np.zeros((len(problem.X), self.targets))
    def equations(self):
        return ["0"] * self.targets
    def wait_at_gate(self):
        gate = Path({gate!r})
        if gate.exists():
            with gate.open():
                while gate.exists():
                    time.sleep(0.01)
"""


def open_here(name: str, *_: Any, **__: Any) -> HereRuntime:
    """Open the runtime that makes no environment, on any node."""
    assert name == HereRuntime.name
    return HereRuntime()


def open_here_bare(name: str, *_: Any, **__: Any) -> HereRuntime:
    """Open it without bubblewrap, so that fits see the gate."""
    assert name == HereRuntime.name
    return HereRuntime(wrapped=False)


def no_engine(*_: Any, **__: Any) -> HereRuntime:
    """Find no engine, on any node."""
    raise UnavailableError("No Docker engine answers.", "Start it.")


def place_with(tmp_path: Path, home: Path, seconds: float = 0.0) -> Workspace:
    """Make a workspace with a method ``waits`` that takes so long, and waits at a closed gate."""
    workspace = make_workspace(tmp_path, home)
    gate = str(Gate(workspace).path)
    add_method(workspace, "waits", WAITS.format(seconds=seconds, gate=gate))
    return workspace


class Gate:
    """A file at which all fits of ``waits`` stop while it exists.

    Such a fit has the file open: a sandbox lets it do no more, and this ends with its process.
    """

    def __init__(self, workspace: Workspace) -> None:
        self.path = workspace.root / "gate"

    def __enter__(self) -> Self:
        self.path.touch()
        self._inode = self.path.stat().st_ino
        return self

    def __exit__(self, *_: object) -> None:
        self.open()

    def open(self) -> None:
        """Let all fits go on."""
        self.path.unlink(missing_ok=True)

    def waiting(self) -> int:
        """Return how many fits wait."""
        return sum(map(self._is_open_in, Path("/proc").glob("[0-9]*/fd")))

    def _is_open_in(self, folder: Path) -> bool:
        with suppress(OSError):  # a process that has ended
            for file in folder.iterdir():
                with suppress(OSError):
                    if file.stat().st_ino == self._inode:
                        return True
        return False


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
    """Return what has to be equal wherever jobs are done, by key; each key may be there once."""
    found: dict[str, dict[str, Any]] = {}
    for record in records:
        assert record.key not in found
        found[record.key] = comparable(record)
    return found


def differences(
    found: dict[str, dict[str, Any]], wanted: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    """Return what differs, by key and name: what was found and what was wanted."""
    every = {
        (key, name): (found.get(key, {}).get(name), wanted.get(key, {}).get(name))
        for key in found.keys() | wanted.keys()
        for name in found.get(key, {}).keys() | wanted.get(key, {}).keys()
    }
    return {f"{key[:8]} {name}": two for (key, name), two in every.items() if two[0] != two[1]}
