"""Regression in integral form, against closed forms and searches by brute force."""

from __future__ import annotations

import itertools
import sys
import tomllib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from harness import ROOT, imported
from scipy.integrate import solve_ivp
from scipy.interpolate import make_interp_spline

from eqverdict.fidelity.compare import compare
from mdbench.worker import Problem, Unsupported
from mdbench.worker.budget import Budget

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

FOLDER = ROOT / "algorithms" / "integral"
GIVEN = tomllib.loads((FOLDER / "method.toml").read_text())["hyperparameters"]

FEWER = 100
"""Terms in a dictionary that is searched in less time."""

EQUATIONS: dict[str, tuple[list[str], list[float]]] = {
    "pendulum": (["u1", "-0.93*sin(u0)"], [-1.9, 0.0]),
    "lotka-volterra": (["1.84*u0 - 1.45*u0*u1", "-3.03*u1 + 1.62*u0*u1"], [8.3, 3.4]),
    "lorenz": (["9.7*u1 - 9.7*u0", "27.9*u0 - u1 - u0*u2", "u0*u1 - 2.66*u2"], [2.3, 8.1, 12.4]),
    "saturation": (["0.47 - 1.13*u0/(1.39 + u0)"], [5.7]),
}


@pytest.fixture(scope="module")
def integral() -> Iterator[Any]:
    with imported("integral") as module:
        yield module


def simulate(equations: list[str], start: list[float], t: Array, noise: float = 0.0) -> Problem:
    codes = [compile(text, "equation", "eval") for text in equations]

    def right_hand_side(_t: float, u: Array) -> list[float]:
        names = {f"u{i}": value for i, value in enumerate(u)} | {"sin": np.sin}
        return [float(eval(code, names)) for code in codes]

    solver = {"method": "LSODA", "rtol": 1e-5, "atol": 1e-7, "first_step": 1e-6}  # the bench's
    u = solve_ivp(right_hand_side, (0, t[-1]), start, t_eval=t, **solver).y.T
    measured = u * (1 + noise * np.random.default_rng(7).standard_normal(u.shape))
    return trajectory(t, measured, u if noise else measured)


def trajectory(t: Array, measured: Array, smoothed: Array, limit: float | None = None) -> Problem:
    names = tuple(f"u{i}" for i in range(measured.shape[1]))
    arrays = {"t": t, "u": smoothed, "measured": measured, "du": np.gradient(smoothed, t, axis=0)}
    return Problem("trajectory", names, tuple(f"{n}_t" for n in names), arrays, limit)


def fitted(integral: Any, problem: Problem, **settings: Any) -> Any:
    adapter = integral.Adapter(seed=0, threads=1, **{**GIVEN, **settings})
    adapter.fit(problem)
    return adapter


def verdict(truth: Sequence[str], equations: Sequence[str], problem: Problem) -> str:
    """Compare equations with the truth where the trajectory has been."""
    domain = {
        n: (float(x.min()), float(x.max()))
        for n, x in zip(problem.variables, problem.u.T, strict=True)
    }
    return compare(truth, equations, problem.variables, domain=domain).verdict.value


@pytest.mark.parametrize(
    ("name", "terms"),
    [
        ("saturation", GIVEN["terms"]),
        # Other tests find these two, at uneven times and in a fast motion.
        pytest.param("lotka-volterra", FEWER, marks=pytest.mark.nightly),
        pytest.param("lorenz", FEWER, marks=pytest.mark.nightly),
        *(pytest.param(name, GIVEN["terms"], marks=pytest.mark.nightly) for name in EQUATIONS),
    ],
)
def test_known_systems_are_found(integral: Any, name: str, terms: int) -> None:
    truth, start = EQUATIONS[name]
    problem = simulate(truth, start, np.linspace(0, 8, 120))
    equations = fitted(integral, problem, terms=terms).equations()
    assert verdict(truth, equations, problem) == "identified"


def test_times_need_not_be_even(integral: Any) -> None:
    truth, start = EQUATIONS["lotka-volterra"]
    steps = np.random.default_rng(3).uniform(0.3, 1.7, 139)
    t = np.concatenate([[0.0], np.cumsum(steps)]) * 8 / steps.sum()
    equations = fitted(integral, simulate(truth, start, t), terms=FEWER).equations()
    assert compare(truth, equations, ["u0", "u1"]).verdict.value == "identified"


