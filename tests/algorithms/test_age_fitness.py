"""The shared code of AFP and AFP-FE against brute force."""

from __future__ import annotations

import itertools
from random import Random
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from genetic_methods import modules

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Array = NDArray[np.float64]


@pytest.fixture(scope="module")
def load() -> Iterator[Any]:
    with modules("afp") as importer:
        yield importer


def draw(seed: int, number: int) -> tuple[list[float], list[int]]:
    """Return errors and births with many ties."""
    random = Random(seed)
    errors = [random.choice([random.random(), 0.5, float("inf")]) for _ in range(number)]
    return errors, [random.randrange(8) for _ in range(number)]


def beats(errors: list[float], births: list[int], one: int, other: int) -> bool:
    """Whether one is no worse in both and better in one."""
    return (
        errors[one] <= errors[other]
        and births[one] >= births[other]
        and (errors[one], births[one]) != (errors[other], births[other])
    )


@pytest.mark.parametrize("seed", range(20))
def test_nobody_who_is_unbeaten_dies(load: Any, seed: int) -> None:
    errors, births = draw(seed, 60)
    kept = load("pareto").survivors(errors, births, 30, Random(seed))
    assert len(kept) == len(set(kept)) == 30
    unbeaten = {
        (errors[i], births[i])
        for i in range(60)
        if not any(beats(errors, births, j, i) for j in range(60))
    }
    assert unbeaten <= {(errors[i], births[i]) for i in kept}


def test_of_a_front_too_large_the_oldest_leave(load: Any) -> None:
    errors, births = draw(1, 60)
    kept = load("pareto").survivors(errors, births, 1, Random(0))
    assert len(kept) == 1
    assert births[kept[0]] == max(births)


@pytest.mark.parametrize("seed", range(20))
def test_front_is_that_of_brute_force(load: Any, seed: int) -> None:
    errors, births = draw(seed, 40)
    ages = [-born for born in births]
    front = load("pareto").front(errors, ages)
    expected = {
        (errors[i], ages[i])
        for i in range(40)
        if not any(beats(errors, births, j, i) for j in range(40))
    }
    found = [(errors[i], ages[i]) for i in front]
    assert len(found) == len(set(found))
    assert set(found) == expected


@pytest.mark.parametrize("linear", [False, True])
def test_errors_are_those_of_a_fit(load: Any, linear: bool) -> None:
    trees = load("trees")
    rng = np.random.default_rng(0)
    X, y = rng.uniform(0.5, 2, (50, 2)), rng.normal(3, 1, 50)
    data = load("evaluation").Samples(X, y, linear_scaling=linear)
    tree = trees.Node("mul", (trees.Node.variable(0), trees.Node("exp", (trees.Node.variable(1),))))
    values = X[:, 0] * np.exp(X[:, 1])
    fit = data.fit(tree)
    if linear:
        slope, intercept = np.polyfit(values, y, 1)
        assert (fit.slope, fit.intercept) == pytest.approx((slope, intercept), rel=1e-9)
        residual = y - slope * values - intercept
        assert fit.error == pytest.approx(np.square(residual).mean() / y.var(), rel=1e-9)
    else:
        assert (fit.slope, fit.intercept) == (1.0, 0.0)
        assert fit.error == pytest.approx(
            np.square(y - values).sum() / np.square(y).sum(), rel=1e-12
        )


@pytest.mark.parametrize("seed", range(8))
def test_small_errors_have_digits(load: Any, seed: int) -> None:
    """The difference of two sums would leave nothing of an error of 1e-20, or a negative one."""
    trees = load("trees")
    x = np.linspace(1, 2, 100)
    noise = 1e-10 * np.random.default_rng(seed).normal(size=100)
    y = (3 + seed / 7) * x + seed
    data = load("evaluation").Samples(x[:, None], y + noise, linear_scaling=True)
    error = data.fit(trees.Node.variable(0)).error
    assert error == pytest.approx(1e-20 / np.var(y), rel=0.5, abs=0.0)


