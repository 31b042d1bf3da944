"""The files that data are read from: one table of endings, for all data types.

A kind of file is a module with a `Reader`, and a line for each of its endings: in `READERS`, or in
the ``entry_points.txt`` of an extension or a package::

    [mdbench.readers]
    .jsonl = my_package.json_lines:JSON_LINES
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NoReturn, cast, get_args

from mdbench.doors import Door
from mdbench.errors import DataError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from mdbench.data.cells import Cells
    from mdbench.data.field import Field
    from mdbench.data.trajectory import Trajectory

    Array = NDArray[np.float64]

View = Literal["series", "field", "table", "points"]
"""What is read from a file: a series of states over time, a field on a grid, a table of columns
and a target, or points of a surface."""
_FORMATS = "mdbench.data.formats"
READERS = Door(
    "mdbench.readers",
    "reader of files that end in",
    {
        ".csv": f"{_FORMATS}.text:CSV",
        ".csv.gz": f"{_FORMATS}.text:TEXT",
        ".tsv": f"{_FORMATS}.text:TEXT",
        ".tsv.gz": f"{_FORMATS}.text:TEXT",
        ".txt": f"{_FORMATS}.text:NAMED_TEXT",
        ".dat": f"{_FORMATS}.text:NAMED_TEXT",
        ".tab": f"{_FORMATS}.text:NAMED_TEXT",
        ".parquet": f"{_FORMATS}.frames:PARQUET",
        ".feather": f"{_FORMATS}.frames:FEATHER",
        ".xlsx": f"{_FORMATS}.frames:XLSX",
        ".ods": f"{_FORMATS}.frames:ODS",
        ".npz": f"{_FORMATS}.arrays:NPZ",
        ".mat": f"{_FORMATS}.arrays:MATLAB",
        ".h5": f"{_FORMATS}.arrays:HDF5",
        ".hdf5": f"{_FORMATS}.arrays:HDF5",
        ".nc": f"{_FORMATS}.arrays:NETCDF",
        ".nc4": f"{_FORMATS}.arrays:NETCDF",
        ".cdf": f"{_FORMATS}.arrays:NETCDF",
        ".ply": f"{_FORMATS}.points:PLY",
        ".obj": f"{_FORMATS}.points:OBJ",
    },
)
"""The readers by the ends of files' names, with the point and in lower case."""


class Reader:
    """A kind of file; a subclass has a method for each view that is read from it.

    Attributes
    ----------
    in_folders
        Whether it is looked for in a folder; files of other endings are read where they are named.
    """

    in_folders = True

    @property
    def views(self) -> frozenset[View]:
        """What is read from such files: the methods that the subclass has."""
        return frozenset(
            view
            for view in get_args(View)
            if getattr(type(self), view) is not getattr(Reader, view)
        )

    def series(self, path: Path, *, skip: int = 0, fewest: int = 2) -> Trajectory | Cells:
        """Read a series: its arrays, or a table with a column of times; parameters as `table`.

        Raises
        ------
        DataError
            If it cannot be read; so do all others.
        UnavailableError
            If a package is missing; it names it.
        """
        del skip, fewest
        _refuse(path, "series")

    def table(self, path: Path, *, skip: int = 0, fewest: int = 2) -> Cells:
        """Read a table as text.

        Parameters
        ----------
        skip
            Lines before the header of a table of text.
        fewest
            Columns that there have to be.
        """
        del skip, fewest
        _refuse(path, "table")

    def field(self, path: Path, order: Sequence[str] = ()) -> Field:
        """Read a field; `order` names the dimensions of u where they are not x, ..., t."""
        del order
        _refuse(path, "field")

    def points(self, path: Path) -> tuple[Array, Array | None]:
        """Read points (n, 3), and their normals (n, 3) where the file has them."""
        _refuse(path, "points")


class TableReader(Reader):
    """A kind of file with tables, which may have a column of times."""

    def series(self, path: Path, *, skip: int = 0, fewest: int = 2) -> Trajectory | Cells:
        """Read the table."""
        return self.table(path, skip=skip, fewest=fewest)


def _refuse(path: Path, view: View) -> NoReturn:
    what = "points" if view == "points" else f"a {view}"
    raise DataError(
        f"{path} cannot be read as {what}.", f"Give a file that ends in {choice(view)}."
    )


def _reader(ending: str) -> Reader:
    return cast("Reader", READERS.load(ending))


def endings(view: View, *, in_folders: bool = False) -> tuple[str, ...]:
    """Return the endings of files that something is read from.

    A reader of another package that cannot be loaded counts, so that a file of its ending is
    answered with what is missing.

    Parameters
    ----------
    in_folders
        Whether only those that are looked for in folders.
    """

    def counts(ending: str) -> bool:
        try:
            reader = _reader(ending)
        except UnavailableError:
            return True
        return view in reader.views and (reader.in_folders or not in_folders)

    return tuple(filter(counts, READERS.names()))


def choice(view: View) -> str:
    """Return the endings of files that something is read from, as a message lists them."""
    *others, last = endings(view)
    return f"{', '.join(others)} or {last}"


def ending_of(path: Path) -> str:
    """Return the ending of a file by which it is read: of two, as ``.csv.gz``, both.

    Examples
    --------
    >>> from pathlib import Path
    >>> ending_of(Path("a.b.CSV.gz")), ending_of(Path("a.b.toml"))
    ('.csv.gz', '.toml')
    """
    name = path.name.lower()
    known = [ending for ending in READERS.names() if name.endswith(ending) and name != ending]
    return max(known, key=len, default=path.suffix.lower())


def stem_of(path: Path) -> str:
    """Return the name of a file without its ending."""
    ending = ending_of(path)
    return path.name[: len(path.name) - len(ending)] if ending else path.name


def description_of(path: Path) -> Path:
    """Return the TOML file that describes a file: of its name, in its folder."""
    return path.with_name(f"{stem_of(path)}.toml")


def reader_of(path: Path) -> Reader:
    """Return the reader of a file; that of text for an ending that nobody reads.

    Raises
    ------
    UnavailableError
        If it is of another package, and cannot be loaded.
    """
    ending = ending_of(path)
    return _reader(ending if ending in READERS else ".txt")


def read_cells(path: Path, *, skip: int = 0, fewest: int = 2) -> Cells:
    """Read a table of whatever kind, as text; parameters and errors as `Reader.table`."""
    return reader_of(path).table(path, skip=skip, fewest=fewest)
