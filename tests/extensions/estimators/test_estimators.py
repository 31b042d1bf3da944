"""Estimators, against the formulas that made the data; and scikit-learn's own checks of them."""

from __future__ import annotations

import copy
import signal
import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import sympy
from harness import add_method
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import mdbench
from mdbench.errors import UsageError
from mdbench.extensions.estimators.base import FitError
from mdbench.extensions.estimators.dynamics import Dynamics
from mdbench.extensions.estimators.fields import Fields
from mdbench.extensions.estimators.regressor import Regressor

if TYPE_CHECKING:
    from pathlib import Path

    from mdbench.workspace import Workspace

pytestmark = pytest.mark.extension("estimators")


def regressor(**changes: Any) -> Regressor:
    return Regressor("lines", **{"work": 2, "progress": False, **changes})


def table(rows: int = 40) -> tuple[pd.DataFrame, pd.Series]:
    generator = np.random.default_rng(0)
    X = pd.DataFrame(generator.uniform(1, 3, (rows, 2)), columns=["mass [kg]", "y"])
    return X, 2.5 * X["mass [kg]"] - 0.5 * X["y"] + 1.25


@pytest.mark.usefixtures("methods")
def test_a_law_is_found_and_predicts_in_the_names_of_the_table() -> None:
    X, y = table()
    law = regressor().fit(X, y)
    assert law.predict(X) == pytest.approx(y.to_numpy())
    assert law.predict(pd.DataFrame({"mass [kg]": [10.0], "y": [2.0]})) == pytest.approx([25.25])
    assert law.score(X, y) == pytest.approx(1.0)
    assert law.feature_names_in_.tolist() == ["mass [kg]", "y"]
    assert law.equations_.targets == ("y_",)  # y is a column
    assert len(law.equations_) == 1
    assert law.record_.algorithm == "lines"
    assert law.licence == "MIT"
    fitted = law.uncertainty_
    assert sorted(fitted.constants) == pytest.approx([-0.5, 1.25, 2.5])
    assert fitted.unexplained == pytest.approx(0.0, abs=1e-20)


@pytest.mark.usefixtures("methods")
def test_an_answer_is_to_be_had_in_all_notations() -> None:
    x = np.linspace(1, 2, 30)[:, None]
    law = regressor().fit(x, 3 * x[:, 0] - 1)
    [expression] = law.equations_.sympy()
    at = sympy.lambdify(sympy.Symbol("x0"), expression)
    assert at(5.0) == pytest.approx(14.0)
    names: dict[str, Any] = {}
    exec(law.equations_.python(), names)
    assert names["equations"](5.0) == pytest.approx(14.0)
    assert "x_{0}" in law.equations_.latex()
    assert str(law.equations_) == "y = -1 + 3*x0"
    assert "<math" in law._repr_html_()
    assert law.equations_ == regressor().fit(x, 3 * x[:, 0] - 1).equations_


@pytest.mark.usefixtures("methods")
def test_estimators_are_scikit_learns() -> None:
    X, y = table()
    law = regressor(seed=3)
    assert clone(law).get_params() == law.get_params()
    assert cross_val_score(law, X, y, cv=3) == pytest.approx([1.0, 1.0, 1.0])
    piped = make_pipeline(StandardScaler(), regressor()).fit(X, y)
    assert piped.predict(X) == pytest.approx(y.to_numpy())
    with pytest.raises(NotFittedError, match="not fitted yet"):
        law.predict(X)
    # A second fit is of the new data, and a copy keeps the first.
    fitted = regressor().fit(X, y)
    before = copy.copy(fitted).equations_
    fitted.fit(X, 2 * y)
    assert fitted.predict(X) == pytest.approx(2 * y.to_numpy())
    assert before != fitted.equations_


@pytest.mark.slow
@pytest.mark.usefixtures("methods")
def test_scikit_learns_own_checks_pass() -> None:
    results = check_estimator(regressor(), on_fail=None, on_skip=None)
    # The array API is not asked for: it needs a variable of the environment.
    assert {one["check_name"] for one in results if one["status"] != "passed"} <= {
        "check_array_api_input"
    }
    assert len(results) > 40


@pytest.mark.usefixtures("methods")
def test_equations_of_motion_are_found_and_integrated() -> None:
    t = np.linspace(0, 6, 200)
    x = pd.DataFrame({"position": np.cos(t), "speed": -np.sin(t)})
    model = Dynamics("lines", work=2, progress=False).fit(t, x)
    assert model.states_ == ("position", "speed")
    for start in ([0.0, 1.0], {"speed": 1.0, "position": 0.0}):
        ahead = model.simulate(start, np.linspace(0, 3, 7))
        assert list(ahead.columns) == ["position", "speed"]
        assert ahead["position"].to_numpy() == pytest.approx(np.sin(ahead.index), abs=2e-3)
    with pytest.raises(UsageError, match="x0 has the shape"):
        model.simulate([1.0], [0.0, 1.0])
    with pytest.raises(UsageError, match="Give position, speed"):
        model.simulate({"position": 1.0}, [0.0, 1.0])


