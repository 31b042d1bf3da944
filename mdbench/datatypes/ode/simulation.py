"""Integrates discovered systems, which may do anything, in a process that can be killed.

An answer may blow up, become so stiff that the solver stands still, or keep it busy for ever.
The work is done by `integrating` in a child process with a limit on CPU time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from mdbench.limited_process import LimitedProcess

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

MAX_SECONDS = 1
"""CPU time for one trajectory; the kernel counts in whole seconds, and may give one more."""
MAX_BYTES = 2 << 30
"""Memory for one trajectory."""
MAX_EVALUATIONS = 20_000
"""Evaluations of the right-hand sides, after which a system counts as stiff; usual ones take a
few hundred."""
BLOWN_UP = 1e6
"""A state of this many times the largest true one has blown up."""


class Ending(StrEnum):
    """How a simulation ended."""

    WHOLE = "whole"
    """It came to the last time."""
    BLEW_UP = "blew_up"
    """A state or a derivative became undefined, infinite or as good as that."""
    STIFF = "stiff"
    """The solver gave up: its steps became too small, or too many."""
    LATE = "late"
    """It was killed for taking too long."""


@dataclass(frozen=True)
class Simulated:
    """What became of an answer that was integrated.

    Attributes
    ----------
    r2
        Of the trajectory; None where there is no whole one.
    states
        The states as far as it came, shape ``(m, d)`` with m at most the number of times.
    evaluations
        How often the right-hand sides were evaluated.
    """

    r2: float | None
    ended: Ending
    states: Array = field(default_factory=lambda: np.empty((0, 0)), repr=False, compare=False)
    evaluations: int = 0


def simulate(
    equations: Sequence[str],
    t: Array,
    true: Array,
    evaluations: int = MAX_EVALUATIONS,
    *,
    inputs: Array | None = None,
) -> Simulated:
    """Integrate a system from the first true state, and compare the trajectories.

    The solver and its tolerances are those that the data are made with.

    Parameters
    ----------
    equations
        The right-hand side of each state in ``u0``, ``u1``, ...; they have been read before.
    t
        Increasing times, (n,).
    true
        The true states at these times, (n, len(equations)).
    evaluations
        How often the right-hand sides may be evaluated.
    inputs
        The values at these times of ``v0``, ``v1``, ..., (n, k), where the right-hand sides have
        such; in between they change evenly.
    """
    question = {
        "equations": list(equations),
        "t": t.tolist(),
        "start": true[0].tolist(),
        "limit": BLOWN_UP * (1.0 + float(np.max(np.abs(true)))),
        "evaluations": evaluations,
        "inputs": None if inputs is None else inputs.T.tolist(),
    }
    found = _child.ask(question)
    if "error" in found:
        return Simulated(None, Ending.LATE)
    ended, states = Ending(found["ended"]), np.array(found["u"])
    r2 = trajectory_r2(states, true) if ended is Ending.WHOLE else None
    return Simulated(r2, ended, states, found["evaluations"])


def warm() -> None:
    """Let the child load its solver meanwhile, which takes it a second."""
    _child.start()


def trajectory_r2(predicted: Array, true: Array) -> float | None:
    r"""Return the R2 of a trajectory, its states weighted by their variances.

    .. math:: 1 - \frac{\sum_i \sum_t (u_i - \hat u_i)^2}{\sum_i \sum_t (u_i - \bar u_i)^2}

    Parameters
    ----------
    predicted, true
        States, (n, d).

    Returns
    -------
    float or None
        At most 1.  Where the true states do not change, 1 for the same and else 0; None where
        a sum of squares is too large.

    References
    ----------
    d'Ascoli et al., "ODEFormer: symbolic regression of dynamical systems with transformers",
    ICLR 2024: the score behind its share of trajectories above 0.9.

    Examples
    --------
    >>> true = np.array([[0.0, 5.0], [1.0, 5.0], [2.0, 5.0]])
    >>> trajectory_r2(true + [0.0, 0.5], true)
    0.625
    """
    with np.errstate(all="ignore"):
        unexplained = float(np.sum(np.square(true - predicted)))
        variance = float(np.sum(np.square(true - np.mean(true, axis=0))))
        if variance == 0.0:
            return 1.0 if unexplained == 0.0 else 0.0
        r2 = 1.0 - unexplained / variance
    return r2 if math.isfinite(r2) else None


_child = LimitedProcess(f"{__package__}.integrator", MAX_SECONDS, MAX_BYTES)
