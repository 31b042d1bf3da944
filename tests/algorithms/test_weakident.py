"""WeakIdent on fields: its parts against closed forms, answers against the paper's numbers."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import sympy
from fields import burgers, cut, field_problem, rotation, spread, without_targets
from harness import imported
from hypothesis import given, settings
from hypothesis import strategies as st
from weakident_numbers import noisy, numbers

from mdbench.worker import Problem, Unsupported

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def fields() -> Iterator[dict[str, Any]]:
    with imported("weakident") as module:
        names = ("windows", "identification", "features")
        yield {"adapter": module} | {name: sys.modules[name] for name in names}


@pytest.mark.parametrize("place", [3, 11, 40])
def test_the_corner_of_two_lines_is_found(fields: dict[str, Any], place: int) -> None:
    x = np.arange(60.0)
    curve = 1.0 + np.where(x < place, 0.1 * x, 0.1 * place + 3.0 * (x - place))
    assert fields["windows"].piecewise(curve, margin=1) == place


@pytest.mark.parametrize("waves", [4, 9, 20])
def test_the_corner_of_a_spectrum_is_where_noise_begins(fields: dict[str, Any], waves: int) -> None:
    rng = np.random.default_rng(waves)
    t = np.arange(256) / 256
    u = sum(np.sin(2 * np.pi * (k * t + rng.random())) for k in range(1, waves + 1))
    u = u + 0.02 * rng.standard_normal(256)
    assert abs(fields["windows"].corner(u, 0) - waves) <= 2


def test_windows_are_as_wide_as_the_spectrum_asks_for(fields: dict[str, Any]) -> None:
    """The root of the paper's equation, and never more than a quarter of the axis."""
    half = fields["windows"].half_width
    for n, waves in ((257, 10), (1000, 30), (300, 16)):
        m = half(n, [waves])
        left = [
            np.log((2 * k - 1) / k**2) * (4 * np.pi**2 * waves**2 * k**2 - 12 * n**2)
            - 8 * n**2 * np.log(1e-10)
            for k in (m - 1, m)
        ]
        assert left[0] > 0 >= left[1]
    assert half(100, [1]) == 25
    assert half(11, [1, 2]) == 5


@pytest.mark.parametrize("order", [0, 1, 2, 3, 4])
def test_weights_are_derivatives_of_the_test_function(fields: dict[str, Any], order: int) -> None:
    power = fields["windows"].smoothness(12, order)
    s = np.linspace(-1, 1, 25)
    exact = np.polynomial.Polynomial([1, 0, -1]) ** power
    expected = (exact.deriv(order) if order else exact)(s)
    found = fields["windows"].weights(s, power, order)
    np.testing.assert_allclose(found, expected, atol=1e-7 * np.abs(expected).max())
    assert np.all(fields["windows"].weights(np.array([-1.5, 1.5]), power, order) == 0)


@pytest.mark.parametrize(
    ("states", "order"), [((), 0), ((0,), 4), ((0, 0), 1), ((0, 0), 3), ((0, 0, 1), 2)]
)
def test_features_are_multiplied_out(
    fields: dict[str, Any], states: tuple[int, ...], order: int
) -> None:
    """By Leibniz' rule as SymPy has it."""
    x = sympy.Symbol("x")
    functions = [sympy.exp(2 * x) + x**3, sympy.sin(x) + 2]
    product = sympy.prod([functions[k] for k in states])
    expected = sympy.diff(product, x, order) if order else product
    values = {f"u{k}": f for k, f in enumerate(functions)}
    for k, f in enumerate(functions):
        values |= {f"u{k}_" + "x" * each: sympy.diff(f, x, each) for each in range(1, 5)}
    total = sympy.Integer(0)
    for term, count in fields["features"].Feature(states, 0, order).expanded().items():
        written = sympy.sympify(term.text or "1", locals={n: sympy.Symbol(n) for n in values})
        total += count * written.subs({sympy.Symbol(n): f for n, f in values.items()})
    at = {x: sympy.Rational(7, 10)}
    assert float((total - expected).subs(at)) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("shape", [(60,), (24, 25)])
