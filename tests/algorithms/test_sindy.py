"""SINDy against pysindy's own STLSQ, and against what a sweep promises."""

from __future__ import annotations

import itertools
import sys
import tomllib
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import sympy
from harness import ROOT, imported
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from sweeps import paired

from mdbench.datatypes.facts import Protocol
from mdbench.datatypes.ode.data_type import Ode
from mdbench.worker import Problem, Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

FOLDER = ROOT / "algorithms" / "sindy"
THRESHOLDS = [float(value) for value in np.logspace(-7, 0, 16)]

SYSTEMS: dict[str, tuple[Callable[[float, Array], list[float]], list[float]]] = {
    "logistic": (lambda _, u: [0.79 * u[0] * (1 - u[0] / 74.3)], [7.3]),
    "lotka-volterra": (
        lambda _, u: [u[0] * (1.84 - 1.45 * u[1]), -u[1] * (3.0 - 1.62 * u[0])],
        [8.3, 3.4],
    ),
    "lorenz": (
        lambda _, u: [10 * (u[1] - u[0]), u[0] * (28 - u[2]) - u[1], u[0] * u[1] - 8 / 3 * u[2]],
        [2.3, 8.1, 12.4],
    ),
    "seir": (
        lambda _, u: [
            -0.28 * u[0] * u[2],
            0.28 * u[0] * u[2] - 0.47 * u[1],
            0.47 * u[1] - 0.3 * u[2],
            0.3 * u[2],
        ],
        [0.6, 0.3, 0.09, 0.01],
    ),
}


@pytest.fixture(scope="module")
def sindy() -> Iterator[Any]:
    with imported("sindy") as module:
        yield module


@pytest.fixture(scope="module")
def problems() -> dict[str, Problem]:
    """Return all systems with derivatives from finite differences."""
    return {name: simulate(*system) for name, system in SYSTEMS.items()}


def simulate(right_hand_side: Callable[[float, Array], list[float]], start: list[float]) -> Problem:
    t = np.linspace(0, 6, 90)
    u = solve_ivp(right_hand_side, (0, 6), start, t_eval=t, rtol=1e-8, atol=1e-10).y.T
    return trajectory(u, np.asarray(np.gradient(u, t, axis=0, edge_order=2)))


def trajectory(u: Array, du: Array | None) -> Problem:
    arrays = {"t": np.arange(len(u), dtype=float), "u": u}
    names = tuple(f"u{i}" for i in range(u.shape[1]))
    return Problem(
        view="trajectory",
        variables=names,
        targets=tuple(f"{name}_t" for name in names),
        arrays=arrays if du is None else {**arrays, "du": du},
    )


def halves(problem: Problem) -> tuple[Problem, Problem]:
    middle = len(problem.u) // 2
    train = trajectory(problem.u[:middle], problem.du[:middle])
    return train, trajectory(problem.u[middle:], None)


def find(sindy: Any, problem: Problem, settings: list[dict[str, Any]]) -> tuple[Any, Any]:
    """Return the terms and the models of settings."""
    read = [sindy.Adapter.setting(**setting) for setting in settings]
    terms = sindy.Adapter.terms(read, problem)
    return terms, sindy.Adapter.find(problem, terms, read, seed=0)


def grid(thresholds: list[float]) -> list[dict[str, Any]]:
    bases = ("polynomial", "polynomial+sin+cos")
    return [
        {"threshold": threshold, "basis": basis, "order": order, "alpha": alpha}
        for threshold, basis, order, alpha in itertools.product(
            thresholds, bases, (1, 2, 3, 4), (1e-5, 1e-4)
        )
    ]


def reference_features(u: Array, library: str, basis: str, order: int) -> Array:
    """Build the feature matrix again, in the order of upstream's and of pysindy's libraries."""
    states = range(u.shape[1])
    columns = [np.ones(len(u))]
    for degree in range(1, order + 1):
        if library == "powers":
            columns += [u[:, i] ** degree for i in states]
        else:
            columns += [
                u[:, chosen].prod(axis=1)
                for chosen in map(list, itertools.combinations_with_replacement(states, degree))
            ]
    if basis == "polynomial+sin+cos":
        columns += [np.sin(u[:, i]) for i in states] + [np.cos(u[:, i]) for i in states]
    return np.stack(columns, axis=1)


