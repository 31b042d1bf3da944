"""Prefix expressions in batches: values, derivatives, constants, polynomials, constraints."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import least_squares
from torch_methods import ALGORITHMS, modules

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Array = NDArray[np.float64]

FUNCTIONS = ("add", "sub", "mul", "div", "sin", "cos", "exp", "log", "sqrt", "square", "tanh")
TRIG = {"sin", "cos", "tan"}
PAIRS = ({"exp", "log"}, {"sqrt", "square"}, {"tan", "atan"})


@pytest.fixture(scope="module")
def load() -> Iterator[Any]:
    shared = ALGORITHMS / "shared"
    with modules(
        shared / "expression_trees", shared / "prefix_trees", shared / "policy_search"
    ) as found:
        yield found


@pytest.fixture(scope="module")
def tokens(load: Any) -> Any:
    return load("tokens").Tokens(FUNCTIONS, 2)


def draw(tokens: Any, random: np.random.Generator, longest: int = 25) -> list[int]:
    """Draw one whole expression, without any constraints."""
    while True:
        codes: list[int] = []
        waiting = 1
        while waiting and len(codes) < longest:
            codes.append(int(random.integers(len(tokens))))
            waiting += int(tokens.arity[codes[-1]]) - 1
        if not waiting:
            return codes


def nested(codes: Sequence[int], tokens: Any) -> Any:
    """Read an expression as (name, children): the tests' own reader."""
    left = iter(codes)

    def read() -> Any:
        code = int(next(left))
        return tokens.names[code], [read() for _ in range(tokens.arity[code])]

    whole = read()
    assert next(left, None) is None
    return whole


def value(tree: Any, x: Sequence[float], constants: Iterator[float]) -> float:
    """Evaluate one expression at one place by the mathematics of Python."""
    name, children = tree
    parts = [value(child, x, constants) for child in children]
    if name == "const":
        return next(constants)
    if name.startswith("x"):
        return x[int(name[1:])]
    try:
        return float(
            {
                "add": lambda a, b: a + b,
                "sub": lambda a, b: a - b,
                "mul": lambda a, b: a * b,
                "div": lambda a, b: a / b,
                "square": lambda a: a * a,
                "sin": math.sin,
                "cos": math.cos,
                "exp": math.exp,
                "log": math.log,
                "sqrt": math.sqrt,
                "tanh": math.tanh,
            }[name](*parts)  # type: ignore[operator]
        )
    except (ValueError, ZeroDivisionError, OverflowError):
        return math.nan


def test_values_are_those_of_a_naive_evaluator(load: Any, tokens: Any) -> None:
    random = np.random.default_rng(1)
    expressions = [draw(tokens, random) for _ in range(300)]
    X, constants = random.uniform(0.2, 2, (7, 2)), random.uniform(-2, 2, (300, 25))
    codes = load("tapes").pad(expressions)
    found = load("tapes").Tape(codes, tokens).evaluate(X, constants)
    for row, expression in enumerate(expressions):
        tree = nested(expression, tokens)
        for place, x in enumerate(X):
            expected = value(tree, x.tolist(), iter(constants[row].tolist()))
            if math.isfinite(expected):
                assert found[row, place] == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert np.isfinite(found).mean() > 0.5


def test_what_is_infinite_on_the_way_has_no_value(load: Any, tokens: Any) -> None:
    """The exponential of the logarithm of zero is no zero, and 1 over infinity is none either."""
    texts = ["exp log sub x0 x0", "div x0 exp exp mul square x1 square x1", "exp sub x0 x0"]
    codes = load("tapes").pad([tokens.read(text) for text in texts])
    found = load("tapes").Tape(codes, tokens).evaluate(np.array([[2.0, 9.0]]), np.zeros((3, 0)))
    assert np.isnan(found[:2]).all()
    assert found[2] == 1.0


def test_equal_parts_are_evaluated_once(load: Any, tokens: Any) -> None:
    expressions = [tokens.read("add sin x0 mul x1 x1"), tokens.read("sub sin x0 mul x1 x1")]
    tape = load("tapes").Tape(load("tapes").pad(expressions), tokens)
    assert tape.size == 6  # x0, x1, sin, mul, add, sub
    constants = [tokens.read("add const x0"), tokens.read("add const x0")]
    assert load("tapes").Tape(load("tapes").pad(constants), tokens).size == 5


