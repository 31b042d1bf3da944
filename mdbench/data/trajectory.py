"""A sampled trajectory, and what is asked of one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

import numpy as np

from mdbench.data.splits import MIN_SAMPLES
from mdbench.errors import DataError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    Array = NDArray[np.float64]


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
