"""Maximum likelihood by multiple shooting, against closed forms and differences."""

from __future__ import annotations

import itertools
import math
import sys
import tomllib
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from harness import ROOT, imported
from scipy.integrate import solve_ivp

from eqverdict.fidelity.compare import compare
from mdbench.data.smoothing import smooth
from mdbench.worker import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

GIVEN = tomllib.loads((ROOT / "algorithms/shooting/method.toml").read_text())["hyperparameters"]
TIMES = np.linspace(0, 8, 81)


@pytest.fixture(scope="module")
def shooting() -> Iterator[Any]:
    with imported("shooting") as module:
        yield module


@pytest.fixture(scope="module")
def modules(shooting: Any) -> Any:
    del shooting  # it has imported them
    return sys.modules


def recorded(equations: Sequence[str], start: Sequence[float], t: Array) -> Array:
    """Return the exact states of equations, (n, d)."""
    codes = [compile(text, "equation", "eval") for text in equations]

    def rates(_t: float, u: Array) -> list[float]:
        names = {f"u{i}": value for i, value in enumerate(u)} | {"sin": np.sin, "cos": np.cos}
        return [float(eval(code, names)) for code in codes]

    solver: dict[str, Any] = {"method": "DOP853", "rtol": 1e-10, "atol": 1e-12}
    return np.asarray(solve_ivp(rates, (0, t[-1]), start, t_eval=t, **solver).y.T)


def problem_of(t: Array, measured: Array, several: Array | None = None) -> Problem:
    """Return what a method is given of samples, smoothed trajectory by trajectory."""
    names = tuple(f"u{i}" for i in range(measured.shape[1]))
    cuts = np.flatnonzero(np.diff(np.zeros(len(t)) if several is None else several)) + 1
    parts = zip(np.split(t, cuts), np.split(measured, cuts), strict=True)
    curves = [smooth(*part) for part in parts]
    arrays = {
        "t": t,
        "u": np.concatenate([one.u for one in curves]),
        "measured": measured,
        "du": np.concatenate([one.du for one in curves]),
    }
    if several is not None:
        arrays["trajectory"] = several
    return Problem("trajectory", names, tuple(f"{name}_t" for name in names), arrays)


def noisy(u: Array, size: float, seed: int = 0) -> Array:
    return np.asarray(u * (1 + size * np.random.default_rng(seed).standard_normal(u.shape)))


def fitted(shooting: Any, problem: Problem) -> Any:
    adapter = shooting.Adapter(seed=0, threads=1, **GIVEN)
    adapter.fit(problem)
    return adapter


def model_of(modules: Any, equations: Sequence[Sequence[tuple[str, float]]], starts: Array) -> Any:
    """Return a model of products of states, named as the library names them."""
    dictionary, library = modules["dictionary"], modules["library"]
    dim = len(equations)
    known = {one.text: one for degree in (3,) for one in dictionary.monomials(dim, degree)}
    support = [
        (i, library.Term(name, 0.0, known[name]))
        for i, several in enumerate(equations)
        for name, _ in several
    ]
    values = np.array([value for several in equations for _, value in several])
    return modules["likelihood"].Model(tuple(support), values, {}, starts)


PREDATORS = (
    [("u0", 1.84), ("u0*u1", -1.45)],
    [("u1", -3.03), ("u0*u1", 1.62)],
)


def segments_of(modules: Any, t: Array, y: Array, length: int = 8) -> Any:
    return modules["dynamics"].Segments.of(t, y, None, length, 4)


def test_derivatives_by_coefficients_and_starts_are_those_of_differences(modules: Any) -> None:
    y = recorded(["1.84*u0 - 1.45*u0*u1", "-3.03*u1 + 1.62*u0*u1"], [2.3, 1.4], TIMES)
    cut = segments_of(modules, TIMES, y)
    model = model_of(modules, PREDATORS, y[cut.rows[:, 0]].T)
    likelihood = modules["likelihood"].Shooting(cut, np.ones_like(y), 0.1)

    def misses(change: Array) -> Array:
        moved = modules["likelihood"]._moved(model, change, [])
        return np.asarray(likelihood.misses(cut.solve(likelihood.rates(moved), moved.starts)))

    states = cut.solve(likelihood.rates(model), model.starts)
    found, _ = likelihood.jacobian(model, cut.linearise(likelihood.rates(model), states))
    for number in range(found.shape[1]):
        step = 1e-5 * np.eye(found.shape[1])[number]
        true = (misses(step) - misses(-step)) / 2e-5
        assert np.abs(found[:, number] - true).max() < 2e-3 * np.abs(true).max()