def test_gradients_are_those_of_finite_differences(load: Any, tokens: Any) -> None:
    random = np.random.default_rng(2)
    expressions = [draw(tokens, random) for _ in range(400)]
    X, constants = random.uniform(0.2, 2, (5, 2)), random.uniform(0.2, 2, (400, 25))
    tape = load("tapes").Tape(load("tapes").pad(expressions), tokens)
    values = tape.evaluate(X, constants)
    gradients = tape.gradients()
    compared = 0
    for number in range(gradients.shape[1]):
        step = np.zeros(25)
        step[number] = 1e-6
        with np.errstate(all="ignore"):
            up, down = (tape.evaluate(X, constants + sign * step) for sign in (1, -1))
            expected = (up - down) / 2e-6
            own = gradients[:, number]
            sure = np.isfinite(expected) & np.isfinite(own) & (np.abs(values) < 1e2)
            sure &= (np.abs(own) < 1e2) & (tape.places[:, number] >= 0)[:, None]
        compared += sure.sum()
        close = np.isclose(own[sure], expected[sure], rtol=1e-4, atol=1e-5)
        assert close.mean() > 0.995  # a difference across a pole is none
    assert compared > 1000


@pytest.mark.parametrize("scaling", [False, True])
def test_constants_are_those_of_scipy(load: Any, tokens: Any, scaling: bool) -> None:
    random = np.random.default_rng(3)
    X = random.uniform(0.5, 2, (60, 2))
    y = 2.5 * np.exp(-0.7 * X[:, 0]) + np.sin(1.3 * X[:, 1]) + 0.01 * random.normal(size=60)
    texts = ["add mul const exp mul const x0 sin mul const x1", "div x0 add const x1", "sin x0"]
    expressions = [tokens.read(text) for text in texts]
    fitter = load("levenberg").ConstantFitter(X, y, tokens, scaling)
    fits = fitter.fit(load("tapes").pad(expressions), np.ones((3, 3)), iterations=60)
    models = [
        lambda c: c[0] * np.exp(c[1] * X[:, 0]) + np.sin(c[2] * X[:, 1]),
        lambda c: X[:, 0] / (c[0] + X[:, 1]),
        lambda _: np.sin(X[:, 0]),
    ]
    for row, model in enumerate(models):

        def residual(c: Array, model: Any = model) -> Array:
            return np.asarray(c[3] * model(c) + c[4] - y if scaling else model(c) - y)

        start = [*fits.constants[row], fits.slope[row], fits.intercept[row]]
        own = float(np.mean(residual(np.array(start)) ** 2))
        assert own == pytest.approx(fits.error[row], rel=1e-9)
        best = least_squares(residual, start, xtol=1e-15, ftol=1e-15, gtol=1e-15)
        assert own <= 2 * best.cost / 60 * (1 + 1e-5)


