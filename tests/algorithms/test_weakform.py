"""Regression in weak form, against closed forms, direct integration and fields made by series."""

from __future__ import annotations

import sys
import tomllib
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from development_fields import SYSTEMS, as_published, clean_field, dataset
from fields import burgers, field_problem, spread, without_targets
from harness import ROOT, imported
from sweeps import sampled

from eqverdict import parse
from eqverdict.fidelity.compare import Verdict, compare
from mdbench import datatypes
from mdbench.datatypes.base import Candidate
from mdbench.datatypes.facts import Protocol
from mdbench.worker import Problem, Unsupported

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from mdbench.data.field import Field

    Array = NDArray[np.float64]

FOLDER = ROOT / "algorithms" / "weakform"
GIVEN = tomllib.loads((FOLDER / "method.toml").read_text())["hyperparameters"]


MODULES = ("bumps", "forms", "summands", "search", "schemes", "grids", "likelihood", "likeliest")


@pytest.fixture(scope="module")
def weakform() -> Iterator[Any]:
    with imported("weakform") as module:
        yield module


@pytest.fixture(scope="module")
def modules(weakform: Any) -> dict[str, Any]:
    del weakform  # its modules can be imported now
    return {name: sys.modules[name] for name in MODULES}


def fitted(weakform: Any, problem: Problem, **settings: Any) -> Any:
    adapter = weakform.Adapter(seed=0, threads=1, **{**GIVEN, **settings})
    adapter.fit(problem)
    return adapter


def periodic_problem(shape: Sequence[int], *, states: int = 1) -> Problem:
    """Waves along up to three periodic axes, which no derivative errs on."""
    grid = [np.arange(n) * 2.0 / n for n in shape]
    t = np.linspace(0, 1, 30)
    *places, T = np.meshgrid(*grid, t, indexing="ij")
    u = np.stack(
        [
            1.3
            + np.sin(sum(np.pi * p for p in places) - (1 + k) * T)
            + 0.3 * np.cos(np.pi * places[-1] + k)
            for k in range(states)
        ],
        axis=-1,
    )
    problem = field_problem(t, grid, u, np.zeros_like(u))
    arrays = {**problem.arrays, "periods": np.full(len(shape), 2.0), "measured": u}
    return replace(problem, arrays=arrays)


@pytest.mark.parametrize("shape", [(64,), (40, 36), (18, 16, 17)])
def test_derivatives_moved_to_test_functions_integrate_the_same(
    modules: dict[str, Any], shape: tuple[int, ...]
) -> None:
    """Every term in weak form is the integral of its values at the nodes."""
    problem = periodic_problem(shape, states=2)
    halves = modules["forms"].halves_of(problem, 1.0, [0.8] * (len(shape) + 1))
    form = modules["forms"].WeakField(problem, problem.u, halves)
    terms = modules["summands"].products(problem.variables, 2, 400, 4.0 - 0.5 * len(shape))
    assert {2, 3, 4} <= {each.order for term in terms for each in term.derivatives}
    for term in terms:
        direct = form.integral(modules["forms"].values_of(problem, [term], [1.0]))
        np.testing.assert_allclose(
            form.column(term), direct, atol=2e-4 * max(1.0, np.abs(direct).max()), err_msg=term.text
        )


def test_integrals_of_polynomials_are_exact(modules: dict[str, Any]) -> None:
    """On an axis that is not periodic: x^4 over a bump, and its derivatives by parts."""
    x, t = np.linspace(-1, 2, 41), np.linspace(0, 1, 25)
    u = (x**4 - x)[:, None, None] * np.ones((1, 25, 1)) * (1 + t)[None, :, None]
    problem = field_problem(t, [x], u, np.zeros_like(u))
    problem = replace(problem, arrays={**problem.arrays, "periods": np.zeros(1), "measured": u})
    halves = modules["forms"].halves_of(problem, 1.0, [0.9, 0.9])
    form = modules["forms"].WeakField(problem, u, halves)
    derivatives = {each.order: each for each in modules["grids"].derivatives_of(problem.variables)}
    wanted = {1: 4 * x**3 - 1, 2: 12 * x**2, 3: 24 * x, 4: 24 + 0 * x}
    for order, values in wanted.items():
        term = modules["summands"].Product((), (derivatives[order],))
        np.testing.assert_allclose(
            form.column(term), form.integral(values[:, None] * (1 + t)), rtol=1e-8, atol=1e-8
        )
    change = form.integral((x**4 - x)[:, None] * np.ones(25))
    np.testing.assert_allclose(form.target(0), change, rtol=1e-9, atol=1e-9)


