"""Expression trees that never change, so that a child shares what it did not alter.

A crossover or a mutation makes new nodes on the way from the root to the place of change only;
all else is the parents' own nodes, whose values are known already (``evaluation``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from random import Random

__all__ = [
    "FUNCTIONS",
    "Function",
    "Language",
    "Node",
    "alter_constant",
    "at",
    "constants",
    "put",
    "with_constants",
]

CONSTANT, VARIABLE = "constant", "variable"


@dataclass(frozen=True, slots=True)
class Function:
    """A function of real numbers, without protection: where it has no value it gives none."""

    name: str
    arity: int
    numpy: Callable[..., Any]


def _cube(x: Any) -> Any:
    return x * x * x


FUNCTIONS = {
    function.name: function
    for function in (
        Function("add", 2, np.add),
        Function("sub", 2, np.subtract),
        Function("mul", 2, np.multiply),
        Function("div", 2, np.divide),
        Function("neg", 1, np.negative),
        Function("sin", 1, np.sin),
        Function("cos", 1, np.cos),
        Function("tan", 1, np.tan),
        Function("atan", 1, np.arctan),
        Function("tanh", 1, np.tanh),
        Function("exp", 1, np.exp),
        Function("log", 1, np.log),
        Function("sqrt", 1, np.sqrt),
        Function("square", 1, np.square),
        Function("cube", 1, _cube),
    )
}
"""All functions that a method may be given, by name."""


class Node:
    """A node with all that is below it.

    Attributes
    ----------
    name
        Of its function, or ``constant`` or ``variable``.
    numpy
        What evaluates it; None for a leaf.
    children
        None, one or two nodes.
    value
        Of a constant; the column of a variable.
    size, depth
        Nodes, and levels, from here down.
    constants
        How many constants there are here and below.
    """

    __slots__ = ("children", "constants", "depth", "name", "numpy", "size", "value")

    def __init__(
        self, name: str, children: tuple[Node, ...] = (), value: float | int | None = None
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
            self.depth = (left.depth if left.depth > right.depth else right.depth) + 1
            self.constants = left.constants + right.constants

    @classmethod
    def constant(cls, value: float) -> Node:
        """Make a number."""
        return cls(CONSTANT, value=value)

    @classmethod
    def variable(cls, column: int) -> Node:
        """Make the variable in that column of the data."""
        return cls(VARIABLE, value=column)

    def __repr__(self) -> str:
        if not self.children:
            return f"x{self.value}" if self.name == VARIABLE else repr(self.value)
        return f"{self.name}({', '.join(map(repr, self.children))})"


def at(tree: Node, position: int) -> Node:
    """Give the node at a position in the order root, left, right; the root is at 0."""
    while position:
        position -= 1
        children = tree.children
        tree = children[0]
        if position >= tree.size:
            position -= tree.size
            tree = children[1]
    return tree


def put(tree: Node, position: int, new: Node) -> Node:
    """Give the tree that has `new` in the place of the node at a position."""
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
    """Give the constants from left to right."""
    if tree.name == CONSTANT:
        yield float(tree.value)  # type: ignore[arg-type]
    elif tree.constants:
        for child in tree.children:
            yield from constants(child)


def alter_constant(tree: Node, number: int, change: Callable[[float], float]) -> Node:
    """Give the tree with another value of one constant, counted from the left."""
    if tree.name == CONSTANT:
        return Node.constant(change(float(tree.value)))  # type: ignore[arg-type]
    if len(tree.children) == 1:
        return Node(tree.name, (alter_constant(tree.children[0], number, change),))
    left, right = tree.children
    if number < left.constants:
        return Node(tree.name, (alter_constant(left, number, change), right))
    return Node(tree.name, (left, alter_constant(right, number - left.constants, change)))


def with_constants(tree: Node, values: Sequence[float]) -> Node:
    """Give the tree with other constants, from left to right."""
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


class Language:
    """Draws trees, and children of trees, in given functions and variables.

    Parameters
    ----------
    functions
        Names from `FUNCTIONS`.
    variables
        Number of columns of the data.
    max_size, max_depth
        No child is larger.
    max_initial_size
        No new tree is larger.
    random
        Where every choice comes from.
    """

    def __init__(
        self,
        functions: Sequence[str],
        variables: int,
        *,
        max_size: int,
        max_depth: int,
        max_initial_size: int,
        random: Random,
    ) -> None:
        self._variables = variables
        self._max_size, self._max_depth = max_size, max_depth
        self._max_initial_size = max_initial_size
        self._random = random
        self._by_arity = {
            arity: [name for name in functions if FUNCTIONS[name].arity == arity]
            for arity in (1, 2)
        }

    def new(self) -> Node:
        """Draw a tree of any size up to the largest initial one."""
        return self._tree(self._random.randint(1, self._max_initial_size))

    def crossover(self, first: Node, second: Node) -> Node:
        """Put a part of the second parent into the first, or give the first where none fits."""
        for _ in range(5):
            part = at(second, int(self._random.random() * second.size))
            position = int(self._random.random() * first.size)
            if first.size - at(first, position).size + part.size <= self._max_size:
                child = put(first, position, part)
                if child.depth <= self._max_depth:
                    return child
        return first

    def mutate(self, tree: Node) -> Node:
        """Change one node for another of its kind, or a part for a new one of any size."""
        position = int(self._random.random() * tree.size)
        old = at(tree, position)
        if self._random.random() < 0.5:  # noqa: PLR2004 - one kind of mutation or the other
            new = self._like(old)
        else:
            room = min(self._max_size - tree.size + old.size, self._max_initial_size)
            new = self._tree(self._random.randint(1, max(1, room)))
        child = put(tree, position, new)
        return child if child.depth <= self._max_depth else tree

    def _like(self, old: Node) -> Node:
        if old.children:
            return Node(self._random.choice(self._by_arity[len(old.children)]), old.children)
        if old.name == CONSTANT and self._random.random() < 0.5:  # noqa: PLR2004 - either
            return Node.constant(float(old.value) * 2.0 ** self._random.gauss(0.0, 1.0))  # type: ignore[arg-type]
        return self._leaf()

    def _leaf(self) -> Node:
        column = self._random.randrange(self._variables + 1)
        if column < self._variables and self._variables:
            return Node.variable(column)
        size = 10.0 ** self._random.uniform(-1.0, 1.0)
        return Node.constant(size if self._random.random() < 0.5 else -size)  # noqa: PLR2004

    def _tree(self, size: int) -> Node:
        """Draw a tree of that size, or a smaller one where the functions do not allow it."""
        unary, binary = self._by_arity[1], self._by_arity[2]
        arities = [1] * (size > 1 and bool(unary)) + [2, 2] * (size > 2 and bool(binary))  # noqa: PLR2004
        if not arities:
            return self._leaf()
        if self._random.choice(arities) == 1:
            return Node(self._random.choice(unary), (self._tree(size - 1),))
        left = self._random.randint(1, size - 2)
        children = self._tree(left), self._tree(size - 1 - left)
        return Node(self._random.choice(binary), children)
