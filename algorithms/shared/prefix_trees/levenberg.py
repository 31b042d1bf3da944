"""Constants of many expressions fitted together: Levenberg and Marquardt, all in one batch.

Each expression is measured as it is, or, with `scaling`, as the best ``a + b * f``: factor and
offset are then projected out (Golub and Pereyra, SIAM J. Numer. Anal. 10, 1973, 413-432, with
Kaufman's shorter derivative), so that only the inner constants are searched for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from tapes import Tape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tokens import Tokens

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

__all__ = ["ConstantFitter", "Fits", "line_fit"]

_BLOCK = 2_000_000
"""Largest number of nodes' values that are held at once: about one and a half caches."""
_FIRST_DAMPING, _LEAST, _MOST = 1e-2, 1e-10, 1e8
_GAIN = 1e-6
"""A step that lowers the error by less of it is the last."""
_EXACT = 1e-28
"""Error, for a target of unit variance, below which there is nothing to gain."""


class Fits(NamedTuple):
    """Fitted constants, and the errors of the fits.

    Attributes
    ----------
    constants
        (B, K).
    slope, intercept
        (B,), 1 and 0 without scaling.
    error
        (B,) mean squares; infinite where an expression has no finite value on all rows.
    """

    constants: Array
    slope: Array
    intercept: Array
    error: Array


def line_fit(f: Array, y: Array) -> tuple[Array, Array]:
    """Return slope and intercept (B,) of the best lines from `f` (B, n) to `y` (n,)."""
    middle = f.mean(axis=1)
    apart = f - middle[:, np.newaxis]
    square = np.einsum("bn,bn->b", apart, apart)
    # An f that is constant up to rounding is no direction.
    flat = square <= 1e-24 * np.einsum("bn,bn->b", f, f)
    slope = np.where(flat, 0.0, (apart @ (y - y.mean())) / np.where(flat, 1.0, square))
    return slope, y.mean() - slope * middle


