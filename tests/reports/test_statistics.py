from __future__ import annotations

import itertools
import math
from statistics import median

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from mdbench.reports.statistics import (
    bootstrap,
    difference,
    draws,
    friedman,
    holm,
    wilcoxon,
)


@pytest.mark.parametrize("n", [5, 12, 40])
def test_wilcoxon_without_ties_is_that_of_scipy(n: int) -> None:
    generator = np.random.default_rng(n)
    for _ in range(20):
        d = generator.normal(0.3, 1, n)
        theirs = stats.wilcoxon(d, method="exact")
        ours = wilcoxon(d)
        assert ours.p == pytest.approx(theirs.pvalue, rel=1e-9)
        assert min(ours.w_plus, ours.w_minus) == theirs.statistic
        assert ours.exact


def test_wilcoxon_of_many_pairs_is_scipys_approximation() -> None:
    d = np.round(np.random.default_rng(0).normal(0.1, 1, 400), 1)
    ours = wilcoxon(d)
    assert not ours.exact
    assert ours.zeros > 0
    # The normal approximation, whose zeros' ranks are left out.
    ranks = stats.rankdata(np.abs(d))[d != 0]
    z = (ours.w_plus - ranks.sum() / 2) / (math.sqrt((ranks**2).sum()) / 2)
    assert ours.p == pytest.approx(2 * stats.norm.sf(abs(z)), rel=1e-6)
    assert wilcoxon(np.zeros(400)).p == 1.0
    assert wilcoxon([*d, math.inf, -math.inf, math.inf]).p < 1.0


values = st.sampled_from([-math.inf, -2.0, -1.0, -1.0, 0.0, 1.0, 2.0, 3.0, math.inf])


@settings(max_examples=60)
@given(st.lists(values, min_size=1, max_size=10))
def test_wilcoxon_with_ties_and_failures_is_what_brute_force_counts(d: list[float]) -> None:
    # Pratt: ranks among all, zeros included; then every way of giving signs to the others.
    sizes = sorted(abs(x) for x in d)
    rank = {
        size: sum(i + 1 for i, s in enumerate(sizes) if s == size) / sizes.count(size)
        for size in sizes
    }
    ranks = [rank[abs(x)] for x in d if x]
    plus = sum(rank[abs(x)] for x in d if x > 0)
    middle = sum(ranks) / 2
    ways = [
        sum(itertools.compress(ranks, signs))
        for signs in itertools.product((0, 1), repeat=len(ranks))
    ]
    as_far = sum(abs(way - middle) >= abs(plus - middle) - 1e-9 for way in ways)
    ours = wilcoxon(d)
    assert ours.p == pytest.approx(as_far / len(ways))
    assert (ours.n, ours.zeros) == (len(d), d.count(0.0))
    assert ours.w_plus == pytest.approx(plus)
    assert -1 <= ours.effect <= 1


def test_effect_shows_which_is_better() -> None:
    assert wilcoxon([-1.0, -2.0, -math.inf]).effect == -1
    assert wilcoxon([1.0, -2.0, 3.0]).effect == pytest.approx(1 / 3)
    nothing = wilcoxon([0.0, 0.0])
    assert (nothing.p, nothing.effect) == (1.0, 0.0)


def test_failures_are_the_largest_differences() -> None:
    for log in (False, True):
        assert difference(math.inf, 1e9, log=log) == math.inf
        assert difference(1e9, math.inf, log=log) == -math.inf
        assert difference(math.inf, math.inf, log=log) == 0


def test_differences_of_what_should_be_high_have_the_better_one_below() -> None:
    assert difference(-100.0, -10.0, log=True) == -1
    assert difference(-0.75, -0.5, log=False) == -0.25
    assert difference(0.0, 1.0, log=True) < -300


def test_holm_is_that_of_the_definition() -> None:
    p = [0.001, 0.04, 0.03, 0.6]
    # 4 * 0.001, 3 * 0.03, max(2 * 0.04, the one before), 0.6
    assert holm(p) == pytest.approx([0.004, 0.09, 0.09, 0.6])
    assert holm([]) == []
    assert holm([0.9, 0.8]) == [1.0, 1.0]


@pytest.mark.parametrize("digits", [0, 8])
def test_friedman_is_that_of_scipy(digits: int) -> None:
    scores = np.round(
        np.random.default_rng(3).normal(size=(15, 4)) + np.linspace(0, 0.9, 4), digits
    )
    ours = friedman(scores)
    assert ours.p == pytest.approx(stats.friedmanchisquare(*scores.T).pvalue)
    ranks = np.array([stats.rankdata(row) for row in scores])
    assert ours.mean_ranks == pytest.approx(tuple(ranks.mean(axis=0)))


