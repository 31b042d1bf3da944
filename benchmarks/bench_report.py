"""Time and size of the page of 20,000 records, and time of the other outputs.

Run as ``python benchmarks/bench_report.py [RECORDS] [FOLDER]``.  The records are generated: ten
methods, the 63 ODE systems, 5 noise levels and as many seeds as it takes, with equations of
realistic length, every metric and every status.  All systems have pictures, and their equations
are integrated; all PDE systems whose arrays are there are on the page, too.  What is made stays
in FOLDER, if one is given.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mdbench.datatypes import classes
from mdbench.datatypes.ode.systems import OdeSystem, read_system
from mdbench.datatypes.pde.systems import PdeSystem
from mdbench.datatypes.pde.systems import read_system as read_field_system
from mdbench.records import Record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mdbench.metrics.spec import MetricSpec, Value

DATASETS = Path(__file__).resolve().parent.parent / "datasets"
SYSTEMS = [read_system(path) for path in sorted((DATASETS / "ode").glob("*.toml"))]
FIELDS = [read_field_system(path) for path in sorted((DATASETS / "pde").glob("*.toml"))]
METHODS = 10
NOISE = (None, 40.0, 30.0, 20.0, 10.0)
FAILURES = ("timeout", "crashed", "failed", "out_of_memory", "invalid_output")
SHARE = 0.08
"""Of jobs that fail."""
SINES = 0.2
"""Of terms that have a sine."""
FLAGGED, UNDECIDED = 0.4, 0.01
"""Of flags that hold, and of scores that nobody could decide."""
METRICS = {kind.name: kind.metrics for kind in classes(("ode", "pde"))}
ALLOWED_SECONDS = 20
ALLOWED_MB = 15


def equation(generator: random.Random, dim: int) -> str:
    """Draw a right-hand side of 1 to 12 terms with full-length numbers."""
    names = [f"u{i}" for i in range(dim)]
    terms = []
    for _ in range(generator.choice((1, 2, 2, 3, 3, 4, 5, 8, 12))):
        factors = [generator.choice(names) for _ in range(generator.randint(0, 2))]
        if generator.random() < SINES:
            factors.append(f"sin({generator.choice(names)})")
        terms.append("*".join([repr(generator.gauss(0, 3)), *factors]))
    return " + ".join(terms)


def score(generator: random.Random, spec: MetricSpec) -> Value:
    """Draw a score of any metric; some are undecided."""
    if generator.random() < UNDECIDED:
        return None
    if spec.kind == "label":
        return generator.choice((spec.labels[0], *spec.labels))
    if spec.kind == "flag":
        return float(generator.random() < FLAGGED)
    if spec.weighs:
        return generator.randint(3, 90)
    return 10 ** generator.gauss(-6, 2) if spec.scale == "log" else generator.random()


def record(
    generator: random.Random,
    method: int,
    system: OdeSystem | PdeSystem,
    snr_db: float | None,
    seed: int,
) -> dict[str, Any]:
    """Make one record, as a run would have written it."""
    dim = system.dim
    key = hashlib.sha256(f"{method}/{system.name}/{snr_db}/{seed}".encode()).hexdigest()
    status = generator.choice(FAILURES) if generator.random() < SHARE else "ok"
    answered = status == "ok"
    equations = [equation(generator, dim) for _ in range(dim)]
    floor = 0.0 if snr_db is None else 10 ** generator.uniform(-4, 1 - snr_db / 20)
    quality = generator.gauss(method / 2 - 5, 2)
    data_type = "ode" if isinstance(system, OdeSystem) else "pde"
    primary, *others = METRICS[data_type]
    metrics: dict[str, Value] = {primary.name: floor + 10**quality} if answered else {}
    metrics |= {spec.name: score(generator, spec) for spec in others if answered}
    notes = {"missing": ["u0_t: u0*u1"], "extra": ["u0_t: sin(u0)"]}
    return {
        "schema": 1,
        "mdbench": "0.1.0",
        "key": key,
        "key_parts": {"adapter": key, "seed": str(seed), "snr_db": str(snr_db)},
        "algorithm": f"method{method}",
        "data_type": data_type,
        "dataset": system.name,
        "dim": dim,
        "system": system.name,
        "snr_db": snr_db,
        "seed": seed,
        "protocol": "strict",
        "view": "table",
        "targets": [f"u{i}_t" for i in range(dim)],
        "truth": system.truth,
        "target_source": "equations",
        "status": status,
        "reason": "" if answered else f"ValueError: what went wrong {generator.randint(1, 40)}",
        "log": f"logs/{key}.log",
        "equations": equations if answered else None,
        "hyperparameters": {"threshold": 0.1, "order": 3} if answered else None,
        "judged_by": [spec.name for spec in METRICS[data_type]],
        "metrics": metrics,
        "floor": floor,
        "notes": notes if answered else {},
        "selection": None,
        "front": None,
        "budget": {"timeout_s": 60.0, "threads": 1},
        "runtime": {"name": "venv", "details": {}},
        "provenance": {"machine": {"cpu": "x", "cores": 2, "memory_mb": 8192, "os": "Linux"}},
        "measured": {
            "started": "2026-01-02T03:04:05Z",
            "wall_s": 10 ** generator.gauss(0, 1),
            "fit_s": 1.0,
            "predict_s": 0.01,
            "cpu_s": 1.0,
            "peak_memory_mb": generator.uniform(50, 900),
        },
    }


Job = tuple[int, OdeSystem | PdeSystem, float | None, int]
"""Method, system, noise in dB, seed."""


def generate(folder: Path, number: int) -> None:
    """Write the records of all methods."""
    generator = random.Random(0)
    seeds = -(-number // (METHODS * len(SYSTEMS) * len(NOISE)))

    jobs: Iterator[Job] = itertools.product(range(METHODS), SYSTEMS, NOISE, range(seeds))
    fields: Iterator[Job] = itertools.product(range(METHODS), FIELDS, NOISE, (0,))
    files = [folder / f"method{method}-ode.jsonl" for method in range(METHODS)]
    lines: dict[int, list[str]] = {method: [] for method in range(METHODS)}
    for method, system, snr_db, seed in itertools.chain(itertools.islice(jobs, number), fields):
        made = Record.model_validate(record(generator, method, system, snr_db, seed))
        lines[method].append(made.to_line())
    for method, file in enumerate(files):
        file.write_text("".join(line + "\n" for line in lines[method]), encoding="utf-8")


def measure(what: str, arguments: list[str]) -> float:
    """Run a command of the bench; print its wall and CPU time, and return the first."""
    started, before = time.perf_counter(), os.times()
    subprocess.run(
        [sys.executable, "-m", "mdbench", *arguments], check=True, stdout=subprocess.DEVNULL
    )
    seconds = time.perf_counter() - started
    after = os.times()
    worked = sum(after[2:4]) - sum(before[2:4])  # of children, in the program and in the kernel
    print(f"{what:<28}{seconds:6.1f} s{worked:10.1f} CPU s")
    return seconds


def main() -> int:
    """Print the times and the sizes; 1 if the page takes too long or is too large."""
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(sys.argv[2] if sys.argv[2:] else temporary)
        results = folder / "results"
        results.mkdir(parents=True, exist_ok=True)
        generate(results, number)
        source = str(results)
        page = folder / "report.html"
        seconds = measure("report", ["report", source, "--out", str(page)])
        size = page.stat().st_size / 1e6
        print(f"{'page':<28}{size:6.1f} MB")
        measure("report --text", ["report", source, "--text"])
        measure("combine to CSV", ["combine", source, "--out", str(folder / "all.csv")])
        measure("combine to Parquet", ["combine", source, "--out", str(folder / "all.parquet")])
        measure("export --latex", ["export", source, "--latex"])
    return int(seconds > ALLOWED_SECONDS or size > ALLOWED_MB)


if __name__ == "__main__":
    sys.exit(main())
