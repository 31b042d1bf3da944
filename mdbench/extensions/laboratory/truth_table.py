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
    each: bool = False,
) -> int:
    """Print how the truth of each dataset scores; 0 if each is perfect and unbeaten, else 1."""
    if data_type is None and (patterns or path):
        raise UsageError(
            f"{'--dataset' if patterns else '--dataset-path'} was given without a data type.",
            f"Name its data type: --data-type {' or '.join(datatypes.names())}",
        )
    given = {} if results is None else read_wrong_answers(results)
    plans = list(_plans(Catalog(workspace), data_type, patterns, path, levels))
    found: list[TruthCheck] = []
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
            for one in check_truths(kind, source, names, own, given):
                found.append(one)
                progress.update(bar, advance=1, description=escape(f"{kind.name} {one.dataset}"))
                if (each or not one.wins) and not markdown:
                    progress.console.print(escape(_describe(one)), soft_wrap=True)
                    unquoted = not one.wins and (kind.name, one.dataset) not in quoted
                    for note in one.notes if unquoted else ():
                        progress.console.print(f"    {escape(note)}", style="dim", soft_wrap=True)
                    quoted.add((kind.name, one.dataset))
    rows = [_row(each) for each in _by_level(found)]
    if markdown:
        console.print(_as_markdown(rows, found), soft_wrap=True, markup=False)
    else:
        table = Table(box=box.SIMPLE_HEAD)
        for head in _HEADS:
            table.add_column(head, justify="left" if head == _HEADS[0] else "right")
        for row in rows:
            table.add_row(*row)
        console.print(table)
        console.print(_summary(found, results), soft_wrap=True)
    return Exit.NOT_AS_WISHED if any(one.known and not one.wins for one in found) else Exit.DONE


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


def _by_level(found: Sequence[TruthCheck]) -> list[list[TruthCheck]]:
    groups: dict[tuple[str, float | None], list[TruthCheck]] = defaultdict(list)
    for one in found:
        groups[one.data_type, one.snr_db].append(one)
    places = {name: i for i, name in enumerate(dict.fromkeys(one.data_type for one in found))}
    return [
        groups[key] for key in sorted(groups, key=lambda k: (places[k[0]], cleanest_first(k[1])))
    ]


def _row(ones: Sequence[TruthCheck]) -> tuple[str, ...]:
    known = [one for one in ones if one.known]
    scores = [one.score for one in known if one.score is not None]
    idle = sum(one.floor is not None and one.floor >= 1.0 for one in known)
    return (
        ones[0].data_type,
        noise_name(ones[0].snr_db),
        str(len(ones)),
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


def _describe(one: TruthCheck) -> str:
    """Return a line on how a truth scores."""
    where = f"{one.data_type} {one.dataset}, {noise_name(one.snr_db)}"
    return f"{where}: {_reason(one)}"


def _reason(one: TruthCheck) -> str:
    if not one.known:
        return "no truth is known, so that there is nothing to check"
    parts = list(one.faults)
    if one.wins:
        wins = f"wins with {scientific(one.score)}, floor {scientific(one.floor)}"
        alone = f"not searched: fewer than {FEWEST} samples"
        if one.gain:
            alone = "a better law is there" if one.gain.beats else "no term beats it"
        parts = [alone if one.score is None else wins]
        if one.rival is not None:
            parts.append(f"best wrong answer {scientific(one.rival[1])} ({one.rival[0]})")
        if one.gain is not None:
            parts.append(f"best extra term {one.gain.text}: explains {_share(one.gain)}")
    elif one.gain is not None and one.gain.beats:
        gain = one.gain
        parts.append(
            f"{gain.target} lacks {gain.text}: with {gain.coefficient:.6g} it leaves "
            f"{scientific(gain.after)} of the squared targets, without it {scientific(gain.before)}"
        )
    if one.beaten and one.rival is not None:
        method, score = one.rival
        parts.append(
            f"beaten by {method}: {scientific(score)}, and {scientific(one.score)} for the truth"
        )
    return "; ".join(parts)


def _summary(found: Sequence[TruthCheck], results: Path | None) -> str:
    known = [one for one in found if one.known]
    wins = sum(one.wins for one in known)
    if not known:
        return "No truth is known: there is nothing to check."
    text = f"The truth is perfect and unbeaten in {wins} of {len(known)} cases."
    if few := sum(one.score is None and not one.gain and not one.faults for one in known):
        text += f"  {few} of them have fewer than {FEWEST} samples, and were not searched."
    if len(found) > len(known):
        text += f"  Of {len(found) - len(known)} more no truth is known."
    if results is None:
        text += "  To hold answers against it: --results FOLDER"
    return text


def _as_markdown(rows: Sequence[Sequence[str]], found: Sequence[TruthCheck]) -> str:
    """Return the table of counts, and that of exceptions, for a page."""
    lines = [_line(_HEADS), _line(["---", *["--:"] * (len(_HEADS) - 1)]), *map(_line, rows)]
    levels: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    notes: dict[tuple[str, str], Sequence[str]] = {}
    for one in found:
        if not one.wins:
            levels[one.data_type, one.dataset, _reason(one)].append(noise_name(one.snr_db))
            notes[one.data_type, one.dataset] = one.notes
    if levels:
        lines += ["", _line(["truth that is not perfect, or beaten", "noise", "what", "its file"])]
        lines.append(_line(["---"] * 4))
    for (kind, name, reason), noise in levels.items():
        note = " ".join(notes[kind, name])
        lines.append(_line([f"{kind} `{name}`", ", ".join(noise), reason, note]))
    return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"
