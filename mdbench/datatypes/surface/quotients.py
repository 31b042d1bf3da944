"""An equation as one fraction, so that where it is zero is told from where it has a pole.

Beside the poles of ``tan(z) + 1000*x`` its zeros are so near that no grid has a node between the
two.  Its numerator, ``sin(z) + 1000*x*cos(z)``, has no poles.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from mdbench.expressions.tree import Call, Chain, Negation, Power, Variable, value

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from numpy.typing import NDArray

    from mdbench.expressions.tree import Node

    Array = NDArray[np.float64]
    Fraction: TypeAlias = "tuple[Any, dict[Hashable, int]]"

__all__ = ["fraction"]

_MOST_POWER = 12
_MOST_FACTORS = 8
"""Of a denominator; sums with more are worked out as they are."""


def fraction(node: Node, columns: Mapping[str, Array]) -> tuple[Array, Array]:
    """Work out the numerator and the denominator of an equation, both shaped like a column.

    Fractions, tangents and cotangents are taken apart as far as sums, products and whole powers
    lead to them; what is inside of other functions is left as it is.
    """
    maker = _Maker(columns)
    with np.errstate(all="ignore"):
        top, factors = maker.of(node)
        bottom = maker.product(factors)
        shape = np.shape(next(iter(columns.values())))
        return np.array(np.broadcast_to(top, shape)), np.array(np.broadcast_to(bottom, shape))


class _Maker:
    """Keeps the factors of denominators, by what they are, so that none counts twice in a sum."""

    def __init__(self, columns: Mapping[str, Array]) -> None:
        self.columns = columns
        self.known: dict[Hashable, Any] = {}

    def of(self, node: Node) -> Fraction:
        match node:
            case Chain():
                return self.added(node) if node.rest[0][0] in "+-" else self.multiplied(node)
            case Negation():
                top, factors = self.of(node.operand)
                return -top, factors
            case Power(exponent=exponent) if _is_whole(exponent):
                return self.power(node.base, int(exponent.constant or 0))
            case Call(function="tan" | "cot" as name, arguments=(inside,)):
                return self.tangent(name, inside)
        return self.plain(node), {}

    def added(self, node: Chain) -> Fraction:
        found = self.of(node.first)
        for symbol, operand in node.rest:
            found = self.sum(found, self.of(operand), 1.0 if symbol == "+" else -1.0)
        return found

    def multiplied(self, node: Chain) -> Fraction:
        top, factors = self.of(node.first)
        for symbol, operand in node.rest:
            if symbol == "/" and operand.constant is None:
                top, factors = self.divided((top, factors), operand)
                continue
            other, below = self.of(operand)
            top = top * other if symbol == "*" else top / other
            factors = _joined(factors, below)
        return top, factors

    def plain(self, node: Node) -> Any:
        return node.constant if node.constant is not None else value(node, self.columns)

    def tangent(self, name: str, inside: Node) -> Fraction:
        angle = self.plain(inside)
        top, bottom = np.sin(angle), np.cos(angle)
        if name == "cot":
            top, bottom = bottom, top
        self.known[name, inside] = bottom
        return top, {(name, inside): 1}

    def power(self, base: Node, power: int) -> Fraction:
        if isinstance(base, Variable) and power > 0:
            return self.plain(base) ** power, {}
        top, factors = self.of(base) if power > 0 else self.divided((1.0, {}), base)
        return top ** abs(power), {key: abs(power) * count for key, count in factors.items()}

    def divided(self, numerator: Fraction, node: Node) -> Fraction:
        top, factors = numerator
        other, below = self.of(node)
        self.known["over", node] = other
        return top * self.product(below), _joined(factors, {("over", node): 1})

    def product(self, factors: Mapping[Hashable, int]) -> Any:
        found: Any = 1.0
        for key, count in factors.items():
            found = found * self.known[key] ** count
        return found

    def ratio(self, found: Fraction) -> Any:
        return found[0] / self.product(found[1])

    def sum(self, first: Fraction, second: Fraction, sign: float) -> Fraction:
        every = {
            key: max(first[1].get(key, 0), second[1].get(key, 0))
            for key in {**first[1], **second[1]}
        }
        if len(every) > _MOST_FACTORS:
            return self.ratio(first) + sign * self.ratio(second), {}
        tops = [
            top * self.product({key: count - own.get(key, 0) for key, count in every.items()})
            for top, own in (first, second)
        ]
        return tops[0] + sign * tops[1], every


def _is_whole(exponent: Node) -> bool:
    power = 0.0 if exponent.constant is None else float(exponent.constant)
    return power.is_integer() and 0 < abs(power) <= _MOST_POWER


def _joined(first: Mapping[Hashable, int], second: Mapping[Hashable, int]) -> dict[Hashable, int]:
    return {key: first.get(key, 0) + second.get(key, 0) for key in {**first, **second}}