def test_averages_of_features_are_those_of_what_they_say(
    fields: dict[str, Any], shape: tuple[int, ...]
) -> None:
    """By parts, and without: on waves the trapezoid rule is exact but for rounding."""
    t = np.linspace(0, 1, 40)
    grid = [np.linspace(0, 2, n) for n in shape]
    *places, T = np.meshgrid(*grid, t, indexing="ij")
    phase = sum((k + 1) * place for k, place in enumerate(places)) + 3 * T
    u, du = np.sin(phase), 3 * np.cos(phase)
    problem = field_problem(t, grid, u[..., None], du[..., None])
    windows = fields["features"].FieldWindows(problem, problem.u)
    feature = fields["features"].Feature
    np.testing.assert_allclose(windows.rates(0), windows._average(du, 0, 0), atol=1e-6)
    for axis in range(len(shape)):
        slope = (axis + 1) * np.cos(phase)
        for one, values in (
            (feature((0,), axis, 1), slope),
            (feature((0, 0), axis, 1), 2 * u * slope),
            (feature((0,), axis, 2), -((axis + 1) ** 2) * u),
            (feature((0, 0), axis, 2), 2 * slope**2 - 2 * (axis + 1) ** 2 * u**2),
        ):
            expected = windows._average(values, 0, 0)
            np.testing.assert_allclose(windows.feature(one), expected, atol=2e-3)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), size=st.integers(1, 4))
def test_sparse_sums_are_recovered(fields: dict[str, Any], seed: int, size: int) -> None:
    """Of random columns, as subspace pursuit guarantees; trimming and the fit keep them."""
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((200, 15)) * 10.0 ** rng.uniform(-3, 3, 15)
    truth = np.zeros(15)
    chosen = rng.choice(15, size, replace=False)
    norms = np.linalg.norm(features, axis=0)
    truth[chosen] = rng.choice([-1, 1], size) * rng.uniform(0.5, 2, size) / norms[chosen]
    system = fields["identification"].WeakSystem(
        features, features @ truth, norms / 200, np.arange(200) % 2 == 0
    )
    found = list(system.supports(np.ones(15, dtype=bool), 6))
    best = min(found, key=lambda one: one.rank)
    np.testing.assert_allclose(best.coefficients, truth, atol=1e-9 * np.abs(truth).max())
    assert best.error < 1e-9


def test_terms_that_contribute_little_are_trimmed(fields: dict[str, Any]) -> None:
    """A twentieth of the largest contribution is the limit, whatever the columns' sizes."""
    rng = np.random.default_rng(0)
    features = np.linalg.qr(rng.standard_normal((300, 6)))[0] * [1, 1e6, 1e-6, 1, 1, 1]
    everywhere = np.ones(300, dtype=bool)
    for share, kept in ((0.04, 1), (0.06, 2)):
        target = features[:, 0] + share * 1e-6 * features[:, 1]
        system = fields["identification"].WeakSystem(features, target, np.ones(6), everywhere)
        [_, found] = list(system.supports(everywhere[:6], 2))
        assert np.count_nonzero(found.coefficients) == kept


def test_cross_validation_is_what_a_loop_over_splits_gives(fields: dict[str, Any]) -> None:
    rng = np.random.default_rng(1)
    features, target = rng.standard_normal((1200, 5)), rng.standard_normal(1200)
    scales = rng.uniform(0.5, 2, 5)
    everywhere = np.ones(1200, dtype=bool)
    system = fields["identification"].WeakSystem(features, target, scales, everywhere)
    terms = [0, 2, 3]
    columns = features[:, terms] / scales[terms]
    errors = []
    for small in system._splits:
        assert len(small) == 11  # one in a hundred rows, less one
        large = np.setdiff1d(np.arange(1200), small)
        error = 0.0
        for used, other, weight in ((small, large, 0.99), (large, small, 0.01)):
            values = np.linalg.lstsq(columns[used], target[used], rcond=None)[0]
            error += weight * float(np.linalg.norm(columns[other] @ values - target[other]))
        errors.append(error)
    expected = (np.mean(errors) + np.std(errors)) / np.linalg.norm(target)
    assert system._validated(terms) == pytest.approx(expected, rel=1e-9)


def test_dynamic_rows_are_those_of_the_burst(fields: dict[str, Any]) -> None:
    activity = np.concatenate([np.linspace(0, 0.05, 900), np.linspace(0.05, 1.0, 100)])
    rows = fields["identification"].dynamic_rows(activity, 100)
    assert rows[900:].all()
    assert not rows[:500].any()


@pytest.mark.parametrize("spread_", [0.0, 1e-16, np.nan])
def test_all_rows_are_taken_where_they_are_alike(fields: dict[str, Any], spread_: float) -> None:
    activity = 3.0 + spread_ * np.arange(50)
    assert fields["identification"].dynamic_rows(activity, 100).all()


