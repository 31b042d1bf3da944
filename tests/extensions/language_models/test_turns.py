"""Jobs that ask a model compute in turns on one core."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from asking_bench import ASKER, Bench
from harness import known, make_workspace
from isolated import HOME
from model_server import Stub

from mdbench.records import Status, comparable

if TYPE_CHECKING:
    from pathlib import Path


def test_as_many_jobs_ask_at_a_time_as_are_wanted_on_one_core(tmp_path: Path) -> None:
    """The server answers nobody until all jobs ask; records are as one after the other."""
    here = Bench("plain", make_workspace(tmp_path, HOME), ASKER)
    here.make_front()
    jobs = 3
    asked: dict[str, Any] = {"seeds": tuple(range(jobs)), "llm_calls": 4}
    together = threading.Barrier(jobs, timeout=1800)

    def write(request: dict[str, Any], equation: str) -> str:
        if request["messages"][0]["content"].endswith(" 0") and request["seed"] < jobs:
            together.wait()  # the first completion of each job's first request
        return f"```\n{equation}\n```"

    with Stub(write=write) as stub:
        found = here.ask(stub, llm_concurrency=jobs, **asked)
    assert not together.broken
    with Stub(write=lambda _, equation: f"```\n{equation}\n```") as stub:
        alone = here.ask(stub, "alone", **asked)
    assert {record.status for record in found} == {Status.OK}
    for one, other in zip(found, alone, strict=True):
        assert comparable(one) == comparable(other)
        assert known(one.measured.llm_waited_s) >= 0
    here.runtime.close()
