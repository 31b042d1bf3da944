"""Evaluations a CPU second of AFP on 1000 samples of 5 variables, one core.

Counted is the whole search: breeding, values, linear scaling, tournaments, hill climbing.
"""

from __future__ import annotations

import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
METHOD = "afp"


def main() -> None:
    """Measure and print."""
    folder = ROOT / "algorithms" / METHOD
    spec = tomllib.loads((folder / "method.toml").read_text(encoding="utf-8"))
    sys.path[:0] = [
        str(ROOT / "algorithms" / name)
        for name in (METHOD, *(f"shared/{folder}" for folder in spec["uses"]))
    ]
    for rows in (10, 1000, 9000):
        evaluations, seconds = _search(spec["hyperparameters"], rows)
        print(f"{rows:5d} rows  {evaluations / seconds:8.0f} evaluations a CPU second")


def _search(hyperparameters: dict[str, Any], rows: int) -> tuple[int, float]:
    """Run 40 generations; return evaluations and CPU seconds."""
    from adapter import Adapter  # type: ignore[import-not-found]  # noqa: PLC0415

    from mdbench.worker import Problem  # noqa: PLC0415 - both as the worker imports them

    x = np.random.default_rng(0).uniform(0.5, 3, (rows, 5))
    y = x[:, 0] * (x[:, 1] + x[:, 2] * x[:, 3] * np.sin(x[:, 4]))
    problem = Problem(
        "table", tuple(f"x{i}" for i in range(5)), ("y",), {"X": x, "Y": y[:, np.newaxis]}
    )
    adapter = Adapter(seed=0, threads=1, **hyperparameters | {"generations": 40})
    start = time.process_time()
    adapter.fit(problem)
    return adapter.evaluations, time.process_time() - start


if __name__ == "__main__":
    main()