def test_what_has_no_value_is_hopeless(load: Any) -> None:
    trees = load("trees")
    x = np.linspace(-1, 1, 20)
    for linear, name in itertools.product([False, True], ["log", "sqrt"]):
        data = load("evaluation").Samples(x[:, None], x, linear_scaling=linear)
        with np.errstate(all="ignore"):
            assert data.fit(trees.Node(name, (trees.Node.variable(0),))).error == np.inf


def test_the_cache_changes_no_value(load: Any) -> None:
    """Few places, so that values are dropped again and again."""
    trees, language = load("trees"), load("language")
    X = np.random.default_rng(2).uniform(0.5, 2, (10, 3))
    data = load("evaluation").Samples(X, X[:, 0], linear_scaling=False)
    data._room = 7
    draws = language.Language(
        ["add", "mul", "sin", "div"],
        3,
        max_size=40,
        max_depth=16,
        max_initial_size=20,
        random=Random(0),
    )
    population = [draws.new() for _ in range(30)]
    with np.errstate(all="ignore"):
        for _ in range(10):
            population = [
                draws.crossover(one, other)
                for one, other in zip(population, reversed(population), strict=True)
            ]
            for tree in population:
                np.testing.assert_array_equal(
                    np.broadcast_to(data.values(tree), 10), trees.evaluate(tree, X)
                )


def evolution(load: Any, X: Array, y: Array, **options: Any) -> Any:
    """Make a population that has not begun."""
    random = Random(0)
    plan = {
        "population_size": 40,
        "generations": 10,
        "crossover_probability": 1.0,
        "climb": "none",
        "stop_threshold": 0.0,
    } | options
    functions = ["add", "mul", "sub"]
    language = load("language").Language(
        functions, X.shape[1], max_size=20, max_depth=10, max_initial_size=8, random=random
    )
    module = load("evolution")
    data = load("evaluation").Samples(X, y, linear_scaling=True)
    return module.Evolution(data, language, module.EvolutionPlan(**plan), random=random)


def test_a_child_is_as_old_as_its_oldest_ancestor(load: Any) -> None:
    """Founder i is made of variable i alone, so that a child's tree shows its parents."""
    trees, module = load("trees"), load("evolution")
    X = np.random.default_rng(3).uniform(1, 2, (20, 12))
    population = evolution(load, X, X[:, 0])
    births = list(range(12))
    Random(5).shuffle(births)
    parents = []
    for column, born in enumerate(births):
        leaf = trees.Node.variable(column)
        tree = trees.Node("add", (leaf, trees.Node("mul", (leaf, leaf))))
        parents.append(module.Individual(tree, population._data.fit(tree), born))
    for _ in range(400):
        population._add_child(parents)
    mixed = 0
    for child in population.population:
        ancestors = set(trees.columns(child.tree))
        oldest = min(births[column] for column in ancestors)
        if len(ancestors) == 2:
            mixed += 1
            assert child.born == oldest
        else:
            assert len(ancestors) == 1
            assert child.born <= oldest
    assert mixed > 200


