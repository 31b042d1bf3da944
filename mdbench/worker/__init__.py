"""The only part of mdbench that enters a method's environment: standard library and NumPy."""

from typing import TYPE_CHECKING, Any

from .api import (
    Alternative,
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
from .budget import Budget

if TYPE_CHECKING:
    from .coordinates import Coordinates, FieldCoordinates, columns_of, sum_of
    from .noise import Noise

__all__ = [
    "Alternative",
    "Budget",
    "BudgetSpent",
    "Candidate",
    "Coordinates",
    "FieldCoordinates",
    "LanguageModel",
    "LanguageModelError",
    "Noise",
    "Problem",
    "Reply",
    "Unavailable",
    "Unsupported",
    "columns_of",
    "language_model",
    "paths",
    "sum_of",
]

_OF_COORDINATES = frozenset({"Coordinates", "FieldCoordinates", "columns_of", "sum_of"})


def __getattr__(name: str) -> Any:
    """Import what needs NumPy when it is first used: the benchmark imports this package, too."""
    if name in _OF_COORDINATES:
        from . import coordinates  # noqa: PLC0415 - see above

        return getattr(coordinates, name)
    if name == "Noise":
        from .noise import Noise  # noqa: PLC0415 - see above

        return Noise
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
