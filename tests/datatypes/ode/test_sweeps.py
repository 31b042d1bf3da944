"""Sweeps: what each axis does to the data, and the laws by which errors follow it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from harness import ROOT, add_method
from scipy.integrate import solve_ivp

from mdbench.cli import main
from mdbench.data.derivatives import time_derivative
from mdbench.datatypes.base import Answer
from mdbench.datatypes.facts import Protocol
from mdbench.datatypes.ode.data_type import Ode
from mdbench.datatypes.ode.datasets import OdeDataset
from mdbench.datatypes.ode.sweeps import Conditions, parse_sweep, swept
from mdbench.datatypes.ode.systems import read_system
from mdbench.errors import DataError, UsageError
from mdbench.records import RecordStore
from mdbench.runs.plan import select_names

if TYPE_CHECKING:
    from mdbench.workspace import Workspace

FOLDER = ROOT / "datasets" / "ode"
OSCILLATOR = "harmonic-oscillator-damping"


@pytest.fixture
def ode(tmp_path: Path) -> Ode:
    return Ode(FOLDER, tmp_path)


def load(ode: Ode, name: str, seed: int = 0, **options: Any) -> OdeDataset:
    found = ode.source().load(
        name, snr_db=None, seed=seed, protocol=Protocol.STRICT, options=options
    )
    assert isinstance(found, OdeDataset)
    return found


def test_axes_are_combined_and_stand_in_the_names() -> None:
    sweep = parse_sweep("samples=20,50;noise=0,0.01")
    assert swept(["a", "b"], sweep) == [
        *("a+samples=20", "b+samples=20", "a+samples=20+noise=0.01", "b+samples=20+noise=0.01"),
        *("a+samples=50", "b+samples=50", "a+samples=50+noise=0.01", "b+samples=50+noise=0.01"),
    ]
    assert swept(["a"], parse_sweep("noise=0,0.0,1e-2,0.01 trajectories=1")) == [
        "a",
        "a+noise=0.01",
    ]


@pytest.mark.parametrize(
    "conditions",
    [
        Conditions(),
        Conditions(samples=33, noise=0.125, noise_kind="outliers"),
        Conditions(dt=0.1, uneven=0.4, missing=0.25, trajectories=8, dimension=3),
        Conditions(test="second-start"),
    ],
)
def test_a_name_says_all(conditions: Conditions) -> None:
    assert Conditions.read(f"name{conditions}") == ("name", conditions)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "Give an axis"),
        ("samples", "'samples'"),
        ("sample=20", "Did you mean samples"),
        ("samples=20;samples=30", "each axis once"),
        ("samples=14", "from 15"),
        ("samples=20.5", "whole number"),
        ("samples=1e9", "whole number"),
        ("samples=20;dt=0.1", "both given"),
        ("dt=0", "above 0"),
        ("dt=nan", "above 0"),
        ("noise=-1", "from 0"),
        ("noise=inf", "from 0"),
        ("noise=much", "'much'"),
        ("noise-kind=outlier", "Did you mean outliers"),
        ("test=second", "Did you mean second-start"),
        ("uneven=0.5", "below 0.5"),
        ("missing=1", "below 0.9"),
        ("trajectories=0", "from 1"),
        ("dimension=99", "to 16"),
    ],
)
def test_what_cannot_be_is_refused(text: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_sweep(text)
    assert words in f"{caught.value} {caught.value.hint}"


def test_samples_lie_on_the_same_solution(ode: Ode) -> None:
    """Whatever their number, step or unevenness, against SciPy at their own times."""
    for name in ("samples=40", "dt=0.25", "samples=60+uneven=0.3", "missing=0.5"):
        clean = load(ode, f"{OSCILLATOR}+{name}").clean
        system = read_system(FOLDER / f"{OSCILLATOR}.toml")
        found = solve_ivp(
            system.right_hand_side, (0, 10), clean.u[0], t_eval=clean.t, rtol=1e-10, atol=1e-12
        )
        np.testing.assert_allclose(clean.u, found.y.T, atol=2e-3)
        assert (np.diff(clean.t) > 0).all()
    assert len(load(ode, f"{OSCILLATOR}+samples=40").clean.t) == 40
    np.testing.assert_allclose(np.diff(load(ode, f"{OSCILLATOR}+dt=0.25").clean.t), 0.25)
    uneven = np.diff(load(ode, f"{OSCILLATOR}+samples=60+uneven=0.3").clean.t) * 59 / 10
    assert uneven.std() > 0.1
    assert 0.4 <= uneven.min() < uneven.max() <= 1.6
    assert len(load(ode, f"{OSCILLATOR}+missing=0.5").clean.t) == 75


@pytest.mark.parametrize("kind", ["additive", "multiplicative", "outliers"])
def test_noise_is_of_its_kind_and_the_test_has_none(ode: Ode, kind: str) -> None:
    name = f"{OSCILLATOR}+samples=2000+noise=0.02"
    dataset = load(ode, name if kind == "additive" else f"{name}+noise-kind={kind}")
    u, off = dataset.clean.u, dataset.given.u - dataset.clean.u
    size = np.abs(u) if kind == "multiplicative" else np.std(u, axis=0) * np.ones_like(u)
    scaled = off / size
    if kind == "outliers":
        hit = scaled[off != 0]
        assert abs((off != 0).mean() - 0.05) < 0.01
        assert abs(hit.std() / 0.2 - 1) < 0.15
    else:
        assert abs(scaled.std() / 0.02 - 1) < 0.05
    task = ode.task(dataset, "table", Protocol.STRICT)
    np.testing.assert_array_equal(task.test.targets, dataset.clean.du[-400:])  # type: ignore[index]
    other = load(ode, dataset.name, seed=1)
    assert other.fingerprint != dataset.fingerprint
    assert load(ode, dataset.name).fingerprint == dataset.fingerprint


@pytest.mark.parametrize("count", [2, 4, 8])
def test_several_trajectories_begin_at_different_states(ode: Ode, count: int) -> None:
    name = f"lotka-volterra-simple+trajectories={count}"
    dataset = load(ode, name)
    pieces = dataset.clean.pieces
    assert len(pieces) == count
    starts = np.array([one.u[0] for one in pieces])
    assert len(np.unique(starts, axis=0)) == count
    assert (starts > 0).all()
    usual = load(ode, "lotka-volterra-simple")
    np.testing.assert_array_equal(pieces[0].u, usual.clean.u)
    task = ode.task(dataset, "trajectory", Protocol.STRICT)
    assert task.needs == ("trajectories",)
    # The second published start stays the test.
    assert dataset.unseen is not None
    assert usual.unseen is not None
    np.testing.assert_array_equal(dataset.unseen().u, usual.unseen().u)
    assert not any(np.allclose(dataset.unseen().u[0], start) for start in starts)


def test_conditions_of_a_sweep_take_the_place_of_those_in_a_name() -> None:
    """So a set of datasets under conditions can be swept, too."""
    assert swept(["a+test=second-start", "a+noise=0.5"], parse_sweep("noise=0,0.1")) == [
        *("a+test=second-start", "a"),
        *("a+noise=0.1+test=second-start", "a+noise=0.1"),
    ]


@pytest.mark.parametrize("more", ["", "+samples=60", "+noise=0.1", "+trajectories=4+dimension=1"])
def test_the_second_start_as_the_test(ode: Ode, more: str) -> None:
    """Methods are given all from the first start; scores are of all from the second."""
    usual, dataset = (
        load(ode, f"{OSCILLATOR}{more}"),
        load(ode, f"{OSCILLATOR}{more}+test=second-start"),
    )
    *before, test = dataset.clean.pieces
    np.testing.assert_array_equal(np.concatenate([one.u for one in before]), usual.clean.u)
    assert usual.unseen is not None
    np.testing.assert_array_equal(test.u[0], usual.unseen().u[0])
    if not more:
        np.testing.assert_array_equal(test.u, usual.unseen().u)
    assert len(test.t) == len(before[0].t)
    for view in ("table", "trajectory"):
        task = ode.task(dataset, view, Protocol.STRICT)
        np.testing.assert_array_equal(task.test.targets, test.du)
        # All rows of a smoothed curve but its two ends.
        assert len(task.train.targets) == len(usual.clean.t) - 2 * len(before)
        several = ("trajectories",) if len(before) > 1 and view == "trajectory" else ()
        assert task.needs == several
    assert dataset.truth is not None
    found = ode.score(task, ode.read_answer(task, Answer(dataset.truth))).metrics
    assert found["identified"] == found["follows"] == 1.0
    assert found["r2_test"] == pytest.approx(1.0, abs=1e-5)
    assert "follows_unseen" not in found
    wrong = ode.score(task, ode.read_answer(task, Answer(("0.1",) * dataset.dim))).metrics
    assert wrong["identified"] == wrong["follows"] == 0.0
    noise = dataset.given.u - dataset.clean.u
    assert not noise[-len(test.t) :].any()
    assert noise.any() == ("noise" in more)


def test_r2_on_a_held_out_initial_condition_is_that_of_the_usual_test(ode: Ode) -> None:
    """What ``follows_unseen`` says of an answer there is what ``follows`` says of it here."""
    usual, dataset = (
        load(ode, f"lotka-volterra-simple{end}") for end in ("", "+test=second-start")
    )
    assert usual.truth is not None
    near = tuple(f"1.01 * ({text})" for text in usual.truth)
    unseen, here = (
        ode.score(task, ode.read_answer(task, Answer(near))).metrics
        for task in (ode.task(one, "table", Protocol.STRICT) for one in (usual, dataset))
    )
    assert here["r2_test"] == unseen["r2_unseen"]
    assert here["follows"] == unseen["follows_unseen"]


def test_sets_are_made_of_others(ode: Ode) -> None:
    groups = ode.source().groups()
    for base, size in (("odebench", 63), ("dysts-new", 81), ("llm-ode-new", 6)):
        for end in ("second-start", "2-starts", "4-starts", "8-starts"):
            assert len(groups[f"{base}-{end}"]) == size
    assert groups["odebench-4-starts"][0] == "rc-circuit+trajectories=4+test=second-start"


def test_a_glob_means_no_datasets_under_conditions(ode: Ode) -> None:
    source = ode.source()
    names, groups = source.names(), source.groups()
    assert select_names(names, ["dysts-lorenz"], groups) == ["dysts-lorenz"]
    assert not any("+" in name for name in select_names(names, ["dysts-lorenz*"], groups))
    assert select_names(names, ["dysts-finance+*=4+*"], groups) == [
        "dysts-finance+trajectories=4+test=second-start"
    ]


def test_a_system_with_one_start_has_no_second(tmp_path: Path) -> None:
    text = (FOLDER / "rc-circuit.toml").read_text("utf-8")
    begin, end = text.split("initial_conditions = ")
    folder = tmp_path / "systems"
    folder.mkdir()
    one = f"{begin}initial_conditions = [[1.0]]\n{end.partition(chr(10))[2]}"
    (folder / "rc-circuit.toml").write_text(one, "utf-8")
    with pytest.raises(DataError, match="has one start"):
        load(Ode(folder, tmp_path), "rc-circuit+test=second-start")


@pytest.mark.parametrize("name", [OSCILLATOR, "lorenz-equations-chaotic", "glider"])
def test_states_that_act_on_nothing_leave_the_others_alone(ode: Ode, name: str) -> None:
    dataset, usual = load(ode, f"{name}+dimension=2"), load(ode, name)
    assert dataset.dim == usual.dim + 2
    assert dataset.truth is not None
    assert usual.truth is not None
    assert dataset.truth[: usual.dim] == usual.truth
    np.testing.assert_allclose(dataset.clean.u[:40, : usual.dim], usual.clean.u[:40], rtol=1e-3)
    task = ode.task(dataset, "table", Protocol.STRICT)
    scores = ode.score(task, ode.read_answer(task, Answer(dataset.truth))).metrics
    assert scores["identified"] == scores["follows"] == scores["follows_unseen"] == 1.0


def test_what_does_not_go_together_is_refused(ode: Ode, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="gives 3 samples"):
        load(ode, f"{OSCILLATOR}+dt=5.0")
    with pytest.raises(UsageError, match="published"):
        ode.source().load(
            f"{OSCILLATOR}+samples=40", snr_db=None, seed=0, protocol=Protocol.PUBLISHED
        )
    path = tmp_path / "own.csv"
    path.write_text("t,a\n" + "".join(f"{i},{i}.5\n" for i in range(30)), encoding="utf-8")
    with pytest.raises(UsageError, match="project's own systems"):
        ode.source(path).load("own+samples=20", snr_db=None, seed=0, protocol=Protocol.STRICT)
    with pytest.raises(UsageError, match="no axis 'sample'"):
        load(ode, f"{OSCILLATOR}+sample=20")


def fitted(dataset: OdeDataset, du: np.ndarray) -> np.ndarray:
    """Fit the two states' rates by least squares on the states, as SINDy does at threshold 0."""
    return np.asarray(np.linalg.lstsq(dataset.given.u, du, rcond=None)[0])


