"""Better constants for a tree: one try a call, kept if it helps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from trees import alter_constant, constants, with_constants

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from evaluation import Fit, Samples
    from trees import Node

    Climb = Callable[[Samples, Node, Fit, Random], tuple[Node, Fit]]

__all__ = ["CLIMBS", "hill_climb", "least_squares", "leave"]

_STEP = 1e-6
"""Relative step of a forward difference."""
_MOST_CONSTANTS = 10


def leave(_data: Samples, tree: Node, fit: Fit, _random: Random) -> tuple[Node, Fit]:
    """Leave the constants as they are."""
    return tree, fit


def hill_climb(data: Samples, tree: Node, fit: Fit, random: Random) -> tuple[Node, Fit]:
    """Disturb one of the constants at random, and keep what is better.

    One, since only the nodes above it have to be evaluated again.  The size of the step is drawn
    as well, from a ten-thousandth of the constant up to the constant itself, so that both a far
    and a near optimum is approached.
    """
    factor = 1.0 + 10.0 ** random.uniform(-4.0, 0.0) * random.gauss(0.0, 1.0)
    number = int(random.random() * tree.constants)
    other = alter_constant(tree, number, lambda value: value * factor)
    other_fit = data.fit(other)
    return (other, other_fit) if other_fit.error < fit.error else (tree, fit)


def least_squares(data: Samples, tree: Node, fit: Fit, random: Random) -> tuple[Node, Fit]:
    """Take one step of Gauss and Newton, a shorter one if that is worse, or climb instead.

    The slope and the intercept of the linear scaling are unknowns of the same step.
    """
    values = list(constants(tree))
    if len(values) > _MOST_CONSTANTS or not np.isfinite(fit.error):
        return hill_climb(data, tree, fit, random)
    now = data.values(tree)
    if np.ndim(now) == 0:
        return tree, fit
    columns = [np.ones_like(now), now] if data.linear_scaling else []
    for number, value in enumerate(values):
        step = _STEP * (abs(value) or 1.0)
        change = data.values(alter_constant(tree, number, step.__add__)) - now
        columns.append(change * (fit.slope / step))
    matrix = np.stack(columns, axis=1)
    if not np.isfinite(matrix).all():
        return hill_climb(data, tree, fit, random)
    residual = data.y - (fit.intercept + fit.slope * now)
    sizes = np.sqrt(np.einsum("ij,ij->j", matrix, matrix))
    sizes[sizes == 0.0] = 1.0
    matrix /= sizes
    gram = matrix.T @ matrix
    gram.flat[:: len(gram) + 1] += 1e-10
    steps = np.linalg.solve(gram, matrix.T @ residual) / sizes
    steps = steps[len(columns) - len(values) :].tolist()
    for share in (1.0, 0.1):
        other = with_constants(
            tree, [value + share * step for value, step in zip(values, steps, strict=True)]
        )
        other_fit = data.fit(other)
        if other_fit.error < fit.error:
            return other, other_fit
    return hill_climb(data, tree, fit, random)


CLIMBS = {"hill-climb": hill_climb, "least-squares": least_squares, "none": leave}
