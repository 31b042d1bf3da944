"""An answer next to the truth, term by term, as metrics and notes."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from eqverdict.atoms import monomial_text
from eqverdict.expand import expand
from eqverdict.fidelity.compare import Verdict
from eqverdict.fidelity.limited import score_terms
from eqverdict.fidelity.verdict import negligible, used
from eqverdict.tree import CONSTANTS, FUNCTIONS
from mdbench.datatypes.base import Scores
from mdbench.errors import EquationError
from mdbench.metrics.spec import MetricSpec, flag

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from eqverdict.atoms import Monomial
    from eqverdict.fidelity.compare import Term
    from mdbench.datatypes.base import Task
    from mdbench.metrics.spec import Value

_NAME = re.compile(r"[A-Za-z_]\w*")
_HANGS_ON_THE_DOMAIN = re.compile(r"[A-Za-z]\w*\s*\(|/|(\*\*|\^)\s*(?!\(?[+-]?\d+\)?(?![\w.]))")
"""A call, a fraction bar, or an exponent that is no whole number."""
_KEPT = frozenset[Any]()
"""The places of what only records hold."""


def _verdict(name: str, explanation: str, labels: tuple[str, ...]) -> MetricSpec:
    return MetricSpec(
        name=name,
        title=name,
        explanation=explanation,
        kind="label",
        labels=labels,
        better="neither",
        on_failure=None,
        aggregate="counts",
        places=_KEPT,
    )


TERM_METRICS = (
    flag(
        "identified",
        "identified",
        "answers with all true terms, no other, and every coefficient within 5 %",
        mark="✓",
        places={"board", "brief", "figure"},
    ),
    flag(
        "one_term_off",
        "one term off",
        "answers with one term of the whole system missing or extra, the others within 5 %",
        mark="±1",
        places={"board"},
    ),
    flag(
        "skeleton",
        "skeleton",
        "answers that some choice of their constants, none of which becomes idle, makes the truth",
        places={"board"},
    ),
    MetricSpec(
        name="f1",
        title="F1",
        explanation="harmonic mean of precision and recall of the terms; 0 without an answer",
        better="higher",
        on_failure=0.0,
        digits=2,
    ),
    _verdict(
        "symbolic",
        "what rewriting has proved of the answer",
        ("not proved", "equal", "unequal"),
    ),
    _verdict(
        "numerical",
        "what evaluating has proved of the answer: different from the truth at a point, equal, or "
        "equal to the truth with its constants moved by 5 % at most",
        ("apart", "equal", "near"),
    ),
    _verdict(
        "structural",
        "what the terms of the answer show, multiplied out",
        ("other", "one term off", "same"),
    ),
    MetricSpec(
        name="verdicts",
        title="verdicts",
        explanation="answers on which two of the three verdicts exclude each other: a fault of the "
        "scorer, named in the notes",
        kind="label",
        labels=("agree", "contradict"),
        better="neither",
        on_failure=None,
        aggregate="counts",
    ),
    MetricSpec(
        name="precision",
        title="precision",
        explanation="the share of the answer's terms that the truth has",
        better="higher",
        on_failure=0.0,
        digits=2,
        places=_KEPT,
    ),
    MetricSpec(
        name="recall",
        title="recall",
        explanation="the share of the truth's terms that the answer has",
        better="higher",
        on_failure=0.0,
        digits=2,
        places=_KEPT,
    ),
    MetricSpec(
        name="coefficient_error",
        title="coefficients",
        explanation="the largest relative error of a constant in the terms that answer and truth "
        "have in common",
        scale="log",
        on_failure=None,
        places=_KEPT,
    ),
    MetricSpec(
        name="term_edit_distance",
        title="term edits",
        explanation="nodes to change to make the answer the truth, both multiplied out and all "
        "constants alike, over the nodes of the truth; at most 1",
        on_failure=1.0,
        digits=2,
        places=frozenset({"answer"}),
    ),
)
"""All undecided where answer or truth are too large to be multiplied out.  There is no error of
coefficients where the two have no term with a constant in common."""


def noise_allows(data_type: str, dataset: str, snr_db: float | None) -> bool | None:
    """Whether a system can be identified at a noise level; None where nothing was computed."""
    if snr_db is None:
        return True  # clean data hide nothing
    from mdbench.datatypes.equations.identifiability import (  # noqa: PLC0415 - reports alone ask
        all_findings,
        identifiability,
    )

    findings = all_findings(data_type).get(dataset)
    return None if findings is None else identifiability(findings, snr_db).is_possible


def term_metrics(
    attainable: Callable[[str, float | None], bool | None],
) -> tuple[MetricSpec, ...]:
    """Return `TERM_METRICS` of a data type of whose datasets it is known which can be identified.

    Parameters
    ----------
    attainable
        As `MetricSpec.attainable`.
    """
    identified, *others = TERM_METRICS
    return replace(identified, attainable=attainable), *others


def compare_with_truth(truth: Sequence[str], equations: Sequence[str], task: Task[Any]) -> Scores:
    """Put an answer, whose equations have been read before, next to the truth.

    A term that the dataset names as unseen, since it cannot be seen in the data, is not asked for:
    an answer may have it or not, and the notes name those in which it differs.
    """
    # A table may lack a feature that the truth has.
    unknown = {name for text in truth for name in _NAME.findall(text)} - {*CONSTANTS, *FUNCTIONS}
    names = dict.fromkeys((*task.variables, *sorted(unknown)))
    domain = _domain(task, " ".join([*truth, *equations]))
    # Only data types whose files name such terms have them.
    unseen = getattr(task.dataset, "unseen_terms", ())
    excused: list[str] = []
    if unseen:
        truth, equations, excused = without_unseen(
            truth, equations, task.targets, unseen, tuple(names)
        )
    try:
        comparison = score_terms(
            truth,
            equations,
            task.variables,
            truth_variables=tuple(names),
            domain=domain,
            skeleton=True,
        )
    except EquationError:
        return Scores(dict.fromkeys(spec.name for spec in TERM_METRICS))
    if comparison.reason:
        unknown_scores: dict[str, Value] = dict.fromkeys(spec.name for spec in TERM_METRICS)
        return Scores(unknown_scores | {"identified": 0.0}, {"scorer": [comparison.reason]})
    terms = (*comparison.matched, *comparison.extra, *comparison.missing)
    small = negligible(terms, task.test.columns, task.test.targets)

    def named(terms: Iterable[Term]) -> list[str]:
        return [f"{task.targets[term.equation]}: {term.text}" for term in terms]

    undecided = comparison.verdict in {Verdict.UNDECIDED, Verdict.NOT_IDENTIFIED}
    metrics: dict[str, Value] = {
        "identified": None if comparison.identified is None else float(comparison.identified),
        "one_term_off": None if undecided else float(comparison.verdict is Verdict.ONE_TERM_OFF),
        "skeleton": None if comparison.skeleton is None else float(comparison.skeleton),
        "symbolic": comparison.symbolic,
        "numerical": _known(comparison.numerical),
        "structural": _known(comparison.structural),
        "verdicts": "contradict" if comparison.contradictions else "agree",
        "f1": comparison.f1,
        "precision": comparison.precision,
        "recall": comparison.recall,
        "term_edit_distance": comparison.edit_distance,
    }
    if comparison.coefficient_error is not None:
        metrics["coefficient_error"] = comparison.coefficient_error
    notes = {"missing": comparison.missing, "extra": comparison.extra, "negligible": small}
    remarks = {word: named(terms) for word, terms in notes.items() if terms}
    remarks["numerical"] = [
        f"{target}: {explanation}"
        for target, explanation in zip(task.targets, comparison.explanations, strict=True)
        if explanation
    ]
    if off := comparison.constants_off:
        remarks["coefficients"] = [
            f"all terms are right; constants are off by up to {100 * off:.2g} %"
        ]
    remarks["contradictions"] = list(comparison.contradictions)
    remarks["extra_structure"] = [
        f"{target}: a part of the answer has no effect on the domain"
        for target, extra in zip(task.targets, comparison.extra_structure, strict=True)
        if extra
    ]
    # Where two functions are compared: half as wide again as all that is known, with its sign.
    remarks["domain"] = [f"{name}: {low:.4g} to {high:.4g}" for name, (low, high) in domain.items()]
    remarks["unseen"] = excused
    return Scores(metrics, {word: texts for word, texts in remarks.items() if texts})


def coefficient_distance(
    truth: Sequence[str], answer: Sequence[str], variables: tuple[str, ...]
) -> float | None:
    r"""Return the error of all coefficients of the terms, those of both multiplied out.

    .. math:: \lVert \hat\Xi - \Xi \rVert / \lVert \Xi \rVert

    Returns
    -------
    float or None
        None where one cannot be multiplied out, or where the truth is zero.

    References
    ----------
    Kaptanoglu et al., "Benchmarking sparse system identification with low-dimensional chaos",
    Nonlinear Dynamics 111, 13143, 2023.

    Examples
    --------
    >>> coefficient_distance(["3*u0 + 4*u1"], ["3*u0 + u0*u1"], ("u0", "u1"))
    0.8246211251235321
    """
    off = size = 0.0
    try:
        for true, found in zip(truth, answer, strict=True):
            t, p = expand(true, variables), expand(found, variables)
            size += sum(float(value) ** 2 for value in t.values())
            off += sum(float(p.get(one, 0) - t.get(one, 0)) ** 2 for one in {*t, *p})
    except (EquationError, OverflowError):
        return None
    return float(np.sqrt(off / size)) if size else None


def _known(verdict: str | None) -> Value:
    return None if verdict == "unknown" else verdict


def _domain(task: Task[Any], text: str) -> dict[str, tuple[float, float]]:
    """Return the least and the largest value of the variables of a text, of all rows there are.

    Empty where no identity in it could depend on them, as many columns take long to make.
    """
    if not _HANGS_ON_THE_DOMAIN.search(text):
        return {}
    ends_by_name: dict[str, tuple[float, float]] = {}
    for part in (task.refit, task.test):
        for name in used(text, part.columns):
            column = part.columns[name]
            low, high = ends_by_name.get(name, (np.inf, -np.inf))
            ends_by_name[name] = min(low, float(column.min())), max(high, float(column.max()))
    return {name: ends for name, ends in ends_by_name.items() if np.isfinite(ends).all()}


_OFF = 1
"""A coefficient that is further off than this share is one that the data would show to be wrong."""
_DIGITS = 6


def without_unseen(
    truth: Sequence[str],
    answer: Sequence[str],
    targets: Sequence[str],
    unseen: Sequence[tuple[str, str]],
    names: tuple[str, ...],
) -> tuple[list[str], list[str], list[str]]:
    """Take the unseen terms out of the truth, and out of an answer that has them about right.

    Parameters
    ----------
    truth, answer
        A right-hand side for each of the targets.
    unseen
        Terms by target and text; coefficients in the text are of no account.
    names
        That the equations may use.

    Returns
    -------
    truth, answer
        Without these terms, but as they were where they are too large to be multiplied out.
    named
        The terms that the answer lacks or has with another coefficient, after their targets.

    Examples
    --------
    >>> without_unseen(["2*a + b"], ["b"], ["a_t"], [("a_t", "a")], ("a", "b"))
    (['2*a + b - (2*a)'], ['b'], ['a_t: 2*a'])
    """
    true, answers, named = list(truth), list(answer), []
    for i, target in enumerate(targets):
        texts = [text for each, text in unseen if each == target]
        if not texts:
            continue
        try:
            t, p = expand(truth[i], names), expand(answer[i], names)
        except EquationError:
            continue
        terms: list[Monomial] = [one for text in texts for one in expand(text, names) if one in t]
        for term in terms:
            true[i] += f" - ({monomial_text(term, t[term])})"
            if term in p and abs(p[term] / t[term] - 1) <= _OFF:
                answers[i] += f" - ({monomial_text(term, p[term])})"
            if p.get(term) != t[term]:
                named.append(f"{target}: {monomial_text(term, t[term], _DIGITS)}")
    return true, answers, named
