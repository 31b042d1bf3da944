"""Tables of text: a header, then a line for each row; whichever sign separates the cells."""

from __future__ import annotations

import csv
import gzip
import io
import re
from typing import TYPE_CHECKING
from zlib import error as ZlibError  # noqa: N812 - zlib calls it just "error"

from mdbench.data.cells import Cells, Row, is_missing, number_of
from mdbench.data.columns import to_number
from mdbench.data.formats.points import points_of_csv
from mdbench.data.readers import TableReader
from mdbench.data.roles import TableColumn, is_time_name
from mdbench.data.times import looks_like_time
from mdbench.errors import DataError, counted
from mdbench.installation import page

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_AS_UTF_8 = 'Save it again as UTF-8: in a spreadsheet as "CSV UTF-8"'
_UTF_16 = (
    "text in UTF-16, and UTF-8 is read",
    f"{_AS_UTF_8}; or iconv -f utf-16 -t utf-8 OLD.csv > NEW.csv",
)
_MARKS = {
    b"\x1f\x8b": ("compressed by gzip", "Unpack it, with a name that ends in .csv: gunzip FILE"),
    b"PK": ("a spreadsheet or an archive (ZIP), and no table of text", "Export the sheet as CSV."),
    b"\xff\xfe": _UTF_16,
    b"\xfe\xff": _UTF_16,
}
"""Files that are taken for tables, by their first two bytes: what they are, and what to do."""
_EXPECTED = (
    "The first line names the columns: the time and the states, separated by commas, semicolons, "
    "tabs or spaces."
)
_SEPARATORS = ",;\t"
_COMMENTS = ("#", "%", "//")
_EXCEL_SEPARATOR = re.compile(r"sep=[,;\t]?")
"""The first line of a spreadsheet's file: what separates its cells."""
_LONGEST_PREAMBLE, _LINES_OF_A_TABLE = 100, 4

LARGEST_BYTES = 20_000_000
"""The largest file that is read; its cells take some twenty times as much memory."""
MOST_COLUMNS = 500


def read_text(path: Path, *, skip: int = 0, fewest: int = 2) -> Cells:
    """Read a table of text, which may be packed by gzip.

    Comments are left out; the last one is the header where numbers follow it at once.  A line of
    units below the header goes where units in brackets go.

    Parameters
    ----------
    skip
        Lines before the header.
    fewest
        Columns that there have to be.

    Raises
    ------
    DataError
        If the file cannot be read, has no header, or a line has more or fewer cells than that.
    """
    lines = _lines_of(path)
    if skip >= len(lines) > 0:
        raise DataError(
            f"{path} has {counted(len(lines), 'line')}, and --skip leaves out {skip}.",
            "Give the number of lines before the header.",
        )
    lines = ["\n"] * skip + lines[skip:]
    try:
        cells = _table_of(path, lines, fewest)
        for row in cells.rows:
            _check_count(f"{path}, line {row.number}", row.cells, cells.labels)
    except csv.Error as error:
        raise DataError(f"{path} cannot be read: {error}", _EXPECTED) from error
    except DataError:
        if skip or not (before := _preamble(lines)):
            raise
        raise _begins_later(path, lines, before) from None
    if not skip and cells.rows and _is_a_header(cells) and (before := _preamble(lines)):
        raise _begins_later(path, lines, before)
    return _with_units(cells)


def _begins_later(path: Path, lines: Sequence[str], before: int) -> DataError:
    return DataError(
        f"{path}: the table seems to begin in line {before + 1}: {lines[before].strip()[:60]!r}.",
        f"Leave out the lines before it: --skip {before}",
    )


