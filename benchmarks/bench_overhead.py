"""Cost of the bench for a job: a method that returns at once, in a warm worker, one at a time.

    bench_overhead.py [venv|docker]

Prints the median and the 90th percentile of a job's wall time beyond the adapter's own, and the
wall time of the whole run for each job.  Goal: a median of at most 10 ms.
"""

from __future__ import annotations

import statistics
import sys
import time
from typing import TYPE_CHECKING

from throwaway import bench

if TYPE_CHECKING:
    from mdbench.records import Record


def main() -> None:
    """Measure and print."""
    runtime = sys.argv[1] if len(sys.argv) > 1 else "venv"
    with bench("returns-at-once", "pass", runtime) as made:
        start = time.monotonic()
        records = made.run(seeds=(1, 2, 3, 4, 5), snr=(40.0,)).records
        wall = time.monotonic() - start
        how = made.runtime.probe().how
        beyond = sorted(_overhead(record) for record in records)  # while their file is there
    print(f"runtime                     {runtime} ({how})")
    print(f"jobs                        {len(records)}")
    print(f"overhead a job, median      {1e3 * statistics.median(beyond):.1f} ms")
    print(f"overhead a job, 90th centile {1e3 * beyond[int(0.9 * len(beyond))]:.1f} ms")
    print(f"whole run / jobs            {1e3 * wall / len(records):.1f} ms")


def _overhead(record: Record) -> float:
    measured = record.measured
    return (measured.wall_s or 0.0) - (measured.fit_s or 0.0) - (measured.predict_s or 0.0)


if __name__ == "__main__":
    main()
