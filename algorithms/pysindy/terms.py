"""PySINDy's libraries of functions of the states, and their terms as equations have them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
import pysindy

from mdbench.worker import sum_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from mdbench.worker import Coordinates

    Array = NDArray[np.float64]

__all__ = ["PackageLibrary", "PackageTerms", "libraries"]

_KINDS = ("cross", "powers")
_FUNCTIONS = ("sin", "cos")
_WAVE = re.compile(r"(sin|cos)\(1 (\w+)\)")


@dataclass(frozen=True)
class PackageLibrary:
    """One library: monomials up to a degree, and functions of single states.

    Attributes
    ----------
    cross
        Whether there are products of different states.
    functions
        Any of ``sin`` and ``cos``.
    order
        The highest degree of a monomial.
    """

    cross: bool
    functions: tuple[str, ...]
    order: int

    def terms(self, d: int) -> int:
        """Count the terms for `d` states."""
        powers = comb(d + self.order, self.order) if self.cross else 1 + d * self.order
        return powers + len(self.functions) * d

    def made(self) -> Any:
        """Make PySINDy's library; a new one each time, for it cannot be cloned."""
        made = pysindy.PolynomialLibrary(degree=self.order, include_interaction=self.cross)
        if self.functions:
            made = made + pysindy.FourierLibrary(
                n_frequencies=1,
                include_sin="sin" in self.functions,
                include_cos="cos" in self.functions,
            )
        return made


def libraries(kind: str, bases: Sequence[str], orders: Sequence[int]) -> list[PackageLibrary]:
    """Make a library of every basis and order.

    Raises
    ------
    ValueError
        If one of them is none.
    """
    if kind not in _KINDS:
        raise ValueError(f"library is {kind!r}; it must be one of {', '.join(_KINDS)}")
    found = []
    for basis in bases:
        first, *functions = basis.split("+")
        if first != "polynomial" or not set(functions) <= set(_FUNCTIONS):
            raise ValueError(
                f"bases has {basis!r}; each is 'polynomial', then any of '+sin' and '+cos'"
            )
        for order in orders:
            if order < 1:
                raise ValueError(f"orders has {order}; each must be 1 or more")
            found.append(PackageLibrary(kind == "cross", tuple(functions), order))
    return found


@dataclass(frozen=True)
class PackageTerms:
    """The terms of a library, and their values on the data of the fit.

    Attributes
    ----------
    library
        PySINDy's, fitted.
    texts
        Each term in Python syntax; the constant one is ``1``.
    factors
        The numbers of the states in each product, ascending; None for a function.
    values
        (n, p).
    variables
        The names of states and inputs.
    coordinates
        Those in which products are taken; None for the values themselves.
    used
        The terms that are used, of all of the library.
    """

    library: Any
    texts: tuple[str, ...]
    factors: tuple[tuple[int, ...] | None, ...]
    values: Array
    variables: tuple[str, ...]
    coordinates: Coordinates | None
    used: NDArray[np.intp]

    @classmethod
    def of(
        cls,
        library: PackageLibrary,
        u: Array,
        variables: Sequence[str],
        coordinates: Coordinates | None = None,
    ) -> PackageTerms:
        """Evaluate a library on states and inputs (n, m)."""
        made = library.made()
        with np.errstate(all="ignore"):
            made.fit(u)
        names = made.get_feature_names([f"v{state}" for state in range(len(variables))])
        given = {f"v{state}": name for state, name in enumerate(variables)}
        texts, factors = [_text(name, given) for name in names], [_factors(name) for name in names]
        used = [
            place
            for place, name in enumerate(names)
            if coordinates is None
            or not (wave := _WAVE.fullmatch(name))
            or coordinates.angles[int(wave[2][1:])]
        ]
        found = cls(
            made,
            tuple(texts[place] for place in used),
            tuple(factors[place] for place in used),
            np.empty((0, 0)),
            tuple(variables),
            coordinates,
            np.array(used),
        )
        return replace(found, values=found.evaluate(u))

    def rate(self, target: int) -> float:
        """Return the unit in which sums of terms give the rate of a state."""
        return 1.0 if self.coordinates is None else float(self.coordinates.rate[target])

    def evaluate(self, u: Array) -> Array:
        """Evaluate the terms on states and inputs (n, m); return (n, p)."""
        with np.errstate(all="ignore"):
            values = np.asarray(self.library.transform(u), dtype=np.float64)[:, self.used]
            if self.coordinates is None:
                return values
            products = np.array([factors is not None for factors in self.factors])
            moved = np.asarray(self.library.transform(self.coordinates.states(u)))[:, self.used]
            return np.where(products, moved, values)

    def write(self, coefficients: Array, target: int | None) -> str:
        """Write a sum of terms (p,) in the problem's values; without a target, without a unit."""
        if self.coordinates is None:
            texts = ["" if text == "1" else text for text in self.texts]
            parts = zip(coefficients.tolist(), texts, strict=True)
            return " + ".join(f"{c!r}*{t}" if t else repr(c) for c, t in parts if c) or "0"
        products, others = {}, []
        rate = 1.0 if target is None else self.rate(target)
        for weight, text, factors in zip(
            coefficients.tolist(), self.texts, self.factors, strict=True
        ):
            if factors is not None:
                products[factors] = weight
            else:
                others.append((weight * rate, text))
        return sum_of([*self.coordinates.write(products, self.variables, target), *others])


def _factors(name: str) -> tuple[int, ...] | None:
    """Return the numbers of the states in one of PySINDy's products, such as ``v0^2 v1``."""
    if _WAVE.fullmatch(name):
        return None
    found: list[int] = []
    for factor in name.split(" ") if name != "1" else []:
        state, _, power = factor.partition("^")
        found += [int(state[1:])] * int(power or 1)
    return tuple(sorted(found))


def _text(name: str, given: dict[str, str]) -> str:
    """Write one of PySINDy's names, such as ``v0^2 v1`` or ``sin(1 v0)``, in Python syntax."""
    if wave := _WAVE.fullmatch(name):
        return f"{wave[1]}({given[wave[2]]})"
    if name == "1":
        return name
    factors = []
    for factor in name.split(" "):
        state, _, power = factor.partition("^")
        factors.append(given[state] + (f"**{power}" if power else ""))
    return "*".join(factors)
