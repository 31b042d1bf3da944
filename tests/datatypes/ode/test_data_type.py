"""From systems and files to the arrays of a task."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from harness import known
from hypothesis import given, settings
from hypothesis import strategies as st

import mdbench
from eqverdict import parse
from mdbench.data.noise import SNR_LEVELS_DB, add_noise
from mdbench.data.smoothing import smooth
from mdbench.data.trajectory import Trajectory, read_npz
from mdbench.datatypes.base import Answer, Candidate
from mdbench.datatypes.facts import Protocol
from mdbench.datatypes.ode import accuracy
from mdbench.datatypes.ode.data_type import Ode
from mdbench.datatypes.ode.datasets import OdeDataset
from mdbench.datatypes.ode.systems import OdeSystem, integrate
from mdbench.errors import DataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from mdbench.datatypes.base import Source, Split
    from mdbench.datatypes.equations.base import EquationTask

    Array = NDArray[np.float64]

ROOT = Path(mdbench.__file__).parents[1]
SYSTEMS = ROOT / "datasets" / "ode"
STRICT, PUBLISHED = Protocol.STRICT, Protocol.PUBLISHED
VIEWS = pytest.mark.parametrize("view", Ode.views)
PROTOCOLS = pytest.mark.parametrize("protocol", list(Protocol))


@pytest.fixture(scope="module")
def kind(tmp_path_factory: pytest.TempPathFactory) -> Ode:
    return Ode(SYSTEMS, tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def source(kind: Ode) -> Source[OdeDataset]:
    return kind.source()


def load(
    source: Source[OdeDataset],
    name: str = "lotka-volterra-simple",
    *,
    snr_db: float | None = None,
    seed: int = 0,
    protocol: Protocol = STRICT,
    **options: Any,
) -> OdeDataset:
    return source.load(name, snr_db=snr_db, seed=seed, protocol=protocol, options=options)


def dataset(t: Array, u: Array, clean: Array | None = None, du: Array | None = None) -> OdeDataset:
    best = Trajectory(t, u if clean is None else clean, du)
    return OdeDataset(
        "x", u.shape[1], None, None, "file", "", Trajectory(t, u), best, derivatives="fd"
    )


def arrays(part: Split) -> dict[str, Any]:
    return {**part.inputs, part.target_name: part.targets, **part.columns}


def assert_same(part: Split, other: Split) -> None:
    assert arrays(part).keys() == arrays(other).keys()
    for key, array in arrays(part).items():
        np.testing.assert_array_equal(array, arrays(other)[key])


def assert_same_evidence(task: EquationTask[OdeDataset], other: EquationTask[OdeDataset]) -> None:
    one, two = known(task.evidence), known(other.evidence)
    np.testing.assert_array_equal(one.floors, two.floors)
    for name in one.columns:
        np.testing.assert_array_equal(one.columns[name], two.columns[name])


# The project's own systems


def test_systems_are_run_in_the_order_of_their_numbers(source: Source[OdeDataset]) -> None:
    names = source.names()
    assert len(names) == 63
    assert names[:2] == ["rc-circuit", "population-growth-naive"]
    assert names[9] == "refined-language-death-model"
    assert names[56:59] == [
        "rössler-fixed-point",
        "rössler-attractor-periodic",
        "rössler-attractor-chaotic",
    ]
    assert names[-1] == "seir-infection"
    assert source.title("rc-circuit").startswith("A capacitor")
    assert set(Ode.check_datasets) <= set(names)


def test_the_truth_is_an_equation_of_the_bench_and_gives_the_targets(
    kind: Ode, source: Source[OdeDataset]
) -> None:
    for name in source.names():
        data = load(source, name)
        truth = known(data.truth)
        assert data.dim == len(truth)
        test = kind.task(data, "table", STRICT).test
        for i, text in enumerate(truth):
            equation = parse(text, tuple(test.columns))
            np.testing.assert_allclose(
                equation.evaluate(test.columns), test.targets[:, i], rtol=1e-6, atol=1e-9
            )


def test_clean_arrays_are_made_once_and_again_when_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []

    def remember(system: OdeSystem, start: Sequence[float]) -> tuple[Array, Array, Array]:
        made.append(system.name)
        return integrate(system, start)

    monkeypatch.setattr(accuracy, "integrate", remember)
    first = load(Ode(SYSTEMS, tmp_path).source(), "rc-circuit")
    again = load(Ode(SYSTEMS, tmp_path).source(), "rc-circuit")
    assert made == ["rc-circuit"]
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:1000])
    mended = load(Ode(SYSTEMS, tmp_path).source(), "rc-circuit")
    assert made == ["rc-circuit"] * 2
    assert first.fingerprint == again.fingerprint == mended.fingerprint


def test_a_changed_system_gets_new_arrays(tmp_path: Path) -> None:
    text = (SYSTEMS / "rc-circuit.toml").read_text(encoding="utf-8")
    folder = tmp_path / "systems"
    folder.mkdir()
    prints = set()
    for value in ("0.7", "0.8"):
        (folder / "rc-circuit.toml").write_text(text.replace("value = 0.7", f"value = {value}"))
        prints.add(load(Ode(folder, tmp_path / "cache").source(), "rc-circuit").fingerprint)
    assert len(prints) == 2


def test_unknown_names_show_near_ones(source: Source[OdeDataset], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="lotka-volterra-simple"):
        load(source, "lotka-voltera")
    with pytest.raises(UsageError, match="Did you mean rc-circuit"):
        source.title("rc-circuits")
    with pytest.raises(DataError, match="no systems"):
        Ode(tmp_path, tmp_path).source().names()


# Noise


def test_strict_noise_is_that_of_the_name_the_level_and_the_seed_alone(
    tmp_path: Path, source: Source[OdeDataset]
) -> None:
    noisy = load(source, snr_db=20.0, seed=3)
    clean = load(source)
    load(source, "rc-circuit", snr_db=20.0, seed=3)
    expected = add_noise(clean.given.u, name="lotka-volterra-simple", snr_db=20.0, seed=3)
    alone = load(Ode(SYSTEMS, tmp_path).source(), snr_db=20.0, seed=3)
    for data in (noisy, alone, load(source, snr_db=20.0, seed=3)):
        np.testing.assert_array_equal(data.given.u, expected)
        np.testing.assert_array_equal(data.clean.u, clean.given.u)
        assert data.fingerprint == noisy.fingerprint


def test_published_noise_is_the_published_recipe_bit_for_bit(source: Source[OdeDataset]) -> None:
    names = source.names()
    clean = {name: load(source, name).given.u for name in names}
    sequence = np.random.RandomState(0)
    for name in names:
        for snr_db in (40, 30, 20, 10):
            xi = sequence.randn(150, clean[name].shape[1]) * np.sqrt(10 ** (-snr_db / 10))
            if name in {names[0], names[31], names[-1]}:
                data = load(source, name, snr_db=snr_db, protocol=PUBLISHED)
                np.testing.assert_array_equal(data.given.u, clean[name] * (1 + xi))
    with pytest.raises(UsageError, match="25 dB"):
        load(source, snr_db=25.0, protocol=PUBLISHED)


def test_fingerprints_distinguish_datasets_and_clean_ones_have_no_seed(
    source: Source[OdeDataset],
) -> None:
    prints = [
        load(source, name, snr_db=snr_db, seed=seed, protocol=protocol).fingerprint
        for name in ("rc-circuit", "lotka-volterra-simple")
        for snr_db in (20.0, 10.0)
        for seed in (0, 1)
        for protocol in Protocol
    ]
    assert len(set(prints)) == len(prints)
    assert all(len(print_) == 64 for print_ in prints)
    clean = {load(source, seed=seed).fingerprint for seed in (0, 1)}
    assert len(clean) == 1


def test_fingerprints_are_the_same_in_every_process(kind: Ode, source: Source[OdeDataset]) -> None:
    script = f"""
