"""Two sums of terms that are the same but for their constants, which are compared one by one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from eqverdict.atoms import PI
from eqverdict.fidelity.verdict import match

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eqverdict.atoms import Atom, Monomial, Sum


def moved_error(truth: Sum, prediction: Sum) -> float | None:
    """Return by how much constants are off, where two sums are the same but for constants.

    Returns
    -------
    float or None
        The largest share of a constant; None where terms are other ones, where a constant is off by
        more than 5 %, or where a part that the truth has several times has moved in different ways.
    """
    if len(truth) != len(prediction):
        return None
    matched = match(truth, prediction)
    if matched.faults:
        return None
    moved: dict[Atom, Atom] = {}
    for true, own, _ in matched.pairs:
        for atom, other in _paired(true, own):
            if moved.setdefault(atom, other) != other or _loses_a_part(atom, other):
                return None
        if truth[true] * prediction[own] <= 0:
            return None
    return matched.error or 0.0


def _paired(one: Monomial, other: Monomial) -> Iterator[tuple[Atom, Atom]]:
    """Yield the atoms of two products that are alike, those within functions, too."""
    for (atom, _), (moved, _) in zip(one, other, strict=True):
        yield atom, moved
        for terms, mine in ((atom.inner, moved.inner), (atom.second or (), moved.second or ())):
            for (inner, _), (own, _) in zip(terms, mine, strict=True):
                yield from _paired(inner, own)


def _loses_a_part(atom: Atom, other: Atom) -> bool:
    """Whether a wave of both sine and cosine is one of them no more, or has one of another sign."""
    if atom.kind != "wave":
        return False
    before, after = float(atom.constants[-1]), float(other.constants[-1])
    if before == after or atom.constants[-1] in {0, PI / 2}:
        return False
    return any(part(before) * part(after) <= 0 for part in (math.sin, math.cos))
