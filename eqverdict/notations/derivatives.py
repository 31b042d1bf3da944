"""Derivatives of expressions of fields: ``(u*u)_x`` is ``2*u*u_x``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eqverdict.errors import EquationError
from eqverdict.grammar import read
from eqverdict.tree import ALIASES, Call, Chain, Negation, Node, Number, Power, Variable, mapped

if TYPE_CHECKING:
    from collections.abc import Collection

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
    match node:
        case Number():
            return _ZERO
        case Variable():
            return _of_field(node.name, along, variables)
        case Negation():
            return Negation(None, derivative(node.operand, along, variables))
        case Chain(rest=(("+" | "-", _), *_)):
            rest = tuple((sign, derivative(part, along, variables)) for sign, part in node.rest)
            return Chain(None, derivative(node.first, along, variables), rest)
        case Chain():
            return _of_product(node, along, variables)
        case Power(exponent=Number(text=text) as exponent):
            inner = derivative(node.base, along, variables)
            less = Power(None, node.base, Number(None, f"{float(text) - 1:g}"))
            return Chain(None, exponent, (("*", less), ("*", inner)))
        case Call(arguments=(argument,)):
            name = ALIASES.get(node.function, node.function)
            if name in _INNER:
                outer = mapped(
                    read(_INNER[name], ("x",)),
                    lambda part: argument if isinstance(part, Variable) else None,
                )
                return Chain(None, outer, (("*", derivative(argument, along, variables)),))
    raise EquationError(
        f"the derivative along {along} of such an expression is not read",
        "Write the derivative itself: 2*u*u_x for (u*u)_x.",
    )


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


def _of_product(node: Chain, along: str, variables: Collection[str] | None) -> Node:
    """Return the sum of products in which one factor is differentiated."""
    factors = [("*", node.first), *node.rest]
    terms: list[Node] = []
    for i, (symbol, part) in enumerate(factors):
        if isinstance(part, Number):
            continue
        inner = derivative(part, along, variables)
        others = [each for k, each in enumerate(factors) if k != i]
        if symbol == "/":
            others.append(("/", Power(None, part, Number(None, "2"))))
            inner = Negation(None, inner)
        terms.append(Chain(None, inner, tuple(others)) if others else inner)
    if not terms:
        return _ZERO
    return Chain(None, terms[0], tuple(("+", term) for term in terms[1:])) if terms[1:] else terms[0]