def reference_ridge(features: Array, targets: Array, threshold: float, alpha: float) -> Array:
    """Let pysindy do the thresholding, without its refit; gives (n_targets, n_terms)."""
    from pysindy.optimizers import STLSQ  # noqa: PLC0415 - a slow import

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns where no term is left
        optimizer = STLSQ(threshold=threshold, alpha=alpha, max_iter=200, unbias=False)
        return np.asarray(optimizer.fit(features, targets).coef_)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("library", "name"), paired(["cross", "powers"], SYSTEMS))
def test_agrees_with_pysindy(
    sindy: Any, problems: dict[str, Problem], name: str, library: str
) -> None:
    problem = problems[name]
    settings = grid(THRESHOLDS[::3])
    terms, models = find(sindy, problem, [{"library": library, **each} for each in settings])
    well_conditioned = 0
    for place, setting in enumerate(settings):
        chosen = sindy.Library(library, setting["basis"], setting["order"])
        columns = np.flatnonzero(terms.columns(chosen))
        features = reference_features(
            problem.u, library, basis=setting["basis"], order=setting["order"]
        )
        ridge = reference_ridge(features, problem.du, setting["threshold"], setting["alpha"])
        for target, expected in enumerate(ridge != 0):
            coefficients = models.coefficients[models.of_setting[place, target]]
            ours = coefficients[columns]
            assert not np.delete(coefficients, columns).any()
            np.testing.assert_array_equal(ours != 0, expected, str(setting))
            if not expected.any():
                continue
            selected = features[:, expected]
            refit = np.linalg.lstsq(selected, problem.du[:, target])[0]
            if np.linalg.cond(selected) < 1e6:
                well_conditioned += 1
                np.testing.assert_allclose(ours[expected], refit, rtol=1e-8)
            else:
                values = selected @ refit
                tolerance = 1e-5 * np.abs(values).max()
                np.testing.assert_allclose(selected @ ours[expected], values, atol=tolerance)
    assert well_conditioned > 30


@pytest.mark.filterwarnings("ignore")
def test_refit_agrees_with_pysindys_where_that_is_accurate(
    sindy: Any, problems: dict[str, Problem]
) -> None:
    from pysindy.optimizers import STLSQ  # noqa: PLC0415 - a slow import

    problem = problems["lorenz"]
    features = reference_features(problem.u, "cross", "polynomial", 2)
    expected = STLSQ(threshold=0.1, alpha=1e-5, max_iter=200).fit(features, problem.du).coef_
    _, models = find(sindy, problem, [{"order": 2, "threshold": 0.1}])
    np.testing.assert_allclose(models.coefficients, expected, rtol=1e-8)


@pytest.mark.parametrize("library", ["cross", "powers"])
@pytest.mark.parametrize("name", SYSTEMS)
def test_sweep_is_the_fits_one_by_one(
    sindy: Any, problems: dict[str, Problem], name: str, library: str
) -> None:
    train = problems[name]
    inputs = trajectory(train.u, None)
    settings = grid(THRESHOLDS[1::5])
    options = {"seed": 0, "threads": 1, "library": library}
    swept = iter(sindy.Adapter.sweep(train, inputs, settings, **options))
    seen = set()
    for setting in settings:
        adapter = sindy.Adapter(**options, **setting)
        adapter.fit(train)
        terms = terms_of(adapter.equations())
        if terms in seen:
            continue
        seen.add(terms)
        candidate = next(swept)
        assert candidate.hyperparameters == setting
        assert terms_of(candidate.equations) == terms
        tolerance = 1e-5 * np.abs(candidate.predictions).max()
        np.testing.assert_allclose(candidate.predictions, adapter.predict(inputs), atol=tolerance)
    assert next(swept, None) is None


