"""The only part of mdbench that enters a method's environment: standard library and NumPy."""

from .api import Candidate, Problem, Unavailable, Unsupported, paths
from .language_model import BudgetSpent, LanguageModel, LanguageModelError, Reply, language_model

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
