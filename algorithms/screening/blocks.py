"""Factors, and products and sums of them: the parts of screening's answers.

A factor is a function of one quantity, and a quantity is a combination of at most two monomials,
such as ``cos(3*x - 2*y)`` or ``exp(-0.5*x**2 - 0.5*y**2)``.  A term is a product of factors.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = [
    "FUNCTIONS",
    "Factor",
    "FactorFunction",
    "Monomial",
    "Quantity",
    "Term",
    "number",
    "values",
]


@dataclass(frozen=True)
class FactorFunction:
    """A function of a quantity.

    Attributes
    ----------
    text
        Its text; ``{}`` is replaced by the quantity.
    numpy
        The function that evaluates it.
    scaled
        Whether another scale of its quantity is another function, and no other factor.
    """

    text: str
    numpy: Callable[[Array], Array]
    scaled: bool = True


FUNCTIONS = {
    "id": FactorFunction("({})", lambda u: u, scaled=False),
    "abs": FactorFunction("abs({})", np.abs, scaled=False),
    "sqrt": FactorFunction("sqrt({})", np.sqrt, scaled=False),
    "sin": FactorFunction("sin({})", np.sin),
    "cos": FactorFunction("cos({})", np.cos),
    "tan": FactorFunction("tan({})", np.tan),
    "sin2": FactorFunction("sin({})**2", lambda u: np.sin(u) ** 2),
    "cos2": FactorFunction("cos({})**2", lambda u: np.cos(u) ** 2),
    "sinr": FactorFunction("sin(sqrt({}))", lambda u: np.sin(np.sqrt(u))),
    "cosr": FactorFunction("cos(sqrt({}))", lambda u: np.cos(np.sqrt(u))),
    "exp": FactorFunction("exp({})", np.exp),
    "expabs": FactorFunction("exp(-abs({}))", lambda u: np.exp(-np.abs(u))),
    "expr": FactorFunction("exp(-sqrt({}))", lambda u: np.exp(-np.sqrt(u))),
    "tanh": FactorFunction("tanh({})", np.tanh),
    "atan": FactorFunction("atan({})", np.arctan),
    "sinh": FactorFunction("sinh({})", np.sinh),
    "cosh": FactorFunction("cosh({})", np.cosh),
    "log1": FactorFunction("log(1 + ({}))", np.log1p),
    "loga": FactorFunction("log(1 + abs({}))", lambda u: np.log1p(np.abs(u))),
    "over1": FactorFunction("1/(1 + ({}))", lambda u: 1 / (1 + u)),
    "overa": FactorFunction("1/(1 + abs({}))", lambda u: 1 / (1 + np.abs(u))),
    "overlog": FactorFunction("1/log(1 + ({}))", lambda u: 1 / np.log1p(u)),
    "sqrt1": FactorFunction("sqrt(1 + ({}))", lambda u: np.sqrt(1 + u)),
    "logistic": FactorFunction("1/(1 + exp({}))", lambda u: 1 / (1 + np.exp(u))),
}
"""All functions, by name."""


@dataclass(frozen=True)
class Monomial:
    """A product of powers of the variables, with the sign or without it; or a direction."""

    powers: tuple[float, ...]
    absolute: bool = False
    ratio: tuple[int, int] | None = None

    def values(self, X: Array) -> Array:
        """Return its values (n,)."""
        if self.ratio is not None:
            return np.arctan(X[:, self.ratio[0]] / X[:, self.ratio[1]])
        found = np.ones(len(X))
        for column, power in enumerate(self.powers):
            if power:
                found = found * X[:, column] ** power
        return np.abs(found) if self.absolute else found

    def text(self, names: Sequence[str]) -> str:
        """Write it."""
        if self.ratio is not None:
            return f"atan({names[self.ratio[0]]}/{names[self.ratio[1]]})"
        parts = [
            names[column] + f"**{power}" * (power != 1)
            if power > 0
            else f"{names[column]}**({power})"
            for column, power in enumerate(self.powers)
            if power
        ]
        inner = "*".join(parts) or "1"
        return f"abs({inner})" if self.absolute else inner

    @property
    def size(self) -> int:
        """Complexity in comparisons of models."""
        return 1 + self.absolute if self.ratio is None else 3


Quantity = tuple[Monomial, ...]
"""The monomials that are combined."""


@dataclass(frozen=True)
class Factor:
    """A function of a combination of monomials, and what it is raised to."""

    function: str
    quantity: Quantity
    weights: tuple[float, ...]
    power: float = 1

    @property
    def signature(self) -> tuple[str, Quantity, float]:
        """Function, quantity and power: all but its numbers."""
        return self.function, self.quantity, self.power

    @property
    def free(self) -> tuple[float, ...]:
        """The numbers that can be fitted."""
        return self.weights if FUNCTIONS[self.function].scaled else self.weights[1:]

    def moved(self, free: Sequence[float]) -> Factor:
        """Return it with other numbers in place of the free ones."""
        kept = len(self.weights) - len(free)
        return replace(self, weights=(*self.weights[:kept], *map(float, free)))

    def values(self, X: Array) -> Array:
        """Return its values (n,), not finite where there are none."""
        return self.of([each.values(X) for each in self.quantity])

    def of(self, parts: Sequence[Array]) -> Array:
        """Return its values (n,) from those of its monomials."""
        whole = self.weights[0] * parts[0]
        for weight, part in zip(self.weights[1:], parts[1:], strict=True):
            whole = whole + weight * part
        found = FUNCTIONS[self.function].numpy(whole)
        return found if self.power == 1 else found**self.power

    def text(self, names: Sequence[str]) -> str:
        """Write it."""
        parts: list[str] = []
        for weight, each in zip(self.weights, self.quantity, strict=True):
            inner = each.text(names)
            one = inner if abs(weight) == 1 else f"{number(abs(weight))}*{inner}"
            if inner == "1":
                one = number(abs(weight))
            sign = "-" if weight < 0 else "+"
            parts.append(f" {sign} {one}" if parts else "-" * (weight < 0) + one)
        if self.function == "id" and self.power == 1 and self.weights == (1.0,):
            return one
        text = FUNCTIONS[self.function].text.format("".join(parts))
        if self.power == 1:
            return text
        inner = f"({text})" if text.startswith("1/") or text.endswith("**2") else text
        return f"{inner}**{self.power}" if self.power > 0 else f"{inner}**({self.power})"

    @property
    def size(self) -> int:
        """Complexity in comparisons of models."""
        own = (self.function != "id") + (self.power != 1)
        return own + sum(each.size for each in self.quantity)


Term = tuple[Factor, ...]
"""A product; without factors it is 1."""


def values(term: Term, X: Array) -> Array:
    """Return a term's values (n,)."""
    found = np.ones(len(X))
    for factor in term:
        found = found * factor.values(X)
    return found


def number(value: float) -> str:
    """Write a number so that it is read back as it is."""
    whole = round(value)
    return str(whole) if value == whole and abs(whole) < 1e6 else repr(float(value))  # noqa: PLR2004
