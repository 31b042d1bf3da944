"""Whether two equations have the same values at fixed points of the task's domain, and beyond.

Double precision shows nearly all wrong answers to differ.  The others are evaluated with more
digits, where equal means equal to ninety of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from eqverdict.fidelity.points import far_points, points, widen, with_branches
from eqverdict.fidelity.verdict import TOLERANCE
from eqverdict.grammar import read
from eqverdict.interval_eval import (
    DIGITS,
    FAR_DIGITS,
    TooLargeError,
    ball_sum,
    ball_value,
    exact_ball,
    known_value,
    precision,
    provably_differ,
)
from eqverdict.tree import Node, names_in, value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from eqverdict.atoms import Sum
    from eqverdict.fidelity.models import Model
    from eqverdict.fidelity.points import Domain

    Array = NDArray[np.float64]

CLOSE = 1e-8
"""Values of double precision that agree to this share are looked at with more digits."""
EXACT = 1e-90
"""Values of `DIGITS` digits that agree to this share are equal to all digits."""
ROUNDED = 1e-12
"""Values that agree to this share may differ by the rounding of numbers alone."""
_EXACT_FAR = 1e-20
_ROUNDED_FAR = 1e-6
"""The same relative difference far outside of the domain, where more digits may cancel."""
_NEARLY = 1e-3
"""Values that are farther from a constant difference or ratio are not looked at."""
_UNDEFINED = 0.2
"""An answer without values at more than this share of the truth's points is another equation."""
_LOOKED_AT = 3
"""Number of points at which double precision is compared with more digits."""
CHECKED = 12
_FEWEST = 4
"""Equal is what is equal at so many points or more."""
_LOOKED_AT_CLOSELY = 6
_SUSPECT = 1e-16
"""Differences of double precision below this share are not looked at with more digits."""
_ROUNDED_HIDDEN = 1e-11
"""Smaller differences come from the rounding of numbers, where the match is by rounding."""
_ASIDE = Fraction(1, 10**12)
"""And those that a point aside by this share shows, too."""
_FITTED_ASIDE = Fraction(1, 10**100)
"""The same where numbers are exact: fitted constants are known to this precision."""


@dataclass(frozen=True)
class Agreement:
    """The proved relation of the values of two equations.

    Attributes
    ----------
    equal
        Whether they are equal at all points that were evaluated; None where it is undecided.
    points
        At how many points they are.
    share
        By how much they differ there over their size: at most, or, where they differ, at least.
    point
        A point where they differ.
    """

    equal: bool | None
    points: int = 0
    share: float = 0.0
    point: Mapping[str, float] | None = None

    def joined(self, other: Agreement) -> Agreement:
        """Combine what is known from two sets of points."""
        if other.equal is None or self.equal is False:
            return self
        if self.equal is None or other.equal is False:
            return other
        return Agreement(True, self.points + other.points, max(self.share, other.share))


