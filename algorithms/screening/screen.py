"""The screening: which product of two or three factors explains most of what is left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from blocks import Factor, Term
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Single = NDArray[np.float32]
    Numbers = TypeVar("Numbers", Array, Single)

__all__ = ["Screen", "explained_by_two"]

_TINY = 1e-7
"""Part of a column's square: less than this left of it is round-off."""
_ALL = 0.9999
"""Products that explain more than this are alike in it, and the smaller ones are better."""
_ALIKE = 1e-4
"""Two columns whose squared correlation is nearer to 1 are one."""


@dataclass
class Screen:
    """All products of two factors on some rows, never written out.

    With the columns A (n, a) and B (n, b) of factors, what a product explains of a residual r is
    ``(sum_n r A_i B_j)^2 / (sum_n A_i^2 B_j^2 - (sum_n A_i B_j)^2 / n)``: three products of
    matrices, of which two serve all residuals.

    Parameters
    ----------
    left, right
        Factors; `right` may hold those of `left`, too.
    X
        (n, d), the rows that are screened on.
    """

    left: Sequence[Factor]
    right: Sequence[Factor]
    X: Array

    def __post_init__(self) -> None:
        self._a = self._unit(self.left)
        self._b = self._unit(self.right)
        self._below = self._spread(None)
        self._signatures = _numbered(self.left), _numbered(self.right)
        self._sizes = [np.array([0, *(one.size for one in own)]) for own in (self.left, self.right)]
        self._centred: Single | None = None

    def _unit(self, factors: Sequence[Factor]) -> Single:
        columns = np.ones((len(self.X), len(factors) + 1), dtype=np.float32)  # the first is 1
        with np.errstate(all="ignore"):
            for place, one in enumerate(factors):
                own = one.values(self.X)
                columns[:, place + 1] = own / (np.abs(own).max() or 1.0)
        return columns

    def _spread(self, third: Single | None) -> Single:
        a = self._a if third is None else self._a * third[:, None]
        squares = (a * a).T @ (self._b * self._b)
        sums = a.T @ self._b
        below = squares - sums * sums / len(self.X)
        return np.asarray(np.where(below > _TINY * squares, below, np.inf), dtype=np.float32)

    def best(self, left: Array, most: int, third: Factor | None = None) -> list[tuple[float, Term]]:
        """Return the products that explain most, of each kind the best.

        Parameters
        ----------
        left
            (n,), what is to be explained.
        most
            Number of kinds.
        third
            A factor that all products have, too.

        Returns
        -------
        list
            Shares of the square of what is left, and products; the best first.
        """
        weights = _weights(left)
        if weights is None:
            return []
        below = self._below
        if third is not None:
            own = third.values(self.X)
            scaled = np.asarray(own / (np.abs(own).max() or 1.0), dtype=np.float32)
            below = self._spread(scaled)
            weights = weights * scaled
        along = (self._a * weights[:, None]).T @ self._b
        gain = np.asarray(along * along / below, dtype=np.float32)
        gain[0, 0] = 0.0
        return [
            (explained, tuple(one for one in (third, *self._pair(i, j)) if one is not None))
            for explained, i, j in self._kinds(gain, most)
        ]

    def sums(self, left: Array, most: int) -> list[tuple[float, tuple[Term, Term]]]:
        """Return the sums of two factors that explain most, of each kind the best.

        Parameters
        ----------
        left
            (n,), what is to be explained.
        most
            Number of kinds.
        """
        weights = _weights(left)
        if weights is None:
            return []
        if self._centred is None:
            own = self._a[:, 1:].astype(np.float64)
            own -= own.mean(axis=0)
            size = np.linalg.norm(own, axis=0)
            self._centred = np.asarray(own / np.where(size > 0, size, np.inf), dtype=np.float32)
            alike = self._centred.T @ self._centred
            np.fill_diagonal(alike, 1.0)
            self._alike = alike
        gain = explained_by_two(self._centred.T @ weights, self._alike, _ALIKE)
        found: list[tuple[float, tuple[Term, Term]]] = []
        padded = np.asarray(np.pad(gain, ((1, 0), (1, 0))), dtype=np.float32)
        for explained, i, j in self._kinds(padded, most):
            one, other = self.left[i - 1], self.left[j - 1]
            found.append((explained, ((one,), (other,))))
        return found

    def _pair(self, i: int, j: int) -> tuple[Factor | None, Factor | None]:
        return self.left[i - 1] if i else None, self.right[j - 1] if j else None

    def _kinds(self, gain: Single, most: int) -> list[tuple[float, int, int]]:
        """Return the largest gains and their places, of each kind of pair one."""
        flat = gain.ravel()
        many = min(len(flat), 100 * most)
        top = np.argpartition(flat, -many)[-many:]
        i, j = np.divmod(top, gain.shape[1])
        sizes = self._sizes[0][i] + self._sizes[1][j]
        gains = flat[top]
        order = np.lexsort((sizes, -np.where(gains > _ALL, 1.0, gains)))
        kinds: dict[tuple[int, int], tuple[float, int, int]] = {}
        for place in order.tolist():
            one, other = self._signatures[0][i[place]], self._signatures[1][j[place]]
            kind = (one, other) if one <= other else (other, one)
            kinds.setdefault(kind, (float(gains[place]), int(i[place]), int(j[place])))
            if len(kinds) == most:
                break
        return list(kinds.values())


def explained_by_two(along: Numbers, alike: Numbers, least: float) -> Numbers:
    """Return what each two columns of unit length explain of a residual's square.

    With their products ``b`` with the residual and ``G`` among each other it is
    ``(b_i^2 + b_j^2 - 2 b_i b_j G_ij) / (1 - G_ij^2)``.

    Parameters
    ----------
    along, alike
        The products: (k,) and (k, k).
    least
        Two columns whose difference is no more than this explain nothing.

    Returns
    -------
    NDArray
        (k, k), 0 but above the diagonal.
    """
    both = along[:, None] * along[None, :]
    rest = 1 - alike * alike
    square = along * along
    gain = square[:, None] + square[None, :] - 2 * both * alike
    return np.asarray(np.triu(gain / np.where(rest > least, rest, np.inf), 1))


def _weights(left: Array) -> Single | None:
    """Return what is to be explained, centred and of length 1; None where it is constant."""
    left = left - left.mean()
    whole = float(left @ left)
    return np.asarray(left / np.sqrt(whole), dtype=np.float32) if whole else None


_NUMBERS: dict[object, int] = {}


def _numbered(factors: Sequence[Factor]) -> list[int]:
    return [0, *(_NUMBERS.setdefault(one.signature, len(_NUMBERS) + 1) for one in factors)]
