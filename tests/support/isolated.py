"""A workspace with a method that does what it should not, in one of the ways of isolation."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flavours import numpy_lock, open_flavour
from harness import METHOD, ROOT, Quiet, execute

from mdbench.runs.plan import make_plan
from mdbench.runs.study import RunOptions

if TYPE_CHECKING:
    from mdbench.records import Record
    from mdbench.runs.execute import Summary
    from mdbench.workspace import Workspace

HOME = Path(os.environ.get("MDBENCH_HOME") or ROOT / ".mdbench")


class Bench:
    """A workspace with a method, and a runtime.

    Parameters
    ----------
    text
        The method's adapter.
    """

    def __init__(self, flavour: str, workspace: Workspace, text: str) -> None:
        self.flavour = flavour
        self.workspace = workspace
        self.text = text
        self.runtime = open_flavour(flavour, workspace.home)
        self.add()

    def add(self, text: str = "", more: str = "", name: str = "nasty") -> None:
        folder = self.workspace.algorithms / name
        folder.mkdir(exist_ok=True)
        toml = METHOD.format(name=name, tuning="none", more=more)
        (folder / "method.toml").write_text(toml, encoding="utf-8")
        (folder / "adapter.py").write_text(text or self.text, encoding="utf-8")
        (folder / "requirements.in").write_text("numpy\n", encoding="utf-8")
        (folder / "requirements.lock").write_text(numpy_lock(), encoding="utf-8")

    def make_front(self) -> None:
        toml = self.workspace.algorithms / "nasty" / "method.toml"
        toml.write_text(toml.read_text().replace('tuning = "none"', 'tuning = "front"'))

    def run_seeds(self, *seeds: int, timeout: float = 60.0, **changes: Any) -> Summary:
        options = RunOptions(
            algorithms=("nasty",),
            data_type="ode",
            datasets=("rc-circuit",),
            result_dir=self.workspace.root / "results",
            n_jobs=1,
            timeout_s=timeout,
            seeds=seeds,
        )
        plan = make_plan(replace(options, **changes), self.workspace)
        return execute(plan, self.runtime, Quiet())

    def log(self, record: Record) -> bytes:
        assert record.log is not None
        return (self.workspace.root / "results" / record.log).read_bytes()
