"""Screening: all products of factors, against closed forms and least squares one by one."""

from __future__ import annotations

import itertools
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from genetic_methods import evaluate_text, nmse, specification, table
from harness import imported
from sweeps import sampled

from eqverdict.fidelity.compare import compare

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

GIVEN = specification("screening")["hyperparameters"]


@pytest.fixture(scope="module")
def screening() -> Iterator[Any]:
    with imported("screening") as module:
        yield module


@pytest.fixture(scope="module")
def modules(screening: Any) -> dict[str, Any]:
    del screening  # its modules can be imported now
    return {
        name: sys.modules[name]
        for name in ("blocks", "borders", "dictionary", "logarithms", "models", "screen", "sums")
    }


def rows(n: int = 900, d: int = 2, low: float = -5, high: float = 5, seed: int = 3) -> Array:
    return np.random.default_rng(seed).uniform(low, high, (n, d))


def away(n: int = 900, d: int = 2, seed: int = 3) -> Array:
    """Return values of both signs that are not near zero."""
    generator = np.random.default_rng(seed)
    signs: Array = generator.choice([-1.0, 1.0], (n, d))
    return generator.uniform(0.5, 5, (n, d)) * signs


def fitted(screening: Any, X: Array, y: Array, limit: float | None = None, **settings: Any) -> Any:
    adapter = screening.Adapter(seed=0, threads=1, **{**GIVEN, **settings})
    adapter.fit(table(X, y.reshape(len(X), -1), limit))
    return adapter


LAWS: dict[str, tuple[str, Array]] = {
    "a product": ("sin(1.7*u0)*exp(-0.3*u1**2)", rows()),
    "a wave over a plane": ("2.5*cos(1.3*u0 - 0.4*u1)", rows()),
    "two terms": ("0.7*u0*u1 + 3*tanh(0.6*u0)", rows()),
    "a constant beside": ("sin(u0**2 + u1**2)/(1 + u0**2 + u1**2) - 4", rows()),
    "behind a link": ("exp(0.3*u0 + sin(u1))", rows()),
    "powers of measurements": ("2.5*u0**1.5/u1**2", rows(low=0.5, high=9)),
    "powers with signs": ("-0.3*u0*u1**3*u2/u3**2", away(d=4)),
    "powers and a function": ("2.5*u0*u1*sin(u2)/u3", away(d=4)),
    "a quotient of functions": ("sin(u0)/cos(u1)", away()),
    "a part that is added": ("3*u0/(u1 + u0*u2)", rows(d=3, low=0.5, high=9)),
    "a number that is added": ("u0/sqrt(1 - 0.031*u1**2)", rows()),
    "a rate": ("u0**2*exp(-0.7*u1/u2)/u2", rows(d=3, low=0.5, high=4)),
    "a polynomial of three": ("u0**5 + u1**5 + u2**5 - u0*u1*u2", rows(d=3)),
    "one variable": ("0.3*u0*exp(-0.5*u0**2) + 1", rows(d=1)),
}


@pytest.mark.parametrize("name", sampled(LAWS, share=0.25))
def test_laws_are_found_as_they_are(screening: Any, name: str) -> None:
    truth, X = LAWS[name]
    adapter = fitted(screening, X, evaluate_text(truth, X))
    (equation,) = adapter.equations()
    other = rows(200, X.shape[1], X.min(), X.max(), seed=4)
    assert nmse(evaluate_text(equation, other), evaluate_text(truth, other)) < 1e-15, equation
    names = tuple(f"u{i}" for i in range(X.shape[1]))
    domain = dict.fromkeys(names, (float(X.min()), float(X.max())))
    assert compare([truth], [equation], names, domain=domain).verdict.value == "identified"


