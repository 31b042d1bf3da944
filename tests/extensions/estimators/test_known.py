"""What is known before a search: settings of all methods, guesses, shapes, standard errors."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from harness import ROOT, add_method
from scipy.integrate import solve_ivp
from scipy.optimize import curve_fit

from mdbench.cli.main import main
from mdbench.errors import UsageError
from mdbench.extensions.estimators.adapted import adapt
from mdbench.extensions.estimators.dynamics import Dynamics
from mdbench.extensions.estimators.regressor import Regressor
from mdbench.extensions.estimators.shapes import read_shapes, violation
from mdbench.extensions.estimators.structures import Structure, read_guess
from mdbench.extensions.estimators.vocabulary import OPTIONS, Wishes, has_setting
from mdbench.methods import Method, discover, load
from mdbench.records import read_folder

if TYPE_CHECKING:
    from pathlib import Path

    from mdbench.workspace import Workspace

pytestmark = pytest.mark.extension("estimators")
ASKED: dict[str, Any] = {"operators": "+,*,exp", "library": "sin", "degree": 2}
REPOSITORY = {
    name: method
    for name, method in discover(ROOT / "algorithms").items()
    if isinstance(method, Method)
}
ABLE = [(name, option) for name in REPOSITORY for option in OPTIONS if has_setting(name, option)]


@pytest.mark.parametrize(("name", "option"), ABLE)
def test_each_method_that_has_a_setting_gets_it_by_its_own_name(
    name: str, option: str, tmp_path: Path
) -> None:
    method = REPOSITORY[name]
    for kind in method.spec.data_types:
        before = method.spec.fixed("strict", kind) | method.spec.grid
        copied = adapt(method, kind, Wishes.of(**{option: ASKED[option]}), tmp_path)
        after = copied.spec.fixed("strict", kind) | copied.spec.grid
        assert after.keys() == before.keys()  # nothing that the adapter would not know
        changed = {key: value for key, value in after.items() if value != before[key]}
        said = json.dumps(changed).lower()
        if option == "degree":
            assert "2" in said
            assert "4" not in said
        else:
            assert ("exp" if option == "operators" else "sin") in said
            assert "cos" not in said
        assert copied.name != name
        assert copied.lock_sha256() == method.lock_sha256()  # the same environment
        assert copied.spec.most_rows(kind) == method.spec.most_rows(kind)


def test_the_same_wish_is_the_same_copy_and_another_wish_another(tmp_path: Path) -> None:
    names = {
        adapt(REPOSITORY["gplearn"], "real", Wishes.of(operators=text), tmp_path).name
        for text in ("+,*,sin", "add mul sin", "+ * sin", "ADD,MUL,SIN")
    }
    assert len(names) == 1
    assert adapt(REPOSITORY["gplearn"], "real", Wishes.of("+"), tmp_path).name not in names
    constraints = adapt(REPOSITORY["pysr"], "real", Wishes.of("+,sin"), tmp_path).spec
    assert constraints.hyperparameters["constraints"] == {"sin": 9}
    assert constraints.hyperparameters["binary_operators"] == ["+"]


@pytest.mark.parametrize(
    ("name", "kind", "wish", "says"),
    [
        ("shooting", "ode", {"degree": 2}, ("no setting for degree", "sindy")),
        ("operon", "real", {"library": "sin"}, ("no setting for library", "leave it out")),
        ("gplearn", "real", {"operators": "+,sinh"}, ("has no sinh", "It has add")),
    ],
)
def test_what_a_method_cannot_do_is_said_with_who_can(
    name: str, kind: str, wish: dict[str, Any], says: tuple[str, str], tmp_path: Path
) -> None:
    message, hint = says
    with pytest.raises(UsageError, match=message) as caught:
        adapt(REPOSITORY[name], kind, Wishes.of(**wish), tmp_path)
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    "wish",
    [
        {"operators": "+,foo"},
        {"operators": ""},
        {"library": "exp"},
        {"degree": 0},
        {"degree": True},
    ],
)
def test_words_that_nobody_knows_are_refused(wish: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        Wishes.of(**wish)


ECHO = """
class Adapter:
    def __init__(self, *, seed, threads, functions):
        self.functions = functions
    def fit(self, problem):
        self.name = problem.variables[0]
    def predict(self, problem):
        return len(self.functions) * problem.X[:, :1]
    def equations(self):
        return [f"{len(self.functions)}.0*{self.name}"]
