"""ODR-BINDy: models by Bayesian evidence, where the noise is in the states.

Terms leave the monomials of degree 1, of degree 2 and so on; the paper has one degree.  A model of
few terms among many that are nearly alike is not always on the way from all of them down.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from elimination import eliminate
from regression import Library, Regression, central_differences
from states import Library as Monomials
from states import StateTerms, list_terms

from mdbench.worker import Coordinates, Unsupported, columns_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from regression import Fit

    from mdbench.worker import Problem

    Array = NDArray[np.float64]

__all__ = ["Adapter"]

_EVEN = 0.1
"""The least noise of a sample, as a share of that of all samples of a state."""
_EXACT = 1e-5
"""The least noise, as a share of a state's size."""
_STILL = 1e-9
"""The least size of a rate, as a share of a state's size over the time of all samples."""
_TIME_PART = 0.85
"""Part of the time limit for the search."""


class Adapter:
    """The model of most evidence on the ways down from the monomials of each degree.

    Parameters
    ----------
    seed, threads
        Not used: nothing is drawn.
    order
        The highest degree of a monomial.
    most_terms
        Of longer libraries the degree is lowered.
    tolerance
        By what an equation may miss a rate: its standard deviation as a share of the rate's size.
    prior
        The standard deviation of coefficients before anything is known, where rate and term
        have size 1.
    tried
        How many removals of a term are fitted at each step.
    """

    stopped_early: bool = False
    """Whether the last fit ran out of time before its search was over."""

    def __init__(
        self,
        *,
        seed: int,
        threads: int,
        order: int,
        most_terms: int,
        tolerance: float,
        prior: float,
        tried: int,
    ) -> None:
        del seed, threads
        self._order, self._most, self._tried = int(order), int(most_terms), int(tried)
        self._tolerance, self._prior = float(tolerance), float(prior)
        self._degree = self._order
        self._library: StateTerms | None = None
        self._fit: Fit | None = None

    def fit(self, problem: Problem) -> None:
        """Fit states and all terms, and leave terms out.

        Raises
        ------
        ValueError
            If the data are not finite.
        Unsupported
            If no trajectory is long enough for a central difference.
        """
        columns = columns_of(problem)
        samples = problem.arrays.get("measured", problem.u)
        if not (np.isfinite(columns).all() and np.isfinite(samples).all()):
            raise ValueError("the data are not finite")
        late = problem.budget.after(_TIME_PART * problem.budget.remaining())
        made = Coordinates.of("scaled", columns, problem.du) if problem.scaled else None
        library = self._library = self._monomials(problem.variables, made)
        several = _trajectories(problem)
        differences, rough = (central_differences(problem.t, several, reach) for reach in (3, 2))
        has = np.diff(differences.indptr) > 0
        if not has.any():
            raise Unsupported("a central difference takes 7 samples of a trajectory; none has more")
        inputs = columns[:, samples.shape[1] :]
        terms = _on_states(_powers(problem.variables, self._degree), inputs, made)
        smooth = columns[:, : samples.shape[1]]
        rates = (differences @ smooth)[has]
        size = _size(smooth)
        rate = np.maximum(_size(rates), _STILL * size / np.ptp(problem.t))
        blur = _size(rates - (rough @ smooth)[has])  # of order 4: more than that of order 6
        known = _size(terms.values(smooth)[has])
        regression = Regression(
            differences,
            samples,
            terms,
            self._noise(problem, smooth, size),
            np.maximum(self._tolerance * rate, blur),
            self._prior * rate[:, None] / known,
        )
        fits: list[Fit] = []
        for degree in range(1, self._degree + 1):
            inside = library.columns(Monomials("cross", "polynomial", degree))
            whole = np.broadcast_to(inside, (samples.shape[1], len(library)))
            fits += eliminate(regression, smooth, whole, self._tried, late)
            if late():
                break
        self._fit = min(fits, key=lambda one: one.cost)
        self.stopped_early = late()
        if made is None:
            _report(problem.variables, self._fit, self._degree)

    def equations(self) -> list[str]:
        """Return one right-hand side for each target."""
        assert self._fit is not None  # noqa: S101 - asked for after the fit
        assert self._library is not None  # noqa: S101
        rate = np.broadcast_to(self._library.rate, len(self._fit.coefficients))
        return [
            self._library.write(row / rate[k], k) for k, row in enumerate(self._fit.coefficients)
        ]

    def predict(self, problem: Problem) -> Array:
        """Evaluate the right-hand sides, (n, targets)."""
        assert self._fit is not None  # noqa: S101 - asked for after the fit
        assert self._library is not None  # noqa: S101
        return self._library.features(columns_of(problem)) @ self._fit.coefficients.T

    def _monomials(self, variables: Sequence[str], made: Coordinates | None) -> StateTerms:
        """Return the monomials, of the highest degree that is not too many."""
        for order in range(self._order, 0, -1):
            library = StateTerms([Monomials("cross", "polynomial", order)], variables, made)
            self._degree = order
            if len(library) <= self._most:
                break
        return library

    def _noise(self, problem: Problem, smooth: Array, size: Array) -> Array:
        """Return the standard deviation of each sample, (n, d)."""
        noise = problem.noise
        least = _EXACT * size
        if noise is None:
            return np.broadcast_to(least, smooth.shape)
        return np.maximum(noise.deviation(smooth), np.maximum(_EVEN * noise.size, least))