BORDERED: dict[str, tuple[Callable[[Array], Array], str]] = {
    "along a line": (lambda X: np.where(X[:, 0] > X[:, 1], X[:, 0] ** 2, X[:, 1] ** 3), "u0 - u1"),
    "around a circle": (
        lambda X: np.where((X**2).sum(axis=1) < 9, np.sin(X[:, 0]), 0.2 * X[:, 1]),
        "u0**2 + u1**2",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BORDERED)
def test_a_domain_in_two_parts_is_reported(screening: Any, name: str) -> None:
    law, border = BORDERED[name]
    X = rows(1500)
    adapter = fitted(screening, X, law(X))
    (equation,) = adapter.equations()
    assert "sign" in equation
    assert border in equation
    assert nmse(evaluate_text(equation, X), law(X)) < 1e-15


def test_the_screen_is_least_squares_of_every_product(modules: dict[str, Any]) -> None:
    X = rows(80)
    factors = modules["dictionary"].factors(X, 30)
    screen = modules["screen"].Screen(factors[:12], factors, X)
    rest = np.random.default_rng(5).standard_normal(len(X))
    found = screen.best(rest, 500)
    left, right = ([(), *((one,) for one in own)] for own in (factors[:12], factors))
    terms = [one + other for one, other in itertools.product(left, right) if one or other]
    brute = max(explained([modules["blocks"].values(term, X)], rest) for term in terms)
    assert found[0][0] == pytest.approx(brute, rel=1e-3)
    for gain, term in found[:50]:
        own = explained([modules["blocks"].values(term, X)], rest)
        assert gain == pytest.approx(own, rel=1e-3, abs=1e-5)


def test_sums_of_two_are_least_squares_too(modules: dict[str, Any]) -> None:
    X = rows(80)
    factors = modules["dictionary"].factors(X, 30)
    rest = np.random.default_rng(6).standard_normal(len(X))
    found = modules["screen"].Screen(factors, factors, X).sums(rest, 40)
    columns = [one.values(X) for one in factors]
    brute = max(explained(list(two), rest) for two in itertools.combinations(columns, 2))
    assert found[0][0] == pytest.approx(brute, rel=1e-3)
    for gain, (one, other) in found[:20]:
        own = [modules["blocks"].values(each, X) for each in (one, other)]
        assert gain == pytest.approx(explained(own, rest), rel=1e-3, abs=1e-5)


def test_products_of_three_factors_are_screened(modules: dict[str, Any]) -> None:
    X = rows(400)
    products = modules["sums"].Products(X, modules["sums"].ScreeningSettings())
    values = evaluate_text("u0*sin(2*u0)*cos(1.0*u1)", X)
    gain, term = products.triples(values - values.mean())[0]
    own = modules["blocks"].values(term, X)
    assert gain == pytest.approx(explained([own], values - values.mean()), rel=1e-3)
    assert gain > 0.9
    assert len(term) == 3


def explained(columns: list[Array], rest: Array) -> float:
    """Return the share of a residual's variance that columns and a constant explain."""
    every = np.column_stack([np.ones(len(rest)), *(one / np.abs(one).max() for one in columns)])
    left = rest - every @ np.linalg.lstsq(every, rest, rcond=None)[0]
    return float(1 - left @ left / np.square(rest - rest.mean()).sum())


@pytest.mark.parametrize("X", [rows(60), rows(60, 3, 0.5, 4), np.round(rows(60))])
def test_every_factor_is_read_back_as_it_is_worked_out(modules: dict[str, Any], X: Array) -> None:
    factors = modules["dictionary"].factors(X, 100_000)
    names = [f"u{i}" for i in range(X.shape[1])]
    seen: dict[Any, Any] = {}
    for one in factors:
        seen.setdefault(one.signature, one)
    assert len(seen) > 100
    for one in seen.values():
        told = evaluate_text(one.text(names), X)
        np.testing.assert_allclose(told, one.values(X), rtol=1e-9, atol=1e-12, err_msg=repr(one))


@pytest.mark.parametrize("power", [2, -1, 0.5, -1.5])
def test_a_factor_is_raised_as_it_is_written(modules: dict[str, Any], power: float) -> None:
    X = rows(60, low=0.5, high=1.4)
    seen = {one.signature: one for one in modules["dictionary"].factors(X, 100_000)}
    for plain in seen.values():
        one = replace(plain, power=power)
        with np.errstate(all="ignore"):
            values, own = plain.values(X) ** power, one.values(X)
        told = evaluate_text(one.text(["u0", "u1"]), X)
        np.testing.assert_allclose(own, values, rtol=1e-12, err_msg=repr(one))
        np.testing.assert_allclose(told, values, rtol=1e-9, err_msg=repr(one))


def test_functions_and_powers_are_least_squares_of_each(modules: dict[str, Any]) -> None:
    X = away(80, 3)
    y = np.random.default_rng(1).normal(size=len(X))
    logarithms = modules["logarithms"].Logarithms(X, y)
    known, columns = logarithms._functions()
    known, columns = known[::5], columns[:, ::5]
    assert len(known) > 30
    one, two = modules["logarithms"].left_by(columns, logarithms._rest)
    powers, wanted = np.column_stack([np.ones(len(X)), np.log(np.abs(X))]), np.log(np.abs(y))

    def left(*functions: Any) -> float:
        beside = [modules["logarithms"]._log(each, X) for each in functions]
        every = np.column_stack([powers, *beside])
        every /= np.abs(every).max(axis=0)
        rest = wanted - every @ np.linalg.lstsq(every, wanted, rcond=None)[0]
        return float(rest @ rest)

    np.testing.assert_allclose(one, [left(each) for each in known], rtol=1e-8)
    for i, j in np.argwhere(np.isfinite(two))[::5]:
        assert two[i, j] == pytest.approx(left(known[i], known[j]), rel=1e-6), known[i]


def test_exponents_go_to_what_is_nearest(modules: dict[str, Any]) -> None:
    """Of signed variables whole ones, of others twelfths; a zero in a row costs that row alone."""
    X = np.column_stack([away(100, 1), np.abs(away(100, 2, seed=5))])
    y = 3 * X[:, 0] ** -2 * X[:, 1] ** 1.25 * X[:, 2] ** (1 / 3)
    X[:3, 0], y[:3] = 0.0, 5.0
    (first,) = modules["logarithms"].Logarithms(X, y).products()
    assert first[0].quantity[0].powers == pytest.approx((-2, 1.25, 1 / 3))
    assert list(modules["logarithms"].Logarithms(X[:10], y[:10]).products()) == []


def test_every_function_is_in_some_dictionary(modules: dict[str, Any]) -> None:
    many = [*modules["dictionary"].factors(rows(60), 10**6)]
    many += modules["dictionary"].factors(rows(60, 3, 0.5, 4), 10**6)
    many += [one for term in modules["sums"]._plain(rows(60)) for one in term]
    many += modules["dictionary"].plane_waves(rows(60), 3)
    assert {one.function for one in many} == set(modules["blocks"].FUNCTIONS)


def test_inner_numbers_go_to_the_least_squares(modules: dict[str, Any]) -> None:
    X = rows(300)
    blocks = modules["blocks"]
    x, y = blocks.Monomial((1, 0)), blocks.Monomial((0, 1))
    start = [(blocks.Factor("sin", (x, y), (1.25, 0.7)),), (blocks.Factor("exp", (y,), (0.3,)),)]
    values = 2 * np.sin(1.3 * X[:, 0] + 0.72 * X[:, 1]) - 0.1 * np.exp(0.35 * X[:, 1]) + 5
    model = modules["models"].fitted(start, X, values)
    assert model.left < 1e-20
    assert model.factors == pytest.approx((2, -0.1), rel=1e-6)
    assert model.offset == pytest.approx(5, rel=1e-6)
    tidy = modules["models"].tidied(model, X, values, lambda: False)
    assert tidy.text(["a", "b"]) == "2*sin(1.3*a + 0.72*b) - 0.1*exp(0.35*b) + 5"


@pytest.mark.parametrize("level", [0.0, 1.25, -2.0])
def test_the_level_of_a_border_is_round(modules: dict[str, Any], level: float) -> None:
    u = np.random.default_rng(8).uniform(-4, 4, 400)
    found = modules["borders"].meeting(u, u < level, 9.0)
    assert np.sum((u < found) != (u < level)) == 0
    assert len(f"{found:g}") <= 6


@pytest.mark.slow
def test_noise_is_not_written_down(screening: Any) -> None:
    X = rows()
    clean = evaluate_text("sin(1.7*u0)*exp(-0.3*u1**2)", X)
    noise = 0.05 * clean.std() * np.random.default_rng(2).standard_normal(len(X))
    adapter = fitted(screening, X, clean + noise, kinds=4, beam=1, terms=1, directions=4)
    errors = [nmse(one.predictions, clean) for one in adapter.candidates()]
    assert min(errors) < 1e-4, "the law is among them"
    sizes = [len(one.equations[0]) for one in adapter.candidates()]
    assert sizes[0] == min(sizes)
    left = [nmse(one.predictions, clean + noise) for one in adapter.candidates()]
    assert all(b < a * 1.02 for a, b in itertools.pairwise(left)), "a longer answer is a better one"


def test_a_candidate_of_each_target_can_be_chosen(screening: Any) -> None:
    X = rows(400)
    Y = np.stack([X[:, 0] * X[:, 1], np.sin(2 * X[:, 1])], axis=1)
    adapter = fitted(screening, X, Y)
    assert nmse(adapter.predict(table(X)).ravel(), Y.ravel()) < 1e-20
    offered = list(adapter.candidates())
    assert {one.target for one in offered} == {0, 1}
    places = [next(i for i, one in enumerate(offered) if one.target == k) for k in (0, 1)]
    adapter.choose(places)
    assert adapter.equations() == [offered[place].equations[0] for place in places]
    other = rows(100, seed=9)
    told = [evaluate_text(text, other) for text in adapter.equations()]
    np.testing.assert_allclose(adapter.predict(table(other)), np.stack(told, axis=1))


def test_the_answer_hangs_on_nothing_but_data_and_seed(screening: Any) -> None:
    X = rows(500)
    y = np.sin(X[:, 0]) + 0.2 * X[:, 1] ** 2
    assert (
        fitted(screening, X, y, most=300).equations()
        == fitted(screening, X, y, most=300).equations()
    )


def test_an_answer_is_there_when_time_is_up(screening: Any) -> None:
    X = rows()
    y = np.random.default_rng(1).standard_normal(len(X))  # nothing explains it
    adapter = fitted(screening, X, y, limit=0.01)
    assert adapter.stopped_early  # the whole search takes minutes
    assert len(adapter.equations()) == 1


def test_no_border_is_looked_for_when_time_is_up(modules: dict[str, Any]) -> None:
    """Of nine variables all of them would take a minute."""
    X = rows()
    y = np.where(X[:, 0] > X[:, 1], X[:, 0] ** 2, X[:, 1])
    asked = iter([False, False, True])
    some = modules["borders"].borders(X, y, lambda: next(asked))
    assert len(some) == 2
    assert len(modules["borders"].borders(X, y, lambda: False)) > 2


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_not_finite_is_refused(screening: Any, value: float) -> None:
    X = rows(50)
    y = X[:, 0].copy()
    y[3] = value
    with pytest.raises(ValueError, match="not finite"):
        fitted(screening, X, y)


def test_a_constant_is_a_constant(screening: Any) -> None:
    X = rows(50)
    assert fitted(screening, X, np.full(50, 2.5)).equations() == ["2.5"]


def test_few_rows_are_enough_for_an_answer(screening: Any) -> None:
    for n in (2, 3, 7, 20):
        X = rows(n)
        adapter = fitted(screening, X, X[:, 0] * 3, limit=2)
        assert len(adapter.equations()) == 1


@pytest.mark.parametrize(
    ("start", "plain"),
    [
        ("exp(1e-8*u1)", "u1"),
        ("sin(0.0007*u0**2 - 0.0007*u1**2)", "u0**2 - u1**2"),
        ("tanh(-1e-3*u0)", "u0"),
    ],
)
def test_a_function_of_what_is_small_is_what_is_small(
    modules: dict[str, Any], start: str, plain: str
) -> None:
    X = rows(300)
    blocks, models = modules["blocks"], modules["models"]
    x, y = blocks.Monomial((1, 0)), blocks.Monomial((0, 1))
    xx, yy = blocks.Monomial((2, 0)), blocks.Monomial((0, 2))
    factor = {
        "exp": blocks.Factor("exp", (y,), (1e-8,)),
        "sin": blocks.Factor("sin", (xx, yy), (7e-4, -7e-4)),
        "tan": blocks.Factor("tanh", (x,), (-1e-3,)),
    }[start[:3]]
    values = 0.3 * evaluate_text(plain, X) + 2
    found = models.tidied(models.fitted([(factor,)], X, values), X, values, lambda: False)
    assert [one.function for term in found.terms for one in term] == ["id"]
    assert found.exact


def test_what_many_monomials_sum_up_to_is_found_in_one_word(screening: Any) -> None:
    X = rows(600, low=-2, high=2)
    y = np.sinh(X[:, 0] * X[:, 1] / 5)  # some monomials leave nothing of it, either
    assert fitted(screening, X, y).equations() == ["sinh(0.2*u0*u1)"]
