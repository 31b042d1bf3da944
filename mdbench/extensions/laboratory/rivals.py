"""``mdbench lab rivals``: errors of an answer's constants, and other equations that fit as well."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.markup import escape
from rich.table import Table

from mdbench.cli.options import Exit
from mdbench.cli.results import answers_of, places_and_name
from mdbench.data.columns import OwnNames
from mdbench.data.trajectory import state_names
from mdbench.datatypes.facts import Protocol
from mdbench.drawing.numbers import noise_name
from mdbench.errors import AnswerError, UsageError, counted
from mdbench.reports.systems import summary_line
from mdbench.runs.catalog import Catalog
from mdbench.runs.spec import JobSpec
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from mdbench.datatypes.ode.rivals import Certainty, Rival
    from mdbench.records import Record

_EXCESS = 4.0
"""The share of the noise's variance from which on differences are more than noise."""
_SHOWN = 5
_UNKNOWN = 1.0
"""A standard error of so many times its constant says nothing of it."""


def show_rivals(
    what: str | None,
    console: Console,
    *,
    folders: Sequence[Path],
    algorithm: Sequence[str],
    seconds: float,
    json_: bool,
) -> int:
    """Print of the best answer of each trajectory how sure it is.

    Raises
    ------
    UsageError
        If there are no such answers, or their data are no trajectories without inputs.
    """
    places, name = places_and_name(what, folders)
    catalog = Catalog(Workspace.find())
    answers_by_case = answers_of(places, name, algorithm)
    trajectories = {key: of for key, of in answers_by_case.items() if of[0][0].data_type == "ode"}
    if not trajectories:
        kinds = ", ".join(sorted({answers[0].data_type for answers, _ in answers_by_case.values()}))
        raise UsageError(
            f"These are answers of {kinds}; rivals compares solutions of ODEs with samples.",
            "Give results of --data-type ode.",
        )
    lines, failed = [], False
    for number, ((system, snr_db), (answers, specs)) in enumerate(trajectories.items(), start=1):
        answer = answers[0]
        noise = "" if snr_db is None else f", {noise_name(snr_db)}"
        doing = f"{number} of {counted(len(trajectories), 'answer')}: {escape(system)}{noise} ..."
        try:
            with console.status(doing):
                certainty = certainty_of_record(answer, catalog, seconds, places)
        except AnswerError as error:
            failed = True
            certainty, reason = None, error.message
        if json_:
            known = {} if certainty is None else asdict(certainty)
            why = {"error": reason} if certainty is None else {}
            lines.append(
                {"dataset": system, "snr_db": snr_db, "method": answer.method} | known | why
            )
            continue
        console.print(
            f"[bold]{escape(system)}{noise}: {escape(summary_line(answer, specs))}[/]",
            soft_wrap=True,
        )
        if certainty is None:
            console.print(f"  Cannot be compared: {escape(reason)}.", soft_wrap=True)
        else:
            left = [f"d{target.removesuffix('_t')}/dt" for target in answer.targets]
            _print(certainty, OwnNames(answer.names), left, console)
        console.print()
    if json_:
        sys.stdout.write(json.dumps(_finite(lines)) + "\n")
    return Exit.NOT_AS_WISHED if failed else Exit.DONE


