"""Time to draw SRSD's problems, and to compare equations of about 30 nodes.

Run as ``python benchmarks/bench_comparison.py [PAIRS]``.  The child process in which SymPy works
is warm; no pair is compared twice, so that no answer is remembered.
"""

from __future__ import annotations

import os
import random
import resource
import statistics
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from eqverdict import parse, srbench
from eqverdict.srbench import (
    POSITIVE,
    normalized_edit_distance,
    symbolic_solution,
)
from mdbench.datatypes.srsd.laws import draw, read_problem
from mdbench.errors import EquationError

if TYPE_CHECKING:
    from collections.abc import Callable

    from eqverdict.srbench import Distance, Solution

NAMES = ("x0", "x1", "x2", "x3")
UNARY = tuple(f"{name}({{a}})" for name in ("sqrt", "sin", "cos", "tan", "atan", "exp", "log"))
ARITHMETIC = ("({a} + {b})", "({a} - {b})", "{a}*({b})", "({a})/({b})")
KINDS = {
    "polynomials, sin and exp": (
        *("{a} + {b}", "{a}*{b}", "({a})*({b})", "({a})/({b})"),
        *("sin({a})", "exp(-({a}))", "({a})**2"),
    ),
    # The functions that methods are given on SRSD, and how they write what they find.
    "as gplearn writes": (*UNARY, "-({a})", *3 * ARITHMETIC),
    "as Operon writes": (*3 * ARITHMETIC[:3], "sin({a})", *3 * ("({a})/sqrt(1 + ({b})**2)",)),
}
"""The forms of which equations of a kind are made."""
NODES = range(27, 34)
"""Nodes of an equation, as it was drawn."""


def drawn(generator: random.Random, depth: int, kind: str) -> str:
    """Draw an equation of a depth."""
    if depth == 0:
        number = f"{generator.uniform(0.1, 9):.4g}"
        if "Operon" in kind:
            return f"{number}*{generator.choice(NAMES)}"
        return generator.choice([*NAMES, *NAMES, number])
    a, b = (
        drawn(generator, depth - generator.choice((1, 1, 2)) if depth > 1 else 0, kind)
        for _ in "ab"
    )
    return generator.choice(KINDS[kind]).format(a=a, b=b)


def pairs(number: int, kind: str) -> list[tuple[str, str]]:
    """Draw pairs of different equations of some 30 nodes."""
    generator = random.Random(0)
    found: dict[str, None] = {}
    while len(found) < 2 * number:
        text = drawn(generator, 6, kind)
        with suppress(EquationError):  # what has no finite value is drawn, too
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
    for kind in KINDS:
        given = pairs(number, kind)
        print(f"{kind}, {number} pairs of {NODES.start} to {NODES.stop - 1} nodes")
        show("  edit distance, from two texts", given, distance)
        # The trees are remembered by now, their distance is asked the other way round.
        show("  edit distance, trees known", [(p, t) for t, p in given], distance)
        show("  symbolic solution", given, lambda t, p: symbolic_solution(t, p, domain))


def distance(truth: str, prediction: str) -> Distance:
    """Compare two equations of the four names."""
    return normalized_edit_distance(truth, prediction, NAMES)


def show(
    name: str, given: list[tuple[str, str]], compare: Callable[[str, str], Distance | Solution]
) -> None:
    """Measure and print what a comparison takes: on the clock, and of the child's CPU."""
    walls, cpus = [], []
    for truth, prediction in given:
        start, used = time.perf_counter(), cpu()
        compare(truth, prediction)
        walls.append(1e3 * (time.perf_counter() - start))
        cpus.append(1e3 * (cpu() - used))
    for what, times in (("wall", walls), ("CPU", cpus)):
        times.sort()
        print(
            f"{name:32} {what:4} least {times[0]:7.1f} ms, median {statistics.median(times):7.1f}, "
            f"90 % below {times[int(0.9 * len(times))]:8.1f}, most {times[-1]:8.1f}"
        )


def cpu() -> float:
    """Return the CPU time, in s, that children have used, ended ones too; in hundredths."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = ended.ru_utime + ended.ru_stime
    for child in srbench._children:  # noqa: SLF001 - not to be had otherwise
        if child.process is not None and child.process.poll() is None:
            stat = Path(f"/proc/{child.process.pid}/stat").read_text(encoding="ascii")
            words = stat.rpartition(")")[2].split()
            used += (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")
    return used


if __name__ == "__main__":
    main()
