"""Laws that their published ranges do not tell from a simpler function."""

from __future__ import annotations

import json
import random
from functools import cache
from typing import TYPE_CHECKING, Any

import mpmath
import pytest
from harness import ROOT

from eqverdict.grammar import read
from eqverdict.tree import Call, Variable, parts
from mdbench.datatypes.srsd.data_type import Srsd
from mdbench.datatypes.srsd.indistinguishable import (
    BOUND,
    indistinguishable,
    is_attainable,
    simpler_function,
    write_list,
)
from mdbench.datatypes.srsd.laws import read_problem
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

LISTED = indistinguishable()


@cache
def problems() -> dict[str, Any]:
    paths = (ROOT / "datasets" / "srsd").glob("*.toml")
    return {problem.name: problem for problem in map(read_problem, paths)}


def size(text: str, problem: Any) -> tuple[int, ...]:
    nodes = list(parts(read(text, tuple(problem.domain))))
    return tuple(sum(isinstance(node, kind) for node in nodes) for kind in (Call, Variable))


def in_mpmath(text: str, point: dict[str, Any]) -> Any:
    words = {name: getattr(mpmath, name) for name in ("sin", "cos", "exp", "sqrt", "tanh", "pi")}
    return eval(text, {"__builtins__": {}}, {**words, **point})


def drawn(spread: Any, generator: random.Random) -> Any:
    low, high = mpmath.mpf(spread["low"]), mpmath.mpf(spread["high"])
    share = generator.random()
    value = low * (high / low) ** share if low > 0 else low + (high - low) * share
    negative = spread["sign"] == "negative" or (spread["sign"] == "mixed" and share < 0.5)
    return -value if negative else value


@pytest.mark.parametrize("name", LISTED)
def test_data_do_not_tell_a_listed_law_from_the_simpler_function(name: str) -> None:
    """Checked by mpmath, at other points than those of the list."""
    problem, simpler = problems()[name], LISTED[name]
    assert size(simpler.function, problem) < size(problem.law, problem)
    generator = random.Random(name)
    with mpmath.workdps(80):
        for _ in range(50):
            point = {each: drawn(spread, generator) for each, spread in problem.domain.items()}
            law, other = (in_mpmath(text, point) for text in (problem.law, simpler.function))
            assert abs(law - other) <= BOUND * (abs(law) + abs(other))
            assert law != other


def test_the_list_is_what_the_command_computes(tmp_path: Path) -> None:
    for name in ("feynman-i.12.1", "feynman-ii.11.28", "feynman-iii.9.52", "feynman-i.41.16"):
        problem = problems()[name]
        assert simpler_function(problem.law, problem.domain) == LISTED.get(name)
    workspace = Workspace(tmp_path, tmp_path)
    write_list(dict(reversed([*LISTED.items()])), workspace)
    written = workspace.datasets / "srsd" / "indistinguishable.json"
    own = ROOT / "datasets" / "srsd" / "indistinguishable.json"
    assert json.loads(written.read_text()) == json.loads(own.read_text())
    assert written.read_text() == own.read_text()


@pytest.mark.parametrize(
    ("law", "high", "is_listed"),
    [
        ("1 + x/(1 - x/3)", 1e-7, True),
        ("1 + x/(1 - x/3)", 1e-3, False),
        ("sin(x)/x", 1e-8, True),
        ("sin(x)/x", 1.0, False),
        ("2*y*(1 - cos(x))", 1e-7, True),
        ("2*y*(1 - cos(x))", 1e-2, False),
        ("x*y", 1e-20, False),
        ("y + x", 1e-15, True),
        ("y*(1 + x)", 1e-15, True),
        ("3*x**2", 1e-9, False),
    ],
)
def test_ranges_decide(law: str, high: float, *, is_listed: bool) -> None:
    domain = {
        "x": {"low": high / 100, "high": high, "sign": "positive"},
        "y": {"low": 1.0, "high": 5.0, "sign": "positive"},
    }
    assert (simpler_function(law, domain) is not None) is is_listed


def test_a_listed_problem_is_out_of_reach_of_what_asks_for_the_law() -> None:
    assert not is_attainable("feynman-ii.11.28", None)
    assert not is_attainable("feynman-ii.11.28+moved=1", 20.0)
    assert is_attainable("feynman-i.12.1", None)
    asked = {spec.name for spec in Srsd.metrics if spec.is_out_of_reach("feynman-ii.11.28")}
    assert asked == {"solution", "identified"}
    assert not any(spec.is_out_of_reach("feynman-i.12.1") for spec in Srsd.metrics)
