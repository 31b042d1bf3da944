"""An equation compared with the true one, by all scores of one answer.

Nothing here imports SymPy, which takes long: a child process loads it while texts are read.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from eqverdict import srbench
from eqverdict.equation import parse
from eqverdict.errors import EquationError, UsageError, counted, did_you_mean
from eqverdict.fidelity import limited
from eqverdict.grammar import NO_NUMBERS
from eqverdict.notations import in_core_notation
from eqverdict.printers import names_in

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

UNREADABLE = "unreadable"
"""The verdict on an answer that cannot be read; all its other scores are None."""
_ASKED = ("verdict", "normalized_edit_distance", "solution", "srbench_solution")
"""The scores that have a reason."""
_POSITIVE, _ANY_SIGN = (0.1, 10.0), (-10.0, 10.0)
"""The ranges of variables, positive and of either sign, in which two equations are compared."""

_POINTS, _SAME = 25, 1e-6
"""Points at which values are compared, and the share by which equal ones may differ."""

_Sizes: TypeAlias = "tuple[int | None, int | None]"
"""Nodes of an equation as it is written, and simplified."""


_SHORT = 100
"""Characters of two equations below which loading SymPy takes longer than their comparison."""


@dataclass(frozen=True)
class Comparison:
    """An equation compared with the true one; None is undecided, and `reasons` has the reason.

    Attributes
    ----------
    verdict
        ``identified``, ``one_term_off``, ``different``, ``not identified`` (one term off or
        different), ``undecided``, or ``unreadable``: then all else is None.
    identified
        Whether all terms of the truth are there and no other, and every constant is within 5 %:
        the rule of records (``docs/fidelity.md``).
    normalized_edit_distance
        Edits that make the one tree the other, over the nodes of the truth; at most 1 (SRSD).
    distance_unless_equal
        The edit distance as above, but 0 where the two are proved equal; numbers are
        compared to six digits.
    solution
        Whether they are the same but for a constant that is added or multiplied.
    srbench_solution
        The same by SRBench's own rule.
    complexity, simplified_complexity
        Nodes of the answer, as written and simplified; None where it cannot be read.
    true_complexity, true_simplified_complexity
        The number of nodes of the truth.
    missing, extra
        The terms that only the truth, or only the answer, has.
    coefficient_error
        The largest relative error of a constant in the terms that both have; None without any.
    reasons
        Explanations of the verdict, the distance and the two solutions.
    """

    verdict: str
    identified: bool | None = None
    normalized_edit_distance: float | None = None
    distance_unless_equal: float | None = None
    solution: bool | None = None
    srbench_solution: bool | None = None
    complexity: int | None = None
    simplified_complexity: int | None = None
    true_complexity: int | None = None
    true_simplified_complexity: int | None = None
    missing: tuple[str, ...] | None = None
    extra: tuple[str, ...] | None = None
    coefficient_error: float | None = None
    reasons: Mapping[str, str] = field(repr=False, kw_only=True)


def compare(
    truth: str,
    answer: str,
    *,
    columns: Collection[str] | None = None,
    any_sign: Collection[str] = (),
    r2: float | None = None,
    seconds: int = srbench.MAX_SECONDS,
) -> Comparison:
    """Return how near an equation is to the true one, as ``mdbench score`` does.

    Parameters
    ----------
    truth, answer
        Right-hand sides.
    columns
        The names that they may use; by default those in the truth.
    any_sign
        Which of them may be negative; all others are taken for positive.
    r2
        Of the answer on test data, for SRBench's own rule.
    seconds
        CPU time that a symbolic step may take.

    Raises
    ------
    UsageError
        If `any_sign` names no column.
    EquationError
        If the truth cannot be read.

    Examples
    --------
    >>> import eqverdict
    >>> found = eqverdict.compare("x0*x1", "2*x1*x0")
    >>> found.solution, found.complexity, found.true_complexity
    (True, 4, 3)
    >>> found.verdict, found.identified
    ('different', False)
    >>> found = eqverdict.compare("x0*x1", "erf(x0)")
    >>> found.verdict, found.identified, found.solution
    ('unreadable', None, None)
    """
    truth = in_core_notation(truth, columns)
    names = list(columns or ())
    if columns is None:
        names = sorted(name for name in names_in(truth) if name.lower() not in NO_NUMBERS)
    domain = {name: dict(srbench.POSITIVE) for name in names}
    for name in any_sign:
        if name not in domain:
            raise UsageError(
                f"--any-sign names {name!r}, which is no column.", did_you_mean(name, domain)
            )
        domain[name]["sign"] = "mixed"
    parse(truth, names)
    try:
        answer = parse(answer, names).text
    except EquationError as error:
        return unreadable(f"the answer cannot be read: {error.message}.  {error.hint}".strip())
    # Processes load while texts are read.
    limited.start()
    srbench.start(aside=len(truth) + len(answer) > _SHORT)
    with ThreadPoolExecutor(1) as aside:
        # None of this depends on the distance, and it has its own process.
        others = aside.submit(_others, truth, answer, names, r2, seconds)
        try:
            distance = srbench.normalized_edit_distance(truth, answer, names, seconds=seconds)
        except EquationError as error:  # both can be read, and the truth has no canonical form
            distance = srbench.Distance(None, None, 0, error.message)
        solution = srbench.symbolic_solution(truth, answer, domain, seconds=seconds)
        by_srbench, (nodes, simplified), (true_nodes, true_simplified) = others.result()
    equal = bool(solution.solved) and _equal_somewhere(truth, answer, names, any_sign)
    edits = "" if distance.edits is None else f"{counted(distance.edits, 'edit')}, "
    terms, why = _terms(truth, answer, names, any_sign)
    return Comparison(
        **terms,
        normalized_edit_distance=distance.value,
        distance_unless_equal=0.0 if equal else distance.value,
        solution=solution.solved,
        srbench_solution=by_srbench.solved,
        complexity=nodes,
        simplified_complexity=simplified,
        true_complexity=true_nodes,
        true_simplified_complexity=true_simplified,
        reasons={
            "verdict": why,
            "normalized_edit_distance": distance.reason
            or f"{edits}{counted(distance.nodes, 'node')} in the truth",
            "solution": _why(solution),
            "srbench_solution": _why(by_srbench),
        },
    )


def unreadable(why: str) -> Comparison:
    """Return what is known of an equation that cannot be read: nothing but the reason."""
    return Comparison(UNREADABLE, reasons=dict.fromkeys(_ASKED, why))


def _equal_somewhere(truth: str, answer: str, names: list[str], any_sign: Collection[str]) -> bool:
    """Whether equations whose difference or ratio is constant are equal: by values at some points.

    Where one or the other is constant, one point decides; rounding may spoil some of the values.
    """
    generator = np.random.default_rng(0)
    columns = {
        name: generator.uniform(*(_ANY_SIGN if name in any_sign else _POSITIVE), _POINTS)
        for name in names
    }
    true_values, answer_values = (parse(text, names).evaluate(columns) for text in (truth, answer))
    true_values, answer_values = (
        np.broadcast_to(values, (_POINTS,)) for values in (true_values, answer_values)
    )
    known = np.isfinite(true_values) & np.isfinite(answer_values)
    sizes = np.maximum(np.abs(true_values), np.abs(answer_values))[known]
    off = np.abs(true_values[known] - answer_values[known])
    return bool(known.any() and np.median(off <= _SAME * sizes))


def _terms(
    truth: str, answer: str, names: list[str], any_sign: Collection[str]
) -> tuple[dict[str, Any], str]:
    """Compare the two term by term; return the differences, too."""
    domain = {name: _ANY_SIGN if name in any_sign else _POSITIVE for name in names}
    comparison = limited.score_terms([truth], [answer], names, domain=domain)
    if comparison.reason:
        return {"verdict": comparison.verdict.value, "identified": False}, comparison.reason
    terms: dict[str, Any] = {
        "verdict": comparison.verdict.value,
        "identified": comparison.identified,
        "missing": tuple(term.text for term in comparison.missing),
        "extra": tuple(term.text for term in comparison.extra),
        "coefficient_error": comparison.coefficient_error,
    }
    why = [f"{word}: {', '.join(terms[word])}" for word in ("missing", "extra") if terms[word]]
    if off := comparison.constants_off:
        why.append(f"all terms are right; constants are off by up to {100 * off:.2g} %")
    return terms, "; ".join(why)


def _others(
    truth: str, answer: str, names: list[str], r2: float | None, seconds: int
) -> tuple[srbench.Solution, _Sizes, _Sizes]:
    by_srbench = srbench.srbench_solution(truth, answer, names, r2=r2, seconds=seconds)
    return by_srbench, _nodes(answer, names, seconds), _nodes(truth, names, seconds)


def _why(found: srbench.Solution) -> str:
    return found.reason or (f"constant {found.how}" if found.how else "")


def _nodes(text: str, names: list[str], seconds: int) -> _Sizes:
    """Count the nodes of an equation as written, and simplified; None for what cannot be."""
    try:
        return srbench.complexities(text, names, seconds=seconds)
    except EquationError:
        pass
    try:  # it may be that only simplifying takes too long
        return parse(text, names).complexity, None
    except EquationError:
        return None, None
