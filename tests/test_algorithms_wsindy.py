"""The weak form against integrals in closed form, and WSINDy and E-WSINDy on closed forms."""

from __future__ import annotations

import itertools
import sys
import tomllib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from fields import burgers, cut, field_problem, rotation, spread, without_targets
from house import ROOT, imported
from scipy.integrate import quad

from mdbench.worker import Unsupported

if TYPE_CHECKING:
    from collections.abc import Iterator

THRESHOLDS = [float(value) for value in np.logspace(-7, 0, 16)]


@pytest.fixture(scope="module", params=["wsindy", "ewsindy"])
def method(request: pytest.FixtureRequest) -> Iterator[Any]:
    with imported(request.param) as module:
        yield module


@pytest.fixture(scope="module")
def wsindy() -> Iterator[dict[str, Any]]:
    with imported("wsindy") as module:
        names = ("weak", "sr3", "library", "stlsq")
        yield {"adapter": module} | {name: sys.modules[name] for name in names}


def coefficients(equation: str) -> dict[str, float]:
    """Read an equation that an adapter wrote."""
    found = {}
    for summand in equation.replace("- ", "+ -").split(" + "):
        value, _, term = summand.partition("*")
        found[term] = float(value)
    return found


def bump(s: float, order: int) -> float:
    """Differentiate (1 - s^2)^6 by hand."""
    p = np.polynomial.Polynomial([1, 0, -1]) ** 6
    return float(p.deriv(order)(s)) if order else float(p(s))


@pytest.mark.parametrize("half", [2, 3, 10])
@pytest.mark.parametrize("order", [0, 1, 2, 3, 4])
def test_weights_integrate(wsindy: dict[str, Any], half: int, order: int) -> None:
    """Against adaptive quadrature: exactly for polynomials, nearly for a smooth function."""
    weights = wsindy["weak"].window_weights(half, order)
    s = np.linspace(-1, 1, 2 * half + 1)
    norm = quad(bump, -1, 1, args=(0,))[0]
    for degree in range(min(2 * half, order + 4) + 1):
        integral = quad(lambda x, k=degree: bump(x, order) * x**k, -1, 1)[0] / norm
        assert weights @ s**degree == pytest.approx(integral, rel=1e-9, abs=1e-9)
    wave = quad(lambda x: bump(x, order) * np.sin(x + 0.3), -1, 1)[0] / norm
    assert weights @ np.sin(s + 0.3) == pytest.approx(wave, abs=0.03 if half == 2 else 1e-4)


@pytest.mark.parametrize("shape", [(30,), (15, 14), (9, 9, 9), (5, 5, 5)])
def test_terms_are_averages_of_what_they_say(
    wsindy: dict[str, Any], shape: tuple[int, ...]
) -> None:
    """On polynomials, terms by parts are the averages of the same terms without."""
    t = np.linspace(0, 1, 12)
    grid = [np.linspace(0.2, 1.2, n) for n in shape]
    *places, T = np.meshgrid(*grid, t, indexing="ij")
    u = np.stack([1 + sum(places) + T / 2, 2 - places[0] + T], axis=-1)
    problem = field_problem(t, grid, u, np.stack([0.5 + 0 * T, 1 + 0 * T], axis=-1))
    library = wsindy["library"]
    chosen = library.FieldLibrary.of(derivative_order=2, order=2)
    terms = library.FieldTerms([chosen], problem)
    weak = wsindy["weak"].WeakForm(problem, 20, np.random.default_rng(0))
    features, targets = weak.regression(terms)
    np.testing.assert_allclose(targets, np.broadcast_to([0.5, 1.0], targets.shape), rtol=1e-8)
    strong = np.concatenate([block for block, _ in terms.blocks(problem)])
    for column, values in zip(features.T, strong.T, strict=True):
        expected = weak.average(values.reshape(problem.u.shape[:-1]))
        np.testing.assert_allclose(column, expected, atol=1e-7)


def test_the_weak_form_of_the_truth_holds(wsindy: dict[str, Any]) -> None:
    """``u_t = -u u_x + 0.1 u_xx`` without a finite difference, far better than with them."""
    problem = burgers(120, 60)
    library = wsindy["library"]
    chosen = library.FieldLibrary.of(derivative_order=2, order=1)
    terms = library.FieldTerms([chosen], problem)
    weak = wsindy["weak"].WeakForm(problem, 300, np.random.default_rng(0))
    features, targets = weak.regression(terms)
    texts = terms.texts()
    said = 0.1 * features[:, texts.index("u0_xx")] - features[:, texts.index("u0*u0_x")]
    assert np.abs(said - targets[:, 0]).max() < 1e-4 * np.abs(targets).max()
    strong, du = next(iter(terms.blocks(problem)))
    pointwise = 0.1 * strong[:, texts.index("u0_xx")] - strong[:, texts.index("u0*u0_x")]
    assert np.abs(pointwise - du[:, 0]).max() > 1e-3 * np.abs(du).max()


