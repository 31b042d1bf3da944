"""Experiments with one law: how likely equations are, with constants in common or of each run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from mdbench.data.smoothing import FEWEST_SAMPLES, smooth
from mdbench.errors import UsageError
from mdbench.extensions.estimators.least_squares import Solution, solve
from mdbench.records import WeightedScores

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from mdbench.extensions.estimators.structures import Structure

    Array = NDArray[np.float64]
    Integrate = Callable[[Sequence[str], Array, Array, Array | None], Array]

__all__ = ["Experiment", "Fitted", "Motion", "Pieces", "Run", "Table", "Windows", "errors_of"]

_EXACT = 1e-5
"""Differences of this share of a target's size are rounding: fits to less mean nothing."""
_SEGMENT = 10
"""Samples of the pieces of a trajectory from which constants are found first."""
_REMEMBERED = 200
"""Solutions that are remembered."""
_BLOCKS = 12
"""Blocks of windows in time."""
_SLOPE = 0.1
"""The step of slopes, in standard errors of a constant."""
_LOST = 1e6
"""The residual where a solution does not exist."""


class Run(NamedTuple):
    """The data of one run.

    Attributes
    ----------
    columns
        The variables by name, (rows,) each; for motion the states and the inputs.
    targets
        What is explained, (rows, targets); for motion the states.
    sigma
        The standard errors of the targets, (rows, targets); None where they are unknown.
    times
        (rows,), increasing; None for a table.
    inputs
        For motion, (rows, inputs); None without any.
    """

    columns: Mapping[str, Array]
    targets: Array
    sigma: Array | None = None
    times: Array | None = None
    inputs: Array | None = None


@dataclass(frozen=True)
class Fitted:
    """Equations fitted to an experiment.

    Attributes
    ----------
    structure
        The equations.
    constants, errors
        Of each run, (runs, constants), with standard errors.
    covariances
        Of the constants of each run, (runs, constants, constants).
    free
        The constants that each run has for itself.
    solution
        Of all constants, and of starts.
    misfit
        Minus two log-likelihoods, and the price of what the equations are made of: the logarithm of
        the number of values for each piece, or each constant where these are more (BIC).
    unexplained
        The share of the variance that the equations leave.
    noise
        The standard deviation of each target's differences, (targets,).
    """

    structure: Structure
    constants: Array
    errors: Array
    covariances: Array
    free: tuple[int, ...]
    solution: Solution
    misfit: float
    unexplained: float
    noise: Array

    def texts(self, run: int = 0) -> list[str]:
        """Write the equations of a run."""
        return self.structure.texts(self.constants[run])

    def band(self, values: Callable[[Array], Array], run: int = 0) -> Array:
        """Return the standard deviations of what follows from the constants of a run.

        Parameters
        ----------
        values
            What follows, of constants; its slopes are taken by differences.
        """
        constants, covariance = self.constants[run], self.covariances[run]
        steps = _SLOPE * np.sqrt(np.diag(covariance))
        if not np.any(steps > 0):
            return np.zeros_like(values(constants))
        slopes = []
        for k in np.flatnonzero(steps > 0):
            moved = np.zeros(len(constants))
            moved[k] = steps[k]
            slopes.append((values(constants + moved) - values(constants - moved)) / (2 * steps[k]))
        own = covariance[np.ix_(steps > 0, steps > 0)]
        squares = np.einsum("i...,ij,j...->...", np.stack(slopes), own, np.stack(slopes))
        return np.asarray(np.sqrt(np.maximum(squares, 0.0)))


