"""Fields whose arrays are given with the time first: refused where the data show it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mdbench.errors import DataError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from mdbench.data.field import Field

    Array = NDArray[np.float64]

_BAD, _GOOD = 0.02, 0.1
"""A reading that leaves more of the squared rates unexplained than the first share, where the other
reading leaves less than the second share of that, is the wrong one."""
_JUMP = 5.0
"""A step around a periodic axis so many times the largest other one is none."""


def refuse_turned(path: Path, field: Field) -> None:
    """Refuse a field of as many times as places that fits far better when it is turned.

    Raises
    ------
    DataError
        With the option that decides.
    """
    if len(field.grid) != 1 or len(field.t) != len(next(iter(field.grid.values()))):
        return
    (axis,) = field.grid
    other = np.swapaxes(field.u, 0, 1)
    as_read, turned = (_unexplained(u, axis in field.periods) for u in (field.u, other))
    jumps = axis in field.periods and _wraps(other) and not _wraps(field.u)
    if jumps or (as_read > _BAD and turned < _GOOD * as_read):
        raise DataError(
            f"{path}: u has as many places as times, and its first axis looks like time.  Read "
            f"as ({axis}, t), no equation of low order explains {as_read:.0%} of its rates; read "
            f"as (t, {axis}), {turned:.1%}.",
            f"Say which it is: --axes t,{axis} or --axes {axis},t",
        )


def _wraps(u: Array) -> bool:
    """Return whether values go on from the last place to the first as they do elsewhere."""
    steps = np.abs(np.diff(u, axis=0)).max()
    return bool(np.abs(u[0] - u[-1]).max() <= _JUMP * steps)


def _unexplained(u: Array, periodic: bool) -> float:
    """Return the share of squared rates that products of a few derivatives do not explain."""
    largest = 0.0
    for place in range(u.shape[-1]):
        rate = np.gradient(u[..., place], axis=1)
        columns = [np.ones_like(rate)]
        for state in range(u.shape[-1]):
            scaled = u[..., state] / (np.abs(u[..., state]).max() or 1.0)
            first = _slope(scaled, periodic)
            second = _slope(first, periodic)
            columns += [
                scaled,
                scaled**2,
                scaled**3,
                first,
                scaled * first,
                second,
                _slope(second, periodic),
            ]
        inner = slice(3, -3)
        table = np.stack([each[inner, inner].ravel() for each in columns], axis=1)
        size = np.linalg.norm(table, axis=0)
        table = table / np.where(size > 0, size, 1.0)
        target = rate[inner, inner].ravel()
        rest = target - table @ np.linalg.lstsq(table, target)[0]
        power = float(target @ target)
        largest = max(largest, float(rest @ rest) / power if power > 0 else 0.0)
    return largest


def _slope(u: Array, periodic: bool) -> Array:
    if periodic:
        return np.asarray((np.roll(u, -1, axis=0) - np.roll(u, 1, axis=0)) / 2)
    return np.asarray(np.gradient(u, axis=0))
