"""Multiplicative noise of a given signal-to-noise ratio.

``u -> (1 + xi) u`` with independent ``xi ~ N(0, 10^(-SNR/20))`` for every entry of `u`
(Ziaei Bideh et al., MDBench, AAAI 2026).
"""

from __future__ import annotations

import hashlib
import unicodedata
from typing import TYPE_CHECKING

import numpy as np

from mdbench.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

SNR_LEVELS_DB = (40.0, 30.0, 20.0, 10.0)
"""The noise levels of the published datasets, in the order in which they were drawn."""

_MAX_DB = 300
_SEEDS = 2**32
"""The number of seeds of NumPy's legacy generator."""


def generator_of(*key: object) -> np.random.Generator:
    """Return a random generator that is the same for the same key on every machine."""
    text = "\n".join(map(str, key))
    return np.random.default_rng(int.from_bytes(hashlib.sha256(text.encode()).digest()))


def add_noise(u: Array, *, name: str, snr_db: float, seed: int) -> Array:
    """Add noise that depends on nothing but the dataset's name, the SNR and the seed.

    Parameters
    ----------
    u
        Clean values, (n, d).  Noise is drawn row by row, so that more rows change nothing in the
        first ones.
    name
        The dataset's name.
    snr_db
        The signal-to-noise ratio in dB.
    seed
        0 or more.

    Raises
    ------
    UsageError
        If `snr_db` is not from -300 to 300.
    """
    if not abs(snr_db) <= _MAX_DB:
        raise UsageError(
            f"A signal-to-noise ratio of {snr_db:g} dB is not possible.",
            f"It is from -{_MAX_DB} to {_MAX_DB}; 20 is noise of a tenth of the signal.",
        )
    generator = generator_of(unicodedata.normalize("NFC", name), repr(float(snr_db)), seed)
    return u * (1 + 10 ** (-snr_db / 20) * generator.standard_normal(u.shape))


def add_published_noise(u: Array, *, snr_db: float, seed: int, entries_before: int) -> Array:
    """Add the noise of the published datasets.

    All of it is one sequence of NumPy's legacy generator, seeded once: system by system,
    and for each system the levels of `SNR_LEVELS_DB` in turn.

    Parameters
    ----------
    u
        Clean values of one system, (n, d).
    snr_db
        One of `SNR_LEVELS_DB`.
    seed
        The seed of the whole sequence; 0 gives the published datasets.
    entries_before
        The number of entries of `u` of all the systems before this one.

    Raises
    ------
    UsageError
        If `snr_db` is not one of the published levels, or the generator cannot take the seed.
    """
    if snr_db not in SNR_LEVELS_DB:
        raise UsageError(
            f"There is no published noise at {snr_db:g} dB.",
            f"There is at {', '.join(f'{level:g}' for level in SNR_LEVELS_DB)} dB; "
            "--protocol strict takes any other level.",
        )
    if not 0 <= seed < _SEEDS:
        raise UsageError(
            f"The seed {seed} is not possible for published noise.", f"It is below {_SEEDS}."
        )
    skipped = len(SNR_LEVELS_DB) * entries_before + SNR_LEVELS_DB.index(snr_db) * u.size
    sequence = np.random.RandomState(seed)
    xi = sequence.randn(skipped + u.size)[skipped:].reshape(u.shape)
    noisy: Array = u * (1 + xi * np.sqrt(10 ** (-snr_db / 10)))
    return noisy
