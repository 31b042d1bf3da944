"""How many digits an equation needs, so that what is printed is still the equation."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from eqverdict.equation import parse
from eqverdict.grammar import read
from eqverdict.tree import Chain, Negation, Number, parts

if TYPE_CHECKING:
    from collections.abc import Collection

    from eqverdict.tree import Node

MOST_DIGITS = 17
_ON_PURPOSE = 10
"""Digits up to which a centre, as in ``(p - 101325.0)``, was written with few on purpose."""


def digits_needed(text: str, names: Collection[str], least: int) -> int:
    """Return how many digits to print, more than `least` where a constant cancels with terms.

    In ``911925.0 - 9.0*p`` p is near 101325: with four digits the law would be another one.  A
    constant that is 10^k of the largest coefficient next to it takes k digits more, and a centre
    keeps the digits that it has.

    Parameters
    ----------
    text
        An equation that can be read.
    names
        The names that the equation may use.

    Examples
    --------
    >>> digits_needed("911925.0 - 9.0*p", ["p"], 4)
    10
    >>> digits_needed("1.25 - 0.333333*p", ["p"], 4)
    5
    >>> digits_needed("3.0*(p - 0.1013251)", ["p"], 4)
    7
    >>> digits_needed("2.0*p*q + 1e9*p", ["p", "q"], 4)
    4
    """
    further = 0
    for node in parts(read(parse(text, names).text, names)):
        if isinstance(node, Chain) and node.rest[0][0] in "+-":
            further = max(further, _further(node, least))
    return min(least + further, MOST_DIGITS)


def _further(chain: Chain, least: int) -> int:
    """Return the number of further digits of a sum: all of a centre, else by the decades."""
    summands = [chain.first, *(each for _, each in chain.rest)]
    constants = [abs(float(each.constant)) for each in summands if each.constant is not None]
    others = [_coefficient(each) for each in summands if each.constant is None]
    digits = 0
    if all(_coefficient(each) == 1.0 for each in summands if each.constant is None):
        written = max(
            (_significant_digits(each) for each in summands if each.constant is not None), default=0
        )
        digits = written - least if written <= _ON_PURPOSE else 0
    largest, beside = max(constants, default=0.0), max(others, default=0.0)
    if not (0.0 < beside < largest < math.inf):
        return max(digits, 0)
    return max(digits, math.ceil(math.log10(largest / beside)))


def _significant_digits(node: Node) -> int:
    """Return the significant digits of a number's text; more than any where it is none."""
    if isinstance(node, Negation):
        return _significant_digits(node.operand)
    if not isinstance(node, Number):
        return MOST_DIGITS
    return len(node.text.lower().partition("e")[0].replace(".", "").strip("0"))


def _coefficient(node: Node) -> float:
    """Return the size of the constant factor of a summand."""
    if isinstance(node, Negation):
        return _coefficient(node.operand)
    if not isinstance(node, Chain) or node.rest[0][0] in "+-":
        return 1.0
    size = _factor(node.first)
    for symbol, each in node.rest:
        size = size * _factor(each) if symbol == "*" else size / (_factor(each) or math.inf)
    return size


def _factor(node: Node) -> float:
    if isinstance(node, Negation):
        return _factor(node.operand)
    if node.constant is not None:
        return abs(float(node.constant))
    return 1.0 if isinstance(node, Number) else _coefficient(node)
