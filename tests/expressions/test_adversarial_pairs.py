"""The labels of the hard pairs, against exact values at places that matter."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING, Any

import mpmath
import numpy as np
import pytest
import sympy
from harness import benchmark
from sympy.parsing.sympy_parser import parse_expr

from mdbench.expressions import parse

if TYPE_CHECKING:
    from collections.abc import Iterator

PAIRS = benchmark("adversarial")
ENDS = benchmark("labelled").ends
_NUMBER = re.compile(r"(?<![\w.])\d+\.?\d*(?:e[-+]?\d+)?")


def places(pair: Any) -> Iterator[dict[str, float]]:
    """Return points of the domain: its ends, some inside, and all around the answer's numbers."""
    ranges = {name: ENDS(spread) for name, spread in pair.law.domain.items()}
    low, high = ranges["u0"]
    generator = random.Random(pair.prediction)
    found = [low, high, *(low + (high - low) * generator.random() for _ in range(20))]
    for number in (0.0, *map(float, _NUMBER.findall(pair.prediction))):
        for sign in (1, -1):
            found += [sign * number + by for by in (0.0, 1e-9, 1e-8, 5e-6, 5e-4)]
    others = {name: sum(ends) / 2 for name, ends in ranges.items()}
    return ({**others, "u0": place} for place in found if low <= place <= high)


def difference(pair: Any) -> float:
    """Return the largest difference of law and answer, over the largest value of the law."""
    names = [sympy.Symbol(name, real=True) for name in pair.law.names]
    words = {str(name): name for name in names} | {"max": sympy.Max, "abs": sympy.Abs}
    law, answer = (
        sympy.lambdify(names, parse_expr(text, local_dict=words), "mpmath")
        for text in (pair.law.text, pair.prediction)
    )
    largest = size = mpmath.mpf(0)
    with mpmath.workdps(100):
        for point in places(pair):
            inputs = [mpmath.mpf(point[name]) for name in pair.law.names]
            try:
                wanted, found = law(*inputs), answer(*inputs)
            except (ZeroDivisionError, ValueError):  # at a pole
                continue
            size = max(size, abs(wanted))
            largest = max(largest, abs(wanted - found) if defined(pair, point) else mpmath.inf)
    # A law that is zero has no size.
    return float(largest / (size if size > 1e-30 else 1))


def defined(pair: Any, point: dict[str, float]) -> bool:
    """Whether an answer has a value in real numbers: `mpmath` goes on in complex ones."""
    columns = {name: np.array([place]) for name, place in point.items()}
    return not np.isnan(parse(pair.prediction, pair.law.names).evaluate(columns)[0])


@pytest.mark.parametrize("seed", [0, pytest.param(5, marks=pytest.mark.nightly)])
def test_hidden_differences_are_where_their_labels_say(seed: int) -> None:
    kinds = set()
    for pair in PAIRS.hidden_pairs(seed):
        found = difference(pair)
        assert (found <= PAIRS.SAME) is pair.identified, (pair.what, pair.prediction, found)
        kinds.add((pair.what, pair.identified))
    # Each kind has one label.
    assert len(kinds) == len({what for what, _ in kinds}) > 15


@pytest.mark.parametrize("family", PAIRS.FAMILIES, ids=lambda family: family.name)
def test_writings_are_equal_and_other_constants_are_not(family: Any) -> None:
    generator = random.Random(3)
    constants = family.drawn(generator)
    own, *others = family.twelve(constants, 17, generator)
    assert len({own, *others}) == PAIRS.WRITINGS
    law = family.law(own, "own")
    for text in others:
        assert difference(PAIRS._pair(law, text, "", identified=True)) < 1e-12, text
    for name in constants:
        moved = {**constants, name: 1.06 * constants[name]}
        for text in family.twelve(moved, 6, generator):
            assert difference(PAIRS._pair(law, text, "", identified=False)) > 1e-4, (name, text)


def test_rewritten_pairs_have_every_kind_and_their_digits() -> None:
    pairs = list(PAIRS.rewritten_pairs(1))
    families = len(PAIRS.FAMILIES)
    assert len(pairs) == families * PAIRS.WRITINGS * 5
    assert len({(pair.law.text, pair.prediction) for pair in pairs}) > 0.95 * len(pairs)
    by_kind: dict[str, list[Any]] = {}
    for pair in pairs:
        by_kind.setdefault(pair.what, []).append(pair)
    assert {len(each) for each in by_kind.values()} == {families * 3, families * PAIRS.WRITINGS}
    for pair in by_kind["the same constants, 4 digits"]:
        # The first writings; others have numbers of identities, too.
        assert difference(pair) < 1e-2
    for pair in by_kind["the truth rewritten"]:
        assert difference(pair) < 1e-12
    for pair in by_kind["constants within 4 %, 17 digits"]:
        assert difference(pair) > 1e-4


def test_the_same_seed_gives_the_same_pairs() -> None:
    for make in (PAIRS.rewritten_pairs, PAIRS.hidden_pairs):
        first, again, other = (list(make(seed)) for seed in (2, 2, 3))
        assert first == again != other
