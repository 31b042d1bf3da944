"""The oracle is Python's own reading of a formula, with mpmath's numbers of 120 digits."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import mpmath
import numpy as np
import pytest
from harness import ROOT

from eqverdict import parse
from eqverdict.compensated_eval import correctly_rounded_values
from eqverdict.grammar import read
from mdbench.datatypes.srsd.laws import draw, read_problem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

FILES = sorted((ROOT / "datasets" / "srsd").glob("*.toml"))
_NUMBER = re.compile(r"(?<![\w.])(\d+\.?\d*(?:e[-+]?\d+)?)(?![\w.])", re.IGNORECASE)
NAMES = (
    "sin",
    "cos",
    "tan",
    "exp",
    "log",
    "sqrt",
    "sinh",
    "cosh",
    "tanh",
    "asin",
    "acos",
    "atan",
    "asinh",
    "atanh",
    "acosh",
)


def by_mpmath(text: str, columns: Mapping[str, Array], rows: Sequence[int]) -> list[float]:
    """Work rows out with 120 digits, which is more than any of these cancels."""
    code = _NUMBER.sub(r"mpf('\1')", text)
    with mpmath.workdps(120):
        words: dict[str, Any] = {name: getattr(mpmath, name) for name in NAMES}
        words |= {"mpf": mpmath.mpf, "pi": +mpmath.pi, "abs": abs, "max": max, "min": min}
        words |= {"cot": mpmath.cot, "sign": mpmath.sign, "square": lambda x: x * x}
        found = []
        for row in rows:
            point = {name: mpmath.mpf(float(column[row])) for name, column in columns.items()}
            found.append(float(eval(code, {"__builtins__": {}}, words | point)))
    return found


def values(text: str, **columns: Sequence[float] | Array) -> Array:
    arrays = {name: np.asarray(column, np.float64) for name, column in columns.items()}
    return correctly_rounded_values(read(text, tuple(arrays)), arrays)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_targets_of_the_laws_are_rounded_once(path: Any) -> None:
    problem = read_problem(path)
    x, y = draw(problem, problem.law, 10_000)
    columns = dict(zip(problem.spreads, x.T, strict=True))
    # The rows where double precision is worst are among those that are looked at.
    with np.errstate(all="ignore"):
        off = np.abs(parse(problem.law, problem.spreads).evaluate(columns) / y - 1.0)
    rows = [*range(0, 10_000, 1_000), *np.argsort(off)[-10:].tolist()]
    assert y[rows].tolist() == by_mpmath(problem.law, columns, rows)


WRITTEN = [
    "x0 + x1 - x0",
    "x0*x1/(x0 + 3)",
    "x0**5 - 0.1*x1**-3",
    "abs(x0)**1.5 + 0.3",
    "abs(x1)**0.3",
    "abs(x1)**x0",
    "sqrt(abs(x0*x1)) - 1",
    "exp(x0) - 1",
    "1 - cos(x0/1000)",
    "1 - cos(x0)*cos(x0) - sin(x0)**2 + x1",
    "sin(x0) + cos(100*x1)",
    "tan(x0)*cot(x1)",
    "log(abs(x0)) - log(abs(x1))",
    "log(1 + x1**2/10**9)",
    "sinh(x0) + cosh(x1)",
    "tanh(x0)*tanh(30*x1)",
    "max(x0, x1) - min(x0, 2*x1)",
    "sign(x0)*abs(x1)",
    "exp(-x0**2)*pi",
    "2*x0 - 2*x0*cos(x1/10**6)",
    "atan(x0) + asin(x1/100)",
    "atan(100000*x0)*acos(x1/20) - atan(x1/1000)",
    "asinh(x0) - atanh(x1/20) + acosh(2 + abs(x0))",
    "exp(600 + x0)*exp(-600)",
    "x0*1e-250*x1**3*1e-50*1e280",
    "exp(-x0**2*1000)*x1",
]


@pytest.mark.parametrize("text", WRITTEN)
def test_every_value_is_the_nearest_double(text: str) -> None:
    generator = np.random.default_rng(len(text))
    size = 10.0 ** generator.uniform(-4, 1, (2, 60))
    x0, x1 = size * generator.choice([-1.0, 1.0], (2, 60))
    columns = {"x0": x0, "x1": x1}
    assert values(text, **columns).tolist() == by_mpmath(text, columns, range(60))


def test_cancelling_leaves_what_is_there() -> None:
    x = [1e-3, 1e-9, 1e-30, 1e-100]
    np.testing.assert_allclose(values("2*(1 - cos(x))/x**2", x=x), 1.0, rtol=1e-6)
    np.testing.assert_allclose(values("(exp(x) - 1)/x", x=x[1:]), 1.0, rtol=1e-8)
    np.testing.assert_allclose(values("(exp(x) - exp(-x))/x", x=x[1:]), 2.0, rtol=1e-8)
    assert values("sin(x)**2 + cos(x)**2 - 1", x=[0.1, 7.0, 1e5]).tolist() == [0.0] * 3
    assert values("x + 1 - x", x=[1e300, 1.0]).tolist() == [1.0, 1.0]


def test_there_is_no_value_where_there_is_none() -> None:
    assert np.isnan(values("sqrt(x)", x=[-1.0, -1e-300])).all()
    assert np.isnan(values("log(x)", x=[-1.0, 0.0])).all()
    assert np.isnan(values("1/(x - 1)", x=[1.0])).all()
    assert np.isnan(values("sqrt(1 - x**2)", x=[1.0 + 2.0**-52])).all()
    assert values("sqrt(1 - x**2)", x=[1.0]).tolist() == [0.0]
    assert values("0*x + 3", x=[1.0, 2.0]).tolist() == [3.0, 3.0]
    assert values("x**0 + 0.1", x=[0.0]).tolist() == [1.1]
    assert values("exp(x)", x=[-1e5, 0.0]).tolist() == [0.0, 1.0]
    assert values("exp(x)", x=[1e5]).tolist() == [math.inf]


@pytest.mark.parametrize("name", ["sin", "cos", "tan", "exp", "sinh", "tanh", "atan", "log"])
def test_a_row_beyond_all_bounds_is_no_trouble_for_the_others(name: str) -> None:
    x = np.array([0.75, 1e4, 1e60, 1e155, 1.7e308, math.inf, math.nan])
    found = correctly_rounded_values(read(f"{name}(x)", ["x"]), {"x": x})
    alone = correctly_rounded_values(read(f"{name}(x)", ["x"]), {"x": x[:2]})
    assert found[:2].tolist() == alone.tolist() == by_mpmath(f"{name}(x)", {"x": x}, [0, 1])
    bounded = found[2:5][~np.isnan(found[2:5])]
    if name in {"sin", "cos", "tanh"}:
        assert (np.abs(bounded) <= 1.0).all()


def test_numbers_are_the_decimals_that_they_say() -> None:
    assert values("0.1*x - 0.3", x=[3.0]).tolist() == [0.0]
    wanted = by_mpmath("x/3 - 0.1", {"x": np.array([0.3])}, [0])
    assert values("x/3 - 0.1", x=[0.3]).tolist() == wanted


def test_an_answer_may_not_take_all_day() -> None:
    x = np.linspace(1e-9, 1e-8, 1_000)
    text = "+".join(["asinh(x)"] * 300)
    found = correctly_rounded_values(read(text, ("x",)), {"x": x}, most_work=1_000)
    assert np.isnan(found).all()  # else a hundred thousand values are worked out
    cancelled = correctly_rounded_values(read("2 - 2*cos(x)", ("x",)), {"x": x}, most_work=0)
    np.testing.assert_allclose(cancelled, x**2, rtol=1e-10)
