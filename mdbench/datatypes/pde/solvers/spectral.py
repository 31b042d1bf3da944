"""Periodic systems: Fourier in space, exponential time differencing (ETDRK4) in time.

For ``v_t = L v + N(v)`` with diagonal L the linear part is integrated exactly, so that stiff
dispersion and diffusion cost no small steps (Cox and Matthews, J. Comput. Phys. 176, 430 (2002);
the coefficients as contour integrals: Kassam and Trefethen, SIAM J. Sci. Comput. 26, 1214 (2005)).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.fft import fft, ifft, irfft, irfft2, rfft, rfft2

from mdbench.data.field import HIGHEST_ORDER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Complex = NDArray[np.complex128]
    Progress = Callable[[float], None]

_SMALL = 1e-5
"""The step of the slopes at 0; what it leaves is a part of the rest."""
_CONTOUR = 64
"""Points of the circle on which the coefficients are averaged; 32 give rounding already."""


def etdrk4(
    linear: NDArray[np.inexact],
    nonlinear: Callable[[Complex], Complex],
    v: Complex,
    *,
    step: float,
    every: int,
) -> Iterator[Complex]:
    """Integrate ``v_t = linear v + nonlinear(v)``; fourth order in `step`.

    Parameters
    ----------
    linear
        The diagonal of the linear part; broadcasts with `v`.
    v
        The initial state.
    every
        Steps from one state that is given to the next.

    Yields
    ------
    Complex
        `v` itself, then the state after each `every` steps, without end.
    """
    z = step * linear
    once, half = np.exp(z), np.exp(z / 2)
    r = z[..., None] + np.exp(2j * np.pi * (np.arange(_CONTOUR) + 0.5) / _CONTOUR)
    e = np.exp(r)
    q = step * ((np.exp(r / 2) - 1) / r).mean(-1)
    f1 = step * ((-4 - r + e * (4 - 3 * r + r**2)) / r**3).mean(-1)
    f2 = step * ((2 + r + e * (r - 2)) / r**3).mean(-1)
    f3 = step * ((-4 - 3 * r - r**2 + e * (4 - r)) / r**3).mean(-1)
    while True:
        yield v
        for _ in range(every):
            n = nonlinear(v)
            a = half * v + q * n
            n_a = nonlinear(a)
            b = half * v + q * n_a
            n_b = nonlinear(b)
            c = half * a + q * (2 * n_b - n)
            v = once * v + f1 * n + 2 * f2 * (n_a + n_b) + f3 * nonlinear(c)


def burgers(
    u: Array, length: float, dt: float, n_t: int, *, nu: float, substeps: int, progress: Progress
) -> tuple[Array, Array]:
    """Solve ``u_t = -u u_x + nu u_xx``.

    Parameters
    ----------
    u
        The initial state at n equidistant nodes of a period, (n,).
    length
        The period.
    dt, n_t
        The times of the answer: 0, dt, ..., (n_t - 1) dt.
    substeps
        Steps of the solver in each dt.
    progress
        Called with the part that is done, from 0 to 1, at intervals.

    Returns
    -------
    u, u_t
        The solution and its derivative in time, which is the right-hand side at it; (n, n_t).
    """
    k = _wave_numbers(len(u), length)
    return _conservation_law(
        u, -nu * k**2, -0.5j * k, dt=dt, n_t=n_t, substeps=substeps, progress=progress
    )


def korteweg_de_vries(
    u: Array, length: float, dt: float, n_t: int, *, substeps: int, progress: Progress
) -> tuple[Array, Array]:
    """Solve ``u_t = -6 u u_x - u_xxx``; parameters as for `burgers`."""
    k = _wave_numbers(len(u), length)
    return _conservation_law(
        u, 1j * k**3, -3j * k, dt=dt, n_t=n_t, substeps=substeps, progress=progress
    )


def kuramoto_sivashinsky(
    u: Array, length: float, dt: float, n_t: int, *, substeps: int, progress: Progress
) -> tuple[Array, Array]:
    """Solve ``u_t = -u u_x - u_xx - u_xxxx``; parameters as for `burgers`.

    The solution is chaotic: another `substeps` gives another solution in the end.
    """
    k = _wave_numbers(len(u), length)
    return _conservation_law(
        u, k**2 - k**4, -0.5j * k, dt=dt, n_t=n_t, substeps=substeps, progress=progress
    )


def schroedinger(
    psi: Complex, length: float, dt: float, n_t: int, *, substeps: int, progress: Progress
) -> tuple[Complex, Complex]:
    """Solve ``psi_t = -i (psi_xx / 2 + |psi|^2 psi)``; parameters as for `burgers`."""
    k = 2 * np.pi / length * np.fft.fftfreq(len(psi), 1 / len(psi))

    def nonlinear(v: Complex) -> Complex:
        value = ifft(v)
        return fft(-1j * np.abs(value) ** 2 * value)

    linear = 0.5j * k**2
    states = etdrk4(linear, nonlinear, fft(psi), step=dt / substeps, every=substeps)
    return _sampled(states, linear, nonlinear, ifft, n_t=n_t, progress=progress)


def reaction_diffusion(
    u: Array,
    length: float,
    dt: float,
    n_t: int,
    *,
    diffusion: float,
    beta: float,
    substeps: int,
    progress: Progress,
) -> tuple[Array, Array]:
    """Solve the lambda-omega system in a square.

    ``u_t = d lap u + (1 - A) u + beta A v``, ``v_t = d lap v + (1 - A) v - beta A u`` with
    ``A = u^2 + v^2``.

    Parameters
    ----------
    u
        The initial u and v, (2, n, n); others as for `burgers`.

    Returns
    -------
    u, u_t
        As for `burgers`, (2, n, n, n_t).
    """
    n = u.shape[-1]
    k = 2 * np.pi / length * np.fft.fftfreq(n, 1 / n)
    linear = 1 - diffusion * (k[:, None] ** 2 + k[None, : n // 2 + 1] ** 2)

    def nonlinear(v: Complex) -> Complex:
        u, w = irfft2(v, (n, n))
        a = u**2 + w**2
        return rfft2(np.stack([a * (beta * w - u), -a * (beta * u + w)]))

    states = etdrk4(linear, nonlinear, rfft2(u), step=dt / substeps, every=substeps)
    return _sampled(
        states, linear, nonlinear, lambda v: irfft2(v, (n, n)), n_t=n_t, progress=progress
    )


def equations(
    u: Array,
    length: float,
    dt: float,
    n_t: int,
    *,
    right_hand_sides: Callable[[Array], Array],
    substeps: int,
    progress: Progress,
) -> tuple[Array, Array]:
    """Solve ``u_t = f(u, u_x, ..., u_xxxx)`` for several real states.

    The linear part is that of small states: each state's own derivatives, times the slope of its
    right-hand side along them at 0.

    Parameters
    ----------
    u
        The initial states, (states, n); others as for `burgers`.
    right_hand_sides
        Maps states and their derivatives in space, (5, states, ...), to rates, (states, ...).

    Returns
    -------
    u, u_t
        As for `burgers`, (states, n, n_t).
    """
    d, n = u.shape
    waves = 1j * _wave_numbers(n, length)
    powers = waves ** np.arange(HIGHEST_ORDER + 1)[:, None]
    linear = np.zeros((d, len(waves)), complex)
    for order, power in enumerate(powers):
        for i in range(d):
            at = np.zeros((HIGHEST_ORDER + 1, d, 2))
            at[order, i] = _SMALL, -_SMALL
            above, below = right_hand_sides(at)[i]
            linear[i] += (above - below) / (2 * _SMALL) * power

    def nonlinear(v: Complex) -> Complex:
        values = irfft(powers[:, None] * v, n, axis=-1)
        return np.asarray(rfft(right_hand_sides(values), axis=-1) - linear * v)

    states = etdrk4(linear, nonlinear, rfft(u), step=dt / substeps, every=substeps)
    return _sampled(states, linear, nonlinear, lambda v: irfft(v, n), n_t=n_t, progress=progress)


def derivatives_along(u: Array, length: float, order: int) -> Array:
    """Differentiate periodic values along their last axis, of even length."""
    n = u.shape[-1]
    return np.asarray(irfft((1j * _wave_numbers(n, length)) ** order * rfft(u), n))


def _conservation_law(
    u: Array,
    linear: NDArray[np.inexact],
    flux: NDArray[np.inexact],
    *,
    dt: float,
    n_t: int,
    substeps: int,
    progress: Progress,
) -> tuple[Array, Array]:
    """Solve ``u_t = L u + F u^2`` for real u, where F is a first derivative."""
    n = len(u)

    def nonlinear(v: Complex) -> Complex:
        return flux * rfft(irfft(v, n) ** 2)

    states = etdrk4(linear, nonlinear, rfft(u), step=dt / substeps, every=substeps)
    return _sampled(states, linear, nonlinear, lambda v: irfft(v, n), n_t=n_t, progress=progress)


def _sampled(
    states: Iterator[Complex],
    linear: NDArray[np.inexact],
    nonlinear: Callable[[Complex], Complex],
    back: Callable[[Complex], NDArray[Any]],
    *,
    n_t: int,
    progress: Progress,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the states at the nodes, and the right-hand sides there; times last."""
    pairs = [(back(v), back(linear * v + nonlinear(v))) for v in _take(states, n_t, progress)]
    u, u_t = (np.stack(each, axis=-1) for each in zip(*pairs, strict=True))
    return u, u_t


def _wave_numbers(n: int, length: float) -> Array:
    """Return the wave numbers of a real transform of even n.

    The highest is set to zero, since an odd derivative of that wave is zero at all nodes.
    """
    k = 2 * np.pi / length * np.arange(n // 2 + 1)
    k[-1] = 0
    return np.asarray(k, np.float64)


def _take(states: Iterator[Complex], n: int, progress: Progress) -> Iterator[Complex]:
    for i, state in zip(range(n), states, strict=False):
        progress(i / n)
        yield state
