"""Whether constants can be moved until two equations have the same values.

`ConstantMatcher` moves the constants of the truth's terms; `constant_shift` those of an equation as
it is written.  Both first in double precision, then with all digits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations, islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from eqverdict.atoms import PI
from eqverdict.fidelity.models import (
    FARTHEST,
    Model,
    fit_model,
)
from eqverdict.fidelity.numeric import (
    CHECKED,
    CLOSE,
    EXACT,
    ROUNDED,
    ValueComparison,
    exact_point,
    spread_out,
)
from eqverdict.fidelity.parametric import ParametricExpression, parametrize
from eqverdict.fidelity.parametric_fit import fit_parametric
from eqverdict.fidelity.verdict import PRINTED, TOLERANCE
from eqverdict.interval_eval import (
    DIGITS,
    TracedTree,
    ball_value,
    exact_ball,
    known_value,
    precision,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from eqverdict.atoms import Sum
    from eqverdict.tree import Node

    Array = NDArray[np.float64]

_POLISHED = 1e-130
"""Constants are moved until values agree to this share, as what lies far away needs them so."""
_STEPS = 20


class Equivalence(StrEnum):
    """The relation of the values of an answer to those of the truth."""

    SAME = "same"
    """Equal, with the truth's constants moved by 5 % at most."""
    OTHER_CONSTANTS = "other constants"
    """Equal, with constants that have moved farther."""
    APART = "apart"
    """Their values differ."""
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class MovedTruth:
    """The truth with its constants moved: at columns of points, and at a point of balls."""

    floats: Callable[[Mapping[str, Array]], Array]
    precise: Callable[[Mapping[str, Any]], Any]


@dataclass(frozen=True)
class MatchResult:
    """A relation, with the largest relative error of a constant where there is one."""

    relation: Equivalence
    error: float | None = None
    moved: MovedTruth | None = None
    is_rounded: bool = False
    """Whether the two are the same only once the answer's numbers move by rounding."""


