"""Fractions of sums in two writings of their own; asked of a child process, see `child`.

One fraction over one bar, and partial fractions: what SymPy makes of them does not depend on
how the fractions were written, as long as their numbers are exact.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from .child import Child
from .grammar import read

__all__ = ["answer", "rewritten"]

MAX_SECONDS = 1
"""CPU time for one equation; the kernel counts in whole seconds, and may give one more."""
_LONGEST = 10**12
"""Numerators and denominators above this are printed as decimals."""


@lru_cache(maxsize=4_096)
def rewritten(text: str, variables: tuple[str, ...]) -> tuple[str, ...] | None:
    """Write the fractions of an equation anew, as one fraction, and as partial fractions.

    Returns
    -------
    tuple of str or None
        Those of the two that there are; None if it took too long.
    """
    found = _child.ask({"text": text, "variables": variables})
    return None if "error" in found else tuple(found["texts"])


def answer(question: dict[str, Any]) -> dict[str, Any]:
    """Rewrite ``text`` with its ``variables``: the child's side."""
    import sympy  # noqa: PLC0415 - the parent does without

    from .symbolic import to_sympy  # noqa: PLC0415 - as above

    # Real symbols would let SymPy do more than is true of what the bench evaluates.
    symbols = {name: sympy.Symbol(name) for name in question["variables"]}
    expression = to_sympy(read(question["text"], symbols), symbols, exact=True)
    one = sympy.cancel(sympy.together(expression))
    texts = [_printed(one, sympy)]
    parts = one
    for symbol in sorted(one.free_symbols, key=str):
        try:
            parts = sympy.Add(*(sympy.apart(term, symbol) for term in sympy.Add.make_args(parts)))
        except (sympy.PolynomialError, NotImplementedError):
            break
    if parts != one:
        texts.append(_printed(parts, sympy))
    return {"texts": texts}


def _printed(expression: Any, sympy: Any) -> str:
    """Write an expression in our grammar; numbers of many digits become decimals."""
    long = {
        number: sympy.Float(number, 25)
        for number in expression.atoms(sympy.Rational)
        if max(abs(number.p), number.q) > _LONGEST
    }
    return str(expression.xreplace(long))


_child = Child(__name__, MAX_SECONDS)
