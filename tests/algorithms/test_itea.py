"""The adapter of ITEA against a stand-in with the package's entry points."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from stand_ins import adapter, made, module, problem, values

if TYPE_CHECKING:
    from types import ModuleType

X = np.random.default_rng(0).uniform(0.5, 2.0, (30, 2))
QUESTION = problem(X, 3.0 * np.sin(X[:, 0] / X[:, 1] ** 2) - 0.25)
ONE_TERM = SimpleNamespace(
    expr=[("id", [1, 0])], coef_=[2.5], intercept_=0.125, n_terms=1, _fitness=0.5
)
EXACT = SimpleNamespace(
    expr=[("sin", [1, -2]), ("sqrtabs", [0, 0])],
    coef_=[3.0, 0.0],
    intercept_=-0.25,
    n_terms=2,
    _fitness=1e-17,
)


def itea(populations: list[list[Any]], made_with: list[Any]) -> dict[str, ModuleType]:
    """Make a package whose generations are given, the first of them before any selection."""

    class Regressor:
        def __init__(self, **settings: Any) -> None:
            self.settings, self.generation = settings, 0
            made_with.append(settings)

        def _create_population(self, **_: Any) -> Any:
            return populations[0]

        def _select_population(self, **_: Any) -> Any:
            self.generation += 1
            return populations[min(self.generation, len(populations) - 1)]

        def _explain_bestsol(self, *_: Any) -> None:
            raise AssertionError("not asked for")

        def fit(self, inputs: Any, _: Any) -> None:
            assert inputs.shape[1] == len(self.settings["labels"])
            self._create_population(n=1)
            for _generation in range(self.settings["gens"]):
                self._select_population(n=1)
            self._explain_bestsol(None)

    return {
        "itea": module("itea"),
        "itea__regression": module("itea.regression", ITEA_regressor=Regressor),
    }


def test_an_exact_expression_ends_the_search_and_is_written_with_all_digits() -> None:
    asked: list[Any] = []
    with adapter("itea", **itea([[ONE_TERM], [ONE_TERM, EXACT], [ONE_TERM]], asked)) as imported:
        method = made("itea", imported, generations=1000)
        method.fit(QUESTION)
        [equation] = method.equations()
        offered = [each.equations[0] for each in method.candidates()]
    np.testing.assert_allclose(values(equation, QUESTION), QUESTION.Y[:, 0], rtol=1e-12)
    assert method.evaluations == 2 * asked[0]["popsize"]
    assert not method.stopped_early
    shown = [values(each, QUESTION) for each in offered]
    assert any(np.allclose(each, 2.5 * X[:, 0] + 0.125, rtol=1e-12) for each in shown)


def test_generations_end_where_another_does_not_fit() -> None:
    asked: list[Any] = []
    generations = [0]
    with adapter("itea", **itea([[ONE_TERM]], asked)) as imported:
        method = made("itea", imported, generations=10**6)
        question = problem(X, X[:, 0], time_limit=1.0)

        def spent() -> float:
            generations[0] += 1
            return 0.01 * generations[0]

        question.budget.spent = spent  # type: ignore[method-assign]
        method.fit(question)
    assert method.stopped_early
    assert 10 < generations[0] < 200
    assert method.equations()


def test_a_constant_target_and_an_unknown_function() -> None:
    with adapter("itea", **itea([[ONE_TERM]], [])) as imported:
        method = made("itea", imported)
        method.fit(problem(X, np.full(len(X), 7.25)))
        assert method.equations() == ["7.25"]
        with pytest.raises(ValueError, match="no function is called 'cosh'"):
            made("itea", imported, transformations=["cosh"])
