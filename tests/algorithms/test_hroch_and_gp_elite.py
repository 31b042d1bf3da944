"""The adapters of HROCH and gp-elite against stand-ins with the packages' entry points.

What the packages themselves do is no matter here: that was tried by hand (docs/methods.md).
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from stand_ins import adapter, made, module, problem, values

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType

X = np.random.default_rng(0).uniform(0.5, 2.0, (30, 2))
Population = list[tuple[float, str]]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr("mdbench.worker.budget.time.monotonic", lambda: now[0])
    return now


# ------------------------------------------------------------------------------------------- HROCH


def hroch(
    members: Callable[[int], Population],
    models: list[Any],
    spend: Callable[[int], object] = int,
) -> ModuleType:
    """Make a package whose population follows from the iterations in all."""

    class SymbolicRegressor:
        def __init__(self, **parameters: Any) -> None:
            self.parameters, self.iter_limit, self.done = parameters, 0, 0
            self.steps: list[int] = []
            models.append(self)

        def fit(self, inputs: Any, target: Any, *, check_input: bool) -> None:
            assert not check_input
            self.shape = inputs.shape, target.shape
            self.done += self.iter_limit
            self.steps.append(self.iter_limit)
            spend(self.iter_limit)
            if not hasattr(self, "models_"):
                self.models_ = [
                    SimpleNamespace(equation=text, m=SimpleNamespace(score=error))
                    for error, text in members(self.done)
                ]

        def get_models(self) -> list[Any]:
            return self.models_

    return module("HROCH", SymbolicRegressor=SymbolicRegressor)


def improving(done: int) -> Population:
    return [(1.0 / done, f"(x0*{float(done)})"), (2.0, "x1"), (2.5, "(x1+x1)"), (np.nan, "x0")]


@pytest.mark.parametrize("iterations", [1, 1999, 2000, 2001, 6000, 3_000_000])
def test_hroch_has_all_its_iterations_in_steps(iterations: int) -> None:
    models: list[Any] = []
    with adapter("hroch", HROCH=hroch(improving, models)) as found:
        method = made("hroch", found, iterations=iterations)
        method.fit(problem(X, X[:, 0], time_limit=1e9))
    [model] = models
    assert model.done == iterations
    assert max(model.steps) <= 1_000_000
    assert not method.stopped_early


def test_hroch_keeps_the_smallest_of_each_error() -> None:
    def members(done: int) -> Population:
        if done <= 2000:
            return [(0.02, "(x0*1.05)"), (0.02, "sin((x0*1.5e-05))"), (0.03, "(x0*1.07)")]
        return [(0.001, "(x0*1.001)"), (0.9, "x1"), (0.5, "((x0*x1)+x0)"), (np.inf, "1")]

    with adapter("hroch", HROCH=hroch(members, [])) as found:
        method = made("hroch", found, iterations=4000, population_size=16)
        question = problem(X, X[:, 0])
        method.fit(question)
        offered = [each.equations[0] for each in method.candidates()]
        [equation] = method.equations()
    # The mean is one number, and nearer than v1 alone; of two numbers with v0 one is nearer.
    assert offered == [repr(float(X[:, 0].mean())), "(v0 * 1.001)"]
    np.testing.assert_allclose(values(equation, question), 1.001 * X[:, 0])


def test_hroch_ends_when_the_law_is_exact_and_draws_a_seed_that_is_no_clock() -> None:
    models: list[Any] = []

    def members(done: int) -> Population:
        return [(0.0, "x0")] if done > 2000 else [(0.1, "x1")]

    with adapter("hroch", HROCH=hroch(members, models)) as found:
        for seed in (0, 1, 2**32 - 2, 2**32 - 1, 2**40):
            method = made("hroch", found, seed=seed)
            method.fit(problem(X, X[:, 0], time_limit=1e9))
            assert method.equations() == ["v0"]
    states = [model.parameters["random_state"] for model in models]
    assert all(0 < state < 2**32 for state in states)
    assert len(set(states[:3])) == 3
    assert {len(model.steps) for model in models} == {2}


def test_hroch_ends_before_a_step_that_may_not_fit(clock: list[float]) -> None:
    def spend(iterations: int) -> None:
        clock[0] += iterations / 1000.0

    models: list[Any] = []
    with adapter("hroch", HROCH=hroch(improving, models, spend)) as found:
        method = made("hroch", found)
        method.fit(problem(X, X[:, 0], X[:, 1], time_limit=100.0))
    assert method.stopped_early
    assert [len(model.steps) > 5 for model in models] == [True, True]  # one population a target
    assert 85.0 < clock[0] <= 100.0


# ---------------------------------------------------------------------------------------- gp-elite


class _Entry:
    """Stands for an entry of the package's front, with a formula or none."""

    def __init__(self, text: str | Exception) -> None:
        self._text = text

    def sympy(self) -> str:
        if isinstance(self._text, Exception):
            raise self._text
        return self._text


