"""Recovery rate of a method on the Nguyen benchmark, compared with the published rates of DSR.

Run as ``python benchmarks/bench_nguyen.py [method [seeds [seconds [numbers]]]]``: the method
(dsr), how many seeds (5), the seconds that each fit may take (none: its own budget), and which
laws (``1,2,4``; all).  The laws, the ranges and the functions are those of Uy et al. (Genetic
Programming and Evolvable Machines 12, 2011, 91-119) as Petersen et al. (ICLR 2021) use them; 20
samples are drawn of each, the same for all seeds.  A law is recovered where the bench's own
comparison calls the answer identified.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / "support")]

from torch_methods import specification, torch_inside  # noqa: E402 - where the methods' tests are

from eqverdict import parse  # noqa: E402
from eqverdict.fidelity.compare import Verdict, compare  # noqa: E402

if TYPE_CHECKING:
    from inside import Inside

LAWS: dict[int, tuple[str, tuple[float, float], int, int]] = {
    1: ("x0**3 + x0**2 + x0", (-1, 1), 1, 100),
    2: ("x0**4 + x0**3 + x0**2 + x0", (-1, 1), 1, 100),
    3: ("x0**5 + x0**4 + x0**3 + x0**2 + x0", (-1, 1), 1, 100),
    4: ("x0**6 + x0**5 + x0**4 + x0**3 + x0**2 + x0", (-1, 1), 1, 100),
    5: ("sin(x0**2)*cos(x0) - 1", (-1, 1), 1, 72),
    6: ("sin(x0) + sin(x0 + x0**2)", (-1, 1), 1, 100),
    7: ("log(x0 + 1) + log(x0**2 + 1)", (0, 2), 1, 35),
    8: ("sqrt(x0)", (0, 4), 1, 96),
    9: ("sin(x0) + sin(x1**2)", (0, 1), 2, 100),
    10: ("2*sin(x0)*cos(x1)", (0, 1), 2, 100),
    11: ("x0**x1", (0, 1), 2, 100),
    12: ("x0**4 - x0**3 + x1**2/2 - x1", (0, 1), 2, 0),
}
"""Law, range of the variables, how many they are, and DSR's published rate in percent."""

PAPER = {
    "dsr": {
        "functions": ["add", "sub", "mul", "div", "sin", "cos", "exp", "log"],
        "max_constants": 0,
        "min_length": 4,
        "linear_scaling": False,
        "samples": 2_000_000,
    }
}
"""Settings of the paper: no constants, nothing scaled, two million expressions."""

DRIVER = """
import json, sys
import numpy as np
from adapter import Adapter
from mdbench.worker import Problem
given = json.load(sys.stdin)
X, y = np.array(given["X"]), np.array(given["y"])
names = tuple(f"x{i}" for i in range(X.shape[1]))
problem = Problem("table", names, ("y",), {"X": X, "Y": y[:, None]}, time_limit=given["seconds"])
adapter = Adapter(seed=given["seed"], threads=1, **given["hyperparameters"])
adapter.fit(problem)
print(json.dumps([adapter.equations()[0], getattr(adapter, "evaluations", 0)]))
"""


def main() -> None:
    """Print a line for each law."""
    method, seeds, seconds, numbers = [*sys.argv[1:], *["dsr", "5", "", ""][len(sys.argv) - 1 :]]
    hyperparameters = specification(method)["hyperparameters"] | PAPER.get(method, {})
    chosen = [int(each) for each in numbers.split(",")] if numbers else list(LAWS)
    print(f"{'law':<12}{'recovered':>12}{'published':>12}{'seconds':>10}{'expressions':>14}  last")
    with torch_inside(method, seconds=86400.0) as process:
        for number in chosen:
            runs = [
                _run(process, number, seed, hyperparameters, float(seconds) if seconds else None)
                for seed in range(int(seeds))
            ]
            recovered = sum(right for right, *_ in runs)
            spent, tried = (np.mean([run[i] for run in runs]) for i in (1, 2))
            print(
                f"Nguyen-{number:<5}{recovered:>8} of {len(runs)}{LAWS[number][3]:>10} %"
                f"{spent:>10.1f}{tried:>14.0f}  {runs[-1][3][:70]}",
                flush=True,
            )


def _run(
    process: Inside, number: int, seed: int, hyperparameters: dict[str, Any], limit: float | None
) -> tuple[bool, float, int, str]:
    """Fit once; return whether it is the law, seconds, expressions and the answer."""
    law, (low, high), several, _ = LAWS[number]
    names = [f"x{i}" for i in range(several)]
    X = np.random.default_rng(number).uniform(low, high, (20, several))
    y = parse(law, names).evaluate(dict(zip(names, X.T, strict=True)))
    given = {
        "X": X.tolist(),
        "y": np.asarray(y).tolist(),
        "seed": seed,
        "seconds": limit,
        "hyperparameters": hyperparameters,
    }
    begin = time.monotonic()
    done = process.run(DRIVER, given)
    if done.returncode:
        raise SystemExit(done.stderr)
    equation, tried = json.loads(done.stdout.splitlines()[-1])
    domain = dict.fromkeys(names, (float(low), float(high)))
    right = compare([law], [equation], names, domain=domain).verdict is Verdict.IDENTIFIED
    return right, time.monotonic() - begin, tried, equation


if __name__ == "__main__":
    main()