def errors_of(ode: Ode, name: str, seeds: int) -> float:
    """Return the root mean square of the errors of all coefficients, over seeds of the noise."""
    squares = []
    noiseless = load(ode, name.partition("+noise")[0])
    exact = noiseless.clean.du
    assert exact is not None
    right = fitted(noiseless, exact)
    for seed in range(seeds):
        dataset = load(ode, name, seed=seed)
        # Noise is in what is to be explained, as derivatives of noisy states have it.
        noise = dataset.given.u - dataset.clean.u
        clean = np.linalg.lstsq(dataset.clean.u, exact + noise, rcond=None)[0]
        squares.append(np.mean((clean - right) ** 2))
    return float(np.sqrt(np.mean(squares)))


def test_errors_of_coefficients_go_as_noise_over_the_root_of_the_samples(ode: Ode) -> None:
    few, many = (errors_of(ode, f"{OSCILLATOR}+samples={n}+noise=0.01", 60) for n in (60, 960))
    assert few / many == pytest.approx(4.0, rel=0.2)
    more = errors_of(ode, f"{OSCILLATOR}+samples=60+noise=0.1", 60)
    assert more / few == pytest.approx(10.0, rel=0.2)


def test_errors_of_differences_go_as_the_square_of_the_step(ode: Ode) -> None:
    errors = []
    for dt in (0.2, 0.1, 0.05):
        dataset = load(ode, f"{OSCILLATOR}+dt={dt}")
        exact = dataset.clean.du
        assert exact is not None
        inner = slice(1, -1)
        du = time_derivative(dataset.clean.t, dataset.clean.u)[inner]
        found = np.linalg.lstsq(dataset.clean.u[inner], du, rcond=None)[0]
        right = np.linalg.lstsq(dataset.clean.u[inner], exact[inner], rcond=None)[0]
        errors.append(float(np.linalg.norm(found - right)))
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.05)
    assert errors[1] / errors[2] == pytest.approx(4.0, rel=0.05)


