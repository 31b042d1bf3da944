"""Sequentially thresholded least squares (STLSQ) for many settings at once.

Brunton, Proctor and Kutz, PNAS 113, 3932 (2016), with a ridge penalty: solve
``min |y - X w|^2 + alpha |w|^2``, drop the terms with ``|w| < threshold``, and repeat with the
rest until none is dropped; then fit the terms that are left by least squares, without penalty.

A setting is a library (a choice of columns), an alpha and a threshold.  Every ridge problem of
every setting is a part of one Gram matrix, and every least-squares problem a choice of columns
of one triangular factor.  Different settings meet the same problems again and again, so each is
solved once.  Both come from one triangular factor of features and targets together, which blocks
of rows are folded into one by one, so that the features need never be in memory as a whole.
Several samples of the same data (a bootstrap) are a stack of such factors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from singular import least_squares, lstsq
from triangles import fold, solve_columns

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from adapters import LibraryTerms
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Mask = NDArray[np.bool_]

__all__ = ["Paths", "Regression", "Stlsq", "fold", "stacks"]

_EPS = float(np.finfo(np.float64).eps)
_STACK_NUMBERS = 1_000_000
"""Largest number of entries in the matrices of one stacked call: 8 MB."""
_FEW = 32
"""Terms up to which singular values are as quick as any other way to fit them."""


@dataclass(frozen=True)
class Stlsq:
    """A setting: a library, the ridge penalty and the smallest coefficient that is kept."""

    library: Any
    alpha: float
    threshold: float


@dataclass
class Paths:
    """Thresholding paths, one an entry: a target of a sample under one setting.

    Attributes
    ----------
    target
        The column of the targets, (m,).
    alpha, threshold
        The ridge penalty and the smallest coefficient that is kept, (m,).
    columns
        The terms that may be used, (m, p).
    sample
        The sample that is fitted, (m,).
    """

    target: NDArray[np.intp]
    alpha: Array
    threshold: Array
    columns: Mask
    sample: NDArray[np.intp]

    def of(self, chosen: NDArray[np.intp]) -> Paths:
        """Return some of them."""
        return Paths(
            self.target[chosen],
            self.alpha[chosen],
            self.threshold[chosen],
            self.columns[chosen],
            self.sample[chosen],
        )


class Regression:
    """Sparse regression of k targets on p features, for each of a stack of samples.

    Parameters
    ----------
    factors
        Triangular factors of features next to targets, (samples, rows, p + k) or
        (rows, p + k), as `fold` gives them.
    n_rows
        The number of rows that each represents.
    n_features
        p.
    mixed_units
        Whether columns are scaled to about unit length for the least squares, so that which
        singular values count as zero does not depend on units.  Where columns are as alike as
        powers of states, scaling them only moves rounding about.
    """

    def __init__(
        self, factors: Array, n_rows: int, n_features: int, *, mixed_units: bool = False
    ) -> None:
        stack = factors.reshape(-1, *factors.shape[-2:])
        self.n_features = n_features
        self._cut_off = _EPS * max(n_rows, n_features)
        norms = np.sqrt(np.einsum("sij,sij->sj", stack, stack).max(axis=0)[:n_features])
        # Columns near unit length keep the elimination accurate, and powers of two scale them
        # without rounding.  The penalty is scaled along: it is on the unscaled coefficients.
        self._scale = np.exp2(-np.round(np.log2(np.where(norms > 0, norms, 1))))
        self._r = stack[:, :n_features, :n_features] * self._scale
        self._q_targets = stack[:, :n_features, n_features:]
        self._refit_scale = self._scale if mixed_units else np.ones_like(self._scale)
        self._unscale = self._refit_scale / self._scale
        transposed = self._r.swapaxes(1, 2)
        self._gram = transposed @ self._r
        self._moments = transposed @ self._q_targets

    @classmethod
    def of(cls, features: Array, targets: Array) -> Regression:
        """Make one from `features` (n, p) and `targets` (n, k).

        Its Gram matrix is the product of the features themselves, not of their factor: where it
        is singular to working precision, which terms a ridge keeps depends on how it was rounded.
        """
        made = cls(fold([(features, targets)]), len(features), features.shape[1])
        scaled = features * made._scale
        made._gram = (scaled.T @ scaled)[None]
        made._moments = (scaled.T @ targets)[None]
        return made

    def models(
        self, terms: LibraryTerms, settings: Sequence[Stlsq], *, longest: int | None = None
    ) -> Array:
        """Fit all settings to all samples and targets.

        Parameters
        ----------
        terms
            The terms of the features; its ``columns(library)`` returns which a setting may use.
        longest
            Largest number of terms of a model that is wanted: longer ones are not fitted at last,
            but for the shortest ones where there are no others.

        Returns
        -------
        (samples, settings, k, p)
            The coefficients; infinite for the terms of models that are not fitted.
        """
        paths = self._paths(terms, settings)
        supports = self.supports(paths)
        shape = len(self._gram), len(settings), -1
        if longest is None:
            return self.refits(supports, paths).reshape(*shape, self.n_features)
        sizes = supports.sum(axis=1).reshape(shape)
        wanted = sizes <= longest
        if not wanted.all(axis=2).any():
            wanted |= (sizes.sum(axis=2) == sizes.sum(axis=2).min())[..., None]
        found = np.where(supports, np.inf, 0.0)
        fitted = np.flatnonzero(wanted)
        found[fitted] = self.refits(supports[fitted], paths.of(fitted))
        return found.reshape(*shape, self.n_features)

    def kept(self, terms: LibraryTerms, settings: Sequence[Stlsq]) -> Mask:
        """Return which terms all settings keep, (samples, settings, k, p)."""
        found = self.supports(self._paths(terms, settings))
        return found.reshape(len(self._gram), len(settings), -1, self.n_features)

    def _paths(self, terms: LibraryTerms, settings: Sequence[Stlsq]) -> Paths:
        masks = {setting.library: terms.columns(setting.library) for setting in settings}
        shape = len(self._gram), len(settings), self._moments.shape[-1]
        sample, setting, target = (each.reshape(-1) for each in np.indices(shape))
        return Paths(
            target=target,
            alpha=np.array([each.alpha for each in settings])[setting],
            threshold=np.array([each.threshold for each in settings])[setting],
            columns=np.array([masks[each.library] for each in settings])[setting],
            sample=sample,
        )

    def supports(self, paths: Paths) -> Mask:
        """Follow each path to the terms that it keeps.

        Terms are only removed from a path, so p + 1 rounds are enough.

        Returns
        -------
        Mask
            The terms that are left, (m, p).
        """
        support = paths.columns.copy()
        solved: dict[bytes, Array] = {}
        labels = np.column_stack([paths.target, paths.alpha, paths.sample])
        moving = np.arange(len(support))
        while moving.size:
            before = support[moving]
            keys = [
                terms.tobytes() + label.tobytes()
                for terms, label in zip(np.packbits(before, axis=1), labels[moving], strict=True)
            ]
            new = {key: i for i, key in enumerate(keys) if key not in solved}
            first = list(new.values())
            at = moving[first]
            coefficients = self._ridge(
                before[first], paths.alpha[at], paths.target[at], paths.sample[at]
            )
            solved.update(zip(new, coefficients, strict=True))
            now = np.array([solved[key] for key in keys])
            kept = before & (np.abs(now) >= paths.threshold[moving, None])
            support[moving] = kept
            moving = moving[(kept != before).any(axis=1) & kept.any(axis=1)]
        return support

    def refits(self, supports: Mask, paths: Paths) -> Array:
        """Fit the terms that each path has kept by least squares.

        Singular values below machine epsilon, times the larger side of the feature matrix,
        relative to the largest one count as zero; of equally good coefficients the smallest are
        taken.

        Parameters
        ----------
        supports
            The result of `supports` for the paths, (m, p).

        Returns
        -------
        (m, p)
            Coefficients, with zeros for the other terms.
        """
        known: dict[bytes, int] = {}
        packed = np.packbits(supports, axis=1)
        labels = np.column_stack([paths.target, paths.sample])
        keys = [row.tobytes() + label.tobytes() for row, label in zip(packed, labels, strict=True)]
        first = [i for i, key in enumerate(keys) if known.setdefault(key, i) == i]
        coefficients = np.zeros(supports.shape)
        sizes = supports[first].sum(axis=1)
        for chosen in stacks(sizes, len(self._gram[0])):
            at = np.asarray(first)[chosen]
            terms = np.nonzero(supports[at])[1].reshape(len(at), -1)
            if not terms.size:
                continue
            # Below the last term the columns of the triangular factor are zero.
            rows = np.arange(min(int(terms.max()) + 1, self._r.shape[1]))
            columns = self._r[paths.sample[at, None, None], rows[:, None], terms[:, None, :]]
            columns *= self._unscale[terms][:, None, :]
            right = self._q_targets[paths.sample[at, None], rows, paths.target[at, None]]
            solve = least_squares if terms.shape[1] <= _FEW else solve_columns
            solutions = solve(columns, right[..., None], self._cut_off)[..., 0]
            coefficients[at[:, None], terms] = solutions * self._refit_scale[terms]
        return coefficients[[known[key] for key in keys]]

    def _ridge(
        self,
        supports: Mask,
        alpha: Array,
        target: NDArray[np.intp],
        sample: NDArray[np.intp],
    ) -> Array:
        """Solve ridge problems with `supports` (m, p); return the coefficients (m, p)."""
        coefficients = np.zeros(supports.shape)
        for chosen in stacks(supports.sum(axis=1)):
            terms = np.nonzero(supports[chosen])[1].reshape(len(chosen), -1)
            scale = self._scale[terms]
            of = sample[chosen]
            if len(of) == 1:  # a large one: row by row is quicker
                gram = self._gram[of[0]].take(terms[0], axis=0).take(terms[0], axis=1)[None]
            else:
                gram = self._gram[of[:, None, None], terms[:, :, None], terms[:, None, :]]
            diagonal = np.arange(terms.shape[1])
            gram[:, diagonal, diagonal] += alpha[chosen, None] * scale**2
            moments = self._moments[of[:, None], terms, target[chosen, None]]
            coefficients[chosen[:, None], terms] = _solve(gram, moments) * scale
        return coefficients


def stacks(sizes: NDArray[np.intp], height: int = 0) -> Iterator[NDArray[np.intp]]:
    """Group problems of equal size, as many together as fit into a little memory.

    The matrices are square, or of the given height where that is more.
    """
    for size in np.unique(sizes):
        chosen = np.flatnonzero(sizes == size)
        together = max(1, _STACK_NUMBERS // max(1, int(size) * max(int(size), height)))
        for start in range(0, len(chosen), together):
            yield chosen[start : start + together]


def _solve(matrices: Array, right: Array) -> Array:
    """Solve a stack of symmetric systems (m, s, s), (m, s), singular ones by least squares.

    Whether a pivot is exactly zero depends on rounding: it decides about its own system only.
    """
    try:
        solutions = np.asarray(np.linalg.solve(matrices, right[..., None])[..., 0], np.float64)
    except np.linalg.LinAlgError:
        if len(matrices) > 1:
            pairs = zip(matrices, right, strict=True)
            return np.concatenate([_solve(matrix[None], side[None]) for matrix, side in pairs])
        solutions = np.full_like(right, np.nan)
    lost = ~np.isfinite(solutions).all(axis=1) & np.isfinite(matrices).all(axis=(1, 2))
    for k in np.flatnonzero(lost):
        solutions[k] = lstsq(matrices[k], right[k], _EPS * matrices.shape[1])
    return solutions
