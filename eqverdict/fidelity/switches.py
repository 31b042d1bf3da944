"""Where an equation switches from one rule to another: the sign of what is compared changes.

Points drawn at random do not lie between two switches that are near each other.  So switches are
solved for on lines through the domain, and points are set between all neighbours on a line.
"""

from __future__ import annotations

import random
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from eqverdict.atoms import ONE, skeleton_of
from eqverdict.errors import EquationError
from eqverdict.expand import expand
from eqverdict.fidelity.verdict import match
from eqverdict.tree import Call, Chain, Negation, Number, mapped, parts, text_of, value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from eqverdict.atoms import Sum
    from eqverdict.tree import Node

    Array = NDArray[np.float64]
    Lines = NDArray[np.intp]
    Box = Mapping[str, tuple[float, float]]

_SWITCHING = frozenset({"abs", "Abs", "floor", "sign", "max", "Max", "min", "Min"})
SAME_BRANCH = 0.8
"""The share of the points, nearest in value first, that are on one side of a switch that moves."""
_MOST_SWITCHES = 32
"""Conditions that are looked at."""
_BASES = 6
"""Points through which lines along each axis are drawn, besides the middle."""
_SLANTED = 8
"""Lines that are along no axis."""
_SAMPLES = 129
"""Points of a line between which the sign may change."""
_MOST_ROOTS = 512
_BISECTIONS = 60
_LEAST_GAP = 1e-13
"""Switches that are nearer, as a share of the line, may be one, rounded."""
_NARROW = 8
"""The narrowest gaps, through which lines along the other axes are drawn, too."""
_ASIDE = 1e-9
"""The sides of a point, over the largest size of a variable."""
_MOST_JUMPS = 12
"""Jumps of truth and answer that are compared."""


def has_switches(*trees: Node) -> bool:
    """Whether a tree has a function that switches."""
    return any(
        isinstance(part, Call) and part.function in _SWITCHING
        for tree in trees
        for part in parts(tree)
    )


def conditions(trees: Sequence[Node]) -> list[Node]:
    """Return what is zero where a tree switches, each once; of a product its factors."""
    different: dict[str, Node] = {}
    calls = (part for tree in trees for part in parts(tree) if isinstance(part, Call))
    for call in calls:
        if call.function not in _SWITCHING:
            continue
        condition = call.arguments[0]
        if call.function == "floor":  # it switches where this is a whole number
            pi = Number(np.float64(np.pi), "pi")
            condition = Call(None, "sin", (Chain(None, pi, (("*", condition),)),))
        if len(call.arguments) > 1:
            condition = Chain(None, condition, (("-", call.arguments[1]),))
        for factor in _factors(condition):
            if factor.constant is None:
                different.setdefault(repr(factor), factor)
    return list(islice(different.values(), _MOST_SWITCHES))


def _factors(node: Node) -> Iterator[Node]:
    if isinstance(node, Chain) and node.rest[0][0] in "*/":
        for factor in (node.first, *(operand for _, operand in node.rest)):
            yield from _factors(factor)
    else:
        yield node.operand if isinstance(node, Negation) else node


def switch_points(trees: Sequence[Node], box: Box) -> dict[str, Array]:
    """Return points between all neighbouring switches on lines through a box.

    Parameters
    ----------
    trees
        The functions that switch.
    box
        The least and the largest value of each variable.

    Returns
    -------
    dict
        The values of each variable at the points; none where nothing switches.
    """
    names = list(box)
    switching = conditions(trees)
    chosen: list[Array] = []
    low, high = (np.array([ends[k] for ends in box.values()], np.float64) for k in (0, 1))
    generator = random.Random("switches")  # noqa: S311 - the same for all, not secrets
    bases = np.array([(low + high) / 2, *_drawn(low, high, _BASES, generator)])
    starts, ends = _drawn(low, high, _SLANTED, generator), _drawn(low, high, _SLANTED, generator)
    for _ in names if switching else ():
        for axis in range(len(names)):
            first, last = bases.copy(), bases.copy()
            first[:, axis], last[:, axis] = low[axis], high[axis]
            starts, ends = np.vstack([starts, first]), np.vstack([ends, last])
        points, gaps = _between(switching, names, starts, ends)
        chosen.append(points)
        bases = points[np.argsort(gaps, kind="stable")[:_NARROW]]
        starts = ends = np.empty((0, len(names)))
        if not len(bases):
            break
    table = np.vstack(chosen) if chosen else np.empty((0, len(names)))
    return {name: table[:, i].copy() for i, name in enumerate(names)}


def _drawn(low: Array, high: Array, n: int, generator: random.Random) -> Array:
    """Draw points in a box, (n, variables)."""
    shares = np.array([[generator.random() for _ in low] for _ in range(n)])
    return np.asarray(low + shares.reshape(n, len(low)) * (high - low))


