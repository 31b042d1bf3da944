"""Tables that lie in packages: read into the cache, so that none is committed here.

``datasets/real/blackbox`` has a description of each, and the lock of the packages.  PMLB's files,
which a user has, are read from where they are.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import math
import re
import unicodedata
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from mdbench.data.columns import to_number
from mdbench.data.noise import generator_of
from mdbench.errors import DataError, counted
from mdbench.workspace import write_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

MOST_ROWS = 12_500
"""Rows of a table; of more, as many are drawn by its name.  Four fifths are learned from."""
MOST_BYTES = 2**28
"""Bytes of a table as it is read."""
FEWEST_ROWS = 4
"""Fewer rows cannot be learned from and tested on."""
PMLB = (".tsv", ".tsv.gz")
"""Endings of PMLB's files: tab-separated, with a column ``target``."""
_TARGET = "target"
_POINTER = "version https://git-lfs"


class PackagedTable(BaseModel):
    """Where a table lies in a package.

    Attributes
    ----------
    files
        Paths in the folder of packages; several have the same rows, and stand side by side.
    names
        For each column and the target its head in the file, where that is another one; in files
        without heads the number of the column, from 1.
    heads
        Whether the first line has the names of the columns.
    skip
        Lines before.
    rows
        The most rows; of more, some are drawn by the table's name.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    files: tuple[str, ...] = Field(min_length=1)
    names: dict[str, str] = {}
    heads: bool = True
    skip: int = Field(default=0, ge=0)
    rows: int = Field(default=MOST_ROWS, ge=4)


@dataclass(frozen=True)
class TableStore:
    """Tables as CSV files with the target last, each made once.

    Attributes
    ----------
    folder
        Where they are kept.
    packages
        Makes an environment of a lock, and returns its folder of packages.
    """

    folder: Path
    packages: Callable[[Path], Path]

    def read_packaged(
        self, description: Path, packaged: PackagedTable, columns: Sequence[str]
    ) -> Path:
        """Return a table that lies in a package.

        Rows in which one of the columns has no finite number are left out.

        Parameters
        ----------
        description
            The table's TOML file; next to it is ``requirements.lock``.
        columns
            The names of the columns and the target.

        Raises
        ------
        DataError
            If the packages are not there, or a file has not what is described.
        """
        lock = description.with_name("requirements.lock")
        made = self._file(description.stem, description.read_bytes() + lock.read_bytes())
        if made.is_file():
            return made
        place = self.packages(lock)
        parts = [
            [row for n, row in enumerate(_cells_of(place / file)) if row and n >= packaged.skip]
            for file in packaged.files
        ]
        if len({len(rows) for rows in parts}) != 1:
            raise DataError(f"{description}: its files have not the same number of rows.")
        whole = [[cell for part in row for cell in part] for row in zip(*parts, strict=True)]
        heads = whole.pop(0) if packaged.heads else [str(n + 1) for n in range(len(whole[0]))]
        wanted = [packaged.names.get(name, name) for name in columns]
        if missing := [name for name in wanted if name not in heads]:
            raise DataError(
                f"{description}: {packaged.files[0]} has no column {missing[0]!r}.",
                f"It has: {', '.join(heads)}",
            )
        places = [heads.index(name) for name in wanted]
        rows = [[row[place] for place in places] for row in whole]
        kept = _drawn(description.stem, [r for r in rows if all(map(_is_number, r))], packaged.rows)
        return _written(made, columns, kept)

    def read_pmlb(self, path: Path) -> tuple[Path, dict[str, str]]:
        """Return a table of PMLB, and the own names of its columns.

        They are called ``x0``, ``x1``, ..., since theirs need not be names of variables; what
        equations show is made of theirs, so that it can be read again.

        Raises
        ------
        DataError
            If the file cannot be read, has no column ``target``, or a cell that is no finite
            number.
        """
        rows = _cells_of(path)
        heads = next(rows, [])
        if heads and heads[0].startswith(_POINTER):
            raise DataError(
                f"{path} is a pointer of Git LFS, without the rows.",
                "Fetch them in that checkout: git lfs pull",
            )
        if heads.count(_TARGET) != 1 or len(heads) < 2:  # noqa: PLR2004
            raise DataError(
                f"{path}, line 1: one column is to be 'target', of {', '.join(heads)[:200]!r}.",
                "PMLB's files are tab-separated, with the names of the columns in the first line.",
            )
        target = heads.index(_TARGET)
        rows_read = []
        for number, row in enumerate(rows, start=2):
            if len(row) != len(heads):
                raise DataError(
                    f"{path}, line {number}: {counted(len(row), 'cell')}; "
                    f"{counted(len(heads), 'column')}",
                    "Give each row a cell for each column, with tabs between them.",
                )
            for head, cell in zip(heads, row, strict=True):
                if not _is_number(cell):
                    raise DataError(
                        f"{path}, line {number}, column {head!r}: {cell[:80]!r} is no finite "
                        "number",
                        "Leave such rows out.",
                    )
            rows_read.append([*row[:target], *row[target + 1 :], row[target]])
        if len(rows_read) < FEWEST_ROWS:
            raise DataError(
                f"{path} has {counted(len(rows_read), 'row')}.",
                f"At least {FEWEST_ROWS} are needed.",
            )
        refuse_constant(path, _TARGET, np.array(rows_read, dtype=np.float64))
        own = [head for head in heads if head != _TARGET]
        columns = {f"x{number}": head for number, head in enumerate(_readable(own))}
        name = pmlb_name(path)
        made = self._file(name, path.read_bytes())
        return _written(made, [*columns, _TARGET], _drawn(name, rows_read, MOST_ROWS)), columns

    def _file(self, name: str, content: bytes) -> Path:
        return self.folder / f"{name}-{hashlib.sha256(content).hexdigest()[:16]}.csv"


def pmlb_files(folder: Path) -> list[Path]:
    """Return PMLB's files in a folder, or each in a folder of its name, as in its repository."""
    return sorted(
        path
        for ending in PMLB
        for path in (*folder.glob(f"*{ending}"), *folder.glob(f"*/*{ending}"))
    )