def terms_of(equations: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Take the coefficients away."""
    return tuple(
        tuple(summand.partition("*")[2] for summand in text.replace(" - ", " + ").split(" + "))
        for text in equations
    )


@pytest.mark.parametrize("name", SYSTEMS)
def test_equations_say_what_is_predicted(
    sindy: Any, problems: dict[str, Problem], name: str
) -> None:
    train, validation = halves(problems[name])
    candidates = list(
        sindy.Adapter.sweep(train, validation, grid(THRESHOLDS[::3]), seed=0, threads=1)
    )
    assert len(candidates) > 5
    columns = dict(zip(validation.variables, validation.u.T, strict=True))
    for candidate in candidates:
        for text, predicted in zip(
            candidate.equations, np.asarray(candidate.predictions).T, strict=True
        ):
            said = eval(text, {"sin": np.sin, "cos": np.cos}, columns)
            size = np.abs(predicted).max()
            np.testing.assert_allclose(
                np.broadcast_to(said, predicted.shape), predicted, rtol=1e-7, atol=1e-7 * size
            )


def test_finds_the_equations_of_lotka_volterra(sindy: Any) -> None:
    right_hand_side, start = SYSTEMS["lotka-volterra"]
    problem = simulate(right_hand_side, start)
    exact = np.array([right_hand_side(0, u) for u in problem.u])
    adapter = sindy.Adapter(seed=0, threads=1, threshold=0.1, order=2)
    adapter.fit(trajectory(problem.u, exact))
    found = [sympy.sympify(text) for text in adapter.equations()]
    u0, u1 = sympy.symbols("u0 u1")
    truth = [1.84 * u0 - 1.45 * u0 * u1, -3.0 * u1 + 1.62 * u0 * u1]
    for one, other in zip(found, truth, strict=True):
        assert {term: round(float(c), 9) for term, c in one.as_coefficients_dict().items()} == {
            term: float(c) for term, c in other.as_coefficients_dict().items()
        }


@given(st.lists(st.floats(-1e3, 1e3), min_size=9, max_size=9))
def test_complexity_is_that_of_the_published_text(sindy: Any, values: list[float]) -> None:
    """Upstream writes ``c0*1 + c1*u0**1 + ...``; the nodes of that are what counts."""
    names = ["1", "u0**1", "u1**1", "u0**2", "u1**2", "sin(u0)", "sin(u1)", "cos(u0)", "cos(u1)"]
    published = " + ".join(
        f"{value}*{name}" for value, name in zip(values, names, strict=True) if abs(value) > 1e-10
    )
    u = np.arange(12.0).reshape(6, 2)
    adapter = sindy.Adapter(
        seed=0, threads=1, library="powers", basis="polynomial+sin+cos", order=2
    )
    adapter.fit(trajectory(u, u))
    adapter._coefficients = np.where(np.abs(values) > 1e-10, values, 0)[None]
    (ours,) = adapter.equations()
    assert count_nodes(ours) == (count_nodes(published) if published else 1)


def count_nodes(text: str) -> int:
    return sum(1 for _ in sympy.preorder_traversal(sympy.sympify(text)))


def test_a_threshold_above_all_coefficients_gives_zero(
    sindy: Any, problems: dict[str, Problem]
) -> None:
    adapter = sindy.Adapter(seed=0, threads=1, threshold=1e9)
    adapter.fit(problems["seir"])
    assert adapter.equations() == ["0"] * 4
    assert not adapter.predict(trajectory(problems["seir"].u, None)).any()


@pytest.mark.parametrize("state", [0.0, 50.0])
def test_a_state_that_never_changes_is_no_obstacle(sindy: Any, state: float) -> None:
    t = np.linspace(0, 3, 60)
    u = np.stack([np.full_like(t, state), np.exp(-t)], axis=1)
    du = np.stack([np.zeros_like(t), -np.exp(-t)], axis=1)
    validation = trajectory(u[-10:], None)
    candidates = list(
        sindy.Adapter.sweep(trajectory(u, du), validation, grid(THRESHOLDS), seed=0, threads=1)
    )
    errors = [np.abs(candidate.predictions - du[-10:]).max() for candidate in candidates]
    assert min(errors) < 1e-9
    assert np.isfinite(errors).all()


def test_fewer_samples_than_terms_are_no_obstacle(sindy: Any, problems: dict[str, Problem]) -> None:
    few = trajectory(problems["lorenz"].u[:7], problems["lorenz"].du[:7])
    adapter = sindy.Adapter(seed=0, threads=1, order=4, threshold=1e-7)
    adapter.fit(few)
    np.testing.assert_allclose(adapter.predict(few), few.du, rtol=1e-6)


def test_small_stacks_change_nothing(
    sindy: Any, problems: dict[str, Problem], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = grid(THRESHOLDS[::5])
    whole = find(sindy, problems["lorenz"], settings)[1].coefficients
    monkeypatch.setattr(sys.modules["stlsq"], "_STACK_NUMBERS", 500)
    np.testing.assert_allclose(find(sindy, problems["lorenz"], settings)[1].coefficients, whole)


def test_too_large_a_library_is_unsupported(sindy: Any) -> None:
    u = np.random.default_rng(0).standard_normal((20, 14))
    adapter = sindy.Adapter(seed=0, threads=1, order=4)
    with pytest.raises(Unsupported, match="3088 terms for 14 states"):
        adapter.fit(trajectory(u, u))
    single = sindy.Adapter(seed=0, threads=1, order=4, library="powers")
    single.fit(trajectory(u, u))


def test_overflowing_terms_are_refused(sindy: Any) -> None:
    u = np.full((20, 1), 1e100)
    adapter = sindy.Adapter(seed=0, threads=1, order=4)
    with pytest.raises(ValueError, match="overflow"):
        adapter.fit(trajectory(u, u))


@pytest.mark.parametrize(
    ("hyperparameters", "words"),
    [
        ({"library": "fourier"}, "library is 'fourier'.*cross, powers"),
        ({"basis": "polynomial+exp"}, "basis is 'polynomial.exp'.*sin"),
        ({"basis": "sin"}, "basis is 'sin'.*'polynomial'"),
        ({"order": 0}, "order is 0.*1 or more"),
    ],
)
def test_wrong_hyperparameters_are_explained(
    sindy: Any, hyperparameters: dict[str, Any], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        sindy.Adapter(seed=0, threads=1, **hyperparameters)


def test_grid_is_the_published_one() -> None:
    content = tomllib.loads((FOLDER / "method.toml").read_text(encoding="utf-8"))
    assert content["grid"]["threshold"] == pytest.approx(THRESHOLDS, rel=1e-15)
    assert list(content["grid"]) == ["threshold", "basis", "order", "alpha"]
    assert np.prod([len(values) for values in content["grid"].values()]) == 256


OSCILLATOR = "harmonic-oscillator-damping"
TRUE = np.array([[0.0, 0.0, 1.0], [0.0, -4.5, -0.43]])
"""Coefficients of 1, u0 and u1."""


def swept_errors(
    sindy: Any, ode: Ode, conditions: str, derivatives: str, seeds: int = 1
) -> list[float]:
    """Return the error of all coefficients that SINDy finds under conditions, for each seed."""
    errors = []
    for seed in range(seeds):
        dataset = ode.source().load(
            f"{OSCILLATOR}+{conditions}",
            snr_db=None,
            seed=seed,
            protocol=Protocol.STRICT,
            options={"derivatives": derivatives},
        )
        task = ode.task(dataset, "trajectory", Protocol.STRICT)
        problem = trajectory(task.refit.inputs["u"], task.refit.targets)
        setting = {"threshold": 0.05, "basis": "polynomial", "order": 1, "alpha": 1e-12}
        _, models = find(sindy, problem, [setting])
        found = np.stack([models.coefficients[models.of_setting[0, k]] for k in range(2)])
        errors.append(float(np.linalg.norm(found - TRUE)))
    return errors


def test_errors_go_as_the_noise_over_the_root_of_the_samples(sindy: Any, tmp_path: Path) -> None:
    """With true derivatives, noise is in the features alone; its bias goes as its square."""
    ode = Ode(ROOT / "datasets" / "ode", tmp_path)
    noise, seeds = 0.003, 40

    def error(samples: int, noise: float) -> float:
        found = swept_errors(sindy, ode, f"samples={samples}+noise={noise}", "exact", seeds)
        return float(np.sqrt(np.mean(np.square(found))))

    few = error(60, noise)
    assert few / error(960, noise) == pytest.approx(4.0, rel=0.25)
    assert error(60, 3 * noise) / few == pytest.approx(3.0, rel=0.1)


def test_errors_of_differences_go_as_the_square_of_the_step(sindy: Any, tmp_path: Path) -> None:
    ode = Ode(ROOT / "datasets" / "ode", tmp_path)
    errors = [swept_errors(sindy, ode, f"dt={dt}", "fd")[0] for dt in (0.1, 0.05, 0.025)]
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.15)
    assert errors[1] / errors[2] == pytest.approx(4.0, rel=0.1)
