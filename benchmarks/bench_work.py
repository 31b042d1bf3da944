"""Whether a budget in work is the same on a quiet machine and on a busy one.

    bench_work.py budgets [WORK] [METHODS]
    bench_work.py speeds [METHODS]

``budgets`` runs each method on some clean ODE systems under ``--work WORK`` (default 5), once as
the machine is and once with two busy loops beside it, one right after the other.  It prints how far
the expressions evaluated differ, on how many jobs the answers are the same (the same expressions,
with two digits of their constants), and how far the limit was passed.  Goals: 5 %, 90 %, and 2 % or
0.2 s.

``speeds`` runs methods that do a fixed amount of work, under several loads, and prints by how much
their CPU seconds differ and by how much their reference seconds do: what the calibration predicts.

METHODS are names with commas between.  The load of the machine is printed: on one that is shared,
"as it is" is not quiet.
"""

from __future__ import annotations

import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mdbench.records import ANSWERED
from mdbench.runs.catalog import Catalog
from mdbench.runs.job import run_job
from mdbench.runs.spec import JobSpec, backstop_s
from mdbench.runtimes.registry import open_runtime
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mdbench.records import Record
    from mdbench.runtimes.base import Runtime

METHODS = "operon,afp,gplearn,bingo,dsr,eql,pysindy,screening"
SYSTEMS = (
    "rc-circuit",
    "language-death-model",
    "van-der-pol-oscillator",
    "brusselator",
    "lorenz-equations-chaotic",
)
ENDING = "import os; parent = os.getppid()\nwhile os.getppid() == parent:\n "
LOOP = f"{ENDING} for _ in range(1000000): pass"
COPIES = f"import numpy as np; a = np.zeros(2**24); b = a.copy(); {ENDING} a[:] = b; b[:] = a"
LOADS = {"as it is": (), "two busy loops": (LOOP, LOOP), "two that copy memory": (COPIES, COPIES)}
GOAL = 0.05
NUMBER = re.compile(r"(?<![A-Za-z_0-9.])\d+\.?\d*(?:[eE][+-]?\d+)?")
FIXED = {
    "operon": {"max_evaluations": "400000"},
    "afp": {"generations": "100"},
    "gplearn": {"trial": "[1]", "generations": "[10, 20]"},
    "bingo": {"generations": "10"},
    "dsr": {"samples": "15000"},
    "eql": {"steps": "400", "starts": "1", "pruned": "1"},
    "pysindy": {"orders": "[1, 2]"},
    "screening": {"rows": "300", "terms": "3"},
}
"""Hyperparameters with which methods end by themselves after some seconds."""


@contextmanager
def load(*programs: str) -> Iterator[None]:
    """Run programs beside what is done meanwhile."""
    running = [subprocess.Popen([sys.executable, "-c", program]) for program in programs]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


class Jobs:
    """Jobs of seed 0 on clean data, one at a time, each in a worker of its own."""

    def __init__(self, workspace: Workspace, runtime: Runtime) -> None:
        self.workspace = workspace
        self._runtime = runtime
        self._logs = Path(tempfile.mkdtemp())

    def run(self, method: str, system: str, work_s: float) -> Record:
        """Run one."""
        threads = Catalog(self.workspace).method(method).spec.threads
        job = JobSpec(
            algorithm=method,
            data_type="ode",
            dataset=system,
            snr_db=None,
            seed=0,
            timeout_s=backstop_s(work_s),
            work_s=work_s,
            threads=threads,
        )
        return run_job(job, self._runtime, workspace=self.workspace, result_dir=self._logs)

    def close(self) -> None:
        """Remove the logs."""
        shutil.rmtree(self._logs)


def count(record: Record) -> int | None:
    """Return the expressions evaluated, or the candidates that came where nobody counts them."""
    if record.measured.evaluations is not None:
        return record.measured.evaluations
    return None if record.selection is None else record.selection.candidates


def form(record: Record) -> list[str] | None:
    """Return the equations of an answer with two digits of each constant; None for no answer."""
    if record.equations is None:
        return None
    return [NUMBER.sub(lambda found: f"{float(found[0]):.1e}", each) for each in record.equations]


