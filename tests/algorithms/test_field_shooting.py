"""Fields by simulating and fitting, against closed forms, differences and brute force."""

from __future__ import annotations

import sys
import tomllib
from dataclasses import replace
from itertools import chain, combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from fields import field_problem, spread
from harness import ROOT, imported
from scipy.linalg import expm

from eqverdict.fidelity.compare import Verdict, compare
from mdbench.data.noise import add_noise

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from mdbench.worker import Problem

    Array = NDArray[np.float64]

GIVEN = tomllib.loads((ROOT / "algorithms/field_shooting/method.toml").read_text())[
    "hyperparameters"
]
PERIOD = 2 * np.pi
NEVER = lambda: False  # noqa: E731 - time is never up


@pytest.fixture(scope="module")
def method() -> Iterator[Any]:
    with imported("field_shooting") as module:
        yield module


@pytest.fixture(scope="module")
def modules(method: Any) -> Any:
    del method  # it has imported them
    return sys.modules


def waves(nodes: int, times: Array) -> Array:
    """Three waves that move and decay: ``u0_t = 0.05 u0_xx - 0.8 u0_x``, (nodes, times, 1)."""
    x = np.arange(nodes) * PERIOD / nodes
    parts = [
        size * np.exp(-0.05 * k**2 * times) * np.cos(k * (x[:, None] - 0.8 * times) + k)
        for k, size in ((1, 1.0), (2, 0.6), (4, 0.5))
    ]
    return np.asarray(1.5 + sum(parts))[..., None]


