"""``mdbench refit``: the best answer of results, and the constants that new data give it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from mdbench.cli.predict import best_answer
from mdbench.cli.results import places_and_name
from mdbench.data.columns import OwnNames, equation_names
from mdbench.data.csv import read_columns
from mdbench.errors import UsageError, did_you_mean
from mdbench.extensions.estimators.experiments import Motion, Run, errors_of
from mdbench.extensions.estimators.own_data import own_data, windows
from mdbench.extensions.estimators.refit import refit, refit_dynamics, refit_field
from mdbench.extensions.estimators.solutions import Solver
from mdbench.reports.systems import states_of
from mdbench.runs.catalog import Catalog
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from mdbench.extensions.estimators.refit import Refit
    from mdbench.records import Record
    from mdbench.reports.systems import AnswerNames

    Array = NDArray[np.float64]


def refit_answer(
    what: str,
    data: Path,
    folders: Sequence[Path],
    algorithm: Sequence[str],
    *,
    sigma: str | None = None,
    time: str = "t",
) -> tuple[Refit, str]:
    """Fit the constants of the best answer of one dataset to new data.

    Parameters
    ----------
    what
        Results, or a dataset in `folders`.
    data
        A table with the columns of the equations, and their targets or states.
    algorithm
        Only the answers of these methods.
    sigma
        One standard error, or the name of a column of them.
    time
        The column of the times, for equations of motion.

    Returns
    -------
    Refit
        In the names of the data.
    str
        The method whose answer it is.

    Raises
    ------
    UsageError
        If there is no such answer, or a column is missing.
    """
    places, name = places_and_name(what, folders)
    record = best_answer(places, name, algorithm, verb="refit", more=f" {data}")
    labels, table = read_columns(data)
    columns = dict(zip(labels, table.T, strict=True))
    columns = dict(zip(equation_names(labels), table.T, strict=True)) | columns
    names = states_of(record)
    if names.rates:
        return _of_motion(record, names, columns, data, time=time, sigma=sigma), record.method
    [target] = record.targets
    _refuse_missing([target, *names.others], columns, data)
    [equation] = record.equations or ()
    errors = _errors(sigma, columns, data)
    known = {name: columns[name] for name in names.others}
    if not known:
        raise UsageError(f"{equation} has no variable.", "There is nothing to fit.")
    return refit(equation, known, columns[target], sigma=errors), record.method


def refit_own(
    what: str, folders: Sequence[Path], algorithm: Sequence[str], *, sigma: str | None = None
) -> tuple[list[Refit], str]:
    """Fit the constants of the best answer of one dataset to the data that it was found from.

    Raises
    ------
    UsageError
        If there is no such answer, its data are not there any more, or `sigma` is no number.
    """
    number = None if sigma is None else _number(sigma)
    if sigma is not None and number is None:
        raise UsageError(f"--sigma is {sigma}.", "Give a number, or a file with that column.")
    places, name = places_and_name(what, folders)
    record = best_answer(places, name, algorithm, verb="refit", more="")
    catalog = Catalog(Workspace.find())
    names = states_of(record)
    if names.rates and not hasattr(catalog.data_type(record.data_type), "integrate"):
        own = OwnNames(record.names)
        pairs = zip(record.equations or (), windows(record, catalog), strict=True)
        return [refit_field(*pair, own) for pair in pairs], record.method
    known = own_data(record, catalog, number)
    equations = record.equations or ()
    if isinstance(known.experiment, Motion):
        runs, integrate = known.experiment.runs, known.experiment.integrate
        return [refit_dynamics(equations, known.names, runs, integrate)], record.method
    [run] = known.experiment.runs
    return [
        refit(text, run.columns, values, sigma=number)
        for text, values in zip(equations, run.targets.T, strict=True)
    ], record.method


def _of_motion(
    record: Record,
    names: AnswerNames,
    columns: Mapping[str, Array],
    data: Path,
    *,
    time: str,
    sigma: str | None,
) -> Refit:
    inputs = [name for name in names.others if name in record.names.values()]
    _refuse_missing([time, *names.states, *inputs], columns, data)
    states = np.stack([columns[name] for name in names.states], axis=1)
    run = Run(
        {name: columns[name] for name in (*names.states, *inputs)},
        states,
        errors_of(_errors(sigma, columns, data), states.shape),
        columns[time],
        np.stack([columns[name] for name in inputs], axis=1) if inputs else None,
    )
    known = [*names.states, *inputs]
    solver = Solver(record, names.states, inputs)
    fitted = refit_dynamics(record.equations or (), known, [run], solver)
    pairs = zip(names.states, fitted.equations, strict=True)
    return replace(fitted, equations=tuple(f"d{state}/dt = {text}" for state, text in pairs))


def _errors(sigma: str | None, columns: Mapping[str, Array], data: Path) -> float | Array | None:
    if sigma is None:
        return None
    if (number := _number(sigma)) is not None:
        return number
    _refuse_missing([sigma], columns, data)
    return columns[sigma]


def _refuse_missing(names: Sequence[str], columns: Mapping[str, Array], data: Path) -> None:
    for name in names:
        if name not in columns:
            raise UsageError(f"{data} has no column {name}.", did_you_mean(name, list(columns)))


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