def test_standard_errors_are_those_of_the_closed_form(modules: Any) -> None:
    """Of ``u' = -a u`` with a free start the information is that of two columns."""
    rate, start, sigma = 0.7, 3.0, 0.02
    u = start * np.exp(-rate * TIMES)[:, None]
    cut = segments_of(modules, TIMES, u)
    model = model_of(modules, ([("u0", -rate)],), u[cut.rows[:, 0]].T)
    likelihood = modules["likelihood"].Shooting(cut, np.full_like(u, sigma), 1e-4)
    fit = likelihood.fit(model)
    columns = np.column_stack([TIMES * u[:, 0], np.exp(-rate * TIMES)]) / sigma
    true = math.sqrt(np.linalg.inv(columns.T @ columns)[0, 0])
    assert fit.errors[0] == pytest.approx(true, rel=2e-3)
    assert fit.model.coefficients[0] == pytest.approx(-rate, rel=1e-5)


def test_intervals_hold_the_true_constants(modules: Any) -> None:
    """Intervals of 95 % of a fit of the true terms, over 30 draws of noise."""
    y = recorded(["1.84*u0 - 1.45*u0*u1", "-3.03*u1 + 1.62*u0*u1"], [2.3, 1.4], TIMES)
    held = []
    for seed in range(30):
        measured = noisy(y, 0.05, seed)
        cut = segments_of(modules, TIMES, measured)
        model = model_of(modules, PREDATORS, y[cut.rows[:, 0]].T)
        fit = modules["likelihood"].Shooting(cut, 0.05 * y, 0.1).fit(model)
        held.append(np.abs(fit.model.coefficients - model.coefficients) < 1.96 * fit.errors)
    assert 0.89 <= np.mean(held) <= 1.0  # of 120, 95 % +- 3 deviations


@pytest.mark.parametrize(("form", "floor"), [("constant", math.inf), ("proportional", 1e-3)])
def test_the_form_of_the_noise_is_found(modules: Any, form: str, floor: float) -> None:
    u = np.stack([np.sin(TIMES) * 3, np.cos(TIMES) * 0.2], axis=1)
    left = np.random.default_rng(3).standard_normal(u.shape)
    left *= 0.05 * (np.abs(u).max(axis=0) if form == "constant" else np.abs(u))
    noise = modules["likelihood"].Noise.of(u, left)
    assert noise.floor == floor
    assert noise.size == pytest.approx(0.05, rel=0.25)


def test_the_linear_model_predicts_scores_of_steps(modules: Any) -> None:
    """What a step is predicted to gain is what it gains, where changes are small."""
    y = recorded(["u1", "-1.37*u0"], [2.3, 1.4], TIMES)
    measured = noisy(y, 0.01)
    cut = segments_of(modules, TIMES, measured)
    likelihood = modules["likelihood"].Shooting(cut, 0.01 * np.maximum(np.abs(y), 0.1), 0.1)
    library = modules["library"].plain_terms(y, 12)
    search = modules["steps"].Search(likelihood, library, lambda: False)
    named = {term.name: term for term in library}
    plain = model_of(modules, ([("u1", 1.0)], [("u0", -1.37)]), y[cut.rows[:, 0]].T)
    support = tuple((i, named[term.name]) for i, term in plain.support)
    fit = search.fitted(modules["likelihood"].Model(support, plain.coefficients, {}, plain.starts))
    longer = [one for one in search.steps(fit, library) if len(one.support) > len(support)]
    for step in longer[:3]:
        found = search.fitted(search._model(fit, step))
        assert found.score == pytest.approx(step.score, abs=0.2)
        assert found.square <= fit.square


