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
from mdbench.extensions.estimators.fields import choose_field
from mdbench.extensions.estimators.own_data import own_data, windows
from mdbench.extensions.estimators.shapes import read_shapes
from mdbench.extensions.estimators.structures import read_guess
from mdbench.methods import find, more_folders
from mdbench.records import RecordStore, results_files
from mdbench.records.files import read_records
from mdbench.runs.catalog import Catalog
from mdbench.runs.plan import make_plan
from mdbench.runs.spec import JobSpec
from mdbench.runs.study import Study
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray
    from rich.console import Console

    from mdbench.extensions.estimators.choices import Choice
    from mdbench.extensions.estimators.vocabulary import Wishes
    from mdbench.records import Record
    from mdbench.runs.study import RunOptions

__all__ = ["fit_own_data"]
_ALL_ROWS = {"real": ("--fold", "none"), "ode": ("--holdout", "none")}
"""Options by which nothing is held out: a tool fits all that there is."""
_FIELDS = "pde"
"""What is compared in weak form, each equation for itself."""


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
    _refuse_unfitting(kind, {"--guess": guess, "--shape": shape, "--sigma": sigma})
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
        for file, record in _records(study, workspace):
            errors_here = number if errors is None else errors
            choices = _choices(record, catalog, guess=guess, shape=shape, sigma=errors_here)
            texts = [text for choice in choices for text in choice.options[0].equations]
            answer = record.model_copy(update={"equations": tuple(texts)})
            origins = ", ".join(choice.options[0].origin for choice in choices)
            console.print(
                f"\n{record.algorithm} on {record.dataset}, by likelihood ({origins}):",
                markup=False,
                soft_wrap=True,
            )
            console.print(Equations(answer, Front.of(record)).text(), markup=False, soft_wrap=True)
            for choice in choices:
                console.print(str(choice), markup=False, soft_wrap=True)
                if choice.weighted is not None:
                    with RecordStore(file).open_for_writing() as writer:
                        writer.append(record.model_copy(update={"weighted": choice.weighted}))
    return status


def _refuse_unfitting(kind: str, typed: Mapping[str, str | None]) -> None:
    for option, text in typed.items():
        kinds = [*_ALL_ROWS, *[_FIELDS] * (option != "--sigma")]
        if text is not None and kind not in kinds:
            raise UsageError(f"{option} is not for {kind}.", f"It is for {', '.join(kinds)}.")


def _choices(
    record: Record,
    catalog: Catalog,
    *,
    guess: str | None,
    shape: str | None,
    sigma: float | NDArray[np.float64] | None,
) -> tuple[Choice, ...]:
    """Choose all equations of a record together, or those of a field each for itself."""
    if record.data_type == _FIELDS:
        return choose_field(record, windows(record, catalog), guess, shape)
    own = own_data(record, catalog, sigma)
    choice = choose(
        [record],
        own.targets,
        own.experiment,
        names=own.names,
        guess=None if guess is None else read_guess(guess, own.targets),
        shapes=() if shape is None else read_shapes(shape, own.targets, own.names),
    )
    return (choice,)


def _records(study: Study, workspace: Workspace) -> list[tuple[Path, Record]]:
    """Return the answers of the jobs of a run, and the files that they are in."""
    jobs = make_plan(study, workspace).jobs
    files = results_files(study.whole.result_dir)
    newest = {record.key: (file, record) for file in files for record in read_records(file)}
    answered = [pair for pair in newest.values() if pair[1].answered and pair[1].equations]
    asked = {replace(job, save_pareto=False) for job in jobs}
    return [pair for pair in answered if replace(JobSpec.of(pair[1]), save_pareto=False) in asked]


def _errors(sigma: str, path: Path) -> tuple[float | None, NDArray[np.float64] | None]:
    try:
        return float(sigma), None
    except ValueError:
        labels, table = read_columns(path)
    if sigma not in labels:
        raise UsageError(f"{path} has no column {sigma}.", did_you_mean(sigma, labels))
    return None, table[:, list(labels).index(sigma)]
