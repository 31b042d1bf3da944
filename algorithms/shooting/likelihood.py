"""Maximum likelihood of equations: coefficients, constants inside, and starts of segments."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from dictionary import Summand
    from dynamics import Segments, Solution
    from library import Term
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["Fit", "Model", "Noise", "Shooting", "structure_price"]

_FLOORS = (1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0, math.inf)
"""Constant noise over proportional noise of the largest value of a state: forms that are tried."""
_LEAST = 1e-9
"""Least noise, as a share of a state's size."""
_LARGE = 1e12
_LEAST_CONSTANT = 1e-8
"""The least size of a constant inside, for steps of it."""
_DIFFERENCE = 1e-5
_FARTHEST = 0.7
"""The largest step of the logarithm of a constant inside."""
_DAMPING, _DAMPED = 1e-3, 8
_GAINED, _SHARE = 0.02, 1e-5
"""A fit has converged where a step lowers the sum of squares by less."""
_HOPELESS = 4
"""Steps before a fit may be given up."""


@dataclass(frozen=True)
class Noise:
    """The noise's deviation: ``size * sqrt(u**2 + (floor * largest)**2)``, or a constant.

    Attributes
    ----------
    size
        For each state, (d,).
    floor
        Infinite for noise of the same deviation everywhere, which `size` is a share of `largest`.
    largest
        The largest absolute value of each state, (d,).
    """

    size: Array
    floor: float
    largest: Array

    @classmethod
    def of(cls, curves: Array, left: Array, least: float = 0.0) -> Noise:
        """Estimate it from curves (n, d) and what samples differ from them by, (n, d)."""
        largest = np.abs(curves).max(axis=0) + 1e-300
        best: tuple[float, Noise] | None = None
        n, d = curves.shape
        for floor in _FLOORS:
            if floor < least:
                continue
            form = cls(np.ones(d), floor, largest)
            weights = form.deviation(curves)
            square = np.mean((left / weights) ** 2, axis=0) + _LEAST**2
            logs = 2 * float(np.log(weights).sum())
            each = logs + n * float(np.log(square).sum()) + (d - 1) * math.log(n * d)
            mean = float(square.mean())
            same = logs + n * d * math.log(mean)
            size = np.sqrt(square) if each < same else np.full(d, math.sqrt(mean))
            value = min(each, same)
            if best is None or value < best[0] - 1e-9:
                best = value, cls(size, floor, largest)
        assert best is not None  # noqa: S101 - infinity is in the list
        return best[1]

    def deviation(self, curves: Array) -> Array:
        """Return the deviation at values (..., d)."""
        if math.isinf(self.floor):
            return np.broadcast_to(self.size * self.largest, curves.shape)
        return np.asarray(self.size * np.hypot(curves, self.floor * self.largest))


@dataclass(frozen=True)
class Model:
    """Equations: which terms are in which, with their coefficients.

    Attributes
    ----------
    support
        Pairs of an equation and a term.
    coefficients
        (k,).
    inner
        Constants inside, by slot.
    starts
        States at the beginning of segments, (d, s).
    """

    support: tuple[tuple[int, Term], ...]
    coefficients: Array = field(repr=False)
    inner: Mapping[int, Array] = field(repr=False)
    starts: Array = field(repr=False)

    @property
    def key(self) -> frozenset[tuple[int, str]]:
        """What two models of the same structure have in common."""
        return frozenset((i, term.name) for i, term in self.support)

    def rates(self, u: Array) -> Array:
        """Evaluate the right-hand sides on states (..., d)."""
        found = np.zeros(u.shape)
        for (i, _), c, one in zip(self.support, self.coefficients, self.summands(), strict=True):
            found[..., i] += c * one.values(u)
        return found

    def summands(self) -> list[Summand]:
        """Return the terms with their constants."""
        made: dict[str, Summand] = {}
        for _, term in self.support:
            if term.name not in made:
                made[term.name] = term.summand(self.inner.get(term.slot))
        return [made[term.name] for _, term in self.support]


_NAMES = {
    "sin": np.sin, "cos": np.cos, "exp": np.exp, "log": np.log, "sqrt": np.sqrt, "abs": np.abs,
    "tan": np.tan, "cot": lambda x: 1.0 / np.tan(x),
}  # fmt: skip


def _compiled(model: Model, dim: int) -> Callable[[Array], Array]:
    """Return right-hand sides on states (d, b), compiled from the terms' own texts."""
    sums: list[list[str]] = [[] for _ in range(dim)]
    for number, ((i, _), one) in enumerate(zip(model.support, model.summands(), strict=True)):
        sums[i].append(f"c[{number}]" if one.text == "1" else f"c[{number}]*{one.text}")
    body = "".join(f"    out[{i}] = {' + '.join(one) or '0.0'}\n" for i, one in enumerate(sums))
    states = ", ".join(f"u{i}" for i in range(dim))
    source = f"def rates(u):\n    ({states},) = u\n    out = empty_like(u)\n{body}    return out\n"
    made: dict[str, Any] = {**_NAMES, "c": model.coefficients.tolist(), "empty_like": np.empty_like}
    exec(source, made)  # noqa: S102 - text of this module's making
    found: Callable[[Array], Array] = made["rates"]
    return found


