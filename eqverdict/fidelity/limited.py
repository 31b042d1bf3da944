"""The verdict on an answer within a limit of work and memory, in a process that can be killed.

The limit is one of work, see `limited_process`: it is the same on every machine.  What exceeds it
is not the truth as far as anybody can tell, and counts as not identified.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from eqverdict.equation import parse
from eqverdict.errors import EquationError
from eqverdict.fidelity.compare import Term, Verdict, compare
from eqverdict.limited_process import LimitedProcess

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SECONDS = 20
"""Reference seconds for the verdict on one answer: on a core of 2024 about seconds of CPU time."""
MAX_BYTES = 1 << 30
"""Memory for one answer."""


@dataclass(frozen=True)
class TermScores:
    """What `compare.TermComparison` has of an answer, all worked out.

    Attributes
    ----------
    verdict
        ``NOT_IDENTIFIED`` where the limit was met.
    explanations, extra_structure
        By equation.
    skeleton
        Whether each equation is the true one with other constants; None where it is undecided.
    reason
        Why no more is known; empty where the limit was not met.
    """

    verdict: Verdict
    identified: bool | None
    f1: float | None = None
    precision: float | None = None
    recall: float | None = None
    edit_distance: float | None = None
    coefficient_error: float | None = None
    constants_off: float | None = None
    matched: tuple[Term, ...] = ()
    missing: tuple[Term, ...] = ()
    extra: tuple[Term, ...] = ()
    symbolic: str | None = None
    numerical: str | None = None
    structural: str | None = None
    contradictions: tuple[str, ...] = ()
    explanations: tuple[str, ...] = ()
    extra_structure: tuple[bool, ...] = ()
    skeleton: bool | None = None
    reason: str = ""


def score_terms(
    truth: Sequence[str],
    prediction: Sequence[str],
    variables: Sequence[str],
    *,
    truth_variables: Sequence[str] | None = None,
    domain: Mapping[str, tuple[float, float]] | None = None,
    skeleton: bool = False,
) -> TermScores:
    """Compare an answer with the truth as `compare.compare` does, within the limit.

    Parameters
    ----------
    skeleton
        Whether the skeleton is compared, too.

    Raises
    ------
    EquationError
        If an equation cannot be read.
    """
    names = list(variables if truth_variables is None else truth_variables)
    for texts, known in ((truth, names), (prediction, variables)):
        for text in texts:
            parse(text, known)
    question = {
        "truth": list(truth),
        "prediction": list(prediction),
        "variables": list(variables),
        "truth_variables": names,
        "domain": {name: list(map(float, ends)) for name, ends in (domain or {}).items()},
    }
    reply = _ask(json.dumps(question | {"ask": "terms"}), SECONDS)
    if "error" in reply:
        reason = f"no verdict: {_why(reply)}"
        return TermScores(Verdict.NOT_IDENTIFIED, identified=False, reason=reason)
    groups: dict[str, Any] = {
        name: tuple(values) for name, values in reply.items() if isinstance(values, list)
    }
    groups |= {name: tuple(Term(**term) for term in reply[name]) for name in _TERMS}
    scores = TermScores(**reply | groups | {"verdict": Verdict(reply["verdict"])})
    if not skeleton:
        return scores
    same = True if scores.identified else _same_skeleton(question)
    return TermScores(**vars(scores) | {"skeleton": same})


def same_skeleton(
    truth: str,
    prediction: str,
    true_names: Sequence[str],
    names: Sequence[str],
    domain: Sequence[tuple[str, float, float]],
) -> bool | None:
    """Compare as `skeleton.same_skeleton` does, within the limit; None where it is met."""
    return _same_skeleton(
        {
            "truth": [truth],
            "prediction": [prediction],
            "variables": list(names),
            "truth_variables": list(true_names),
            "domain": {name: [low, high] for name, low, high in domain},
        }
    )


def _same_skeleton(question: Mapping[str, Any]) -> bool | None:
    same: bool | None = _ask(json.dumps({**question, "ask": "skeleton"}), SECONDS).get("skeleton")
    return same


def start() -> None:
    """Start the process, without waiting for it; the first question would do so, too."""
    _child.start()


def _why(answer: Mapping[str, Any]) -> str:
    limit = f"an answer may take {SECONDS} reference seconds and {MAX_BYTES >> 30} GiB of memory"
    return f"{answer['error']}; {limit}"


@lru_cache(maxsize=1_024)
def _ask(question: str, seconds: int) -> dict[str, Any]:
    reply = _child.ask(json.loads(question), seconds)
    reply.pop("cpu_s", None)
    return reply


_child = LimitedProcess(__name__, SECONDS, MAX_BYTES, in_work=True)


def prepare() -> None:
    """Load what a verdict needs: no part of a question's time."""
    answer(
        {
            "ask": "terms",
            "truth": ["sin(x)/(x + 2)"],
            "prediction": ["0.5*sin(x)/(0.5*x + 1) + 1e-3"],
            "variables": ["x"],
            "truth_variables": ["x"],
            "domain": {},
        }
    )


def answer(question: dict[str, Any]) -> dict[str, Any]:
    """Answer a question of this module: the child's side."""
    truth, prediction = question["truth"], question["prediction"]
    names, true_names = tuple(question["variables"]), tuple(question["truth_variables"])
    domain = {name: (low, high) for name, (low, high) in question["domain"].items()}
    if question["ask"] == "skeleton":
        ranges = tuple((name, *ends) for name, ends in domain.items())
        return {"skeleton": _skeleton(truth, prediction, true_names, names, ranges)}
    try:
        reply = compare(truth, prediction, names, truth_variables=true_names, domain=domain)
    except EquationError as error:
        return {"error": error.message}  # both can be read, and are too large
    checks = reply.findings
    return {
        "verdict": reply.verdict.value,
        "identified": reply.identified,
        **{name: getattr(reply, name) for name in _NUMBERS},
        **{name: [asdict(term) for term in getattr(reply, name)] for name in _TERMS},
        **{name: getattr(checks, name).value for name in ("symbolic", "numerical", "structural")},
        "contradictions": list(checks.contradictions),
        "explanations": [each.explanation for each in reply.by_equation],
        "extra_structure": [each.extra_structure for each in reply.by_equation],
    }


_TERMS = ("matched", "missing", "extra")
_NUMBERS = ("f1", "precision", "recall", "edit_distance", "coefficient_error", "constants_off")


def _skeleton(
    truth: Sequence[str],
    prediction: Sequence[str],
    true_names: tuple[str, ...],
    names: tuple[str, ...],
    ranges: tuple[tuple[str, float, float], ...],
) -> bool | None:
    """Whether for each equation some choice of its constants makes it the true one."""
    from eqverdict.fidelity.skeleton import same_skeleton as same  # noqa: PLC0415

    undecided = False
    for true, text in zip(truth, prediction, strict=True):
        try:
            reply = same(true, text, true_names, names, ranges)
        except EquationError:
            reply = None
        if reply is False:
            return False
        undecided = undecided or reply is None
    return None if undecided else True
