"""Errors of predictions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

PUBLISHED_CONSTANT = 1e-10
"""What MDBench adds to the sum of the squared targets."""
_ACCURATE = 0.999
"""An R2 above this is accurate (SRSD, section on R2-based accuracy)."""


def nmse(predictions: ArrayLike, targets: ArrayLike, *, constant: float = 0.0) -> float:
    r"""Return the normalised mean squared error over all samples and targets.

    .. math:: \frac{\sum (y - \hat y)^2}{\sum y^2 + c}

    Without the constant it means the same for targets of any size, and 0 as a prediction scores 1.

    Parameters
    ----------
    predictions, targets
        Arrays of one and the same shape, with at least one element.
    constant
        0, or `PUBLISHED_CONSTANT` for scores to compare with MDBench's, which differ where the sum
        of the squared targets is not far larger.

    Returns
    -------
    float
        0 or more.  Infinite where a prediction or a target is not finite, and where a sum of
        squares is too large for a float; never NaN.  Where all targets are zero it is the sum of
        the squared predictions over `PUBLISHED_CONSTANT`.

    Raises
    ------
    ValueError
        If the shapes differ, or if there is no element.

    References
    ----------
    Ziaei Bideh et al., "MDBench", AAAI 2026, section on evaluation; its code adds the constant.

    Examples
    --------
    >>> round(nmse([1.0, 2.0], [1.0, 3.0]), 6)
    0.1
    >>> nmse([0.0, 0.0], [1e-20, 3e-20])
    1.0
    """
    y_hat, y = _checked(predictions, targets)
    largest = float(np.max(np.abs(y)))
    with np.errstate(all="ignore"):
        if not constant and 0.0 < largest < math.inf:
            # A power of two is taken out, which is exact, so that no square of a target overflows
            # and not all of them vanish.
            _, exponent = math.frexp(largest)
            y_hat, y = np.ldexp(y_hat, -exponent), np.ldexp(y, -exponent)
        error = float(np.sum(np.square(y - y_hat)))
        power = float(np.sum(np.square(y))) + constant
    # A target sum that overflows would make any finite error vanish.
    if not (math.isfinite(error) and math.isfinite(power)):
        return math.inf
    return error / (power or PUBLISHED_CONSTANT)


def r2(predictions: ArrayLike, targets: ArrayLike) -> float:
    r"""Return the coefficient of determination.

    .. math:: 1 - \frac{\sum (y - \hat y)^2}{\sum (y - \bar y)^2}

    Eq. 2 of SRSD lacks the "1 -", which its code has.

    Parameters
    ----------
    predictions, targets
        Arrays of one and the same shape, with at least one element.

    Returns
    -------
    float
        At most 1; minus infinity where a prediction or a target is not finite.  Where all
        targets are equal, 1 for the right prediction, and else minus infinity.

    Raises
    ------
    ValueError
        If the shapes differ, or if there is no element.

    Examples
    --------
    >>> r2([1.0, 2.0, 3.5], [1.0, 2.0, 3.0])
    0.875
    """
    y_hat, y = _checked(predictions, targets)
    if not (np.isfinite(y_hat).all() and np.isfinite(y).all()):
        return -math.inf
    if np.all(y == y.flat[0]):
        return 1.0 if np.array_equal(y, y_hat) else -math.inf
    with np.errstate(all="ignore"):
        # A power of two is taken out, which is exact, so that no square overflows and not all
        # of them vanish.
        _, exponent = math.frexp(float(np.max(np.abs(y))))
        y_hat, y = np.ldexp(y_hat, -exponent), np.ldexp(y, -exponent)
        unexplained = float(np.sum(np.square(y - y_hat)))
        value = 1.0 - unexplained / float(np.sum(np.square(y - np.mean(y))))
    return value if math.isfinite(value) else -math.inf


def relative_error(predictions: ArrayLike, targets: ArrayLike) -> float:
    r"""Return the mean squared relative error, by which SRSD selects models on validation data.

    .. math:: \frac{1}{n} \sum \left(\frac{y - \hat y}{y}\right)^2

    Parameters
    ----------
    predictions, targets
        Arrays of one and the same shape, with at least one element.

    Returns
    -------
    float
        0 or more; infinite where a prediction or a target is not finite; never NaN.  An error
        relative to zero means nothing, so that samples whose target is zero are left out; where
        all are, the error is 0 for the right prediction and else infinite.

    Raises
    ------
    ValueError
        If the shapes differ, or if there is no element.

    References
    ----------
    Matsubara et al., "Rethinking symbolic regression datasets and benchmarks for scientific
    discovery", eq. 4.

    Examples
    --------
    >>> relative_error([1.0, 3.0, 5.0], [2.0, 3.0, 0.0])
    0.125
    """
    y_hat, y = _checked(predictions, targets)
    if not (np.isfinite(y_hat).all() and np.isfinite(y).all()):
        return math.inf
    nonzero = y != 0.0
    if not nonzero.any():
        return math.inf if np.any(y_hat) else 0.0
    with np.errstate(all="ignore"):
        value = float(np.mean(np.square((y[nonzero] - y_hat[nonzero]) / y[nonzero])))
    return value if math.isfinite(value) else math.inf


def is_accurate(r2: float | None) -> bool:
    """Whether a model counts for the R2 accuracy: its R2 on the test data is above 0.999.

    No model (None) does not.
    """
    return r2 is not None and r2 > _ACCURATE


def _checked(
    predictions: ArrayLike, targets: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    y_hat = np.asarray(predictions, dtype=np.float64)
    y = np.asarray(targets, dtype=np.float64)
    if y_hat.shape != y.shape:
        raise ValueError(f"the predictions have shape {y_hat.shape}, the targets {y.shape}")
    if y.size == 0:
        raise ValueError("there is no sample to score")
    return y_hat, y


def agreement(values: ArrayLike, predictions: ArrayLike) -> float:
    r"""Return how far a method's predictions are from its own equations; 0 is full agreement.

    .. math:: \frac{\sum (p - e)^2}{\max(\sum p^2, \sum e^2)}

    for the predictions p and the values e of the equations.  Unlike the NMSE it knows no right
    side and no small constant, so that it means the same for data of any scale.

    Parameters
    ----------
    values, predictions
        What the equations give and what the method predicts at the same places, of one shape.

    Returns
    -------
    float
        From 0 to 4; 0 where both are zero everywhere.  Infinite where a prediction or the
        value of an equation is not finite; never NaN.

    Raises
    ------
    ValueError
        If the shapes differ.

    Examples
    --------
    >>> agreement([1.0, 2.0], [1.0, 2.0]), agreement([1.0, 0.0], [0.0, 1.0])
    (0.0, 2.0)
    """
    e, p = np.asarray(values, dtype=np.float64), np.asarray(predictions, dtype=np.float64)
    if p.shape != e.shape:
        raise ValueError(f"the predictions have shape {p.shape}, the equations give {e.shape}")
    if not (np.isfinite(p).all() and np.isfinite(e).all()):
        return math.inf
    largest = max(np.max(np.abs(p), initial=0.0), np.max(np.abs(e), initial=0.0))
    if largest == 0.0:
        return 0.0
    # In units of the largest value no square overflows, and not all of them vanish.
    p, e = p / largest, e / largest
    return float(np.sum(np.square(p - e)) / max(np.sum(np.square(p)), np.sum(np.square(e))))
