"""Cost of isolation for a run, and time until a job that ignores everything is gone.

    bench_isolation.py [venv] [docker]

First 315 jobs of 0.2 s, two at a time: the wall time of the run, start of the workers included, as
a ratio to the ideal 31.5 s.  Goal: 1.04 for venv, 1.10 for docker.  The data have noise: without it
a method that draws nothing would be run for one seed alone.  The jobs sleep, so that other work on
the machine disturbs them less.  Then 100 jobs that loop where
no signal reaches them, with a limit of 0.2 s: from the limit to the end of the job.  Goal: within
2 s, each of them.
"""

from __future__ import annotations

import sys
import time

from throwaway import bench

from mdbench.records import Status

JOBS, SECONDS, AT_A_TIME = 315, 0.2, 2
KILLS, LIMIT, GOAL = 100, 0.2, 2.0


def main() -> None:
    """Measure and print."""
    for runtime in sys.argv[1:] or ["venv", "docker"]:
        with bench("sleeps", f"time.sleep({SECONDS})", runtime) as made:
            print(f"{runtime} ({made.runtime.probe().how})")
            start = time.monotonic()
            records = made.run(seeds=(1, 2, 3, 4, 5), snr=(40.0,), n_jobs=AT_A_TIME).records
            wall = time.monotonic() - start
            assert [r.status for r in records] == [Status.OK] * JOBS
        ideal = JOBS * SECONDS / AT_A_TIME
        print(
            f"  {JOBS} jobs of {SECONDS} s, {AT_A_TIME} at a time: {wall:.1f} s, "
            f"{wall / ideal:.3f} x ideal"
        )
        with bench("loops", "self.seed and sum(range(10**15))", runtime) as made:
            seeds = tuple(range(1, KILLS + 1))
            killed = made.run(
                seeds=seeds, snr=(40.0,), datasets=("rc-circuit",), timeout_s=LIMIT
            ).records
            assert [r.status for r in killed] == [Status.TIMEOUT] * KILLS
            late = sorted((record.measured.wall_s or 0.0) - LIMIT for record in killed)
        print(
            f"  {sum(each <= GOAL for each in late)} of {KILLS} kills within 2 s of the limit, "
            f"median {late[KILLS // 2]:.2f} s, longest {late[-1]:.2f} s"
        )


if __name__ == "__main__":
    main()
