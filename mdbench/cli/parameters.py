"""Options and arguments that several verbs have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mdbench.cli.options import COMPLETIONS
from mdbench.runs.options import read_jobs

DataType = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Kind of problem, e.g. ode.",
        autocompletion=COMPLETIONS["data_type"],
    ),
]
Datasets = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="Exact name or glob; several allowed.  Default: all.",
        autocompletion=COMPLETIONS["dataset"],
    ),
]
Json = Annotated[bool, typer.Option("--json", help="As JSON.")]
NJobs = Annotated[
    str | None, typer.Option(metavar="N", help="Jobs at a time; -1: one a core, the default.")
]
RuntimeName = Annotated[
    str,
    typer.Option(
        "--runtime",
        metavar="NAME",
        envvar="MDBENCH_RUNTIME",
        help="auto, venv, docker or another that mdbench probe lists.",
    ),
]
Places = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="[RESULTS]...",
        help="Folders of results, as --result-dir of run, files and bundles.  Default: results.",
    ),
]
RESULTS = (Path("results"),)
"""The folder that results are read from by default."""
OfStudies = Annotated[
    list[str] | None,
    typer.Option(
        "--study",
        metavar="STUDY",
        help="Only results that it asked for: a study's file, or the first digits of its SHA-256; "
        "several allowed.",
    ),
]
OfBudget = Annotated[
    float | None,
    typer.Option(
        "--budget", metavar="SECONDS", help="Only results with this budget, of work or of time."
    ),
]
Results = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FOLDER",
        help="As --result-dir of run, or a bundle; several allowed.  Default: results.",
    ),
]
ResultsOrDataset = Annotated[
    str | None,
    typer.Argument(
        metavar="[RESULTS|DATASET]", help="Results, or the name or glob of datasets in --results."
    ),
]
Algorithms = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME", help="Only of these methods.", autocompletion=COMPLETIONS["algorithm"]
    ),
]


def read_n_jobs(text: str | None) -> int | None:
    """Read ``--n-jobs``; None where it was not typed."""
    return None if text is None else read_jobs("--n-jobs", text)
