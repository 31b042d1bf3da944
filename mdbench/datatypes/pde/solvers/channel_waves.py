"""Flow in a channel that repeats itself: waves along the walls, clamped polynomials between them.

The velocity of each wave number is the curl of a stream function that is made of Legendre
polynomials which vanish at both walls with their first derivatives; that of the mean flow is made
of some that vanish there themselves (Shen, SIAM J. Sci. Comput. 15, 1489 (1994)).  So all velocity
is free of divergence and at rest at the walls, and the pressure has no part in the weak form
(Galerkin's).  Friction is diagonal in the Stokes modes, and time goes by ETDRK4 (`spectral`).
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.polynomial import legendre
from scipy.linalg import eigh

from mdbench.datatypes.pde.solvers.spectral import etdrk4

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Complex = NDArray[np.complex128]
    Progress = Callable[[float], None]


class _Waves(NamedTuple):
    """A velocity along lines of one y each, wave by wave: (waves + 1, n_y)."""

    u: Complex
    u_y: Complex
    u_yy: Complex
    v: Complex


class StokesModes:
    """The velocities in a channel of height 1 that friction slows down without changing them.

    Parameters
    ----------
    period
        The length after which the channel repeats itself.
    waves
        The highest wave number, in waves a period.
    modes
        Modes of each wave number.

    Attributes
    ----------
    k
        Wave numbers, (waves + 1,); the first is 0, that of the mean flow.
    rates
        By which modes decay under a viscosity of 1, (waves + 1, modes).
    """

    def __init__(self, period: float, waves: int, modes: int) -> None:
        self.k = 2 * np.pi / period * np.arange(waves + 1)
        self._period = period
        # Products of three functions are integrated exactly.
        nodes, weights = legendre.leggauss(2 * modes + 8)
        self._weights = weights / 2
        self._y = (nodes + 1) / 2
        values = _tabulated(self._y, waves, modes)
        psi, u, u_y, _ = values
        k = self.k[:, None, None]
        mass = self._products(u, u) + k**2 * self._products(psi, psi)
        drag = self._products(u_y, u_y) + 2 * k**2 * self._products(u, u)
        drag += k**4 * self._products(psi, psi)
        found = [eigh(each, unit) for each, unit in zip(drag, mass, strict=True)]
        self.rates = np.stack([rates for rates, _ in found])
        self._shapes = np.stack([shapes for _, shapes in found])
        self._functions = values @ self._shapes
        # Products of two functions have no alias among the waves.
        self._n_x = 3 * waves + 2

    def _products(self, f: Array, g: Array) -> Array:
        return np.asarray(np.einsum("y,kyi,kyj->kij", self._weights, f, g))

    def at(self, y: Array) -> Array:
        """Tabulate the modes along lines: stream function, u, u_y and u_yy.

        Returns
        -------
        (4, waves + 1, n_y, modes)
        """
        waves, modes = self.rates.shape
        return np.asarray(_tabulated(y, waves - 1, modes) @ self._shapes)

    def waves(self, c: Complex, functions: Array) -> _Waves:
        """Sum modes with coefficients c, (waves + 1, modes), along the lines of `at`."""
        psi, u, u_y, u_yy = (functions @ c[..., None])[..., 0]
        return _Waves(u, u_y, u_yy, -1j * self.k[:, None] * psi)

    def convection(self, waves: _Waves) -> tuple[Complex, Complex]:
        """Return ``-(u . grad) u`` along lines, wave by wave, as far as the waves go."""
        ik = 1j * self.k[:, None]
        u, u_y, v = (self._along_x(each) for each in (waves.u, waves.u_y, waves.v))
        u_x, v_x = self._along_x(ik * waves.u), self._along_x(ik * waves.v)
        return self._by_waves(-u * u_x - v * u_y), self._by_waves(-u * v_x + v * u_x)

    def _along_x(self, f: Complex) -> Array:
        return np.asarray(np.fft.irfft(f, self._n_x, axis=0, norm="forward"))

    def _by_waves(self, f: Array) -> Complex:
        return np.asarray(np.fft.rfft(f, axis=0, norm="forward")[: len(self.k)])

    def coefficients(self, x_part: Complex, y_part: Complex) -> Complex:
        """Project a vector field, along the lines of the quadrature, on the modes."""
        psi, u, _, _ = self._functions
        ik = 1j * self.k[:, None]
        return np.asarray(
            np.einsum("y,kyi,ky->ki", self._weights, u, x_part)
            + np.einsum("y,kyi,ky->ki", self._weights, psi, ik * y_part)
        )

    def pushed(self, c: Complex, push: float) -> Complex:
        """Return what convection and an even push along the channel do to the coefficients."""
        x_part, y_part = self.convection(self.waves(c, self._functions))
        x_part[0] += push
        return self.coefficients(x_part, y_part)

    def start(self, velocity: Callable[[Array], Array]) -> Complex:
        """Project a velocity, by places (2, n), that is free of divergence and rests at walls."""
        places = np.meshgrid(
            self._period / self._n_x * np.arange(self._n_x), self._y, indexing="ij"
        )
        u, v = velocity(np.stack([each.ravel() for each in places])).reshape(2, *places[0].shape)
        return self.coefficients(self._by_waves(u), self._by_waves(v))


def repeating_channel(
    start: Callable[[Array], Array],
    places: tuple[Array, Array],
    times: Array,
    *,
    period: float,
    density: float,
    viscosity: float,
    drop: float,
    waves: int,
    modes: int,
    substeps: int,
    progress: Progress,
) -> tuple[Array, Array]:
    """Solve the flow between walls at y = 0 and 1 under a pressure that falls along x.

    Parameters
    ----------
    start
        The velocity at time 0 by places (2, n), free of divergence and at rest at the walls.
    places
        The x and the y of the grid on which it is wanted.
    times
        Equidistant, and multiples of their step.
    period
        The length after which all but the pressure's fall repeats itself.
    drop
        By how much the pressure falls along a length of 1.
    waves, modes
        As for `StokesModes`.
    substeps
        Steps of the solver from one time to the next.

    Returns
    -------
    u, u_t
        The velocity and the pressure, (3, n_x, n_y, n_t), and the derivative in time of the
        velocity, which is the right-hand side at it, (2, n_x, n_y, n_t).
    """
    x, y = places
    flow = StokesModes(period, waves, modes)
    nu, push = viscosity / density, drop / density
    linear = -nu * flow.rates
    step = float(times[1] - times[0])
    first = round(float(times[0]) / step)
    functions = flow.at(y)
    ik = 1j * flow.k[:, None]
    turns = np.exp(1j * np.outer(x, flow.k)) * np.where(flow.k > 0, 2, 1)

    def on_grid(f: Complex) -> Array:
        return np.asarray((turns @ f).real)

    states = etdrk4(
        linear,
        lambda c: flow.pushed(c, push),
        flow.start(start),
        step=step / substeps,
        every=substeps,
    )
    u, u_t = (np.empty((n, len(x), len(y), len(times))) for n in (3, 2))
    for i, c in enumerate(islice(states, first, first + len(times))):
        progress(i / len(times))
        wave = flow.waves(c, functions)
        rate = flow.waves(linear * c + flow.pushed(c, push), functions)
        x_part, _ = flow.convection(wave)
        pressure = x_part - rate.u + nu * (wave.u_yy + ik**2 * wave.u)
        pressure[1:] /= ik[1:]
        # Across the channel the mean of the pressure balances that of the velocity's square.
        pressure[0] = -2 * np.square(np.abs(wave.v[1:])).sum(axis=0)
        u[0, ..., i], u[1, ..., i] = on_grid(wave.u), on_grid(wave.v)
        u[2, ..., i] = density * on_grid(pressure) + drop * (1 - x[:, None])
        u_t[0, ..., i], u_t[1, ..., i] = on_grid(rate.u), on_grid(rate.v)
    return u, u_t


def vortices(p: Array) -> Array:
    """Return the velocity at places (2, n) of vortices that rest at y = 0 and y = 1.

    They are those of the stream function
    ``sin(pi y)^2 (sin(2 pi x + 0.5) + cos(pi y) cos(pi x + 0.2) / 2)``: the velocity is its
    derivative along y, and less that along x, so that it has no divergence.
    """
    x, y = p
    pi = np.pi
    wide, narrow = np.sin(2 * pi * x + 0.5), np.cos(pi * x + 0.2) / 2
    hump, skew = np.sin(pi * y) ** 2, np.sin(pi * y) ** 2 * np.cos(pi * y)
    hump_y = pi * np.sin(2 * pi * y)
    skew_y = hump_y * np.cos(pi * y) - pi * np.sin(pi * y) ** 3
    wide_x, narrow_x = 2 * pi * np.cos(2 * pi * x + 0.5), -pi * np.sin(pi * x + 0.2) / 2
    return np.stack([hump_y * wide + skew_y * narrow, -(hump * wide_x + skew * narrow_x)])


def _tabulated(y: Array, waves: int, modes: int) -> Array:
    """Tabulate the polynomials: stream function, u, u_y and u_yy; the mean flow has only u.

    Returns
    -------
    (4, waves + 1, n_y, modes)
    """
    table = np.zeros((4, waves + 1, len(y), modes))
    for j in range(modes):
        series = np.zeros(j + 5)
        series[j], series[j + 2] = 1, -1
        table[1:, 0, :, j] = _derivatives(series, y, 3)
        series[j + 2], series[j + 4] = -2 * (2 * j + 5) / (2 * j + 7), (2 * j + 3) / (2 * j + 7)
        table[:, 1:, :, j] = _derivatives(series, y, 4)[:, None]
    return table


def _derivatives(series: Array, y: Array, n: int) -> Array:
    """Return a Legendre series in 2 y - 1 and its derivatives along y, n in all."""
    return np.stack(
        [
            2.0**order * legendre.legval(2 * y - 1, legendre.legder(series, order))
            for order in range(n)
        ]
    )