def test_blocks_and_padding_change_nothing(
    load: Any, tokens: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(4)
    codes = load("tapes").pad([draw(tokens, random) for _ in range(60)])
    X = random.uniform(0.5, 2, (20, 2))
    fitter = load("levenberg").ConstantFitter(X, X[:, 0] ** 2, tokens)
    start = np.ones((60, 25))
    whole = fitter.fit(codes, start, iterations=5)
    monkeypatch.setattr(load("levenberg"), "_BLOCK", 500)
    parts = fitter.fit(codes, start, iterations=5)
    np.testing.assert_allclose(parts.error, whole.error, rtol=1e-6)
    late = fitter.fit(codes, start, iterations=5, late=lambda: True)
    np.testing.assert_array_equal(late.constants, start)
    assert (whole.error <= late.error * (1 + 1e-12)).all()


def test_few_columns_are_those_of_all_choices(load: Any) -> None:
    random = np.random.default_rng(5)
    columns, y = random.normal(size=(40, 7)) * 10.0 ** random.integers(-3, 4, 7), None
    y = columns @ np.where(random.random(7) < 0.6, 1.0, 0.0) + random.normal(size=40)
    found = list(load("sparse_sums").sparse_sums(columns, y, longest=7, beam=1000, kept=2))
    for length in range(1, 8):
        errors = sorted(
            float(np.linalg.lstsq(columns[:, list(each)], y, rcond=None)[1][0])
            for each in itertools.combinations(range(7), length)
        )
        own = [
            float(np.sum((columns[:, support] @ values - y) ** 2))
            for support, values in found
            if len(support) == length
        ]
        assert own == pytest.approx(errors[: len(own)], rel=1e-6)
        assert len(own) == min(2, len(errors))


def with_one_poly(tokens: Any, random: np.random.Generator) -> list[int]:
    while True:
        codes = draw(tokens, random, 15)
        if codes.count(tokens.code("poly")) == 1:
            return codes


def test_what_poly_has_to_be_gives_the_target(load: Any) -> None:
    """Undone from the root down, then evaluated again: the target comes back."""
    tokens = load("tokens").Tokens(FUNCTIONS, 2, polynomial=True)
    random = np.random.default_rng(6)
    expressions = [with_one_poly(tokens, random) for _ in range(300)]
    X, y = random.uniform(0.3, 1.5, (9, 2)), random.uniform(0.2, 0.9, 9)
    tape = load("tapes").Tape(load("tapes").pad(expressions), tokens)
    constants = random.uniform(0.5, 1.5, (300, 15))
    values = tape.forward(X, constants, np.zeros((300, 9)))
    rows, wanted = load("polynomials").undo(tape, values, y, tokens)
    assert sorted(rows.tolist()) == list(range(300))
    given = np.zeros((300, 9))
    given[rows] = wanted
    with np.errstate(all="ignore"):
        again = tape.evaluate(X, constants, given)
    sure = np.isfinite(given).all(axis=1) & (np.abs(given) < 1e3).all(axis=1)
    sure &= np.isfinite(again).all(axis=1)
    assert sure.sum() > 80
    np.testing.assert_allclose(again[sure], np.broadcast_to(y, again[sure].shape), rtol=1e-6)


def test_a_hidden_polynomial_is_found(load: Any) -> None:
    tokens = load("tokens").Tokens(FUNCTIONS, 2, polynomial=True)
    random = np.random.default_rng(7)
    X = random.uniform(-1, 1, (80, 2))
    hidden = 1.5 - 2.0 * X[:, 0] * X[:, 1] + 0.5 * X[:, 1] ** 3
    monomials = load("polynomials").Monomials(X, 3)
    for text, y in {
        "poly": hidden,
        "exp poly": np.exp(hidden),
        "sub x0 mul poly x1": X[:, 0] - hidden * X[:, 1],
        "div exp x0 poly": np.exp(X[:, 0]) / hidden,
    }.items():
        tape = load("tapes").Tape(load("tapes").pad([tokens.read(text)]), tokens)
        values = tape.forward(X, np.zeros((1, 0)), np.zeros((1, 80)))
        _, wanted = load("polynomials").undo(tape, values, y, tokens)
        coefficients = monomials.fit(wanted, 1e-8)[0]
        assert np.count_nonzero(np.abs(coefficients) > 1e-9) == 3
        np.testing.assert_allclose(monomials.values @ coefficients, hidden, rtol=1e-8)
        found = {
            len(np.flatnonzero(each)): each
            for each in monomials.shorter(wanted[0], longest=3, beam=30, kept=1)
        }
        np.testing.assert_allclose(monomials.values @ found[3], hidden, rtol=1e-6)
        tree = monomials.tree(found[3])
        np.testing.assert_allclose(load("trees").evaluate(tree, X), hidden, rtol=1e-6)


def test_of_few_rows_the_degree_is_lower(load: Any) -> None:
    monomials = load("polynomials").Monomials(np.random.default_rng(0).normal(size=(21, 3)), 3)
    assert len(monomials.powers) == 10
    assert len(load("polynomials").Monomials(np.ones((1, 3)), 3).powers) == 1


def allowed(codes: Sequence[int], tokens: Any, rules: Any) -> bool:
    """Check all constraints on a whole expression: the tests' own reading of the paper."""
    if not rules.min_length <= len(codes) <= rules.max_length:
        return False
    names = [tokens.names[code] for code in codes]
    if names.count("const") > rules.max_constants or names.count("poly") > 1:
        return False

    def fine(tree: Any, inside: bool) -> bool:
        name, children = tree
        if name in TRIG and inside:
            return False
        if children and all(child[0] == "const" for child in children):
            return False
        if len(children) == 1 and any({name, children[0][0]} == pair for pair in PAIRS):
            return False
        return all(fine(child, inside or name in TRIG) for child in children)

    return fine(nested(codes, tokens), inside=False)


RULES = [(4, 30, 3), (1, 12, 0), (1, 3, 1), (9, 11, 2)]


@pytest.mark.parametrize("bounds", RULES)
@pytest.mark.parametrize("polynomial", [False, True])
def test_constraints_hold_for_all_that_grows(
    load: Any, bounds: tuple[int, int, int], polynomial: bool
) -> None:
    tokens = load("tokens").Tokens(FUNCTIONS, 2, polynomial=polynomial)
    least, most, constants = bounds
    rules = load("growth").Rules(min_length=least, max_length=most, max_constants=constants)
    random = np.random.default_rng(8)
    growth = load("growth").Growth(400, tokens, rules)
    while not growth.done.all():
        weights = random.random((400, len(tokens))) + growth.allowed()
        growth.put(np.argmax(weights, axis=1))
    lengths = set()
    for row in growth.codes:
        codes = row[row >= 0].tolist()
        lengths.add(len(codes))
        assert allowed(codes, tokens, rules)
    assert min(lengths) >= least
    assert max(lengths) <= most


def test_what_may_not_be_is_distinguished_from_what_may(load: Any) -> None:
    """Both ways, on expressions that were drawn without constraints."""
    tokens = load("tokens").Tokens(FUNCTIONS, 2, polynomial=True)
    rules = load("growth").Rules(min_length=2, max_length=20, max_constants=2)
    random = np.random.default_rng(9)
    expressions = [draw(tokens, random, 20) for _ in range(1500)]
    codes = load("tapes").pad(expressions)
    found = load("growth").Growth(1500, tokens, rules).follow(codes)
    expected = [allowed(each, tokens, rules) for each in expressions]
    assert found.tolist() == expected
    assert 50 < sum(expected) < 1450


def test_melding_keeps_to_the_constraints_and_never_loses_the_best(load: Any) -> None:
    tokens = load("tokens").Tokens(FUNCTIONS, 2)
    rules = load("growth").Rules(min_length=1, max_length=15)
    random = np.random.default_rng(10)
    drawn = (draw(tokens, random, 15) for _ in itertools.count())
    start = list(itertools.islice((e for e in drawn if allowed(e, tokens, rules)), 60))
    wanted = tokens.read("add mul x0 x0 sin x1")

    def near(codes: Any) -> Array:
        rows = [row[row >= 0].tolist() for row in codes]
        assert all(allowed(row, tokens, rules) for row in rows)
        return np.array(
            [
                sum(a == b for a, b in zip(row, wanted, strict=False)) - abs(len(row) - 6)
                for row in rows
            ],
            dtype=np.float64,
        )

    plan = load("melding").Melding(population=60, generations=15, returned=10)

    def evolve() -> Any:
        return load("melding").meld(
            start,
            near(load("tapes").pad(start)),
            plan,
            tokens=tokens,
            rules=rules,
            random=np.random.default_rng(11),
            evaluate=near,
            late=lambda: False,
        )

    people, rewards = evolve()
    assert len(people) == 10
    assert rewards.tolist() == sorted(rewards.tolist(), reverse=True)
    assert rewards[0] > near(load("tapes").pad(start)).max()
    again, _ = evolve()
    assert people == again


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"min_length": 0}, "min_length is 0; it must be 1 or more"),
        ({"min_length": 4, "max_length": 5}, "max_length is 5; it must be min_length"),
        ({"max_constants": -1}, "max_constants is -1; it must be 0 or more"),
    ],
)
def test_rules_that_make_no_sense_are_refused(
    load: Any, settings: dict[str, int], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        load("growth").Rules(**settings)


def test_an_unknown_function_is_refused(load: Any) -> None:
    with pytest.raises(ValueError, match=r"no function is called 'sine'.*'sin'"):
        load("tokens").Tokens(("add", "sine"), 1)
