"""Suites of laws that are made: each is checked by numbers that its making did not use."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import made_laws
import mpmath
import numpy as np
import pytest
import sweeps
from harness import ROOT

from eqverdict import parse
from mdbench.datatypes.srsd.datasets import Problems
from mdbench.datatypes.srsd.laws import draw

if TYPE_CHECKING:
    from pathlib import Path

PROBLEMS = Problems(ROOT / "datasets" / "srsd").problems
SOLVED, ADDED, ALTERED = (
    list(PROBLEMS.suites[name]) for name in ("solved-laws", "added-terms", "altered-laws")
)


def test_the_suites_have_their_sizes() -> None:
    assert (len(SOLVED), len(ADDED), len(ALTERED)) == (100, 100, 36)


@pytest.mark.parametrize("name", sweeps.sampled(SOLVED))
def test_a_solved_law_put_into_its_law_gives_the_value(name: str) -> None:
    """With 30 digits, at 20 rows: the law of the solution is the column that it was solved for."""
    problem = PROBLEMS[name]
    [law] = [
        PROBLEMS[known]
        for known in PROBLEMS.suites["srbench"]
        if re.fullmatch(rf"solved-{re.escape(known)}-[A-Za-z][\w-]*", name)
    ]
    old = {meaning.partition(":")[0]: column for column, meaning in law.meanings.items()}
    wanted = problem.title.rpartition(", solved for ")[2]
    x, y = draw(problem, problem.law, 20)
    with mpmath.workdps(30):
        for row, solution in zip(x, y, strict=True):
            values = {
                old[problem.meanings[column].partition(": ")[0]]: mpmath.mpf(value)
                for column, value in zip(problem.spreads, row, strict=True)
                if column != "x0"
            }
            values[old[wanted]] = mpmath.mpf(solution)
            again = _value(law.law, values)
            assert mpmath.almosteq(again, mpmath.mpf(row[0]), rel_eps=1e-9, abs_eps=1e-11)


def _value(formula: str, values: dict[str, mpmath.mpf]) -> mpmath.mpf:
    """Work a formula out by mpmath, which the making of the laws does not use."""
    names = {name: getattr(mpmath, name) for name in _FUNCTIONS} | {"pi": mpmath.pi} | values
    return eval(formula, {"__builtins__": {}, "abs": abs}, names)


_FUNCTIONS = ("sin", "cos", "tan", "tanh", "exp", "log", "sqrt", "asin", "acos", "atan")


@pytest.mark.parametrize("name", sweeps.sampled([*ADDED, *ALTERED]))
def test_a_made_law_depends_on_all_its_variables(name: str) -> None:
    problem = PROBLEMS[name]
    x, y = draw(problem, problem.law, 400)
    columns = dict(zip(problem.spreads, x.T, strict=True))
    law = parse(problem.law, columns)
    for column in columns:
        turned = law.evaluate(columns | {column: columns[column][::-1]})
        assert np.mean((turned - y) ** 2) > 1e-3 * np.var(y)


@pytest.mark.parametrize("suite", ["altered-laws"])
def test_the_script_makes_the_files_again(suite: str, tmp_path: Path) -> None:
    made_laws.main([suite, "--out", str(tmp_path)])
    for file in (ROOT / "datasets" / "srsd" / suite).glob("*.toml"):
        assert (tmp_path / suite / file.name).read_text(encoding="utf-8") == file.read_text(
            encoding="utf-8"
        )
