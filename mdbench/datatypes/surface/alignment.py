"""The similarity transform that brings one cloud as near as can be to another."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations, product
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial import cKDTree

from mdbench.datatypes.surface.distances import distances

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from mdbench.datatypes.surface.distances import Distances

    Array = NDArray[np.float64]

__all__ = ["Similarity", "best_distances", "corresponding", "iterated"]

_POINTS = 400
"""Of either cloud in the rounds of an alignment without correspondence."""
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
        """Give the transform that does `first`, and then this."""
        return Similarity(
            self.scale * first.scale, self.rotation @ first.rotation, self(first.shift[None])[0]
        )


def corresponding(source: Array, target: Array) -> Similarity:
    """Give the similarity that moves points nearest to those they correspond to.

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
    """Give a similarity that moves a cloud near another, without knowing which points belong.

    Iterated closest points in both directions, so that no cloud shrinks to a point, from the
    identity and from the rotations that map the principal axes of the one onto those of the
    other; the best starts are refined.  Not always the best there is.

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
    tried = [_settled(start, (few, few_target), tree, _ROUNDS) for start in _starts(source, target)]
    tried.sort(key=lambda each: each[0])
    whole = cKDTree(target)
    refined = [
        _settled(each, (few, few_target), whole, _FINE_ROUNDS, (source, target))
        for _, each in tried[:_STARTS_KEPT]
    ]
    return min(refined, key=lambda each: each[0])[1]


def best_distances(
    source: Array, target: Array, *, partners: Array | None, plain: Distances
) -> Distances:
    """Give the distances after the best similarity transform of the source.

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
    """Give points at even places of a cloud, which was drawn at random."""
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


def _settled(
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
    found, before = start, np.inf
    for _ in range(rounds):
        there = found(source)
        _, index = tree.query(there)
        pairs = [(source, near_target[index])]
        if found.scale <= 0:
            return np.inf, start
        back = (target - found.shift) @ found.rotation / found.scale
        _, index = own.query(back)
        pairs.append((near_source[index], target))
        a, b = (np.concatenate(each) for each in zip(*pairs, strict=True))
        now = float(np.mean(np.sum((found(a) - b) ** 2, axis=1)))
        if not now < before * (1 - 1e-9):
            break
        before = now
        found = corresponding(a, b)
        if now <= _SETTLED**2:
            break
    return before, found
