"""How alike the laws of two collections are: their operators, and their trees.

SurfaceBench compares its suite with others in this way (appendix A.2 of Kabra et al.); which
distances it takes is not published, so these are ours.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from eqverdict.grammar import read
from eqverdict.printers import names_in
from eqverdict.tree import ALIASES, Call, Chain, Negation, Node, Power, Variable
from eqverdict.tree_edit_distance import Tree, edit_distance

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_Written: TypeAlias = "tuple[str, tuple[_Written, ...]]"

_NUMBER, _VARIABLE = "number", "variable"
_SUM, _PRODUCT, _QUOTIENT, _POWER = "+", "*", "/", "power"
_LEAVES = {_NUMBER, _VARIABLE}
_SMALL = 10
"""Whole exponents up to this size are labels of their own: x**2 is not x**3."""


@dataclass(frozen=True)
class LawTree:
    """A law as a tree in which all variables are alike, and all numbers.

    Signs and numbers that only scale a term are left out.  A quotient is a product with a power
    of -1, and a root is a power.  What a sum or a product joins stands in a fixed order.
    """

    tree: Tree

    @cached_property
    def labels(self) -> Counter[str]:
        """How often each label stands in it."""
        return Counter(self.tree.labels)

    @cached_property
    def operators(self) -> frozenset[str]:
        """The operators and functions; ``/`` for powers below 0, ``power`` for all others."""
        names = set()
        for label in self.labels:
            if label.startswith("^"):
                names.add(_QUOTIENT if label.startswith("^-") else _POWER)
            elif label not in _LEAVES:
                names.add(label)
        return frozenset(names)

    def least_distance(self, other: LawTree) -> int:
        """Return a number that the edit distance is not below: labels that only one has."""
        common = (self.labels & other.labels).total()
        return max(len(self.tree), len(other.tree)) - common

    def similarity(self, other: LawTree) -> float:
        """Return 1 less the edit distance over the nodes of the larger tree, from 0 to 1."""
        largest = max(len(self.tree), len(other.tree))
        return 1 - edit_distance(self.tree, other.tree) / largest


def law_tree(text: str) -> LawTree:
    """Read a law, whatever its variables are called.

    Raises
    ------
    EquationError
        If it cannot be read.

    Examples
    --------
    >>> law_tree("3*x**2 - y").tree == law_tree("a + b*b**1*0.5").tree
    False
    >>> law_tree("3*x**2 - y").tree == law_tree("m + 2*n**2").tree
    True
    """
    labels: list[str] = []
    children: list[int] = []

    def put(node: _Written) -> None:
        label, parts = node
        for part in parts:
            put(part)
        labels.append(label)
        children.append(len(parts))

    put(_label_of(read(text, names_in(text))))
    return LawTree(Tree(tuple(labels), tuple(children)))


def _label_of(node: Node) -> _Written:
    label: _Written = _NUMBER, ()
    if node.constant is not None:
        return label
    match node:
        case Variable():
            label = _VARIABLE, ()
        case Negation():
            label = _label_of(node.operand)
        case Chain(rest=((("+" | "-"), _), *_)):
            label = _join(_SUM, _summands(node))
        case Chain():
            label = _product([_factor(symbol, part) for symbol, part in _operands(node)])
        case Power():
            label = _power(_label_of(node.base), node.exponent)
        case Call():
            name = ALIASES.get(node.function, node.function)
            name = "^0.5" if name == "sqrt" else name
            label = name, tuple(map(_label_of, node.arguments))
    return label


def _operands(node: Chain) -> Iterator[tuple[str, Node]]:
    yield "*", node.first
    yield from node.rest


def _summands(node: Node) -> list[_Written]:
    match node:
        case Negation():
            return _summands(node.operand)
        case Chain(rest=((("+" | "-"), _), *_)) if node.constant is None:
            return [term for _, part in _operands(node) for term in _summands(part)]
    return [_label_of(node)]


def _factor(symbol: str, part: Node) -> _Written:
    written = _label_of(part)
    return written if symbol == "*" or written[0] == _NUMBER else ("^-1", (written,))


def _product(factors: Sequence[_Written]) -> _Written:
    """Join factors; a product among them is opened, and numbers are left out."""
    opened: list[_Written] = []
    for factor in factors:
        opened += factor[1] if factor[0] == _PRODUCT else (factor,)
    return _join(_PRODUCT, [each for each in opened if each[0] != _NUMBER])


def _join(label: str, parts: Sequence[_Written]) -> _Written:
    """Join parts in a fixed order; one alone is itself, and of several numbers one is left."""
    numbers = [each for each in parts if each[0] == _NUMBER]
    parts = [each for each in parts if each[0] != _NUMBER] + numbers[:1]
    return parts[0] if len(parts) == 1 else (label, tuple(sorted(parts)))


def _power(base: _Written, exponent: Node) -> _Written:
    value = exponent.constant
    if value is None:
        return _POWER, (base, _label_of(exponent))
    if base[0] == _NUMBER:
        return base
    number = float(value)
    if number == 1:
        return base
    if abs(number) <= _SMALL and (2 * number).is_integer():
        return f"^{number:g}", (base,)
    return f"^{'-' * (number < 0)}number", (base,)


@dataclass(frozen=True)
class Nearest:
    """The law of another collection that is most like one.

    Attributes
    ----------
    law, other
        Their names.
    trees
        How alike the trees are, from 0 to 1: the same.
    operators
        The largest share of operators that the law has in common with any law of the other
        collection: those that both have over those that one has.
    """

    law: str
    other: str
    trees: float
    operators: float


@dataclass(frozen=True)
class Similarity:
    """How alike two collections are, law by law of the first.

    Attributes
    ----------
    laws, others
        How many laws each has.
    operators, other_operators
        All that the laws of each have.
    nearest
        For each law of the first collection the nearest one of the second.
    """

    laws: int
    others: int
    operators: tuple[str, ...]
    other_operators: tuple[str, ...]
    nearest: tuple[Nearest, ...]

    @property
    def shared(self) -> float:
        """The share of operators that both have, of those that one has."""
        return _jaccard(frozenset(self.operators), frozenset(self.other_operators))

    @property
    def same(self) -> tuple[Nearest, ...]:
        """The laws whose tree is one of the other collection's."""
        return tuple(each for each in self.nearest if each.trees == 1)

    def quantiles(self, of: str, at: Sequence[float] = (0.1, 0.5, 0.9)) -> list[float]:
        """Return quantiles of ``trees`` or ``operators`` over the laws."""
        values = [getattr(each, of) for each in self.nearest]
        return [float(value) for value in np.quantile(values, at)]


