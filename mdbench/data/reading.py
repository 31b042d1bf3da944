"""How a table of samples is read, where the file itself leaves it open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Reading:
    """Options of reading a file, where the file itself leaves them open.

    Attributes
    ----------
    missing
        One of `MISSING`: cells without a value are refused, their lines are left out, or they are
        filled on the straight line between those before and after.
    inputs
        Labels of the columns that are given and not to be predicted.
    trajectory
        The label of the column that separates trajectories; empty where there is only one.
    time
        The label of the column of times; empty to find it.
    time_format
        The format of dates, as `time_reader` has it; empty to find it.
    states
        Labels of the columns that are states; none for all that have no other role.
    ignore
        Labels of columns that are left out.
    skip
        Lines before the header.
    step
        The step of rows that have no column of times, with its unit behind a blank; empty for none.
    na_values
        Texts and numbers that stand for no value; ``none`` where numbers that look so are values.
    time_zone
        The time zone of dates; empty where the clock was never put back.
    pivot
        The label of the column that names the quantities of a long table; empty for a wide one.
    repeats
        Whether the mean is taken of lines of one time, or they are refused.
    why
        Why the column of times is it, where it was made of others.
    """

    missing: Literal["refuse", "drop", "interpolate"] = "refuse"
    inputs: tuple[str, ...] = ()
    trajectory: str = ""
    time: str = ""
    time_format: str = ""
    states: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    skip: int = 0
    step: str = ""
    na_values: tuple[str, ...] = ()
    time_zone: str = ""
    pivot: str = ""
    repeats: Literal["refuse", "average"] = "refuse"
    why: str = ""
