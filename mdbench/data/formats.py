"""The files that data are read from: one table of their endings, for all data types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from mdbench.data.array_files import refuse_large, refuse_large_file
from mdbench.data.cells import Cells, Row
from mdbench.data.text_tables import MOST_COLUMNS, read_text
from mdbench.errors import DataError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pandas as pd

Use = Literal["series", "field", "table", "points"]
"""What is read from a file: a series of states over time, a field on a grid, a table of columns
and a target, or points of a surface."""
_INSTALL = ".venv/bin/uv pip install --python .venv/bin/python"
_OTHERWISE = (
    "or read it in Python, and give the table: mdbench.run(..., data=table) (docs/datasets.md)"
)


@dataclass(frozen=True)
class Format:
    """A kind of file.

    Attributes
    ----------
    uses
        What is read from it.
    kind
        A table of ``text``, a table that pandas reads (``frame``), or named ``arrays``.
    in_folders
        Whether it is looked for in a folder; files of other endings are read where they are named.
    frame
        The reader of a table in pandas.
    package
        What pandas needs to read it.
    """

    uses: frozenset[Use]
    kind: Literal["text", "frame", "arrays", "points"]
    in_folders: bool = True
    frame: Callable[[Path], pd.DataFrame] | None = None
    package: str = ""


def _sheet(engine: Literal["openpyxl", "odf"]) -> Callable[[Path], pd.DataFrame]:
    def read(path: Path) -> pd.DataFrame:
        import pandas as pd  # noqa: PLC0415 - takes a second to load

        sheets = pd.read_excel(path, sheet_name=None, engine=engine)
        filled = {name: sheet for name, sheet in sheets.items() if not sheet.empty}
        if len(filled) != 1:
            raise DataError(
                f"{path} has {len(filled)} sheets with data: {', '.join(map(str, filled))}",
                "Give a file of one sheet: save the sheet as CSV, or as a workbook of its own.",
            )
        return next(iter(filled.values()))

    return read


def _pandas(name: str) -> Callable[[Path], pd.DataFrame]:
    def read(path: Path) -> pd.DataFrame:
        import pandas as pd  # noqa: PLC0415 - takes a second to load

        table = getattr(pd, name)(path)
        return table if isinstance(table.index, pd.RangeIndex) else table.reset_index()

    return read


def _uses(*uses: Use) -> frozenset[Use]:
    return frozenset(uses)


_TABLES = _uses("series", "table")
FORMATS: dict[str, Format] = {
    ".csv": Format(_uses("series", "table", "points"), "text"),
    ".csv.gz": Format(_TABLES, "text"),
    ".tsv": Format(_TABLES, "text"),
    ".tsv.gz": Format(_TABLES, "text"),
    ".txt": Format(_TABLES, "text", in_folders=False),
    ".dat": Format(_TABLES, "text", in_folders=False),
    ".tab": Format(_TABLES, "text", in_folders=False),
    ".parquet": Format(_TABLES, "frame", frame=_pandas("read_parquet"), package="pyarrow"),
    ".feather": Format(_TABLES, "frame", frame=_pandas("read_feather"), package="pyarrow"),
    ".xlsx": Format(_TABLES, "frame", frame=_sheet("openpyxl"), package="openpyxl"),
    ".ods": Format(_TABLES, "frame", frame=_sheet("odf"), package="odfpy"),
    ".npz": Format(_uses("series", "field", "points"), "arrays"),
    ".mat": Format(_uses("series", "field"), "arrays"),
    ".h5": Format(_uses("series", "field"), "arrays"),
    ".hdf5": Format(_uses("series", "field"), "arrays"),
    ".nc": Format(_uses("series", "field"), "arrays"),
    ".nc4": Format(_uses("series", "field"), "arrays"),
    ".cdf": Format(_uses("series", "field"), "arrays"),
    ".ply": Format(_uses("points"), "points"),
    ".obj": Format(_uses("points"), "points"),
}
"""By the ends of files' names, in lower case: a new kind of file is a line here."""


def endings(use: Use, *, in_folders: bool = False) -> tuple[str, ...]:
    """Return the endings of files that something is read from.

    Parameters
    ----------
    in_folders
        Whether only those that are looked for in folders.
    """
    return tuple(
        ending
        for ending, form in FORMATS.items()
        if use in form.uses and (form.in_folders or not in_folders)
    )


