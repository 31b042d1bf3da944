"""Dense clouds of points on a true surface, drawn by area, and those of an answer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from flint import fmpq, fmpq_mpoly_ctx
from scipy.spatial import cKDTree

from eqverdict import parse
from eqverdict.expand import expand
from eqverdict.fidelity.pairs import is_polynomial
from eqverdict.grammar import read
from eqverdict.tree import Call, Chain, Negation, Power, Variable, text_of, value
from mdbench.data.noise import generator_of
from mdbench.datatypes.surface.level_sets import CELLS as LEVEL_CELLS
from mdbench.datatypes.surface.level_sets import LevelSet, level_set, move_onto_zeros
from mdbench.datatypes.surface.problem import OUTPUTS
from mdbench.errors import EquationError

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from numpy.typing import NDArray

    from eqverdict.tree import Node
    from mdbench.datatypes.surface.level_sets import Function

    Array = NDArray[np.float64]
    Fraction: TypeAlias = "tuple[Any, dict[Hashable, int]]"

POINTS = 10_000
"""The number of points of a dense cloud."""
CELLS = 128
"""Cells along each axis of the grid of inputs on which explicit and parametric surfaces are cut."""
OFF = 1e-6
"""A point whose next step of Newton's is longer, in diagonals of the box, is on no zero."""
_REACH = 1.5
"""Points are moved onto a level set by so many cells at most."""


@dataclass(frozen=True)
class Shape:
    """All that the geometry of an answer depends on.

    Attributes
    ----------
    representation, inputs, truth, domain, integers
        As those of `TrueSurface`; `truth` is empty where only points are known.
    points
        Points on the surface where they are all that is known of it.
    """

    representation: str
    inputs: tuple[str, ...]
    truth: tuple[str, ...]
    domain: tuple[tuple[float, float], ...]
    integers: bool = False
    points: tuple[tuple[float, ...], ...] = ()

    @property
    def corners(self) -> tuple[Array, Array]:
        """The opposite corners of the domain."""
        low, high = np.array(self.domain, dtype=np.float64).T
        return low, high


@dataclass(frozen=True, eq=False)
class TruePoints:
    """A cloud on the truth.

    Attributes
    ----------
    cloud
        (n, 3).
    inputs
        Where on the surface these are, (n, 2): what an answer is evaluated at; None for implicit
        surfaces.
    set
        The level set; None for others.
    """

    cloud: Array
    inputs: Array | None = None
    set: LevelSet | None = None


@lru_cache(maxsize=8)
def true_points(shape: Shape, drawing: str = "truth") -> TruePoints:
    """Draw the truth's cloud; another `drawing` has other points, which are always the same."""
    if shape.points:
        return TruePoints(np.array(shape.points))
    if shape.representation == "implicit":
        found = _true_set(shape)
        cloud = level_points(function_of(shape.truth[0], shape.inputs), found, shape, drawing)
        return TruePoints(cloud, set=found)
    inputs = _whole(shape) if shape.integers else _by_area(shape, drawing)
    cloud = placed(shape, shape.truth, inputs)
    finite = np.isfinite(cloud).all(axis=-1)
    return TruePoints(cloud[finite], inputs[finite])


@lru_cache(maxsize=64)
def floor_of(shape: Shape) -> float:
    """Return what the truth scores as an answer: a Chamfer distance in diagonals of its box.

    An answer that is a map is placed at the truth's own inputs, and the truth is 0 from itself.
    The zeros of an implicit answer are drawn again, and two drawings of one surface are apart; of
    points alone it is the distance of their two halves.
    """
    if not shape.points and shape.representation != "implicit":
        return 0.0
    if shape.points:
        points = np.array(shape.points)
        return distances(points[::2], points[1::2]).over(diagonal(points)).chamfer
    truth, other = true_points(shape).cloud, true_points(shape, "answer").cloud
    if not len(truth):
        return 0.0
    return distances(other, truth).over(diagonal(truth)).chamfer


def function_of(text: str, inputs: Sequence[str]) -> Function:
    """Make a function of points, (n, 3) to (n,), that is zero where an equation is.

    It is the numerator of the equation, see `quotients`.
    """
    tree = _read(text, inputs)
    return lambda points: fraction(tree, _columns(points, inputs))[0]


