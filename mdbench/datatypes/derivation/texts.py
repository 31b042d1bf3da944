"""Examples as sequences: the text that a model reads, and the same as trees."""

from __future__ import annotations

import json
from functools import singledispatch
from typing import TYPE_CHECKING, Any

from mdbench.datatypes.derivation.calculus import Calculation
from mdbench.datatypes.derivation.operators import PREMISES
from mdbench.datatypes.derivation.steps import Derivation, Step
from mdbench.datatypes.derivation.writing import latex, write
from mdbench.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["SEPARATOR", "pieces", "texts", "trees"]

SEPARATOR = " [SEP] "


@singledispatch
def texts(example: Derivation | Calculation) -> tuple[str, str]:
    r"""Write the two sequences of an example: that of the right candidate, and of the wrong one.

    A derivation's is ``[ann_1, eq_1], ..., [ann_{s-1}, eq_{s-1}] [SEP] ann_s [SEP] candidate``, a
    calculation's ``f [SEP] x [SEP] g``; expressions are LaTeX, step numbers are digits.
    """
    raise TypeError(f"{type(example).__name__} is no example")


@texts.register
def _(example: Derivation) -> tuple[str, str]:
    context = ", ".join(f"[{_annotation(step)}, {_equation(step)}]" for step in example.context)
    known = f"{context}{SEPARATOR}{_annotation(example.final)}{SEPARATOR}"
    return known + _equation(example.final), known + _equation(example.negatives[0])


@texts.register
def _(example: Calculation) -> tuple[str, str]:
    body, variable = latex(example.expression), latex(example.variable)
    derivative = f"\\frac{{d {example.left}}}{{d {variable}}} = "
    first, last = "", ""
    if example.left:
        first, last = f"{example.left} = ", derivative
        if example.task == "integrate":
            first, last = last, first
    known = f"{first}{body}{SEPARATOR}{variable}{SEPARATOR}{last}"
    return known + latex(example.positive), known + latex(example.negative)


def _equation(step: Step) -> str:
    return f"{latex(step.lhs)} = {latex(step.rhs)}"


def _annotation(step: Step) -> str:
    if step.op in PREMISES:
        return step.op
    operand = [] if step.operand is None else [latex(step.operand)]
    return f"[{', '.join([step.op, *map(str, step.refs), *operand])}]"


@singledispatch
def trees(example: Derivation | Calculation) -> tuple[str, str]:
    """Write the same as JSON, with expressions as `write` has them.

    There is nothing in it that the text does not say: no constants, and nothing of the other
    candidate.
    """
    raise TypeError(f"{type(example).__name__} is no example")


@trees.register
def _(example: Derivation) -> tuple[str, str]:
    steps = [{**_operation(step), **_sides(step)} for step in example.context]

    def one(candidate: Step) -> str:
        return _dump({"steps": steps, **_operation(example.final), **_sides(candidate)})

    return one(example.final), one(example.negatives[0])


@trees.register
def _(example: Calculation) -> tuple[str, str]:
    known = {
        "task": example.task,
        "left": example.left,
        "expression": write(example.expression),
        "variable": write(example.variable),
    }
    return tuple(  # type: ignore[return-value]
        _dump({**known, "candidate": write(each)}) for each in (example.positive, example.negative)
    )


def _operation(step: Step) -> dict[str, Any]:
    return {
        "op": step.op,
        "refs": list(step.refs),
        "operand": None if step.operand is None else write(step.operand),
    }


def _sides(step: Step) -> dict[str, str]:
    return {"lhs": write(step.lhs), "rhs": write(step.rhs)}


_dump: Callable[[Any], str] = json.JSONEncoder(separators=(",", ":")).encode


def pieces(text: str) -> tuple[str, str, str]:
    """Cut a sequence at its separators: what is known, the operation, and the candidate.

    Raises
    ------
    DataError
        If there are not two of them.
    """
    found = text.split(SEPARATOR)
    if len(found) != 3 or text.count("[SEP]") != 2:  # noqa: PLR2004 - its three pieces
        raise DataError(
            f"{text[:80]!r} has {text.count('[SEP]')} times [SEP].",
            "A sequence has it twice: known [SEP] operation [SEP] candidate.",
        )
    known, operation, candidate = found
    return known, operation, candidate
