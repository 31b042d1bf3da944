"""Expression trees that never change, so that a child shares what it did not alter.

A crossover or a mutation makes new nodes on the way from the root to the place of change only;
all else is the parents' own nodes, whose values may be known already.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = [
    "FUNCTIONS",
    "Node",
    "TreeFunction",
    "alter_constant",
    "at",
    "columns",
    "constants",
    "evaluate",
    "put",
    "with_constants",
]

CONSTANT, VARIABLE = "constant", "variable"


@dataclass(frozen=True, slots=True)
class TreeFunction:
    """A function of real numbers, without protection: where it has no value it gives none."""

    name: str
    arity: int
    numpy: Callable[..., Any]


def _cube(x: Any) -> Any:
    return x * x * x


FUNCTIONS = {
    function.name: function
    for function in (
        TreeFunction("add", 2, np.add),
        TreeFunction("sub", 2, np.subtract),
        TreeFunction("mul", 2, np.multiply),
        TreeFunction("div", 2, np.divide),
        TreeFunction("neg", 1, np.negative),
        TreeFunction("sin", 1, np.sin),
        TreeFunction("cos", 1, np.cos),
        TreeFunction("tan", 1, np.tan),
        TreeFunction("atan", 1, np.arctan),
        TreeFunction("tanh", 1, np.tanh),
        TreeFunction("exp", 1, np.exp),
        TreeFunction("log", 1, np.log),
        TreeFunction("sqrt", 1, np.sqrt),
        TreeFunction("square", 1, np.square),
        TreeFunction("cube", 1, _cube),
    )
}
"""All functions that a method may be given, by name."""


class Node:
    """A node with all that is below it.

    Attributes
    ----------
    name
        Name of its function, or ``constant`` or ``variable``.
    numpy
        The function that evaluates it; None for a leaf.
    children
        None, one or two nodes.
    value
        Value of a constant; the column of a variable.
    size, depth
        Nodes, and levels, from here down.
    constants
        Number of constants here and below.
    """

    __slots__ = ("children", "constants", "depth", "name", "numpy", "size", "value")

    def __init__(
        self, name: str, children: tuple[Node, ...] = (), value: float | None = None
    ) -> None:
        self.name = name
        self.children = children
        self.value = value
        self.numpy = FUNCTIONS[name].numpy if children else None
        if not children:
            self.size = self.depth = 1
            self.constants = int(name == CONSTANT)
        elif len(children) == 1:
            (only,) = children
            self.size = only.size + 1
            self.depth = only.depth + 1
            self.constants = only.constants
        else:
            left, right = children
            self.size = left.size + right.size + 1
            self.depth = max(left.depth, right.depth) + 1
            self.constants = left.constants + right.constants

    @classmethod
    def constant(cls, value: float) -> Node:
        """Make a number."""
        return cls(CONSTANT, value=value)

    @classmethod
    def variable(cls, column: int) -> Node:
        """Make the variable in that column of the data."""
        return cls(VARIABLE, value=column)

    @property
    def own(self) -> float:
        """The value of a leaf.

        Raises
        ------
        TypeError
            If this is none.
        """
        if self.value is None:
            raise TypeError(f"{self.name} has no value of its own")
        return self.value

    def __repr__(self) -> str:
        if not self.children:
            return f"x{self.value}" if self.name == VARIABLE else repr(self.value)
        return f"{self.name}({', '.join(map(repr, self.children))})"


def evaluate(tree: Node, X: Array) -> Array:
    """Evaluate a tree on the rows of `X` (n, d); return (n,), not finite where it has no value."""
    with np.errstate(all="ignore"):
        return np.array(np.broadcast_to(_values(tree, X), len(X)), dtype=np.float64)


def _values(tree: Node, X: Array) -> Any:
    if tree.numpy is None:
        return tree.value if tree.name == CONSTANT else X[:, int(tree.own)]
    return tree.numpy(*(_values(child, X) for child in tree.children))


def at(tree: Node, position: int) -> Node:
    """Return the node at a position in the order root, left, right; the root is at 0."""
    while position:
        position -= 1
        children = tree.children
        tree = children[0]
        if position >= tree.size:
            position -= tree.size
            tree = children[1]
    return tree


def put(tree: Node, position: int, new: Node) -> Node:
    """Return the tree that has `new` in the place of the node at a position."""
    if position == 0:
        return new
    position -= 1
    if len(tree.children) == 1:
        return Node(tree.name, (put(tree.children[0], position, new),))
    left, right = tree.children
    if position < left.size:
        return Node(tree.name, (put(left, position, new), right))
    return Node(tree.name, (left, put(right, position - left.size, new)))


def constants(tree: Node) -> Iterator[float]:
    """Yield the constants from left to right."""
    if tree.name == CONSTANT:
        yield float(tree.own)
    elif tree.constants:
        for child in tree.children:
            yield from constants(child)


def columns(tree: Node) -> Iterator[int]:
    """Yield the columns of the variables from left to right."""
    if tree.name == VARIABLE:
        yield int(tree.own)
    for child in tree.children:
        yield from columns(child)


def alter_constant(tree: Node, number: int, change: Callable[[float], float]) -> Node:
    """Return the tree with another value of one constant, counted from the left."""
    if tree.name == CONSTANT:
        return Node.constant(change(float(tree.own)))
    if len(tree.children) == 1:
        return Node(tree.name, (alter_constant(tree.children[0], number, change),))
    left, right = tree.children
    if number < left.constants:
        return Node(tree.name, (alter_constant(left, number, change), right))
    return Node(tree.name, (left, alter_constant(right, number - left.constants, change)))


def with_constants(tree: Node, values: Sequence[float]) -> Node:
    """Return the tree with other constants, from left to right."""
    return _with_constants(tree, iter(values))


def _with_constants(tree: Node, values: Iterator[float]) -> Node:
    if not tree.constants:
        return tree
    if tree.name == CONSTANT:
        value = next(values)
        return tree if value == tree.value else Node.constant(value)
    children = tuple(_with_constants(child, values) for child in tree.children)
    if all(new is old for new, old in zip(children, tree.children, strict=True)):
        return tree
    return Node(tree.name, children)
