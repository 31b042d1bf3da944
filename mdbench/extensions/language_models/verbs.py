"""The verbs of ``mdbench llm``, with their options."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from mdbench.cli.options import with_options_of
from mdbench.cli.parameters import RESULTS, Algorithms, Results, ResultsOrDataset
from mdbench.extensions.language_models.options import JudgeOptions, ProbeOptions


@with_options_of(ProbeOptions)
def probe(options: ProbeOptions) -> int:
    """Ask a model what it knows of problems.

    It is asked without data, with them, and with those of another problem.
    """
    from mdbench.extensions.language_models.printing import print_probes

    return print_probes(options, Console(highlight=False))


@with_options_of(JudgeOptions)
def judge(options: JudgeOptions) -> int:
    """Ask a model whether answers are right.

    What it says is compared with the rule of the benchmark.
    """
    from mdbench.extensions.language_models.printing import print_judgements

    return print_judgements(options, Console(highlight=False))


def transcripts(
    what: ResultsOrDataset = None,
    results: Results = None,
    algorithm: Algorithms = None,
    every: Annotated[bool, typer.Option("--all", help="All of each, however long it is.")] = False,
) -> None:
    """Print what models were asked, and answered.

    Job by job, of the methods that ask one.
    """
    from mdbench.extensions.language_models.printing import show_transcripts

    console = Console(highlight=False)
    show_transcripts(what, console, results or RESULTS, algorithm or [], every=every)


def stub(
    mode: Annotated[str, typer.Option(metavar="NAME", help="How it answers, or fails to.")] = (
        "good"
    ),
    port: Annotated[int, typer.Option(metavar="N", help="Where it listens.", min=0)] = 8099,
    seed: Annotated[int, typer.Option(metavar="N", help="Of what it draws.")] = 0,
    answer: Annotated[str, typer.Option(metavar="TEXT", help="An equation it knows.")] = "",
    knows: Annotated[
        float, typer.Option(metavar="P", help="Probability of that answer.", min=0.0, max=1.0)
    ] = 0.0,
) -> int:
    """Run a mock language-model server.

    For a trial of a set-up; it runs until it is interrupted.
    """
    from mdbench.extensions.language_models.printing import serve_stub
    from mdbench.extensions.language_models.stub import Stub

    server = Stub(mode=mode, seed=seed, answer=answer, knows=knows, port=port)
    return serve_stub(server, Console(highlight=False))