class ConstantMatcher(ValueComparison):
    """The values of truth and answer, where the truth's constants may move.

    Attributes
    ----------
    is_close
        Whether double precision shows no difference with the constants moved by 5 % at most.
    """

    is_close = False

    def relation(
        self, terms: Sum, without: Sum | None = None, *, exact: bool = False
    ) -> MatchResult:
        """Whether the constants of terms can be moved to where the answer's values are.

        Parameters
        ----------
        terms
            The truth, or a part of it.
        without
            Terms that are taken away from the answer.
        exact
            Whether values have to be equal to all digits.
        """
        model = Model(terms)
        values, term = self.values, None if without is None else Model(without)
        if term is not None:
            with np.errstate(all="ignore"):
                values = values - term.dual(self.columns, np.zeros(len(term.moving)))[0][0]
        fit = fit_model(model, self.columns, values)
        if fit is None:
            return MatchResult(Equivalence.UNKNOWN)
        if fit.residual > CLOSE or np.max(np.abs(fit.shifts), initial=0.0) > FARTHEST:
            return MatchResult(Equivalence.APART)
        error = float(np.max(np.abs(fit.shifts), initial=0.0))
        if error > TOLERANCE * (1 + ROUNDED**0.5):
            return MatchResult(Equivalence.OTHER_CONSTANTS, error)
        self.is_close = self.is_close or without is None
        agreed, moved = self._polished(model, fit.shifts, term)
        if agreed is None:
            return MatchResult(Equivalence.UNKNOWN)
        if agreed > (EXACT if exact else ROUNDED):
            return MatchResult(Equivalence.APART)
        return self._with_moved(model, moved, without, term, is_rounded=agreed > EXACT)

    def _with_moved(
        self,
        model: Model,
        moved: Sequence[Any],
        without: Sum | None,
        term: Model | None,
        *,
        is_rounded: bool,
    ) -> MatchResult:
        """Return the relation of the answer to the truth with its constants where they agree."""
        shifts = np.array([float(shift) for shift in moved])
        error = float(np.max(np.abs(shifts), initial=0.0))
        if error > FARTHEST or not self.agrees_far(
            lambda point: model.precise_terms(point, moved), term, is_rounded=is_rounded
        ):
            return MatchResult(Equivalence.APART)
        agrees = error <= TOLERANCE and not (
            _becomes_whole_number(model, shifts) or _loses_a_part(model, shifts)
        )
        truth = MovedTruth(
            lambda columns: _first(model.dual(columns, shifts)),
            lambda point: model.precise(point, moved),
        )
        if is_rounded and without is None and not self.is_rounding(truth):
            return MatchResult(Equivalence.APART)
        relation = Equivalence.SAME if agrees else Equivalence.OTHER_CONSTANTS
        return MatchResult(relation, error, truth, is_rounded)

    def is_rounding(self, truth: MovedTruth) -> bool:
        """Whether what two functions differ by is the rounding of the numbers in a text.

        Each number of the answer moved by `PRINTED` of itself at most makes it the moved truth, to
        all digits; or the truth's numbers moved make it the answer.
        """
        answer = self.prediction
        return self._is_reached(answer, truth.precise, PRINTED) or self._is_reached(
            self.truth, lambda point: ball_value(answer, point), TOLERANCE
        )

    def _is_reached(
        self, written: Node, other: Callable[[Mapping[str, Any]], Any], share: float
    ) -> bool:
        """Whether the numbers of a text can move by a share and give another's values exactly."""
        equation = parametrize(written, named=True)
        n = len(equation.start)
        usable = np.flatnonzero(np.isfinite(self.true_values) & np.isfinite(self.values))
        chosen = usable[np.unique(np.linspace(0, len(usable) - 1, 2 * n + CHECKED).astype(int))]
        columns = {name: column[chosen] for name, column in self.columns.items()}
        try:
            with precision(DIGITS):
                wanted = [other(exact_point(self.point(i))).mid() for i in chosen]
            error, exact = _polished(
                equation, columns, wanted, equation.start, list(range(n)), gain=_ROUNDING_GAIN
            )
        except ArithmeticError:
            return False
        moved = np.array([float(c) for c in exact])
        near = np.abs(moved - equation.start) <= share * np.abs(equation.start)
        return error <= EXACT and bool(near.all())

    def _polished(
        self, model: Model, shifts: Array, term: Model | None
    ) -> tuple[float | None, Sequence[Any]]:
        """Improve constants with all digits; return the largest relative difference left."""
        # Where constants can stand in for others, those that need not move do not.
        for least in (CLOSE, _RELATIVE * float(np.max(np.abs(shifts), initial=0.0))):
            moving = np.abs(shifts) > least
            found = self._moved_on(model, np.where(moving, shifts, 0.0), moving, term)
            if found[0] is None or found[0] <= EXACT:
                return found
        return self._moved_on(model, shifts, np.ones(len(shifts), bool), term)

    def _moved_on(
        self, model: Model, shifts: Array, moving: NDArray[np.bool_], term: Model | None
    ) -> tuple[float | None, Sequence[Any]]:
        with np.errstate(all="ignore"):
            dual, sizes = model.dual(self.columns, shifts)
            if term is not None:
                sizes = sizes + term.dual(self.columns, np.zeros(len(term.moving)))[1]
            usable = np.isfinite(dual).all(axis=0) & np.isfinite(self.values) & (sizes > 0)
        chosen = spread_out(np.flatnonzero(usable), self.base, len(shifts) + CHECKED)
        if len(chosen) <= len(shifts):
            return None, []
        inverse = np.zeros((len(shifts), len(chosen)))
        slopes = dual[1:][:, chosen][moving] / sizes[chosen]
        # What double precision cannot see beside the other terms moves with all digits, too.
        lengths = np.max(np.abs(slopes), axis=1, keepdims=True, initial=0.0)
        lengths[lengths == 0] = 1.0
        inverse[moving] = np.linalg.pinv((slopes / lengths).T, rcond=1e-12) / lengths
        with precision(DIGITS):
            exact = [exact_ball(float(shift)) for shift in shifts]
            try:
                wanted = [self._wanted(i, term) for i in chosen]
                worst = np.inf
                for _ in range(_STEPS):
                    errors = [
                        ((target - model.precise(point, exact)) / exact_ball(float(size))).mid()
                        for (target, point), size in zip(wanted, sizes[chosen], strict=True)
                    ]
                    error = float(max(map(abs, errors)))
                    if error <= _POLISHED or error > worst / 2:
                        return min(worst, error), exact
                    worst = error
                    step = inverse @ np.array([float(each) for each in errors])
                    exact = [
                        (a + exact_ball(float(b))).mid() for a, b in zip(exact, step, strict=True)
                    ]
            except ArithmeticError:
                return None, []
        return worst, exact

    def _wanted(self, i: int, term: Model | None) -> tuple[Any, dict[str, Any]]:
        point = exact_point(self.point(i))
        target = ball_value(self.prediction, point)
        if term is not None:
            target -= term.precise(point, [0] * len(term.moving))
        return target, point


