"""What an adapter is given and what it gives back.

This is all of mdbench that a method ever sees.  Inside a method's environment it is
importable as ``mdbench.worker``, and nothing else of mdbench is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

paths: dict[str, Path] = {}
"""Folders and files of the user's, to be read only, by the names that ``method.toml`` lists.

They are there before the adapter is imported; a name that the user has set nothing for is missing.
"""


class Unavailable(Exception):  # noqa: N818 - it is an answer, not an error
    """Raised by an adapter that lacks what no lock brings, such as a program or weights.

    Its text is shown to the user: what is missing, and what to do.  It may be raised at import, by
    the constructor and by ``fit`` before the first candidate.
    """


class Unsupported(Exception):  # noqa: N818 - it is an answer, not an error
    """Raised by an adapter that cannot do this problem; its text is shown to the user."""


@dataclass(frozen=True)
class Problem:
    """The data of one problem, in the view that the method asked for.

    Attributes
    ----------
    view
        ``table``, ``trajectory`` or ``field``, or what else a data type has.
    variables
        The names that an equation may use, in the order of the columns of `X` or `u`.
    targets
        The names of the left-hand sides, in the order of the columns of `Y` or `du`.
    arrays
        The view's arrays by name, float64 or texts:

        - ``table``: ``X`` (n, len(variables)), ``Y`` (n, len(targets));
        - ``trajectory``: ``t`` (n,), ``u`` (n, d), ``du`` (n, d), ``measured`` (n, d), the states
          before they were smoothed;
        - ``field``: ``t`` (n,), one 1-D array an axis (``x``, ``y``, ``z``),
          ``u`` (n_x[, n_y[, n_z]], n, d), ``du`` (n_x[, n_y[, n_z]], n, len(targets)), and
          ``periods``, the length of each periodic axis and 0 for others; without ``periods``
          derivatives are plain second-order differences.

        They can be read as attributes too: ``problem.X``.  Where a method is to predict,
        ``Y`` or ``du`` is missing.
    time_limit
        Seconds that are left for the fit, or None.  Advice: mdbench enforces it itself.
    truth
        The true right-hand sides, for a reference whose ``method.toml`` has
        ``given = ["truth"]``; None for all others, and where nobody knows them.
    units
        Of each variable and target, by name: the exponents of m, kg, s, A, K, mol and cd, for a
        method whose ``method.toml`` has ``given = ["units"]``; None for all others, and where
        nobody says them.  Columns come in units of any size: these are their dimensions.
    description
        What a prompt may say of the problem beyond its data, for a method that asks a language
        model (``[access] llm``), as mdbench has chosen for all methods alike; else None.
    """

    view: str
    variables: tuple[str, ...]
    targets: tuple[str, ...]
    arrays: Mapping[str, Array] = field(repr=False)
    time_limit: float | None = None
    truth: tuple[str, ...] | None = None
    units: Mapping[str, tuple[float, ...]] | None = None
    description: str | None = None

    def __getattr__(self, name: str) -> Array:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return self.arrays[name]
        except KeyError:
            raise AttributeError(
                f"this {self.view} problem has no array {name!r}; it has {sorted(self.arrays)}"
            ) from None


@dataclass(frozen=True)
class Candidate:
    """One proposal of a method: equations, and what they give on the selection data.

    Attributes
    ----------
    equations
        One right-hand side for each of the problem's targets, in the problem's names; or a
        single one where `target` says which target it is for.
    predictions
        What the candidate predicts on the selection inputs (validation data for a ``grid``
        method, the data of the fit for a ``front`` method), shaped like the targets; with
        `target`, shaped like one column of them.
    hyperparameters
        The setting that gave the candidate (``grid`` methods).
    target
        The index of the one target that the candidate is for.  A ``front`` method that treats
        the targets one by one gives a front for each, and mdbench picks from each by itself.
    """

    equations: tuple[str, ...]
    predictions: Array | None = field(default=None, repr=False)
    hyperparameters: Mapping[str, Any] = field(default_factory=dict)
    target: int | None = None
