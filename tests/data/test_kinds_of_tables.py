"""Tables as people have them: several members of each kind, read against what made them."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from input_kinds import documented, kind, with_a_test

from mdbench.data.arrangement import Reading
from mdbench.data.csv import read_csv
from mdbench.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from mdbench.data.csv import CsvRecording

    Array = NDArray[np.float64]

N = 20
STEP: Array = np.arange(N) * np.float64(0.5)
GROWTH = 3.0 * np.exp(STEP / 4)
SWING = np.sin(STEP)


def text(columns: Mapping[str, Sequence[Any] | Array], separator: str = ",") -> str:
    rows = zip(*([f"{v}" for v in values] for values in columns.values()), strict=True)
    return "\n".join([separator.join(columns), *map(separator.join, rows)]) + "\n"


def read(folder: Path, content: str | Mapping[str, Any], **how: Any) -> CsvRecording:
    path = folder / "mine.csv"
    path.write_text(content if isinstance(content, str) else text(content), encoding="utf-8")
    return read_csv(path, Reading(**how))


def is_swing(found: CsvRecording, t: Array = STEP, label: str | None = None) -> bool:
    """Return whether a file was read as the times and the swing that made it."""
    series = found.trajectory
    same = np.allclose(series.t - series.t[0], t - t[0]) and np.allclose(series.u[:, 0], SWING)
    return bool(same and (label is None or found.time.label == label))


def test_every_kind_is_on_the_page_and_has_a_test() -> None:
    assert documented() == with_a_test()


@kind("time by its name, anywhere")
@pytest.mark.parametrize(
    "name",
    ["t", "Time", "time_s", "Zeit [s]", "temps", "día", "Stunden", "hour", "seconds", "t (min)"],
)
def test_time_by_its_name_anywhere(tmp_path: Path, name: str) -> None:
    for order in itertools.permutations([name, "x", "N"]):
        values = {name: STEP, "x": SWING, "N": GROWTH}
        found = read(tmp_path, {label: values[label] for label in order})
        assert found.time.label == name.split(" [", maxsplit=1)[0].split(" (", maxsplit=1)[0]
        place = [one.label for one in found.states].index("x")
        np.testing.assert_allclose(found.trajectory.u[:, place], SWING)
        assert "by its name" in found.notes[0]


@kind("an index before the time")
@pytest.mark.parametrize("name", ["id", "ID", "index", "no.", "row", "#", "sample", "Unnamed: 0"])
def test_an_index_before_the_time(tmp_path: Path, name: str) -> None:
    for first in (0, 1, 17):
        found = read(tmp_path, {name: np.arange(N) + first, "time": STEP, "x": SWING})
        assert is_swing(found, label="time")
        assert len(found.states) == 1
        assert "only counts the rows" in found.notes[1]
    other = read(tmp_path, {"specimen": np.arange(N), "time": STEP, "x": SWING})
    assert "specimen: one more in each row" in other.notes[1]


@kind("a first column without a name")
def test_a_first_column_without_a_name(tmp_path: Path) -> None:
    counted = read(tmp_path, {"": np.arange(N), "t": STEP, "x": SWING})
    assert is_swing(counted, label="t")
    assert len(counted.states) == 1
    alone = read(tmp_path, {"": np.arange(N), "x": SWING})
    assert is_swing(alone, np.arange(N, dtype=float), "time")
    with pytest.raises(DataError, match="line 1: '' is not the name"):
        read(tmp_path, {"": GROWTH[::-1], "t": STEP, "x": SWING})


@kind("time without a name of time")
@pytest.mark.parametrize("order", [("a", "b", "c"), ("b", "a", "c"), ("c", "b", "a")])
def test_time_without_a_name_of_time(tmp_path: Path, order: tuple[str, ...]) -> None:
    values = {"a": STEP, "b": GROWTH, "c": SWING}
    found = read(tmp_path, {label: values[label] for label in order})
    assert found.time.label == "a"
    assert "even steps" in found.notes[0]
    assert read(tmp_path, {"c": SWING, "b": GROWTH}).time.label == "b"


@kind("two columns that may be the time")
@pytest.mark.parametrize(
    "columns",
    [
        {"a": STEP, "b": 2 * STEP, "c": SWING},
        {"time_s": STEP, "time_ms": 1000 * STEP, "x": SWING},
        {"a": STEP**2 + STEP, "b": GROWTH, "c": SWING},
        {"day": STEP, "hour": 24 * STEP, "x": SWING},
    ],
)
def test_two_columns_that_may_be_the_time(tmp_path: Path, columns: dict[str, Array]) -> None:
    with pytest.raises(DataError, match=r"(?s)may be the time.*--time") as caught:
        read(tmp_path, columns)
    first, second, _ = columns
    assert first in str(caught.value)
    assert second in str(caught.value)
    for label in (first, second):
        assert read(tmp_path, columns, time=label).time.label == label


@kind("a temperature T next to the time t")
def test_a_temperature_beside_the_time(tmp_path: Path) -> None:
    for columns in ({"T": GROWTH, "t": STEP, "x": SWING}, {"t": STEP, "T": GROWTH, "x": SWING}):
        assert read(tmp_path, columns).time.label == "t"
    assert read(tmp_path, {"T": SWING, "minute": STEP}).time.label == "minute"


@kind("dates")
@pytest.mark.parametrize("form", ["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M:%S", "%Y/%m/%d"])
def test_dates(tmp_path: Path, form: str) -> None:
    days = [datetime(2024, 2, 20, tzinfo=UTC) + timedelta(days=k) for k in range(N)]
    for label in ("when", "x0"):
        found = read(tmp_path, {"x": SWING, label: [day.strftime(form) for day in days]})
        assert is_swing(found, np.arange(N, dtype=float), label)
        assert found.time.unit == "day"


@kind("dates with the day first")
@pytest.mark.parametrize("form", ["%d.%m.%Y", "%d/%m/%Y", "%d-%m-%y", "%m/%d/%Y", "%d.%m.%y %H:%M"])
def test_dates_with_the_day_first(tmp_path: Path, form: str) -> None:
    days = [datetime(2024, 11, 22, tzinfo=UTC) + timedelta(days=k) for k in range(N)]
    found = read(tmp_path, {"date": [day.strftime(form) for day in days], "x": SWING})
    assert is_swing(found, np.arange(N, dtype=float))


@kind("dates that may be read in two ways")
def test_dates_that_may_be_read_in_two_ways(tmp_path: Path) -> None:
    columns = {"date": [f"{k // 10 + 1:02d}/{k % 10 + 1:02d}/2024" for k in range(N)], "x": SWING}
    with pytest.raises(DataError, match=r"(?s)day or the month.*--time-format"):
        read(tmp_path, columns)
    found = read(tmp_path, columns, time_format="%m/%d/%Y")
    assert found.trajectory.t[10] == 31.0  # the first of February


@kind("dates in a form of their own")
@pytest.mark.parametrize("form", ["%d %b %Y", "%Y%m%d-%H%M", "week of %d/%m/%Y"])
def test_dates_in_a_form_of_their_own(tmp_path: Path, form: str) -> None:
    days = [datetime(2024, 3, 1, tzinfo=UTC) + timedelta(days=k) for k in range(N)]
    columns = {"x": SWING, "date": [day.strftime(form) for day in days]}
    with pytest.raises(DataError, match="--time-format"):
        read(tmp_path, columns)
    assert is_swing(read(tmp_path, columns, time_format=form), np.arange(N, dtype=float))
    with pytest.raises(DataError, match="line 2: date is"):
        read(tmp_path, columns, time_format="%H:%M")


@kind("clock times")
@pytest.mark.parametrize(("seconds", "unit"), [(30, "s"), (600, "min"), (7200, "day")])
def test_clock_times(tmp_path: Path, seconds: int, unit: str) -> None:
    begin = datetime(2024, 1, 1, 23, 50, tzinfo=UTC)
    times = [begin + timedelta(seconds=seconds * k) for k in range(N)]
    size = {"s": 1, "min": 60, "day": 86400}[unit]
    for form in ("%H:%M:%S", "%I:%M:%S %p"):
        found = read(tmp_path, {"clock": [one.strftime(form) for one in times], "x": SWING})
        assert found.time.unit == unit
        assert is_swing(found, np.arange(N) * seconds / size)


@kind("dates some seconds apart")
@pytest.mark.parametrize(("seconds", "unit"), [(1, "s"), (30, "s"), (300, "min"), (3600, "day")])
def test_dates_some_seconds_apart(tmp_path: Path, seconds: int, unit: str) -> None:
    begin = datetime(2024, 1, 1, tzinfo=UTC)
    times = [(begin + timedelta(seconds=seconds * k)).isoformat() for k in range(N)]
    found = read(tmp_path, {"at": times, "x": SWING})
    assert found.time.unit == unit
    assert f"in {unit}" in found.notes[0]


@kind("times that fall or stay")
@pytest.mark.parametrize(
    ("change", "remedy"),
    [
        (lambda t: np.tile(t[: N // 2], 2), "2 series one below the other.*--repeats average"),
        (lambda t: np.repeat(t[::2], 2), "10 lines have the time of the line before.*--repeats"),
        (lambda t: np.where(t == 3.0, 2.25, t), "1 of 19 steps fall.*sort them"),
    ],
)
def test_times_that_fall_or_stay(tmp_path: Path, change: Any, remedy: str) -> None:
    with pytest.raises(DataError, match=rf"(?s)Times have to increase.*{remedy}") as caught:
        read(tmp_path, {"t": change(STEP), "x": SWING})
    assert "--trajectory COLUMN" not in str(caught.value)  # there is no such column


@kind("semicolons, tabs and spaces")
@pytest.mark.parametrize("separator", [";", "\t", " ", "   "])
def test_semicolons_tabs_and_spaces(tmp_path: Path, separator: str) -> None:
    columns = {"t": STEP, "x": SWING, "y": GROWTH}
    assert is_swing(read(tmp_path, text(columns, separator)))


@kind("decimal commas")
@pytest.mark.parametrize("separator", [";", "\t"])
def test_decimal_commas(tmp_path: Path, separator: str) -> None:
    content = text({"t": STEP, "x": SWING}, separator).replace(".", ",")
    assert is_swing(read(tmp_path, content))
    with pytest.raises(DataError, match="with a point"):
        read(tmp_path, text({"t": STEP, "x": [f'"{v}"'.replace(".", ",") for v in SWING]}))


@kind("a line of units")
@pytest.mark.parametrize("units", ["s,m", "[s],[m]", "(s),(m)", "s,-"])
def test_a_line_of_units(tmp_path: Path, units: str) -> None:
    head, *rows = text({"t": STEP, "x": SWING}).splitlines()
    found = read(tmp_path, "\n".join([head, units, *rows]))
    assert is_swing(found)
    assert found.time.unit == "s"
    assert found.states[0].unit == ("" if "-" in units else "m")


@kind("lines of comments")
@pytest.mark.parametrize("sign", ["#", "%", "//"])
def test_lines_of_comments(tmp_path: Path, sign: str) -> None:
    head, *rows = text({"t": STEP, "x": SWING}).splitlines()
    lines = [f"{sign} made on Monday, by hand", "", head, *rows[:5], f"{sign} pause", *rows[5:]]
    assert is_swing(read(tmp_path, "\n".join(lines)))
    with pytest.raises(DataError, match="line 8: x is 'one'"):
        read(tmp_path, "\n".join([*lines[:7], "1.75,one", *lines[7:]]))


@kind("a header that is a comment")
def test_a_header_that_is_a_comment(tmp_path: Path) -> None:
    path = tmp_path / "saved.csv"
    for delimiter, header in ((",", "t,x"), (" ", "t x"), (";", "t;x")):
        np.savetxt(path, np.stack([STEP, SWING], axis=1), delimiter=delimiter, header=header)
        assert is_swing(read_csv(path))


@kind("what spreadsheets add")
def test_what_spreadsheets_add(tmp_path: Path) -> None:
    plain = text({"t": STEP, "x": SWING})
    for content in (
        "\ufeff" + plain,
        plain.replace("\n", "\r\n") + "\r\n\r\n",
        "\n".join(",".join(f'"{c}"' for c in row.split(",")) for row in plain.splitlines()),
        plain + ",\n,\n",
    ):
        assert is_swing(read(tmp_path, content))


@kind("no header")
def test_no_header(tmp_path: Path) -> None:
    for content in ("0.0,1.0\n1.0,2.0\n", "", "t\n1\n2\n"):
        with pytest.raises(DataError, match=r"(?s)line 1.*names the columns"):
            read(tmp_path, content)


@kind("cells too many, too few, or no numbers")
@pytest.mark.parametrize("row", ["9.9", "9.9,1,2", "9.9,one", "9.9,inf", "soon,1"])
def test_cells_that_are_no_numbers(tmp_path: Path, row: str) -> None:
    with pytest.raises(DataError, match=f"line {N + 2}"):
        read(tmp_path, text({"t": STEP, "x": SWING}) + row + "\n")


@kind("missing values")
@pytest.mark.parametrize("nothing", ["", "NA", "NaN", "null", "-"])
def test_missing_values(tmp_path: Path, nothing: str) -> None:
    cells = [repr(v) for v in (2 * STEP).tolist()]
    cells[4] = cells[9] = nothing
    columns = {"t": STEP, "x": cells, "y": SWING}
    with pytest.raises(DataError, match=r"(?s)line 6: x.*--missing drop"):
        read(tmp_path, columns)
    dropped = read(tmp_path, columns, missing="drop")
    assert len(dropped.trajectory.t) == N - 2
    filled = read(tmp_path, columns, missing="interpolate")
    np.testing.assert_allclose(filled.trajectory.u[:, 0], 2 * STEP)
    assert "2 lines were left out" in dropped.notes[-1]
    assert "2 cells were filled" in filled.notes[-1]


@kind("a value missing at an end")
@pytest.mark.parametrize("at", [0, N - 1])
def test_a_value_missing_at_an_end(tmp_path: Path, at: int) -> None:
    cells = [repr(v) for v in SWING.tolist()]
    cells[at] = ""
    with pytest.raises(DataError, match=f"line {at + 2}: x is missing at an end"):
        read(tmp_path, {"t": STEP, "x": cells}, missing="interpolate")


@kind("names that no equation can have")
def test_names_that_no_equation_can_have(tmp_path: Path) -> None:
    names = {"größe": "grosse", "2nd": "c2nd", "a b": "a_b", "θ": "theta", "x (m/s)": "x"}
    for label, name in names.items():
        assert read(tmp_path, {"t": STEP, label: SWING}).states[0].name == name
    path = tmp_path / "mine.csv"
    path.write_text(text({"t": STEP, "sin": SWING}))
    assert read_csv(path, taken={"sin"}).states[0].name == "sin_2"


@kind("several trajectories in a file")
def test_several_trajectories_in_a_file(tmp_path: Path) -> None:
    for names in (("a", "b"), ("1", "2"), ("1.0", "2.5")):
        run = np.repeat(names, N)
        columns = {"x": np.tile(SWING, 2), "run": run, "t": np.tile(STEP, 2)}
        found = read(tmp_path, columns, trajectory="run")
        assert found.trajectory.starts == (0, N)
        assert [len(one.t) for one in found.trajectory.pieces] == [N, N]
        with pytest.raises(DataError, match=r"--trajectory run\. "):
            read(tmp_path, columns)  # the column that changes where times begin again
    two = {**columns, "rig": np.repeat(("1", "2"), N)}
    with pytest.raises(DataError, match=r"--trajectory COLUMN\. "):
        read(tmp_path, two)
    shuffled = {"run": np.tile(("a", "b"), N), "t": np.repeat(STEP, 2), "x": np.repeat(SWING, 2)}
    found = read(tmp_path, shuffled, trajectory="run")
    assert [len(one.t) for one in found.trajectory.pieces] == [N, N]
    np.testing.assert_allclose(found.trajectory.u[:, 0], np.tile(SWING, 2))
    again = {"run": np.repeat(("a", "b", "a"), N), "t": np.tile(STEP, 3), "x": np.tile(SWING, 3)}
    with pytest.raises(DataError, match="begins again"):
        read(tmp_path, again, trajectory="run")


@kind("an option that names the time")
@pytest.mark.parametrize("how", [{"inputs": ("time",)}, {"trajectory": "time"}])
def test_an_option_that_names_the_time(tmp_path: Path, how: dict[str, Any]) -> None:
    with pytest.raises(DataError, match="'time' is the time"):
        read(tmp_path, {"time": STEP, "x": SWING, "y": GROWTH}, **how)
    with pytest.raises(DataError, match="no column 'tme'"):
        read(tmp_path, {"time": STEP, "x": SWING}, time="tme")


@kind("separators of thousands")
@pytest.mark.parametrize("separator", [";", "\t"])
@pytest.mark.parametrize("sign", [",", "."])
def test_separators_of_thousands(tmp_path: Path, separator: str, sign: str) -> None:
    counts = [f"{990 + k:,}".replace(",", sign) for k in range(N)]
    other = ["0,5" if sign == "." else "0.5"] * N
    with pytest.raises(DataError, match=rf"line 12: n is '1\{sign}000', which can mean 1000 or"):
        read(tmp_path, text({"t": range(N), "n": counts, "p": other}, separator))
    big = [f"{4990 + k:,}".replace(",", sign) for k in range(N)]  # a sign in each of them
    with pytest.raises(DataError, match="without thousands separators"):
        read(tmp_path, text({"t": range(N), "n": big, "p": other}, separator))
    decimals = text({"t": range(N), "x": [f"{1.25 + k / 8:.3f}" for k in range(N)]}, separator)
    found = read(tmp_path, decimals.replace(".", sign))
    np.testing.assert_allclose(found.trajectory.u[:, 0], [1.25 + k / 8 for k in range(N)])


@kind("times with more digits than numbers have")
@pytest.mark.parametrize("nanoseconds", [100, 1_000, 20_000, 100_000])
def test_times_with_more_digits_than_numbers_have(tmp_path: Path, nanoseconds: int) -> None:
    since_1970 = [1_732_780_000_000_000_000 + nanoseconds * k for k in range(N)]
    seconds = [f"{one // 10**9}.{one % 10**9:09d}" for one in since_1970]
    for t, unit in ((since_1970, 1), (seconds, 1e-9)):
        step = nanoseconds * unit
        if np.spacing(float(t[0])) <= 0.01 * step:
            steps = np.diff(read(tmp_path, {"t": t, "x": SWING}).trajectory.t)
            np.testing.assert_allclose(steps, step, rtol=0.01)
        else:
            with pytest.raises(DataError, match=r"(?s)t is rounded.*- t\[0\]"):
                read(tmp_path, {"t": t, "x": SWING})
    dates = [f"2026-11-22T10:30:00.{nanoseconds * k:09d}" for k in range(N)]
    found = read(tmp_path, {"t": dates, "x": SWING})
    np.testing.assert_allclose(np.diff(found.trajectory.t), nanoseconds * 1e-9, rtol=1e-6)


@pytest.mark.parametrize("t", [np.cumsum(1 + np.arange(N) % 3) * 2.0**-12 + 2.0**24, STEP + 1e9])
def test_large_times_that_are_exact_are_read(tmp_path: Path, t: Array) -> None:
    found = read(tmp_path, {"t": t.tolist(), "x": SWING})
    np.testing.assert_array_equal(found.trajectory.t, t)


@kind("clock times that are none, or of two kinds")
@pytest.mark.parametrize(
    ("text", "why"),
    [("00:60", "up to 59"), ("00:00:75", "up to 59"), ("72:30", "72:30:00 or 01:12:30")],
)
def test_clock_times_that_are_none(tmp_path: Path, text: str, why: str) -> None:
    times = [f"00:{k:02d}" + ":00" * (text.count(":") - 1) for k in range(N)]
    with pytest.raises(DataError, match=rf"(?s)line 22: '{text}' is no clock time.*{why}"):
        read(tmp_path, {"time": [*times, text], "x": [*SWING, 0.0]})
    good = ["23:59", "24:00", *(f"0:{k:02d}" for k in range(1, N - 1))]
    assert is_swing(read(tmp_path, {"time": good, "x": SWING}), np.arange(float(N)))


@kind("a date and a time of day in two columns")
def test_a_date_and_a_time_of_day_in_two_columns(tmp_path: Path) -> None:
    clock = [f"10:{k:02d}:00" for k in range(N)]
    for date in ("2026-11-28", "28.11.2026", "20261128"):
        columns = {"date": [date] * N, "time": clock, "x": SWING}
        with pytest.raises(DataError, match=r"(?s)are the time together.*--time date,time"):
            read(tmp_path, columns)
        found = read(tmp_path, columns, time="date,time")
        assert is_swing(found, np.arange(float(N)))
        assert found.time.unit == "min"


def test_cells_of_decimal_commas_between_commas_are_explained(tmp_path: Path) -> None:
    content = text({"t": STEP, "x": SWING}).replace(".", ",")
    with pytest.raises(DataError, match=r"(?s)4 cells, .* 2 columns.*by semicolons or tabs"):
        read(tmp_path, content)


@pytest.mark.parametrize("separator", [";", ",", "\t"])
def test_the_line_by_which_a_spreadsheet_knows_the_separator(
    tmp_path: Path, separator: str
) -> None:
    content = f"sep={separator}\n" + text({"t": STEP, "x": SWING}, separator)
    assert is_swing(read(tmp_path, content))


@pytest.mark.parametrize("date", ["2026-02-29", "2026-11-28 10:30:00 UTC"])
def test_what_is_no_date_is_explained(tmp_path: Path, date: str) -> None:
    dates = [f"2026-02-{k + 1:02d}" for k in range(N)]
    with pytest.raises(DataError, match=r"(?s)line 22: .* is no date: .*--time-format"):
        read(tmp_path, {"t": [*dates, date], "x": [*SWING, 0.0]})


def test_truth_values_and_long_cells_are_explained(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"(?s)valve is 'False'.*1 for true and 0 for false"):
        read(tmp_path, {"t": STEP, "x": SWING, "valve": SWING > 0})
    with pytest.raises(DataError, match=r"x is '9{60}'\.\.\.\s"):
        read(tmp_path, {"t": STEP, "x": ["9" * 400] * N})
