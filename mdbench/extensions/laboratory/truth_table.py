"""``mdbench lab truths``: how the truth of each dataset scores."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from rich import box
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from mdbench import datatypes
from mdbench.cli.options import Exit
from mdbench.drawing.numbers import cleanest_first, noise_name, scientific
from mdbench.errors import UsageError
from mdbench.extensions.laboratory.residuals import FEWEST
from mdbench.extensions.laboratory.truths import check_truths, has_truths, read_wrong_answers
from mdbench.runs.catalog import Catalog
from mdbench.runs.plan import NOISE_LEVELS, select_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from rich.console import Console

    from mdbench.datatypes.base import DataType, Source
    from mdbench.extensions.laboratory.residuals import Gain
    from mdbench.extensions.laboratory.truths import TruthCheck
    from mdbench.workspace import Workspace

_HEADS = (
    *("data type", "noise", "datasets", "truth known", "wins", "largest score", "ranks nobody"),
    *("best extra term", "explains"),
)


def check_all_truths(
    workspace: Workspace,
    console: Console,
    *,
    data_type: str | None,
    patterns: Sequence[str],
    path: Path | None,
    levels: Sequence[float | None],
    results: Path | None,
    markdown: bool,
    every: bool = False,
) -> int:
    """Print how the truth of each dataset scores; 0 if each is perfect and unbeaten, else 1."""
    if data_type is None and (patterns or path):
        raise UsageError(
            f"{'--dataset' if patterns else '--dataset-path'} was given without a data type.",
            f"Name its data type: --data-type {' or '.join(datatypes.names())}",
        )
    wrong_answers = {} if results is None else read_wrong_answers(results)
    plans = list(_plans(Catalog(workspace), data_type, patterns, path, levels))
    checks: list[TruthCheck] = []
    quoted: set[tuple[str, str]] = set()
    progress = Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=markdown,
    )
    with progress:
        bar = progress.add_task("", total=sum(len(names) * len(own) for *_, names, own in plans))
        for kind, source, names, own in plans:
            for check in check_truths(kind, source, names, own, wrong_answers):
                checks.append(check)
                progress.update(bar, advance=1, description=escape(f"{kind.name} {check.dataset}"))
                if (every or not check.wins) and not markdown:
                    progress.console.print(escape(_describe(check)), soft_wrap=True)
                    unquoted = not check.wins and (kind.name, check.dataset) not in quoted
                    for note in check.notes if unquoted else ():
                        progress.console.print(f"    {escape(note)}", style="dim", soft_wrap=True)
                    quoted.add((kind.name, check.dataset))
    rows = [_row(each) for each in _by_level(checks)]
    if markdown:
        console.print(_as_markdown(rows, checks), soft_wrap=True, markup=False)
    else:
        table = Table(box=box.SIMPLE_HEAD)
        for head in _HEADS:
            table.add_column(head, justify="left" if head == _HEADS[0] else "right")
        for row in rows:
            table.add_row(*row)
        console.print(table)
        console.print(_summary(checks, results), soft_wrap=True)
    return Exit.NOT_AS_WISHED if any(one.known and not one.wins for one in checks) else Exit.DONE


def _plans(
    catalog: Catalog,
    data_type: str | None,
    patterns: Sequence[str],
    path: Path | None,
    levels: Sequence[float | None],
) -> Iterator[tuple[DataType[Any, Any], Source[Any], Sequence[str], Sequence[float | None]]]:
    """Return each data type with its datasets and noise levels."""
    with_truth = [kind.name for kind in datatypes.classes() if has_truths(kind)]
    if data_type is not None and datatypes.is_known(data_type) and data_type not in with_truth:
        raise UsageError(
            f"The datasets of {data_type} have no true equations that their data follow.",
            f"Those of {' and '.join(with_truth)} have.",
        )
    for name in [data_type] if data_type else with_truth:
        kind, source = catalog.data_type(name), catalog.source(name, path)
        if not kind.snr_levels and any(level is not None for level in levels):
            raise UsageError(f"{name} has no noise levels in dB.", "Leave --snr out.")
        own = levels or (NOISE_LEVELS if kind.snr_levels else (None,))
        yield kind, source, select_names(source.names(), patterns, source.groups()), own


def _by_level(checks: Sequence[TruthCheck]) -> list[list[TruthCheck]]:
    groups: dict[tuple[str, float | None], list[TruthCheck]] = defaultdict(list)
    for one in checks:
        groups[one.data_type, one.snr_db].append(one)
    places = {name: i for i, name in enumerate(dict.fromkeys(one.data_type for one in checks))}
    return [
        groups[key] for key in sorted(groups, key=lambda k: (places[k[0]], cleanest_first(k[1])))
    ]


def _row(checks: Sequence[TruthCheck]) -> tuple[str, ...]:
    known = [one for one in checks if one.known]
    scores = [one.score for one in known if one.score is not None]
    idle = sum(one.floor is not None and one.floor >= 1.0 for one in known)
    return (
        checks[0].data_type,
        noise_name(checks[0].snr_db),
        str(len(checks)),
        str(len(known)),
        str(sum(one.wins for one in known)),
        scientific(max(scores, default=None)),
        str(idle),
        *_best_of(known),
    )


def _best_of(known: Sequence[TruthCheck]) -> tuple[str, str]:
    """Return the term that explains most of what a truth leaves, and how much that is."""
    gains = [(one.gain, one.dataset) for one in known if one.gain is not None and one.gain.counted]
    if not gains:
        return "none", ""
    gain, dataset = max(gains, key=lambda each: each[0].explained)
    return f"{dataset}: {_shortened(gain.text)}", _share(gain)


def _share(gain: Gain) -> str:
    """Return what a term explains; of chance nothing."""
    return f"{max(gain.explained, 0):.0%} of {scientific(gain.before)}"


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


_LONGEST = 30
"""Characters of a term in a table."""


def _describe(check: TruthCheck) -> str:
    """Return a line on how a truth scores."""
    where = f"{check.data_type} {check.dataset}, {noise_name(check.snr_db)}"
    return f"{where}: {_reason(check)}"


def _reason(check: TruthCheck) -> str:
    if not check.known:
        return "no truth is known, so that there is nothing to check"
    parts = list(check.faults)
    if check.wins:
        wins = f"wins with {scientific(check.score)}, floor {scientific(check.floor)}"
        alone = f"not searched: fewer than {FEWEST} samples"
        if check.gain:
            alone = "a better law is there" if check.gain.beats else "no term beats it"
        parts = [alone if check.score is None else wins]
        if check.rival is not None:
            parts.append(f"best wrong answer {scientific(check.rival[1])} ({check.rival[0]})")
        if check.gain is not None:
            parts.append(f"best extra term {check.gain.text}: explains {_share(check.gain)}")
    elif check.gain is not None and check.gain.beats:
        gain = check.gain
        parts.append(
            f"{gain.target} lacks {gain.text}: with {gain.coefficient:.6g} it leaves "
            f"{scientific(gain.after)} of the squared targets, without it {scientific(gain.before)}"
        )
    if check.beaten and check.rival is not None:
        method, score = check.rival
        parts.append(
            f"beaten by {method}: {scientific(score)}, and {scientific(check.score)} for the truth"
        )
    return "; ".join(parts)


def _summary(checks: Sequence[TruthCheck], results: Path | None) -> str:
    known = [one for one in checks if one.known]
    wins = sum(one.wins for one in known)
    if not known:
        return "No truth is known: there is nothing to check."
    text = f"The truth is perfect and unbeaten in {wins} of {len(known)} cases."
    if few := sum(one.score is None and not one.gain and not one.faults for one in known):
        text += f"  {few} of them have fewer than {FEWEST} samples, and were not searched."
    if len(checks) > len(known):
        text += f"  Of {len(checks) - len(known)} more no truth is known."
    if results is None:
        text += "  To hold answers against it: --results FOLDER"
    return text


def _as_markdown(rows: Sequence[Sequence[str]], checks: Sequence[TruthCheck]) -> str:
    """Return the table of counts, and that of exceptions, for a page."""
    lines = [_line(_HEADS), _line(["---", *["--:"] * (len(_HEADS) - 1)]), *map(_line, rows)]
    levels: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    notes: dict[tuple[str, str], Sequence[str]] = {}
    for check in checks:
        if not check.wins:
            levels[check.data_type, check.dataset, _reason(check)].append(noise_name(check.snr_db))
            notes[check.data_type, check.dataset] = check.notes
    if levels:
        lines += ["", _line(["truth that is not perfect, or beaten", "noise", "what", "its file"])]
        lines.append(_line(["---"] * 4))
    for (kind, name, reason), noise in levels.items():
        note = " ".join(notes[kind, name])
        lines.append(_line([f"{kind} `{name}`", ", ".join(noise), reason, note]))
    return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"