def several(problems: Sequence[Problem]) -> Problem:
    """Put trajectories one below the other."""
    arrays = {
        name: np.concatenate([one.arrays[name] for one in problems]) for name in problems[0].arrays
    }
    lengths = [len(one.t) for one in problems]
    arrays["trajectory"] = np.repeat(np.arange(float(len(problems))), lengths)
    return Problem("trajectory", problems[0].variables, problems[0].targets, arrays)


@pytest.mark.parametrize("noise", [pytest.param(0.0, marks=pytest.mark.nightly), 0.003])
def test_several_trajectories_are_used_together(integral: Any, noise: float) -> None:
    truth, _ = EQUATIONS["lotka-volterra"]
    starts = ([8.3, 3.4], [3.0, 1.0], [1.0, 2.5], [5.0, 0.6])
    runs = [simulate(truth, start, np.linspace(0, 3, 60), noise) for start in starts]
    together = several(runs)
    adapter = fitted(integral, together)
    assert verdict(truth, adapter.equations(), together) == "identified"
    untold = {name: array for name, array in together.arrays.items() if name != "trajectory"}
    joined = Problem("trajectory", together.variables, together.targets, untold)
    with pytest.raises(Unsupported, match="increasing times"):
        fitted(integral, joined)


@pytest.mark.usefixtures("integral")
def test_no_interval_and_no_test_function_leads_from_one_trajectory_to_the_next() -> None:
    samples = sys.modules["samples"]
    t = np.concatenate([np.linspace(0, 3, 40), np.linspace(0, 2, 25)])
    u = np.sin(t)[:, None]
    of = np.repeat([0.0, 1.0], [40, 25])
    noisy = u + 0.05 * np.random.default_rng(2).standard_normal(u.shape)
    found = samples.Sampled.of(t, noisy, u, of)
    assert found.pieces == (39, 24)
    assert len(found.steps) == 63
    np.testing.assert_allclose(found.changes, np.diff(u, axis=0)[np.arange(64) != 39])
    rows = samples.Integrals(found)._rows
    assert rows.shape[1] == 63
    assert not (np.any(rows[:, :39], axis=1) & np.any(rows[:, 39:], axis=1)).any()


def test_a_state_at_rest_does_not_change(integral: Any) -> None:
    t = np.linspace(0, 8, 40)
    u = np.stack([np.exp(-0.7 * t), np.full(40, 3.1)], axis=1)
    problem = trajectory(t, u, u)
    adapter = fitted(integral, problem, terms=60)
    assert adapter.equations()[1] == "0"
    np.testing.assert_allclose(adapter.predict(problem)[:, 0], -0.7 * u[:, 0], atol=1e-6)


@pytest.mark.parametrize("n", [9, pytest.param(17, marks=pytest.mark.nightly)])
def test_few_samples_are_enough_for_an_answer(integral: Any, n: int) -> None:
    """Fewer rows than the largest nest of terms has columns."""
    truth, start = EQUATIONS["lotka-volterra"]
    problem = simulate(truth, start, np.linspace(0, 3, n), noise=0.02)
    assert len(fitted(integral, problem).equations()) == 2


def test_noise_is_weighed_against_test_functions(integral: Any) -> None:
    truth = ["u1", "-1.37*u0 - 0.21*u1"]
    problem = simulate(truth, [1.9, 0.3], np.linspace(0, 10, 150), noise=0.01)
    equations = fitted(integral, problem).equations()
    assert compare(truth, equations, ["u0", "u1"]).verdict.value == "identified"


def test_the_answer_is_right_and_follows_from_nothing_but_the_data(integral: Any) -> None:
    truth, start = EQUATIONS["pendulum"]
    problem = simulate(truth, start, np.linspace(0, 8, 100))
    adapter, again = (fitted(integral, problem) for _ in range(2))
    assert adapter.equations() == again.equations()
    assert verdict(truth, adapter.equations(), problem) == "identified"
    u0, u1 = problem.u.T
    np.testing.assert_allclose(
        adapter.predict(problem), np.stack([u1, -0.93 * np.sin(u0)], -1), atol=1e-4
    )