@pytest.mark.filterwarnings("ignore")
def test_sr3_agrees_with_pysindy(wsindy: dict[str, Any]) -> None:
    """On columns of unit length, where both mean the same by nu."""
    from pysindy import SR3  # noqa: PLC0415 - a slow import

    rng = np.random.default_rng(0)
    features = rng.standard_normal((60, 8)) @ (np.eye(8) + 0.3 * rng.standard_normal((8, 8)))
    features /= np.linalg.norm(features, axis=0)
    truth = np.where(rng.random((8, 2)) < 0.5, rng.standard_normal((8, 2)), 0)
    targets = features @ truth + 0.05 * rng.standard_normal((60, 2))
    sizes = set()
    for threshold in (0.05, 0.2, 0.5, 1.0):
        kept = wsindy["sr3"].supports(features, targets, np.array([threshold]))[0]
        theirs = SR3(
            reg_weight_lam=SR3.calculate_l0_weight(threshold, 1.0),
            relax_coeff_nu=1.0,
            max_iter=200,
            tol=1e-12,
            unbias=False,
        )
        theirs.fit(features, targets)
        np.testing.assert_array_equal(kept, np.asarray(theirs.coef_) != 0)
        sizes.add(int(kept.sum()))
        ours = wsindy["sr3"].refit(features, targets, kept[None])[0]
        for row, mask, target in zip(ours, kept, targets.T, strict=True):
            expected = np.linalg.lstsq(features[:, mask], target)[0]
            np.testing.assert_allclose(row[mask], expected, rtol=1e-9)
    assert len(sizes) > 2


def test_sr3_of_samples_is_that_of_each(wsindy: dict[str, Any]) -> None:
    rng = np.random.default_rng(1)
    features, targets = rng.standard_normal((3, 40, 6)), rng.standard_normal((3, 40, 2))
    thresholds = np.array([0.05, 0.15, 0.3])
    together = wsindy["sr3"].supports(features, targets, thresholds)
    assert together.shape == (3, 3, 2, 6)
    for sample in range(3):
        alone = wsindy["sr3"].supports(features[sample], targets[sample], thresholds)
        np.testing.assert_array_equal(together[sample], alone)


def test_identifies_burgers(method: Any) -> None:
    adapter = method.Adapter(seed=0, threads=1, threshold=0.05)
    adapter.fit(burgers())
    found = coefficients(adapter.equations()[0])
    assert found == pytest.approx({"u0_xx": 0.1, "u0*u0_x": -1.0}, rel=1e-3)


@pytest.mark.parametrize("shape", [(31,), (21, 21), (13, 13, 13)])
def test_identifies_a_drop_in_every_dimension(method: Any, shape: tuple[int, ...]) -> None:
    problem = spread(shape, 15)
    adapter = method.Adapter(seed=0, threads=1, threshold=0.1, order=1, points=1000)
    adapter.fit(problem)
    found = coefficients(adapter.equations()[0])
    truth = {"u0_x": -0.25} | {f"u0_{axis * 2}": 0.5 for axis in "xyz"[: len(shape)]}
    assert found == pytest.approx(truth, rel=0.01)


def test_noise_matters_less_than_to_derivatives(wsindy: dict[str, Any]) -> None:
    """The terms of the truth, fitted in both forms to a field with 1 % of noise."""
    problem = burgers(200, 100)
    noise = np.random.default_rng(0).standard_normal(problem.u.shape)
    noisy = replace(problem, arrays={**problem.arrays, "u": problem.u + 0.01 * noise})
    library = wsindy["library"]
    terms = library.FieldTerms([library.FieldLibrary.of(derivative_order=2, order=1)], noisy)
    weak = wsindy["weak"].WeakForm(noisy, 2000, np.random.default_rng(0))
    columns = [terms.texts().index(text) for text in ("u0_xx", "u0*u0_x")]
    errors = []
    for features, targets in (weak.regression(terms), next(iter(terms.blocks(noisy)))):
        found = np.linalg.lstsq(features[:, columns], targets[:, 0])[0]
        errors.append(np.abs(found / [0.1, -1.0] - 1).max())
    assert errors[0] < 0.05
    assert errors[1] > 0.5


