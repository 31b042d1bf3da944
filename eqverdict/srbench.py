"""The comparison of SRBench: symbolic solutions and edit distances of trees.

Everything that SymPy does for it is done in a child process with a limit on time and memory,
and no question is put twice.
"""

from __future__ import annotations

import json
import re
import threading
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from eqverdict.equation import MAX_BYTES, SYMPY_WORKER, parse
from eqverdict.errors import EquationError
from eqverdict.limited_process import LimitedProcess

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

MAX_SECONDS = 60
"""CPU time for one step, by default."""
POSITIVE: dict[str, Any] = {
    "distribution": "log-uniform",
    "low": 0.1,
    "high": 10.0,
    "sign": "positive",
}
"""The domain of a variable of which nothing is known."""
MAX_TOKENS = 4_000
"""Numbers, names and signs of an equation beyond which SymPy is not asked."""
_TOKEN = re.compile(r"[\w.]+|\*\*|[-+*/^]")
DIGITS = 6
"""Significant digits of the numbers of an equation, by default."""


@dataclass(frozen=True)
class Distance:
    """A normalized edit distance.

    Attributes
    ----------
    value
        From 0, the same tree, to 1; None where it could not be decided.
    edits
        Nodes to insert, delete or rename; None where it does not matter how many, as they are
        more than the truth has nodes, or where there is no tree to compare.
    nodes
        How many nodes the truth has.
    reason
        Why there is no tree to compare; empty if there is.
    """

    value: float | None
    edits: int | None
    nodes: int
    reason: str = ""


@dataclass(frozen=True)
class Solution:
    """Whether a prediction is a solution.

    Attributes
    ----------
    solved
        Whether it is; None where it could not be decided.
    how
        ``difference`` or ``ratio``: which of the two is constant; empty if none is.
    reason
        Why it is none, or could not be decided; empty if SymPy found out.
    """

    solved: bool | None
    how: str = ""
    reason: str = ""


def normalized_edit_distance(
    truth: str,
    prediction: str | None,
    variables: Collection[str],
    *,
    seconds: int = MAX_SECONDS,
) -> Distance:
    r"""Return the edit distance between the trees of two equations, over the size of the true one.

    .. math:: \min\left(1, \frac{d(f_\text{pred}, f_\text{true})}{|f_\text{true}|}\right)

    Parameters
    ----------
    truth
        The true right-hand side.
    prediction
        The one to be scored.  None and a text that cannot be read have the distance 1; one that
        is too large for SymPy, or for which it needs too much time or memory, has none.
    variables
        The names that both may use.  They are compared as they are, never renumbered.
    seconds
        CPU time for each of the two trees, and for their distance.

    Raises
    ------
    EquationError
        If the truth cannot be read, or SymPy cannot find its canonical form.

    References
    ----------
    Matsubara et al., "Rethinking symbolic regression datasets and benchmarks for scientific
    discovery", eq. 3.
    """
    names = sorted(variables)
    parse(truth, names)
    true = _ask({"ask": "tree", "text": truth, "variables": names}, seconds)
    if "error" in true:
        raise EquationError(
            f"The truth {truth[:40]!r} has no canonical form: {true['error']}", _limits(seconds)
        )
    nodes = len(true["labels"])
    fault = _fault(prediction, names)
    if fault:
        return Distance(1.0, None, nodes, fault)
    tree = _ask({"ask": "tree", "text": prediction, "variables": names}, seconds)
    if "error" in tree:
        return Distance(None, None, nodes, tree["error"])
    if len(tree["labels"]) >= 2 * nodes:
        # No fewer edits than the trees differ in size.
        return Distance(1.0, None, nodes)
    reply = _ask({"ask": "distance", "trees": [true, tree]}, seconds)
    if "error" in reply:
        return Distance(None, None, nodes, reply["error"])
    edits = int(reply["distance"])
    return Distance(min(1.0, edits / nodes), edits, nodes)


def symbolic_solution(
    truth: str,
    prediction: str | None,
    domain: Mapping[str, Mapping[str, Any]],
    *,
    digits: int | None = DIGITS,
    seconds: int = MAX_SECONDS,
) -> Solution:
    """Return whether a prediction is the truth, but for a constant term or factor.

    It is if it is not constant, and either truth minus prediction is a constant, or prediction
    over truth is one and not zero.

    Parameters
    ----------
    truth, prediction
        Right-hand sides; None and a text that cannot be read are no solution.  Of one that is too
        large for SymPy, or for which it needs too much time or memory, it is not known.
    domain
        For each variable the keys ``distribution`` (``uniform``, ``log-uniform`` or
        ``uniform-integer``), ``low``, ``high`` and ``sign`` (``positive``, ``negative``,
        ``mixed`` or ``range``); the two are compared there, and only there.
    digits
        As fitted numbers are never exact, the two are compared as they stand, and once more
        with all numbers rounded to so many significant digits; None for the first only.
    seconds
        CPU time for all of it.

    Raises
    ------
    EquationError
        If the truth cannot be read.

    References
    ----------
    La Cava et al., "Contemporary symbolic regression methods and their relative performance",
    NeurIPS 2021, definition 4.1.
    """
    spreads = {name: dict(spread) for name, spread in domain.items()}
    question = {"ask": "solution", "domain": spreads, "digits": digits}
    return _solution(truth, prediction, domain, question, seconds)


