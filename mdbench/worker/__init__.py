"""The only part of mdbench that enters a method's environment: standard library and NumPy."""

from .api import Candidate, Problem, Unavailable, Unsupported, paths

__all__ = ["Candidate", "Problem", "Unavailable", "Unsupported", "paths"]
