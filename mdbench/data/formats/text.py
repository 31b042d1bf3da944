"""Tables of text: CSV and its like."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mdbench.data.point_files import points_of_csv
from mdbench.data.readers import TableReader
from mdbench.data.text_tables import read_text

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from mdbench.data.cells import Cells

    Array = NDArray[np.float64]


class _Text(TableReader):
    def __init__(self, *, in_folders: bool = True) -> None:
        self.in_folders = in_folders

    def table(self, path: Path, *, skip: int = 0, fewest: int = 2) -> Cells:
        return read_text(path, skip=skip, fewest=fewest)


class _Csv(_Text):
    def points(self, path: Path) -> tuple[Array, Array | None]:
        return points_of_csv(path)


CSV = _Csv()
TEXT = _Text()
NAMED_TEXT = _Text(in_folders=False)
"""Where such a file lies in a folder, it may be notes on the data."""
