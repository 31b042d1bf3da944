"""Antiderivatives, worked out once for all integrals that differ in names only."""

from __future__ import annotations

from functools import lru_cache

import sympy
from sympy.integrals import manualintegrate as rules

from mdbench.derivations.naming import in_canonical_names, rename
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
    canonical, over, back = in_canonical_names(integrand, variable)
    answer = _worked_out(canonical, over)
    if answer is None:
        return None
    result = rename(answer, back)
    return result if is_readable(result) else None


@lru_cache(maxsize=50_000)
def _worked_out(integrand: sympy.Expr, variable: sympy.Symbol) -> sympy.Expr | None:
    try:
        answer = rules.manualintegrate(integrand, variable)
    except (
        ArithmeticError, AttributeError, NotImplementedError, RecursionError, TypeError, ValueError
    ):  # fmt: skip
        return None  # SymPy's rules raise these where they have come to an end
    finally:
        _forget()
    if not is_readable(answer) or answer.has(sympy.Integral):
        return None
    return answer


def _forget() -> None:
    """Forget the integrals that SymPy was at work on.

    It notes them in order not to go round in circles, and after an exception the notes would stay:
    the next integral that comes to one of them would be given up, in this process and in no other.
    """
    rules._integral_cache.clear()  # noqa: SLF001 - there is no other way
    rules._parts_u_cache.clear()  # noqa: SLF001 - likewise