@dataclass(frozen=True)
class Experiment(ABC):
    """Runs with one law.

    Attributes
    ----------
    runs
        One at least.
    """

    runs: tuple[Run, ...]
    coarse: ClassVar[bool] = False
    """Whether what equations say has the errors of a solver."""

    @abstractmethod
    def start(self, structure: Structure) -> Array:
        """Return constants that are near enough to begin with."""

    @abstractmethod
    def begins(self) -> Array:
        """Return what each run has besides constants, all in one row."""

    @abstractmethod
    def differences(self, structure: Structure, constants: Array, begins: Array) -> list[Array]:
        """Return what the equations say minus the targets, of each run (rows, targets).

        Parameters
        ----------
        constants
            (runs, constants)
        """

    def suited(self, structure: Structure) -> Experiment:
        """Return the experiment in the form in which equations like these can be compared."""
        del structure
        return self

    @property
    def known(self) -> bool:
        """Whether standard errors are known."""
        return self.runs[0].sigma is not None

    def weighted(self, fitted: Fitted, texts: Sequence[str]) -> WeightedScores | None:
        """Return scores of equations by standard errors; None where these are unknown.

        They are the mean square of residuals in standard errors, and the share of the weighted sum
        of squares around weighted means that the equations explain.
        """
        parts = [(run.targets, 1 / run.sigma**2) for run in self.runs if run.sigma is not None]
        if not parts:
            return None
        values, weights = (np.concatenate(part) for part in zip(*parts, strict=True))
        means = np.average(values, axis=0, weights=weights)
        around = float(np.sum(weights * (values - means) ** 2))
        cost = fitted.solution.cost
        return WeightedScores(
            equations=tuple(texts),
            values=values.size,
            chi2=cost / values.size,
            r2=1 - cost / around if around else None,
        )

    @property
    def independent(self) -> float:
        """How many values have noise of their own."""
        return float(sum(run.targets.size for run in self.runs))

    @property
    def sizes(self) -> Array:
        """The spread of each target, (targets,); 1 where there is none."""
        spreads = [
            np.sum((run.targets - run.targets.mean(axis=0)) ** 2, axis=0) for run in self.runs
        ]
        sizes = np.sqrt(np.sum(spreads, axis=0) / sum(len(run.targets) for run in self.runs))
        return np.where(sizes > 0, sizes, 1.0)

    def fit(
        self, structure: Structure, free: Sequence[int] = (), begin: Array | None = None
    ) -> Fitted:
        """Fit the constants by maximum likelihood.

        Parameters
        ----------
        free
            The constants that each run has for itself; the others are the same in all.
        begin
            Constants of each run to begin with, (runs, constants).

        Raises
        ------
        mdbench.errors.UsageError
            If values are not more than constants.
        """
        alone, several = np.array(sorted(free), dtype=int), len(self.runs)
        common = np.setdiff1d(np.arange(len(structure.start)), alone)
        begin = np.tile(self.start(structure), (several, 1)) if begin is None else begin
        first = np.median(begin, axis=0)
        start = np.concatenate([first[common], begin[:, alone].ravel(), self.begins()])
        size = np.concatenate([first[common], np.tile(first[alone], several), self._begin_sizes()])
        end = len(common) + several * len(alone)
        index = np.empty((several, len(first)), dtype=int)  # of each run's constants in all values
        index[:, common] = np.arange(len(common))
        index[:, alone] = np.arange(len(common), end).reshape(several, -1)

        def differences(values: Array) -> list[Array]:
            return self.differences(structure, values[index], values[end:])

        def solved(begin_at: Array, scales: Sequence[Array]) -> Solution:
            def residuals(values: Array) -> Array:
                pairs = zip(differences(values), scales, strict=True)
                return np.concatenate([(off / scale).ravel() for off, scale in pairs])

            pairs = zip(means, scales, strict=True)
            deviation = float(sum(np.sum((off / scale) ** 2) for off, scale in pairs))
            return solve(
                *(residuals, begin_at, size, deviation), known=self.known, coarse=self.coarse
            )

        means = [run.targets - run.targets.mean(axis=0) for run in self.runs]
        sigmas = [run.sigma for run in self.runs if run.sigma is not None]
        plain = [np.ones_like(run.targets) for run in self.runs]
        solution = solved(start, sigmas or [ones * self.sizes for ones in plain])
        noise = self._noise(differences(solution.constants))
        if not self.known and len(noise) > 1 and np.max(noise / self.sizes) < 1.0:
            # Each target has noise of its own.
            solution = solved(solution.constants, [ones * noise for ones in plain])
            noise = self._noise(differences(solution.constants))
        off = differences(solution.constants)
        count = self.independent
        lost = (several - 1) * len(alone)
        price = (max(structure.pieces, len(first)) + lost) * float(np.log(count))
        likelihood = float(np.sum(np.log(noise**2))) * count / len(noise)
        total = sum(np.sum((each / self.sizes) ** 2) for each in off)
        whole = sum(np.sum((each / self.sizes) ** 2) for each in means)
        return Fitted(
            structure,
            *(solution.constants[index], solution.errors[index]),
            np.stack([solution.covariance[np.ix_(own, own)] for own in index]),
            *(tuple(alone.tolist()), solution),
            *((solution.cost if self.known else likelihood) + price, float(total / (whole or 1.0))),
            noise,
        )

    def fit_free(self, structure: Structure) -> Fitted:
        """Fit, and choose by likelihood which constants each run has for itself.

        They are tried in the order in which fits of single runs differ, by their standard errors.
        """
        best = self.fit(structure)
        if len(self.runs) == 1 or not len(structure.start):
            return best
        alone = [replace(self, runs=(run,)).fit(structure) for run in self.runs]
        values = np.concatenate([fitted.constants for fitted in alone])
        errors = np.concatenate([fitted.errors for fitted in alone])
        weights = 1 / np.maximum(errors, 1e-12 * (np.abs(values) + 1e-300)) ** 2
        means = np.average(values, axis=0, weights=np.maximum(weights, 1e-300))
        differ = np.sum(weights * (values - means) ** 2, axis=0)
        for k in np.argsort(-differ):
            tried = self.fit(structure, (*best.free, int(k)), values)
            if tried.misfit >= best.misfit:
                break
            best = tried
        return best

    def _begin_sizes(self) -> Array:
        return np.ones(len(self.begins()))

    def _noise(self, differences: Sequence[Array]) -> Array:
        squares = np.mean(np.concatenate(differences) ** 2, axis=0)
        return np.maximum(np.sqrt(squares), _EXACT * self.sizes)


