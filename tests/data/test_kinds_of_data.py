"""Series and fields as people have them: several members of each kind, and what happens to each.

Where a method is run, it is SINDy or a method for fields, in this process; `test_own_data.py` of
the methods' tests has all that work in coordinates of their own.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from harness import imported
from input_kinds import kind
from own_data import Found, integrated, solved, table, task_of
from sweeps import sampled

from mdbench.data.arrangement import Reading
from mdbench.data.csv import read_csv
from mdbench.data.field import Field
from mdbench.data.field_files import read_field, write_field
from mdbench.data.trajectory import Trajectory, read_npz
from mdbench.datatypes.base import Answer
from mdbench.datatypes.equations.data_checks import of_field, of_trajectory
from mdbench.datatypes.equations.options import AXES_ORDER
from mdbench.datatypes.ode.data_type import Ode
from mdbench.errors import DataError, UsageError
from mdbench.runs import plan as planning

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

T = np.linspace(0, 6, 150)
SPRING = integrated(lambda _, u: [u[1], -9 * u[0]], [0.8, 0.0], T)


@pytest.fixture(scope="module")
def sindy() -> Iterator[Any]:
    with imported("sindy") as module:
        yield module


def advice(t: Array, u: Array, **more: Any) -> str:
    """Return what is said of trajectories of states x0, x1, ..."""

    class _Own:
        given = clean = Trajectory(t, u, **more)
        names = {f"u{i}": f"x{i}" for i in range(u.shape[1])}  # noqa: RUF012
        measured_in: dict[str, str] = {}  # noqa: RUF012

    return "\n".join(of_trajectory(_Own))


def advice_on_field(t: Array, x: Array, u: Array, du: Array | None = None) -> str:
    class _Own:
        given = clean = Field(t, {"x": x}, u[..., None], du)
        names: dict[str, str] = {}  # noqa: RUF012
        measured_in: dict[str, str] = {}  # noqa: RUF012

    return "\n".join(of_field(_Own))


def noise(shape: tuple[int, ...], size: float, seed: int = 0) -> Array:
    return size * np.random.default_rng(seed).standard_normal(shape)


def npz(path: Path, **arrays: Any) -> Path:
    np.savez(path, **arrays)
    return path


def is_spring(found: Found, size: float, mean: float) -> bool:
    """Return whether equations give the spring's rates beside its rest at a mean."""
    x = mean + size * SPRING[:, 0]
    q = size * SPRING[:, 1]
    values = [eval(text, {}, {"u0": x, "u1": q}) + 0 * x for text in found.equations]
    wanted = [q, -9 * (x - mean)]
    return all(
        np.abs(a - b).max() < 1e-3 * np.abs(b).max() for a, b in zip(values, wanted, strict=True)
    )


@kind("complex numbers")
def test_complex_numbers(tmp_path: Path) -> None:
    du = np.gradient(SPRING, T, axis=0)
    for u in (SPRING + 0j, SPRING.astype(np.complex64)):
        found = read_npz(npz(tmp_path / "a.npz", t=T, u=u, du=du))
        np.testing.assert_allclose(found.u, SPRING, rtol=1e-6, atol=1e-6)
    with pytest.raises(DataError, match=r"(?s)u is of type complex128.*both parts"):
        read_npz(npz(tmp_path / "b.npz", t=T, u=SPRING * (1 + 1j), du=du))