"""


def test_a_search_is_given_the_operators(command_line: Workspace) -> None:
    folder = add_method(command_line, "gplearn", ECHO)
    text = (folder / "method.toml").read_text(encoding="utf-8").replace('["ode"]', '["real"]')
    text += '\n[hyperparameters]\nfunctions = ["add", "mul", "sin", "cos", "exp"]\n'
    (folder / "method.toml").write_text(text, encoding="utf-8")
    X = np.linspace(1, 2, 20)[:, None]
    for operators, count in ((None, 5), ("+,*", 2), (["exp"], 1)):
        law = Regressor("gplearn", work=2, progress=False, operators=operators)
        law.fit(X, 3 * X[:, 0])
        assert law.predict([[1.0]]) == pytest.approx([count])
        assert (law.record_.algorithm == "gplearn") == (operators is None)
    assert isinstance(load(folder), Method)


@pytest.mark.usefixtures("methods")
@pytest.mark.parametrize(
    "guess",
    [
        "y = a*exp(-b*x) + c",
        "a*exp(b*x) + c",
        {"y": "amplitude*exp(-rate*x) + level"},
        "y=2*exp(-1*x)+1",
        "y = exp(-0.5*x) + 0.1",
    ],
)
def test_a_guess_that_is_right_is_the_answer_with_its_constants(guess: Any) -> None:
    x = np.linspace(0.2, 4, 80)
    off = 0.01 * np.random.default_rng(0).standard_normal(80)
    X = pd.DataFrame({"x": x})
    law = Regressor("lines", work=2, progress=False, guess=guess)
    law.fit(X, 2.5 * np.exp(-0.8 * x) + 0.3 + off)
    assert law.predict(pd.DataFrame({"x": [5.0]})) == pytest.approx(
        [2.5 * np.exp(-4.0) + 0.3], abs=0.02
    )
    assert law.choice_.options[0].origin == "the guess"
    assert sorted(np.abs(law.uncertainty_.constants)) == pytest.approx([0.3, 0.8, 2.5], rel=0.05)
    assert "the method" in repr(law.choice_)


@pytest.mark.usefixtures("methods")
def test_a_guess_that_is_wrong_is_not() -> None:
    x = np.linspace(0.2, 4, 80)
    off = 0.05 * np.random.default_rng(0).standard_normal(80)
    for guess in ("a*x**2 + b", "a*sin(x) + b*x + c", "a*x"):
        law = Regressor("lines", work=2, progress=False, guess=guess)
        law.fit(x[:, None], 1.5 * x + 2.0 + off) if "x0" in guess else law.fit(
            pd.DataFrame({"x": x}), 1.5 * x + 2.0 + off
        )
        assert law.choice_.options[0].origin != "the guess"
        assert law.predict(pd.DataFrame({"x": [10.0]})) == pytest.approx([17.0], abs=0.2)


@pytest.mark.parametrize(
    ("text", "targets", "right"),
    [
        ("dx/dt = a*x; dy/dt = -y", ["x", "y"], {"x": "a*x", "y": "-y"}),
        ("x' = a*x", ["x", "y"], {"x": "a*x"}),
        ("d x / d t = a*x\n y_t = y", ["x", "y"], {"x": "a*x", "y": "y"}),
        ("x = 2", ["x"], {"x": "2"}),
        ("2*z", ["y"], {"y": "2*z"}),
        ({"y": "z"}, ["y"], {"y": "z"}),
    ],
)
def test_guesses_are_read_as_people_write_them(
    text: Any, targets: list[str], right: dict[str, str]
) -> None:
    assert read_guess(text, targets) == right


@pytest.mark.parametrize("text", ["z = 1", "x = 1; x = 2", "1 + 2", "", "dz/dt = 1"])
def test_guesses_that_are_of_no_target_are_refused(text: str) -> None:
    with pytest.raises(UsageError):
        read_guess(text, ["x", "y"])


def test_a_letter_is_one_constant_in_all_equations() -> None:
    structure = Structure.of(["a*x - b*x*y + 1e-5", "a*y"], ["x", "y"], guessed=True)
    assert structure.letters == ("a", "b")  # a number that is written stays
    columns = {"x": np.array([2.0]), "y": np.array([3.0])}
    values = structure.values(columns, np.array([10.0, 1.0]))
    assert values.tolist() == [[14.00001, 30.0]]
    assert len(Structure.of(["x - x*y"], ["x", "y"], guessed=True).start) == 2


@pytest.mark.parametrize(
    ("law", "shape", "holds"),
    [
        ("x**2", "y increases with x", True),
        ("x**2", "y increases with x for x in -1..3", False),
        ("x**2", "y decreases with x for x in -3..0", True),
        ("x**2", "y >= 0 for x in -9..9", True),
        ("x**2", "y >= 0.5", False),
        ("x**2", "y < 10", True),
        ("x**2 - z", "y decreases with z", True),
        ("x**2 - z", "y increases with x; y <= 10", True),
        ("sin(x)", "y increases with x", False),
        ("sin(x)", "y >= -1; y <= 1", True),
        ("1/x", "dy/dt decreases in x", True),
        ("1/(x - 2)", "y decreases with x", True),
        ("log(x - 1)", "y >= -100", False),  # it has no value in some rows
    ],
)
def test_shapes_are_those_of_the_formula(law: str, shape: str, holds: bool) -> None:
    structure = Structure.of([law], ["x", "z"])
    columns = {"x": np.linspace(0.5, 3.0, 20), "z": np.linspace(-1.0, 1.0, 20)}
    broken = [
        violation(each, lambda at: structure.values(at, structure.start), columns)
        for each in read_shapes(shape, ["y"], ["x", "z"])
    ]
    assert any(broken) != holds
    assert all("at x = " in each for each in broken if each)


@pytest.mark.parametrize(
    "text", ["y is nice", "z >= 0", "y increases with w", "y >= a", "y >= 0 for x in 3..1"]
)
def test_shapes_that_say_nothing_are_refused(text: str) -> None:
    with pytest.raises(UsageError):
        read_shapes(text, ["y"], ["x"])


@pytest.mark.usefixtures("methods")
def test_a_shape_takes_away_candidates() -> None:
    x = np.linspace(0.2, 3, 60)
    y = 2 * x + 0.3 * np.sin(6 * x)  # the sine falls between its tops, a line never
    table = pd.DataFrame({"x": x})
    guess = "a*x + b*sin(6.0*x)"
    law = Regressor("lines", work=2, progress=False, guess=guess).fit(table, y)
    assert "sin" in law.equations_[0]
    law = Regressor("lines", work=2, progress=False, guess=guess, shape="y increases with x")
    assert "sin" not in law.fit(table, 1.0 * x + 0.3 * np.sin(6 * x)).equations_[0]
    with pytest.raises(UsageError, match=r"None of 2 candidates .* not y <= 1"):
        law.set_params(shape="y <= 1").fit(table, y)


@pytest.mark.usefixtures("methods")
def test_standard_errors_weigh_rows_for_the_method_and_the_choice() -> None:
    generator = np.random.default_rng(1)
    x = np.linspace(0, 1, 200)
    sigma = np.where(x < 0.5, 0.01, 5.0)
    y = 2.0 * x + 1.0 + sigma * generator.standard_normal(200)
    plain = Regressor("lines", work=2, progress=False).fit(x[:, None], y)
    weighed = Regressor("lines", work=2, progress=False).fit(x[:, None], y, sigma=sigma)
    right = np.array([1.0, 3.0])
    off = [np.abs(law.predict([[0.0], [1.0]]) - right).max() for law in (plain, weighed)]
    assert off[1] < 0.02 < off[0]
    errors = weighed.uncertainty_.errors
    # Of a line by weighted least squares, by the normal equations.
    columns = np.column_stack([np.ones(200), x]) / sigma[:, None]
    wanted = np.sqrt(np.diag(np.linalg.inv(columns.T @ columns)))
    assert sorted(errors) == pytest.approx(sorted(wanted), rel=1e-4)
    fit = np.linalg.lstsq(columns, y / sigma)[0]
    assert plain.record_.weighted is None
    assert weighed.record_.weighted is not None
    assert weighed.record_.weighted.chi2 == pytest.approx(np.mean((columns @ fit - y / sigma) ** 2))
    with pytest.raises(UsageError, match="not a positive number"):
        plain.fit(x[:, None], y, sigma=0.0)
    with pytest.raises(UsageError, match="sigma has the shape"):
        plain.fit(x[:, None], y, sigma=[0.1, 0.2, 0.3])


def pendulums(rates: tuple[float, ...], size: float = 0.01) -> tuple[list[Any], list[Any]]:
    """Return times and states of x' = v, v' = -k x - 0.1 v, with a k for each run."""
    generator = np.random.default_rng(0)
    t = np.linspace(0, 5, 50)
    runs = []
    for k, start in zip(rates, ([1.0, 0.0], [0.0, 2.0], [1.5, 1.0]), strict=False):
        made = solve_ivp(
            lambda _, u, k=k: [u[1], -k * u[0] - 0.1 * u[1]], (0, 5), start, t_eval=t, rtol=1e-9
        ).y.T
        runs.append(
            pd.DataFrame(made + size * generator.standard_normal(made.shape), columns=["x", "v"])
        )
    return [t] * len(runs), runs


@pytest.mark.usefixtures("methods")
def test_runs_have_the_constants_of_their_own_that_made_them() -> None:
    t, runs = pendulums((2.0, 3.0))
    model = Dynamics(
        "lines", work=5, progress=False, constants="by run", guess="x' = v; v' = -k*x - c*v"
    ).fit(t, runs)
    assert model.choice_.options[0].origin == "the guess"
    table = model.constants_
    assert table["k"].to_numpy() == pytest.approx([2.0, 3.0], rel=0.01)
    assert table["c"].to_numpy() == pytest.approx([0.1] * 2, rel=0.2)
    assert len(set(table["c"])) == 1
    assert (table["± k"] < 0.01).all()
    quick = model.simulate([1.0, 0.0], [0.0, 1.0], run=1)["x"].iloc[-1]
    assert quick == pytest.approx(np.exp(-0.05) * np.cos(np.sqrt(3)), abs=0.03)
    with pytest.raises(UsageError, match="There are 2 runs"):
        model.simulate([1.0, 0.0], [0.0, 1.0], run=2)


@pytest.mark.usefixtures("methods")
def test_runs_of_one_law_keep_one_set_of_constants() -> None:
    t, runs = pendulums((2.0, 2.0))
    model = Dynamics("lines", work=5, progress=False, constants="by run").fit(t, runs)
    assert model.choice_.fitted.free == ()
    assert len(model.constants_.drop_duplicates()) == 1
    with pytest.raises(UsageError, match="Did you mean by run"):
        Dynamics("lines", constants="by runs").fit(t, runs)


@pytest.mark.usefixtures("methods")
def test_a_file_is_fitted_by_what_is_typed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    x = np.linspace(0.2, 4, 60)
    sigma = np.where(np.arange(60) % 2, 0.01, 0.5)
    y = 2.5 * np.exp(-0.8 * x) + 0.3 + sigma * np.random.default_rng(0).standard_normal(60)
    pd.DataFrame({"x": x, "y": y, "err": sigma}).to_csv(tmp_path / "decay.csv", index=False)
    typed = [
        "fit",
        "--algorithm",
        "lines",
        "--data-type",
        "real",
        "--dataset-path",
        "decay.csv",
        "--work",
        "2",
    ]
    known = ["--guess", "a*exp(-b*x) + c", "--sigma", "err", "--shape", "y decreases with x"]
    assert main([*typed, *known]) == 0
    shown = capsys.readouterr().out
    assert "by likelihood (the guess)" in shown
    assert "y = 2.5" in shown or "y = 2.49" in shown
    best, _ = curve_fit(lambda x, a, b, c: a * np.exp(-b * x) + c, x, y, [2, 1, 0], sigma)
    off = (best[0] * np.exp(-best[1] * x) + best[2] - y) / sigma
    mean = np.average(y, weights=1 / sigma**2)
    [(_, record)] = read_folder(tmp_path / "results")
    scores = record.weighted
    assert scores is not None
    assert scores.chi2 == pytest.approx(np.mean(off**2), rel=1e-6)
    assert scores.r2 == pytest.approx(1 - np.sum(off**2) / np.sum(((y - mean) / sigma) ** 2))
    assert f"chi-square per value {scores.chi2:.4g} (60 values)" in shown
    assert main([*typed, "--sigma", "er"]) == 2
    assert "Did you mean err" in capsys.readouterr().err
    assert main([*typed, "--degree", "2"]) == 2
    assert "no setting for degree" in capsys.readouterr().err
    assert main(["fit", "--algorithm", "lines", "--data-type", "real", "--dataset", "iris"]) == 2
    assert "mdbench run" in capsys.readouterr().err
