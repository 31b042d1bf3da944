"""Every sample where it belongs."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mdbench.data.trajectory import MIN_SAMPLES, split_as_published, split_chronologically


@given(n=st.integers(MIN_SAMPLES, 10_000))
def test_the_split_chronologically_cover_all_samples_once_and_in_order(n: int) -> None:
    samples = np.arange(n)
    splits = split_chronologically(n)
    parts = [samples[rows] for rows in (splits.train, splits.validation, splits.test)]
    np.testing.assert_array_equal(np.concatenate(parts), samples)
    np.testing.assert_array_equal(samples[splits.refit], np.concatenate(parts[:2]))
    assert len(parts[1]) == len(parts[2]) == n // 5
    assert 0.6 * n <= len(parts[0]) < 0.6 * n + 3


def test_no_shorter_series_has_three_samples_in_every_split() -> None:
    def fewest(n: int) -> int:
        splits = split_chronologically(n)
        return min(len(range(n)[rows]) for rows in (splits.train, splits.validation, splits.test))

    assert fewest(MIN_SAMPLES) == 3
    assert fewest(MIN_SAMPLES - 1) == 2


@given(n=st.integers(MIN_SAMPLES, 10_000))
def test_the_published_splits_are_those_of_the_published_code(n: int) -> None:
    samples = list(range(n))
    splits = split_as_published(n)
    # The rules, written out with the arrays that they were applied to.
    n_train, n_test = int(0.8 * n), int(0.2 * n)
    rows = samples[:n_train]
    c = int(0.2 * n_train)
    training = rows[: n_train - c]
    assert samples[splits.refit] == rows
    assert samples[splits.train] == training
    assert samples[splits.validation] == training[-c:]
    assert samples[splits.test] == samples[-n_test:]