@kind("arrays of objects, texts or without end")
@pytest.mark.parametrize(
    ("u", "message"),
    [
        (np.array([[1.0], [None]] * 75, dtype=object), "pickled objects"),
        (SPRING.astype(str), "u is of type <U"),
        (np.where(np.arange(150)[:, None] == 7, np.inf, SPRING), r"u\[7, 0\] is inf"),
        (SPRING[:, 0], "u has shape"),
    ],
)
def test_arrays_of_objects_texts_or_without_end(tmp_path: Path, u: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_npz(npz(tmp_path / "a.npz", t=T, u=u, du=np.zeros((150, 2))))


@kind("a folder of runs")
def test_a_folder_of_runs(tmp_path: Path) -> None:
    for number in range(3):
        table(tmp_path / f"run-{number}.csv", {"t": T, "x": SPRING[:, 0], "v": SPRING[:, 1]})
    source = Ode(tmp_path / "none", tmp_path / "cache").source(tmp_path)
    assert list(source.names()) == ["run-0", "run-1", "run-2"]


@kind("runs of one experiment in several files")
def test_runs_of_one_experiment_in_several_files(tmp_path: Path) -> None:
    for count, each in ((3, 40), (6, 5)):
        folder = tmp_path / str(count)
        folder.mkdir()
        for number in range(count):
            t = np.linspace(0, 2, each)
            u = integrated(lambda _, u: [u[1], -9 * u[0]], [0.1 * (number + 1), 0.0], t)
            table(folder / f"run-{number}.csv", {"t": t, "x": u[:, 0], "v": u[:, 1]})
        _, task = task_of(folder, pool=True)
        assert task.dataset.name == "run"
        assert len(task.dataset.clean.pieces) == count
        assert task.dataset.holdout == ("times" if each > 15 else "trajectories")
    table(folder / "run-9.csv", {"t": T, "x": SPRING[:, 0], "w": SPRING[:, 1]})
    with pytest.raises(DataError, match=r"(?s)run-9.csv has the columns x, w.*--dataset"):
        task_of(folder, pool=True)


@kind("runs in other units")
@pytest.mark.parametrize("steps", [(30, 90), (90, 30), (1, 7200), (7200, 300)])
def test_runs_whose_dates_have_other_steps(tmp_path: Path, steps: tuple[int, int]) -> None:
    begin = datetime(2026, 11, 28, tzinfo=UTC)
    for number, step in enumerate(steps):
        times = [(begin + timedelta(seconds=step * k)).isoformat() for k in range(40)]
        table(tmp_path / f"run-{number}.csv", {"time": times, "x": SPRING[:40, 0]})
    _, task = task_of(tmp_path, pool=True)
    one, other = (np.diff(each.t)[0] for each in task.dataset.clean.pieces)
    assert other / one == pytest.approx(steps[1] / steps[0], rel=1e-9)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("t [s]", "x [m]"), ("t [s]", "x [mm]")),
        (("t [s]", "x [m]"), ("t [ms]", "x [m]")),
        (("t [s]", "x"), ("t", "x")),
        (("day", "x"), ("hour", "x")),
    ],
)
def test_runs_in_other_units_are_refused(
    tmp_path: Path, one: tuple[str, str], other: tuple[str, str]
) -> None:
    for number, head in enumerate((one, other)):
        values = (T[:40], SPRING[:40, 0])
        table(tmp_path / f"run-{number}.csv", dict(zip(head, values, strict=True)))
    with pytest.raises(DataError, match=r"(?s)run-1.csv has .* and .*run-0.csv.*same units"):
        task_of(tmp_path, pool=True)


@kind("further arrays beside a trajectory's")
@pytest.mark.parametrize("key", ["inputs", "names", "x"])
def test_further_arrays_beside_a_trajectory_are_refused(tmp_path: Path, key: str) -> None:
    arrays = {"t": T, "u": SPRING, "du": SPRING, key: T}
    with pytest.raises(DataError, match=rf"(?s)key '{key}' is none of t, u, du.*TOML.*CSV"):
        read_npz(npz(tmp_path / "a.npz", **arrays))


def test_arrays_in_another_shape_are_refused_with_the_remedy(tmp_path: Path) -> None:
    du = np.zeros((150, 2))
    for u, remedy in ((SPRING.T, r"u\.T"), (SPRING[:, 0], r"u\[:, None\]")):
        with pytest.raises(DataError, match=remedy):
            read_npz(npz(tmp_path / "a.npz", t=T, u=u, du=du))
    x = np.linspace(0, 1, 150)[::-1]
    path = npz(tmp_path / "b.npz", t=T, x=x, u=np.zeros((150, 150, 1)))
    with pytest.raises(DataError, match=r"turn it around, and u along it: x\[::-1\]"):
        read_field(path)


@pytest.mark.parametrize("size", [1e-160, 1e160])
def test_values_whose_squares_are_zero_or_infinite_are_refused(tmp_path: Path, size: float) -> None:
    u = SPRING * [1.0, size]
    with pytest.raises(DataError, match="the largest value of u is"):
        read_npz(npz(tmp_path / "a.npz", t=T, u=u, du=np.zeros((150, 2))))
    field = npz(tmp_path / "b.npz", t=T, x=np.arange(4.0), u=np.stack([u] * 4))
    with pytest.raises(DataError, match="the largest value of u is"):
        read_field(field)


@pytest.mark.parametrize(("start", "kind"), [(1e5, np.float32), (10.0, np.float16)])
def test_times_of_low_precision_that_have_lost_their_steps_are_refused(
    tmp_path: Path, start: float, kind: type[np.floating[Any]]
) -> None:
    t = (start + 0.1 * np.arange(150)).astype(kind)
    with pytest.raises(DataError, match="t is rounded"):
        read_npz(npz(tmp_path / "a.npz", t=t, u=SPRING, du=SPRING))
    with pytest.raises(DataError, match="t is rounded"):
        read_field(npz(tmp_path / "b.npz", t=t, x=np.arange(4.0), u=np.stack([SPRING] * 4)))


