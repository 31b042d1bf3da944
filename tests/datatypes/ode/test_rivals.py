"""How sure an answer is: against closed forms, draws of the noise, and wrong answers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from mdbench.data.smoothing import smooth
from mdbench.datatypes.ode.rivals import Certainty, certainty_of
from mdbench.errors import AnswerError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Sample: TypeAlias = "tuple[tuple[Array, Array, Array], Array]"

T = np.linspace(0.0, 6.0, 80)


def measured(
    rates: Callable[[float, Array], Array],
    start: Sequence[float],
    noise: float,
    *,
    share: bool = False,
    seed: int = 1,
) -> Sample:
    """Return times, noisy states and smoothed states of one trajectory, and its variances."""
    u = solve_ivp(rates, (0, T[-1]), start, t_eval=T, rtol=1e-10, atol=1e-12).y.T
    normal = np.random.default_rng(seed).standard_normal(u.shape)
    u = u * (1 + noise * normal) if share else u + noise * normal
    curves = smooth(T, u)
    return (T, u, curves.u), curves.variances


def found(answer: Sequence[str], sample: Sample, seconds: float = math.inf) -> Certainty:
    (t, u, curve), variances = sample
    names = tuple(f"u{i}" for i in range(u.shape[1]))
    return certainty_of(answer, names, [(t, u, curve)], variances, seconds)


def logistic(_: float, u: Array) -> Array:
    return 0.9 * u - 0.4 * u**2


def test_a_decay_has_the_constant_and_the_error_of_a_straight_line() -> None:
    """With noise that is a share of the state, its logarithm is a line in time."""
    sample = measured(lambda _, u: -0.5 * u, [2.0], 0.01, share=True)
    (term,) = found(["-0.52*u0"], sample, seconds=0.0).terms
    x, y = T - T.mean(), np.log(sample[0][1][:, 0])
    slope = float(x @ y / (x @ x))
    left = y - y.mean() - slope * x
    error = math.sqrt(float(left @ left) / (len(T) - 2) / float(x @ x))
    assert term.coefficient == pytest.approx(slope, abs=0.1 * error)
    assert term.error == pytest.approx(error, rel=0.05)


@pytest.mark.parametrize("share", [False, True])
def test_the_noise_is_that_of_its_form(share: bool) -> None:
    sample = measured(logistic, [0.1], 0.02, share=share)
    known = found(["0.9*u0 - 0.4*u0**2"], sample, seconds=0.0)
    u = measured(logistic, [0.1], 0.0)[0][1]
    size = 0.02 if share else 0.02 / math.sqrt(np.mean(u**2))
    assert known.noise[0] == pytest.approx(size, rel=0.25)
    assert known.excess[0] < 2


@pytest.mark.slow
def test_intervals_hold_the_true_constants_as_often_as_they_say() -> None:
    inside = []
    for seed in range(25):
        known = found(
            ["0.9*u0 - 0.4*u0**2"], measured(logistic, [0.1], 0.03, seed=seed), seconds=0.0
        )
        for term, true in zip(known.terms, (0.9, -0.4), strict=True):
            inside.append(abs(term.coefficient - true) < 1.96 * term.error)
    # Intervals of 95 % in pairs that move together: three deviations of 25 draws.
    assert np.mean(inside) == pytest.approx(0.95, abs=0.13)


def test_of_the_truth_no_rival_is_as_likely() -> None:
    known = found(["0.9*u0 - 0.4*u0**2"], measured(logistic, [0.1], 0.01))
    assert not any(one.is_as_likely for one in known.rivals)
    assert len(known.rivals) > 2
    assert known.left == 0


def test_a_term_that_is_not_needed_is_named() -> None:
    known = found(["0.9*u0 - 0.4*u0**2 + 0.002*sin(u0)"], measured(logistic, [0.1], 0.02))
    likely = [one for one in known.rivals if one.is_as_likely]
    assert any(one.term == "sin(u0)" and not one.added for one in likely)


def test_a_term_that_lacks_is_named() -> None:
    known = found(["0.9*u0 - 0.5*u0*exp(u0)/exp(u0)"], measured(logistic, [0.1], 0.01))
    best = known.rivals[0]
    assert best.is_as_likely
    assert best.misfit < -100
    assert known.excess[0] > 4


@pytest.mark.parametrize(("noise", "hidden"), [(0.02, True), (0.0, False)])
def test_a_function_that_looks_like_another_is_a_rival_under_noise(
    noise: float, hidden: bool
) -> None:
    """For small u the sine is u; clean samples tell them apart."""
    sample = measured(lambda _, u: -0.9 * np.sin(u), [0.5], noise)
    known = found(["-0.9*sin(u0)"], sample)
    line = [one for one in known.rivals if (one.term, one.added) == ("sin(u0)", "u0")]
    assert [one.is_as_likely for one in line] == [hidden]


def test_what_samples_say_nothing_of_has_a_large_error() -> None:
    """At rest only the quotient of two rates is known."""
    sample = measured(lambda _, u: 0.5 - 0.25 * u, [2.0], 0.01)
    one, other = found(["0.5 - 0.25*u0"], sample, seconds=0.0).terms
    assert one.error > abs(one.coefficient)
    assert other.error > abs(other.coefficient)


def test_where_the_whole_way_cannot_be_followed_stretches_are() -> None:
    """An unstable oscillator with a wrong sign of damping runs away from the samples."""

    def forced(_: float, u: Array) -> Array:
        return np.array([u[1], -4.0 * u[0] - 0.5 * u[1]])

    known = found(["u1", "-4.1*u0 + 0.03*u1**3"], measured(forced, [2.0, 0.0], 0.01), seconds=0.0)
    assert known.stretches > 1
    assert max(known.excess) > 4


def test_several_trajectories_are_fitted_together() -> None:
    one, other = measured(logistic, [0.1], 0.02), measured(logistic, [4.0], 0.02, seed=2)
    names = ("u0",)
    alone = certainty_of(["0.9*u0 - 0.4*u0**2"], names, [one[0]], one[1], 0.0)
    both = certainty_of(["0.9*u0 - 0.4*u0**2"], names, [one[0], other[0]], one[1], 0.0)
    for first, second in zip(alone.terms, both.terms, strict=True):
        assert second.error < first.error


def test_what_cannot_be_fitted_is_refused_with_the_reason() -> None:
    sample = measured(logistic, [0.1], 0.01)
    many = " + ".join(f"{k + 0.5}*sin({k + 0.25}*u0)" for k in range(30))
    with pytest.raises(AnswerError, match="constants"):
        found([many], sample)
    with pytest.raises(AnswerError, match="do not exist"):
        found(["1e9*exp(40*u0)"], sample)


def test_an_equation_that_is_zero_has_terms_to_gain() -> None:
    known = found(["0"], measured(logistic, [0.1], 0.01))
    assert known.rivals[0].is_as_likely
    assert known.rivals[0].term == ""
