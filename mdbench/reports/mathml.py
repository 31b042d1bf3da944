"""Equations as MathML, which browsers show without any script."""

from __future__ import annotations

import re
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING

from mdbench.errors import EquationError
from mdbench.expressions.grammar import check, read
from mdbench.expressions.setting import Alphabet, Setter
from mdbench.expressions.tree import CONSTANTS

if TYPE_CHECKING:
    from collections.abc import Callable

    from mdbench.expressions.setting import End

__all__ = ["LONGEST", "left_hand_side", "mathml", "shown_number"]

LONGEST = 600
"""Characters of an equation that is set as mathematics; a longer one is shown as text."""
DIGITS = 4
"""Significant digits of numbers."""

_NAMES = re.compile(r"(?<![\w.])([A-Za-z_]\w*)\s*(\(?)")
_PARTS = re.compile(r"([A-Za-z]+)(\d*)(?:_([a-z]+))?")
_E = '<mi mathvariant="normal">e</mi>'
"""Upright: a variable of that name is not."""


def mathml(text: str, *, derivatives: bool = True) -> str:
    """Write a right-hand side as MathML, its numbers rounded to four digits.

    Parameters
    ----------
    text
        The equation; every name in it that is not called and is no constant is a variable.
    derivatives
        Whether a name such as ``u0_xx`` is a derivative, and not only a name.

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
            setter = _WITH_DERIVATIVES if derivatives else _PLAIN
            inner = setter.markup(read(text, names))
        except EquationError:
            pass
        else:
            return f'<math alttext="{escape(text)}">{inner}</math>'
    return f"<code>{escape(text)}</code>"


def left_hand_side(target: str, d: str = "d") -> str:
    """Write what an equation is for: ``u0_t`` as a derivative by the letter `d`."""
    found = _PARTS.fullmatch(target)
    if found is None or not found[3]:
        return f"<math>{_name(target)[0]}</math>"
    below = "".join(f"<mi>{d}</mi><mi>{letter}</mi>" for letter in found[3])
    above = f"<mi>{d}</mi>{_name(found[1] + found[2])[0]}"
    return f"<math><mfrac><mrow>{above}</mrow><mrow>{below}</mrow></mfrac></math>"


def shown_number(value: float) -> str:
    """Write a number with four significant digits as MathML.

    Examples
    --------
    >>> shown_number(0.333333), shown_number(2.0)
    ('<mn>0.3333</mn>', '<mn>2</mn>')
    """
    return _PLAIN.markup_of(value)


def _name(name: str) -> tuple[str, End]:
    found = _PARTS.fullmatch(name)
    if found is None or found[3]:
        return f"<mi>{escape(name)}</mi>", "word"
    letters, number, _ = found.groups()
    written = f"<mi>{letters}</mi>"
    if number:
        written = f"<msub>{written}<mn>{number}</mn></msub>"
    return written, "name" if len(letters) == 1 else "word"


def _name_or_derivative(name: str) -> tuple[str, End]:
    found = _PARTS.fullmatch(name)
    if found is None or not found[3]:
        return _name(name)
    along = f"<msub><mo>∂</mo><mi>{found[3]}</mi></msub>"  # u0_xx
    return f"{along}{_name(found[1] + found[2])[0]}", "derivative"


def _row(written: str) -> str:
    return f"<mrow>{written}</mrow>"


def _fenced(left: str, right: str) -> Callable[[str], str]:
    ends = f'<mo form="prefix">{left}</mo>', f'<mo form="postfix">{right}</mo>'
    return lambda inner: f"{ends[0]}{inner}{ends[1]}"


_ALPHABET = Alphabet(
    sign='<mo form="prefix">−</mo>',  # with the space of a sign, not of a difference
    minus="<mo>−</mo>",
    plus="<mo>+</mo>",
    comma="<mo>,</mo>",
    times="<mo>&#x2062;</mo>",  # invisible
    thin='<mo rspace="0.17em">&#x2062;</mo>',
    dot="<mo>⋅</mo>",
    row=_row,
    brackets=_fenced("(", ")"),
    bars=_fenced("|", "|"),
    root=lambda inner: f"<msqrt>{inner}</msqrt>",
    fraction=lambda above, below: f"<mfrac>{_row(above)}{_row(below)}</mfrac>",
    power=lambda base, above: f"<msup>{base}{above}</msup>",
    digits=lambda text: f"{float(text):.{DIGITS}g}",
    number=lambda text: f"<mn>{text}</mn>",
    constants={"pi": "<mi>π</mi>", "E": _E},
    variable=_name,
    function=lambda name: f"<mi>{name}</mi>",
    exponential=lambda above: f"<msup>{_E}{above}</msup>",
)
_PLAIN = Setter(_ALPHABET)
_WITH_DERIVATIVES = Setter(replace(_ALPHABET, variable=_name_or_derivative))
