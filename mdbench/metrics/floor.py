"""Test cases on which no method can be told from another: one rule for all reports.

On noisy test inputs, and where the derivatives of the test window vanish, the true equations
themselves score badly.  Their NMSE is the *floor* of a case.  The answer zero scores an NMSE of
1 everywhere; where the floor is 1 or more, zero is as good as the truth, and a lower NMSE says
nothing about a method.  Such cases do not rank methods by NMSE.  ``docs/fidelity.md`` says how
many they are.
"""

from __future__ import annotations

__all__ = ["FLOOR_LIMIT", "above_floor", "ranks"]

FLOOR_LIMIT = 1.0
"""The NMSE of the answer zero."""


def ranks(nmse_floor: float | None) -> bool:
    """Tell whether the NMSE of a case may rank methods.

    Parameters
    ----------
    nmse_floor
        The NMSE of the true equations through the bench's own features, infinite where they have
        no value; None where nobody knows it, which is no reason to leave a case out.

    Examples
    --------
    >>> ranks(0.02), ranks(1.7), ranks(float("inf")), ranks(None)
    (True, False, False, True)
    """
    return nmse_floor is None or nmse_floor < FLOOR_LIMIT


def above_floor(nmse: float | None, nmse_floor: float | None) -> float | None:
    """Give how many times the floor an NMSE is; None where there is no floor or no NMSE.

    About 1 is as good as the truth; below 1, the noise happened to help.

    Examples
    --------
    >>> above_floor(0.5, 0.25), above_floor(0.3, 0.0), above_floor(None, 0.1)
    (2.0, None, None)
    """
    if nmse is None or not nmse_floor:
        return None
    return nmse / nmse_floor
