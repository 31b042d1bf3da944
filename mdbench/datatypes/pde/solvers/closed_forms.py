"""Systems whose solution is a formula, or a sum of modes.

A plate under a moving beam is solved by the modes of a body that cools at its surface.  The
temperature above that of the air is a sum of products of one mode for each axis.  Each product
decays by itself and is fed by its part of the beam, so that only an integral over time has to be
discretised.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import brentq

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Path = Callable[[Array], tuple[Array, Array]]
    Progress = Callable[[float], None]

_DECAYED = 40.0
"""A part that has decayed by exp(-40) is below rounding."""


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


_MODES = (128, 128, 5)
"""Along each axis: a beam of the width that the data have needs 80 of the first two."""
_QUADRATURE = 400
"""Nodes along an axis, for the part of a beam that is in a mode."""
_STAGES = 4
"""Nodes in a step of time, between which the beam's part in a mode is a cubic."""
_FINE = 48
"""Nodes for integrals of a cubic and a decay."""


@dataclass(frozen=True)
class Modes:
    """The modes along an axis: cosines and sines about its middle, in turn.

    They solve ``f'' = -wave^2 f`` with ``f' = -+ cooling f`` at the two ends.

    Attributes
    ----------
    begin, length
        Of the axis.
    waves
        The wave numbers, rising, (n,).
    """

    begin: float
    length: float
    waves: Array

    @classmethod
    def of(cls, begin: float, length: float, cooling: float, n: int) -> Modes:
        """Find the first n modes.

        With s the wave number times half the length, a cosine has ``s tan s = cooling length/2``
        and a sine ``s cot s = -cooling length/2``: one root in each quarter of a turn.
        """
        strength = cooling * length / 2

        def excess(s: float, odd: int) -> float:
            if odd:
                return float(s * np.cos(s) + strength * np.sin(s))
            return float(s * np.sin(s) - strength * np.cos(s))

        roots = [
            brentq(excess, i * np.pi / 2, (i + 1) * np.pi / 2, args=(i % 2,), xtol=1e-15)
            for i in range(n)
        ]
        return cls(begin, length, 2 / length * np.array(roots))

    def at(self, place: Array) -> Array:
        """Evaluate the modes, (places, n)."""
        phase = np.outer(place - self.begin - self.length / 2, self.waves)
        even = np.arange(len(self.waves)) % 2 == 0
        return np.where(even, np.cos(phase), np.sin(phase))

    def shares(self, functions: Callable[[Array], Array]) -> Array:
        """Return what functions have of each mode, (k, n), from their values (k, places)."""
        s, weights = _gauss(_QUADRATURE)
        place = self.begin + self.length / 2 * (s + 1)
        modes = self.at(place)
        product: Array = functions(place) @ (weights[:, None] * modes)
        return product / (weights @ modes**2)


def heated_plate(
    axes: Sequence[Array],
    dt: float,
    n_steps: int,
    *,
    capacity: float,
    conductivity: float,
    transfer: float,
    ambient: float,
    power: float,
    narrowness: float,
    beam: Path,
    substeps: int,
    progress: Progress,
) -> tuple[Array, Array]:
    """Solve ``capacity T_t = conductivity lap T + heat`` in a plate that cools at its surface.

    The heat is that of a beam, ``power exp(-narrowness r^2)`` at the distance r from its middle
    and the same through the plate.  Through the whole surface flows ``transfer (T - ambient)``;
    all is at `ambient` at time 0.

    Parameters
    ----------
    axes
        The nodes of the three axes, from face to face.
    dt, n_steps
        The times of the answer: dt, 2 dt, ..., n_steps dt.
    capacity, conductivity, transfer, power
        In J/(m^3 K), W/(m K), W/(m^2 K) and W/m^3.
    narrowness
        In 1/m^2.
    beam
        The x and the y of the beam's middle at times.
    substeps
        Steps in each dt, in which decay is exact and the beam's heat a cubic in time.
    progress
        Called with the part that is done, from 0 to 1.

    Returns
    -------
    T, T_t
        The temperature and its derivative in time, (n_x, n_y, n_z, n_steps).
    """
    modes = [
        Modes.of(float(axis[0]), float(np.ptp(axis)), transfer / conductivity, n)
        for axis, n in zip(axes, _MODES, strict=True)
    ]
    squares = [each.waves**2 for each in modes]
    decay = conductivity / capacity * (
        squares[0][:, None, None] + squares[1][:, None] + squares[2]
    )  # fmt: skip
    through = modes[2].shares(lambda z: np.ones((1, len(z))))[0]
    step = dt / substeps
    stages = step / 2 * (_gauss(_STAGES)[0] + 1)
    lost = np.exp(-step * decay)
    weights = [through * each for each in _weights(stages, step, decay)]
    tables = [each.at(axis) for each, axis in zip(modes, axes, strict=True)]
    heat = power / capacity

    def across(t: Array) -> tuple[Array, Array]:
        x, y = beam(t)
        return (
            modes[0].shares(lambda place: np.exp(-narrowness * (place - x[:, None]) ** 2)),
            modes[1].shares(lambda place: np.exp(-narrowness * (place - y[:, None]) ** 2)),
        )

    amplitudes = np.zeros(decay.shape)
    states, rates = [], []
    for n in range(n_steps):
        progress(n / n_steps)
        begins = n * dt + step * np.arange(substeps)
        along_x, along_y = across((begins[:, None] + stages).ravel())
        for i in range(substeps):
            amplitudes *= lost
            for j, part in enumerate(weights):
                k = i * _STAGES + j
                amplitudes += heat * np.outer(along_x[k], along_y[k])[..., None] * part
        now_x, now_y = (each[0] for each in across(np.array([(n + 1) * dt])))
        fed = heat * np.outer(now_x, now_y)[..., None] * through
        states.append(ambient + _sum(amplitudes, tables))
        rates.append(_sum(fed - decay * amplitudes, tables))
    return np.stack(states, axis=-1), np.stack(rates, axis=-1)


def _weights(stages: Array, step: float, decay: Array) -> list[Array]:
    """Integrate ``exp(-decay (step - s))`` over a step, times each of Lagrange's cubics."""
    nodes, sizes = _gauss(_FINE)
    nodes, sizes = step / 2 * (nodes + 1), step / 2 * sizes
    cubics = np.linalg.solve(
        np.vander(stages / step, increasing=True).T,
        np.vander(nodes / step, len(stages), increasing=True).T,
    )
    weights = [np.zeros(decay.shape) for _ in stages]
    for node, size, values in zip(nodes, sizes, cubics.T, strict=True):
        remaining = size * np.exp(-decay * (step - node))
        for i, value in enumerate(values):
            weights[i] += value * remaining
    return weights


@cache
def _gauss(n: int) -> tuple[Array, Array]:
    """Return the nodes of Gauss's rule from -1 to 1 and their weights."""
    nodes, weights = np.polynomial.legendre.leggauss(n)
    return nodes, weights


def _sum(amplitudes: Array, tables: Sequence[Array]) -> Array:
    """Sum products of modes at all nodes."""
    values = np.tensordot(tables[0], amplitudes, axes=(1, 0))
    values = np.einsum("yj,xjl->xyl", tables[1], values, optimize=True)
    return np.asarray(values @ tables[2].T)