def test_terms_whose_responses_overflow_are_left_out(modules: Any) -> None:
    y = recorded(["-0.7*u0"], [3.0], TIMES)
    cut = segments_of(modules, TIMES, y)
    likelihood = modules["likelihood"].Shooting(cut, 0.01 * y, 0.1)
    library = modules["library"].plain_terms(y, 3)
    huge = modules["dictionary"].Summand("huge", 1.0, lambda u: np.full(u.shape[:-1], 1.7e308))
    search = modules["steps"].Search(likelihood, library, lambda: False)
    (term,) = (one for one in library if one.name == "u0")
    fit = search.fitted(
        modules["likelihood"].Model(((0, term),), np.array([-0.7]), {}, y[cut.rows[:, 0]].T)
    )
    steps = list(search.steps(fit, [*library, modules["library"].Term("huge", 0.0, huge)]))
    assert steps
    for one in steps:
        assert "huge" not in {term.name for _, term in one.support}
        assert all(np.isfinite(each).all() for each in one.make())


def test_solutions_that_run_away_are_no_fit(modules: Any) -> None:
    y = np.full((81, 1), 2.0)
    cut = segments_of(modules, TIMES, y)
    model = model_of(modules, ([("u0*u0*u0", 1e6)],), y[cut.rows[:, 0]].T)
    with np.errstate(all="ignore"):
        fit = modules["likelihood"].Shooting(cut, np.ones_like(y), 0.1).fit(model)
    assert fit is None or math.isfinite(fit.square)


SYSTEMS: dict[str, tuple[list[str], list[float], float]] = {
    "pendulum": (["u1", "-2.37*sin(u0) - 0.19*u1"], [1.9, 0.3], 0.03),
    "predators": (["1.84*u0 - 1.45*u0*u1", "-3.03*u1 + 1.62*u0*u1"], [2.3, 1.4], 0.01),
    "growth": (["0.79*u0 - 0.0106*u0*u0"], [5.1], 0.02),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SYSTEMS)
def test_known_systems_are_found_under_noise(shooting: Any, name: str) -> None:
    truth, start, size = SYSTEMS[name]
    problem = problem_of(TIMES, noisy(recorded(truth, start, TIMES), size))
    adapter = fitted(shooting, problem)
    assert compare(truth, adapter.equations(), problem.variables).verdict.value == "identified"
    given = Problem("trajectory", problem.variables, problem.targets, {"u": problem.u})
    names = dict(zip(problem.variables, problem.u.T, strict=True)) | {"sin": np.sin}
    printed = np.stack([eval(one, names) for one in adapter.equations()], axis=1)
    assert adapter.predict(given) == pytest.approx(printed, rel=1e-9)


