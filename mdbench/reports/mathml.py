"""Equations as MathML, which browsers show without any script."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

from mdbench.errors import EquationError
from mdbench.expressions.functions import CONSTANTS
from mdbench.expressions.grammar import check, read
from mdbench.expressions.tree import Call, Chain, Negation, Node, Number, Power, Variable

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["LONGEST", "left_hand_side", "mathml", "shown_number"]

LONGEST = 600
"""Characters of an equation that is set as mathematics; a longer one is shown as text."""
DIGITS = 4
"""Significant digits of numbers."""

_NAMES = re.compile(r"(?<![\w.])([A-Za-z_]\w*)\s*(\(?)")
_PARTS = re.compile(r"([A-Za-z]+)(\d*)(?:_([a-z]+))?")
_TIMES = "<mo>&#x2062;</mo>"  # invisible
_DOT = "<mo>⋅</mo>"
_MINUS = "<mo>−</mo>"
_FENCES = {"abs": ("|", "|"), "Abs": ("|", "|")}
_SUM, _PRODUCT, _POWER, _ATOM = range(4)
"""How strongly parts hang together."""


def mathml(text: str) -> str:
    """Write a right-hand side as MathML, its numbers rounded to four digits.

    Parameters
    ----------
    text
        The equation; every name in it that is not called and is no constant is a variable.

    Returns
    -------
    str
        A ``math`` element whose ``alttext`` is the text as it was given; a ``code`` element
        where the text is too long or is no equation.

    Examples
    --------
    >>> mathml("u0**2")
    '<math alttext="u0**2"><msup><msub><mi>u</mi><mn>0</mn></msub><mn>2</mn></msup></math>'
    """
    if len(text) <= LONGEST:
        names = {name for name, called in _NAMES.findall(text) if not called} - CONSTANTS.keys()
        try:
            check(text)
            inner = _write(read(text, names))
        except EquationError:
            pass
        else:
            return f'<math alttext="{escape(text)}">{inner}</math>'
    return f"<code>{escape(text)}</code>"


def left_hand_side(target: str, d: str = "d") -> str:
    """Write what an equation is for: ``u0_t`` as a derivative by the letter `d`."""
    found = _PARTS.fullmatch(target)
    if found is None or not found[3]:
        return f"<math>{_variable(target)}</math>"
    below = "".join(f"<mi>{d}</mi><mi>{letter}</mi>" for letter in found[3])
    above = f"<mi>{d}</mi>{_variable(found[1] + found[2])}"
    return f"<math><mfrac><mrow>{above}</mrow><mrow>{below}</mrow></mfrac></math>"


def shown_number(value: float) -> str:
    """Write a number with four significant digits as MathML.

    Examples
    --------
    >>> shown_number(0.333333), shown_number(2.0)
    ('<mn>0.3333</mn>', '<mn>2</mn>')
    """
    sign = _MINUS if value < 0 else ""
    mantissa, _, exponent = f"{abs(value):.{DIGITS}g}".partition("e")
    if not exponent:
        return f"{sign}<mn>{mantissa}</mn>"
    power = int(exponent)
    minus = _MINUS if power < 0 else ""
    ten = f"<msup><mn>10</mn><mrow>{minus}<mn>{abs(power)}</mn></mrow></msup>"
    return f"{sign}{ten}" if mantissa == "1" else f"{sign}<mn>{mantissa}</mn>{_DOT}{ten}"


def _write(node: Node) -> str:  # noqa: PLR0911 - one for each kind of node
    match node:
        case Number():
            return _number(node)
        case Variable():
            return _variable(node.name)
        case Negation():
            return _MINUS + _inside(node.operand, _PRODUCT)
        case Power():
            return _power(node.base, node.exponent)
        case Call():
            return _call(node)
        case Chain() if node.rest[0][0] in {"+", "-"}:
            return _sum(node)
        case Chain():
            return _product(node)


def _strength(node: Node) -> int:
    match node:
        case Chain():
            return _SUM if node.rest[0][0] in {"+", "-"} else _PRODUCT
        case Negation():
            return _SUM
        case Power():
            return _POWER
        case Number() if "<mo>" in _number(node):
            return _PRODUCT
    return _ATOM


def _inside(node: Node, least: int) -> str:
    """Write a part, in brackets where it hangs together less than is needed."""
    written = _write(node)
    return _row(f"<mo>(</mo>{written}<mo>)</mo>") if _strength(node) < least else written


def _row(written: str) -> str:
    return f"<mrow>{written}</mrow>"


def _number(node: Number) -> str:
    if node.text in CONSTANTS:
        return {"pi": "<mi>π</mi>", "E": "<mi>e</mi>"}[node.text]
    return shown_number(float(node.text))


def _variable(name: str) -> str:
    found = _PARTS.fullmatch(name)
    if found is None:
        return f"<mi>{escape(name)}</mi>"
    letters, number, along = found.groups()
    written = f"<mi>{letters}</mi>"
    if number:
        written = f"<msub>{written}<mn>{number}</mn></msub>"
    if along:  # derivatives: u0_xx
        written = f"<msub><mo>∂</mo><mi>{along}</mi></msub>{written}"
        return _row(written)
    return written


def _sum(node: Chain) -> str:
    written = [_inside(node.first, _SUM)]
    for symbol, operand in node.rest:
        positive, part = _without_sign(operand)
        minus = (symbol == "-") == positive
        written.append(_MINUS if minus else "<mo>+</mo>")
        # A sum that is added keeps its brackets, as it was written with them.
        written.append(_inside(part, _PRODUCT))
    return _row("".join(written))


def _without_sign(node: Node) -> tuple[bool, Node]:
    """Take the minus away from what is added: a + -2*b is a - 2*b."""
    match node:
        case Negation():
            return False, node.operand
        case Chain(_, Negation() as first, rest) if rest[0][0] in {"*", "/"}:
            return False, Chain(None, first.operand, rest)
    return True, node


def _product(node: Chain) -> str:
    minus, part = "", node
    if isinstance(node.first, Negation):
        minus, part = _MINUS, Chain(None, node.first.operand, node.rest)
    above = [part.first, *(operand for symbol, operand in part.rest if symbol == "*")]
    below = [operand for symbol, operand in part.rest if symbol == "/"]
    written = _factors(above)
    if below:
        written = f"<mfrac>{_row(written)}{_row(_factors(below))}</mfrac>"
    return _row(minus + written) if minus or len(above) > 1 else written


def _factors(nodes: list[Node]) -> str:
    if len(nodes) == 1:
        return _write(nodes[0])
    written = [_inside(nodes[0], _PRODUCT)]
    for node in nodes[1:]:
        starts_with_number = re.match(r"(<m(row|sup|frac)>)*<mn>", _write(node)) is not None
        written += [_DOT if starts_with_number else _TIMES, _inside(node, _PRODUCT)]
    return "".join(written)


def _power(base: Node, exponent: Node) -> str:
    raised = _row(_write(exponent)) if _strength(exponent) != _ATOM else _write(exponent)
    if isinstance(exponent, Number) and exponent.constant == 0.5:  # noqa: PLR2004 - a square root
        return f"<msqrt>{_write(base)}</msqrt>"
    if isinstance(base, Call) and base.function in {"sin", "cos", "tan", "sinh", "cosh", "tanh"}:
        name = f"<msup><mi>{base.function}</mi>{raised}</msup>"
        return _row(f"{name}{_arguments(base)}")
    simple = isinstance(base, Variable | Number) and _strength(base) == _ATOM
    inner = _write(base)
    if not simple or inner.startswith("<mrow>"):
        inner = _row(f"<mo>(</mo>{inner}<mo>)</mo>")
    return f"<msup>{inner}{raised}</msup>"


def _call(node: Call) -> str:
    special: dict[str, Callable[[str], str]] = {
        "exp": lambda inner: f"<msup><mi>e</mi>{_row(inner)}</msup>",
        "sqrt": lambda inner: f"<msqrt>{inner}</msqrt>",
    }
    if node.function in special:
        return special[node.function](_write(node.arguments[0]))
    if node.function in _FENCES:
        left, right = _FENCES[node.function]
        return _row(f"<mo>{left}</mo>{_write(node.arguments[0])}<mo>{right}</mo>")
    return _row(f"<mi>{node.function}</mi>{_arguments(node)}")


def _arguments(node: Call) -> str:
    inner = "<mo>,</mo>".join(map(_write, node.arguments))
    return f"<mo>(</mo>{inner}<mo>)</mo>"
