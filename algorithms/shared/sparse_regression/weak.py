"""The weak form of a library: each term is averaged over windows in space and time.

Messenger and Bortz, J. Comput. Phys. 443, 110525 (2021); Reinbold, Gurevich and Grigoriev, Phys.
Rev. E 101, 010203 (2020).  An equation ``u_t = sum of w times term`` is multiplied by a smooth
test function that vanishes at the border of a window, and integrated.  Derivatives are moved on
to the test function by parts, so that the data are differentiated less, or not at all:

- a derivative of a state alone, and u_t, wholly;
- a function of a state times the first derivative of that state, wholly, since it is the
  derivative of an antiderivative;
- a product with a higher derivative, by half;
- a product of different states with a first derivative, not.

A window has its middle at a node and its border at nodes, at least two nodes away along each
axis.  So all windows have the same weights, and an axis of five nodes is long enough.
"""

from __future__ import annotations

from functools import cache
from math import comb
from typing import TYPE_CHECKING

import numpy as np
from grids import AXES, axes_of, differentiate, target_states
from numpy.polynomial import Legendre, Polynomial
from states import StateTerm, feature_matrix

from mdbench.worker import Unsupported

if TYPE_CHECKING:
    from library import FieldTerms
    from numpy.typing import NDArray

    from mdbench.worker import Problem

    Array = NDArray[np.float64]

__all__ = ["WeakForm", "window_weights"]

_FEWEST_NODES = 5
_SMOOTHNESS = 6
"""The test function is (1 - s^2) to this power; its first five derivatives vanish at the border."""
_EPS = float(np.finfo(np.float64).eps)
_STENCIL = 4.0
"""The weights of a derivative of order m sum to about this to the power of m, at most."""
_WINDOW_PART = 0.05
"""Half the width of a window, of the length of the axis."""


class WeakForm:
    """Windows in a field, and averages over them.

    Parameters
    ----------
    problem
        The field.
    n_windows
        Number of windows; they are drawn without replacement as long as there are enough.
    rng
        Draws them.

    Raises
    ------
    Unsupported
        If an axis is too short for a window, or only some rows of the field may be used.
    """

    def __init__(self, problem: Problem, n_windows: int, rng: np.random.Generator) -> None:
        if "rows" in problem.arrays:
            raise Unsupported(
                "the weak form integrates over whole windows, so that it cannot use a part "
                "of the rows; run it without --max-rows"
            )
        self._problem = problem
        shape = problem.u.shape[:-1]
        names = [*AXES[: len(shape) - 1], "t"]
        for name, n in zip(names, shape, strict=True):
            if n < _FEWEST_NODES:
                raise Unsupported(
                    f"the weak form needs {_FEWEST_NODES} nodes along each axis for a window "
                    f"inside, and {name} has {n}"
                )
        self._axes = axes_of(problem)
        self._steps = [*(axis.step for axis in self._axes), float(np.diff(problem.t).mean())]
        self._halves = [_half_width(n) for n in shape]
        inner = [n - 2 * half for n, half in zip(shape, self._halves, strict=True)]
        total = int(np.prod(inner))
        drawn = rng.choice(total, n_windows, replace=n_windows > total)
        self._n_windows = n_windows
        self._corners = np.unravel_index(drawn, inner)

    def regression(self, terms: FieldTerms) -> tuple[Array, Array]:
        """Return averages of all terms (windows, p), and of u_t for each target (windows, k)."""
        problem = self._problem
        n_axes = problem.u.ndim - 2
        states = [np.ascontiguousarray(problem.u[..., i]) for i in range(problem.u.shape[-1])]
        functions = feature_matrix(terms.functions, problem.u.reshape(-1, len(states)))
        functions = functions.T.reshape(-1, *problem.u.shape[:-1])
        features = np.empty((self._n_windows, len(terms)))
        for k, (i, j) in enumerate(terms.pairs):
            f, derivative = functions[i], terms.derivatives[j]
            if derivative is None:
                features[:, k] = self.average(f)
                continue
            g, axis, order = states[derivative.state], derivative.axis, derivative.order
            primitive = _antiderivative(terms.functions[i], derivative.state, g)
            if i == 0:
                features[:, k] = (-1) ** order * self.average(g, axis, order)
            elif order == 1 and primitive is not None:
                features[:, k] = -self.average(primitive, axis, 1)
            else:
                features[:, k] = self._by_half(f, g, axis, order)
        asked = [states[state] for state in target_states(problem)]
        targets = np.stack([-self.average(state, n_axes, 1) for state in asked], axis=1)
        return features, targets

    def average(self, values: Array, axis: int = 0, order: int = 0) -> Array:
        """Average values, weighed by a derivative of the test function along one axis.

        Averages that all are no more than rounding are zero.
        """
        return _without_rounding(*self._average(values, axis, order))

    def _average(
        self, values: Array, axis: int, order: int, noise: float = 0.0
    ) -> tuple[Array, float]:
        """Return the averages, and the rounding error of each; `noise` is the values'."""
        weights = [
            window_weights(half, order if k == axis else 0)
            / (half * step) ** (order if k == axis else 0)
            for k, (half, step) in enumerate(zip(self._halves, self._steps, strict=True))
        ]
        rounding = noise + _EPS * sum(map(len, weights)) * float(np.abs(values).max())
        rounding *= float(np.prod([np.abs(each).sum() for each in weights]))
        # The weights are a product over the axes: all windows of the field are averaged along
        # the short ones, and those that were drawn along the longest one.
        last = int(np.argmax(self._halves))
        for k in range(len(weights)):
            if k != last:
                values = _slide(values, k, weights[k])
        index = list(self._corners)
        across = np.arange(2 * self._halves[last] + 1)[:, None]
        index[last] = index[last] + across
        return np.asarray(weights[last] @ values[tuple(index)]), rounding

    def _by_half(self, f: Array, g: Array, axis: int, order: int) -> Array:
        """Average f times the derivative of g, half of whose order is moved on to the others."""
        moved = order // 2
        step, along = self._steps[axis], self._axes[axis]
        rest = differentiate(g, axis, along, order - moved)
        largest = float(np.abs(f).max() * np.abs(g).max())
        total, rounding = np.zeros(self._n_windows), 0.0
        for k in range(moved + 1):
            part = differentiate(f, axis, along, k) if k else f
            noise = _EPS * largest * (_STENCIL / step) ** (order - moved + k)
            each, off = self._average(part * rest, axis, moved - k, noise)
            total += comb(moved, k) * each
            rounding += comb(moved, k) * off
        return _without_rounding((-1) ** moved * total, rounding)


