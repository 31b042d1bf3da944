"""Files of many fields as people have them: what is said, what is typed then, and what is read.

Each is made of a formula.  Without options it is read right, or refused with a remedy.  Each option
that is typed next is in the message before, and at the end the values are those of the formula.
"""

from __future__ import annotations

import gzip
import re
import shlex
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest

from mdbench.datatypes.equations.options import OWN_OPTIONS
from mdbench.datatypes.ode.recordings import UserRecording, read_recording
from mdbench.errors import DataError
from mdbench.runs.options import parse_words

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

N = 40
K = np.arange(N, dtype=float)
GROWTH = 12.0 / (1.0 + 11.0 * np.exp(-0.25 * K))  # dx/dt = 0.25 x (1 - x/12), t in rows
DECAY = 8.0 * np.exp(-0.1 * K)  # dy/dt = -0.1 y
SWING = 5.0 + 3.0 * np.cos(0.3 * K)
BEGIN = datetime(2024, 12, 20, 8, 0)  # noqa: DTZ001 - a clock on a wall


def table(separator: str = ",", head: bool = True, **columns: Any) -> str:
    """Return the text of columns."""
    rows = [separator.join(columns)] if head else []
    rows += [separator.join(map(_text, row)) for row in zip(*columns.values(), strict=True)]
    return "\n".join(rows) + "\n"


def _text(cell: Any) -> str:
    return repr(float(cell)) if isinstance(cell, float) else str(cell)


def dates(form: str, **step: float) -> list[str]:
    """Return N dates at equal steps."""
    return [(BEGIN + timedelta(**step) * k).strftime(form) for k in range(N)]


def put(values: Array, cells: dict[int, Any]) -> list[Any]:
    """Return values, of which some are replaced by other cells."""
    return [cells.get(k, value) for k, value in enumerate(values.tolist())]


def several(count: int, values: Sequence[Any] | Array) -> list[Any]:
    """Return values of one series after the other."""
    return list(values) * count


@dataclass(frozen=True)
class OwnFile:
    """A file, and what has to happen.

    Attributes
    ----------
    origin
        Where it comes from.
    content
        Its text, or what writes it.
    states
        The values of the states, as the formula gives them.
    t
        The times, from the first on.
    says
        Messages that refuse it, one after the other, and what is typed after each.
    typed
        What is typed at once: nobody can see it in the file.
    notes
        What has to be said of it in the end.
    unit
        Of the times.
    pieces
        Trajectories.
    """

    origin: str
    content: str | Callable[[Path], object]
    states: Sequence[Any]
    t: Any = field(default_factory=lambda: K)
    says: Sequence[tuple[str, str]] = ()
    typed: str = ""
    notes: Sequence[str] = ()
    unit: str = ""
    pieces: int = 1
    ending: str = ".csv"


def gone(values: Array, *rows: int) -> Array:
    """Return values without those of some rows."""
    return np.delete(values, rows)


TIDE: dict[str, Any] = {
    "yyyy": dates("%Y", hours=6),
    "mm": dates("%m", hours=6),
    "dd": dates("%d", hours=6),
    "hh": dates("%H", hours=6),
    "mi": dates("%M", hours=6),
}
CYCLER: dict[str, Any] = {
    "Test_Time(s)": K,
    "Step_Index": [1] * 20 + [2] * 20,
    "Voltage(V)": SWING,
}
AUTUMN = [
    datetime(2024, 10, 26, 22, tzinfo=ZoneInfo("UTC")) + timedelta(minutes=20 * k) for k in range(N)
]
LOCAL = [one.astimezone(ZoneInfo("Europe/Berlin")).strftime("%Y-%m-%d %H:%M") for one in AUTUMN]
WEEKS = [datetime(2024, 10, 7) + timedelta(weeks=k) for k in range(N)]  # noqa: DTZ001
LONG_TIME = [value for value in K.tolist() for _ in range(2)]
BOTH = [value for pair in zip(GROWTH, DECAY, strict=True) for value in pair]
CLOCK = [datetime(2024, 1, 1, 23, 10) + timedelta(minutes=5 * k) for k in range(N)]  # noqa: DTZ001


