"""Complexity of SINDy-like candidates: ours against SymPy's, in CPU time.

Run as ``python benchmarks/bench_complexity.py [NUMBER]``.  SymPy counts every 40th candidate
only, as it takes so long.
"""

from __future__ import annotations

import random
import sys
import time
from typing import TYPE_CHECKING

import sympy

from eqverdict import parse

if TYPE_CHECKING:
    from collections.abc import Callable

NAMES = ("u0", "u1", "u2")
SAMPLED = 40


def library() -> list[str]:
    """List the candidate terms of a library with cross terms and trigonometric functions."""
    powers = [f"{name}**{exponent}" for name in NAMES for exponent in range(1, 5)]
    products = [f"{a}**{n}*{b}" for a in NAMES for b in NAMES if a < b for n in (1, 2, 3)]
    waves = [f"{wave}({name})" for wave in ("sin", "cos") for name in NAMES]
    return ["1", *powers, *products, *waves]


def candidates(number: int, generator: random.Random) -> list[str]:
    """Draw linear combinations of 1 to all terms of the library."""
    terms = library()
    texts = []
    for _ in range(number):
        support = generator.sample(terms, generator.randint(1, len(terms)))
        texts.append(" + ".join(f"{generator.gauss(0.0, 3.0)!r}*{term}" for term in support))
    return texts


def cpu_seconds(count: Callable[[str], int], texts: list[str]) -> tuple[float, list[int]]:
    """Measure the CPU time of counting all texts."""
    started = time.process_time()
    counts = [count(text) for text in texts]
    return time.process_time() - started, counts


def main() -> None:
    """Print the time of each for one candidate, and the ratio."""
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    texts = candidates(number, random.Random(0))
    ours, counts = cpu_seconds(lambda text: parse(text, NAMES).complexity, texts)
    theirs, expected = cpu_seconds(
        lambda text: sum(1 for _ in sympy.preorder_traversal(sympy.sympify(text))), texts[::SAMPLED]
    )
    if counts[::SAMPLED] != expected:
        sys.exit("the counts differ")
    ours /= len(texts)
    theirs /= len(expected)
    print(f"{number} candidates, {sum(counts) / number:.0f} nodes on average")
    print(f"mdbench  {1e6 * ours:8.0f} microseconds each, {number * ours:.2f} s in all")
    print(f"SymPy    {1e6 * theirs:8.0f} microseconds each")
    print(f"ratio    {theirs / ours:8.0f}")


if __name__ == "__main__":
    main()
