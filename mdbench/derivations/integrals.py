"""Antiderivatives, worked out once for all integrals that differ in names only."""

from __future__ import annotations

from functools import lru_cache

import sympy
from sympy.integrals.manualintegrate import manualintegrate

from mdbench.derivations.naming import names, rename, shades
from mdbench.derivations.writing import is_readable, size

__all__ = ["antiderivative"]

MOST_NODES = 60
"""Larger integrands are left as they are."""


def antiderivative(integrand: sympy.Expr, variable: sympy.Symbol) -> sympy.Expr | None:
    """Give an antiderivative without a constant, or None where SymPy finds no elementary one.

    The same integral in other names has the same antiderivative in these names: names are
    replaced by canonical ones before SymPy sees them.  Its integration by rules is all that is
    asked: ``heurisch`` may never end, and what is cut off by a clock is another on another machine.

    Parameters
    ----------
    integrand
        The function.
    variable
        What it is integrated over.
    """
    if size(integrand) > MOST_NODES:
        return None
    found = shades([sympy.Integral(integrand, variable)])
    found[variable.name] = -1  # the first of all
    order = sorted(names([integrand, variable]), key=lambda name: (found.get(name, 0), name))
    canonical = {name: f"x{number}" for number, name in enumerate(order)}
    answer = _worked_out(rename(integrand, canonical), rename(variable, canonical))
    if answer is None:
        return None
    back = {new: old for old, new in canonical.items()}
    result = rename(answer, back)
    return result if is_readable(result) else None


@lru_cache(maxsize=50_000)
def _worked_out(integrand: sympy.Expr, variable: sympy.Symbol) -> sympy.Expr | None:
    try:
        answer = manualintegrate(integrand, variable)
    except (
        ArithmeticError, AttributeError, NotImplementedError, RecursionError, TypeError, ValueError
    ):  # fmt: skip
        return None  # SymPy's rules raise these where they have come to an end
    if not is_readable(answer) or answer.has(sympy.Integral):
        return None
    return answer
