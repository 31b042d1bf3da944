"""Formulas of trained networks: multiplied out, and pruned term by term."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from fronts import refine
from numpy.typing import NDArray
from sparse_sums import sparse_sums
from trees import Node, at, evaluate, put

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Array = NDArray[np.float64]
Terms = dict[tuple[str, ...], float]
"""A sum: of each product of factors, sorted by name, its coefficient."""

__all__ = ["Expansion", "Formula", "prune"]

_MOST_TERMS = 40
"""Largest number of terms of a sum that is multiplied out; the largest terms are kept."""
_SMALL = 1e-4
"""Terms that are smaller, relative to the largest of their sum, are left out at once."""


class Expansion:
    """Sums of products of variables and of functions of such sums.

    Parameters
    ----------
    X
        (n, d) variables, by which the size of a term is judged.
    """

    def __init__(self, X: Array) -> None:
        self._X = X
        self._nodes = {f"x{i:03d}": Node.variable(i) for i in range(X.shape[1])}
        self._values = {name: evaluate(node, X) for name, node in self._nodes.items()}

    def variable(self, column: int) -> Terms:
        """Return a variable as a sum."""
        return {(f"x{column:03d}",): 1.0}

    def combine(self, sums: Sequence[Terms], weights: Array, bias: float) -> Terms:
        """Add sums with weights, and a number."""
        total: Terms = {(): float(bias)} if bias else {}
        for weight, own in zip(weights.tolist(), sums, strict=True):
            if weight:
                for factors, value in own.items():
                    total[factors] = total.get(factors, 0.0) + weight * value
        return self._short(total)

    def product(self, left: Terms, right: Terms) -> Terms:
        """Multiply two sums."""
        total: Terms = {}
        for one, a in left.items():
            for two, b in right.items():
                factors = tuple(sorted(one + two))
                total[factors] = total.get(factors, 0.0) + a * b
        return self._short(total)

    def apply(self, name: str, argument: Terms) -> Terms:
        """Apply a function to a sum."""
        if name == "id":
            return argument
        if name == "square":
            return self.product(argument, argument)
        if name == "cube":
            return self.product(argument, self.product(argument, argument))
        inner = self.tree(argument)
        node = Node(name, (inner,))
        if not set(argument) - {()}:
            return {(): float(evaluate(node, self._X[:1])[0])}
        key = f"{name} {inner!r}"
        self._nodes[key] = node
        self._values[key] = evaluate(node, self._X)
        return {(key,): 1.0}

    def values(self, factors: tuple[str, ...]) -> Array:
        """Evaluate a product (n,); one where there are no factors."""
        found = np.ones(len(self._X))
        for name in factors:
            found = found * self._values[name]
        return found

    def tree(self, terms: Terms) -> Node:
        """Write a sum as a tree; every term has a constant."""
        total: Node | None = None
        for factors, value in sorted(terms.items(), key=lambda each: (len(each[0]), each[0])):
            term = Node.constant(value)
            for factor in factors:
                term = Node("mul", (term, self._nodes[factor]))
            total = term if total is None else Node("add", (total, term))
        return Node.constant(0.0) if total is None else total

    def _short(self, terms: Terms) -> Terms:
        with np.errstate(all="ignore"):
            sizes = {
                factors: abs(value) * float(np.sqrt(np.mean(self.values(factors) ** 2)))
                for factors, value in terms.items()
            }
        largest = max(sizes.values(), default=0.0)
        kept = [factors for factors in terms if sizes[factors] > _SMALL * largest]
        kept = sorted(kept, key=lambda factors: (-sizes[factors], factors))[:_MOST_TERMS]
        return {factors: terms[factors] for factors in kept}


class Formula:
    """The formula of one trained network: a sum, or a sum over another one.

    Parameters
    ----------
    X
        (n, d) variables.
    weights, biases
        Weights and biases of each layer, (inputs, outputs) and (outputs,).
    units
        Units of each layer but the last.
    """

    def __init__(
        self,
        X: Array,
        weights: Sequence[Array],
        biases: Sequence[Array],
        units: Sequence[Sequence[str]],
    ) -> None:
        self._expansion = expansion = Expansion(X)
        sums = [expansion.variable(i) for i in range(X.shape[1])]
        for weight, bias, names in zip(weights, biases, units, strict=False):
            inputs = iter(
                [
                    expansion.combine(sums, weight[:, i], float(bias[i]))
                    for i in range(weight.shape[1])
                ]
            )
            sums = [
                expansion.product(next(inputs), next(inputs))
                if name == "mul"
                else expansion.apply(name, next(inputs))
                for name in names
            ]
        above, below = (
            expansion.combine(sums, weights[-1][:, i], float(biases[-1][i]))
            if i < weights[-1].shape[1]
            else {(): 1.0}
            for i in range(2)
        )
        # Both are divided by the denominator's constant, where it has one.
        unit = below.get((), 0.0) or max(below.values(), key=abs, default=1.0)
        self.above = {key: value / unit for key, value in above.items()}
        self.below = {key: value / unit for key, value in below.items()}

    @property
    def tree(self) -> Node:
        """The whole formula."""
        above = self._expansion.tree(self.above)
        if not set(self.below) - {()}:
            return above
        return Node("div", (above, self._expansion.tree(self.below)))

    def sparse(self, y: Array, *, longest: int, beam: int, kept: int) -> list[Node]:
        """Fit formulas of few of the terms by least squares.

        A quotient is fitted as ``above - y * (below - 1) = y``, which is linear.

        Parameters
        ----------
        y
            (n,) the target.
        longest, beam, kept
            See ``sparse_sums``.
        """
        above = list(dict.fromkeys([*self.above, ()]))
        below = [key for key in self.below if key]
        values = self._expansion.values
        columns = [values(key) for key in above] + [-y * values(key) for key in below]
        found = []
        for support, own in sparse_sums(
            np.stack(columns, axis=1), y, longest=longest, beam=beam, kept=kept
        ):
            terms: list[Terms] = [{}, {(): 1.0}]
            for number, value in zip(support.tolist(), own.tolist(), strict=True):
                under = number >= len(above)
                key = below[number - len(above)] if under else above[number]
                terms[under][key] = value
            tree = self._expansion.tree(terms[0])
            if len(terms[1]) > 1:
                tree = Node("div", (tree, self._expansion.tree(terms[1])))
            found.append(tree)
        return found


def prune(
    tree: Node,
    X: Array,
    y: Array,
    *,
    late: Callable[[], bool],
) -> list[Node]:
    """Leave out one term after the other, each time the one without which the fit is best.

    Parameters
    ----------
    tree
        With its constants, which are fitted again each time.
    X, y
        (n, d) and (n,), in the units of the tree.

    Returns
    -------
    list
        The tree and all shorter ones on the way, each fitted.
    """
    ((current, *_),) = refine([tree], X, y, scaling=False, late=late)
    path = [current]
    while not late():
        shorter = _without_a_term(current)
        if not shorter:
            break
        fitted = [node for node, *_ in refine(shorter, X, y, scaling=False, late=late)]
        errors = [_error(node, X, y) for node in fitted]
        best = int(np.argmin(errors))
        if not np.isfinite(errors[best]):
            break
        current = fitted[best]
        path.append(current)
    return path


def _error(tree: Node, X: Array, y: Array) -> float:
    with np.errstate(all="ignore"):
        error = float(np.mean((evaluate(tree, X) - y) ** 2))
    return error if np.isfinite(error) else np.inf


def _without_a_term(tree: Node) -> list[Node]:
    """Return all trees that lack one summand, or a denominator."""
    found = []
    for position in range(tree.size):
        node = at(tree, position)
        if node.name == "add":
            left, right = node.children
            found.append(put(tree, position, left))
            if left.name != "add":
                found.append(put(tree, position, right))
        elif node.name == "div" and not any(child.name == "variable" for child in node.children):
            found.append(put(tree, position, node.children[0]))
    return found
