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

__all__ = [
    "Budget",
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
