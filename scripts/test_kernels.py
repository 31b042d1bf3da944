"""Runs tests under other processors' kernels of OpenBLAS, at once; see scripts/test-kernels."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from mdbench.worker.serve import kernel_and_threads

KERNELS = {"Haswell": ("avx2", "Haswell"), "Prescott": ("pni", "Katmai")}
"""Features that a processor needs for each, and OpenBLAS's name for it then.  There is none with
AVX-512, since mdbench takes Haswell's there (`mdbench.startup`)."""


def main(arguments: list[str]) -> int:
    """Run the tests under each kernel, and return the exit status."""
    flags = Path("/proc/cpuinfo").read_text(encoding="utf-8").split()
    own, _ = kernel_and_threads()
    wanted = []
    for kernel, (needs, name) in KERNELS.items():
        if name == own:
            print(f"{kernel}: scripts/test has used it")
        elif needs not in flags:
            print(f"{kernel}: not tested, since this processor has no {needs}")
        else:
            wanted.append(kernel)
    workers = max(1, (os.cpu_count() or 1) // max(1, len(wanted)))
    running = {kernel: _start(kernel, workers, arguments) for kernel in wanted}
    status = 0
    for kernel, process in running.items():
        output, _ = process.communicate()
        print(f"{kernel}:\n{output}", flush=True)
        status = status or process.returncode
    return status


def _start(kernel: str, workers: int, arguments: list[str]) -> subprocess.Popen[str]:
    threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    shared = ["-n", str(workers), "--dist", "worksteal"] if workers > 1 else []
    return subprocess.Popen(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *shared, *arguments],
        env=os.environ | threads | {"OPENBLAS_CORETYPE": kernel},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