def test_costs_follow_one_rule(modules: dict[str, Any]) -> None:
    terms = modules["summands"].products(("u0", "u1", "u0_x", "u0_xx", "u1_x"), 2, 400, 3.25)
    costs = {term.text: term.cost for term in terms}
    assert (costs[""], costs["u0"], costs["u0*u1"], costs["u0_xx"]) == (0, 1, 2, 1.5)
    assert (costs["u0*u0_x"], costs["u0_x**2"]) == (2.25, 2.5)
    assert "sin(u1)" not in costs  # costs 3.5
    assert list(costs.values()) == sorted(costs.values())
    fewer = modules["summands"].products(("u0", "u1", "u0_x", "u0_xx", "u1_x"), 2, 12, 3.25)
    assert len(fewer) <= 12
    assert max(t.cost for t in fewer) < min(
        c for x, c in costs.items() if x not in {t.text for t in fewer}
    )


def test_windows_follow_the_waves_above_the_noise(modules: dict[str, Any]) -> None:
    x = np.arange(128) * 2 * np.pi / 128
    waves = (np.sin(3 * x) + 0.02 * np.sin(20 * x))[:, None] * np.ones((1, 40))
    noise = 0.3 * np.random.default_rng(0).standard_normal(waves.shape)
    step = 2 * np.pi / 128
    corner = modules["bumps"].corner
    assert corner(waves, waves, 0, periodic=True, clean=1e-6) == pytest.approx(20 * step)
    assert corner(waves + noise, waves, 0, periodic=True, clean=1e-6) == pytest.approx(3 * step)


FOUND = (
    ("allen-cahn", None),
    ("kpz", None),
    ("damped-wave", None),
    ("advection-reaction-2d", None),
    ("decay-3d", None),
    ("ribbed-2d", None),
    ("allen-cahn", 30.0),
    ("kpz", 40.0),
    ("advection-reaction-2d", 20.0),
    ("kpz", 20.0),
    ("modified-kdv", 20.0),
)


def noisy_burgers(problem: Problem, size: float, seed: int) -> Problem:
    """Burgers' closed form with noise of a known size, about the field without noise."""
    rng = np.random.default_rng(seed)
    noise = size * rng.standard_normal(problem.u.shape)
    return replace(problem, arrays={**problem.arrays, "measured": problem.u + noise})


def burgers_terms(modules: dict[str, Any], problem: Problem) -> list[Any]:
    terms = {t.text: t for t in modules["summands"].products(problem.variables, 1, 60, 4.25)}
    return [terms["u0_xx"], terms["u0*u0_x"]]


def test_covariances_are_those_of_drawn_noise(modules: dict[str, Any]) -> None:
    """Monte Carlo: the integrals of a term, and what they share with the residual."""
    field, size = windowed_burgers(), 0.03
    terms, columns, targets = burgers_terms(modules, field), [], []
    made = modules["likelihood"].Likelihood
    for seed in range(400):
        one = made(noisy_burgers(field, size, seed), 0, [0.5, 0.5], np.full(field.u.shape, size))
        columns.append([one.column(term) for term in terms])
        targets.append(one.target)
    drawn = np.array(columns) - np.mean(columns, axis=0)  # (draws, terms, rows)
    response = [one._response(term) for term in terms]
    for a, b in ((0, 0), (0, 1), (1, 1)):
        expected = np.diag(one._covariance(response[a], response[b])).sum()
        assert np.sum(drawn[:, a] * drawn[:, b]) / 399 == pytest.approx(
            expected,
            rel=0.1,
            abs=0.02 * np.sqrt(np.prod([np.sum(drawn[:, k] ** 2) for k in (a, b)])) / 399,
        )
    inverse = np.linalg.inv(one._covariance(one._left, one._left) + 1e-9 * np.eye(len(one.target)))
    shared = [np.sum(inverse * one._covariance(each, one._left)) for each in response]
    np.testing.assert_allclose(
        one._shared(response, one._left, inverse), shared, rtol=1e-8, atol=1e-9
    )
    targets = np.array(targets) - np.mean(targets, axis=0)
    known = np.diag(one._covariance(one._left, one._left)).sum()
    assert np.sum(targets**2) / 399 == pytest.approx(known, rel=0.1)


