"""Trees of one template, many at a time: an array of symbols each, evaluated level by level.

A genotype has a symbol for every node of a full binary tree.  Where a node's symbol takes fewer
arguments than two, what stands below it is there without effect.  Node 0 is the root, and the
children of node i are 2 i + 1 and 2 i + 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from trees import FUNCTIONS, Node

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Symbols = NDArray[np.int16]
    Mask = NDArray[np.bool_]

__all__ = ["Genotypes", "Template"]

_NUMBERS = 4_000_000
"""Largest number of values of all nodes that are computed together: 32 MB."""


@dataclass
class Genotypes:
    """Trees, one a row.

    Attributes
    ----------
    symbols
        What stands at each node, (m, nodes).
    values
        The number at each node, where its symbol is a constant, (m, nodes).
    """

    symbols: Symbols
    values: Array

    def __len__(self) -> int:
        return len(self.symbols)

    def __getitem__(self, rows: NDArray[np.intp] | Mask) -> Genotypes:
        return Genotypes(self.symbols[rows], self.values[rows])

    def put(self, rows: NDArray[np.intp] | Mask, others: Genotypes) -> None:
        """Replace rows."""
        self.symbols[rows], self.values[rows] = others.symbols, others.values

    def copy(self) -> Genotypes:
        """Return the same trees, which may be changed."""
        return Genotypes(self.symbols.copy(), self.values.copy())


class Template:
    """The full binary tree of a height, and what may stand at its nodes.

    Parameters
    ----------
    functions
        Names of ``trees.FUNCTIONS``.
    variables
        Number of columns.
    height
        Levels below the root.

    Notes
    -----
    Symbols are numbered: functions, then variables, then the constant.
    """

    def __init__(self, functions: Sequence[str], variables: int, height: int) -> None:
        self.functions = [FUNCTIONS[name] for name in functions]
        self.nodes = 2 ** (height + 1) - 1
        self.inner = 2**height - 1
        self._variables = variables
        self.constant = len(functions) + variables
        self.count = self.constant + 1
        arity = [function.arity for function in self.functions]
        self._arity = np.array([*arity, *[0] * (variables + 1)])

    def draw(self, count: int, constants: Array, rng: np.random.Generator) -> Genotypes:
        """Draw trees, half of them full: these have functions at all nodes but the last level's.

        Parameters
        ----------
        constants
            The range of numbers, (2,).
        """
        first = len(self.functions)
        symbols = rng.integers(first, self.count, (count, self.nodes))
        inner = rng.integers(0, self.count, (count, self.inner))
        inner[: count // 2] = rng.integers(0, first, (count // 2, self.inner))
        symbols[:, : self.inner] = inner
        low, high = constants.tolist()
        values = rng.uniform(low, high, (count, self.nodes))
        return Genotypes(symbols.astype(np.int16), values)

    def active(self, trees: Genotypes) -> Mask:
        """Return which nodes have an effect, (m, nodes)."""
        arity = self._arity[trees.symbols]
        found = np.zeros(trees.symbols.shape, dtype=bool)
        found[:, 0] = True
        for node in range(self.inner):
            found[:, 2 * node + 1] = found[:, node] & (arity[:, node] > 0)
            found[:, 2 * node + 2] = found[:, node] & (arity[:, node] > 1)
        return found

    def evaluate(self, trees: Genotypes, columns: Array) -> Array:
        """Evaluate trees on columns (d, n); return (m, n), not finite where there is no value."""
        n = columns.shape[1]
        step = max(1, _NUMBERS // (self.nodes * n))
        parts = [
            self._evaluate(trees[np.arange(k, min(k + step, len(trees)))], columns)
            for k in range(0, len(trees), step)
        ]
        return np.concatenate(parts) if parts else np.empty((0, n))

    def _evaluate(self, trees: Genotypes, columns: Array) -> Array:
        active = self.active(trees)
        place = np.cumsum(active, axis=0) - 1  # of a tree among those that have a node
        known: dict[int, Array] = {}
        for node in range(self.nodes - 1, -1, -1):
            rows = np.flatnonzero(active[:, node])
            if not rows.size:
                continue
            symbols = trees.symbols[rows, node]
            values = np.empty((len(rows), columns.shape[1]))
            for symbol in set(symbols.tolist()):
                own = np.flatnonzero(symbols == symbol)
                if symbol == self.constant:
                    values[own] = trees.values[rows[own], node, None]
                elif symbol >= len(self.functions):
                    values[own] = columns[symbol - len(self.functions)]
                else:
                    function = self.functions[symbol]
                    below = (
                        known[child][place[rows[own], child]]
                        for child in range(2 * node + 1, 2 * node + 1 + function.arity)
                    )
                    values[own] = function.numpy(*below)
            known.pop(2 * node + 1, None)
            known.pop(2 * node + 2, None)
            known[node] = values
        return known[0]

    def tree(self, one: Genotypes, node: int = 0) -> Node:
        """Return the part of the first tree that has an effect."""
        symbol = int(one.symbols[0, node])
        if symbol == self.constant:
            return Node.constant(float(one.values[0, node]))
        if symbol >= len(self.functions):
            return Node.variable(symbol - len(self.functions))
        function = self.functions[symbol]
        children = (self.tree(one, 2 * node + 1 + k) for k in range(function.arity))
        return Node(function.name, tuple(children))
