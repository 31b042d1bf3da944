"""Systems whose solution is a formula."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["drifting_gaussian", "translation"]


def translation(profile: Callable[[Array], Array], x: Array, t: Array, *, speed: float) -> Array:
    """Solve ``u_t = -speed u_x``: the initial profile moves.

    Parameters
    ----------
    profile
        The initial state at any place; periodic where the domain is.

    Returns
    -------
    (n_x, n_t)
    """
    return profile(x[:, None] - speed * t)


def drifting_gaussian(
    x: Array,
    y: Array,
    t: Array,
    *,
    height: float,
    velocity: tuple[float, float],
    diffusion: float,
) -> Array:
    """Solve ``u_t + velocity . grad u = diffusion lap u`` from ``height exp(-(x^2 + y^2))``.

    In the unbounded plane it stays a Gaussian: its centre drifts, and the square of its width
    grows linearly (the heat kernel convolved with the initial state).

    Returns
    -------
    (n_x, n_y, n_t)
    """
    spread = 1 + 4 * diffusion * t
    distance = (x[:, None, None] - velocity[0] * t) ** 2 + (y[:, None] - velocity[1] * t) ** 2
    return height / spread * np.exp(-distance / spread)