@dataclass(frozen=True)
class Fit:
    """A model at the maximum of its likelihood.

    Attributes
    ----------
    square
        Sum of squares in units of the noise, jumps between segments too.
    errors
        Standard errors of the coefficients, (k,), of a noise of the size supposed.
    score
        `square` and the price of all parameters: lower is better.
    """

    model: Model
    square: float
    errors: Array = field(repr=False)
    score: float


class Shooting:
    """The likelihood of models of one set of samples.

    Parameters
    ----------
    segments
        The samples.
    sigma
        The noise's deviation at each sample, (n, d).
    jump
        Deviation of jumps between segments, as a share of the noise's.
    """

    def __init__(self, segments: Segments, sigma: Array, jump: float) -> None:
        self.segments, self.sigma, self.jump = segments, sigma, jump
        self._sigma = sigma[segments.rows]
        middle = np.exp(np.mean(np.log(sigma), axis=0))
        self._gap = jump * middle
        self._own = segments.own
        self._linked = np.flatnonzero(segments.linked)
        self.count = int(self._own.sum()) * sigma.shape[1]
        self.price = math.log(self.count)

    def rates(self, model: Model) -> Callable[[Array], Array]:
        """Return the right-hand sides."""
        return _compiled(model, len(self.segments.scale))

    def at_samples(self, model: Model) -> Array:
        """Return a model's states at the samples of each segment, (s, l + 1, d)."""
        with np.errstate(all="ignore"):
            states = self.segments.solve(self.rates(model), model.starts)
        return np.moveaxis(states[..., :: self.segments.substeps], 0, -1)

    def solved(self, model: Model) -> Array:
        """Return a model's states at the samples in deviations of the noise, (k, d)."""
        return (self.at_samples(model) / self._sigma)[self._own]

    def misses(self, states: Array) -> Array:
        """Return what a solution (d, s, m + 1) misses samples and links by, in deviations, (r,)."""
        q = self.segments.substeps
        at = np.moveaxis(states[..., ::q], 0, -1)
        left = ((at - self.segments.y) / self._sigma)[self._own]
        gaps = (at[self._linked, -1] - at[self._linked + 1, 0]) / self._gap
        return np.concatenate([left.ravel(), gaps.ravel()])

    def _rows(self, derivative: Array) -> Array:
        """Turn derivatives of states at samples (s, l + 1, d, p) to those of misses, (r, p)."""
        p = derivative.shape[-1]
        left = (derivative / self._sigma[..., None])[self._own]
        gaps = derivative[self._linked, -1] / self._gap[:, None]
        return np.concatenate([left.reshape(-1, p), gaps.reshape(-1, p)])

    def start_columns(self, solution: Solution) -> Array:
        """Return the derivatives of misses by all starts, (r, s d), equations within segments."""
        s, d = len(self.segments.y), len(self.segments.scale)
        by_start = solution.starts()
        left = by_start / self._sigma[..., None]
        wide = np.zeros((*left.shape[:3], s, d))
        each = np.arange(s)
        wide[each, :, :, each] = left
        rows = wide[self._own].reshape(-1, s * d)
        links = np.zeros((len(self._linked), d, s, d))
        number = np.arange(len(self._linked))
        links[number, :, self._linked] = by_start[self._linked, -1] / self._gap[:, None]
        links[number, :, self._linked + 1] = -np.eye(d) / self._gap[:, None]
        return np.concatenate([rows, links.reshape(-1, s * d)])

    def columns(self, solution: Solution, values: list[Array]) -> Array:
        """Return the derivatives of misses by coefficients of terms, (r, d, k)."""
        found = self._rows(solution.responses(values))
        return found.reshape(len(found), len(self.segments.scale), -1)

    def columns_of(self, solution: Solution, values: Sequence[Array], equation: int) -> Array:
        """Return the derivatives of misses by coefficients of terms in one equation, (r, k)."""
        return self._rows(solution.responses(values, equation))

    def jacobian(self, model: Model, solution: Solution) -> tuple[Array, list[tuple[int, int]]]:
        """Return the derivatives of misses by coefficients, constants inside and starts, (r, p).

        With it comes which constant inside each is by: its slot and number.  They are by a
        constant's logarithm.
        """
        names = list(dict.fromkeys(term.name for _, term in model.support))
        made = {t.name: s for (_, t), s in zip(model.support, model.summands(), strict=True)}
        values = [solution.values(made[name].make) for name in names]
        inner = [(slot, k) for slot, one in model.inner.items() for k in range(len(one))]
        moved: list[list[tuple[int, float, int]]] = []  # equation, weight, column
        for slot, k in inner:
            constants = np.array(model.inner[slot])
            size = max(abs(float(constants[k])), _LEAST_CONSTANT)
            constants[k] += _DIFFERENCE * size
            moved.append([])
            for (i, term), c in zip(model.support, model.coefficients, strict=True):
                if term.slot == slot:
                    change = solution.values(term.summand(constants).make)
                    moved[-1].append((i, float(c), len(values)))
                    values.append((change - values[names.index(term.name)]) / _DIFFERENCE)
        starts = self.start_columns(solution)
        if not values:
            return starts, inner
        every = self.columns(solution, values)
        parts = [every[:, i, names.index(term.name)] for i, term in model.support]
        for several in moved:
            zero = np.zeros(len(every))
            parts.append(sum((w * every[:, i, column] for i, w, column in several), zero))
        return np.column_stack([*parts, starts]), inner

    def fit(self, model: Model, rounds: int = 15, enough: float = math.inf) -> Fit | None:
        """Fit by Gauss and Newton's method, damped; None if there is no solution.

        It ends early where the score stays above `enough` with little hope.
        """
        price, damping = self._price(model), _DAMPING
        states = self.segments.solve(self.rates(model), model.starts)
        misses = self.misses(states)
        square = _square(misses)
        current = False
        for number in range(rounds):
            jacobian, inner = self.jacobian(
                model, self.segments.linearise(self.rates(model), states)
            )
            if not np.isfinite(jacobian).all():
                return None
            size = np.linalg.norm(jacobian, axis=0) + 1e-300
            scaled = jacobian / size
            normal, slope = scaled.T @ scaled, scaled.T @ misses
            before, current = square, True
            for _ in range(_DAMPED):
                try:
                    factor = cho_factor(normal + damping * np.eye(len(normal)), check_finite=False)
                except np.linalg.LinAlgError:
                    damping = max(damping * 10, 1e-8)
                    continue
                step = -cho_solve(factor, slope, check_finite=False) / size
                moved = _moved(model, step, inner)
                further = self.segments.solve(self.rates(moved), moved.starts)
                missed = self.misses(further)
                value = _square(missed)
                if value < square:
                    model, states, misses, square = moved, further, missed, value
                    damping, current = max(damping / 10, 1e-10), False
                    break
                damping *= 8
            gained = before - square
            if gained < _GAINED + _SHARE * square:
                break
            if number >= _HOPELESS and square - 3 * gained + price > enough:
                break
        if not current:
            jacobian, _ = self.jacobian(model, self.segments.linearise(self.rates(model), states))
            if not np.isfinite(jacobian).all():
                return None
        return Fit(model, square, _errors(jacobian)[: len(model.support)], square + price)

    def _price(self, model: Model) -> float:
        inner = sum(len(one) for one in model.inner.values())
        return self.price * (len(model.support) + inner) + structure_price(
            term for _, term in model.support
        )


