"""What is said of data beforehand, against data whose spacing and noise are known."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from harness import add_method, make_workspace, use_on_command_line

from mdbench.cli import main
from mdbench.data.field import Field
from mdbench.data.noise import add_noise
from mdbench.data.smoothing import smooth
from mdbench.data.trajectory import Trajectory
from mdbench.datatypes import classes
from mdbench.datatypes.equations.data_checks import (
    FEWEST_ROWS,
    between_halves,
    integrated_back,
    near_noise,
    of_field,
    of_table,
    of_trajectory,
    samples_per_oscillation,
    spacing,
    turning_points,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

Output = pytest.CaptureFixture[str]
LOUD = 10.0
"""Times the estimate of a derivative's uncertainty may be off."""


def wave(n: int, periods: float = 4.0) -> tuple[Array, Array]:
    t = np.linspace(0, 10, n)
    angle = 2 * np.pi * periods * t / 10
    return t, np.stack([np.sin(angle), np.cos(angle)], axis=-1)


def own(given: Any, **names: Any) -> Any:
    return SimpleNamespace(given=given, clean=given, names={}, measured_in={}, **names)


def test_spacing() -> None:
    t = np.linspace(3, 4, 50)
    assert spacing([t]).regular
    assert spacing([t, t + 100]).regular
    assert spacing([np.round(t, 4)]).regular  # as files have it
    uneven = spacing([np.array([0.0, 1.0, 1.5, 4.0])])
    assert (uneven.least, uneven.median, uneven.largest) == (0.5, 1.0, 2.5)
    assert not uneven.regular
    assert not spacing([t, 2 * t]).regular


@pytest.mark.parametrize("snr_db", [40.0, 30.0, 20.0, 10.0])
@pytest.mark.parametrize("seed", [0, 1])
def test_noise_of_a_trajectory_is_near_what_was_added(snr_db: float, seed: int) -> None:
    t, u = wave(400)
    noisy = add_noise(u, name="wave", snr_db=snr_db, seed=seed)
    line = of_trajectory(own(Trajectory(t, noisy)))[1]
    told = [float(each) for each in re.findall(r"\((-?[0-9]+) dB\)", line)]
    assert len(told) == 2
    assert all(abs(each - snr_db) <= 2.5 for each in told), line


def test_clean_data_have_no_noise() -> None:
    assert "u0 none to be seen, u1 none to be seen" in of_trajectory(own(Trajectory(*wave(400))))[1]


@pytest.mark.parametrize("snr_db", [30.0, 20.0])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_uncertainty_of_derivatives_is_near_what_they_are_wrong_by(
    snr_db: float, seed: int
) -> None:
    t, u = wave(200)
    true = np.stack([u[:, 1], -u[:, 0]], axis=-1) * 2 * np.pi * 0.4
    noisy = add_noise(u, name="wave", snr_db=snr_db, seed=seed)
    found = between_halves(t, noisy)
    assert found is not None
    inner = slice(2, -2)
    wrong = smooth(t, noisy).du[inner] - true[inner]
    share = np.sqrt(np.mean(wrong**2, axis=0) / np.mean(true[inner] ** 2, axis=0))
    assert (found > share / LOUD).all()
    assert (found < share * LOUD).all()


def test_noisier_data_have_less_certain_derivatives() -> None:
    t, u = wave(200)
    levels = [
        between_halves(t, add_noise(u, name="wave", snr_db=db, seed=0)) for db in (50, 30, 10)
    ]
    means = [float(np.mean(one)) for one in levels if one is not None]
    assert means == sorted(means)
    assert means[0] < 0.1 < means[-1]
    assert between_halves(t[:9], u[:9]) is None
    still = between_halves(t, np.ones_like(u))
    assert still is None or not np.isnan(still).any()


def test_derivatives_integrate_back_where_samples_are_dense() -> None:
    for n, low, high in ((400, 0.0, 0.01), (20, 0.02, 0.5)):
        t, u = wave(n)
        rate = 2 * np.pi * 0.4
        du = np.stack([u[:, 1], -u[:, 0]], axis=-1) * rate
        found = integrated_back(t, u, du)
        assert ((found >= low) & (found <= high)).all(), (n, found)
    # The trapezoidal rule's own error on a sine: 1 - (h/2) cot(h/2), for h the angle of a step.
    h = rate * (t[1] - t[0])
    assert found == pytest.approx(1 - h / 2 / np.tan(h / 2), rel=0.2)
    assert (integrated_back(t, np.ones_like(u), 0 * u) == 0).all()


