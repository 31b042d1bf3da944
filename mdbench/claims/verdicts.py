"""All claims of papers held against records, and the tables of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from mdbench.claims.judge import Outcome, Verdict, judge, shown
from mdbench.datatypes.suites import members
from mdbench.errors import DataError, UsageError, did_you_mean
from mdbench.reports.export import escape_latex, longtable
from mdbench.reports.tables import text_table

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from mdbench.claims.read import Claim, Paper
    from mdbench.datatypes.base import DataType
    from mdbench.metrics.spec import MetricSpec
    from mdbench.records import Record

STYLES = {Outcome.CONFIRMED: "green", Outcome.CONTRADICTED: "red", Outcome.CANNOT_SAY: "dim"}


@dataclass(frozen=True)
class Judged:
    """A claim with what the records say of it."""

    paper: Paper
    claim: Claim
    verdict: Verdict

    @property
    def words(self) -> str:
        """What is claimed, what was measured, and why the verdict is what it is."""
        subject = f"{self.paper.cite}: {self.claim.method}, {self.claim.metric}, {self.claim.data}"
        here = f", here {shown(self.verdict)}" if self.verdict.measured is not None else ""
        return f"{subject}: {value_of(self)}{here}: {self.verdict.reason}"

    def as_json(self) -> dict[str, Any]:
        """Return it as strict JSON."""
        verdict = self.verdict
        measured = None
        if verdict.measured is not None:
            measured = {"value": verdict.measured, "low": verdict.low, "high": verdict.high}
        return {
            "paper": self.paper.cite,
            **self.claim.model_dump(mode="json"),
            "outcome": verdict.outcome.value,
            "reason": verdict.reason,
            "compared_with": verdict.claimed,
            "measured": measured,
            "cases_here": verdict.cases,
        }


class Subjects:
    """The data types that claims are about: their metrics and sets.

    Parameters
    ----------
    find
        Opens a data type by its name; a UsageError where there is none.
    """

    def __init__(self, find: Callable[[str], DataType[Any, Any]]) -> None:
        self._find = cache(find)
        self._groups: dict[str, Mapping[str, Sequence[str]]] = {}
        self._own: dict[str, Sequence[str]] = {}

    def spec(self, claim: Claim) -> MetricSpec | None:
        """Return the metric of a claim."""
        specs = {spec.name: spec for spec in self._find(claim.data_type).metrics}
        return specs.get(claim.metric)

    def members(self, claim: Claim) -> Sequence[str]:
        """Return the names of the datasets of a claim's set, with what was asked of them."""
        if claim.by_case is not None:
            return [*claim.by_case]
        kind = claim.data_type
        if kind not in self._own:
            source = self._find(kind).source()
            self._groups[kind], self._own[kind] = source.groups(), source.names()
        own, groups = self._own[kind], self._groups[kind]
        name, plus, asked = claim.set.partition("+")
        found = members(name or kind, kind, own, groups) or [each for each in own if each == name]
        return [f"{each}{plus}{asked}" for each in found]

    def check(self, paper: Paper, claim: Claim) -> None:
        """Refuse a claim that this benchmark could judge but for a wrong name or value.

        Raises
        ------
        DataError
            Names the claim, what was given and what is allowed.
        """
        where = f"{paper.cite}: the claim of {claim.method} ({claim.place})"
        try:
            kind = self._find(claim.data_type)
        except UsageError as error:
            raise DataError(f"{where}: {error.message}", error.hint) from None
        spec = self.spec(claim)
        if spec is None:
            raise DataError(
                f"{where} is of the metric {claim.metric!r}.",
                did_you_mean(claim.metric, [each.name for each in kind.metrics]),
            )
        if spec.kind == "label" or (spec.kind == "flag" and not 0 <= claim.value <= 1):
            raise DataError(
                f"{where} has {claim.metric} = {claim.value:g}.",
                "A share is between 0 and 1." if spec.kind == "flag" else "A label has no value.",
            )
        if spec.kind == "flag" and claim.median:
            raise DataError(f"{where} has a median of shares.", "Leave median out.")
        if not self.members(claim):
            known = [*self._groups.get(claim.data_type, ()), claim.data_type]
            raise DataError(f"{where} is of the set {claim.set!r}.", did_you_mean(claim.set, known))


def judge_all(
    papers: Iterable[Paper],
    records: Sequence[Record],
    find: Callable[[str], DataType[Any, Any]],
    methods: Collection[str],
    wanted: Collection[str] = (),
    *,
    own_code: Collection[str] = (),
) -> list[Judged]:
    """Hold records against all claims.

    Parameters
    ----------
    records
        Of each question and class the newest (`classes.latest`).
    find
        Opens a data type by its name.
    methods
        The methods of this benchmark.
    wanted
        The methods whose claims are judged; empty for all.
    own_code
        As of `judge`.

    Raises
    ------
    DataError
        As `Subjects.check`.
    """
    subjects = Subjects(find)
    by_method: dict[tuple[str, str], list[Record]] = {}
    for one in records:
        by_method.setdefault((one.data_type, one.algorithm), []).append(one)
    found = []
    for paper in papers:
        for claim in paper.claims():
            if wanted and claim.method not in wanted:
                continue
            inside = not claim.unlike
            if inside:
                subjects.check(paper, claim)
            verdict = judge(
                claim,
                by_method.get((claim.data_type, claim.method), ()),
                subjects.spec(claim) if inside else None,
                subjects.members(claim) if inside else (),
                methods,
                own_code=own_code,
            )
            found.append(Judged(paper, claim, verdict))
    return found


def latex_of(found: Sequence[Judged]) -> str:
    r"""Return claims and verdicts as a LaTeX table; needs the packages booktabs and longtable."""
    heads = ["paper", "method", "data", "metric", "claim", "here (95 %)", "verdict", "why"]
    rows = []
    for one in found:
        claim, verdict = one.claim, one.verdict
        cells = [claim.method, claim.data, claim.metric, value_of(one), shown(verdict)]
        cells += [verdict.outcome, verdict.reason]
        rows.append([rf"\cite{{{one.paper.cite}}}", *map(escape_latex, cells)])
    caption = "Claims of papers, and what was measured here with its 95\\,\\% interval."
    papers = {one.paper.cite: one.paper for one in found}
    lines = [r"% needs: \usepackage{booktabs,longtable}"]
    lines += [
        f"% {cite}: {paper.name}, {paper.title}, {paper.where}" for cite, paper in papers.items()
    ]
    table = text_table(map(escape_latex, heads), rows, heads)
    lines.append(longtable(replace(table, caption=caption), "tab:claims"))
    return "\n".join(lines) + "\n"


def reasons(found: Iterable[Judged]) -> list[tuple[str, int]]:
    """Return why claims could not be judged, the most frequent reason first."""
    counts = Counter(
        one.verdict.reason for one in found if one.verdict.outcome is Outcome.CANNOT_SAY
    )
    return counts.most_common()


def value_of(one: Judged) -> str:
    """Return the claimed value as a table has it."""
    sign = "≥ " if one.claim.relation == "reaches" else ""
    value = one.claim.value if one.verdict.claimed is None else one.verdict.claimed
    return f"{sign}{value:.4g}"
