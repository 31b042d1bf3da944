"""The parts of a tree, and points on either side of where one of them changes its branch."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mdbench.expressions.tree import Call, Chain, Negation, Node, Power, value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["names_in", "parts", "with_branches", "with_part"]

_BRANCHED = frozenset({"abs", "Abs", "sign", "max", "Max", "min", "Min"})
_MOST_BRANCHES = 8
_NEW_POINTS = 2
"""Points that are added on a side of a branch where none was."""


def parts(node: Node) -> Iterator[Node]:
    """Give a node and all below it."""
    yield node
    match node:
        case Chain():
            inner: tuple[Node, ...] = (node.first, *(part for _, part in node.rest))
        case Negation():
            inner = (node.operand,)
        case Power():
            inner = (node.base, node.exponent)
        case Call():
            inner = node.arguments
        case _:
            inner = ()
    for part in inner:
        yield from parts(part)


def with_part(node: Node, part: Node, other: Node) -> Node:
    """Put another node in the place of a part of a tree."""
    if node is part:
        return other

    def inside(child: Node) -> Node:
        return with_part(child, part, other)

    match node:
        case Chain():
            rest = tuple((symbol, inside(operand)) for symbol, operand in node.rest)
            return replace(node, first=inside(node.first), rest=rest)
        case Negation():
            return replace(node, operand=inside(node.operand))
        case Power():
            return replace(node, base=inside(node.base), exponent=inside(node.exponent))
        case Call():
            return replace(node, arguments=tuple(map(inside, node.arguments)))
    return node


def names_in(node: Node) -> Iterator[Any]:
    """Give the variables of a tree."""
    return (part for part in parts(node) if hasattr(part, "name"))


def _branches(node: Node) -> Iterator[Callable[[Mapping[str, Array]], Array]]:
    """Give the functions at whose zeros an equation changes its form."""
    for part in parts(node):
        if isinstance(part, Call) and part.function in _BRANCHED:
            yield lambda columns, part=part: _side(part, columns)  # type: ignore[misc]


def _side(call: Call, columns: Mapping[str, Array]) -> Any:
    values = [np.asarray(value(argument, columns), np.float64) for argument in call.arguments]
    return values[0] - values[1] if len(values) > 1 else values[0]


def with_branches(
    base: Mapping[str, Array], trees: Iterable[Node], known: set[str]
) -> Mapping[str, Array]:
    """Add points on those sides of branches where there are none, as far as they are found.

    Variables of a known range are followed to ten times its ends, others to a million.
    """
    branches = [branch for tree in trees for branch in _branches(tree)][:_MOST_BRANCHES]
    if not branches or not base:
        return base
    n = len(next(iter(base.values())))
    added: list[dict[str, float]] = []
    lacking = {
        (k, sign): _NEW_POINTS
        for k, branch in enumerate(branches)
        for sign in (-1.0, 1.0)
        if (_signs(branch, base, n) == sign).sum() < _NEW_POINTS
    }
    for decade in (-1, 1, -2, 2, -3, 3, -6, 6):
        wide = {
            name: column * 10.0 ** (np.sign(decade) if name in known else decade)
            for name, column in base.items()
        }
        for (k, sign), lacks in lacking.items():
            found = np.flatnonzero(_signs(branches[k], wide, n) == sign) if lacks else ()
            for i in found[:lacks]:
                added.append({name: float(column[i]) for name, column in wide.items()})
                lacking[k, sign] -= 1
    return {
        name: np.append(column, [point[name] for point in added]) for name, column in base.items()
    }


def _signs(branch: Callable[[Mapping[str, Array]], Array], columns: Any, n: int) -> Array:
    with np.errstate(all="ignore"):
        return np.broadcast_to(np.sign(branch(columns)), n)