def front(nodes: int, times: Array) -> Array:
    """A drop on zero ground that becomes a front: ``u0_t = 0.05 u0_xx - u0 u0_x``.

    Of Hopf and Cole: u is -0.1 phi_x / phi, where phi spreads by 0.05 phi_xx.  A field less its
    mean is seen from a frame that moves at the mean.
    """
    fine, nu = 4096, 0.05
    x = np.arange(fine) * PERIOD / fine
    begin = np.exp(-4 * (x - 2) ** 2)
    mean = float(begin.mean())
    waves = 1j * np.arange(fine // 2 + 1)
    summed = np.fft.rfft(begin - mean)
    summed[1:] /= waves[1:]
    phi = np.fft.rfft(np.exp(-np.fft.irfft(summed, fine) / (2 * nu)))
    decayed = phi * np.exp((nu * waves**2 - mean * waves) * times[:, None])
    ratio = np.fft.irfft(waves * decayed, fine) / np.fft.irfft(decayed, fine)
    return np.asarray((mean - 2 * nu * ratio)[:, :: fine // nodes].T[..., None])


def samples_of(modules: Any, u: Array, step: float, highest: int = 4, interval: int = 8) -> Any:
    return modules["segments"].FieldSamples.of((u, u), PERIOD, step, highest, interval)


def terms_of(modules: Any, states: int = 1) -> dict[str, Any]:
    names = [f"u{k}" for k in range(states)]
    names += [f"u{k}_{'x' * n}" for k in range(states) for n in range(1, 5)]
    return {one.text: one for one in modules["summands"].products(names, states, 120, 4.25)}


def noisy_problem(u: Array, t: Array, snr_db: float, waves: int = 7, seed: int = 0) -> Problem:
    """Return what a method is given of a periodic field, smoothed by its longest waves."""
    measured = add_noise(u, name="waves", snr_db=snr_db, seed=seed)
    spectrum = np.fft.rfft(measured, axis=0)
    spectrum[waves + 1 :] = 0
    smoothed = np.fft.irfft(spectrum, len(u), axis=0)
    x = np.arange(len(u)) * PERIOD / len(u)
    problem = field_problem(t, [x], smoothed, np.zeros_like(u))
    arrays = {**problem.arrays, "periods": np.full(1, PERIOD), "measured": measured}
    return replace(problem, arrays=arrays)


# ------------------------------------------------------------------------------------- solutions


def test_a_step_of_what_is_linear_is_exact(modules: Any) -> None:
    """Two coupled states with a constant rate: by the exponential of a larger matrix."""
    matrix = np.array([[-0.3, 2.0], [-1.0, -40.0]])
    rate, start, h = np.array([0.7, -0.2]), np.array([1.0, 0.5]), 0.3
    step = modules["exponential_steps"].ExponentialStep.of(matrix[..., None].astype(complex), h)
    after = step.advance(start[:, None].astype(complex), *[lambda _: rate[:, None] + 0j] * 3)
    larger = np.zeros((3, 3))
    larger[:2, :2], larger[:2, 2] = matrix, rate
    expected = expm(larger * h)[:2] @ [*start, 1.0]
    np.testing.assert_allclose(after[:, 0], expected, rtol=1e-12)


def test_steps_are_of_fourth_order(modules: Any) -> None:
    """Logistic growth, whose solution is known: half the step, a sixteenth of the error."""

    def error(steps: int) -> float:
        linear = np.full((1, 1, 1), 1.0 + 0j)
        step = modules["exponential_steps"].ExponentialStep.of(linear, 2.0 / steps)
        v = np.full((1, 1), 0.2 + 0j)
        for _ in range(steps):
            v = step.advance(v, *[lambda w: -(w**2)] * 3)
        return float(abs(complex(v[0, 0]) - 0.2 * np.exp(2) / (1 + 0.2 * (np.exp(2) - 1))))

    assert error(10) / error(20) == pytest.approx(16, rel=0.3)


def test_a_wave_is_solved_exactly_and_seen_as_averages_of_nodes(modules: Any) -> None:
    """A grid of four times the nodes that are needed; averages of four have every wave's share."""
    times = np.linspace(0, 1, 17)
    u = waves(256, times)
    samples = samples_of(modules, u, times[1])
    assert samples.averaged == 4
    terms = terms_of(modules)
    places = [(0, terms["u0_xx"]), (0, terms["u0_x"])]
    solved = modules["segments"].Flow(samples, places, [0.05, -0.8], 2).solve(samples.starts)
    for offset in range(samples.interval + 1):
        segments, at = samples.times(offset)
        seen = samples.averages(solved[2 * offset, segments])
        averages = u[..., 0].T.reshape(17, 64, 4).mean(axis=-1)
        np.testing.assert_allclose(seen[:, 0], averages[at], atol=1e-12)
    covered = [samples.times(offset)[1].tolist() for offset in range(samples.interval + 1)]
    assert sorted(chain.from_iterable(covered)) == list(range(17))  # each time once


@pytest.mark.parametrize("states", [1, 2])
def test_tangents_are_derivatives_of_the_solution(modules: Any, states: int) -> None:
    """Against differences of solutions: of starts, of coefficients, and of terms not there."""
    times = np.linspace(0, 1, 17)
    u = np.concatenate([waves(64, times), 0.5 * waves(64, times + 1)][:states], axis=-1)
    samples, terms = samples_of(modules, u, times[1]), terms_of(modules, states)
    places = [(0, terms["u0_xx"]), (0, terms["u0*u0_x"]), (0, terms["sin(u0)"])]
    if states == 2:
        places += [(1, terms["u0_xx"]), (1, terms["u1*u0_x"])]
    c = np.array([0.1, -0.5, 0.3, 0.2, 0.4][: len(places)])
    further = [(states - 1, terms["u0**2*u0_x"]), (0, terms["u0_x**2"])]
    columns = [*places, *further]

    def end(coefficients: Sequence[float] | Array, starts: Any) -> Any:
        solved = modules["segments"].Flow(samples, columns, coefficients, 8).solve(starts)
        return solved[-1]

    flow = modules["segments"].Flow(samples, places, c, 8)
    *_, last = flow.responses(flow.solve(samples.starts), columns)
    whole = np.concatenate([c, [0.0, 0.0]])
    basis, h = samples.basis(), 1e-5
    for number in range(len(columns)):
        moved = h * (np.arange(len(columns)) == number)
        difference = end(whole + moved, samples.starts) - end(whole - moved, samples.starts)
        tangent = last.tangents[:, len(basis) + number]
        np.testing.assert_allclose(tangent, difference / (2 * h), atol=1e-4 * np.abs(tangent).max())
    for number in (0, 3, len(basis) - 2):
        moved = h * basis[number]
        difference = end(whole, samples.starts + moved) - end(whole, samples.starts - moved)
        tangent = last.tangents[:, number]
        np.testing.assert_allclose(tangent, difference / (2 * h), atol=1e-4 * np.abs(tangent).max())


def test_equations_that_blow_up_have_no_solution(modules: Any) -> None:
    times = np.linspace(0, 1, 17)
    samples, terms = samples_of(modules, waves(64, times), times[1]), terms_of(modules)
    for places, c in (
        ([(0, terms["u0_xx"])], [-30.0]),
        ([(0, terms["u0_xx"])], [-1e6]),
        ([(0, terms["u0**3"])], [20.0]),
    ):
        assert modules["segments"].Flow(samples, places, c, 2).solve(samples.starts) is None


# ------------------------------------------------------------------------------------ likelihood


def test_errors_are_those_of_drawn_noise(modules: Any) -> None:
    """Monte Carlo: coefficients have no bias, and spread as their standard errors say."""
    times = np.linspace(0, 1, 25)
    u, size = waves(64, times), 0.05
    terms = terms_of(modules)
    places = [(0, terms["u0_xx"]), (0, terms["u0_x"])]
    rng, estimates, errors = np.random.default_rng(0), [], []
    for _ in range(60):
        measured = u + size * rng.standard_normal(u.shape)
        samples = modules["segments"].FieldSamples.of((measured, u), PERIOD, times[1], 4, 8)
        deviation = np.full(samples.measured.shape, size)
        likelihood = modules["field_fit"].FieldLikelihood(samples, deviation)
        fit = likelihood.fit(places, [0.04, -0.7], samples.starts, 6)
        estimates.append(fit.coefficients)
        errors.append(fit.errors)
    spread_of = np.std(estimates, axis=0)
    np.testing.assert_allclose(np.mean(errors, axis=0), spread_of, rtol=0.3)
    bias = np.abs(np.mean(estimates, axis=0) - [0.05, -0.8])
    assert np.all(bias < 4 * spread_of / np.sqrt(60))


def test_the_quadratic_has_the_sum_of_squares_of_a_fit(modules: Any) -> None:
    """The equations are linear here, and the step is small: both agree, with starts free."""
    times = np.linspace(0, 1, 25)
    u = waves(64, times)
    measured = u + 0.05 * np.random.default_rng(1).standard_normal(u.shape)
    samples = modules["segments"].FieldSamples.of((measured, u), PERIOD, times[1], 4, 8)
    likelihood = modules["field_fit"].FieldLikelihood(
        samples, np.full(samples.measured.shape, 0.05)
    )
    terms = terms_of(modules)
    both = [(0, terms["u0_x"]), (0, terms["u0"])]
    fit = likelihood.fit(both[:1], [-0.8], samples.starts, 6)
    quadratic = likelihood.quadratic(fit, both)
    least = np.linalg.solve(quadratic.gram, quadratic.slope)
    predicted = quadratic.constant - float(quadratic.slope @ least)
    again = likelihood.fit(both, [-0.8, 0.0], fit.starts, 8)
    assert again.square < fit.square - 100
    assert predicted == pytest.approx(again.square, rel=2e-3)
    np.testing.assert_allclose(least, again.coefficients, rtol=0.02)
    one = np.array([fit.coefficients[0], 0.0])
    here = quadratic.constant - 2 * quadratic.slope @ one + one @ quadratic.gram @ one
    assert here == pytest.approx(fit.square, rel=1e-6)


def test_the_noise_is_what_equations_leave_and_the_old_where_they_are_wrong(modules: Any) -> None:
    times = np.linspace(0, 1, 25)
    u = waves(64, times)
    measured = u * (1 + 0.05 * np.random.default_rng(2).standard_normal(u.shape))
    samples = modules["segments"].FieldSamples.of((measured, u), PERIOD, times[1], 4, 8)
    first = modules["field_fit"].FieldLikelihood(samples, np.full(samples.measured.shape, 0.1))
    terms = terms_of(modules)
    right = first.fit([(0, terms["u0_xx"]), (0, terms["u0_x"])], [0.05, -0.8], samples.starts, 6)
    truth = 0.05 * np.abs(np.moveaxis(u, 0, -1))
    found = first.with_noise_of(right).deviation
    assert np.median(np.abs(found / truth - 1)) < 0.1
    wrong = first.fit([(0, terms["u0"])], [0.1], samples.starts, 6)
    assert first.refutes(wrong)
    assert first.with_noise_of(wrong) is first


def test_exchanges_find_the_best_sum(modules: Any) -> None:
    """Against all sums of eight terms that resemble each other."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        columns = rng.standard_normal((40, 8)) + rng.standard_normal((40, 1))
        target = columns[:, [1, 4, 6]] @ [3.0, -2.0, 1.0] + rng.standard_normal(40)
        gram, slope = columns.T @ columns, columns.T @ target
        quadratic = modules["field_fit"].Quadratic(gram, slope, float(target @ target), np.ones(8))
        prices = np.full(8, 5.0)
        (best, *_) = modules["term_exchange"].exchanged(quadratic, prices, (0, 2))
        scores = {}
        for size in range(9):
            for some in combinations(range(8), size):
                part = columns[:, some]
                rest = target - part @ np.linalg.lstsq(part, target, rcond=None)[0]
                scores[some] = float(rest @ rest) + 5.0 * size
        assert best.support == min(scores, key=lambda one: scores[one])
        assert best.score == pytest.approx(min(scores.values()))


# ----------------------------------------------------------------------------------- the method


def identified(problem: Problem, truth: str, equations: Sequence[str]) -> bool:
    return compare([truth], equations, problem.variables).verdict is Verdict.IDENTIFIED


@pytest.mark.parametrize("start", ["wrong", "refuted", "none"])
def test_a_field_at_20_db_is_identified_from_any_start(
    method: Any, modules: Any, start: str
) -> None:
    """From two false terms; from equations that cannot be integrated; and from nothing."""
    t = np.linspace(0, 3, 61)
    problem, terms = noisy_problem(waves(64, t), t, 20.0), terms_of(modules)
    search = method.Adapter(seed=0, threads=1, **GIVEN)._search(problem, NEVER)
    places, c = {
        "wrong": ([(0, terms["u0*u0_x"]), (0, terms["u0"])], [-0.5, 0.1]),
        "refuted": ([(0, terms["u0_xx"]), (0, terms["u0_x"])], [-5.0, -0.8]),
        "none": ([], []),
    }[start]
    if start == "refuted":
        assert not search._likelihood.settle(places, c)
    fit = search.best([(places, c), ([], [])])
    assert {term.text for _, term in fit.places} == {"u0_xx", "u0_x"}
    answer = modules["adapter"]._answer(fit, 0).text
    assert identified(problem, "0.05*u0_xx - 0.8*u0_x", [answer])
    assert all(worse < 10 for _, worse in search.rivals(fit))


@pytest.mark.parametrize("seed", [0, 1])
def test_no_false_term_makes_up_for_starts_of_few_waves(
    method: Any, modules: Any, seed: int
) -> None:
    """The noise of a drop is nearly zero beside it, where no start of 21 waves is as exact.

    From the true terms; with a floor of 0.001 of the largest state u0**2*u0_xxxx and others came.
    """
    t = np.linspace(0, 2, 41)
    problem, terms = noisy_problem(front(64, t), t, 20.0, 19, seed), terms_of(modules)
    search = method.Adapter(seed=0, threads=1, **GIVEN)._search(problem, NEVER)
    fit = search.best([([(0, terms["u0_xx"]), (0, terms["u0*u0_x"])], [0.05, -1.0])])
    assert {term.text for _, term in fit.places} == {"u0_xx", "u0*u0_x"}
    answer = modules["adapter"]._answer(fit, 0).text
    assert identified(problem, "0.05*u0_xx - u0*u0_x", [answer])


def test_the_method_answers_with_what_it_simulated(method: Any) -> None:
    t = np.linspace(0, 3, 61)
    problem = noisy_problem(waves(64, t), t, 20.0)
    adapter = method.Adapter(seed=0, threads=1, **GIVEN)
    adapter.fit(problem)
    (candidate,) = adapter.candidates()
    assert candidate.equations == tuple(adapter.equations())
    assert identified(problem, "0.05*u0_xx - 0.8*u0_x", adapter.equations())
    assert not adapter.stopped_early
    assert adapter.predict(problem).shape == problem.u.shape


@pytest.mark.parametrize("why", ["clean", "an axis with ends", "no time"])
def test_else_the_answer_is_that_of_the_weak_form(method: Any, why: str) -> None:
    t = np.linspace(0, 3, 41)
    problem = noisy_problem(waves(64, t), t, 20.0)
    if why == "clean":
        u = waves(64, t)
        problem = replace(problem, arrays={**problem.arrays, "u": u, "measured": u})
    if why == "an axis with ends":
        problem = spread((40,), 30)
        noise = 0.02 * np.random.default_rng(0).standard_normal(problem.u.shape)
        arrays = {"periods": np.zeros(1), "measured": problem.u + noise}
        problem = replace(problem, arrays={**problem.arrays, **arrays})
    if why == "no time":
        problem = replace(problem, time_limit=1e-6)
    adapter, weak = method.Adapter(seed=0, threads=1, **GIVEN), method._WEAK.Adapter
    adapter.fit(problem)
    other = weak(seed=0, threads=1, **method._SETTINGS)
    other.fit(problem)
    assert adapter.equations() == other.equations()
    assert adapter.stopped_early == (why == "no time")
