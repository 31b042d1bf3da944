"""Numbers from arrays, and what is chosen by them."""

from .regression import is_accurate, nmse, r2, r2_accuracy, relative_error
from .selection import best_by_complexity, fitness, select

__all__ = [
    "best_by_complexity",
    "fitness",
    "is_accurate",
    "nmse",
    "r2",
    "r2_accuracy",
    "relative_error",
    "select",
]
