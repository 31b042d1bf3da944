"""The geometry of an answer: how far its shape is from the true one.

It is worked out in a child process with limits on time and memory: an answer may be any equation.
The child imports this module, and its `answer`.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations, product
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.spatial import cKDTree

from eqverdict.limited_process import LimitedProcess
from mdbench.datatypes.surface.clouds import (
    Distances,
    Shape,
    diagonal,
    distances,
    function_of,
    level_points,
    placed,
    true_points,
    zeros_of,
)
from mdbench.datatypes.surface.level_sets import gradient, newton
from mdbench.errors import MdbenchError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from mdbench.datatypes.surface.clouds import TruePoints
    from mdbench.datatypes.surface.level_sets import LevelSet

    Array = NDArray[np.float64]

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
        ``touching``; for others ``chamfer_drawn_again``, the scaled distance at other points, where
        it may be that of a few.  Or ``error``, why nothing is known.
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


_child = LimitedProcess(__name__, SECONDS, MAX_BYTES, in_work=True)


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
    cloud, finite = _placed_and_finite(shape, equations, truth.inputs)
    measured: dict[str, Any] = {"coverage": float(finite.mean()), "points": int(finite.sum())}
    measured |= _compare_clouds(cloud[finite], truth.cloud, truth.cloud[finite])
    farthest, most = (measured["raw"][name] for name in ("hausdorff", "hausdorff_95"))
    if farthest > _OUTLYING * most and not shape.integers:
        measured["chamfer_drawn_again"] = _drawn_again(shape, equations, measured["diagonal"])
    return measured


def _placed_and_finite(
    shape: Shape, equations: Sequence[str], inputs: Array
) -> tuple[Array, NDArray[np.bool_]]:
    cloud = placed(shape, equations, inputs)
    small = np.isfinite(cloud) & (np.abs(cloud) < _LARGEST)
    return cloud, np.asarray(small.all(axis=-1))


_OUTLYING = 3.0
"""Where the farthest point is farther than most by this factor, a distance may be that of a few."""


def _drawn_again(shape: Shape, equations: Sequence[str], length: float) -> float:
    """Return the Chamfer distance at other inputs of the same surface, in diagonals."""
    truth = true_points(shape, "truth again")
    if truth.inputs is None:
        raise AssertionError("a shape that is mapped has inputs")
    cloud, finite = _placed_and_finite(shape, equations, truth.inputs)
    if not finite.any():
        return Distances.of_nothing(length).over(length).chamfer
    return distances(cloud[finite], truth.cloud).over(length).chamfer


_LARGEST = 1e150
"""Coordinates whose squares are numbers."""


def _implicit(shape: Shape, equation: str) -> dict[str, Any]:
    truth = true_points(shape)
    function = function_of(equation, shape.inputs)
    zeros = zeros_of(shape, equation)
    cloud = level_points(function, zeros, shape, "answer")
    found_by = {
        "coverage": float(np.isfinite(function(truth.cloud)).mean()),
        "points": len(cloud),
        "vanishes": zeros.vanishes,
        "poles": zeros.poles,
        "touching": len(zeros.touching),
        "same": _same(shape, equation, truth, zeros, cloud),
    }
    return found_by | _compare_clouds(cloud, truth.cloud, None)


def _compare_clouds(cloud: Array, truth: Array, partners: Array | None) -> dict[str, Any]:
    """Return the distances of an answer's cloud from the truth's in three forms.

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
    shape: Shape, equation: str, truth: TruePoints, zeros: LevelSet, cloud: Array
) -> bool | None:
    """Whether two equations have the same zeros, by how near each is to the other's.

    What is measured is Newton's first step: as good as the distance where it is small.
    """
    if not shape.truth:
        return None
    if zeros.vanishes or not (len(cloud) and len(truth.cloud)):
        return None if len(cloud) == len(truth.cloud) else False
    length = diagonal(truth.cloud)
    ways = ((equation, truth.cloud), (shape.truth[0], cloud))
    if truth.set is not None and not (
        _touches(shape, equation, truth.set.touching, length)
        and _touches(shape, shape.truth[0], zeros.touching, length)
    ):
        return False
    shares = [_steps(shape, text, points) / length for text, points in ways]
    if any(np.mean(each <= OTHER) < _MOST for each in shares):
        return False
    return True if all(np.mean(each <= SAME) >= _NEARLY_ALL for each in shares) else None


