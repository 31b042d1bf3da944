"""``mdbench score``: an equation beside the true one."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich import box
from rich.markup import escape
from rich.table import Table

from mdbench.errors import EquationError
from mdbench.expressions.comparison import MAX_SECONDS
from mdbench.expressions.fidelity import compare as beside
from mdbench.expressions.languages import names_in
from mdbench.expressions.scores import compare

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from mdbench.expressions.scores import Comparison
    from mdbench.expressions.verdicts import TermComparison

__all__ = ["score"]

_POSITIVE, _ANY_SIGN = (0.1, 10.0), (-10.0, 10.0)
"""Where the two have to be the same."""


def score(
    truth: str,
    prediction: str,
    columns: str | None,
    console: Console,
    *,
    any_sign: str | None = None,
    r2: float | None = None,
    seconds: int = MAX_SECONDS,
    json_: bool = False,
) -> None:
    """Print how near a prediction is to the truth."""
    names = None if columns is None else _split(columns)
    signed = _split(any_sign or "")
    found = compare(truth, prediction, columns=names, any_sign=signed, r2=r2, seconds=seconds)
    terms = _terms(truth, prediction, names or names_in(truth), signed)
    if json_:
        print(json.dumps(_as_json(found, terms), allow_nan=False))
        return
    table = Table(box=box.SIMPLE_HEAD, show_header=False)
    distance = found.normalized_edit_distance
    verdict, why = _verdict(terms)
    table.add_row("verdict", verdict, escape(why))
    rows = [
        ("normalized edit distance", "undecided" if distance is None else f"{distance:.3f}"),
        ("symbolic solution", _said(found.solution)),
        ("SRBench's solution", _said(found.srbench_solution)),
    ]
    for (title, says), reason in zip(rows, found.reasons.values(), strict=True):
        table.add_row(title, says, escape(reason))
    for title, count, true in (
        ("complexity", found.complexity, found.true_complexity),
        ("simplified complexity", found.simplified_complexity, found.true_simplified_complexity),
    ):
        table.add_row(title, _known(count), f"truth {_known(true)}")  # the lines above say why
    console.print(table)


def _terms(
    truth: str, prediction: str, names: Sequence[str], signed: Sequence[str]
) -> TermComparison | None:
    """Put the two beside each other term by term; None where one cannot be read."""
    domain = {name: _ANY_SIGN if name in signed else _POSITIVE for name in names}
    try:
        return beside([truth], [prediction], names, domain=domain)
    except EquationError:
        return None


def _verdict(terms: TermComparison | None) -> tuple[str, str]:
    if terms is None:
        return "undecided", "it cannot be read with these names"
    why = [
        f"{word}: {', '.join(term.text for term in found)}"
        for word, found in (("missing", terms.missing), ("extra", terms.extra))
        if found
    ]
    if off := terms.constants_off:
        why.append(f"all terms are right; constants are off by up to {100 * off:.2g} %")
    return terms.verdict.value.replace("_", " "), "; ".join(why)


def _as_json(found: Comparison, terms: TermComparison | None) -> dict[str, Any]:
    """Give all of it; what is null could not be decided."""
    told: dict[str, Any] = {"schema": 1, **asdict(found), "reasons": dict(found.reasons)}
    told["verdict"] = None if terms is None else terms.verdict.value
    told["missing"] = None if terms is None else [term.text for term in terms.missing]
    told["extra"] = None if terms is None else [term.text for term in terms.extra]
    told["coefficient_error"] = None if terms is None else terms.coefficient_error
    return told


def _said(verdict: bool | None) -> str:
    return "undecided" if verdict is None else "yes" if verdict else "no"


def _known(count: int | None) -> str:
    return "-" if count is None else str(count)


def _split(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
