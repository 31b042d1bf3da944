"""The command line: the only part of mdbench that prints."""

from mdbench.cli.main import main

__all__ = ["main"]
