"""The data of a record again, as an experiment in the names that its equations have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mdbench.data.columns import OwnNames
from mdbench.datatypes.facts import Protocol
from mdbench.errors import UsageError
from mdbench.extensions.estimators.experiments import Motion, Run, Table, Windows, errors_of
from mdbench.extensions.estimators.solutions import Solver
from mdbench.reports.systems import states_of
from mdbench.runs.spec import JobSpec

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from mdbench.extensions.estimators.experiments import Experiment
    from mdbench.records import Record
    from mdbench.runs.catalog import Catalog

__all__ = ["OwnData", "own_data", "windows"]
_ROWS = "table"
"""The view whose rows an equation explains one by one."""


def windows(record: Record, catalog: Catalog) -> list[Windows]:
    """Load the field of a record in weak form: for each equation, in the names of the bench.

    Raises
    ------
    UsageError, mdbench.errors.DataError
        If the data are not there any more, or give no windows.
    """
    job = JobSpec.of(record)
    task = catalog.data_type(job.data_type).task(
        catalog.load(job), catalog.method(job.algorithm).spec.view, Protocol(record.protocol)
    )
    evidence = task.evidence
    if not hasattr(evidence, "along"):
        raise UsageError(f"{record.dataset} is not compared in weak form.", "Use strict.")
    columns = {name: np.asarray(evidence.columns[name]).reshape(-1) for name in evidence.columns}
    made = []
    for weights, changes, along in zip(
        evidence.weights, evidence.changes, evidence.along, strict=True
    ):
        roots = np.sqrt(weights)
        made.append(Windows((Run(columns, (roots * changes)[:, None]),), roots, along))
    return made


class OwnData(NamedTuple):
    """An experiment, and the names in it.

    Attributes
    ----------
    targets
        Of the left-hand sides.
    names
        The variables.
    """

    experiment: Experiment
    targets: tuple[str, ...]
    names: tuple[str, ...]


def own_data(record: Record, catalog: Catalog, sigma: ArrayLike | None = None) -> OwnData:
    """Load what a method was given for a record.

    Parameters
    ----------
    sigma
        Standard errors, as many as there are rows, or one.

    Raises
    ------
    UsageError, mdbench.errors.DataError
        If the data are not there any more, or standard errors do not fit them.
    """
    job = JobSpec.of(record)
    dataset: Any = catalog.load(job)  # of trajectories has more than others
    kind = catalog.data_type(job.data_type)
    own = OwnNames(record.names)
    protocol = Protocol(record.protocol)
    system = states_of(record)
    if not (system.rates and hasattr(kind, "integrate")):
        task = kind.task(dataset, _ROWS, protocol)
        names = own.all_own(task.variables)
        columns = dict(zip(names, np.asarray(task.refit.inputs["X"], dtype=float).T, strict=True))
        values = np.asarray(task.refit.targets, dtype=float)
        run = Run(columns, values, errors_of(_fitting(sigma, len(values)), values.shape))
        return OwnData(Table((run,)), own.all_own(task.targets), names)
    states = system.states
    befores, _ = dataset.parted(dataset.given, protocol)
    driven = [name for name in system.others if name in record.names.values()]
    solver = Solver(record, states, driven)
    places = [int(own.internal(name)[1:]) for name in driven]
    count = sum(len(piece.t) for piece in befores)
    errors = (
        np.empty((count, 0))
        if sigma is None
        else errors_of(_fitting(sigma, count), (count, len(states)))
    )
    runs, first = [], 0
    for piece in befores:
        last = first + len(piece.t)
        inputs = piece.inputs[:, places] if driven else None
        columns_of_run = [*piece.u.T, *(() if inputs is None else inputs.T)]
        known = dict(zip((*states, *driven), columns_of_run, strict=True))
        own_errors = None if sigma is None or errors is None else errors[first:last]
        runs.append(Run(known, piece.u, own_errors, piece.t, inputs))
        first = last
    return OwnData(Motion(tuple(runs), solver), tuple(states), (*states, *driven))


def _fitting(sigma: ArrayLike | None, count: int) -> ArrayLike | None:
    if sigma is not None and np.ndim(sigma) and len(np.asarray(sigma)) != count:
        raise UsageError(
            f"There are {len(np.asarray(sigma))} standard errors for {count} rows.",
            "Give one number, or a column of a file of which all rows are used.",
        )
    return sigma
