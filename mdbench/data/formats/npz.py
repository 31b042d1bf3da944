"""NumPy's files of arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mdbench.data.field_files import read_field
from mdbench.data.point_files import points_of_npz
from mdbench.data.readers import Reader
from mdbench.data.series_files import series_of_npz

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from mdbench.data.cells import Cells
    from mdbench.data.field import Field
    from mdbench.data.trajectory import Trajectory

    Array = NDArray[np.float64]


class _Npz(Reader):
    def series(self, path: Path, *, skip: int = 0, fewest: int = 2) -> Trajectory | Cells:
        del skip, fewest
        return series_of_npz(path)

    def field(self, path: Path, order: Sequence[str] = ()) -> Field:
        return read_field(path, order)

    def points(self, path: Path) -> tuple[Array, Array | None]:
        return points_of_npz(path)


NPZ = _Npz()
