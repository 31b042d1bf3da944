"""Variational Bayes against sums over all models, and the method on closed forms."""

from __future__ import annotations

import itertools
import sys
import tomllib
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from fields import burgers, cut, spread, without_targets
from harness import ROOT, imported
from scipy.special import expit, gammaln

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

THRESHOLDS = [float(value) for value in np.logspace(-7, 0, 16)]


@pytest.fixture(scope="module")
def bayesian() -> Iterator[Any]:
    with imported("bayesian") as module:
        yield module


def infer(features: Array, target: Array, tolerances: tuple[float, ...] = (1e-9,)) -> Any:
    return sys.modules["spike_slab"].posteriors(
        features.T @ features,
        features.T @ target,
        float(target @ target),
        n_rows=len(target),
        tolerances=tolerances,
        rng=np.random.default_rng(0),
    )


def enumerate_models(features: Array, target: Array) -> tuple[Array, Array]:
    """Sum over all subsets of terms; gives inclusion probabilities, and means given inclusion.

    With the noise integrated out, a subset's evidence is a ratio of determinants times the
    residual to the power of -(1e-4 + N / 2).
    """
    n, p = features.shape
    logit = -np.sqrt(n) / 2
    logs, masks, means = [], [], []
    for mask in itertools.product((False, True), repeat=p):
        x = features[:, list(mask)]
        precision = x.T @ x + np.eye(x.shape[1]) / 10
        mean = np.linalg.solve(precision, x.T @ target)
        rate = 1e-4 + (target @ target - target @ x @ mean) / 2
        volume = np.linalg.slogdet(precision)[1] + x.shape[1] * np.log(10)
        shape = 1e-4 + n / 2
        logs.append(gammaln(shape) - shape * np.log(rate) - volume / 2 + logit * sum(mask))
        masks.append(mask)
        full = np.zeros(p)
        full[list(mask)] = mean
        means.append(full)
    weights = np.exp(np.array(logs) - max(logs))
    weights /= weights.sum()
    inclusion = weights @ np.array(masks, dtype=float)
    return inclusion, weights @ np.array(means) / np.maximum(inclusion, 1e-300)


@pytest.mark.parametrize("noise", [0.02, 0.3])
@pytest.mark.parametrize("seed", range(4))
def test_agrees_with_a_sum_over_all_models(bayesian: Any, noise: float, seed: int) -> None:
    assert bayesian
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((150, 6)) @ (np.eye(6) + 0.2 * rng.standard_normal((6, 6)))
    truth = np.array([1.0, 0.0, -0.6, 0.0, 0.0, 0.4])
    target = features @ truth + noise * rng.standard_normal(150)
    inclusion, mean = enumerate_models(features, target)
    assert (inclusion > 0.5).tolist() == (truth != 0).tolist()
    (ours,) = infer(features, target)
    np.testing.assert_allclose(ours.inclusion, inclusion, atol=0.02)
    kept = truth != 0
    np.testing.assert_allclose(ours.mean[kept], mean[kept], rtol=1e-3)


def test_a_term_of_no_effect_is_improbable(bayesian: Any) -> None:
    assert bayesian
    rng = np.random.default_rng(0)
    features = rng.standard_normal((400, 3))
    (posterior,) = infer(features, features[:, 0] + 0.1 * rng.standard_normal(400))
    assert posterior.inclusion[0] > 0.999
    assert (posterior.inclusion[1:] < 0.01).all()


def test_a_looser_tolerance_ends_earlier(bayesian: Any) -> None:
    assert bayesian
    rng = np.random.default_rng(0)
    features = rng.standard_normal((50, 5))
    target = features @ [1.0, 0.2, 0.1, 0.0, 0.0] + 0.3 * rng.standard_normal(50)
    loose, tight = infer(features, target, (1e3, 1e-12))
    assert np.abs(loose.inclusion - tight.inclusion).max() > 1e-6
    again = infer(features, target, (1e-12,))[0]
    np.testing.assert_allclose(tight.inclusion, again.inclusion)


