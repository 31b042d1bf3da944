"""The answers that people take home: the best of each system, as code."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mdbench.expressions.printers import (
    name_as,
    names_in,
    rounded_to,
    sympy_symbols,
    written_as,
)
from mdbench.reports.entries import best_first, best_mark
from mdbench.reports.tables import beaten, written

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from mdbench.metrics.spec import MetricSpec
    from mdbench.records import Record

_RATE = "_t"
"""What the left-hand side of a state has behind its name."""


class AnswerNames(NamedTuple):
    """What an answer is about.

    Attributes
    ----------
    states
        What the equations are of: the states whose rates they give, or the targets themselves.
    others
        Further names that stand in them, such as inputs and columns.
    rates
        Whether they give rates.
    """

    states: tuple[str, ...]
    others: tuple[str, ...]
    rates: bool


def states_of(result: Record) -> AnswerNames:
    """Return what stands in an answer's equations."""
    used = dict.fromkeys(name for text in result.equations or () for name in names_in(text))
    rates = all(target.endswith(_RATE) for target in result.targets)
    states = tuple(t.removesuffix(_RATE) if rates else t for t in result.targets)
    return AnswerNames(states, tuple(name for name in used if name not in states), rates)


def ordered(
    results: Iterable[Record], specs: Sequence[MetricSpec], references: Collection[str] = ()
) -> list[Record]:
    """Order answers of one system, the best first; methods that are given the truth come last."""
    key = best_first(specs)
    answers = (one for one in results if one.answered and one.equations)
    return sorted(answers, key=lambda one: (one.method in references, *key(one)))


def summary_line(result: Record, specs: Sequence[MetricSpec]) -> str:
    """Return in a line who answered, and how well."""
    held, _ = best_mark(specs, result.metrics)
    shown = [spec for spec in specs if spec is specs[0] or spec.weighs]
    scores = [
        f"{spec.title} {written(spec, value)}{_why_no_better(spec, specs, result)}"
        for spec in shown
        if not spec.mark and isinstance(value := result.metrics.get(spec.name), int | float)
    ]
    return ", ".join([result.method, *([f"{held.mark} {held.title}"] if held else []), *scores])


def _why_no_better(spec: MetricSpec, specs: Sequence[MetricSpec], result: Record) -> str:
    says = beaten(spec, specs, result).says
    return f" ({says})" if says else ""


def code(result: Record, language: str, digits: int | None = None) -> str:
    """Write an answer so that it can be pasted: a function, definitions, or a formula.

    Raises
    ------
    UsageError
        If there is no such language.
    EquationError
        If an equation is none.
    """
    texts = [
        text if digits is None else rounded_to(text, digits) for text in result.equations or ()
    ]
    system = states_of(result)
    used = (*(system.states if system.rates else ()), *system.others)
    names = [name_as(name, language) for name in used]
    # Where no equation gives a rate, v_x is no more than a name.
    derived = system.states if system.rates else ()
    known = (*system.states, *system.others)
    rights = [written_as(text, language, known, derivatives_of=derived) for text in texts]
    targets = [name_as(target, language) for target in result.targets]
    pairs = list(zip(targets, rights, strict=True))
    match language:
        case "python":
            return _function(
                ["import numpy as np", "", "", f"def equations({', '.join(names)}):"], pairs
            )
        case "julia":
            return _function([f"function equations({', '.join(names)})"], pairs) + "\nend"
        case "sympy":
            lines = ["from sympy import *", "", *sympy_symbols(names)]
            return "\n".join([*lines, *(f"{left} = {right}" for left, right in pairs)])
        case "c":
            given = ", ".join([*(f"double {name}" for name in names), "double *result"])
            body = [
                f"    result[{place}] = {right};  /* {left} */"
                for place, (left, right) in enumerate(pairs)
            ]
            return "\n".join(["#include <math.h>", "", f"void equations({given}) {{", *body, "}"])
        case "latex":
            rows = [
                f"  {_left_in_latex(left, rates=system.rates)} &= {right}" for left, right in pairs
            ]
            return "\\begin{align}\n" + " \\\\\n".join(rows) + "\n\\end{align}"
    return "\n".join(
        f"d{left.removesuffix(_RATE)}/dt = {right}" if system.rates else f"{left} = {right}"
        for left, right in pairs
    )


def _function(head: list[str], pairs: Sequence[tuple[str, str]]) -> str:
    body = [f"    {left} = {right}" for left, right in pairs]
    return "\n".join([*head, *body, f"    return {', '.join(left for left, _ in pairs)}"])


def _left_in_latex(target: str, *, rates: bool) -> str:
    name = target.removesuffix(_RATE) if rates else target
    name = written_as(name, "latex", derivatives_of=())
    return f"\\frac{{\\mathrm{{d}} {name}}}{{\\mathrm{{d}} t}}" if rates else name
