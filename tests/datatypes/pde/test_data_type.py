"""From systems and files of partial differential equations to the arrays of a task."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from harness import known
from sweeps import paired

import mdbench
from mdbench.data.field import Field, FieldColumns
from mdbench.data.field_files import read_field
from mdbench.data.noise import SNR_LEVELS_DB, add_noise
from mdbench.datatypes.base import Answer, Candidate
from mdbench.datatypes.facts import Protocol
from mdbench.datatypes.pde import data_type as pde
from mdbench.datatypes.pde import generators as fields
from mdbench.datatypes.pde.data_type import Pde
from mdbench.datatypes.pde.systems import read_system
from mdbench.datatypes.pde.tasks import PdeDataset, Rows
from mdbench.datatypes.pde.weak_form import smoothed_field
from mdbench.errors import DataError, UsageError

if TYPE_CHECKING:
    from mdbench.datatypes.base import Source, Split

ROOT = Path(mdbench.__file__).parents[1]
SYSTEMS = ROOT / "datasets" / "pde"
STRICT, PUBLISHED = Protocol.STRICT, Protocol.PUBLISHED
QUICK = ("burgers", "navier_stokes_channel", "advection_diffusion_2d")


@pytest.fixture(scope="module")
def kind(tmp_path_factory: pytest.TempPathFactory) -> Pde:
    return Pde(SYSTEMS, tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def source(kind: Pde) -> Source[PdeDataset]:
    return kind.source()


def load(
    source: Source[PdeDataset],
    name: str = "burgers",
    *,
    snr_db: float | None = None,
    seed: int = 0,
    protocol: Protocol = STRICT,
    **options: Any,
) -> PdeDataset:
    return source.load(name, snr_db=snr_db, seed=seed, protocol=protocol, options=options)


def dataset(*counts: int, d: int = 2, du: bool = True, seed: int = 0) -> PdeDataset:
    """Random states on a grid of so many nodes and times."""
    generator = np.random.default_rng(seed)
    u, derivative = generator.normal(size=(2, *counts, d))
    grid = {axis: np.linspace(-1, 1, n) for axis, n in zip("xyz", counts[:-1], strict=False)}
    t = np.linspace(0, 1, counts[-1])
    clean = Field(t, grid, u, derivative if du else None)
    given = Field(t, grid, u * 1.1)
    return PdeDataset(
        "x", d, None, None, "file", "", given, clean, ("t",), Rows(None, 0), derivatives="fd"
    )


def values(part: Split) -> dict[str, Any]:
    return {**part.inputs, part.target_name: part.targets, **part.columns}


# The project's own systems


def test_the_14_systems_have_the_order_of_the_published_noise(source: Source[PdeDataset]) -> None:
    names = source.names()
    assert len(names) == 14
    assert names[:4] == ["burgers", "kdv", "kuramoto_sivishinky", "advection1d"]
    assert names[-2:] == ["heat_laser", "reaction_diffusion_cylinder"]
    assert source.title("kdv").startswith("Two solitons")
    assert set(Pde.check_datasets) <= set(names)


@pytest.mark.parametrize(("snr_db", "name"), paired([None, 20.0], QUICK))
def test_the_floor_is_what_the_truth_scores_in_both_views(
    name: str, snr_db: float | None, kind: Pde, source: Source[PdeDataset]
) -> None:
    data = load(source, name, snr_db=snr_db)
    texts = known(data.truth)
    assert len(texts) == data.dim
    for view in kind.views:
        task = kind.task(data, view, STRICT)
        found = kind.score(task, kind.read_answer(task, Answer(texts))).metrics
        assert found["nmse"] == pytest.approx(data.floor)
    if snr_db is None:
        assert data.floor == pytest.approx(
            {"burgers": 0.0, "navier_stokes_channel": 1.9e-10, "advection_diffusion_2d": 0.0}[name],
            rel=0.2,
            abs=1e-15,
        )


def test_noise_is_drawn_on_the_fly_and_again_the_same(source: Source[PdeDataset]) -> None:
    clean, noisy, again, other = (
        load(source, snr_db=snr_db, seed=seed)
        for snr_db, seed in ((None, 0), (20.0, 3), (20.0, 3), (20.0, 4))
    )
    np.testing.assert_array_equal(noisy.given.u, again.given.u)
    assert noisy.fingerprint == again.fingerprint
    assert len({clean.fingerprint, noisy.fingerprint, other.fingerprint}) == 3
    seen = clean.given.u != 0
    xi = noisy.given.u[seen] / clean.given.u[seen] - 1
    assert xi.std() == pytest.approx(0.1, rel=0.02)
    np.testing.assert_array_equal(noisy.clean.du, clean.clean.du)


def test_published_noise_is_one_sequence_over_all_systems(source: Source[PdeDataset]) -> None:
    """Burgers comes first, then KdV; of each the four levels in turn."""
    burgers = 256 * 101
    sequence = np.random.RandomState(42).randn(4 * burgers)
    for i, snr_db in enumerate(SNR_LEVELS_DB):
        data = load(source, snr_db=snr_db, protocol=PUBLISHED)
        xi = sequence[i * burgers : (i + 1) * burgers].reshape(256, 101, 1)
        expected = data.clean.u * (1 + 10 ** (-snr_db / 20) * xi)
        np.testing.assert_allclose(data.given.u, expected, rtol=1e-14)
    kdv = load(source, "kdv", snr_db=40.0, protocol=PUBLISHED)
    xi = np.random.RandomState(42).randn(4 * burgers + 5)[4 * burgers :]
    np.testing.assert_allclose(
        kdv.given.u.ravel()[:5], kdv.clean.u.ravel()[:5] * (1 + 0.01 * xi), rtol=1e-12
    )


def test_fields_are_made_once_and_again_when_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    make = fields.make_fields

    def counted(system: Any, *others: Any, **options: Any) -> dict[str, Field]:
        made.append(system.name)
        return make(system, *others, **options)

    monkeypatch.setattr(fields, "make_fields", counted)
    first = load(Pde(SYSTEMS, tmp_path).source(), "advection1d")
    again = load(Pde(SYSTEMS, tmp_path).source(), "advection1d")
    assert made == ["advection1d"]
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:5000])
    mended = load(Pde(SYSTEMS, tmp_path).source(), "advection1d")
    assert made == ["advection1d"] * 2
    assert first.fingerprint == again.fingerprint == mended.fingerprint


def test_an_interrupted_generation_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_system: Any, _released: bool, progress: Any) -> list[Field]:
        progress(0.5)
        raise KeyboardInterrupt

    monkeypatch.setitem(fields.FIELD_GENERATORS, "burgers", interrupted)
    with pytest.raises(KeyboardInterrupt):
        load(Pde(SYSTEMS, tmp_path).source())
    assert not list(tmp_path.iterdir())
    monkeypatch.undo()

    def stopped(file: Any, **_field: Field) -> None:
        file.write(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(pde, "write_field", stopped)
    with pytest.raises(KeyboardInterrupt):
        load(Pde(SYSTEMS, tmp_path).source())
    assert not list(tmp_path.iterdir())


def test_what_takes_long_states_how_far_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pde, "_QUIET_SECONDS", 0.0)
    monkeypatch.setattr(pde, "_REPORT_SECONDS", 0.0)
    kind = Pde(SYSTEMS, tmp_path)
    said: list[str] = []
    source = kind.source()
    kind.on_progress = said.append
    load(source)
    assert said[0] == "burgers: its data are made, once: 0%"
    assert any(
        re.fullmatch(r"burgers: its data are made, once: 50%, \d+ s left", line) for line in said
    )
    said.clear()
    load(source)
    assert not said


def test_the_released_variant_is_another_dataset_only_where_it_differs(kind: Pde) -> None:
    source, released = kind.source(), partial(load, variant="released")
    right = load(source, "advection_diffusion_2d")
    wrong = released(source, "advection_diffusion_2d")
    assert right.fingerprint != wrong.fingerprint
    assert wrong.given.u.astype(np.float32).astype(float).tolist() == wrong.given.u.tolist()
    published = load(source, protocol=PUBLISHED)
    raw = load(source, derivatives="fd")
    assert raw.fingerprint != published.fingerprint
    variant = next(option for option in kind.options if option.name == "--variant")
    assert variant.parse("released") == "released"
    with pytest.raises(UsageError, match="--variant is 'wrong'"):
        variant.parse("wrong")


# Tasks


@pytest.mark.parametrize("counts", [(9, 20), (8, 7, 16), (7, 6, 3, 21)])
@pytest.mark.parametrize("view", Pde.views)
@pytest.mark.parametrize("smoothed", [False, True])
def test_parts_are_cut_by_time(
    view: str, counts: tuple[int, ...], kind: Pde, *, smoothed: bool
) -> None:
    data = replace(dataset(*counts), derivatives="smooth" if smoothed else "fd")
    task = kind.task(data, view, STRICT)
    assert task.variables[:2] == ("u0", "u1")
    assert task.variables[-1] == "t"
    assert task.targets == ("u0_t", "u1_t")
    n = counts[-1]
    test = n - n // 5
    t, before = data.given.t, replace(data.given, t=data.given.t[:test])
    before = replace(before, u=data.given.u[..., :test, :])
    series = np.moveaxis(before.u, -2, 0)
    differences = np.moveaxis(np.gradient(series, t[:test], axis=0, edge_order=2), 0, -2)
    given = replace(before, du=differences)
    if smoothed:
        curve = smoothed_field(before).field
        given = replace(
            before, t=t[1 : test - 1], u=curve.u[..., 1:-1, :], du=known(curve.du)[..., 1:-1, :]
        )
    clean = replace(
        data.clean,
        t=t[test:],
        u=data.clean.u[..., test:, :],
        du=known(data.clean.du)[..., test:, :],
    )
    for part, shown in (
        (task.train, given),
        (task.validation, given),
        (task.refit, given),
        (task.test, clean),
    ):
        columns = FieldColumns(replace(shown, du=None), ("t",))
        du = known(shown.du)
        assert list(part.columns) == list(columns) == list(task.variables)
        if view == "field":
            names = {"t", *"xyz"[: len(counts) - 1], "u", "measured", "periods"}
            assert set(part.inputs) == names
            np.testing.assert_array_equal(part.inputs["periods"], np.zeros(len(counts) - 1))
            assert part.target_name == "du"
            np.testing.assert_array_equal(part.inputs["u"], shown.u)
            np.testing.assert_allclose(part.targets, du, atol=1e-9)
        else:
            assert set(part.inputs) == {"X"}
            assert part.target_name == "Y"
            np.testing.assert_allclose(part.targets, du.reshape(-1, 2), atol=1e-9)
            for i, name in enumerate(task.variables):
                np.testing.assert_array_equal(part.inputs["X"][:, i], columns[name].ravel())
                np.testing.assert_array_equal(part.columns[name], columns[name].ravel())
        for array in (*part.inputs.values(), part.targets):
            assert array.dtype == np.float64
            assert array.flags.c_contiguous


@pytest.mark.parametrize("view", Pde.views)
def test_true_derivatives_go_with_the_noisy_states(
    view: str, kind: Pde, source: Source[PdeDataset]
) -> None:
    data = replace(dataset(8, 7, 20), derivatives="exact")
    part = kind.task(data, view, STRICT).refit
    true = known(data.clean.du)[..., :16, :]
    np.testing.assert_array_equal(part.targets, true if view == "field" else true.reshape(-1, 2))
    states = part.columns["u0"].reshape(8, 7, 16)
    np.testing.assert_array_equal(states, data.given.u[..., :16, 0])
    assert load(source, derivatives="exact").fingerprint != load(source).fingerprint


@pytest.mark.parametrize("view", Pde.views)
def test_no_later_sample_influences_an_earlier_split(view: str, kind: Pde) -> None:
    data = replace(dataset(8, 7, 20), derivatives="smooth")
    later = np.arange(20)[:, None]

    def after(border: int) -> Any:
        u = data.given.u * (1 + (later >= border))
        given = replace(data.given, u=u, t=data.given.t)
        return kind.task(replace(data, given=given, clean=replace(data.clean, u=u)), view, STRICT)

    first, changed = kind.task(data, view, STRICT), after(16)
    before, now = values(first.refit), values(changed.refit)
    for key, array in before.items():
        np.testing.assert_array_equal(now[key], array)
    np.testing.assert_array_equal(known(first.evidence).floors, changed.evidence.floors)
    assert not np.array_equal(values(changed.test)["u0"], values(first.test)["u0"])
    assert not np.array_equal(after(12).refit.targets, first.refit.targets)


@pytest.mark.parametrize("snr_db", [None, 40.0, 20.0])
@pytest.mark.parametrize("name", ["burgers", "advection_diffusion_2d"])
def test_the_truth_wins_wherever_it_stands(
    name: str, snr_db: float | None, kind: Pde, source: Source[PdeDataset]
) -> None:
    """Its score is that of clean data, and in the choice it is near what the noise leaves."""
    data = load(source, name, snr_db=snr_db)
    task = kind.task(data, "field", STRICT)
    assert known(data.floor) < 1e-9
    truth, zero, wrong = (
        kind.evaluate_candidate(task, task.refit, Candidate(0, texts, {}))
        for texts in (known(data.truth), ("0",), ("u0_x",))
    )
    assert zero.loss == pytest.approx(1.0)
    assert truth.loss < 0.1 * min(zero.loss, wrong.loss)
    assert truth.fitness > max(zero.fitness, wrong.fitness)


@pytest.mark.parametrize("view", Pde.views)
def test_samples_next_to_an_end_are_not_scored(view: str, kind: Pde) -> None:
    """Four nodes at each end of an axis without a period, and a quarter of a short one."""
    data = dataset(20, 9, 3, 20, d=1)
    data = replace(data, clean=replace(data.clean, periods={"x": 2.1}))
    task = kind.task(data, view, STRICT)
    wrong = [i for i in np.ndindex(20, 9, 3, 4) if not 2 <= i[1] < 7]
    targets = known(data.clean.du)[..., 16:, :]
    exact = targets.copy()
    exact[tuple(np.transpose(wrong))] += 100.0

    def nmse_of(values: Any) -> Any:
        asked = kind.read_answer(task, Answer(("0",)))
        return kind.score(task, replace(asked, values=values.reshape(task.test.targets.shape)))

    assert nmse_of(exact).metrics["nmse"] == 0.0
    for place in ((0, 2, 0, 0), (19, 6, 2, 3)):
        off = exact.copy()
        off[place] += 1.0
        inside = targets[:, 2:7]
        assert nmse_of(off).metrics["nmse"] == pytest.approx(1 / np.square(inside).sum())
    # Under `published` all of them are.
    assert kind.task(data, view, PUBLISHED).scored is None


def test_an_axis_of_three_nodes_loses_single_features_and_reports_it(tmp_path: Path) -> None:
    data = dataset(7, 7, 3, 20)
    path = tmp_path / "thin.npz"
    arrays: dict[str, Any] = {"t": data.given.t, **data.given.grid, "u": data.given.u}
    np.savez(path, **arrays)
    said: list[str] = []
    mine = Pde(SYSTEMS, tmp_path)
    mine.on_progress = said.append
    source = mine.source(path)
    names = mine.task(load(source, "thin"), "table", STRICT).variables
    load(source, "thin")
    assert [name for name in names if "z" in name] == ["u0_z", "u1_z"]
    assert "u1_yyyy" in names
    assert said == [
        "thin: no feature zz: unsupported: a derivative of order 2 takes 4 nodes, and z has 3",
        "thin: no feature zzz: unsupported: a derivative of order 3 takes 6 nodes, and z has 3",
        "thin: no feature zzzz: unsupported: a derivative of order 4 takes 7 nodes, and z has 3",
    ]


def test_the_truth_of_the_thin_plate_has_cooling_in_place_of_the_missing_feature(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = read_system(SYSTEMS / "heat_laser.toml")
    shape = (5, 5, 3, 20, 1)
    small = Field(
        system.times.values,
        {axis: system.axes[axis].values[:n] for axis, n in zip("xyz", shape, strict=False)},
        np.ones(shape),
        np.ones(shape),
    )
    monkeypatch.setattr(fields, "make_fields", lambda system, *_, **__: {system.name: small})
    source = Pde(SYSTEMS, tmp_path).source()
    data = load(source, "heat_laser")
    (text,) = known(data.truth)
    assert "u0_zz" not in text
    assert "u0_xx + u0_yy" in text
    assert "2 * 18.0 / (7860.0 * 624.0 * 0.001) * (u0 - 300.0)" in text
    assert data.explicit == ("x", "y", "t")
    assert data.floor is not None
    # The published data have the published equation, less the feature.
    assert "u0_zz" in known(system.as_published).truth[0]
    for published in (
        load(source, "heat_laser", protocol=Protocol.PUBLISHED),
        load(source, "heat_laser", variant="released"),
    ):
        (text,) = known(published.truth)
        assert "u0_zz" not in text
        assert "300.0" not in text


@pytest.mark.parametrize("view", Pde.views)
@pytest.mark.parametrize("protocol", list(Protocol))
def test_states_that_have_no_equation_are_features_only(
    view: str, protocol: Protocol, kind: Pde
) -> None:
    data = replace(dataset(9, 8, 20, d=3), dim=2, asked=(0, 2))
    task = kind.task(data, view, protocol)
    assert task.targets == ("u0_t", "u2_t")
    assert {"u1", "u1_x", "u1_yy"} <= set(task.variables)
    whole = kind.task(replace(data, dim=3, asked=None), view, protocol)
    for name in ("train", "validation", "refit", "test"):
        part, every = getattr(task, name), getattr(whole, name)
        assert part.targets.flags.c_contiguous
        np.testing.assert_array_equal(part.targets, every.targets[..., [0, 2]])
        for key, array in every.inputs.items():
            np.testing.assert_array_equal(part.inputs[key], array)


def test_periods_go_with_a_field_under_strict(kind: Pde, tmp_path: Path) -> None:
    x, t = np.linspace(0, 1, 16, endpoint=False), np.linspace(0, 2, 20)
    u = np.sin(2 * np.pi * (x[:, None] - 0.3 * t))[..., None]
    path = tmp_path / "ring.npz"
    np.savez(path, t=t, x=x, u=u, x_period=1.0)
    data = load(kind.source(path), "ring")
    task = kind.task(data, "field", STRICT)
    np.testing.assert_array_equal(task.test.inputs["periods"], [1.0])
    exact = 2 * np.pi * np.cos(2 * np.pi * (x[:, None] - 0.3 * t[16:]))
    np.testing.assert_allclose(task.test.columns["u0_x"], exact, atol=1e-10)
    published = kind.task(data, "field", PUBLISHED)
    assert "periods" not in published.test.inputs
    assert np.abs(published.test.columns["u0_x"] - exact).max() > 0.1
    np.savez(path, t=t, x=x, u=u)
    assert load(kind.source(path), "ring").fingerprint != data.fingerprint


def test_protocols_have_data_of_their_own(kind: Pde) -> None:
    source = kind.source()
    strict, published = (load(source, "advection1d", protocol=each) for each in Protocol)
    assert strict.fingerprint != published.fingerprint
    assert known(strict.floor) < 1e-20
    assert known(published.floor) == pytest.approx(2.4e-7, rel=0.05)
    assert len(list(kind.cache.glob("advection1d-*.npz"))) == 2


def test_published_tables_are_cut_along_space(kind: Pde) -> None:
    data = dataset(10, 8, 20)
    task = kind.task(data, "table", PUBLISHED)
    n = 10 * 8 * 20
    assert "t" not in task.variables
    assert [len(part.targets) for part in (task.train, task.validation, task.refit, task.test)] == [
        n * 64 // 100, n * 16 // 100, n * 80 // 100, n * 20 // 100,
    ]  # fmt: skip
    u0 = data.given.u[..., 0].ravel()
    np.testing.assert_array_equal(task.refit.columns["u0"], u0[: n * 8 // 10])
    np.testing.assert_array_equal(task.test.columns["u0"], u0[n * 8 // 10 :])
    twice = data.given.u[..., 0]
    for _ in range(2):
        twice = np.gradient(twice, data.given.grid["x"], axis=0, edge_order=2)
    np.testing.assert_allclose(task.test.columns["u0_xx"], twice.ravel()[n * 8 // 10 :], atol=1e-9)
    np.testing.assert_array_equal(
        task.test.targets, known(data.clean.du).reshape(-1, 2)[n * 8 // 10 :]
    )
    series = np.moveaxis(data.given.u, -2, 0)
    du = np.moveaxis(np.gradient(series, data.given.t, axis=0, edge_order=2), 0, -2)
    np.testing.assert_allclose(task.refit.targets, du.reshape(-1, 2)[: n * 8 // 10], atol=1e-9)


def test_published_fields_are_cut_by_time(kind: Pde) -> None:
    task = kind.task(dataset(10, 20), "field", PUBLISHED)
    assert [len(part.inputs["t"]) for part in (task.train, task.validation, task.refit)] == [
        13, 3, 16,
    ]  # fmt: skip
    assert len(task.test.inputs["t"]) == 4


@pytest.mark.parametrize("protocol", list(Protocol))
def test_rows_are_drawn_by_the_seed_and_for_training_only(protocol: Protocol, kind: Pde) -> None:
    data = dataset(10, 8, 20)
    whole = kind.task(data, "table", protocol)
    some, again, others = (
        kind.task(replace(data, rows=Rows(50, seed)), "table", protocol) for seed in (1, 1, 2)
    )
    assert some.train.inputs["X"].shape == some.refit.inputs["X"].shape == (50, len(some.variables))
    np.testing.assert_array_equal(some.refit.inputs["X"], again.refit.inputs["X"])
    assert not np.array_equal(some.refit.inputs["X"], others.refit.inputs["X"])
    rows = {tuple(row): target for row, target in zip(
        whole.refit.inputs["X"], whole.refit.targets, strict=True)}  # fmt: skip
    for row, target in zip(some.refit.inputs["X"], some.refit.targets, strict=True):
        np.testing.assert_array_equal(rows[tuple(row)], target)
    assert len({tuple(row) for row in some.refit.inputs["X"]}) == 50
    np.testing.assert_array_equal(some.test.inputs["X"], whole.test.inputs["X"])
    if protocol is PUBLISHED:
        np.testing.assert_array_equal(some.validation.inputs["X"], whole.validation.inputs["X"])
    all_of_them = kind.task(replace(data, rows=Rows(10**9, 0)), "table", protocol)
    np.testing.assert_array_equal(all_of_them.train.inputs["X"], whole.train.inputs["X"])


def test_a_field_keeps_its_grid_and_states_which_samples_may_be_used(kind: Pde) -> None:
    data = replace(dataset(10, 8, 20), rows=Rows(50, 7))
    field, table = (kind.task(data, view, STRICT) for view in ("field", "table"))
    rows = field.refit.inputs["rows"].astype(int)
    assert len(set(rows)) == 50
    states = field.refit.inputs["u"].reshape(-1, 2)[rows]
    np.testing.assert_array_equal(states, table.refit.inputs["X"][:, :2])
    assert "rows" in field.train.inputs
    assert "rows" not in field.test.inputs


def test_a_view_that_does_not_exist_is_refused(kind: Pde) -> None:
    with pytest.raises(UsageError, match="no view 'trajectory'"):
        kind.task(dataset(9, 20), "trajectory", STRICT)


# Files of the user's


def write(path: Path, n: int = 9, **more: Any) -> Path:
    x, t = np.linspace(0, 1, n), np.linspace(0, 2, 20)
    u = np.sin(x[:, None] - 0.3 * t)[..., None]
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, t=t, x=x, u=u, **more)
    return path


def test_a_field_of_one_s_own(kind: Pde, tmp_path: Path) -> None:
    source = kind.source(write(tmp_path / "wave.npz"))
    assert source.names() == ["wave"]
    assert source.title("wave").endswith("wave.npz")
    data = load(source, "wave")
    assert (data.truth, data.floor, data.explicit) == (None, None, ())
    assert data.target_source == "finite differences"
    test = kind.task(data, "field", STRICT).test
    np.testing.assert_allclose(test.targets[..., 0], -0.3 * test.columns["u0_x"], atol=0.02)
    noisy = kind.task(load(source, "wave", snr_db=10.0), "field", STRICT)
    np.testing.assert_array_equal(noisy.test.targets, test.targets)
    np.testing.assert_array_equal(noisy.test.inputs["u"], test.inputs["u"])
    assert not np.array_equal(noisy.refit.inputs["measured"], test.inputs["u"])


def test_a_folder_in_the_published_layout(
    kind: Pde, source: Source[PdeDataset], tmp_path: Path
) -> None:
    single = Pde(tmp_path / "systems", kind.cache)
    single.systems.mkdir()
    text = (SYSTEMS / "burgers.toml").read_text(encoding="utf-8")
    (single.systems / "burgers.toml").write_text(text, encoding="utf-8")
    out = tmp_path / "out"
    assert single.write_all(out, with_noise=True) == 5
    mine = kind.source(out)
    assert mine.names() == ["burgers"]
    for snr_db in (None, 40.0, 10.0):
        own, filed = (load(each, snr_db=snr_db) for each in (source, mine))
        np.testing.assert_array_equal(filed.given.u, own.given.u)
        np.testing.assert_array_equal(filed.clean.du, own.clean.du)
    stored = read_field(out / "burgers" / "burgers_snr_10.npz")
    expected = add_noise(own.clean.u, name="burgers", snr_db=10.0, seed=0)
    np.testing.assert_array_equal(stored.u, expected)
    assert load(mine, snr_db=30.0).fingerprint != load(mine, snr_db=20.0).fingerprint


def test_bad_paths_and_files_are_refused(kind: Pde, tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("t,x\n")
    with pytest.raises(DataError, match=r"needs a grid(.|\n)*numpy\.savez"):
        kind.source(tmp_path)
    (tmp_path / "picture.png").touch()
    with pytest.raises(DataError, match=r"(this type|files that) end in(.|\n)*\.npz"):
        kind.source(tmp_path)
    with pytest.raises(DataError, match="nothing at"):
        kind.source(tmp_path / "missing.npz")
    source = kind.source(write(tmp_path / "bad.npz", n=2))
    with pytest.raises(DataError, match=r"bad\.npz: x has 2 points"):
        load(source, "bad")
    with pytest.raises(UsageError, match="Did you mean bad"):
        load(source, "bads")


def test_systems_that_cannot_be_used_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no systems"):
        Pde(tmp_path, tmp_path).source().names()
    text = (SYSTEMS / "navier_stokes_cylinder.toml").read_text(encoding="utf-8")
    (tmp_path / "alone.toml").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=r"alone\.toml: made_with .*reaction_diffusion_cylinder"):
        Pde(tmp_path, tmp_path).source().title("alone")


def test_a_field_is_cached_once_it_was_made(tmp_path: Path) -> None:
    name = "advection_diffusion_2d"  # in closed form
    kind = Pde(SYSTEMS, tmp_path)
    source = kind.source()
    assert not source.is_cached(name, {})
    load(source, name)
    assert source.is_cached(name, {})
    assert not source.is_cached("burgers", {})
    assert not source.is_cached(name, {"variant": "released"})  # whose terms have other signs
