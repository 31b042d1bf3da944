"""One job from its specification alone, here or in another process."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest
from harness import ROOT, HereRuntime, Quiet, add_method, children, execute

from mdbench.errors import UsageError
from mdbench.records import Record, Status, comparable
from mdbench.runs.catalog import Catalog
from mdbench.runs.job import begin_job, run_job
from mdbench.runs.plan import environment_key, make_plan, resolve_job
from mdbench.runs.study import RunOptions
from mdbench.runs.worker_pool import EnvironmentCache, RetryPolicy, WorkerSlot

if TYPE_CHECKING:
    from mdbench.workspace import Workspace

CHILD = """
import pickle, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from harness import HereRuntime
from mdbench.runs.job import run_job
from mdbench.workspace import Workspace
job, root, home = pickle.load(sys.stdin.buffer)
record = run_job(job, HereRuntime(), workspace=Workspace(root, home), result_dir=root / "logs")
print(record.to_line())
"""


@pytest.fixture
def workspace(workspace: Workspace) -> Workspace:
    add_method(workspace, "zero")
    add_method(workspace, "limited", more='[[limits]]\nreason = "never"')
    return workspace


def test_a_record_follows_from_the_specification(workspace: Workspace) -> None:
    names = ("rc-circuit", "autocatalysis")
    where = workspace.root / "results"
    plan = make_plan(
        RunOptions(("zero", "limited"), "ode", names, snr=(20.0,), result_dir=where), workspace
    )
    together = execute(plan, HereRuntime(), Quiet()).records
    alone = [
        run_job(job, HereRuntime(), workspace=workspace, result_dir=where) for job in plan.jobs
    ]
    assert [comparable(record) for record in alone] == [comparable(record) for record in together]
    assert [record.status for record in alone] == [Status.OK] * 2 + [Status.UNSUPPORTED] * 2
    assert not children()


def test_a_job_runs_wherever_it_is_sent(workspace: Workspace) -> None:
    options = RunOptions(("zero",), "ode", ("rc-circuit",), result_dir=workspace.root / "logs")
    (job,) = make_plan(options, workspace).jobs
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(ROOT / "tests" / "support")],
        input=pickle.dumps((job, workspace.root, workspace.home)),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        check=True,
    )
    here = run_job(job, HereRuntime(), workspace=workspace, result_dir=workspace.root / "logs")
    assert comparable(Record.model_validate_json(done.stdout)) == comparable(here)


def test_what_does_not_exist_is_an_error(workspace: Workspace) -> None:
    options = RunOptions(("zero",), "ode", ("rc-circuit",))
    (job,) = make_plan(options, workspace).jobs
    (workspace.algorithms / "zero").rename(workspace.algorithms / "one")
    with pytest.raises(UsageError, match="There is no method 'zero'"):
        run_job(job, HereRuntime(), workspace=workspace)


SHOT = """
import os, signal

class Adapter:
    def __init__(self, *, seed, threads): ...
    def fit(self, problem):
        os.kill(os.getpid(), signal.{sent})
"""


class Paused(RetryPolicy):
    """Tells when somebody pauses."""

    pauses = threading.Event()

    def pause(self, seconds: float) -> None:
        self.pauses.set()
        super().pause(seconds)


@pytest.mark.parametrize("sent", ["SIGKILL", "SIGTERM", "SIGSEGV"])
def test_a_job_that_is_killed_with_all_others_leaves_no_crash(
    workspace: Workspace, sent: str
) -> None:
    """A cluster kills a task's processes one by one: the job's may be the first."""
    add_method(workspace, "shot", SHOT.format(sent=sent))
    options = RunOptions(("shot",), "ode", ("rc-circuit",), result_dir=workspace.root / "logs")
    (job,) = make_plan(options, workspace).jobs
    catalog, runtime = Catalog(workspace), HereRuntime()
    one = resolve_job(job, catalog, environment_key(catalog.method(job.algorithm), runtime))
    crash = sent == "SIGSEGV"  # its own doing: nobody waits
    patience = Paused()
    patience.pauses.clear()
    with WorkerSlot(
        catalog,
        runtime,
        EnvironmentCache(runtime, patience),
        workspace.root / "logs",
        grace_s=600.0,
    ) as slot:

        def end() -> None:
            assert patience.pauses.wait(60)
            slot.interrupt()

        ends = threading.Thread(target=end)
        if not crash:
            ends.start()
        record = begin_job(one, slot)()
        if not crash:
            ends.join()
    assert record.status is (Status.CRASHED if crash else Status.INTERRUPTED), record.reason


def test_a_job_that_is_killed_alone_has_crashed(workspace: Workspace) -> None:
    add_method(workspace, "shot", SHOT.format(sent="SIGKILL"))
    options = RunOptions(("shot",), "ode", ("rc-circuit",), result_dir=workspace.root / "logs")
    (job,) = make_plan(options, workspace).jobs
    record = run_job(job, HereRuntime(), workspace=workspace, result_dir=workspace.root / "logs")
    assert (record.status, "SIGKILL" in record.reason) == (Status.CRASHED, True)
