"""PDE-FIND against pysindy, against the bench's features, and against closed forms."""

from __future__ import annotations

import itertools
import sys
import tomllib
import tracemalloc
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from fields import burgers, cut, field_problem, rotation, spread, without_targets
from harness import ROOT, imported

from eqverdict import parse
from mdbench.data.derivatives import accurate_derivative, fewest_nodes, space_derivative
from mdbench.data.field import Field, FieldColumns
from mdbench.worker import Problem, Unsupported

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = ROOT / "algorithms" / "pdefind"
THRESHOLDS = [float(value) for value in np.logspace(-7, 0, 16)]


@pytest.fixture(scope="module")
def pdefind() -> Iterator[Any]:
    with imported("pdefind") as module:
        yield module


@pytest.fixture(scope="module")
def shared(pdefind: Any) -> dict[str, Any]:
    """Return the shared modules behind the adapter."""
    import sys  # noqa: PLC0415

    assert pdefind
    return {name: sys.modules[name] for name in ("grids", "library", "stlsq")}


def grid(thresholds: list[float], orders: tuple[int, ...] = (1, 2, 3)) -> list[dict[str, Any]]:
    bases = ("polynomial", "polynomial+sin+cos")
    names = ("threshold", "basis", "derivative_order", "order", "alpha")
    values = itertools.product(thresholds, bases, orders, orders, (1e-5, 1e-4))
    return [dict(zip(names, each, strict=True)) for each in values]


def coefficients(equation: str) -> dict[str, float]:
    """Read an equation that an adapter wrote."""
    found = {}
    for summand in equation.replace("- ", "+ -").split(" + "):
        value, _, term = summand.partition("*")
        found[term] = float(value)
    return found


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("axis", [0, 1])
def test_derivatives_are_those_of_the_bench(shared: dict[str, Any], order: int, axis: int) -> None:
    u = np.random.default_rng(order).standard_normal((9, 16, 3))
    nodes = np.linspace(0.3, 2.2, u.shape[axis])
    step = nodes[1] - nodes[0]
    period = step * len(nodes)
    along, differentiate = shared["grids"].GridAxis, shared["grids"].differentiate
    for known, bench in (
        (along(step, second_order=True), space_derivative(u, nodes, axis, order)),
        (along(step), accurate_derivative(u, nodes, axis, order)),
        (along(step, period), accurate_derivative(u, nodes, axis, order, period=period)),
    ):
        ours = differentiate(u, axis, known, order)
        np.testing.assert_allclose(ours, bench, rtol=1e-11, atol=1e-8)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_the_shortest_axis_has_its_derivative(shared: dict[str, Any], order: int) -> None:
    x = np.linspace(0, 1, fewest_nodes(order))
    for second_order in (True, False):
        along = shared["grids"].GridAxis(x[1], second_order=second_order)
        ours = shared["grids"].differentiate(x**order, 0, along, order)
        np.testing.assert_allclose(ours, np.prod(np.arange(1, order + 1)), rtol=1e-6)