def test_an_answer_is_there_when_time_is_up(integral: Any) -> None:
    truth, start = EQUATIONS["lorenz"]
    problem = simulate(truth, start, np.linspace(0, 8, 100))
    hurried = trajectory(problem.t, problem.measured, problem.u, limit=1e-6)
    adapter = fitted(integral, hurried)
    assert adapter.stopped_early
    assert len(adapter.equations()) == 3


def test_candidates_show_how_sure_they_are_and_can_be_chosen(integral: Any) -> None:
    truth, start = EQUATIONS["lotka-volterra"]
    problem = simulate(truth, start, np.linspace(0, 8, 100))
    adapter = fitted(integral, problem, margin=20.0, terms=FEWER)
    offered = list(adapter.candidates())
    assert {one.target for one in offered} == {0, 1}
    assert all(0 <= e < 1 for e in offered[0].hyperparameters["standard_errors"].values())
    last = [max(k for k, one in enumerate(offered) if one.target == target) for target in (0, 1)]
    adapter.choose(last)
    assert adapter.equations() == [offered[k].equations[0] for k in last]


def test_too_few_samples_are_refused(integral: Any) -> None:
    t = np.linspace(0, 1, 6)
    with pytest.raises(Unsupported, match="more than 8 samples"):
        fitted(integral, trajectory(t, t[:, None], t[:, None]))


def test_small_supports_are_those_of_brute_force(integral: Any) -> None:
    del integral  # its modules can be imported now
    supports = sys.modules["supports"]
    draw = np.random.default_rng(11)
    columns = draw.standard_normal((60, 9)) @ draw.standard_normal((9, 9))
    target = columns[:, [1, 4, 7]] @ [0.7, -1.3, 2.1] + 0.3 * draw.standard_normal(60)
    unit, along = supports.compressed(columns, target)
    found = supports.best_supports(unit, target if len(along) == 60 else along, 5, 60)
    for size in (1, 2, 3, 4):
        left = {
            chosen: float(np.linalg.lstsq(columns[:, chosen], target)[1][0])
            for chosen in itertools.combinations(range(9), size)
        }
        assert found[size][0] == min(left, key=lambda chosen: left[chosen])
        several = np.array(list(left))
        np.testing.assert_allclose(
            supports.residuals(unit, along, several), list(left.values()), rtol=1e-8
        )


def test_costs_follow_one_rule(integral: Any) -> None:
    del integral
    dictionary = sys.modules["dictionary"]
    u = np.random.default_rng(5).uniform(0.2, 1.4, (50, 2)) * [1.0, -1.0]
    costs = {term.text: term.cost for term in dictionary.terms(u, 400)}
    assert [costs[text] for text in ("1", "u0", "u0*u1", "u0*u0*u1")] == [1.0, 1.0, 1.25, 1.5]
    assert [costs[text] for text in ("sin(u0)", "u1*sin(u0)", "sin(u0)*sin(u0)")] == [
        1.5,
        1.75,
        1.75,
    ]
    assert "log(u0)" in costs
    assert "log(u1)" not in costs  # is not defined
    assert "abs(u0)" not in costs  # is u0
    values = [term.values(u) for term in dictionary.terms(u, 400)]
    assert all(np.isfinite(one).all() for one in values)


FRACTIONS: dict[str, tuple[list[str], list[float]]] = {
    "inhibition": (["1.91*u0/(0.57 + u0 + 0.41*u0**2) - 0.33*u0"], [0.21]),
    "competition": (
        ["-1.67*u0/(0.74 + u0 + 0.53*u1)", "-1.31*u1/(1.13 + u1 + 1.29*u0)"],
        [3.9, 3.1],
    ),
    "shared denominator": (
        ["0.37 - 1.83*u0*u1/((0.91 + u0)*(1.37 + u1))", "1.23*u0 - 0.47*u1"],
        [2.9, 0.7],
    ),
}


@pytest.mark.parametrize(
    "name",
    [
        "inhibition",
        pytest.param("competition", marks=pytest.mark.slow),
        pytest.param("shared denominator", marks=pytest.mark.nightly),
    ],
)
def test_fractions_with_two_constants_under_the_bar_are_found(integral: Any, name: str) -> None:
    truth, start = FRACTIONS[name]
    problem = simulate(truth, start, np.linspace(0, 8, 120))
    equations = fitted(integral, problem).equations()
    assert verdict(truth, equations, problem) == "identified"