def _lines_of(path: Path) -> list[str]:
    """Return the lines of a file of text."""
    try:
        if (size := path.stat().st_size) > LARGEST_BYTES:
            raise _too_large(path, size)
        packed = path.name.lower().endswith(".gz")
        with gzip.open(path) if packed else path.open("rb") as file:
            content = file.read(LARGEST_BYTES + 1)
        if len(content) > LARGEST_BYTES:
            raise _too_large(path, len(content))
        return list(io.StringIO(content.decode("utf-8-sig"), newline=""))
    except UnicodeDecodeError as error:
        kind, hint = _kind_of_file(path)
        raise DataError(f"{path} cannot be read: it is {kind}.", hint) from error
    except (OSError, EOFError, ZlibError) as error:
        raise DataError(f"{path} cannot be read: {error}", _EXPECTED) from error


def _too_large(path: Path, size: int) -> DataError:
    return DataError(
        f"{path} has {size / 1e6:.0f} MB, and a CSV may have {LARGEST_BYTES / 1e6:.0f}.",
        f"Give fewer samples, or an NPZ with t and u ({page('datasets')}).",
    )


def _table_of(path: Path, lines: list[str], fewest: int) -> Cells:
    is_comment = [line.lstrip().startswith(_COMMENTS) for line in lines]
    if lines and _EXCEL_SEPARATOR.fullmatch(lines[0].strip()):
        is_comment[0] = True
    lines = list(lines)
    first = next((k for k, line in enumerate(lines) if line.strip() and not is_comment[k]), 0)
    if first and is_comment[first - 1] and _are_numbers(lines[first]):
        first -= 1
        is_comment[first] = False
        lines[first] = lines[first].lstrip().lstrip("".join(_COMMENTS)).lstrip()
    header = lines[first] if lines else ""
    separator = max(_SEPARATORS, key=header.count)
    text = ["\n" if is_comment[k] else line for k, line in enumerate(lines)]
    words = len(header.split())
    if (
        words > 1
        and separator not in header
        and len("".join(text[first + 1 :][:1]).split()) == words
    ):
        separator = " "
        reader = csv.reader([",".join(line.split()) + "\n" for line in text], strict=True)
    else:
        reader = csv.reader(text, delimiter=separator, strict=True)
    titles: list[str] = next((cells for cells in reader if cells), [])
    labels = _labels(path, Row(max(reader.line_num, 1), titles), separator, fewest)
    rows = [Row(reader.line_num, cells) for cells in reader if any(map(str.strip, cells))]
    return Cells(labels, rows, separator != ",")


def _with_units(cells: Cells) -> Cells:
    """Return a table without the line of units below its header, which go to the labels."""
    labels, rows = cells.labels, cells.rows
    if not rows or not _are_units(rows[0].cells, len(labels)):
        return cells
    units = [cell.strip().strip("[]()") for cell in rows[0].cells]
    labels = tuple(
        f"{label} [{unit}]" if unit not in {"", "-"} and not label.endswith(("]", ")")) else label
        for label, unit in zip(labels, units, strict=True)
    )
    return Cells(labels, rows[1:], cells.decimal_comma)


def _is_a_header(cells: Cells) -> bool:
    """Return whether the first row names a time, and the header does not."""
    first = cells.rows[0].cells
    return not any(map(_names_a_time, cells.labels)) and any(map(_names_a_time, first))


def _names_a_time(label: str) -> bool:
    return is_time_name(TableColumn(label.strip().split(" [")[0].split(" (")[0], "", None, False))


def _preamble(lines: Sequence[str]) -> int:
    """Return how many lines stand before a table that begins later in the file; 0 for none."""
    headers = [k for k in range(len(lines[:_LONGEST_PREAMBLE])) if _may_be_header(lines, k)]
    # Of two lines, one below the other, the second may have the units of the first.
    while len(headers) > 1 and not any(map(_are_numbers, lines[headers[0] + 1 : headers[1]])):
        if headers[0] + 1 == headers[1] and _has_a_time(lines[headers[0]]):
            break
        headers.pop(0)
    return headers[0] if headers else 0


def _has_a_time(line: str) -> bool:
    return any(map(_names_a_time, re.split(r"[,;\t]", line)))


