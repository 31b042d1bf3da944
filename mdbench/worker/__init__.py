"""The only part of mdbench that enters a method's environment: standard library and NumPy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .api import (
        BudgetSpent,
        Candidate,
        LanguageModel,
        LanguageModelError,
        Problem,
        Reply,
        Unavailable,
        Unsupported,
        language_model,
        paths,
    )

__all__ = [
    "BudgetSpent",
    "Candidate",
    "LanguageModel",
    "LanguageModelError",
    "Problem",
    "Reply",
    "Unavailable",
    "Unsupported",
    "language_model",
    "paths",
]


def __getattr__(name: str) -> Any:
    """Return what an adapter imports; the host needs other modules of this package only."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import api  # noqa: PLC0415 - see above

    return getattr(api, name)
