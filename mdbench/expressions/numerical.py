"""Whether two equations have the same values: at fixed points, in double precision and beyond.

Double precision tells nearly all wrong answers apart.  What it does not is worked out with more
digits, where equal means equal to ninety of them; with the truth's constants as they stand, and
where that fails moved to where the answer's values are nearest.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .grammar import read
from .matching import TOLERANCE
from .model import FARTHEST, Model, fitted
from .points import far_points, points
from .precise import (
    DIGITS,
    FAR_DIGITS,
    TooLargeError,
    differ,
    exactly,
    known_value,
    precise_value,
    total,
    working,
)
from .tree import Call, Chain, Negation, Node, Power, Variable, value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from .atoms import Sum
    from .points import Domain

    Array = NDArray[np.float64]

__all__ = ["Related", "Relation", "Values"]

_CLOSE = 1e-8
"""Values of double precision that agree to this share are looked at with more digits."""
EXACT = 1e-90
"""Values of `DIGITS` digits that agree to this share are equal."""
ROUNDED = 1e-12
"""Those of equations with long numbers agree to this share: their numbers are rounded."""
_POLISHED = 1e-100
"""Constants are moved until values agree to this share, as what lies far away needs them so."""
_EXACT_FAR = 1e-20
_ROUNDED_FAR = 1e-6
"""The same well beyond the domain, where more may cancel."""
_LONG = re.compile(r"(?<![\w.])(?=[\d.]{13})\d*\.\d+")
"""A number that was printed in double precision."""
_NEARLY = 1e-3
"""Values that are farther from a constant difference or ratio are not looked at."""
_UNDEFINED = 0.2
"""An answer without values at more than this share of the truth's points is another equation."""
_LOOKED_AT = 3
"""At how many points double precision is held against more digits."""
_CHECKED = 12
_UNSEEN = 1e-11
"""What changes values by less cannot be seen beside rounded numbers."""
_PART = "the part"
_MOST_PARTS = 400
_STEPS = 20
_BRANCHED = frozenset({"abs", "Abs", "sign", "max", "Max", "min", "Min"})
_MOST_BRANCHES = 8
_NEW_POINTS = 2
"""Points that are added on a side of a branch where none was."""


class Relation(StrEnum):
    """How the values of an answer are related to those of the truth."""

    SAME = "same"
    """Equal, with the truth's constants moved by 5 % at most."""
    OTHER_CONSTANTS = "other constants"
    """Equal, with constants that have moved farther."""
    APART = "apart"
    """Told apart by their values."""
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Related:
    """A relation, with the largest relative error of a constant where there is one."""

    relation: Relation
    error: float | None = None


