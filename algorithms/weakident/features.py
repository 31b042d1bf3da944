"""Features of fields, derivatives of products of states, and their averages over windows."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from grids import AXES, Derivative, axes_of, derivatives_of
from summands import Product
from windows import FEWEST, corner, half_width, smoothness, weights

from mdbench.worker import Unsupported

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mdbench.worker import Problem

    Array = NDArray[np.float64]
    _Parts = Counter[tuple[tuple[int, ...], tuple[tuple[int, int], ...]]]

__all__ = ["Feature", "FieldWindows"]

_ROWS = 1000
"""Windows, for each dimension of space at most: about as many as the paper's strides leave."""


@dataclass(frozen=True)
class Feature:
    """A derivative along one axis of a product of states.

    Attributes
    ----------
    states
        The states that are multiplied, rising; none for the constant.
    axis, order
        The axis, and how often is differentiated; 0 for the product itself.
    """

    states: tuple[int, ...]
    axis: int = 0
    order: int = 0

    def expanded(self) -> dict[Product, int]:
        """Return it as a sum of products of states and of their derivatives, by Leibniz' rule."""
        parts: _Parts = Counter({(self.states, ()): 1})
        for _ in range(self.order):
            parts = _differentiated(parts)
        found = {}
        for (states, orders), count in parts.items():
            derivatives = [
                Derivative(f"u{state}_{AXES[self.axis] * order}", state, self.axis, order)
                for state, order in orders
            ]
            found[Product(states, tuple(derivatives))] = count
        return found


def _differentiated(parts: _Parts) -> _Parts:
    """Differentiate a sum of products of states and of (state, order) of derivatives."""
    found: _Parts = Counter()
    for (states, orders), count in parts.items():
        for state in set(states):
            place = states.index(state)
            rest = states[:place] + states[place + 1 :]
            moved = tuple(sorted((*orders, (state, 1))))
            found[rest, moved] += count * states.count(state)
        for place, (state, order) in enumerate(orders):
            moved = tuple(sorted((*orders[:place], (state, order + 1), *orders[place + 1 :])))
            found[states, moved] += count
    return found


class FieldWindows:
    """Windows in a field, and averages over them.

    Parameters
    ----------
    problem
        The field's nodes and times.
    values
        Its states (n_x, ..., n_t, d).

    Raises
    ------
    Unsupported
        If only some rows may be used, or an axis is too short.
    """

    def __init__(self, problem: Problem, values: Array) -> None:
        if "rows" in problem.arrays:
            raise Unsupported(
                "the weak form integrates over whole windows, so that it cannot use a part "
                "of the rows; run it without --max-rows"
            )
        self._states = [np.ascontiguousarray(values[..., k]) for k in range(values.shape[-1])]
        shape = values.shape[:-1]
        names = [*AXES[: len(shape) - 1], "t"]
        for name, n in zip(names, shape, strict=True):
            if n < FEWEST:
                raise Unsupported(
                    f"a window takes {FEWEST} nodes along each axis, and {name} has {n}"
                )
        steps = [*(axis.step for axis in axes_of(problem)), float(np.diff(problem.t).mean())]
        halves = [
            half_width(n, [corner(state, axis) for state in self._states])
            for axis, n in enumerate(shape)
        ]
        inner = [n - 2 * half for n, half in zip(shape, halves, strict=True)]
        less = min(1.0, _ROWS * (len(shape) - 1) / math.prod(inner)) ** (1 / len(shape))
        highest = [max((d.order for d in derivatives_of(problem.variables)), default=0)]
        self._weights = []
        for n, half, count, step, order in zip(
            shape, halves, inner, steps, highest * len(halves[1:]) + [1], strict=True
        ):
            rows = max(min(count, FEWEST), round(count * less))
            middles = np.unique(np.round(np.linspace(half, n - 1 - half, rows)).astype(int))
            self._weights.append(_window_weights(n, half, middles, step, order))

    def rates(self, state: int) -> Array:
        """Return averages of a state's derivative in time, by parts, (rows,)."""
        return -self._average(self._states[state], len(self._weights) - 1, 1)

    def feature(self, one: Feature) -> Array:
        """Return averages of a feature, by parts, (rows,)."""
        values = self._product(one.states)
        return np.asarray((-1) ** one.order * self._average(values, one.axis, one.order))

    def scale(self, one: Feature) -> Array:
        """Return how much an error of the states changes a feature, to first order, (rows,).

        For a product of one state alone that is the feature itself, as in the paper.
        """
        if len(one.states) <= 1:
            return self.feature(one)
        total = np.zeros(self._states[0].shape)
        for state in set(one.states):
            place = one.states.index(state)
            rest = one.states[:place] + one.states[place + 1 :]
            total += one.states.count(state) * self._product(rest)
        return self._average(total, one.axis, one.order)

    def _product(self, states: tuple[int, ...]) -> Array:
        values = np.ones(self._states[0].shape)
        for state in states:
            values = values * self._states[state]
        return values

    def _average(self, values: Array, axis: int, order: int) -> Array:
        """Average values times a derivative of the test functions along one axis."""
        for k, each in enumerate(self._weights):
            # The first axis left is taken, and its windows become the last one.
            values = np.tensordot(values, each[order if k == axis else 0], axes=(0, 1))
        return np.asarray(values.reshape(-1))


def _window_weights(
    n: int, half: int, middles: NDArray[np.intp], step: float, highest: int
) -> list[Array]:
    """Return weights of averages and of derivatives moved on to the windows, each (rows, n)."""
    power = smoothness(half, highest)
    s = (np.arange(n)[None, :] - middles[:, None]) / half
    inside = weights(s, power, 0)
    total = inside.sum(axis=1, keepdims=True)
    return [weights(s, power, k) / (half * step) ** k / total for k in range(highest + 1)]
