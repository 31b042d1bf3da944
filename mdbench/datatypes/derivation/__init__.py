"""Symbolic derivations: is this step right?  Public names: `mdbench.derivations`."""
