"""The 18 operators of derivations (Meadows et al. 2023, table 2), and applying them again."""

from __future__ import annotations

from collections import deque
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import sympy
from sympy.core.function import AppliedUndef
from sympy.integrals import manualintegrate as rules

from mdbench.datatypes.derivation.renaming import in_canonical_names, rename
from mdbench.datatypes.derivation.steps import (
    Sides,
    elements,
    is_readable,
    latex,
    mirrored,
    read,
    size,
    write,
)
from mdbench.errors import DataError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from mdbench.datatypes.derivation.steps import Derivation, Step

PREMISES = ("premise", "renaming_premise")
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "cos": sympy.cos,
    "sin": sympy.sin,
    "exp": sympy.exp,
    "log": sympy.log,
}
EVALUATIONS = ("evaluate_derivatives", "evaluate_integrals")
ARITHMETIC: dict[str, Callable[..., Any]] = {
    "add": lambda side, operand: side + operand,
    "minus": lambda side, operand: side - operand,
    "times": lambda side, operand: side * operand,
    "divide": lambda side, operand: side / operand,
    "power": lambda side, operand: side**operand,
}
CALCULUS: dict[str, Callable[..., Any]] = {
    "differentiate": sympy.Derivative,
    "integrate": sympy.Integral,
}
SUBSTITUTIONS = ("substitute_LHS_for_RHS", "substitute_RHS_for_LHS")
OPERATORS = (
    *PREMISES, *FUNCTIONS, "expand", *EVALUATIONS, *ARITHMETIC, *CALCULUS, *SUBSTITUTIONS,
)  # fmt: skip
_WITH_OPERAND = {*ARITHMETIC, *CALCULUS}
LONGEST_LATEX = 350
"""An equation whose LaTeX has this many letters or more is not used in a derivation."""
_LARGEST_POWER = 100
_PLAIN_SIZE = 18
"""Equations of fewer nodes are never too long."""


def is_valid(sides: Sides) -> bool:
    """Whether an equation may be a step: readable, not trivial and not too long."""
    if sides.lhs == sides.rhs or not (is_readable(sides.lhs) and is_readable(sides.rhs)):
        return False
    if size(sides.lhs) + size(sides.rhs) < _PLAIN_SIZE:
        return True
    return len(f"{latex(sides.lhs)} = {latex(sides.rhs)}") < LONGEST_LATEX


def apply(
    op: str,
    equations: Sequence[Sides],
    refs: Sequence[int],
    operand: sympy.Expr | None = None,
    constants: Mapping[sympy.Expr, sympy.Symbol] | None = None,
) -> Sides:
    """Apply an operator other than a premise.

    Parameters
    ----------
    op
        Its name.
    equations
        The equations of all earlier steps.
    refs
        The numbers, from 1, of those that it is applied to.
    operand
        Of the arithmetical operators, and the variable of calculus.
    constants
        For ``evaluate_integrals``, the constant of each integral.

    Returns
    -------
    Sides
        The new equation, whether valid or not.

    Raises
    ------
    DataError
        If there is no such operator, or it is given other things than it takes.
    """
    check(op, refs, operand, len(equations))
    sides = equations[refs[0] - 1]
    if op in FUNCTIONS:
        return Sides(*map(FUNCTIONS[op], sides))
    if op == "expand":
        return Sides(*map(_expanded, sides))
    if op == "evaluate_derivatives":
        return Sides(*map(_differentiated, sides))
    if op == "evaluate_integrals":
        return _integrated(sides, constants or {})
    if op in _WITH_OPERAND:
        return _with_operand(op, sides, operand)
    other = equations[refs[1] - 1]
    old, new = other if op == "substitute_LHS_for_RHS" else mirrored(other)
    return Sides(*(_replaced(side, {old: new}) for side in sides))