@dataclass(frozen=True)
class Table(Experiment):
    """Rows of tables, each explained by itself."""

    def start(self, structure: Structure) -> Array:
        """Return the constants as they are written; letters by the best of a few starts."""
        return _rough(structure, self.runs)

    def begins(self) -> Array:
        """Return nothing."""
        return np.empty(0)

    def differences(self, structure: Structure, constants: Array, begins: Array) -> list[Array]:
        """Return what the law says minus the target."""
        del begins
        return [
            structure.values(run.columns, own) - run.targets
            for run, own in zip(self.runs, constants, strict=True)
        ]


@dataclass(frozen=True)
class Motion(Experiment):
    """Trajectories, compared with solutions that have starts of their own.

    Attributes
    ----------
    integrate
        Gives the states that equations reach, by texts, times, start and inputs; as many rows as it
        comes to.
    """

    integrate: Integrate
    coarse: ClassVar[bool] = True

    def start(self, structure: Structure) -> Array:
        """Return constants by slopes of the samples, and by short pieces if these do not do."""
        rough = self.slopes.start(structure)
        if not len(rough) or self._follows(structure, rough):
            return rough

        def residuals(constants: Array) -> Array:
            texts = structure.texts(constants)
            off = [self.of_pieces(run, texts) for run in self.runs]
            return np.concatenate([(each / self.sizes).ravel() for each in off])

        count = sum(run.targets.size for run in self.runs)
        return solve(residuals, rough, rough, float(count), coarse=True).constants

    @cached_property
    def _reached(self) -> dict[Any, Array]:
        return {}

    @cached_property
    def slopes(self) -> Table:
        """The slopes of smoothed samples, explained row by row: quick, and less exact."""
        runs = []
        for run in self.runs:
            times, states = _times(run), run.targets
            if len(times) < FEWEST_SAMPLES:
                rates = np.gradient(states, times, axis=0)
            else:
                curve = smooth(times, states)
                states, rates = curve.u, curve.du
            columns = {**run.columns, **dict(zip(run.columns, states.T, strict=False))}
            runs.append(Run(columns, rates))
        return Table(tuple(runs))

    def fit_free(self, structure: Structure) -> Fitted:
        """Fit, with the constants for single runs that slopes choose, or with none."""
        best = self.fit(structure)
        if len(self.runs) == 1 or not len(structure.start):
            return best
        rough = self.slopes.fit_free(structure)
        if not rough.free:
            return best
        tried = self.fit(structure, rough.free, rough.constants)
        return tried if tried.misfit < best.misfit else best

    def of_pieces(self, run: Run, texts: Sequence[str]) -> Array:
        """Return solutions minus samples of pieces, each from its first sample; without these."""
        firsts = range(0, len(run.targets) - 1, _SEGMENT)
        ends = [min(i + _SEGMENT + 1, len(run.targets)) for i in firsts]
        pairs = zip(firsts, ends, strict=True)
        return np.concatenate([self._followed(run, texts, i, j)[1:] for i, j in pairs])

    def _follows(self, structure: Structure, constants: Array) -> bool:
        texts = structure.texts(constants)
        off = [self._followed(run, texts, 0, len(run.targets)) for run in self.runs]
        return bool(np.max(self._noise(off) / self.sizes) < 1.0)

    def suited(self, structure: Structure) -> Experiment:
        """Return it in pieces, where solutions of such equations do not follow whole runs."""
        return Pieces(self.runs, self.integrate) if self.fit(structure).unexplained > 1 else self

    def _followed(
        self, run: Run, texts: Sequence[str], first: int, last: int, begin: Array | None = None
    ) -> Array:
        times, samples = _times(run)[first:last], run.targets[first:last]
        begin = samples[0] if begin is None else begin
        key = id(run), first, last, tuple(texts), begin.tobytes()
        if key in self._reached:  # slopes by the start of another run leave this one as it is
            return self._reached[key]
        inputs = None if run.inputs is None else run.inputs[first:last]
        reached = self.integrate(
            texts, times - times[0] if inputs is None else times, begin, inputs
        )
        off = np.full(samples.shape, _LOST) * self.sizes
        off[: len(reached)] = reached - samples[: len(reached)]
        if len(self._reached) > _REMEMBERED:
            self._reached.clear()
        self._reached[key] = off
        return off

    def begins(self) -> Array:
        """Return the first samples."""
        return np.concatenate([run.targets[0] for run in self.runs])

    def _begin_sizes(self) -> Array:
        return np.tile(self.sizes, len(self.runs))

    def differences(self, structure: Structure, constants: Array, begins: Array) -> list[Array]:
        """Return solutions minus samples."""
        starts = begins.reshape(len(self.runs), -1)
        return [
            self._followed(run, structure.texts(own), 0, len(run.targets), begin)
            for run, own, begin in zip(self.runs, constants, starts, strict=True)
        ]