@pytest.mark.parametrize("samples", [8, 20, 50])
def test_samples_per_oscillation(samples: int) -> None:
    u = np.sin(2 * np.pi * np.arange(6 * samples) / samples + 0.3)
    assert samples_per_oscillation([u]) == pytest.approx(samples, abs=2)
    slow = np.sin(2 * np.pi * np.arange(6 * samples) / samples / 3)
    assert samples_per_oscillation([slow, u]) == pytest.approx(samples, abs=2)
    # What is smaller than the noise is none.
    assert samples_per_oscillation([u], noise=1.0) is None
    assert samples_per_oscillation([u + 100 * np.arange(len(u))]) is None
    assert samples_per_oscillation([np.ones(9)]) is None


def test_turning_points_by_hand() -> None:
    assert turning_points(np.array([0, 3, 0, 3, 0.0]), 1.0) == [1, 2, 3]
    assert turning_points(np.array([3, 0, 3, 0, 3.0]), 1.0) == [1, 2, 3]
    assert turning_points(np.array([0, 3, 2.5, 5, 0.0]), 1.0) == [3]
    assert turning_points(np.arange(9.0), 1.0) == []


@pytest.mark.parametrize("sd", [0.0, 0.05, 0.3])
@pytest.mark.parametrize("dim", [1, 2])
def test_noise_of_a_table_is_near_what_was_added(sd: float, dim: int) -> None:
    generator = np.random.default_rng(3)
    x = generator.uniform(-2, 2, (1500, dim)) * [1.0, 1e4][:dim]
    y = np.sin(x[:, 0]) + (0 if dim == 1 else 1e-8 * x[:, 1] ** 2)
    found = near_noise(x, y + sd * generator.standard_normal(len(y)))
    assert found is not None
    assert np.sqrt(found) == pytest.approx(sd, abs=0.02 + 0.1 * sd)


def test_tables_of_which_little_can_be_said() -> None:
    x, y = np.zeros((FEWEST_ROWS, 2)), np.arange(float(FEWEST_ROWS))
    assert near_noise(x[1:], y[1:]) is None
    assert near_noise(x, y) == pytest.approx(np.var(y))
    table = SimpleNamespace(columns=("a", "b"), x=x, y=y, target="c")
    lines = of_table(SimpleNamespace(table=table))
    assert "a, b: the same in all rows" in " ".join(lines)
    assert f"{FEWEST_ROWS - 1} rows have the inputs of another one" in lines
    table = SimpleNamespace(columns=("a",), x=np.arange(5.0)[:, None], y=np.arange(5.0), target="c")
    assert "too few rows" in of_table(SimpleNamespace(table=table))[-1]


def test_a_field_s_noise_and_waves() -> None:
    t, x = np.linspace(0, 5, 80), np.linspace(0, 1, 64)
    u = np.sin(2 * np.pi * (4 * x[:, None] - 0.4 * t))[..., None]
    noisy = add_noise(u, name="field", snr_db=20.0, seed=0)
    for values, decibels in ((u, None), (noisy, 20.0)):
        lines = of_field(own(Field(t, {"x": x}, values)))
        assert lines[0].startswith("64 x 80 samples of u0; x 0 to 1, spacing 0.01587 (regular)")
        told = re.findall(r"\(([0-9]+) dB\)", lines[1])
        if decibels is None:
            assert "none to be seen" in lines[1]
        else:
            assert abs(float(told[0]) - decibels) <= 2.5
        along = {
            axis: float(count)
            for count, axis in re.findall(
                r"([0-9]+) samples per fastest wave along (\w)", "\n".join(lines)
            )
        }
        assert along["x"] == pytest.approx(16, abs=3)
        assert along["t"] == pytest.approx(40, abs=8)


def test_states_that_do_not_change_are_named() -> None:
    t, u = wave(80)
    lines = of_trajectory(own(Trajectory(t, np.stack([u[:, 0], np.full(80, 0.1)], axis=-1))))
    assert "without change: u1" in lines
    assert "u1" not in next(line for line in lines if line.startswith("derivatives"))
    assert of_trajectory(own(Trajectory(t, np.full((80, 1), 0.1))))[-1] == "without change: u0"


