"""Equations that packages write as text: read, put into the problem's names, and evaluated.

Nothing of the text is executed before it was read node by node.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["in_names", "values"]

_LONGEST = 20_000
"""Characters of the longest text that is read."""
_CALLS = {
    **{name: name for name in ("sin", "cos", "tan", "asin", "acos", "atan")},
    **{name: name for name in ("sinh", "cosh", "tanh", "exp", "log", "sqrt", "abs")},
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "Abs": "abs",
    "ln": "log",
}
"""Functions as packages call them, and as the bench does."""
_WRITTEN_OUT = {
    "neg": "(-({0}))",
    "inv": "(1/({0}))",
    "id": "({0})",
    "pow2": "(({0})**2)",
    "square": "(({0})**2)",
    "n2": "(({0})**2)",
    "pow3": "(({0})**3)",
    "cube": "(({0})**3)",
    "n3": "(({0})**3)",
    "n4": "(({0})**4)",
}
_PAIRS = {"pow": "**", "add": "+", "sub": "-", "mul": "*", "div": "/"}
_OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**"}
_CONSTANTS = {"pi": np.pi, "E": np.e}
_FUNCTIONS = {
    **{name: getattr(np, name) for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "abs": np.abs,
}


def in_names(
    text: str, names: Mapping[str, str | float], calls: Mapping[str, str] | None = None
) -> str:
    """Write an equation in the bench's grammar, and in other names.

    Parameters
    ----------
    text
        In the syntax of Python or SymPy; ``^`` is a power.
    names
        For each name in it its replacement: a variable of the problem, or a number.
    calls
        Texts of functions of one argument that mean something else than their names,
        such as ``log(abs({0}))`` for a protected ``log``.

    Raises
    ------
    ValueError
        If it is no equation, has another name or a function that the bench does not have, or a
        number that is not finite.

    Examples
    --------
    >>> in_names("-pow2(x_0) + c*ln(x_1)^2", {"x_0": "v", "x_1": "w", "c": 0.5})
    '((-((v)**2)) + (0.5 * (log(w) ** 2)))'
    """
    if len(text) > _LONGEST:
        raise ValueError(f"an equation of {len(text)} characters is too long to be read")
    try:
        whole = ast.parse(text.replace("^", "**").strip(), mode="eval").body
        return _written(whole, names, _WRITTEN_OUT | dict(calls or {}))
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(f"{text[:80]!r} is no equation") from error


def values(equation: str, variables: Sequence[str], X: Array) -> Array:
    """Evaluate an equation that `in_names` has written, and so checked; return (n,).

    Parameters
    ----------
    variables
        The names of the columns of `X`, which is (n, len(variables)).
    """
    known = {**_CONSTANTS, **_FUNCTIONS, **dict(zip(variables, X.T, strict=True))}
    with np.errstate(all="ignore"):
        found = eval(equation, {"__builtins__": {}}, known)  # noqa: S307
    return np.array(np.broadcast_to(np.asarray(found, dtype=np.float64), (len(X),)))


def _written(node: ast.expr, names: Mapping[str, str | float], calls: Mapping[str, str]) -> str:
    match node:
        case ast.Constant() | ast.Name():
            text = _leaf(node, names)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            text = f"(-{_written(operand, names, calls)})"
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            text = _written(operand, names, calls)
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _OPERATORS:
            sign = _OPERATORS[type(operator)]
            text = f"({_written(left, names, calls)} {sign} {_written(right, names, calls)})"
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
            text = _call(name, [_written(part, names, calls) for part in arguments], calls)
        case _:
            text = None
    if text is None:
        raise ValueError(f"{ast.unparse(node)[:80]!r} has no meaning here")
    return text


def _leaf(node: ast.Constant | ast.Name, names: Mapping[str, str | float]) -> str | None:
    if isinstance(node, ast.Constant):
        known = isinstance(node.value, int | float) and not isinstance(node.value, bool)
        return _number(node.value) if known else None  # type: ignore[arg-type]
    meaning = names.get(node.id, node.id if node.id in _CONSTANTS else None)
    return _number(meaning) if isinstance(meaning, int | float) else meaning


def _call(name: str, arguments: Sequence[str], calls: Mapping[str, str]) -> str | None:
    if len(arguments) == 1 and name in calls:
        return calls[name].format(*arguments)
    if len(arguments) == 1 and name in _CALLS:
        return f"{_CALLS[name]}({arguments[0]})"
    if len(arguments) == 2 and name in _PAIRS:  # noqa: PLR2004
        return f"({arguments[0]} {_PAIRS[name]} {arguments[1]})"
    return None


def _number(value: float) -> str:
    number = float(value)
    if not np.isfinite(number):
        raise ValueError(f"{value} is no number")
    text = repr(int(value)) if number.is_integer() and abs(number) < 1e15 else repr(number)  # noqa: PLR2004
    return f"({text})" if number < 0 else text
