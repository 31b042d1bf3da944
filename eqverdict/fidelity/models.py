"""Sums of terms whose constants may move.

An answer is the truth with other constants if the truth's constants can be moved until the two
have the same values.  `Model` has the values of a sum, their derivatives, and the nearest fit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from eqverdict.fidelity.switches import SAME_BRANCH
from eqverdict.interval_eval import (
    ball_call,
    ball_pow,
    ball_sum,
    exact_ball,
)
from eqverdict.tree import (
    FUNCTIONS,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from eqverdict.atoms import Atom, Exponent, Sum, Terms

    Array = NDArray[np.float64]

MAX_CONSTANTS = 48
"""Sums of more constants are not fitted."""
MAX_STEPS = 24
_CLOSE = 1e-8
"""Values that double precision has as near as this are looked at with more digits."""
FARTHEST = 0.9
"""A constant that moves farther than by this share of itself is not followed: it may vanish."""
_REACH = 0.05
_MARGIN = 4.0
"""Largest change of the values, relative to first order, where all constants move by `_REACH`."""
_QUARTER = 1e-9
_TINY = 1e-300
_KINKED = frozenset({"abs", "max", "min"})
_SCALED = frozenset({"sum", "log", "abs", "sign"})
"""Kinds of atoms whose first coefficient is 1 by definition."""

_DERIVATIVES: dict[str, Callable[[Array], Array]] = {
    "abs": np.sign,
    "acos": lambda x: -1 / np.sqrt(1 - x * x),
    "acosh": lambda x: 1 / np.sqrt(x * x - 1),
    "asin": lambda x: 1 / np.sqrt(1 - x * x),
    "asinh": lambda x: 1 / np.sqrt(1 + x * x),
    "atan": lambda x: 1 / (1 + x * x),
    "atanh": lambda x: 1 / (1 - x * x),
    "cosh": np.sinh,
    "exp": np.exp,
    "floor": np.zeros_like,
    "log": lambda x: 1 / x,
    "sign": np.zeros_like,
    "sin": np.cos,
    "sinh": np.cosh,
    "tanh": lambda x: 1 - np.tanh(x) ** 2,
}


@dataclass(frozen=True)
class _Constant:
    """A number of a model; with an index it may move: by a share of itself, a phase by radians."""

    value: Fraction
    index: int | None = None
    phase: bool = False


@dataclass(frozen=True)
class _Factor:
    """A power of an atom."""

    name: str
    arguments: tuple[_Terms, ...]
    phase: _Constant | None
    power: _Constant


_Terms: TypeAlias = "tuple[tuple[_Constant, tuple[_Factor, ...]], ...]"


@dataclass(frozen=True)
class ConstantFit:
    """The truth with its constants moved to where its values are nearest.

    Attributes
    ----------
    residual
        The largest difference of a value, over the sizes of its terms.
    shifts
        By how much each constant has moved: as a share of itself, a phase in radians.
    """

    residual: float
    shifts: Array


class Model:
    """A sum of terms with constants that may move; equal parts move together.

    Attributes
    ----------
    moving
        The constants that may move.
    exponents
        The indices of those that are exponents.
    """

    def __init__(self, terms: Sum) -> None:
        self.moving: list[_Constant] = []
        self.exponents: set[int] = set()
        self._known: dict[object, tuple[_Terms, ...]] = {}
        self._powers: dict[object, _Constant] = {}
        self.terms = self._compiled(tuple(terms.items()))

    def _constant(self, value: Exponent, *, phase: bool = False) -> _Constant:
        made = _Constant(Fraction(value), len(self.moving), phase)
        self.moving.append(made)
        return made

    def _compiled(self, terms: Terms, fixed: int | None = None) -> _Terms:
        """Make the terms of a sum, with a constant for each number but one that is fixed."""
        return tuple(
            (
                _Constant(c) if i == fixed else self._constant(c),
                tuple(self._factor(atom, power) for atom, power in monomial),
            )
            for i, (monomial, c) in enumerate(terms)
        )

    def _factor(self, atom: Atom, power: Exponent) -> _Factor:
        if (atom, power) not in self._powers:
            self._powers[atom, power] = self._power(atom, power)
        exponent = self._powers[atom, power]
        if atom.kind == "variable":
            return _Factor(atom.text, (), None, exponent)
        if atom not in self._known:
            sums = [atom.inner] if atom.second is None else [atom.inner, atom.second]
            scaled = atom.kind in _SCALED or atom.kind == "exp"
            fixed = [0 if scaled else None for _ in sums]
            if len(sums) > 1:  # the factor of max(a, b) is before it
                k, fixed[k] = _unit(sums)
            self._known[atom] = tuple(map(self._compiled, sums, fixed))
            if atom.kind == "wave":
                self._powers[atom] = self._constant(atom.constants[-1], phase=True)
        phase = self._powers.get(atom)
        name = "sin" if atom.kind == "wave" else atom.kind
        return _Factor(name, self._known[atom], phase, exponent)

    def _power(self, atom: Atom, power: Exponent) -> _Constant:
        if atom.kind == "exp":  # its power is a coefficient
            return self._constant(power)
        if power.denominator == 1:
            return _Constant(Fraction(power))
        self.exponents.add(len(self.moving))
        return self._constant(power)

    @property
    def inside(self) -> list[list[int]]:
        """The constants of each term by their indices, with its coefficient first.

        Those of parts that are in several terms are in each of these lists.
        """
        return [list(dict.fromkeys(_indices((term,)))) for term in self.terms]

    @property
    def has_kinks(self) -> bool:
        """Whether a function in it switches."""
        return any(atom.kind in _KINKED for atom in self._known if hasattr(atom, "kind"))

    @property
    def plain(self) -> frozenset[int]:
        """The constants that a library of plain functions has as they are.

        Factors within sines, exponentials and the like that are 1 or -1, and phases of whole
        quarter turns.
        """
        return frozenset(_plain_indices(self.terms))

    def written(self, constants: Sequence[str]) -> str:
        """Return the model as text, with a text for each constant that may move."""
        return _sum_text(self.terms, constants)

    def dual(self, columns: Mapping[str, Array], shifts: Array) -> tuple[Array, Array]:
        """Return the values with their derivatives by each shift, and the sizes of the terms.

        Returns
        -------
        values
            (1 + number of moving constants, number of points); the first row is the values.
        sizes
            (number of points,): the sum of the sizes of the terms.
        """
        return _DualEvaluator(columns, shifts, self.moving).of(self.terms)

    def precise(self, point: Mapping[str, Any], shifts: Sequence[Any]) -> Any:
        """Return the value at one point, with the present precision."""
        return ball_sum(self.precise_terms(point, shifts))

    def precise_terms(self, point: Mapping[str, Any], shifts: Sequence[Any]) -> list[Any]:
        """Return the value of each term at one point."""
        return [_precise((term,), point, shifts) for term in self.terms]


def _unit(sums: Sequence[Terms]) -> tuple[int, int]:
    """Return which number of some sums is 1 by definition: one that is 1 already, if any is."""
    places = [(k, i) for k, terms in enumerate(sums) for i in range(len(terms))]

    def others(place: tuple[int, int]) -> tuple[bool, bool]:
        monomial, c = sums[place[0]][place[1]]
        return not monomial, abs(c) != 1

    return min(places, key=others)


def _indices(terms: _Terms) -> Iterator[int]:
    for c, factors in terms:
        for constant in (c, *(part for each in factors for part in (each.phase, each.power))):
            if constant is not None and constant.index is not None:
                yield constant.index
        for factor in factors:
            for inner in factor.arguments:
                yield from _indices(inner)


def _plain_indices(terms: _Terms) -> Iterator[int]:
    for _, factors in terms:
        for factor in factors:
            if factor.phase is not None and factor.phase.index is not None:
                turns = float(factor.phase.value) / (math.pi / 2)
                if abs(turns - round(turns)) < _QUARTER:
                    yield factor.phase.index
            if factor.name == "exp" and abs(factor.power.value) == 1:
                yield from _indices_of(factor.power)
            for inner in factor.arguments:
                if factor.name != "sum":
                    for c, _ in inner:
                        if abs(c.value) == 1:
                            yield from _indices_of(c)
                yield from _plain_indices(inner)


def _indices_of(constant: _Constant) -> Iterator[int]:
    if constant.index is not None:
        yield constant.index


def _constant_text(constant: _Constant, constants: Sequence[str]) -> str:
    if constant.index is not None:
        return f"({constants[constant.index]})"
    if constant.value.denominator == 1:
        return str(constant.value)
    return repr(float(constant.value))


def _sum_text(terms: _Terms, constants: Sequence[str]) -> str:
    products = [
        "*".join(
            [_constant_text(c, constants), *(_factor_text(each, constants) for each in factors)]
        )
        for c, factors in terms
    ]
    return " + ".join(products) or "0"


def _factor_text(factor: _Factor, constants: Sequence[str]) -> str:
    power = _constant_text(factor.power, constants)
    if not factor.arguments:
        return factor.name if power == "1" else f"{factor.name}**{power}"
    inner = [_sum_text(each, constants) for each in factor.arguments]
    if factor.phase is not None:
        inner[0] = f"{inner[0]} + {_constant_text(factor.phase, constants)}"
    if factor.name == "exp":  # its power is a coefficient
        return f"exp({power}*({inner[0]}))"
    whole = f"({inner[0]})" if factor.name == "sum" else f"{factor.name}({', '.join(inner)})"
    return whole if power == "1" else f"{whole}**{power}"


class _DualEvaluator:
    """Values with their derivatives, in double precision."""

    def __init__(
        self, columns: Mapping[str, Array], shifts: Array, moving: Sequence[_Constant]
    ) -> None:
        self.columns = columns
        self.shifts = shifts
        self.rows = 1 + len(moving)
        self.n = len(next(iter(columns.values()))) if columns else 1

    def constant(self, constant: _Constant) -> Array:
        made: Array = np.zeros((self.rows, self.n))
        value = float(constant.value)
        if constant.index is not None:
            shift = self.shifts[constant.index]
            made[1 + constant.index] = 1.0 if constant.phase else value
            value = value + shift if constant.phase else value * (1 + shift)
        made[0] = value
        return made

    def of(self, terms: _Terms) -> tuple[Array, Array]:
        total = np.zeros((self.rows, self.n))
        sizes = np.zeros(self.n)
        for c, factors in terms:
            product = self.constant(c)
            for factor in factors:
                product = _times(product, self.factor(factor))
            total += product
            sizes += np.abs(product[0])
        return total, sizes

    def factor(self, factor: _Factor) -> Array:
        if not factor.arguments:
            base = np.zeros((self.rows, self.n))
            base[0] = self.columns[factor.name]
            return self.power(base, factor.power)
        parts = [self.of(terms)[0] for terms in factor.arguments]
        if factor.phase is not None:
            parts[0] = parts[0] + self.constant(factor.phase)
        if factor.name == "sum":
            return self.power(parts[0], factor.power)
        if factor.name == "exp":
            return _applied("exp", _times(parts[0], self.constant(factor.power)))
        if len(parts) > 1:
            larger = parts[0][0] > parts[1][0]
            first = larger if factor.name == "max" else ~larger
            return self.power(np.where(first, parts[0], parts[1]), factor.power)
        return self.power(_applied(factor.name, parts[0]), factor.power)

    def power(self, base: Array, power: _Constant) -> Array:
        if power.index is None:
            if power.value == 1:
                return base
            e = float(power.value)
            made: Array = base * (e * base[0] ** (e - 1))
            made[0] = base[0] ** e
            return made
        exponent = self.constant(power)
        made = exponent * np.log(base[0]) + base * (exponent[0] / base[0])
        made[0] = base[0] ** exponent[0]
        made[1:] *= made[0]
        return made


def _times(one: Array, other: Array) -> Array:
    made: Array = one * other[0] + other * one[0]
    made[0] = one[0] * other[0]
    return made


def _applied(name: str, argument: Array) -> Array:
    made: Array = argument * _DERIVATIVES[name](argument[0])
    made[0] = FUNCTIONS[name].numpy(argument[0])
    return made


def _precise(terms: _Terms, point: Mapping[str, Any], shifts: Sequence[Any]) -> Any:
    values = []
    for c, factors in terms:
        product = _moved(c, shifts)
        for factor in factors:
            product *= _precise_factor(factor, point, shifts)
        values.append(product)
    return ball_sum(values)


def _precise_factor(factor: _Factor, point: Mapping[str, Any], shifts: Sequence[Any]) -> Any:
    power = _moved(factor.power, shifts)
    if not factor.arguments:
        return ball_pow(point[factor.name], power)
    parts = [_precise(terms, point, shifts) for terms in factor.arguments]
    if factor.phase is not None:
        parts[0] += _moved(factor.phase, shifts)
    if factor.name == "exp":
        return ball_call("exp", parts[0] * power)
    return ball_pow(parts[0] if factor.name == "sum" else ball_call(factor.name, *parts), power)


def _moved(constant: _Constant, shifts: Sequence[Any]) -> Any:
    value = exact_ball(constant.value)
    if constant.index is None:
        return value
    shift = shifts[constant.index]
    return value + shift if constant.phase else value * (1 + shift)


def fit_model(model: Model, columns: Mapping[str, Array], values: Array) -> ConstantFit | None:
    """Move the constants of a model until it has some values, as nearly as it can.

    Parameters
    ----------
    columns
        Points for each variable.
    values
        The values that the model should have there; points where either is not finite are left out.

    Returns
    -------
    ConstantFit or None
        None where there are too few points, or too many constants.
    """
    n = len(model.moving)
    if n > MAX_CONSTANTS:
        return None
    shifts = np.zeros(n)
    with np.errstate(all="ignore"):
        dual, sizes = model.dual(columns, shifts)
        usable = np.isfinite(dual).all(axis=0) & np.isfinite(values) & (sizes > 0)
        if usable.sum() <= n:
            return None
        usable_columns = {name: column[usable] for name, column in columns.items()}
        wanted, dual, sizes = values[usable], dual[:, usable], sizes[usable]
        far = np.abs(wanted - dual[0]) / sizes
        reach = _REACH * np.abs(dual[1:]).sum(axis=0) / sizes
        if (far > _MARGIN * reach + _CLOSE)[reach < 1].any():
            return ConstantFit(float(far.max()), shifts)
        fit = _stepped(model, usable_columns, wanted)
        near = far <= np.quantile(far, SAME_BRANCH)
        if fit.residual > _CLOSE and n < near.sum() < len(near) and model.has_kinks:
            some = {name: column[near] for name, column in usable_columns.items()}
            shifts = _stepped(model, some, wanted[near]).shifts
            dual, sizes = model.dual(usable_columns, shifts)
            other = ConstantFit(_residual(dual[0], sizes, wanted), shifts)
            fit = other if other.residual < fit.residual else fit
    return fit


def _stepped(model: Model, columns: Mapping[str, Array], wanted: Array) -> ConstantFit:
    """Take steps of Gauss and Newton from where the constants are."""
    shifts = np.zeros(len(model.moving))
    dual, sizes = model.dual(columns, shifts)
    for _ in range(MAX_STEPS):
        # Both may be zero where a switch has moved.
        weights = 1 / np.maximum(sizes + np.abs(wanted), _TINY)
        error = (wanted - dual[0]) * weights
        if not np.isfinite(dual).all():
            break
        step = np.linalg.lstsq(dual[1:].T * weights[:, None], error, rcond=1e-12)[0]
        longest = float(np.max(np.abs(step), initial=0.0))
        shifts = shifts + step * min(1.0, 0.3 / longest if longest else 1.0)
        if np.max(np.abs(shifts), initial=0.0) > FARTHEST:
            return ConstantFit(float(np.max(np.abs(error))), shifts)
        dual, sizes = model.dual(columns, shifts)
        if longest < 1e-13:  # noqa: PLR2004 - as near as double precision gets
            break
    return ConstantFit(_residual(dual[0], sizes, wanted), shifts)


def _residual(values: Array, sizes: Array, wanted: Array) -> float:
    error = np.abs(wanted - values) / np.maximum(sizes + np.abs(wanted), _TINY)
    return float(np.max(np.where(np.isfinite(error), error, 1.0)))
