"""Fractions of sums in two writings of their own; asked of a child process, see `child`.

One fraction over one bar, and partial fractions: what SymPy makes of them does not depend on
how the fractions were written, as long as their numbers are exact.
"""

from __future__ import annotations

from functools import lru_cache

from mdbench.children import Child
from mdbench.expressions.counter import MAX_BYTES

__all__ = ["rewritten"]

MAX_SECONDS = 20
"""CPU time for one equation; the kernel counts in whole seconds, and may give one more."""


@lru_cache(maxsize=4_096)
def rewritten(text: str, variables: tuple[str, ...]) -> tuple[tuple[str, ...] | None, float]:
    """Write the fractions of an equation anew, as one fraction, and as partial fractions.

    Returns
    -------
    tuple of str or None
        Those of the two that there are; None if it took too long.
    float
        The CPU time that it took, in s.
    """
    found = _child.ask({"ask": "fractions", "text": text, "variables": variables})
    return None if "error" in found else tuple(found["texts"]), found["cpu_s"]


_child = Child("mdbench.expressions.sympy_worker", MAX_SECONDS, MAX_BYTES)