def _trajectories(problem: Problem) -> list[NDArray[np.intp]]:
    several = problem.arrays.get("trajectory")
    if several is None:
        return [np.arange(len(problem.t))]
    return [np.flatnonzero(several == one) for one in dict.fromkeys(several.tolist())]


def _on_states(powers: NDArray[np.intp], inputs: Array, made: Coordinates | None) -> Library:
    """Return the monomials on states alone: inputs are known.

    They are those of ``StateTerms``, all at once.

    Parameters
    ----------
    powers
        Of each column in each term, (m, columns).
    inputs
        (n, q).
    made
        The coordinates in which products are taken.
    """
    d = powers.shape[1] - inputs.shape[1]
    size = np.ones(powers.shape[1]) if made is None else made.size
    where = np.arange(powers.shape[1])
    less = np.maximum(powers - 1, 0)

    def tables(states: Array) -> tuple[Array, Array]:
        """Return the powers (n, m, columns) and their derivatives by the columns."""
        columns = np.column_stack([states, inputs])
        columns = columns if made is None else made.states(columns)
        rising = columns[:, None, :] ** np.arange(powers.max() + 1)[:, None]
        return rising[:, powers, where], rising[:, less, where] * powers / size

    def values(states: Array) -> Array:
        return np.asarray(tables(states)[0].prod(axis=2))

    def gradients(states: Array) -> Array:
        factors, derivatives = tables(states)
        found = np.empty((*factors.shape[:2], d))
        for state in range(d):
            others = [k for k in where if k != state]
            found[:, :, state] = derivatives[:, :, state] * factors[:, :, others].prod(axis=2)
        return found

    return Library(values, gradients)


def _powers(variables: Sequence[str], degree: int) -> NDArray[np.intp]:
    """Return the power of each variable in each monomial, (m, variables)."""
    terms = list_terms([Monomials("cross", "polynomial", degree)], len(variables))
    return np.array([[t.factors.count(k) for k in range(len(variables))] for t in terms])


def _report(variables: Sequence[str], fit: Fit, degree: int) -> None:
    """Print the coefficients with their standard errors."""
    terms = list_terms([Monomials("cross", "polynomial", degree)], len(variables))
    for (k, m), error in zip(np.argwhere(fit.mask), fit.errors, strict=False):
        value = f"{fit.coefficients[k, m]:.8g} +- {error:.1g}"
        print(f"    {variables[k]}: {terms[m].text(variables) or '1'}: {value}")  # noqa: T201


def _size(values: Array) -> Array:
    """Return the root mean square of each column, 1 where all is zero."""
    found = np.sqrt(np.mean(values**2, axis=0))
    return np.where(found > 0, found, 1.0)