def test_coefficients_have_no_bias_under_noise(modules: dict[str, Any]) -> None:
    """Monte Carlo: least squares falls short, the likelihood does not, and errors are true."""
    field, size = windowed_burgers(), 0.06
    terms, found, plain, errors = burgers_terms(modules, field), [], [], []
    for seed in range(60):
        one = modules["likelihood"].Likelihood(
            noisy_burgers(field, size, seed), 0, [0.9, 0.9], np.full(field.u.shape, size)
        )
        fit = one.fit(terms, [0.1, -1.0])
        found.append(fit.coefficients)
        errors.append(fit.errors)
        columns = np.stack([one.column(term) for term in terms], axis=1)
        plain.append(np.linalg.lstsq(columns, one.target, rcond=None)[0])
    truth, mean = np.array([0.1, -1.0]), np.mean(found, axis=0)
    spread = np.std(found, axis=0)
    assert np.all(np.abs(mean - truth) < 0.5 * np.abs(np.mean(plain, axis=0) - truth))
    np.testing.assert_allclose(mean, truth, rtol=0.03)
    np.testing.assert_allclose(np.mean(errors, axis=0), spread, rtol=0.35)


def test_units_change_nothing_but_coefficients(modules: dict[str, Any]) -> None:
    """In other units of state, place and time, a noisy field has as likely an equation."""
    field, size = windowed_burgers(), 0.03
    state, place, time = 250.0, 3e-3, 40.0
    made = noisy_burgers(field, size, 0)
    arrays = dict(made.arrays)
    arrays |= {name: state * made.arrays[name] for name in ("u", "measured")}
    arrays |= {"x": place * made.arrays["x"], "t": time * made.arrays["t"]}
    other = replace(made, arrays=arrays)
    fits = []
    for one, deviation in ((made, size), (other, state * size)):
        likelihood = modules["likelihood"].Likelihood(
            one, 0, [0.9, 0.9], np.full(one.u.shape, deviation)
        )
        fits.append(likelihood.fit(burgers_terms(modules, one), [0.0, 0.0]))
    units = np.array([place**2 / time, place / (state * time)])
    np.testing.assert_allclose(fits[1].coefficients, fits[0].coefficients * units, rtol=1e-6)
    np.testing.assert_allclose(fits[1].errors, fits[0].errors * units, rtol=1e-6)
    assert fits[1].square == pytest.approx(fits[0].square, rel=1e-6)


@pytest.mark.parametrize("asked", [0, 1, 2, 5, 30, 150])
def test_under_noise_an_answer_is_there_when_time_is_up(
    modules: dict[str, Any], weakform: Any, asked: int
) -> None:
    """Wherever time ends: after so many questions whether it has."""
    problem = noisy_burgers(windowed_burgers(), 0.03, 0)
    left = iter(range(asked))
    front = [modules["search"].WeakAnswer((), (), (), 1.0, (1.0,))]
    terms = burgers_terms(modules, problem)
    front.append(modules["search"].WeakAnswer(tuple(terms), (0.1, -1.0), (0.1, 0.1), 0.1, (0.1,)))
    found, rivals = modules["likeliest"].likeliest(
        problem,
        0,
        modules["summands"].products(problem.variables, 1, 60, 4.25),
        front,
        lambda: next(left, None) is None,
    )
    assert found
    if asked:  # the first sum is fitted before time is up
        assert len(found) == 1
    else:
        assert not rivals
    adapter = fitted(weakform, replace(problem, time_limit=1e-6))
    assert adapter.stopped_early
    assert len(adapter.equations()) == 1