def ending_of(path: Path) -> str:
    """Return the ending of a file by which it is read: of two, as ``.csv.gz``, both.

    Examples
    --------
    >>> from pathlib import Path
    >>> ending_of(Path("a.b.CSV.gz")), ending_of(Path("a.b.toml"))
    ('.csv.gz', '.toml')
    """
    name = path.name.lower()
    known = [ending for ending in FORMATS if name.endswith(ending) and name != ending]
    return max(known, key=len, default=path.suffix.lower())


def is_of_arrays(path: Path) -> bool:
    """Return whether a file has named arrays, and is no table."""
    form = FORMATS.get(ending_of(path))
    return form is not None and form.kind == "arrays"


def stem_of(path: Path) -> str:
    """Return the name of a file without its ending."""
    ending = ending_of(path)
    return path.name[: len(path.name) - len(ending)] if ending else path.name


def description_of(path: Path) -> Path:
    """Return the TOML file that describes a file: of its name, in its folder."""
    return path.with_name(f"{stem_of(path)}.toml")


def read_cells(path: Path, *, skip: int = 0, fewest: int = 2) -> Cells:
    """Read a table of whatever format, as text.

    Parameters
    ----------
    skip
        Lines before the header of a table of text.
    fewest
        Columns that there have to be.

    Raises
    ------
    DataError
        If it cannot be read, or is no table.
    UnavailableError
        If a package is missing; it names it.
    """
    form = FORMATS.get(ending_of(path))
    if form is None or form.kind == "text":
        return read_text(path, skip=skip, fewest=fewest)
    if skip:
        raise DataError(f"{path} has no lines of text to skip.", "Leave out --skip.")
    return _cells_of(path, read_frame(path, form), fewest)


def read_frame(path: Path, form: Format) -> pd.DataFrame:
    """Read a table by pandas.

    Raises
    ------
    DataError, UnavailableError
        As `read_cells`.
    """
    assert form.frame is not None  # noqa: S101 - of this kind all have one
    try:
        refuse_large_file(path)
        table = form.frame(path)
    except ImportError:
        raise UnavailableError(
            f"{path} takes the package {form.package}, which is not installed.",
            f"Add it: {_INSTALL} {form.package}; {_OTHERWISE}",
        ) from None
    except DataError:
        raise
    except Exception as error:  # noqa: BLE001 - readers of other packages raise errors of their own
        reason = str(error).strip().split("\n")[0]
        raise DataError(
            f"{path} cannot be read: {reason}", f"Save it as CSV, {_OTHERWISE}"
        ) from None
    if len(table.columns) > MOST_COLUMNS:
        raise DataError(
            f"{path} has {len(table.columns):,} columns, and a table may have {MOST_COLUMNS:,}.",
            "Give the columns that are states and inputs alone.",
        )
    refuse_large(path, [("the table", table.shape)])
    return table


def _cells_of(path: Path, table: Any, fewest: int) -> Cells:
    """Return the text of a table of pandas."""
    labels = tuple(
        "" if str(name).startswith("Unnamed: ") else str(name).strip() for name in table.columns
    )
    if len(labels) < fewest:
        raise DataError(f"{path} has {len(labels)} column.", "Give the times and the states.")
    columns = [_texts(table.iloc[:, place]) for place in range(len(labels))]
    rows = [Row(k + 2, list(cells)) for k, cells in enumerate(zip(*columns, strict=True))]
    return Cells(labels, [row for row in rows if any(row.cells)])


def _texts(column: Any) -> list[str]:
    missing = column.isna().tolist()
    if column.dtype.kind == "M":
        # Dates of no time of day as dates, so that they can be put together with one.
        texts = [
            str(value)
            for value in column.astype("datetime64[ns]" if column.dt.tz is None else column.dtype)
        ]
        if all(
            text.endswith("00:00:00") for text, gone in zip(texts, missing, strict=True) if not gone
        ):
            texts = [text.split(" ")[0] for text in texts]
    else:
        texts = [
            repr(value) if isinstance(value, float) else str(value) for value in column.tolist()
        ]
    return ["" if gone else text for text, gone in zip(texts, missing, strict=True)]
