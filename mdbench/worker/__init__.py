"""The only part of mdbench that enters a method's environment: standard library and NumPy."""

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
from .budget import Budget
from .coordinates import Coordinates, FieldCoordinates, columns_of, sum_of

__all__ = [
    "Budget",
    "BudgetSpent",
    "Candidate",
    "Coordinates",
    "FieldCoordinates",
    "LanguageModel",
    "LanguageModelError",
    "Problem",
    "Reply",
    "Unavailable",
    "Unsupported",
    "columns_of",
    "language_model",
    "paths",
    "sum_of",
]
