"""The reference: applies the operation, and compares the candidate with the result.

It reads trees, not texts, and has its own operators, so that the code that made the data is tested
by other code.  Constants of integration are not named beforehand: any letter that is new will do.
"""

from __future__ import annotations

import ast
import json
from functools import lru_cache
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy
from sympy.core.function import AppliedUndef
from sympy.integrals.manualintegrate import manualintegrate

from mdbench.worker import Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from mdbench.worker import Problem

    Array = NDArray[np.float64]
    Pair = tuple[Any, Any]

_MAKERS: dict[str, Callable[..., Any]] = {
    "Symbol": sympy.Symbol,
    "Function": sympy.Function,
    "Integer": sympy.Integer,
    "Rational": sympy.Rational,
    "Add": sympy.Add,
    "Mul": sympy.Mul,
    "Pow": sympy.Pow,
    "sin": sympy.sin,
    "cos": sympy.cos,
    "exp": sympy.exp,
    "log": sympy.log,
    "Tuple": sympy.Tuple,
    "Derivative": sympy.Derivative,
    "Integral": sympy.Integral,
}
_BOTH_SIDES: dict[str, Callable[[Any, Any], Any]] = {
    "cos": lambda side, _: sympy.cos(side),
    "sin": lambda side, _: sympy.sin(side),
    "exp": lambda side, _: sympy.exp(side),
    "log": lambda side, _: sympy.log(side),
    "expand": lambda side, _: sympy.expand(side),
    "evaluate_derivatives": lambda side, _: _with_derivatives(side),
    "add": lambda side, operand: side + operand,
    "minus": lambda side, operand: side - operand,
    "times": lambda side, operand: side * operand,
    "divide": lambda side, operand: side / operand,
    "power": lambda side, operand: side**operand,
    "differentiate": sympy.Derivative,
    "integrate": sympy.Integral,
}
_LARGEST_INTEGRAND = 60
_NOUGHT = 1e-9


class Adapter:
    """Learns nothing; predicts 1 for a candidate that the operation gives, and 0 for all others."""

    def __init__(self, *, seed: int, threads: int) -> None:
        del seed, threads

    def fit(self, problem: Problem) -> None:
        """Check that there are trees, and labels.

        Raises
        ------
        Unsupported
            If the sequences come without trees.
        ValueError
            If the labels are not 0 and 1.
        """
        if "trees" not in problem.arrays:
            raise Unsupported("these sequences come without trees")
        if not np.isin(problem.Y, (0.0, 1.0)).all():
            raise ValueError("the labels are not 0 and 1")

    def predict(self, problem: Problem) -> Array:
        """Return for each candidate whether the operation gives it, (n, 1)."""
        found = [is_result(json.loads(bytes(tree).decode())) for tree in problem.trees]
        return np.array(found, dtype=np.float64)[:, None]

    def equations(self) -> list[str]:
        """There are none."""
        return []


def is_result(asked: dict[str, Any]) -> bool:
    """Return whether a candidate is what the operation gives."""
    if "task" in asked:
        return _calculates(asked)
    equations = [(read(step["lhs"]), read(step["rhs"])) for step in asked["steps"]]
    candidate = read(asked["lhs"]), read(asked["rhs"])
    if asked["op"] == "renaming_premise":
        return _is_renaming(candidate, equations) or _is_renaming(candidate[::-1], equations)
    operand = None if asked["operand"] is None else read(asked["operand"])
    first, *more = (equations[ref - 1] for ref in asked["refs"])
    if asked["op"] == "evaluate_integrals":
        return _is_integrated(first, candidate, equations)
    if asked["op"].startswith("substitute"):
        old, new = more[0] if asked["op"] == "substitute_LHS_for_RHS" else more[0][::-1]
        return _same(_replaced(first, {old: new}), candidate)
    act = _BOTH_SIDES[asked["op"]]
    return _same((act(first[0], operand), act(first[1], operand)), candidate)


def _is_renaming(candidate: Pair, known: Sequence[Pair]) -> bool:
    """Return whether a new function of all its symbols stands for a part of a known equation."""
    defined, body = candidate
    parts = {part for sides in known for side in sides for part in sympy.preorder_traversal(side)}
    used = {part.func.__name__ for part in parts if isinstance(part, AppliedUndef)}
    used |= {part.name for part in parts if part.is_Symbol}
    return (
        isinstance(defined, AppliedUndef)
        and defined.func.__name__ not in used
        and set(defined.args) == body.free_symbols
        and body in parts
    )


@lru_cache(maxsize=20_000)
def read(text: str) -> Any:
    """Read an expression: calls of `_MAKERS`, and nothing else."""
    return _built(ast.parse(text, mode="eval").body)


def _built(node: ast.AST) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_built(node.operand)
    if not isinstance(node, ast.Call):
        raise ValueError(f"{ast.unparse(node)[:60]} is no expression")  # noqa: TRY004 - a text is wrong
    arguments = map(_built, node.args)
    if isinstance(node.func, ast.Name):
        return _MAKERS[node.func.id](*arguments)
    return _built(node.func)(*arguments)


