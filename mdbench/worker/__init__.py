"""The only part of mdbench that enters a method's environment: standard library and NumPy."""

from .api import Candidate, Problem, Unavailable, Unsupported

__all__ = ["Candidate", "Problem", "Unavailable", "Unsupported"]
