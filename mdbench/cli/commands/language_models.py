"""The options of ``mdbench llm-probe``, ``llm-judge`` and ``llm-stub``."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from mdbench.cli.options import with_options_of
from mdbench.runs.study import JudgeOptions, ProbeOptions


@with_options_of(ProbeOptions)
def llm_probe(options: ProbeOptions) -> int:
    """Ask a language model what it knows of problems without data, and with others' data."""
    from mdbench.cli.score import run_llm_probe

    return run_llm_probe(options, Console(highlight=False))


@with_options_of(JudgeOptions)
def llm_judge(options: JudgeOptions) -> int:
    """Ask a language model whether answers are right, and compare it with the rule."""
    from mdbench.cli.score import run_llm_judge

    return run_llm_judge(options, Console(highlight=False))


def llm_stub(
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
    """Run a mock language-model server for testing, until it is interrupted."""
    from mdbench.cli.score import serve_stub

    return serve_stub(mode, port, seed, answer, knows, Console(highlight=False))
