"""Results of a search, fitted again on all rows and written in the data's own units."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from levenberg import ConstantFitter
from numpy.typing import NDArray
from scaling import in_own_units, line, text
from tapes import pad
from tokens import CONST, POLY, Tokens
from trees import FUNCTIONS, Node, constants, evaluate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Array = NDArray[np.float64]

__all__ = ["FrontMember", "Units", "constant", "refine", "shortlist", "tokens_of", "written"]

_T = TypeVar("_T")

_MOST_ROWS = 2000
"""Largest number of rows for the last fit of constants; of more, so many, evenly spread."""
_ITERATIONS = 40
_SLACK, _EACH_SIZE, _MOST = 1.5, 3, 60
"""Largest error of a member relative to a shorter one, largest number of members of each size:
derivatives of measured data are a little wrong, and the bench, which chooses, looks at integrals.
Of more than the last number the shortest are kept, and the most accurate one.
"""


@dataclass(frozen=True)
class FrontMember:
    """A member of the front of one target, in the data's own units."""

    target: int
    tree: Node
    equation: str
    predictions: Array
    error: float


@dataclass(frozen=True)
class Units:
    """The powers of two by which variables (d,) and target were divided."""

    x: list[float]
    y: float


def tokens_of(trees: Sequence[Node], variables: int) -> Tokens:
    """Return the tokens that trees are written in, in a fixed order."""
    used = set()

    def look(node: Node) -> None:
        if node.children:
            used.add(node.name)
            for child in node.children:
                look(child)

    for tree in trees:
        look(tree)
    return Tokens(tuple(name for name in FUNCTIONS if name in used), variables)


def refine(
    trees: Sequence[Node],
    X: Array,
    y: Array,
    *,
    scaling: bool,
    late: Callable[[], bool] = lambda: False,
) -> list[tuple[Node, float, float]]:
    """Fit all constants of trees together, from where they are.

    Parameters
    ----------
    trees
        With their constants.
    X, y
        (n, d) and (n,), in the units of the trees.
    scaling
        Whether a tree f is scored as the best ``a + b * f``.
    late
        Whether the time is over; trees then stay as they are.

    Returns
    -------
    list
        For each tree the tree, the factor b and the offset a.
    """
    if not trees:
        return []
    tokens = tokens_of(trees, X.shape[1])
    written_out = [tokens.codes(tree) for tree in trees]
    codes = pad([one for one, _ in written_out])
    start = np.zeros((len(trees), int((codes == tokens.code(CONST)).sum(axis=1).max())))
    for row, (_, values) in enumerate(written_out):
        start[row, : len(values)] = values
    rows = np.unique(np.linspace(0, len(X) - 1, min(len(X), _MOST_ROWS)).astype(np.int64))
    fitter = ConstantFitter(X[rows], y[rows], tokens, scaling)
    fits = fitter.fit(codes, start, iterations=_ITERATIONS, late=late)
    return [
        (tokens.node(one, fits.constants[row]), float(fits.slope[row]), float(fits.intercept[row]))
        for row, (one, _) in enumerate(written_out)
    ]


def written(
    found: Sequence[tuple[Node, float, float]],
    X: Array,
    y: Array,
    *,
    units: Units,
    target: int,
    names: Sequence[str],
) -> list[FrontMember]:
    """Write trees in the data's own units; keep those that no shorter one is much better than.

    Parameters
    ----------
    found
        Trees in scaled units, each with factor and offset.
    X, y
        (n, d) and (n,) in the data's own units.
    """
    members = {
        member.equation: member
        for member in _members(found, X, y, units=units, target=target, names=names)
    }
    return shortlist([(each.tree.size, each.error, each) for each in members.values()])


def constant(y: Array, target: int) -> FrontMember:
    """Return the mean of a target as a member of its front: the first answer."""
    mean = float(np.mean(y))
    error = float(np.mean((y - mean) ** 2))
    return FrontMember(target, Node.constant(mean), repr(mean), np.full(len(y), mean), error)


def shortlist(proposed: Sequence[tuple[int, float, _T]]) -> list[_T]:
    """Keep what no shorter proposal is much better than; shortest first.

    Parameters
    ----------
    proposed
        Size, error, and the proposal.
    """
    kept: list[tuple[float, _T]] = []
    best, seen = np.inf, Counter[int]()
    for size, error, each in sorted(proposed, key=lambda one: one[:2]):
        if error < _SLACK * best and seen[size] < _EACH_SIZE:
            kept.append((error, each))
            seen[size] += 1
        best = min(best, error)
    if len(kept) > _MOST:
        kept = [*kept[: _MOST - 1], min(kept[_MOST - 1 :], key=lambda one: one[0])]
    return [each for _, each in kept]


def _members(
    found: Sequence[tuple[Node, float, float]],
    X: Array,
    y: Array,
    *,
    units: Units,
    target: int,
    names: Sequence[str],
) -> Iterator[FrontMember]:
    with np.errstate(all="ignore"):
        for tree, slope, intercept in found:
            if not np.isfinite([slope, intercept, *constants(tree)]).all():
                continue
            whole = in_own_units(tree, units.x)
            own = line(units.y * slope, whole, units.y * intercept, like=y)
            if not np.isfinite(list(constants(own))).all():
                continue
            predictions = evaluate(own, X)
            error = float(np.mean(np.square((predictions - y) / units.y)))
            if np.isfinite(predictions).all() and np.isfinite(error):
                yield FrontMember(target, own, text(own, names), predictions, error)


def has_polynomial(codes: Sequence[int], tokens: Tokens) -> bool:
    """Return whether an expression has a ``poly``."""
    return tokens.polynomial and tokens.code(POLY) in codes
