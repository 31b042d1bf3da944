"""Whether a method's equations say what the method predicts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["agreement"]


def agreement(values: ArrayLike, predictions: ArrayLike) -> float:
    r"""Say how far a method's predictions are from its own equations; 0 is full agreement.

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
