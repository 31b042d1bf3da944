"""What the bench costs a job: a method that returns at once, in a warm worker, one at a time.

Prints the median and the 90th percentile of a job's wall time beyond the adapter's own, and the
wall time of the whole run for each job.  Goal: a median of at most 10 ms.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from mdbench.authoring.new import make_method
from mdbench.runs.execute import execute
from mdbench.runs.plan import RunOptions, make_plan
from mdbench.runtimes.venv import VenvRuntime
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from mdbench.records import Record
    from mdbench.runs.plan import Job

ADAPTER = """
import numpy as np

class Adapter:
    def __init__(self, *, seed, threads): ...
    def fit(self, problem):
        self.targets = len(problem.targets)
    def predict(self, problem):
        return np.zeros((len(problem.X), self.targets))
    def equations(self):
        return ["0"] * self.targets
"""


class Silent:
    """An observer that shows nothing."""

    def message(self, text: str) -> None: ...
    def prepared(self, to_run: int, done: int) -> None: ...
    def job_started(self, job: Job) -> None: ...
    def job_ended(self, job: Job, record: Record) -> None: ...


def main() -> None:
    """Measure and print."""
    own = Workspace.find()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "algorithms").mkdir()
        (root / "datasets").symlink_to(own.datasets)
        place = Workspace(root, own.home)
        method = make_method("returns-at-once", place.algorithms)
        (method / "adapter.py").write_text(ADAPTER, encoding="utf-8")
        toml = (method / "method.toml").read_text(encoding="utf-8")
        toml = toml.replace('tuning = "grid"', 'tuning = "none"').partition("\n[grid]")[0]
        (method / "method.toml").write_text(toml, encoding="utf-8")
        options = RunOptions(("returns-at-once",), "ode", n_jobs=1, result_dir=root / "results")
        runtime = VenvRuntime(place.home)
        execute(make_plan(options, place), runtime, Silent())  # environment and data are made
        more = RunOptions(
            ("returns-at-once",),
            "ode",
            n_jobs=1,
            seeds=(1, 2, 3, 4, 5),
            result_dir=root / "results",
        )
        start = time.monotonic()
        records = execute(make_plan(more, place), runtime, Silent()).records
        wall = time.monotonic() - start
    beyond = sorted(_overhead(record) for record in records)
    print(f"jobs                        {len(records)}")
    print(f"overhead a job, median      {1e3 * statistics.median(beyond):.1f} ms")
    print(f"overhead a job, 90th centile {1e3 * beyond[int(0.9 * len(beyond))]:.1f} ms")
    print(f"whole run / jobs            {1e3 * wall / len(records):.1f} ms")


def _overhead(record: Record) -> float:
    measured = record.measured
    return (measured.wall_s or 0.0) - (measured.fit_s or 0.0) - (measured.predict_s or 0.0)


if __name__ == "__main__":
    main()
