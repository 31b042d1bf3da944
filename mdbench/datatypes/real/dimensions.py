"""Whether an equation can be right by its dimensions, with constants that may have any.

Each part of an equation has an unknown dimension, a vector over the base dimensions (length, mass,
time, ...).  Sums ask for equal ones, products add them, powers scale them, and functions ask for
none.  All of that is linear, so that an equation is consistent where a system of linear equations
has a solution.  A number in an equation may stand for a constant of nature as well as for a pure
number: its dimension is free.
"""

from __future__ import annotations

import threading
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from eqverdict.grammar import read
from eqverdict.tree import Call, Chain, Negation, Power, Variable
from mdbench.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray
    from pint import UnitRegistry

    from eqverdict.tree import Node

    Array = NDArray[np.float64]

_SI = (
    *("[length]", "[mass]", "[time]", "[current]"),
    *("[temperature]", "[substance]", "[luminosity]"),
)
"""The dimensions of m, kg, s, A, K, mol and cd."""
_TOLERANCE = 1e-9
_ONE_AT_A_TIME = threading.Lock()
"""Threads that make a registry at once find it half made."""
_POWERS = {"sqrt": 0.5}
_KEPT = {"abs", "Abs", "max", "min", "Max", "Min"}
"""Functions that keep the dimension of their arguments, which are all the same."""
_OF_ANYTHING = {"sign"}


@lru_cache(maxsize=256)
def dimension_of(unit: str) -> dict[str, float]:
    """Read a unit, such as ``km/s`` or ``1000 day``: the exponents of its base dimensions.

    Raises
    ------
    DataError
        If it is not known.
    """
    import pint  # noqa: PLC0415 - takes long, and few tables have units

    try:
        with _ONE_AT_A_TIME:
            dimension = _registry().Quantity(unit).dimensionality
    except (pint.PintError, TypeError, ValueError, AttributeError) as error:
        raise DataError(
            f"{unit!r} is no unit: {error}", "Write it as in: km/s, kg*m^2, 1000 day, 1."
        ) from None
    return {str(name): float(str(power)) for name, power in dimension.items()}


def si_exponents(unit: str) -> tuple[float, ...] | None:
    """Return the exponents of m, kg, s, A, K, mol and cd in a unit's dimension.

    Returns
    -------
    tuple of float or None
        None where the unit has a dimension besides these, such as one of information.

    Raises
    ------
    DataError
        As `dimension_of`.

    Examples
    --------
    >>> si_exponents("km/s")
    (1.0, 0.0, -1.0, 0.0, 0.0, 0.0, 0.0)
    """
    exponents = dimension_of(unit)
    if exponents.keys() - set(_SI):
        return None
    return tuple(exponents.get(base, 0.0) for base in _SI)


@lru_cache(maxsize=1)
def _registry() -> UnitRegistry[Any]:
    import pint  # noqa: PLC0415 - as above

    return pint.UnitRegistry()


def consistent(equation: str, units: Mapping[str, str], unit: str) -> bool:
    """Whether there are dimensions of an equation's numbers with which it has that of a unit.

    Parameters
    ----------
    equation
        A right-hand side in the names of `units`.
    units
        The unit of each variable.
    unit
        That of the left-hand side.

    Raises
    ------
    DataError
        If a unit is none.
    EquationError
        If the equation cannot be read.

    Examples
    --------
    >>> consistent("365.2*a**1.5", {"a": "astronomical_unit"}, "day")
    True
    >>> consistent("a + a**2", {"a": "meter"}, "meter")
    False
    """
    known = {name: dimension_of(text) for name, text in units.items()}
    goal = dimension_of(unit)
    bases = sorted({base for dimension in (*known.values(), goal) for base in dimension})
    if not bases:
        bases = ["[length]"]
    system = _System({n: np.array([d.get(b, 0.0) for b in bases]) for n, d in known.items()})
    whole = system.part(read(equation, units))
    system.same(whole, _Dimension({}, np.array([goal.get(base, 0.0) for base in bases])))
    return system.has_a_solution()


class _Dimension:
    """A linear form: what is known, and how often each unknown dimension is in it."""

    def __init__(self, unknown: dict[int, float], known: Array) -> None:
        self.unknown = unknown
        self.known = known

    def plus(self, other: _Dimension, times: float) -> _Dimension:
        unknown = dict(self.unknown)
        for number, count in other.unknown.items():
            unknown[number] = unknown.get(number, 0.0) + times * count
        return _Dimension(unknown, self.known + times * other.known)


class _System:
    """The conditions of an equation on the dimensions of its parts."""

    def __init__(self, variables: Mapping[str, Array]) -> None:
        self._variables = variables
        self._count = 0
        self._asked: list[_Dimension] = []
        size = len(next(iter(variables.values()))) if variables else 1
        self._none = _Dimension({}, np.zeros(size))

    def part(self, node: Node) -> _Dimension:
        """Return the dimension of a part, and note what it asks for."""
        if node.constant is not None:
            return self._free()
        match node:
            case Variable():
                return _Dimension({}, self._variables[node.name])
            case Negation():
                return self.part(node.operand)
            case Chain():
                return self._chain(node)
            case Power():
                return self._power(node)
            case Call():
                return self._call(node)
        raise TypeError(type(node).__name__)

    def same(self, one: _Dimension, other: _Dimension) -> None:
        """Ask for two dimensions to be equal."""
        self._asked.append(one.plus(other, -1.0))

    def has_a_solution(self) -> bool:
        """Whether all that is asked for can be had at once."""
        if not self._asked:
            return True
        matrix = np.zeros((len(self._asked), max(self._count, 1)))
        right = np.stack([-asked.known for asked in self._asked])
        for row, asked in enumerate(self._asked):
            for number, count in asked.unknown.items():
                matrix[row, number] = count
        found = np.linalg.lstsq(matrix, right, rcond=_TOLERANCE)[0]
        return bool(np.abs(matrix @ found - right).max() < 1e3 * _TOLERANCE)

    def _free(self) -> _Dimension:
        self._count += 1
        return _Dimension({self._count - 1: 1.0}, self._none.known)

    def _chain(self, node: Chain) -> _Dimension:
        dimension = self.part(node.first)
        for operator, part in node.rest:
            other = self.part(part)
            if operator in "+-":
                self.same(dimension, other)
            else:
                dimension = dimension.plus(other, 1.0 if operator == "*" else -1.0)
        return dimension

    def _power(self, node: Power) -> _Dimension:
        base = self.part(node.base)
        if node.exponent.constant is not None:
            return self._none.plus(base, float(node.exponent.constant))
        self.same(base, self._none)
        self.same(self.part(node.exponent), self._none)
        return self._none

    def _call(self, node: Call) -> _Dimension:
        arguments = [self.part(argument) for argument in node.arguments]
        if node.function in _OF_ANYTHING:
            return self._none
        if node.function in _POWERS:
            return self._none.plus(arguments[0], _POWERS[node.function])
        first = arguments[0]
        for other in arguments[1:]:
            self.same(first, other)
        if node.function in _KEPT:
            return first
        self.same(first, self._none)
        return self._none
