"""Test cases on which no method can be told from another: one rule for everything that ranks.

The *floor* of a case is what the true equations themselves score there by the primary metric,
through the features that the bench itself makes.  An answer that says nothing has a score, too
(`MetricSpec.nothing`: zero has an NMSE of 1).  Where the truth scores no better than that, a
better score says nothing of a method, and the case ranks nobody.  The data alone decide it, never
what some method achieved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mdbench.metrics.spec import MetricSpec

__all__ = ["HIGH", "RESTS", "above_floor", "is_high", "raised", "ranks"]

HIGH = 0.1
"""A floor above this share of what an empty answer scores is marked in tables."""

RESTS = "rest"
"""The note of an answer whose test is at a time when nothing changes any more."""


def ranks(floor: float | None, primary: MetricSpec) -> bool:
    """Tell whether a case may rank methods.

    Parameters
    ----------
    floor
        The score of the truth, infinite where it has none; None where nobody knows it, which is
        no reason to leave a case out.
    primary
        The metric that is ranked by.

    Examples
    --------
    >>> from mdbench.metrics.spec import MetricSpec
    >>> nmse = MetricSpec(name="nmse", title="NMSE", explanation="error", nothing=1.0)
    >>> [ranks(floor, nmse) for floor in (0.02, 1.7, float("inf"), None)]
    [True, False, False, True]
    """
    if floor is None or primary.nothing is None:
        return True
    return primary.loss(floor) < primary.loss(primary.nothing)


def is_high(floor: float | None, primary: MetricSpec) -> bool:
    """Tell whether the truth scores so badly that scores say little: a tenth of what nothing has.

    Examples
    --------
    >>> from mdbench.metrics.spec import MetricSpec
    >>> nmse = MetricSpec(name="nmse", title="NMSE", explanation="error", nothing=1.0)
    >>> [is_high(floor, nmse) for floor in (None, 0.02, 0.2)]
    [False, False, True]
    """
    if floor is None or primary.nothing is None or primary.better != "lower":
        return False
    return floor > HIGH * primary.nothing


def raised(value: float, floor: float | None, primary: MetricSpec) -> float:
    """Give what a score counts as: better than the truth is luck, and counts as the truth.

    Examples
    --------
    >>> from mdbench.metrics.spec import MetricSpec
    >>> nmse = MetricSpec(name="nmse", title="NMSE", explanation="error", resolution=1e-12)
    >>> raised(0.1, 0.2, nmse), raised(1e-30, None, nmse)
    (0.2, 1e-12)
    >>> accuracy = MetricSpec(name="accuracy", title="accuracy", explanation="", better="higher")
    >>> raised(0.9, 0.8, accuracy)
    0.8
    """
    if floor is not None and primary.loss(value) < primary.loss(floor):
        value = floor
    return max(value, primary.resolution) if primary.better == "lower" else value


def above_floor(value: float | None, floor: float | None, primary: MetricSpec) -> float | None:
    """Give how many times the floor an error is; None where there is no error, or no floor.

    About 1 is as good as the truth; below 1, the noise happened to help.  A floor that is rounding
    is none.

    Examples
    --------
    >>> from mdbench.metrics.spec import MetricSpec
    >>> nmse = MetricSpec(name="nmse", title="NMSE", explanation="error", resolution=1e-12)
    >>> above_floor(0.5, 0.25, nmse), above_floor(0.3, 1e-30, nmse), above_floor(None, 0.1, nmse)
    (2.0, None, None)
    """
    if value is None or floor is None or floor <= primary.resolution:
        return None
    return value / floor