def test_sums_that_are_nearly_as_likely_are_named(modules: dict[str, Any]) -> None:
    """Of a state that hardly varies, noise does not show whether it carries itself along."""
    x, t = np.arange(64) * 2 * np.pi / 64, np.linspace(0, 3, 60)
    wave = np.sin(x[:, None] - 0.7 * t) + 0.5 * np.sin(2 * (x[:, None] - 0.7 * t) + 1)
    u = 1 + 0.002 * wave[..., None]
    problem = field_problem(t, [x], u, np.zeros_like(u))
    measured = u + 2e-4 * np.random.default_rng(0).standard_normal(u.shape)
    arrays = {**problem.arrays, "periods": np.full(1, 2 * np.pi), "measured": measured}
    terms = modules["summands"].products(problem.variables, 1, 40, 2.5)
    answer, named = modules["search"].WeakAnswer, {one.text: one for one in terms}
    front = [answer((), (), (), 1.0, (1.0,))]
    for texts in (("u0_x",), ("u0*u0_x",), ("u0_xx",)):
        some = tuple(named[text] for text in texts)
        front.append(answer(some, (-0.7,) * len(some), (0.1,) * len(some), 0.1, (0.1,)))
    (best,), rivals = modules["likeliest"].likeliest(
        replace(problem, arrays=arrays), 0, terms, front, lambda: False
    )
    found = {tuple(term.text for term in one.terms) for one in (best, *(r.answer for r in rivals))}
    assert found == {("u0_x",), ("u0*u0_x",)}
    assert all(0 <= one.worse <= 10 for one in rivals)
    likely = [one.log_likelihood for one in rivals]
    assert all(abs(2 * value + one.worse) < 10 for value, one in zip(likely, rivals, strict=True))


def windowed_burgers() -> Problem:
    problem = burgers(60, 50)
    return replace(problem, arrays={**problem.arrays, "periods": np.zeros(1)})


@cache
def grown(name: str, way: str | None = None) -> Field:
    return as_published(name, way) if way else clean_field(SYSTEMS[name])


@pytest.mark.parametrize(("name", "level"), sampled(FOUND), ids=str)
def test_known_fields_are_found_and_chosen(
    weakform: Any, tmp_path: Path, name: str, level: float | None
) -> None:
    """In one to three dimensions, periodic or not, clean and noisy; by the bench's own choice."""
    identifies(weakform, tmp_path, dataset(name, grown(name), level), Protocol.STRICT)


@pytest.mark.parametrize(
    ("name", "way"),
    sampled(
        (
            ("fisher", "differences"),
            ("fisher", "euler"),
            ("allen-cahn", "euler"),
            ("kpz", "digits"),
            ("damped-wave", "euler"),
        ),
        least=2,
    ),
)
def test_errors_of_schemes_are_no_terms(weakform: Any, tmp_path: Path, name: str, way: str) -> None:
    """Data by differences of second order, by Euler's steps or with few digits have the law."""
    identifies(weakform, tmp_path, dataset(name, grown(name, way), None), Protocol.STRICT)


@pytest.mark.parametrize("name", sampled(("fisher", "porous"), least=1))
def test_sums_that_lack_terms_are_not_offered_of_clean_data(
    weakform: Any, tmp_path: Path, name: str
) -> None:
    """The choice of `published` would take them, as it likes short ones."""
    identifies(weakform, tmp_path, dataset(name, grown(name), None), Protocol.PUBLISHED)


def identifies(weakform: Any, tmp_path: Path, data: Any, protocol: Protocol) -> None:
    """Fit a field, choose as the bench does, and compare with the truth."""
    kind = datatypes.find("pde", ROOT / "datasets" / "pde", tmp_path)
    task = kind.task(data, "field", protocol)
    arrays = {**task.refit.inputs, "du": task.refit.targets}
    adapter = fitted(weakform, Problem("field", task.variables, task.targets, arrays))
    offers = [
        kind.evaluate_candidate(task, task.refit, Candidate(k, one.equations, {}, one.target))
        for k, one in enumerate(adapter.candidates())
        if one.equations != ("0",)  # `published` refuses it
    ]
    choice = kind.select(task, offers)
    assert choice is not None
    assert data.truth is not None
    assert compare(data.truth, choice.equations, task.variables).verdict is Verdict.IDENTIFIED


def heat_by_differences() -> tuple[Problem, float, float]:
    """A wave and its third harmonic that decay as central differences and implicit Euler let them.

    Each wave of number k decays by 1 / (1 + h s) a step, with s = (2 sin(k dx / 2) / dx)^2 / 8.
    """
    n, h = 48, 0.02
    x = np.linspace(0, 2 * np.pi, n, endpoint=False)
    t = np.linspace(0, 59 * h, 60)
    dx = float(x[1])
    waves = [
        size
        * np.cos(k * x + k)[:, None]
        / (1 + h * (2 * np.sin(k * dx / 2) / dx) ** 2 / 8) ** (t / h)
        for k, size in ((1, 1.0), (3, 0.7), (5, 0.4))
    ]
    u: Array = np.sum(waves, axis=0)[..., None]
    problem = field_problem(t, [x], u, np.zeros_like(u))
    arrays = {**problem.arrays, "periods": np.full(1, 2 * np.pi), "measured": u}
    return replace(problem, arrays=arrays), h, dx