INSIDE: dict[str, tuple[list[str], list[float]]] = {
    "fraction": (
        ["1.73*u0 - 0.41*u0*u0 - 1.63*u0*u1/(0.97 + u0)", "1.27*u0*u1/(0.97 + u0) - 0.57*u1"],
        [1.7, 0.9],
    ),
    "sine": (["u1 - 0.4*u0", "-2.9*sin(1.6*u0)"], [1.3, 0.3]),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", INSIDE)
def test_constants_inside_are_found_under_noise(shooting: Any, name: str) -> None:
    """The fraction is in two equations, which share its constant."""
    truth, start = INSIDE[name]
    problem = problem_of(TIMES, noisy(recorded(truth, start, TIMES), 0.01))
    answer = fitted(shooting, problem).equations()
    assert compare(truth, answer, problem.variables).verdict.value == "identified"


@pytest.fixture(scope="module")
def spun(modules: Any) -> tuple[Any, Any, Any]:
    """Return a likelihood, a library, and the fit of a polynomial to a fraction's samples."""
    y = recorded(["1.9*u0/(0.6 + u0) - 0.8*u0"], [0.1], TIMES)
    cut = segments_of(modules, TIMES, noisy(y, 0.01))
    likelihood = modules["likelihood"].Shooting(cut, 0.01 * y, 0.1)
    library = modules["library"].plain_terms(y, 3)
    support = tuple((0, term) for term in library)
    begun = modules["likelihood"].Model(
        support, np.array([0.1, 1.0, -0.5]), {}, y[cut.rows[:, 0]].T
    )
    return likelihood, library, likelihood.fit(begun)


def test_the_quadratic_likelihood_is_that_of_fits(modules: Any, spun: tuple[Any, Any, Any]) -> None:
    """Scores of sums with a constant inside are predicted, and the true sum is the best."""
    likelihood, library, fit = spun
    near = modules["exchange"].OneEquation(likelihood, fit, 0, library)
    u = likelihood.segments.y.reshape(-1, 1)
    groups = modules["library"].inner_terms(u, 4)
    found = sorted((one for g in groups for one in near.best(g, 3)), key=lambda one: one.score)
    best = found[0]
    model = modules["discovery"]._exchanged(fit.model, 0, best.terms, best.coefficients)
    assert likelihood.fit(model, 30).score == pytest.approx(best.score, abs=1.0)
    texts = [{t.summand(t.start).text for t in one.terms} for one in found[:4]]
    assert any(any(text.startswith(("1/(0.", "u0*1/(0.")) for text in each) for each in texts)
    assert not near.settled(modules["library"].plain_terms(u, 12))


def test_sweeps_are_regressions(modules: Any) -> None:
    """Sums found column by column are those of all subsets, where few columns are needed."""
    rng = np.random.default_rng(1)
    columns = rng.standard_normal((60, 7))
    columns /= np.linalg.norm(columns, axis=0)
    target = columns[:, [1, 4, 6]] @ np.array([3.0, -2.0, 4.0]) + 0.1 * rng.standard_normal(60)
    both = np.column_stack([columns, target])
    prices = np.linspace(0.3, 0.9, 7)
    found = modules["exchange"]._stepwise((both.T @ both)[None], prices, 5)

    def score(support: tuple[int, ...]) -> float:
        left = np.linalg.lstsq(columns[:, list(support)], target)[1]
        return float(left[0] + prices[list(support)].sum())

    every = [
        support
        for size in range(1, 7)
        for support in itertools.combinations(range(7), size)
        if max(support) >= 5
    ]
    value, support, place = found[0]
    assert (support, place) == (min(every, key=score), 0)
    for value, support, _ in found[:5]:
        assert value == pytest.approx(score(support), rel=1e-9)


@pytest.mark.slow
def test_trajectories_are_used_together_and_names_are_the_problems(shooting: Any) -> None:
    truth, start, size = SYSTEMS["growth"]
    several = [noisy(recorded(truth, [k * start[0]], TIMES[:40]), size, k) for k in (1, 2, 9)]
    t, numbers = np.tile(TIMES[:40], 3), np.repeat([0.0, 1.0, 2.0], 40)
    one = problem_of(t, np.concatenate(several), numbers)
    named = Problem("trajectory", ("fish",), ("fish_t",), one.arrays)
    answer = fitted(shooting, named).equations()
    assert compare([truth[0].replace("u0", "fish")], answer, ["fish"]).verdict.value == "identified"


def test_data_without_noise_are_integrals(shooting: Any) -> None:
    truth, start, _ = SYSTEMS["growth"]
    problem = problem_of(TIMES, recorded(truth, start, TIMES))
    answer = fitted(shooting, problem).equations()
    given = tomllib.loads((ROOT / "algorithms/integral/method.toml").read_text())
    integral = shooting._CLEAN.Adapter(seed=0, threads=1, **given["hyperparameters"])
    integral.fit(problem)
    assert answer == integral.equations()


def test_an_end_of_time_leaves_an_answer(shooting: Any) -> None:
    truth, start, size = SYSTEMS["growth"]
    problem = problem_of(TIMES, noisy(recorded(truth, start, TIMES), size))
    short = Problem("trajectory", problem.variables, problem.targets, problem.arrays, 1e-3)
    adapter = fitted(shooting, short)
    assert adapter.stopped_early
    assert len(adapter.equations()) == 1


def test_a_network_is_fitted_from_equations_that_were_found_one_by_one(shooting: Any) -> None:
    truth = [
        *("u3", "u4", "u5"),
        *("-1.4*u0 + 0.3*u1 + 0.3*u2", "-1.7*u1 + 0.3*u2 + 0.3*u0", "-2.1*u2 + 0.3*u0 + 0.3*u1"),
    ]
    start = [0.9, -0.5, 0.3, -0.8, 0.4, 0.6]
    problem = problem_of(TIMES, noisy(recorded(truth, start, TIMES), 0.01))
    adapter = fitted(shooting, problem)
    verdict = compare(truth, adapter.equations(), problem.variables).verdict.value
    assert verdict == "identified"
    sent = list(adapter.candidates())
    assert [one.target for one in sent] == list(range(6))
    assert [one.equations[0] for one in sent] == adapter.equations()
