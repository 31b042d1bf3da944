"""WeakIdent's search: subspace pursuit, trimming, narrow fit and cross-validation.

Tang, Liao, Kuske and Kang, J. Comput. Phys. 483, 112069 (2023), doi:10.1016/j.jcp.2023.112069.
For each number of terms a support is found by subspace pursuit.  Terms that contribute less than
a twentieth of what the largest one does are trimmed, one by one.  Coefficients are fitted to the
rows in which the data change much (the narrow fit).  Of all supports the own answer is the one
with the least error in cross-validation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from windows import piecewise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Rows = NDArray[np.bool_]

__all__ = ["Found", "WeakSystem", "dynamic_rows"]

_TRIMMED = 0.05
"""Terms that contribute a smaller part of the largest contribution leave."""
_SPLITS = 30
_PART = 0.01
"""Part of the rows to which coefficients are fitted in cross-validation, and its weight."""
_FEWEST_ROWS = 8
"""Rows of that part, at least."""
_ROUNDS = 15
_EXACT = 1e-12
_ROUNDING = 1e-8
"""Errors below this part of the rates are rounding: then the shorter equation is the better one."""


@dataclass(frozen=True)
class Found:
    """A right-hand side.

    Attributes
    ----------
    coefficients
        Of each term, (p,); 0 for those that are not in it.
    error
        Its error in cross-validation, as a part of the size of the rates: lower is better.
    """

    coefficients: Array
    error: float

    @property
    def rank(self) -> tuple[float, int]:
        """What answers are compared by: the error, and between exact ones the number of terms."""
        return max(self.error, _ROUNDING), int(np.count_nonzero(self.coefficients))


class WeakSystem:
    """Integrals of terms, and of rates, against test functions.

    Parameters
    ----------
    features
        (rows, p).
    target
        The rates of one state, (rows,).
    scales
        How much an error of the data changes each term, (p,): the mean size of the derivative of
        each feature by the states.
    narrow
        The rows to which coefficients are fitted, (rows,).
    """

    def __init__(self, features: Array, target: Array, scales: Array, narrow: Rows) -> None:
        norms = np.linalg.norm(features, axis=0)
        self.usable = np.isfinite(norms) & (norms > 0) & np.isfinite(scales) & (scales > 0)
        # What is left out may be infinite.
        self._features = np.where(self.usable, features, 0.0)
        self._norms = np.where(self.usable, norms, 1.0)
        self._scales = np.where(self.usable, scales, 1.0)
        self._target, self._narrow = target, narrow
        if narrow.sum() < 2 * features.shape[1]:
            self._narrow = np.ones(len(target), dtype=bool)
        self._size = float(np.linalg.norm(target)) or 1.0
        joined = np.column_stack([self._features / self._norms, target / self._size])
        # Every sum of squares over all rows is one over the rows of this.
        factor = np.asarray(np.linalg.qr(joined, mode="r"))
        self._columns, self._rate = factor[:, :-1], factor[:, -1]
        self._known: dict[tuple[int, ...], Found] = {}
        rows = len(target)
        few = min(max(int(rows * _PART) - 1, _FEWEST_ROWS), rows // 2)
        draw = np.random.default_rng(0)  # the same splits for all: no answer depends on a seed
        self._splits = np.stack([draw.permutation(rows)[:few] for _ in range(_SPLITS)])

    def supports(self, terms: Rows, most: int) -> Iterator[Found]:
        """Yield what is found for each number of terms from 1 to `most`, trimmed.

        Parameters
        ----------
        terms
            Which may be used, (p,).
        """
        offered = np.flatnonzero(self.usable & terms)
        if not self._target.any() or not offered.size:
            yield Found(np.zeros(len(self.usable)), 0.0)
            return
        for size in range(1, min(most, len(offered), len(self._target) // 2) + 1):
            yield self._trimmed(self._pursuit(offered, size))

    def distinct(
        self, libraries: Sequence[Rows], most: int, is_late: Callable[[], bool]
    ) -> tuple[list[Found], bool]:
        """Return what is found in one library after the other, each support once.

        Parameters
        ----------
        libraries
            Which terms may be used in each, (p,).
        most
            The largest number of terms.
        is_late
            Whether the budget is used up; the first library is searched in any case.

        Returns
        -------
        list of Found
            In the order in which they were found.
        bool
            Whether libraries were left out.
        """
        found: dict[bytes, Found] = {}
        for number, terms in enumerate(libraries):
            if number and is_late():
                return [*found.values()], True
            for each in self.supports(terms, most):
                found.setdefault((each.coefficients != 0).tobytes(), each)
        return [*found.values()], False

    def _pursuit(self, offered: NDArray[np.intp], size: int) -> tuple[int, ...]:
        """Return the support that subspace pursuit ends with (Dai and Milenkovic, 2009)."""
        columns, rate = self._columns[:, offered], self._rate
        support = _largest(columns.T @ rate, size)
        rest = rate - columns[:, support] @ _fitted(columns[:, support], rate)
        left = float(np.linalg.norm(rest))
        for _ in range(_ROUNDS):
            if left < _EXACT:
                break
            wider = np.union1d(support, _largest(columns.T @ rest, size))
            kept = wider[_largest(_fitted(columns[:, wider], rate), size)]
            other = rate - columns[:, kept] @ _fitted(columns[:, kept], rate)
            now = float(np.linalg.norm(other))
            if now >= left:
                break
            support, rest, left = kept, other, now
        return tuple(sorted(offered[support].tolist()))

    def _trimmed(self, support: tuple[int, ...]) -> Found:
        """Remove the terms that contribute least, one after the other."""
        while True:
            terms = list(support)
            values = _fitted(self._features[self._narrow][:, terms], self._target[self._narrow])
            contributions = self._norms[terms] * np.abs(values)
            least = int(np.argmin(contributions))
            if len(terms) == 1 or contributions[least] > _TRIMMED * contributions.max():
                break
            support = (*support[:least], *support[least + 1 :])
        if support not in self._known:
            coefficients = np.zeros(len(self.usable))
            coefficients[terms] = values
            self._known[support] = Found(coefficients, self._validated(terms))
        return self._known[support]

    def _validated(self, terms: Sequence[int]) -> float:
        """Return the mean error over splits of the rows, and their deviation added."""
        features = self._features[:, terms] / self._scales[terms]
        small = self._splits
        # Fitted to the few rows, of least norm where these are fewer than the terms, and
        # compared on all others.
        values = (np.linalg.pinv(features[small]) @ self._target[small][..., None])[..., 0]
        squares = (values @ features.T - self._target) ** 2
        np.put_along_axis(squares, small, 0.0, axis=1)
        errors = (1 - _PART) * np.sqrt(squares.sum(axis=1))
        # Fitted to all others, in orthonormal columns, from which the few rows are taken away.
        basis = np.linalg.qr(features)[0]
        taken, known = basis[small], self._target[small]
        gram = np.eye(len(terms)) - np.swapaxes(taken, 1, 2) @ taken
        moments = basis.T @ self._target - np.einsum("sfk,sf->sk", taken, known)
        values = (np.linalg.pinv(gram, hermitian=True) @ moments[..., None])[..., 0]
        rest = np.einsum("sfk,sk->sf", taken, values) - known
        errors += _PART * np.linalg.norm(rest, axis=1)
        return float(np.mean(errors) + np.std(errors)) / self._size


def dynamic_rows(activity: Array, bins: int) -> Rows:
    """Return which rows lie where the data change much, (rows,).

    Parameters
    ----------
    activity
        Of each row, not negative, (rows,).
    bins
        Of the histogram of activities; two lines are fitted to its sum, and rows from their
        corner on are taken; all rows where they hardly differ.
    """
    edges = np.linspace(activity.min(), activity.max(), bins + 1)
    if not np.diff(edges).min() > 0:  # all rows are alike to rounding
        return np.ones(len(activity), dtype=bool)
    counts = np.histogram(activity, bins=edges)[0]
    place = piecewise(np.cumsum(counts).astype(np.float64), margin=1)
    return np.asarray(activity >= edges[place - 1])


def _fitted(columns: Array, values: Array) -> Array:
    return np.asarray(np.linalg.lstsq(columns, values, rcond=None)[0])


def _largest(values: Array, count: int) -> NDArray[np.intp]:
    """Return the places of the largest sizes, rising."""
    return np.sort(np.argsort(-np.abs(values), kind="stable")[:count])
