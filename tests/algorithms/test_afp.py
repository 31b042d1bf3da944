"""AFP and AFP-FE find laws in any unit, repeatably and in time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from genetic_methods import LAWS, evaluate_text, law, modules, nmse, specification, table

from mdbench.worker import budget

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module", params=["afp", "afp_fe"])
def name(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture(scope="module")
def load(name: str) -> Iterator[Any]:
    with modules(name) as importer:
        yield importer


@pytest.fixture(scope="module")
def method(load: Any, name: str) -> Any:
    """Return the adapter with the method's own hyperparameters and a small budget."""
    small = {"population_size": 200, "generations": 40}
    given = specification(name)["hyperparameters"] | small

    def make(seed: int = 0, **changes: Any) -> Any:
        return load("adapter").Adapter(seed=seed, threads=1, **given | changes)

    return make


@pytest.mark.parametrize("problem", LAWS)
def test_finds_simple_laws_in_any_unit(method: Any, problem: str) -> None:
    X, Y = law(problem)
    adapter = method(generations=150)
    adapter.fit(table(X, Y))
    assert nmse(adapter.predict(table(X))[:, 0], Y[:, 0]) < 1e-20
    other, expected = law(problem, rows=300)
    (equation,) = adapter.equations()
    assert nmse(evaluate_text(equation, other), expected[:, 0]) < 1e-20


def test_equations_say_what_candidates_predict(method: Any) -> None:
    X = np.random.default_rng(1).uniform(0.5, 3, (80, 2))
    Y = np.stack([np.sin(X[:, 0]) * X[:, 1], np.exp(X[:, 1]) / X[:, 0]], axis=1)
    adapter = method(stop_threshold=0.0)
    adapter.fit(table(X, Y))
    candidates = list(adapter.candidates())
    assert [c.target for c in candidates] == sorted(c.target for c in candidates)
    assert {c.target for c in candidates} == {0, 1}
    for candidate in candidates:
        (text,) = candidate.equations
        np.testing.assert_allclose(evaluate_text(text, X), candidate.predictions, rtol=1e-9)
    for target in (0, 1):
        errors = [nmse(c.predictions, Y[:, target]) for c in candidates if c.target == target]
        assert errors == sorted(errors, reverse=True)
        assert nmse(adapter.predict(table(X))[:, target], Y[:, target]) == pytest.approx(errors[-1])


def test_predicts_with_the_chosen_candidates(method: Any) -> None:
    X = np.random.default_rng(2).uniform(0.5, 3, (60, 2))
    Y = np.stack([X[:, 0] * np.sin(X[:, 1]), X[:, 1] / (1 + X[:, 0])], axis=1)
    adapter = method(generations=10)
    adapter.fit(table(X, Y))
    candidates = list(adapter.candidates())
    second = next(i for i, c in enumerate(candidates) if c.target == 1)
    adapter.choose([0, second])
    texts = [candidates[i].equations[0] for i in (0, second)]
    assert adapter.equations() == texts
    predicted = np.stack([candidates[i].predictions for i in (0, second)], axis=1)
    np.testing.assert_array_equal(adapter.predict(table(X)), predicted)


def hard() -> tuple[Any, Any]:
    X = np.random.default_rng(3).uniform(0.5, 3, (60, 3))
    return X, (X[:, 0] * np.sin(X[:, 1]) / (1 + X[:, 2] ** 2) + np.cos(X[:, 0]))[:, None]


def test_a_seed_repeats_its_front_and_another_does_not(method: Any) -> None:
    fronts = []
    for seed in (0, 0, 1):
        adapter = method(seed, generations=10)
        adapter.fit(table(*hard()))
        fronts.append([candidate.equations for candidate in adapter.candidates()])
    assert fronts[0] == fronts[1] != fronts[2]


class Clock:
    """A clock that goes on by a second whenever it is looked at."""

    now = 0.0

    def monotonic(self) -> float:
        self.now += 1.0
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(budget, "time", found)
    return found


