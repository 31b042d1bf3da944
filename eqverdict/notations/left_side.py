"""Left-hand sides: the name or the derivative that an equation is for."""

from __future__ import annotations

import re
import unicodedata

from eqverdict.errors import EquationError
from eqverdict.grammar import quoted
from eqverdict.notations.typography import GREEK, LETTER

_OF_TIME = r"(?:\s*\(\s*[\w\s,]*\)|\{\\left\(\s*[\w\s,]*\\right\)\})?"
_NAME_LEFT = rf"\(?\s*{LETTER}\s*\)?(?:\^?\\prime|')*{_OF_TIME}(?:')*"
_D = r"(?:\\mathrm\{d\}|\\partial|∂|d|D)\s*"
_LEFT = re.compile(
    rf"\s*(?:{_NAME_LEFT}"
    rf"|{_D}{LETTER}{_OF_TIME}\s*/\s*{_D}[A-Za-z]"
    rf"|\(?{_D}/\s*{_D}[A-Za-z]\)?\s*\*?\s*{LETTER}{_OF_TIME}"
    rf"|\\d?frac\{{\s*{_D}\{{?{LETTER}\}}?{_OF_TIME}\s*\}}\{{\s*{_D}[A-Za-z]\s*\}}"
    rf"|\\d?frac\{{\s*{_D}\}}\{{\s*{_D}[A-Za-z]\s*\}}\s*{LETTER}{_OF_TIME}"
    rf"|\\dot\{{?\s*{LETTER}\s*\}}?{_OF_TIME}(?:_\{{?\w+\}}?)?"
    rf"|\\(?:hat|mathrm|mathit)\{{\s*{LETTER}\s*\}}"
    rf"|\\(?:{'|'.join(GREEK)})(?:_\{{?\w+\}}?)?"
    rf"|{LETTER}\u0307(?:_\{{\w+\}})?"
    rf"|Derivative\(\s*{LETTER}{_OF_TIME}\s*,\s*[A-Za-z]\s*\)"
    r")\s*&?\s*$"
)
_LONGEST_LEFT = 200
"""Characters of a left-hand side."""
_EQUALS = re.compile(r"(?<![=<>!])=(?!=)")


def without_left_side(text: str) -> str:
    """Return the right-hand side of an equation with the name or derivative on its left."""
    text = text.strip()
    for mark in ("$$", "$"):
        if len(text) > 2 * len(mark) and text.startswith(mark) and text.endswith(mark):
            text = text[len(mark) : -len(mark)]
    if text.startswith("\\[") and text.endswith("\\]"):
        text = text[2:-2]
    if "\\begin" in text:
        head, begin, rest = text.partition("\\begin")
        sides = [*_EQUALS.split(head), begin + rest]
        sides = [*sides[:-2], sides[-2] + sides[-1]]
    else:
        sides = _EQUALS.split(text)
    if len(sides) == 1:
        return text
    if len(sides) > 2:  # noqa: PLR2004
        raise EquationError(
            f"there are {len(sides) - 1} equals signs in {quoted(text)}", "Give one equation."
        )
    left = unicodedata.normalize("NFD", sides[0])
    if len(left) > _LONGEST_LEFT or not _LEFT.match(left):
        raise EquationError(
            f"the left-hand side {quoted(sides[0].strip())} is not one name or its derivative",
            "Solve for one name: y = ..., x' = ..., dx/dt = ....  Maps are not read.",
        )
    return sides[1]
