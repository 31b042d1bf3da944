"""Singular values where LAPACK finds none.

LAPACK's iteration ends without them for a rare matrix, which is another one for each
processor's kernel of the BLAS: a fit that all other machines can do fails on one.  Such a matrix
is diagonalised by rotations of two columns at a time (one-sided Jacobi, Hestenes: J. SIAM 6, 51,
1958), which always end, but take longer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["least_squares", "lstsq", "svd"]

_SWEEPS = 60
"""Largest number of rounds through all pairs of columns."""
_NOTHING = 1e-30
"""A column is zero that is shorter than this, where the largest entry is one."""


def svd(matrices: Array) -> tuple[Array, Array, Array]:
    """Decompose a stack (m, n, p) as ``numpy.linalg.svd`` does, without full matrices.

    Singular values far below rounding may be zero, and their left vectors, too.
    """
    try:
        return np.linalg.svd(matrices, full_matrices=False)
    except np.linalg.LinAlgError:
        each = [_svd_of_one(matrix) for matrix in matrices]
        u, values, vt = zip(*each, strict=True)
        return np.stack(u), np.stack(values), np.stack(vt)


def least_squares(matrices: Array, right: Array, cut_off: float) -> Array:
    """Solve a stack of least-squares problems (m, n, p), (m, n, k) by singular values.

    Those up to `cut_off`, relative to the largest, count as zero; of equally good solutions
    (m, p, k) the smallest are taken.
    """
    u, values, vt = svd(matrices)
    large = values > cut_off * values[:, :1]
    inverse = np.divide(1.0, values, out=np.zeros_like(values), where=large)
    projected = inverse[..., None] * (u.swapaxes(1, 2) @ right)
    return np.asarray(vt.swapaxes(1, 2) @ projected)


def lstsq(matrix: Array, right: Array, cut_off: float) -> Array:
    """Solve one least-squares problem (n, p), (n,) likewise; faster where n is much more than p."""
    try:
        return np.asarray(np.linalg.lstsq(matrix, right, rcond=cut_off)[0])
    except np.linalg.LinAlgError:
        return least_squares(matrix[None], right[None, :, None], cut_off)[0, :, 0]


def _svd_of_one(matrix: Array) -> tuple[Array, Array, Array]:
    try:
        return np.linalg.svd(matrix, full_matrices=False)
    except np.linalg.LinAlgError:
        if not np.isfinite(matrix).all():
            raise
    if matrix.shape[0] < matrix.shape[1]:
        u, values, vt = _rotate(matrix.T)
        return vt.T, values, u.T
    return _rotate(matrix)


def _rotate(matrix: Array) -> tuple[Array, Array, Array]:
    """Turn the columns of a matrix of no fewer rows than columns until all are orthogonal."""
    size = float(np.abs(matrix).max(initial=0.0)) or 1.0
    q, columns = np.linalg.qr(matrix / size)
    p = columns.shape[1]
    turned = np.eye(p)
    small = p * float(np.finfo(np.float64).eps)
    for _ in range(_SWEEPS):
        still = True
        for i in range(p - 1):
            for j in range(i + 1, p):
                pair = [i, j]
                one, other = columns[:, i], columns[:, j]
                a, b, both = float(one @ one), float(other @ other), float(one @ other)
                if min(a, b) <= _NOTHING**2 or abs(both) <= small * np.sqrt(a) * np.sqrt(b):
                    continue
                still = False
                ratio = (b - a) / (2 * both)
                tangent = float(np.copysign(1 / (abs(ratio) + np.hypot(1, ratio)), ratio))
                cosine = 1 / np.hypot(1, tangent)
                turn = cosine * np.array([[1, tangent], [-tangent, 1]])
                columns[:, pair] = columns[:, pair] @ turn
                turned[:, pair] = turned[:, pair] @ turn
        if still:
            break
    values = np.linalg.norm(columns, axis=0)
    values[values <= _NOTHING] = 0.0
    order = np.argsort(-values, kind="stable")
    values, columns = values[order], columns[:, order]
    u = q @ np.divide(columns, values, out=np.zeros_like(columns), where=values > 0)
    return u, size * values, turned[:, order].T