@pytest.mark.usefixtures("methods")
def test_several_runs_and_arrays_without_names() -> None:
    t = np.linspace(0, 4, 120)
    runs = [a * np.exp(-0.7 * t) for a in (1.0, 3.0)]
    model = Dynamics("lines", work=2, progress=False)
    for fitted in (model.fit(t, runs[0]), model.fit([t, t], runs)):
        after = fitted.simulate(2.0, [0.0, 1.0])["x0"].iloc[-1]
        assert after == pytest.approx(2 * np.exp(-0.7), rel=1e-3)
    with pytest.raises(UsageError, match="There are 2 runs of t, and 1 of x"):
        model.fit([t, t], runs[:1])


@pytest.mark.usefixtures("methods")
def test_a_field_gives_its_equation() -> None:
    x, t = np.arange(32) * 2 * np.pi / 32, np.linspace(0, 2, 60)
    u = np.exp(-0.3 * t) * (2 + np.sin(x)[:, None])
    model = Fields("lines", work=5, progress=False).fit(u, t, x)
    assert model.states_ == ("u0",)
    assert len(model.equations_) == 1
    assert isinstance(score := model.record_.metrics["nmse"], float)
    assert score < 0.1

    class Labelled:
        """What `DataArray` has that is asked for."""

        def __init__(self, values: np.ndarray[Any, Any], dims: tuple[str, ...]) -> None:
            self.values, self.dims, self.name = values, dims, "heat"

        def transpose(self, *order: str) -> Labelled:
            axes = [self.dims.index(name) for name in order]
            return Labelled(self.values.transpose(axes), order)

        def __getitem__(self, name: str) -> Labelled:
            return Labelled({"x": x, "time": t}[name], (name,))

    other = Fields("lines", work=5, progress=False).fit(Labelled(u.T, ("time", "x")))
    assert other.states_ == ("heat",)
    assert other.equations_ == model.equations_
    with pytest.raises(UsageError, match="dimensions are time, lon"):
        other.fit(Labelled(u.T, ("time", "lon")), None)


@pytest.mark.usefixtures("methods")
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Regressor("lines", work=2).fit([[1.0], [2.0]], [1.0]), "inconsistent"),
        (lambda: Regressor("lines", work=2).fit([[1.0], [np.nan]], [1.0, 2.0]), "NaN"),
        (lambda: Regressor("line", work=2).fit([[1.0], [2.0]], [1.0, 2.0]), "Did you mean lines"),
        (lambda: Dynamics("lines").fit([0.0, 1.0], [[1.0, 2.0]]), "Give \\(samples,\\)"),
        (lambda: Dynamics("lines").fit([0, 1], pd.DataFrame({"t": [1.0, 2.0]})), "'t' is there"),
        (lambda: Fields("lines").fit(np.zeros((3, 4)), np.arange(4)), "t or x is missing"),
        (lambda: Fields("lines").fit(np.zeros((3, 4)), np.arange(4), np.arange(4)), "the grid"),
    ],
)
def test_what_cannot_be_fitted_is_refused(make: Any, message: str) -> None:
    with pytest.raises((ValueError, UsageError), match=message):
        make()


@pytest.mark.usefixtures("methods")
def test_a_method_without_an_answer_says_why() -> None:
    with pytest.raises(FitError, match=r"broken has no equation .*no"):
        Regressor("broken", work=2, progress=False).fit(*table())


def test_the_names_are_part_of_the_python_interface() -> None:
    assert mdbench.Regressor is Regressor
    assert {"Regressor", "Dynamics", "Fields", "run"} <= set(dir(mdbench))
    with pytest.raises(AttributeError):
        _ = mdbench.Regresor


SLOW = """
import time
import numpy as np
from mdbench.worker import Candidate

class Adapter:
    def __init__(self, *, seed, threads): ...
    def fit(self, problem):
        self.X, self.name = problem.X, problem.variables[0]
    def candidates(self):
        yield Candidate((f"3.0*{self.name}",), 3 * self.X[:, 0], target=0)
        time.sleep(1)  # candidates are sent in batches
        print("begun", flush=True)
        time.sleep(60)
    def choose(self, indices): ...
    def predict(self, problem):
        return 3 * problem.X[:, :1]
    def equations(self):
        return [f"3.0*{self.name}"]
"""


@pytest.mark.parametrize("yields", [True, False])
def test_ctrl_c_keeps_the_best_so_far(
    yields: bool, command_line: Workspace, tmp_path: Path
) -> None:
    text = SLOW if yields else SLOW.replace("        yield", "        if self.X is None: yield")
    folder = add_method(command_line, "slow", text, tuning="front")
    spec = (folder / "method.toml").read_text(encoding="utf-8").replace('["ode"]', '["real"]')
    (folder / "method.toml").write_text(spec, encoding="utf-8")

    def interrupt() -> None:
        while not any("begun" in log.read_text() for log in (tmp_path / "out").rglob("*.log")):
            time.sleep(0.05)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    thread = threading.Thread(target=interrupt, daemon=True)
    thread.start()
    x = np.linspace(1, 2, 30)[:, None]
    law = Regressor("slow", work=50, progress=False, folder=str(tmp_path / "out"))
    if yields:
        with pytest.warns(RuntimeWarning, match="the best so far"):
            law.fit(x, 3 * x[:, 0])
        assert law.record_.status == "interrupted"
        assert law.predict([[2.0]]) == pytest.approx([6.0])
    else:
        with pytest.raises(KeyboardInterrupt):
            law.fit(x, 3 * x[:, 0])
    thread.join(timeout=10)
