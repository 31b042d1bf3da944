"""Cost of a cluster's engine compared with threads of one process; whether kills lose records.

    bench_clusters.py ratios [JOBS [SECONDS]]    threads, Dask and submitit's local executor
    bench_clusters.py kills [KILLS [JOBS]]       workers and orchestrators of Dask killed with -9

The ratios are of whole runs, 2 jobs at a time: 315 jobs of 0.2 s by default.
Goals: threads at most 1.08 x ideal, Dask at most 1.2 x threads, submitit at most 1.3 x threads.
They need a machine with two cores that does nothing else.

Kills hit a run of 200 jobs at random moments: Dask's own workers in turn with the command itself,
which is given again until all is done.  Goal: 50 kills, 200 records, equal to those of an
undisturbed run but for what was measured.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "tests" / "support")]

from clusters import open_here, outcome, place_with, plan_of  # noqa: E402
from harness import HereRuntime, Quiet  # noqa: E402

from mdbench.backends.local import LocalBackend  # noqa: E402
from mdbench.extensions.clusters.dask import DaskBackend  # noqa: E402
from mdbench.extensions.clusters.slurm import SlurmBackend  # noqa: E402
from mdbench.runs.execute import execute  # noqa: E402
from mdbench.workspace import Workspace  # noqa: E402

if TYPE_CHECKING:
    from mdbench.runs.execute import Backend
    from mdbench.runs.plan import Plan

SYSTEMS = 63
LONGEST_WAIT_S = 15.0
WORKERS = 0.5
"""The share of kills that hit a worker, and not the command."""


def plan(workspace: Workspace, results: Path, jobs: int) -> Plan:
    """Plan so many jobs, 2 at a time."""
    seeds = tuple(range(-(-jobs // SYSTEMS)))
    made = plan_of(workspace, datasets=(), seeds=seeds, result_dir=results, retries=100)
    return type(made)(**{**vars(made), "jobs": made.jobs[:jobs]})


def ratios(jobs: int, seconds: float) -> None:
    """Run the same jobs everywhere, and print what each takes."""
    with tempfile.TemporaryDirectory() as folder:
        place = place_with(Path(folder), Path(folder, "home"), seconds)
        everywhere: dict[str, Backend] = {
            "threads": LocalBackend(),
            "dask": DaskBackend(opens=open_here),
            "submitit": SlurmBackend(local=True, opens=open_here, poll_seconds=0.2),
        }
        execute(
            plan(place, Path(folder, "warm"), jobs), HereRuntime(), Quiet(), LocalBackend()
        )  # makes the data
        took: dict[str, float] = {}
        for name, backend in everywhere.items():
            start = time.monotonic()
            found = execute(plan(place, Path(folder, name), jobs), HereRuntime(), Quiet(), backend)
            took[name] = time.monotonic() - start
            print(f"{name:9} {len(found.records)} records, {took[name]:.1f} s", flush=True)
    ideal = jobs * seconds / 2
    print(f"threads / ideal     {took['threads'] / ideal:.3f}")
    print(f"dask / threads      {took['dask'] / took['threads']:.3f}")
    print(f"submitit / threads  {took['submitit'] / took['threads']:.3f}")


def kills(count: int, jobs: int) -> None:
    """Kill, give the command again, and compare."""
    rng = random.Random(0)
    with tempfile.TemporaryDirectory() as folder:
        place = place_with(Path(folder), Path(folder, "home"), 0.2)
        wanted = execute(
            plan(place, Path(folder, "undisturbed"), jobs), HereRuntime(), Quiet(), LocalBackend()
        )
        whole = outcome(wanted.records)
        hits, rounds, begin = 0, 0, time.monotonic()
        while hits < count:
            results = Path(folder, f"killed-{rounds}")
            rounds += 1
            while True:
                command = subprocess.Popen(
                    [sys.executable, __file__, "run", place.root, place.home, results, str(jobs)]
                )
                while hits < count:
                    try:
                        command.wait(rng.uniform(1.0, LONGEST_WAIT_S))
                        break
                    except subprocess.TimeoutExpired:
                        hits += _kill(command, rng)
                if command.wait() == 0:
                    break
            found = execute(plan(place, results, jobs), HereRuntime(), Quiet(), LocalBackend())
            assert found.ran == 0, found.ran
            assert outcome(found.records) == whole
            print(f"{hits} kills, {rounds} whole runs, all equal", flush=True)
        print(f"{time.monotonic() - begin:.0f} s")


def _kill(command: subprocess.Popen[bytes], rng: random.Random) -> bool:
    """Kill a worker of Dask, or the command with its cluster."""
    workers = [pid for pid in _below(command.pid) if b"spawn_main" in _words(pid)]
    if workers and rng.random() < WORKERS:
        with suppress(ProcessLookupError):
            os.kill(rng.choice(workers), signal.SIGKILL)
            return True
        return False
    command.kill()
    return True


def _below(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            for child in map(int, task.read_text(encoding="ascii").split()):
                found += [child, *_below(child)]
    return found


def _words(pid: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def run(words: list[str]) -> None:
    """Be the run that is killed."""
    root, home, results, jobs = words
    workspace = Workspace(Path(root), Path(home))
    asked = plan(workspace, Path(results), int(jobs))
    execute(asked, HereRuntime(), Quiet(), DaskBackend(opens=open_here))


def main(verb: str = "ratios", *words: Any) -> None:
    """Do what was asked for."""
    if verb == "run":
        run(list(words))
    elif verb == "kills":
        kills(int(words[0]) if words else 50, int(words[1]) if words[1:] else 200)
    else:
        ratios(int(words[0]) if words else 315, float(words[1]) if words[1:] else 0.2)


if __name__ == "__main__":
    main(*sys.argv[1:])
