"""Throw-away methods for measuring the bench itself."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mdbench.authoring import make_method
from mdbench.backends.local import LocalBackend
from mdbench.runs.execute import execute
from mdbench.runs.plan import make_plan
from mdbench.runs.study import RunOptions
from mdbench.runtimes.registry import open_runtime
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mdbench.records import Record
    from mdbench.runs.execute import Summary
    from mdbench.runs.spec import JobSpec

ADAPTER = """
import time
import numpy as np

class Adapter:
    def __init__(self, *, seed, threads):
        self.seed = seed
    def fit(self, problem):
        self.targets = len(problem.targets)
        {fit}
    def predict(self, problem):
        return np.zeros((len(problem.X), self.targets))
    def equations(self):
        return ["0"] * self.targets
"""


class Silent:
    """An observer that shows nothing."""

    def message(self, text: str) -> None: ...
    def prepared(self, to_run: int, done: int) -> None: ...
    def job_started(self, job: JobSpec) -> None: ...
    def job_ended(self, job: JobSpec, record: Record) -> None: ...


class Bench:
    """One method and one runtime; all that is made on first use is made, by jobs of seed 0."""

    def __init__(self, workspace: Workspace, name: str, runtime_name: str) -> None:
        self._place = workspace
        self._name = name
        self.runtime = open_runtime(runtime_name, workspace.home)
        self.run()

    def run(self, **changes: Any) -> Summary:
        """Run the method on the 63 clean systems, or with `changes`."""
        options = RunOptions(
            (self._name,), "ode", n_jobs=1, result_dir=self._place.root / "results"
        )
        return execute(
            make_plan(replace(options, **changes), self._place),
            self.runtime,
            Silent(),
            LocalBackend(),
        )


@contextmanager
def bench(name: str, fit: str, runtime_name: str) -> Iterator[Bench]:
    """Make a method whose fit is this statement, and a runtime; both go at the end."""
    own = Workspace.find()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "algorithms").mkdir()
        (root / "datasets").symlink_to(own.datasets)
        workspace = Workspace(root, own.home)
        method = make_method(name, workspace.algorithms)
        (method / "adapter.py").write_text(ADAPTER.format(fit=fit), encoding="utf-8")
        toml = (method / "method.toml").read_text(encoding="utf-8")
        toml = toml.replace('tuning = "grid"', 'tuning = "none"').partition("\n[grid]")[0]
        (method / "method.toml").write_text(toml, encoding="utf-8")
        made = Bench(workspace, name, runtime_name)
        try:
            yield made
        finally:
            made.runtime.close()
