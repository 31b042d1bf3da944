"""GP-GOMEA: its parts against brute force and SciPy, and laws that the authors' code finds."""

from __future__ import annotations

import math
import sys
from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from genetic_methods import LAWS, evaluate_text, law, modules, nmse, specification, table
from scipy.cluster.hierarchy import average
from scipy.spatial.distance import squareform

from mdbench.worker import budget

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FUNCTIONS = ("add", "sub", "mul", "div", "sin", "sqrt")


@pytest.fixture(scope="module")
def parts() -> Iterator[dict[str, Any]]:
    with modules("gp_gomea") as load:
        load("adapter")
        names = ("adapter", "evaluation", "genotypes", "linkage", "mixing", "trees")
        yield {name: sys.modules[name] for name in names}


@pytest.fixture(scope="module")
def method(parts: dict[str, Any]) -> Any:
    given = specification("gp_gomea")["hyperparameters"]

    def make(seed: int = 0, **changes: Any) -> Any:
        return parts["adapter"].Adapter(seed=seed, threads=1, **given | changes)

    return make


def drawn(parts: dict[str, Any], count: int = 60, height: int = 3) -> tuple[Any, Any, Any]:
    """Return a template, trees and columns (2, 30)."""
    rng = np.random.default_rng(4)
    template = parts["genotypes"].Template(FUNCTIONS, 2, height)
    trees = template.draw(count, np.array([-2.0, 2.0]), rng)
    return template, trees, rng.uniform(0.5, 3, (2, 30))