@dataclass(frozen=True)
class Windows(Experiment):
    """Integrals of a field over windows, in weak form: the runs' targets are changes of one state.

    Attributes
    ----------
    weights
        Of the integrals, (rows,): square roots of those of the sum of squares.
    along
        What integrates along each axis and in time, (rows of the axis, nodes); in time last.
    """

    weights: Array
    along: tuple[Array, ...]

    @property
    def independent(self) -> float:
        """How many windows would not overlap.

        Along an axis it is n² over the sum of the squared correlations of its n rows.
        """
        counts = []
        for matrix in self.along:
            rows = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
            counts.append(len(rows) ** 2 / float(np.sum((rows @ rows.T) ** 2)))
        return float(np.prod(counts))

    def start(self, structure: Structure) -> Array:
        """Return the constants as they are written."""
        return structure.start

    def begins(self) -> Array:
        """Return nothing."""
        return np.empty(0)

    def differences(self, structure: Structure, constants: Array, begins: Array) -> list[Array]:
        """Return integrals of the right-hand side minus changes, as weighted."""
        del begins
        shape = tuple(matrix.shape[1] for matrix in self.along)
        values = structure.values(self.runs[0].columns, constants[0])[:, 0].reshape(shape)
        for matrix in self.along:
            values = np.tensordot(values, matrix, axes=(0, 1))
        return [(self.weights * values.reshape(-1))[:, None] - self.runs[0].targets]

    def robust_errors(self, fitted: Fitted) -> Array:
        """Return standard errors where windows that overlap in time have noise in common.

        Sums over blocks of windows are taken as independent (White's estimate, by clusters).
        """
        jacobian, residuals = fitted.solution.jacobian, fitted.solution.residuals
        if not jacobian.shape[1]:
            return np.empty(0)
        count = len(self.along[-1])
        blocks = np.arange(len(residuals)) % count * min(_BLOCKS, count) // count
        sums = np.stack(
            [jacobian[blocks == b].T @ residuals[blocks == b] for b in np.unique(blocks)]
        )
        inverse = np.linalg.pinv(jacobian.T @ jacobian)
        several = len(sums)
        covariance = inverse @ (sums.T @ sums) @ inverse * several / max(several - 1, 1)
        sizes = np.where(fitted.structure.start == 0, 1.0, np.abs(fitted.structure.start))
        errors = np.sqrt(np.diag(covariance)) * sizes
        return np.where(np.isfinite(fitted.errors[0]), errors, np.inf)