def _touches(shape: Shape, equation: str, touching: Array, length: float) -> bool:
    """Whether an equation is zero where another one is without a change of sign.

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


_POINTS = 400
"""Points of either cloud in the rounds of an alignment without correspondence."""
_ROUNDS = 25
_FINE_ROUNDS = 40
_STARTS_KEPT = 3
_SETTLED = 1e-13


@dataclass(frozen=True)
class Similarity:
    """``x -> scale * rotation @ x + shift``; the rotation is proper.

    Attributes
    ----------
    scale
        Positive.
    rotation
        (3, 3).
    shift
        (3,).
    """

    scale: float
    rotation: Array
    shift: Array

    def __call__(self, points: Array) -> Array:
        """Move points, (n, 3)."""
        return np.asarray(self.scale * points @ self.rotation.T + self.shift)

    def after(self, first: Similarity) -> Similarity:
        """Return the transform that does `first`, and then this."""
        return Similarity(
            self.scale * first.scale, self.rotation @ first.rotation, self(first.shift[None])[0]
        )


def corresponding(source: Array, target: Array) -> Similarity:
    """Return the similarity that moves points nearest to those they correspond to.

    Parameters
    ----------
    source, target
        (n, 3) both; the sum of squared distances is what is smallest.

    References
    ----------
    Umeyama, "Least-squares estimation of transformation parameters between two point patterns",
    IEEE TPAMI 13 (1991), eqs. 40 to 43.
    """
    mean_source, mean_target = source.mean(axis=0), target.mean(axis=0)
    centred, wanted = source - mean_source, target - mean_target
    spread = float(np.sum(centred**2)) / len(source)
    if spread == 0.0:
        return Similarity(1.0, np.eye(3), mean_target - mean_source)
    u, sizes, vt = np.linalg.svd(wanted.T @ centred / len(source))
    signs = np.array([1.0, 1.0, np.sign(np.linalg.det(u) * np.linalg.det(vt)) or 1.0])
    rotation = (u * signs) @ vt
    scale = float(sizes @ signs) / spread
    return Similarity(scale, rotation, mean_target - scale * rotation @ mean_source)


def iterated(source: Array, target: Array) -> Similarity:
    """Return a similarity that moves a cloud near another, without knowing which points belong.

    Iterated closest points in both directions, so that no cloud shrinks to a point.  Starts are the
    identity and from the rotations that map the principal axes of the one onto those of the other;
    the best starts are refined.  Not always the best there is.

    Parameters
    ----------
    source, target
        (n, 3) and (m, 3).

    References
    ----------
    Besl and McKay, "A method for registration of 3-D shapes", IEEE TPAMI 14 (1992).
    """
    few, few_target = _some(source), _some(target)
    tree = cKDTree(few_target)
    tried = [
        _align_clouds(start, (few, few_target), tree, _ROUNDS) for start in _starts(source, target)
    ]
    tried.sort(key=lambda each: each[0])
    whole = cKDTree(target)
    refined = [
        _align_clouds(each, (few, few_target), whole, _FINE_ROUNDS, (source, target))
        for _, each in tried[:_STARTS_KEPT]
    ]
    return min(refined, key=lambda each: each[0])[1]


def best_distances(
    source: Array, target: Array, *, partners: Array | None, plain: Distances
) -> Distances:
    """Return the distances after the best similarity transform of the source.

    Those without one where no transform that was found has a smaller Chamfer distance.

    Parameters
    ----------
    source, target
        Clouds, (n, 3) and (m, 3).
    partners
        The points that those of the source correspond to, (n, 3); None where none do.
    plain
        The distances without a transform.
    """
    found = iterated(source, target) if partners is None else corresponding(source, partners)
    moved = distances(found(source), target)
    return min(plain, moved, key=lambda each: each.chamfer)


def _some(cloud: Array) -> Array:
    """Return points at even places of a cloud, which was drawn at random."""
    return cloud[:: max(1, len(cloud) // _POINTS)]


def _starts(source: Array, target: Array) -> Iterator[Similarity]:
    yield Similarity(1.0, np.eye(3), np.zeros(3))
    (centre, axes, size), (centre_target, axes_target, size_target) = map(_frame, (source, target))
    scale = size_target / size if size > 0 else 1.0
    for order in permutations(range(3)):
        for signs in product((1.0, -1.0), repeat=3):
            turned = (axes_target[:, list(order)] * signs) @ axes.T
            if np.linalg.det(turned) > 0:
                yield Similarity(scale, turned, centre_target - scale * turned @ centre)


def _frame(cloud: Array) -> tuple[Array, Array, float]:
    centre = cloud.mean(axis=0)
    _, axes = np.linalg.eigh(np.cov((cloud - centre).T))
    return centre, axes, float(np.sqrt(np.mean(np.sum((cloud - centre) ** 2, axis=1))))


def _align_clouds(
    start: Similarity,
    few: tuple[Array, Array],
    tree: cKDTree,
    rounds: int,
    whole: tuple[Array, Array] | None = None,
) -> tuple[float, Similarity]:
    """Pair nearest points, move, and again; give the mean squared distance, and the transform.

    Parameters
    ----------
    few
        The points whose nearest ones are looked for.
    tree
        Of the target's points among which they are.
    whole
        The clouds among which they are; those of few points by default.
    """
    source, target = few
    near_source, near_target = whole or (source, target)
    # The tree of the source stays where it is: targets are moved back to be looked up in it.
    own = cKDTree(near_source)
    moved, before = start, np.inf
    for _ in range(rounds):
        there = moved(source)
        _, index = tree.query(there)
        pairs = [(source, near_target[index])]
        if moved.scale <= 0:
            return np.inf, start
        back = (target - moved.shift) @ moved.rotation / moved.scale
        _, index = own.query(back)
        pairs.append((near_source[index], target))
        a, b = (np.concatenate(each) for each in zip(*pairs, strict=True))
        now = float(np.mean(np.sum((moved(a) - b) ** 2, axis=1)))
        if not now < before * (1 - 1e-9):
            break
        before = now
        moved = corresponding(a, b)
        if now <= _SETTLED**2:
            break
    return before, moved
