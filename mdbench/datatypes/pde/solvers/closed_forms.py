"""Systems whose solution is a formula."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_DECAYED = 40.0
"""What has decayed by exp(-40) is less than rounding."""


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
) -> tuple[Array, Array]:
    """Solve ``u_t + velocity . grad u = diffusion lap u`` from ``height exp(-(x^2 + y^2))``.

    In the unbounded plane it stays a Gaussian: its centre drifts, and the square of its width
    grows linearly (the heat kernel convolved with the initial state).

    Returns
    -------
    u, u_t
        The solution and its derivative in time, (n_x, n_y, n_t).
    """
    spread = 1 + 4 * diffusion * t
    across, along = x[:, None, None] - velocity[0] * t, y[:, None] - velocity[1] * t
    distance = across**2 + along**2
    u = height / spread * np.exp(-distance / spread)
    drift = 2 * (velocity[0] * across + velocity[1] * along) / spread
    return u, u * (drift + 4 * diffusion / spread * (distance / spread - 1))


def warmed_ground(
    z: Array,
    t: Array,
    *,
    height: float,
    diffusivity: float,
    omega: float,
    wave_number: float = 0.0,
) -> tuple[Array, Array]:
    """Solve ``v_t = diffusivity (v_zz - wave_number^2 v)`` below a surface at sin(omega t).

    All is 0 in the beginning, and nothing flows through the bottom.  The solution is that which
    the surface forces in the long run, ``Im(cosh(q (z + H)) / cosh(q H) exp(i omega t))`` with
    ``q^2 = wave_number^2 + i omega / diffusivity``, less the sines ``sin(lambda (-z))``,
    ``lambda = (n + 1/2) pi / H``, that it starts with and that decay.

    Parameters
    ----------
    z
        Places, from -height at the bottom to 0 at the surface; (n_z,).
    t
        Times above 0; the earlier the first, the more sines are summed.
    height
        H, of the ground above its bottom.
    wave_number
        Of a wave along the surface, whose amplitude v is.

    Returns
    -------
    v, v_t
        (n_z, n_t).
    """
    q = np.sqrt(wave_number**2 + 1j * omega / diffusivity)
    forced = np.cosh(q * (z + height)) / np.cosh(q * height)
    n = int(np.sqrt(_DECAYED / (diffusivity * t[0])) * height / np.pi) + 2
    sines = (np.arange(n) + 0.5) * np.pi / height
    heights = 2 / height * (sines / (q**2 + sines**2)).imag
    rates = diffusivity * (sines**2 + wave_number**2)
    decaying = np.sin(-np.outer(z, sines)) * heights
    turning = np.exp(1j * omega * t)
    left = np.exp(-np.outer(rates, t))
    v = np.outer(forced, turning).imag - decaying @ left
    v_t = np.outer(forced, 1j * omega * turning).imag + (decaying * rates) @ left
    return v, v_t
