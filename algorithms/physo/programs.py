"""The variables, constants and units that PhySO may use, and its programs as trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trees import Node

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mdbench.worker import Problem

__all__ = ["AllowedSymbols", "allowed_symbols", "program_tree"]

_BASES = 7
_NO_DIMENSION = (0.0,) * _BASES
_BINARY = {"add", "sub", "mul", "div"}
_UNARY = {
    "n2": "square",
    "n3": "cube",
    "neg": "neg",
    "sqrt": "sqrt",
    "exp": "exp",
    "log": "log",
    "sin": "sin",
    "cos": "cos",
    "tan": "tan",
    "tanh": "tanh",
    "arctan": "atan",
}


@dataclass(frozen=True)
class AllowedSymbols:
    """The leaves of an expression, and their units for PhySO.

    Attributes
    ----------
    variables, constants
        Their names, ``x0``, ``x1``, ... and ``c00``, ``c01``, ...
    variable_units, constant_units, target_units
        Exponents of the SI's seven base units; all 0 where units are unknown.
    """

    variables: list[str]
    variable_units: list[list[float]]
    target_units: list[float]
    constants: list[str]
    constant_units: list[list[float]]


def allowed_symbols(problem: Problem, target: int, constants: int) -> AllowedSymbols:
    """Return the variables and constants that a target's expressions may consist of.

    Without units all is a pure number.  With units there is one more constant for each dimension
    that a variable or the target has: a law may have constants of any dimension, such as Kepler's,
    and every product of powers of them can then be written.
    """
    names = [f"x{place}" for place in range(len(problem.variables))]
    units = problem.units
    if units is None:
        plain = list(_NO_DIMENSION)
        variables, goal = [plain for _ in names], plain
    else:
        variables = [list(units[name]) for name in problem.variables]
        goal = list(units[problem.targets[target]])
    dimensions = [list(_NO_DIMENSION) for _ in range(constants)]
    for each in (*variables, goal):
        if any(each) and each not in dimensions:
            dimensions.append(each)
    return AllowedSymbols(
        variables=names,
        variable_units=variables,
        target_units=goal,
        constants=[f"c{place:02d}" for place in range(len(dimensions))],
        constant_units=dimensions,
    )


def program_tree(tokens: Sequence[str], leaves: AllowedSymbols, constants: Sequence[float]) -> Node:
    """Make a tree of a program in prefix order.

    Parameters
    ----------
    tokens
        Names of PhySO's tokens.
    constants
        The values of the free constants, in the order of `leaves`.

    Raises
    ------
    ValueError
        If there is another token, or they are no expression.
    """
    rest = iter(tokens)
    tree = _node(rest, leaves, constants)
    if (left := next(rest, None)) is not None:
        raise ValueError(f"{' '.join(tokens)} has ended before {left!r}")
    return tree


def _node(rest: Iterator[str], leaves: AllowedSymbols, constants: Sequence[float]) -> Node:
    name = next(rest, None)
    if name is None:
        raise ValueError("the expression lacks its end")
    if name in leaves.variables:
        return Node.variable(leaves.variables.index(name))
    if name in leaves.constants:
        return Node.constant(float(constants[leaves.constants.index(name)]))
    if name in _BINARY:
        left = _node(rest, leaves, constants)
        return Node(name, (left, _node(rest, leaves, constants)))
    if name in _UNARY:
        return Node(_UNARY[name], (_node(rest, leaves, constants),))
    if name == "inv":
        return Node("div", (Node.constant(1.0), _node(rest, leaves, constants)))
    try:
        return Node.constant(float(name))
    except ValueError:
        raise ValueError(f"{name!r} is no token that is known here") from None
