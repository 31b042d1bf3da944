"""The Python interface: methods run, results read, equations compared, data looked at.

The names are those of `mdbench` itself: ``mdbench.run`` and so on.
"""

from __future__ import annotations

import math
import os
import sys
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import partial
from html import escape
from importlib import import_module
from numbers import Integral
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Self, Union, get_args, get_origin

import numpy as np
import pandas as pd
from pydantic import AwareDatetime, BaseModel

from eqverdict.scores import Comparison, compare
from mdbench.backends import open_backend
from mdbench.data.python_objects import RUN, joined_runs, runs_of, write_data
from mdbench.datatypes.facts import Protocol
from mdbench.errors import DataError, UsageError, counted, did_you_mean
from mdbench.records import Budget, LlmUse, Measured, Record, Selection, results_files
from mdbench.records.files import read_records
from mdbench.runs.catalog import Catalog
from mdbench.runs.execute import execute, notify_at_end
from mdbench.runs.options import parse_words, to_words
from mdbench.runs.plan import make_plan
from mdbench.runs.study import study_of
from mdbench.runtimes.registry import open_runtime
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from mdbench.datatypes.base import Split, Task
    from mdbench.runs.spec import JobSpec
    from mdbench.runs.study import Study

__all__ = ["Comparison", "Data", "View", "compare", "dataset", "load", "run"]


def run(
    algorithm: str | Sequence[str] = (),
    data_type: str = "",
    *,
    study: str | Path | None = None,
    data: pd.DataFrame
    | pd.Series
    | Mapping[str, ArrayLike]
    | Sequence[ArrayLike]
    | Sequence[pd.DataFrame]
    | None = None,
    name: str = "data",
    say: Callable[[str], object] | None = None,
    **options: Any,
) -> Results:
    """Run methods on datasets, as ``mdbench run`` does; every job leaves a record.

    Parameters
    ----------
    algorithm
        A method, or several.
    data_type
        The kind of problem, such as ``"ode"``.
    study
        A study file instead, with all options; of the others only those may be given with it that
        set where and how it is run.
    data
        Your own data instead of a dataset: a table, a series with the times as its index, a mapping
        of column names to arrays, or arrays: the times, shape ``(n,)``, and the states, shape
        ``(n,)`` or ``(n, states)``.  A list of tables is runs of one experiment, with
        ``trajectory="run"``.  They are written into ``NAME.csv`` in the folder of the results, and
        are as `dataset_path` then.
    name
        The name of these data.
    say
        Called with lines of text on how the run goes on; such as `print`.  By default a bar shows
        it, in a notebook and in a terminal.
    **options
        The options of the command line with underscores, those of the data type too: a text or a
        number each, a list for what may be given several times, True for a switch.

    Returns
    -------
    pandas.DataFrame
        As `load` gives it: the newest record of every job, in the order of the plan.

    Raises
    ------
    mdbench.errors.MdbenchError
    With the message of the command line: what was given, what is allowed, what to do next.

    Examples
    --------
    >>> import mdbench
    >>> table = mdbench.run(
    ...     ["sindy", "operon"], "ode", dataset="lorenz*", snr=["clean", 40], timeout=600
    ... )  # doctest: +SKIP
    """
    if not callable(say or print):
        raise UsageError(f"say is {say!r}.", "Give a function of a line of text: say=print")
    options_given = {name: _list_of(name, value) for name, value in options.items()}
    options_given = {
        "algorithm": _one_or_many(algorithm) or None,
        "data_type": data_type or None,
        **options_given,
    }
    if data is not None:
        if "dataset_path" in options:
            raise UsageError("data and dataset_path were both given.", "Give one of them.")
        folder = Path(options.get("result_dir") or "results")
        new = not (folder / f"{name}.csv").exists()
        if runs := runs_of(data):
            options_given["trajectory"] = options_given.get("trajectory") or RUN
        own = joined_runs(runs) if runs else data
        options_given["dataset_path"] = path = write_data(own, folder, name)
        try:
            return _run(study_of(options_given, study), say)
        except (DataError, UsageError):
            if new:  # so that they can be mended and given again by this name
                path.unlink(missing_ok=True)
            raise
    return _run(study_of(options_given, study), say)


