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
from harness import ROOT, imported
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
        names = ("weak", "sr3", "library", "stlsq", "triangles")
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


def one_by_one(features: Any, targets: Any, thresholds: list[float]) -> Any:
    """SR3 and its refit as they are defined, of one sample: the coefficients (m, k, p).

    All columns take as many rounds, and a set of terms is fitted by singular values.
    """
    p, k = features.shape[1], targets.shape[1]
    norms = np.linalg.norm(features, axis=0)
    unit = features / norms
    inverse = np.linalg.inv(unit.T @ unit + np.eye(p))
    limits = np.repeat(thresholds, k) * norms[:, None]
    moments = np.tile(unit.T @ targets, len(thresholds))
    z = np.tile(np.linalg.pinv(unit, rcond=1e-12) @ targets, len(thresholds))
    z = np.where(np.abs(z) >= limits, z, 0)
    for _ in range(200):
        w = inverse @ (moments + z)
        before, z = z, np.where(np.abs(w) >= limits, w, 0)
        if np.abs(z - before).max() <= 1e-5 * np.abs(z).max():
            break
    found = np.zeros((len(thresholds), k, p))
    for i, (row, column) in enumerate(np.ndindex(len(thresholds), k)):
        mask = z[:, i] != 0
        found[row, column, mask] = np.linalg.lstsq(unit[:, mask], targets[:, column])[0]
    return found / norms


@pytest.mark.parametrize(("rows", "alike"), [(60, 0.3), (60, 0.02), (9, 0.3)])
def test_sr3_is_what_it_is_defined_as(wsindy: dict[str, Any], rows: int, alike: float) -> None:
    """Also on columns that are nearly the same, and on fewer rows than columns."""
    rng = np.random.default_rng(rows)
    common = rng.standard_normal((4, rows, 1))
    features = common + alike * rng.standard_normal((4, rows, 12))
    features *= 10.0 ** rng.integers(-3, 4, 12)
    truth = np.where(rng.random((12, 2)) < 0.4, rng.standard_normal((12, 2)), 0)
    targets = features @ truth + 1e-3 * rng.standard_normal((4, rows, 2))
    thresholds = [1e-6, 1e-3, 0.1, 1.0, 30.0]
    kept = wsindy["sr3"].supports(features, targets, np.array(thresholds))
    found = wsindy["sr3"].refit(features, targets, kept)
    for ours, x, y in zip(found, features, targets, strict=True):
        expected = one_by_one(x, y, thresholds)
        np.testing.assert_array_equal(ours != 0, expected != 0)
        np.testing.assert_allclose(ours, expected, rtol=1e-7, atol=1e-9 / np.abs(x).max())
    sizes = {int(each) for each in kept.sum(axis=-1).ravel()}
    assert len(sizes) > 4


def test_sr3_of_drawn_rows(wsindy: dict[str, Any]) -> None:
    """Weighing a row that was drawn twice is the same as having it twice."""
    rng = np.random.default_rng(3)
    features, targets = rng.standard_normal((40, 6)), rng.standard_normal((40, 2))
    drawn = rng.integers(40, size=(3, 30))
    factors = wsindy["sr3"].factor_samples(features, targets, drawn)
    assert factors.shape == (3, 8, 8)
    for factor, rows in zip(factors, drawn, strict=True):
        both = np.concatenate([features[rows], targets[rows]], axis=1)
        np.testing.assert_allclose(factor.T @ factor, both.T @ both, atol=1e-12)


@pytest.mark.parametrize("shape", [(7, 4), (4, 7), (40, 37)])
@pytest.mark.parametrize("rank", ["full", "less"])
def test_least_squares_without_singular_values(
    wsindy: dict[str, Any], shape: tuple[int, int], rank: str
) -> None:
    """The smallest solution, by singular values where some of them count as zero."""
    rng = np.random.default_rng(5)
    columns = rng.standard_normal((3, *shape))
    if rank == "less":
        columns[1, :, 1] = columns[1, :, 0] - 2 * columns[1, :, 2]
        columns[2, 1] = 0
    right = rng.standard_normal((3, shape[0], 2))
    found = wsindy["triangles"].solve_columns(columns, right, 1e-12)
    for ours, x, y in zip(found, columns, right, strict=True):
        np.testing.assert_allclose(ours, np.linalg.pinv(x, rcond=1e-12) @ y, atol=1e-9)


def test_triangles_that_are_nearly_singular_are_not_solved(wsindy: dict[str, Any]) -> None:
    """Whatever a kernel's rounding leaves on a diagonal that should be zero."""
    rng = np.random.default_rng(8)
    triangles = np.triu(rng.standard_normal((7, 30, 30))) + 5 * np.eye(30)
    for i, tiny in enumerate([0.0, 5e-324, 1e-290, -1e-150, 1e-17, 1e-13]):
        triangles[i, 11, 11] = tiny
    right = rng.standard_normal((7, 30, 2))
    solutions, unsure = wsindy["triangles"]._solve_triangles(triangles, right, 1e-12)
    assert unsure.tolist() == [0, 1, 2, 3, 4, 5]
    np.testing.assert_allclose(triangles[6] @ solutions[6], right[6], atol=1e-10)