@dataclass(frozen=True)
class ConstantFitter:
    """Fits expressions to one target.

    Parameters
    ----------
    X
        (n, d) variables.
    y
        (n,) target, best of about unit size.
    tokens
        Tokens of the expressions.
    scaling
        Whether an expression f is scored as the best ``a + b * f``.
    """

    X: Array
    y: Array
    tokens: Tokens
    scaling: bool = False

    def fit(
        self,
        codes: Integers,
        start: Array,
        *,
        iterations: int,
        polynomials: Array | None = None,
        late: Callable[[], bool] = lambda: False,
    ) -> Fits:
        """Fit the constants of expressions.

        Parameters
        ----------
        codes
            (B, L), padded with -1.
        start
            (B, K) first values of the constants.
        iterations
            Largest number of steps; with 0 the constants stay as they are.
        polynomials
            (B, n) values of ``poly``, kept as they are.
        late
            Whether the time is over; what is not fitted by then keeps the values that it has.
        """
        rows = len(codes)
        found = Fits(start.copy(), np.ones(rows), np.zeros(rows), np.full(rows, np.inf))
        for block in self._blocks(codes):
            values = None if polynomials is None else polynomials[block]
            steps = 0 if late() else iterations
            with np.errstate(all="ignore"):
                part = self._fit(codes[block], start[block], steps, values, late)
            for whole, piece in zip(found, part, strict=True):
                whole[block] = piece
        return found

    def _blocks(self, codes: Integers) -> Iterator[Integers]:
        """Share out expressions, so that the values of a block's nodes stay in the cache."""
        sizes = (codes >= 0).sum(axis=1)
        constant = (codes == self.tokens.code("const")).any(axis=1)
        for kind in (False, True):
            rows = np.flatnonzero(constant == kind)
            if len(rows):
                number = np.cumsum(sizes[rows]) * len(self.y) // _BLOCK
                yield from np.split(rows, np.flatnonzero(np.diff(number)) + 1)

    def _fit(
        self,
        codes: Integers,
        start: Array,
        iterations: int,
        polynomials: Array | None,
        late: Callable[[], bool],
    ) -> Fits:
        tape = Tape(codes, self.tokens)
        many = tape.places.shape[1]
        best, f, residual = self._measure(tape, start, polynomials)
        if many == 0 or iterations == 0:
            return best
        constants = best.constants[:, :many].copy()
        jacobian = self._linearise(tape, f, best.slope)
        damping = np.full(len(codes), _FIRST_DAMPING)
        active = np.flatnonzero(np.isfinite(best.error) & (tape.places >= 0).any(axis=1))
        on_tape = np.arange(len(codes))
        for _ in range(iterations):
            if not len(active) or late():
                break
            if len(active) < 0.7 * len(on_tape):
                local = np.searchsorted(on_tape, active)
                jacobian, residual = jacobian[local], residual[local]
                tape, on_tape = Tape(codes[active], self.tokens), active
                jacobian = jacobian[:, : tape.places.shape[1]]
            width = tape.places.shape[1]
            step = _steps(jacobian, residual, damping[on_tape])
            trial = constants[on_tape]
            trial[:, :width] += step
            given = None if polynomials is None else polynomials[on_tape]
            tried, f, left = self._measure(tape, trial, given)
            before = best.error[on_tape]
            better = tried.error < before
            gain = 1.0 - np.where(better, tried.error, before) / np.where(before > 0, before, 1.0)
            rows = on_tape[better]
            constants[rows] = trial[better]
            for whole, piece in zip(best[1:], tried[1:], strict=True):
                whole[rows] = piece[better]
            if better.any():
                again = self._linearise(tape, f, tried.slope)
                jacobian[better], residual[better] = again[better], left[better]
            damping[on_tape] = np.clip(
                np.where(better, damping[on_tape] / 5, damping[on_tape] * 4), _LEAST, _MOST
            )
            over = (better & (gain < _GAIN)) | (damping[on_tape] >= _MOST)
            over |= best.error[on_tape] < _EXACT
            still = np.zeros(len(codes), dtype=bool)
            still[active] = True
            still[on_tape[over]] = False
            active = np.flatnonzero(still)
        best.constants[:, :many] = constants
        return best

    def _measure(
        self, tape: Tape, constants: Array, polynomials: Array | None
    ) -> tuple[Fits, Array, Array]:
        """Return the quality of the fits, their values and residuals, both (B, n)."""
        f = tape.evaluate(self.X, constants, polynomials)
        fine = np.isfinite(f).all(axis=1)
        fine &= np.abs(f).max(axis=1, initial=0.0) < 1e100  # noqa: PLR2004 - squares overflow
        f[~fine] = 0.0
        if self.scaling:
            slope, intercept = line_fit(f, self.y)
        else:
            slope, intercept = np.ones(len(f)), np.zeros(len(f))
        residual = self.y - (slope[:, np.newaxis] * f + intercept[:, np.newaxis])
        error = np.where(fine, np.einsum("bn,bn->b", residual, residual) / len(self.y), np.inf)
        return Fits(constants.copy(), slope, intercept, error), f, residual

    def _linearise(self, tape: Tape, f: Array, slope: Array) -> Array:
        """Return derivatives (B, K, n) of what is fitted, where the tape was evaluated last."""
        jacobian = tape.gradients()
        jacobian[~np.isfinite(jacobian).all(axis=(1, 2))] = 0.0
        if self.scaling:
            jacobian *= slope[:, np.newaxis, np.newaxis]
            jacobian -= jacobian.mean(axis=2, keepdims=True)
            apart = f - f.mean(axis=1, keepdims=True)
            square = np.einsum("bn,bn->b", apart, apart)[:, np.newaxis]
            part = np.einsum("bkn,bn->bk", jacobian, apart) / np.where(square > 0, square, 1)
            jacobian -= part[:, :, np.newaxis] * apart[:, np.newaxis, :]
            jacobian[~np.isfinite(jacobian).all(axis=(1, 2))] = 0.0
        return jacobian


def _steps(jacobian: Array, residual: Array, damping: Array) -> Array:
    """Solve the damped normal equations of each expression; return (B, K)."""
    sizes = np.sqrt(np.einsum("bkn,bkn->bk", jacobian, jacobian))
    fine = np.isfinite(sizes) & (sizes > 0)
    scale = np.where(fine, sizes, 1.0)
    scaled = np.where(fine[:, :, np.newaxis], jacobian / scale[:, :, np.newaxis], 0.0)
    gram = scaled @ scaled.transpose(0, 2, 1)
    right = scaled @ residual[:, :, np.newaxis]
    diagonal = np.arange(gram.shape[1])
    gram[:, diagonal, diagonal] += np.where(fine, damping[:, np.newaxis], 1.0)
    step = np.linalg.solve(gram, right)[:, :, 0] / scale
    return np.where(np.isfinite(step), step, 0.0)
