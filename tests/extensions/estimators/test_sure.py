"""How sure answers are, against formulas of standard errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from harness import add_method

from mdbench.cli.main import main
from mdbench.errors import UsageError
from mdbench.extensions.estimators.dynamics import Dynamics
from mdbench.extensions.estimators.fields import Fields
from mdbench.extensions.estimators.regressor import Regressor

if TYPE_CHECKING:
    from pathlib import Path

    from mdbench.workspace import Workspace

pytestmark = pytest.mark.extension("estimators")


@pytest.mark.usefixtures("methods")
def test_the_band_of_a_line_is_that_of_the_text_books() -> None:
    x = np.linspace(0, 2, 50)
    y = 3 * x + 1 + 0.2 * np.random.default_rng(0).standard_normal(50)
    law = Regressor("lines", work=2, progress=False).fit(x[:, None], y)
    at = np.array([-1.0, 1.0, 5.0])
    values, band = law.predict(at[:, None], return_std=True)
    slope, offset = np.polyfit(x, y, 1)
    assert values == pytest.approx(offset + slope * at, rel=1e-6)
    spread = np.sum((y - offset - slope * x) ** 2) / 48
    centred = np.sum((x - x.mean()) ** 2)
    wanted = np.sqrt(spread * (1 / 50 + (at - x.mean()) ** 2 / centred))
    assert band == pytest.approx(wanted, rel=1e-4)
    known = Regressor("lines", work=2, progress=False).fit(x[:, None], y, sigma=0.5)
    assert known.predict(at[:, None], return_std=True)[1] == pytest.approx(
        wanted * 0.5 / np.sqrt(spread), rel=1e-4
    )
    assert law.rivals_.options[0].fitted is not None
    assert not hasattr(law, "choice_")  # nothing was asked for: the bench's choice stays


def decay(seed: int = 0) -> tuple[np.ndarray, pd.DataFrame]:
    t = np.linspace(0, 4, 120)
    off = 0.02 * np.random.default_rng(seed).standard_normal(120)
    return t, pd.DataFrame({"x": 3 * np.exp(-0.7 * t) + off})


@pytest.mark.usefixtures("methods")
def test_the_band_of_a_decay_is_that_of_its_rate() -> None:
    model = Dynamics("lines", work=3, progress=False, guess="x' = -k*x").fit(*decay())
    [rate], [error] = model.uncertainty_.constants, model.uncertainty_.errors
    assert abs(abs(rate) - 0.7) < 4 * error
    # Of a fit of 3 exp(-k t) with a start of its own, by the normal equations.
    t, _ = decay()
    columns = np.column_stack([np.exp(-0.7 * t), -3 * t * np.exp(-0.7 * t)])
    wanted = 0.02 * np.sqrt(np.linalg.inv(columns.T @ columns)[1, 1])
    assert error == pytest.approx(wanted, rel=0.2)
    values, band = model.simulate([2.0], [0.0, 1.0, 3.0], return_std=True)
    at = values.index.to_numpy()
    assert values["x"].to_numpy() == pytest.approx(2 * np.exp(-0.7 * at), rel=0.01)
    assert band["x"].to_numpy() == pytest.approx(2 * at * np.exp(-0.7 * at) * error, rel=0.03)


HEAT = """
class Adapter:
    def __init__(self, *, seed, threads): ...
    def fit(self, problem): ...
    def predict(self, problem):
        return 0.5 * problem.X[:, [list(problem.variables).index("u0_xx")]]
    def equations(self):
        return ["0.5*u0_xx"]
"""


def test_a_field_has_standard_errors(command_line: Workspace) -> None:
    folder = add_method(command_line, "heat", HEAT)
    text = (folder / "method.toml").read_text(encoding="utf-8")
    (folder / "method.toml").write_text(text.replace('["ode"]', '["pde"]'), encoding="utf-8")
    x, t = np.arange(48) * 2 * np.pi / 48, np.linspace(0, 2, 80)
    clean = np.exp(-0.6 * t) * np.sin(x)[:, None] + np.exp(-2.4 * t) * np.cos(2 * x)[:, None]
    off, sizes = [], []
    for seed in range(6):
        noise = 0.01 * np.random.default_rng(seed).standard_normal(clean.shape)
        model = Fields("heat", work=5, progress=False).fit(clean + noise, t, x)
        [fitted] = model.uncertainty_
        assert fitted.before == pytest.approx([0.5])
        off.append(fitted.constants[0] - 0.6)
        sizes.append(fitted.errors[0])
    assert np.abs(off).max() < 0.02
    assert 0.4 < np.sqrt(np.mean(np.square(off))) / np.mean(sizes) < 2.5
    assert "0.5 -> " in str(fitted)


def heat(workspace: Workspace, answer: str, name: str = "heat") -> None:
    """Add a method that gives an answer."""
    adapter = f"""
