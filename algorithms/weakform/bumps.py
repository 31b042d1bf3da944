"""Test functions along one axis: where they are, how wide, and their weights at the nodes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from weak import window_weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["Bumps", "corner"]

HIGHEST = 4
"""The highest derivative that is moved on to a test function."""
_FEWEST = 7
"""Fewest nodes of an axis that test functions fit on."""
_TAIL = 7.75
"""Half a width times the wave number that a test function just lets pass: two deviations of its
spectrum, that of (1 - s^2)^6 being nearly normal."""


@dataclass(frozen=True)
class Bumps:
    """Test functions along an axis.

    Attributes
    ----------
    half
        Nodes from the middle to the border; 0 where the axis is too short, for single nodes.
    weights
        Weights of each order of derivative, (rows, nodes).
    places
        The nodes under each test function, (rows, 2 half + 1).
    """

    half: int
    weights: tuple[Array, ...] = field(repr=False)
    places: NDArray[np.intp] = field(repr=False)

    @classmethod
    def along(cls, n: int, step: float, half: int, rows: int, *, periodic: bool) -> Bumps:
        """Spread test functions of a width over an axis, `rows` at most.

        Parameters
        ----------
        n, step
            The number of nodes and their distance.
        half
            Nodes from the middle to the border.
        """
        if n < _FEWEST:
            return cls(0, (np.eye(n),), np.arange(n)[:, None])
        half = int(np.clip(half, 2, (n - 1) // 2))
        if periodic:
            count = min(n, rows)
            middles = np.round(np.arange(count) * n / count).astype(int)
        else:
            count = max(1, min(n - 2 * half, rows))
            middles = np.round(np.linspace(half, n - 1 - half, count)).astype(int)
        places = (middles[:, None] + np.arange(-half, half + 1)) % n
        weights = []
        for order in range(HIGHEST + 1):
            rows_of = np.zeros((len(middles), n))
            values = window_weights(half, order) / (half * step) ** order
            for row, place in zip(rows_of, places, strict=True):
                row[place] = values
            weights.append(rows_of)
        return cls(half, tuple(weights), places)


def corner(measured: Array, smoothed: Array, axis: int, *, periodic: bool, clean: float) -> float:
    """Return the highest wave number along an axis, in radians a node, that is above the noise.

    Parameters
    ----------
    measured, smoothed
        One state, (n_x, ..., n_t).
    clean
        Least share of the variance that counts as noise.
    """
    lines, rest = (
        np.moveaxis(values, axis, -1).reshape(-1, values.shape[axis])
        for values in (smoothed, measured - smoothed)
    )
    n = lines.shape[1]
    lines = lines - lines.mean()
    whole = float(np.mean(lines**2))
    noise = max(float(np.mean(rest**2)), clean * whole)
    if not periodic:
        s = np.linspace(-1, 1, n)
        ends = np.stack([np.ones(n), s])
        lines = lines - (np.linalg.pinv(ends.T) @ lines.T).T @ ends
        bell = np.cos(np.pi * s / 2) ** 2
        lines = lines * bell / np.sqrt(np.mean(bell**2))
    powers = np.mean(np.abs(np.fft.rfft(lines, axis=1)) ** 2, axis=0) / n
    above = np.flatnonzero(powers > noise)
    last = int(above[-1]) if len(above) else 1
    return 2 * np.pi * max(last, 1) / n


def half_width(wave: float, factor: float, n: int, *, periodic: bool, part: int = 4) -> int:
    """Return the half width, in nodes, of a test function that lets waves pass up to one."""
    most = n // part if periodic else (n - 1) // part
    return int(np.clip(round(factor * _TAIL / wave), 2, max(most, 2)))
