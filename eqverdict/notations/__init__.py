"""Equations as packages print them and people write them, in the notation of `grammar`.

``grammar.read`` knows one notation.  This module knows others, and reads them only where their
meaning is certain:

=============================================  =============================================
functions of other languages                   ``log10(x)``, ``inv(x)``, ``pow(x, 2)``,
                                               ``Max(a, b, c)``, ``np.sin(x)``, ``Sin[x]``
prefix notation                                ``add(mul(X0, X1), sin(X2))``
a product without a sign                       ``2x``, ``2.0 x0^2 x1``, ``(x + 1)(x - 1)``
signs of other languages and of typography     ``.^``, ``×``, ``·``, ``−``, ``²``, ``x₀``, ``π``
sizes                                          ``|x|``
comparisons, ``Piecewise``, ``cond``           where every branch has a value everywhere
a left-hand side                               ``y = ...``, ``x0' = ...``, ``dx/dt = ...``
LaTeX                                          `notations.latex`
=============================================  =============================================

What could mean two things is refused, with both: ``1/2x``, ``sin^-1(x)``, ``log(x, 2)``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from eqverdict.errors import EquationError
from eqverdict.grammar import MAX_LENGTH, check, quoted, read
from eqverdict.notations.latex import from_latex
from eqverdict.notations.left_side import without_left_side
from eqverdict.notations.reader import NotationReader
from eqverdict.notations.typography import in_ascii
from eqverdict.printers import PlainPrinter, names_in

if TYPE_CHECKING:
    from collections.abc import Collection


def in_core_notation(text: str, variables: Collection[str] | None = None) -> str:
    r"""Return a right-hand side in the notation that `grammar.read` knows.

    Parameters
    ----------
    text
        The right-hand side, or an equation with a name on its left.
    variables
        The names it may use; None if any name is one.

    Returns
    -------
    str
        The text itself if it is in that notation; else the same in that notation.

    Raises
    ------
    EquationError
        If it cannot be read, or could mean two things.

    Examples
    --------
    >>> in_core_notation("2.0 x0^2 x1 - log10(x1)", ["x0", "x1"])
    '2.0*x0**2*x1 - log(x1)/log(10)'
    >>> in_core_notation(r"\frac{x_{0}}{2} + e^{x_{1}}")
    'x0/2 + exp(x1)'
    >>> in_core_notation("1/2x", ["x"])
    Traceback (most recent call last):
    ...
    eqverdict.errors.AmbiguousError: '1/2x' can be read in two ways, as (1/2)*x and 1/(2*x) are
      Write the product with *, and brackets around what is divided by.
    """
    try:
        check(text)
        names = names_in(text) if variables is None else variables
        read(text, {*names} - {"e"} if variables is None and _EULER.search(text) else names)
    except EquationError:
        given: object = text  # of a caller without types
        if not isinstance(given, str) or len(given) > MAX_LENGTH:
            raise
    else:
        return text
    plain = without_left_side(in_ascii(text))
    check(plain)
    latex = "\\" in text or "{" in text
    try:
        tree = NotationReader(from_latex(plain, variables) if latex else plain, variables).read()
        return PlainPrinter().print(tree)
    except RecursionError:
        raise EquationError(
            f"the equation is nested too deep: {quoted(text)}", "Write fewer brackets."
        ) from None
    except EquationError as error:
        comma = _DECIMAL_COMMA.search(text)
        if comma and re.search(r"found ',\d|is given", error.message):
            point = comma[0].replace(",", ".")
            hint = f"Numbers have a decimal point: {point}, not {comma[0]}."
            raise type(error)(error.message, hint) from None
        raise


_DECIMAL_COMMA = re.compile(r"(?<![\w.,])\d+,\d+(?![\d.,])")
_EULER = re.compile(r"(?<![\w.])e\s*(?:\*\*|\^)")