@kind("one bad file in a folder")
def test_one_bad_file_in_a_folder(tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text("t,x\n0,one\n")
    jobs = [
        SimpleNamespace(algorithm="m", dataset_path=tmp_path, dataset=name)
        for name in ("bad", "good", "fine")
    ]
    catalog = SimpleNamespace(method=lambda _: None, save=lambda: None)

    def resolve(job: Any, *_: Any, **__: Any) -> Any:
        if job.dataset == "bad":
            raise DataError("bad.csv, line 2: x is 'one'", "Mend it.")
        return job

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planning, "resolve_job", resolve)
        patch.setattr(planning, "environment_key", lambda *_: {})
        said: list[str] = []
        asked: Any = SimpleNamespace(jobs=jobs, catalog=catalog)
        runtime: Any = None
        assert planning.resolve_jobs(asked, runtime, said.append) == jobs[1:]
        assert len(said) == 1
        assert "line 2: x is 'one'" in said[0]
        asked.jobs = jobs[:1]
        with pytest.raises(DataError, match="line 2"):
            planning.resolve_jobs(asked, runtime)


def patients(path: Path, count: int, visits: int, seed: int = 0) -> Path:
    rng = np.random.default_rng(seed)
    t = np.linspace(0, 0.4 * visits, visits)
    columns: dict[str, list[Any]] = {"patient": [], "day": [], "N": []}
    for number in range(count):
        u = integrated(lambda _, u: [0.8 * u[0] * (1 - u[0] / 10)], [rng.uniform(0.5, 15)], t)
        columns["patient"] += [f"p{number}"] * visits
        columns["day"] += t.tolist()
        columns["N"] += u[:, 0].tolist()
    return table(path, columns)


@kind("many short series")
@pytest.mark.parametrize(("count", "visits"), [(40, 6), (20, 12), (30, 3), (5, 14)])
def test_many_short_series(tmp_path: Path, sindy: Any, count: int, visits: int) -> None:
    path = patients(tmp_path / "a.csv", count, visits)
    found = solved(sindy, "sindy", path, trajectory="patient")
    assert found.task.dataset.holdout == "trajectories"
    _, tests = found.task.dataset.parted(found.task.dataset.clean)
    assert len(tests) == count // 5
    assert all(len(one.t) == visits for one in tests)
    assert found.nmse < 0.01
    for n in (2.0, 8.0):
        value = eval(found.equations[0], {}, {"u0": n})
        assert value == pytest.approx(0.8 * n * (1 - n / 10), rel=0.1)


@kind("series that are too short")
def test_series_that_are_too_short(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="2 time points"):
        task_of(patients(tmp_path / "a.csv", 40, 2), trajectory="patient")
    with pytest.raises(DataError, match=r"(?s)6 time points.*--holdout trajectories"):
        task_of(patients(tmp_path / "b.csv", 3, 6), trajectory="patient")
    _, task = task_of(tmp_path / "b.csv", trajectory="patient", holdout="trajectories")
    assert len(task.dataset.parted(task.dataset.clean)[1]) == 1
    with pytest.raises(DataError, match=r"(?s)one trajectory.*--trajectory COLUMN"):
        task_of(table(tmp_path / "c.csv", {"t": T, "x": SPRING[:, 0]}), holdout="trajectories")
    with pytest.raises(DataError, match="14 time points"):
        task_of(table(tmp_path / "d.csv", {"t": T[:14], "x": SPRING[:14, 0]}))


@pytest.mark.parametrize(("count", "visits"), [(1, 40), (3, 40), (12, 6)])
def test_nothing_is_held_out_where_that_is_asked_for(
    tmp_path: Path, sindy: Any, count: int, visits: int
) -> None:
    path = patients(tmp_path / "a.csv", count, visits)
    found = solved(sindy, "sindy", path, trajectory="patient", holdout="none")
    given, tests = found.task.dataset.parted(found.task.dataset.clean)
    assert [len(one.t) for one in given] == [len(one.t) for one in tests] == [visits] * count
    assert found.nmse < 0.01


@kind("an offset")
@pytest.mark.parametrize("mean", [3.0, 293.15, 101325.0, -8e5])
def test_an_offset(tmp_path: Path, sindy: Any, mean: float) -> None:
    path = table(tmp_path / "a.csv", {"t": T, "p": SPRING[:, 0] + mean, "q": SPRING[:, 1]})
    assert is_spring(solved(sindy, "sindy", path), 1.0, mean)


@kind("tiny and huge values")
@pytest.mark.parametrize("size", [1e-12, 1e-9, 1e5, 1e12])
def test_tiny_and_huge_values(tmp_path: Path, sindy: Any, size: float) -> None:
    path = table(tmp_path / "a.csv", {"t": T, "p": size * SPRING[:, 0], "q": size * SPRING[:, 1]})
    found = solved(sindy, "sindy", path)
    assert is_spring(found, size, 0.0)
    assert "constant" not in found.notes


@kind("columns of unlike sizes")
@pytest.mark.parametrize(("a", "b"), [(1e5, 1e-6), (1e-8, 1e3), (1.0, 1e9)])
def test_columns_of_unlike_sizes(tmp_path: Path, sindy: Any, a: float, b: float) -> None:
    path = table(tmp_path / "a.csv", {"t": T, "p": a * SPRING[:, 0], "q": b * SPRING[:, 1]})
    first, second = solved(sindy, "sindy", path).equations
    assert eval(first, {}, {"u1": 1.0}) == pytest.approx(a / b, rel=1e-4)
    assert eval(second, {}, {"u0": 1.0}) == pytest.approx(-9 * b / a, rel=1e-4)


