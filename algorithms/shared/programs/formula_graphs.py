"""Formulas as graphs of numbers, variables, parameters, operators and functions.

A graph is all that is left of a program once it has been read: evaluating it runs nothing of the
program's text.  Functions are those of the bench's grammar, by its names.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = [
    "ARITIES",
    "MAX_DEPTH",
    "MAX_SIZE",
    "FormulaGraph",
    "GraphNode",
    "ProgramError",
    "evaluate_formula",
    "number",
    "parameter",
    "parameters_of",
    "settled",
    "variable",
]

NUMBER, VARIABLE, PARAMETER = "number", "variable", "parameter"
MAX_SIZE = 400
"""Nodes of a formula with all that its program has named written out."""
MAX_DEPTH = 50
"""Levels of it: the bench reads 64 nested brackets."""


class ProgramError(ValueError):
    """A program that cannot be a formula; the message has the reason."""


_BINARY: dict[str, Callable[..., Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "**": np.power,
    "max": np.maximum,
    "min": np.minimum,
}
_UNARY: dict[str, Callable[..., Any]] = {
    "neg": np.negative,
    "abs": np.abs,
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
    "cos": np.cos,
    "cosh": np.cosh,
    "exp": np.exp,
    "log": np.log,
    "sign": np.sign,
    "sin": np.sin,
    "sinh": np.sinh,
    "sqrt": np.sqrt,
    "tan": np.tan,
    "tanh": np.tanh,
}
_FUNCTIONS = _BINARY | _UNARY
ARITIES = dict.fromkeys(_BINARY, 2) | dict.fromkeys(_UNARY, 1)
"""Number of arguments of each operator and function."""


class GraphNode:
    """A node with all that is below it; it is immutable, and may be in several places.

    Attributes
    ----------
    name
        ``number``, ``variable``, ``parameter``, or one of `ARITIES`.
    parts
        Its arguments.
    value
        Value of a number; the column of a variable; the index of a parameter.
    size, depth
        Nodes, with parts that are in two places counted twice, and levels.

    Raises
    ------
    ProgramError
        If it is larger or deeper than allowed.
    """

    __slots__ = ("depth", "name", "parts", "size", "value")

    def __init__(self, name: str, parts: tuple[GraphNode, ...] = (), value: float = 0.0) -> None:
        self.name, self.parts, self.value = name, parts, value
        self.size: int = 1 + sum(part.size for part in parts)
        self.depth: int = 1 + max((part.depth for part in parts), default=0)
        if self.size > MAX_SIZE or self.depth > MAX_DEPTH:
            raise ProgramError(
                f"the formula has more than {MAX_SIZE} nodes or {MAX_DEPTH} levels, written out"
            )


def number(value: float) -> GraphNode:
    """Make a number.

    Raises
    ------
    ProgramError
        If it is not finite.
    """
    if not math.isfinite(value):
        raise ProgramError("a number in it is not finite")
    return GraphNode(NUMBER, value=float(value))


def variable(column: int) -> GraphNode:
    """Make the variable of a column."""
    return GraphNode(VARIABLE, value=column)


def parameter(index: int) -> GraphNode:
    """Make a parameter."""
    return GraphNode(PARAMETER, value=index)


def _in_order(root: GraphNode) -> Iterator[GraphNode]:
    """Yield each node once, parts first."""
    seen: set[int] = set()
    stack = [(root, False)]
    while stack:
        node, ready = stack.pop()
        if ready:
            yield node
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((part, False) for part in reversed(node.parts))


def parameters_of(root: GraphNode) -> list[int]:
    """Return the indices of the parameters in a formula, in order."""
    return sorted({int(node.value) for node in _in_order(root) if node.name == PARAMETER})


def settled(root: GraphNode, values: dict[int, float]) -> GraphNode:
    """Replace parameters by numbers, and evaluate what consists of numbers.

    A zero that is added or multiplied and a one that is multiplied are removed, too.

    Parameters
    ----------
    values
        By the index of the parameter; one that is not there stays.

    Raises
    ------
    ProgramError
        If a part is not finite.
    """
    made: dict[int, GraphNode] = {}
    for node in _in_order(root):
        if node.name == PARAMETER and int(node.value) in values:
            made[id(node)] = number(values[int(node.value)])
        elif not node.parts:
            made[id(node)] = node
        else:
            made[id(node)] = _combined(node, tuple(made[id(part)] for part in node.parts))
    return made[id(root)]


def _combined(node: GraphNode, parts: tuple[GraphNode, ...]) -> GraphNode:
    if all(part.name == NUMBER for part in parts):
        with np.errstate(all="ignore"):
            arguments = [np.float64(part.value) for part in parts]
            return number(float(_FUNCTIONS[node.name](*arguments)))
    if len(parts) == 2:  # noqa: PLR2004
        shorter = _shorter(node.name, *parts)
        if shorter is not None:
            return shorter
    unchanged = all(new is old for new, old in zip(parts, node.parts, strict=True))
    return node if unchanged else GraphNode(node.name, parts)


def _shorter(name: str, left: GraphNode, right: GraphNode) -> GraphNode | None:
    """Return the simpler form of an operation on a zero or a one, or None."""
    first = left.value if left.name == NUMBER else None
    second = right.value if right.name == NUMBER else None
    rules: dict[str, tuple[tuple[bool, GraphNode], ...]] = {
        "+": ((first == 0, right), (second == 0, left)),
        "-": ((second == 0, left),),
        "*": (
            (first == 0, left),
            (second == 0, right),
            (first == 1, right),
            (second == 1, left),
        ),
        "/": ((first == 0, left), (second == 1, left)),
        "**": ((second == 1, left),),
    }
    return next((short for holds, short in rules.get(name, ()) if holds), None)


class FormulaGraph:
    """A formula on rows of data, for many values of its parameters at once.

    Parameters
    ----------
    root
        The formula.
    X
        (n, d).
    """

    def __init__(self, root: GraphNode, X: Array) -> None:
        self.indices = parameters_of(root)
        self._rows = len(X)
        self._order = list(_in_order(root))
        self._root = root
        self._fixed: dict[int, Any] = {}
        self._moving: list[GraphNode] = []
        moving: set[int] = set()
        with np.errstate(all="ignore"):
            for node in self._order:
                if node.name == PARAMETER or any(id(part) in moving for part in node.parts):
                    moving.add(id(node))
                    self._moving.append(node)
                elif node.name == NUMBER:
                    self._fixed[id(node)] = np.float64(node.value)
                elif node.name == VARIABLE:
                    self._fixed[id(node)] = X[:, int(node.value)]
                else:
                    parts = (self._fixed[id(part)] for part in node.parts)
                    self._fixed[id(node)] = _FUNCTIONS[node.name](*parts)

    def values(self, constants: Array) -> Array:
        """Evaluate at constants (S, K), in the order of `indices`; return (S, n)."""
        with np.errstate(all="ignore"):
            found = self._evaluate(constants)[id(self._root)]
        return np.array(np.broadcast_to(found, (len(constants), self._rows)))

    def linearised(self, constants: Array) -> tuple[Array, Array]:
        """Return values (S, n), and derivatives (S, K, n) by the constants.

        Derivatives are taken by one pass from the root to the leaves.
        """
        starts = len(constants)
        slopes = np.zeros((starts, len(self.indices), self._rows))
        with np.errstate(all="ignore"):
            known = self._evaluate(constants)
            found = np.array(np.broadcast_to(known[id(self._root)], (starts, self._rows)))
            moving = {id(node) for node in self._moving}
            weights: dict[int, Any] = {id(self._root): np.float64(1.0)}
            for node in reversed(self._moving):
                weight = weights.pop(id(node))
                if node.name == PARAMETER:
                    slopes[:, self.indices.index(int(node.value))] += weight
                    continue
                arguments = [known[id(part)] for part in node.parts]
                local = _DERIVATIVES[node.name](*arguments, known[id(node)])
                for place, part in enumerate(node.parts):
                    if id(part) in moving:
                        share = weight * local[place]
                        weights[id(part)] = weights.get(id(part), 0.0) + share
        return found, slopes

    def _evaluate(self, constants: Array) -> dict[int, Any]:
        known = dict(self._fixed)
        for node in self._moving:
            if node.name == PARAMETER:
                known[id(node)] = constants[:, self.indices.index(int(node.value)), np.newaxis]
            else:
                known[id(node)] = _FUNCTIONS[node.name](*(known[id(part)] for part in node.parts))
        return known


def evaluate_formula(root: GraphNode, X: Array) -> Array:
    """Evaluate a formula without parameters on rows (n, d); return (n,)."""
    found: Array = FormulaGraph(root, X).values(np.zeros((1, 0)))[0]
    return found


def _power_slopes(base: Any, exponent: Any, value: Any) -> tuple[Any, Any]:
    inner = exponent * np.power(base, exponent - 1.0)
    outer = np.where(base > 0, value * np.log(np.where(base > 0, base, 1.0)), 0.0)
    return inner, outer


_DERIVATIVES: dict[str, Callable[..., Sequence[Any]]] = {
    "+": lambda _a, _b, _r: (1.0, 1.0),
    "-": lambda _a, _b, _r: (1.0, -1.0),
    "*": lambda a, b, _r: (b, a),
    "/": lambda _a, b, r: (1.0 / b, -r / b),
    "**": _power_slopes,
    "max": lambda a, b, _r: (1.0 * (a >= b), 1.0 * (a < b)),
    "min": lambda a, b, _r: (1.0 * (a <= b), 1.0 * (a > b)),
    "neg": lambda _a, _r: (-1.0,),
    "abs": lambda a, _r: (np.sign(a),),
    "acos": lambda a, _r: (-1.0 / np.sqrt(1.0 - a * a),),
    "acosh": lambda a, _r: (1.0 / np.sqrt(a * a - 1.0),),
    "asin": lambda a, _r: (1.0 / np.sqrt(1.0 - a * a),),
    "asinh": lambda a, _r: (1.0 / np.sqrt(a * a + 1.0),),
    "atan": lambda a, _r: (1.0 / (1.0 + a * a),),
    "atanh": lambda a, _r: (1.0 / (1.0 - a * a),),
    "cos": lambda a, _r: (-np.sin(a),),
    "cosh": lambda a, _r: (np.sinh(a),),
    "exp": lambda _a, r: (r,),
    "log": lambda a, _r: (1.0 / a,),
    "sign": lambda _a, _r: (0.0,),
    "sin": lambda a, _r: (np.cos(a),),
    "sinh": lambda a, _r: (np.cosh(a),),
    "sqrt": lambda _a, r: (0.5 / r,),
    "tan": lambda _a, r: (1.0 + r * r,),
    "tanh": lambda _a, r: (1.0 - r * r,),
}
"""Derivatives of each operator and function, given its arguments and its value."""
