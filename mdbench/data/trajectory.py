"""A sampled trajectory, and what is asked of one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mdbench.data.splits import MIN_SAMPLES
from mdbench.errors import DataError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["Trajectory"]


@dataclass(frozen=True, eq=False)
class Trajectory:
    """The states of a system over time.

    Attributes
    ----------
    t
        Increasing times, (n,).
    u
        States, (n, d).
    du
        Time derivatives of the states, (n, d), or None where they are not known.
    """

    t: Array
    u: Array
    du: Array | None = None

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
        if n < MIN_SAMPLES:
            raise DataError(
                f"{path}: t has {n} time points",
                f"At least {MIN_SAMPLES} are needed, to have 3 in every split.",
            )
        arrays = {"t": self.t, "u": self.u} | ({} if self.du is None else {"du": self.du})
        for key, array in arrays.items():
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
        if not (np.diff(self.t) > 0).all():
            i = int(np.argmin(np.diff(self.t) > 0)) + 1
            raise DataError(
                f"{path}: t[{i}] is {self.t[i]}, after t[{i - 1}] = {self.t[i - 1]}",
                "Times have to increase.",
            )