def _same(one: Pair, other: Pair) -> bool:
    """Compare, whatever the order in which derivatives were taken."""
    return one == other or _in_order(one) == _in_order(other)


def _in_order(sides: Pair) -> Pair:
    left, right = (
        side.replace(
            lambda part: isinstance(part, sympy.Derivative),
            lambda part: sympy.Derivative(
                part.expr, *sorted(part.variables, key=lambda each: str(each.name))
            ),
        )
        for side in sides
    )
    return left, right


def _replaced(sides: Pair, new: dict[Any, Any]) -> Pair:
    return sides[0].xreplace(new), sides[1].xreplace(new)


def _with_derivatives(side: Any) -> Any:
    """Work out all outermost derivatives without integrals in them."""
    found = {part: part.doit() for part in _outermost(side)}
    return side.xreplace(found)


def _outermost(expr: Any) -> Iterator[Any]:
    if isinstance(expr, sympy.Derivative) and not expr.has(sympy.Integral):
        yield expr
        return
    for part in expr.args:
        yield from _outermost(part)


def _is_integrated(before: Pair, after: Pair, known: Sequence[Pair]) -> bool:
    """Return whether integrals were evaluated, each with a constant that is new."""
    integrals = list(
        dict.fromkeys(
            part
            for side in before
            for part in sympy.preorder_traversal(side)
            if isinstance(part, sympy.Integral)
        )
    )
    if any(len(one.limits) > 1 or one.function.has(sympy.Integral) for one in integrals):
        return False
    primitives = {one: _primitive(one) for one in integrals}
    worked_out = [one for one in integrals if primitives[one] is not None]
    old = {name for sides in known for side in sides for name in side.free_symbols}
    new = sorted((after[0].free_symbols | after[1].free_symbols) - old, key=str)
    if len(new) != len(worked_out):
        return False
    for constants in permutations(new):
        values = {
            one: primitives[one] + constant
            for one, constant in zip(worked_out, constants, strict=True)
        }
        if _same(_replaced(before, values), after):
            return True
    return False


@lru_cache(maxsize=20_000)
def _primitive(integral: Any) -> Any:
    """Integrate by rules; None where the answer is not elementary."""
    body, variable = integral.function, integral.limits[0][0]
    if sum(1 for _ in _nodes(body)) > _LARGEST_INTEGRAND:
        return None
    order = sorted(body.free_symbols - {variable}, key=lambda each: (_place(body, each), each.name))
    plain = {variable: sympy.Symbol("x0")}
    plain |= {each: sympy.Symbol(f"x{n}") for n, each in enumerate(order, 1)}
    try:
        found = manualintegrate(body.xreplace(plain), plain[variable])
    except (
        ArithmeticError, AttributeError, NotImplementedError, RecursionError, TypeError, ValueError
    ):  # fmt: skip
        return None
    if found.has(sympy.Integral) or not all(map(_is_elementary, sympy.preorder_traversal(found))):
        return None
    return found.xreplace({new: old for old, new in plain.items()})


def _nodes(expr: Any) -> Iterator[Any]:
    yield expr
    for part in expr.args:
        yield from _nodes(part)


def _place(body: Any, name: Any) -> tuple[int, ...]:
    """Return the positions of a symbol in an expression, independently of its name."""
    depths: list[int] = []

    def walk(expr: Any, depth: int) -> None:
        if expr == name:
            depths.append(depth)
        for part in expr.args:
            walk(part, depth * 31 + sum(map(ord, type(part).__name__)))

    walk(body, 1)
    return tuple(sorted(depths))


def _is_elementary(part: Any) -> bool:
    known = (sympy.Add, sympy.Mul, sympy.Pow, sympy.sin, sympy.cos, sympy.exp, sympy.log)
    return (
        isinstance(part, (*known, sympy.Tuple, sympy.Derivative, AppliedUndef))
        or part.is_Symbol
        or bool(getattr(part, "is_Rational", False))
    )


def _calculates(asked: dict[str, Any]) -> bool:
    body, variable, candidate = (
        read(asked[name]) for name in ("expression", "variable", "candidate")
    )
    if asked["task"] == "differentiate":
        return _is_zero(sympy.diff(body, variable) - candidate)
    # Any antiderivative is right, and its derivative shows that it is one.
    return _is_zero(sympy.diff(candidate, variable) - body)


def _is_zero(expr: Any) -> bool:
    """Return whether an expression is zero, tested by numbers."""
    if expr == 0:
        return True
    names = sorted(expr.free_symbols, key=str)
    generator = np.random.default_rng(0)
    seen = False
    for _ in range(8):
        point = {name: sympy.Float(generator.uniform(0.5, 1.6), 30) for name in names}
        value = complex(expr.xreplace(point).evalf(20))
        if not np.isfinite(value):
            continue
        seen = True
        if abs(value) > _NOUGHT:
            return False
    return seen