def zeros_of(shape: Shape, text: str, cells: int = LEVEL_CELLS) -> LevelSet:
    """Find where an equation is zero in a shape's domain."""
    tree = _read(text, shape.inputs)
    low, high = shape.corners
    ends = _columns(np.stack([low, high]), shape.inputs)
    below = None
    if np.any(fraction(tree, ends)[1] != 1.0):

        def below(points: Array) -> Array:
            return fraction(tree, _columns(points, shape.inputs))[1]

    return level_set(function_of(text, shape.inputs), low, high, cells, below)


def _read(text: str, inputs: Sequence[str]) -> Node:
    """Read an equation as one with the same zeros, each of them a simple one as far as is seen.

    Zeros without a change of sign are found less surely, and weigh otherwise.
    """
    parse(text, inputs)
    tree = _with_simple_zeros(read(text, inputs))
    simple = _square_free(text_of(tree), tuple(inputs))
    return read(simple, inputs) if simple else tree


def _with_simple_zeros(node: Node) -> Node:
    """Leave out the powers and signs of factors: ``(z - x)**2*y`` is ``(z - x)*y``."""
    match node:
        case Negation():
            return _with_simple_zeros(node.operand)
        case Chain(rest=(("*" | "/", _), *_)):
            factors = tuple(
                (symbol, _with_simple_zeros(part) if symbol == "*" else part)
                for symbol, part in node.rest
            )
            return Chain(node.constant, _with_simple_zeros(node.first), factors)
        case Power(exponent=exponent) if _is_whole(exponent) and (exponent.constant or 0) > 1:
            return _with_simple_zeros(node.base)
        case Call(function="abs" | "Abs", arguments=(inside,)):
            return _with_simple_zeros(inside)
    return node


@lru_cache(maxsize=256)
def _square_free(text: str, inputs: tuple[str, ...]) -> str:
    """Write a polynomial that has multiple factors with each of them once; empty for others."""
    try:
        terms = expand(text, inputs)
    except EquationError:
        return ""
    if not is_polynomial(terms) or any(power < 0 for term in terms for _, power in term):
        return ""
    context = fmpq_mpoly_ctx.get(inputs, "lex")
    monomials = {}
    for term, c in terms.items():
        powers = {atom.text: int(power) for atom, power in term}
        powers_of = tuple(powers.get(name, 0) for name in inputs)
        monomials[powers_of] = fmpq(c.numerator, c.denominator)
    polynomial = context.from_dict(monomials)
    if not polynomial:
        return ""
    factors = polynomial.factor_squarefree()[1]
    if all(count == 1 for _, count in factors):
        return ""
    return "*".join(f"({factor})" for factor, _ in factors)


def _columns(points: Array, inputs: Sequence[str]) -> dict[str, Array]:
    return {name: np.ascontiguousarray(points[:, i]) for i, name in enumerate(inputs)}


def level_points(function: Function, level_set: LevelSet, shape: Shape, drawing: str) -> Array:
    """Draw points on a level set, and move them onto the zeros.

    What does not reach a zero, such as near a pole, is drawn once more; all others stay.
    """
    points = level_set.draw(POINTS, generator_of("surface", "cloud", drawing))
    if not len(points):
        return points
    points, off = _onto_zeros(function, points, shape)
    if off.any():
        generator = generator_of("surface", "cloud", drawing, "again")
        others, bad = _onto_zeros(function, level_set.draw(POINTS, generator), shape)
        others = others[~bad][: off.sum()]
        points[np.flatnonzero(off)[: len(others)]] = others
        off[np.flatnonzero(off)[: len(others)]] = False
    return points[~off]


def _onto_zeros(function: Function, points: Array, shape: Shape) -> tuple[Array, NDArray[np.bool_]]:
    """Move points onto zeros; return which of them are on none."""
    low, high = shape.corners
    reach = _REACH * float(np.max(high - low)) / LEVEL_CELLS
    moved, distance = move_onto_zeros(function, points, reach)
    return np.clip(moved, low, high), ~(distance <= OFF * float(np.linalg.norm(high - low)))


def placed(shape: Shape, equations: Sequence[str], inputs: Array) -> Array:
    """Return the points that equations make of inputs, (n, 3); not finite where they have none."""
    columns = {name: np.ascontiguousarray(inputs[:, i]) for i, name in enumerate(shape.inputs)}
    values = [parse(text, shape.inputs).evaluate(columns) for text in equations]
    if shape.representation == "explicit":
        values = [*columns.values(), *values]
    with np.errstate(all="ignore"):
        return np.stack(values, axis=-1)


