"""Systems with other constants, starts and order of states, to tell finding from knowing.

A method may know a benchmark's systems by heart, and look them up by their first samples: no
sandbox keeps it from doing so.  On a moved system it has the same work to do, and nothing to look
up.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from mdbench.data.noise import generator_of
from mdbench.data.trajectory import split_chronologically
from mdbench.datatypes.ode.systems import OdeSystem, integrate
from mdbench.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_FACTOR = 0.4
"""The largest change of a constant or a start, as a natural logarithm: by a half, or a third."""
_LEAST = 0.05
"""The smallest such change: constants within 5 % count as equal."""
_MOVES = 0.2
"""Each state covers at least this share of its range in the system as it is, in the test, too."""
_LARGEST = 5.0
"""And is at most so many times as large."""
_TRIES = 200
_EVALUATIONS = 200_000
_WORD = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
_EXPONENT = re.compile(r"\*\*\s*\(?\s*-?\s*([A-Za-z_]\w*)")


def moved_system(system: OdeSystem, number: int) -> OdeSystem:
    """Return a system with other constants and starts, and its states in another order.

    Each constant and each start is multiplied by a factor between 0.67 and 1.49 that differs from 1
    by 5 % at least; signs, zeros and exponents stay.  It moves as much as the system as it is.

    Parameters
    ----------
    number
        Of the draw, from 1.

    Raises
    ------
    DataError
        If no such system was found.
    """
    like = _course(system)
    for attempt in range(_TRIES):
        generator = generator_of("moved system", system.name, number, attempt)
        # The further, the more seldom: some systems are bounded near their own constants alone.
        reach = _FACTOR if attempt < _TRIES // 2 else 2 * _LEAST
        drawn = _draw(system, generator, reach)
        try:
            course = _course(drawn)
        except DataError:
            continue
        if _is_alike(course, like):
            return _reordered(drawn, generator)
    raise DataError(f"{system.name}: of {_TRIES} other sets of constants none gives such a course")


def _draw(system: OdeSystem, generator: np.random.Generator, reach: float) -> OdeSystem:
    def change(value: float) -> float:
        size = generator.uniform(np.log1p(_LEAST), max(reach, np.log1p(_LEAST)))
        return float(f"{value * np.exp(size * generator.choice((-1, 1))):.4g}")

    exponents = {name for text in system.equations for name in _EXPONENT.findall(text)}
    constants = {
        name: value if name in exponents else change(value)
        for name, value in system.constants.items()
    }
    starts = tuple(tuple(map(change, start)) for start in system.initial_conditions)
    return replace(system, constants=constants, initial_conditions=starts, accurate=True)


def _course(system: OdeSystem) -> Array:
    """Return the largest size, the range and the range in the test of each state, (3, dim)."""
    _, u, _ = integrate(replace(system, accurate=True), evaluations=_EVALUATIONS)
    test = split_chronologically(len(u)).test
    return np.stack([np.max(np.abs(u), axis=0), np.ptp(u, axis=0), np.ptp(u[test], axis=0)])


def _is_alike(course: Array, like: Array) -> bool:
    largest, *ranges = course
    return bool(
        np.isfinite(course).all()
        and (largest <= _LARGEST * like[0]).all()
        and all(
            (range_ >= _MOVES * own).all() for range_, own in zip(ranges, like[1:], strict=True)
        )
    )


def _reordered(system: OdeSystem, generator: np.random.Generator) -> OdeSystem:
    """Return a system with its states in another order, where it has several."""
    order = list(range(system.dim))
    while system.dim > 1 and order == sorted(order):
        order = [int(place) for place in generator.permutation(system.dim)]
    names = {f"u{old}": f"u{new}" for new, old in enumerate(order)}
    meanings = list(system.variables.values())
    equations = [
        _WORD.sub(lambda word: names.get(word[0], word[0]), text) for text in system.equations
    ]
    return replace(
        system,
        variables={f"u{new}": meanings[old] for new, old in enumerate(order)},
        equations=tuple(equations[old] for old in order),
        initial_conditions=tuple(
            tuple(start[old] for old in order) for start in system.initial_conditions
        ),
    )
