"""Derivatives of expressions of fields: ``(u*u)_x`` is ``2*u*u_x``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eqverdict.errors import EquationError
from eqverdict.grammar import read
from eqverdict.tree import ALIASES, Call, Chain, Negation, Node, Number, Power, Variable, mapped

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

ALONG = "txyz"
"""The coordinates along which fields have derivatives, in the order that their names have."""
_INNER = {
    "sin": "cos(x)",
    "cos": "-sin(x)",
    "tan": "1 + tan(x)**2",
    "exp": "exp(x)",
    "log": "1/x",
    "sqrt": "1/(2*sqrt(x))",
    "sinh": "cosh(x)",
    "cosh": "sinh(x)",
    "tanh": "1 - tanh(x)**2",
    "atan": "1/(1 + x**2)",
}
"""Derivatives of functions of ``x``."""
_ZERO = Number(None, "0")


def is_along(letters: str) -> bool:
    """Whether letters are coordinates."""
    return bool(letters) and all(letter in ALONG for letter in letters)


def derivative(node: Node, along: str, variables: Collection[str] | None) -> Node:
    """Differentiate an expression of fields along a coordinate, by the rules of calculus.

    Parameters
    ----------
    variables
        The names there are; None if any name is one.

    Raises
    ------
    EquationError
        If a derivative that is needed is none of them, or no rule is known.
    """

    def inner(part: Node) -> Node:
        return derivative(part, along, variables)

    result: Node | None = None
    match node:
        case Number():
            result = _ZERO
        case Variable():
            result = _of_field(node.name, along, variables)
        case Negation():
            result = Negation(None, inner(node.operand))
        case Chain(rest=(("+" | "-", _), *_)):
            rest = tuple((sign, inner(part)) for sign, part in node.rest)
            result = Chain(None, inner(node.first), rest)
        case Chain():
            result = _of_product(node, inner)
        case Power(exponent=Number(text=text) as exponent):
            less = Power(None, node.base, Number(None, f"{float(text) - 1:g}"))
            result = Chain(None, exponent, (("*", less), ("*", inner(node.base))))
        case Call(arguments=(argument,)) if ALIASES.get(node.function, node.function) in _INNER:
            outer = read(_INNER[ALIASES.get(node.function, node.function)], ("x",))
            outer = mapped(outer, lambda part: argument if isinstance(part, Variable) else None)
            result = Chain(None, outer, (("*", inner(argument)),))
    if result is None:
        raise EquationError(
            f"the derivative along {along} of such an expression is not read",
            "Write the derivative itself: 2*u*u_x for (u*u)_x.",
        )
    return result


def _of_field(name: str, along: str, variables: Collection[str] | None) -> Node:
    head, _, before = name.rpartition("_")
    if not (head and is_along(before)):
        head, before = name, ""
    letters = "".join(sorted(before + along, key=ALONG.index))
    wanted = f"{head}_{letters}"
    if name in ALONG or (variables is not None and wanted not in variables):
        raise EquationError(
            f"there is no derivative of {name} along {along} here, which would be {wanted}",
            "Write the derivative itself with the names there are.",
        )
    return Variable(None, wanted)


def _of_product(node: Chain, inner: Callable[[Node], Node]) -> Node:
    """Return the sum of products in which one factor is differentiated."""
    factors = [("*", node.first), *node.rest]
    terms: list[Node] = []
    for i, (symbol, part) in enumerate(factors):
        if isinstance(part, Number):
            continue
        moved = inner(part)
        others = [each for k, each in enumerate(factors) if k != i]
        if symbol == "/":
            others.append(("/", Power(None, part, Number(None, "2"))))
            moved = Negation(None, moved)
        terms.append(Chain(None, moved, tuple(others)) if others else moved)
    if not terms:
        return _ZERO
    rest = tuple(("+", term) for term in terms[1:])
    return Chain(None, terms[0], rest) if rest else terms[0]