def pmlb_name(path: Path) -> str:
    """Return the name of a table of PMLB."""
    return unicodedata.normalize("NFC", path.name.partition(".tsv")[0])


_BETWEEN = {(".csv",): ",", (".tsv",): "\t", (".tsv", ".gz"): "\t"}
"""The separator of cells by the endings of a file; spaces for other endings."""


def _cells_of(path: Path) -> Iterator[list[str]]:
    """Yield the cells of each line."""
    separator = _BETWEEN.get(tuple(path.suffixes[-2:]) if path.suffix == ".gz" else (path.suffix,))
    bytes_left = MOST_BYTES
    try:
        with (gzip.open if path.suffix == ".gz" else open)(
            path, "rt", encoding="utf-8-sig"
        ) as file:
            rows = csv.reader(file, delimiter=separator) if separator else map(str.split, file)
            for row in rows:
                bytes_left -= sum(map(len, row)) + len(row)
                if bytes_left < 0:
                    raise DataError(
                        f"{path} has more than {MOST_BYTES // 2**20} MiB.", "Give fewer rows of it."
                    )
                yield [cell.strip() for cell in row]
    except (OSError, EOFError, UnicodeDecodeError, csv.Error, zlib.error) as error:
        raise DataError(
            f"{path} cannot be read: {error}",
            "A table is text in UTF-8; one whose name ends in .gz is packed by gzip.",
        ) from None


def refuse_constant(path: Path, target: str, table: NDArray[np.float64]) -> None:
    """Refuse a table (n, columns) whose last column, the target, or all others have one value.

    Raises
    ------
    DataError
        With the file and the column.
    """
    for what, columns in ((target, table[:, -1:]), ("each other column", table[:, :-1])):
        if not np.ptp(columns, axis=0).any():
            raise DataError(
                f"{path}: {what} has one value in all rows.",
                "Nothing can be explained by it: give rows with other values.",
            )


def _readable(heads: Sequence[str]) -> list[str]:
    """Return names that may stand in equations, each another one, as near to the heads as may be.

    Examples
    --------
    >>> _readable(["R&D", "R D", "2nd", "age"])
    ['R_D', 'R_D_1', 'x_2nd', 'age']
    """
    cells: list[str] = []
    for number, head in enumerate(heads):
        name = re.sub(r"[^A-Za-z0-9_]", "_", head) or "x"
        name = name if name[0].isalpha() else f"x_{name}"
        while name in cells:
            name = f"{name}_{number}"
        cells.append(name)
    return cells


def _is_number(cell: str) -> bool:
    value = to_number(cell)
    return value is not None and math.isfinite(value)


def _drawn(name: str, rows: list[list[str]], most: int) -> list[list[str]]:
    if len(rows) <= most:
        return rows
    order = generator_of("rows of a table", name).permutation(len(rows))[:most]
    return [rows[place] for place in np.sort(order)]


def _written(path: Path, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Path:
    text = "\n".join([",".join(columns), *(",".join(row) for row in rows), ""])
    write_whole(path, lambda file: file.write(text.encode()))
    return path
