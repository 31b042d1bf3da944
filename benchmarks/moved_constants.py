"""Pairs of a true equation and itself with one constant moved, for the truths of all suites.

Each constant is moved by 0.1 % and 3 %, which is the truth, and by 8 %, which is not.  Either side
is written in six ways.  A constant is what `parametrize` takes for one: all numbers of a sum or a
product together, and no whole exponent.  Where a constant has an effect on the domain is decided
by values alone (`Effect`), and by how much it is off by computer algebra (`merged_constants`): the
scorer has no part in either.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np
from labelled import DATASETS, Law, Pair, ends, rewritten, words
from merged_constants import Layouts
from scipy.optimize import lsq_linear

from eqverdict.fidelity.parametric import parametrize
from eqverdict.grammar import read
from eqverdict.srbench import POSITIVE
from eqverdict.tree import names_in, text_of
from mdbench.datatypes.ode import systems as ode
from mdbench.datatypes.pde import systems as pde
from mdbench.datatypes.real.problem import read_measurements
from mdbench.datatypes.srsd.laws import read_problem
from mdbench.datatypes.surface.problem import read_surface
from mdbench.errors import MdbenchError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from eqverdict.fidelity.parametric import ParametricExpression

    Array = NDArray[np.float64]

SHARES = (0.001, 0.03, 0.08)
"""By how much a constant is moved, up or down."""
SAME = 0.05
WRITINGS = 6
SEEN = 1e-6
"""A smaller change of values, over their size, is one that data may not show."""
_POINTS = 4_096
_REACHED = 0.1
"""What first order leaves of a change that constants can share."""
_DIGITS = 12


class Effect(StrEnum):
    """The effect that a moved constant has on the domain."""

    SEEN = "seen"
    UNSEEN = "unseen"
    """Values change by less than `SEEN`, or there are none."""
    SHARED = "shared"
    """With the law's other constants moved within 5 %, it need not move so far."""
    UNDECIDED = "undecided"
    """Of the law's layouts with the fewest numbers, and the suite's own, not all have one that is
    5 % off."""


@dataclass(frozen=True)
class Move:
    """A truth with one constant moved: the share, its effect, and what it makes of the values.

    Attributes
    ----------
    change
        The largest share by which a number of the law has changed, with like terms merged
        (`merged_constants.Layouts`).
    """

    suite: str
    law: Law
    text: str
    share: float
    effect: Effect
    change: float

    @property
    def identified(self) -> bool:
        """Whether by the rule of 5 % the moved truth still is the truth."""
        return self.change <= SAME


def truths() -> Iterator[tuple[str, Law]]:
    """Yield the true equations of all suites that are not constant, each with its suite."""
    published = ("srsd", "*.toml"), ("srbench", "srbench/*.toml")
    for suite, path in (
        (name, path)
        for name, paths in published
        for path in sorted((DATASETS / "srsd").glob(paths))
    ):
        problem = read_problem(path)
        yield suite, Law(problem.name, problem.law, problem.domain, known=True)
    for folder, reader in (("ode", ode.read_system), ("pde", pde.read_system)):
        for path in sorted((DATASETS / folder).rglob("*.toml")):
            suite = path.parent.name if path.parent.name != "ode" else "odebench"
            for i, text in enumerate(reader(path).truth):
                domain = {name: dict(POSITIVE) for name in sorted(set(words(text)))}
                yield suite, Law(f"{path.stem}[{i}]", text, domain, known=False)
    for path in sorted((DATASETS / "surface").glob("*.toml")):
        surface = read_surface(path)
        domain = dict(zip(surface.inputs, map(_spread, surface.domain), strict=True))
        for i, text in enumerate(surface.truth):
            yield "surface", Law(f"{path.stem}[{i}]", text, domain, known=True)
    yield from _measured()


def _measured() -> Iterator[tuple[str, Law]]:
    for path in sorted((DATASETS / "real").glob("*.toml")):
        try:
            table = read_measurements(path)
        except MdbenchError:
            continue  # its rows come with a package
        ranges = zip(table.columns, table.x.min(axis=0), table.x.max(axis=0), strict=True)
        domain = {name: _spread((low, high)) for name, low, high in ranges}
        for i, law in enumerate(table.laws):
            yield "real", Law(f"{path.stem}[{i}]", law.written(law.start), domain, known=True)


def _spread(ends: tuple[float, float]) -> dict[str, Any]:
    """Write a range as `Law.domain` has it; one with zero inside is as wide to either side."""
    low, high = map(float, ends)
    if low >= 0:
        return {"low": low, "high": high, "sign": "positive"}
    if high <= 0:
        return {"low": -high, "high": -low, "sign": "negative"}
    return {"low": 0.0, "high": max(high, -low), "sign": "mixed"}


