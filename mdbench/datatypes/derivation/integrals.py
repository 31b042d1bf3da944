"""Antiderivatives, worked out once for all integrals that differ in names only.

Working one out takes SymPy 40 ms in the mean, and some take seconds.  Processes that make examples
side by side tell each other what they have found: `news` in one, `learn` in the others.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import sympy
from sympy.integrals import manualintegrate as rules

from mdbench.datatypes.derivation.naming import in_canonical_names, rename
from mdbench.datatypes.derivation.writing import is_readable, read, size, write

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["antiderivative", "learn", "news"]

MOST_NODES = 60
"""Larger integrands are left as they are."""
_KEPT, _TOLD = 50_000, 10_000
"""Integrals that are kept; then all are forgotten.  Of the news that nobody asks for the last."""
_known: dict[tuple[sympy.Expr, sympy.Symbol], sympy.Expr | None] = {}
_news: deque[tuple[sympy.Expr, sympy.Symbol]] = deque(maxlen=_TOLD)


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
    if (canonical, over) not in _known:
        _keep(canonical, over, _worked_out(canonical, over))
        _news.append((canonical, over))
    answer = _known[canonical, over]
    if answer is None:
        return None
    result = rename(answer, back)
    return result if is_readable(result) else None


def news() -> list[list[str | None]]:
    """Give what was worked out here since this was last asked, as `learn` takes it."""
    found: list[list[str | None]] = []
    while _news:
        integrand, variable = integral = _news.popleft()
        if is_readable(integrand) and integral in _known:
            answer = _known[integral]
            written = None if answer is None else write(answer)
            found.append([write(integrand), write(variable), written])
    return found


def learn(found: Iterable[Sequence[str | None]]) -> None:
    """Take what was worked out elsewhere, by the same version of SymPy.

    Parameters
    ----------
    found
        For each integral the integrand, the variable and the antiderivative, as
        `writing.write` writes them; None where there is no elementary one.

    Raises
    ------
    DataError
        If one of them cannot be read.
    """
    for integrand, variable, answer in found:
        _keep(read(str(integrand)), read(str(variable)), None if answer is None else read(answer))


def _keep(integrand: sympy.Expr, variable: sympy.Symbol, answer: sympy.Expr | None) -> None:
    if len(_known) >= _KEPT:
        _known.clear()
    _known[integrand, variable] = answer


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