def test_each_generation_has_one_newcomer(load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(4).uniform(1, 2, (20, 2))
    population = evolution(load, X, np.sin(X[:, 0] * X[:, 1]))
    made: list[int] = []
    add = population._add

    def remember(tree: Any, born: int) -> None:
        made.append(born)
        add(tree, born)

    monkeypatch.setattr(population, "_add", remember)
    population.run()
    assert made[:40] == [0] * 40
    for generation in range(11, 30):
        made.clear()
        population.step()
        *children, newcomer = made
        assert newcomer == generation
        assert all(0 <= born < generation for born in children)
        assert len(population.population) == 40


def test_the_best_is_never_lost(load: Any) -> None:
    X = np.random.default_rng(5).uniform(1, 2, (20, 2))
    population = evolution(load, X, np.sin(X[:, 0] * X[:, 1]), climb="hill-climb")
    best = []
    population.run()
    for _ in range(15):
        population.step()
        best.append(min(individual.fit.error for individual in population.population))
        assert population.archive.error <= best[-1]
    assert best == sorted(best, reverse=True)
    assert best[-1] < best[0]


@pytest.mark.parametrize("name", ["hill-climb", "least-squares"])
def test_constants_become_better_and_never_worse(load: Any, name: str) -> None:
    trees = load("trees")
    x = np.linspace(0, 3, 60)
    data = load("evaluation").Samples(x[:, None], 2.5 * np.sin(1.7 * x) + 0.3, linear_scaling=True)
    product = trees.Node("mul", (trees.Node.constant(1.2), trees.Node.variable(0)))
    tree = trees.Node("sin", (product,))
    fit = data.fit(tree)
    random = Random(0)
    for _ in range(400):
        before = fit.error
        tree, fit = load("hillclimb").CLIMBS[name](data, tree, fit, random)
        assert fit.error <= before
        assert data.fit(tree) == fit
    assert fit.error < 1e-6
    assert next(trees.constants(tree)) == pytest.approx(1.7, rel=1e-3)


@pytest.mark.parametrize("linear", [False, True])
def test_predicted_errors_are_those_on_the_samples(load: Any, linear: bool) -> None:
    """All trees on all predictors at once, and one by one."""
    trees, data_class = load("trees"), load("evaluation").Samples
    rng = np.random.default_rng(6)
    X, y = rng.uniform(0.5, 2, (40, 2)), rng.normal(2, 1, 40)
    x0, x1 = trees.Node.variable(0), trees.Node.variable(1)
    population = [
        trees.Node("mul", (x0, x1)),
        trees.Node("sin", (x0,)),
        trees.Node("div", (x0, x1)),
    ]
    predictors = rng.integers(0, 40, (5, 10))
    values = np.stack([trees.evaluate(tree, X)[predictors] for tree in population])
    found = load("predictors").errors_on(values, y[predictors], linear=linear)
    expected = [
        [data_class(X[rows], y[rows], linear_scaling=linear).fit(tree).error for rows in predictors]
        for tree in population
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_predictors_come_to_predict(load: Any) -> None:
    """Bred ones are nearer to the exact errors than drawn ones, on trees they never saw."""
    module = load("predictors")
    rng = np.random.default_rng(7)
    X = rng.uniform(0.5, 3, (300, 3))
    y = X[:, 0] * np.exp(X[:, 1]) / X[:, 2] ** 2  # its tail is in few samples
    population = evolution(load, X, y, population_size=120)
    population.run()
    individuals, data = population.population, population._data
    plan = module.PredictorPlan(population_size=40, samples=10, trainers=10, interval=10)
    predictors = module.Predictors(data, plan, Random(0))
    new = [population._language.new() for _ in range(200)]
    exact = [data.fit(tree).error for tree in new]

    def gap(rows: list[int]) -> float:
        samples = load("evaluation").Samples(X[rows], y[rows], linear_scaling=True)
        with np.errstate(all="ignore"):
            return float(
                np.mean([abs(samples.fit(t).error - e) for t, e in zip(new, exact, strict=True)])
            )

    drawn = float(np.mean([gap(rows) for rows in predictors._predictors]))
    for _ in range(100):
        predictors.evolve(individuals, data)
    assert gap(predictors._best) < drawn


def test_a_front_has_no_larger_tree_that_is_better_by_rounding_only(load: Any) -> None:
    """Which writing of one function has the smaller error is the kernel's choice."""
    archive, fit = load("pareto").Archive(), load("evaluation").Fit
    errors = {1: 0.5, 3: 0.5 - 1e-16, 4: 0.25, 5: 0.25 * (1 - 1e-9), 7: 0.2, 9: 1e-30, 11: 0.0}
    for size, error in errors.items():
        archive.add(SimpleNamespace(size=size), fit(error))
    assert [tree.size for tree, _ in archive.front()] == [1, 4, 7, 9, 11]