class ValueComparison:
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
        used = {node.name for tree in (self.truth, self.prediction) for node in names_in(tree)}
        self._names = tuple(dict.fromkeys(n for n in (*true_names, *names) if n in used))
        self._domain = tuple(each for each in domain if each[0] in used)
        self._cancelled: list[Node] = []

    @cached_property
    def columns(self) -> Mapping[str, Array]:
        """The points, with those on the other sides of branches."""
        base = points(self._names, self._domain)
        known = {name: (low, high) for name, low, high in self._domain}
        return with_branches(base, (self.truth, self.prediction), known)

    @cached_property
    def box(self) -> dict[str, tuple[float, float]]:
        """The domain: what is known of each variable, half as wide again, with its sign."""
        known = {name: (low, high) for name, low, high in self._domain}
        return {name: widen(known.get(name)) for name in self._names}

    @cached_property
    def scale(self) -> float:
        """The root mean square of the truth's values at the points."""
        finite = self.true_values[np.isfinite(self.true_values)]
        with np.errstate(all="ignore"):
            found = float(np.sqrt(np.mean(np.square(finite)))) if len(finite) else 0.0
        return found if math.isfinite(found) else 0.0

    def hidden_difference(
        self,
        floats: Callable[[Mapping[str, Array]], Array],
        precise: Callable[[Mapping[str, Any]], Any],
        other: Node | None = None,
        *,
        is_rounded: bool = False,
        most: int | None = None,
    ) -> Mapping[str, float] | None:
        """Search the domain for a point at which the answer is not what the truth has become.

        Parameters
        ----------
        floats, precise
            The truth with its constants moved: at columns of points, and at a point of balls.
        other
            The equation that the truth is compared with, where it is not the answer.
        is_rounded
            Whether the two are the same but for the rounding of numbers.
        most
            Sets of points that are looked at, of those of `places_of_interest`; None for all.

        Returns
        -------
        Mapping or None
            Such a point; None where none is found.
        """
        # Imported here, as only what agrees at all points that were drawn is searched.
        from eqverdict.fidelity.hidden_difference import places_of_interest  # noqa: PLC0415
        from eqverdict.fidelity.switches import on_a_jump  # noqa: PLC0415

        tolerance = _ROUNDED_HIDDEN if is_rounded else EXACT
        compared = self.prediction if other is None else other
        places = places_of_interest((self.prediction, self.truth), self.box)
        for columns in islice(places, most):
            with np.errstate(all="ignore"):
                true_values = floats(columns)
                n = len(true_values)
                found = np.broadcast_to(np.asarray(value(compared, columns), np.float64), n)
                share = np.abs(true_values - found) / (
                    np.abs(true_values) + np.abs(found) + self.scale
                )
            share[~np.isfinite(share) | on_a_jump((compared, self.truth), columns)] = 0.0
            order = np.argsort(-share, kind="stable")
            for i in order[:_LOOKED_AT_CLOSELY]:
                if share[i] <= _SUSPECT:
                    break
                point = {name: float(column[i]) for name, column in columns.items()}

                def both(point: Mapping[str, float] = point) -> tuple[Any, Any, Any]:
                    balls = exact_point(point)
                    true, answer = precise(balls), ball_value(compared, balls)
                    size = abs(true) + abs(answer) + exact_ball(self.scale)
                    # Near a pole or a jump the last digits of numbers move values by much.
                    aside = _ASIDE if is_rounded else _FITTED_ASIDE
                    for sign in (1, -1):
                        # Each variable by another share: some poles depend on ratios alone.
                        moved = {
                            name: number * exact_ball(1 + sign * aside * (-2) ** k)
                            for k, (name, number) in enumerate(balls.items())
                        }
                        apart = abs(precise(moved) - true) + abs(
                            ball_value(compared, moved) - answer
                        )
                        size += apart / exact_ball(tolerance)
                    return true, answer, size

                try:
                    if provably_differ(both, tolerance)[0]:
                        return point
                except ArithmeticError:
                    continue
        return None

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
            values = np.broadcast_to(np.asarray(value(node, self.columns), np.float64), n)
        known = np.flatnonzero(np.isfinite(values))
        looked_at = known[:: max(1, len(known) // _LOOKED_AT)]
        if all(self._is_near(node, i, values[i]) for i in looked_at):
            return values
        self._cancelled.append(node)
        return np.array([self._rounded_value(node, i) for i in range(n)])

    def _is_near(self, node: Node, i: Any, number: float) -> bool:
        wanted = self._rounded_value(node, i)
        return math.isnan(wanted) or abs(number - wanted) <= CLOSE * abs(wanted)

    def _rounded_value(self, node: Node, i: Any) -> float:
        try:
            return float(self._precise(node, i).mid())
        except ArithmeticError:
            return math.nan

    def _precise(self, node: Node, i: Any) -> Any:
        return known_value(node, self.point(i))

    def point(self, i: Any) -> dict[str, float]:
        """Return one of the points."""
        return {name: float(column[i]) for name, column in self.columns.items()}

    @cached_property
    def undefined(self) -> bool:
        """Whether the answer has no values in much of where the truth has some."""
        defined = np.isfinite(self.true_values)
        doubted = np.flatnonzero(defined & ~np.isfinite(self.values))
        if len(doubted) <= _UNDEFINED * defined.sum():
            return False
        none = 0
        for i in doubted:
            try:
                self._precise(self.prediction, i)
            except TooLargeError:
                continue  # there is one, but it is not known
            except ArithmeticError:
                none += 1
        return none > _UNDEFINED * int(defined.sum())

    @cached_property
    def equal(self) -> bool | None:
        """Whether the two have the same values as they are written; None if undecided."""
        return self.compared.equal

    @cached_property
    def compared(self) -> Agreement:
        """The proved relation of the values of the two as they are written."""
        true_values, values = self.true_values, self.values
        usable = np.isfinite(true_values) & np.isfinite(values)
        with np.errstate(all="ignore"):
            share = np.abs(true_values - values) / (np.abs(true_values) + np.abs(values))
        far = np.flatnonzero(usable & (share > CLOSE))
        # The farthest apart first: one point is enough.
        agreement = self._compare_at(far[np.argsort(-share[far], kind="stable")][: CHECKED // 2])
        if agreement.equal is not False:
            # What double precision cannot show may be a small number next to what cancels.
            agreement = agreement.joined(
                self._compare_at(spread_out(np.flatnonzero(usable), self.base))
            )
        if agreement.equal is not False:
            near = agreement.points
            agreement = agreement.joined(
                self._compare_far(lambda point: [ball_value(self.truth, point)])
            )
            # Far away less is asked for, which does not do where there is little else.
            enough = near >= _FEWEST or (agreement.points >= _FEWEST and agreement.share <= EXACT)
            # Where the values of the answer are not known it may differ.
            if agreement.equal and not (enough and self._is_known):
                return Agreement(None)
        return agreement

    @property
    def _is_known(self) -> bool:
        """Whether the answer's values are known at nearly all points where the truth's are."""
        true = np.isfinite(self.true_values)
        return bool((true & np.isfinite(self.values)).sum() >= (1 - _UNDEFINED) * true.sum())

    def _compare_at(self, chosen: NDArray[np.intp]) -> Agreement:
        agreement = Agreement(None)
        for i in chosen:
            try:
                apart, share = provably_differ(lambda i=i: self._both(i), EXACT)  # type: ignore[misc]
            except ArithmeticError:
                continue
            if apart:
                return Agreement(False, share=share, point=self.point(i))
            agreement = agreement.joined(Agreement(True, 1, share))
        return agreement

    def proportional(self) -> Any:
        """Return the factor between the truth and an answer that is a multiple of it, or None."""
        ratio = self.factor()
        if ratio is None or abs(ratio - 1) > 2 * TOLERANCE:
            return None
        usable = np.isfinite(self.true_values) & np.isfinite(self.values) & (self.values != 0)
        apart = np.abs(self.values - ratio * self.true_values)[usable]
        farthest = np.flatnonzero(usable)[np.argsort(-apart / np.abs(self.values[usable]))]
        factors = []
        for i in [*farthest[: CHECKED // 2], *spread_out(np.flatnonzero(usable), self.base)]:
            try:
                true_value, value = (
                    self._precise(each, i) for each in (self.truth, self.prediction)
                )
            except ArithmeticError:
                continue
            with precision(DIGITS):
                factors.append(value / true_value)
        if len(factors) < _FEWEST or not self._is_known:
            return None
        with precision(DIGITS):
            k = factors[0].mid()
            if not all(abs(factor - k) <= EXACT for factor in factors):
                return None
        far = self._compare_far(lambda point: [k * ball_value(self.truth, point)])
        return None if far.equal is False else k

    def agrees_far(
        self,
        truth: Callable[[Mapping[str, Any]], list[Any]],
        term: Model | None = None,
        *,
        is_rounded: bool,
    ) -> bool:
        """Whether the answer is a sum of terms well beyond the domain, too."""
        return self._compare_far(truth, term, is_rounded=is_rounded).equal is not False

    def agrees_far_with(
        self, node: Node, tree: Node, constants: Sequence[Any], *, is_rounded: bool
    ) -> bool:
        """Whether an equation is another with other constants well beyond the domain, too."""

        def moved(point: Mapping[str, Any]) -> list[Any]:
            return [ball_value(tree, {**point, **{f"#{k}": c for k, c in enumerate(constants)}})]

        return self._compare_far(moved, node=node, is_rounded=is_rounded).equal is not False

    def _compare_far(
        self,
        truth: Callable[[Mapping[str, Any]], list[Any]],
        term: Model | None = None,
        node: Node | None = None,
        *,
        is_rounded: bool = False,
    ) -> Agreement:
        other_side = self.prediction if node is None else node
        tolerance = _ROUNDED_FAR if is_rounded else _EXACT_FAR
        # What is rounded is lost where it cancels, and the nearest points of all are such.
        last = -2 if is_rounded else None
        agreement = Agreement(None)
        for numbers in far_points(self._names, self._domain)[:last]:

            def both(numbers: Mapping[str, float] = numbers) -> tuple[Any, Any, Any]:
                point = exact_point(numbers)
                terms, other = truth(point), ball_value(other_side, point)
                taken = term.precise(point, [0] * len(term.moving)) if term else 0
                # Moved constants have fewer digits than what may cancel here.
                size = ball_sum(map(abs, terms)) + abs(other)
                return ball_sum(terms) + taken, other, size

            try:
                apart, share = provably_differ(both, tolerance, FAR_DIGITS)
            except ArithmeticError:
                continue
            if apart:
                return Agreement(False, share=share, point=numbers)
            agreement = agreement.joined(Agreement(True, 1, share))
        return agreement

    @property
    def cancels(self) -> bool:
        """Whether too much cancels for double precision in one of the two."""
        known = self.true_values, self.values
        return bool(self._cancelled) and bool(known)

    @property
    def base(self) -> int:
        """Number of points without those of branches."""
        return len(next(iter(points(self._names, self._domain).values()), ()))

    def _both(self, i: Any) -> tuple[Any, Any, Any]:
        point = exact_point(self.point(i))
        one, other = (ball_value(each, point) for each in (self.truth, self.prediction))
        return one, other, abs(one) + abs(other)

    def faithful(self, terms: Sum, *, of_truth: bool) -> bool:
        """Whether terms have the values of the equation that they were made of.

        What holds for numbers of one sign only has been taken for granted in them.
        """
        node, values = (
            (self.truth, self.true_values) if of_truth else (self.prediction, self.values)
        )
        # Imported here, as it is for equations that are no polynomials.
        from eqverdict.fidelity.models import Model  # noqa: PLC0415

        model = Model(terms)
        still = np.zeros(len(model.moving))
        with np.errstate(all="ignore"):
            dual, sizes = model.dual(self.columns, still)
            difference = np.abs(np.broadcast_to(dual[0], values.shape) - values)
            doubted = np.isfinite(values) & ~(difference <= CLOSE * (sizes + np.abs(values)))
        for i in np.flatnonzero(doubted):
            try:
                wanted = self._precise(node, i)
            except ArithmeticError:
                continue

            def both(i: Any = i, wanted: Any = wanted) -> tuple[Any, Any, Any]:
                found = model.precise(exact_point(self.point(i)), still.tolist())
                return found, wanted, abs(found) + abs(wanted)

            try:
                if provably_differ(both, CLOSE)[0]:
                    return False
            except TooLargeError:
                continue
            except ArithmeticError:
                return False
        return True

    def offset(self) -> float | None:
        """Return the constant that is nearly the answer minus the truth; None if none is."""
        with np.errstate(all="ignore"):
            difference = self.values - self.true_values
        return self._constant(difference, np.abs(self.true_values))

    def factor(self) -> float | None:
        """Return the constant that is nearly the answer over the truth; None if none is."""
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


def exact_point(point: Mapping[str, float]) -> dict[str, Any]:
    """Make exact balls of the numbers of a point."""
    return {name: exact_ball(number) for name, number in point.items()}


def spread_out(chosen: NDArray[np.intp], base: int, most: int = CHECKED) -> NDArray[np.intp]:
    """Keep all points that were added to those of the domain, and some of these."""
    added, drawn = chosen[chosen >= base], chosen[chosen < base]
    return np.concatenate([drawn[:most], added])
