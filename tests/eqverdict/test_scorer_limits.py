"""The generated corpus on which the scorer's errors are counted, a part of it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from harness import benchmark
from sweeps import sampled

from eqverdict.grammar import read
from eqverdict.interval_eval import ball_value, exact_ball, provably_differ
from eqverdict.srbench import symbolic_solution

CORPUS = benchmark("labelled")
BENCH = benchmark("bench_scorer")
LAWS = sampled([*CORPUS.laws()[3::11], *CORPUS.answers()[5::12]], share=0.4)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_no_label_is_missed(law: Any) -> None:
    for pair in CORPUS.pairs(law, 1):
        if pair.identified is not None:
            assert BENCH.identified(pair) is pair.identified, pair
        if pair.skeleton is not None:
            # A fit may find no way, which the benchmark counts; what is found has to be right.
            found = BENCH.skeleton(pair)
            assert found is pair.skeleton or (pair.skeleton and not pair.identified), pair


@pytest.mark.parametrize("law", LAWS[::2], ids=lambda law: law.name)
def test_no_solution_is_missed(law: Any) -> None:
    for pair in CORPUS.pairs(law, 1):
        if pair.solution is not None:
            assert BENCH.solved(pair) is pair.solution, pair


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_a_writing_has_the_laws_values(law: Any) -> None:
    [same, *_] = CORPUS.pairs(law, 1)
    compared = 0
    trees = [read(text, law.names) for text in (law.text, same.prediction)]
    for step in range(10):  # not everywhere in its ranges is a law defined
        point = {}
        for i, (name, spread) in enumerate(law.domain.items()):
            low, high = CORPUS.ends(spread)
            point[name] = low + (high - low) * ((3 * i + 5 * step) % 11 + 1) / 13

        def both(point: dict[str, float] = point) -> tuple[Any, Any, Any]:
            balls = {name: exact_ball(number) for name, number in point.items()}
            wanted, found = (ball_value(tree, balls) for tree in trees)
            return wanted, found, abs(wanted)

        with suppress(ArithmeticError):
            assert not provably_differ(both, 1e-100, 300)[0]
            compared += 1
    assert compared


@pytest.mark.parametrize("law", LAWS[1::3], ids=lambda law: law.name)
def test_a_tenth_of_the_time_changes_no_verdict(law: Any) -> None:
    for pair in CORPUS.pairs(law, 2)[::4]:
        solved = symbolic_solution(law.text, pair.prediction, law.domain, seconds=20)
        assert symbolic_solution(law.text, pair.prediction, law.domain, seconds=2) == solved