def test_a_prior_of_the_rows(bayesian: Any) -> None:
    """A term that explains nothing is as improbable as its prior, or more."""
    assert bayesian
    rng = np.random.default_rng(2)
    x = rng.standard_normal(100)
    noise = rng.standard_normal(100)
    noise -= x * (x @ noise) / (x @ x)
    (posterior,) = infer(x[:, None], noise)
    assert posterior.inclusion[0] < expit(-np.sqrt(100) / 2)


def test_identifies_burgers_and_states_how_sure_it_is(
    bayesian: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    adapter = bayesian.Adapter(seed=0, threads=1, threshold=0.02, order=1)
    adapter.fit(burgers(400))
    found = dict(part.partition("*")[::2][::-1] for part in split(adapter.equations()[0]))
    assert {name: float(value) for name, value in found.items()} == pytest.approx(
        {"u0_xx": 0.1, "u0*u0_x": -1.0}, rel=0.05
    )
    assert "inclusion_probabilities: {'u0_t': {'u0_xx': 1.0" in capsys.readouterr().out


def split(equation: str) -> list[str]:
    return equation.replace("- ", "+ -").split(" + ")


def test_candidates_have_probabilities_and_can_be_fitted_again(bayesian: Any) -> None:
    problem = spread((15, 15), 30)
    train, validation = cut(problem, slice(None, 20)), cut(problem, slice(20, None))
    names = ("threshold", "derivative_order", "order", "tolerance", "inclusion")
    grid = [
        dict(zip(names, each, strict=True))
        for each in itertools.product((0.001, 0.03, 0.1), (1, 2), (1, 2), (1e-4, 1e-2), (0.5, 0.9))
    ]
    swept = list(
        bayesian.Adapter.sweep(train, without_targets(validation), grid, seed=0, threads=1)
    )
    assert 1 < len(swept) < len(grid)
    for candidate in swept:
        probabilities = candidate.hyperparameters["inclusion_probabilities"]["u0_t"]
        written = [part.partition("*")[2] for part in split(candidate.equations[0]) if "*" in part]
        assert set(written) <= set(probabilities)
        for name, probability in probabilities.items():
            least = candidate.hyperparameters["inclusion"]
            assert (probability > least) == (name in written)
        adapter = bayesian.Adapter(seed=0, threads=1, **candidate.hyperparameters)
        adapter.fit(train)
        size = np.abs(candidate.predictions).max()
        np.testing.assert_allclose(
            adapter.predict(without_targets(validation)), candidate.predictions, atol=1e-6 * size
        )


def test_units_do_not_matter(bayesian: Any) -> None:
    """A field in other units has the same probabilities."""
    problem = burgers(100, 40)
    told = []
    for unit in (1.0, 1e-4):
        arrays = {**problem.arrays, "x": problem.x * unit, "u": problem.u * unit}
        arrays["du"] = problem.du * unit
        other = type(problem)("field", problem.variables, problem.targets, arrays)
        setting = bayesian.Adapter.setting(threshold=0.0, derivative_order=2, order=1)
        terms = bayesian.Adapter.terms([setting], other)
        models = bayesian.Adapter.find(other, terms, [setting], seed=0)
        told.append(models.remarks[0]["inclusion_probabilities"]["u0_t"])
    assert told[0] == pytest.approx(told[1], abs=1e-4)


def test_grid_is_the_published_one() -> None:
    path = ROOT / "algorithms" / "bayesian" / "method.toml"
    content = tomllib.loads(path.read_text(encoding="utf-8"))["grid"]
    assert content["threshold"] == pytest.approx(THRESHOLDS, rel=1e-15)
    assert list(content) == [
        *("threshold", "basis", "derivative_order", "order", "alpha"),
        *("tolerance", "inclusion"),
    ]
    assert np.prod([len(each) for each in content.values()]) == 4608