from pathlib import Path
from typing import TYPE_CHECKING, Any
from mdbench.datatypes.facts import Protocol
from mdbench.datatypes.ode.data_type import Ode
source = Ode(Path({str(kind.systems)!r}), Path({str(kind.cache)!r})).source()
load = source.load("rössler-fixed-point", snr_db=30.0, seed=5, protocol=Protocol.STRICT)
print(load.fingerprint)
"""
    done = subprocess.run(
        [sys.executable, "-X", "utf8", "-c", script],
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "77"},
        capture_output=True,
        text=True,
        check=True,
    )
    ours = load(source, "rössler-fixed-point", snr_db=30.0, seed=5).fingerprint
    assert done.stdout.strip() == ours


# Tasks


@VIEWS
@PROTOCOLS
def test_parts_have_the_shapes_of_their_view(
    kind: Ode, source: Source[OdeDataset], view: str, protocol: Protocol
) -> None:
    task = kind.task(load(source, snr_db=20.0, protocol=protocol), view, protocol)
    assert task.variables == ("u0", "u1")
    assert task.targets == ("u0_t", "u1_t")
    lengths = {STRICT: (118, 118, 118, 30), PUBLISHED: (96, 24, 120, 30)}[protocol]
    for part, n in zip((task.train, task.validation, task.refit, task.test), lengths, strict=True):
        if view == "table":
            assert set(part.inputs) == {"X"}
            assert part.target_name == "Y"
            states = part.inputs["X"]
        else:
            assert set(part.inputs) == {"t", "u", "measured"}
            assert part.target_name == "du"
            assert part.inputs["t"].shape == (n,)
            states = part.inputs["u"]
        assert states.shape == part.targets.shape == (n, 2)
        assert list(part.columns) == ["u0", "u1"]
        for i, column in enumerate(part.columns.values()):
            np.testing.assert_array_equal(column, states[:, i])
        for array in arrays(part).values():
            assert array.dtype == np.float64
            assert array.flags.c_contiguous


@VIEWS
def test_the_strict_task_is_what_it_states(
    kind: Ode, source: Source[OdeDataset], view: str
) -> None:
    data = load(source, snr_db=20.0)
    t, u = data.given.t, data.given.u
    states = "X" if view == "table" else "u"
    task = kind.task(data, view, STRICT)
    curve = smooth(t[:120], u[:120])
    for part in (task.train, task.validation, task.refit):
        np.testing.assert_array_equal(part.inputs[states], curve.u[1:-1])
        np.testing.assert_array_equal(part.targets, curve.du[1:-1])
    raw = kind.task(load(source, snr_db=20.0, derivatives="fd"), view, STRICT)
    np.testing.assert_array_equal(raw.refit.inputs[states], u[:120])
    differences = np.gradient(u[:120], t[:120], axis=0, edge_order=2)
    np.testing.assert_allclose(raw.refit.targets, differences, rtol=1e-9, atol=1e-9)
    exact = kind.task(load(source, snr_db=20.0, derivatives="exact"), view, STRICT)
    np.testing.assert_array_equal(exact.refit.inputs[states], u[:120])
    x, y = data.clean.u[:120].T  # the law of lotka-volterra-simple, worked out by hand
    true = np.stack([x * (1.84 - 1.45 * y), y * (1.62 * x - 3.0)], axis=1)
    np.testing.assert_allclose(exact.refit.targets, true, rtol=1e-9, atol=1e-12)
    for each in (task, raw, exact):
        np.testing.assert_array_equal(each.test.inputs[states], data.clean.u[120:])
        np.testing.assert_array_equal(each.test.targets, known(data.clean.du)[120:])
    if view == "trajectory":
        np.testing.assert_array_equal(task.refit.inputs["measured"], u[1:119])


def test_derivatives_are_a_part_of_the_data_and_published_ones_are_differences(
    source: Source[OdeDataset],
) -> None:
    prints = {load(source, derivatives=way).fingerprint for way in ("fd", "smooth", "exact")}
    assert len(prints) == 3
    assert load(source).fingerprint == load(source, derivatives="smooth").fingerprint
    with pytest.raises(UsageError, match="finite differences alone"):
        load(source, protocol=PUBLISHED, derivatives="smooth")
    with pytest.raises(UsageError, match="finite differences alone"):
        load(source, protocol=PUBLISHED, derivatives="exact")


@pytest.mark.parametrize("snr_db", [None, 40.0, 20.0])
def test_the_truth_wins_wherever_it_stands(
    kind: Ode, source: Source[OdeDataset], snr_db: float | None
) -> None:
    """Its score is rounding at every level, and its loss in the choice is that of the noise."""
    for name in ("lotka-volterra-simple", "van-der-pol-oscillator", "seir-infection"):
        data = load(source, name, snr_db=snr_db)
        task = kind.task(data, "trajectory", STRICT)
        answer = kind.read_answer(task, Answer(known(data.truth), task.test.targets))
        assert kind.score(task, answer).metrics["nmse"] < 1e-12  # type: ignore[operator]
        assert known(data.floor) < 1e-6
        truth, zero = (
            kind.evaluate_candidate(task, task.refit, Candidate(0, texts, {}))
            for texts in (known(data.truth), ("0",) * data.dim)
        )
        assert truth.loss < 0.3 * zero.loss
        assert zero.loss == pytest.approx(1.0)
        assert truth.fitness > zero.fitness
        floor = float(np.mean(known(task.evidence).floors))
        assert truth.loss < 3 * floor + 1e-6


def test_true_derivatives_are_refused_where_they_are_not_known(kind: Ode, tmp_path: Path) -> None:
    lines = [f"{t / 10},{np.exp(-t / 10)}" for t in range(60)]
    (tmp_path / "mine.csv").write_text("\n".join(["t,v", *lines]), encoding="ascii")
    with pytest.raises(UsageError, match="true derivatives of mine are not known"):
        load(kind.source(tmp_path / "mine.csv"), "mine", derivatives="exact")


def test_what_has_no_known_derivatives_is_tested_by_integrals(kind: Ode, tmp_path: Path) -> None:
    t = np.linspace(0, 4, 120)
    noise = 1 + 0.01 * np.random.default_rng(1).standard_normal(120)
    rows = np.column_stack([t, np.exp(-t) * noise])
    np.savetxt(tmp_path / "decay.csv", rows, delimiter=",", header="t,x", comments="")
    task = kind.task(load(kind.source(tmp_path), "decay"), "table", STRICT)

    def score(text: str) -> float:
        answer = kind.read_answer(task, Answer((text,), None))
        value = kind.score(task, answer).metrics["nmse"]
        assert isinstance(value, float)
        return value

    assert score("0") == pytest.approx(1.0)
    assert score("-u0") < 0.1 < score("-2*u0")
    assert "published_nmse" not in kind.metric_names(task)


@VIEWS
def test_the_published_task_is_what_the_published_code_makes(
    kind: Ode, source: Source[OdeDataset], view: str
) -> None:
    data = load(source, snr_db=20.0, protocol=PUBLISHED)
    t, u = data.given.t, data.given.u
    task = kind.task(data, view, PUBLISHED)
    du = np.gradient(u, t, axis=0, edge_order=2)
    for part, rows in (
        (task.train, slice(0, 96)),
        (task.validation, slice(72, 96)),
        (task.refit, slice(0, 120)),
    ):
        np.testing.assert_array_equal(part.inputs["X" if view == "table" else "u"], u[rows])
        np.testing.assert_allclose(part.targets, du[rows], rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(task.test.columns["u1"], u[120:, 1])
    np.testing.assert_array_equal(task.test.targets, known(data.clean.du)[120:])


@VIEWS
@settings(max_examples=40)
@given(
    n=st.integers(15, 60),
    d=st.integers(1, 3),
    uniform=st.booleans(),
    known=st.booleans(),
    seed=st.integers(0, 99),
)
def test_no_later_sample_influences_an_earlier_split(
    tmp_path_factory: pytest.TempPathFactory,
    view: str,
    *,
    n: int,
    d: int,
    uniform: bool,
    known: bool,
    seed: int,
) -> None:
    """Everything after a border changes; everything before it stays, to the last bit."""
    kind = Ode(SYSTEMS, tmp_path_factory.getbasetemp())
    generator = np.random.default_rng(seed)
    t = np.arange(float(n)) if uniform else np.cumsum(generator.uniform(0.1, 1.0, n))
    clean, du = generator.normal(size=(2, n, d))

    def task(t: Array, clean: Array, du: Array) -> EquationTask[OdeDataset]:
        noisy = add_noise(clean, name="x", snr_db=20.0, seed=seed)
        return kind.task(dataset(t, noisy, clean, du if known else None), view, STRICT)

    def after(border: int) -> EquationTask[OdeDataset]:
        later = (np.arange(n) >= border)[:, None]
        return task(t + 0.5 * later[:, 0], clean + later, du - later)

    first, fifth = task(t, clean, du), n // 5
    changed_test = after(n - fifth)
    assert_same(first.refit, changed_test.refit)
    assert_same_evidence(first, changed_test)
    assert not np.array_equal(first.test.columns["u0"], changed_test.test.columns["u0"])
    assert not np.array_equal(first.refit.targets, after(n - 2 * fifth).refit.targets)


def test_a_view_that_does_not_exist_is_refused(kind: Ode, source: Source[OdeDataset]) -> None:
    with pytest.raises(UsageError, match="no view 'field'"):
        kind.task(load(source), "field", STRICT)


# Files of the user's


def write_csv(path: Path, n: int = 30) -> Path:
    t = np.linspace(0, 3, n)
    rows = np.stack([t, t**2, 1 - t], axis=1)
    lines = ["time,prey,predators", *(",".join(map(repr, map(float, row))) for row in rows)]
    path.write_text("\n".join(lines))
    return path


def write_npz(path: Path, value: float = 1.0, n: int = 30, d: int = 2) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, t=np.arange(float(n)), u=np.full((n, d), value), du=np.full((n, d), 3 * value))
    return path


def test_a_table_of_one_s_own_is_scored_against_finite_differences(
    kind: Ode, tmp_path: Path
) -> None:
    source = kind.source(write_csv(tmp_path / "field-work.csv"))
    assert source.names() == ["field-work"]
    assert source.title("field-work").endswith("field-work.csv (u0: prey, u1: predators)")
    data = load(source, "field-work")
    assert data.truth is None
    assert data.target_source == "finite differences"
    assert data.dim == 2
    task = kind.task(data, "trajectory", STRICT)
    t = task.test.inputs["t"]
    np.testing.assert_allclose(task.test.targets, np.stack([2 * t, -np.ones_like(t)], axis=1))
    noisy = kind.task(load(source, "field-work", snr_db=10.0), "trajectory", STRICT)
    np.testing.assert_array_equal(noisy.test.targets, task.test.targets)
    np.testing.assert_array_equal(noisy.test.inputs["u"], task.test.inputs["u"])
    assert not np.array_equal(noisy.refit.inputs["measured"], task.refit.inputs["measured"])


def test_arrays_of_one_s_own_are_scored_against_their_derivatives(
    kind: Ode, tmp_path: Path
) -> None:
    source = kind.source(write_npz(tmp_path / "mine.npz"))
    data = load(source, "mine")
    assert (data.truth, data.target_source, data.name) == (None, "file", "mine")
    assert (kind.task(data, "table", PUBLISHED).test.targets == 3.0).all()
    assert source.title("mine").endswith("mine.npz")


def test_published_noise_is_for_published_systems_only(kind: Ode, tmp_path: Path) -> None:
    source = kind.source(write_npz(tmp_path / "rc-circuit.npz"))
    strict, published = (
        load(source, "rc-circuit", snr_db=25.0, protocol=protocol) for protocol in Protocol
    )
    np.testing.assert_array_equal(strict.given.u, published.given.u)
    raw = load(source, "rc-circuit", snr_db=25.0, derivatives="fd", scaling="off")
    assert raw.fingerprint == published.fingerprint != strict.fingerprint


def test_a_folder_in_the_published_layout(kind: Ode, tmp_path: Path) -> None:
    write_npz(tmp_path / "b" / "b.npz", 1.0)
    write_npz(tmp_path / "b" / "b_snr_40.npz", 2.0)
    write_npz(tmp_path / "rössler" / "rössler.npz", 4.0)
    write_npz(tmp_path / "only_snr_10" / "only_snr_10.npz", 5.0)
    write_csv(tmp_path / "a.csv")
    write_npz(tmp_path / ".b.npz.1-2.tmp.npz", 6.0)
    (tmp_path / "notes.txt").write_text("none")
    source = kind.source(tmp_path)
    assert source.names() == ["a", "b", "only_snr_10", "rössler"]
    assert load(source, "b").given.u[0, 0] == 1.0
    released = load(source, "b", snr_db=40.0, seed=3)
    assert released.given.u[0, 0] == 2.0
    assert released.clean.u[0, 0] == 1.0  # the test asks about the states without noise
    raw = load(source, "b", snr_db=40, seed=3, derivatives="fd", scaling="off")
    assert raw.fingerprint == load(source, "b", snr_db=40, protocol=PUBLISHED).fingerprint
    drawn = load(source, "b", snr_db=30.0, seed=3)
    expected = add_noise(np.full((30, 2), 1.0), name="b", snr_db=30.0, seed=3)
    np.testing.assert_array_equal(drawn.given.u, expected)
    assert kind.source(tmp_path / "b").names() == ["b"]


@pytest.mark.parametrize("ending", ["tsv", "txt", "DAT"])
def test_a_table_under_another_ending_is_read(kind: Ode, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"table.{ending}"
    path.write_text("t x\n" + "".join(f"{k} {k * k}\n" for k in range(20)))
    source = kind.source(path)
    assert source.names() == ["table"]
    np.testing.assert_array_equal(load(source, "table").clean.u[:, 0], np.arange(20.0) ** 2)


@pytest.mark.parametrize("ending", ["sav", "md", "xls"])
def test_a_file_that_is_not_read_may_be_given_from_python(
    kind: Ode, tmp_path: Path, ending: str
) -> None:
    path = tmp_path / f"table.{ending}"
    path.write_bytes(b"rows")
    with pytest.raises(DataError, match=rf"ends in .{ending}; files (.|\n)*data=table"):
        kind.source(path)


def test_paths_without_data_are_refused(kind: Ode, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("none")  # in a folder that is no data
    (tmp_path / "notes.md").write_text("none")
    for path in (tmp_path, tmp_path / "notes.md"):
        with pytest.raises(DataError, match=r"(this type|files that) end in(.|\n)*\.csv"):
            kind.source(path)
    with pytest.raises(DataError, match="nothing at"):
        kind.source(tmp_path / "missing.npz")
    write_npz(tmp_path / "x" / "a.npz")
    write_csv(tmp_path / "a.csv")
    with pytest.raises(DataError, match="the same name"):
        kind.source(tmp_path)


def test_a_bad_file_is_refused_when_it_is_loaded(kind: Ode, tmp_path: Path) -> None:
    source = kind.source(write_npz(tmp_path / "short.npz", n=3))
    with pytest.raises(DataError, match=r"short\.npz: t has 3 time points"):
        load(source, "short")
    with pytest.raises(UsageError, match="Did you mean short"):
        load(source, "shorts")


# Export


def test_all_datasets_can_be_written_and_read_as_files(
    kind: Ode, source: Source[OdeDataset], tmp_path: Path
) -> None:
    assert kind.write_all(tmp_path, with_noise=True, protocol=PUBLISHED) == 63 * 5
    files = kind.source(tmp_path)
    assert sorted(files.names()) == sorted(source.names())
    name = "rössler-attractor-chaotic"
    assert {path.name for path in (tmp_path / name).iterdir()} == {
        f"{name}.npz",
        *(f"{name}_snr_{level:g}.npz" for level in SNR_LEVELS_DB),
    }
    for snr_db in (None, *SNR_LEVELS_DB):
        own = load(source, name, snr_db=snr_db, protocol=PUBLISHED)
        filed = load(files, name, snr_db=snr_db)
        for key in ("t", "u"):
            np.testing.assert_array_equal(getattr(filed.given, key), getattr(own.given, key))
        np.testing.assert_array_equal(filed.clean.du, own.clean.du)
        assert filed.truth is None
    clean = read_npz(tmp_path / name / f"{name}.npz")
    noisy = read_npz(tmp_path / name / f"{name}_snr_40.npz")
    assert clean.u.flags.f_contiguous
    assert known(clean.du).flags.f_contiguous
    assert known(noisy.du).flags.f_contiguous
    assert noisy.u.flags.c_contiguous


def test_without_noise_only_clean_files_are_written(kind: Ode, tmp_path: Path) -> None:
    assert kind.write_all(tmp_path) == 63
    assert len(list(tmp_path.glob("*/*"))) == 63