def _parquet(path: Path) -> None:
    pd.DataFrame({"time_s": K, "E": SWING, "I": DECAY}).to_parquet(path)


def _span(path: Path) -> None:
    spans = pd.to_timedelta(K * 5, unit="s")
    pd.DataFrame({"elapsed": spans, "bpm": SWING}).to_parquet(path)


def _packed(path: Path) -> None:
    path.write_bytes(gzip.compress(table(t=K, x=GROWTH).encode()))


def _arrays(path: Path) -> None:
    np.savez(path, t=K, u=np.stack([GROWTH, DECAY], axis=1))


def _columns(path: Path) -> None:
    np.savez(path, time=K, biomass=GROWTH, substrate=DECAY)


def _matlab(path: Path) -> None:
    from scipy.io import savemat  # noqa: PLC0415

    savemat(path, {"t": K, "volt": SWING, "amp": DECAY})


def _hdf5(path: Path) -> None:
    import h5py  # noqa: PLC0415

    with h5py.File(path, "w") as file:
        file["time"], file["strain"] = K, SWING


FILES = [
    OwnFile(
        "chemostat, a German spreadsheet",
        table(";", Zeit=K, OD600=GROWTH, Substrat=DECAY).replace(".", ","),
        [GROWTH, DECAY],
    ),
    OwnFile(
        "electrocardiogram without a clock",
        table(lead_I=SWING, lead_II=DECAY),
        [SWING, DECAY],
        0.004 * K,
        says=[("No column rises.*--step", "--step '0.004 s'")],
        unit="s",
    ),
    OwnFile(
        "photon counter, one column",
        table(counts=DECAY),
        [DECAY],
        0.5 * K,
        says=[("too few columns.*equal steps apart", "--step 0.5")],
    ),
    OwnFile(
        "stock and flow, dates as numbers",
        table(date=dates("%Y%m%d", days=1), stock=GROWTH),
        [GROWTH],
        notes=["read as YYYYMMDD"],
        unit="day",
    ),
    OwnFile(
        "tree rings with three codes",
        table(year=1950 + np.arange(N), width=put(SWING, {3: -999, 9: -999, 30: -999})),
        [gone(SWING, 3, 9, 30)],
        gone(K, 3, 9, 30),
        says=[("width has 3 cells of -999, far", "--na-values=-999 --missing drop")],
        notes=["3 lines were left out"],
    ),
    OwnFile(
        "traffic counter, a date and an hour",
        table(date=dates("%d.%m.%Y", hours=1), hour=dates("%H", hours=1), cars=SWING),
        [SWING],
        K / 24,
        says=[("date and hour are the time together", "--time date,hour")],
        unit="day",
    ),
    OwnFile(
        "glucose clamps of two people",
        table(
            subject=["A"] * N + ["B"] * N,
            minute=several(2, K),
            glucose=[*put(SWING, {5: "."}), *DECAY.tolist()],
        ),
        [np.concatenate([gone(SWING, 5), DECAY])],
        np.concatenate([gone(K, 5), K]),
        says=[
            ("several trajectories, subject names 2", "--trajectory subject"),
            (r"glucose is '\.'", "--missing drop"),
        ],
        pieces=2,
    ),
    OwnFile(
        "seismogram with a preamble",
        "Network XX\nStation: A01\nChannel HHZ, gain 3\n\n" + table(counts=SWING, quality=DECAY),
        [SWING],
        0.01 * K,
        says=[
            ("begin in line 5", "--skip 4"),
            ("no column is left for the states.*--step", "--step 0.01"),
        ],
        typed="--ignore quality",
    ),
    OwnFile(
        "tide gauge, five columns of time",
        table(" ", **TIDE, level=put(SWING, {7: 9999.0, 8: 9999.0})),
        [gone(SWING, 7, 8)],
        gone(K, 7, 8) / 4,
        says=[
            ("are the time together", "--time yyyy,mm,dd,hh,mi"),
            ("level has 2 cells of 9999", "--na-values=9999 --missing drop"),
        ],
        unit="day",
    ),
    OwnFile(
        "sunspots by month",
        table(month=[f"{2020 + k // 12}{k % 12 + 1:02d}" for k in range(N)], spots=SWING),
        [SWING],
        notes=["read as YYYYMM"],
        unit="month",
    ),
    OwnFile(
        "influenza, a year and a week",
        table(
            year=[one.isocalendar()[0] for one in WEEKS],
            week=[one.isocalendar()[1] for one in WEEKS],
            cases=GROWTH,
        ),
        [GROWTH],
        says=[("year and week are the time together", "--time year,week")],
        unit="week",
    ),
    OwnFile(
        "sewage, weeks after ISO",
        table(week=[one.strftime("%G-W%V") for one in WEEKS], copies=SWING),
        [SWING],
        unit="week",
    ),
    OwnFile(
        "dengue, weeks as numbers",
        table(epiweek=[one.strftime("%G%V") for one in WEEKS], cases=GROWTH),
        [GROWTH],
        typed="--time epiweek",
        notes=["read as YYYYWW"],
        unit="week",
    ),
    OwnFile(
        "heat meter through the end of summer time",
        table(timestamp=LOCAL, heat=SWING),
        [SWING],
        20 * K,
        says=[("clocks were put back", "--time-zone Europe/Berlin")],
        unit="min",
    ),
    OwnFile(
        "gene expression, a line for each value",
        table(time=LONG_TIME, gene=several(N, ["clb2", "sic1"]), level=BOTH),
        [GROWTH, DECAY],
        says=[("gene names 2 quantities", "--pivot gene")],
    ),
    OwnFile(
        "plate reader, elapsed clock times",
        table(Time=[f"{k // 60}:{k % 60:02d}:00" for k in range(0, 10 * N, 10)], A1=GROWTH),
        [GROWTH],
        10 * K,
        unit="min",
    ),
    OwnFile(
        "three injections at each time",
        table(
            t=[value for value in K.tolist() for _ in range(3)],
            area=[y + off for y in DECAY.tolist() for off in (-0.25, 0.0, 0.25)],
        ),
        [DECAY],
        says=[("have the time of the line before", "--repeats average")],
        notes=["means of 120 lines at 40 times"],
    ),
    OwnFile(
        "laboratory system, newest first",
        table(date=dates("%Y-%m-%d", days=1)[::-1], lactate=GROWTH[::-1].tolist()),
        [GROWTH],
        notes=["turned round"],
        unit="day",
    ),
    OwnFile(
        "spectrometer log with words",
        table(t=K, lamp=["on"] * N, comment=["ok", "drift"] * (N // 2), counts=SWING),
        [SWING],
        says=[("comment: 20 of 'ok'", "--ignore lamp,comment")],
    ),
    OwnFile(
        "assay with a limit of detection",
        table(hour=K, conc=put(DECAY, {37: "<0.2", 38: "<0.2", 39: "<0.2"})),
        [DECAY[:37]],
        K[:37],
        says=[("conc: 3 of '<0.2'|conc is '<0.2'", "--missing drop")],
    ),
    OwnFile(
        "glacier, days of a spreadsheet",
        table(Date=[45_292.0 + k / 4 for k in range(N)], melt=GROWTH),
        [GROWTH],
        K / 4,
        unit="day",
    ),
    OwnFile(
        "battery cycler",
        table(**CYCLER),
        [SWING],
        typed="--states Voltage",
        notes=["as --states names others: Step_Index"],
        unit="s",
    ),
    OwnFile(
        "battery cycler, all columns",
        table(**CYCLER),
        [np.repeat([1.0, 2.0], 20), SWING],
        notes=["Step_Index: has the values 1 and 2 alone.*--ignore Step_Index"],
        unit="s",
    ),
    OwnFile(
        "landings with years not reported",
        table(year=1970 + np.arange(N), catch=put(SWING, {11: "NA", 12: "n.d."})),
        [gone(SWING, 11, 12)],
        gone(K, 11, 12),
        says=[("catch: 1 of 'NA', 1 of 'n.d.'", "--missing drop")],
    ),
    OwnFile(
        "buoy with times in UTC",
        table(time=dates("%Y-%m-%dT%H:%M:%SZ", hours=1), sst=SWING),
        [SWING],
        K / 24,
        unit="day",
    ),
    OwnFile(
        "bleaching, frames of a camera",
        table(Frame=np.arange(N), mean_gray=DECAY),
        [DECAY],
        2.0 * K,
        typed="--ignore Frame --step 2",
    ),
    OwnFile(
        "pendulum, written by numpy.savetxt",
        "# t theta\n" + table(" ", head=False, t=K, theta=SWING),
        [SWING],
        ending=".txt",
    ),
    OwnFile(
        "rain gauge, hours and minutes as one number",
        table(time=[one.strftime("%H%M") for one in CLOCK], level=GROWTH),
        [GROWTH],
        5 * K,
        notes=["read as HHMM"],
        unit="min",
    ),
    OwnFile("heart rate, spans of time", _span, [SWING], 5 * K, unit="s", ending=".parquet"),
    OwnFile("voltammetry in parquet", _parquet, [SWING, DECAY], ending=".parquet"),
    OwnFile(
        "historian of a plant",
        table(Timestamp=[f"{v}" for v in LONG_TIME], Tag=several(N, ["TI1", "PI1"]), Value=BOTH),
        [GROWTH, DECAY],
        says=[("Tag names 2 quantities", "--pivot Tag")],
    ),
    OwnFile(
        "patients and analytes",
        table(
            patient=["p1"] * (2 * N) + ["p2"] * (2 * N),
            hour=several(2, LONG_TIME),
            analyte=several(2 * N, ["Na", "K"]),
            value=[*BOTH, *BOTH],
        ),
        [several(2, GROWTH), several(2, DECAY)],
        several(2, K),
        says=[
            ("analyte names quantities, and patient exp", "--pivot analyte --trajectory patient")
        ],
        pieces=2,
    ),
    OwnFile(
        "pigs weighed on the same days",
        table(day=LONG_TIME, animal=several(N, [7, 9]), weight=BOTH),
        [np.concatenate([GROWTH, DECAY])],
        several(2, K),
        says=[("animal names 2 experiments", "--trajectory animal")],
        pieces=2,
    ),
    OwnFile(
        "sea ice, a year and a day of it",
        table(year=dates("%Y", days=1), doy=dates("%j", days=1), extent=SWING),
        [SWING],
        says=[("year and doy are the time together", "--time year,doy")],
        unit="day",
    ),
    OwnFile(
        "logger that wrote lines twice",
        table(t=np.sort([*K, 4.0, 17.0]), x=np.insert(GROWTH, [4, 17], GROWTH[[4, 17]])),
        [GROWTH],
        says=[("2 lines have the time of the line before", "--repeats average")],
    ),
    OwnFile(
        "airport, M for missing",
        table(time=K, wind=put(SWING, {6: "M", 21: "M"})),
        [gone(SWING, 6, 21)],
        gone(K, 6, 21),
        says=[("wind: |wind is 'M'", "--na-values=M --missing drop")],
    ),
    OwnFile(
        "soil moisture with a code of its own",
        table(t=K, theta=put(SWING, {2: 6553.5, 3: 6553.5, 4: 6553.5})),
        [gone(SWING, 2, 3, 4)],
        gone(K, 2, 3, 4),
        says=[("theta has 3 cells of 6553.5", "--na-values=6553.5 --missing drop")],
    ),
    OwnFile(
        "well log with several codes",
        table(t=K, gr=put(SWING, {2: -999.25, 5: -999.25, 9: -9999}), rt=put(DECAY, {4: -999.25})),
        [gone(SWING, 2, 4, 5, 9), gone(DECAY, 2, 4, 5, 9)],
        gone(K, 2, 4, 5, 9),
        says=[
            (
                "gr has 1 cell of -9999, 2 cells of -999.25",
                "--na-values=-9999,-999.25 --missing drop",
            )
        ],
    ),
    OwnFile("weather, packed", _packed, [GROWTH], ending=".csv.gz"),
    OwnFile("simulation without its rates", _arrays, [GROWTH, DECAY], ending=".npz"),
    OwnFile("fermentation, an array a column", _columns, [GROWTH, DECAY], ending=".npz"),
    OwnFile("circuit in MATLAB", _matlab, [SWING, DECAY], ending=".mat"),
    OwnFile("strain gauge in HDF5", _hdf5, [SWING], ending=".h5"),
    OwnFile(
        "Fortran",
        re.sub(r"e([+-])", r"D\1", table("\t", t=K, x=[f"{v:.16e}" for v in GROWTH.tolist()])),
        [GROWTH],
        ending=".tsv",
    ),
    OwnFile(
        "two clocks",
        table(day=K, hour=24 * K, biomass=GROWTH),
        [24 * K, GROWTH],
        says=[("day or hour may be the time", "--time day")],
        notes=["hour: rises as the time does; where it is another time: --ignore hour"],
    ),
    OwnFile(
        "lines out of order",
        table(t=put(K, {10: 11.0, 11: 10.0}), x=put(GROWTH, {10: GROWTH[11], 11: GROWTH[10]})),
        [],
        says=[("1 of 39 steps fall: the lines are not in order of time.*sort_values", "")],
    ),
    OwnFile(
        "humidity in per cent signs",
        table(t=K, rh=[f"{v:.1f}%" for v in SWING.tolist()]),
        [],
        says=[(r"rh is '8\.0%'", "")],
    ),
    OwnFile(
        "weights of rats, a covariate",
        table(
            rat=[1] * N + [2] * N,
            t=several(2, K),
            weight=[250] * N + [300] * N,
            conc=[*DECAY.tolist(), *SWING.tolist()],
        ),
        [np.repeat([250.0, 300.0], N), np.concatenate([DECAY, SWING])],
        several(2, K),
        says=[("rat", "--trajectory rat")],
        notes=["weight: the same throughout each trajectory, and so no state: --ignore weight"],
        pieces=2,
    ),
]


def read(path: Path, typed: str) -> UserRecording:
    return read_recording(path, parse_words(shlex.split(typed), OWN_OPTIONS, "ode"))


def write(folder: Path, file: OwnFile) -> Path:
    path = folder / f"mine{file.ending}"
    if isinstance(file.content, str):
        path.write_text(file.content, encoding="utf-8")
    else:
        file.content(path)
    return path


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.origin)
def test_a_file_is_read_right_or_refused_with_what_to_type(tmp_path: Path, file: OwnFile) -> None:
    path, typed = write(tmp_path, file), file.typed
    for message, remedy in file.says:
        with pytest.raises(DataError, match=f"(?s){message}") as caught:
            read(path, typed)
        said = str(caught.value)
        assert "--trajectory COLUMN" not in said
        for word in shlex.split(remedy):
            name = word.partition("=")[0] if word.startswith("--") else word
            assert word in said or name in said or word[0].isdigit(), (word, said)
        typed = f"{typed} {remedy}"
    if not file.states:
        return
    known = read(path, typed)
    series = known.trajectory
    np.testing.assert_allclose(series.t - series.t[0], np.subtract(file.t, file.t[0]), atol=1e-9)
    np.testing.assert_allclose(series.u, np.stack(file.states, axis=1), rtol=1e-12)
    assert len(series.pieces) == file.pieces
    assert known.time.unit == file.unit
    for note in file.notes:
        assert any(re.search(note, line) for line in known.notes), known.notes


@pytest.mark.parametrize(
    ("origin", "typed", "rate", "logistic"),
    [
        ("stock and flow, dates as numbers", "", 0.25, True),
        ("influenza, a year and a week", "--time year,week", 0.25, True),
        ("three injections at each time", "--repeats average", -0.1, False),
        ("bleaching, frames of a camera", "--ignore Frame --step 2", -0.05, False),
    ],
)
def test_rates_of_what_is_read_follow_the_law(
    tmp_path: Path, origin: str, typed: str, rate: float, *, logistic: bool
) -> None:
    file = next(file for file in FILES if file.origin == origin)
    series = read(write(tmp_path, file), typed).trajectory
    x = series.u[:, 0]
    term = (x * (1 - x / 12) if logistic else x)[2:-2]
    rates = np.gradient(x, series.t)[2:-2]  # in the unit of the times
    assert float(rates @ term / (term @ term)) == pytest.approx(rate, rel=0.02)


def test_there_are_files_of_many_fields() -> None:
    assert len({file.origin for file in FILES}) == len(FILES) >= 30