def _without_rounding(averages: Array, rounding: float) -> Array:
    """Return zeros where there is nothing but rounding, which scaling would blow up to a term."""
    return averages if np.abs(averages).max(initial=0.0) > rounding else np.zeros_like(averages)


def _slide(values: Array, axis: int, weights: Array) -> Array:
    """Sum values, weighed, over every stretch of an axis that is as long as the weights."""
    moved = np.moveaxis(values, axis, 0)
    n = len(moved) - len(weights) + 1
    total = weights[0] * moved[:n]
    part = np.empty_like(total)
    for k in range(1, len(weights)):
        np.multiply(moved[k : k + n], weights[k], out=part)
        total += part
    return np.moveaxis(total, 0, axis)


@cache
def window_weights(half: int, order: int) -> Array:
    """Return weights for averages over a window of unit half width.

    ``sum of weights * g(nodes)`` is the integral of g times the derivative of the given order of
    the test function, over the integral of the test function.  It is that of the trapezoid rule,
    with the smallest correction that makes it exact for polynomials.

    Parameters
    ----------
    half
        Nodes from the middle to the border, at least 2.
    order
        The derivative of the test function, at most 4.

    Returns
    -------
    (2 half + 1,)
        For equidistant nodes from -1 to 1.
    """
    s = np.linspace(-1, 1, 2 * half + 1)
    test = Polynomial([1, 0, -1]) ** _SMOOTHNESS
    differentiated = test.deriv(order) if order else test
    weights = differentiated(s) / half
    exact = [Legendre.basis(k) for k in range(min(2 * half, order + 4) + 1)]
    powers = np.stack([basis(s) for basis in exact])
    wanted = [_integral(differentiated * basis.convert(kind=Polynomial)) for basis in exact]
    weights = weights + np.linalg.lstsq(powers, wanted - powers @ weights)[0]
    return np.asarray(weights / _integral(test))


def _integral(polynomial: Polynomial) -> float:
    primitive = polynomial.integ()
    return float(primitive(1) - primitive(-1))


def _half_width(n: int) -> int:
    """Return the nodes from the middle of a window to its border, for an axis of n nodes."""
    return min(max(round(_WINDOW_PART * (n - 1)), 2), (n - 1) // 2)


def _antiderivative(term: StateTerm, state: int, u: Array) -> Array | None:
    """Integrate a function of one state over that state; None where it is one of others."""
    if set(term.factors) != {state}:
        return None
    if term.function:
        return -np.cos(u) if term.function == "sin" else np.sin(u)
    power = len(term.factors) + 1
    return np.asarray(u**power / power)
