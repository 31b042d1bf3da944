"""How many nodes have to be changed to make one tree of another."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Tree:
    """An ordered tree with a label at each node, written in postorder.

    Attributes
    ----------
    labels
        The label of each node, children before their parents and left before right.
    children
        How many children each node has.
    """

    labels: tuple[str, ...]
    children: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def leftmost(self) -> tuple[int, ...]:
        """For each node the first leaf of its subtree: where the subtree begins."""
        first: list[int] = []
        open_subtrees: list[int] = []
        for node, count in enumerate(self.children):
            if count:
                start = open_subtrees[-count]
                del open_subtrees[-count:]
            else:
                start = node
            open_subtrees.append(start)
            first.append(start)
        return tuple(first)

    @cached_property
    def keyroots(self) -> tuple[int, ...]:
        """The root, and every node that has a sibling to its left."""
        last = {start: node for node, start in enumerate(self.leftmost)}
        return tuple(sorted(last.values()))


def edit_distance(one: Tree, other: Tree) -> int:
    """Count the fewest nodes to insert, delete or rename that make the trees equal.

    A rename costs 1 however alike the two labels are, and equal labels cost nothing.

    Parameters
    ----------
    one, other
        Trees of at least one node.

    References
    ----------
    Zhang and Shasha, "Simple fast algorithms for the editing distance between trees and related
    problems", SIAM J. Comput. 18 (1989) 1245.

    Examples
    --------
    >>> product = Tree(("x0", "x1", "Mul"), (0, 0, 2))
    >>> edit_distance(product, Tree(("x0", "x1", "Add"), (0, 0, 2)))
    1
    >>> edit_distance(product, Tree(("x0",), (0,)))
    2
    """
    names = {label: number for number, label in enumerate({*one.labels, *other.labels})}
    a = [names[label] for label in one.labels]
    b = [names[label] for label in other.labels]
    distances = [[0] * len(b) for _ in a]
    for i in one.keyroots:
        for j in other.keyroots:
            _subtrees(distances, (a, one.leftmost, i), (b, other.leftmost, j))
    return distances[-1][-1]


def _subtrees(
    distances: list[list[int]],
    one: tuple[list[int], Sequence[int], int],
    other: tuple[list[int], Sequence[int], int],
) -> None:
    """Fill in the distances of all subtrees that begin where those of two keyroots do."""
    (a, first_a, i), (b, first_b, j) = one, other
    start_a, start_b = first_a[i], first_b[j]
    columns = range(start_b, j + 1)
    # row[k]: the forest of one so far against the first k nodes of the other.
    rows = [list(range(j - start_b + 2))]
    for node in range(start_a, i + 1):
        above = rows[-1]
        row = [above[0] + 1]
        begin = first_a[node]
        whole = begin == start_a
        label = a[node]
        known = distances[node]
        before = rows[begin - start_a]
        left = row[0]
        for k, column in enumerate(columns):
            left = min(left, above[k + 1]) + 1
            if whole and first_b[column] == start_b:
                left = min(left, above[k] + (label != b[column]))
                known[column] = left
            else:
                left = min(left, before[first_b[column] - start_b] + known[column])
            row.append(left)
        rows.append(row)
