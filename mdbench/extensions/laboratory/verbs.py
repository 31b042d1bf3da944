"""The options of the verbs of ``mdbench lab``."""

from __future__ import annotations

import sys
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from mdbench.cli.options import COMPLETIONS, with_methods
from mdbench.cli.parameters import (
    RESULTS,
    Algorithms,
    Json,
    Places,
    Results,
    ResultsOrDataset,
)
from mdbench.runs.options import read_snr


@with_methods
def fresh(
    seed: Annotated[
        str | None, typer.Option(metavar="TEXT", help="By which problems are drawn.")
    ] = None,
    data_type: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Kind of problem; several allowed.  Default: all that are drawn.",
            autocompletion=COMPLETIONS["data_type"],
        ),
    ] = None,
    count: Annotated[
        int | None, typer.Option(metavar="N", min=1, max=10_000, help="Problems of each kind.")
    ] = None,
    commit: Annotated[
        bool,
        typer.Option(
            "--commit", help="Print the hash of the seed and of all methods, and draw nothing."
        ),
    ] = False,
    commitment: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="What --commit printed: compare the seed with it."),
    ] = None,
    event: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT", help="With --commit: the public event whose number makes the seed."
        ),
    ] = None,
    number: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="The number of the event that --commitment names."),
    ] = None,
    grammar: Annotated[
        int | None,
        typer.Option(metavar="N", help="By which rules: 1, or 2, the default."),
    ] = None,
) -> None:
    """Draw problems that nobody has seen, as suites of their data types."""
    from mdbench.extensions.laboratory.fresh import draw_fresh, print_commitment
    from mdbench.workspace import Workspace

    workspace = Workspace.find()
    if commit:
        print_commitment(seed, grammar, workspace, event)
        return
    draw_fresh(
        seed,
        workspace,
        Console(highlight=False),
        wanted=data_type or (),
        count=count,
        published=commitment,
        number=number,
        grammar=grammar,
    )


def sealed(
    commitment: Annotated[
        Path, typer.Option(metavar="FILE", help="What lab fresh --commit printed.")
    ],
    places: Places = None,
    json: Json = False,
) -> int:
    """Count records of methods that have not changed since a commitment, and refuse others."""
    from mdbench.extensions.laboratory.sealed import show_sealed

    console = Console(highlight=False, stderr=json)
    return show_sealed(places or RESULTS, commitment, console, json_=json)


def identifiable(
    datasets: Annotated[
        list[str], typer.Argument(metavar="DATASET", help="Names of systems or fields; globs too.")
    ],
    snr: Annotated[
        float, typer.Option(metavar="DB", help="The signal-to-noise ratio in dB.")
    ] = 20.0,
    json: Json = False,
) -> int:
    """Show whether noise lets anybody identify a system, and the equation that is as likely."""
    from mdbench.extensions.laboratory.why_not import explain

    console = Console(highlight=False, stderr=json)
    return explain(datasets, snr, console, json_=json)


@wraps(identifiable)
def why_not(**values: Any) -> int:  # noqa: D103 - below
    print("mdbench lab why-not has a new name: mdbench lab identifiable", file=sys.stderr)
    return identifiable(**values)


why_not.__doc__ = "The earlier name of identifiable."


def similarity(
    one: Annotated[
        str, typer.Argument(metavar="ONE", help="A data type, or datasets of one: srsd:easy.")
    ],
    other: Annotated[str, typer.Argument(metavar="OTHER", help="The same, to compare with.")],
    json: Json = False,
) -> int:
    """Show how alike the equations of two collections are, by operators and by trees."""
    from mdbench.extensions.laboratory.similarity import compare_collections

    return compare_collections(one, other, Console(highlight=False, stderr=json), json_=json)


def rivals(
    what: ResultsOrDataset = None,
    results: Results = None,
    algorithm: Algorithms = None,
    seconds: Annotated[
        float, typer.Option(min=0, metavar="S", help="For the rivals of one answer.")
    ] = 60.0,
    json: Json = False,
) -> int:
    """Show how sure the best equations are, and which others fit the samples as well (ode)."""
    from mdbench.extensions.laboratory.rivals import show_rivals

    return show_rivals(
        *(what, Console(highlight=False, stderr=json)),
        folders=results or RESULTS,
        algorithm=algorithm or [],
        seconds=seconds,
        json_=json,
    )


@with_methods
def truths(
    data_type: Annotated[
        str | None, typer.Option(metavar="NAME", help="This kind of problem.  Default: all.")
    ] = None,
    dataset: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Exact name, glob or set; several allowed."),
    ] = None,
    dataset_path: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Your own data.")
    ] = None,
    snr: Annotated[
        list[str] | None,
        typer.Option(metavar="DB", help="Noise level in dB, or clean.  Default: all."),
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="Results, or tables of combine, whose wrong answers are to be "
            "worse than the truth.",
        ),
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown tables.")] = False,
    each: Annotated[
        bool,
        typer.Option("--each", help="A line for each dataset, where it wins, too."),
    ] = False,
) -> int:
    """Check that truths win: the best answer to each dataset, and no term explains what is left."""
    from mdbench.extensions.laboratory.truth_table import check_all_truths
    from mdbench.workspace import Workspace

    return check_all_truths(
        Workspace.find(),
        Console(highlight=False),
        data_type=data_type,
        patterns=dataset or [],
        path=dataset_path,
        levels=[level for text in snr or [] for level in read_snr("--snr", text)],
        results=results,
        markdown=markdown,
        every=each,
    )