class Values:
    """The values of the truth and of an answer at the points of a task's domain.

    Parameters
    ----------
    truth, prediction
        Right-hand sides that can be read.
    true_names, names
        The variables that they may use.
    domain
        What is known of the variables' values.
    """

    def __init__(
        self,
        truth: str,
        prediction: str,
        true_names: tuple[str, ...],
        names: tuple[str, ...],
        domain: Domain,
    ) -> None:
        self.truth, self.prediction = read(truth, true_names), read(prediction, names)
        used = {node.name for tree in (self.truth, self.prediction) for node in _names(tree)}
        self._names = tuple(dict.fromkeys(n for n in (*true_names, *names) if n in used))
        self._domain = tuple(each for each in domain if each[0] in used)
        self._rounded = bool(_LONG.search(prediction) or _LONG.search(truth))

    @cached_property
    def columns(self) -> Mapping[str, Array]:
        """The points, with those on the other sides of branches."""
        base = points(self._names, self._domain)
        branches = [*_branches(self.truth), *_branches(self.prediction)][:_MOST_BRANCHES]
        return _with_branches(base, branches, {name for name, _, _ in self._domain})

    @cached_property
    def true_values(self) -> Array:
        """The truth, in double precision."""
        return self._values(self.truth)

    @cached_property
    def values(self) -> Array:
        """The answer, in double precision."""
        return self._values(self.prediction)

    def _values(self, node: Node) -> Array:
        n = len(next(iter(self.columns.values()))) if self.columns else 1
        with np.errstate(all="ignore"):
            found = np.broadcast_to(np.asarray(value(node, self.columns), np.float64), n)
        known = np.flatnonzero(np.isfinite(found))
        looked_at = known[:: max(1, len(known) // _LOOKED_AT)]
        if all(self._is_near(node, i, found[i]) for i in looked_at):
            return found
        # Too much cancels for double precision.
        return np.array([self._rounded_value(node, i) for i in range(n)])

    def _is_near(self, node: Node, i: Any, number: float) -> bool:
        wanted = self._rounded_value(node, i)
        return math.isnan(wanted) or abs(number - wanted) <= _CLOSE * abs(wanted)

    def _rounded_value(self, node: Node, i: Any) -> float:
        try:
            return float(self._precise(node, i).mid())
        except ArithmeticError:
            return math.nan

    def _precise(self, node: Node, i: Any) -> Any:
        return known_value(node, self._point(i))

    def _point(self, i: Any) -> dict[str, float]:
        return {name: float(column[i]) for name, column in self.columns.items()}

    @cached_property
    def undefined(self) -> bool:
        """Whether the answer has no values in much of where the truth has some."""
        defined = np.isfinite(self.true_values)
        doubted = np.flatnonzero(defined & np.isnan(self.values))
        if len(doubted) <= _UNDEFINED * defined.sum():
            return False
        none = 0
        for i in doubted:
            try:
                self._precise(self.prediction, i)
            except ArithmeticError:
                none += 1
        return none > _UNDEFINED * int(defined.sum())

    @cached_property
    def equal(self) -> bool | None:
        """Whether the two have the same values as they stand; None if nobody can tell."""
        one, other = self.true_values, self.values
        usable = np.isfinite(one) & np.isfinite(other)
        with np.errstate(all="ignore"):
            far = np.abs(one - other) > _CLOSE * (np.abs(one) + np.abs(other))
        first = self._agreed(np.flatnonzero(usable & far)[: _CHECKED // 2])
        if first is not None and first > self._tolerance:
            return False
        # What double precision cannot tell may be a small number beside what cancels.
        agreed = self._agreed(_spread(np.flatnonzero(usable), self._base))
        if agreed is None or agreed > self._tolerance:
            return None if agreed is None else False
        return self._agrees_far(lambda point: [precise_value(self.truth, point)])

    @cached_property
    def holds_more(self) -> bool:
        """Whether a part of the answer is there that rounded numbers cannot show.

        Such a part could as well be a number, to as many digits as rounding leaves, and is none
        with all of them.  Where no number is rounded values are equal to all digits or they are
        not, and nothing can hide.
        """
        usable = np.flatnonzero(np.isfinite(self.values))
        if not self._rounded or not len(usable):
            return False
        size = np.abs(self.values[usable])
        chosen = _spread(usable, self._base)
        for part in list(_parts(self.prediction))[:_MOST_PARTS]:
            if part.constant is not None or part is self.prediction:
                continue
            tree = _with_part(self.prediction, part, Variable(None, _PART))
            with np.errstate(all="ignore"):
                number = np.broadcast_to(value(part, self.columns), self.values.shape)[usable[0]]
                fixed = {**self.columns, _PART: np.full(self.values.shape, number)}
                other = np.broadcast_to(value(tree, fixed), self.values.shape)[usable]
                same = np.abs(other - self.values[usable]) <= _UNSEEN * size
            if same.all() and not self._is_number(part, tree, usable[0], chosen):
                return True
        return False

    def _is_number(self, part: Node, tree: Node, first: Any, chosen: NDArray[np.intp]) -> bool:
        """Tell whether a part may be a number in an equation, with all digits."""
        try:
            for i in chosen:

                def both(i: Any = i) -> tuple[Any, Any, Any]:
                    number = precise_value(part, _balls(self._point(first)))
                    point = _balls(self._point(i))
                    one = precise_value(self.prediction, point)
                    other = precise_value(tree, {**point, _PART: number})
                    return one, other, abs(one) + abs(other)

                if differ(both, EXACT)[0]:
                    return False
        except ArithmeticError:
            pass  # nobody knows
        return True

    def proportional(self) -> float | None:
        """Give the factor between the truth and an answer that is a multiple of it, less 1."""
        ratio = self.factor()
        if ratio is None or abs(ratio - 1) > 2 * TOLERANCE:
            return None
        usable = np.isfinite(self.true_values) & np.isfinite(self.values) & (self.values != 0)
        apart = np.abs(self.values - ratio * self.true_values)[usable]
        farthest = np.flatnonzero(usable)[np.argsort(-apart / np.abs(self.values[usable]))]
        factors = []
        for i in [*farthest[: _CHECKED // 2], *_spread(np.flatnonzero(usable), self._base)]:
            try:
                one, other = (self._precise(each, i) for each in (self.truth, self.prediction))
            except ArithmeticError:
                continue
            with working(DIGITS):
                factors.append(other / one)
        if not factors:
            return None
        with working(DIGITS):
            k = factors[0].mid()
            if not all(abs(factor - k) <= self._tolerance for factor in factors):
                return None
        if not self._agrees_far(lambda point: [k * precise_value(self.truth, point)]):
            return None
        with working(DIGITS):
            return float(k - 1)

    def _agrees_far(
        self, truth: Callable[[Mapping[str, Any]], list[Any]], left: Model | None = None
    ) -> bool:
        """Tell whether the answer is a sum of terms well beyond the domain, too."""
        tolerance = _ROUNDED_FAR if self._rounded else _EXACT_FAR
        # What is rounded is lost where it cancels, and the nearest points of all are such.
        last = -2 if self._rounded else None
        for numbers in far_points(self._names, self._domain)[:last]:

            def both(numbers: Mapping[str, float] = numbers) -> tuple[Any, Any, Any]:
                point = _balls(numbers)
                terms, other = truth(point), precise_value(self.prediction, point)
                taken = left.precise(point, [0] * len(left.moving)) if left else 0
                # Moved constants have fewer digits than what may cancel here.
                size = total(map(abs, terms)) + abs(other)
                return total(terms) + taken, other, size

            try:
                if differ(both, tolerance, FAR_DIGITS)[0]:
                    return False
            except ArithmeticError:
                continue
        return True

    @property
    def _tolerance(self) -> float:
        return ROUNDED if self._rounded else EXACT

    @property
    def _base(self) -> int:
        return len(next(iter(points(self._names, self._domain).values()), ()))

    def _agreed(self, chosen: NDArray[np.intp]) -> float | None:
        """Give by what share the two differ at most, with all digits."""
        found = []
        for i in chosen:
            try:
                found.append(differ(lambda i=i: self._both(i), self._tolerance)[1])  # type: ignore[misc]
            except ArithmeticError:
                continue
        return max(found, default=None)

    def _both(self, i: Any) -> tuple[Any, Any, Any]:
        point = _balls(self._point(i))
        one, other = (precise_value(each, point) for each in (self.truth, self.prediction))
        return one, other, abs(one) + abs(other)

    def faithful(self, terms: Sum, *, of_truth: bool) -> bool:
        """Tell whether terms have the values of the equation that they were made of.

        What holds for numbers of one sign only has been taken for granted in them.
        """
        node, values = (
            (self.truth, self.true_values) if of_truth else (self.prediction, self.values)
        )
        model = Model(terms)
        still = np.zeros(len(model.moving))
        with np.errstate(all="ignore"):
            dual, sizes = model.dual(self.columns, still)
            difference = np.abs(np.broadcast_to(dual[0], values.shape) - values)
            doubted = np.isfinite(values) & ~(difference <= _CLOSE * (sizes + np.abs(values)))
        for i in np.flatnonzero(doubted):
            try:
                wanted = self._precise(node, i)
            except ArithmeticError:
                continue

            def both(i: Any = i, wanted: Any = wanted) -> tuple[Any, Any, Any]:
                found = model.precise(_balls(self._point(i)), still.tolist())
                return found, wanted, abs(found) + abs(wanted)

            try:
                if differ(both, _CLOSE)[0]:
                    return False
            except TooLargeError:
                continue
            except ArithmeticError:
                return False
        return True

    def offset(self) -> float | None:
        """Give the constant that is nearly the answer minus the truth; None if none is."""
        with np.errstate(all="ignore"):
            difference = self.values - self.true_values
        return self._constant(difference, np.abs(self.true_values))

    def factor(self) -> float | None:
        """Give the constant that is nearly the answer over the truth; None if none is."""
        with np.errstate(all="ignore"):
            ratio = self.values / np.where(self.true_values == 0, np.nan, self.true_values)
        return self._constant(ratio, np.abs(ratio)) or None

    def _constant(self, values: Array, sizes: Array) -> float | None:
        known = np.isfinite(values)
        if not known.any():
            return None
        middle = float(np.median(values[known]))
        near = np.abs(values - middle)[known] <= _NEARLY * sizes[known]
        return middle if near.mean() > 1 - _UNDEFINED else None

    def relation(self, terms: Sum, without: Sum | None = None, *, exact: bool = False) -> Related:
        """Say whether the constants of terms can be moved to where the answer's values are.

        Parameters
        ----------
        terms
            The truth, or a part of it.
        without
            Terms that are taken away from the answer.
        exact
            Whether no number of the answer may be rounded.
        """
        tolerance = EXACT if exact else self._tolerance
        model = Model(terms)
        values, left = self.values, None if without is None else Model(without)
        if left is not None:
            with np.errstate(all="ignore"):
                values = values - left.dual(self.columns, np.zeros(len(left.moving)))[0][0]
        fit = fitted(model, self.columns, values)
        if fit is None:
            return Related(Relation.UNKNOWN)
        if fit.residual > _CLOSE or np.max(np.abs(fit.shifts), initial=0.0) > FARTHEST:
            return Related(Relation.APART)
        error = float(np.max(np.abs(fit.shifts), initial=0.0))
        if error > TOLERANCE * (1 + ROUNDED**0.5):
            return Related(Relation.OTHER_CONSTANTS, error)
        agreed, moved = self._polished(model, fit.shifts, left)
        if agreed is None:
            return Related(Relation.UNKNOWN)
        if agreed > tolerance or not self._agrees_far(
            lambda point: model.precise_terms(point, moved), left
        ):
            return Related(Relation.APART)
        shifts = np.array([float(shift) for shift in moved])
        error = float(np.max(np.abs(shifts), initial=0.0))
        exponents = [float(model.moving[i].value) * (1 + shifts[i]) for i in model.exponents]
        whole = any(abs(exponent - round(exponent)) < ROUNDED for exponent in exponents)
        kept = error <= TOLERANCE and not whole
        return Related(Relation.SAME if kept else Relation.OTHER_CONSTANTS, error)

    def _polished(
        self, model: Model, shifts: Array, left: Model | None
    ) -> tuple[float | None, Sequence[Any]]:
        """Move constants on with all digits; give by what share values then differ at most."""
        # Where constants can stand in for others, those that need not move do not.
        moving = np.abs(shifts) > _CLOSE
        found = self._moved_on(model, np.where(moving, shifts, 0.0), moving, left)
        if found[0] is None or found[0] <= EXACT:
            return found
        return self._moved_on(model, shifts, np.ones(len(shifts), bool), left)

    def _moved_on(
        self, model: Model, shifts: Array, moving: NDArray[np.bool_], left: Model | None
    ) -> tuple[float | None, Sequence[Any]]:
        with np.errstate(all="ignore"):
            dual, sizes = model.dual(self.columns, shifts)
            if left is not None:
                sizes = sizes + left.dual(self.columns, np.zeros(len(left.moving)))[1]
            usable = np.isfinite(dual).all(axis=0) & np.isfinite(self.values) & (sizes > 0)
        chosen = _spread(np.flatnonzero(usable), self._base, len(shifts) + _CHECKED)
        if len(chosen) <= len(shifts):
            return None, []
        inverse = np.zeros((len(shifts), len(chosen)))
        inverse[moving] = np.linalg.pinv(
            (dual[1:][:, chosen][moving] / sizes[chosen]).T, rcond=1e-12
        )
        with working(DIGITS):
            exact = [exactly(float(shift)) for shift in shifts]
            try:
                wanted = [self._wanted(i, left) for i in chosen]
                worst = np.inf
                for _ in range(_STEPS):
                    errors = [
                        ((target - model.precise(point, exact)) / exactly(float(size))).mid()
                        for (target, point), size in zip(wanted, sizes[chosen], strict=True)
                    ]
                    error = float(max(map(abs, errors)))
                    if error <= _POLISHED or error > worst / 2:
                        return min(worst, error), exact
                    worst = error
                    step = inverse @ np.array([float(each) for each in errors])
                    exact = [
                        (a + exactly(float(b))).mid() for a, b in zip(exact, step, strict=True)
                    ]
            except ArithmeticError:
                return None, []
        return worst, exact

    def _wanted(self, i: int, left: Model | None) -> tuple[Any, dict[str, Any]]:
        point = _balls(self._point(i))
        target = precise_value(self.prediction, point)
        if left is not None:
            target -= left.precise(point, [0] * len(left.moving))
        return target, point


def _balls(point: Mapping[str, float]) -> dict[str, Any]:
    return {name: exactly(number) for name, number in point.items()}


def _spread(chosen: NDArray[np.intp], base: int, most: int = _CHECKED) -> NDArray[np.intp]:
    """Keep all points that were added to those of the domain, and some of these."""
    added, drawn = chosen[chosen >= base], chosen[chosen < base]
    return np.concatenate([drawn[:most], added])


def _parts(node: Node) -> Iterator[Node]:
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
        yield from _parts(part)


def _with_part(node: Node, part: Node, other: Node) -> Node:
    """Put another node in the place of a part of a tree."""
    if node is part:
        return other

    def inside(child: Node) -> Node:
        return _with_part(child, part, other)

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


def _names(node: Node) -> Iterator[Any]:
    return (part for part in _parts(node) if hasattr(part, "name"))


def _branches(node: Node) -> Iterator[Callable[[Mapping[str, Array]], Array]]:
    """Give the functions at whose zeros an equation changes its form."""
    for part in _parts(node):
        if isinstance(part, Call) and part.function in _BRANCHED:
            yield lambda columns, part=part: _side(part, columns)  # type: ignore[misc]


def _side(call: Call, columns: Mapping[str, Array]) -> Any:
    values = [np.asarray(value(argument, columns), np.float64) for argument in call.arguments]
    return values[0] - values[1] if len(values) > 1 else values[0]


def _with_branches(
    base: Mapping[str, Array],
    branches: list[Callable[[Mapping[str, Array]], Array]],
    known: set[str],
) -> Mapping[str, Array]:
    """Add points on those sides of branches where there are none, as far as they are found.

    Variables of a known range are followed to ten times its ends, others to a million.
    """
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
