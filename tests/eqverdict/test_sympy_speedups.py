from __future__ import annotations

import random
import subprocess
import sys
from itertools import chain
from textwrap import dedent
from typing import Any

import pytest
import sympy
from harness import ROOT
from sweeps import sampled

from eqverdict import sympy_speedups as module
from eqverdict.equation import to_sympy
from eqverdict.grammar import read
from eqverdict.sympy_speedups import shortcuts
from eqverdict.sympy_worker import plain_symbols
from mdbench.datatypes.srsd.laws import read_problem
from mdbench.errors import EquationError

LAWS = [read_problem(path) for path in sorted((ROOT / "datasets" / "srsd").glob("*.toml"))]
NAMES = ["x", "y", "z"]
FORMS = (
    *("{a} + {b}", "{a}*({b})", "({a})/({b})", "({a})**2", "({a})**-2", "sqrt({a})"),
    *("sin({a})", "cos({a})", "tan({a})", "exp({a})", "log({a})", "cosh({a})", "tanh({a})"),
    # Where identities have something to find.
    *("sin({a})**2 + cos({a})**2", "exp({a}) - exp(-({a}))", "sin({a})/cos({a})", "sin(2*({a}))"),
)


def drawn(generator: random.Random, depth: int) -> str:
    if depth == 0 or generator.random() < 0.15:
        return generator.choice(["x", "y", "z", "2", "0.37"])
    a, b = (drawn(generator, depth - 1) for _ in "ab")
    return f"({generator.choice(FORMS).format(a=a, b=b)})"


def sympys(text: str, names: Any) -> Any:
    """Return an equation as the canonical form has it before it is simplified."""
    expression = to_sympy(read(text, names), plain_symbols(names))
    return expression.subs(sympy.pi, sympy.pi.evalf()).evalf().factor()


def spared(expression: Any) -> Any:
    with shortcuts():
        return expression.simplify()


@pytest.mark.parametrize("problem", sampled(LAWS), ids=lambda problem: problem.name)
def test_laws_are_simplified_to_what_sympy_makes_of_them(problem: Any) -> None:
    expression = sympys(problem.law, problem.spreads)
    assert spared(expression) == expression.simplify()


@pytest.mark.parametrize("seed", range(4))
def test_drawn_equations_are_simplified_to_what_sympy_makes_of_them(seed: int) -> None:
    generator = random.Random(seed)
    compared = 0
    while compared < 10:
        text = drawn(generator, generator.choice((2, 2, 3)))
        try:
            expression = sympys(text, NAMES)
        except EquationError:
            continue  # a constant without a value, such as log(-1)
        assert spared(expression) == expression.simplify(), text
        compared += 1


@pytest.mark.parametrize(
    ("text", "simple"),
    [
        ("sin(x)**2 + cos(x)**2", "1"),
        ("sin(x)/cos(x)", "tan(x)"),
        ("x*sin(y)/(cos(y)*z)", "x*tan(y)/z"),
        ("sin(x)*cos(y) + cos(x)*sin(y)", "sin(x + y)"),
        ("cos(x)*cos(y) - sin(x)*sin(y)", "cos(x + y)"),
        ("(1 - cos(x))*(1 + cos(x))", "sin(x)**2"),
        ("2*sin(x)*cos(x)", "sin(2*x)"),
        ("1/tan(x)**2 + 1", "sin(x)**(-2)"),
        ("exp(x) + exp(-x)", "2*cosh(x)"),
        ("exp(x*y)/2 - exp(-x*y)/2", "sinh(x*y)"),
        ("cosh(x) - sinh(x)", "exp(-x)"),
        ("(exp(x) - 1)/(exp(x) + 1)", "tanh(x/2)"),
    ],
)
def test_identities_are_found_as_before(text: str, simple: str) -> None:
    expression = sympy.sympify(text)
    assert spared(expression) == sympy.sympify(simple) == expression.simplify()


def test_half_angles_of_squares_are_left_to_sympy() -> None:
    # Shorter by SymPy's count: the square of the sine of a half is a cosine of the whole.
    expression = sympy.sympify("x*sin(y*z/2)**2/sin(y/2)**2")
    assert spared(expression) == expression.simplify()


def test_primes_are_sympys() -> None:
    """As far as a sieve goes, numbers that simpler tests take for primes, and large ones."""
    small = [n for n in range(-5, 2_000) if module._is_prime(n)]
    assert small == list(sympy.primerange(2_000))
    deceiving = [561, 2_047, 1_373_653, 3_215_031_751, 3_825_123_056_546_413_051]
    large = [2**127 - 1, 2**521 - 1, (2**127 - 1) * (2**89 - 1), 2**2_203 - 1, 2**2_203 + 1]
    wanted = [False] * 5 + [True, True, False, True, False]
    assert [module._is_prime(n) for n in deceiving + large] == wanted
    with shortcuts():
        assert sympy.nextprime(2**300) == 2**300 + 157


def test_there_is_less_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[Any] = []
    bottom_up = module._FU.bottom_up

    def remember(*arguments: Any) -> Any:
        tried.append(arguments)
        return bottom_up(*arguments)

    monkeypatch.setattr(module._FU, "bottom_up", remember)
    expression = sympys("x*sin(y*sin(z)) + 0.37*exp(-x**2)*sin(y)", NAMES)
    expression.simplify()
    before = len(tried)
    tried.clear()
    spared(expression)
    assert len(tried) < before / 4


def patched() -> list[Any]:
    modules = (*module._REMEMBERED, module._FU, module._GENERATE)
    return list(chain.from_iterable(vars(each).values() for each in modules))


def test_sympy_is_as_it_was_afterwards() -> None:
    before = patched()
    changed = []

    def interrupted() -> None:
        with shortcuts():
            changed.append(patched() != before)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        interrupted()
    assert changed == [True]
    assert patched() == before


def test_another_sympy_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "VERSION", "0.0")
    before = patched()
    with shortcuts():
        assert patched() == before


def test_units_and_tensors_are_loaded_only_for_more_than_their_classes() -> None:
    code = """
        import sys, sympy
        from eqverdict.sympy_worker import canonical, plain_symbols, prepare
        prepare()
        names = plain_symbols(["x", "y"])
        print(canonical(sum(names.values()) + names["x"], names))
        print([name for name in ("sympy.physics.units.util", "sympy.combinatorics")
               if name in sys.modules])
        from sympy.physics.units import convert_to, km, meter
        from sympy.tensor.tensor import TensorIndexType
        print(convert_to(3 * km, meter), TensorIndexType("L"))
    """
    done = subprocess.run(
        [sys.executable, "-c", dedent(code)], check=True, capture_output=True, text=True
    )
    assert done.stdout.splitlines() == ["2.0*x + y", "[]", "3000*meter L"]