@kind("a slow drift of a large value")
@pytest.mark.parametrize(("mean", "drift"), [(1e6, 1e-3), (300.0, 1e-4)])
def test_a_slow_drift_of_a_large_value(
    tmp_path: Path, sindy: Any, mean: float, drift: float
) -> None:
    u = mean + drift * np.exp(-T)
    found = solved(sindy, "sindy", table(tmp_path / "a.csv", {"t": T, "x": u}))
    for value in (u[3], u[-3]):
        rate = eval(found.equations[0], {}, {"u0": value})
        assert rate == pytest.approx(-(value - mean), rel=0.01)


@kind("times of any unit")
@pytest.mark.parametrize("unit", [1e-9, 1e-3, 86400.0, 3e7])
def test_times_of_any_unit(tmp_path: Path, sindy: Any, unit: float) -> None:
    path = table(tmp_path / "a.csv", {"t": T * unit, "p": SPRING[:, 0], "q": SPRING[:, 1]})
    found = solved(sindy, "sindy", path)
    first, second = found.equations
    assert eval(first, {}, {"u1": unit}) == pytest.approx(1.0, rel=1e-4)
    assert eval(second, {}, {"u0": unit}) == pytest.approx(-9.0, rel=1e-4)
    assert found.scores["r2_test"] > 0.999


def driven(path: Path, runs: int, *, held: bool, seed: int = 0) -> Path:
    rng = np.random.default_rng(seed)
    columns: dict[str, list[Any]] = {"run": [], "t": [], "x": [], "push": []}
    for number in range(runs):
        wave = rng.uniform(0.8, 2.5)
        v = np.sin(wave * T + number)
        v = np.repeat(v[::15], 15) if held else v
        x = [rng.uniform(-2, 2)]
        for k in range(len(T) - 1):

            def slope(t: float, u: Any, k: int = k, v: Array = v) -> list[float]:
                share = 0.0 if held else (t - T[k]) / (T[1] - T[0])
                return [-0.7 * u[0] + 2.0 * (v[k] + share * (v[k + 1] - v[k]))]

            x.append(float(integrated(slope, [x[-1]], T[k : k + 2])[-1, 0]))
        columns["run"] += [f"r{number}"] * len(T)
        columns["t"] += T.tolist()
        columns["x"] += x
        columns["push"] += v.tolist()
    return table(path, columns if runs > 1 else {k: v for k, v in columns.items() if k != "run"})


def is_driven(found: Found, share: float) -> bool:
    rates = [eval(found.equations[0], {}, {"u0": u, "v0": v}) for u, v in ((1.0, 0.0), (0.0, 1.0))]
    return bool(np.allclose(rates, [-0.7, 2.0], rtol=share))


@kind("inputs")
def test_inputs(tmp_path: Path, sindy: Any) -> None:
    for seed in (0, 1):
        path = driven(tmp_path / "a.csv", 1, held=False, seed=seed)
        assert is_driven(solved(sindy, "sindy", path, inputs=["push"]), 0.01)


@kind("inputs that are held")
def test_inputs_that_are_held(tmp_path: Path) -> None:
    path = driven(tmp_path / "a.csv", 1, held=True)
    with imported("rk4sindy") as module:
        found = solved(module, "rk4sindy", path, inputs=["push"], hold="zero")
        assert is_driven(found, 1e-3)
        assert found.scores["r2_test"] > 0.99999
        bad = solved(module, "rk4sindy", path, inputs=["push"], hold="linear")
    assert bad.scores["r2_test"] < found.scores["r2_test"]


@kind("inputs in several trajectories")
def test_inputs_in_several_trajectories(tmp_path: Path, sindy: Any) -> None:
    path = driven(tmp_path / "a.csv", 3, held=False)
    assert is_driven(solved(sindy, "sindy", path, inputs=["push"], trajectory="run"), 0.01)


@kind("an answer no better than a constant")
def test_an_answer_no_better_than_a_constant(tmp_path: Path) -> None:
    path = table(tmp_path / "a.csv", {"t": T, "p": SPRING[:, 0], "q": SPRING[:, 1]})
    kind_, task = task_of(path)
    for equations, marked in (
        (("u1", "-9*u0"), []),
        (("u1", "0"), ["u1_t"]),
        (("0", "0"), ["u0_t", "u1_t"]),
        (("0.5*u1", "0.01*u0"), ["u1_t"]),
    ):
        notes = kind_.score(task, kind_.read_answer(task, Answer(equations))).notes
        assert [note.partition(":")[0] for note in notes.get("constant", [])] == marked


CALM = advice(T, SPRING + noise(SPRING.shape, 0.003))


