"""Jobs on clusters for real: a Dask scheduler with workers, a SLURM of one node; and kills."""

from __future__ import annotations

import itertools
import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from clusters import (
    Gate,
    differences,
    no_engine,
    open_here,
    open_here_bare,
    outcome,
    place_with,
    plan_of,
)
from harness import ROOT, HereRuntime, Quiet, children, execute, wait_until
from one_node_slurm import missing, one_node_slurm

from mdbench.errors import UnavailableError, UsageError
from mdbench.extensions.clusters.dask import DaskBackend
from mdbench.extensions.clusters.node import NodeProcess, NodeRequest
from mdbench.extensions.clusters.slurm import SlurmBackend
from mdbench.records import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mdbench.runs.plan import Plan
    from mdbench.runs.spec import JobSpec

pytestmark = pytest.mark.slow
SEEDS = (1, 2)


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    folder = tmp_path_factory.mktemp("clusters")
    return plan_of(place_with(folder, folder / "home", 0.4), seeds=SEEDS)


@pytest.fixture(scope="module")
def local(plan: Plan) -> dict[str, dict[str, Any]]:
    """What the same jobs come to in threads of one process."""
    result = execute(replace(plan, n_jobs=1), HereRuntime(), Quiet())
    assert {record.status for record in result.records} == {Status.OK}
    return outcome(result.records)


class Acts(Quiet):
    """Does something when so many jobs have begun."""

    def __init__(self, acts: dict[int, Callable[[], object]]) -> None:
        super().__init__()
        self._acts = acts
        self._lock = threading.Lock()

    def job_started(self, job: JobSpec) -> None:
        super().job_started(job)
        with self._lock:
            act = self._acts.pop(len(self.started), None)
        if act is not None:
            act()


def environment() -> dict[str, str]:
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests" / "support")])
    return os.environ | {"PYTHONPATH": path}