def srbench_solution(
    truth: str,
    prediction: str | None,
    variables: Collection[str],
    *,
    r2: float | None = None,
    seconds: int = MAX_SECONDS,
) -> Solution:
    """Return whether a prediction is a solution by SRBench's code.

    All floats are first rounded to three decimals, those below 1e-4 to zero, so that near
    misses are solutions and laws with small constants cannot be judged; no variable is known
    to be positive; the ratio is not simplified.

    Parameters
    ----------
    truth, prediction, variables, seconds
        As for `normalized_edit_distance`.
    r2
        On the test data; a prediction whose R2 is not above 0.5 is no solution.  None if
        it is not known.

    Raises
    ------
    EquationError
        If the truth cannot be read.
    """
    names = sorted(variables)
    question = {"ask": "srbench", "variables": names, "r2": r2}
    return _solution(truth, prediction, names, question, seconds)


def _counts(
    ask: str, verb: str, text: str, variables: Collection[str], seconds: int
) -> dict[str, Any]:
    """Ask SymPy to count something of an equation; raises as `complexities`."""
    names = sorted(variables)
    parse(text, names)
    reply = _ask({"ask": ask, "text": text, "variables": names}, seconds)
    if "error" in reply:
        raise EquationError(
            f"SymPy cannot {verb} {text[:40]!r}: {reply['error']}", _limits(seconds)
        )
    return reply


def complexities(
    text: str, variables: Collection[str], *, seconds: int = MAX_SECONDS
) -> tuple[int, int]:
    """Count the nodes of an equation as written, and of what SymPy simplifies it to.

    The first is `Equation.complexity`.

    Raises
    ------
    EquationError
        If the text cannot be read, or SymPy needs too much time or memory.
    """
    found = _counts("complexities", "simplify", text, variables, seconds)
    return int(found["complexity"]), int(found["simplified"])


def operations(text: str, variables: Collection[str], *, seconds: int = MAX_SECONDS) -> int:
    """Count the operations of an equation as SymPy does.

    Raises
    ------
    EquationError
        If the text cannot be read, or SymPy needs too much time or memory.
    """
    found = _counts("operations", "count the operations of", text, variables, seconds)
    return int(found["operations"])


def start(*, aside: bool = True) -> None:
    """Start the processes that compare, without waiting; the first question to each would, too.

    Parameters
    ----------
    aside
        Whether questions for the second process are worth a process: each loads SymPy, which takes
        half a second.  Without it the first one answers all.
    """
    if aside:
        _both.set()
    for child in _children[: 1 + aside]:
        child.start()


def _fault(prediction: str | None, variables: Collection[str]) -> str:
    """Return why a prediction cannot be looked at; empty if it can."""
    if prediction is None:
        return "there is no prediction"
    try:
        parse(prediction, variables)
    except EquationError as error:
        return error.message
    return ""


def _solution(
    truth: str,
    prediction: str | None,
    variables: Collection[str],
    question: dict[str, Any],
    seconds: int,
) -> Solution:
    """Ask whether a prediction is a solution, once both have been read."""
    parse(truth, variables)
    if fault := _fault(prediction, variables):
        return Solution(False, reason=fault)
    answer = _ask({**question, "truth": truth, "prediction": prediction}, seconds)
    if "error" in answer:
        return Solution(None, reason=answer["error"])
    return Solution(bool(answer["how"]), how=answer["how"])


def _limits(seconds: int) -> str:
    return f"A step may take {seconds} s and {MAX_BYTES >> 30} GiB of memory."


def _ask(question: dict[str, Any], seconds: int) -> dict[str, Any]:
    # The first limit is one of size, which is the same on every machine.
    for name in ("truth", "prediction", "text"):
        size = len(_TOKEN.findall(question.get(name, "")))
        if size > MAX_TOKENS:
            return {"error": f"it has {size} numbers, names and signs; {MAX_TOKENS} are worked on"}
    return _answer(json.dumps(question), seconds)


@lru_cache(maxsize=4_096)
def _answer(question: str, seconds: int) -> dict[str, Any]:
    """Ask the child once: what took it too long would do so again."""
    asked = json.loads(question)
    return _children[_both.is_set() and asked["ask"] in _ASIDE].ask(asked, seconds)


_ASIDE = frozenset({"srbench", "complexities"})
"""Questions for a second process, so that they are answered in parallel with the rest."""
_both = threading.Event()
_children = tuple(
    LimitedProcess(SYMPY_WORKER, MAX_SECONDS, MAX_BYTES, in_work=True) for _ in range(2)
)