@lru_cache(maxsize=4)
def _true_set(shape: Shape) -> LevelSet:
    if len(shape.truth) != len(OUTPUTS["implicit"]):
        raise AssertionError("an implicit surface has one equation")
    return zeros_of(shape, shape.truth[0])


def _whole(shape: Shape) -> Array:
    axes = [np.arange(np.ceil(low), np.floor(high) + 1) for low, high in shape.domain]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))


def _by_area(shape: Shape, drawing: str) -> Array:
    """Draw inputs so that the surface's points are uniform by area.

    Each square of a grid is cut into two triangles.  Those are drawn by the area of their images,
    and points uniformly within; squares with a corner that is not finite are left out.
    """
    axes = [np.linspace(low, high, CELLS + 1) for low, high in shape.domain]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    images = placed(shape, shape.truth, grid.reshape(-1, 2)).reshape(CELLS + 1, CELLS + 1, 3)
    corners = [slice(0, CELLS), slice(1, CELLS + 1)]
    inputs, areas = [], []
    for path in (((0, 0), (1, 0), (1, 1)), ((0, 0), (1, 1), (0, 1))):
        a, b, c = (images[corners[i], corners[j]] for i, j in path)
        with np.errstate(all="ignore"):
            areas.append(np.linalg.norm(np.cross(b - a, c - a), axis=-1).ravel() / 2)
        inputs.append(np.stack([grid[corners[i], corners[j]] for i, j in path], axis=-2))
    triangles = np.concatenate([each.reshape(-1, 3, 2) for each in inputs])
    weights = np.nan_to_num(np.concatenate(areas), nan=0.0, posinf=0.0)
    if not weights.sum() > 0:  # a surface that is a curve or a point
        weights = np.ones(len(weights))
    generator = generator_of("surface", "cloud", drawing)
    which = generator.choice(len(weights), POINTS, p=weights / weights.sum())
    first, second = np.sqrt(generator.random(POINTS)), generator.random(POINTS)
    shares = np.stack([1 - first, first * (1 - second), first * second], axis=-1)
    return np.asarray(np.einsum("nk,nkd->nd", shares, triangles[which]))


_MOST_POWER = 12
_MOST_FACTORS = 8
"""The most factors of a denominator; sums with more are not put over one bar."""


def fraction(node: Node, columns: Mapping[str, Array]) -> tuple[Array, Array]:
    """Work out the numerator and the denominator of an equation, both shaped like a column.

    Fractions, tangents and cotangents are taken apart as far as sums, products and whole powers
    lead to them; what is inside of other functions is left as it is.
    """
    maker = _Maker(columns)
    with np.errstate(all="ignore"):
        top, factors = maker.of(node)
        bottom = maker.product(factors)
        shape = np.shape(next(iter(columns.values())))
        return np.array(np.broadcast_to(top, shape)), np.array(np.broadcast_to(bottom, shape))


