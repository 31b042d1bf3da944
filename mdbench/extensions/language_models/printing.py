"""What the verbs of ``mdbench llm`` print: transcripts, probes, judgements."""

from __future__ import annotations

import threading
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from rich import box
from rich.markup import escape
from rich.table import Table

from mdbench.cli.options import Exit
from mdbench.cli.report import names_of, read_results
from mdbench.cli.results import places_and_name
from mdbench.drawing.numbers import percent
from mdbench.errors import UsageError, counted
from mdbench.extensions.language_models.contamination import PROBES
from mdbench.extensions.language_models.probing import run_judge, run_probes
from mdbench.extensions.language_models.transcripts import (
    EVERYTHING,
    Limits,
    transcript_lines,
    transcripts,
)
from mdbench.installation import page
from mdbench.reports.bundle import opened_all
from mdbench.reports.sections import folders_of
from mdbench.reports.statistics import wilson
from mdbench.runs.catalog import Catalog
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from mdbench.extensions.language_models.contamination import ProbeResult
    from mdbench.extensions.language_models.options import JudgeOptions, ProbeOptions
    from mdbench.extensions.language_models.stub import Stub
    from mdbench.records import Record


def show_transcripts(
    what: str | None,
    console: Console,
    folders: Sequence[Path],
    algorithm: Sequence[str],
    *,
    every: bool,
) -> None:
    """Print what jobs asked a language model, and what it answered.

    Parameters
    ----------
    every
        Whether all of it is printed, however long.

    Raises
    ------
    UsageError
        If there are no results, or none with a log of exchanges that were asked for.
    """
    places, name = places_and_name(what, folders)
    results = [
        one for one in read_results(places) if one.exchanges and _is_asked(one, name, algorithm)
    ]
    limits = EVERYTHING if every else Limits()
    count = 0
    with opened_all(places) as found:
        for transcript in transcripts(results, folders_of(found.values()), limits):
            count += 1
            console.print(
                f"[bold]{escape(transcript.title)}[/]: {transcript.record.status.word}",
                soft_wrap=True,
            )
            # Not through the console, which would wrap.
            print("\n".join(transcript_lines(transcript)), end="\n\n")
    if not count:
        raise UsageError(
            f"{names_of(places)} has no log of exchanges with a language model"
            f"{f' of {name or algorithm[0]!r}' if name or algorithm else ''}.",
            "They are of methods that ask one, next to the logs of their jobs: "
            + page("language-models"),
        )


def _is_asked(one: Record, name: str | None, algorithm: Sequence[str]) -> bool:
    named = name is None or any(fnmatchcase(each, name) for each in (one.dataset, one.system))
    methods = (one.method, one.algorithm)
    return named and (
        not algorithm or any(fnmatchcase(m, each) for m in methods for each in algorithm)
    )


def print_probes(options: ProbeOptions, console: Console) -> int:
    """Ask, and print the results for each problem and for all."""

    def report(result: ProbeResult) -> None:
        counts = "  ".join(
            f"{name} {result.right[name]}" for name in PROBES if name in result.right
        )
        recalled = "" if result.recalled is None else f"  recalled {result.recalled}"
        line = f"{result.dataset}  of {result.samples}: {counts}{recalled}"
        console.print(escape(line), soft_wrap=True)

    probes, file = run_probes(options, Catalog(Workspace.find()), report)
    table = Table(box=box.SIMPLE_HEAD)
    for column in ("model", *PROBES, "recalled", "known without data"):
        table.add_column(column, no_wrap=True)
    shares = [probes.share(name) for name in PROBES]
    table.add_row(
        escape(probes.model),
        *("-" if share is None else percent(share, "") for share in [*shares, probes.recalled]),
        f"{len(probes.known)} of {len(probes.problems)}",
    )
    console.print(table)
    console.print(
        f"{probes.calls} completions, {probes.prompt_tokens} + {probes.completion_tokens} tokens"
    )
    console.print(f"Probes: {escape(str(file))}", soft_wrap=True)
    return Exit.DONE


def print_judgements(options: JudgeOptions, console: Console) -> int:
    """Ask, and print how often the model and the rule agree."""

    def report(done: int, total: int) -> None:
        if done % 50 == 0 and done < total:
            console.print(f"{done} of {total}")

    records = read_results([Path(place) for place in options.records])
    judged, file = run_judge(options, records, report)
    table = Table(box=box.SIMPLE_HEAD)
    for column in (f"answers judged by {judged.model}", "yes", "no", "no verdict"):
        table.add_column(escape(column), justify="left" if "judged" in column else "right")
    for title, by_rule in (("the rule says yes", True), ("the rule says no", False)):
        counts = (judged.count(by_rule=by_rule, by_model=each) for each in (True, False, None))
        table.add_row(title, *map(str, counts))
    console.print(table)
    if judged.decided:
        low, high = wilson(judged.agreeing / judged.decided, judged.decided)
        kappa = "" if judged.kappa is None else f"; Cohen's kappa {judged.kappa:.2f}"
        console.print(
            f"They agree on {judged.agreeing} of {judged.decided} answers "
            f"({judged.agreeing / judged.decided:.1%}, 95 %: {low:.1%} to {high:.1%}){kappa}.",
            soft_wrap=True,
        )
    console.print(
        f"{judged.calls} completions, {judged.prompt_tokens} + {judged.completion_tokens} tokens"
    )
    console.print(f"Judgements: {escape(str(file))}", soft_wrap=True)
    return Exit.DONE


def wait() -> None:
    """Wait without end."""
    threading.Event().wait()


def serve_stub(stub: Stub, console: Console) -> int:
    """Serve until Ctrl-C."""
    with stub:
        console.print(
            f"{escape(stub.url)} answers with {stub.modes[stub.mode]}.  To stop it: Ctrl-C",
            soft_wrap=True,
        )
        try:
            wait()
        except KeyboardInterrupt:
            console.print(f"{counted(stub.count, 'request')}.")
    return Exit.DONE
