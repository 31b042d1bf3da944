"""The search for one target: draw, evaluate, learn from the best; and the archive of the best."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from levenberg import ConstantFitter, Fits
from melding import Melding, meld
from numpy.typing import NDArray
from policy import Learning, Policy
from polynomials import Monomials, undo
from tapes import Tape, pad
from tokens import CONST, POLY, Tokens

if TYPE_CHECKING:
    from collections.abc import Callable

    from growth import Rules

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

__all__ = ["Archived", "ExpressionSearch", "SearchPlan"]

_MOST_REMEMBERED = 400_000
"""Largest number of expressions whose rewards are remembered; then most are forgotten."""


@dataclass(frozen=True)
class SearchPlan:
    """Length of the search, and its settings.

    Parameters
    ----------
    samples
        Expressions that are drawn in all.
    batch
        Drawn at a time.
    batch_per_second
        The most of them for each second of the search's share of the budget, so that it has several
        batches.
    epsilon
        The part of them that is learned from.
    constant_iterations
        Number of steps of Levenberg and Marquardt for each expression.
    linear_scaling
        Whether an expression f is scored as the best ``a + b * f``.
    degree, tolerance
        Of ``poly``; terms that are smaller than so much of its size are left out.
    stop_error
        Mean square error over the target's variance with which the search is over.
    """

    samples: int
    batch: int = 1000
    batch_per_second: float = math.inf
    epsilon: float = 0.05
    constant_iterations: int = 10
    linear_scaling: bool = False
    degree: int = 3
    tolerance: float = 1e-8
    stop_error: float = 1e-24

    def __post_init__(self) -> None:
        for name in ("samples", "batch"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be 1 or more")
        if not 0 < self.epsilon <= 1:
            raise ValueError(f"epsilon is {self.epsilon}; it must be in (0, 1]")

    def within(self, limit: float) -> SearchPlan:
        """Return the plan with a batch of which several fit into a limit, and one is learned from.

        Parameters
        ----------
        limit
            The search's share of the budget, in its seconds; infinite for none.
        """
        affordable = max(math.ceil(1 / self.epsilon), self.batch_per_second * limit)
        return replace(self, batch=int(min(self.batch, affordable)))


class Archived(NamedTuple):
    """An expression that was the best of its size.

    Attributes
    ----------
    codes, constants
        The expression and the values of its constants.
    slope, intercept
        Slope and intercept of the linear scaling.
    polynomial
        Coefficients of ``poly``, where there is one.
    error
        Mean square over the target's variance.
    """

    codes: tuple[int, ...]
    constants: tuple[float, ...]
    slope: float
    intercept: float
    polynomial: Array | None
    error: float


class ExpressionSearch:
    """Deep symbolic regression of one target.

    Parameters
    ----------
    X, y
        (n, d) and (n,), best of moderate size.
    tokens, rules, learning, plan
        See these classes.
    melding
        For genetic programming between policy and learning; None for none.
    seed
        Seed of all that is drawn.
    device
        Where the policy is.
    is_late
        Returns whether the search is to end.

    Attributes
    ----------
    evaluations
        Different expressions that were evaluated.
    stopped_early
        Whether `is_late` ended the search.
    """

    def __init__(
        self,
        X: Array,
        y: Array,
        *,
        tokens: Tokens,
        rules: Rules,
        learning: Learning,
        plan: SearchPlan,
        melding: Melding | None = None,
        seed: int = 0,
        device: str = "cpu",
        is_late: Callable[[], bool] = lambda: False,
    ) -> None:
        self.X, self.y, self.tokens, self.plan = X, y, tokens, plan
        self._rules, self._melding, self._is_late = rules, melding, is_late
        self._random = np.random.default_rng([seed, 1])
        self.policy = Policy(tokens, rules, learning, seed=seed, device=device)
        self.fitter = ConstantFitter(X, y, tokens, plan.linear_scaling)
        self.monomials = Monomials(X, plan.degree) if tokens.polynomial else None
        self.variance = float(np.var(y)) or float(np.mean(y**2)) or 1.0
        self._rewards: dict[bytes, float] = {}
        self.best: dict[int, list[Archived]] = {}
        self.drawn = self.evaluations = 0
        self.stopped_early = False

    def late(self) -> bool:
        """Whether the time is over."""
        return self._is_late()

    def run(self) -> None:
        """Search until the samples are drawn, the fit is exact, or the time is over."""
        while self.drawn < self.plan.samples and not self.solved:
            if self.late():
                self.stopped_early = True
                return
            self.step()

    @property
    def solved(self) -> bool:
        """Whether an expression is exact."""
        return self.least_error <= self.plan.stop_error

    @property
    def least_error(self) -> float:
        """The least of all errors so far."""
        return min((each.error for own in self.best.values() for each in own), default=np.inf)

    def step(self) -> None:
        """Draw a batch, evaluate it, and learn from the best."""
        codes = np.unique(self.policy.sample(self.plan.batch), axis=0)
        self.drawn += self.plan.batch
        rewards = self.rewards(codes)
        if self.solved:
            return
        baseline = float(np.quantile(rewards, 1 - self.plan.epsilon))
        top = rewards >= baseline
        chosen, earned = codes[top], rewards[top]
        if self._melding is not None and self._melding.generations:
            people, values = meld(
                [[int(code) for code in one if code >= 0] for one in codes],
                rewards,
                self._melding,
                tokens=self.tokens,
                rules=self._rules,
                random=self._random,
                evaluate=self.rewards,
                late=lambda: self.late() or self.solved,
            )
            padded = pad(people)
            width = max(padded.shape[1], chosen.shape[1])
            chosen = np.concatenate([_widen(chosen, width), _widen(padded, width)])
            earned = np.concatenate([earned, values])
        self.policy.learn(chosen, earned, baseline)

    def rewards(self, codes: Integers) -> Array:
        """Return ``1 / (1 + NRMSE)`` of expressions (B, L); remember those of before."""
        short = codes.astype(np.int8)
        keys = [row[row >= 0].tobytes() for row in short]
        fresh = {key: row for row, key in enumerate(keys) if key not in self._rewards}
        if len(self._rewards) + len(fresh) > _MOST_REMEMBERED:
            self._rewards = {key: self._rewards[key] for key in keys if key in self._rewards}
        if fresh:
            rows = np.fromiter(fresh.values(), dtype=np.int64)
            self._rewards.update(zip(fresh, self._measure(codes[rows]).tolist(), strict=True))
        return np.array([self._rewards[key] for key in keys])

    def _measure(self, codes: Integers) -> Array:
        """Fit and evaluate expressions that are new; return rewards (B,)."""
        constants = np.ones((len(codes), int((codes == self.tokens.code(CONST)).sum(1).max())))
        iterations = self.plan.constant_iterations
        if self.monomials is None:
            fits = self.fitter.fit(codes, constants, iterations=iterations, late=self.late)
            polynomials: dict[int, Array] = {}
        else:
            fits, polynomials = self._fit_with_polynomials(codes, constants, self.monomials)
        errors = fits.error / self.variance
        self.evaluations += len(codes)
        self._archive(codes, fits, polynomials, errors)
        return np.asarray(1.0 / (1.0 + np.sqrt(errors)))

    def _fit_with_polynomials(
        self, codes: Integers, constants: Array, monomials: Monomials
    ) -> tuple[Fits, dict[int, Array]]:
        """Fit polynomials and constants in turn, each with the other as it is."""
        iterations = self.plan.constant_iterations
        has = (codes == self.tokens.code(POLY)).any(axis=1)
        rows = np.flatnonzero(~has)
        fits = Fits(
            constants, np.ones(len(codes)), np.zeros(len(codes)), np.full(len(codes), np.inf)
        )
        polynomials: dict[int, Array] = {}
        if len(rows):
            plain = self.fitter.fit(
                codes[rows], constants[rows], iterations=iterations, late=self.late
            )
            _put(fits, rows, plain)
        rows = np.flatnonzero(has)
        for _ in range(2):
            if not len(rows):
                break
            coefficients = self.polynomial_of(codes[rows], fits.constants[rows], monomials)
            fine = np.isfinite(coefficients).all(axis=1)
            rows, coefficients = rows[fine], coefficients[fine]
            if not len(rows):
                break
            fitted = self.fitter.fit(
                codes[rows],
                fits.constants[rows],
                iterations=iterations,
                polynomials=coefficients @ monomials.values.T,
                late=self.late,
            )
            better = fitted.error < fits.error[rows]
            _put(fits, rows[better], Fits(*(piece[better] for piece in fitted)))
            polynomials |= zip(rows[better].tolist(), coefficients[better], strict=True)
            inner = (codes[rows] == self.tokens.code(CONST)).any(axis=1)
            rows = rows[better & inner]
        return fits, polynomials

    def polynomial_of(self, codes: Integers, constants: Array, monomials: Monomials) -> Array:
        """Fit ``poly`` in expressions that all have one; return coefficients (B, terms)."""
        wanted = self.wanted_of(codes, constants)
        fine = np.isfinite(wanted).all(axis=1)
        found = np.full((len(codes), len(monomials.powers)), np.nan)
        if fine.any():
            found[fine] = monomials.fit(wanted[fine], self.plan.tolerance)
        return found

    def wanted_of(self, codes: Integers, constants: Array) -> Array:
        """Return what ``poly`` must be (B, n) for expressions to be the target; all have one."""
        tape = Tape(codes, self.tokens)
        values = tape.forward(self.X, constants, np.zeros((len(codes), len(self.y))))
        rows, wanted = undo(tape, values, self.y, self.tokens)
        return wanted[np.argsort(rows, kind="stable")]

    def _archive(
        self, codes: Integers, fits: Fits, polynomials: dict[int, Array], errors: Array
    ) -> None:
        """Keep the best few of each size."""
        sizes = (codes >= 0).sum(axis=1)
        for size in np.unique(sizes).tolist():
            rows = np.flatnonzero((sizes == size) & np.isfinite(errors))
            rows = rows[np.argsort(errors[rows], kind="stable")][:_KEPT]
            own = self.best.setdefault(size, [])
            limit = own[-1].error if len(own) == _KEPT else np.inf
            for row in rows.tolist():
                if errors[row] >= limit:
                    break
                one = tuple(codes[row, :size].tolist())
                if any(one == each.codes for each in own):
                    continue
                own.append(
                    Archived(
                        one,
                        tuple(fits.constants[row].tolist()),
                        float(fits.slope[row]),
                        float(fits.intercept[row]),
                        polynomials.get(row),
                        float(errors[row]),
                    )
                )
            own.sort(key=lambda each: each.error)
            del own[_KEPT:]


_KEPT = 3
"""Expressions of each size that are kept."""


def _put(whole: Fits, rows: Integers, piece: Fits) -> None:
    for target, source in zip(whole, piece, strict=True):
        target[rows] = source


def _widen(codes: Integers, width: int) -> Integers:
    return np.pad(codes, ((0, 0), (0, width - codes.shape[1])), constant_values=-1)
