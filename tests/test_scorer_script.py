"""The generated corpus on which the scorer's errors are counted, a part of it."""

from __future__ import annotations

import importlib.util
import sys
from typing import TYPE_CHECKING, Any

import mpmath
import pytest
from house import ROOT

from mdbench.expressions.grammar import read
from mdbench.expressions.precise import precise_value

if TYPE_CHECKING:
    from types import ModuleType


def corpus() -> ModuleType:
    path = ROOT / "benchmarks" / "bench_scorer.py"
    spec = importlib.util.spec_from_file_location("bench_scorer", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


BENCH = corpus()
LAWS = BENCH.laws()[3::11]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_no_label_is_missed(law: Any) -> None:
    for pair in BENCH.pairs(law, 1):
        assert BENCH.identified(pair) is pair.identified, pair


@pytest.mark.parametrize("law", LAWS[::2], ids=lambda law: law.name)
def test_no_solution_is_missed(law: Any) -> None:
    for pair in BENCH.pairs(law, 1):
        assert BENCH.solved(pair) is pair.solution, pair


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_a_writing_has_the_laws_values(law: Any) -> None:
    [same, *_] = BENCH.pairs(law, 1)
    compared = 0
    with mpmath.workdps(300):
        for step in range(10):  # not everywhere in its ranges is a law defined
            point = {}
            for i, (name, spread) in enumerate(law.domain.items()):
                low, high = BENCH.ends(spread)
                share = mpmath.mpf((3 * i + 5 * step) % 11 + 1) / 13
                point[name] = mpmath.mpf(low) + (mpmath.mpf(high) - low) * share
            try:
                wanted = precise_value(read(law.text, law.names), point)
            except ArithmeticError:
                continue
            found = precise_value(read(same.prediction, law.names), point)
            assert abs(found - wanted) <= abs(wanted) * mpmath.mpf(10) ** -100
            compared += 1
    assert compared
