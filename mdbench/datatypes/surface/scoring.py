"""The geometry of an answer: how far its shape is from the true one.

It is worked out in a child process with limits on time and memory: an answer may be any equation.
The child imports this module, and its `answer`.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from mdbench.children import Child
from mdbench.datatypes.surface.alignment import best_distances
from mdbench.datatypes.surface.clouds import (
    Shape,
    function_of,
    level_points,
    placed,
    true_points,
    zeros_of,
)
from mdbench.datatypes.surface.distances import Distances, diagonal, distances
from mdbench.datatypes.surface.level_sets import gradient, newton
from mdbench.errors import MdbenchError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from mdbench.datatypes.surface.clouds import TruePoints
    from mdbench.datatypes.surface.level_sets import LevelSet

    Array = NDArray[np.float64]

__all__ = ["MOST_TOKENS", "answer", "geometry", "start"]

SECONDS = 60
"""CPU time of the last resort; what is that slow has been refused by its size."""
MAX_BYTES = 2 << 30
"""Memory for the clouds of one answer."""
MOST_TOKENS = 500
"""Numbers, names and operators of an implicit answer, which is evaluated two million times."""
_TOKEN = re.compile(r"[\w.]+|\*\*|[-+*/^]")
SAME, OTHER = 1e-6, 1e-4
"""Zero sets are the same if nearly all points of either are nearer to the other, in diagonals;
and others if more than a few are farther than the second."""
_NEARLY_ALL, _MOST = 0.99, 0.95
_FEWEST = 10
"""Points without a change of sign that are looked at on their own."""


def geometry(shape: Shape, equations: Sequence[str]) -> dict[str, Any]:
    """Compare the shape that an answer gives with the true one.

    Parameters
    ----------
    equations
        Right-hand sides that can be read.

    Returns
    -------
    dict
        ``raw``, ``aligned`` and ``scaled`` with the three distances of each; ``diagonal``;
        ``coverage``, the share of the truth's points at which the answer is finite; and for
        implicit surfaces ``points`` of the answer (0: it has no zeros in the box), ``vanishes``,
        ``same`` (whether the zero sets are the same, None where that is not clear), ``poles`` and
        ``touching``.  Or ``error``, why nothing is known.
    """
    if shape.representation == "implicit":
        size = len(_TOKEN.findall(equations[0]))
        if size > MOST_TOKENS:
            return {
                "error": f"it has {size} numbers, names and signs; up to {MOST_TOKENS} are drawn"
            }
    question = {
        "shape": {
            "representation": shape.representation,
            "inputs": shape.inputs,
            "truth": shape.truth,
            "domain": shape.domain,
            "integers": shape.integers,
            "points": shape.points,
        },
        "equations": list(equations),
    }
    return _asked(json.dumps(question))


@lru_cache(maxsize=256)
def _asked(question: str) -> dict[str, Any]:
    return _child.ask(json.loads(question))


def start() -> None:
    """Start the process that compares, without waiting for it."""
    _child.start()


_child = Child(__name__, SECONDS, MAX_BYTES)


def answer(question: dict[str, Any]) -> dict[str, Any]:
    """Answer a question of `geometry`: the child's side."""
    words = question["shape"]
    shape = Shape(
        words["representation"],
        tuple(words["inputs"]),
        tuple(words["truth"]),
        tuple((low, high) for low, high in words["domain"]),
        words["integers"],
        tuple(tuple(point) for point in words["points"]),
    )
    try:
        with np.errstate(all="ignore"):
            if shape.representation == "implicit":
                return _implicit(shape, question["equations"][0])
            return _mapped(shape, question["equations"])
    except MdbenchError as error:
        return {"error": error.message}


def _mapped(shape: Shape, equations: Sequence[str]) -> dict[str, Any]:
    """Compare points at the same inputs."""
    truth = true_points(shape)
    if truth.inputs is None:
        raise AssertionError("a shape that is mapped has inputs")
    cloud = placed(shape, equations, truth.inputs)
    finite = np.isfinite(cloud).all(axis=-1) & (np.abs(cloud) < _LARGEST).all(axis=-1)
    found = {"coverage": float(finite.mean()), "points": int(finite.sum())}
    return found | _compared(cloud[finite], truth.cloud, truth.cloud[finite])


_LARGEST = 1e150
"""Coordinates whose squares are numbers."""


def _implicit(shape: Shape, equation: str) -> dict[str, Any]:
    truth = true_points(shape)
    function = function_of(equation, shape.inputs)
    found = zeros_of(shape, equation)
    cloud = level_points(function, found, shape, "answer")
    told = {
        "coverage": float(np.isfinite(function(truth.cloud)).mean()),
        "points": len(cloud),
        "vanishes": found.vanishes,
        "poles": found.poles,
        "touching": len(found.touching),
        "same": _same(shape, equation, truth, found, cloud),
    }
    return told | _compared(cloud, truth.cloud, None)


def _compared(cloud: Array, truth: Array, partners: Array | None) -> dict[str, Any]:
    """Give the distances of an answer's cloud from the truth's in three forms.

    Parameters
    ----------
    partners
        The truth's points that those of the answer belong to; None where none do.
    """
    length = diagonal(truth) if len(truth) else 1.0
    if not len(cloud) or not len(truth):
        raw = aligned = Distances.of_nothing(length)
    else:
        raw = distances(cloud, truth)
        aligned = best_distances(cloud, truth, partners=partners, plain=raw)
    scaled = raw.over(length)
    forms = {"raw": raw, "aligned": aligned, "scaled": scaled}
    return {"diagonal": length} | {name: vars(each) for name, each in forms.items()}


def _same(
    shape: Shape, equation: str, truth: TruePoints, found: LevelSet, cloud: Array
) -> bool | None:
    """Tell whether two equations have the same zeros, by how near each is to the other's.

    What is measured is Newton's first step: as good as the distance where it is small.
    """
    if not shape.truth:
        return None
    if found.vanishes or not (len(cloud) and len(truth.cloud)):
        return None if len(cloud) == len(truth.cloud) else False
    length = diagonal(truth.cloud)
    ways = ((equation, truth.cloud), (shape.truth[0], cloud))
    if truth.set is not None and not (
        _touches(shape, equation, truth.set.touching, length)
        and _touches(shape, shape.truth[0], found.touching, length)
    ):
        return False
    shares = [_steps(shape, text, points) / length for text, points in ways]
    if any(np.mean(each <= OTHER) < _MOST for each in shares):
        return False
    return True if all(np.mean(each <= SAME) >= _NEARLY_ALL for each in shares) else None


def _touches(shape: Shape, equation: str, touching: Array, length: float) -> bool:
    """Tell whether an equation is zero where another one is without a change of sign.

    Such zeros may be a line, which has no area, and no share of a cloud.
    """
    if len(touching) < _FEWEST:
        return True
    return bool(np.mean(_steps(shape, equation, touching) <= OTHER * length) >= _MOST)


def _steps(shape: Shape, equation: str, points: Array) -> Array:
    function = function_of(equation, shape.inputs)
    low, high = shape.corners
    value = function(points)
    slope = gradient(function, points, 1e-7 * float(np.max(high - low)))
    steps = np.where(value == 0, 0.0, np.linalg.norm(newton(value, slope), axis=-1))
    return np.where(np.isfinite(steps), steps, np.inf)