def _run(asked: Study, say: Callable[[str], object] | None) -> Results:
    workspace = Workspace.find()
    plan, whole = make_plan(asked, workspace), asked.whole
    backend = open_backend(whole)
    listener = _bar() if say is None else _Listener(say)
    plan.catalog.set_progress(listener.message)
    with (
        listener,
        notify_at_end(whole.notify, plan.result_dir, listener.message) as news,
        closing(
            open_runtime(
                whole.runtime, workspace.home, listener.message, require=dict(whole.require)
            )
        ) as runtime,
    ):
        summary = execute(plan, runtime, listener, backend)
        news.ended(plan, summary)
        return _note_folder(plan.result_dir, table(summary.records))


def _one_or_many(value: Any) -> Any:
    """Return arrays, series and ranges as lists, and NumPy's numbers as plain ones."""
    if isinstance(value, np.ndarray | pd.Series | pd.Index | range):
        return value.tolist() if hasattr(value, "tolist") else list(value)
    return value.item() if isinstance(value, np.generic) else value


def _list_of(name: str, value: Any) -> Any:
    """Return an option's value; an empty list is refused, as it would stand for all there is."""
    values = _one_or_many(value)
    if isinstance(values, list | tuple | set | frozenset) and not values:
        raise UsageError(f"{name} is empty.", "Name one at least, or leave the option out.")
    return values


class _Listener:
    """Observer of a run that passes on its messages, one line of text each."""

    def __init__(self, say: Callable[[str], object]) -> None:
        self._say = say

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def message(self, text: str) -> None:
        self._say(text)

    def prepared(self, to_run: int, done: int) -> None:
        self.message(f"{counted(to_run, 'job')} to run; {done} with a record already.")

    def job_started(self, job: JobSpec) -> None: ...

    def job_ended(self, job: JobSpec, record: Record) -> None:
        self.message(f"{job}  {record.status.word} {record.reason}".rstrip())


class _Bar(_Listener):
    """Observer of a run that shows a bar in terminals, and nothing in a pipe."""

    def __init__(self) -> None:
        from rich.console import Console  # noqa: PLC0415 - for this default alone
        from rich.progress import Progress  # noqa: PLC0415 - likewise

        console = Console(stderr=True)
        self._progress = Progress(console=console, disable=not console.is_terminal, transient=True)
        self._task = self._progress.add_task("preparing", total=None)
        super().__init__(
            lambda text: self._progress.update(self._task, description=text[:_LONGEST])
        )

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def prepared(self, to_run: int, done: int) -> None:
        del done
        self._progress.update(self._task, total=to_run)

    def job_ended(self, job: JobSpec, record: Record) -> None:
        super().job_ended(job, record)
        self._progress.advance(self._task)