def structure_price(terms: Iterable[Term]) -> float:
    """Return what terms cost beyond their parameters; what is in several equations costs once."""
    several = list(terms)
    once = {term.name: term.price for term in several}
    shared = {term.slot: term.shared for term in several}
    return sum(once.values()) + sum(shared.values())


def _square(misses: Array) -> float:
    value = float(misses @ misses)
    return value if value < _LARGE else _LARGE * 10


def _errors(jacobian: Array) -> Array:
    """Return the standard errors of all parameters."""
    size = np.linalg.norm(jacobian, axis=0) + 1e-300
    scaled = jacobian / size
    inverse = np.linalg.pinv(scaled.T @ scaled, rcond=1e-13, hermitian=True)
    return np.asarray(np.sqrt(np.maximum(np.diag(inverse), 0)) / size)


def _moved(model: Model, step: Array, inner: list[tuple[int, int]]) -> Model:
    k = len(model.support)
    constants = {slot: np.array(values) for slot, values in model.inner.items()}
    for number, (slot, which) in enumerate(inner):
        by = float(np.clip(step[k + number], -_FARTHEST, _FARTHEST))
        value = constants[slot][which]
        family = next(t.family for _, t in model.support if t.slot == slot)
        if family is not None and family.signed:
            constants[slot][which] = value * math.exp(by)
        else:
            constants[slot][which] = value + by * max(abs(value), _LEAST_CONSTANT)
    d, s = model.starts.shape
    starts = model.starts + step[k + len(inner) :].reshape(s, d).T
    return replace(
        model, coefficients=model.coefficients + step[:k], inner=constants, starts=starts
    )
