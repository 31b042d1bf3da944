"""How long it takes to draw SRSD's problems, and to compare equations of about 30 nodes.

Run as ``python benchmarks/bench_comparison.py [PAIRS]``.  The child process in which SymPy works
is warm; no equation is compared twice, so that none is remembered.
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from mdbench.expressions import parse
from mdbench.expressions.comparison import POSITIVE, normalized_edit_distance, symbolic_solution
from mdbench.solvers.formula import draw, read_problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from mdbench.expressions.comparison import Distance, Verdict

NAMES = ("x0", "x1", "x2", "x3")
FORMS = (
    "{a} + {b}",
    "{a}*{b}",
    "({a})*({b})",
    "({a})/({b})",
    "sin({a})",
    "exp(-({a}))",
    "({a})**2",
)
NODES = range(27, 34)
"""Nodes of an equation, as it was drawn."""


def drawn(generator: random.Random, depth: int) -> str:
    """Draw an equation of a depth."""
    if depth == 0:
        return generator.choice([*NAMES, *NAMES, f"{generator.uniform(0.1, 9):.4g}"])
    a, b = (drawn(generator, depth - generator.choice((1, 1, 2)) if depth > 1 else 0) for _ in "ab")
    return generator.choice(FORMS).format(a=a, b=b)


def pairs(number: int, generator: random.Random) -> list[tuple[str, str]]:
    """Draw pairs of different equations of some 30 nodes."""
    found: dict[str, None] = {}
    while len(found) < 2 * number:
        text = drawn(generator, 6)
        if parse(text, NAMES).complexity in NODES:
            found[text] = None
    texts = list(found)
    return list(zip(texts[::2], texts[1::2], strict=True))


def main() -> None:
    """Print the times."""
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    folder = Path(__file__).parent.parent / "datasets" / "srsd"
    start = time.perf_counter()
    problems = [read_problem(path) for path in sorted(folder.glob("*.toml"))]
    for problem in problems:
        draw(problem, problem.law, 10_000)
    print(f"{len(problems)} problems of 10,000 rows  {time.perf_counter() - start:8.2f} s in all")

    start = time.perf_counter()
    distances = [normalized_edit_distance(p.law, p.law, p.spreads).value for p in problems]
    print(f"each law against itself      {time.perf_counter() - start:8.2f} s in all")
    if any(distances):
        sys.exit("a law is not equal to itself")

    domain = {name: dict(POSITIVE) for name in NAMES}
    given = pairs(number, random.Random(0))
    trees = [
        {
            text: normalized_edit_distance(text, text, NAMES).nodes  # remembers the tree
            for text in pair
        }
        for pair in given[: number // 2]
    ]
    nodes = statistics.mean(count for pair in trees for count in pair.values())
    print(f"equations of {nodes:.0f} canonical nodes on average")
    show("edit distance, trees known", given[: number // 2], distance)
    show("edit distance, from two texts", given[number // 2 :], distance)
    show("symbolic solution", given, lambda t, p: symbolic_solution(t, p, domain))


def distance(truth: str, prediction: str) -> Distance:
    """Compare two equations of the four names."""
    return normalized_edit_distance(truth, prediction, NAMES)


def show(
    name: str, given: list[tuple[str, str]], compare: Callable[[str, str], Distance | Verdict]
) -> None:
    """Measure and print what a comparison takes."""
    times = []
    for truth, prediction in given:
        start = time.perf_counter()
        compare(truth, prediction)
        times.append(1e3 * (time.perf_counter() - start))
    times.sort()
    print(
        f"{name:30} median {statistics.median(times):8.1f} ms, "
        f"90 % below {times[int(0.9 * len(times))]:8.1f}, slowest {times[-1]:8.1f}"
    )


if __name__ == "__main__":
    main()
