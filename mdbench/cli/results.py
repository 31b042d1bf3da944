"""The verbs on results files: ``show``, ``predict`` and ``reproduce``."""

from __future__ import annotations

import tempfile
from collections import Counter, defaultdict
from contextlib import closing, suppress
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rich.markup import escape

from eqverdict.printers import LANGUAGES, names_in, rounded_to, tidied
from eqverdict.printers.digits import digits_needed
from mdbench.backends.local import LocalBackend
from mdbench.cli.options import Exit
from mdbench.cli.report import ALL, leaderboards_of, names_of, read_results
from mdbench.cli.run import Display
from mdbench.drawing.numbers import cleanest_first, noise_name
from mdbench.errors import EquationError, UsageError, counted, did_you_mean
from mdbench.metrics.spec import ALL_SAMPLES, CONSTANT, FORM, PARTLY, PRINTED
from mdbench.records import RecordStore, results_files
from mdbench.reports.bundle import opened
from mdbench.reports.systems import NOTES, code, ordered, states_of, summary_line
from mdbench.reports.tables import ALARM
from mdbench.reports.terminal import printable
from mdbench.runs.execute import execute
from mdbench.runs.reproduce import (
    RESULT,
    Agreement,
    compare_records,
    differences,
    plans_of,
)
from mdbench.runs.spec import JobSpec
from mdbench.runtimes.registry import open_runtime
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray
    from rich.console import Console

    from mdbench.methods import Method
    from mdbench.metrics.spec import MetricSpec
    from mdbench.records import Record
    from mdbench.reports.classes import RecordFilter

    Array = NDArray[np.float64]
    from mdbench.runs.reproduce import RecordComparison

_DIGITS = 4
"""Digits of numbers for reading; code has all."""


def show_answers(
    what: str | None,
    console: Console,
    *,
    folders: Sequence[Path],
    algorithm: Sequence[str],
    language: str,
    digits: int | None,
    every: bool,
) -> None:
    """Print the best answer to each question, or all of them.

    Raises
    ------
    UsageError
        If there are no results, or none that were asked for.
    """
    if language not in LANGUAGES:
        raise UsageError(f"--as is {language!r}.", did_you_mean(language, LANGUAGES))
    places, name = places_and_name(what, folders)
    plain = digits is None and language == "plain"
    found = answers_of(places, name, algorithm)
    for (system, snr_db), (answers, specs) in found.items():
        noise = "" if snr_db is None else f", {noise_name(snr_db)}"
        for answer in answers if every else answers[:1]:
            comment = {"c": "// ", "latex": "% ", "plain": ""}.get(language, "# ")
            heading = f"{comment}{system}{noise}: {summary_line(answer, specs)}"
            console.print(f"[bold]{escape(heading)}[/]", soft_wrap=True)
            text = code(answer, language, _readable(answer) if plain else digits)
            if language == "plain":
                lines = zip(text.splitlines(), units_of(answer), strict=True)
                text = "\n".join(f"{line}   [{unit}]" if unit else line for line, unit in lines)
                text = "\n".join([text, *_alternatives(answer), *remarks(answer)])
            # Not through the console, which would wrap: what is printed is to be pasted.
            print(text, end="\n\n")


def remarks(record: Record) -> Iterator[str]:
    """Write what there is to say of an answer to data of the user's, a line each."""
    for word in (CONSTANT, PARTLY, FORM, PRINTED, ALL_SAMPLES):
        if texts := record.notes.get(word):
            sign = " " if word in {PRINTED, ALL_SAMPLES} else ALARM
            yield f"  {sign} {NOTES[word]}{printable('; '.join(texts))}"


def _alternatives(record: Record) -> Iterator[str]:
    """Write the equations that by the method's word fit nearly as well, a line each."""
    for other in record.alternatives:
        likely = other.log_likelihood
        how = "" if likely is None else f", log-likelihood {likely:+.1f}"
        text = tidied(rounded_to(other.equation, _DIGITS))
        target = record.targets[other.target]
        worse = other.worse or 0.0
        by = f"{'better' if worse < 0 else 'worse'} by {abs(worse):.2g}"
        yield f"  or {target} = {printable(text)}   ({by} in the method's own score{how})"