def check(op: str, refs: Sequence[int], operand: object, steps: int) -> None:
    """Refuse what is no annotation of a step after `steps` others.

    Raises
    ------
    DataError
        If so; the message has the reason.
    """
    if op not in OPERATORS:
        raise DataError(f"there is no operator {op!r}.", did_you_mean(op, OPERATORS))
    wanted = 0 if op in PREMISES else 2 if op in SUBSTITUTIONS else 1
    if len(refs) != wanted:
        raise DataError(f"{op} refers to {len(refs)} steps; it takes {wanted}.")
    for ref in refs:
        if not 1 <= ref <= steps:
            raise DataError(f"{op} refers to step {ref}; there are steps 1 to {steps} before it.")
    if (operand is not None) != (op in _WITH_OPERAND):
        raise DataError(f"{op} has {'no' if operand is None else 'an'} operand.")
    if op in CALCULUS and not isinstance(operand, sympy.Symbol):
        raise DataError(f"{op} has the operand {operand}; it takes a symbol.")


def _with_operand(op: str, sides: Sides, operand: Any) -> Sides:
    if op in CALCULUS:
        return Sides(*(CALCULUS[op](side, operand) for side in sides))
    if op == "power" and operand.is_Rational and abs(operand) > _LARGEST_POWER:
        raise DataError(f"power has the operand {str(operand)[:40]}; {_LARGEST_POWER} at most.")
    return Sides(*(ARITHMETIC[op](side, operand) for side in sides))


def _replaced(expr: Any, new: Mapping[Any, Any]) -> Any:
    """Replace sub-expressions, wherever they stand; what holds none of them stays as it is."""
    found = expr.xreplace(new)
    return found if isinstance(found, sympy.Expr) else expr


@lru_cache(maxsize=20_000)
def _expanded(expr: sympy.Expr) -> sympy.Expr:
    return sympy.expand(expr)


@lru_cache(maxsize=20_000)
def _differentiated(expr: sympy.Expr) -> sympy.Expr:
    """Work out all derivatives but those of undefined functions and of integrals."""
    new: dict[sympy.Expr, sympy.Expr] = {}
    _find_derivatives(expr, new)
    return _replaced(expr, new) if new else expr


def _find_derivatives(expr: Any, new: dict[sympy.Expr, sympy.Expr]) -> None:
    if not expr.has(sympy.Derivative):
        return
    if isinstance(expr, sympy.Derivative) and not expr.has(sympy.Integral):
        if expr not in new:
            new[expr] = expr.doit()
        return
    for each in expr.args:
        _find_derivatives(each, new)


def fresh_integrals(sides: Sides) -> list[sympy.Integral]:
    """Return the integrals of an equation that can be worked out, in their order.

    There are none where an integral is in another.
    """
    integrals = [each for each in elements(sides) if isinstance(each, sympy.Integral)]
    if any(each.function.has(sympy.Integral) for each in integrals):
        return []
    return [each for each in integrals if _primitive(each) is not None]


def _primitive(integral: sympy.Integral) -> sympy.Expr | None:
    limits = integral.limits
    if len(limits) != 1 or len(limits[0]) != 1:
        return None
    return antiderivative(integral.function, limits[0][0])


def _integrated(sides: Sides, constants: Mapping[sympy.Expr, sympy.Symbol]) -> Sides:
    new = {}
    for integral in fresh_integrals(sides):
        if integral not in constants:
            raise DataError(f"there is no constant for the integral {integral}.")
        new[integral] = _primitive(integral) + constants[integral]
    return Sides(*(_replaced(side, new) for side in sides)) if new else sides


def replay(derivation: Derivation) -> None:
    """Apply all annotations again.

    Raises
    ------
    DataError
        If an equation is not what its annotation gives; names the step.
    """
    for number, step in enumerate(derivation.steps, 1):
        _replay_step(f"step {number}", step, derivation.steps[: number - 1])
    for number, step in enumerate(derivation.negatives, 1):
        _replay_step(f"negative {number}", step, derivation.context)


def _replay_step(what: str, step: Step, earlier: Sequence[Step]) -> None:
    try:
        check(step.op, step.refs, step.operand, len(earlier))
        if step.op in PREMISES:
            _check_premise(step, earlier)
            return
        sides = apply(
            step.op,
            [each.sides for each in earlier],
            step.refs,
            step.operand,
            dict(step.constants),
        )
    except DataError as error:
        raise DataError(f"{what}: {error.message}", error.hint) from None
    if sides != step.sides:
        raise DataError(
            f"{what} does not replay: {step.op} gives {str(sides.lhs)[:80]} = "
            f"{str(sides.rhs)[:80]}, and the equation is {str(step.lhs)[:80]} = "
            f"{str(step.rhs)[:80]}."
        )


