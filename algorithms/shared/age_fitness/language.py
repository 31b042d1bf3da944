"""New trees, and children of trees, drawn at random."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trees import CONSTANT, FUNCTIONS, Node, at, put

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

__all__ = ["Language"]


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
        Generator of every choice.
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
        self.max_size, self._max_depth = max_size, max_depth
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
        """Put a part of the second parent into the first, or return the first where none fits."""
        for _ in range(5):
            part = at(second, int(self._random.random() * second.size))
            position = int(self._random.random() * first.size)
            if first.size - at(first, position).size + part.size <= self.max_size:
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
            available = min(self.max_size - tree.size + old.size, self._max_initial_size)
            new = self._tree(self._random.randint(1, max(1, available)))
        child = put(tree, position, new)
        return child if child.depth <= self._max_depth else tree

    def _like(self, old: Node) -> Node:
        if old.children:
            return Node(self._random.choice(self._by_arity[len(old.children)]), old.children)
        if old.name == CONSTANT and self._random.random() < 0.5:  # noqa: PLR2004 - either
            return Node.constant(float(old.own) * 2.0 ** self._random.gauss(0.0, 1.0))
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