class _Maker:
    """Keeps the factors of denominators, by what they are, so that none counts twice in a sum."""

    def __init__(self, columns: Mapping[str, Array]) -> None:
        self.columns = columns
        self.known: dict[Hashable, Any] = {}

    def of(self, node: Node) -> Fraction:
        match node:
            case Chain():
                return self.added(node) if node.rest[0][0] in "+-" else self.multiplied(node)
            case Negation():
                top, factors = self.of(node.operand)
                return -top, factors
            case Power(exponent=exponent) if _is_whole(exponent):
                return self.power(node.base, int(exponent.constant or 0))
            case Call(function="tan" | "cot" as name, arguments=(inside,)):
                return self.tangent(name, inside)
        return self.plain(node), {}

    def added(self, node: Chain) -> Fraction:
        total = self.of(node.first)
        for symbol, operand in node.rest:
            total = self.sum(total, self.of(operand), 1.0 if symbol == "+" else -1.0)
        return total

    def multiplied(self, node: Chain) -> Fraction:
        top, factors = self.of(node.first)
        for symbol, operand in node.rest:
            if symbol == "/" and operand.constant is None:
                top, factors = self.divided((top, factors), operand)
                continue
            other, below = self.of(operand)
            top = top * other if symbol == "*" else top / other
            factors = _joined(factors, below)
        return top, factors

    def plain(self, node: Node) -> Any:
        return node.constant if node.constant is not None else value(node, self.columns)

    def tangent(self, name: str, inside: Node) -> Fraction:
        angle = self.plain(inside)
        top, bottom = np.sin(angle), np.cos(angle)
        if name == "cot":
            top, bottom = bottom, top
        self.known[name, inside] = bottom
        return top, {(name, inside): 1}

    def power(self, base: Node, power: int) -> Fraction:
        if isinstance(base, Variable) and power > 0:
            return self.plain(base) ** power, {}
        top, factors = self.of(base) if power > 0 else self.divided((1.0, {}), base)
        return top ** abs(power), {key: abs(power) * count for key, count in factors.items()}

    def divided(self, numerator: Fraction, node: Node) -> Fraction:
        top, factors = numerator
        other, below = self.of(node)
        self.known["over", node] = other
        return top * self.product(below), _joined(factors, {("over", node): 1})

    def product(self, factors: Mapping[Hashable, int]) -> Any:
        factor: Any = 1.0
        for key, count in factors.items():
            factor = factor * self.known[key] ** count
        return factor

    def ratio(self, found: Fraction) -> Any:
        return found[0] / self.product(found[1])

    def sum(self, first: Fraction, second: Fraction, sign: float) -> Fraction:
        every = {
            key: max(first[1].get(key, 0), second[1].get(key, 0))
            for key in {**first[1], **second[1]}
        }
        if len(every) > _MOST_FACTORS:
            return self.ratio(first) + sign * self.ratio(second), {}
        tops = [
            top * self.product({key: count - own.get(key, 0) for key, count in every.items()})
            for top, own in (first, second)
        ]
        return tops[0] + sign * tops[1], every


def _is_whole(exponent: Node) -> bool:
    power = 0.0 if exponent.constant is None else float(exponent.constant)
    return power.is_integer() and 0 < abs(power) <= _MOST_POWER


def _joined(first: Mapping[Hashable, int], second: Mapping[Hashable, int]) -> dict[Hashable, int]:
    return {key: first.get(key, 0) + second.get(key, 0) for key in {**first, **second}}


QUANTILE = 0.95


@dataclass(frozen=True)
class Distances:
    """Three distances of two clouds, in the unit of their coordinates.

    Attributes
    ----------
    chamfer
        The mean distance from the points of either to the nearest of the other, both added.
    hausdorff
        The largest such distance.
    hausdorff_95
        The larger of the two 95 % quantiles.

    References
    ----------
    Kabra et al., "SurfaceBench", eqs. 1 and 2; distances are not squared.
    """

    chamfer: float
    hausdorff: float
    hausdorff_95: float

    def over(self, length: float) -> Distances:
        """Return them in a unit of length."""
        return Distances(self.chamfer / length, self.hausdorff / length, self.hausdorff_95 / length)

    @classmethod
    def of_nothing(cls, length: float) -> Distances:
        """Return those of a cloud without points: each point of the other is a length away.

        A surface that is not there is thereby as far as one that is a diagonal away.
        """
        return cls(2 * length, length, length)


def distances(a: Array, b: Array) -> Distances:
    """Compare two clouds, (n, 3) and (m, 3), neither of them empty.

    Examples
    --------
    >>> plane = np.random.default_rng(0).uniform(0, 1, (500, 3)) * [1, 1, 0]
    >>> distances(plane, plane + [0, 0, 2.0])
    Distances(chamfer=4.0, hausdorff=2.0, hausdorff_95=2.0)
    """
    there, back = nearest(a, b), nearest(b, a)
    return Distances(
        float(there.mean() + back.mean()),
        float(max(there.max(), back.max())),
        float(max(np.quantile(there, QUANTILE), np.quantile(back, QUANTILE))),
    )


def nearest(points: Array, cloud: Array) -> Array:
    """Return the distance from each point, (n, 3), to the nearest of a cloud, (m, 3)."""
    # Points that coincide would all lie in one leaf of the tree, and be looked at one by one.
    tree = cKDTree(np.unique(cloud, axis=0))
    return np.asarray(tree.query(points)[0], dtype=np.float64)


def diagonal(cloud: Array) -> float:
    """Return the diagonal of the box that holds a cloud; 1 where it is a single point."""
    return float(np.linalg.norm(np.ptp(cloud, axis=0))) or 1.0