_RELATIVE = 1e-3
"""A shift that is smaller than the largest by this share may be the rounding of a fit."""
_MOVED = 1e-6
"""Constants that have moved by less are first tried as they are written."""
_POLISHING = 30
_ROUNDING_GAIN = 1e-3
"""Each step leaves less of an error that only the rounding of numbers has made."""
_TINY = 1e-50
"""The step of differences, as a share."""
_WHOLE = 1e-9
_MOST_WRITTEN = 12
"""Constants of a writing of which some can stand in for others."""
_MOST_FREE = 30
"""Constants of a writing."""
_UNSEEN = 1e-12
"""Slopes of values, over their sizes, that are rounding."""
_MOST_GAUGES = 24
"""Choices of constants that stand still."""
_FARTHEST_TOGETHER = 0.2
"""If the nearest match moves a constant farther, no match has all constants within 5 %."""


def refined_constants(  # noqa: PLR0917 - what a fit needs
    equation: ParametricExpression,
    values: ValueComparison,
    node: Node,
    columns: Mapping[str, Array],
    constants: Array,
    free: Sequence[int],
    *,
    tolerance: float = EXACT,
) -> tuple[Array, list[Any], bool] | None:
    """Move constants on with all digits, until an equation is another one.

    Parameters
    ----------
    values
        Where the two have to agree: at some of the points, and far from them.
    node
        The other equation.
    columns
        The points where both have values.
    constants
        From where, near enough for double precision.
    free
        The indices of those that may move.
    tolerance
        To what share the two have to agree.

    Returns
    -------
    tuple or None
        The constants, rounded and with all digits, and whether they do not agree to all digits;
        None where they do not agree.
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
            is_rounded = error > EXACT
            if error <= tolerance and values.agrees_far_with(
                node, equation.tree, exact, is_rounded=is_rounded
            ):
                return np.array([float(c) for c in exact]), exact, is_rounded
    except ArithmeticError:
        pass
    return None


def _choices(
    equation: ParametricExpression, constants: Array, free: Sequence[int]
) -> Iterator[tuple[Array, list[int]]]:
    """Return what may move: only what has moved before, and then all.

    Where constants come in pairs that can stand in for each other, all together find no way.
    """
    start = equation.start
    moved = np.abs(constants - start) > _MOVED * np.abs(start)
    moving = [k for k in free if moved[k]]
    if len(moving) < len(free):
        yield np.where(moved, constants, start), moving
    yield constants, list(free)


def _polished(
    equation: ParametricExpression,
    columns: Mapping[str, Array],
    wanted: Sequence[Any],
    constants: Array,
    free: Sequence[int],
    *,
    gain: float = 0.5,
) -> tuple[float, list[Any]]:
    """Take steps as long as each leaves a share of the largest error; give it and the constants."""
    names = list(columns)
    tree = TracedTree(equation.tree, [f"#{k}" for k in range(len(constants))])
    with precision(DIGITS):
        exact = [exact_ball(float(c)) for c in constants]
        sizes = [abs(each).mid() if each != 0 else exact_ball(1.0) for each in wanted]
        own = {f"#{k}": c for k, c in enumerate(exact)}
        points = [
            tree.start(exact_point(dict(zip(names, map(float, row), strict=True))) | own)
            for row in zip(*columns.values(), strict=True)
        ]

        def errors(values: Iterable[Any]) -> list[Any]:
            return [
                ((target - value) / size).mid()
                for target, value, size in zip(wanted, values, sizes, strict=True)
            ]

        best, worst = exact, np.inf
        for _ in range(_POLISHING):
            now = errors(tree.move(point, exact) for point in points)
            error = max(float(abs(each)) for each in now)
            if not all(math.isfinite(float(each)) for each in now):
                return worst, best  # what doubles round to a value may have none
            if error <= _POLISHED or error > worst * gain:
                return (error, exact) if error < worst else (worst, best)
            worst, best = error, list(exact)
            # Differences of so many digits: what double precision cannot see counts, too.
            steps = [abs(exact[k]) * exact_ball(_TINY) or exact_ball(_TINY) for k in free]
            columns_of = []
            for k, step in zip(free, steps, strict=True):
                number = (exact[k] + step).mid()
                ahead = errors(tree.moved_by(point, k, number) for point in points)
                columns_of.append(
                    [(b - a) / exact_ball(_TINY) for a, b in zip(ahead, now, strict=True)]
                )
            if not free:
                break
            lengths = [max(map(abs, column)).mid() or exact_ball(1.0) for column in columns_of]
            slopes = np.array(
                [
                    [float((each / length).mid()) for each in column]
                    for column, length in zip(columns_of, lengths, strict=True)
                ]
            ).T
            if not np.isfinite(slopes).all():
                break
            most = max(map(abs, now)).mid()
            moves = np.linalg.pinv(slopes, rcond=1e-10) @ np.array(
                [float((each / most).mid()) for each in now]
            )
            for k, step, length, move in zip(free, steps, lengths, moves, strict=True):
                scale = step / exact_ball(_TINY)
                exact[k] = (exact[k] + exact_ball(float(move)) * most / length * scale).mid()
    return worst, best


def _first(found: tuple[Array, Array]) -> Array:
    return np.asarray(found[0][0], np.float64)


def _becomes_whole_number(model: Model, shifts: Array) -> bool:
    exponents = [float(model.moving[i].value) * (1 + shifts[i]) for i in model.exponents]
    return any(abs(exponent - round(exponent)) < ROUNDED for exponent in exponents)


def _loses_a_part(model: Model, shifts: Array) -> bool:
    """Whether a wave of both sine and cosine is one of them no more, or has one of another sign."""
    for constant, shift in zip(model.moving, shifts, strict=True):
        if constant.phase and constant.value not in {0, PI / 2}:
            before, after = float(constant.value), float(constant.value) + float(shift)
            for part in (math.sin, math.cos):
                if part(before) * part(after) <= 0:
                    return True
    return False


def constant_shift(
    values: ConstantMatcher,
    written: Node,
    *,
    fixed: str = "",
    single: bool = False,
    nearby: bool = True,
) -> MatchResult | None:
    """Return by how much the constants of a writing of the truth have to move to give the answer.

    Where constants can stand in for each other all but as many as are needed stand still:
    whichever leaves the least.  So the verdict does not depend on the units of variables.

    Parameters
    ----------
    written
        The writing.
    fixed
        The text of a number in it that does not move.
    single
        Whether the writing counts only where none of its constants can stand in for others.
    nearby
        Whether only what a few steps reach is looked for.

    Returns
    -------
    MatchResult or None
        The largest share of a constant, and the truth with those constants; None where the answer
        cannot be brought to that form.
    """
    truth = parametrize(written, named=False, fixed=fixed)
    # A function that stands in several parts has the same constants in all, or its own in each.
    shared = parametrize(written, named=False, fixed=fixed, shared=True)
    together = None
    if len(shared.start) < len(truth.start):
        together = _shift(values, shared, single=single, nearby=nearby)
    if together is not None and together.relation is Equivalence.SAME:
        return together
    apart = _shift(values, truth, single=single, nearby=nearby)
    return apart if together is None or _is_nearer(apart, together) else together


def _is_nearer(match: MatchResult | None, other: MatchResult) -> bool:
    return match is not None and (match.error or 0.0) < (other.error or 0.0)


def _shift(
    values: ConstantMatcher, truth: ParametricExpression, *, single: bool, nearby: bool
) -> MatchResult | None:
    """Return by how much its constants have to move, if none stands in for others or need not."""
    usable = np.isfinite(values.true_values) & np.isfinite(values.values)
    n = len(truth.start)
    if not 0 < n <= _MOST_FREE or usable.sum() < n + CHECKED or not all(truth.start):
        return None
    columns = {name: column[usable] for name, column in values.columns.items()}
    wanted = values.values[usable]
    sizes = np.abs(wanted) + np.abs(values.true_values[usable])
    with np.errstate(all="ignore"):
        slopes = truth.slopes(columns, truth.start) / sizes[:, None]
    slopes = slopes[np.isfinite(slopes).all(axis=1)]
    rank = int(np.linalg.matrix_rank(slopes, rtol=1e-8)) if len(slopes) else 0
    if rank < n and (single or n > _MOST_WRITTEN):
        return None
    everywhere = fit_parametric(truth, columns, wanted, truth.start, list(range(n)), nearby=nearby)
    # With all free to move, none moves farther than where some stand still, or not by much.
    if everywhere is None or np.max(np.abs(everywhere / truth.start - 1)) > _FARTHEST_TOGETHER:
        return None
    fits: list[tuple[float, Array, list[int]]] = []
    # What no point shows stands still.
    seen = np.flatnonzero(np.max(np.abs(slopes), axis=0, initial=0.0) > _UNSEEN)
    for free in map(list, islice(combinations(seen.tolist(), rank), _MOST_GAUGES)):
        if rank < n and np.linalg.matrix_rank(slopes[:, free], rtol=1e-8) < rank:
            continue
        constants = fit_parametric(truth, columns, wanted, truth.start, free, nearby=nearby)
        if constants is not None:
            shift = float(np.max(np.abs(constants / truth.start - 1), initial=0.0))
            values.is_close = values.is_close or shift <= TOLERANCE * (1 + ROUNDED**0.5)
            fits.append((shift, constants, free))
    for _, constants, free in sorted(fits, key=itemgetter(0)):
        match = refined_constants(
            truth, values, values.prediction, columns, constants, free, tolerance=ROUNDED
        )
        if match is None or becomes_whole(truth, match[0]):
            continue
        rounded, exact, is_rounded = match
        shift = float(np.max(np.abs(rounded / truth.start - 1), initial=0.0))
        moved = _moved_truth(truth, rounded, exact)
        if not is_rounded or values.is_rounding(moved):
            relation = Equivalence.SAME if shift <= TOLERANCE else Equivalence.OTHER_CONSTANTS
            return MatchResult(relation, shift, moved, is_rounded)
    return None


def _moved_truth(truth: ParametricExpression, rounded: Array, exact: list[Any]) -> MovedTruth:
    return MovedTruth(
        lambda columns: truth.values(columns, rounded), lambda point: truth.precise(point, exact)
    )


def becomes_whole(equation: ParametricExpression, constants: Array) -> bool:
    """Whether an exponent has become a whole number, which is another structure."""
    return any(abs(constants[k] - round(constants[k])) < _WHOLE for k in equation.exponents)
