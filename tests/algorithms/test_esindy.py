"""E-SINDy against pysindy's models of each sample, and against what an ensemble promises."""

from __future__ import annotations

import itertools
import sys
import tomllib
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from harness import ROOT, imported
from scipy.integrate import solve_ivp

from mdbench.worker import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

THRESHOLDS = [float(value) for value in np.logspace(-7, 0, 16)]


@pytest.fixture(scope="module")
def esindy() -> Iterator[Any]:
    with imported("esindy") as module:
        yield module


def predator_and_prey(noise: float = 0.0) -> Problem:
    def right_hand_side(_: float, u: Any) -> list[float]:
        return [u[0] * (1.84 - 1.45 * u[1]), -u[1] * (3.0 - 1.62 * u[0])]

    t = np.linspace(0, 6, 150)
    u = solve_ivp(right_hand_side, (0, 6), [3.3, 1.4], t_eval=t, rtol=1e-9, atol=1e-10).y.T
    du = np.stack(right_hand_side(0.0, u.T), axis=1)
    du += noise * np.random.default_rng(5).standard_normal(du.shape)
    return problem_of(t, u, du)


def problem_of(t: Any, u: Any, du: Any) -> Problem:
    arrays = {"t": t, "u": u} if du is None else {"t": t, "u": u, "du": du}
    return Problem("trajectory", ("u0", "u1"), ("u0_t", "u1_t"), arrays)


def settings(thresholds: list[float]) -> list[dict[str, Any]]:
    names = ("threshold", "order", "n_models", "subset", "inclusion")
    values = itertools.product(thresholds, (1, 2, 3), (5, 12), (0.5, 0.9), (0.2, 0.5))
    return [dict(zip(names, each, strict=True)) for each in values]


@pytest.mark.filterwarnings("ignore")
def test_agrees_with_models_of_pysindy(esindy: Any) -> None:
    """One model of pysindy for each sample, and the vote by hand."""
    from pysindy.optimizers import STLSQ  # noqa: PLC0415 - a slow import

    problem = predator_and_prey(0.3)
    compared = 0
    for setting in settings([0.03, 0.3])[::5]:  # each value of each of them
        adapter = esindy.Adapter(seed=7, threads=1, **setting)
        adapter.fit(problem)
        features = adapter._terms.features(problem.u)
        size = round(setting["subset"] * len(features))
        drawn = np.random.default_rng(7).integers(len(features), size=(setting["n_models"], size))
        found = []
        for rows in drawn:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # it warns where no term is left
                optimizer = STLSQ(threshold=setting["threshold"], alpha=1e-5, max_iter=200)
                found.append(np.asarray(optimizer.fit(features[rows], problem.du[rows]).coef_))
        parts = (np.array(found) != 0).mean(axis=0)
        expected = np.where(parts >= setting["inclusion"], np.median(found, axis=0), 0)
        np.testing.assert_allclose(adapter._coefficients, expected, rtol=1e-5, atol=1e-7)
        compared += int((expected != 0).sum())
    assert compared > 40


def test_sweep_is_the_fits_one_by_one(esindy: Any) -> None:
    problem = predator_and_prey(0.3)
    inputs = problem_of(problem.t, problem.u, None)
    grid = settings(THRESHOLDS[9::2])
    swept = list(esindy.Adapter.sweep(problem, inputs, grid, seed=1, threads=1))
    proposed = {each.equations for each in swept}
    assert len(proposed) == len(swept) < len(grid)
    said = set()
    for setting in grid:
        adapter = esindy.Adapter(seed=1, threads=1, **setting)
        adapter.fit(problem)
        said.add(terms_of(adapter.equations()))
    assert {terms_of(equations) for equations in proposed} == said
    for candidate in swept[::7]:
        adapter = esindy.Adapter(seed=1, threads=1, **candidate.hyperparameters)
        adapter.fit(problem)
        np.testing.assert_allclose(adapter.predict(inputs), candidate.predictions, atol=1e-6)


def terms_of(equations: Any) -> tuple[tuple[str, ...], ...]:
    """Take the coefficients away."""
    return tuple(
        tuple(summand.partition("*")[2] for summand in text.replace(" - ", " + ").split(" + "))
        for text in equations
    )


def test_finds_the_equations_through_noise(esindy: Any) -> None:
    adapter = esindy.Adapter(seed=0, threads=1, threshold=0.3, n_models=50)
    adapter.fit(predator_and_prey(0.3))
    assert terms_of(adapter.equations()) == (("u0", "u0*u1"), ("u1", "u0*u1"))
    values = adapter._coefficients[adapter._coefficients != 0]
    np.testing.assert_allclose(values, [1.84, -1.45, -3.0, 1.62], rtol=0.05)


def test_terms_of_few_models_are_dropped(esindy: Any) -> None:
    assert esindy
    ensemble = sys.modules["ensemble"]
    votes = np.array([[[[1.0, 0.0, 5.0]]], [[[2.0, 0.0, 0.0]]], [[[4.0, 3.0, 7.0]]]])
    for inclusion, expected in ((0.3, [2, 0, 5]), (0.6, [2, 0, 5]), (0.7, [2, 0, 0])):
        setting = ensemble.Voted("model", ensemble.Vote(3, 1.0, inclusion))
        found = ensemble.vote([setting], lambda *_: votes, (1, 3))
        np.testing.assert_array_equal(found, [[expected]])


def test_smaller_ensembles_are_the_first_models_of_larger_ones(esindy: Any) -> None:
    assert esindy
    draw = sys.modules["ensemble"].draw_rows
    np.testing.assert_array_equal(draw(10, 0.7, 90, 3), draw(50, 0.7, 90, 3)[:10])
    assert draw(10, 0.7, 90, 3).shape == (10, 63)
    assert draw(2, 0.001, 90, 3).shape == (2, 1)


@pytest.mark.parametrize(
    ("hyperparameters", "words"),
    [
        ({"n_models": 0}, "n_models is 0"),
        ({"subset": 1.5}, "subset is 1.5"),
        ({"subset": 0.0}, "subset is 0.0"),
        ({"inclusion": -0.1}, "inclusion is -0.1"),
        ({"order": 0}, "order is 0"),
    ],
)
def test_wrong_hyperparameters_are_explained(
    esindy: Any, hyperparameters: dict[str, Any], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        esindy.Adapter(seed=0, threads=1, **hyperparameters)


def test_grid_is_the_published_one() -> None:
    path = ROOT / "algorithms" / "esindy" / "method.toml"
    content = tomllib.loads(path.read_text(encoding="utf-8"))["grid"]
    assert content["threshold"] == pytest.approx(THRESHOLDS, rel=1e-15)
    assert list(content) == [
        *("threshold", "basis", "order", "alpha"),
        *("n_models", "subset", "inclusion"),
    ]
    assert np.prod([len(each) for each in content.values()]) == 9216