@kind("spikes")
@pytest.mark.parametrize("size", [2.0, -3.0, 50.0])
def test_spikes(size: float) -> None:
    for seed in range(3):
        u = SPRING + noise(SPRING.shape, 0.003, seed)
        at = np.random.default_rng(seed).choice(np.arange(10, 140, 9), 3, replace=False)
        u[at, 0] += size
        assert "x0: 3 samples stand out" in advice(T, u)
    assert "stand" not in CALM


@kind("rows of zeros")
def test_rows_of_zeros() -> None:
    for rows in ([70], [20, 21, 90]):
        u = 3 + SPRING
        u[rows] = 0.0
        assert f"{len(rows)} row" in advice(T, u)
        assert "zeros alone" in advice(T, u)
    assert "zeros alone" not in CALM


@kind("a sensor that is stuck")
@pytest.mark.parametrize("count", [8, 20, 60])
@pytest.mark.parametrize("noisy", [0.0, 0.01])
def test_a_sensor_that_is_stuck(count: int, noisy: float) -> None:
    for first in (38, 90):
        u = SPRING + noise(SPRING.shape, noisy)
        u[first : first + count, 1] = u[first - 1, 1]
        said = advice(T, u)
        assert "x1: the same value from" in said
        assert "jumps" not in said
    assert "the same value" not in CALM


@kind("a sensor at the end of its range")
@pytest.mark.parametrize("end", [0.3, 0.6, 0.75])
@pytest.mark.parametrize("digits", [3, 15])
def test_a_sensor_at_the_end_of_its_range(end: float, digits: int) -> None:
    u = np.round(SPRING, digits)
    u[:, 0] = np.clip(u[:, 0], -end, 9)
    assert f"x0: stops at -{end:g}" in advice(T, u)
    assert "stops at" not in advice(T, np.round(SPRING, digits))
    rest = np.round(np.column_stack([np.exp(-2 * T), 3 - np.exp(-T)]), 2)
    assert "stops at" not in advice(T, rest)  # it comes to rest, and slows down before


@kind("jumps at doses")
@pytest.mark.parametrize("rate", [0.3, 1.0, 3.0])
def test_jumps_at_doses(rate: float) -> None:
    level = np.exp(-rate * T)[:, None]
    for at in (40, 90):
        level[at:, 0] += np.exp(-rate * (T[at:] - T[at]))
    said = advice(T, level)
    assert f"x0: jumps within one step (at {T[40]:.6g}, {T[90]:.6g})" in said
    assert "stand" not in said
    assert "jumps" not in CALM
    assert "jumps" not in advice(T, level, inputs=(np.arange(150) >= 40)[:, None] * 1.0 +
                                 (np.arange(150) >= 90)[:, None])  # fmt: skip


@kind("a column that is set from outside")
def test_a_column_that_is_set_from_outside() -> None:
    for values in ([0.0, 1.0], [20.0, 22.5, 30.0]):
        u = np.column_stack([SPRING, np.array(values)[(T.astype(int)) % len(values)]])
        assert "--inputs x2" in advice(T, u)
    assert "--inputs" not in CALM


@kind("steps of an input")
@pytest.mark.parametrize("held", [True, False])
def test_steps_of_an_input(*, held: bool) -> None:
    step = np.where((T > 2) & (T < 2.06), 50.0, 0.0)  # one pulse: the state has a kink
    u = integrated(lambda t, x: [-x[0] + np.interp(t, T, step)], [1.0], T)
    said = advice(T, u, inputs=step[:, None], held=held)
    assert "stand" not in said
    assert "jumps" not in said


@kind("counts, and other noise in all columns")
def test_noise_in_all_columns() -> None:
    for seed in range(3):
        drawn = np.random.default_rng(seed).poisson(20, (150, 2)).astype(float)
        said = advice(T, drawn)
        assert "x0, x1: noise is most of what changes" in said
        assert "--inputs" not in said


@kind("columns that are the same")
def test_columns_that_are_the_same(tmp_path: Path) -> None:
    columns = {"t": T, "x": SPRING[:, 0], "v": SPRING[:, 1], "mm": 1000 * SPRING[:, 0]}
    _, task = task_of(table(tmp_path / "mine.csv", columns))
    assert task.dataset.names == {"u0": "x", "u1": "v"}
    assert "mm: the same as 1000 times x" in task.remarks[0]
    _, task = task_of(tmp_path / "mine.csv", truth="x = v; v = -9*x; mm = 1000*v")
    assert task.dataset.dim == 3


