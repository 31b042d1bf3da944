"""Runs the loops that ask a language model with mock models, and keeps the records packed.

A mock answers by the name of the model that is asked for.  What it knows is the law of one
dataset, so that the jobs of each dataset are run with a mock of their own, one after the other.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from edition import Edition
from rich.console import Console

from mdbench.backends import open_backend
from mdbench.cli.main import complain
from mdbench.cli.run import Display
from mdbench.errors import MdbenchError
from mdbench.extensions.language_models.connection import LlmConnection
from mdbench.extensions.language_models.endpoint import Endpoint
from mdbench.extensions.language_models.keys import NO_KEY
from mdbench.extensions.language_models.views import prompt_view
from mdbench.runs.execute import execute
from mdbench.runs.study import Study
from mdbench.runtimes.registry import open_runtime
from mdbench.workspace import Workspace

sys.path.insert(
    0, str(Path(__file__).resolve().parents[1] / "tests/extensions/language_models/support")
)

from model_server import Stub

if TYPE_CHECKING:
    from mdbench.runs.catalog import Catalog
    from mdbench.runs.plan import Plan
    from mdbench.runs.spec import JobSpec

_WORD = re.compile(r"(?<![A-Za-z0-9_.])[A-Za-z_]\w*")
KNOWS: Final = 0.05
"""The share of answers in which the second mock writes the law."""
FAULTS: Final = (
    *("prose", "latex", "other-language", "truncated", "think-cut", "empty", "loop"),
    *("invented-names", "not-a-number", "good"),
)
"""How the third mock answers: each as often as any other."""


class MockModels(Stub):
    """Three models behind one endpoint: their answers follow from the request alone.

    Parameters
    ----------
    law
        The equation that the second one knows, in the names of the prompt.
    """

    def __init__(self, law: str) -> None:
        super().__init__(keeps=False)
        self._knowing = Stub(answer=law, knows=KNOWS)

    def reply(self, request: dict[str, Any], mode: str) -> tuple[str, str]:
        """Answer as the model does that the request names."""
        match request["model"]:
            case "mock-knows-the-law":
                return self._knowing.reply(request, mode)
            case "mock-small":
                text = json.dumps(request, sort_keys=True).encode()
                place = int.from_bytes(hashlib.sha256(b"fault" + text).digest()[:4])
                return super().reply(request, FAULTS[place % len(FAULTS)])
        return super().reply(request, mode)


def law_of(job: JobSpec, catalog: Catalog) -> str:
    """Return the law of a job's dataset in the names that its prompts have."""
    kind = catalog.data_type(job.data_type)
    spec = catalog.method(job.algorithm).spec
    task = kind.task(catalog.load(job), spec.view, job.protocol)
    source = catalog.source(job.data_type, None)
    view = prompt_view("anon", task, source.background(job.dataset), job.seed)
    shown = {own: name for name, own in view.own.items()}
    law = next(iter(task.dataset.truth or ()), "")
    return _WORD.sub(lambda word: shown.get(word[0], word[0]), law)


def run(edition: Edition, console: Console) -> bool:
    """Run all jobs that are due, dataset by dataset; return whether none was interrupted."""
    plan = edition.plan()
    for dataset in dict.fromkeys(job.dataset for job in plan.jobs):
        jobs = tuple(job for job in plan.jobs if job.dataset == dataset)
        with MockModels(law_of(jobs[0], plan.catalog)) as mock:
            connection = LlmConnection(Endpoint(mock.url, NO_KEY), url=mock.url)
            piece = replace(plan, jobs=jobs, connections={"llm": connection})
            if not _run(edition, piece, console):
                return False
    return True


def _run(edition: Edition, piece: Plan, console: Console) -> bool:
    with (
        Display(console, piece) as display,
        closing(
            open_runtime(edition.study.whole.runtime, edition.workspace.home, display.message)
        ) as runtime,
    ):
        return not execute(piece, runtime, display, open_backend(edition.study.whole)).interrupted


def main(arguments: list[str] | None = None) -> int:
    """Run studies, or pack the records that there are."""
    parser = argparse.ArgumentParser(description="Run the loops with mock models.")
    parser.add_argument("studies", type=Path, nargs="+", help="files of studies/")
    parser.add_argument("--pack", action="store_true", help="pack the records; run nothing")
    asked = parser.parse_args(arguments)
    console = Console(highlight=False)
    try:
        workspace = Workspace.find()
        for file in asked.studies:
            folder = workspace.root / "results" / file.stem
            edition = Edition(Study.read(file), file.stem, folder, workspace)
            if not asked.pack and not run(edition, console):
                return 130
            edition.pack(console)
    except MdbenchError as error:
        complain(error)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
