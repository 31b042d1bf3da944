"""Equations as people write them: constants folded, factors of 1 and terms of 0 left out."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from eqverdict.tree import (
    CONSTANTS,
    Call,
    Chain,
    Negation,
    Node,
    Number,
    Power,
    Variable,
    parts,
    text_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

Factor = tuple[str, Node]
"""A factor or a summand, and the operator before it."""
DIGITS = 4
"""Significant digits to which a factor has to be 1; as many are shown."""


def tidy(node: Node) -> Node:
    """Return a tree of the same values, as a person would write it.

    Numbers in a product become one factor, which is left out where it is shown as 1; nested
    products become one; numbers in a sum become one summand, and a summand whose coefficient is 0
    is left out.  Named constants, such as pi, and exponents that are literals stay.

    Examples
    --------
    >>> from eqverdict.grammar import read
    >>> from eqverdict.tree import text_of
    >>> text_of(tidy(read("(0.5*(((-0.4)*x0)*((-5.0)*x1))) + 0*x0 - -1*x1", ("x0", "x1"))))
    '((x0 * x1) + x1)'
    """
    match node:
        case Number() | Variable():  # most nodes are
            return node
        case Negation() | Chain(rest=((("*" | "/"), _), *_)):
            return _product(*_factors(node))
        case Chain():
            return _sum(node)
        case Power():
            exponent = node.exponent if isinstance(node.exponent, Number) else tidy(node.exponent)
            base = tidy(node.base)
            whole = isinstance(exponent, Number) and exponent.constant == 1
            return base if whole else replace(node, base=base, exponent=exponent)
        case Call():
            return replace(node, arguments=tuple(map(tidy, node.arguments)))


def with_powers(node: Node) -> Node:
    """Return a tidied tree in which repeated factors are powers.

    Examples
    --------
    >>> from eqverdict.grammar import read
    >>> from eqverdict.tree import text_of
    >>> text_of(with_powers(tidy(read("3.1*x0*x1*x0**2/(x1*x1)", ("x0", "x1")))))
    '(3.1 * (x0**3) * x1 / (x1**2))'
    """
    match node:
        case Number() | Variable():  # most nodes are
            return node
        case Chain(rest=((("*" | "/"), _), *_)):
            factors = [("*", node.first), *node.rest]
            powers: dict[tuple[str, str], tuple[Node, float]] = {}
            for symbol, factor in factors:
                base, exponent = _base(with_powers(factor))
                key = (symbol, f"{len(powers)}" if _is_number(base) else text_of(base))
                powers[key] = base, powers.get(key, (base, 0.0))[1] + exponent
            (_, first), *rest = [(symbol, _raised(*each)) for (symbol, _), each in powers.items()]
            return Chain(node.constant, first, tuple(rest)) if rest else first
        case Chain():
            others = tuple((symbol, with_powers(each)) for symbol, each in node.rest)
            return replace(node, first=with_powers(node.first), rest=others)
        case Negation():
            return replace(node, operand=with_powers(node.operand))
        case Power():
            return replace(node, base=with_powers(node.base), exponent=with_powers(node.exponent))
        case Call():
            return replace(node, arguments=tuple(map(with_powers, node.arguments)))


def _base(node: Node) -> tuple[Node, float]:
    """Return the base and the exponent of a factor that is a whole power of something."""
    match node:
        case Power(exponent=Number(constant=exponent)) if (
            exponent is not None and exponent > 0 and float(exponent).is_integer()
        ):
            return node.base, float(exponent)
    return node, 1.0


def _raised(base: Node, exponent: float) -> Node:
    if exponent == 1:
        return base
    return Power(None, base, Number(np.float64(exponent), f"{exponent:.0f}"))


def _is_number(node: Node) -> bool:
    """Whether a part is a finite number that no named constant is in."""
    if node.constant is None or not math.isfinite(node.constant):
        return False
    if isinstance(node, Number):
        return node.text not in CONSTANTS
    return not any(isinstance(part, Number) and part.text in CONSTANTS for part in parts(node))


def _factors(node: Node) -> tuple[float, list[Factor]]:
    """Return the number and the other factors of a product, those of its products included."""
    if _is_number(node):
        return float(node.constant or 0.0), []
    match node:
        case Negation():
            number, factors = _factors(node.operand)
            return -number, factors
        case Chain(rest=((("*" | "/"), _), *_)):
            number, factors = _factors(node.first)
            factors = list(factors)
            for symbol, operand in node.rest:
                own, more = _factors(operand)
                if symbol == "/" and (own == 0 or not math.isfinite(1 / own)):
                    factors.append(("/", tidy(operand)))  # nothing is divided by zero here
                    continue
                product = number * own if symbol == "*" else number / own
                if not math.isfinite(product) or (product == 0 and number != 0 and own != 0):
                    factors.append((symbol, tidy(operand)))
                    continue
                number = product
                turned = {"*": "/", "/": "*"}
                factors += [(turned[s] if symbol == "/" else s, each) for s, each in more]
            return number, factors
    made = tidy(node)
    if made is not node and (_is_number(made) or isinstance(made, Negation) or _is_product(made)):
        return _factors(made)  # a sum of which one summand is left
    return 1.0, [("*", made)]


def _is_product(node: Node) -> bool:
    return isinstance(node, Chain) and node.rest[0][0] in "*/"


def _number(value: float) -> Node:
    made = Number(np.float64(abs(value)), repr(abs(value)))
    return Negation(np.float64(value), made) if value < 0 else made


def _product(number: float, factors: list[Factor]) -> Node:
    """Return a product, its number first, with a minus before it where that is negative."""
    if number == 0 or not factors:
        return _number(number)
    shown = f"{abs(number):.{DIGITS}g}"
    above = [node for symbol, node in factors if symbol == "*"]
    below = [node for symbol, node in factors if symbol == "/"]
    first = [_number(abs(number))] if shown != "1" or not above else []
    kept = [*first, *above]
    made: Node = kept[0]
    rest = [*(("*", each) for each in kept[1:]), *(("/", each) for each in below)]
    if rest:
        made = Chain(None, made, tuple(rest))
    return Negation(None, made) if number < 0 else made


def _summands(node: Node, sign: int = 1) -> Iterable[tuple[float, list[Factor]]]:
    match node:
        case Chain(rest=((("+" | "-"), _), *_)):
            yield from _summands(node.first, sign)
            for symbol, operand in node.rest:
                yield from _summands(operand, sign if symbol == "+" else -sign)
        case Negation():
            yield from _summands(node.operand, -sign)
        case _:
            number, factors = _factors(node)
            match factors:
                case [("*", Chain(rest=((("+" | "-"), _), *_)) as inner)] if abs(number) == 1:
                    yield from _summands(inner, sign * int(number))
                case _:
                    yield sign * number, factors


def _sum(node: Chain) -> Node:
    """Return a sum, its summands in their order and its number where the first one was."""
    terms: list[tuple[float, list[Factor]]] = []
    constant_index = None
    for number, factors in _summands(node):
        if factors:
            terms += [(number, factors)] * (number != 0)
        elif constant_index is None:
            constant_index = len(terms)
            terms.append((number, []))
        else:
            terms[constant_index] = terms[constant_index][0] + number, []
    if constant_index is not None and (
        terms[constant_index][0] == 0 or not math.isfinite(terms[constant_index][0])
    ):
        if not math.isfinite(terms[constant_index][0]):
            return node
        del terms[constant_index]
    if not terms:
        return _number(0.0)
    first, *others = terms
    rest = tuple(("-" if n < 0 else "+", _product(abs(n), factors)) for n, factors in others)
    return Chain(None, _product(*first), rest) if rest else _product(*first)
