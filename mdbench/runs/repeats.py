"""How well two records of one job agree, by the rules of docs/reproducibility.md."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from mdbench.errors import EquationError
from mdbench.expressions.fidelity.compare import compare
from mdbench.expressions.tree import ALIASES, CONSTANTS, FUNCTIONS
from mdbench.records import comparable
from mdbench.runs.reproduce import RESULT

if TYPE_CHECKING:
    from mdbench.records import Record

__all__ = [
    "TOLERANCE",
    "TOLERANCE_OF_DATA",
    "Repeat",
    "Sameness",
    "largest_difference",
    "repeated",
]

TOLERANCE = 1e-6
"""How far coefficients may be apart, relatively, where kernels differ and the data are equal."""
TOLERANCE_OF_DATA = 1e-3
"""The same where the data were made by other kernels, too: trajectories of chaotic systems drift
apart, and with them what is fitted.  docs/reproducibility.md has what was measured: both are well
above it, but for the three systems that drift the farthest."""

_NAME = re.compile(r"[A-Za-z_]\w*")
_NO_VARIABLES = frozenset({*FUNCTIONS, *ALIASES, *CONSTANTS})


class Sameness(StrEnum):
    """What two results are to each other."""

    SAME = "the same result"
    """To the bit."""
    NEARLY = "the same result but for rounding"
    """Kernels differ; the terms are the same, and coefficients agree within the tolerance."""
    CHAOTIC = "another result of a chaotic search"
    """Kernels differ, and the method is one whose whole answer hangs on the last digits."""
    OTHER = "another result"


@dataclass(frozen=True)
class Repeat:
    """Two records of one job beside each other.

    Attributes
    ----------
    sameness
        What their results are to each other.
    data
        Whether both were made from the same data, to the bit.
    difference
        The largest relative difference of two coefficients, where the terms are the same.
    kernels
        With which kernel each was made, older first, where they differ; else None.
    """

    sameness: Sameness
    data: bool
    difference: float | None = None
    kernels: tuple[str, str] | None = None


def repeated(before: Record, after: Record, *, chaotic: bool) -> Repeat:
    """Put two records of one job beside each other.

    Parameters
    ----------
    before, after
        The records.
    chaotic
        Whether a difference in the last digit may change all that the method does.
    """
    kernels = None if _kernel(before) == _kernel(after) else (_name(before), _name(after))
    data = before.key_parts.get("dataset") == after.key_parts.get("dataset")
    old, new = (
        {name: value for name, value in comparable(record).items() if name in RESULT}
        for record in (before, after)
    )
    if old == new:
        return Repeat(Sameness.SAME, data, 0.0, kernels)
    if kernels is None:
        return Repeat(Sameness.OTHER, data)
    difference = None
    if (before.status, before.truth, before.targets) == (after.status, after.truth, after.targets):
        difference = largest_difference(before.equations, after.equations)
    if difference is not None and difference <= (TOLERANCE if data else TOLERANCE_OF_DATA):
        return Repeat(Sameness.NEARLY, data, difference, kernels)
    return Repeat(Sameness.CHAOTIC if chaotic else Sameness.OTHER, data, difference, kernels)


def largest_difference(one: tuple[str, ...] | None, other: tuple[str, ...] | None) -> float | None:
    """Give the largest relative difference of a coefficient; None where the terms differ.

    Examples
    --------
    >>> largest_difference(("2*u0 + u1", "-u0"), ("u1 + 2.5*u0", "-u0"))
    0.25
    >>> largest_difference(("2*u0",), ("2*u0 + u1",)) is None
    True
    """
    if one is None or other is None or len(one) != len(other):
        return None
    names = sorted(set(_NAME.findall(" ".join([*one, *other]))) - _NO_VARIABLES)
    try:
        found = compare(one, other, names)
    except EquationError:
        return None
    whole = found.precision == found.recall == 1.0 and found.edit_distance is not None
    return (found.coefficient_error or 0.0) if whole else None


def _kernel(record: Record) -> tuple[object, ...]:
    measured = record.measured
    if measured.blas_kernel is None:
        # Nobody knows; on the same processor it most likely was the same.
        return (record.provenance.machine.cpu,)
    return measured.blas_kernel, measured.blas_threads


def _name(record: Record) -> str:
    measured = record.measured
    if measured.blas_kernel is None:
        return f"an unknown kernel on {record.provenance.machine.cpu}"
    plural = "" if measured.blas_threads == 1 else "s"
    return f"{measured.blas_kernel}, {measured.blas_threads} thread{plural}"