def test_ends_in_time_and_shares_it(method: Any, clock: Clock) -> None:
    X, y = hard()
    adapter = method(generations=10**6)  # a search that has no end of its own
    adapter.fit(table(X, np.hstack([y, y**2, -y]), time_limit=300.0))
    assert 200 < clock.now < 310
    assert adapter.stopped_early
    assert {candidate.target for candidate in adapter.candidates()} == {0, 1, 2}


def test_ends_in_time_even_before_the_first_generation(method: Any, clock: Clock) -> None:
    adapter = method(population_size=10**7)
    adapter.fit(table(*hard(), time_limit=5.0))
    assert clock.now < 100
    assert adapter.stopped_early
    assert adapter.equations()


def test_is_done_where_it_is_exact(method: Any) -> None:
    adapter = method(generations=10**6)
    adapter.fit(table(*law("product"), time_limit=30.0))
    assert not adapter.stopped_early


def test_a_fit_that_is_stopped_from_outside_has_a_front(
    load: Any, method: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker asks for candidates after it has ended a fit whose time is up."""
    evolution = load("evolution").Evolution
    step = evolution.step

    def stop(self: Any) -> None:
        step(self)
        if self.generation == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(evolution, "step", stop)
    adapter = method()
    X, y = hard()
    with pytest.raises(KeyboardInterrupt):
        adapter.fit(table(X, np.hstack([y, y])))
    candidates = list(adapter.candidates())
    assert len(candidates) > 2
    assert {candidate.target for candidate in candidates} == {0}


def test_of_many_samples_some_are_drawn(method: Any) -> None:
    X, Y = law("parabola", rows=3000)
    adapter = method(max_rows=50)
    adapter.fit(table(X, Y))
    assert adapter._runs[0].evolution._data.X.shape == (50, 1)
    assert {len(candidate.predictions) for candidate in adapter.candidates()} == {3000}
    assert nmse(adapter.predict(table(X))[:, 0], Y[:, 0]) < 1e-20


@pytest.mark.parametrize("value", [0.0, 2.5, 1e-34, 1e27])
def test_a_constant_target_gives_a_constant(method: Any, value: float) -> None:
    X, _ = law("product")
    adapter = method()
    adapter.fit(table(X, np.full((len(X), 1), value)))
    np.testing.assert_allclose(adapter.predict(table(X)), value, rtol=1e-9)


def test_without_linear_scaling_trees_stand_for_themselves(method: Any) -> None:
    X, Y = law("quotient")
    adapter = method(linear_scaling=False)
    adapter.fit(table(X, Y))
    assert nmse(adapter.predict(table(X))[:, 0], Y[:, 0]) < 1e-20


@pytest.mark.parametrize("broken", [np.nan, np.inf])
def test_what_is_not_finite_is_refused(method: Any, broken: float) -> None:
    X, Y = law("product")
    Y[3] = broken
    with pytest.raises(ValueError, match="not finite"):
        method().fit(table(X, Y))


def test_an_unknown_way_with_constants_is_refused(method: Any) -> None:
    with pytest.raises(ValueError, match=r"constants is 'bfgs'.*'hill-climb', 'least-squares'"):
        method(constants="bfgs")


def test_an_unknown_function_is_refused(method: Any) -> None:
    with pytest.raises(ValueError, match=r"no function is called 'sine'.*'sin'"):
        method(functions=["add", "sine"])


@pytest.mark.parametrize("name", ["afp_fe"], indirect=True)
def test_the_population_is_measured_on_few_samples(method: Any) -> None:
    """The exact error is asked for the archive and for trainers only."""
    X, Y = hard()
    adapter = method(generations=30)
    adapter.fit(table(np.tile(X, (50, 1)), np.tile(Y, (50, 1))))
    evolution = adapter._runs[0].evolution
    assert evolution.generation == 30
    assert len(evolution._measure().y) == 10
    assert evolution._data.evaluations < 0.2 * 200 * 30
    for tree, fit in evolution.archive.front():
        assert fit == evolution._data.fit(tree)
