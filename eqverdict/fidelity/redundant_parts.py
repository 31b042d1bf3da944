"""Parts of an answer that have no effect on the domain, such as a factor ``tanh(1e7*x)`` of 1."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from eqverdict.fidelity.hidden_difference import places_of_interest
from eqverdict.interval_eval import ball_value, exact_ball, provably_differ
from eqverdict.tree import Call, Chain, Node, Number, parts, value, with_part

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

IDLE = 1e-13
"""A part of an answer that changes values by less than this share everywhere has no effect.

Data in double precision do not show it.  Only answers lose such parts: a truth never does.
"""
_VISIBLE = 1e-13
"""Larger changes are seen in double precision."""
_LOOKED_AT = 8
_MOST_COMPARED = 400
"""Values with many digits that are compared for one answer; parts that are left then stay."""
_MOST_PARTS = 150
_MOST_REMOVED = 8
_NUMBERS = tuple(Number(np.float64(number), str(number)) for number in (0, 1))


def remove_redundant_parts(
    tree: Node, columns: Mapping[str, Array], box: Mapping[str, tuple[float, float]]
) -> Node | None:
    """Take out of an equation what has no effect on a domain.

    A term is idle where it is as good as 0, a factor where it is as good as 1. So is an argument of
    ``max`` or ``min`` where the other is always chosen.

    Parameters
    ----------
    tree
        The equation.
    columns
        Some points of the domain.
    box
        The least and the largest value of each variable.

    Returns
    -------
    Node or None
        The rest; None where nothing is idle.
    """
    reduced, comparisons = tree, iter(range(_MOST_COMPARED))
    size = _size(tree, columns)
    for _ in range(_MOST_REMOVED):
        smaller = next(_smaller(reduced, columns, box, comparisons, size), None)
        if smaller is None:
            break
        reduced = smaller
    return None if reduced is tree else reduced


def _smaller(
    tree: Node,
    columns: Mapping[str, Array],
    box: Mapping[str, tuple[float, float]],
    comparisons: Iterator[int],
    size: float,
) -> Iterator[Node]:
    made: list[dict[str, Array]] = []
    more = places_of_interest((tree,), box)

    def places() -> Iterator[Mapping[str, Array]]:
        yield columns
        yield from made
        for each in more:
            made.append(each)
            yield each

    numbers = {
        id(operand)
        for part in parts(tree)
        if isinstance(part, Chain) and part.constant is None and part.rest[0][0] in "+-"
        for operand in (part.first, *(other for _, other in part.rest))
        if operand.constant
    }
    for part in list(islice(parts(tree), _MOST_PARTS)):
        is_term = id(part) in numbers
        if (part.constant is not None and not is_term) or (
            part is tree and not isinstance(part, Call)
        ):
            continue
        fillings: tuple[Node, ...] = () if part is tree else _NUMBERS[: 1 if is_term else None]
        if isinstance(part, Call) and len(part.arguments) > 1:
            fillings += part.arguments
        for filling in fillings:
            other = with_part(tree, part, filling)
            if all(_is_same(tree, other, each, comparisons, size) for each in places()):
                yield other


def _values(tree: Node, columns: Mapping[str, Array]) -> Array:
    n = len(next(iter(columns.values()))) if columns else 1
    with np.errstate(all="ignore"):
        return np.broadcast_to(np.asarray(value(tree, columns), np.float64), n)


def _size(tree: Node, columns: Mapping[str, Array]) -> float:
    """Return the median size of an equation on the domain; 0 where it has no values."""
    values = _values(tree, columns)
    known = np.isfinite(values)
    return float(np.median(np.abs(values[known]))) if known.any() else 0.0


def _is_same(
    tree: Node,
    other: Node,
    columns: Mapping[str, Array],
    comparisons: Iterator[int],
    size: float,
) -> bool:
    """Whether two equations have the same values; where one of them has none is left out."""
    ours, theirs = _values(tree, columns), _values(other, columns)
    known = np.isfinite(ours) & np.isfinite(theirs)
    if not known.any():
        return False
    with np.errstate(all="ignore"):
        share = np.abs(ours - theirs) / (np.abs(ours) + size)
    if (share[known] > _VISIBLE).any():
        return False
    # The first points are where an argument is largest, smallest or zero.
    usable = np.flatnonzero(known)
    for i in {
        *usable[:_LOOKED_AT].tolist(),
        *usable[:: max(1, len(usable) // _LOOKED_AT)].tolist(),
    }:
        if next(comparisons, None) is None:
            return False
        point = {name: exact_ball(float(column[i])) for name, column in columns.items()}

        def both(point: Mapping[str, Any] = point) -> tuple[Any, Any, Any]:
            one, another = ball_value(tree, point), ball_value(other, point)
            return one, another, abs(one) + abs(another) + exact_ball(size)

        try:
            if provably_differ(both, IDLE)[0]:
                return False
        except ArithmeticError:
            continue
    return True
