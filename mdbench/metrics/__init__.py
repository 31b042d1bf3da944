"""Numbers from arrays, and what is chosen by them."""

from .regression import nmse
from .selection import best_by_complexity, fitness, select

__all__ = ["best_by_complexity", "fitness", "nmse", "select"]