def _may_be_header(lines: Sequence[str], k: int) -> bool:
    """Return whether a table of numbers may begin in a line, with the names of its columns."""
    line = lines[k]
    below = [other for other in lines[k + 1 : k + 12] if other.strip()][:_LINES_OF_A_TABLE]
    most = max(_SEPARATORS, key=line.count)
    separator = most if most in line else None
    titles = [cell.strip().strip('"') for cell in line.split(separator)]
    rows = [other.split(separator) for other in below]
    if len(titles) < 2 or len(rows) < _LINES_OF_A_TABLE or not all(titles[1:]):  # noqa: PLR2004
        return False
    if any(to_number(title) is not None for title in titles):
        return False
    return all(len(row) == len(titles) for row in rows) and all(
        any(number_of(cell.strip(), decimal_comma=True) is not None for cell in row)
        for row in rows[1:]
    )


def _are_units(cells: Sequence[str], count: int) -> bool:
    """Return whether a line has units: no number, no date, and not only missing values."""
    texts = [cell.strip() for cell in cells]
    known = [text for text in texts if not is_missing(text)]
    plain = [text for text in known if number_of(text, decimal_comma=True) is None]
    dates = any(looks_like_time(text) or text[:4].isdigit() for text in known)
    return len(texts) == count and len(known) > 0 and plain == known and not dates


def _kind_of_file(path: Path) -> tuple[str, str]:
    """Return what a file is that is no text in UTF-8, and how to make a table of it."""
    with path.open("rb") as file:
        first = file.read(2)
    if first in _MARKS:
        return _MARKS[first]
    return (
        "no text in UTF-8",
        f"{_AS_UTF_8}; an old Western file with iconv -f latin1 -t utf-8 OLD.csv > NEW.csv",
    )


def _are_numbers(line: str) -> bool:
    cells = re.split(r"[;\t]|,(?!\d)|,|\s+", line.strip())
    return bool(cells) and all(to_number(cell) is not None for cell in cells)


def _labels(path: Path, row: Row, separator: str, fewest: int = 2) -> tuple[str, ...]:
    where = f"{path}, line {row.number}"
    labels = tuple(cell.strip() for cell in row.cells)
    if len(labels) < fewest:  # usually a time and at least one state
        raise DataError(
            f"{where}: {separator.join(row.cells)!r} has too few columns",
            f"{_EXPECTED} Where the rows are equal steps apart, and there is no time: --step 0.5",
        )
    if len(labels) > MOST_COLUMNS:
        raise DataError(
            f"{where}: {len(labels):,} columns, and a table may have {MOST_COLUMNS:,}.",
            "Give the columns that are states and inputs alone.",
        )
    for index, label in enumerate(labels):
        # What tables are written with often has the number of the row first, without a name.
        if not label and index:
            raise nameless(where, labels, index)
        if to_number(label) is not None:
            raise DataError(f"{where}: {label!r} is not the name of a column", _EXPECTED)
    return labels


def nameless(where: str, labels: Sequence[str], index: int) -> DataError:
    """Return the error of a column without a name."""
    return DataError(
        f"{where}: '' is not the name of a column: of {len(labels)} columns number {index + 1} "
        "has none.",
        "Name it; or remove the separator at the end of each line, if it stands for none.",
    )


def _check_count(where: str, cells: Sequence[str], labels: Sequence[str]) -> None:
    if [cell.strip() for cell in cells] == list(labels):
        raise DataError(
            f"{where} is the header again.",
            "Delete the line. Where each part of the file is an experiment of its own, number the "
            "parts in a column, such as run, and give --trajectory run.",
        )
    if len(cells) != len(labels):
        hint = "Give each line a cell for each column of the header."
        if len(cells) == 2 * len(labels):
            hint += " Where commas stand before decimals, separate the cells by semicolons or tabs."
        raise DataError(
            f"{where}: {counted(len(cells), 'cell')}, but the header names "
            f"{counted(len(labels), 'column')}",
            hint,
        )


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
"""The reader of text that is read only where its file is named: in a folder it may be notes."""