def test_friedman_of_two_is_the_sign_test_and_of_equals_states_nothing() -> None:
    scores = np.array([[1.0, 2.0]] * 8 + [[2.0, 1.0]] + [[1.0, 1.0]])
    assert friedman(scores).p == pytest.approx(2 * (1 + 9) / 2**9)
    assert friedman(scores).mean_ranks == pytest.approx((1.15, 1.85))
    assert friedman(np.ones((5, 3))).p == 1.0


def test_nemenyis_critical_values_are_the_published_ones() -> None:
    # Demšar 2006, table 5(a): q at 0.05 for 2, 5 and 10 classifiers.
    for k, q in {2: 1.960, 5: 2.728, 10: 3.164}.items():
        found = friedman(np.arange(4.0 * k).reshape(4, k))
        assert found.critical_difference == pytest.approx(q * math.sqrt(k * (k + 1) / 24), abs=2e-3)


def test_draws_are_of_the_stated_generator() -> None:
    def mulberry32(count: int) -> list[float]:
        state, found, mask = 0, [], 2**32 - 1
        for _ in range(count):
            state = (state + 0x6D2B79F5) & mask
            mixed = ((state ^ (state >> 15)) * (state | 1)) & mask
            mixed ^= (mixed + ((mixed ^ (mixed >> 7)) * (mixed | 61))) & mask
            found.append((mixed ^ (mixed >> 14)) / 2**32)
        return found

    counts = draws(50, [1] * 7)
    expected = np.zeros((50, 7), int)
    for place, number in enumerate(mulberry32(350)):
        expected[place // 7, int(number * 7)] += 1
    assert np.array_equal(counts, expected)
    assert (counts.sum(axis=1) == 7).all()


def test_bootstrap_is_what_drawing_systems_one_by_one_gives() -> None:
    generator = np.random.default_rng(5)
    losses = [*(10 ** generator.normal(size=18)), math.inf, math.inf]
    systems = [i // 2 for i in range(20)]
    counts = draws(200, [1] * 10)
    medians = sorted(
        median([x for x, s in zip(losses, systems, strict=True) for _ in range(row[s])])
        for row in counts
    )
    assert bootstrap(losses, systems, counts, mean=False) == (medians[5], medians[195])


def test_bootstrap_of_a_mean_is_what_drawing_systems_one_by_one_gives() -> None:
    generator = np.random.default_rng(5)
    values, systems, counts = (
        list(generator.normal(size=20)),
        [i // 2 for i in range(20)],
        draws(200, [1] * 10),
    )
    means = sorted(
        float(np.mean([x for x, s in zip(values, systems, strict=True) for _ in range(row[s])]))
        for row in counts
    )
    found = bootstrap(values, systems, counts, mean=True)
    assert found == pytest.approx((means[5], means[195]))
    assert bootstrap([*values[:-1], -math.inf], systems, counts, mean=True)[0] == -math.inf


def test_bootstrap_interval_covers_a_median_as_often_as_it_states() -> None:
    generator = np.random.default_rng(11)
    counts = draws(1000, [1] * 40)
    inside = 0
    for _ in range(300):
        low, high = bootstrap(generator.normal(size=40), range(40), counts, mean=False)
        inside += low <= 0 <= high
    assert 0.90 <= inside / 300 <= 0.985


def test_seeds_are_drawn_within_each_time_that_their_system_is_drawn() -> None:
    repeats = [3, 1, 2, 3]
    counts = draws(400, repeats)
    assert counts.shape == (400, 9)
    by_system = np.stack(
        [part.sum(axis=1) for part in np.split(counts, np.cumsum(repeats)[:-1], 1)]
    )
    # A system that is drawn twice has twice as many draws of its seeds as it has seeds.
    times = by_system / np.array(repeats)[:, None]
    assert np.array_equal(times, np.round(times))
    assert (times.sum(axis=0) == 4).all()
    shares = counts[:, :3].sum(axis=0) / counts[:, :3].sum()
    assert shares == pytest.approx([1 / 3] * 3, abs=0.05)
    assert len({tuple(row) for row in counts[:, :3]}) > 20  # and not always each seed once


def test_an_interval_over_systems_and_seeds_has_the_spread_of_both() -> None:
    generator = np.random.default_rng(7)
    systems, seeds = 30, 4
    places = [*range(systems * seeds)]
    widths = {}
    for name, between in (("alike", 0.0), ("unlike", 3.0)):
        centre = between * generator.normal(size=(systems, 1))
        values = (centre + generator.normal(size=(systems, seeds))).ravel()
        low, high = bootstrap(values, places, draws(1000, [seeds] * systems), mean=True)
        widths[name] = high - low
        # The variance of the mean of all, with systems and seeds drawn.
        means = values.reshape(systems, seeds).mean(axis=1)
        within = values.reshape(systems, seeds).var(axis=1).mean()
        expected = 2 * 1.96 * np.sqrt(means.var() / systems + within / (systems * seeds))
        assert high - low == pytest.approx(expected, rel=0.15)
    assert widths["unlike"] > 2 * widths["alike"]
