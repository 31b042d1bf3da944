"""Tables that pandas reads: Parquet, Feather and spreadsheets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from mdbench.data.array_files import refuse_large, refuse_large_file
from mdbench.data.cells import Cells, Row
from mdbench.data.formats.text import MOST_COLUMNS
from mdbench.data.readers import TableReader
from mdbench.errors import DataError, UnavailableError
from mdbench.installation import page

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

_INSTALL = ".venv/bin/uv pip install --python .venv/bin/python"
_OTHERWISE = (
    f"or read it in Python, and give the table: mdbench.run(..., data=table) ({page('datasets')})"
)


class FrameReader(TableReader):
    """A kind of file that pandas reads.

    Attributes
    ----------
    package
        What pandas needs to read it.
    """

    package: str

    def frame(self, path: Path) -> pd.DataFrame:
        """Read the table, whatever errors its package raises."""
        raise NotImplementedError

    def table(self, path: Path, *, skip: int = 0, fewest: int = 2) -> Cells:
        """Read the text of all cells; as `Reader.table`."""
        if skip:
            raise DataError(f"{path} has no lines of text to skip.", "Leave out --skip.")
        return _cells_of(path, self._checked(path), fewest)

    def _checked(self, path: Path) -> pd.DataFrame:
        try:
            refuse_large_file(path)
            table = self.frame(path)
        except ImportError:
            raise UnavailableError(
                f"{path} takes the package {self.package}, which is not installed.",
                f"Add it: {_INSTALL} {self.package}; {_OTHERWISE}",
            ) from None
        except DataError:
            raise
        except Exception as error:  # noqa: BLE001 - other packages raise errors of their own
            reason = str(error).strip().split("\n")[0]
            raise DataError(
                f"{path} cannot be read: {reason}", f"Save it as CSV, {_OTHERWISE}"
            ) from None
        if len(table.columns) > MOST_COLUMNS:
            count = len(table.columns)
            raise DataError(
                f"{path} has {count:,} columns, and a table may have {MOST_COLUMNS:,}.",
                "Give the columns that are states and inputs alone.",
            )
        refuse_large(path, [("the table", table.shape)])
        return table


class _Arrow(FrameReader):
    package = "pyarrow"

    def __init__(self, function: Literal["read_parquet", "read_feather"]) -> None:
        self._function = function

    def frame(self, path: Path) -> pd.DataFrame:
        import pandas as pd  # noqa: PLC0415 - takes a second to load

        table = getattr(pd, self._function)(path)
        return table if isinstance(table.index, pd.RangeIndex) else table.reset_index()


class _Spreadsheet(FrameReader):
    def __init__(self, engine: Literal["openpyxl", "odf"], package: str) -> None:
        self._engine, self.package = engine, package

    def frame(self, path: Path) -> pd.DataFrame:
        import pandas as pd  # noqa: PLC0415 - takes a second to load

        sheets = pd.read_excel(path, sheet_name=None, engine=self._engine)
        filled = {name: sheet for name, sheet in sheets.items() if not sheet.empty}
        if len(filled) != 1:
            raise DataError(
                f"{path} has {len(filled)} sheets with data: {', '.join(map(str, filled))}",
                "Give a file of one sheet: save the sheet as CSV, or as a workbook of its own.",
            )
        return next(iter(filled.values()))


PARQUET = _Arrow("read_parquet")
FEATHER = _Arrow("read_feather")
XLSX = _Spreadsheet("openpyxl", "openpyxl")
ODS = _Spreadsheet("odf", "odfpy")


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
