"""The labels of the hard pairs, against exact values at places that matter."""

from __future__ import annotations

import random
import re
from functools import cache
from typing import TYPE_CHECKING, Any

import mpmath
import numpy as np
import pytest
import sympy
from harness import benchmark
from sympy.parsing.sympy_parser import parse_expr

from eqverdict import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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


@cache
def function(text: str, names: tuple[str, ...]) -> Callable[..., Any]:
    """Return what a text computes, with as many digits as are asked for."""
    symbols = {name: sympy.Symbol(name, real=True) for name in names}
    words = {**symbols, "max": sympy.Max, "abs": sympy.Abs}
    found: Callable[..., Any] = sympy.lambdify(
        list(symbols.values()), parse_expr(text, local_dict=words), "mpmath"
    )
    return found


def difference(pair: Any) -> float:
    """Return the largest difference of law and answer, over the largest value of the law."""
    law, answer = (
        function(text, tuple(pair.law.names)) for text in (pair.law.text, pair.prediction)
    )
    largest = size = mpmath.mpf(0)
    points = list(places(pair))
    with mpmath.workdps(100):
        for point, has_value in zip(points, defined(pair, points), strict=True):
            inputs = [mpmath.mpf(point[name]) for name in pair.law.names]
            try:
                wanted, found = law(*inputs), answer(*inputs)
            except (ZeroDivisionError, ValueError):  # at a pole
                continue
            size = max(size, abs(wanted))
            largest = max(largest, abs(wanted - found) if has_value else mpmath.inf)
    # A law that is zero has no size.
    return float(largest / (size if size > 1e-30 else 1))


def defined(pair: Any, points: list[dict[str, float]]) -> Any:
    """Return where an answer has a value in real numbers: `mpmath` goes on in complex ones."""
    columns = {name: np.array([point[name] for point in points]) for name in points[0]}
    values = parse(pair.prediction, pair.law.names).evaluate(columns)
    return ~np.isnan(np.broadcast_to(values, len(points)))


@pytest.mark.parametrize("seed", [0, pytest.param(5, marks=pytest.mark.nightly)])
def test_hidden_differences_are_where_their_labels_say(seed: int) -> None:
    by_kind: dict[str, list[Any]] = {}
    for pair in PAIRS.hidden_pairs(seed):
        by_kind.setdefault(pair.what, []).append(pair)
    assert len(by_kind) > 15
    draw = random.Random(seed)
    for what, pairs in by_kind.items():
        assert len({pair.identified for pair in pairs}) == 1, what
        # The nightly lane tries the pairs of all families.
        for pair in pairs if seed else draw.sample(pairs, min(4, len(pairs))):
            found = difference(pair)
            assert (found <= PAIRS.SAME) is pair.identified, (what, pair.prediction, found)


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
        for text in generator.sample(family.twelve(moved, 6, generator), 4):
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
    draw = random.Random(1)
    for pair in draw.sample(by_kind["the same constants, 4 digits"], families):
        # The first writings; others have numbers of identities, too.
        assert difference(pair) < 1e-2
    for pair in draw.sample(by_kind["the truth rewritten"], 2 * families):
        assert difference(pair) < 1e-12
    for pair in draw.sample(by_kind["constants within 4 %, 17 digits"], families):
        assert difference(pair) > 1e-4


def test_the_same_seed_gives_the_same_pairs() -> None:
    for make in (PAIRS.rewritten_pairs, PAIRS.hidden_pairs):
        first, again, other = (list(make(seed)) for seed in (2, 2, 3))
        assert first == again != other
