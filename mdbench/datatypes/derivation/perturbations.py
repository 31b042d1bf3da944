"""Perturbations of derivations and calculations (Meadows et al. 2023, section 4)."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

from mdbench.datatypes.derivation.calculus import Calculation
from mdbench.datatypes.derivation.naming import GREEK, LETTERS, names, rename
from mdbench.datatypes.derivation.operators import SUBSTITUTIONS, replay
from mdbench.datatypes.derivation.steps import Derivation, Step
from mdbench.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import sympy

__all__ = [
    "alternative_results",
    "equation_conversion",
    "expression_exchange",
    "renamed",
    "renamings",
    "variable_renaming",
]

_TRIES = 10
_MIRRORED = dict(zip(SUBSTITUTIONS, reversed(SUBSTITUTIONS), strict=True))


def renamings(example: Derivation | Calculation, seed: int) -> Iterator[dict[str, str]]:
    """Draw a Greek name for each name, some times; never where there are more than ten."""
    found = names(_expressions(example))
    if len(found) > len(GREEK):
        return
    rng = Random(f"{seed}:{example.stream}:{example.index}:names")  # noqa: S311 - no secret
    for _ in range(_TRIES):
        yield dict(zip(found, rng.sample(GREEK, len(found)), strict=True))


def variable_renaming(
    example: Derivation | Calculation, seed: int
) -> Derivation | Calculation | None:
    """VR: give all symbols and functions Greek names, each one of its own.

    Names may say how SymPy writes signs, sin(a - b) or -sin(b - a), and in which order it has
    derivatives; where a step would not replay for that, others are drawn.  None if none will do,
    or if there are more than ten names.
    """
    for new in renamings(example, seed):
        found = renamed(example, new)
        if isinstance(found, Calculation) or _replays(found):
            return found
    return None


def _replays(example: Derivation) -> bool:
    try:
        replay(example)
    except DataError:
        return False
    return True


def renamed(example: Derivation | Calculation, new: Mapping[str, str]) -> Derivation | Calculation:
    """Put other names in place, at once, arguments of functions in their order."""
    memo: dict[sympy.Basic, sympy.Basic] = {}
    if isinstance(example, Calculation):
        return replace(
            example,
            expression=rename(example.expression, new, memo),
            variable=rename(example.variable, new, memo),
            positive=rename(example.positive, new, memo),
            negative=rename(example.negative, new, memo),
        )

    def one(step: Step) -> Step:
        return Step(
            step.op,
            step.refs,
            None if step.operand is None else rename(step.operand, new, memo),
            tuple((rename(i, new, memo), rename(c, new, memo)) for i, c in step.constants),
            rename(step.lhs, new, memo),
            rename(step.rhs, new, memo),
        )

    return replace(
        example,
        steps=tuple(map(one, example.steps)),
        negatives=tuple(map(one, example.negatives)),
    )


def expression_exchange(example: Derivation) -> Derivation:
    """EE: swap the sides of all equations, and the names of the two substitutions."""

    def one(step: Step) -> Step:
        return replace(step, op=_MIRRORED.get(step.op, step.op), lhs=step.rhs, rhs=step.lhs)

    return replace(
        example,
        steps=tuple(map(one, example.steps)),
        negatives=tuple(map(one, example.negatives)),
    )


def alternative_results(example: Derivation) -> Derivation:
    """AR: ask for what gave the negative, so that the two candidates change places."""
    negative, *_ = example.negatives
    return example.with_final(negative, example.final)


def equation_conversion(example: Calculation, seed: int) -> Calculation:
    """EC: write equations, with a letter for the expression that stands nowhere in it."""
    taken = set(names(_expressions(example)))
    rng = Random(f"{seed}:{example.stream}:{example.index}:letter")  # noqa: S311 - no secret
    free = [letter for letter in LETTERS if letter not in taken]
    return replace(example, left=rng.choice(free))


def _expressions(example: Derivation | Calculation) -> list[sympy.Expr]:
    """Give all expressions of an example, operands and constants included."""
    if isinstance(example, Calculation):
        return [example.expression, example.variable, example.positive, example.negative]
    found: list[sympy.Expr] = []
    for step in example.steps + example.negatives:
        found += [step.lhs, step.rhs]
        found += [] if step.operand is None else [step.operand]
        found += [part for pair in step.constants for part in pair]
    return found