def fitted(adapter: Any, problem: Problem, **changes: Any) -> Any:
    parameters: dict[str, Any] = {"order": 6, "most_features": 150}
    method = adapter(seed=0, threads=1, **{**parameters, **changes})
    method.fit(problem)
    return method


def test_burgers_is_found(fields: dict[str, Any]) -> None:
    [equation] = fitted(fields["adapter"].Adapter, burgers()).equations()
    found = numbers(equation, ("u0*u0_x", "u0_xx"))
    assert found == {
        "u0*u0_x": pytest.approx(-1, abs=1e-6),
        "u0_xx": pytest.approx(0.1, abs=1e-6),
    }


def test_waves_of_two_states_are_found(fields: dict[str, Any]) -> None:
    equations = fitted(fields["adapter"].Adapter, rotation()).equations()
    assert numbers(equations[0], ("u1_x",))["u1_x"] == pytest.approx(1, abs=1e-6)
    assert numbers(equations[1], ("u0_x",))["u0_x"] == pytest.approx(1, abs=1e-6)


def test_a_drop_in_two_dimensions_is_found(fields: dict[str, Any]) -> None:
    [equation] = fitted(fields["adapter"].Adapter, spread((30, 28), 30)).equations()
    found = numbers(equation, ("u0_x", "u0_xx", "u0_yy"))
    assert found["u0_x"] == pytest.approx(-0.25, rel=0.01)
    assert found["u0_xx"] == pytest.approx(0.5, rel=0.01)


def transport(share: float, seed: int) -> Problem:
    """The paper's transport with diffusion on its grid, ``u_t = -u_x + 0.05 u_xx``.

    Its initial state could not be read: here it is a few waves under an envelope.
    """
    x, t = np.linspace(0, 1, 257), np.linspace(0, 0.0299, 300)
    nodes = np.arange(512) / 512
    start = np.where(
        nodes < 0.9, np.sin(4 * np.pi * nodes / 0.9) ** 3 * np.cos(np.pi * nodes / 0.9), 0
    )
    waves = np.fft.fftfreq(512, 1 / 512)
    kept = np.abs(waves) < 60
    factors = 2j * np.pi * waves[kept]
    rates = -factors + 0.05 * factors**2
    along = np.exp(factors * x[:, None])
    parts = (np.fft.fft(start) / 512)[kept, None] * np.exp(rates[:, None] * t)
    u, du = np.real(along @ parts), np.real(along @ (rates[:, None] * parts))
    return field_problem(t, [x], noisy(u[..., None], share, seed), np.asarray(du)[..., None])


@pytest.mark.parametrize(("share", "error"), [(0.0, 1e-6), (0.5, 0.0132 * 3)])
def test_transport_is_found_about_as_well_as_in_the_paper(
    fields: dict[str, Any], share: float, error: float
) -> None:
    """The authors' example has 0.0132 at a noise of half of the signal; draws differ by some 2."""
    errors = []
    for seed in range(3 if share else 1):
        [equation] = fitted(fields["adapter"].Adapter, transport(share, seed)).equations()
        found = numbers(equation, ("u0_x", "u0_xx"))
        off = np.hypot(found["u0_x"] + 1, found["u0_xx"] - 0.05)
        errors.append(float(off / np.hypot(1, 0.05)))
    assert np.median(errors) < error


def test_what_is_printed_is_what_is_predicted_of_fields(fields: dict[str, Any]) -> None:
    problem = spread((24, 22), 20)
    method = fitted(fields["adapter"].Adapter, problem)
    offered = list(method.candidates())
    assert len(offered) > 3
    for place in range(len(offered)):
        method.choose([place])
        values = method.predict(without_targets(problem))
        assert method.equations() == list(offered[place].equations)
        np.testing.assert_allclose(values[..., 0], offered[place].predictions, rtol=1e-12)


def test_fields_that_do_not_fit_a_window_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(Unsupported, match="11 nodes along each axis, and t has 10"):
        fitted(fields["adapter"].Adapter, cut(burgers(), slice(0, 10)))
    some = burgers()
    arrays = {**some.arrays, "rows": np.arange(50.0)}
    with pytest.raises(Unsupported, match="without --max-rows"):
        fitted(fields["adapter"].Adapter, Problem("field", some.variables, some.targets, arrays))


def test_long_libraries_lose_their_highest_degrees(fields: dict[str, Any]) -> None:
    method = fitted(fields["adapter"].Adapter, burgers(), most_features=20)
    assert method._order == 3  # 1 + 3 x 5 features with derivatives up to the fourth; 4: 21
    assert "u0*u0_x" in method.equations()[0]
