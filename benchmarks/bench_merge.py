"""Time to collect the records that the tasks of a cluster have left.

Usage:

    .venv-dev/bin/python benchmarks/bench_merge.py [PIECES [RECORDS]]

PIECES pieces of RECORDS records each, copies of one real record with keys of their own; the default
is 100 x 1,000.  Goal: at most 10 s.
"""

from __future__ import annotations

import hashlib
import json
import resource
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "tests" / "support")]

from harness import HereRuntime, Quiet, add_method, make_workspace  # noqa: E402

from mdbench.backends.local import LocalBackend  # noqa: E402
from mdbench.extensions.clusters.node import NodeRequest  # noqa: E402
from mdbench.extensions.clusters.shards import ShardFiles, merge  # noqa: E402
from mdbench.records import RecordStore  # noqa: E402
from mdbench.runs.execute import execute  # noqa: E402
from mdbench.runs.plan import make_plan  # noqa: E402
from mdbench.runs.study import RunOptions  # noqa: E402


def main(pieces: int = 100, records: int = 1000) -> None:
    """Make the pieces, then merge them."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = make_workspace(Path(folder))
        add_method(workspace, "zero")
        results = Path(folder, "results")
        few = RunOptions(("zero",), "ode", ("rc-circuit",), result_dir=Path(folder, "one"))
        plan = make_plan(few, workspace)
        (record,) = execute(plan, HereRuntime(), Quiet(), LocalBackend()).records
        template = json.loads(record.to_line())
        shards = []
        for piece in range(pieces):
            keys = (hashlib.sha256(b"%d %d" % (piece, n)).hexdigest() for n in range(records))
            shards.append([(replace(plan.jobs[0], seed=n), key) for n, key in enumerate(keys)])
        order = NodeRequest.of(plan, HereRuntime(), name="merge")
        files = ShardFiles.make(results, order, shards)
        for piece, shard in enumerate(shards):
            files.records(piece).mkdir()
            with (files.records(piece) / "zero-ode.jsonl").open("w", encoding="utf-8") as file:
                file.writelines(
                    json.dumps({**template, "key": key}, separators=(",", ":")) + "\n"
                    for _, key in shard
                )
        start, cpu = time.perf_counter(), time.process_time()
        found = merge(files, results)
        wall, cpu = time.perf_counter() - start, time.process_time() - cpu
        count = sum(map(len, found.lines.values()))
        size = (results / "zero-ode.jsonl").stat().st_size / 1e6
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{pieces} pieces, {count} records, {size:.0f} MB: ", end="")
        print(f"{wall:.1f} s, CPU {cpu:.1f} s, {peak:.0f} MB at most")
        start = time.perf_counter()
        read = {record.key for record in RecordStore(results / "zero-ode.jsonl").read()}
        print(f"read again: {len(read)} keys, {time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
