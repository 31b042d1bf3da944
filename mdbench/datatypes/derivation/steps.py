"""What a derivation is: steps, each an equation with the operation that gave it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import sympy

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "Derivation",
    "Sides",
    "Step",
    "ancestors",
    "elements",
    "is_closed",
    "mirrored",
    "parts",
]


class Sides(NamedTuple):
    """An equation: an ordered pair of expressions, which nobody evaluates to true or false."""

    lhs: sympy.Expr
    rhs: sympy.Expr


@dataclass(frozen=True)
class Step:
    """An equation and how it came about.

    Attributes
    ----------
    op
        One of `mdbench.datatypes.derivation.operators.OPERATORS`.
    refs
        The numbers, from 1, of the earlier steps that it refers to.
    operand
        What is added, what it is differentiated by, and so on; None where there is none.
    constants
        Of ``evaluate_integrals``: each integral with the name of its constant.
    """

    op: str
    refs: tuple[int, ...]
    operand: sympy.Expr | None
    constants: tuple[tuple[sympy.Expr, sympy.Symbol], ...]
    lhs: sympy.Expr
    rhs: sympy.Expr

    @property
    def sides(self) -> Sides:
        """The equation."""
        return Sides(self.lhs, self.rhs)

    @property
    def annotation(self) -> tuple[object, ...]:
        """Operation, step numbers and operand; not the constants."""
        return self.op, self.refs, self.operand


@dataclass(frozen=True)
class Derivation:
    """A derivation, and final steps that are wrong for the annotation of its own.

    Attributes
    ----------
    index
        Its number in the stream of random derivations that it comes from.
    stream
        The name of the stream.
    negatives
        True consequences of the first steps, which another final operation gives.
    """

    index: int
    stream: str
    steps: tuple[Step, ...]
    negatives: tuple[Step, ...]

    @property
    def context(self) -> tuple[Step, ...]:
        """All steps but the final one."""
        return self.steps[:-1]

    @property
    def final(self) -> Step:
        """The final step."""
        return self.steps[-1]

    def with_final(self, final: Step, negative: Step) -> Derivation:
        """Give the same with other final steps."""
        return replace(self, steps=(*self.context, final), negatives=(negative,))


def mirrored(sides: Sides) -> Sides:
    """Swap the sides."""
    return Sides(sides.rhs, sides.lhs)


@lru_cache(maxsize=50_000)
def parts(expr: sympy.Expr) -> tuple[sympy.Expr, ...]:
    """Give all sub-expressions of one, itself first, each once and without limits' tuples."""
    found: dict[sympy.Expr, None] = {}
    _collect(expr, found)
    return tuple(found)


def _collect(expr: sympy.Basic, found: dict[sympy.Expr, None]) -> None:
    if expr in found:
        return
    if isinstance(expr, sympy.Expr):
        found[expr] = None
    for each in expr.args:
        # The order of a derivative is a number in a tuple, and no part of the mathematics.
        if isinstance(each, sympy.Tuple):
            _collect(each.args[0], found)
        else:
            _collect(each, found)


@lru_cache(maxsize=20_000)
def elements(sides: Sides) -> dict[sympy.Expr, None]:
    """Give all sub-expressions of both sides, each once, in a fixed order."""
    return dict.fromkeys(parts(sides.lhs) + parts(sides.rhs))


def ancestors(steps: Sequence[Step], number: int) -> set[int]:
    """Give the numbers of all steps that one needs, itself included."""
    found: set[int] = set()
    todo = [number]
    while todo:
        one = todo.pop()
        if one not in found:
            found.add(one)
            todo += steps[one - 1].refs
    return found


def is_closed(steps: Sequence[Step]) -> bool:
    """Tell whether the final step is no premise, and needs all steps before it."""
    return bool(steps[-1].refs) and len(ancestors(steps, len(steps))) == len(steps)
