"""``mdbench lab why-not``: what noise hides of a system."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import asdict
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from rich.markup import escape

from mdbench.cli.options import Exit
from mdbench.datatypes.equations.identifiability import (
    LEFT_SIDES,
    WORTH,
    Finding,
    Findings,
    all_findings,
    identifiability,
)
from mdbench.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

_MOST_DB = 300.0


def explain(patterns: Sequence[str], snr_db: float, console: Console, *, json_: bool) -> int:
    """Print for each system whether it can be identified, and what is in the way.

    Raises
    ------
    UsageError
        If nothing is known of a system, or the noise level is not possible.
    """
    if not abs(snr_db) <= _MOST_DB:
        raise UsageError(f"--snr is {snr_db:g}.", "Give a signal-to-noise ratio in dB: 20")
    known = {
        name: (left, findings)
        for data_type, left in LEFT_SIDES.items()
        for name, findings in all_findings(data_type).items()
    }
    names: list[str] = []
    for pattern in patterns:
        # Datasets with conditions are meant only where the pattern has some.
        meant = [name for name in known if "+" in pattern or "+" not in name]
        matching = [name for name in meant if fnmatchcase(name, pattern)]
        if not matching:
            raise UsageError(
                f"Nothing was computed of '{pattern}': why-not has the systems of ODEBench, with "
                "one trajectory or +trajectories=4, and most of the fields.",
                did_you_mean(pattern, known)
                or "mdbench list --datasets ode names the systems, --datasets pde the fields.",
            )
        names += [name for name in matching if name not in names]
    if json_:
        values = [_as_json(name, known[name][1], snr_db) for name in names]
        sys.stdout.write(json.dumps(values) + "\n")
        return Exit.DONE
    for name in names:
        for line in _lines(name, *known[name], snr_db):
            console.print(line, soft_wrap=True)
    return Exit.DONE


def _lines(name: str, left_side: str, findings: Findings, snr_db: float) -> list[str]:
    verdict = identifiability(findings, snr_db)
    strength = 10.0 ** (snr_db / 10)
    limits = findings.limits
    known = (
        f"All constants are within 5 % in half of all draws from {limits.half:.0f} dB on "
        f"(in 10 %: {limits.ten:.0f} dB, in 90 %: {limits.ninety:.0f} dB)."
    )
    if verdict.is_possible:
        nearest = min(findings.terms, key=lambda each: each.misfit)
        misfit = f"misfit {_number(nearest.misfit * strength)}"
        return [
            f"[bold]{escape(name)}[/] can be identified at {snr_db:g} dB.",
            f"  Nearest rival: {_rival(left_side, nearest)}: {misfit}.",
            f"  {known}",
        ]
    lines = [f"[bold]{escape(name)}[/] cannot be identified at {snr_db:g} dB."]
    if verdict.hidden:
        lines.append(
            f"  Without the term {escape(verdict.hidden.term)} of "
            f"{left_side.format(verdict.hidden.equation)}, {_rival(left_side, verdict.hidden)} "
            "is about as "
            f"likely: misfit {_number(verdict.hidden.misfit * strength)}, and {WORTH:g} are needed."
        )
    if verdict.vague:
        lines.append(
            f"  {known} The largest standard error here is "
            f"{_error(left_side, verdict.vague, strength)}."
        )
    return lines


def _rival(left: str, finding: Finding) -> str:
    return escape(f"{left.format(finding.equation)} = {finding.rival}" if finding.rival else "none")


def _error(left_side: str, finding: Finding, strength: float) -> str:
    share = 100 * finding.error / math.sqrt(strength)
    text = f"{share:.2g} %" if share < 1000 else "more than 1000 %"  # noqa: PLR2004 - tenfold
    return escape(f"{text} in the term {finding.term} of {left_side.format(finding.equation)}")


def _number(value: float) -> str:
    if value < 0.01:  # noqa: PLR2004 - two digits
        return "below 0.01"
    return f"{value:.2g}" if value < 100 else f"{value:,.0f}"  # noqa: PLR2004 - no powers of ten


def _as_json(name: str, findings: Findings, snr_db: float) -> dict[str, object]:
    verdict = identifiability(findings, snr_db)
    strength = 10.0 ** (snr_db / 10)
    return {
        "dataset": name,
        "snr_db": snr_db,
        "identifiable": verdict.is_possible,
        "limits": findings.limits._asdict(),
        "terms": [
            asdict(term)
            | {
                "error": term.error / math.sqrt(strength),
                "misfit": term.misfit * strength if math.isfinite(term.misfit) else None,
            }
            for term in findings.terms
        ],
    }