def moves(suite: str, law: Law, generator: random.Random) -> Iterator[Move]:
    """Yield a truth with each of its constants moved by each share, up or down."""
    truth = parametrize(read(law.text, law.names), named=False)
    layouts = Layouts(truth.tree, len(truth.start))
    for i in sorted({int(np.flatnonzero(truth.start == c)[0]) for c in truth.start}):
        constant = truth.start[i]
        for share in SHARES if constant and np.isfinite(constant) else ():
            factor = 1 + generator.choice((-share, share))
            # A constant that the law has in several parts is one.
            moved = np.where(abs(truth.start) == abs(constant), factor * truth.start, truth.start)
            if any(float(moved[k]).is_integer() for k in truth.exponents):
                continue  # another structure
            printed = np.array([float(f"{c:.{_DIGITS}g}") for c in moved])
            effect = _effect(truth, moved, law, factor - 1)
            changes = layouts.changes(truth.start, printed)
            near = {change <= SAME for change in changes}
            if "log" not in law.text and not layouts.is_polynomial:
                near.add(share <= SAME)  # as its suite writes it
            if effect is Effect.SEEN and len(near) > 1:
                effect = Effect.UNDECIDED
            change = max(changes, default=0.0)
            text = text_of(truth.with_constants(printed))
            yield Move(suite, law, text, share, effect, change)


def _effect(truth: ParametricExpression, moved: Array, law: Law, share: float) -> Effect:
    """Evaluate a truth with and without a constant moved, at points of the domain."""
    columns = _columns(law)
    if not columns:
        return Effect.UNSEEN
    before, after = truth.values(columns, truth.start), truth.values(columns, moved)
    usable = np.isfinite(before) & np.isfinite(after) & (before != 0)
    if not usable.any():
        return Effect.UNSEEN
    before, after = before[usable], after[usable]
    apart = np.abs(after - before) / (np.abs(before) + np.median(np.abs(before)))
    if not np.max(apart) > SEEN:
        return Effect.UNSEEN
    if abs(share) > SAME:
        slopes = truth.slopes(columns, truth.start)[usable]
        sizes = np.abs(before) + np.median(np.abs(before))
        if _is_reached(slopes / sizes[:, None], (after - before) / sizes):
            return Effect.SHARED
    return Effect.SEEN


def _is_reached(slopes: Array, wanted: Array) -> bool:
    """Whether moves of at most 5 % of each constant make a change of the values, to first order."""
    known = np.isfinite(slopes).all(axis=1)
    if not known.any():
        return True
    # The other method has no end where values cancel to nothing.
    fit = lsq_linear(slopes[known], wanted[known], bounds=(-SAME, SAME), method="bvls")
    return bool(np.linalg.norm(fit.fun) <= _REACHED * np.linalg.norm(wanted[known]))


def _columns(law: Law) -> dict[str, Array]:
    generator = np.random.default_rng(0)
    used = {node.name for node in names_in(read(law.text, law.names))}
    columns = {}
    for name in law.names:
        if name not in used:
            continue
        low, high = ends(law.domain[name]) if law.known else (0.05, 5.0)
        if low > 0 and high > 100 * low:
            columns[name] = np.exp(generator.uniform(np.log(low), np.log(high), _POINTS))
        else:
            columns[name] = generator.uniform(low, high, _POINTS)
    return columns


def moved_pairs(seed: int, share: float = 1.0) -> Iterator[Pair]:
    """Yield pairs of all moves, or of some, with each side in six writings.

    Parameters
    ----------
    share
        Of all moves, drawn by the seed.
    """
    for suite, law in truths():
        generator = random.Random(f"moved/{law.name}/{seed}")
        for move in moves(suite, law, generator):
            if move.effect is not Effect.SEEN or generator.random() > share:
                continue
            yield from written(move, generator)


def written(move: Move, generator: random.Random) -> Iterator[Pair]:
    """Yield a moved truth beside the truth, each side in six writings."""
    law = move.law
    what = f"{move.suite}, {100 * move.share:g} %, {'the truth' if move.identified else 'not it'}"
    for text in _writings(move.text, law.names, generator):
        yield Pair(law, text, what, None, move.identified, None, None)
    for text in _writings(law.text, law.names, generator)[1:]:
        true = replace(law, text=text)
        yield Pair(true, move.text, what, None, move.identified, None, None)


def _writings(text: str, names: tuple[str, ...], generator: random.Random) -> list[str]:
    tree = read(text, names)
    return [text, *(rewritten(tree, generator, 0.3) for _ in range(WRITINGS - 1))]
