"""The best supports of each size in least squares: exhaustive while they are few, then a beam."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Support = tuple[int, ...]

__all__ = ["backward", "best_supports", "compressed", "least_squares", "residuals"]

_ALIKE = 1e-11
"""Part of a column's square: a column of which others leave less is linearly dependent."""
_KEPT = 12
"""Supports of each size that are returned."""
_CHUNK = 2**22
"""Numbers that are processed at a time."""


def compressed(columns: Array, target: Array) -> tuple[Array, Array]:
    """Scale columns to unit length, and reduce rows to the unknowns, with equal sums of squares."""
    unit = columns / np.linalg.norm(columns, axis=0)
    if len(unit) <= unit.shape[1] + 1:
        return unit, target
    triangle = np.asarray(np.linalg.qr(np.column_stack([unit, target]), mode="r"))
    return triangle[:, :-1], triangle[:, -1]


def least_squares(columns: Array, target: Array) -> tuple[Array, float]:
    """Return coefficients (k,) and the residual sum of squares."""
    if not columns.shape[1]:
        return np.zeros(0), float(target @ target)
    if not np.isfinite(columns).all():
        return np.zeros(columns.shape[1]), np.inf
    size = np.linalg.norm(columns, axis=0)
    size[size == 0] = 1.0
    scaled = np.linalg.lstsq(columns / size, target, rcond=1e-13)[0]
    left = target - (columns / size) @ scaled
    return scaled / size, float(left @ left)


