"""Symbolic derivations, for those who use the generator without the benchmark's jobs.

The names are those of the data type ``derivation`` (docs/derivation.md).
"""

from mdbench.datatypes import derivation
from mdbench.datatypes.derivation import *  # noqa: F403 - the public name of that package

__all__ = list(derivation.__all__)
