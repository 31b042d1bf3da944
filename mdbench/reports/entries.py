"""Results reduced to what is counted: one `Entry` for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, overload

from mdbench.records import Status

if TYPE_CHECKING:
    from mdbench.reports.results import Result

__all__ = ["ENDS", "HOLDS", "VERDICTS", "Case", "Entry", "entry"]

VERDICTS = ("identified", "one_term_off", "different", "undecided")
ENDS = ("whole", "blew_up", "stiff", "late")
"""How a simulation may end."""
HOLDS = 0.9
"""A trajectory with a larger R2 is followed: the score of ODEFormer."""


class Case(NamedTuple):
    """What is compared: a system at one noise level under one protocol; seeds are merged."""

    system: str
    snr_db: float | None
    protocol: str


class Entry(NamedTuple):
    """One result, reduced to what is counted; numbers are rounded to six digits.

    Attributes
    ----------
    holds, holds_unseen
        Whether the simulated trajectory follows the true one, from the first state of the test
        window and from the second initial condition; None where nothing was integrated.
    ended
        How the simulations ended, one of `ENDS`.
    accurate, solved, distance
        Of SRSD: whether R2 is above 0.999, whether the answer is a symbolic solution, and its
        normalized edit distance; None where nobody knows.
    """

    method: str
    case: Case
    dim: int | None
    status: Status
    nmse: float
    floor: float | None
    complexity: int | None
    judged: bool
    verdict: str | None
    f1: float | None
    holds: bool | None
    holds_unseen: bool | None
    ended: str | None
    residual: float | None
    accurate: bool | None
    solved: bool | None
    distance: float | None
    wall_s: float | None
    memory_mb: float | None

    @property
    def attempted(self) -> bool:
        """Whether it says something about the method."""
        return self.status not in {Status.INTERRUPTED, Status.UNAVAILABLE}

    @property
    def answered(self) -> bool:
        """Whether there is an answer."""
        return self.status in {Status.OK, Status.PARTIAL}


def entry(result: Result) -> Entry:
    """Reduce a result to what is counted."""
    fidelity = result.fidelity
    motion = result.motion
    return Entry(
        method=result.algorithm,
        case=Case(result.system, result.snr_db, result.protocol),
        dim=result.dim,
        status=result.status,
        nmse=_six_digits(result.nmse),
        floor=_six_digits(result.floor),
        complexity=result.complexity if result.answered else None,
        judged=fidelity is not None or (result.truth is not None and not result.answered),
        verdict=result.verdict,
        f1=_six_digits(fidelity.f1 if fidelity else None),
        holds=None if motion is None else _holds(motion.r2),
        holds_unseen=None if motion is None or motion.only_seen else _holds(motion.r2_unseen),
        ended=None if motion is None else motion.ended,
        residual=_six_digits(fidelity.residual if fidelity and result.answered else None),
        accurate=_truth(result.metrics.get("r2_accuracy")),
        solved=_truth(result.metrics.get("solution")),
        distance=_six_digits(result.metrics.get("normalized_edit_distance")),
        wall_s=_six_digits(result.measured.wall_s),
        memory_mb=_six_digits(result.measured.peak_memory_mb),
    )


def _truth(value: float | None) -> bool | None:
    return None if value is None else bool(value)


def _holds(r2: float | None) -> bool:
    return r2 is not None and r2 > HOLDS


@overload
def _six_digits(value: float) -> float: ...
@overload
def _six_digits(value: float | None) -> float | None: ...
def _six_digits(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.5e}")