@pytest.mark.parametrize(
    ("numbers", "named"),
    [
        (np.repeat([1.0, 2.0, 3.0, 4.0], 20), True),
        (np.repeat([0.0, 1.0], 40), True),
        (np.tile([0.0, 1.0], 40), False),  # it switches
        (np.repeat([1.0, 2.0, 1.0, 2.0], 20), False),  # likewise, slowly
        (np.repeat([0.5, 1.5], 40), False),
        (np.arange(80.0), False),  # it counts
    ],
)
def test_numbers_of_trajectories_are_named(numbers: np.ndarray, named: bool) -> None:
    t, u = wave(80)
    lines = of_trajectory(own(Trajectory(t, np.stack([u[:, 0], numbers], axis=-1))))
    assert any("--trajectory u1" in line for line in lines) == named


def test_few_samples_and_several_trajectories_are_said() -> None:
    t, u = wave(24)
    lines = of_trajectory(own(Trajectory(t, u)))
    assert any(line.endswith("few; 10 or more are wanted") for line in lines)
    both = Trajectory(np.concatenate([t, t[:20]]), np.concatenate([u, u[:20]]), starts=(0, 24))
    assert of_trajectory(own(both))[0].startswith("2 trajectories of 20 to 24 of u0, u1;")


def test_data_types_that_read_files_of_people_s_own_have_advice() -> None:
    assert {kind.name for kind in classes() if hasattr(kind, "advice")} >= {"ode", "pde", "real"}


@pytest.fixture
def decay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    workspace = make_workspace(tmp_path)
    use_on_command_line(workspace, tmp_path, monkeypatch)
    add_method(workspace, "zero")
    t = np.linspace(0, 3, 80)
    table = np.column_stack([t, np.exp(-t), np.cos(t)])
    np.savetxt("decay.csv", table, delimiter=",", header="time,prey,hunter", comments="")
    return tmp_path / "decay.csv"


@pytest.mark.usefixtures("decay")
def test_a_run_on_own_data_begins_with_it(capsys: Output) -> None:
    line = "run --algorithm zero --data-type ode --dataset-path decay.csv"
    assert main([*line.split(), "--snr", "clean"]) == 0
    text = capsys.readouterr().out
    said = text[text.index("decay: ") : text.index("Runtime") if "Runtime" in text else None]
    assert "decay: 80 samples of prey, hunter; time 0 to 3, spacing 0.03797 (regular)" in said
    assert "prey none to be seen" in said
    found = re.search(r"a constant scores NMSE ([0-9.e-]+): an answer has to be better", said)
    assert found is not None
    assert float(found[1]) > 0
    assert main([*line.split(), "--json"]) == 0
    captured = capsys.readouterr()
    assert "a constant scores" in captured.err
    assert captured.out.startswith("{")
    assert main(["run", "--algorithm", "zero", "--data-type", "ode", "--dataset", "glider"]) == 0
    assert "a constant scores" not in capsys.readouterr().out


@pytest.mark.usefixtures("decay")
def test_data_can_be_looked_at_without_a_run(capsys: Output) -> None:
    assert main(["data", "--data-type", "ode", "--dataset-path", "decay.csv"]) == 0
    assert "decay: 80 samples of prey, hunter" in capsys.readouterr().out
    for more, words in (
        ([], "To look at your own: mdbench data --data-type ode --dataset-path FILE"),
        (["--out", "x", "--dataset-path", "decay.csv"], "both --out and --dataset-path"),
        (["--dataset-path", "decay.csv", "--with-noise"], "--with-noise goes with --out"),
        (["--dataset-path", "none.csv"], "none.csv"),
    ):
        assert main(["data", "--data-type", "ode", *more]) == 2
        assert words in capsys.readouterr().err
    assert not Path("x").exists()


@pytest.mark.parametrize("times", [1e-140, 1e-100, 1.0, 1e30, 1e100, 1e140])
@pytest.mark.parametrize("values", [1e-140, 1.0, 1e140])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_no_number_of_a_description_is_none(times: float, values: float) -> None:
    t, u = wave(60)
    x = np.linspace(0, 6, 16)
    field = np.sin(x[:, None] - t)[..., None] * values
    lines = [
        *of_trajectory(own(Trajectory(t * times, u * values))),
        *of_field(own(Field(t * times, {"x": x * times}, field))),
    ]
    for line in lines:
        assert not re.search(r"\b(nan|inf)\b", line, re.IGNORECASE), line
    if times == values == 1.0:
        assert not any("not known" in line or "unknown" in line for line in lines)
