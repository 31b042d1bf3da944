"""What a method that asks a language model is told beside its data, and what its front tells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mdbench.datatypes.base import ScoredCandidate
    from mdbench.language_models.views import PromptView

__all__ = ["Briefing", "curve"]

_CALLS = "calls"
"""The hyperparameter by which a candidate says after how many calls it was found."""


@dataclass(frozen=True)
class Briefing:
    """What a method that asks a language model is told beyond the data.

    Attributes
    ----------
    socket
        The name of the socket in the job's folder.
    view
        How the problem is told; None as it is.
    """

    socket: str | None = None
    view: PromptView | None = None


def curve(offers: Iterable[ScoredCandidate]) -> tuple[tuple[int, float], ...] | None:
    """Say after how many calls of a language model the best loss was better than before.

    None where no candidate says after how many it was found.
    """
    said = []
    for offer in offers:
        calls = offer.candidate.hyperparameters.get(_CALLS)
        if isinstance(calls, int) and calls >= 0 and offer.candidate.target is None:
            said.append((calls, offer.loss))
    found: list[tuple[int, float]] = []
    for calls, loss in sorted(said):
        if not found or loss < found[-1][1]:
            if found and found[-1][0] == calls:
                found.pop()
            found.append((calls, loss))
    return tuple(found) or None
