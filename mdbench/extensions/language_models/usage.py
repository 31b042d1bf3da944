"""The use of language models by methods, with their scores; and what the models knew."""

from __future__ import annotations

from collections import defaultdict
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from pydantic import ValidationError

from mdbench.drawing.numbers import percent
from mdbench.drawing.svg import Axis, Figure, Plot
from mdbench.errors import RecordsError
from mdbench.extensions.language_models.contamination import PROBES, ProbeReport
from mdbench.extensions.language_models.question_report import PROBE_FOLDER
from mdbench.reports.classes import class_of
from mdbench.reports.tables import Cell, Column, Table, format_score, to_terminal, without_columns

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    import rich.table

    from mdbench.records import Record
    from mdbench.reports.leaderboard import Leaderboard

_LARGEST = 2**26
_SMALLEST_LOSS = 1e-12
_LARGEST_LOSS = 1e6


class ModelUsage(NamedTuple):
    """The use of a language model by a method on one data type.

    Attributes
    ----------
    score
        The primary metric's value on the leaderboard, written.
    calls
        The median of completions a job.
    tokens
        The tokens of all prompts and all completions.
    money
        The cost of all jobs; None where no price is known.
    seconds
        The median that the model took for a job; None where it is unknown.
    spent
        The share of jobs that wanted more than their budget.
    found
        The share of answers that the model wrote, of those of which it is known; None for none.
    control
        The primary metric's value of its control, written; empty without one of the same budget.
    """

    data_type: str
    method: str
    model: str
    prompt: str
    jobs: int
    title: str
    score: str
    calls: float
    failed: int
    tokens: tuple[int, int]
    money: float | None
    seconds: float | None
    spent: float
    found: float | None = None
    control: str = ""


CONTROL = "_nollm"
"""End of the name of a method's control, which is the same without a language model."""


def _control_score(records: Sequence[Record], board: Leaderboard, all_: Sequence[Record]) -> str:
    """Write the score of the control of a method, if all its jobs had the method's budget."""
    name = records[0].algorithm + CONTROL
    budgets = {one.llm.budget for one in records if one.llm is not None}
    rows = [row for row in board.rows if row.method == name]
    own = {
        one.llm.budget if one.llm is not None else None
        for one in all_
        if one.algorithm == name and one.data_type == records[0].data_type
    }
    if not rows or budgets != own:
        return ""
    return format_score(board.primary, rows[0].values[board.primary.name].value)


def model_usage(results: Iterable[Record], boards: Mapping[str, Leaderboard]) -> list[ModelUsage]:
    """Sum up what was asked, in the order of the leaderboards; nothing where nobody asked."""
    groups: dict[tuple[str, str, str], list[Record]] = defaultdict(list)
    results = list(results)
    for one in results:
        if one.llm is not None and one.llm.calls is not None:
            groups[one.data_type, class_of(one).title, one.method].append(one)
    usage = []
    for kind, board in boards.items():
        for row in board.rows:
            records = groups.get((board.data_type, board.title, row.method))
            if not records:
                continue
            used = [one.llm for one in records if one.llm is not None]
            paid = [each.money for each in used if each.money is not None]
            took = [s for one in records if (s := one.measured.llm_s) is not None]
            known = [each.found for each in used if each.found is not None]
            value = row.values[board.primary.name].value
            usage.append(
                ModelUsage(
                    data_type=kind,
                    method=row.method,
                    model=used[0].model or "",
                    prompt=used[0].prompt or "",
                    jobs=len(records),
                    title=board.primary.title,
                    score=format_score(board.primary, value),
                    calls=median(each.calls or 0 for each in used),
                    failed=sum(each.failed or 0 for each in used),
                    tokens=(
                        sum(each.prompt_tokens or 0 for each in used),
                        sum(each.completion_tokens or 0 for each in used),
                    ),
                    money=sum(paid) if paid else None,
                    seconds=median(took) if took else None,
                    spent=sum(bool(each.spent) for each in used) / len(used),
                    found=sum(known) / len(known) if known else None,
                    control=_control_score(records, board, results),
                )
            )
    return usage


def curves(results: Iterable[Record], numbers: Mapping[str, int]) -> dict[str, Figure]:
    """Draw for each data type the best loss after so many calls, the median over a method's jobs.

    A job without a candidate by then counts as one of the largest loss.
    """
    jobs: dict[str, dict[str, list[list[tuple[int, float]]]]] = {}
    for record in results:
        if record.llm is not None and record.llm.curve:
            steps = [(p.calls, p.loss) for p in record.llm.curve if p.loss is not None]
            jobs.setdefault(record.data_type, {}).setdefault(record.method, []).append(steps)
    return {kind: _figure(kind, by_method, numbers) for kind, by_method in jobs.items()}