def residuals(columns: Array, target: Array, supports: Array) -> Array:
    """Return the residual sum of squares of each of many supports (s, k), (s,).

    By modified Gram-Schmidt on all at once, which unlike normal equations keeps the digits of
    small residuals.
    """
    left = np.empty(len(supports))
    rows, size = len(target), supports.shape[1]
    step = max(1, _CHUNK // (rows * max(size, 1)))
    for start in range(0, len(supports), step):
        chosen = supports[start : start + step]
        part = columns.T[chosen]  # (s, k, rows)
        rest = np.broadcast_to(target, (len(chosen), rows)).copy()
        for k in range(size):
            axis = part[:, k]
            square = np.einsum("sr,sr->s", axis, axis)
            axis = axis / np.sqrt(np.where(square > _ALIKE, square, np.inf))[:, None]
            rest -= np.einsum("sr,sr->s", axis, rest)[:, None] * axis
            if k + 1 < size:
                after = part[:, k + 1 :]
                after -= np.einsum("sr,skr->sk", axis, after)[:, :, None] * axis[:, None]
        left[start : start + step] = np.einsum("sr,sr->s", rest, rest)
    return left


def best_supports(columns: Array, target: Array, most: int, width: int) -> dict[int, list[Support]]:
    """Return the best supports of each size up to `most`, best first.

    All pairs and triples are tried, by the Gram matrix; the best `width` of them and of each
    larger size are extended by every column.

    Parameters
    ----------
    columns, target
        From `compressed`: (r, p) of unit length, and (r,).
    """
    p = columns.shape[1]
    gram, along = columns.T @ columns, columns.T @ target
    found: dict[int, list[Support]] = {}
    singles = np.argsort(-(along**2), kind="stable")[:width]
    found[1] = [(int(i),) for i in singles]
    if most >= 2 <= p:  # noqa: PLR2004
        pairs, triples = _pairs_and_triples(gram, along, width, with_triples=most > 2 < p)  # noqa: PLR2004
        found[2] = _ranked(columns, target, pairs, width)
        if triples:
            found[3] = _ranked(columns, target, triples, width)
    for size in range(4, min(most, p) + 1):
        if not found.get(size - 1):  # nothing is left to explain
            break
        found[size] = _extended(columns, target, found[size - 1], width)
    return {size: supports[:_KEPT] for size, supports in found.items() if supports}


def backward(columns: Array, target: Array, support: Sequence[int], most: int) -> list[Support]:
    """Leave out one column after another, each time the one that is missed least.

    With more columns than rows none is missed, and the one with the least effect is left out.
    """
    kept, found = list(support), []
    unit = columns[:, kept] / np.linalg.norm(columns[:, kept], axis=0)
    while kept:
        if len(kept) <= most:
            found.append(tuple(sorted(kept)))
        if len(kept) > len(target):
            leave = int(np.argmin(np.abs(unit.T @ target)))
            kept.pop(leave)
            unit = np.delete(unit, leave, axis=1)
            continue
        left, right = np.linalg.qr(unit)
        diagonal = np.abs(np.diag(right))
        if diagonal.min() < 1e-10 * diagonal.max():  # columns that are linearly dependent
            leave = int(np.argmin(diagonal))
        else:
            inverse = np.linalg.inv(right)
            missed = (inverse @ (left.T @ target)) ** 2 / np.sum(inverse**2, axis=1)
            leave = int(np.argmin(missed))
        kept.pop(leave)
        unit = np.delete(unit, leave, axis=1)
    return found


def _pairs_and_triples(
    gram: Array, along: Array, width: int, *, with_triples: bool
) -> tuple[list[Support], list[Support]]:
    p = len(gram)
    pairs: list[tuple[float, Support]] = []
    triples: list[tuple[float, Support]] = []
    later = np.triu(np.ones((p, p), dtype=bool), 1)
    for i in range(p - 1):
        rest = gram - np.outer(gram[i], gram[i])
        to_go = along - gram[i] * along[i]
        size = np.diag(rest).copy()
        size[size < _ALIKE] = np.inf
        gain = np.where(np.arange(p) > i, to_go**2 / size, -1.0)
        first = float(along[i] ** 2)
        top = np.argsort(-gain, kind="stable")[:width]
        pairs += [(first + float(gain[j]), (i, int(j))) for j in top if gain[j] > 0]
        if not with_triples or i > p - 3:
            continue
        after = slice(i + 1, p)
        rest, to_go, size = rest[after, after], to_go[after], size[after]
        square = np.diag(gram)[after] - gram[i, after] ** 2
        third = square[None] - rest**2 / size[:, None]
        third[third < _ALIKE] = np.inf
        both = gain[after, None] + (to_go[None] - rest * (to_go / size)[:, None]) ** 2 / third
        both[~later[after, after] | ~np.isfinite(size)[:, None]] = -1.0
        flat = both.ravel()
        top = np.argpartition(-flat, min(width, flat.size - 1))[:width]
        triples += [
            (first + float(flat[x]), (i, i + 1 + int(x) // len(rest), i + 1 + int(x) % len(rest)))
            for x in top
            if flat[x] > 0
        ]
    many = 4 * width
    return (
        [support for _, support in sorted(pairs, reverse=True)[:many]],
        [support for _, support in sorted(triples, reverse=True)[:many]],
    )


def _ranked(columns: Array, target: Array, supports: list[Support], width: int) -> list[Support]:
    if not supports:
        return []
    left = residuals(columns, target, np.array(supports))
    return [supports[k] for k in np.argsort(left, kind="stable")[:width]]


def _extended(columns: Array, target: Array, supports: list[Support], width: int) -> list[Support]:
    """Extend each support by every column, and keep the best."""
    chosen = np.array(supports)
    left, _ = np.linalg.qr(np.moveaxis(columns[:, chosen], 0, 1))
    free = columns[None] - left @ (np.swapaxes(left, 1, 2) @ columns)
    rest = target - np.einsum("srk,sk->sr", left, np.einsum("srk,r->sk", left, target))
    size = np.sum(free**2, axis=1)
    gain = np.einsum("srp,sr->sp", free, rest) ** 2 / np.where(size > _ALIKE, size, np.inf)
    np.put_along_axis(gain, chosen, -1.0, axis=1)
    after = np.sum(rest**2, axis=1)[:, None] - gain
    after[gain <= 0] = np.inf
    found: dict[Support, None] = {}
    for x in np.argsort(after, axis=None, kind="stable"):
        if not np.isfinite(after.flat[x]) or len(found) >= width:
            break
        row, column = divmod(int(x), columns.shape[1])
        found[tuple(sorted((*supports[row], column)))] = None
    return list(found)
