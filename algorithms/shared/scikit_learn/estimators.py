"""Common part of packages with the interface of scikit-learn: hyperparameters, seed and threads.

The estimator of a package is a class whose instances have ``get_params``, ``fit`` and ``predict``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from threadpoolctl import threadpool_limits

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from mdbench.worker import Problem

    Array = NDArray[np.float64]

__all__ = ["ScikitLearnAdapter", "parameters_of"]


def parameters_of(
    estimator: Callable[..., Any], given: Mapping[str, Any], *, seed: int, threads: int
) -> dict[str, Any]:
    """Return the parameters of an estimator: those given, and seed and threads where it has them.

    Raises
    ------
    TypeError
        If one that is given is none of the estimator's: some packages take any.
    """
    known = set(estimator().get_params())
    if unknown := sorted(set(given) - known):
        raise TypeError(
            f"there is no hyperparameter {unknown[0]!r}; there are {', '.join(sorted(known))}"
        )
    own = {"random_state": seed % 2**31, "n_jobs": threads}
    return {name: value for name, value in own.items() if name in known} | dict(given)


class ScikitLearnAdapter:
    """Predicts by one estimator a target; it has no equations (``equations = false``).

    Inputs and targets are centred and divided by their largest deviation, so that data of any
    size and place are the same to packages that compute in single precision.

    Parameters
    ----------
    seed, threads
        Given to the estimator as ``random_state`` and ``n_jobs``; OpenMP and BLAS keep to the
        threads, too.
    parameters
        Those of the estimator.
    """

    estimator: ClassVar[Callable[..., Any]]
    always: ClassVar[Mapping[str, Any]] = {}
    """Parameters that the estimator takes and does not list."""

    def __init__(self, *, seed: int, threads: int, **parameters: Any) -> None:
        self._threads = threads
        named = parameters_of(type(self).estimator, parameters, seed=seed, threads=threads)
        self._parameters = {**self.always, **named}

    def fit(self, problem: Problem) -> None:
        """Fit a model for each target.

        Raises
        ------
        ValueError
            If the data are not finite.
        """
        if not (np.isfinite(problem.X).all() and np.isfinite(problem.Y).all()):
            raise ValueError("the data are not finite")
        self._inputs, self._targets = _Scale(problem.X), _Scale(problem.Y)
        X, Y = self._inputs.to(problem.X), self._targets.to(problem.Y)
        with threadpool_limits(limits=self._threads):
            self._models = [
                type(self).estimator(**self._parameters).fit(X, column) for column in Y.T
            ]

    def predict(self, problem: Problem) -> Array:
        """Predict the targets, (n, targets)."""
        X = self._inputs.to(problem.X)
        with threadpool_limits(limits=self._threads):
            found = [np.asarray(model.predict(X), dtype=np.float64) for model in self._models]
        return self._targets.back(np.stack(found, axis=1))

    def equations(self) -> list[str]:
        """There are none."""
        return []


class _Scale:
    """Moves and stretches columns so that they lie between -1 and 1 about their means."""

    def __init__(self, columns: Array) -> None:
        self._mean = columns.mean(axis=0)
        size = np.abs(columns - self._mean).max(axis=0)
        self._size = np.where(size > 0, size, 1.0)

    def to(self, columns: Array) -> Array:
        return np.asarray((columns - self._mean) / self._size)

    def back(self, columns: Array) -> Array:
        return np.asarray(columns * self._size + self._mean)