def _figure(
    kind: str, by_method: Mapping[str, list[list[tuple[int, float]]]], numbers: Mapping[str, int]
) -> Figure:
    lines = {}
    for method, steps in sorted(by_method.items()):
        places = sorted({max(1, calls) for one in steps for calls, _ in one})
        lines[method] = [
            (float(place), median(_best(one, place) for one in steps)) for place in places
        ]
    x = Axis([place for line in lines.values() for place, _ in line], log=True)
    y = Axis([value for line in lines.values() for _, value in line], log=True)
    title = f"Loss over calls, {kind}"
    plot = Plot(title, x, y, ("completions asked for", "best loss so far, median"))
    for method, line in lines.items():
        plot.series(numbers[method], method, line)
    caption = (
        "The loss by which candidates are chosen, of the best that was found within so many "
        "completions; the median over jobs, of which those without a candidate count as 10^6."
    )
    return Figure(title, caption, plot.render())


def _best(steps: Sequence[tuple[int, float]], calls: int) -> float:
    found = [loss for place, loss in steps if max(1, place) <= calls]
    return min(_LARGEST_LOSS, max(_SMALLEST_LOSS, min(found))) if found else _LARGEST_LOSS


def read_probes(folder: Path) -> list[ProbeReport]:
    """Read what ``mdbench llm probe`` has left below a folder of results.

    Raises
    ------
    RecordsError
        If a file cannot be read, or is none.
    """
    if not folder.is_dir():
        return []
    reports = []
    for path in sorted(folder.rglob(f"{PROBE_FOLDER}/*.json")):
        try:
            with path.open("rb") as file:
                reports.append(ProbeReport.model_validate_json(file.read(_LARGEST)))
        except (OSError, ValidationError) as error:
            raise RecordsError(
                f"{path} is no file of mdbench llm probe: {type(error).__name__}.",
                "Move it away, or ask again.",
            ) from None
    return reports


def probe_rows(probes: Iterable[ProbeReport]) -> list[list[str]]:
    """Write probes as rows: data type, model, problems, the share of each probe, known ones."""
    rows = []
    for report in probes:
        shares = [report.share(name) for name in PROBES]
        rows.append(
            [
                report.data_type,
                report.model,
                str(len(report.problems)),
                *(
                    "" if share is None else percent(share, "")
                    for share in (*shares, report.recalled)
                ),
                f"{len(report.known)}",
            ]
        )
    return rows


PROBE_HEADS = ("data type", "model", "problems", *PROBES, "recalled", "known without data")
"""Heads of the columns of `probe_rows`."""
USAGE_HEADS = (
    *("data type", "method", "model", "prompt", "jobs", "score", "its control"),
    *("found by the model", "calls a job", "failed"),
    *("prompt tokens", "completion tokens", "money", "model s a job", "budget spent"),
)
"""Heads of the columns of `usage_row`."""


def usage_row(usage: ModelUsage) -> list[str]:
    """Write what was asked as a row."""
    return [
        usage.data_type,
        usage.method,
        usage.model,
        usage.prompt,
        str(usage.jobs),
        f"{usage.title} {usage.score}",
        usage.control,
        "" if usage.found is None else percent(usage.found, ""),
        f"{usage.calls:g}",
        str(usage.failed),
        *map(str, usage.tokens),
        "" if usage.money is None else f"{usage.money:.4g}",
        "" if usage.seconds is None else f"{usage.seconds:.3g}",
        percent(usage.spent, ""),
    ]


_WIDE = {"model", "prompt", "failed", "found by the model", "model s a job", "budget spent"}
"""Columns that do not fit into 80 characters; model and prompt follow the method's name."""


def model_tables(
    rows: Sequence[ModelUsage], probes: Sequence[ProbeReport]
) -> Iterator[rich.table.Table]:
    """Yield the tables of what was asked of language models, where something was."""
    for title, heads, lines, left_out in (
        ("Language models", USAGE_HEADS, [usage_row(one) for one in rows], _WIDE),
        ("What language models know of the problems", PROBE_HEADS, probe_rows(probes), set()),
    ):
        if lines:
            columns = [Column(head, left=True, wraps=True) for head in heads]
            table = Table(columns, [[*map(Cell, line)] for line in lines], title)
            narrow = without_columns(table, lambda column, _: column.title in left_out)  # noqa: B023
            yield to_terminal(narrow, padding=1)
