"""Steps of the classical Runge-Kutta method, and how they change with the coefficients."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from states import StateTerms

    from mdbench.worker import Problem

    Array = NDArray[np.float64]

__all__ = ["Steps"]

_STAGES = (0.0, 0.5, 0.5, 1.0)
"""Part of the step at which each stage is evaluated, along the slope of the one before."""
_WEIGHTS = (1 / 6, 1 / 3, 1 / 3, 1 / 6)


class Steps:
    """One step from each sample to the next, and one back, under ``du/dt = W features(u)``.

    Parameters
    ----------
    terms
        The terms of the library.
    problem
        Times, states, and inputs where there are some.  Of several trajectories no step leads from
        one to the next.
    """

    def __init__(self, terms: StateTerms, problem: Problem) -> None:
        self._terms = terms
        t, u, trajectory = problem.t, problem.u, problem.arrays.get("trajectory")
        inputs = problem.arrays.get("inputs", np.empty((len(t), 0)))
        same = slice(None) if trajectory is None else np.diff(trajectory) == 0
        gaps, left, right = np.diff(t)[same], u[:-1][same], u[1:][same]
        self._h = np.concatenate([gaps, -gaps])[:, None]
        self._from = np.concatenate([left, right])
        self._to = np.concatenate([right, left])
        begin = inputs[:-1][same]
        end = begin if problem.held else inputs[1:][same]
        self._inputs = np.concatenate([begin, end]), np.concatenate([end, begin])

    def _at(self, part: float, slope: Array) -> Array:
        """Return states and inputs at a stage, (m, variables)."""
        place = self._from + part * self._h * slope
        before, after = self._inputs
        if not before.shape[1]:
            return place
        return np.concatenate([place, (1 - part) * before + part * after], axis=1)

    def misses(self, coefficients: Array) -> Array:
        """Return the differences of the steps from the samples, (2 (n - 1), d).

        Parameters
        ----------
        coefficients
            Coefficients of the terms for each state, (d, p).
        """
        slope, total = np.zeros_like(self._from), np.zeros_like(self._from)
        for part, weight in zip(_STAGES, _WEIGHTS, strict=True):
            slope = self._terms.features(self._at(part, slope)) @ coefficients.T * self._terms.rate
            total += weight * slope
        return np.asarray(self._from + self._h * total - self._to)

    def with_change(self, coefficients: Array, active: NDArray[np.bool_]) -> tuple[Array, Array]:
        """Return the residuals, and their derivatives by the coefficients that are active.

        Parameters
        ----------
        coefficients, active
            Of the terms for each state, (d, p).

        Returns
        -------
        misses
            As above, (m, d).
        change
            (m, d, k) for the k active coefficients, in the order of ``coefficients[active]``.
        """
        of_state, of_term = np.nonzero(active)
        d, rate = len(coefficients), np.broadcast_to(self._terms.rate, len(coefficients))
        own = np.zeros((d, len(of_state)))
        own[of_state, np.arange(len(of_state))] = rate[of_state]
        slope, total = np.zeros_like(self._from), np.zeros_like(self._from)
        bent = np.zeros((*self._from.shape, len(of_state)))
        change = np.zeros_like(bent)
        for part, weight in zip(_STAGES, _WEIGHTS, strict=True):
            place = self._at(part, slope)
            features = self._terms.features(place)
            gradient = self._terms.gradients(place)[:, :, :d]  # (m, p, d)
            jacobian = np.einsum(
                "dp,mpe->mde", coefficients * rate[:, None], gradient, optimize=True
            )
            slope = features @ coefficients.T * rate
            bent = part * self._h[..., None] * (jacobian @ bent)
            bent += own * features[:, None, of_term]
            total += weight * slope
            change += weight * bent
        return self._from + self._h * total - self._to, self._h[..., None] * change