def _check_premise(step: Step, earlier: Sequence[Step]) -> None:
    """Refuse what does not define a function of all symbols of the other side.

    Where sides were exchanged it is defined on the right.
    """
    known = {part for each in earlier for part in elements(each.sides)}
    for defined, body in (step.sides, mirrored(step.sides)):
        if isinstance(defined, AppliedUndef) and set(defined.args) == body.free_symbols:
            if step.op == "premise" or body in known:
                return
            raise DataError("it renames what is in no earlier equation.")
    raise DataError("a premise is a function of all free symbols of the other side.")


MOST_NODES = 60
"""Larger integrands are left as they are."""
_KEPT, _NEWS = 50_000, 10_000
"""Integrals that are kept, before all are dropped; and new ones that wait to be asked for."""
_known: dict[tuple[sympy.Expr, sympy.Symbol], sympy.Expr | None] = {}
_news: deque[tuple[sympy.Expr, sympy.Symbol]] = deque(maxlen=_NEWS)


def antiderivative(integrand: sympy.Expr, variable: sympy.Symbol) -> sympy.Expr | None:
    """Return an antiderivative without a constant, or None where SymPy finds no elementary one.

    The same integral in other names has the same antiderivative in these names: names are
    replaced by canonical ones before SymPy sees them.  Its integration by rules is all that is
    asked: ``heurisch`` may never end, and what is cut off by a clock is another on another machine.

    Parameters
    ----------
    integrand
        The function.
    variable
        The variable of integration.
    """
    if size(integrand) > MOST_NODES:
        return None
    canonical, over, back = in_canonical_names(integrand, variable)
    if (canonical, over) not in _known:
        _keep(canonical, over, _worked_out(canonical, over))
        _news.append((canonical, over))
    answer = _known[canonical, over]
    if answer is None:
        return None
    result = rename(answer, back)
    return result if is_readable(result) else None


def news() -> list[list[str | None]]:
    """Return what was worked out here since this was last asked, as `learn` takes it."""
    answers: list[list[str | None]] = []
    while _news:
        integrand, variable = integral = _news.popleft()
        if is_readable(integrand) and integral in _known:
            answer = _known[integral]
            written = None if answer is None else write(answer)
            answers.append([write(integrand), write(variable), written])
    return answers


def learn(answers: Iterable[Sequence[str | None]]) -> None:
    """Take what was worked out elsewhere, by the same version of SymPy.

    Parameters
    ----------
    answers
        For each integral the integrand, the variable and the antiderivative, as
        `writing.write` writes them; None where there is no elementary one.

    Raises
    ------
    DataError
        If one of them cannot be read.
    """
    for integrand, variable, answer in answers:
        _keep(read(str(integrand)), read(str(variable)), None if answer is None else read(answer))


def _keep(integrand: sympy.Expr, variable: sympy.Symbol, answer: sympy.Expr | None) -> None:
    if len(_known) >= _KEPT:
        _known.clear()
    _known[integrand, variable] = answer


def _worked_out(integrand: sympy.Expr, variable: sympy.Symbol) -> sympy.Expr | None:
    try:
        answer = rules.manualintegrate(integrand, variable)
    except (
        ArithmeticError, AttributeError, NotImplementedError, RecursionError, TypeError, ValueError
    ):  # fmt: skip
        return None  # SymPy's rules raise these where none applies
    finally:
        _forget()
    if not is_readable(answer) or answer.has(sympy.Integral):
        return None
    return answer


def _forget() -> None:
    """Forget the integrals that SymPy was at work on.

    It notes them in order not to go round in circles, and after an exception the notes would stay:
    the next integral that comes to one of them would be given up, in this process and in no other.
    """
    rules._integral_cache.clear()  # noqa: SLF001 - there is no other way
    rules._parts_u_cache.clear()  # noqa: SLF001 - likewise