class _Result(_Entry):
    def __init__(
        self, text: str | Exception, error: float, pareto: Sequence[_Entry] | None
    ) -> None:
        super().__init__(text)
        self._error, self.pareto = error, pareto

    def predict(self, inputs: Any) -> Any:
        return inputs[:, 0] + self._error


def gp_elite(results: Sequence[_Result], asked: list[dict[str, Any]]) -> ModuleType:
    """Make a package that gives these results, and the last one for all further searches."""

    def symbolic_regression(inputs: Any, target: Any, names: Any, **more: Any) -> _Result:
        assert names == ["x0", "x1"]
        assert inputs.shape == (len(target), 2)
        asked.append(more)
        return results[min(len(asked), len(results)) - 1]

    return module("gp_elite", symbolic_regression=symbolic_regression)


def test_gp_elite_searches_until_a_formula_is_exact() -> None:
    asked: list[dict[str, Any]] = []
    results = [
        _Result("(x1 + 0.5)", 0.5, [_Entry("sqrt(Abs(x1))"), _Entry(ValueError("clipped"))]),
        _Result(RuntimeError("no formula"), 0.25, None),
        _Result("x0", 0.0, [_Entry("Heaviside(x0, 0)")]),
    ]
    with adapter("gp_elite", gp_elite=gp_elite(results, asked)) as found:
        method = made("gp_elite", found)
        method.fit(problem(X, X[:, 0]))
        offered = [each.equations[0] for each in method.candidates()]
        assert method.equations() == ["v0"]
    assert offered == [repr(float(X[:, 0].mean())), "(v1 + 0.5)", "sqrt(abs(v1))", "v0"]
    assert [each["time_limit"] for each in asked] == [None] * 3
    assert len({each["seed"] for each in asked}) == 3
    assert not method.stopped_early


@pytest.mark.parametrize("searches", [1, 3])
def test_gp_elite_has_at_most_so_many_searches(searches: int) -> None:
    asked: list[dict[str, Any]] = []
    with adapter("gp_elite", gp_elite=gp_elite([_Result("x1", 1.0, [])], asked)) as found:
        method = made("gp_elite", found, searches=searches)
        method.fit(problem(X, X[:, 0]))
    assert len(asked) == searches
    assert not method.stopped_early


def test_gp_elite_shares_the_budget_among_targets_and_searches(clock: list[float]) -> None:
    asked: list[dict[str, Any]] = []
    limits: list[float] = []

    class Slow(_Result):
        def predict(self, inputs: Any) -> Any:
            limits.append(asked[-1]["time_limit"])
            clock[0] += asked[-1]["time_limit"]
            return super().predict(inputs)

    with adapter("gp_elite", gp_elite=gp_elite([Slow("x1", 1.0, [])], asked)) as found:
        method = made("gp_elite", found)
        method.fit(problem(X, X[:, 0], X[:, 1], time_limit=100.0))
    assert method.stopped_early
    assert len(limits) == 4  # two a target: what is left then is too little for another
    assert sum(limits[:2]) <= 50.0
    assert sum(limits) <= 100.0