class Pieces(Motion):
    """Trajectories in pieces of a few samples, with solutions from the first sample of each."""

    def begins(self) -> Array:
        """Return nothing."""
        return np.empty(0)

    def _begin_sizes(self) -> Array:
        return np.empty(0)

    def differences(self, structure: Structure, constants: Array, begins: Array) -> list[Array]:
        """Return solutions minus samples."""
        del begins
        return [
            self.of_pieces(run, structure.texts(own))
            for run, own in zip(self.runs, constants, strict=True)
        ]


def _times(run: Run) -> Array:
    assert run.times is not None  # noqa: S101 - trajectories have times
    return run.times


def _rough(structure: Structure, runs: Sequence[Run]) -> Array:
    """Return constants by plain least squares of right-hand sides, from the best of some starts."""
    together = {
        name: np.concatenate([np.asarray(run.columns[name], dtype=float) for run in runs])
        for name in runs[0].columns
    }
    wanted = np.concatenate([run.targets for run in runs])
    sizes = np.where(np.std(wanted, axis=0) > 0, np.std(wanted, axis=0), 1.0)

    def residuals(constants: Array) -> Array:
        return np.asarray((structure.values(together, constants) - wanted) / sizes).ravel()

    starts = [structure.start]
    if structure.has_letters:
        starts += [np.full(len(structure.start), value) for value in (0.1, -1.0, 3.0)]
    solutions = [
        solve(residuals, start, start, float(wanted.size))
        for start in starts
        if np.isfinite(residuals(start)).any()
    ]
    if not solutions:
        raise UsageError(
            f"{'; '.join(structure.texts(structure.start))} has no finite value in these data.",
            "Leave out rows where it has none, or give other starts.",
        )
    return min(solutions, key=lambda solution: solution.cost).constants


def errors_of(sigma: ArrayLike | None, shape: tuple[int, int]) -> Array | None:
    """Return standard errors of all values: from one, one a target, one a row, or all.

    Raises
    ------
    mdbench.errors.UsageError
        If one of them is no positive number, or their shape does not fit.
    """
    if sigma is None:
        return None
    values = np.asarray(sigma, dtype=float)
    if values.ndim == 1 and len(values) == shape[0] and shape[0] != shape[1]:
        values = values[:, None]
    try:
        values = np.array(np.broadcast_to(values, shape))
    except ValueError:
        raise UsageError(
            f"sigma has the shape {np.shape(sigma)}, and the data {shape}.",
            "Give one standard error, one for each target, or one for each value.",
        ) from None
    if not (np.isfinite(values) & (values > 0)).all():
        raise UsageError("A standard error is not a positive number.", "Leave these rows out.")
    return values
