"""Growth of a run's memory with its jobs: a method that returns at once, in one slot.

    bench_memory.py [SEEDS]

63 systems x SEEDS jobs (10).  Prints the growth in kB a job between a third of them and the end.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "tests" / "support")]

from clusters import place_with, plan_of  # noqa: E402
from harness import HereRuntime, Quiet  # noqa: E402

from mdbench.backends.local import LocalBackend  # noqa: E402
from mdbench.runs.execute import execute  # noqa: E402

if TYPE_CHECKING:
    from mdbench.records import Record
    from mdbench.runs.spec import JobSpec


class Weighs(Quiet):
    """Notes the memory of this process after each job, and keeps nothing else."""

    def __init__(self) -> None:
        super().__init__()
        self.kb: list[float] = []

    def job_started(self, job: JobSpec) -> None: ...

    def job_ended(self, job: JobSpec, record: Record) -> None:  # noqa: ARG002 - of the interface
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        self.kb.append(4.0 * pages)


def main(seeds: int = 10) -> None:
    """Run, and print."""
    with tempfile.TemporaryDirectory() as folder:
        place = place_with(Path(folder), Path(folder, "home"))
        weighs = Weighs()
        plan = plan_of(place, datasets=(), seeds=tuple(range(seeds)), n_jobs=1)
        execute(plan, HereRuntime(), weighs, LocalBackend())
    first = len(weighs.kb) // 3
    grown = (weighs.kb[-1] - weighs.kb[first]) / (len(weighs.kb) - first)
    print(f"{len(weighs.kb)} jobs, {weighs.kb[-1] / 1024:.0f} MB, {grown:.2f} kB a job")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