def budgets(jobs: Jobs, methods: list[str], work_s: float) -> None:
    """Compare jobs with a work limit under two loads."""
    print(f"--work {work_s:g}; load {os.getloadavg()[0]:.2f}, {os.cpu_count()} cores")
    print(
        "| method | jobs | evaluations, busy / as it is: median, farthest "
        "| same answers, to the letter "
        "| beyond the limit, at most | speed, as it is | busy | wall, as it is | busy |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    same, letters, farthest = [], [], []
    for method in methods:
        pairs = []
        for system in SYSTEMS:
            plain = jobs.run(method, system, work_s)
            with load(*LOADS["two busy loops"]):
                pairs.append((plain, jobs.run(method, system, work_s)))
        counts = [(count(a), count(b)) for a, b in pairs]
        ratios = [b / a for a, b in counts if a and b]
        alike = [form(a) == form(b) for a, b in pairs]
        texts = [a.equations == b.equations for a, b in pairs]
        same += alike
        letters += texts
        farthest += [abs(each - 1) for each in ratios]
        beyond = max((each.measured.work_s or 0.0) - work_s for pair in pairs for each in pair)
        columns = [
            [each.measured.speed or np.nan for each in side] for side in zip(*pairs, strict=True)
        ] + [[each.measured.wall_s or np.nan for each in side] for side in zip(*pairs, strict=True)]
        print(
            f"| {method} | {len(pairs)} | "
            + (
                f"{statistics.median(ratios):.3f}, {max(ratios, key=lambda r: abs(r - 1)):.3f}"
                if ratios
                else "-"
            )
            + f" | {sum(alike)}, {sum(texts)} | {beyond:+.3f} s | "
            + " | ".join(f"{statistics.median(each):.2f}" for each in columns)
            + " |",
            flush=True,
        )
        for system, (a, b), (m, n), equal in zip(SYSTEMS, pairs, counts, alike, strict=True):
            print(f"    {system}: {a.status} {m}, {b.status} {n}{'' if equal else ', differs'}")
            if not equal and {a.status, b.status} <= ANSWERED:
                print(f"        {a.equations}\n        {b.equations}", flush=True)
    print(
        f"all: {sum(same)} of {len(same)} answers are the same, {sum(letters)} to the letter; "
        f"evaluations within 5 % in {sum(each <= GOAL for each in farthest)} of {len(farthest)}; "
        f"load {os.getloadavg()[0]:.2f}"
    )


def speeds(jobs: Jobs, methods: list[str]) -> None:
    """Compare the CPU seconds and the work of fixed jobs under several loads."""
    print(f"load {os.getloadavg()[0]:.2f}, {os.cpu_count()} cores; two rounds of each load")
    print(
        "| method | "
        + " | ".join(f"{name}: CPU s, work" for name in LOADS)
        + " | spread of CPU | of work |"
    )
    print("|---" * (len(LOADS) + 3) + "|")
    for method in methods:
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in LOADS}
        for _ in range(2):
            for name, programs in LOADS.items():
                with load(*programs):
                    measured = jobs.run(method, "van-der-pol-oscillator", 1000.0).measured
                found[name].append((measured.cpu_s or np.nan, measured.work_s or np.nan))
        every = np.array(list(found.values()))
        spread = every.std(axis=(0, 1)) / every.mean(axis=(0, 1))
        medians = np.median(every, axis=1)
        print(
            f"| {method} | "
            + " | ".join(f"{cpu:.2f}, {work:.2f}" for cpu, work in medians)
            + f" | {100 * spread[0]:.1f} % | {100 * spread[1]:.1f} % |",
            flush=True,
        )
    print(f"load {os.getloadavg()[0]:.2f}")


def with_fixed_work(own: Workspace, root: Path) -> Workspace:
    """Return a workspace whose methods end by themselves, as `FIXED` has it."""
    shutil.copytree(
        own.algorithms, root / "algorithms", ignore=shutil.ignore_patterns(".venv", "__pycache__")
    )
    (root / "datasets").symlink_to(own.datasets)
    for method, values in FIXED.items():
        file = root / "algorithms" / method / "method.toml"
        text = file.read_text(encoding="utf-8")
        for name, value in values.items():
            text, changed = re.subn(rf"(?m)^{name} = .*$", f"{name} = {value}", text, count=1)
            if not changed:
                sys.exit(f"{file.name} of {method} has no {name}")
        file.write_text(text, encoding="utf-8")
    return Workspace(root, own.home)


def main() -> None:
    """Measure and print."""
    mode, *rest = sys.argv[1:] or ["budgets"]
    own = Workspace.find()
    runtime = open_runtime("venv", own.home)
    with tempfile.TemporaryDirectory() as folder:
        fixed = mode == "speeds"
        jobs = Jobs(with_fixed_work(own, Path(folder)) if fixed else own, runtime)
        try:
            if fixed:
                speeds(jobs, (rest or [METHODS])[0].split(","))
            else:
                work_s, methods = [*rest, *("5", METHODS)[len(rest) :]]
                budgets(jobs, methods.split(","), float(work_s))
        finally:
            jobs.close()
            runtime.close()


if __name__ == "__main__":
    main()
