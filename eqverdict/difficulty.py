"""How hard a law is by SRSD's rule: its operations, and how far its variables range.

Matsubara et al., "Rethinking symbolic regression datasets and benchmarks for scientific discovery",
eq. 1 and the code of the released generator, which has no ceiling and has the limits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eqverdict import srbench
from eqverdict.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

LIMITS = {"easy": (5, 4.0), "medium": (8, 20.0)}
"""The sets, easiest first: a law is in the first whose two limits it is below.

The limits are for its number of operations and for the range of its variables.
"""
HARD = "hard"
"""The set of all other laws."""


@dataclass(frozen=True)
class Difficulty:
    """The difficulty of a law with the ranges of its variables.

    Attributes
    ----------
    operations
        SymPy's count of the operations in the law with its constants put in.
    domain_range
        The size of log10 of the difference between the largest and the smallest bound of all
        variables.
    ceiling
        The domain range as eq. 1 has it: log10 is rounded up before its absolute value is taken.
    set
        ``easy``, ``medium`` or ``hard``.
    """

    operations: int
    domain_range: float
    ceiling: int
    set: str


def difficulty(
    law: str, bounds: Mapping[str, tuple[float, float]], *, seconds: int = srbench.MAX_SECONDS
) -> Difficulty:
    """Return how hard a law is.

    Parameters
    ----------
    law
        The right-hand side.
    bounds
        The smallest and the largest value of each variable, without signs that are drawn.
    seconds
        CPU time that SymPy may take.

    Raises
    ------
    UsageError
        If there is no variable, or bounds that are no range.
    EquationError
        If the law cannot be read.

    Examples
    --------
    >>> found = difficulty("x0*x1", {"x0": (0.01, 1.0), "x1": (0.01, 1.0)})
    >>> found.operations, round(found.domain_range, 6), found.ceiling, found.set
    (1, 0.004365, 0, 'easy')
    """
    for name, (low, high) in bounds.items():
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise UsageError(
                f"{name} ranges from {low:g} to {high:g}.", "The first is below the second."
            )
    if not bounds:
        raise UsageError("No variable has a range.", "Give one: --ranges x0=1:5,x1=0.1:10")
    least, most = min(low for low, _ in bounds.values()), max(high for _, high in bounds.values())
    size = math.log10(most - least)
    operations = srbench.operations(law, bounds, seconds=seconds)
    sets = (name for name, (c, r) in LIMITS.items() if operations < c and abs(size) < r)
    return Difficulty(operations, abs(size), math.ceil(size), next(sets, HARD))


def read_ranges(text: str) -> dict[str, tuple[float, float]]:
    """Read ``x0=1:5,x1=0.1:10``.

    Raises
    ------
    UsageError
        If a part is no range.
    """
    ranges: dict[str, tuple[float, float]] = {}
    for part in filter(str.strip, text.split(",")):
        name, _, rest = part.partition("=")
        low, _, high = rest.partition(":")
        try:
            ranges[name.strip()] = float(low), float(high)
        except ValueError:
            raise UsageError(
                f"--ranges has {part!r}.", "Give each variable's: --ranges x0=1:5,x1=0.1:10"
            ) from None
    return ranges