class Adapter:
    def __init__(self, *, seed, threads): ...
    def fit(self, problem): ...
    def predict(self, problem):
        columns = dict(zip(problem.variables, problem.X.T))
        return eval({answer!r}, {{}}, columns)[:, None]
    def equations(self):
        return [{answer!r}]
"""
    folder = add_method(workspace, name, adapter)
    text = (folder / "method.toml").read_text(encoding="utf-8")
    (folder / "method.toml").write_text(text.replace('["ode"]', '["pde"]'), encoding="utf-8")


def spreading(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a solution of u_t = 0.6 u_xx with noise, its times and its nodes."""
    x, t = np.arange(48) * 2 * np.pi / 48, np.linspace(0, 2, 80)
    clean = np.exp(-0.6 * t) * np.sin(x)[:, None] + np.exp(-2.4 * t) * np.cos(2 * x)[:, None]
    return clean + 0.01 * np.random.default_rng(seed).standard_normal(clean.shape), t, x


@pytest.mark.parametrize("seed", range(3))
def test_a_guess_for_a_field_is_fitted_and_the_likelier_one_is_the_answer(
    command_line: Workspace, seed: int
) -> None:
    heat(command_line, "0.5*u0_xx + 0.1*u0*u0_x")  # a term too many
    model = Fields("heat", work=5, progress=False, guess="du0/dt = k*u0_xx").fit(*spreading(seed))
    [choice] = model.choice_
    assert choice.options[0].origin == "the guess"
    assert choice.fitted.constants[0] == pytest.approx([0.6], abs=0.02)
    assert [option.origin for option in model.rivals_[0].options[1:]] == ["the method’s answer"]
    assert float(model.equations_[0].partition("*")[0]) == pytest.approx(0.6, abs=0.02)
    [fitted] = model.uncertainty_
    assert fitted.constants == pytest.approx(choice.fitted.constants[0], rel=1e-6)
    # A guess that the data contradict stands behind the answer.
    heat(command_line, "0.5*u0_xx", "right")
    other = Fields("right", work=5, progress=False, guess="u0_t = -c*u0_x").fit(*spreading(seed))
    assert [option.origin for option in other.choice_[0].options] == [
        "the method’s answer",
        "the guess",
    ]


def test_a_guess_for_a_file_with_a_field_is_typed(
    command_line: Workspace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    heat(command_line, "0.5*u0_xx + 0.1*u0*u0_x")
    u, t, x = spreading(0)
    np.savez(tmp_path / "bar.npz", u=u[..., None], t=t, x=x)
    line = ["fit", "--algorithm", "heat", "--data-type", "pde", "--runtime", "venv"]
    line += ["--dataset-path", str(tmp_path / "bar.npz")]
    assert main([*line, "--guess", "du0/dt = k*u0_xx", "--timeout", "60"]) == 0
    printed = capsys.readouterr().out
    assert "by likelihood (the guess):" in printed
    rate = printed.partition("(the guess):")[2].partition("= ")[2].partition("*u0_xx")[0]
    assert float(rate) == pytest.approx(0.6, abs=0.02)
    assert main([*line, "--sigma", "0.01"]) == 2
    assert "--sigma is not for pde." in capsys.readouterr().err


def test_a_field_without_the_shape_that_is_known_is_refused(command_line: Workspace) -> None:
    heat(command_line, "0.5*u0_xx")
    data = spreading(0)
    kept = Fields("heat", work=5, progress=False, shape="du0/dt increases with u0_xx").fit(*data)
    assert float(kept.equations_[0].partition("*")[0]) == pytest.approx(0.6, abs=0.02)
    with pytest.raises(UsageError, match="not du0/dt decreases with u0_xx"):
        Fields("heat", work=5, progress=False, shape="du0/dt decreases with u0_xx").fit(*data)
    with pytest.raises(UsageError, match="there is no u7"):
        Fields("heat", work=5, progress=False, shape="du0/dt increases with u7").fit(*data)
    with pytest.raises(UsageError, match="u0 = a"):
        Fields("heat", work=5, progress=False, guess="v = u0_xx").fit(*data)


@pytest.mark.usefixtures("methods")
def test_constants_of_results_get_errors_from_their_own_data(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    x = np.linspace(0, 2, 50)
    y = 3 * x + 1 + 0.2 * np.random.default_rng(1).standard_normal(50)
    pd.DataFrame({"x": x, "y": y}).to_csv(tmp_path / "line.csv", index=False)
    t, table = decay()
    table.assign(t=t)[["t", "x"]].to_csv(tmp_path / "decay.csv", index=False)
    for kind, name in (("real", "line"), ("ode", "decay")):
        typed = f"fit --algorithm lines --data-type {kind} --dataset-path {name}.csv"
        assert main(typed.split()) == 0
        capsys.readouterr()
        assert main(["refit", name]) == 0
        shown = capsys.readouterr().out
        assert "±" in shown
        assert "nothing in the data contradicts it" in shown
    assert main(["refit", "line", "--sigma", "x"]) == 2
