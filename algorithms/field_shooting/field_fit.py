"""Maximum likelihood of the samples of a field: starts of segments and coefficients together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from segments import FieldSamples, Flow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from segments import Place, Spectra

    Array = NDArray[np.float64]

__all__ = ["FieldFit", "FieldLikelihood", "Quadratic"]

_JUMPS = 0.1, 0.03
"""The deviation of a jump between segments, over that of the noise: at first, and later."""
_FLOORS = 0.1, 0.3, 1.0, np.inf
"""Noise that does not depend on the state, over that of the largest state; the last is alone.

Starts have few waves: next to zeros of a state they are not as exact as proportional noise is.
"""
_RIDGE = 1e-9
"""What is added to the diagonal of a Gram matrix of columns of length 1."""
_DAMPING = 1e-4
_TRIES = 6
_SETTLED = 0.05, 1e-5
"""A gain of the sum of squares that ends a fit, and as a share of it."""
_STEADY = 1.0
"""Steps are halved until the sum of squares of what that changes, in units of the noise, is less:
small errors that have a form of their own, in thousands of samples, would be worth a term."""
_SUBSTEPS = 2, 4, 8, 16
_SOUND = 1.2
"""Equations are refuted that leave more than so many times the noise that smoothing says."""


@dataclass(frozen=True)
class FieldFit:
    """Equations, starts and coefficients of highest likelihood.

    Attributes
    ----------
    places
        Its terms.
    coefficients, errors
        With their standard errors.
    starts
        (segments, d, waves)
    square
        The sum of squares of samples and jumps, in units of the noise.
    """

    places: tuple[Place, ...]
    coefficients: Array
    errors: Array
    starts: Spectra = field(repr=False)
    square: float


@dataclass(frozen=True)
class Quadratic:
    """The sum of squares about a fit, by the coefficients of all terms, with starts free.

    It is ``constant - 2 slope @ c + c @ gram @ c`` of coefficients c.

    Attributes
    ----------
    visible
        The share of each column's length that starts do not make up for.
    """

    gram: Array
    slope: Array
    constant: float
    visible: Array


class FieldLikelihood:
    """The likelihood of samples under equations.

    Parameters
    ----------
    deviation
        The deviation of the noise of each average, (times, d, nodes).
    jump
        The deviation of a jump between segments, over that of the noise.
    """

    def __init__(self, samples: FieldSamples, deviation: Array, jump: float = _JUMPS[0]) -> None:
        self.samples, self.deviation, self._jump = samples, deviation, jump
        self.substeps = _SUBSTEPS[0]

    @property
    def log_deviations(self) -> float:
        """Twice the sum of the logarithms of all deviations, as a likelihood has it."""
        return float(2 * np.sum(np.log(self.deviation)))

    def settle(self, places: Sequence[Place], coefficients: Sequence[float] | Array) -> bool:
        """Halve steps until that hardly moves a solution; return whether there is a solution."""
        coarse = None
        for substeps in _SUBSTEPS[_SUBSTEPS.index(self.substeps) :]:
            solved = Flow(self.samples, places, coefficients, substeps).solve(self.samples.starts)
            if solved is not None:
                seen = self.samples.averages(solved[::substeps])
                if coarse is not None and self._distance(seen - coarse) < _STEADY:
                    return True
                coarse, self.substeps = seen, substeps
        return coarse is not None

    def fit(
        self,
        places: Sequence[Place],
        coefficients: Sequence[float] | Array,
        starts: Spectra,
        rounds: int,
    ) -> FieldFit | None:
        """Fit by Gauss and Newton's method, damped; None where there is no solution."""
        c, v, damping = np.array(coefficients, float), starts, _DAMPING
        solved = self._flow(places, c).solve(v)
        if solved is None:
            return None
        square = self._square(solved)
        unknowns = v[..., 0].size // v.shape[1] * self.samples.unknowns
        errors = np.full(len(c), np.inf)
        basis = self.samples.basis()
        for _ in range(rounds):
            gram, slope, _ = self._normal(self._flow(places, c), solved, places)
            scale = np.sqrt(np.maximum(np.diag(gram), 1e-300))
            unit, slope = gram / np.outer(scale, scale), slope / scale
            gain = 0.0
            for _ in range(_TRIES):
                factor = cho_factor(unit + (_RIDGE + damping) * np.eye(len(unit)))
                moved = -cho_solve(factor, slope) / scale
                c_new = c + moved[unknowns:]
                v_new = v + np.einsum("sp,pdw->sdw", moved[:unknowns].reshape(len(v), -1), basis)
                solved_new = self._flow(places, c_new).solve(v_new)
                new = np.inf if solved_new is None else self._square(solved_new)
                if solved_new is not None and new < square:
                    gain, c, v, solved, square = square - new, c_new, v_new, solved_new, new
                    damping = max(damping / 10, 1e-9)
                    break
                damping = max(damping * 10, 1e-6)
            inverse = cho_solve(cho_factor(unit + _RIDGE * np.eye(len(unit))), np.eye(len(unit)))
            errors = (np.sqrt(np.abs(np.diag(inverse))) / scale)[unknowns:]
            if gain < _SETTLED[0] + _SETTLED[1] * square:
                break
        return FieldFit(tuple(places), c, errors, v, square)

    def quadratic(self, fit: FieldFit, columns: Sequence[Place]) -> Quadratic | None:
        """Return the sum of squares about a fit, by the coefficients of all columns."""
        flow = self._flow(fit.places, fit.coefficients)
        solved = flow.solve(fit.starts)
        if solved is None:
            return None
        gram, slope, square = self._normal(flow, solved, columns)
        if not np.isfinite(gram).all():
            return None
        q = len(gram) - len(columns)
        scale = np.sqrt(np.maximum(np.diag(gram)[:q], 1e-300))
        factor = cho_factor(gram[:q, :q] / np.outer(scale, scale) + _RIDGE * np.eye(q), lower=True)
        across = gram[:q, q:] / scale[:, None]
        part = gram[q:, q:] - across.T @ cho_solve(factor, across)
        first = slope[:q] / scale
        down = slope[q:] - across.T @ cho_solve(factor, first)
        here = np.zeros(len(columns))
        here[[columns.index(one) for one in fit.places]] = fit.coefficients
        least = square - float(first @ cho_solve(factor, first))
        whole = np.diag(gram)[q:]
        return Quadratic(
            part,
            part @ here - down,
            least + float(here @ part @ here) - 2 * float(down @ here),
            np.diag(part) / np.maximum(whole, 1e-300),
        )

    def with_noise_of(self, fit: FieldFit) -> FieldLikelihood:
        """Return the likelihood with the noise that a fit leaves.

        It is of the form and size that are likeliest.  Where it is much larger than what smoothing
        removes, the equations are wrong, and the noise remains as it is.
        """
        solved = self._flow(fit.places, fit.coefficients).solve(fit.starts)
        if solved is None:
            return self
        curve = np.empty_like(self.samples.measured)
        seen = self.samples.averages(solved[:: self.substeps])
        for offset in range(self.samples.interval + 1):
            segments, times = self.samples.times(offset)
            curve[times] = seen[offset, segments]
        rest = self.samples.measured - curve
        if self.refutes(fit):
            return self
        most = np.abs(self.samples.measured).max(axis=(0, 2), keepdims=True)
        best = np.inf, self.deviation
        for floor in _FLOORS:
            form = (
                np.broadcast_to(most, curve.shape)
                if np.isinf(floor)
                else np.hypot(curve, floor * most)
            )
            size = np.sqrt(np.mean((rest / form) ** 2))
            value = float(np.sum(np.log(form)) + rest.size * np.log(size))
            if value < best[0] - 1e-9:
                best = value, size * form
        made = FieldLikelihood(self.samples, best[1], _JUMPS[1])
        made.substeps = self.substeps
        return made

    def refutes(self, fit: FieldFit) -> bool:
        """Return whether a fit leaves more than the noise."""
        return fit.square > _SOUND**2 * self.samples.measured.size

    def _flow(self, places: Sequence[Place], c: Array) -> Flow:
        return Flow(self.samples, places, c, self.substeps)

    def _jumps(self, spectra: Spectra) -> Array:
        """Return the waves of starts at the nodes, in units of a jump's deviation."""
        samples = self.samples
        low = spectra * (np.arange(spectra.shape[-1]) <= samples.modes)
        at = np.arange(1, len(samples.starts)) * samples.interval
        return samples.averages(low) / (self._jump * self.deviation[at])

    def _square(self, solved: Spectra) -> float:
        seen = self.samples.averages(solved[:: self.substeps])
        jumps = self._jumps(solved[-1, :-1] - solved[0, 1:])
        return self._distance(seen, self.samples.measured) + float(np.sum(jumps**2))

    def _distance(self, seen: Array, measured: Array | None = None) -> float:
        """Return the sum of squares of (offsets, segments, d, nodes) less samples, or nothing."""
        total = 0.0
        for offset in range(self.samples.interval + 1):
            segments, times = self.samples.times(offset)
            rest = seen[offset, segments] - (0.0 if measured is None else measured[times])
            total += float(np.sum((rest / self.deviation[times]) ** 2))
        return total

    def _normal(
        self, flow: Flow, solved: Spectra, columns: Sequence[Place]
    ) -> tuple[Array, Array, float]:
        """Return the Gram matrix of all starts and columns, that with the rest, and its square."""
        samples = self.samples
        segments, q, k = len(samples.starts), samples.unknowns, len(columns)
        parts = np.zeros((segments, q + k, q + k))
        slopes, total = np.zeros((segments, q + k)), 0.0
        responses = None
        for offset, responses in enumerate(flow.responses(solved, columns)):
            some, times = samples.times(offset)
            if not len(some):
                continue
            deviation = self.deviation[times]
            rest = (samples.averages(responses.spectra[some]) - samples.measured[times]) / deviation
            rows = samples.averages(responses.tangents[some]) / deviation[:, None]
            rows = rows.reshape(len(some), q + k, -1)
            rest = rest.reshape(len(some), -1)
            parts[some] += rows @ rows.transpose(0, 2, 1)
            slopes[some] += np.einsum("spr,sr->sp", rows, rest)
            total += float(np.sum(rest**2))
        size = segments * q
        gram, slope = np.zeros((size + k, size + k)), np.zeros(size + k)
        shared = np.arange(size, size + k)
        for number in range(segments):
            own = np.concatenate([np.arange(number * q, (number + 1) * q), shared])
            gram[np.ix_(own, own)] += parts[number]
            slope[own] += slopes[number]
        assert responses is not None  # noqa: S101 - a segment has a start
        basis = samples.basis()
        rest = self._jumps(solved[-1, :-1] - solved[0, 1:])
        for number in range(segments - 1):
            low = np.arange(basis.shape[-1]) <= samples.modes
            both = np.concatenate(
                [responses.tangents[number][:q], -basis, responses.tangents[number][q:]]
            )
            at = self.deviation[(number + 1) * samples.interval]
            rows = (samples.averages(both * low) / (self._jump * at)).reshape(len(both), -1)
            own = np.concatenate([np.arange(number * q, (number + 2) * q), shared])
            gram[np.ix_(own, own)] += rows @ rows.T
            slope[own] += rows @ rest[number].ravel()
        return gram, slope, total + float(np.sum(rest**2))