def similarity(laws: Mapping[str, str], others: Mapping[str, str]) -> Similarity:
    """Compare each law with all of another collection, and take the nearest.

    A law is not compared with the one of its own name, so that a collection can be compared with
    itself.

    Parameters
    ----------
    laws, others
        Right-hand sides by their names.

    Raises
    ------
    EquationError
        If one cannot be read.
    """
    first = {name: law_tree(text) for name, text in laws.items()}
    second = {name: law_tree(text) for name, text in others.items()}
    nearest = [
        found
        for name, tree in first.items()
        if (found := _nearest(name, tree, {n: t for n, t in second.items() if n != name}))
    ]
    return Similarity(
        len(first),
        len(second),
        _all_operators(first.values()),
        _all_operators(second.values()),
        tuple(nearest),
    )


def _all_operators(trees: Iterable[LawTree]) -> tuple[str, ...]:
    return tuple(sorted(frozenset().union(*(each.operators for each in trees))))


def _nearest(name: str, tree: LawTree, others: Mapping[str, LawTree]) -> Nearest | None:
    if not others:
        return None
    best, nearest = -1.0, ""
    # Those that can be nearest come first, and the rest need not be worked out.
    bounds = {
        other: 1 - tree.least_distance(each) / max(len(tree.tree), len(each.tree))
        for other, each in others.items()
    }
    for other in sorted(bounds, key=lambda each: -bounds[each]):
        if bounds[other] <= best:
            break
        if (value := tree.similarity(others[other])) > best:
            best, nearest = value, other
    alike = max(_jaccard(tree.operators, each.operators) for each in others.values())
    return Nearest(name, nearest, best, alike)


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other) if one | other else 1.0
