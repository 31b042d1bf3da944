"""``mdbench predict``: what equations give at times or inputs of the user's."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from rich.console import Console
from rich.markup import escape

from eqverdict import parse
from mdbench import datatypes
from mdbench.cli.report import ALL, write
from mdbench.cli.results import answers_of, places_and_name
from mdbench.data.columns import OwnNames
from mdbench.data.csv import read_columns, read_csv
from mdbench.data.times import UNIT_SECONDS
from mdbench.errors import UsageError, counted, did_you_mean
from mdbench.metrics.spec import LEVELS
from mdbench.reports.systems import states_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from mdbench.records import Record
    from mdbench.reports.classes import RecordFilter
    from mdbench.reports.systems import AnswerNames

    Array = NDArray[np.float64]

_MOST_POINTS = 1_000_000


@dataclass(frozen=True)
class PredictionOptions:
    """The options of a prediction, as they were typed.

    Attributes
    ----------
    start
        ``NAME=X,...`` for each state.
    until, points
        The last time, and how many there are from 0 on.
    given
        A CSV file with times and inputs, or with the columns of equations that give no rates.
    """

    start: str | None
    until: float | None
    points: int
    given: Path | None


def predict_answer(
    what: str | None,
    asked: PredictionOptions,
    out: Path | None,
    console: Console,
    *,
    folders: Sequence[Path],
    algorithm: Sequence[str],
) -> None:
    """Print what the best answer predicts, or write it into a CSV file.

    Raises
    ------
    UsageError
        If there is not one dataset with an answer, or something is missing to go on.
    DataError
        If the file that is given cannot be used.
    """
    places, name = places_and_name(what, folders)
    if out is None:  # what is printed is the table alone
        console = Console(stderr=True, highlight=False)
    predicted = prediction(asked, places, name, algorithm, console)
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(predicted.names)
    table.writerows([repr(float(value)) for value in row] for row in predicted.rows)
    if out is None:
        print(text.getvalue(), end="")
        return
    write(out, text.getvalue())
    console.print(
        f"{counted(len(predicted.rows), 'row')} by {escape(predicted.method)}'s equations in "
        f"{escape(str(out))}",
        soft_wrap=True,
    )


class Prediction(NamedTuple):
    """What equations predict: the names of columns, the rows, and whose equations they are."""

    names: list[str]
    rows: Array
    method: str


def prediction(
    asked: PredictionOptions,
    places: Sequence[Path],
    name: str | None,
    algorithm: Sequence[str],
    console: Console,
    *,
    wanted: RecordFilter = ALL,
) -> Prediction:
    """Integrate or evaluate the best answer; raises as `predict_answer`.

    Parameters
    ----------
    places, name, algorithm, wanted
        As `answers_of`.
    console
        Where it is shown that an integration ended early.
    """
    answer = best_answer(places, name, algorithm, wanted=wanted)
    system = states_of(answer)
    if system.rates:
        names, rows, columns = _integrated(answer, system, asked, console)
    else:
        names, rows, columns = _evaluated(answer, system, asked)
    for line in _unknown_values(answer, columns):
        console.print(f"[yellow]{escape(line)}[/]", soft_wrap=True)
    return Prediction(names, rows, answer.method)


def best_answer(
    places: Sequence[Path],
    name: str | None,
    algorithm: Sequence[str],
    *,
    wanted: RecordFilter = ALL,
    verb: str = "predict",
    more: str = "",
) -> Record:
    """Return the best answer of the one dataset that is asked for.

    Parameters
    ----------
    places, name, algorithm, wanted
        As `answers_of`.
    verb, more
        What is typed before and behind one dataset, for the message where there are several.

    Raises
    ------
    UsageError
        If there is not one dataset with an answer.
    """
    answers_by_case = answers_of(places, name, algorithm, wanted=wanted)
    systems = sorted({system for system, _ in answers_by_case})
    if len(systems) > 1:
        raise UsageError(
            f"There are answers of {len(systems)} datasets: {', '.join(systems[:5])}"
            f"{', ...' * (len(systems) > 5)}.",  # noqa: PLR2004
            f"Name one: mdbench {verb} {systems[0]}{more}",
        )
    answers, _ = next(iter(answers_by_case.values()))
    return answers[0]


def _unknown_values(one: Record, columns: Mapping[str, Array]) -> Iterator[str]:
    """Name the columns of few values in an answer's data that are to have others."""
    for text in one.notes.get(LEVELS, ()):
        name, _, listed = text.partition(": ")
        values = np.array([float(value) for value in listed.split(", ")])
        if name not in columns:
            continue
        asked = columns[name]
        within = (asked >= values[0]) & (asked <= values[-1]) & (len(values) > 2)  # noqa: PLR2004
        other = asked[~(np.isin(asked, values) | within)]
        if len(other):
            yield (
                f"{name} is {other[0]:g}, and the data of the equations have it at {listed} alone: "
                "what it does there is not known, and the prediction is a guess."
            )


