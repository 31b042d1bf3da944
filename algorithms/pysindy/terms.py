"""PySINDy's libraries of functions of the states, and their terms as equations have them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
import pysindy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

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
    values
        (n, p).
    """

    library: Any
    texts: tuple[str, ...]
    values: Array

    @classmethod
    def of(cls, library: PackageLibrary, u: Array, variables: Sequence[str]) -> PackageTerms:
        """Evaluate a library on states (n, d)."""
        made = library.made()
        with np.errstate(all="ignore"):
            values = np.asarray(made.fit_transform(u), dtype=np.float64)
        names = made.get_feature_names([f"v{state}" for state in range(len(variables))])
        given = {f"v{state}": name for state, name in enumerate(variables)}
        return cls(made, tuple(_text(name, given) for name in names), values)

    def evaluate(self, u: Array) -> Array:
        """Evaluate the terms on other states (n, d); return (n, p)."""
        return np.asarray(self.library.transform(u), dtype=np.float64)


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
