"""The verbs on results for a notebook: they return tables and paths, where the verbs print.

The names are those of `mdbench` itself: ``mdbench.show`` and so on.
"""

from __future__ import annotations

from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from rich.console import Console

from eqverdict.printers import LANGUAGES
from mdbench.cli.predict import PredictionOptions, prediction
from mdbench.cli.report import ALL, html_of, leaderboards_of, read_results, write
from mdbench.cli.results import answers_of, remarks
from mdbench.drawing.numbers import noise_name
from mdbench.errors import UsageError, did_you_mean
from mdbench.reports.bundle import opened_all
from mdbench.reports.classes import RecordFilter
from mdbench.reports.systems import code
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from matplotlib.axes import Axes

    from mdbench.reports.leaderboard import Leaderboard

__all__ = ["leaderboard", "plot", "predict", "report", "show"]


def _folder_and_rows(results: str | Path | pd.DataFrame) -> tuple[Path, RecordFilter]:
    """Return the folder of results and which of its records; of a table those of its rows.

    Raises
    ------
    UsageError
        If it is no folder and no such table.
    """
    if isinstance(results, pd.DataFrame) and isinstance(known := results.attrs.get("folder"), str):
        if "key" not in results.columns:
            raise UsageError(
                "The table has no column 'key', which says whose results its rows are.",
                f"Keep this column, or give the folder: {known!r}",
            )
        return Path(known), RecordFilter(keys=frozenset(results["key"]))
    if not isinstance(results, str | Path):
        raise UsageError(
            f"Results are a folder or what mdbench.run returns, not {type(results).__name__}.",
            'E.g. mdbench.show("results")',
        )
    return Path(results), ALL


def _methods(algorithm: str | Sequence[str]) -> list[str]:
    return [algorithm] if isinstance(algorithm, str) else list(algorithm or ())


def _refuse_other_than_text(**given: object) -> None:
    for name, value in given.items():
        if not isinstance(value, str | None):
            raise UsageError(f"{name} is {value!r}.", "Give a text, one at a time.")


def show(
    folder: str | Path | pd.DataFrame = "results",
    dataset: str | None = None,
    *,
    algorithm: str | Sequence[str] = (),
    language: str = "plain",
    every: bool = False,
) -> pd.DataFrame:
    """Return the best equations found for each dataset and noise level, as ``mdbench show``.

    Parameters
    ----------
    folder
        Results: a folder, a bundle, or what `mdbench.run` and `load` return, of which rows may be
        left out; then the others alone count.
    dataset
        A name or a glob; None for all.
    algorithm
        Only these methods, by name or glob.
    language
        ``"plain"``, ``"python"``, ``"sympy"``, ``"julia"``, ``"c"`` or ``"latex"``.
    every
        Whether all answers are returned, the best first, and not the best alone.

    Returns
    -------
    pandas.DataFrame
        ``dataset``, ``snr_db`` (in dB, missing for clean data), ``algorithm``, the score by the
        primary metric, ``equations`` in the language, and ``remarks``: of data of your own, what
        they explain of all samples, and what else there is to say, such as lines that begin with ⚠.

    Raises
    ------
    mdbench.errors.UsageError
        If there are no results, or none that were asked for.
    """
    _refuse_other_than_text(dataset=dataset)
    if language not in LANGUAGES:
        hint = did_you_mean(str(language), LANGUAGES)
        raise UsageError(f"language is {language!r}.", hint)
    path, wanted = _folder_and_rows(folder)
    rows = [
        {
            "dataset": name,
            "snr_db": snr_db,
            "algorithm": answer.method,
            specs[0].name: answer.metrics.get(specs[0].name),
            "equations": code(answer, language),
            "remarks": "\n".join(line.strip() for line in remarks(answer)),
        }
        for (name, snr_db), (answers, specs) in answers_of(
            [path], dataset, _methods(algorithm), wanted=wanted
        ).items()
        for answer in (answers if every else answers[:1])
    ]
    return Answers(rows)


class Answers(pd.DataFrame):  # type: ignore[misc]
    """A table of answers; printed, it is their equations, and in a notebook none is cut."""

    @property
    def _constructor(self) -> type[Answers]:
        return Answers

    def __str__(self) -> str:
        if not {"dataset", "snr_db", "algorithm", "equations", "remarks"} <= {*self.columns}:
            return str(super().__str__())
        texts = []
        for row in self.to_dict("records"):
            noise = "" if pd.isna(row["snr_db"]) else f", {noise_name(row['snr_db'])}"
            lines = [f"{row['dataset']}{noise}: {row['algorithm']}", row["equations"]]
            texts.append("\n".join(filter(None, [*lines, row["remarks"]])))
        return "\n\n".join(texts)

    def _repr_html_(self) -> str:
        with pd.option_context("display.max_colwidth", None):
            return str(super()._repr_html_())


