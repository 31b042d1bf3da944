"""Scores of the true surfaces, and time of data and scores.

Run as ``python benchmarks/bench_surface.py [SURFACE ...]``; OMP_NUM_THREADS=1 counts one thread.
Times of scores are of the wall, child processes included, and mean something on a quiet machine.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from mdbench.datatypes.base import Answer
from mdbench.datatypes.facts import Protocol
from mdbench.datatypes.surface.data_type import SurfaceType

ROOT = Path(__file__).resolve().parents[1]
FLAGS = ("identified", "solution", "skeleton")


def main() -> int:
    """Score the truths, and print what is worst."""
    with tempfile.TemporaryDirectory() as cache:
        kind = SurfaceType(ROOT / "datasets" / "surface", Path(cache))
        source = kind.source()
        names = sys.argv[1:] or list(source.names())
        begin = time.process_time()
        data = {
            name: source.load(name, snr_db=None, seed=0, protocol=Protocol.STRICT) for name in names
        }
        print(f"{len(data)} surfaces made in {time.process_time() - begin:.1f} s of CPU time")
        times, counts, raw, over = [], dict.fromkeys(FLAGS, 0), 0.0, 0.0
        kind.preload()
        for dataset in data.values():
            task = kind.task(dataset, "table", Protocol.STRICT)
            raw_answer = Answer(dataset.truth or ())
            begin = time.perf_counter()
            found = kind.score(task, kind.read_answer(task, raw_answer)).metrics
            times.append((time.perf_counter() - begin, dataset.name))
            for flag in FLAGS:
                counts[flag] += found[flag] == 1
            if dataset.shape.representation == "implicit":
                over = max(over, float(found["chamfer"] or 0) / (dataset.floor or 1))
            else:
                raw = max(raw, float(found["raw_chamfer"] or 0))
    print(", ".join(f"{flag} {count}" for flag, count in counts.items()))
    print(f"raw Chamfer at most {raw:.1e}; of implicit ones at most {over:.2f} of the floor")
    seconds = median(each for each, _ in times)
    longest = ", ".join(f"{name} {each:.2f} s" for each, name in sorted(times, reverse=True)[:5])
    print(f"scores of one answer: median {seconds:.2f} s, longest {longest}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
