"""An equation beside the true one, as ``mdbench score`` and `mdbench.compare` say it.

Nothing here imports what takes long: SymPy is loaded by a child process while texts are read.
"""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from mdbench.errors import EquationError, UsageError, did_you_mean

from . import comparison
from .equation import parse
from .functions import CONSTANTS, FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

__all__ = ["Comparison", "compare"]

_Sizes: TypeAlias = "tuple[int | None, int | None]"
"""Nodes of an equation as it stands, and simplified."""
_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?!\w*\s*\()")


@dataclass(frozen=True)
class Comparison:
    """An equation beside the true one; what is None could not be decided, and `reasons` says why.

    Attributes
    ----------
    normalized_edit_distance
        Edits that make the one tree the other, over the nodes of the truth; at most 1 (SRSD).
    solution
        Whether they are the same but for a constant that is added or multiplied.
    srbench_solution
        The same by SRBench's own rule.
    complexity, simplified_complexity
        Nodes of the answer, as it stands and simplified; None where it cannot be read.
    true_complexity, true_simplified_complexity
        Those of the truth.
    reasons
        What there is to say of each of the first three.
    """

    normalized_edit_distance: float | None
    solution: bool | None
    srbench_solution: bool | None
    complexity: int | None
    simplified_complexity: int | None
    true_complexity: int | None
    true_simplified_complexity: int | None
    reasons: Mapping[str, str] = field(repr=False)


def compare(
    truth: str,
    answer: str,
    *,
    columns: Collection[str] | None = None,
    any_sign: Collection[str] = (),
    r2: float | None = None,
    seconds: int = comparison.MAX_SECONDS,
) -> Comparison:
    """Say how near an equation is to the true one, as ``mdbench score`` does.

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
    mdbench.errors.UsageError
        If `any_sign` names no column.
    mdbench.errors.EquationError
        If the truth cannot be read.

    Examples
    --------
    >>> import mdbench
    >>> found = mdbench.compare("x0*x1", "2*x1*x0")
    >>> found.solution, found.complexity, found.true_complexity
    (True, 4, 3)
    """
    names = list(columns or ())
    if columns is None:
        names = sorted(set(_NAME.findall(truth)) - {*FUNCTIONS, *CONSTANTS})
    domain = {name: dict(comparison.POSITIVE) for name in names}
    for name in any_sign:
        if name not in domain:
            raise UsageError(
                f"--any-sign names {name!r}, which is no column.", did_you_mean(name, domain)
            )
        domain[name]["sign"] = "mixed"
    comparison.start()  # SymPy loads while texts are read
    with ThreadPoolExecutor(1) as aside:
        # Nothing of this hangs on the distance, and it has a process of its own.
        others = aside.submit(_others, truth, answer, names, r2, seconds)
        distance = comparison.normalized_edit_distance(truth, answer, names, seconds=seconds)
        solution = comparison.symbolic_solution(truth, answer, domain, seconds=seconds)
        srbench, (nodes, simplified), (true_nodes, true_simplified) = others.result()
    edits = "" if distance.edits is None else f"{distance.edits} edits, "
    return Comparison(
        distance.value,
        solution.solved,
        srbench.solved,
        complexity=nodes,
        simplified_complexity=simplified,
        true_complexity=true_nodes,
        true_simplified_complexity=true_simplified,
        reasons={
            "normalized_edit_distance": distance.reason
            or f"{edits}{distance.nodes} nodes in the truth",
            "solution": _why(solution),
            "srbench_solution": _why(srbench),
        },
    )


def _others(
    truth: str, answer: str, names: list[str], r2: float | None, seconds: int
) -> tuple[comparison.Solution, _Sizes, _Sizes]:
    srbench = comparison.srbench_solution(truth, answer, names, r2=r2, seconds=seconds)
    return srbench, _nodes(answer, names, seconds), _nodes(truth, names, seconds)


def _why(found: comparison.Solution) -> str:
    return found.reason or (f"constant {found.how}" if found.how else "")


def _nodes(text: str, names: list[str], seconds: int) -> _Sizes:
    """Count the nodes of an equation as it stands, and simplified; None for what cannot be."""
    try:
        return comparison.complexities(text, names, seconds=seconds)
    except EquationError:
        pass
    try:  # it may be that only simplifying takes too long
        return parse(text, names).complexity, None
    except EquationError:
        return None, None
