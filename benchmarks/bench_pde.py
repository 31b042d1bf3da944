"""The fields of the 14 PDE systems: CPU seconds to make, load and cut each, and its floor.

Run as ``python benchmarks/bench_pde.py``, with OMP_NUM_THREADS=1 to count one thread.  Imports are
counted apart, as a run shares them.
"""

from __future__ import annotations

import resource
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Print a line for each system."""
    started = time.process_time()
    from mdbench import datatypes  # noqa: PLC0415
    from mdbench.datatypes.facts import Protocol  # noqa: PLC0415
    from mdbench.datatypes.pde import generators as fields  # noqa: F401, PLC0415

    print(f"{'imports':<30}{time.process_time() - started:8.2f}")
    print(f"{'system':<30}{'make':>8}{'load':>8}{'cut':>8}   floor")
    total = 0.0
    with tempfile.TemporaryDirectory() as name:
        kind = datatypes.find("pde", ROOT / "datasets" / "pde", Path(name))
        source = kind.source()
        for system in source.names():
            seconds = []
            for _ in ("made", "kept"):
                started = time.process_time()
                data = source.load(system, snr_db=None, seed=0, protocol=Protocol.STRICT)
                seconds.append(time.process_time() - started)
            started = time.process_time()
            kind.task(data, "table", Protocol.STRICT)
            seconds.append(time.process_time() - started)
            total += seconds[0]
            columns = "".join(f"{each:8.2f}" for each in seconds)
            print(f"{system:<30}{columns}   {data.floor:.1e}", flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{'all made':<30}{total:8.2f}   peak memory {peak:.0f} MB")


if __name__ == "__main__":
    main()
