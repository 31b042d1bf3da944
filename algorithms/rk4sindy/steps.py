"""Steps of the classical Runge-Kutta method, and how they change with the coefficients."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from states import StateTerms

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
    t, u
        Times (n,) and states (n, d).
    trajectory
        Which trajectory each sample is of, (n,), where there are several: no step leads from one
        to the next.
    """

    def __init__(
        self, terms: StateTerms, t: Array, u: Array, trajectory: Array | None = None
    ) -> None:
        self._terms = terms
        same = slice(None) if trajectory is None else np.diff(trajectory) == 0
        gaps, left, right = np.diff(t)[same], u[:-1][same], u[1:][same]
        self._h = np.concatenate([gaps, -gaps])[:, None]
        self._from = np.concatenate([left, right])
        self._to = np.concatenate([right, left])

    def misses(self, coefficients: Array) -> Array:
        """Return the differences of the steps from the samples, (2 (n - 1), d).

        Parameters
        ----------
        coefficients
            Coefficients of the terms for each state, (d, p).
        """
        slope, total = np.zeros_like(self._from), np.zeros_like(self._from)
        for part, weight in zip(_STAGES, _WEIGHTS, strict=True):
            slope = self._terms.features(self._from + part * self._h * slope) @ coefficients.T
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
        own = np.zeros((len(coefficients), len(of_state)))
        own[of_state, np.arange(len(of_state))] = 1.0
        slope, total = np.zeros_like(self._from), np.zeros_like(self._from)
        bent = np.zeros((*self._from.shape, len(of_state)))
        change = np.zeros_like(bent)
        for part, weight in zip(_STAGES, _WEIGHTS, strict=True):
            place = self._from + part * self._h * slope
            features = self._terms.features(place)
            gradient = self._terms.gradients(place)  # (m, p, d)
            jacobian = np.einsum("dp,mpe->mde", coefficients, gradient, optimize=True)
            slope = features @ coefficients.T
            bent = part * self._h[..., None] * (jacobian @ bent)
            bent += own * features[:, None, of_term]
            total += weight * slope
            change += weight * bent
        return self._from + self._h * total - self._to, self._h[..., None] * change