def certainty_of_record(
    record: Record, catalog: Catalog, seconds: float, places: Sequence[Path] = ()
) -> Certainty:
    """Find how sure the answer of a record is; see `certainty_of`.

    Parameters
    ----------
    places
        Folders or files of the results: the data are looked for in the folders above them, too,
        as a record names them as seen from the folder of the run.

    Raises
    ------
    UsageError
        If its file has changed since, or has inputs.
    """
    job = JobSpec.of(record)
    if (path := job.dataset_path) is not None and not path.exists():
        near = [above / path for place in places for above in place.resolve().parents]
        job = replace(job, dataset_path=next(filter(Path.exists, near), path))
    dataset = catalog.load(job)
    from mdbench.datatypes.ode.datasets import OdeDataset  # noqa: PLC0415 - it may be taken away
    from mdbench.datatypes.ode.rivals import certainty_of  # noqa: PLC0415

    assert isinstance(dataset, OdeDataset)  # noqa: S101 - only answers of ODEs are asked about
    own = record.dataset_path is not None
    # Those of a suite differ in the last digits where another processor has made them.
    if own and dataset.fingerprint != record.key_parts.get("dataset"):
        raise UsageError(
            f"The data of {record.dataset} are not those of this answer any more.",
            "Run the method again.",
        )
    if dataset.given.inputs is not None:
        raise UsageError(
            f"{record.dataset} has inputs; rivals compares systems without any.",
            "Name other datasets.",
        )
    befores, _ = dataset.parted(dataset.given, Protocol(record.protocol))
    curves = dataset.curves(befores)
    return certainty_of(
        OwnNames(dataset.names).all_internal(record.equations or ()),
        state_names(dataset.given),
        [(one.t, one.u, curve.u) for one, curve in zip(befores, curves, strict=True)],
        np.mean([curve.variances for curve in curves], axis=0),
        seconds,
    )


def _print(
    certainty: Certainty, names: OwnNames, left_sides: Sequence[str], console: Console
) -> None:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 1))
    for justify in ("left", "right", "left", "left"):
        table.add_column(justify=justify)
    before = None
    for term in certainty.terms:
        side = "" if term.equation == before else f"  {left_sides[term.equation]} ="
        before = term.equation
        inside = f"  (constants inside: {_share(term.inside)})" if term.inside else ""
        sure = (
            f"± {term.error:.2g}"
            if term.error < _UNKNOWN * abs(term.coefficient)
            else "[yellow]± more than its size[/]"
        )
        text = escape(names.own(term.text)) + inside
        table.add_row(escape(side), f"{term.coefficient:.4g}", sure, text)
    console.print(table)
    states = [names.own(f"u{i}") for i in range(len(left_sides))]
    noise = ", ".join(
        f"{state} {_share(share)}" for state, share in zip(states, certainty.noise, strict=True)
    )
    console.print(f"  Differences from the samples: {escape(noise)} of the size.", soft_wrap=True)
    if certainty.stretches > 1:
        console.print(
            f"  Solutions follow the samples for a while only: {certainty.stretches} stretches of "
            "each trajectory have starts of their own.",
            soft_wrap=True,
        )
    for state, excess in zip(states, certainty.excess, strict=True):
        if excess > _EXCESS:
            console.print(
                f"  [yellow]⚠ {escape(state)}: {math.sqrt(excess):.2g} times the noise that "
                "smoothing finds: the equations do not follow the samples.[/]",
                soft_wrap=True,
            )
    likely = [one for one in certainty.rivals if one.is_as_likely]
    none = "None of those fitted" if certainty.left else "No other system"
    for title, shown in (
        (f"⚠ {counted(len(likely), 'other system')} as likely:", likely[:_SHOWN]),
        (f"{none} is as likely.  One of the nearest:", certainty.rivals[:1]),
    ):
        if not shown:
            continue
        console.print(f"  {title}", soft_wrap=True)
        for one in shown:
            console.print(f"    {_line(one, names, left_sides)}", soft_wrap=True)
        break
    if certainty.left:
        console.print(
            f"  {counted(certainty.left, 'rival')} not decided for want of time (--seconds).",
            soft_wrap=True,
        )


def _line(rival: Rival, names: OwnNames, left_sides: Sequence[str]) -> str:
    term, added = names.own(rival.term), names.own(rival.added)
    if not rival.term:
        change = f"with {added}"
    elif rival.added:
        change = f"{added} for {term}"
    else:
        change = f"without {term}"
    value = f"{rival.misfit:.2g}" if abs(rival.misfit) < 1000 else f"{rival.misfit:,.0f}"  # noqa: PLR2004
    return escape(
        f"{left_sides[rival.equation]} = {names.own(rival.text)}   ({change}; misfit {value})"
    )


def _share(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 10 else "unknown"  # noqa: PLR2004 - of a thousand


def _finite(value: Any) -> Any:
    """Return what JSON can hold: null for what is infinite."""
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