def test_the_error_of_a_scheme_is_that_of_the_modified_equation(modules: dict[str, Any]) -> None:
    """Decay at the rates of the scheme: beside its errors the law of heat leaves far less."""
    problem, h, dx = heat_by_differences()
    form = modules["forms"].WeakField(problem, problem.u, [10, 8])
    scheme = modules["schemes"].Scheme(form, 0, h)
    terms = {t.text: t for t in modules["summands"].products(problem.variables, 1, 60, 4.25)}
    heat, fourth = terms["u0_xx"], terms["u0_xxxx"]
    columns, target = form.column(heat)[:, None], form.target(0)
    weight = np.linalg.lstsq(columns, target, rcond=None)[0]
    plain = np.sum((target - columns @ weight) ** 2) / np.sum(target**2)
    (fitted_weight,), left = scheme.fit([heat], columns, target)
    assert left < 1e-3 * plain
    assert abs(fitted_weight - 0.125) < 0.2 * abs(weight[0] - 0.125)
    # u_t = a u_xx + (a dx^2 / 12 + a^2 h / 2) u_xxxx, by Taylor series.
    expected = 0.125 * dx**2 / 12 + 0.125**2 * h / 2
    both = np.column_stack([form.column(heat), form.column(fourth)])
    assert np.linalg.lstsq(both, target, rcond=None)[0][1] == pytest.approx(expected, rel=0.1)
    assert scheme.within([heat, fourth], [0.125, expected]) == [False, True]
    assert scheme.within([heat, fourth], [0.125, 20 * expected]) == [False, False]
    assert scheme.within([fourth], [expected]) == [False]  # of no term in the sum


def test_a_term_of_no_law_is_left_out_and_a_true_one_kept(weakform: Any) -> None:
    problem, _, _ = heat_by_differences()
    (offered,) = [
        one.equations[0]
        for one in fitted(weakform, problem).candidates()
        if one.equations != ("0",)
    ]
    verdict = compare(["0.125*u0_xx"], [offered], problem.variables).verdict
    assert verdict is Verdict.IDENTIFIED


def test_a_small_true_term_is_kept_next_to_errors_of_schemes(weakform: Any) -> None:
    """Heat by differences, of which a thousandth of the changes is along x."""
    n, t = 24, np.linspace(0, 2, 40)
    step = 2 * np.pi / n
    x = np.linspace(0, 2 * np.pi, n, endpoint=False)
    rates = [(2 * np.sin(k * step / 2) / step) ** 2 / 8 for k in range(4)]
    u: Array = np.zeros((n, n, len(t)))
    for size, k, m in ((1.0, 0, 1), (0.5, 0, 3), (0.004, 1, 1), (0.004, 2, 3)):
        wave = np.cos(k * x + 0.3)[:, None] * np.cos(m * x + k)
        u = u + size * wave[..., None] * np.exp(-(rates[k] + rates[m]) * t)
    problem = field_problem(t, [x, x], u[..., None], np.zeros_like(u[..., None]))
    arrays = {**problem.arrays, "periods": np.full(2, 2 * np.pi), "measured": problem.u}
    problem = replace(problem, arrays=arrays)
    offered = [one.equations[0] for one in fitted(weakform, problem).candidates()]
    truth = "0.125*u0_xx + 0.125*u0_yy"
    assert any(
        compare([truth], [each], problem.variables).verdict is Verdict.IDENTIFIED
        for each in offered
        if each.count("u0") < 4
    )


def test_a_dearer_sum_that_is_no_better_is_left_out(weakform: Any, modules: dict[str, Any]) -> None:
    """As many terms, of which one costs more and leaves nearly as much, at the same width."""
    product, right_side = modules["summands"].Product, modules["search"].WeakAnswer

    def leaving(states: tuple[int, ...], *left: float) -> Any:
        return right_side((product(states),), (1.0,), (0.1,), left[0], left, 0)

    cheap, alike, better = leaving((0,), 1e-3, 1e-2), leaving((0, 0), 8e-4), leaving((0, 1), 1e-4)
    assert weakform._distinct([better, alike, cheap], 0) == [cheap, better]
    elsewhere = replace(alike, width=1, left=8e-4, elsewhere=(2e-3, 8e-4))
    assert elsewhere in weakform._distinct([elsewhere, cheap], 0)


