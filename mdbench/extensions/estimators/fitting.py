"""``mdbench fit``: methods on your own data, with what you know of the law."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mdbench.cli.options import Exit
from mdbench.cli.run import run_study
from mdbench.data.csv import read_columns
from mdbench.errors import UsageError, did_you_mean
from mdbench.extensions.estimators.adapted import ADAPTED, adapt
from mdbench.extensions.estimators.answers import Equations, Front
from mdbench.extensions.estimators.choices import choose
from mdbench.extensions.estimators.own_data import own_data
from mdbench.extensions.estimators.shapes import read_shapes
from mdbench.extensions.estimators.structures import read_guess
from mdbench.methods import find, more_folders
from mdbench.records import results_files
from mdbench.records.files import read_records
from mdbench.runs.catalog import Catalog
from mdbench.runs.plan import make_plan
from mdbench.runs.spec import JobSpec
from mdbench.runs.study import Study
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray
    from rich.console import Console

    from mdbench.extensions.estimators.vocabulary import Wishes
    from mdbench.records import Record
    from mdbench.runs.study import RunOptions

__all__ = ["fit_own_data"]
_ALL_ROWS = {"real": ("--fold", "none"), "ode": ("--holdout", "none")}
"""Options by which nothing is held out: a tool fits all that there is."""


def fit_own_data(
    options: RunOptions,
    wishes: Wishes,
    console: Console,
    *,
    guess: str | None,
    shape: str | None,
    sigma: str | None,
    json_: bool,
) -> int:
    """Run methods on the user's own data, and choose among their candidates by likelihood.

    Parameters
    ----------
    options
        Of the run.
    wishes
        What searches may use.
    guess, shape, sigma
        As they were typed; None where nothing is known.

    Returns
    -------
    int
        An exit status.

    Raises
    ------
    UsageError
        If the data are none of the user's own, or a method cannot do what is asked for.
    """
    path, kind = options.dataset_path, options.data_type
    if path is None:
        raise UsageError(
            "fit is for your own data.",
            "Name a file: --dataset-path my-data.csv; a benchmark's datasets are for: mdbench run",
        )
    if kind not in _ALL_ROWS and (guess or shape or sigma):
        raise UsageError(
            f"--guess, --shape and --sigma are not for {kind}.",
            f"They are for {' and '.join(_ALL_ROWS)}.",
        )
    number, errors = (None, None) if sigma is None else _errors(sigma, path)
    words = [*options.special]
    if kind in _ALL_ROWS and not any(word.startswith(_ALL_ROWS[kind][0]) for word in words):
        words += _ALL_ROWS[kind]
    if errors is not None:
        words += ["--ignore", str(sigma)]
    workspace = Workspace.find()
    methods = [find(name, workspace.algorithms) for name in options.algorithms]
    folders: list[str] = []
    if wishes.options:
        methods = [adapt(each, kind, wishes, workspace.home / ADAPTED) for each in methods]
        folders = [str(method.folder.parent) for method in methods]
    known = guess is not None or shape is not None or sigma is not None
    options = replace(
        options,
        algorithms=tuple(method.name for method in methods),
        special=tuple(words),
        save_pareto=options.save_pareto or known,
    )
    study = Study((options,))
    with more_folders(folders):
        status = run_study(study, console=console, json_=json_)
        if not known or status == Exit.INTERRUPTED:
            return status
        catalog = Catalog(workspace)
        for record in _records(study, workspace):
            own = own_data(record, catalog, number if errors is None else errors)
            choice = choose(
                [record],
                own.targets,
                own.experiment,
                names=own.names,
                guess=None if guess is None else read_guess(guess, own.targets),
                shapes=() if shape is None else read_shapes(shape, own.targets, own.names),
            )
            answer = record.model_copy(update={"equations": choice.options[0].equations})
            console.print(
                f"\n{record.algorithm} on {record.dataset}, by likelihood "
                f"({choice.options[0].origin}):",
                markup=False,
                soft_wrap=True,
            )
            console.print(Equations(answer, Front.of(record)).text(), markup=False, soft_wrap=True)
            console.print(str(choice), markup=False, soft_wrap=True)
    return status


def _records(study: Study, workspace: Workspace) -> list[Record]:
    """Return the answers of the jobs of a run."""
    jobs = make_plan(study, workspace).jobs
    files = results_files(study.whole.result_dir)
    newest = {record.key: record for file in files for record in read_records(file)}
    answered = [one for one in newest.values() if one.answered and one.equations]
    asked = {replace(job, save_pareto=False) for job in jobs}
    return [one for one in answered if replace(JobSpec.of(one), save_pareto=False) in asked]


def _errors(sigma: str, path: Path) -> tuple[float | None, NDArray[np.float64] | None]:
    try:
        return float(sigma), None
    except ValueError:
        labels, table = read_columns(path)
    if sigma not in labels:
        raise UsageError(f"{path} has no column {sigma}.", did_you_mean(sigma, labels))
    return None, table[:, list(labels).index(sigma)]
