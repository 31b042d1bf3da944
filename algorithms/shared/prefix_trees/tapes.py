"""Many prefix expressions evaluated together, a function at a time.

The nodes of all expressions are sorted by height; equal subtrees without constants are one node,
whichever expressions they are in; and nodes of one height with one function are evaluated by one
call.  A backward pass gives the derivatives by constants, row by row: a node above a constant has
one parent only, so that nothing has to be summed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from tokens import CONST, PARTIALS, POLY, Tokens
from trees import FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Sequence

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

__all__ = ["Shapes", "Tape", "pad"]


def pad(expressions: Sequence[Sequence[int]]) -> Integers:
    """Put expressions of unequal lengths into one array (B, L), with -1 behind each."""
    longest = max(map(len, expressions), default=0)
    codes = np.full((len(expressions), longest), -1, dtype=np.int64)
    for row, expression in enumerate(expressions):
        codes[row, : len(expression)] = expression
    return codes


class Shapes(NamedTuple):
    """Positions of the parts of prefix expressions, each (B, L).

    Attributes
    ----------
    end
        The position behind the subtree that begins here; has one column more.
    height
        0 for a leaf; -1 behind the end.
    second
        The position of the second child, where there is one.
    """

    end: Integers
    height: Integers
    second: Integers

    @classmethod
    def of(cls, codes: Integers, arity: Integers) -> Shapes:
        """Read shapes from right to left, all expressions at once."""
        rows, length = codes.shape
        every = np.arange(rows)
        end = np.zeros((rows, length + 2), dtype=np.int64)
        height = np.full((rows, length + 2), -1, dtype=np.int64)
        second = np.zeros((rows, length), dtype=np.int64)
        there = codes >= 0
        arities = np.where(there, arity[codes], 0)
        for p in range(length - 1, -1, -1):
            own = arities[:, p]
            after_one = end[:, p + 1]
            end[:, p] = np.where(
                own == 0, p + 1, np.where(own == 1, after_one, end[every, after_one])
            )
            second[:, p] = after_one
            other = np.where(own == 2, height[every, after_one], -1)  # noqa: PLR2004
            below = np.where(own == 0, -1, np.maximum(height[:, p + 1], other))
            height[:, p] = np.where(there[:, p], below + 1, -1)
        return cls(end, height[:, :length], second)


class _Group(NamedTuple):
    """Nodes first..last of one height and one function, and the nodes of their arguments."""

    name: str
    first: int
    last: int
    arguments: tuple[Integers, ...]
    above: tuple[tuple[Integers, Integers], ...]
    """For each argument: which of the group have constants below it, and the nodes there."""


class Tape:
    """Expressions ready to be evaluated on rows of data.

    Parameters
    ----------
    codes
        (B, L), padded with -1.
    tokens
        Their alphabet.

    Attributes
    ----------
    places
        (B, K) nodes of the constants from left to right, -1 where there are fewer than K.
    roots
        (B,) nodes of the whole expressions.
    nodes
        (B, L) the node of the subtree that begins at each position.
    """

    def __init__(self, codes: Integers, tokens: Tokens) -> None:
        self._tokens = tokens
        shapes = Shapes.of(codes, tokens.arity)
        constant, poly = tokens.code(CONST), tokens.code(POLY)
        nodes = np.zeros(codes.shape, dtype=np.int64)
        base = int((codes >= 0).sum()) + 1
        self._leaves: list[tuple[int, int]] = []
        self._groups: list[_Group] = []
        self._poly_rows = np.zeros(0, dtype=np.int64)
        self._poly_first = 0
        count = 0
        carries = np.zeros(0, dtype=bool)
        for height in range(int(shapes.height.max(initial=-1)) + 1):
            row, place = np.nonzero(shapes.height == height)
            code = codes[row, place]
            arity = tokens.arity[code]
            one = np.where(arity > 0, nodes[row, np.minimum(place + 1, codes.shape[1] - 1)], 0)
            two = np.where(
                arity > 1, nodes[row, np.minimum(shapes.second[row, place], codes.shape[1] - 1)], 0
            )
            single = (code == constant) | (code == poly)
            one = np.where(single, np.arange(len(row)), one)
            _, firsts, inverse = np.unique(
                (code * base + one) * base + two, return_index=True, return_inverse=True
            )
            nodes[row, place] = count + inverse
            kinds = code[firsts]
            lows = carries
            for kind in np.unique(kinds).tolist():
                members = np.flatnonzero(kinds == kind)
                first, last = count + int(members[0]), count + int(members[-1]) + 1
                name = tokens.names[kind]
                if name == CONST:
                    continue  # their values are put in place by `places`
                if name == POLY:
                    self._poly_first = first
                    self._poly_rows = row[firsts[members]]
                elif height == 0:
                    self._leaves.append((first, kind - tokens.first_variable))
                else:
                    sides = [one[firsts[members]], two[firsts[members]]]
                    sides = sides[: int(tokens.arity[kind])]
                    above = []
                    for side in sides:
                        which = np.flatnonzero(lows[side])
                        above.append((which, side[which]))
                    self._groups.append(_Group(name, first, last, tuple(sides), tuple(above)))
            if height == 0:
                new = kinds == constant
            else:
                new = lows[one[firsts]] | ((tokens.arity[kinds] > 1) & lows[two[firsts]])
            carries = np.concatenate([carries, new])
            count += len(firsts)
        self.size = count
        self.codes, self.shapes, self.nodes = codes, shapes, nodes
        self.roots = nodes[:, 0] if codes.shape[1] else np.zeros(0, dtype=np.int64)
        self.places = _places((codes == constant) & (constant >= 0), nodes)
        self._carrying = np.flatnonzero((codes == constant).any(axis=1) & (constant >= 0))

    def evaluate(self, X: Array, constants: Array, polynomials: Array | None = None) -> Array:
        """Evaluate all expressions; return (B, n), not finite where there is no value.

        Parameters
        ----------
        X
            (n, d) variables.
        constants
            (B, K) values, those that there are not are ignored.
        polynomials
            (B, n) values of ``poly`` in each expression that has one.
        """
        return self.forward(X, constants, polynomials)[self.roots]

    def forward(self, X: Array, constants: Array, polynomials: Array | None = None) -> Array:
        """Evaluate all nodes; return (nodes, n)."""
        values = np.empty((self.size, len(X)))
        for first, column in self._leaves:
            values[first] = X[:, column]
        there = self.places >= 0
        values[self.places[there]] = constants[:, : there.shape[1]][there][:, np.newaxis]
        if len(self._poly_rows):
            if polynomials is None:
                raise ValueError("there are expressions with poly, and no values for it")
            first = self._poly_first
            values[first : first + len(self._poly_rows)] = polynomials[self._poly_rows]
        with np.errstate(all="ignore"):
            for group in self._groups:
                arguments = [values[side] for side in group.arguments]
                found = FUNCTIONS[group.name].numpy(*arguments)
                # What became infinite on the way has no value, whatever is made of it above.
                found[np.isinf(found)] = np.nan
                values[group.first : group.last] = found
        self._values = values
        return values

    def gradients(self) -> Array:
        """Return derivatives (B, K, n) by the constants, where `forward` was last."""
        values = self._values
        slopes = np.empty_like(values)
        slopes[self.roots[self._carrying]] = 1.0
        with np.errstate(all="ignore"):
            for group in reversed(self._groups):
                for number, (which, below) in enumerate(group.above):
                    if not len(which):
                        continue
                    arguments = [values[side[which]] for side in group.arguments]
                    out = slice(None) if len(which) == group.last - group.first else which
                    at = values[group.first : group.last][out]
                    partial = PARTIALS[group.name][number](at, *arguments)
                    slopes[below] = slopes[group.first : group.last][out] * partial
        found = slopes[np.maximum(self.places, 0)]
        found[self.places < 0] = 0.0
        return found


def _places(constant: NDArray[np.bool_], nodes: Integers) -> Integers:
    """Return the nodes (B, K) of the constants from left to right, -1 where there are fewer."""
    many = constant.sum(axis=1)
    places = np.full((len(nodes), int(many.max(initial=0))), -1, dtype=np.int64)
    row, place = np.nonzero(constant)
    rank = np.arange(len(row)) - np.repeat(np.cumsum(many) - many, many)
    places[row, rank] = nodes[row, place]
    return places