class _NotebookBar(_Listener):
    """Observer of a run that shows a bar in a notebook; rich's own would need ipywidgets there."""

    def __init__(self) -> None:
        super().__init__(self._show)
        self._text, self._done, self._total = "preparing", 0, 0
        display: Any = import_module("IPython.display").display
        self._output: Any = display(self._bundle(), raw=True, display_id=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._show("")

    def _bundle(self) -> dict[str, str]:
        count = f"{self._done} of {self._total}" if self._total else ""
        ends = f'value="{self._done}" max="{self._total}"' if self._total else ""
        bar = f'<progress aria-label="jobs" {ends}></progress>'
        return {
            "text/plain": f"{count} {self._text}".strip(),
            "text/html": f"{bar} {count} {escape(self._text[:_LONGEST])}",
        }

    def _show(self, text: str) -> None:
        self._text = text
        self._output.update(self._bundle(), raw=True)

    def prepared(self, to_run: int, done: int) -> None:
        self._total = to_run
        super().prepared(to_run, done)

    def job_ended(self, job: JobSpec, record: Record) -> None:
        self._done += 1
        super().job_ended(job, record)


def _bar() -> _Bar | _NotebookBar:
    """Return the observer of a run that is asked for by nobody: IPython's kernel has its own."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return _NotebookBar() if hasattr(shell, "kernel") else _Bar()


_LONGEST = 60
"""Characters of a text next to a bar."""


class Results(pd.DataFrame):  # type: ignore[misc]
    """A table of results; in a notebook it is shown as the few columns that matter most."""

    @property
    def _constructor(self) -> type[Results]:
        return Results

    def _repr_html_(self) -> str:
        whole = "key" in self.columns and "measured.wall_s" in self.columns
        return str(pd.DataFrame(self[_brief(self)] if whole else self)._repr_html_())


def _brief(table: pd.DataFrame) -> list[str]:
    """Return the columns to be shown: those of which something differs, scores, and answers."""
    names = [name for name in _FIRST if name in table.columns]
    same = {name for name in _IF_SEVERAL if table[name].nunique(dropna=False) < 2}  # noqa: PLR2004
    scores = [name for name in table.attrs.get("metrics", ()) if name in table.columns]
    kept = [name for name in names if name not in same]
    return [*kept, *scores[:MOST_SCORES], "measured.wall_s", "equations"]


MOST_SCORES = 3
"""Metrics of a table in a notebook."""
_FIRST = ("algorithm", "data_type", "dataset", "snr_db", "seed", "status", "reason")
_IF_SEVERAL = frozenset({"data_type", "snr_db", "seed", "reason"})
"""Columns that are shown where they have several values."""
_LAST = ("mdbench", "study", "log", "exchanges", "key")
"""Columns at the end: nobody reads them first."""


def load(folder: str | Path = "results") -> Results:
    """Read results: a row for the newest record of every job, failures too.

    Parameters
    ----------
    folder
        A folder with results files, packed ones too, or one such file.

    Returns
    -------
    pandas.DataFrame
        A column for each key of a record that is one value (``measured.wall_s``), one for each
        metric by its name (``nmse``) and one for each option; lists and objects stay as they are.
        Types can hold missing values: ``Float64``, ``Int64``, ``boolean``, ``string``.

    Raises
    ------
    mdbench.errors.UsageError
        If there is no results file.
    mdbench.errors.RecordsError
        If a file cannot be read.

    Examples
    --------
    >>> import mdbench
    >>> table = mdbench.load("results")  # doctest: +SKIP
    >>> table.groupby("algorithm")["nmse"].median()  # doctest: +SKIP
    """
    if not isinstance(folder, str | os.PathLike):
        raise UsageError(
            f"folder is {folder!r:.200}.",
            "Give one folder, such as 'results'; pandas.concat puts tables together.",
        )
    path = Path(folder)
    if not path.exists():
        raise UsageError(f"There are no results in {path}.", "Results come from: mdbench run")
    files = results_files(path)
    found = ({one.identity: one for one in read_records(file)} for file in files)
    return _note_folder(path, table(record for newest in found for record in newest.values()))


def _note_folder(folder: Path, results: Results) -> Results:
    """Note where results are, for `mdbench.show` and others."""
    results.attrs["folder"] = str(folder)
    return results


_SPREAD: dict[str, type[BaseModel]] = {
    "selection": Selection,
    "budget": Budget,
    "measured": Measured,
    "llm": LlmUse,
}
"""Objects whose keys become columns, after their own name."""
_BY_NAME = ("metrics", "options")
"""Objects whose keys become columns by themselves: names of scores and options are unique."""
_LEFT_OUT = {"schema_number", "key_parts", "provenance", "runtime"}


def table(records: Iterable[Record]) -> Results:
    """Return records as a table, whose columns have the same types whatever is in them."""
    all_ = list(records)
    rows = [_row(record) for record in all_]
    known = _columns(Record) | {"runtime": "string"}
    scores = dict.fromkeys(name for record in all_ for name in record.metrics)
    used = dict.fromkeys([*known, *(name for row in rows for name in row)])
    first = [name for name in (*_FIRST, *scores, "equations") if name in used]
    names = [*first, *(name for name in used if name not in {*first, *_LAST})]
    names += [name for name in _LAST if name in used]
    columns = {}
    for name in names:
        values = [row.get(name) for row in rows]
        columns[name] = pd.Series(values, dtype=known.get(name) or _kind(values))
    made = Results(columns)
    made.attrs["metrics"] = list(scores)
    return made


def _row(record: Record) -> dict[str, Any]:
    row: dict[str, Any] = {"runtime": record.runtime.name}
    for name in type(record).model_fields:
        value = getattr(record, name)
        if name in _SPREAD:
            row |= {f"{name}.{inner}": part for inner, part in value or ()}
        elif name in _BY_NAME:
            row |= value
        elif name not in _LEFT_OUT:
            row[name] = str(value) if isinstance(value, str) else value
    return row


def _columns(model: type[BaseModel], prefix: str = "") -> dict[str, str]:
    """Return the types of the columns that a model makes."""
    types: dict[str, str] = {}
    for name, info in model.model_fields.items():
        if name in _SPREAD:
            types |= _columns(_SPREAD[name], f"{name}.")
        elif name not in (*_LEFT_OUT, *_BY_NAME):
            types[f"{prefix}{name}"] = _TYPES.get(_plain(info.annotation), "object")
    return types


_TYPES = {int: "Int64", float: "Float64", str: "string", datetime: "datetime64[us, UTC]"}


def _plain(annotation: Any) -> Any:
    """Return what is left of an annotation without None and validators."""
    while get_origin(annotation) in (Annotated, Union, UnionType):
        annotation = next(part for part in get_args(annotation) if part is not type(None))
    if isinstance(annotation, type) and issubclass(annotation, StrEnum):
        return str
    return datetime if annotation is AwareDatetime else annotation


def _kind(values: list[Any]) -> str:
    """Return the type of a metric's or an option's values."""
    kinds = {type(value) for value in values} - {type(None)}
    if kinds == {bool}:
        return "boolean"
    return (
        "Int64"
        if kinds == {int}
        else "string"
        if kinds == {str}
        else ("Float64" if kinds <= {int, float} else "object")
    )


@dataclass(frozen=True)
class View:
    """A dataset as methods of one view are given it, and what their answers are tested on.

    Attributes
    ----------
    variables, targets
        The names in equations, and of their left-hand sides.
    train, validation, refit, test
        The arrays of each split by name, its targets among them.  `refit` is train and validation
        together; of `test` no method sees the targets.
    """

    variables: tuple[str, ...]
    targets: tuple[str, ...]
    train: Mapping[str, NDArray[Any]] = field(repr=False)
    validation: Mapping[str, NDArray[Any]] = field(repr=False)
    refit: Mapping[str, NDArray[Any]] = field(repr=False)
    test: Mapping[str, NDArray[Any]] = field(repr=False)


@dataclass(frozen=True)
class Data:
    """A dataset, and the truth behind it.

    Attributes
    ----------
    dim
        The number of equations.
    truth
        The true right-hand sides; None where they are unknown.
    views
        What methods may be given, by the view's name; made when it is looked at.
    """

    name: str
    title: str
    dim: int
    snr_db: float | None
    truth: tuple[str, ...] | None
    views: tuple[str, ...]
    _cut: Callable[[str], Task[Any]] = field(repr=False)

    def __getitem__(self, view: str) -> View:
        """Return one of the `views`."""
        if view not in self.views:
            raise UsageError(f"There is no view {view!r}.", did_you_mean(view, self.views))
        task = self._cut(view)
        splits = (_arrays(part) for part in (task.train, task.validation, task.refit, task.test))
        return View(task.variables, task.targets, *splits)


def _protocol(text: str) -> Protocol:
    known = [one.value for one in Protocol]
    if text not in known:
        raise UsageError(f"protocol is {text!r}.", did_you_mean(str(text), known))
    return Protocol(text)


def _level(snr: float | str | None) -> float | None:
    if snr is None or snr == "clean":
        return None
    try:
        level = float(snr)
    except (TypeError, ValueError):
        level = math.nan
    if not math.isfinite(level):
        raise UsageError(f"snr is {snr!r}.", "Give one number of dB, such as 40, or 'clean'.")
    return level


def _refuse_other_values(name: object, data_type: object, seed: object) -> None:
    for what, value in (("name", name), ("data_type", data_type)):
        if not isinstance(value, str):
            raise UsageError(f"{what} is {value!r}.", "Give a text.")
    if isinstance(seed, bool) or not isinstance(seed, Integral) or seed < 0:
        raise UsageError(f"seed is {seed!r}.", "Give a whole number from 0 on.")


def _arrays(part: Split) -> dict[str, NDArray[Any]]:
    return {**part.inputs, part.target_name: part.targets}


def dataset(
    name: str,
    data_type: str,
    *,
    dataset_path: str | Path | None = None,
    snr: float | str | None = None,
    seed: int = 0,
    protocol: str = "strict",
    **options: Any,
) -> Data:
    """Make or read a dataset, and show it as methods see it.

    Parameters
    ----------
    name
        Of a dataset of any suite, as ``mdbench list --datasets`` shows them.
    data_type
        The kind of problem.
    dataset_path
        Your own data instead of the project's.
    snr
        The noise level in dB; None or ``"clean"`` for clean data.
    seed
        Of the noise.
    protocol
        ``"strict"`` or ``"published"``.
    **options
        Those of the data type, as `run` takes them.  Of a table's folds the first is taken, unless
        `fold` says which.

    Raises
    ------
    mdbench.errors.UsageError, mdbench.errors.DataError
        If there is no such dataset, or it cannot be used.

    Examples
    --------
    >>> import mdbench
    >>> data = mdbench.dataset("rc-circuit", "ode")
    >>> data.truth
    ('(0.7 - u0 / 1.2) / 2.31',)
    >>> data["table"].train["X"].shape
    (118, 1)
    """
    _refuse_other_values(name, data_type, seed)
    catalog = Catalog(Workspace.find())
    kind = catalog.data_type(data_type)
    path = None if dataset_path is None else Path(dataset_path)
    source = catalog.source(data_type, path)
    rules = _protocol(protocol)
    level = _level(snr)
    every = [*source.names(), *(one for group in source.groups().values() for one in group)]
    if name not in every:
        raise UsageError(f"There is no dataset {name!r}.", did_you_mean(name, every))
    typed = parse_words(to_words(options), kind.options, data_type)
    parts = kind.expand_options([name], typed)
    asked, values = parts[0]
    if len({repr((dataset, [o.get(key) for key in typed])) for dataset, o in parts}) > 1:
        raise UsageError(
            f"{name} is {len(parts)} datasets with these options.",
            "Give one value to each option: " + ", ".join(f"{key}=..." for key in typed),
        )
    loaded = source.load(asked, snr_db=level, seed=int(seed), protocol=rules, options=values)
    return Data(
        asked,
        source.title(name),
        loaded.dim,
        level,
        loaded.truth,
        tuple(kind.views),
        partial(_task_of, data_type, loaded, rules),
    )


def _task_of(data_type: str, loaded: Any, rules: Protocol, view: str) -> Task[Any]:
    """Return a task of a dataset; the data type is found by its name, which can be pickled."""
    task: Task[Any] = Catalog(Workspace.find()).data_type(data_type).task(loaded, view, rules)
    return task
