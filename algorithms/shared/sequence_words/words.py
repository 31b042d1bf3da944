"""Sequences of derivations as words, and their labels."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mdbench.worker import Problem

__all__ = ["SEPARATOR", "TOKEN", "labels_of"]

TOKEN = re.compile(r"\\[A-Za-z]+|[A-Za-z_]+|\d+|[^\sA-Za-z\d]")
"""A command, a name, a number, or a sign."""
SEPARATOR = " [SEP] "
"""Between what is known, the operation and the candidate."""


def labels_of(problem: Problem) -> NDArray[np.float64]:
    """Return the labels, (n,).

    Raises
    ------
    ValueError
        If they are not 0 and 1.
    """
    if not np.isin(problem.Y, (0.0, 1.0)).all():
        raise ValueError("the labels are not 0 and 1")
    return problem.Y[:, 0]