def test_a_single_wave_needs_one_term(weakform: Any) -> None:
    """All columns are alike there, and no pair of them says more than one."""
    x, t = np.arange(64) * 1.0 / 64, np.linspace(0, 1, 60)
    u = np.sin(2 * np.pi * (x[:, None] - 0.37 * t))[..., None]
    problem = field_problem(t, [x], u, np.zeros_like(u))
    problem = replace(problem, arrays={**problem.arrays, "periods": np.ones(1), "measured": u})
    offered = [one.equations[0] for one in fitted(weakform, problem).candidates()]
    assert any(
        compare(["-0.37*u0_x"], [each], problem.variables).verdict is Verdict.IDENTIFIED
        for each in offered
    )


def test_closed_forms_are_found_without_smoothed_data(weakform: Any) -> None:
    for problem, truth in (
        (burgers(), "-u0*u0_x + 0.1*u0_xx"),
        (spread((24, 24), 30), "-0.25*u0_x + 0.5*u0_xx + 0.5*u0_yy"),
    ):
        offered = [one.equations for one in fitted(weakform, problem).candidates()]
        assert any(
            compare([truth], each, problem.variables).verdict is Verdict.IDENTIFIED
            for each in offered
            if each[0].count("u0") < 9
        )


def test_predictions_are_the_equations_values(weakform: Any) -> None:
    problem = spread((20, 20), 24)
    adapter = fitted(weakform, problem)
    values = adapter.predict(without_targets(problem))
    kind = np.mean((values - problem.du) ** 2) / np.mean(problem.du**2)
    assert kind < 1e-3
    number = len(list(adapter.candidates())) - 1
    adapter.choose([number])
    assert adapter.equations() == list(list(adapter.candidates())[number].equations)
    parse(adapter.equations()[0], problem.variables)  # is a legal answer
    offered = next(
        one for one in adapter.candidates() if one.equations[0] == adapter.equations()[0]
    )
    assert offered.predictions is not None  # since plain differences are those of `published`
    np.testing.assert_array_equal(offered.predictions, adapter.predict(problem)[..., 0])
    assert all(
        one.predictions is None for one in fitted(weakform, periodic_problem((24,))).candidates()
    )


def test_the_answer_hangs_on_nothing_but_the_data(weakform: Any) -> None:
    problem = burgers(60, 40)
    first, second = (
        [one.equations for one in fitted(weakform, problem).candidates()] for _ in range(2)
    )
    assert first == second


def test_an_answer_is_there_when_time_is_up(weakform: Any) -> None:
    adapter = fitted(weakform, replace(burgers(60, 40), time_limit=1e-6))
    assert adapter.stopped_early
    assert len(adapter.equations()) == 1


def test_candidates_show_how_sure_they_are(weakform: Any) -> None:
    offered = list(fitted(weakform, burgers(60, 40)).candidates())
    assert offered[0].equations == ("0",)
    for one in offered[1:]:
        errors = one.hyperparameters["standard_errors"]
        assert errors
        assert all(error >= 0 for error in errors.values())


@pytest.mark.parametrize(("n_x", "n_t"), [(7, 12), (13, 7), (9, 9)])
def test_few_nodes_are_enough_for_an_answer(weakform: Any, n_x: int, n_t: int) -> None:
    assert len(fitted(weakform, burgers(n_x, n_t)).equations()) == 1


def test_an_axis_too_short_for_windows_is_taken_node_by_node(weakform: Any) -> None:
    problem = spread((20, 4), 20)
    assert len(fitted(weakform, problem).equations()) == 1


def test_a_part_of_the_rows_is_refused(weakform: Any) -> None:
    problem = burgers(60, 40)
    some = replace(problem, arrays={**problem.arrays, "rows": np.arange(50.0)})
    with pytest.raises(Unsupported, match="--max-rows"):
        fitted(weakform, some)


def test_what_is_not_finite_or_too_short_is_refused(weakform: Any) -> None:
    problem = burgers(60, 40)
    u = problem.u.copy()
    u[3, 4, 0] = np.nan
    with pytest.raises(Unsupported, match="u has values that are not finite"):
        fitted(weakform, replace(problem, arrays={**problem.arrays, "u": u}))
    with pytest.raises(Unsupported, match="need 7 times, and there are 6"):
        fitted(weakform, burgers(60, 6))