def test_a_run_leaves_a_record_for_each_combination(
    command_line: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    add_method(command_line, "zero")
    line = ["run", "--algorithm", "zero", "--data-type", "ode", "--dataset", "rc-circuit"]
    assert main([*line, "--sweep", "samples=20,50;noise=0,0.1"]) == 0
    capsys.readouterr()
    found = RecordStore(Path("results/zero-ode.jsonl")).read()
    assert {one.dataset for one in found} == {
        f"rc-circuit+samples={n}{noise}" for n in (20, 50) for noise in ("", "+noise=0.1")
    }
    assert main([*line, "--sweep", "sample=20"]) == 2
    assert "Did you mean samples" in capsys.readouterr().err


def test_a_kind_of_noise_without_noise_is_refused() -> None:
    with pytest.raises(UsageError, match="noise-kind=outliers and no noise"):
        Conditions.read("rc-circuit+noise-kind=outliers")
    with pytest.raises(UsageError, match="noise-kind=outliers and no noise"):
        swept(["rc-circuit"], [{"noise-kind": "outliers"}])
    both = [{"noise": size, "noise-kind": "outliers"} for size in ("0", "0.01")]
    clean, noisy = swept(["rc-circuit"], both)
    assert "outliers" not in clean
    assert Conditions.read(noisy)[1].noise_kind == "outliers"
    assert swept(["rc-circuit+noise=0.01"], [{"noise-kind": "outliers"}]) == [noisy]