def test_triangles_whose_solutions_overflow_are_distinguished(wsindy: dict[str, Any]) -> None:
    """No entry of the diagonal is small, and the inverse is beyond all numbers."""
    triangle = np.eye(60) + np.triu(np.full((60, 60), -1e9), 1)
    right = np.ones((2, 60, 1))
    stack = np.stack([triangle, np.eye(60)])
    solutions, unsure = wsindy["triangles"]._solve_triangles(stack, right, 1e-14)
    assert unsure.tolist() == [0]
    np.testing.assert_array_equal(solutions[1], right[1])
    found = wsindy["triangles"].solve_columns(stack, right, 1e-14)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(
        found[0], np.linalg.pinv(triangle, rcond=1e-14) @ right[0], atol=1e-8
    )


def test_averages_that_are_only_rounding_are_zero(wsindy: dict[str, Any]) -> None:
    """Else scaling to unit length makes a term of them, another one under each kernel."""
    t, x = np.linspace(0, 1, 12), np.linspace(-1, 1, 15)
    X, _ = np.meshgrid(x, t, indexing="ij")
    problem = field_problem(t, [x], np.exp(-3 * X)[..., None], 0 * X[..., None])
    weak = wsindy["weak"].WeakForm(problem, 9, np.random.default_rng(0))
    flat = np.full_like(X, 0.7)
    for order in (1, 2, 3, 4):
        assert not weak.average(flat, 0, order).any()
    for order in (2, 3, 4):
        assert not weak._by_half(flat, flat, 0, order).any()
    # A small field is no rounding.
    small = 1e-30 * X
    np.testing.assert_allclose(weak.average(small, 0, 1), -1e-30, rtol=1e-9)


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


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_windows_are_averaged_as_a_whole(wsindy: dict[str, Any], axis: int) -> None:
    """Against sums over each window with the product of all weights."""
    problem = spread((45, 12), 30)
    weak = wsindy["weak"].WeakForm(problem, 7, np.random.default_rng(2))
    values = np.random.default_rng(0).standard_normal(problem.u.shape[:-1])
    steps = [problem.x[1] - problem.x[0], problem.y[1] - problem.y[0], problem.t[1] - problem.t[0]]
    halves = [2, 2, 2]
    weights = np.ones(1)
    for k, (half, step) in enumerate(zip(halves, steps, strict=True)):
        order = 2 if k == axis else 0
        each = wsindy["weak"].window_weights(half, order) / (half * step) ** order
        weights = np.multiply.outer(weights, each)
    # The same draw as the class makes: corners among the windows that fit inside.
    inner = [n - 2 * half for n, half in zip(values.shape, halves, strict=True)]
    drawn = np.random.default_rng(2).choice(int(np.prod(inner)), 7, replace=False)
    expected = []
    for place in zip(*np.unravel_index(drawn, inner), strict=True):
        window = tuple(slice(i, i + 2 * half + 1) for i, half in zip(place, halves, strict=True))
        expected.append((values[window] * weights[0]).sum())
    np.testing.assert_allclose(weak.average(values, axis, 2), expected, rtol=1e-10)


def test_a_sweep_without_time_fits_small_libraries(
    method: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was fitted is proposed, the log says what was not, and the winner's fit is partial."""
    problem = burgers(60, 45)
    train, validation = cut(problem, slice(None, 30)), cut(problem, slice(30, None))
    settings = [{"threshold": 1e-4, "order": order, "points": 200} for order in (3, 1, 2)]
    hurried = replace(train, time_limit=1e-6)
    swept = list(
        method.Adapter.sweep(hurried, without_targets(validation), settings, seed=0, threads=1)
    )
    assert {each.hyperparameters["order"] for each in swept} == {1}
    assert (
        "left out for lack of time: library cross, basis polynomial, order 2"
        in capsys.readouterr().out
    )
    assert method.Adapter(seed=0, threads=1).stopped_early
    swept = list(
        method.Adapter.sweep(train, without_targets(validation), settings, seed=0, threads=1)
    )
    assert {each.hyperparameters["order"] for each in swept} == {1, 2, 3}
    assert not method.Adapter(seed=0, threads=1).stopped_early


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


def test_a_state_without_an_equation_is_a_feature_only(method: Any) -> None:
    whole = rotation()
    arrays = {**whole.arrays, "du": whole.du[..., 1:]}
    part = replace(whole, targets=("u1_t",), arrays=arrays)
    both, one = (method.Adapter(seed=0, threads=1, threshold=0.01) for _ in range(2))
    both.fit(whole)
    one.fit(part)
    (text,) = one.equations()
    assert set(coefficients(text)) == set(coefficients(both.equations()[1]))
    assert "u0_x" in coefficients(text)
    predicted = one.predict(part)
    assert predicted.shape == part.du.shape
    np.testing.assert_allclose(predicted, both.predict(whole)[..., 1:], atol=1e-6)


def test_periods_make_derivatives_exact(method: Any) -> None:
    x, t = np.linspace(0, 1, 24, endpoint=False), np.linspace(0, 1, 30)
    wave = 2 * np.pi * (x[:, None] - 0.4 * t)
    u, du = np.sin(wave)[..., None], -0.8 * np.pi * np.cos(wave)[..., None]
    plain = field_problem(t, [x], u, du)
    ring = replace(plain, arrays={**plain.arrays, "periods": np.array([1.0])})
    adapter = method.Adapter(seed=0, threads=1, derivative_order=1, order=1, threshold=0.05)
    adapter.fit(ring)
    np.testing.assert_allclose(adapter.predict(ring), du, atol=1e-3)
    assert coefficients(adapter.equations()[0])["u0_x"] == pytest.approx(-0.4, rel=1e-3)
