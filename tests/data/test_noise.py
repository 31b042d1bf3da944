"""Noise of the right size, that depends on what it should and on nothing else."""

from __future__ import annotations

import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdbench.data.noise import SNR_LEVELS_DB, add_noise, add_published_noise
from mdbench.errors import UsageError

U = np.random.default_rng(1).normal(size=(50, 2))


@pytest.mark.parametrize("snr_db", [40.0, 20.0, 10.0, 3.5, 0.0, -6.0])
def test_the_ratio_of_signal_to_noise_is_what_was_asked_for(snr_db: float) -> None:
    u = np.random.default_rng(2).normal(loc=1.0, size=(20_000, 2))
    strict = add_noise(u, name="a", snr_db=snr_db, seed=0)
    noise = strict - u
    assert 10 * np.log10(np.sum(u**2) / np.sum(noise**2)) == pytest.approx(snr_db, abs=0.15)
    relative = noise / u / 10 ** (-snr_db / 20)
    assert abs(relative.mean()) < 0.02
    assert abs(np.mean(relative**4) - 3) < 0.15  # a normal distribution's kurtosis


def test_the_ratio_of_published_noise_is_right_too() -> None:
    u = np.random.default_rng(2).normal(loc=1.0, size=(20_000, 2))
    for snr_db in SNR_LEVELS_DB:
        noise = add_published_noise(u, snr_db=snr_db, seed=0, entries_before=7) - u
        assert 10 * np.log10(np.sum(u**2) / np.sum(noise**2)) == pytest.approx(snr_db, abs=0.15)


@given(
    name=st.text(max_size=10),
    snr_db=st.floats(-10, 60),
    seed=st.integers(0, 2**64),
    others=st.lists(st.integers(0, 5), max_size=3),
)
def test_the_same_question_has_the_same_answer_whatever_came_before(
    name: str, snr_db: float, seed: int, others: list[int]
) -> None:
    first = add_noise(U, name=name, snr_db=snr_db, seed=seed)
    for other in others:
        add_noise(U, name=f"other {other}", snr_db=20.0, seed=other)
        np.random.default_rng().normal()
    np.testing.assert_array_equal(add_noise(U, name=name, snr_db=snr_db, seed=seed), first)


def test_name_ratio_and_seed_all_make_a_difference() -> None:
    keys = [(name, snr_db, seed) for name in "ab" for snr_db in (20.0, 20.5) for seed in (0, 1)]
    keys += [("a\n20.0", 20.0, 0), ("", 20.0, 0)]
    drawn = {
        tuple(((add_noise(U, name=n, snr_db=r, seed=s) / U - 1) * 10 ** (r / 20))[:3, 0].round(9))
        for n, r, s in keys
    }
    assert len(drawn) == len(keys)


def test_the_seed_s_meaning_never_changes() -> None:
    noisy = add_noise(np.ones((2, 2)), name="rössler-fixed-point", snr_db=20, seed=7)
    np.testing.assert_allclose(noisy, GOLDEN, rtol=1e-15)


GOLDEN = [[1.008756012095312, 1.2364988900468294], [0.9037557527655234, 1.0348485526654982]]


def test_writing_a_name_or_ratio_differently_changes_nothing() -> None:
    name = "rössler"
    first = add_noise(U, name=unicodedata.normalize("NFC", name), snr_db=20.0, seed=0)
    other = add_noise(U, name=unicodedata.normalize("NFD", name), snr_db=20, seed=0)
    np.testing.assert_array_equal(first, other)


@given(n=st.integers(1, 49))
def test_later_samples_do_not_change_the_noise_of_earlier_ones(n: int) -> None:
    longer = add_noise(U, name="a", snr_db=20.0, seed=0)
    np.testing.assert_array_equal(add_noise(U[:n], name="a", snr_db=20.0, seed=0), longer[:n])


@pytest.mark.parametrize("snr_db", [np.nan, np.inf, -np.inf, -1e6, 301.0])
def test_an_impossible_ratio_is_refused(snr_db: float) -> None:
    with pytest.raises(UsageError, match="signal-to-noise"):
        add_noise(U, name="a", snr_db=snr_db, seed=0)


@pytest.mark.parametrize("seed", [0, 1, 2**32 - 1])
def test_published_noise_is_one_long_sequence(seed: int) -> None:
    """The oracle makes all datasets in turn, as the published ones were made."""
    systems = [np.random.default_rng(i).normal(size=(31, 1 + i % 3)) for i in range(7)]
    sequence = np.random.RandomState(seed)
    expected = [
        [
            u * (1 + sequence.randn(*u.shape) * np.sqrt(10 ** (-snr_db / 10)))
            for snr_db in (40, 30, 20, 10)
        ]
        for u in systems
    ]
    for i in (6, 0, 3, 1, 5, 2, 4):
        before = sum(u.size for u in systems[:i])
        for level, snr_db in enumerate((40, 30, 20, 10)):
            noisy = add_published_noise(systems[i], snr_db=snr_db, seed=seed, entries_before=before)
            np.testing.assert_array_equal(noisy, expected[i][level])


def test_published_noise_exists_at_the_published_levels_and_seeds_only() -> None:
    with pytest.raises(UsageError, match=r"25 dB(.|\n)*40, 30, 20, 10 dB"):
        add_published_noise(U, snr_db=25.0, seed=0, entries_before=0)
    for seed in (-1, 2**32):
        with pytest.raises(UsageError, match=str(seed)):
            add_published_noise(U, snr_db=40, seed=seed, entries_before=0)
