"""Derivations in the keys of the authors' JSON: written, and read with care.

Their operators are not all ours, and the annotation of a wrong candidate is not kept: what is read
need not replay, and what gave a candidate is searched for.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import TYPE_CHECKING, Any

from mdbench.datatypes.derivation.calculus import Calculation
from mdbench.datatypes.derivation.operators import (
    ARITHMETIC,
    CALCULUS,
    OPERATORS,
    PREMISES,
    SUBSTITUTIONS,
    apply,
    check,
    fresh_integrals,
)
from mdbench.datatypes.derivation.renaming import names
from mdbench.datatypes.derivation.steps import (
    SYMBOLS,
    Derivation,
    Sides,
    Step,
    cleaned_latex,
    elements,
    latex,
    mirrored,
    read_sides,
    symbol,
    write,
)
from mdbench.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import sympy

UNKNOWN = "unknown"
"""The operator of a candidate of which nobody knows what gave it."""
_MOST_STEPS, _MOST_CONSTANTS = 50, 4


def authors_record(example: Derivation | Calculation) -> dict[str, Any]:
    """Return an example in the keys of the authors' JSON."""
    if isinstance(example, Calculation):
        return {
            "premise_expression": latex(example.expression),
            "variable": latex(example.variable),
            "positive": latex(example.positive),
            "negatives": [latex(example.negative)],
        }
    return {
        "derivation": [[_annotation(each), equation(each)] for each in example.steps],
        "positive_idxs": [len(example.steps)],
        "negatives": [equation(each) for each in example.negatives],
        "srepr_derivation": [[_annotation(each), _equality(each)] for each in example.steps],
        "srepr_negatives": [_equality(each) for each in example.negatives],
    }


def _annotation(step: Step) -> str | list[Any]:
    if step.op in PREMISES:
        return step.op
    return [step.op, *step.refs, *([] if step.operand is None else [latex(step.operand)])]


def equation(step: Step) -> str:
    """Write the equation of a step as LaTeX."""
    return f"{latex(step.lhs)} = {latex(step.rhs)}"


def _equality(step: Step) -> str:
    return f"Equality({write(step.lhs)}, {write(step.rhs)})"


def read_authors_record(data: dict[str, Any], stream: str, index: int) -> Derivation:
    """Read a derivation in the keys of the authors, of which ``srepr_...`` are used.

    Raises
    ------
    DataError
        If it cannot be read; the message has the key.
    """
    if "srepr_derivation" not in data:
        raise DataError(
            "a line with the authors' keys has no srepr_derivation and srepr_negatives, and LaTeX "
            "alone is not read.",
            "Calculus is read in the documented form, which mdbench data writes.",
        )
    written, negatives = data["srepr_derivation"], data.get("srepr_negatives")
    if not isinstance(written, list) or not 2 <= len(written) <= _MOST_STEPS:  # noqa: PLR2004
        raise DataError(f"srepr_derivation is no list of 2 to {_MOST_STEPS} steps.")
    if not isinstance(negatives, list) or not negatives or not isinstance(negatives[0], str):
        raise DataError("srepr_negatives is no list of texts with one at least.")
    match data.get("positive_idxs", [len(written)]):
        case [int(last), *_] if 2 <= last <= len(written):  # noqa: PLR2004 - one is known
            pass
        case other:
            raise DataError(f"positive_idxs is {str(other)[:40]}; it has the final step's number.")
    steps: list[Step] = []
    for number, item in enumerate(written[:last], 1):
        try:
            steps.append(_step(item, steps))
        except DataError as error:
            raise DataError(
                f"srepr_derivation, step {number}: {error.message}", error.hint
            ) from None
    if steps[-1].op == "premise":
        raise DataError("the final step is a premise, which nothing asks for.")
    wrong = read_sides(negatives[0])
    if wrong in {steps[-1].sides, mirrored(steps[-1].sides)}:
        raise DataError("the first negative is the final step itself.")
    return Derivation(index, stream, tuple(steps), (Step(UNKNOWN, (), None, (), *wrong),))


def _step(item: object, earlier: Sequence[Step]) -> Step:
    match item:
        case [str(op), str(text)] if op in PREMISES:
            return Step(op, (), None, (), *read_sides(text))
        case [[str(op), *rest], str(text)] if op not in PREMISES:
            pass
        case _:
            raise DataError(f"{str(item)[:80]!r} is no pair of an annotation and an equation.")
    count = 2 if op in SUBSTITUTIONS else 1
    try:
        refs = tuple(int(str(each)) for each in rest[:count])
    except (TypeError, ValueError):
        raise DataError(f"{op} refers to {rest[:count]!r}; it takes numbers of steps.") from None
    operand = _operand(op, rest[count:], earlier)
    check(op, refs, operand, len(earlier))
    return Step(op, refs, operand, (), *read_sides(text))


def _operand(op: str, words: Sequence[object], earlier: Sequence[Step]) -> sympy.Expr | None:
    """Find the part of an earlier equation that an operand's LaTeX is of."""
    if not words:
        return None
    wanted = cleaned_latex(str(words[0])).strip()
    for step in reversed(earlier):
        for part in elements(step.sides):
            if latex(part) == wanted and not (op in CALCULUS and not part.is_Symbol):
                return part
    if SYMBOLS.fullmatch(wanted):
        return symbol(wanted)
    raise DataError(f"the operand {str(words[0])[:40]!r} of {op} is in no earlier equation.")


def with_known_negative(example: Derivation) -> Derivation | None:
    """Return a derivation with an annotation of its wrong candidate; None where none is found."""
    negative, *others = example.negatives
    if negative.op != UNKNOWN:
        return example
    equations = [step.sides for step in example.context]
    for op, refs, operand in _annotations(example.context):
        if (op, refs, operand) == example.final.annotation:
            continue
        for constants in _constants(op, refs, equations, negative.sides):
            try:
                sides = apply(op, equations, refs, operand, constants)
            except DataError:  # too large a power
                continue
            if sides == negative.sides:
                known = Step(op, refs, operand, tuple(constants.items()), *sides)
                return replace(example, negatives=(known, *others))
    return None


def _constants(
    op: str, refs: tuple[int, ...], equations: Sequence[Sides], result: Sides
) -> Iterator[dict[sympy.Expr, sympy.Symbol]]:
    """Yield what the constants of integrals may be: the names that a result has for the first time.

    There is one, without any, for all other operators.
    """
    if op != "evaluate_integrals":
        yield {}
        return
    integrals = fresh_integrals(equations[refs[0] - 1])
    known = set(names(side for sides in equations for side in sides))
    new = [symbol(name) for name in names(result) if name not in known]
    if len(new) == len(integrals) <= _MOST_CONSTANTS:
        yield from (dict(zip(integrals, order, strict=True)) for order in permutations(new))


def _annotations(
    steps: Sequence[Step],
) -> Iterator[tuple[str, tuple[int, ...], sympy.Expr | None]]:
    """Yield all annotations of a next step, without premises."""
    numbers = range(1, len(steps) + 1)
    pool = dict.fromkeys(part for step in steps for part in elements(step.sides))
    for op in OPERATORS:
        if op in PREMISES:
            continue
        if op in SUBSTITUTIONS:
            yield from ((op, (n, m), None) for n in numbers for m in numbers if n != m)
            continue
        operands: Sequence[sympy.Expr | None] = [None]
        if op in ARITHMETIC:
            operands = list(pool)
        elif op in CALCULUS:
            operands = [part for part in pool if part.is_Symbol]
        yield from ((op, (n,), operand) for n in numbers for operand in operands)
