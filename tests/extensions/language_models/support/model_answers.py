"""Runs of the methods that ask a language model against each mode of the stub, as a table."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

from asking_bench import asking, with_model
from harness import HereRuntime, Quiet, execute
from language_loops import LOOPS
from model_modes import MODES, REFUSALS, SERVERS, SHAPES, TEXTS
from model_server import Stub

from mdbench.extensions.language_models.availability import CircuitBreaker
from mdbench.extensions.language_models.endpoint import Endpoint
from mdbench.records import Status
from mdbench.runs.plan import make_plan

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from mdbench.records import Record

CALLS = 8
GROUPS: dict[str, Iterable[str]] = {
    "What the model writes": TEXTS,
    "The form of the answer": SHAPES,
    "Answers that are no completion": REFUSALS,
    "The server itself": SERVERS,
}
BY_THE_MODEL = {*TEXTS, "null", "filtered", "no-choices", "wrong-n", "echo"}
"""Modes of what the model writes, or does not write; an echo is a text as any other."""
BY_THE_SERVER = [mode for mode in MODES if mode not in BY_THE_MODEL]
"""Modes in which no job may be `failed`: the model and the method have no part in them."""
_LONGEST = 160


def run_mode(mode: str, workspace: Any, results: Path) -> list[Record]:
    """Run the methods on one system against a server in that mode."""
    with Stub(mode=mode, delay=0.01) as stub:
        stub.keeps = False
        options = asking(
            LOOPS,
            "ode",
            datasets=("rc-circuit",),
            result_dir=results,
            n_jobs=1,
            llm_model="m",
            llm_url=stub.url,
            llm_calls=CALLS,
        )
        plan = make_plan(options, workspace)
        endpoint = Endpoint(stub.url, seconds=1.0)
        plan = with_model(plan, endpoint=endpoint, breaker=CircuitBreaker(0.2, 0.01))
        with closing(plan.connections["llm"]):
            return list(execute(plan, HereRuntime(), Quiet()).records)


def row(mode: str, records: Sequence[Record]) -> str:
    """Write a row: the mode, what it does, each method's status, and what the user reads."""
    reasons = dict.fromkeys(record.reason for record in records if record.status is not Status.OK)
    told = next(iter(reasons), "")
    told = told if len(told) <= _LONGEST else told[: _LONGEST - 1] + "…"
    told = told.replace("|", "\\|").replace("<", "&lt;").replace("`", "'")
    cells = [f"`{mode}`", MODES[mode], *(str(record.status) for record in records), told]
    return f"| {' | '.join(cells)} |"
