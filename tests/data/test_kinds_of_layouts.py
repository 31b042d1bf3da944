"""How tables lie over time, and what is no value in them: several members of each kind."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from input_kinds import kind

from mdbench.data.arrangement import Reading
from mdbench.data.cells import codes_in, is_missing
from mdbench.data.columns import TIME_FORMS
from mdbench.data.csv import read_csv
from mdbench.data.date_numbers import FORMS
from mdbench.data.readers import READERS, endings
from mdbench.errors import DataError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from mdbench.data.csv import CsvRecording

    Array = NDArray[np.float64]

N = 40
K = np.arange(N, dtype=float)
SWING = 5.0 + 3.0 * np.cos(0.3 * K)
DECAY = 8.0 * np.exp(-0.1 * K)
BEGIN = datetime(2024, 12, 20, 22, 50, tzinfo=UTC)


def write(folder: Path, columns: Mapping[str, Any], before: str = "") -> Path:
    rows = zip(*([str(one) for one in values] for values in columns.values()), strict=True)
    path = folder / "mine.csv"
    path.write_text(before + "\n".join([",".join(columns), *map(",".join, rows)]) + "\n")
    return path


def read(folder: Path, columns: Mapping[str, Any], **how: Any) -> CsvRecording:
    return read_csv(write(folder, columns), Reading(**how))


def moments(**step: float) -> list[datetime]:
    return [BEGIN + timedelta(**step) * k for k in range(N)]


def put(values: Array, cells: Mapping[int, Any]) -> list[Any]:
    return [cells.get(k, value) for k, value in enumerate(values.tolist())]


def is_right(found: CsvRecording, t: Array = K, *states: Array) -> bool:
    series = found.trajectory
    expected = np.stack(states or (SWING,), axis=1)
    return bool(
        series.u.shape == expected.shape
        and np.allclose(series.t - series.t[0], t - t[0])
        and np.allclose(series.u, expected)
    )


@kind("columns that are no states")
@pytest.mark.parametrize("cells", [["ok", "bad"] * 20, ["x"] * N, [f"note {k}" for k in range(N)]])
def test_columns_of_text_are_left_out_where_that_is_asked_for(
    tmp_path: Path, cells: list[str]
) -> None:
    columns = {"t": K, "x": SWING, "quality": cells, "remark": cells}
    with pytest.raises(DataError, match="--ignore quality,remark"):
        read(tmp_path, columns)
    for ignore in (("quality", "remark"), ("quality", "rem*"), ("*ar*", "qual*")):
        assert is_right(read(tmp_path, columns, ignore=ignore))
    assert is_right(read(tmp_path, columns, states=("x",)))
    both = read(tmp_path, {"a": DECAY, **columns}, states=("x", "a"))
    assert is_right(both, K, SWING, DECAY)
    for wrong in ({"ignore": ("qualty",)}, {"states": ("y",)}, {"ignore": ("z*",)}):
        with pytest.raises(DataError, match="has no column"):
            read(tmp_path, columns, **wrong)
    with pytest.raises(DataError, match="'t' is named as a state"):
        read(tmp_path, columns, states=("x", "t"))


@kind("flags, counters and covariates of numbers")
@pytest.mark.parametrize(
    ("values", "note"),
    [
        ([0] * 20 + [1] * 20, "has the values 0 and 1 alone"),
        (range(7, 7 + N), "one more in each row"),
        (30 * K, "rises as the time does"),
        ([4.5, 4.6] * 20, "has the values 4.5 and 4.6 alone"),
    ],
)
def test_columns_of_numbers_that_are_no_states_are_named(
    tmp_path: Path, values: Sequence[float], note: str
) -> None:
    found = read(tmp_path, {"t": K, "flag": values, "x": SWING})
    assert any(line.startswith("flag: ") and note in line for line in found.notes)
    assert "--ignore flag" in " ".join(found.notes)
    assert not any(line.startswith("x: ") for line in found.notes)


@kind("marks of missing values")
@pytest.mark.parametrize(
    "mark",
    [
        ".",
        "NA",
        "-",
        "--",
        "n/a",
        "#N/A",
        "NULL",
        "nan",
        "?",
        "n.d.",
        "BDL",
        "<NA>",
        "<0.5",
        "> 90",
    ],
)
def test_marks_are_listed_with_what_to_type(tmp_path: Path, mark: str) -> None:
    assert is_missing(mark)
    columns = {"t": K, "x": put(SWING, {4: mark, 9: mark}), "y": put(DECAY, {7: mark, 9: ""})}
    with pytest.raises(DataError, match=r"line 6: x is") as caught:
        read(tmp_path, columns)
    assert f"x: 2 of {mark!r}; y: 1 of {mark!r}, 1 of ''" in str(caught.value)
    assert "--missing drop" in str(caught.value)
    assert ("below a limit" in str(caught.value)) == (mark[0] in "<>" and mark != "<NA>")
    found = read(tmp_path, columns, missing="drop")
    rows = [k for k in range(N) if k not in {4, 7, 9}]
    assert is_right(found, K[rows], SWING[rows], DECAY[rows])


@kind("signs of one's own for no value")
@pytest.mark.parametrize("sign", ["M", "void", "sensor off", "x"])
def test_signs_of_ones_own(tmp_path: Path, sign: str) -> None:
    columns = {"t": K, "x": put(SWING, {4: sign})}
    with pytest.raises(DataError, match=r"(?s)--na-values=.*--missing drop"):
        read(tmp_path, columns)
    rows = np.delete(np.arange(N), 4)
    found = read(tmp_path, columns, missing="drop", na_values=(sign.upper(),))
    assert is_right(found, K[rows], SWING[rows])


@kind("codes of no value")
@pytest.mark.parametrize(
    "codes",
    [
        [-9999] * 3,
        [-999.25, -999.25],
        [999.9] * 4,
        ["999.90", "999.9"],
        [-9999, -8888, -7777],
        [-99, -99],
        [1e20, 1e20],
        [9.96921e36, 9.96921e36],
        [-32768] * 2,
        [65535] * 2,
        [6553.5] * 3,
        [-1e4, -1e4, -1e4, 2e4, 2e4, 2e4],
    ],
)
def test_codes_are_named_and_asked_about(tmp_path: Path, codes: list[Any]) -> None:
    places = {3 + 2 * k: code for k, code in enumerate(codes)}
    for columns in ({"t": K, "x": put(SWING, places)}, {"x": put(SWING, places), "t": K}):
        with pytest.raises(DataError, match="far from its others") as caught:
            read(tmp_path, columns)
        for code in {f"{float(code):.10g}" for code in codes}:
            assert code in str(caught.value)
        typed = caught.value.hint.partition("--na-values=")[2].partition(" ")[0]
        rows = np.delete(np.arange(N), list(places))
        found = read(tmp_path, columns, na_values=tuple(typed.split(",")), missing="drop")
        assert is_right(found, K[rows], SWING[rows])
        kept = read(tmp_path, columns, na_values=("none",))
        assert len(kept.trajectory.t) == N


@pytest.mark.parametrize(
    "values",
    [
        100 / (1 + 9 * np.exp(-0.1 * K)),
        np.exp(K),
        np.round(np.exp(K / 4)),
        np.round(999 * np.exp(-K / 4)),
        np.clip(np.round(512 + 600 * np.sin(K / 5)), 0, 1023),
        np.where(K % 20 == 0, 100.0, 0.0),
        np.round(99 * np.sin(K / 3)),
        np.where(K == 7, 1000.0, SWING),
        np.round(9999 * np.exp(-(((K - 20) / 5) ** 2))),
    ],
)
def test_no_code_is_seen_in_what_was_measured(values: Array) -> None:
    assert codes_in(values) == {}


@kind("lines before the table")
@pytest.mark.parametrize(
    "before",
    ["Station A\n", "Station,A\nserial,1,2\n\n", "a,b,c\n", "made by X\nat noon\n" * 5, "t0 = 3\n"],
)
def test_lines_before_the_table(tmp_path: Path, before: str) -> None:
    columns = {"time": K, "x": SWING}
    lines = before.count("\n")
    path = write(tmp_path, columns, before)
    with pytest.raises(DataError, match=rf"(?s)in line {lines + 1}: 'time,x'.*--skip {lines}$"):
        read_csv(path)
    assert is_right(read_csv(path, Reading(skip=lines)))
    with pytest.raises(DataError, match="--skip leaves out 999"):
        read_csv(path, Reading(skip=999))


@kind("no column of times")
@pytest.mark.parametrize(("step", "unit"), [("0.5", ""), ("2 min", "min"), ("1e-3 s", "s")])
def test_no_column_of_times(tmp_path: Path, step: str, unit: str) -> None:
    columns = {"x": SWING, "y": DECAY}
    with pytest.raises(DataError, match=r"(?s)No column rises throughout.*--step 0.5"):
        read(tmp_path, columns)
    found = read(tmp_path, columns, step=step)
    assert is_right(found, float(step.split(maxsplit=1)[0]) * K, SWING, DECAY)
    assert found.time.unit == unit
    german = tmp_path / "german.csv"
    german.write_text(pd.DataFrame(columns).to_csv(index=False, sep=";", decimal=","))
    assert is_right(read_csv(german, Reading(step="1.125")), 1.125 * K, SWING, DECAY)
    two = {"run": [1] * 20 + [2] * 20, **columns}
    series = read(tmp_path, two, step=step, trajectory="run").trajectory
    np.testing.assert_allclose(series.t[20:], series.t[:20])
    with pytest.raises(DataError, match="is the time by its name"):
        read(tmp_path, {"t": K, **columns}, step=step)


@kind("dates and clock times as whole numbers")
@pytest.mark.parametrize(
    ("form", "step", "unit", "size"),
    [
        ("%Y%m%d", {"days": 1}, "day", 1.0),
        ("%Y%m%d%H", {"hours": 1}, "day", 1 / 24),
        ("%Y%m%d%H%M", {"minutes": 10}, "min", 10.0),
        ("%Y%m%d%H%M%S", {"seconds": 10}, "s", 10.0),
        ("%Y%j", {"days": 1}, "day", 1.0),
        ("%y%m%d", {"days": 1}, "day", 1.0),
        ("%H%M", {"minutes": 10}, "min", 10.0),
        ("%H%M%S", {"seconds": 30}, "s", 30.0),
        ("%G%V", {"weeks": 1}, "week", 1.0),
    ],
)
def test_dates_as_whole_numbers(
    tmp_path: Path, form: str, step: dict[str, float], unit: str, size: float
) -> None:
    texts = [one.strftime(form) for one in moments(**step)]
    plain = [str(int(text)) for text in texts]  # without zeros in front
    for cells, label in itertools.product(
        (texts, plain, [f"{text}.0" for text in plain]), ("time", "date")
    ):
        found = read(tmp_path, {label: cells, "x": SWING})
        assert is_right(found, size * K)
        assert found.time.unit == unit
        assert "read as" in found.notes[0]
    turned = read(tmp_path, {"time": texts[::-1], "x": SWING[::-1]})
    assert is_right(turned, size * K)


def test_the_names_of_forms_are_those_of_the_option() -> None:
    assert set(FORMS) == set(TIME_FORMS)


def test_numbers_stay_numbers_where_somebody_says_so(tmp_path: Path) -> None:
    days = [one.strftime("%Y%m%d") for one in moments(days=1)]
    found = read(tmp_path, {"t": days, "x": SWING}, time_format="number")
    np.testing.assert_array_equal(found.trajectory.t, [float(day) for day in days])


@pytest.mark.parametrize(
    "t",
    [
        1900 + K,
        1900 + np.cumsum(1 + K % 3),
        100 * K,
        K**2 + 100,
        np.cumsum(1 + K % 7) * 37,
        202400 + K * 7,
        1_700_000_000 + 60 * K,
    ],
)
def test_plain_numbers_are_no_dates(tmp_path: Path, t: Array) -> None:
    found = read(tmp_path, {"year" if t[0] == 1900 else "t": t.astype(int), "x": SWING})
    np.testing.assert_array_equal(found.trajectory.t, t)
    assert found.time.unit == ""


def test_numbers_that_are_dates_in_two_ways_are_asked_about(tmp_path: Path) -> None:
    months = [202401, 202403, 202404, 202406, 202409, 202410, 202412, 202501, 202503, 202504]
    months += [one + 200 for one in months]
    columns = {"t": months, "x": SWING[:20]}
    with pytest.raises(DataError, match=r"(?s)may be YYYYMM or YYYYWW.*--time-format YYYYMM"):
        read(tmp_path, columns)
    by_month = read(tmp_path, columns, time_format="YYYYMM")
    assert by_month.time.unit == "month"
    assert by_month.trajectory.t[-1] == 24 + 15
    assert read(tmp_path, columns, time_format="YYYYWW").time.unit == "week"


@kind("weeks, months and quarters")
@pytest.mark.parametrize(
    ("texts", "unit", "size"),
    [
        ([one.strftime("%G-W%V") for one in moments(weeks=1)], "week", 1.0),
        ([one.strftime("%GW%V") for one in moments(weeks=1)], "week", 1.0),
        ([one.strftime("%G-W%V-%u") for one in moments(days=1)], "week", 1 / 7),
        ([f"{2020 + k // 12}-{k % 12 + 1:02d}" for k in range(N)], "month", 1.0),
        ([f"{2020 + k // 12}/{k % 12 + 1}" for k in range(N)], "month", 1.0),
        ([f"{2020 + k // 12}M{k % 12 + 1:02d}" for k in range(N)], "month", 1.0),
        ([f"{2020 + k // 4}Q{k % 4 + 1}" for k in range(N)], "quarter", 1.0),
        ([f"{2020 + k // 4}-Q{k % 4 + 1}" for k in range(N)], "quarter", 1.0),
    ],
)
def test_weeks_months_and_quarters(
    tmp_path: Path, texts: list[str], unit: str, size: float
) -> None:
    for label in ("period", "time"):
        found = read(tmp_path, {"x": SWING, label: texts})
        assert is_right(found, size * K)
        assert found.time.unit == unit
    with pytest.raises(DataError, match="line 42"):
        read(
            tmp_path, {"t": [*texts, "2024-W60" if unit == "week" else "2024-13"], "x": [*SWING, 0]}
        )


@kind("days of a calendar")
@pytest.mark.parametrize("first", [45_292.0, 60_310.0, 2_460_310.5, 739_252.0])
def test_days_of_a_calendar(tmp_path: Path, first: float) -> None:
    for step, unit, size in ((1.0, "day", 1.0), (1 / 24, "day", 1 / 24), (1 / 288, "min", 5.0)):
        t = [repr(first + step * k) for k in range(N)]
        found = read(tmp_path, {"Date": t, "x": SWING})
        assert found.time.unit == unit
        np.testing.assert_allclose(found.trajectory.t, size * K, atol=1e-4)


@pytest.mark.parametrize(("label", "size"), [("timestamp", 1), ("unix_ms", 1000), ("epoch", 1)])
def test_seconds_since_1970(tmp_path: Path, label: str, size: int) -> None:
    for seconds, unit, step in ((1, "s", 1.0), (120, "min", 2.0), (3600, "day", 1 / 24)):
        t = [(1_700_000_000 + seconds * k) * size for k in range(N)]
        found = read(tmp_path, {label: t, "x": SWING})
        assert found.time.unit == unit
        assert "since 1970" in found.notes[0]
        np.testing.assert_allclose(found.trajectory.t, step * K, rtol=1e-12)


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([one.strftime("%d-%b-%Y") for one in moments(days=1)], "--time-format '%d-%b-%Y'"),
        ([one.strftime("%b %d %Y %H:%M") for one in moments(hours=1)], "'%b %d %Y %H:%M'"),
        ([f"{k} s" for k in range(N)], "Write the unit into the header, t .s."),
        (put(K, {4: ""}), "Every line has to have a time.*--missing drop"),
        (put(K, {20: "t"}), "t is 't'"),
    ],
)
def test_times_written_otherwise_are_explained(
    tmp_path: Path, cells: list[Any], message: str
) -> None:
    with pytest.raises(DataError, match=f"(?s){message}"):
        read(tmp_path, {"t": cells, "x": SWING})


def test_a_header_in_the_middle_is_named(tmp_path: Path) -> None:
    columns = {"t": put(K, {20: "t"}), "x": put(SWING, {20: "x"})}
    with pytest.raises(DataError, match="line 22 is the header again"):
        read(tmp_path, columns)


@kind("spans of time")
@pytest.mark.parametrize("seconds", [5.0, 90.0, 0.25])
def test_spans_of_time(tmp_path: Path, seconds: float) -> None:
    spans = pd.to_timedelta(seconds * K, unit="s")
    texts = [*map(str, spans)], [str(one.to_pytimedelta()) for one in spans]
    for cells in texts:
        found = read(tmp_path, {"t": cells, "x": SWING})
        size = 60.0 if found.time.unit == "min" else 1.0
        assert is_right(found, seconds * K / size)


@kind("parts of a time in several columns")
@pytest.mark.parametrize(
    ("parts", "step", "unit", "size"),
    [
        (("%Y", "%m", "%d"), {"days": 1}, "day", 1.0),
        (("%Y", "%m", "%d", "%H"), {"hours": 1}, "day", 1 / 24),
        (("%Y", "%m", "%d", "%H", "%M"), {"minutes": 30}, "min", 30.0),
        (("%Y", "%m", "%d", "%H", "%M", "%S"), {"seconds": 20}, "s", 20.0),
        (("%Y", "%j"), {"days": 1}, "day", 1.0),
        (("%G", "%V"), {"weeks": 1}, "week", 1.0),
        (("%Y-%m-%d", "%H"), {"hours": 1}, "day", 1 / 24),
        (("%d.%m.%Y", "%H:%M"), {"minutes": 30}, "min", 30.0),
        (("%Y%m%d", "%H%M"), {"minutes": 30}, "min", 30.0),
        (("%Y", "%b", "%d"), {"days": 1}, "day", 1.0),
    ],
)
def test_parts_of_a_time(
    tmp_path: Path, parts: tuple[str, ...], step: dict[str, float], unit: str, size: float
) -> None:
    names = {"%Y": "year", "%G": "year", "%m": "month", "%b": "month", "%d": "day", "%H": "hour"}
    names |= {"%M": "minute", "%S": "second", "%j": "doy", "%V": "week"}
    names |= {"%Y-%m-%d": "date", "%d.%m.%Y": "date", "%Y%m%d": "date", "%H:%M": "time"}
    names |= {"%H%M": "time"}
    at = moments(**step)
    columns: dict[str, Any] = {names[part]: [one.strftime(part) for one in at] for part in parts}
    typed = ",".join(columns)
    with pytest.raises(DataError, match=rf"(?s)the time together.*--time {typed}$"):
        read(tmp_path, columns | {"x": SWING})
    for order in ({**columns, "x": SWING}, {"x": SWING, **columns}):
        found = read(tmp_path, order, time=typed)
        assert is_right(found, size * K)
        assert found.time.unit == unit
    with pytest.raises(DataError, match="x is no part of a time"):
        read(tmp_path, columns | {"x": SWING}, time=f"{typed},x")


@kind("a line for each value")
@pytest.mark.parametrize("label", ["species", "variable", "Tag", "sensor", "what"])
@pytest.mark.parametrize("order", ["by time", "by name"])
def test_a_line_for_each_value(tmp_path: Path, label: str, order: str) -> None:
    whole = pd.DataFrame({"t": K, "A": SWING, "B": DECAY})
    long = whole.melt("t", var_name=label, value_name="count")
    if order == "by time":
        long = long.sort_values(["t", label])
    columns = {name: long[name].tolist() for name in long}
    with pytest.raises(DataError, match=f"--pivot {label}") as caught:
        read(tmp_path, columns)
    assert ("Only one of both is right" in str(caught.value)) == (label == "what")
    assert is_right(read(tmp_path, columns, pivot=label), K, SWING, DECAY)
    missing = {name: values[:-1] for name, values in columns.items()}
    with pytest.raises(DataError, match="B is ''"):
        read(tmp_path, missing, pivot=label)
    twice = {name: [*values, values[-1]] for name, values in columns.items()}
    with pytest.raises(DataError, match=r"(?s)has two values at 39.*--repeats average"):
        read(tmp_path, twice, pivot=label)
    assert is_right(read(tmp_path, twice, pivot=label, repeats="average"), K, SWING, DECAY)
    with pytest.raises(DataError, match=r"(?s)count has .* different texts in 80 lines"):
        read(tmp_path, columns, pivot="count")
    with pytest.raises(DataError, match=r"(?s)there are 2 columns.*--ignore"):
        read(tmp_path, columns | {"sd": [0.1] * (2 * N)}, pivot=label)


@kind("repeats of a measurement")
@pytest.mark.parametrize("count", [2, 3, 5])
def test_repeats_of_a_measurement(tmp_path: Path, count: int) -> None:
    off = np.linspace(-0.4, 0.4, count)
    in_turn = {
        "t": np.repeat(K, count),
        "x": np.repeat(SWING, count) + np.tile(off, N),
    }
    below = {"t": np.tile(K, count), "x": np.tile(SWING, count) + np.repeat(off, N)}
    for columns in (in_turn, below):
        with pytest.raises(DataError, match="--repeats average") as caught:
            read(tmp_path, columns)
        assert "--trajectory COLUMN" not in str(caught.value)
        found = read(tmp_path, columns, repeats="average")
        assert is_right(found)
        assert f"means of {N * count} lines at {N} times" in found.notes
    numbered = {"replicate": np.tile(np.arange(count), N), **in_turn}
    with pytest.raises(
        DataError, match=r"(?s)--trajectory replicate.*--repeats average --ignore repl"
    ):
        read(tmp_path, numbered)
    assert is_right(read(tmp_path, numbered, repeats="average", ignore=("replicate",)))
    apart = read(tmp_path, numbered, trajectory="replicate").trajectory
    assert [len(one.t) for one in apart.pieces] == [N] * count


def test_a_column_that_separates_nothing(tmp_path: Path) -> None:
    columns = {"t": K, "x": SWING, "y": DECAY}
    with pytest.raises(DataError, match="x has 40 different texts in 40 lines"):
        read(tmp_path, columns, trajectory="x")


@kind("the newest first")
def test_the_newest_first(tmp_path: Path) -> None:
    back = slice(None, None, -1)
    days = [one.date() for one in moments(days=1)]
    clock = [one.strftime("%H:%M") for one in moments(minutes=10)]
    for cells, size in ((K, 1.0), (days, 1.0), (clock, 10.0)):
        found = read(tmp_path, {"time": list(cells)[back], "x": SWING[back]})
        assert is_right(found, size * K)
        assert "turned round" in " ".join(found.notes)
    two = {"run": [1] * N + [2] * N, "t": [*K[back], *K[back]], "x": [*SWING[back], *DECAY[back]]}
    found = read(tmp_path, two, trajectory="run")
    np.testing.assert_allclose(found.trajectory.u[:, 0], [*SWING, *DECAY])
    with pytest.raises(DataError, match="No column rises"):  # what decays is no time
        read(tmp_path, {"x": DECAY, "y": SWING})


@kind("the hour that comes twice")
@pytest.mark.parametrize("minutes", [10, 15, 30])
@pytest.mark.parametrize("form", ["%Y-%m-%d %H:%M", "%d.%m.%Y %H:%M", "%Y-%m-%dT%H:%M:%S"])
def test_the_hour_that_comes_twice(tmp_path: Path, minutes: int, form: str) -> None:
    zone = ZoneInfo("Europe/Berlin")
    for first in (datetime(2024, 10, 26, 22, tzinfo=UTC), datetime(2024, 3, 30, 22, tzinfo=UTC)):
        at = [(first + timedelta(minutes=minutes) * k).astimezone(zone) for k in range(N)]
        columns = {"date": [one.strftime(form) for one in at], "x": SWING}
        if first.month == 10:
            with pytest.raises(DataError, match=r"(?s)comes twice.*--time-zone Europe/Berlin"):
                read(tmp_path, columns)
        assert is_right(read(tmp_path, columns, time_zone="Europe/Berlin"), minutes * K)
    with pytest.raises(DataError, match="no time zone 'Europe/Berln'"):
        read(tmp_path, columns, time_zone="Europe/Berln")
    with pytest.raises(DataError, match="t has no dates, and --time-zone"):
        read(tmp_path, {"t": K, "x": SWING}, time_zone="Europe/Berlin")


@kind("files that pandas reads")
def test_files_that_pandas_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pd.DataFrame({"date": moments(hours=1), "x": SWING, "y": put(DECAY, {4: None})})
    table["date"] = table["date"].dt.tz_localize(None)
    table.to_parquet(tmp_path / "a.parquet")
    table.set_index("date").to_parquet(tmp_path / "b.parquet")
    table.to_feather(tmp_path / "c.feather")
    for name in ("a.parquet", "b.parquet", "c.feather"):
        with pytest.raises(DataError, match="y is ''"):
            read_csv(tmp_path / name)
        found = read_csv(tmp_path / name, Reading(ignore=("y",)))
        assert is_right(found, K / 24)
        assert found.time.unit == "day"
    (tmp_path / "bad.parquet").write_text("t,x\n1,2\n")
    with pytest.raises(DataError, match=r"(?s)bad\.parquet cannot be read.*mdbench\.run"):
        read_csv(tmp_path / "bad.parquet")
    # A spreadsheet takes a package that may be missing.
    (tmp_path / "sheet.xlsx").write_bytes(b"PK\x03\x04")
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    with pytest.raises(
        UnavailableError, match=r"(?s)openpyxl, which is not installed.*pip install"
    ):
        read_csv(tmp_path / "sheet.xlsx")


def test_a_spreadsheet_is_read(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    pd.DataFrame({"t": K, "x": SWING}).to_excel(tmp_path / "a.xlsx", index=False)
    assert is_right(read_csv(tmp_path / "a.xlsx"))


def test_one_table_has_all_endings() -> None:
    assert set(endings("points")) == {".csv", ".npz", ".ply", ".obj"}
    assert all(READERS.load(ending).views for ending in READERS.names())
    assert {".csv", ".npz", ".mat", ".h5", ".parquet", ".xlsx", ".tsv"} <= set(endings("series"))
    assert ".txt" not in endings("series", in_folders=True)  # notes lie next to data