def predict(
    dataset: str | None = None,
    folder: str | Path | pd.DataFrame = "results",
    *,
    algorithm: str | Sequence[str] = (),
    start: Mapping[str, float] | None = None,
    until: float | None = None,
    points: int = 200,
    given: str | Path | None = None,
) -> pd.DataFrame:
    """Integrate the best equations found from a start, or evaluate them, as ``mdbench predict``.

    Parameters
    ----------
    dataset
        A name or a glob of one dataset with an answer; None where there is only one.
    folder
        Results: a folder, a bundle, or what `mdbench.run` and `load` return, of which rows may be
        left out; then the others alone count.
    algorithm
        Only these methods.
    start
        The states to set out from, in the units of the data.
    until
        The last time; the first is 0.
    points
        How many times.
    given
        A CSV file with times and inputs, instead of `until`; for equations without rates, with
        their columns.

    Returns
    -------
    pandas.DataFrame
        The times and the states; or the columns and what is predicted of them.

    Raises
    ------
    mdbench.errors.UsageError, mdbench.errors.DataError
        If something is missing, or a file cannot be used.
    """
    _refuse_other_than_text(dataset=dataset)
    path, wanted = _folder_and_rows(folder)
    try:
        values = {
            name: float(value) for name, value in dict(() if start is None else start).items()
        }
        last = None if until is None else float(until)
        times = index(points)
    except (TypeError, ValueError):
        raise UsageError(
            f"start is {start!r}, until {until!r} and points {points!r}.",
            "Give the value of each state, a number and a whole number: "
            "start={'x': 1.0}, until=20, points=200",
        ) from None
    text = ",".join(f"{name}={value!r}" for name, value in values.items()) or None
    asked = PredictionOptions(text, last, times, None if given is None else Path(given))
    console = Console(stderr=True, highlight=False)
    found = prediction(asked, [path], dataset, _methods(algorithm), console, wanted=wanted)
    return pd.DataFrame(found.rows, columns=found.names)


def report(
    folder: str | Path | pd.DataFrame = "results",
    out: str | Path = "report.html",
    *,
    title: str = "mdbench report",
) -> Path:
    """Write the page of results, as ``mdbench report --out``, and return its path.

    Raises
    ------
    mdbench.errors.UsageError
        If there are no results, or the page cannot be written.
    """
    place, wanted = _folder_and_rows(folder)
    results = read_results([place], wanted=wanted)
    with opened_all([place]) as places:
        write(Path(out), html_of(results, title=title, places=[*places.values()]))
    return Path(out)


def leaderboard(
    folder: str | Path | pd.DataFrame = "results", data_type: str | None = None
) -> pd.DataFrame:
    """Return the comparison of methods, the best first, as ``mdbench report --text``.

    Parameters
    ----------
    folder
        Results, as for `show`.
    data_type
        Which one; None where there is only one.

    Returns
    -------
    pandas.DataFrame
        A row for each method: ``rank``, ``method``, ``standing``, ``coverage`` (from 0 to 1), and
        each metric by its name.  ``low`` and ``high`` are the ends of the 95 % interval of the
        first metric.  Then come ``jobs``, ``answered``, and the median ``wall_s`` in seconds.

    Raises
    ------
    mdbench.errors.UsageError
        If there are no results, or of several data types and none was named.
    """
    board = _board(folder, data_type)
    specs, values_of_rows = board.known, [row.values for row in board.rows]  # noqa: PD011 - of rows of a board
    return pd.DataFrame(
        {
            "rank": pd.array([row.rank for row in board.rows], dtype="Int64"),
            "method": [row.method for row in board.rows],
            "standing": [row.standing for row in board.rows],
            "coverage": [row.coverage for row in board.rows],
            **{
                spec.name: _numbers(values[spec.name].value for values in values_of_rows)
                for spec in specs
            },
            "low": _numbers(row.low for row in board.rows),
            "high": _numbers(row.high for row in board.rows),
            "jobs": [row.jobs for row in board.rows],
            "answered": [row.answered for row in board.rows],
            "wall_s": _numbers(row.amounts["wall_s"] for row in board.rows),
        }
    )


def plot(
    folder: str | Path | pd.DataFrame = "results",
    data_type: str | None = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw each method's primary score against the size of its answers, with matplotlib.

    Parameters
    ----------
    folder
        Results, as for `show`.
    data_type
        Which one; None where there is only one.
    ax
        Where to draw; None for a new figure.

    Raises
    ------
    mdbench.errors.UsageError
        If matplotlib is not there, or there is nothing to draw.
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise UsageError(
            "matplotlib is not installed.", "Install it: pip install matplotlib"
        ) from None
    board = _board(folder, data_type)
    size = board.weighs
    if size is None:
        raise UsageError(
            f"Answers of {board.data_type} have no size to draw their scores against.",
            "See the numbers: mdbench.leaderboard()",
        )
    axes: Any = plt.subplots()[1] if ax is None else ax
    for row in board.rows:
        found = row.values  # noqa: PD011 - of a row of a board
        x, y = found[size.name].value, found[board.primary.name].value
        if x is not None and y is not None:
            axes.plot([x], [y], "o")
            axes.annotate(row.method, (x, y), textcoords="offset points", xytext=(5, 3))
    axes.set_xlabel(size.title)
    axes.set_ylabel(board.primary.title)
    if board.primary.scale == "log":
        axes.set_yscale("log")
    drawn: Axes = axes
    return drawn


def _numbers(values: Iterable[float | None]) -> Any:
    """Return a column that can hold missing values."""
    return pd.array(list(values), dtype="Float64")


def _board(folder: str | Path | pd.DataFrame, data_type: str | None) -> Leaderboard:
    _refuse_other_than_text(data_type=data_type)
    path, rows = _folder_and_rows(folder)
    try:
        workspace = Workspace.find()
    except UsageError:  # results can be looked at anywhere
        workspace = None
    boards = leaderboards_of(read_results([path], wanted=rows), workspace)
    kinds = list(dict.fromkeys(board.data_type for board in boards.values()))
    if data_type is None and len(kinds) > 1:
        raise UsageError(
            f"There are results of {', '.join(kinds)}.", f"Name one: data_type={kinds[0]!r}"
        )
    wanted = kinds[0] if data_type is None else data_type
    if wanted not in kinds:
        raise UsageError(f"There are no results of {wanted!r}.", did_you_mean(wanted, kinds))
    return next(board for board in boards.values() if board.data_type == wanted)
