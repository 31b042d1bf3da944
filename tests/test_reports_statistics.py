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
    bootstrap_medians,
    difference,
    draws,
    friedman,
    holm,
    midranks,
    studentized_range,
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
    theirs = stats.wilcoxon(d, zero_method="pratt", method="approx", correction=False)
    ours = wilcoxon(d)
    assert not ours.exact
    assert ours.zeros > 0
    # SciPy corrects the mean and the spread for zeros as well; so does leaving their ranks out.
    assert ours.p == pytest.approx(theirs.pvalue, rel=1e-6)


values = st.sampled_from([-math.inf, -2.0, -1.0, -1.0, 0.0, 1.0, 2.0, 3.0, math.inf])


@settings(deadline=None, max_examples=60)
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


def test_effect_says_who_is_better() -> None:
    assert wilcoxon([-1.0, -2.0, -math.inf]).effect == -1
    assert wilcoxon([1.0, -2.0, 3.0]).effect == pytest.approx(1 / 3)
    nothing = wilcoxon([0.0, 0.0])
    assert (nothing.p, nothing.effect) == (1.0, 0.0)


def test_failures_are_the_largest_differences() -> None:
    assert difference(math.inf, 1e9) == math.inf
    assert difference(1e9, math.inf) == -math.inf
    assert difference(math.inf, math.inf) == 0


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


def test_nemenyis_critical_values_are_the_published_ones() -> None:
    # Demšar 2006, table 5(a): q at 0.05 for 2, 5 and 10 classifiers.
    published = {2: 1.960, 5: 2.728, 10: 3.164}
    for k, q in published.items():
        assert studentized_range(0.95, k) / math.sqrt(2) == pytest.approx(q, abs=1e-3)
        exact = stats.studentized_range.ppf(0.95, k, np.inf)
        assert studentized_range(0.95, k) == pytest.approx(exact, rel=1e-8)
    found = friedman(np.arange(20.0).reshape(4, 5))
    assert found.critical_difference == pytest.approx(2.728 * math.sqrt(5 * 6 / (6 * 4)), abs=1e-3)


@given(st.lists(st.sampled_from([0.0, 1.0, 2.5, math.inf]), min_size=1, max_size=8))
def test_midranks_are_those_of_scipy(given_values: list[float]) -> None:
    assert midranks(given_values).tolist() == stats.rankdata(given_values).tolist()


def test_draws_are_of_the_stated_generator() -> None:
    def mulberry32(count: int) -> list[float]:
        state, found, mask = 0, [], 2**32 - 1
        for _ in range(count):
            state = (state + 0x6D2B79F5) & mask
            mixed = ((state ^ (state >> 15)) * (state | 1)) & mask
            mixed ^= (mixed + ((mixed ^ (mixed >> 7)) * (mixed | 61))) & mask
            found.append((mixed ^ (mixed >> 14)) / 2**32)
        return found

    counts = draws(50, 7)
    expected = np.zeros((50, 7), int)
    for place, number in enumerate(mulberry32(350)):
        expected[place // 7, int(number * 7)] += 1
    assert np.array_equal(counts, expected)
    assert (counts.sum(axis=1) == 7).all()


def test_bootstrap_is_what_drawing_systems_one_by_one_gives() -> None:
    generator = np.random.default_rng(5)
    losses = [*(10 ** generator.normal(size=18)), math.inf, math.inf]
    systems = [i // 2 for i in range(20)]
    counts = draws(200, 10)
    medians = sorted(
        median([x for x, s in zip(losses, systems, strict=True) for _ in range(row[s])])
        for row in counts
    )
    assert bootstrap_medians(losses, systems, counts) == (medians[5], medians[195])


def test_bootstrap_interval_covers_a_median_as_often_as_it_says() -> None:
    generator = np.random.default_rng(11)
    counts = draws(1000, 40)
    inside = 0
    for _ in range(300):
        low, high = bootstrap_medians(generator.normal(size=40), range(40), counts)
        inside += low <= 0 <= high
    assert 0.90 <= inside / 300 <= 0.985
