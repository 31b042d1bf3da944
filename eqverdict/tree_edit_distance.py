"""The edit distance of two labelled trees: how many nodes one has to change."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from eqverdict.atoms import constants_of, skeleton_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eqverdict.atoms import Atom, Exponent, Monomial, Sum


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


def edit_distance(first: Tree, second: Tree) -> int:
    """Count the fewest nodes to insert, delete or rename that make the trees equal.

    A rename costs 1 however alike the two labels are, and equal labels cost nothing.

    Parameters
    ----------
    first, second
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
    names = {label: number for number, label in enumerate({*first.labels, *second.labels})}
    a = [names[label] for label in first.labels]
    b = [names[label] for label in second.labels]
    distances = [[0] * len(b) for _ in a]
    for i in first.keyroots:
        for j in second.keyroots:
            _subtrees(distances, (a, first.leftmost, i), (b, second.leftmost, j))
    return distances[-1][-1]


def _subtrees(
    distances: list[list[int]],
    first_part: tuple[list[int], Sequence[int], int],
    second_part: tuple[list[int], Sequence[int], int],
) -> None:
    """Fill in the distances of all subtrees that begin where those of two keyroots do."""
    (a, first_a, i), (b, first_b, j) = first_part, second_part
    start_a, start_b = first_a[i], first_b[j]
    # The innermost loop takes all the time: it is written without calls.
    ends = [first - start_b for first in first_b[start_b : j + 1]]
    labels = b[start_b : j + 1]
    # row[k]: the forest of one so far against the first k nodes of the other.
    rows = [list(range(j - start_b + 2))]
    for node in range(start_a, i + 1):
        above = rows[-1]
        begin = first_a[node]
        whole = begin == start_a
        label = a[node]
        known = distances[node]
        before = rows[begin - start_a]
        cost = above[0] + 1
        row = [cost]
        for k, end in enumerate(ends):
            deleted = above[k + 1]
            cost = (deleted if deleted < cost else cost) + 1  # noqa: FURB136
            if whole and not end:
                other_way = above[k] + (label != labels[k])
                if other_way < cost:  # noqa: PLR1730
                    cost = other_way
                known[start_b + k] = cost
            else:
                other_way = before[end] + known[start_b + k]
                if other_way < cost:  # noqa: PLR1730
                    cost = other_way
            row.append(cost)
        rows.append(row)


_CONSTANT = "constant"


def tree_of_sums(sums: list[Sum]) -> Tree:
    """Write a system as one labelled tree in postorder; all constants are alike.

    Terms stand in a fixed order, and each has its coefficient, 1 too: a fitted number is never 1,
    and that is no difference in structure.
    """
    labels: list[str] = []
    children: list[int] = []
    for each in sums:
        terms = sorted(each.items(), key=lambda term: (skeleton_of(term[0]), constants_of(term[0])))
        _write_sum(tuple(terms), labels, children)
    if len(sums) > 1:
        labels.append("system")
        children.append(len(sums))
    return Tree(tuple(labels), tuple(children))


def _write_sum(
    terms: tuple[tuple[Monomial, Fraction], ...], labels: list[str], children: list[int]
) -> None:
    for monomial, _ in terms:
        _write(_CONSTANT, 0, labels, children)
        factors = 1
        for atom, power in monomial:
            _write_power(atom, power, labels, children)
            factors += 1
        if factors > 1:
            _write("Mul", factors, labels, children)
    if not terms:
        _write(_CONSTANT, 0, labels, children)
    elif len(terms) > 1:
        _write("Add", len(terms), labels, children)


def _write_power(atom: Atom, power: Exponent, labels: list[str], children: list[int]) -> None:
    if atom.kind == "variable":
        _write(atom.text, 0, labels, children)
    elif atom.kind == "exp" and atom.inner:
        # The power of an exp is the coefficient of its argument.
        _write_sum(tuple((monomial, c * power) for monomial, c in atom.inner), labels, children)
        _write("exp", 1, labels, children)
        return
    else:
        terms = atom.inner
        if atom.kind == "wave" and atom.text.startswith("sin") and atom.constants[-1]:
            terms = (*terms, ((), Fraction(atom.constants[-1])))
        _write_sum(terms, labels, children)
        if atom.kind != "sum":
            name = atom.text.partition("(")[0]
            _write(name, 1, labels, children)
    if power != 1:
        # Whole powers differ: u0**2 is not u0**3.
        whole = power.denominator == 1
        _write(str(power) if whole else _CONSTANT, 0, labels, children)
        _write("Pow", 2, labels, children)


def _write(label: str, count: int, labels: list[str], children: list[int]) -> None:
    labels.append(label)
    children.append(count)
