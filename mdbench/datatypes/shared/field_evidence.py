"""Fields as equations are compared with them: averaged in space, and integrated in time."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from mdbench.data.smoothing import smooth, smooth_in_time, smoother_along
from mdbench.datatypes.shared.evidence import Evidence, scatters, windows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mdbench.data.field import Field

    Array = NDArray[np.float64]

__all__ = ["FieldIncrements", "smoothed_field"]

_PATCHES_ALONG = 10
"""How many patches an axis is cut into."""
_LARGEST = 12
"""The most nodes from the middle of a patch to its border."""
_MOST_POINTS = 200_000
"""Places times times, on which an equation is evaluated."""
_BORDER = 3
"""Nodes at the ends of an axis that is not periodic where no patch is: derivatives are worse."""


def smoothed_field(given: Field) -> Field:
    """Smooth a field along all axes and in time, as much as it takes; with its rates of change.

    Returns
    -------
    Field
        Whose `du` is the derivative in time of the smoothed states.
    """
    found = [_smoothed_state(given, given.u[..., state]) for state in range(given.dim)]
    u, du = (np.stack(arrays, axis=-1) for arrays in zip(*found, strict=True))
    return replace(given, u=u, du=du)


def _smoothed_state(given: Field, u: Array) -> tuple[Array, Array]:
    """Smooth one state along all axes, and then in time, which tells before how noisy it is."""
    noise = smooth_in_time(u, given.t, -1).noise
    for axis, (name, nodes) in enumerate(given.grid.items()):
        if len(nodes) >= _FEWEST:
            smoother = smoother_along(u, nodes, axis, periodic=name in given.periods, noise=noise)
            u, noise = smoother(u), noise * smoother.left
    found = smooth_in_time(u, given.t, -1)
    return found.u, found.du


_FEWEST = 12
"""Nodes of an axis along which a field is smoothed; fewer are left as they are."""


class _AtPatches(Mapping[str, "Array"]):
    """Features at the nodes of some patches, (patches, nodes, times), each made once."""

    def __init__(self, columns: Mapping[str, Array], places: NDArray[np.intp]) -> None:
        self._columns = columns
        self._places = places
        self._kept: dict[str, Array] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __getitem__(self, name: str) -> Array:
        if name not in self._kept:
            column = self._columns[name]
            self._kept[name] = column.reshape(-1, column.shape[-1])[self._places]
        return self._kept[name]


@dataclass(frozen=True, eq=False)
class FieldIncrements(Evidence):
    """Averages over patches of a field, whose changes are to be the integrals of right-hand sides.

    Right-hand sides are evaluated on the smoothed field and averaged over each patch with weights
    that fall to zero at its border; their integrals in time are compared with the averages of the
    field as it was measured, within windows of time as in `Increments`.
    """

    measured: Array = field(repr=False)
    weights: Array = field(repr=False)
    integral: Array = field(repr=False)
    whole: Array
    window: int

    @classmethod
    def of(
        cls, given: Field, columns: Mapping[str, Array], states: tuple[int, ...]
    ) -> FieldIncrements:
        """Make it of a noisy field, and of the features of what it is when it is smoothed."""
        places, weights = _patches(given)
        lines = given.u.reshape(-1, len(given.t), given.dim)[..., states]
        measured = np.einsum("p,sptd->tsd", weights, lines[places])
        noise = smooth(given.t, measured.reshape(len(given.t), -1)).variances
        window, whole, floors = windows(
            measured, np.mean(noise.reshape(measured.shape[1:]), axis=0)
        )
        return cls(
            columns=_AtPatches(columns, places),
            floors=floors,
            measured=measured,
            weights=weights,
            integral=_integral(given.t),
            whole=whole,
            window=window,
        )

    def loss(self, values: Array, target: int) -> float:
        """Give the variance of what is left within windows over that of the averages."""
        averages = np.einsum("p,spt->ts", self.weights, values)
        left = self.measured[..., target] - self.integral @ averages
        return float(np.mean(scatters(left, self.window)) / self.whole[target])


def _integral(t: Array) -> Array:
    """Give the matrix (n, n) that integrates samples from the first time to each."""
    from scipy.interpolate import CubicSpline  # noqa: PLC0415 - takes a moment to load

    return np.asarray(CubicSpline(t, np.eye(len(t))).antiderivative()(t))


def _patches(given: Field) -> tuple[NDArray[np.intp], Array]:
    """Choose patches: the flat numbers of their nodes (patches, nodes), and the nodes' weights."""
    shape = given.u.shape[:-2]
    starts, halves = [], []
    for name, n in zip(given.grid, shape, strict=True):
        periodic = name in given.periods
        half = max(0, min(n // (2 * _PATCHES_ALONG), _LARGEST))
        border = 0 if periodic else min(_BORDER, (n - 1) // 4)
        last = n - 1 if periodic else n - 1 - border - half
        first = 0 if periodic else border + half
        starts.append(np.arange(first, max(last, first) + 1, max(1, half)))
        halves.append(half)
    offsets = [np.arange(-half, half + 1) for half in halves]
    bumps = [
        (1 - (each / (half + 1)) ** 2) ** 2 for each, half in zip(offsets, halves, strict=True)
    ]
    weights = np.ones(1)
    for bump in bumps:
        weights = np.outer(weights, bump / bump.sum()).ravel()
    most = max(1, _MOST_POINTS // (len(weights) * len(given.t)))
    middles = list(itertools.product(*starts))
    if len(middles) > most:
        chosen = np.random.default_rng(0).choice(len(middles), most, replace=False)
        middles = [middles[place] for place in np.sort(chosen)]
    around = np.stack([each.ravel() for each in np.meshgrid(*offsets, indexing="ij")])
    nodes = np.array(middles)[:, :, None] + around[None]
    flat = np.ravel_multi_index(tuple(np.moveaxis(nodes, 1, 0)), shape, mode="wrap")
    return flat, weights