def _integrated(
    record: Record, system: AnswerNames, asked: PredictionOptions, console: Console
) -> tuple[list[str], Array, Mapping[str, Array]]:
    inputs = [name for name in system.others if name in record.names.values()]
    if other := [name for name in system.others if name not in inputs]:
        raise UsageError(
            f"The equations of {record.dataset} use {other[0]}, which is no state.",
            "predict integrates ordinary differential equations, and evaluates plain ones.",
        )
    t, columns = _times(asked, inputs, record.measured_in.get("t", ""))
    start = _start(asked.start, system)
    names = OwnNames(record.names)
    # An input that no equation uses keeps its place.
    places = {names.internal(name): columns[name] for name in inputs}
    most = 1 + max((int(name[1:]) for name in places), default=-1)
    inputs_given = [places.get(f"v{place}", np.zeros(len(t))) for place in range(most)]
    own = {f"u{place}": state for place, state in enumerate(system.states)}
    texts = OwnNames({**record.names, **own}).all_internal(record.equations or ())
    states, why = datatypes.classes([record.data_type])[0].integrate(
        texts, t, start, np.stack(inputs_given, axis=1) if inputs_given else None, record.options
    )
    if why:
        last = f" at t = {t[len(states) - 1]:g}" if len(states) else ""
        console.print(f"[yellow]It stopped early{last}: {why}.[/]", soft_wrap=True)
        if not len(states):
            raise UsageError(
                f"Nothing can be predicted from this start: {why}.", "Give another --start."
            )
    rows = np.column_stack([t[: len(states)], states])
    return ["t", *system.states], rows, columns


def _times(
    asked: PredictionOptions, inputs: Sequence[str], unit: str
) -> tuple[Array, Mapping[str, Array]]:
    if asked.given is not None:
        if asked.until is not None:
            raise UsageError("--until and --given both set the times.", "Give one of them.")
        if not inputs:
            names, table = read_columns(asked.given)
            if len(names) == 1:
                return _rising(asked.given, names[0], table[:, 0]), {}
        recording = read_csv(asked.given, fewest=2)
        columns = {
            one.name: u for one, u in zip(recording.states, recording.trajectory.u.T, strict=True)
        }
        for name in inputs:
            if name not in columns:
                near = did_you_mean(name, columns)
                raise UsageError(f"{asked.given} has no column {name}.", near)
        t, own = recording.trajectory.t, recording.time.unit
        if own in UNIT_SECONDS and unit in UNIT_SECONDS:  # dates, whose unit follows their steps
            t = t * (UNIT_SECONDS[own] / UNIT_SECONDS[unit])
        return t, columns
    if inputs:
        raise UsageError(
            f"The equations use {', '.join(inputs)}, which you give.",
            f"Give a CSV with the time and {', '.join(inputs)}: --given FILE",
        )
    if asked.until is None or not 0 < asked.until < np.inf:
        raise UsageError(
            "predict got no last time." if asked.until is None else f"--until is {asked.until:g}.",
            "Give the last time, a positive number: --until 20",
        )
    return np.linspace(0.0, asked.until, _number_of_times(asked.points)), {}


def _number_of_times(points: int) -> int:
    if not 2 <= points <= _MOST_POINTS:  # noqa: PLR2004 - the first and the last
        raise UsageError(f"--points is {points}.", f"Give a number from 2 to {_MOST_POINTS}.")
    return points


def _rising(path: Path, name: str, t: Array) -> Array:
    if len(t) < 2 or not (np.diff(t) > 0).all():  # noqa: PLR2004
        raise UsageError(f"{path}: {name} does not increase.", "It is the time.")
    return t


def _start(text: str | None, system: AnswerNames) -> Array:
    example = ",".join(f"{name}=1.0" for name in system.states)
    if text is None:
        raise UsageError("predict got no start.", f"Give: --start {example}")
    values: dict[str, float] = {}
    for part in text.split(","):
        name, _, value = (each.strip() for each in part.partition("="))
        if name not in system.states:
            raise UsageError(
                f"--start: there is no state {name!r}.", did_you_mean(name, system.states)
            )
        try:
            values[name] = float(value)
        except ValueError:
            values[name] = np.nan
        if not np.isfinite(values[name]):
            raise UsageError(f"--start: {name} is {value!r}.", f"Give numbers: --start {example}")
    if missing := [name for name in system.states if name not in values]:
        raise UsageError(f"--start: {missing[0]} is missing.", f"Give: --start {example}")
    return np.array([values[name] for name in system.states])


def _evaluated(
    record: Record, system: AnswerNames, asked: PredictionOptions
) -> tuple[list[str], Array, Mapping[str, Array]]:
    if asked.given is None:
        raise UsageError(
            f"The equations of {record.dataset} give {', '.join(system.states)}, and no rates.",
            f"Give a CSV with the columns {', '.join(system.others)}: --given FILE",
        )
    names, table = read_columns(asked.given)
    columns = dict(zip(names, table.T, strict=True))
    for name in system.others:
        if name not in columns:
            raise UsageError(f"{asked.given} has no column {name}.", did_you_mean(name, names))
    values = [parse(text, columns).evaluate(columns) for text in record.equations or ()]
    return [*names, *system.states], np.column_stack([table, *values]), columns