def test_blocks_fold_to_the_factor_of_the_whole(shared: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    features, targets = rng.standard_normal((70, 8)), rng.standard_normal((70, 2))
    pieces = [(features[a:b], targets[a:b]) for a, b in ((0, 3), (3, 4), (4, 50), (50, 70))]
    factor = shared["stlsq"].fold(pieces)
    whole = np.concatenate([features, targets], axis=1)
    np.testing.assert_allclose(factor.T @ factor, whole.T @ whole, atol=1e-12)
    assert factor.shape == (10, 10)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("make", [burgers, rotation, lambda: spread((15, 13), 9)])
def test_agrees_with_pysindy(pdefind: Any, make: Any) -> None:
    """Features are pysindy's own for one axis, else the bench's; the regression is pysindy's."""
    from pysindy.optimizers import STLSQ  # noqa: PLC0415 - a slow import

    problem = make()
    well_conditioned = 0
    for setting in grid(THRESHOLDS[4::3], (1, 2)):
        adapter = pdefind.Adapter(seed=0, threads=1, **setting)
        adapter.fit(problem)
        texts = adapter._terms.texts()
        matrix = np.stack([values(text, problem) for text in texts], axis=1)
        targets = problem.du.reshape(len(matrix), -1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns where no term is left
            optimizer = STLSQ(
                threshold=setting["threshold"], alpha=setting["alpha"], max_iter=200, unbias=False
            )
            expected = np.asarray(optimizer.fit(matrix, targets).coef_) != 0
        ours = adapter._coefficients
        np.testing.assert_array_equal(ours != 0, expected, str(setting))
        for row, kept, target in zip(ours, expected, targets.T, strict=True):
            selected = matrix[:, kept]
            if kept.any() and np.linalg.cond(selected) < 1e6:
                well_conditioned += 1
                refit = np.linalg.lstsq(selected, target)[0]
                np.testing.assert_allclose(row[kept], refit, rtol=1e-8)
    assert well_conditioned > 20


def values(text: str, problem: Problem) -> Any:
    """Evaluate an equation by the bench's own parser and features."""
    axes = {name: problem.arrays[name] for name in "xyz" if name in problem.arrays}
    second_order = "periods" not in problem.arrays
    columns = FieldColumns(Field(problem.t, axes, problem.u), second_order=second_order)
    return parse(text, problem.variables).evaluate(columns).reshape(-1)


def test_the_library_is_pysindys(pdefind: Any) -> None:
    from pysindy import PDELibrary, PolynomialLibrary  # noqa: PLC0415 - a slow import

    problem = burgers(40, 20)
    adapter = pdefind.Adapter(seed=0, threads=1, derivative_order=2, order=3, threshold=0.0)
    adapter.fit(problem)
    library = PDELibrary(
        function_library=PolynomialLibrary(degree=3, include_bias=False),
        derivative_order=2,
        spatial_grid=problem.x,
    )
    features = np.asarray(library.fit([problem.u]).transform([problem.u])[0])
    theirs = features.reshape(problem.u[..., 0].size, -1)
    texts = adapter._terms.texts()
    ours = np.stack([values(text, problem) for text in texts], axis=1)
    assert ours.shape == theirs.shape
    interior = np.zeros(problem.u.shape[:2], dtype=bool)
    interior[3:-3] = True  # at the ends pysindy's stencils are of another order
    ours, theirs = ours[interior.reshape(-1)], theirs[interior.reshape(-1)]
    for column in theirs.T:
        assert np.isclose(ours, column[:, None], rtol=1e-6, atol=1e-9).all(axis=0).any()


@pytest.mark.parametrize("make", [burgers, rotation, lambda: spread((15, 13), 30)])
def test_sweep_is_the_fits_one_by_one(pdefind: Any, make: Any) -> None:
    problem = make()
    train, validation = cut(problem, slice(None, 20)), cut(problem, slice(20, None))
    settings = grid(THRESHOLDS[5::4], (1, 2))
    swept = list(
        pdefind.Adapter.sweep(train, without_targets(validation), settings, seed=0, threads=1)
    )
    found = set()
    for setting in settings:
        adapter = pdefind.Adapter(seed=0, threads=1, **setting)
        adapter.fit(train)
        found.add(
            tuple(frozenset(coefficients(text)) for text in adapter.equations() if text != "0")
        )
    told = [
        tuple(frozenset(coefficients(text)) for text in each.equations if text != "0")
        for each in swept
    ]
    assert set(told) == found
    assert len(told) < len(settings)
    lengths = [sum(map(len, each)) for each in told]
    assert lengths == sorted(lengths)
    for candidate in swept:
        for i, text in enumerate(candidate.equations):
            predicted = np.asarray(candidate.predictions)[..., i].reshape(-1)
            said = np.broadcast_to(values(text, validation), predicted.shape)
            np.testing.assert_allclose(predicted, said, atol=1e-9 * (1 + np.abs(said).max()))


def test_identifies_burgers(pdefind: Any) -> None:
    adapter = pdefind.Adapter(seed=0, threads=1, threshold=0.05)
    adapter.fit(burgers(400))
    found = coefficients(adapter.equations()[0])
    assert found == pytest.approx({"u0_xx": 0.1, "u0*u0_x": -1.0}, rel=0.05)


@pytest.mark.parametrize("shape", [(41,), (31, 31), (21, 21, 21)])
def test_identifies_a_drop_in_every_dimension(pdefind: Any, shape: tuple[int, ...]) -> None:
    problem = spread(shape, 8)
    adapter = pdefind.Adapter(seed=0, threads=1, threshold=0.1)
    adapter.fit(problem)
    found = coefficients(adapter.equations()[0])
    truth = {"u0_x": -0.25} | {f"u0_{axis * 2}": 0.5 for axis in "xyz"[: len(shape)]}
    assert found == pytest.approx(truth, rel=0.1)
    agreed = values(adapter.equations()[0], problem).reshape(problem.u.shape)
    np.testing.assert_allclose(adapter.predict(without_targets(problem)), agreed, atol=1e-10)


def test_products_of_states_are_in_the_default_library_only(pdefind: Any) -> None:
    for library, there in (("cross", True), ("powers", False)):
        adapter = pdefind.Adapter(seed=0, threads=1, library=library, threshold=0.0)
        adapter.fit(rotation())
        assert ("u0*u1" in adapter._terms.texts()) == there


def test_rows_are_all_that_is_fitted(pdefind: Any) -> None:
    problem = burgers(60, 30)
    rows = np.sort(np.random.default_rng(0).choice(problem.u.size, 300, replace=False))
    spoilt = np.full(problem.du.size, 1e3)
    spoilt[rows] = problem.du.reshape(-1)[rows]
    arrays = {"rows": rows.astype(float), "du": spoilt.reshape(problem.du.shape)}
    adapter = pdefind.Adapter(seed=0, threads=1, threshold=0.05)
    adapter.fit(replace(problem, arrays={**problem.arrays, **arrays}))
    matrix = np.stack([values(text, problem)[rows] for text in ("u0_xx", "u0*u0_x")], axis=1)
    expected = np.linalg.lstsq(matrix, problem.du.reshape(-1)[rows])[0]
    found = coefficients(adapter.equations()[0])
    assert list(found.values()) == pytest.approx(list(expected), rel=1e-8)


def test_features_are_never_there_as_a_whole(
    pdefind: Any, shared: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = spread((60, 60), 40)
    adapter = pdefind.Adapter(seed=0, threads=1, derivative_order=4, order=4)
    monkeypatch.setattr(shared["library"], "_BLOCK_NUMBERS", 100_000)
    tracemalloc.start()
    adapter.fit(problem)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    whole = 8 * problem.u.size * len(adapter._terms)
    assert peak < whole / 4
    small = pdefind.Adapter(seed=0, threads=1, derivative_order=4, order=4)
    monkeypatch.undo()
    small.fit(problem)
    np.testing.assert_allclose(adapter._coefficients, small._coefficients, rtol=1e-6)


def test_large_libraries_are_left_out_and_told(
    pdefind: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    u = np.random.default_rng(0).standard_normal((12, 12, 9, 5))
    x = np.arange(12.0)
    problem = field_problem(np.arange(9.0), [x, x], u, u)
    settings = [{"order": order, "derivative_order": 2} for order in (1, 4)]
    candidates = list(
        pdefind.Adapter.sweep(problem, without_targets(problem), settings, seed=0, threads=1)
    )
    assert [each.hyperparameters for each in candidates] == settings[:1]
    printed = capsys.readouterr().out
    assert "order 4, derivative_order 2, 2645 terms; at most 1000 are allowed" in printed
    with pytest.raises(Unsupported, match="2645 terms for 5 states"):
        pdefind.Adapter(seed=0, threads=1, **settings[1]).fit(problem)


def test_systems_that_are_too_long_are_not_proposed(
    pdefind: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    problem = burgers(40, 20)
    settings = grid([1e-7, 0.05], (1, 2))
    monkeypatch.setattr(pdefind.Adapter, "longest", 3)
    candidates = list(
        pdefind.Adapter.sweep(problem, without_targets(problem), settings, seed=0, threads=1)
    )
    assert candidates
    assert max(len(coefficients(each.equations[0])) for each in candidates) <= 3
    assert "more than 3 terms" in capsys.readouterr().out


def test_of_too_many_systems_each_set_of_terms_is_proposed_once(
    pdefind: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    problem = burgers(40, 20)
    inputs = without_targets(problem)
    found = np.array([[[1.0, 0]], [[1.1, 0]], [[1.1, 0]], [[2.0, 3]], [[0, 4.0]]])
    models = sys.modules["models"].Models(found)
    systems = list(models.distinct())
    monkeypatch.setattr(pdefind.Adapter, "most_systems", 3)
    proposed = pdefind.Adapter.propose(systems, models, inputs)
    kept = [models.coefficients[indices[0]].tolist() for _, indices in proposed]
    assert kept == [[1.1, 0], [0, 4.0], [2.0, 3]]
    assert "1 systems" in capsys.readouterr().out
    monkeypatch.setattr(pdefind.Adapter, "most_systems", 4)
    assert len(pdefind.Adapter.propose(systems, models, inputs)) == 4


def test_a_sweep_without_time_still_has_the_smallest_library(pdefind: Any) -> None:
    problem = burgers(60, 40)
    hurried = replace(problem, time_limit=1e-6)
    settings = [{"threshold": 1e-4, "order": order} for order in (2, 1)]
    swept = list(
        pdefind.Adapter.sweep(hurried, without_targets(problem), settings, seed=0, threads=1)
    )
    assert [each.hyperparameters["order"] for each in swept] == [1]
    assert pdefind.Adapter(seed=0, threads=1).stopped_early


def test_the_middle_of_equal_settings_speaks_for_them(pdefind: Any) -> None:
    problem = burgers(200)
    settings = [
        {"threshold": value, "derivative_order": order}
        for order in (3, 2)
        for value in (0.02, 0.03, 0.04, 0.05, 0.06)
    ]
    candidates = list(
        pdefind.Adapter.sweep(problem, without_targets(problem), settings, seed=0, threads=1)
    )
    right = [each for each in candidates if len(coefficients(each.equations[0])) == 2]
    assert [each.hyperparameters for each in right] == [{"threshold": 0.04, "derivative_order": 2}]


def test_overflowing_terms_are_refused(pdefind: Any) -> None:
    problem = burgers(20, 10)
    huge = replace(problem, arrays={**problem.arrays, "u": problem.u * 1e100})
    with pytest.raises(ValueError, match="overflow"):
        pdefind.Adapter(seed=0, threads=1, order=4).fit(huge)


@pytest.mark.parametrize(
    ("hyperparameters", "words"),
    [
        ({"derivative_order": 0}, "derivative_order is 0.*1 or more"),
        ({"library": "fourier"}, "library is 'fourier'.*cross, powers"),
        ({"order": 0}, "order is 0.*1 or more"),
    ],
)
def test_wrong_hyperparameters_are_explained(
    pdefind: Any, hyperparameters: dict[str, Any], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        pdefind.Adapter(seed=0, threads=1, **hyperparameters)


def test_grid_is_the_published_one() -> None:
    content = tomllib.loads((FOLDER / "method.toml").read_text(encoding="utf-8"))["grid"]
    assert content["threshold"] == pytest.approx(THRESHOLDS, rel=1e-15)
    assert list(content) == ["threshold", "basis", "derivative_order", "order", "alpha"]
    assert np.prod([len(each) for each in content.values()]) == 1024


def test_a_state_without_an_equation_is_a_feature_only(pdefind: Any) -> None:
    whole = rotation()
    arrays = {**whole.arrays, "du": whole.du[..., 1:]}
    part = replace(whole, targets=("u1_t",), arrays=arrays)
    both, one = (pdefind.Adapter(seed=0, threads=1, threshold=0.01) for _ in range(2))
    both.fit(whole)
    one.fit(part)
    (text,) = one.equations()
    assert set(coefficients(text)) == set(coefficients(both.equations()[1]))
    assert "u0_x" in coefficients(text)
    predicted = one.predict(part)
    assert predicted.shape == part.du.shape
    np.testing.assert_allclose(predicted, both.predict(whole)[..., 1:], atol=1e-6)


def test_periods_make_derivatives_exact(pdefind: Any) -> None:
    x, t = np.linspace(0, 1, 24, endpoint=False), np.linspace(0, 1, 30)
    wave = 2 * np.pi * (x[:, None] - 0.4 * t)
    u, du = np.sin(wave)[..., None], -0.8 * np.pi * np.cos(wave)[..., None]
    plain = field_problem(t, [x], u, du)
    ring = replace(plain, arrays={**plain.arrays, "periods": np.array([1.0])})
    adapter = pdefind.Adapter(seed=0, threads=1, derivative_order=1, order=1, threshold=0.05)
    adapter.fit(ring)
    np.testing.assert_allclose(adapter.predict(ring), du, atol=1e-3)
    assert coefficients(adapter.equations()[0])["u0_x"] == pytest.approx(-0.4, rel=1e-3)
