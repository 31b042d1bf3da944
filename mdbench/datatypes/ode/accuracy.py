"""Whether the samples of a system are those of its equations, or those of the solver.

A trajectory is integrated once more with a relative tolerance a hundred times smaller, and an
absolute one that hardly counts.  Where the two differ
by more than `EXACT` of the states' deviations, the samples are the solver's.  In chaotic systems
that is a matter of time.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import numpy as np

from mdbench.data.trajectory import Trajectory
from mdbench.datatypes.ode.systems import integrate
from mdbench.errors import DataError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from mdbench.datatypes.ode.systems import OdeSystem

    Array = NDArray[np.float64]

CHECKED: Final = "checked.txt"
"""The file of digests in a folder of systems."""
EXACT = 0.01
"""The root of the mean squared error of the states at one time, each over its deviation."""
_REFUSED = 0.1
"""The same, above which data are not made: machines differ by less than this over `EXACT`."""
_TIGHTER, _SMALLEST = 100.0, 3e-14
"""How much smaller the relative tolerance is; and the smallest that LSODA takes."""
_LOWER = 1e8
"""How much smaller the absolute one is: a state that grows from next to nothing counts, too."""


def errors(system: OdeSystem, number: int, u: Array) -> Array:
    """Return how far samples are from a solution a hundred times more exact, (samples,).

    Parameters
    ----------
    number
        The number of the start, from 0.
    u
        The samples at the system's own times, (samples, dim).

    Returns
    -------
    errors
        The root of the mean squared error of the states, each over its deviation; infinite where
        the more exact solution does not come to the end.
    """
    solver = {
        "rtol": max(system.solver["rtol"] / _TIGHTER, _SMALLEST),
        "atol": system.solver["atol"] / _LOWER,
        "first_step": system.solver["first_step"] / _TIGHTER,
        "min_step": 0.0,
    }
    try:
        _, exact, _ = integrate(system, system.initial_conditions[number], **solver)
    except DataError:
        return np.full(len(u), np.inf)
    deviation = np.std(u, axis=0)
    off = (u - exact) / np.where(deviation > 0, deviation, 1.0)
    return np.asarray(np.sqrt(np.mean(off**2, axis=1)))


def exact_until(system: OdeSystem, number: int) -> float:
    """Return the last time up to which the samples from a start are those of the equations."""
    t, u, _ = integrate(system, system.initial_conditions[number])
    off = np.flatnonzero(errors(system, number, u) > EXACT)
    return float(t[off[0] - 1]) if len(off) else system.end


def digest(system: OdeSystem) -> str:
    """Return 16 hexadecimal digits of all that decides whether its samples are exact."""
    decisive = system.recipe, system.initial_conditions, system.exact_until
    return hashlib.sha256(repr(decisive).encode()).hexdigest()[:16]


def checked_trajectory(system: OdeSystem, number: int, folder: Path) -> Trajectory:
    """Make the trajectory from one of a system's own starts, and compare it with a more exact one.

    Parameters
    ----------
    folder
        Of the systems.  Its file of digests names those that were compared before; they are not
        compared again, as it takes longer than to make the data.

    Raises
    ------
    DataError
        If the samples are the solver's before the time that the system's file names.
    """
    t, u, du = integrate(system, system.initial_conditions[number])
    with suppress(OSError):
        if digest(system) in (folder / CHECKED).read_text(encoding="utf-8").split():
            return Trajectory(t, u, du)
    until = system.exact_until[number] if system.exact_until else system.end
    off = np.flatnonzero((errors(system, number, u) > _REFUSED) & (t <= until))
    if len(off):
        starts = range(len(system.initial_conditions))
        times = [float(f"{exact_until(system, start):.4g}") for start in starts]
        raise DataError(
            f"{system.name}: from start {number + 1} the solver's error reaches {_REFUSED:.0%} of "
            f"the states' deviations at t = {t[off[0]]:.4g}, before t = {until:g}",
            f"Write exact_until = {times} into its file, or a smaller end, or smaller tolerances.",
        )
    return Trajectory(t, u, du)
