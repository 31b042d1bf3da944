"""A million jobs on a thousand nodes, on paper: what scheduler, file system and merge see.

    simulate_cluster.py [JOBS [NODES]]

A discrete-event simulation of one run by each backend, with costs that were measured (ours) or that
the engines' makers state (theirs); each is below with its source.  It prints what each part is
asked to do, and when it would have to do more than it can.  No job is run.
"""

from __future__ import annotations

import heapq
import math
import random
import sys
from dataclasses import dataclass

SECONDS_A_JOB = 30.0
"""The mean of a job, drawn from a log-normal law: most are short, some reach their limit."""
SIGMA = 1.5
LIMIT_S = 600.0
RECORD_BYTES = 3_400
"""Of a line: 169 MB for 50,400 records (bench_plans.py)."""

# Measured here, on 2 cores that others kept busy.
MERGE_S = 3.8 / 100_000
"""Of a record in `mdbench.extensions.clusters.shards.merge` (bench_merge.py)."""
LEAVE_S = 2.4e-3
"""Of a record that the command takes down as it comes: read, checked, written, synced; 0.3 ms of it
are CPU, the rest is the disk."""
NODE_START_S = 8.0
"""From the start of a process on a node to its first job: imports, calibration, a worker."""
KEY_S = 45e-6
READY_BYTES = 5_000
"""Of a job and its key in the memory of the command: 267 MB for 50,400 (bench_plans.py)."""
DASK_TASK_S = 2.2e-3
"""CPU of scheduler and client together for a task that does nothing and gives 3 kB (Dask 2026.8,
3,000 tasks)."""

# Stated by others.
DASK_CONNECTIONS = 1024
"""Open files that a process may have by default; a scheduler needs one for each worker
(distributed.dask.org, FAQ, "Too many open file descriptors")."""
SLURM_MAX_ARRAY = 1_001
SLURM_MAX_JOBS = 10_000
"""MaxArraySize and MaxJobCount where nobody sets them, as ``scontrol show config`` of SLURM 22.05.8
says; each task of an array counts."""

# Guesses, on the safe side.
SLURM_STARTS_S = 100.0
"""Tasks that a controller starts in a second."""
SYNCS_S = 2_000.0
"""Files that a shared file system syncs in a second."""
NEAR = 0.5
"""The share of a limit from which on it is near."""
TASK_S = 3_600.0


@dataclass
class Seen:
    """Load on a part of the machinery, and its capacity."""

    what: str
    asked: float
    can: float
    unit: str

    def line(self) -> str:
        """Print it, and whether it breaks."""
        share = self.asked / self.can
        verdict = "breaks" if share > 1 else "near its limit" if share > NEAR else "holds"
        asked, can = (f"{value:,.3g}" for value in (self.asked, self.can))
        return f"  {self.what:58} {asked:>9} of {can:>9} {self.unit:12} {verdict}"


def durations(jobs: int) -> list[float]:
    """Draw the jobs' seconds."""
    rng = random.Random(0)
    mu = math.log(SECONDS_A_JOB) - SIGMA**2 / 2
    return [min(LIMIT_S, rng.lognormvariate(mu, SIGMA)) for _ in range(jobs)]


def simulate(seconds: list[float], places: int, dispatch_s: float, take_s: float) -> list[float]:
    """Hand jobs to places through one dispatcher; return the times of their ends, and the makespan.

    Parameters
    ----------
    dispatch_s
        Seconds that the dispatcher takes for a job; it does one at a time.
    take_s
        Seconds that it takes for the record of a job that has ended.
    """
    free = [(NODE_START_S, place) for place in range(places)]
    heapq.heapify(free)
    dispatcher = 0.0
    ends = []
    for each in seconds:
        at, place = heapq.heappop(free)
        dispatcher = max(dispatcher, at) + dispatch_s + take_s
        end = dispatcher + each
        ends.append(end)
        heapq.heappush(free, (end, place))
    return ends


def busiest(ends: list[float], window: float = 1.0) -> float:
    """Return the most ends in a window, a second."""
    ordered = sorted(ends)
    most, first = 0, 0
    for last, end in enumerate(ordered):
        while end - ordered[first] > window:
            first += 1
        most = max(most, last - first + 1)
    return most / window


def main(jobs: int = 1_000_000, nodes: int = 1_000) -> None:
    """Simulate, and print."""
    seconds = durations(jobs)
    ideal = sum(seconds) / nodes
    mean, size = sum(seconds) / jobs, jobs * RECORD_BYTES / 1e9
    print(f"{jobs:,} jobs of {mean:.1f} s in the mean on {nodes:,} nodes, one at a time on each")
    print(f"ideal {ideal / 3600:.2f} h; records {size:.1f} GB; ", end="")
    print(f"the command's memory {jobs * READY_BYTES / 1e9:.1f} GB, keys {jobs * KEY_S:.0f} s")
    for name in ("dask",):
        ends = simulate(seconds, nodes, DASK_TASK_S, LEAVE_S)
        rate = jobs / max(ends)
        print(f"{name}: {max(ends) / 3600:.2f} h, {max(ends) / ideal:.3f} x ideal")
        for seen in (
            Seen("tasks a second at the scheduler", rate, 1 / DASK_TASK_S, "/s"),
            Seen("records a second at the command", rate, 1 / LEAVE_S, "/s"),
            Seen("workers, a connection each", nodes, DASK_CONNECTIONS, "open files"),
        ):
            print(seen.line())
    pieces = min(SLURM_MAX_ARRAY - 1, max(nodes, math.ceil(sum(seconds) / (TASK_S / 2))))
    rounds = math.ceil(sum(seconds) / pieces / (TASK_S * 0.9))
    ends = simulate(seconds, nodes, 0.0, 0.0)
    wall = max(ends) + rounds * (nodes / SLURM_STARTS_S + NODE_START_S)
    print(f"slurm: {pieces} tasks a round, {rounds} rounds, {wall / 3600:.2f} h, ", end="")
    print(f"{wall / ideal:.3f} x ideal")
    for seen in (
        Seen("tasks of an array (MaxArraySize)", pieces, SLURM_MAX_ARRAY, "tasks"),
        Seen("tasks that SLURM knows (MaxJobCount)", pieces, SLURM_MAX_JOBS, "tasks"),
        Seen("tasks to start in a round", nodes / SLURM_STARTS_S, 60.0, "s"),
        Seen("records synced a second, at the busiest", busiest(ends), SYNCS_S, "/s"),
        Seen("files written at a time", pieces, 100_000, "files"),
        Seen("seconds to bring all home at once", jobs * MERGE_S, 3600.0, "s"),
        Seen("the command's taking down, all the time", jobs * LEAVE_S / wall, 1.0, "of its time"),
    ):
        print(seen.line())
    print("the largest run that each holds with jobs of this length, one command:")
    print(f"  dask   {DASK_CONNECTIONS:,} nodes without more open files; with them ", end="")
    print(f"{mean / DASK_TASK_S:,.0f} by the scheduler, {mean / LEAVE_S:,.0f} by the command")
    print(f"  slurm  {SLURM_MAX_ARRAY - 1:,} tasks at a time by MaxArraySize; ", end="")
    print(f"{mean * SYNCS_S:,.0f} by the file system, {mean / LEAVE_S:,.0f} by the command")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