@kind("a column of few values")
def test_a_column_of_few_values(tmp_path: Path, sindy: Any) -> None:
    on = (T // 1) % 2 * 0.6
    x = [0.0]
    for k in range(149):
        x.append(2 * on[k] + (x[-1] - 2 * on[k]) * float(np.exp(T[k] - T[k + 1])))
    path = table(tmp_path / "mine.csv", {"t": T, "x": np.array(x), "on": on})
    found = solved(sindy, "sindy", path, inputs=["on"], hold="zero")
    at = {"u0": 0.5, "v0": 2.0}  # a value that it never had: the lowest power is the true one here
    assert eval(found.equations[0], {}, at) == pytest.approx(-0.5 + 4, rel=1e-2)


@kind("an answer that explains only the end")
def test_an_answer_that_explains_only_the_end(tmp_path: Path) -> None:
    t = np.linspace(0, 24, 97)
    dose = 12 * (np.exp(-0.2 * t) - np.exp(-1.2 * t))
    kind_, task = task_of(table(tmp_path / "dose.csv", {"t": t, "C": dose}))
    late = kind_.score(task, kind_.read_answer(task, Answer(("-0.2*u0",))))
    assert late.metrics["nmse"] < 1e-6
    assert late.metrics["share_explained"] < 0
    assert late.metrics["solution_stays"] < 0.1
    assert len(late.notes["partly"]) == 2
    days = np.linspace(0, 120, 121)
    rates = lambda _, y: [-0.5 * y[0] * y[1], 0.5 * y[0] * y[1] - 0.11 * y[1]]  # noqa: E731
    sick = integrated(rates, [0.999, 0.001], days)
    kind_, task = task_of(
        table(tmp_path / "sick.csv", {"t": days, "S": sick[:, 0], "I": sick[:, 1]})
    )
    for law, marked in (
        (("-0.5*u0*u1", "0.5*u0*u1 - 0.11*u1"), False),
        (("0", "-0.11*u1"), True),
    ):
        notes = kind_.score(task, kind_.read_answer(task, Answer(law))).notes
        assert ("partly" in notes) == marked


@kind("a gap")
@pytest.mark.parametrize(("first", "last"), [(40, 70), (100, 112)])
def test_a_gap(first: int, last: int) -> None:
    kept = np.r_[:first, last : len(T)]
    assert f"no samples from {T[first - 1]:.6g}" in advice(T[kept], SPRING[kept])
    assert "no samples" not in CALM


@kind("more terms than rows")
@pytest.mark.parametrize(("columns", "rows"), [(6, 20), (10, 60)])
def test_more_terms_than_rows(columns: int, rows: int) -> None:
    t = np.linspace(0, 3, rows)
    u = np.stack([np.sin(t + k) for k in range(columns)], axis=1)
    assert "anything can be fitted" in advice(t, u)
    assert "anything can be fitted" not in CALM


@kind("a state that hardly moves")
@pytest.mark.parametrize("size", [1e-3, 1e-2])
def test_a_state_that_hardly_moves(size: float) -> None:
    u = np.column_stack([SPRING, 5 + size * 0.3 * np.sin(T) + noise(T.shape, size)])
    assert "x2: hardly moves" in advice(T, u)
    assert "hardly moves" not in CALM


@kind("a law with the time in it")
def test_a_law_with_the_time_in_it() -> None:
    for slope in (
        lambda t, u: [np.cos(3 * u[0]) + 2.0 * np.sin(1.5 * t) + 0 * u[0]],
        lambda t, u: [-u[0] + 3 * np.sin(2 * t)],
    ):
        u = integrated(slope, [0.3], T)
        assert "no smooth function of the columns" in advice(T, u)
    assert "no smooth function" not in CALM


@kind("a second-order law in one state")
@pytest.mark.parametrize("wave", [2.0, 3.0, 5.0])
def test_a_second_order_law_in_one_state(wave: float) -> None:
    said = advice(T, np.cos(wave * T)[:, None])
    assert "second order" in said
    assert "delay coordinates" in said
    assert "second order" not in advice(T, np.exp(-T)[:, None])


@kind("a discrete map")
@pytest.mark.parametrize("rate", [3.7, 3.9, 4.0])
def test_a_discrete_map(rate: float) -> None:
    u = [0.3]
    for _ in range(99):
        u.append(rate * u[-1] * (1 - u[-1]))
    assert "a discrete map" in advice(np.arange(100.0), np.array(u)[:, None])
    assert "discrete map" not in CALM
    assert "discrete map" not in advice(T, noise((150, 1), 1.0) + SPRING[:, :1])


@kind("rates per day of samples seconds apart")
def test_rates_per_day_of_samples_seconds_apart(tmp_path: Path) -> None:
    for label in ("time [day]", "time (d)"):
        _, task = task_of(table(tmp_path / "a.csv", {label: T / 1e4, "x": SPRING[:, 0]}))
        assert "rates are per day" in "\n".join(of_trajectory(task.dataset))
    _, task = task_of(table(tmp_path / "b.csv", {"time [day]": T * 10, "x": SPRING[:, 0]}))
    assert "rates are per day" not in "\n".join(of_trajectory(task.dataset))


X = np.linspace(0, 2 * np.pi, 64, endpoint=False)
K = np.fft.rfftfreq(64, 1 / 64)


def burgers(times: int, nu: float | Array = 0.1) -> tuple[Array, Array]:
    def slope(_: float, u: Any) -> Array:
        modes = np.fft.rfft(u)
        first, second = (np.fft.irfft((1j * K) ** order * modes, 64) for order in (1, 2))
        return np.asarray(nu * second - u * first)

    t = np.linspace(0, 2, times)
    start = np.sin(X) + 0.4 * np.cos(2 * X) + 0.2 * np.sin(3 * X + 1)
    return t, integrated(slope, start, t).T


@kind("a square field with the time first")
@pytest.mark.parametrize("periodic", [True, False])
def test_a_square_field_with_the_time_first(tmp_path: Path, *, periodic: bool) -> None:
    t, u = burgers(64)
    arrays = {"t": t, "x": X} | ({"x_period": 2 * np.pi} if periodic else {})
    turned = npz(tmp_path / "turned.npz", u=u.T[..., None], **arrays)
    with pytest.raises(DataError, match=r"(?s)first axis looks like time.*--axes t,x"):
        task_of(turned, "pde", "field")
    _, task = task_of(turned, "pde", "field", axes=["t", "x"])
    np.testing.assert_array_equal(task.dataset.clean.u[..., 0], u)
    assert "--axes t,x" in advice_on_field(t, X, u)
    straight = npz(tmp_path / "straight.npz", u=u[..., None], **arrays)
    _, task = task_of(straight, "pde", "field")
    np.testing.assert_array_equal(task.dataset.clean.u[..., 0], u)


@kind("a field with axes in another order")
def test_a_field_with_axes_in_another_order(tmp_path: Path) -> None:
    t, u = burgers(40)
    path = npz(tmp_path / "a.npz", t=t, x=X, u=u.T[..., None])
    with pytest.raises(DataError, match=r"numpy.transpose\(u, \(1, 0, 2\)\)"):
        read_field(path)
    np.testing.assert_array_equal(read_field(path, ("t", "x")).u[..., 0], u)
    with pytest.raises(DataError, match="has the axes x, t, and --axes names t, y"):
        read_field(path, ("t", "y"))
    with pytest.raises(UsageError, match="--axes is 'x'"):
        AXES_ORDER.parse("x")


@kind("a field of micrometres and nano-units, or far from zero")
@pytest.mark.parametrize(
    ("length", "size", "offset"),
    sampled([(1e-6, 1e-9, 0), (1e6, 1e12, 0), (1, 1, 1e5), (1e-6, 1e-9, 1e3)], least=2),
)
def test_a_field_of_other_units(tmp_path: Path, length: float, size: float, offset: float) -> None:
    t, u = burgers(61)
    path = npz(
        tmp_path / "a.npz",
        t=t,
        x=X * length,
        u=((u + offset) * size)[..., None],
        x_period=2 * np.pi * length,
    )
    with imported("weakform") as module:
        found = solved(module, "weakform", path, "pde")
    [text] = found.equations
    values = {"u0": (offset + 0.7) * size, "u0_x": 0.3 * size / length}
    second = 0.4 * size / length**2
    wanted = -0.7 * 0.3 * size + 0.1 * 0.4 * size
    rate = eval(text, {}, {**values, "u0_xx": second})
    assert rate == pytest.approx(wanted, rel=1e-3)


@kind("a frame of one value")
def test_a_frame_of_one_value() -> None:
    t, u = burgers(40)
    for value in (0.0, 5.0):
        broken = u.copy()
        broken[:, 20] = value
        assert "1 of 40 times have one value everywhere" in advice_on_field(t, X, broken)
    assert "one value everywhere" not in advice_on_field(t, X, u)


@kind("a constant state of a field, or a multiple of another one")
def test_states_of_a_field_that_are_the_same() -> None:
    t, u = burgers(40)
    for other in (np.full_like(u, 3.0), -2 * u):
        field = SimpleNamespace(
            given=Field(t, {"x": X}, np.stack([u, other], axis=-1)), names={}, measured_in={}
        )
        field.clean = field.given
        assert "u1: constant, or a multiple" in "\n".join(of_field(field))
    assert "a multiple" not in advice_on_field(t, X, u)


@kind("a wave of one length")
@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_wave_of_one_length(number: int) -> None:
    t = np.linspace(0, 2, 40)
    u = np.sin(number * X)[:, None] * np.exp(-0.3 * t)
    assert "a wave of one length" in advice_on_field(t, X, u)
    assert "a wave of one length" not in advice_on_field(*_wide(burgers(40)))


def _wide(pair: tuple[Array, Array]) -> tuple[Array, Array, Array]:
    return pair[0], X, pair[1]


@kind("coefficients that vary in space")
def test_coefficients_that_vary_in_space() -> None:
    nu = np.where(np.pi > X, 0.02, 0.6)
    t = np.linspace(0, 1, 40)

    def slope(_: float, u: Any) -> Array:
        return np.asarray(nu * np.fft.irfft(-(K**2) * np.fft.rfft(u), 64))

    u = integrated(slope, np.sin(X) + 0.4 * np.cos(2 * X) + 0.2 * np.sin(3 * X + 1), t[:12]).T
    assert "coefficients of their own" in advice_on_field(t[:12], X, u)
    assert "coefficients of their own" not in advice_on_field(*_wide(burgers(40)))


@kind("nodes or times at uneven steps in a field")
@pytest.mark.parametrize("axis", ["x", "t"])
def test_uneven_steps_in_a_field(tmp_path: Path, axis: str) -> None:
    t, u = burgers(40)
    arrays = {"t": t, "x": X}
    arrays[axis] = arrays[axis] ** 1.5
    with (tmp_path / "a.npz").open("wb") as file:
        write_field(file, Field(arrays["t"], {"x": arrays["x"]}, u[..., None]))
    with pytest.raises(DataError, match=f"{axis} is not uniform"):
        read_field(tmp_path / "a.npz")


@kind("a table where a grid is needed")
def test_a_table_where_a_grid_is_needed(tmp_path: Path) -> None:
    for name in ("a.csv", "b.tsv", "c.txt"):
        path = table(tmp_path / name, {"t": T, "x": SPRING[:, 0], "u": SPRING[:, 1]})
        with pytest.raises(DataError, match=r"(?s)is a table, and a field needs a grid"):
            task_of(path, "pde", "field")


@kind("times at uneven steps in a series")
@pytest.mark.parametrize("power", [1.5, 0.7])
def test_uneven_steps_in_a_series(tmp_path: Path, sindy: Any, power: float) -> None:
    t = 6 * (np.arange(150) / 149) ** power
    u = integrated(lambda _, u: [u[1], -9 * u[0]], [0.8, 0.0], t)
    path = table(tmp_path / "a.csv", {"t": t, "p": u[:, 0], "q": u[:, 1]})
    assert read_csv(path, Reading()).time.label == "t"
    assert is_spring(solved(sindy, "sindy", path), 1.0, 0.0)


def test_without_scaling_methods_are_given_the_values_as_they_are(
    tmp_path: Path, sindy: Any
) -> None:
    t = np.linspace(0, 6, 150)
    u = integrated(lambda _, u: [u[1], -9 * u[0]], [0.8, 0.0], t)
    path = table(tmp_path / "a.csv", {"t": t, "p": u[:, 0] + 101325.0, "q": u[:, 1]})
    assert solved(sindy, "sindy", path).nmse < 1e-9
    plain = solved(sindy, "sindy", path, scaling="off")
    assert not plain.task.scaled
    assert plain.nmse > 0.1


@pytest.mark.parametrize("nodes", [3, 4, 5, 6, 7, 8])
def test_a_field_of_few_nodes_is_described(nodes: int) -> None:
    u = np.exp(-T) * np.sin(np.arange(1, nodes + 1))[:, None]
    assert f"{nodes} x 150 samples" in advice_on_field(T, np.arange(float(nodes)), u)


@kind("derivatives that are not those of the states")
@pytest.mark.parametrize("noisy", [0.0, 0.1])
def test_derivatives_that_are_not_those_of_the_states(noisy: float) -> None:
    du = np.stack([SPRING[:, 1], -9 * SPRING[:, 0]], axis=1)
    u = SPRING * (1 + noise(SPRING.shape, noisy))
    assert "of the file" not in advice(T, u, du=du)
    assert "of the file" not in advice(T[::4], u[::4], du=du[::4])
    for wrong in (du * 1000, du / 1000, -du, du[:, ::-1]):
        text = advice(T, u, du=wrong)
        assert "x0: du of the file is not its rate" in text
        assert "x1: du of the file is not its rate" in text
    x = np.linspace(0, 1, 8)
    fields = [np.multiply.outer(1 + x, each[:, 0]) for each in (u, du)]
    assert "of the file" not in advice_on_field(T, x, fields[0], fields[1][..., None])
    assert "u0: du of the file is" in advice_on_field(T, x, fields[0], 1e3 * fields[1][..., None])


@kind("a column that never changes")
@pytest.mark.parametrize("value", [0.0, 3.0, 0.1, -1e12])
def test_a_column_that_never_changes_is_no_excuse(tmp_path: Path, value: float) -> None:
    columns = {"t": T, "x": SPRING[:, 0], "v": SPRING[:, 1], "c": np.full(150, value)}
    data_type, task = task_of(table(tmp_path / "mine.csv", columns))
    assert task.targets == ("u0_t", "u1_t")
    assert f"c: {value:.6g} in all rows, and left out" in task.remarks[0]
    answer = data_type.read_answer(task, Answer(("0.0", "0.0")))
    notes = data_type.score(task, answer).notes
    assert "rest" not in notes
    assert [one.split(":")[0] for one in notes["constant"]] == ["u0_t", "u1_t"]