def test_targets_are_not_needed(method: Any) -> None:
    """u_t is integrated by parts, so that nothing hangs on how it was differentiated."""
    problem = burgers(60, 40)
    one, other = (method.Adapter(seed=0, threads=1) for _ in range(2))
    one.fit(problem)
    other.fit(replace(problem, arrays={**problem.arrays, "du": 0 * problem.du}))
    assert one.equations() == other.equations()


def test_equations_say_what_is_predicted_at_points(method: Any) -> None:
    problem = rotation()
    adapter = method.Adapter(seed=0, threads=1, threshold=0.1, order=1)
    adapter.fit(problem)
    found = [coefficients(text) for text in adapter.equations()]
    assert found == [pytest.approx({name: 1.0}, rel=1e-3) for name in ("u1_x", "u0_x")]
    slopes = np.gradient(problem.u, problem.x, axis=0, edge_order=2)[..., ::-1]
    expected = slopes * [found[0]["u1_x"], found[1]["u0_x"]]
    np.testing.assert_allclose(adapter.predict(without_targets(problem)), expected, atol=1e-9)


@pytest.mark.parametrize("n", [3, 4])
def test_a_short_axis_is_unsupported(method: Any, n: int) -> None:
    problem = spread((12, n), 9)
    with pytest.raises(Unsupported, match=f"5 nodes along each axis.*y has {n}"):
        method.Adapter(seed=0, threads=1, derivative_order=1).fit(problem)


@pytest.mark.parametrize("shape", [(5,), (5, 5), (5, 5, 5)])
def test_five_nodes_are_enough(method: Any, shape: tuple[int, ...]) -> None:
    problem = spread(shape, 5)
    adapter = method.Adapter(seed=0, threads=1, derivative_order=2, order=1)
    adapter.fit(problem)
    assert np.isfinite(adapter.predict(without_targets(problem))).all()


def test_some_rows_are_unsupported(method: Any) -> None:
    problem = burgers(30, 20)
    with pytest.raises(Unsupported, match="--max-rows"):
        method.Adapter(seed=0, threads=1).fit(
            replace(problem, arrays={**problem.arrays, "rows": np.arange(5.0)})
        )


def test_the_seed_draws_the_windows(method: Any) -> None:
    texts = []
    for seed in (0, 0, 1):
        adapter = method.Adapter(seed=seed, threads=1, threshold=0.01)
        adapter.fit(burgers(60, 40))
        texts.append(adapter.equations())
    assert texts[0] == texts[1] != texts[2]


def test_sweep_is_the_fits_one_by_one(method: Any) -> None:
    problem = burgers(60, 45)
    train, validation = cut(problem, slice(None, 30)), cut(problem, slice(30, None))
    names = ("threshold", "points", "derivative_order", "order")
    settings = [
        dict(zip(names, each, strict=True))
        for each in itertools.product((0.003, 0.05, 0.3), (50, 200), (1, 2), (1, 2))
    ]
    if method.Adapter.most_terms == 300:
        settings = [
            {**each, "n_models": n, "subset": 0.6, "inclusion": inclusion}
            for each in settings[:12]
            for n in (5, 10)
            for inclusion in (0.2, 0.6)
        ]
    swept = list(
        method.Adapter.sweep(train, without_targets(validation), settings, seed=3, threads=1)
    )
    told = {each.equations for each in swept}
    for setting in settings:
        adapter = method.Adapter(seed=3, threads=1, **setting)
        adapter.fit(train)
        texts = set(map(frozenset, map(coefficients, adapter.equations())))
        assert any(texts == set(map(frozenset, map(coefficients, each))) for each in told)
    for candidate in swept[::3]:
        adapter = method.Adapter(seed=3, threads=1, **candidate.hyperparameters)
        adapter.fit(train)
        size = np.abs(candidate.predictions).max()
        np.testing.assert_allclose(
            adapter.predict(without_targets(validation)), candidate.predictions, atol=0.05 * size
        )


@pytest.mark.parametrize(
    ("name", "keys", "size"),
    [
        ("wsindy", ["threshold", "basis", "points", "derivative_order", "order"], 1024),
        (
            "ewsindy",
            [
                *("threshold", "basis", "points", "derivative_order", "order"),
                *("n_models", "subset", "inclusion"),
            ],
            36864,
        ),
    ],
)
def test_grid_is_the_published_one(name: str, keys: list[str], size: int) -> None:
    path = ROOT / "algorithms" / name / "method.toml"
    content = tomllib.loads(path.read_text(encoding="utf-8"))["grid"]
    assert content["threshold"] == pytest.approx(THRESHOLDS, rel=1e-15)
    assert list(content) == keys
    assert np.prod([len(each) for each in content.values()]) == size
