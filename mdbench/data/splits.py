"""Which samples are for training, for validation and for the test."""

from __future__ import annotations

from dataclasses import dataclass

MIN_SAMPLES = 15
"""The shortest series whose every fifth part has the 3 samples of a second-order stencil."""


@dataclass(frozen=True)
class Splits:
    """Ranges of samples along time.

    `refit` is what the last fit is given: all that comes before the test.
    """

    train: slice
    validation: slice
    refit: slice
    test: slice


def chronological(n: int) -> Splits:
    """Split n samples 60/20/20 in their order; what does not divide goes to training.

    Examples
    --------
    >>> splits = chronological(150)
    >>> splits.train, splits.validation, splits.test
    (slice(0, 90, None), slice(90, 120, None), slice(120, 150, None))
    """
    fifth = n // 5
    test = n - fifth
    validation = test - fifth
    return Splits(
        train=slice(0, validation),
        validation=slice(validation, test),
        refit=slice(0, test),
        test=slice(test, n),
    )


def published(n: int) -> Splits:
    """Split n samples as the code behind MDBench's tables does.

    Validation takes the last rows of the *training* rows, so that it holds nothing out.  Where
    n is no multiple of 5, a sample between `refit` and `test` belongs to neither.

    Examples
    --------
    >>> splits = published(150)
    >>> splits.train, splits.validation, splits.refit
    (slice(0, 96, None), slice(72, 96, None), slice(0, 120, None))
    """
    n_refit = int(0.8 * n)
    n_validation = int(0.2 * n_refit)
    n_train = n_refit - n_validation
    return Splits(
        train=slice(0, n_train),
        validation=slice(n_train - n_validation, n_train),
        refit=slice(0, n_refit),
        test=slice(n - int(0.2 * n), n),
    )
