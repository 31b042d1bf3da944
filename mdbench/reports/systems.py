"""The sections of systems: the truth, and what each method made of it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from itertools import compress
from typing import TYPE_CHECKING

from markupsafe import Markup

from mdbench.reports.mathml import left_hand_side, mathml
from mdbench.drawing.numbers import NOTHING, fixed, noise_name, r_squared, scientific
from mdbench.drawing.svg import COLOURS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mdbench.reports.pictures import Drawn
    from mdbench.reports.results import Result

__all__ = ["Cell", "Scope", "System", "system_section"]

NAMES_SHOWN = 4
"""Terms that are listed as missing, extra or negligible."""
SCORES = ("R² test", "R² unseen", "residual")
"""Columns that stand in the sections of systems that have them."""
VERDICT_TEXT = {
    "identified": "✓ identified",
    "one_term_off": "±1 one term off",
    "different": "different",
    "undecided": "undecided",
}


@dataclass(frozen=True)
class Cell:
    """What a cell says, and by what it is sorted: a number, or its text."""

    text: str
    value: float | str | None = None


@dataclass(frozen=True)
class Scope:
    """What all sections of a page share.

    Attributes
    ----------
    numbers
        The number of each method, which sets its colour and its sign.
    noise, protocols
        All levels and protocols of the page, in order.
    picture
        Draws a system, given its results and the methods' numbers.
    describe
        Says in a few words what a dataset is, given its data type and name.
    """

    numbers: Mapping[str, int]
    noise: Sequence[float | None]
    protocols: Sequence[str]
    picture: Callable[[Sequence[Result], Mapping[str, int]], Drawn] | None
    describe: Callable[[str, str], str] | None


@dataclass(frozen=True)
class Line:
    """One method's answer for a system."""

    method: str
    number: int
    noise: int
    noise_text: str
    noise_order: float
    protocol: int
    protocol_text: str
    seeds: str
    verdict: str
    css: str
    nmse: Cell
    complexity: Cell
    scores: tuple[Cell, ...]
    equations: Markup
    terms: str


@dataclass(frozen=True)
class System:
    """A system's section."""

    name: str
    title: str
    dim: int | None
    truth: Markup
    scores: tuple[str, ...]
    lines: tuple[Line, ...]
    picture: Markup
    note: str
    found: int
    identifier: str
    unfit: tuple[str, ...]


def system_section(
    identifier: str, results: Sequence[Result], scope: Scope, unfit: Sequence[str]
) -> System:
    """Gather what is shown of a system.

    Parameters
    ----------
    identifier
        The section's, unique in the page.
    results
        All results of the system.
    scope
        What all sections share.
    unfit
        Why errors are not compared on some of its cases.
    """
    first = results[0]
    drawn = scope.picture(results, scope.numbers) if scope.picture else None
    groups: dict[tuple[int, str, int], list[Result]] = defaultdict(list)
    for result in results:
        noise, protocol = scope.noise.index(result.snr_db), scope.protocols.index(result.protocol)
        groups[noise, result.algorithm, protocol].append(result)
    partial = first.data_type == "pde"
    known = next((one for one in results if one.truth), None)
    truth = Markup()
    if known is not None and known.truth is not None:
        truth = _equations(known.targets, known.truth, partial=partial)
    lines = [_line(ones, scope, partial=partial) for _, ones in sorted(groups.items())]
    told = [any(line.scores[i].text != NOTHING for line in lines) for i in range(len(SCORES))]
    lines = [replace(line, scores=tuple(compress(line.scores, told))) for line in lines]
    dim = next((one.dim for one in results if one.dim is not None), None)
    return System(
        name=first.system,
        title=scope.describe(first.data_type, first.dataset) if scope.describe else "",
        dim=dim,
        truth=truth,
        scores=tuple(compress(SCORES, told)),
        lines=tuple(lines),
        picture=Markup(drawn.html if drawn else ""),  # noqa: S704 - our own, of escaped texts
        note=drawn.note if drawn else "",
        found=len({one.algorithm for one in results if one.verdict == "identified"}),
        identifier=identifier,
        unfit=tuple(unfit),
    )


def _line(results: Sequence[Result], scope: Scope, *, partial: bool) -> Line:
    """Show the first seed's answer, and say how many seeds there are and how many found it."""
    one = min(results, key=lambda result: (not result.answered, result.seed))
    seeds = f"seed {one.seed}"
    if len(results) > 1:
        found = sum(result.verdict == "identified" for result in results)
        seeds += f" of {len(results)}; {found} identified"
    if one.equations is not None and one.answered:
        equations = _equations(one.targets, one.equations, partial=partial)
        verdict = VERDICT_TEXT.get(one.verdict or "", NOTHING)
        css = {"identified": "good", "one_term_off": "close"}.get(one.verdict or "", "")
    else:
        equations = Markup("<span class=reason>{}</span>").format(one.reason)
        verdict, css = str(one.status), "bad"
    terms = ""
    if one.fidelity and one.answered:
        told = {"missing": one.fidelity.missing, "extra": one.fidelity.extra}
        told["negligible"] = one.fidelity.negligible
        terms = "; ".join(
            f"{what}: {', '.join(names[:NAMES_SHOWN])}{'…' * (len(names) > NAMES_SHOWN)}"
            for what, names in told.items()
            if names
        )
    error = one.nmse if one.answered else None
    return Line(
        method=one.algorithm,
        number=scope.numbers[one.algorithm] % COLOURS,
        noise=scope.noise.index(one.snr_db),
        noise_text=noise_name(one.snr_db),
        noise_order=-1e9 if one.snr_db is None else -one.snr_db,
        protocol=scope.protocols.index(one.protocol),
        protocol_text=one.protocol if len(scope.protocols) > 1 else "",
        seeds=seeds,
        verdict=verdict,
        css=css,
        nmse=Cell(scientific(error), error),
        complexity=Cell(fixed(one.complexity), one.complexity),
        scores=_scores(one),
        equations=equations,
        terms=terms,
    )


def _scores(one: Result) -> tuple[Cell, ...]:
    """Write what a data type has besides the error, in the order of `SCORES`."""
    motion = one.motion
    residual = one.fidelity.residual if one.fidelity and one.answered else None
    if motion is None:
        return Cell(NOTHING), Cell(NOTHING), Cell(scientific(residual), residual)
    # The reason is that of the first simulation that broke off.
    ended = motion.ended.replace("_", " ")
    seen, unseen = (
        Cell(ended if r2 is None and motion.ended != "whole" else r_squared(r2), r2)
        for r2 in (motion.r2, motion.r2_unseen)
    )
    return seen, unseen, Cell(scientific(residual), residual)


def _equations(targets: Sequence[str], equations: Sequence[str], *, partial: bool) -> Markup:
    """Set equations one below the other."""
    lines = []
    for number, text in enumerate(equations):
        left = left_hand_side(targets[number], partial=partial) if number < len(targets) else ""
        lines.append(f"<div class=eq>{left} = {mathml(text)}</div>")
    return Markup("".join(lines))  # noqa: S704 - all text in it was escaped