@pytest.fixture(scope="module")
def saturating(integral: Any) -> tuple[Any, Array]:
    """Return the integrals of a motion with ``u0*u1/(1.3 + u0 + 0.6*u1)``, and its states."""
    del integral
    samples = sys.modules["samples"]
    truth = ["0.9 - 1.7*u0*u1/(1.3 + u0 + 0.6*u1)", "0.8*u0 - 0.5*u1"]
    problem = simulate(truth, [3.1, 0.6], np.linspace(0, 8, 90))
    return samples.Integrals(samples.Sampled.of(problem.t, problem.u, problem.u)), problem.u


def family_of(u: Array, text: str) -> Any:
    atoms = sys.modules["atoms"]
    return next(one for one in atoms.fractions(u) if text in one.write([1.0, 2.0])[0])


def test_constants_inside_leave_no_more_than_the_best_of_a_fine_grid(
    saturating: tuple[Any, Array],
) -> None:
    """By brute force: least squares of the true terms for 1600 pairs of constants."""
    design, u = saturating
    constants, dictionary = sys.modules["constants"], sys.modules["dictionary"]
    family = family_of(u, "1.0 + 2.0*u0 + u1")
    place = next(k for k, top in enumerate(family.tops) if top.text == "u0*u1")
    one = dictionary.monomial([0])
    squares = []
    for first, second in itertools.product(np.linspace(1, 4, 40), np.linspace(0.5, 3, 40)):
        columns = design.columns([one, family.atoms(np.array([first, second]))[place]], 0)
        squares.append(float(np.linalg.lstsq(columns, design.target(0))[1][0]))
    start = family.atoms(np.array([1.0, 3.0]))[place]
    found = constants.exact(design, 0, [one, start])
    left = design.target(0) - design.columns(found.terms, 0) @ found.coefficients
    assert left @ left <= min(squares) * (1 + 1e-9)
    np.testing.assert_allclose(found.terms[1].constants, [1.3 / 0.6, 1 / 0.6], rtol=1e-2)


def test_slopes_are_the_change_of_what_is_left(saturating: tuple[Any, Array]) -> None:
    """Against differences of the sum of squares, anywhere on the way."""
    design, u = saturating
    constants, dictionary = sys.modules["constants"], sys.modules["dictionary"]
    family = family_of(u, "1.0 + 2.0*u0 + u1")
    places = [k for k, top in enumerate(family.tops) if top.text in {"u0", "u0*u1"}]
    group = constants._Group.of(design, 0, family, places)
    steady = design.columns(dictionary.monomials(2, 1), 0)
    start = np.array([0.7, 1.9])
    problem = constants._Projected(steady, design.target(0), [group], start)
    place = problem.place(start)
    np.testing.assert_allclose(problem.constants(place), start)
    _, rest, coefficients, basis = problem.left(place)
    given = 2 * problem.slopes(place, coefficients, basis).T @ rest
    step = 1e-4 * np.eye(2)
    wanted = [(problem.left(place + one)[0] - problem.left(place - one)[0]) / 2e-4 for one in step]
    np.testing.assert_allclose(given, wanted, rtol=1e-3)


def test_what_terms_share_costs_once(saturating: tuple[Any, Array]) -> None:
    _, u = saturating
    answers, dictionary = sys.modules["answers"], sys.modules["dictionary"]
    family = family_of(u, "1.0 + 2.0*u0 + u1")
    atoms = {one.text.split("*1/")[0]: one for one in family.atoms(np.array([1.0, 2.0]))}
    first, second = atoms["u0"], atoms["u1"]
    elsewhere = family.atoms(np.array([1.5, 2.0]))[1]
    one = dictionary.monomial([0])
    # a coefficient, two constants, a function, two more terms below and what stands above
    assert first.cost == 1 + 2 + 0.5 + 0.25 + 0.25
    assert answers.cost_of([one, first]) == 1 + first.cost
    assert answers.cost_of([first, second]) == first.cost + 1 + 0.25
    assert answers.cost_of([first, elsewhere]) == first.cost + elsewhere.cost


