"""The tables that PySR writes while it searches: the best equation found of each complexity."""

from __future__ import annotations

import ast
import csv
import io
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["TableRow", "in_python", "read_table"]

_COLUMNS = ("Complexity", "Loss", "Equation")
_SINGLE = re.compile(r"(?<![\w.])(\d+\.?\d*|\.\d+)f([+-]?\d+)")
"""Numbers of Julia's single precision: 1.5f-3."""
_WRITTEN_OUT = {"square": "({0})**2", "cube": "({0})**3", "inv": "1/({0})", "neg": "-({0})"}
_FUNCTIONS = {
    *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh"),
    *("exp", "log", "sqrt", "abs"),
}
_OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**"}


@dataclass(frozen=True)
class TableRow:
    """One row: an equation in Python syntax, its loss, and PySR's own count of its nodes."""

    complexity: int
    loss: float
    equation: str


def read_table(file: Path, names: Sequence[str]) -> list[TableRow]:
    """Read a table; rows that are not finite, or that were cut in mid-writing, are left out.

    Parameters
    ----------
    file
        ``hall_of_fame.csv``.  PySR writes a copy, ``hall_of_fame.csv.bak``, after it; where there
        is one it is read instead, for it is whole.
    names
        The names of the variables ``x0``, ``x1``, ... .
    """
    copy = file.with_name(file.name + ".bak")
    try:
        text = (copy if copy.is_file() else file).read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    rows = []
    for line in csv.DictReader(io.StringIO(text)):
        try:
            complexity, loss, equation = (line[column] for column in _COLUMNS)
            row = TableRow(int(complexity), _number(loss), in_python(equation, names))
        except (KeyError, TypeError, ValueError):
            continue
        if 0 <= row.loss < float("inf"):
            rows.append(row)
    return rows


def in_python(equation: str, names: Sequence[str]) -> str:
    """Write one of PySR's equations in Python syntax.

    Parameters
    ----------
    names
        The names of the variables ``x0``, ``x1``, ... .

    Raises
    ------
    ValueError
        If it is none, or has a function that the bench does not have.

    Examples
    --------
    >>> in_python("square(x0) ^ 1.5f-3 - inv(x1)", ["v", "w"])
    '((((v)**2) ** 0.0015) - (1/(w)))'
    """
    variables = {f"x{place}": name for place, name in enumerate(names)}
    text = _SINGLE.sub(r"\1e\2", equation).replace("^", "**").strip()
    try:
        return _written(ast.parse(text, mode="eval").body, variables)
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(f"{equation[:80]!r} is no equation") from error


def _written(node: ast.expr, variables: dict[str, str]) -> str:
    match node:
        case ast.Constant(value=bool() | str() | bytes() | complex()):
            pass
        case ast.Constant(value=int() | float() as value):
            return repr(float(value))
        case ast.Name(id=name) if name in variables:
            return variables[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return f"(-{_written(operand, variables)})"
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _OPERATORS:
            sign = _OPERATORS[type(operator)]
            return f"({_written(left, variables)} {sign} {_written(right, variables)})"
        case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]):
            inner = _written(argument, variables)
            if name in _WRITTEN_OUT:
                return f"({_WRITTEN_OUT[name].format(inner)})"
            if name in _FUNCTIONS:
                return f"{name}({inner})"
    raise ValueError(f"{ast.unparse(node)[:80]!r} has no meaning here")


def _number(text: str) -> float:
    return float(_SINGLE.sub(r"\1e\2", text))
