"""Rows that are denser where a surface is curved.

SurfaceBench's text speaks of denser sampling in regions of high curvature, and has no formula; the
rule is ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mdbench.datatypes.surface.problem import SurfaceRows, draw_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from mdbench.datatypes.surface.problem import TrueSurface

    Array = NDArray[np.float64]

_TIMES = 8
"""The ratio of the rows that are drawn to those that are used."""
_UNIFORM = 0.5
"""The share of the rows that curvature has no part in."""
_LARGEST = 0.99
"""Curvatures above this quantile, such as those of a crease, count as it."""
_SPREAD = (0.05, 0.95)
_STEP = 1e-2
"""The step of differences, over the length of an input's domain; a crease has this width."""
_FLAT = 1e-4
"""Curvatures of the scaled surface below this one are those of rounding."""


def draw_curved_rows(
    surface: TrueSurface,
    bands: Sequence[Sequence[tuple[float, float]]],
    n: int,
    generator: np.random.Generator,
) -> SurfaceRows:
    """Draw rows, more of them where the surface is more curved.

    Of eight times as many uniform rows `n` are kept without replacement.  A row's weight is one
    half for itself, and one half for its curvature over the mean curvature.  The surface is
    scaled for it so that the middle 90 % of each coordinate have the length 1.

    Raises
    ------
    DataError
        If hardly any row is finite.
    """
    rows = draw_rows(surface, bands, n * _TIMES, generator)
    lengths = np.array([band[-1][1] - band[0][0] for band in bands])

    def points(x: Array) -> Array:
        y = surface.values(x)
        return np.column_stack([x, y]) if surface.representation == "explicit" else y

    low, high = np.quantile(points(rows.x), _SPREAD, axis=0)
    scale = np.where(high > low, high - low, 1.0)
    with np.errstate(all="ignore"):
        curved = curvature(lambda x: points(x) / scale, rows.x, _STEP * lengths)
    weights = _weights(curved)
    kept = generator.choice(len(weights), n, replace=False, p=weights / weights.sum())
    return SurfaceRows(rows.x[kept], rows.y[kept], rows.drawn_again)


def _weights(curved: Array) -> Array:
    """Return weights of rows; those without a curvature count as the most curved ones."""
    known = curved[np.isfinite(curved)]
    largest = float(np.quantile(known, _LARGEST)) if len(known) else 0.0
    curved = np.minimum(np.where(np.isfinite(curved), curved, largest), largest)
    curved = np.where(curved < _FLAT, 0.0, curved)
    mean = float(curved.mean())
    if mean <= 0:
        return np.ones(len(curved))
    return _UNIFORM + (1 - _UNIFORM) * curved / mean


def curvature(points: Callable[[Array], Array], x: Array, steps: Array) -> Array:
    """Return the root mean square of both principal curvatures, (rows,).

    It is ``sqrt(2*H**2 - K)``, with the mean and the Gaussian curvature by central differences;
    not finite where the surface has no tangent plane.

    Parameters
    ----------
    points
        Gives points in space, (rows, 3), for the inputs.
    x
        Inputs, (rows, 2).
    steps
        Of the differences, for each input.
    """
    h, k = steps
    u, v = np.array([h, 0.0]), np.array([0.0, k])
    middle = points(x)
    right, left, up, down = (points(x + step) for step in (u, -u, v, -v))
    r_u, r_v = (right - left) / (2 * h), (up - down) / (2 * k)
    r_uu, r_vv = (right - 2 * middle + left) / h**2, (up - 2 * middle + down) / k**2
    corners = (points(x + a * u + b * v) * a * b for a in (1, -1) for b in (1, -1))
    r_uv = sum(corners, np.zeros_like(middle)) / (4 * h * k)
    normal = np.cross(r_u, r_v)
    normal /= np.linalg.norm(normal, axis=-1, keepdims=True)

    def dot(one: Array, other: Array) -> Array:
        product: Array = np.einsum("ij,ij->i", one, other)
        return product

    e, f, g = dot(r_u, r_u), dot(r_u, r_v), dot(r_v, r_v)
    ll, m, n = dot(r_uu, normal), dot(r_uv, normal), dot(r_vv, normal)
    area = e * g - f**2
    gauss = (ll * n - m**2) / area
    mean = (e * n - 2 * f * m + g * ll) / (2 * area)
    return np.asarray(np.sqrt(np.maximum(2 * mean**2 - gauss, 0.0)))