def test_a_fast_motion_is_no_noise(integral: Any) -> None:
    """What smoothing takes away follows from the samples before it; noise does not."""
    truth = ["9.1*u1 - 9.1*u0", "26.3*u0 - u1 - u0*u2", "u0*u1 - 2.3*u2"]
    problem = simulate(truth, [2.3, 8.1, 12.4], np.linspace(0, 9, 100))
    running = np.stack([np.convolve(x, np.ones(3) / 3, mode="same") for x in problem.u.T], axis=1)
    given = trajectory(problem.t, problem.u, running)
    equations = fitted(integral, given, terms=60).equations()
    assert compare(truth, equations, problem.variables).verdict.value == "identified"
    measured = problem.u + np.random.default_rng(5).normal(0, 0.4, problem.u.shape)
    adapter, samples = sys.modules["adapter"], sys.modules["samples"]
    raw = samples.Sampled.of(problem.t, measured, measured)
    settings = adapter.Settings(**{k: v for k, v in GIVEN.items() if k != "margin"})
    assert not adapter._is_followed(raw, 0.05, settings, lambda: False)


def test_no_family_is_tried_when_time_is_up(integral: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock of its own, which goes on by a second whenever it is read."""
    truth, start = FRACTIONS["competition"]
    problem = simulate(truth, start, np.linspace(0, 8, 120))
    clock, tried = itertools.count(), []
    search = sys.modules["search"]
    with_family = search.with_family

    def counted(*given: Any) -> Any:
        tried.append(1)
        return with_family(*given)

    monkeypatch.setattr(search, "with_family", counted)
    monkeypatch.setattr("mdbench.worker.budget.time.monotonic", lambda: float(next(clock)))
    hurried = trajectory(problem.t, problem.measured, problem.u, limit=10.0)
    found = fitted(integral, hurried, terms=60)
    assert found.stopped_early
    assert 0 < len(tried) <= 7
    assert len(found.equations()) == 2


@pytest.mark.parametrize(("i", "j"), list(itertools.combinations(range(3), 2)))
def test_a_coupling_by_a_difference_is_found_for_any_pair(integral: Any, i: int, j: int) -> None:
    """Its cube has four products of powers, and its root none."""
    del integral
    search, samples = sys.modules["search"], sys.modules["samples"]
    t = np.linspace(0, 9, 120)
    others = [np.sin(1.3 * t), 1.1 * np.cos(0.7 * t + 0.4), 0.8 * np.sin(2.1 * t + 1.0)]
    inside = others[i] - others[j]
    rate = -0.83 * inside**3 - 0.57 * inside
    moving = make_interp_spline(t, rate, k=7).antiderivative()(t)
    u = np.stack([*others, moving], axis=1)
    u += 1e-7 * np.random.default_rng(4).standard_normal(u.shape)  # a solver's error
    design = samples.Integrals(samples.Sampled.of(t, u, u))
    given = {k: v for k, v in GIVEN.items() if k != "margin"} | {"terms": FEWER}
    best = search.Search(design, 3, search.Settings(**given)).best()
    pair = f"(u{i} - u{j})"
    other = f"(u{j} - u{i})"
    assert best.structure.replace(other, pair) == f"{pair} + {pair}*{pair}*{pair}"
    np.testing.assert_allclose(sorted(np.abs(best.coefficients)), [0.57, 0.83], rtol=1e-3)


def test_differences_are_cheaper_than_two_states(integral: Any) -> None:
    del integral
    dictionary = sys.modules["dictionary"]
    u = np.random.default_rng(5).uniform(-1, 1, (50, 3))
    costs = {term.text: term.cost for term in dictionary.differences(u)}
    for i, j in itertools.combinations(range(3), 2):
        pair = f"(u{i} - u{j})" if f"(u{i} - u{j})" in costs else f"(u{j} - u{i})"
        assert costs[pair] == 1.25  # both states cost 2
        assert costs[f"{pair}*{pair}*{pair}"] == 1.75
        assert costs[f"u0*{pair}"] == 1.5
    moved = u + np.array([4.0, 2.0, 0.0])
    apart = dictionary.differences(moved)
    assert "sqrt(u0 - u1)" in {term.text for term in apart}
    assert all(np.isfinite(term.values(moved)).all() for term in apart)


@pytest.mark.parametrize("first", [0, 1])
def test_a_denominator_of_one_equation_is_tried_in_the_other(integral: Any, first: int) -> None:
    """Whichever of the two equations it was found in."""
    search, samples = sys.modules["search"], sys.modules["samples"]
    truth = [
        "0.9 - 0.37*u0 - 1.7*u0*u1/(0.73 + u0 + 0.41*u1)",
        "1.3*u0*u1/(0.73 + u0 + 0.41*u1) - 0.5*u1",
    ]
    problem = simulate(truth, [3.1, 0.6], np.linspace(0, 8, 90))
    design = samples.Integrals(samples.Sampled.of(problem.t, problem.u, problem.u))
    given = {k: v for k, v in GIVEN.items() if k != "margin"} | {"terms": 20}
    family = family_of(problem.u, "1.0 + 2.0*u0 + u1")
    atoms = {one.text.split("*1/")[0]: one for one in family.atoms(np.array([1.79, 2.45]))}
    dictionary, constants = sys.modules["dictionary"], sys.modules["constants"]
    state = dictionary.monomials(2, 1)
    steady = {0: [state[0], dictionary.monomial([1, 0])], 1: [dictionary.monomial([0, 1])]}
    known = constants.exact(design, first, [*steady[first], atoms["u0*u1"]])
    other = search.Search(design, 1 - first, search.Settings(**given))
    other.with_others(search._families_of([known]))
    other.simplify()
    best = other.best()
    assert "u0*u1*1/(K + K*u0 + u1)" in best.structure
    inside = next(term.constants for term in best.terms if "/" in term.text)
    np.testing.assert_allclose(inside, [0.73 / 0.41, 1 / 0.41], rtol=2e-2)
    del integral


@pytest.mark.parametrize("name", ["saturation", "pendulum"])
def test_nothing_is_in_an_answer_that_the_data_do_not_show(integral: Any, name: str) -> None:
    """Without any term or constant, and in no limit of a constant, it is as good."""
    truth, start = EQUATIONS[name]
    problem = simulate(truth, start, np.linspace(0, 8, 100))
    adapter = fitted(integral, problem, terms=FEWER)
    simpler, constants = sys.modules["simpler"], sys.modules["constants"]
    for target, offer in enumerate(adapter._chosen):
        design = adapter._pools[target][0][0]
        for terms in simpler._without(offer.side, problem.u.shape[1]):
            shorter = constants.exact(design, target, terms)
            assert shorter.score(GIVEN["weight"]) >= offer.side.score(GIVEN["weight"]) - 1e-9


def test_a_constant_that_vanishes_is_left_out(saturating: tuple[Any, Array]) -> None:
    """From fractions with two constants of which the truth has one."""
    del saturating
    samples, constants = sys.modules["samples"], sys.modules["constants"]
    simpler, dictionary = sys.modules["simpler"], sys.modules["dictionary"]
    truth = ["0.9 - 1.7*u0*u1/(1.3 + u1)", "0.8*u0 - 0.5*u1"]
    problem = simulate(truth, [3.1, 0.6], np.linspace(0, 8, 90))
    design = samples.Integrals(samples.Sampled.of(problem.t, problem.u, problem.u))
    family = family_of(problem.u, "1.0 + 2.0*u0 + u1")
    place = next(k for k, top in enumerate(family.tops) if top.text == "u0*u1")
    more = [dictionary.monomial([0]), family.atoms(np.array([1.3, 1e-4]))[place]]
    pool = [constants.exact(design, 0, more)]
    found, idle = simpler.simpler(design, 0, pool, GIVEN["weight"])
    assert pool[0].structure in idle
    pool += found
    best = min(pool, key=lambda one: one.score(GIVEN["weight"]))
    assert best.structure == "1 + u0*u1*1/(K + u1)"
    np.testing.assert_allclose(best.coefficients, [0.9, -1.7], rtol=1e-3)


def test_shared_constants_decide_between_equations(integral: Any) -> None:
    """Two answers that are not the best by themselves are cheaper together."""
    del integral
    answers, dictionary = sys.modules["answers"], sys.modules["dictionary"]
    shared = {"constants of 1/(2.0 + u0)": 1.0}

    def made(text: str, cost: float, parts: dict[str, float]) -> Any:
        term = dictionary.Summand(text, cost, lambda u: u[..., 0], shared=parts)
        return answers.RightSide((term,), (1.0,), (0.0,), cost, 1e-6)

    both = made("u0/(2.0 + u0)", 3.0, shared)
    apart = made("u0*exp(-u0)", 2.6, {})
    assert answers.together([[both, apart], [both, apart]], 0.25) == [both, both]
    cheap = made("u0", 2.4, {})
    assert answers.together([[both, cheap], [both, cheap]], 0.25) == [cheap, cheap]


def test_other_structures_that_fit_as_well_are_named(integral: Any) -> None:
    """On a short arc a saturation and an exponential cannot be told apart."""
    truth = ["0.83*u0/(1.9 + u0)"]
    problem = simulate(truth, [0.9], np.linspace(0, 1.2, 40))
    adapter = fitted(integral, problem, terms=FEWER)
    others = list(adapter.alternatives())
    assert others
    answer = adapter.equations()[0]
    limit = GIVEN["weight"] + 1e-9
    assert all(one.equation != answer and one.target == 0 for one in others)
    assert all(0 <= one.worse <= limit and np.isfinite(one.log_likelihood) for one in others)
    long, start = EQUATIONS["pendulum"]
    sure = fitted(integral, simulate(long, start, np.linspace(0, 8, 100)), terms=FEWER)
    assert [one for one in sure.alternatives() if one.target == 0] == []


def ring(of: str, nodes: int = 3) -> tuple[list[str], list[float]]:
    """Return equations and a start of a ring of nodes, each coupled to the one or two beside it."""
    n = range(nodes)
    before, after = [(i - 1) % nodes for i in n], [(i + 1) % nodes for i in n]
    draw = np.random.default_rng(0)
    if of == "competing":
        return [f"u{i}*(1 - u{i} - 0.6*u{before[i]})" for i in n], [*draw.uniform(0.2, 0.9, nodes)]
    coupled = [f"0.2*(u{before[i]} + u{after[i]} - 2*u{i}) - u{i}" for i in n]
    damped = [f"(1 - u{i}*u{i})*u{nodes + i}" if of == "van der Pol" else "0" for i in n]
    rates = [f"{a} + {b}" for a, b in zip(coupled, damped, strict=True)]
    return [*(f"u{nodes + i}" for i in n), *rates], [*draw.uniform(-2, 2, 2 * nodes)]


@pytest.mark.parametrize(
    ("of", "nodes"),
    [
        ("competing", 8),
        ("van der Pol", 3),
        pytest.param("van der Pol", 8, marks=pytest.mark.nightly),
        pytest.param("springs", 8, marks=pytest.mark.nightly),
    ],
)
def test_networks_are_found_an_equation_at_a_time(integral: Any, of: str, nodes: int) -> None:
    truth, start = ring(of, nodes)
    problem = simulate(truth, start, np.linspace(0, 10, 200))
    adapter = fitted(integral, problem, inner=False)
    names = problem.variables
    for target, (true, found) in enumerate(zip(truth, adapter.equations(), strict=True)):
        assert compare([true], [found], names).verdict.value == "identified", target


class _TimeUpError(BaseException):
    """What ends a job from outside."""


def test_what_is_done_when_time_is_up_can_be_had(integral: Any) -> None:
    truth, start = ring("competing", 8)
    problem = simulate(truth, start, np.linspace(0, 10, 200))
    looks: list[int] = []

    class Ended(Budget):
        def after(self, amount: float) -> Any:  # noqa: ARG002

            def late() -> bool:
                looks.append(0)
                if len(looks) > 3:
                    raise _TimeUpError
                return False

            return late

    adapter = integral.Adapter(seed=0, threads=1, **GIVEN)
    with pytest.raises(_TimeUpError):
        adapter.fit(replace(problem, budget=Ended()))
    sent = {one.target: one.equations[0] for one in adapter.candidates()}
    assert sorted(sent) == list(range(8))  # the others are sums of states alone
    verdicts = {
        target: compare([truth[target]], [text], problem.variables).verdict.value
        for target, text in sent.items()
    }
    assert [target for target, one in verdicts.items() if one == "identified"] == [0, 1]


def test_cheapest_terms_are_those_of_all_products(integral: Any) -> None:
    del integral
    listed = [term.text for term in sys.modules["dictionary"].monomials(3, 2)]
    # By degree, then by exponents, as all triples of exponents give them.
    triples = [each for each in itertools.product(range(3), repeat=3) if sum(each) <= 2]
    every = sorted(triples, key=lambda each: (sum(each), each))
    assert listed == [
        "*".join(f"u{i}" for i in range(3) for _ in range(e[i])) or "1" for e in every
    ]