def _readable(record: Record) -> int:
    """Return the digits of an answer for reading, with which it is still the answer."""
    needed = [_DIGITS]
    for text in record.equations or ():
        with suppress(EquationError):  # what is no formula, such as a derivation, has no digits
            needed.append(digits_needed(text, names_in(text), _DIGITS))
    return max(needed)


def units_of(record: Record) -> list[str]:
    """Return the unit of each equation's left-hand side, as far as units are known."""
    system, units = states_of(record), []
    for name in system.states:
        unit, per = record.measured_in.get(name, ""), record.measured_in.get("t", "")
        if system.rates and per:
            per = f"({per})" if set(per) & set("/* ") else per
            unit = f"{f'({unit})' if set(unit) & set('/* ') else unit or 1}/{per}"
        units.append(unit if not system.rates or per else "")
    return units


def places_and_name(what: str | None, folders: Sequence[Path]) -> tuple[Sequence[Path], str | None]:
    """Return the places of results and a dataset's name: what exists is results."""
    return ([Path(what)], None) if what and Path(what).exists() else (folders, what)


def answers_of(
    places: Sequence[Path],
    name: str | None,
    algorithm: Sequence[str],
    *,
    wanted: RecordFilter = ALL,
) -> dict[tuple[str, float | None], tuple[list[Record], Sequence[MetricSpec]]]:
    """Read the answers with equations, those of one question together and the best first.

    Parameters
    ----------
    places
        Folders of results, results files and bundles.
    name
        The name or glob of datasets; None for all.
    algorithm
        Names or globs of methods; none for all.
    wanted
        The records that are asked for.

    Raises
    ------
    UsageError
        If there are none.
    """
    results = read_results(places, wanted=wanted)
    boards = leaderboards_of(results, Workspace.find())
    groups: dict[tuple[str, float | None], list[Record]] = defaultdict(list)
    for record in results:
        asked = name is None or any(
            fnmatchcase(each, name) for each in (record.dataset, record.system)
        )
        if asked and (not algorithm or any(fnmatchcase(record.method, each) for each in algorithm)):
            groups[record.system, record.snr_db].append(record)
    if not groups:
        names = {one.dataset for one in results} if name else {one.method for one in results}
        given = name or " ".join(algorithm)
        raise UsageError(
            f"{names_of(places)} has no results of {given!r}.", did_you_mean(given, names)
        )
    answers_by_case: dict[tuple[str, float | None], tuple[list[Record], Sequence[MetricSpec]]] = {}
    for key in sorted(groups, key=lambda key: (key[0], cleanest_first(key[1]))):
        board = boards[groups[key][0].data_type]
        references = {row.method for row in board.rows if row.reference}
        if answers := ordered(groups[key], board.specs, references):
            answers_by_case[key] = answers, board.specs
    if not answers_by_case:
        raise UsageError(
            "None of these results has equations.", "mdbench report --text shows why jobs failed."
        )
    return answers_by_case


def reproduce_files(
    results: Path, patterns: list[str], n_jobs: int | None, console: Console
) -> int:
    """Run again, compare and print; return 0 if every result is the same."""
    if not results.exists():
        raise UsageError(f"There is no results file {results}.", "E.g. results/sindy-ode.jsonl")
    with opened(results) as place:
        return _reproduce(place, patterns, n_jobs, console)


def _reproduce(place: Path, patterns: list[str], n_jobs: int | None, console: Console) -> int:
    count: Counter[Agreement] = Counter()
    for pair in run_again(place, None, patterns, n_jobs, console):
        if pair is None:
            return Exit.INTERRUPTED
        count[pair.agreed.sameness] += 1
        _show(pair.after, differences(pair.before, pair.after), pair.agreed, console)
    same, different = count[Agreement.SAME] + count[Agreement.NEARLY], count[Agreement.OTHER]
    console.print(f"{same} of {counted(same + different, 'record')} reproduced.")
    if others := count[Agreement.CHAOTIC]:
        console.print(f"{others} more cannot be: a chaotic search, under another kernel.")
    return Exit.NOT_AS_WISHED if different else Exit.DONE


