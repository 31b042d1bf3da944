"""Triangular factors of least-squares problems: made block by block of rows, and solved.

LAPACK's QR decomposition runs at a third of the speed of a product of matrices, and singular
values take twenty times as long as a triangular system.  So rows of many columns are added to a
factor by products, with that factor as the preconditioner of a Cholesky decomposition (as in
Fukaya, Kannan, Nakatsukasa, Yamamoto, Yanagisawa: SIAM J. Sci. Comput. 42, A477, 2020), and
singular values are looked for only where some might count as zero.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from singular import least_squares

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["fold", "solve_columns"]

_LARGE = 250_000
"""Numbers in a first block up to which all rows are decomposed by LAPACK."""
_TOGETHER = 250_000
"""Numbers in rows that are added together, for the cache: 2 MB; more where columns are many."""
_SINGLY = 16
"""Columns that are eliminated one by one."""
_MODERATE = 100.0
"""Mean square of the rows' columns, in units of the factor's, up to which it is updated."""
_PROBES, _MARGIN = 3, 100
"""Number of random right-hand sides that estimate the smallest singular value, and the margin."""
_BLOCK = 24
"""Unknowns that are found together; fewer take more steps, more take more of each."""


def fold(blocks: Iterable[tuple[Array, Array]]) -> Array:
    """Return the triangular factor of features next to targets.

    Parameters
    ----------
    blocks
        Features (rows, p) and targets (rows, k) of some rows at a time.

    Returns
    -------
    (at most p + k, p + k)
        R of the QR decomposition of all rows.
    """
    factor: Array | None = None
    large, memory = False, np.empty(0)
    for features, targets in blocks:
        width = features.shape[1] + targets.shape[1]
        if factor is None:
            large = len(features) * width > _LARGE
            # Rows from everywhere make a better preconditioner than rows of one corner.
            stride = max(1, len(features) // (2 * width)) if large else 1
            first = np.arange(len(features)) % stride == 0
            factor = _factor(features[first], targets[first])
            features, targets = features[~first], targets[~first]  # noqa: PLW2901
        step = max(_TOGETHER // width, 8 * width) if large else max(1, len(features))
        for start in range(0, len(features), step):
            more = features[start : start + step], targets[start : start + step]
            updated = None
            if large and len(factor) == width:
                numbers = width * len(more[0])
                memory = memory if memory.size >= numbers else np.empty(numbers)
                updated = _updated(factor, *more, memory[:numbers].reshape(width, -1))
            factor = _factor(*more, factor) if updated is None else updated
    if factor is None:
        raise ValueError("there are no rows to fit")
    return factor


def _factor(features: Array, targets: Array, factor: Array | None = None) -> Array:
    rows = np.concatenate([features, targets], axis=1)
    whole = rows if factor is None else np.concatenate([rows, factor])
    return np.asarray(np.linalg.qr(whole, mode="r"))


def _updated(factor: Array, features: Array, targets: Array, columns: Array) -> Array | None:
    """Return the triangular factor (p + k, p + k) of another one and of further rows.

    With Y, the rows times the inverse of R, the new factor is that of I + Y'Y (Cholesky), times R.
    Where Y is of moderate size that matrix is well-conditioned, whatever R is, so no digits are
    lost; None where it is not, as where a column was next to nothing in all rows before.
    `columns` (p + k, rows) is overwritten.
    """
    if not np.diag(factor).all():
        return None
    columns[: features.shape[1]] = features.T
    columns[features.shape[1] :] = targets.T
    with np.errstate(over="ignore", invalid="ignore"):
        _substitute_rows(factor, columns)
        gram = columns @ columns.T
    if not np.trace(gram) <= _MODERATE * len(gram):
        return None
    np.einsum("ii->i", gram)[:] += 1.0
    return np.asarray(np.linalg.cholesky(gram).T @ factor)


def _substitute_rows(factor: Array, columns: Array) -> None:
    """Solve R'Y' = X' for a triangular factor R and `columns` X' (p, n), in place, by halves."""
    p = len(columns)
    if p <= _SINGLY:
        for k in range(p):
            columns[k] -= factor[:k, k] @ columns[:k]
            columns[k] /= factor[k, k]
        return
    half = p // 2
    _substitute_rows(factor[:half, :half], columns[:half])
    columns[half:] -= factor[:half, half:].T @ columns[:half]
    _substitute_rows(factor[half:, half:], columns[half:])


def solve_columns(columns: Array, right: Array, cut_off: float) -> Array:
    """Solve least-squares problems (s, n, p), (s, n, k), without singular values if none is cut.

    Returns
    -------
    (s, p, k)
        The coefficients; of equally good ones the smallest.
    """
    solutions = np.empty((len(columns), columns.shape[2], right.shape[2]))
    few = columns.any(axis=2).sum(axis=1) < columns.shape[2]
    for chosen, solve in ((~few, _solve_tall), (few, _solve_wide)):
        if chosen.any():
            solutions[chosen] = solve(columns[chosen], right[chosen], cut_off)
    return solutions


def _solve_tall(columns: Array, right: Array, cut_off: float) -> Array:
    """Solve problems of no fewer rows than columns."""
    p = columns.shape[2]
    factors = np.asarray(np.linalg.qr(np.concatenate([columns, right], axis=2), mode="r"))
    triangles, right = factors[:, :p, :p], factors[:, :p, p:]
    solutions, unsure = _solve_triangles(triangles, right, cut_off)
    solutions[unsure] = least_squares(triangles[unsure], right[unsure], cut_off)
    return solutions


def _solve_wide(columns: Array, right: Array, cut_off: float) -> Array:
    """Solve problems of fewer rows than columns; rows of zeros count as none.

    By the seminormal equations, which for the smallest solution are as good as orthogonal
    factors (Demmel, Higham: SIAM J. Matrix Anal. Appl. 14, 1, 1993).
    """
    filled = columns.any(axis=2)
    n = int(filled.sum(axis=1).max())
    order = np.argsort(~filled, axis=1, kind="stable")[:, :n]
    filled = np.take_along_axis(filled, order, axis=1)
    columns = np.take_along_axis(columns, order[..., None], axis=1)
    right = np.where(filled[..., None], np.take_along_axis(right, order[..., None], axis=1), 0.0)
    triangles = np.asarray(np.linalg.qr(columns.swapaxes(1, 2), mode="r"))
    np.einsum("sii->si", triangles)[~filled] = 1.0
    # A lower triangle is an upper one, read from its end.
    lower = triangles.swapaxes(1, 2)[:, ::-1, ::-1]
    across, unsure = _solve_triangles(lower, right[:, ::-1], cut_off)
    triangles[unsure] = np.eye(n)
    solutions = np.asarray(columns.swapaxes(1, 2) @ _substitute(triangles, across[:, ::-1]))
    solutions[unsure] = least_squares(columns[unsure], right[unsure], cut_off)
    return solutions


def _solve_triangles(
    triangles: Array, right: Array, cut_off: float
) -> tuple[Array, NDArray[np.intp]]:
    """Solve upper triangular systems (s, p, p), (s, p, k); return which may have to be cut.

    No singular value is larger than the norm, and the smallest is no larger than any entry of
    the diagonal: where one is so small that the system would be cut, which a kernel's rounding
    may leave as zero or as next to nothing, the system is not solved at all.  A triangle can be
    nearly singular without that; then its solutions may grow beyond all numbers, which is how it
    is recognised afterwards.

    Solutions for random sides of unit variance are on the root mean square as long as the
    reciprocal singular values together, so that one far below the inverse of the smallest is
    rare, and three are never.
    """
    sizes = np.linalg.norm(triangles, axis=(1, 2))
    smallest = np.abs(np.einsum("sii->si", triangles)).min(axis=1, initial=np.inf)
    broken = ~(smallest > _MARGIN * cut_off * sizes)
    safe = triangles
    if broken.any():
        safe = triangles.copy()
        safe[broken] = np.eye(triangles.shape[1])
    probes = np.random.default_rng(0).standard_normal((triangles.shape[1], _PROBES))
    sides = np.broadcast_to(probes, (len(triangles), *probes.shape))
    with np.errstate(over="ignore", invalid="ignore"):
        solved = _substitute(safe, np.concatenate([right, sides], axis=2))
        lengths = np.linalg.norm(solved[..., -_PROBES:], axis=1)
        ratios = sizes * lengths.max(axis=1)
    return solved[..., :-_PROBES], np.flatnonzero(broken | ~(ratios * cut_off * _MARGIN < 1))


def _substitute(triangles: Array, right: Array) -> Array:
    """Solve upper triangular systems (s, p, p), (s, p, k) together, from the end, by blocks."""
    p = triangles.shape[1]
    solutions = np.empty(right.shape)
    for first in range((p - 1) // _BLOCK * _BLOCK, -1, -_BLOCK):
        block, after = slice(first, first + _BLOCK), slice(first + _BLOCK, p)
        rest = right[:, block] - triangles[:, block, after] @ solutions[:, after]
        solutions[:, block] = np.linalg.solve(triangles[:, block, block], rest)
    return solutions
