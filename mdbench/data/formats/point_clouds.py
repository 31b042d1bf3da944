"""Files of points and meshes: PLY and OBJ."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mdbench.data.point_files import points_of_obj, points_of_ply
from mdbench.data.readers import Reader

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


class _Ply(Reader):
    def points(self, path: Path) -> tuple[Array, Array | None]:
        return points_of_ply(path)


class _Obj(Reader):
    def points(self, path: Path) -> tuple[Array, Array | None]:
        return points_of_obj(path)


PLY = _Ply()
OBJ = _Obj()
