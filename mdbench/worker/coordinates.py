"""Affine coordinates for data in units of a user's, undone exactly in the equations.

Thresholds and tolerances mean something for numbers near 1 only: a pressure near 101325, values of
1e-9 and a rate per second of what takes years are none.  A method works in ``(u - centre) / size``
and in rates of size 1, and writes its equations in the user's values.  Sums of products of states
stay such sums under a change of coordinates, and so nothing is lost.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from .api import Problem

    Array = NDArray[np.float64]
    Monomial = tuple[int, ...]

FAR = 3.0
"""A column whose mean is so many deviations from zero is centred, too."""
VERY_FAR = 1e3
"""One whose mean is so far is worked with only when it is centred."""
_ACCURATE = 1e7
"""Products are multiplied out while their sum is so many times smaller than its parts at most."""
_ROUNDING = 1e-12
_ANGLES = 0.05, 1e3
"""The least deviation and the largest size of a column of which a sine means something."""


@dataclass(frozen=True)
class Coordinates:
    """Coordinates of the variables of a problem, and units of its targets.

    Attributes
    ----------
    name
        ``scaled``, or ``centred`` where columns far from zero are.
    centre, size
        Of each column, (m,).
    rate
        The size of each target, (k,).
    angles
        Of which columns a function of the value itself, such as a sine, means something.
    """

    name: str
    centre: Array = field(repr=False)
    size: Array = field(repr=False)
    rate: Array = field(repr=False)
    angles: tuple[bool, ...]

    @classmethod
    def choices(cls, columns: Array, targets: Array, far: float = FAR) -> list[Coordinates]:
        """Return the coordinates worth trying, as few as can be.

        Parameters
        ----------
        columns, targets
            (n, m) and (n, k).
        far
            Means so many deviations from zero are worth to be removed.
        """
        distance = _distances(columns)
        names = ["scaled"] if distance.max(initial=0.0) < VERY_FAR else []
        names += ["centred"] if distance.max(initial=0.0) >= far else []
        return [cls.of(name, columns, targets, far) for name in names]

    @classmethod
    def of(cls, name: str, columns: Array, targets: Array, far: float = FAR) -> Coordinates:
        """Return coordinates by their name, ``scaled`` or ``centred``."""
        mean, deviation = np.mean(columns, axis=0), np.std(columns, axis=0)
        centred = (_distances(columns) >= far) & (name == "centred")
        rounded = [_rounded(*pair) for pair in zip(mean.tolist(), deviation.tolist(), strict=True)]
        centre = np.where(centred, rounded, 0.0)
        size = _sizes(columns - centre)
        least, largest = _ANGLES
        angles = (deviation >= least) & (np.abs(columns).max(axis=0) <= largest)
        return cls(name, centre, size, _sizes(targets), tuple(map(bool, angles)))

    def states(self, columns: Array) -> Array:
        """Return columns (..., m) in these coordinates."""
        return np.asarray((columns - self.centre) / self.size)

    def write(
        self, parts: Mapping[Monomial, float], names: Sequence[str], target: int | None
    ) -> list[tuple[float, str]]:
        """Write a sum of products of these coordinates in the problem's values.

        Parameters
        ----------
        parts
            The coefficient of each product, by the numbers of its factors, ascending.
        names
            Of the columns.
        target
            The number of the target; None for a sum without a unit.

        Returns
        -------
        list of (float, str)
            Coefficients and terms; the text of the constant is empty.
        """
        rate = Fraction(1 if target is None else float(self.rate[target]))
        shifted = {
            factors: Fraction(value)
            * rate
            / math.prod(Fraction(float(self.size[i])) for i in factors)
            for factors, value in parts.items()
            if value
        }
        if not any(self.centre[i] for factors in shifted for i in factors):
            return [(float(w), _product(names, factors)) for factors, w in shifted.items()]
        expanded: dict[Monomial, Fraction] = defaultdict(Fraction)
        for factors, weight in shifted.items():
            for count in range(len(factors) + 1):
                for chosen in combinations(range(len(factors)), count):
                    rest = (k for k in range(len(factors)) if k not in chosen)
                    shift = math.prod(-Fraction(float(self.centre[factors[k]])) for k in rest)
                    expanded[tuple(factors[k] for k in chosen)] += weight * shift
        reach = np.abs(self.centre) + 2 * self.size
        sizes = {
            one: abs(float(w)) * math.prod(reach[i] for i in one) for one, w in expanded.items()
        }
        least = _ROUNDING * max(sizes.values())
        kept_ones = {one: w for one, w in expanded.items() if sizes[one] > least}
        accurate = sum(sizes.values()) <= _ACCURATE * float(rate)
        if accurate and len(kept_ones) <= len(shifted):
            ordered = sorted(kept_ones, key=lambda one: (len(one), one))
            return [(float(kept_ones[one]), _product(names, one)) for one in ordered]
        moved = self.moved(names)
        return [(float(w), _product(moved, factors)) for factors, w in shifted.items()]

    def moved(self, names: Sequence[str]) -> list[str]:
        """Write each column less its centre."""
        return [_moved(name, float(c)) for name, c in zip(names, self.centre, strict=False)]


def columns_of(problem: Problem) -> Array:
    """Return the states of a trajectory and, next to them, its inputs, (n, variables)."""
    inputs = problem.arrays.get("inputs")
    u = problem.u
    return u if inputs is None else np.concatenate([u, inputs], axis=1)


def sum_of(parts: Sequence[tuple[float, str]]) -> str:
    """Write a sum with coefficients that read back exactly; the text of a constant is empty.

    Examples
    --------
    >>> sum_of([(0.5, ""), (-2.0, "u0*u0_x")])
    '0.5 - 2.0*u0*u0_x'
    """
    summands = [f"{value!r}*{text}" if text else repr(value) for value, text in parts if value]
    return " + ".join(summands).replace("+ -", "- ") or "0"


def _distances(columns: Array) -> Array:
    """Return how many deviations from zero the mean of each column is, (m,)."""
    mean, deviation = np.abs(np.mean(columns, axis=0)), np.std(columns, axis=0)
    steady = deviation <= 1e-14 * mean  # a column that does not change is no offset
    return np.where(
        steady, 0.0, mean / np.where(steady, 1.0, np.where(deviation > 0, deviation, 1.0))
    )


def _sizes(columns: Array) -> Array:
    """Return the root mean square of each column, 1 where all is zero."""
    largest = np.max(np.abs(columns), axis=0)
    largest = np.where(largest > 0, largest, 1.0)
    size = largest * np.sqrt(np.mean((columns / largest) ** 2, axis=0))
    return np.where(size > 0, size, 1.0)


def _rounded(mean: float, deviation: float) -> float:
    """Return a mean with digits down to a tenth of the deviation."""
    return round(mean, 1 - math.floor(math.log10(deviation))) if deviation > 0 else mean


def _moved(name: str, centre: float) -> str:
    if not centre:
        return name
    return f"({name} - {centre!r})" if centre > 0 else f"({name} + {-centre!r})"


def _product(names: Sequence[str], factors: Monomial) -> str:
    powers = [(names[i], factors.count(i)) for i in dict.fromkeys(factors)]
    return "*".join(name if power == 1 else f"{name}**{power}" for name, power in powers)


BENIGN = 1e-2, 1e2
"""Fields whose states, lengths and times are of these sizes stay as they are."""
FAR_FIELD = 30.0
"""So do those whose means are fewer deviations from zero."""


@dataclass(frozen=True)
class FieldCoordinates:
    """Coordinates of a field: of its states, along its axes, and of time.

    Attributes
    ----------
    states
        Those of the states, with the size of each state's rate.
    lengths, time
        The units along each axis and in time.
    """

    states: Coordinates
    lengths: tuple[float, ...]
    time: float

    @classmethod
    def of(cls, problem: Problem, targets: Sequence[int]) -> FieldCoordinates | None:
        """Return the coordinates of a field of a user's; None where it can stay as it is.

        Parameters
        ----------
        targets
            The state that each target is the rate of.
        """
        axes = _axes(problem)
        if not problem.scaled or "du" not in problem.arrays:
            return None
        flat = problem.u.reshape(-1, problem.u.shape[-1])
        centred = Coordinates.of("centred", flat, flat, FAR_FIELD)
        size = _sizes(flat - np.mean(flat, axis=0))
        lengths = tuple(_length(problem, place, name, size) for place, name in enumerate(axes))
        rates = _sizes(problem.du.reshape(-1, problem.du.shape[-1]))
        time = float(np.median(size[list(targets)] / rates))
        low, high = BENIGN
        if not centred.centre.any() and all(
            low <= one <= high for one in (*size.tolist(), *lengths, time)
        ):
            return None
        angles = (False,) * len(size)  # a sine of a value in another unit is another function
        rate = size[list(targets)] / time
        return cls(Coordinates("scaled", centred.centre, size, rate, angles), lengths, time)

    def problem(self, original: Problem) -> Problem:
        """Return a field in these coordinates."""
        arrays = dict(original.arrays)
        for name in ("u", "measured"):
            if name in arrays:
                arrays[name] = np.ascontiguousarray(self.states.states(arrays[name]))
        if "du" in arrays:
            arrays["du"] = np.ascontiguousarray(arrays["du"] / self.states.rate)
        for name, length in zip(_axes(original), self.lengths, strict=True):
            arrays[name] = arrays[name] / length
        if "periods" in arrays:
            arrays["periods"] = arrays["periods"] / np.array(self.lengths)
        arrays["t"] = arrays["t"] / self.time
        return replace(original, arrays=arrays)

    def slope(self, state: int, axis: int, order: int) -> float:
        """Return by what a derivative of a state is larger in these coordinates."""
        return float(self.lengths[axis] ** order / self.states.size[state])

    def write(
        self,
        parts: Mapping[tuple[str, float], Mapping[Monomial, float]],
        names: Sequence[str],
        target: int,
    ) -> str:
        """Write a sum of products of states and derivatives in the problem's values.

        Parameters
        ----------
        parts
            For the text of each product of derivatives, and what it is larger in these
            coordinates, the coefficients of products of states.
        """
        written = []
        for (text, larger), products in parts.items():
            for weight, product in self.states.write(products, names, target):
                written.append((weight * larger, "*".join(filter(None, (product, text)))))
        return sum_of(written)


def _axes(problem: Problem) -> list[str]:
    return [name for name in ("x", "y", "z") if name in problem.arrays]


def _length(problem: Problem, axis: int, name: str, size: Array) -> float:
    """Return the length over which states change by their size along an axis."""
    nodes = problem.arrays[name]
    steps = np.diff(problem.u, axis=axis) / float(np.mean(np.diff(nodes)))
    slopes = np.sqrt(np.mean((steps / size) ** 2))
    extent = float(nodes[-1] - nodes[0]) or 1.0
    return float(min(1.0 / slopes, extent)) if slopes > 0 else extent
