"""Numbers from arrays, and what is chosen by them."""

from mdbench.metrics.regression import is_accurate, nmse, r2, r2_accuracy, relative_error
from mdbench.metrics.selection import best_by_complexity, fitness, select

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