def _between(
    switching: Sequence[Node], names: Sequence[str], starts: Array, ends: Array
) -> tuple[Array, Array]:
    """Return the middles of the pieces into which switches cut lines, and how long these are."""
    n_lines = len(starts)
    cuts: list[tuple[Lines, Array]] = [
        (np.arange(n_lines), np.full(n_lines, share)) for share in (0.0, 1.0)
    ]
    for condition in switching:

        def positive(line: NDArray[np.intp], share: Array, node: Node = condition) -> Array:
            points = starts[line] + share[:, None] * (ends - starts)[line]
            columns = {name: points[:, i] for i, name in enumerate(names)}
            with np.errstate(all="ignore"):
                values = np.asarray(value(node, columns), np.float64)
            return np.broadcast_to(values >= 0, len(line))

        cuts.append(_roots(positive, n_lines))
    line, share = (np.concatenate(each) for each in zip(*cuts, strict=True))
    order = np.lexsort((share, line))
    line, share = line[order], share[order]
    gaps = np.diff(share)
    inside = (line[1:] == line[:-1]) & (gaps > _LEAST_GAP)
    line, middle, gaps = line[:-1][inside], (share[:-1] + gaps / 2)[inside], gaps[inside]
    return starts[line] + middle[:, None] * (ends - starts)[line], gaps


def _roots(positive: Callable[..., Array], n_lines: int) -> tuple[Lines, Array]:
    """Return where on lines a condition changes, by bisection: the lines, and shares of these."""
    samples = np.linspace(0.0, 1.0, _SAMPLES)
    every = np.repeat(np.arange(n_lines), _SAMPLES)
    signs = positive(every, np.tile(samples, n_lines)).reshape(n_lines, _SAMPLES)
    line, k = (each[:_MOST_ROOTS] for each in np.nonzero(signs[:, 1:] != signs[:, :-1]))
    below, above, first = samples[k], samples[k + 1], signs[line, k]
    for _ in range(_BISECTIONS if len(line) else 0):
        middle = (below + above) / 2
        same = positive(line, middle) == first
        below, above = np.where(same, middle, below), np.where(same, above, middle)
    return line, above


def on_a_jump(trees: Sequence[Node], columns: Mapping[str, Array]) -> NDArray[np.bool_]:
    """Whether points lie on a jump and not on its sides: there ``>`` and ``>=`` differ alone."""
    n = len(next(iter(columns.values())))
    steps = {name: _ASIDE * np.max(np.abs(column)) for name, column in columns.items()}
    on = np.zeros(n, bool)
    for jump in dict.fromkeys(jump for tree in trees for jump in _jumps(tree)):
        signs = []
        with np.errstate(all="ignore"):
            for side in (-1.0, 0.0, 1.0):
                moved = {name: column + side * steps[name] for name, column in columns.items()}
                signs.append(np.broadcast_to(np.asarray(value(jump, moved), np.float64), n))
        on |= (signs[1] == 0) & (signs[0] != 0) & (signs[2] != 0)
    return on


def with_jumps_of(
    prediction: Node, names: tuple[str, ...], truth: Node, true_names: tuple[str, ...]
) -> tuple[str, float] | None:
    """Write the truth with the answer's jumps where these are its own within 5 %.

    A constant that moves a jump changes no value at most points, so that no fit moves it.

    Returns
    -------
    tuple or None
        The truth so written, and the largest error of a constant; None where no jump moves.
    """
    own = [(call, terms) for call in _jumps(prediction) if (terms := _terms(call, names))]
    table: dict[Node, Node] = {}
    largest = 0.0
    for call in _jumps(truth):
        true_terms = _terms(call, true_names)
        if not true_terms:
            continue
        near = [
            (*shift, other) for other, terms in own if (shift := _jump_shift(true_terms, terms))
        ]
        if not near:
            continue
        error, side, other = min(near, key=itemgetter(0))
        if error:
            table[call] = other if side > 0 else Negation(None, other)
            largest = max(largest, error)
    return (text_of(mapped(truth, table.get)), largest) if table else None


def _jumps(tree: Node) -> list[Call]:
    calls = (part for part in parts(tree) if isinstance(part, Call) and part.function == "sign")
    return list(islice(dict.fromkeys(calls), _MOST_JUMPS))


def _terms(call: Call, names: tuple[str, ...]) -> Sum | None:
    try:
        return expand(text_of(call.arguments[0]), names)
    except EquationError:
        return None


def _jump_shift(truth: Sum, prediction: Sum) -> tuple[float, int] | None:
    """Return by how much the constants of a condition are off, and the sign of its factor.

    The size of a condition is of no account: a term without a constant is made equal in both, or
    else any but the constant one.
    """
    variable = [monomial for monomial in truth if monomial != ONE]
    references = [monomial for monomial in variable if abs(truth[monomial]) == 1] or variable
    shifts = []
    for reference in references:
        for monomial, c in prediction.items():
            if skeleton_of(monomial) != skeleton_of(reference):
                continue
            scale = truth[reference] / c
            matched = match(truth, {other: scale * size for other, size in prediction.items()})
            if not matched.faults:
                shifts.append((matched.error or 0.0, 1 if scale > 0 else -1))
    return min(shifts, default=None)
