"""Kernel ridge regression with Gaussian kernels; penalty and width by cross-validation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np
from estimators import ScikitLearnAdapter
from sklearn.base import BaseEstimator
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, KFold

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_FOLDS = 5


class TunedKernelRidge(BaseEstimator):  # type: ignore[misc]
    """Kernel ridge, whose settings are the best of a grid on some rows.

    Parameters
    ----------
    alphas, gammas
        Penalties, and what squared distances are multiplied by.
    max_rows, max_tuning_rows
        The most rows of the fit, and of the search for the settings; of more, some are drawn.
    random_state
        Seed of these draws and of the folds.
    """

    def __init__(
        self,
        alphas: Sequence[float] = (1.0,),
        gammas: Sequence[float] = (1.0,),
        max_rows: int = 4000,
        max_tuning_rows: int = 500,
        random_state: int = 0,
    ) -> None:
        self.alphas, self.gammas = alphas, gammas
        self.max_rows, self.max_tuning_rows = max_rows, max_tuning_rows
        self.random_state = random_state

    def fit(self, X: Array, y: Array) -> Self:
        """Choose the settings, and fit."""
        order = np.random.default_rng(self.random_state).permutation(len(X))
        few, many = order[: self.max_tuning_rows], order[: self.max_rows]
        self.model_ = KernelRidge(kernel="rbf", alpha=self.alphas[0], gamma=self.gammas[0])
        if len(few) >= _FOLDS:
            folds = KFold(_FOLDS, shuffle=True, random_state=self.random_state)
            grid = {"alpha": list(self.alphas), "gamma": list(self.gammas)}
            search = GridSearchCV(
                self.model_, grid, cv=folds, scoring="neg_mean_squared_error", refit=False
            )
            self.model_.set_params(**search.fit(X[few], y[few]).best_params_)
        self.model_.fit(X[many], y[many])
        return self

    def predict(self, X: Array) -> Array:
        """Predict, (n,)."""
        return np.asarray(self.model_.predict(X))


class Adapter(ScikitLearnAdapter):
    """One model a target; its parameters are those of `TunedKernelRidge`."""

    estimator = TunedKernelRidge
