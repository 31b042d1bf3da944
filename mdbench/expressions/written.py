"""An equation in the form that it is written in, with its numbers as constants that may move.

What is only numbers is one constant, and so are the numbers of one sum or one product.  A whole
exponent is structure.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from .numerical import CHECKED, balls
from .precise import DIGITS, exactly, known_value, precise_value, working
from .tree import Call, Chain, Negation, Node, Number, Power, Variable, value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from .numerical import Values

    Array = NDArray[np.float64]

__all__ = ["Written", "agreeing", "fitted_written", "shift_as_written", "written"]

_STEPS = 60
_STALLED = 0.999
"""A step that leaves more than this of the error is the last."""
_SHARES = (0.25, 0.5, 1.0)
"""Shares of the points, nearest to the middle first: waves and poles are found near it."""
_TRIES = 6
_ENOUGH = 1e-13
_SEEN = 1e-6
"""Slopes that are smaller than the largest by this share are rounding."""
_MOVED = 1e-6
"""Constants that have moved by less are first tried as they are written."""
_NEAR = 1e-6
"""Residuals below this are looked at with more digits."""
_POLISHED = 1e-100
_POLISHING = 30
_TINY = 1e-50
"""The step of differences, as a share."""
_WHOLE = 1e-9
_MOST_WRITTEN = 12
_MOST_GAUGES = 24
"""Choices of constants that stand still."""
_STEP = 1e-7


@dataclass(frozen=True)
class Written:
    """A tree whose constants are variables, and what these are in the text.

    Attributes
    ----------
    tree
        With a variable ``#0``, ``#1``, ... for each constant.
    start
        The constants as they are written.
    exponents
        The indices of those that are an exponent, none of them whole.
    """

    tree: Node
    start: Array
    exponents: frozenset[int]

    def values(self, columns: Mapping[str, Array], constants: Array) -> Array:
        """Give the values with other constants."""
        n = len(next(iter(columns.values())))
        named = {f"#{k}": np.full(n, c) for k, c in enumerate(constants)}
        with np.errstate(all="ignore"):
            return np.array(np.broadcast_to(value(self.tree, {**columns, **named}), n))

    def slopes(self, columns: Mapping[str, Array], constants: Array) -> Array:
        """Give the derivatives by each constant times its size, (points, constants)."""
        made = []
        for k, c in enumerate(constants):
            step = np.zeros(len(constants))
            step[k] = _STEP * (abs(c) or 1.0)
            ahead, behind = (self.values(columns, constants + s * step) for s in (1, -1))
            with np.errstate(all="ignore"):
                made.append((ahead - behind) / (2 * _STEP))
        return np.array(made).reshape(len(made), -1).T

    def precise(self, point: Mapping[str, Any], constants: Sequence[Any]) -> Any:
        """Give the value at a point of balls, with the present precision."""
        return precise_value(self.tree, {**point, **{f"#{k}": c for k, c in enumerate(constants)}})


def written(node: Node, *, named: bool, scaled: bool = False) -> Written:
    """Take the constants out of a tree.

    Parameters
    ----------
    named
        Whether ``pi`` and ``E`` are constants like others, and not a part of the structure.
    scaled
        Whether each term of the equation has a constant before it, which is 1 where none is
        written.
    """
    taker = _Taker(named=named)
    if scaled and isinstance(node, Chain) and node.rest[0][0] in "+-":
        terms = [taker.scaled(part) for part in (node.first, *(part for _, part in node.rest))]
        signs = [sign for sign, _ in node.rest]
        tree: Node = replace(node, first=terms[0], rest=tuple(zip(signs, terms[1:], strict=True)))
    else:
        tree = taker.scaled(node) if scaled else taker.of(node)
    return Written(tree, np.array(taker.start), frozenset(taker.exponents))


class _Taker:
    def __init__(self, *, named: bool) -> None:
        self.named = named
        self.start: list[float] = []
        self.exponents: list[int] = []

    def constant(self, number: float) -> Variable:
        self.start.append(number)
        return Variable(None, f"#{len(self.start) - 1}")

    def is_free(self, node: Node) -> bool:
        fixed = isinstance(node, Number) and node.text[0].isalpha() and not self.named
        return node.constant is not None and not fixed

    def scaled(self, node: Node) -> Node:
        """Take the constants out of a term, with one before it."""
        before = len(self.start)
        tree = self.of(node)
        if isinstance(node, Chain) and node.rest[0][0] in "*/" and isinstance(tree, Chain):
            first = tree.first
            if isinstance(first, Variable) and first.name == f"#{len(self.start) - 1}":
                return tree
        if node.constant is not None and len(self.start) > before:
            return tree
        return Chain(None, self.constant(1.0), (("*", tree),))

    def of(self, node: Node) -> Node:
        if node.constant is not None:
            return self.constant(float(node.constant)) if self.is_free(node) else node
        match node:
            case Chain():
                return self.chain(node)
            case Negation():
                return replace(node, operand=self.of(node.operand))
            case Power():
                return replace(node, base=self.of(node.base), exponent=self.exponent(node.exponent))
            case Call():
                return replace(node, arguments=tuple(map(self.of, node.arguments)))
        return node

    def exponent(self, node: Node) -> Node:
        if node.constant is None:
            return self.of(node)
        if float(node.constant).is_integer():
            return node
        self.exponents.append(len(self.start))
        return self.constant(float(node.constant))

    def chain(self, node: Chain) -> Node:
        """Make one constant of all the numbers of a sum, or of a product."""
        is_sum = node.rest[0][0] in "+-"
        first = "+" if is_sum else "*"
        operands = [(first, node.first), *node.rest]
        numbers = [(sign, part) for sign, part in operands if self.is_free(part)]
        others = [(sign, self.of(part)) for sign, part in operands if not self.is_free(part)]
        if not numbers:
            return replace(node, first=others[0][1], rest=tuple(others[1:]))
        together = 0.0 if is_sum else 1.0
        for sign, part in numbers:
            number = float(part.constant or 0.0)
            together = {
                "+": together + number,
                "-": together - number,
                "*": together * number,
                "/": together / number if number else np.inf,
            }[sign]
        return Chain(None, self.constant(together), tuple(others))


def fitted_written(
    equation: Written,
    columns: Mapping[str, Array],
    wanted: Array,
    start: Array,
    free: Sequence[int],
) -> Array | None:
    """Move some constants until an equation has some values, to double precision.

    Returns
    -------
    NDArray or None
        None where no way was found.
    """
    least = 1e-2 * float(np.median(np.abs(wanted))) + 1e-300
    order = np.argsort(_distances(columns), kind="stable")
    constants = start
    for share in _SHARES:
        kept = order[: max(int(share * len(order)), 2 * len(start) + 2)]
        near = {name: column[kept] for name, column in columns.items()}
        constants = _fitted(equation, near, wanted[kept], least, constants, free)
    error, _ = _residuals(equation, columns, wanted, least, constants)
    return constants if float(np.max(np.abs(error))) <= _NEAR else None


def _distances(columns: Mapping[str, Array]) -> Array:
    """Say how far from the middle each point is."""
    far = []
    for column in columns.values():
        apart = np.abs(column - np.median(column))
        far.append(apart / (np.median(apart) or 1.0))
    return np.asarray(np.max(far, axis=0), np.float64)


def _fitted(  # noqa: PLR0917 - what a fit needs
    equation: Written,
    columns: Mapping[str, Array],
    wanted: Array,
    least: float,
    start: Array,
    free: Sequence[int],
) -> Array:
    """Take damped steps (Levenberg and Marquardt) as long as they lead nearer."""
    constants, damping = start.copy(), 1e-3
    error, weights = _residuals(equation, columns, wanted, least, constants)
    for _ in range(_STEPS):
        now = np.linalg.norm(error)
        if now <= _ENOUGH:
            break
        slopes = equation.slopes(columns, constants)[:, free] * weights[:, None]
        slopes[~np.isfinite(slopes)] = 0.0
        with np.errstate(all="ignore"):
            lengths = np.max(np.abs(slopes), axis=0)
        # What double precision hardly sees stands still here.
        lost = ~(lengths > _SEEN * np.max(lengths, initial=0.0)) | ~np.isfinite(lengths)
        slopes[:, lost], lengths[lost] = 0.0, 1.0
        slopes = slopes / lengths
        for _ in range(_TRIES):
            lifted = np.vstack([slopes, np.sqrt(damping) * np.eye(len(free))])
            shift = np.zeros(len(start))
            steps = np.linalg.lstsq(lifted, np.append(-error, np.zeros(len(free))), rcond=None)[0]
            shift[free] = steps / lengths
            tried = constants + shift * np.where(constants == 0, 1.0, np.abs(constants))
            new, new_weights = _residuals(equation, columns, wanted, least, tried)
            if np.linalg.norm(new) < now:
                constants, error, weights = tried, new, new_weights
                damping = max(damping / 10, 1e-14)
                break
            damping *= 10
        else:
            break
        if np.linalg.norm(error) > _STALLED * now:
            break
    return constants


def _residuals(
    equation: Written, columns: Mapping[str, Array], wanted: Array, least: float, constants: Array
) -> tuple[Array, Array]:
    """Give differences over sizes, none above 1, so that no pole outweighs the rest."""
    with np.errstate(all="ignore"):
        values = equation.values(columns, constants)
        weights = 1 / (np.abs(wanted) + np.abs(values) + least)
        error = (values - wanted) * weights
    undefined = ~np.isfinite(error)
    return np.where(undefined, 1.0, error), np.where(undefined, 0.0, weights)


def agreeing(  # noqa: PLR0917 - what a fit needs
    equation: Written,
    values: Values,
    node: Node,
    columns: Mapping[str, Array],
    constants: Array,
    free: Sequence[int],
) -> Array | None:
    """Move constants on with all digits, until an equation is another one.

    Parameters
    ----------
    values
        To what share the two have to agree, and where: at some of the points, and far from them.
    node
        The other equation.
    columns
        The points where both have values.
    constants
        From where, near enough for double precision.
    free
        The indices of those that may move.

    Returns
    -------
    NDArray or None
        The constants; None where the two do not agree.
    """
    n = len(next(iter(columns.values())))
    chosen = np.unique(np.linspace(0, n - 1, min(n, 2 * len(constants) + CHECKED)).astype(int))
    some = {name: column[chosen] for name, column in columns.items()}
    try:
        wanted = [
            known_value(node, {name: float(c[i]) for name, c in some.items()})
            for i in range(len(chosen))
        ]
        for snapped, moving in _choices(equation, constants, free):
            error, exact = _polished(equation, some, wanted, snapped, moving)
            if error <= values.tolerance and values.agrees_far_with(node, equation.tree, exact):
                return np.array([float(c) for c in exact])
    except ArithmeticError:
        pass
    return None


def _choices(
    equation: Written, constants: Array, free: Sequence[int]
) -> Iterator[tuple[Array, list[int]]]:
    """Give what may move: only what has moved before, and then all.

    Where constants come in pairs that can stand in for each other, all together find no way.
    """
    start = equation.start
    moved = np.abs(constants - start) > _MOVED * np.abs(start)
    moving = [k for k in free if moved[k]]
    if len(moving) < len(free):
        yield np.where(moved, constants, start), moving
    yield constants, list(free)


def _polished(
    equation: Written,
    columns: Mapping[str, Array],
    wanted: Sequence[Any],
    constants: Array,
    free: Sequence[int],
) -> tuple[float, list[Any]]:
    """Take steps as long as each halves the largest error, and give it with the constants."""
    names = list(columns)
    with working(DIGITS):
        exact = [exactly(float(c)) for c in constants]
        sizes = [abs(each).mid() if each != 0 else exactly(1.0) for each in wanted]
        points = [
            balls(dict(zip(names, map(float, row), strict=True)))
            for row in zip(*columns.values(), strict=True)
        ]

        def errors(tried: Sequence[Any]) -> list[Any]:
            return [
                ((target - equation.precise(point, tried)) / size).mid()
                for target, point, size in zip(wanted, points, sizes, strict=True)
            ]

        best, worst = exact, np.inf
        for _ in range(_POLISHING):
            now = errors(exact)
            error = float(max(map(abs, now)))
            if error <= _POLISHED or error > worst / 2:
                return (error, exact) if error < worst else (worst, best)
            worst, best = error, list(exact)
            # Differences of so many digits: what double precision cannot see counts, too.
            steps = [abs(exact[k]) * exactly(_TINY) or exactly(_TINY) for k in free]
            columns_of = []
            for k, step in zip(free, steps, strict=True):
                ahead = [*exact[:k], (exact[k] + step).mid(), *exact[k + 1 :]]
                columns_of.append(
                    [(b - a) / exactly(_TINY) for a, b in zip(errors(ahead), now, strict=True)]
                )
            if not free:
                break
            lengths = [max(map(abs, column)).mid() or exactly(1.0) for column in columns_of]
            slopes = np.array(
                [
                    [float((each / length).mid()) for each in column]
                    for column, length in zip(columns_of, lengths, strict=True)
                ]
            ).T
            most = max(map(abs, now)).mid()
            moves = np.linalg.pinv(slopes, rcond=1e-10) @ np.array(
                [float((each / most).mid()) for each in now]
            )
            for k, step, length, move in zip(free, steps, lengths, moves, strict=True):
                scale = step / exactly(_TINY)
                exact[k] = (exact[k] + exactly(float(move)) * most / length * scale).mid()
    return worst, best


def shift_as_written(values: Values) -> float | None:
    """Give by how much the truth's constants, as written, have to move to make it the answer.

    Where constants can stand in for each other all but as many as are needed stand still:
    whichever leaves the least.  So the verdict does not hang on the units of variables.

    Returns
    -------
    float or None
        The largest share of a constant; None where the answer cannot be brought to that form.
    """
    truth = written(values.truth, named=False, scaled=True)
    usable = np.isfinite(values.true_values) & np.isfinite(values.values)
    n = len(truth.start)
    if n > _MOST_WRITTEN or usable.sum() < n + CHECKED or not all(truth.start):
        return None
    columns = {name: column[usable] for name, column in values.columns.items()}
    wanted = values.values[usable]
    sizes = np.abs(wanted) + np.abs(values.true_values[usable])
    with np.errstate(all="ignore"):
        slopes = truth.slopes(columns, truth.start) / sizes[:, None]
    slopes = slopes[np.isfinite(slopes).all(axis=1)]
    rank = int(np.linalg.matrix_rank(slopes, rtol=1e-8)) if len(slopes) else 0
    least = None
    for free in map(list, islice(combinations(range(n), rank), _MOST_GAUGES)):
        if np.linalg.matrix_rank(slopes[:, free], rtol=1e-8) < rank:
            continue
        found = fitted_written(truth, columns, wanted, truth.start, free)
        if found is None:
            continue
        shift = float(np.max(np.abs(found / truth.start - 1)))
        if least is not None and shift >= least:
            continue
        exact = agreeing(truth, values, values.prediction, columns, found, free)
        if exact is not None and not _becomes_whole(truth, exact):
            least = float(np.max(np.abs(exact / truth.start - 1)))
    return least


def _becomes_whole(equation: Written, constants: Array) -> bool:
    return any(abs(constants[k] - round(constants[k])) < _WHOLE for k in equation.exponents)