def start(*words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "distributed.cli." + words[0], *words[1:]],
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def ended(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


class Dask:
    """A scheduler and its workers, each a process."""

    def __init__(self, stack: ExitStack, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{port}"
        self._stack, self._folder = stack, folder
        scheduler = ("dask_scheduler", "--host=127.0.0.1", f"--port={port}", "--no-dashboard")
        stack.callback(ended, start(*scheduler))
        self.workers = [self.add(), self.add()]

    def add(self) -> subprocess.Popen[bytes]:
        """Start another worker."""
        worker = start(
            *("dask_worker", self.address, "--no-nanny", "--nthreads=1", "--no-dashboard"),
            *("--memory-limit=0", f"--local-directory={self._folder}"),
        )
        self._stack.callback(ended, worker)
        return worker


@pytest.fixture(scope="module")
def dask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dask]:
    with ExitStack() as stack:
        yield Dask(stack, tmp_path_factory.mktemp("dask"))


def nodes_of(worker: subprocess.Popen[bytes]) -> list[int]:
    """Return the processes that run jobs next to a worker of Dask."""
    found = []
    for task in Path(f"/proc/{worker.pid}/task").iterdir():
        with suppress(OSError):
            found += [int(pid) for pid in (task / "children").read_text(encoding="ascii").split()]
    return [pid for pid in found if b"mdbench.extensions.clusters.node" in _words(pid)]


def _words(pid: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def test_dask_loses_workers_and_no_record(
    plan: Plan, local: dict[str, dict[str, Any]], dask: Dask, tmp_path: Path
) -> None:
    """Each loss happens while both workers have a fit that waits, so that it always costs one."""
    faults: list[str] = []

    def both_wait() -> None:
        if not wait_until(lambda: gate.waiting() == 2, 60):
            faults.append(f"{gate.waiting()} fits wait")

    def lose_workers() -> None:
        both_wait()
        left = nodes_of(dask.workers[0])
        dask.workers[0].kill()
        if not left or not wait_until(lambda: not any(map(_words, left)), 30):
            faults.append("the jobs of a worker go on without it")
        dask.workers[0] = dask.add()
        both_wait()
        for pid in itertools.chain(*map(nodes_of, dask.workers)):
            os.kill(pid, signal.SIGKILL)
        gate.open()

    plan = replace(plan, result_dir=tmp_path / "results", retries=5)
    backend = DaskBackend(dask.address, opens=open_here_bare)
    with Gate(plan.catalog.workspace) as gate:
        other = threading.Thread(target=lose_workers)
        other.start()
        result = execute(plan, HereRuntime(wrapped=False), Quiet(), backend)
        other.join()
    assert not faults
    assert (result.ran, result.left) == (len(plan.jobs), 0)
    apart = differences(outcome(result.records), local)
    assert all(name.endswith(" runtime") for name in apart), apart  # a sandbox less
    assert sum(record.measured.retries for record in result.records) >= 2
    assert all(record.measured.speed for record in result.records)
    again = Quiet()
    assert execute(plan, HereRuntime(), again).ran == 0  # here or there: the same keys


def test_a_node_without_docker_reports_it_before_any_job(
    plan: Plan, dask: Dask, tmp_path: Path
) -> None:
    observer = Quiet()
    plan = replace(plan, result_dir=tmp_path / "results")
    with pytest.raises(UnavailableError, match=f"{socket.gethostname()}: No Docker engine"):
        execute(plan, HereRuntime(), observer, DaskBackend(dask.address, opens=no_engine))
    assert observer.started == []


def test_a_scheduler_that_is_not_there(plan: Plan, tmp_path: Path) -> None:
    plan = replace(plan, result_dir=tmp_path / "results")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        backend = DaskBackend(address, connect_seconds=1.0)
        with pytest.raises(UnavailableError, match="No Dask scheduler answers"):
            execute(plan, HereRuntime(), Quiet(), backend)


def test_a_cluster_of_this_machine(
    plan: Plan, local: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    before = children()
    plan = replace(plan, result_dir=tmp_path / "results", jobs=plan.jobs[:2], n_jobs=1)
    result = execute(plan, HereRuntime(), Quiet(), DaskBackend(opens=open_here))
    found = outcome(result.records)
    assert found == {key: local[key] for key in found}
    assert len(found) == 2
    assert wait_until(lambda: not children() - before)


def test_a_node_of_another_version_is_refused(plan: Plan) -> None:
    order = NodeRequest.of(plan, HereRuntime(), name="old", opens=open_here)
    with pytest.raises(UsageError, match="has mdbench"):
        NodeProcess(replace(order, version="0.0.1"))


def test_a_node_of_another_commit_is_refused_wherever_the_command_is_typed(
    plan: Plan, tmp_path: Path
) -> None:
    """The node's code is that of its worker, and not what lies in the current folder."""
    other = tmp_path / "mdbench"
    other.mkdir()
    (other / "__init__.py").write_text('raise ImportError("the code of the current folder")\n')
    order = NodeRequest.of(plan, HereRuntime(), name="here", opens=open_here)
    NodeProcess(replace(order, seen_from=tmp_path)).end()
    with pytest.raises(UsageError, match="of another commit"):
        NodeProcess(replace(order, code="0" * 64))


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    if reason := missing():
        pytest.skip(reason)
    with one_node_slurm(tmp_path / "slurm", max_array_size=3) as node:
        monkeypatch.setenv("SLURM_CONF", str(node.config))
        yield node


def test_slurm_requeues_and_loses_tasks_and_no_record(
    plan: Plan, local: dict[str, dict[str, Any]], slurm: Any, tmp_path: Path
) -> None:
    heard: list[str] = []

    def requeue() -> None:
        heard.append(slurm.ask("scontrol", "requeue", "1_0"))
        threading.Thread(target=hurry, daemon=True).start()

    def hurry() -> None:
        """Let the task begin again at once: SLURM has it wait for its credential to expire."""
        queue = ("squeue", "--noheader", "--jobs=1_0", "--format=%t")
        if wait_until(lambda: "PD" in slurm.ask(*queue), 30):
            heard.append(slurm.ask("scontrol", "update", "JobId=1_0", "StartTime=now"))

    def kill() -> None:
        heard.append(slurm.ask("scancel", "--signal=KILL", "1_1"))

    observer = Acts({1: requeue, 3: kill})
    plan = replace(plan, result_dir=tmp_path / "results", n_jobs=2)
    backend = SlurmBackend(opens=open_here, poll_seconds=0.2)
    result = execute(plan, HereRuntime(), observer, backend)
    assert (result.ran, result.left) == (len(plan.jobs), 0), (heard, observer.messages)
    assert differences(outcome(result.records), local) == {}
    assert not list((tmp_path / "results" / ".shards").iterdir())
    tasks = [text for text in observer.messages if " tasks, " in text]
    assert "in 2 tasks, 2 at a time (1_0" in tasks[0]


@pytest.mark.usefixtures("slurm")
def test_slurm_refuses_and_shows_why(plan: Plan, tmp_path: Path) -> None:
    plan = replace(plan, result_dir=tmp_path / "results", n_jobs=9)
    backend = SlurmBackend(options={"partition": "nope"}, opens=open_here)
    with pytest.raises(UsageError, match="nvalid partition"):
        execute(plan, HereRuntime(), Quiet(), backend)
    backend = SlurmBackend(opens=no_engine, poll_seconds=0.2)
    with pytest.raises(UnavailableError, match="No Docker engine"):
        execute(plan, HereRuntime(), (observer := Quiet()), backend)
    assert observer.started == []
    assert "in 3 tasks" in observer.messages[0]  # MaxArraySize


def test_submitit_s_own_executor(
    plan: Plan, local: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    before = children()
    plan = replace(plan, result_dir=tmp_path / "results", jobs=plan.jobs[:2], n_jobs=1)
    backend = SlurmBackend(local=True, opens=open_here, poll_seconds=0.2)
    result = execute(plan, HereRuntime(), Quiet(), backend)
    found = outcome(result.records)
    assert found == {key: local[key] for key in found}
    assert len(found) == 2
    assert wait_until(lambda: not children() - before)
