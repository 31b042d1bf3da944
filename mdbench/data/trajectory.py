"""A sampled trajectory, and its splits: training, validation and test."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

import numpy as np

from mdbench.errors import DataError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    Array = NDArray[np.float64]


MIN_SAMPLES = 15
"""The shortest series whose every fifth part has the 3 samples of a second-order stencil."""


@dataclass(frozen=True, eq=False)
class Trajectory:
    """The states of a system over time, of one trajectory or of several, one after the other.

    Attributes
    ----------
    t
        Increasing times, (n,); they begin again with each trajectory.
    u
        States, (n, d).
    du
        Time derivatives of the states, (n, d), or None where they are not known.
    inputs
        What acts on the system and is known, (n, k), or None where there is nothing.
    starts
        The rows at which trajectories begin; the first is 0.
    """

    t: Array
    u: Array
    du: Array | None = None
    inputs: Array | None = field(default=None, kw_only=True)
    starts: tuple[int, ...] = field(default=(0,), kw_only=True)

    @property
    def pieces(self) -> list[Self]:
        """Return each trajectory by itself."""
        if len(self.starts) == 1:
            return [self]
        ends = (*self.starts[1:], len(self.t))
        return [self.rows(slice(*place)) for place in zip(self.starts, ends, strict=True)]

    def rows(self, rows: slice) -> Self:
        """Return some samples of one trajectory."""
        du, inputs = (None if one is None else one[rows] for one in (self.du, self.inputs))
        return type(self)(self.t[rows], self.u[rows], du, inputs=inputs)

    def check(self, path: Path) -> None:
        """Refuse arrays that no dataset can be made of; `path` is where they come from.

        Raises
        ------
        DataError
            If shapes do not fit, a value is not finite, times do not increase, or there are fewer
            samples than the splits need; it names the array, the place in it and the value.
        """
        if self.t.ndim != 1:
            raise DataError(
                f"{path}: t has shape {self.t.shape}", "It has to be a row of times, (n,)."
            )
        n = len(self.t)
        arrays = {"t": self.t, "u": self.u, "du": self.du, "inputs": self.inputs}
        for key, array in arrays.items():
            if array is None:
                continue
            if key != "t" and (array.ndim != 2 or len(array) != n or array.shape[1] == 0):  # noqa: PLR2004
                raise DataError(
                    f"{path}: {key} has shape {array.shape}",
                    f"It has to be ({n}, d): a row for each time in t, a column for each state.",
                )
            if not np.isfinite(array).all():
                place = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
                raise DataError(
                    f"{path}: {key}[{', '.join(map(str, place))}] is {array[place]}",
                    "Every value has to be a finite number.",
                )
        if self.du is not None and self.du.shape != self.u.shape:
            raise DataError(
                f"{path}: u has shape {self.u.shape}, du {self.du.shape}", "They have to be equal."
            )
        for first, piece in zip(self.starts, self.pieces, strict=True):
            if len(piece.t) < MIN_SAMPLES:
                of = f" from row {first} on" if len(self.starts) > 1 else ""
                raise DataError(
                    f"{path}: t has {len(piece.t)} time points{of}",
                    f"At least {MIN_SAMPLES} are needed, to have 3 in every split.",
                )
            if not (np.diff(piece.t) > 0).all():
                i = first + int(np.argmin(np.diff(piece.t) > 0)) + 1
                raise DataError(
                    f"{path}: t[{i}] is {self.t[i]}, after t[{i - 1}] = {self.t[i - 1]}",
                    "Times have to increase.",
                )


def state_names(series: Trajectory) -> tuple[str, ...]:
    """Return the names that equations have for the states, ``u0`` and so on, and the inputs."""
    inputs = 0 if series.inputs is None else series.inputs.shape[1]
    return (*(f"u{i}" for i in range(series.u.shape[1])), *(f"v{i}" for i in range(inputs)))


def named_columns(series: Trajectory) -> dict[str, Array]:
    """Return what equations are evaluated on: the states and the inputs by their names."""
    columns = [*series.u.T, *(() if series.inputs is None else series.inputs.T)]
    return dict(zip(state_names(series), map(np.ascontiguousarray, columns), strict=True))


@dataclass(frozen=True)
class Splits:
    """Ranges of samples along time.

    `refit` is what the last fit is given: all that comes before the test.
    """

    train: slice
    validation: slice
    refit: slice
    test: slice


def split_chronologically(n: int) -> Splits:
    """Split n samples 60/20/20 in their order; what does not divide goes to training.

    Examples
    --------
    >>> splits = split_chronologically(150)
    >>> splits.train, splits.validation, splits.test
    (slice(0, 90, None), slice(90, 120, None), slice(120, 150, None))
    """
    fifth = n // 5
    test = n - fifth
    validation = test - fifth
    return Splits(
        train=slice(0, validation),
        validation=slice(validation, test),
        refit=slice(0, test),
        test=slice(test, n),
    )


def split_as_published(n: int) -> Splits:
    """Split n samples as the code behind MDBench's tables does.

    Validation takes the last rows of the *training* rows, so that it holds nothing out.  Where
    n is no multiple of 5, a sample between `refit` and `test` belongs to neither.

    Examples
    --------
    >>> splits = split_as_published(150)
    >>> splits.train, splits.validation, splits.refit
    (slice(0, 96, None), slice(72, 96, None), slice(0, 120, None))
    """
    n_refit = int(0.8 * n)
    n_validation = int(0.2 * n_refit)
    n_train = n_refit - n_validation
    return Splits(
        train=slice(0, n_train),
        validation=slice(n_train - n_validation, n_train),
        refit=slice(0, n_refit),
        test=slice(n - int(0.2 * n), n),
    )
