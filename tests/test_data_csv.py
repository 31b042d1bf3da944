"""CSV files of people's own; errors name the line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from mdbench.data.csv import read_csv
from mdbench.errors import DataError

if TYPE_CHECKING:
    from pathlib import Path

ROWS = [f"{i / 10},{i},{-i}" for i in range(20)]


def write(path: Path, lines: list[str], **options: Any) -> Path:
    path.write_text("\n".join(lines) + "\n", **{"encoding": "utf-8"} | options)
    return path


def test_the_first_column_is_the_time_and_the_header_names_the_others(tmp_path: Path) -> None:
    series, names = read_csv(write(tmp_path / "a.csv", ["time, prey ,predators", *ROWS]))
    assert names == ("prey", "predators")
    np.testing.assert_array_equal(series.t, np.arange(20) / 10)
    np.testing.assert_array_equal(series.u, np.stack([np.arange(20), -np.arange(20)], axis=1))
    assert series.u.dtype == np.float64
    assert series.du is None


def test_what_spreadsheets_add_does_no_harm(tmp_path: Path) -> None:
    plain, _ = read_csv(write(tmp_path / "a.csv", ["t,x,y", *ROWS]))
    quoted = [",".join(f'"{cell}"' for cell in row.split(",")) for row in ROWS]
    path = write(
        tmp_path / "b.csv", ["t,x,y", *quoted, "", ""], encoding="utf-8-sig", newline="\r\n"
    )
    other, names = read_csv(path)
    assert names == ("x", "y")
    np.testing.assert_array_equal(other.u, plain.u)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "line 1"),
        (["t"], "line 1: 't' has too few columns"),
        (["t;x;y", *ROWS], "line 1: 't;x;y' has too few columns"),
        (ROWS, "line 1: '0.0' is not the name of a column"),
        (["t,,y", *ROWS], "line 1: '' is not the name of a column"),
        (["t,x,y", *ROWS[:3], "0.3,1", *ROWS[4:]], "line 5: 2 cells, but the header names 3"),
        (["t,x,y", *ROWS[:3], "0.3,1,2,3", *ROWS[4:]], "line 5: 4 cells"),
        (["t,x,y", *ROWS[:3], "0.3,one,2", *ROWS[4:]], "line 5: x is 'one'"),
        (["t,x,y", *ROWS[:3], "0.3,,2", *ROWS[4:]], "line 5: x is ''"),
        (["t,x,y", *ROWS[:3], "0.3,1,nan", *ROWS[4:]], "line 5: y is 'nan'"),
        (["t,x,y", *ROWS[:3], "0.3,1,-inf", *ROWS[4:]], "line 5: y is '-inf'"),
        (["t,x,y", *ROWS[:3], '0.3,"1,5",2', *ROWS[4:]], "line 5: x is '1,5'"),
        (["t,x,y", *ROWS[:3], "0.2,1,2", *ROWS[4:]], "line 5: t is 0.2, after 0.2"),
        (["t,x,y", *ROWS[:3], "0.1,1,2", *ROWS[4:]], "line 5: t is 0.1, after 0.2"),
        (["t,x,y", "", *ROWS[:3], "0.1,1,2"], "line 6: t is 0.1"),
        (["t,x,y", *ROWS[:3]], "t has 3 time points"),
        (["t,x,y"], "t has 0 time points"),
        (["t,x,y", *ROWS, '2.0,"1,2'], "cannot be read"),
    ],
)
def test_bad_files_are_refused_by_line(tmp_path: Path, lines: list[str], message: str) -> None:
    with pytest.raises(DataError) as caught:
        read_csv(write(tmp_path / "bad.csv", lines))
    assert "bad.csv" in str(caught.value)
    assert message in str(caught.value)


def test_files_that_are_no_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / "bytes.csv").write_bytes(b"t,x\n\xff\xfe\x00\n")
    for name in ("bytes.csv", "missing.csv", "."):
        with pytest.raises(DataError, match="cannot be read"):
            read_csv(tmp_path / name)