def test_trees_are_evaluated_as_one_by_one(
    parts: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    template, trees, columns = drawn(parts)
    monkeypatch.setattr(parts["genotypes"], "_NUMBERS", 15 * 30 * 7)  # seven trees at a time
    with np.errstate(all="ignore"):
        values = template.evaluate(trees, columns)
    for k in range(len(trees)):
        tree = template.tree(trees[np.array([k])])
        assert tree.size == template.active(trees)[k].sum()
        np.testing.assert_array_equal(values[k], parts["trees"].evaluate(tree, columns.T))


def test_half_of_the_first_trees_are_full(parts: dict[str, Any]) -> None:
    template, trees, _ = drawn(parts, 200)
    binary = [k for k, name in enumerate(FUNCTIONS) if name in {"add", "sub", "mul", "div"}]
    assert (trees.symbols[:100, : template.inner] < len(FUNCTIONS)).all()
    assert (trees.symbols[:, template.inner :] >= len(FUNCTIONS)).all()
    every = np.isin(trees.symbols[:, : template.inner], binary).all(axis=1)
    np.testing.assert_array_equal(template.active(trees).all(axis=1), every)
    assert (trees.symbols[100:, 0] >= len(FUNCTIONS)).any()


def test_mutual_information_is_that_of_counts(parts: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    symbols = rng.integers(0, 4, (50, 5))
    symbols[:, 3] = 3 - symbols[:, 0]  # each says all of the other
    found = parts["linkage"].mutual_information(symbols, 4)
    for i in range(5):
        for j in range(5):
            joint = Counter(zip(symbols[:, i].tolist(), symbols[:, j].tolist(), strict=True))
            one, other = Counter(symbols[:, i].tolist()), Counter(symbols[:, j].tolist())
            expected = sum(
                c / 50 * math.log(c * 50 / (one[a] * other[b])) for (a, b), c in joint.items()
            )
            assert found[i, j] == pytest.approx(expected, abs=1e-6)
    assert found[0, 3] == pytest.approx(found[0, 0])


@pytest.mark.parametrize("nodes", [3, 8, 31])
def test_linkage_sets_are_those_of_upgma(parts: dict[str, Any], nodes: int) -> None:
    rng = np.random.default_rng(nodes)
    similarity = rng.uniform(0, 1, (nodes, nodes))
    similarity = (similarity + similarity.T) / 2
    found = parts["linkage"].linkage_sets(similarity, rng)
    assert found.shape == (2 * nodes - 2, nodes)
    distance = 2 - similarity
    np.fill_diagonal(distance, 0)
    members = [frozenset([k]) for k in range(nodes)]
    for a, b, *_ in average(squareform(distance)):
        members.append(members[int(a)] | members[int(b)])
    assert {frozenset(np.flatnonzero(row).tolist()) for row in found} == set(members[:-1])


def searching(parts: dict[str, Any], **changes: Any) -> Any:
    X, Y = law("parabola")
    settings: dict[str, Any] = {
        "first_population": 30,
        "growth": 4,
        "largest_population": 4096,
        "generations": 10,
        "stop_threshold": 0.0,
        "rng": np.random.default_rng(0),
        "is_late": lambda: False,
    }
    data = parts["evaluation"].Samples(X + 0.3, np.sin(Y[:, 0]), linear_scaling=True)
    template = parts["genotypes"].Template(FUNCTIONS, 1, 3)
    return parts["mixing"].Mixing(data, template, **settings | changes)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_errors_are_those_of_the_best_line(parts: dict[str, Any]) -> None:
    search = searching(parts)
    trees = search.template.draw(80, search.constants, search.rng)
    errors = search.errors(trees)
    for k, error in enumerate(errors.tolist()):
        expected = search._data.fit(search.template.tree(trees[np.array([k])])).error
        if math.isfinite(error) or math.isfinite(expected):
            assert error == pytest.approx(expected, rel=1e-6, abs=1e-12)
    assert search.evaluations == 80


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_no_tree_ever_becomes_worse_and_errors_are_known(parts: dict[str, Any]) -> None:
    """What is kept without being evaluated has no effect: so its error still holds."""
    search = searching(parts)
    population = parts["mixing"].Population(search, 40)
    before = population._errors.copy()
    for _ in range(3):
        population.step()
        assert (population._errors <= before).all()
        before = population._errors.copy()
        np.testing.assert_allclose(search.errors(population._trees), before, rtol=1e-9)
    assert np.median(before) < 0.9


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_larger_populations_take_every_fourth_turn(
    parts: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[int] = []
    monkeypatch.setattr(parts["mixing"].Population, "step", lambda self: steps.append(len(self)))
    monkeypatch.setattr(parts["mixing"].Population, "converged", lambda _: False)
    monkeypatch.setattr(parts["mixing"].Population, "middle", property(lambda _: 1.0))
    searching(parts, generations=33, largest_population=120).run()
    # The second is made in turn 4 and the third in turn 16; a fourth would be too large.
    assert Counter(steps) == {30: 33, 60: 7, 120: 1}
    assert steps[:8].count(60) == 0


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_smaller_populations_end_where_a_larger_one_is_better(
    parts: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[int] = []
    population = parts["mixing"].Population
    monkeypatch.setattr(population, "step", lambda self: steps.append(len(self)))
    monkeypatch.setattr(population, "converged", lambda _: False)
    monkeypatch.setattr(population, "middle", property(lambda self: 1.0 / len(self)))
    searching(parts, generations=12, largest_population=60).run()
    assert steps == [30, 30, 30, 30, 30, 60, 60]  # the first has five turns, the next 8 and 12


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_population_of_equal_trees_is_followed_by_a_larger_one(
    parts: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[int] = []
    population = parts["mixing"].Population
    monkeypatch.setattr(population, "step", lambda self: steps.append(len(self)))
    monkeypatch.setattr(population, "converged", lambda _: len(steps) > 0)
    searching(parts, generations=4, largest_population=60).run()
    assert steps == [30, 60, 60, 60]


@pytest.mark.parametrize("problem", LAWS)
def test_finds_simple_laws_in_any_unit(method: Any, problem: str) -> None:
    X, Y = law(problem, rows=60)
    adapter = method(first_population=64, generations=40, height=3)
    adapter.fit(table(X, Y))
    assert nmse(adapter.predict(table(X))[:, 0], Y[:, 0]) < 1e-14
    (equation,) = adapter.equations()
    assert nmse(evaluate_text(equation, X), Y[:, 0]) < 1e-14


FEYNMAN: dict[str, tuple[int, Callable[[Any], Any]]] = {
    "I.12.1": (2, lambda x: x[0] * x[1]),
    "I.14.3": (3, lambda x: x[0] * x[1] * x[2]),
    "I.12.5": (2, lambda x: x[0] * x[1]),
    "I.18.12": (3, lambda x: x[0] * x[1] * np.sin(x[2])),
    "II.27.18": (2, lambda x: x[0] * x[1] ** 2),
}
"""Laws that the authors' code finds in each of its ten runs on clean data in SRBench."""


@pytest.mark.parametrize("name", FEYNMAN)
def test_finds_what_the_authors_find_in_every_run(method: Any, name: str) -> None:
    count, formula = FEYNMAN[name]
    X = np.random.default_rng(0).uniform(1, 5, (40, count))
    adapter = method(generations=60, height=3)
    adapter.fit(table(X, formula(X.T)[:, None]))
    other = np.random.default_rng(1).uniform(1, 5, (80, count))
    assert nmse(evaluate_text(adapter.equations()[0], other), formula(other.T)) < 1e-14


def hard() -> tuple[Any, Any]:
    X = np.random.default_rng(3).uniform(0.5, 3, (40, 3))
    return X, (X[:, 0] * np.sin(X[:, 1]) / (1 + X[:, 2] ** 2) + np.cos(X[:, 0]))[:, None]


def test_equations_are_what_candidates_predict(method: Any) -> None:
    X, y = hard()
    adapter = method(first_population=32, generations=2)
    adapter.fit(table(X, np.hstack([y, -(y**2)])))
    candidates = list(adapter.candidates())
    assert {one.target for one in candidates} == {0, 1}
    for one in candidates:
        np.testing.assert_allclose(
            evaluate_text(one.equations[0], X), one.predictions, rtol=1e-8, atol=1e-10
        )
    last = max(k for k, one in enumerate(candidates) if one.target == 0)
    adapter.choose([last, last + 1])
    assert adapter.equations() == [candidates[last + k].equations[0] for k in (0, 1)]


def test_a_seed_repeats_its_front_and_another_does_not(method: Any) -> None:
    fronts = []
    for seed in (0, 0, 1):
        adapter = method(seed, first_population=32, generations=1)
        adapter.fit(table(*hard()))
        fronts.append([candidate.equations for candidate in adapter.candidates()])
    assert fronts[0] == fronts[1] != fronts[2]


def test_ends_in_time_and_shares_it(method: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Clock:
        now = 0.0

        def monotonic(self) -> float:
            self.now += 1.0
            return self.now

    clock = Clock()
    monkeypatch.setattr(budget, "time", clock)
    X, y = hard()
    adapter = method(first_population=32)
    adapter.fit(table(X, np.hstack([y, y**2, -y]), time_limit=300.0))
    assert 200 < clock.now < 310
    assert adapter.stopped_early
    assert {candidate.target for candidate in adapter.candidates()} == {0, 1, 2}


def test_of_many_rows_some_are_searched_on(method: Any) -> None:
    X = np.array([[Random(k).uniform(1, 5)] for k in range(500)])
    adapter = method(first_population=64, generations=3, max_rows=50)
    adapter.fit(table(X, X**2))
    assert adapter._runs[0].evolution._data.X.shape == (50, 1)
    assert nmse(adapter.predict(table(X))[:, 0], X[:, 0] ** 2) < 1e-14


def test_data_that_are_not_finite_and_unknown_functions_are_refused(method: Any) -> None:
    X, y = hard()
    with pytest.raises(ValueError, match="not finite"):
        method().fit(table(X, np.where(y > 1, np.nan, y)))
    with pytest.raises(ValueError, match="no function is called 'sinh'"):
        method(functions=["add", "sinh"])
