"""CSV files of people's own; errors name the line."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from mdbench.data.arrangement import Reading
from mdbench.data.csv import read_csv
from mdbench.data.formats.text import MOST_COLUMNS
from mdbench.errors import DataError

if TYPE_CHECKING:
    from pathlib import Path

ROWS = [f"{i / 10},{i},{-i}" for i in range(20)]


def write(path: Path, lines: list[str], **options: Any) -> Path:
    path.write_text("\n".join(lines) + "\n", **{"encoding": "utf-8"} | options)
    return path


def test_the_first_column_is_the_time_and_the_header_names_the_others(tmp_path: Path) -> None:
    found = read_csv(write(tmp_path / "a.csv", ["time, prey ,predators", *ROWS]))
    series = found.trajectory
    assert [one.name for one in found.states] == ["prey", "predators"]
    assert (found.time.label, found.inputs) == ("time", ())
    np.testing.assert_array_equal(series.t, np.arange(20) / 10)
    np.testing.assert_array_equal(series.u, np.stack([np.arange(20), -np.arange(20)], axis=1))
    assert series.u.dtype == np.float64
    assert series.du is None


def test_what_spreadsheets_add_does_no_harm(tmp_path: Path) -> None:
    plain = read_csv(write(tmp_path / "a.csv", ["t,x,y", *ROWS])).trajectory
    quoted = [",".join(f'"{cell}"' for cell in row.split(",")) for row in ROWS]
    path = write(
        tmp_path / "b.csv", ["t,x,y", *quoted, "", ""], encoding="utf-8-sig", newline="\r\n"
    )
    other = read_csv(path)
    assert [one.name for one in other.states] == ["x", "y"]
    np.testing.assert_array_equal(other.trajectory.u, plain.u)


@pytest.mark.parametrize("separator", [";", "\t"])
@pytest.mark.parametrize("point", [".", ","])
def test_other_separators_and_decimal_commas_are_read(
    tmp_path: Path, separator: str, point: str
) -> None:
    plain = read_csv(write(tmp_path / "a.csv", ["t,x,y", *ROWS])).trajectory
    rows = [row.replace(",", separator).replace(".", point) for row in ("t,x,y", *ROWS)]
    other = read_csv(write(tmp_path / "b.csv", rows)).trajectory
    np.testing.assert_array_equal(other.t, plain.t)
    np.testing.assert_array_equal(other.u, plain.u)


def test_dates_are_days_since_the_first(tmp_path: Path) -> None:
    days = [f"2024-02-{day:02d},{day},1" for day in range(20, 30)]
    days += [f"2024-03-{day:02d}T12:00,{day},1" for day in range(1, 11)]
    found = read_csv(write(tmp_path / "a.csv", ["date,x,y", *days]))
    expected = [*range(10), *(day + 9.5 for day in range(1, 11))]
    np.testing.assert_allclose(found.trajectory.t, expected, atol=1e-9)
    assert found.time.title == "date [day]"


def test_gaps_are_left_out_or_filled_if_that_is_asked_for(tmp_path: Path) -> None:
    rows = [f"{i},{2 * i},{'NA' if i in {3, 4} else -i}" for i in range(20)]
    path = write(tmp_path / "a.csv", ["t,x,y", *rows])
    dropped = read_csv(path, Reading("drop"))
    assert dropped.filled == 2
    np.testing.assert_array_equal(dropped.trajectory.t, [i for i in range(20) if i not in {3, 4}])
    filled = read_csv(path, Reading("interpolate"))
    assert filled.filled == 2
    np.testing.assert_allclose(filled.trajectory.u[:, 1], -np.arange(20.0))
    rows[0] = "0,0,"
    with pytest.raises(DataError, match="line 2: y is missing at an end"):
        read_csv(write(tmp_path / "b.csv", ["t,x,y", *rows]), Reading("interpolate"))


def test_trajectories_are_distinguished_by_a_column(tmp_path: Path) -> None:
    rows = [f"{run},{i},{i * i},{-i}" for run in ("one", "two") for i in range(20)]
    path = write(tmp_path / "a.csv", ["run,t,x,push", *rows])
    found = read_csv(path, Reading(inputs=("push",), trajectory="run"))
    assert found.trajectory.starts == (0, 20)
    assert [len(each.t) for each in found.trajectory.pieces] == [20, 20]
    assert [one.name for one in (*found.states, *found.inputs)] == ["x", "push"]
    with pytest.raises(DataError, match="'one' begins again"):
        read_csv(
            write(tmp_path / "b.csv", ["run,t,x,push", *rows, *rows[:20]]),
            Reading(trajectory="run"),
        )
    with pytest.raises(DataError, match="line 45: run is empty"):
        read_csv(
            write(
                tmp_path / "c.csv",
                ["run,t,x,push", *rows, "two,20,0,0", "two,21,0,0", "two,22,0,0", ",23,0,0"],
            ),
            Reading(trajectory="run"),
        )
    with pytest.raises(DataError, match=r"12 time points from row 20"):
        read_csv(write(tmp_path / "d.csv", ["run,t,x,push", *rows[:32]]), Reading(trajectory="run"))
    with pytest.raises(DataError, match=r"(?s)line 22: t is 0, after 19.*--trajectory"):
        read_csv(
            write(tmp_path / "e.csv", ["t,x", *(",".join(row.split(",")[1:3]) for row in rows)])
        )


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "line 1"),
        (["t"], "line 1: 't' has too few columns"),
        (["t;x;y", *ROWS], "line 2: 1 cell, but the header names 3"),
        (["t;x;y", "2024-01-01;1;2", "0.5;1;2"], "line 3: t is '0.5'"),
        (["t;x;y", "0;1;2", "2024-01-01;1;2"], "line 3: t is '2024-01-01'"),
        (["t;x;y", "2024-13-01;1;2"], "line 2: '2024-13-01' is no date"),
        (ROWS, "line 1: '0.0' is not the name of a column"),
        (["t,,y", *ROWS], "line 1: '' is not the name of a column: of 3 columns number 2 has none"),
        (["t,x,", "0,1,", "1,2,", "2,3,"], "of 3 columns number 3 has none"),
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


def test_files_that_would_take_the_benchmarks_memory_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wide = tmp_path / "wide.csv"
    names = [f"c{number}" for number in range(MOST_COLUMNS)]
    for columns, refused in ((names[1:], False), (names, True)):
        rows = [",".join(["t", *columns])]
        rows += [",".join([str(0.1 * row)] + [str(row % 3)] * len(columns)) for row in range(30)]
        wide.write_text("\n".join(rows), encoding="utf-8")
        if refused:
            with pytest.raises(DataError, match="501 columns, and a table may have 500"):
                read_csv(wide)
        else:
            assert read_csv(wide).trajectory.u.shape[1] == MOST_COLUMNS - 1
    monkeypatch.setattr("mdbench.data.formats.text.LARGEST_BYTES", wide.stat().st_size - 1)
    with pytest.raises(DataError, match="MB, and a CSV may have") as caught:
        read_csv(wide)
    assert "NPZ" in caught.value.hint


@pytest.mark.parametrize(
    ("content", "what", "remedy"),
    [
        ("t,x\n0,ä\n".encode("utf-16"), "UTF-16", "iconv -f utf-16"),
        ("t,x\n0,ä\n".encode("utf-16-be"), "no text in UTF-8", "iconv -f latin1"),
        ("t,Größe\n0,1\n".encode("latin-1"), "no text in UTF-8", "CSV UTF-8"),
        (gzip.compress(b"t,x\n0,1\n", mtime=0), "compressed by gzip", "gunzip"),
        (b"PK\x03\x04\xff\xfe", "a spreadsheet", "Export"),
        (b"\xff", "no text in UTF-8", "UTF-8"),
    ],
)
def test_a_file_that_is_no_table_of_text_is_named_with_a_remedy(
    tmp_path: Path, content: bytes, what: str, remedy: str
) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        read_csv(path)
    assert f"{path} cannot be read: it is " in caught.value.message
    assert what in caught.value.message
    assert remedy in caught.value.hint


@pytest.mark.parametrize(("value", "allowed"), [(1e150, True), (-1.1e150, False), (1e300, False)])
def test_values_are_refused_whose_squares_are_infinite(
    tmp_path: Path, value: float, allowed: bool
) -> None:
    path = write(tmp_path / "large.csv", ["t,x", *(f"{k},{value!r}" for k in range(20))])
    if allowed:
        assert read_csv(path).trajectory.u.max() == value
    else:
        with pytest.raises(DataError, match=r"largest value of x is 1(\.1)?e\+[13]"):
            read_csv(path)


@pytest.mark.parametrize("cell", ["3_0", "1_000.5", "1e1_0"])
def test_an_underscore_is_no_part_of_a_number(tmp_path: Path, cell: str) -> None:
    path = write(tmp_path / "a.csv", ["t,x", *(f"{k},{k}" for k in range(20)), f"20,{cell}"])
    with pytest.raises(DataError, match=f"line 22: x is '{cell}'"):
        read_csv(path)


def test_columns_of_one_name_are_told_apart_and_said(tmp_path: Path) -> None:
    lines = [f"{k},{k % 3},{k % 5},{k % 7}" for k in range(20)]
    found = read_csv(write(tmp_path / "a.csv", ["t,x,x,y", *lines]))
    assert [one.name for one in found.states] == ["x", "x_2", "y"]
    assert "2 columns are called x; here: x, x_2" in found.notes
    assert not any("are called y" in note for note in found.notes)
