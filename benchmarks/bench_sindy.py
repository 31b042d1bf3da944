"""CPU seconds of the whole command: SINDy's full grid on the 63 clean systems.

Environment and data are made first and not counted.  Counted are all processes, start-up
included.  MDBench's own pipeline takes 388 CPU s for the same (255 in one process).
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        _run(folder + "/first")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.monotonic()
        _run(folder + "/second")
        wall = time.monotonic() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        lines = Path(folder, "second", "sindy-ode.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    jobs = sum(record["measured"]["cpu_s"] for record in records)
    print(
        f"jobs                  {len(records)}, all ok: {all(r['status'] == 'ok' for r in records)}"
    )
    print(f"CPU, whole command    {cpu:.1f} s")
    print(f"  in the jobs         {jobs:.1f} s (fork, arrays, sweep, refit, prediction)")
    print(f"  in bench and import {cpu - jobs:.1f} s")
    print(f"wall                  {wall:.1f} s")


def _run(result_dir: str) -> None:
    command = [sys.executable, "-m", "mdbench", "run", "--algorithm", "sindy", "--data-type", "ode"]
    subprocess.run([*command, "--result-dir", result_dir], check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