class RunAgain(NamedTuple):
    """A job that was run again: its record before and after, and how they agree."""

    before: Record
    after: Record
    agreed: RecordComparison
    method: Method


def run_again(
    results_folder: Path,
    wanted: Collection[str] | None,
    patterns: list[str],
    n_jobs: int | None,
    console: Console,
    *,
    runtime: str = "",
) -> Iterator[RunAgain | None]:
    """Run the jobs of results again, with the methods that are here.

    Parameters
    ----------
    results_folder
        A folder or file of results.
    wanted
        The keys of the records whose jobs are run; None for all.
    patterns
        Names or globs of datasets; none for all.
    runtime
        The name of a runtime for all; empty for those of the records.

    Yields
    ------
    RunAgain
        For each job; None, and nothing more, where the run was interrupted.
    """
    workspace = Workspace.find()
    read, logs = [], {}
    for file in results_files(results_folder):
        for record in RecordStore(file).read():
            if wanted is None or record.key in wanted:
                read.append(record)
            if record.exchanges is not None:
                logs[record.key] = file.parent / record.exchanges
    records = [record for record in read if record.budget.timeout_s is not None]
    before = {_question(record): record for record in records}
    with tempfile.TemporaryDirectory(prefix="mdbench-reproduce-") as folder:
        for runtime_name, plan in plans_of(
            before.values(), patterns, workspace, result_dir=Path(folder), n_jobs=n_jobs, logs=logs
        ):
            with (
                Display(console, plan) as display,
                closing(
                    open_runtime(runtime or runtime_name, workspace.home, on_line=display.message)
                ) as isolated,
            ):
                plan.catalog.set_progress(display.message)
                summary = execute(plan, isolated, display, LocalBackend())
            if summary.interrupted:
                yield None
                return
            for record in summary.records:
                old = before[_question(record, runtime_name)]
                method = plan.catalog.method(record.algorithm)
                agreed = compare_records(old, record, chaotic=method.spec.chaotic)
                yield RunAgain(old, record, agreed, method)


def _question(record: Record, runtime_name: str = "") -> tuple[object, ...]:
    job, runtime = JobSpec.of(record), runtime_name or record.runtime.name
    return replace(job, options={}), str(sorted(job.options.items())), runtime


_COLOURS = {Agreement.OTHER: "red", Agreement.CHAOTIC: "yellow"}


def _show(
    record: Record,
    differing: dict[str, tuple[object, object]],
    agreed: RecordComparison,
    console: Console,
) -> None:
    noise = "clean" if record.snr_db is None else f"{record.snr_db:g} dB"
    name = f"{record.algorithm} · {record.dataset} · {noise} · seed {record.seed}"
    colour = _COLOURS.get(agreed.sameness, "green")
    console.print(f"{escape(name)}  [{colour}]{agreed.sameness}[/]", soft_wrap=True)
    if agreed.sameness is Agreement.NEARLY:
        console.print(f"    coefficients differ by up to {agreed.difference:.1e}", soft_wrap=True)
    else:
        for key, (old, new) in differing.items():
            if key in RESULT:
                console.print(escape(f"    {key}: {old} -> {new}"), soft_wrap=True)
    if agreed.kernels is not None and agreed.sameness is not Agreement.SAME:
        apart = "" if agreed.data else "; its rounding is in the data, too"
        console.print(escape(f"    BLAS: {' -> '.join(agreed.kernels)}{apart}"), soft_wrap=True)
    if others := sorted(differing.keys() - RESULT):
        console.print(f"    made with another: {', '.join(others)}", soft_wrap=True)
