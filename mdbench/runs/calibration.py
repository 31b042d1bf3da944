"""How fast a machine is: the same small work, done for half a second on one core.

The work is what methods and bench do in Python and NumPy without BLAS, whose threads and kernels
would make it a measurement of something else.
"""

from __future__ import annotations

import time
from typing import Final

import numpy as np

__all__ = ["SECONDS", "calibrate"]

SECONDS: Final = 0.5
"""How long it is done."""
_SIZE: Final = 20_000


def calibrate(seconds: float | None = None) -> float:
    """Do the work for some time, by default `SECONDS`; give how often it was done a second."""
    values = np.linspace(0.0, 1.0, _SIZE)
    begin = time.perf_counter()
    end = begin + (SECONDS if seconds is None else seconds)
    done = 0
    while done == 0 or time.perf_counter() < end:
        total = 0
        for number in range(_SIZE):
            total += number % 7
        np.sort(np.sin(values * (1.0 + total)))
        done += 1
    return done / (time.perf_counter() - begin)
