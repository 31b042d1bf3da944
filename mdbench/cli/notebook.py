"""The verbs on results for a notebook: they return tables and paths, where the verbs print.

The names are those of `mdbench` itself: ``mdbench.show`` and so on.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from rich.console import Console

from mdbench.cli.report import html_of, leaderboards_of, read_results, write
from mdbench.cli.results import PredictionOptions, answers_of, prediction
from mdbench.errors import UsageError, did_you_mean
from mdbench.expressions.printers import LANGUAGES
from mdbench.reports.language_models import read_probes
from mdbench.reports.systems import code
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matplotlib.axes import Axes

    from mdbench.reports.leaderboard import Leaderboard

__all__ = ["leaderboard", "plot", "predict", "report", "show"]


def _place(results: str | Path | pd.DataFrame) -> Path:
    """Return the folder of results, by its name or by a table that was read from it.

    Raises
    ------
    UsageError
        If it is something else.
    """
    if isinstance(results, pd.DataFrame) and isinstance(known := results.attrs.get("folder"), str):
        return Path(known)
    if not isinstance(results, str | Path):
        raise UsageError(
            f"Results are a folder or what mdbench.run returns, not {type(results).__name__}.",
            'E.g. mdbench.show("results")',
        )
    return Path(results)


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
        Results: a folder, a bundle, or what `mdbench.run` and `load` return.
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
        primary metric, and ``equations`` in the language.

    Raises
    ------
    mdbench.errors.UsageError
        If there are no results, or none that were asked for.
    """
    if language not in LANGUAGES:
        raise UsageError(f"language is {language!r}.", did_you_mean(language, LANGUAGES))
    methods = [algorithm] if isinstance(algorithm, str) else list(algorithm)
    rows = [
        {
            "dataset": name,
            "snr_db": snr_db,
            "algorithm": one.method,
            specs[0].name: one.metrics.get(specs[0].name),
            "equations": code(one, language),
        }
        for (name, snr_db), (answers, specs) in answers_of(
            [_place(folder)], dataset, methods
        ).items()
        for one in (answers if every else answers[:1])
    ]
    return pd.DataFrame(rows)


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
        Results: a folder, a bundle, or what `mdbench.run` and `load` return.
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
    methods = [algorithm] if isinstance(algorithm, str) else list(algorithm)
    if start is not None and not isinstance(start, Mapping):
        raise UsageError(f"start is {start!r:.200}.", "Give each state: start={'x': 2.0}")
    text = ",".join(f"{name}={value!r}" for name, value in start.items()) if start else None
    asked = PredictionOptions(text, until, points, None if given is None else Path(given))
    found = prediction(
        asked, [_place(folder)], dataset, methods, Console(stderr=True, highlight=False)
    )
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
    results = read_results([_place(folder)])
    write(Path(out), html_of(results, title=title, probes=read_probes(_place(folder))))
    return Path(out)


def leaderboard(
    folder: str | Path | pd.DataFrame = "results", data_type: str | None = None
) -> pd.DataFrame:
    """Return the comparison of methods, the best first, as ``mdbench report --text``.

    Parameters
    ----------
    folder
        Results.
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
    board = _board(_place(folder), data_type)
    specs, found = board.known, [row.values for row in board.rows]  # noqa: PD011 - of rows of a board
    return pd.DataFrame(
        {
            "rank": pd.array([row.rank for row in board.rows], dtype="Int64"),
            "method": [row.method for row in board.rows],
            "standing": [row.standing for row in board.rows],
            "coverage": [row.coverage for row in board.rows],
            **{spec.name: _numbers(values[spec.name].value for values in found) for spec in specs},
            "low": _numbers(row.low for row in board.rows),
            "high": _numbers(row.high for row in board.rows),
            "jobs": [row.jobs for row in board.rows],
            "answered": [row.answered for row in board.rows],
            "wall_s": _numbers(row.wall_s for row in board.rows),
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
        Results.
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
    board = _board(_place(folder), data_type)
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


def _board(folder: Path, data_type: str | None) -> Leaderboard:
    try:
        workspace = Workspace.find()
    except UsageError:  # results can be looked at anywhere
        workspace = None
    boards = leaderboards_of(read_results([folder]), workspace)
    kinds = list(dict.fromkeys(board.data_type for board in boards.values()))
    if data_type is None and len(kinds) > 1:
        raise UsageError(
            f"There are results of {', '.join(kinds)}.", f"Name one: data_type={kinds[0]!r}"
        )
    wanted = kinds[0] if data_type is None else data_type
    if wanted not in kinds:
        raise UsageError(f"There are no results of {wanted!r}.", did_you_mean(wanted, kinds))
    return next(board for board in boards.values() if board.data_type == wanted)
