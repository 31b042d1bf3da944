"""SINDy-PI: rational laws from closed forms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_methods import folders, modules, specification

from eqverdict import parse
from mdbench.worker import Problem, Unsupported

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

U = np.linspace(0.05, 3.0, 200)[:, None]


@pytest.fixture(scope="module")
def sindy_pi() -> Iterator[Any]:
    with modules(*folders("sindy_pi")) as imported:
        yield imported("adapter").Adapter


def problem(u: Any, *rates: Any, **more: Any) -> Problem:
    arrays = {"t": np.arange(len(u)) * 0.1, "u": u, "du": np.stack(rates, axis=1)}
    names = tuple(f"u{place}" for place in range(u.shape[1]))
    return Problem("trajectory", names, tuple(f"{n}_t" for n in names), arrays, **more)


def made(adapter: Any, **changes: Any) -> Any:
    return adapter(seed=0, threads=1, **{**specification("sindy_pi")["hyperparameters"], **changes})


def values(equation: str, u: Any) -> Any:
    names = tuple(f"u{place}" for place in range(u.shape[1]))
    return parse(equation, names).evaluate(dict(zip(names, u.T, strict=True)))


def shortest(method: Any, size: int) -> list[Any]:
    return [each for each in method._found if each.size() == size]


def test_michaelis_menten_is_found_exactly(sindy_pi: Any) -> None:
    # The usual example of rational laws: jx = 0.6, Vmax = 1.5, Km = 0.3.
    law = 0.6 - 1.5 * U[:, 0] / (0.3 + U[:, 0])
    method = made(sindy_pi)
    method.fit(problem(U, law))
    best = min(shortest(method, 4), key=lambda each: each.error)
    assert best.error < 1e-24
    above, below = best.numerator / best.denominator[1], best.denominator / best.denominator[1]
    np.testing.assert_allclose(above[:2], [0.18, -0.9], rtol=1e-9)
    np.testing.assert_allclose(below[:2], [0.3, 1.0], rtol=1e-9)
    other = np.linspace(3.0, 9.0, 20)[:, None]
    np.testing.assert_allclose(
        values(best.equation(), other), 0.6 - 1.5 * other[:, 0] / (0.3 + other[:, 0]), rtol=1e-9
    )


@pytest.mark.parametrize("noise", [1e-5, 1e-4, 1e-3])
def test_michaelis_menten_is_found_in_noisy_rates(sindy_pi: Any, noise: float) -> None:
    law = 0.6 - 1.5 * U[:, 0] / (0.3 + U[:, 0])
    noisy = law + noise * np.random.default_rng(0).standard_normal(len(law))
    method = made(sindy_pi)
    method.fit(problem(U, noisy))
    found = [each for each in shortest(method, 4) if each.numerator[:2].all()]
    [best] = [each for each in found if each.denominator[:2].all()]
    scale = best.denominator[1]
    numbers = np.array([*best.numerator[:2], best.denominator[0]]) / scale
    np.testing.assert_allclose(numbers, [0.18, -0.9, 0.3], rtol=20 * noise)


_NUMBERS = st.floats(0.3, 3.0)


@settings(max_examples=15, deadline=None)
@given(a=_NUMBERS, b=_NUMBERS, c=_NUMBERS)
def test_quotients_of_two_states_are_found(sindy_pi: Any, a: float, b: float, c: float) -> None:
    u = np.random.default_rng(1).uniform(0.2, 3.0, (150, 2))
    first = (a * u[:, 0] - b * u[:, 0] * u[:, 1]) / (1 + c * u[:, 0])
    second = -b * u[:, 1]
    method = made(sindy_pi, bases=["polynomial"], orders=[2])
    method.fit(problem(u, first, second))
    equations = method.equations()
    for equation, law in zip(equations, (first, second), strict=True):
        np.testing.assert_allclose(values(equation, u), law, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(method.predict(problem(u, first, second))[:, 0], first, rtol=1e-6)
    sums = [each for each in shortest(method, 2) if each.target == 1]
    assert any(each.equation().endswith("*u1") and "/" not in each.equation() for each in sums)


def test_what_is_offered_is_short_to_long_and_what_it_states(sindy_pi: Any) -> None:
    law = np.sin(U[:, 0]) / (1 + U[:, 0])
    method = made(sindy_pi)
    method.fit(problem(U, law))
    sizes = [each.size() for each in method._found]
    assert sizes == sorted(sizes)
    assert max(sizes.count(size) for size in sizes) <= 3
    for candidate in method.candidates():
        [equation] = candidate.equations
        np.testing.assert_allclose(
            values(equation, U), candidate.predictions, rtol=1e-6, atol=1e-9 * np.abs(law).max()
        )
    method.choose([0])
    assert method.equations() == [method._found[0].equation()]


def test_what_cannot_be_done_is_refused(sindy_pi: Any) -> None:
    broken: Sequence[Any] = (U * np.nan, U[:, 0]), (U, U[:, 0] * np.inf)
    for u, rate in broken:
        with pytest.raises(ValueError, match="not finite"):
            made(sindy_pi).fit(problem(u, rate))
    with pytest.raises(Unsupported, match="shortest library has 2 terms"):
        made(sindy_pi, most_terms=1).fit(problem(U, U[:, 0]))
    with pytest.raises(TypeError, match="hurry"):
        made(sindy_pi, hurry=True)
    with pytest.raises(ValueError, match="basis"):
        made(sindy_pi, bases=["fourier"])
    hurried = made(sindy_pi)
    hurried.fit(problem(U, U[:, 0] ** 2, time_limit=0.0))
    assert hurried.stopped_early
    assert hurried.equations()


def test_a_state_that_rests_has_the_rate_zero(sindy_pi: Any) -> None:
    method = made(sindy_pi)
    method.fit(problem(U, np.zeros(len(U))))
    assert method.equations() == ["0"]
