"""The adapter of StackGP against a stand-in with the package's entry points.

What the package itself does was tried by hand (docs/methods.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from stand_ins import adapter, made, module, problem, values

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import ModuleType

X = np.random.default_rng(0).uniform(0.5, 2.0, (30, 2))
NAMES = ("add", "sub", "mult", "protectDiv", "exp", "log", "sqrt", "sin", "cos", "tan", "tanh")
Front = list[tuple[str, float]]


def package(fronts: Sequence[Front], calls: list[Any], *, seconds: float = 0.0) -> ModuleType:
    """Make a package whose generations give these fronts, one after the other."""

    def evolve(inputs: Any, y: Any, generations: int, **settings: Any) -> list[Any]:
        calls.append(settings | {"generations": generations, "draw": np.random.random()})  # noqa: NPY002
        assert [column.shape for column in inputs] == [(30,), (30,)]
        assert y.shape == (30,)
        clock[0] += seconds
        front = fronts[min(len(calls), len(fronts)) - 1]
        return [[[], text, [error, 1]] for text, error in front]

    def align(model: Any, inputs: Any, y: Any) -> Any:
        del inputs, y
        model[1] += " + 0.0"
        return model

    clock = [0.0]
    return module(
        "StackGP",
        **dict.fromkeys((*NAMES, "inv", "neg", "sqrd"), len),
        evolve=evolve,
        clock=clock,
        paretoTournament=lambda models: models,
        alignGPModel=align,
        printGPModel=lambda model: model[1],
    )


@pytest.fixture
def calls() -> Iterator[list[Any]]:
    state = np.random.get_state()  # noqa: NPY002
    yield []
    np.random.set_state(state)  # noqa: NPY002


def test_each_round_starts_from_the_last_and_all_fronts_are_candidates(calls: list[Any]) -> None:
    fronts = [[("x0", 0.5)], [("x0*x1", 0.25), ("zoo", 0.2)], [("exp(x0)", 1e-30)]]
    with adapter("stackgp", StackGP=package(fronts, calls)) as imported:
        question = problem(X, np.exp(X[:, 0]))
        solver = made("stackgp", imported, generations=7, population_size=11)
        solver.fit(question)
        candidates = list(solver.candidates())
    assert [len(call["initialPop"]) for call in calls] == [0, 1, 2]  # exact: no fourth round
    assert solver.evaluations == 3 * 7 * 11
    assert not solver.stopped_early
    assert len(candidates) == 4  # the mean, too, and not what is no number
    for candidate in candidates:
        assert candidate.predictions == pytest.approx(values(candidate.equations[0], question))
    assert solver.predict(question)[:, 0] == pytest.approx(np.exp(X[:, 0]))


def test_it_ends_before_a_round_that_does_not_fit(
    calls: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in = package([[("x0", 0.5)]], calls, seconds=3.0)
    clock = stand_in.clock
    monkeypatch.setattr("mdbench.worker.budget.time.monotonic", lambda: clock[0])
    with adapter("stackgp", StackGP=stand_in) as imported:
        solver = made("stackgp", imported)
        solver.fit(problem(X, X[:, 0], time_limit=10.0))
    assert len(calls) == 3  # 9.5 of 10 seconds are for the search
    assert solver.stopped_early


@pytest.mark.parametrize("seed", [0, 2**63])
def test_a_seed_gives_one_search(calls: list[Any], seed: int) -> None:
    with adapter("stackgp", StackGP=package([[("x0", 0.5)]], calls)) as imported:
        for number in (seed, seed, seed + 1):
            made("stackgp", imported, seed=number, rounds=1).fit(problem(X, X[:, 0]))
    first, second, third = (call["draw"] for call in calls)
    assert first == second != third


def test_an_unknown_function_is_refused(calls: list[Any]) -> None:
    with (
        adapter("stackgp", StackGP=package([], calls)) as imported,
        pytest.raises(ValueError, match="no function is called 'sine'"),
    ):
        made("stackgp", imported, functions=["add", "sine"])
