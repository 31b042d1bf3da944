"""The runtime docker: how containers are made, found missing, and cleared away."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from flavours import numpy_lock, open_flavour, traces
from harness import ROOT, Quiet, add_method, execute, make_workspace, wait_until
from isolated import HOME

import docker
from mdbench.methods import find
from mdbench.records import Status
from mdbench.runs.plan import make_plan
from mdbench.runs.study import RunOptions
from mdbench.runtimes import docker as containers
from mdbench.runtimes.base import Limits, Prepared, WorkerGoneError
from mdbench.runtimes.docker import DockerRuntime
from mdbench.runtimes.engine import Frames, Pipes
from mdbench.runtimes.processes import JOB_UIDS, is_orphan, owner

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mdbench.methods import Method
    from mdbench.runtimes.base import Runtime
    from mdbench.workspace import Workspace

pytestmark = pytest.mark.engine


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = make_workspace(tmp_path, HOME)
    folder = add_method(made, "plain")
    (folder / "requirements.lock").write_text(numpy_lock(), encoding="utf-8")
    return made


@pytest.fixture
def runtime() -> Iterator[Runtime]:
    made = open_flavour("docker", HOME)
    yield made
    made.close()
    assert traces() == []


@pytest.fixture
def method(workspace: Workspace) -> Method:
    return find("plain", workspace.algorithms)


def test_a_container_can_do_nothing_but_its_work(runtime: Runtime, method: Method) -> None:
    prepared = runtime.prepare(method)
    limits = Limits(threads=1, memory_mb=300, processes=50, output_mb=10)
    with runtime.start(method, prepared, limits), closing(docker.from_env()) as client:
        (one,) = [
            c
            for c in client.containers.list(filters={"label": "mdbench.owner"})
            if c.labels["mdbench.owner"] == owner()
        ]
        config, host = one.attrs["Config"], one.attrs["HostConfig"]
        assert one.attrs["Image"] == prepared.details["image"]
    user, group = map(int, config["User"].split(":"))
    if os.getuid():
        assert (user, group) == (os.getuid(), os.getgid())
    else:
        assert user == group
        assert user in JOB_UIDS
    assert host["NetworkMode"] == "none"
    assert host["ReadonlyRootfs"]
    assert host["AutoRemove"]
    assert host["CapDrop"] == ["ALL"]
    assert host["SecurityOpt"] == ["no-new-privileges"]
    assert host["PidsLimit"] == 50
    assert host["Memory"] == host["MemorySwap"] == 300 * 2**20
    assert host["CpusetCpus"] or host["NanoCpus"] == 10**9
    assert host["LogConfig"]["Type"] == "none"
    assert list(host["Tmpfs"]) == ["/tmp"]
    assert "size=" in host["Tmpfs"]["/tmp"]
    assert {u["Name"]: u["Hard"] for u in host["Ulimits"]} == {"fsize": 10 * 2**20, "core": 0}
    binds = [bind.partition(":")[2] for bind in host["Binds"]]
    assert binds == ["/mdbench/job:rw", "/mdbench/pipes:ro"]


def test_an_image_that_has_gone_is_not_the_methods_fault(
    runtime: Runtime, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = "sha256:" + "0" * 64
    monkeypatch.setattr(
        DockerRuntime, "prepare", lambda *_: Prepared((gone,), gone, "3.11", details={})
    )
    options = RunOptions(("plain",), "ode", ("rc-circuit",), result_dir=workspace.root / "r")
    (record,) = execute(make_plan(options, workspace), runtime, Quiet()).records
    assert record.status is Status.UNAVAILABLE
    assert "is not there any more" in record.reason
    assert "./install.sh --runtime docker" in record.reason


def test_an_engine_that_goes_is_not_the_methods_fault(
    runtime: Runtime, method: Method, monkeypatch: pytest.MonkeyPatch
) -> None:
    with runtime.start(method, runtime.prepare(method), Limits()) as worker:

        def fail(*_: Any, **__: Any) -> None:
            raise docker.errors.DockerException("connection refused")

        with monkeypatch.context() as patch:
            patch.setattr(worker._client, "ping", fail)  # type: ignore[attr-defined]
            worker.interrupt()
            with pytest.raises(WorkerGoneError, match="engine does not answer") as caught:
                worker.receive(10)
    assert caught.value.lost


SLOW = """
import time
import numpy as np

class Adapter:
    def __init__(self, *, seed, threads): ...
    def fit(self, problem):
        time.sleep(1.0)
        self._targets = len(problem.targets)
    def predict(self, problem): return np.zeros((len(problem.X), self._targets))
    def equations(self): return ["0"] * self._targets
"""


@pytest.mark.parametrize("after_s", [0.0, 0.4, 0.8])
def test_a_container_that_is_killed_from_outside_costs_no_job(
    runtime: Runtime, workspace: Workspace, after_s: float
) -> None:
    folder = add_method(workspace, "slow", SLOW)
    (folder / "requirements.lock").write_text(numpy_lock(), encoding="utf-8")
    options = RunOptions(("slow",), "ode", ("rc-circuit",), result_dir=workspace.root / "r")
    plan = make_plan(options, workspace)
    killed = threading.Event()

    def kill_one() -> None:
        with closing(docker.from_env()) as client:
            mine: dict[str, Any] = {"label": f"mdbench.owner={owner()}"}
            assert wait_until(lambda: client.containers.list(filters=mine))
            time.sleep(after_s)
            client.containers.list(filters=mine)[0].kill()
            killed.set()

    runtime.prepare(plan.catalog.method("slow"))  # building has containers, too
    killer = threading.Thread(target=kill_one)
    killer.start()
    (record,) = execute(plan, runtime, Quiet()).records
    killer.join()
    assert killed.is_set()
    assert record.status is Status.OK, record.reason
    assert record.measured.retries == 1


NOSY = """
import os
import numpy as np

class Adapter:
    def __init__(self, *, seed, threads): ...
    def fit(self, problem):
        orders = "/mdbench/pipes/orders"
        mine = f"/proc/self/fd/{self.descriptor(orders)}"
        for what in (
            lambda: os.open(orders, os.O_WRONLY),
            lambda: os.open(mine, os.O_WRONLY),
            lambda: os.chmod(orders, 0o666),
            lambda: os.chmod(mine, 0o666),
            lambda: os.unlink(orders),
            lambda: os.mkfifo("/mdbench/pipes/another"),
        ):
            try:
                what()
            except OSError:
                continue
            raise AssertionError("a job may speak as the host")
    def descriptor(self, path):
        there = os.stat(path)
        for number in range(100):
            try:
                if os.path.samestat(os.fstat(number), there):
                    return number
            except OSError:
                continue
        raise AssertionError("no descriptor")
    def predict(self, problem):
        return np.zeros((len(problem.X), 1))
    def equations(self):
        return ["0"]
"""


def test_a_job_cannot_give_orders(runtime: Runtime, workspace: Workspace) -> None:
    (workspace.algorithms / "plain" / "adapter.py").write_text(NOSY, encoding="utf-8")
    options = RunOptions(("plain",), "ode", ("rc-circuit",), result_dir=workspace.root / "r")
    (record,) = execute(make_plan(options, workspace), runtime, Quiet()).records
    assert (record.status, record.reason) == (Status.OK, "")


def test_where_pipes_do_not_reach_the_engine_carries_all(
    runtime: Runtime, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Elsewhere(Pipes):
        def __init__(self, folder: Path) -> None:
            super().__init__(folder)
            for path in folder.iterdir():
                path.unlink()

    monkeypatch.setattr(containers, "Pipes", Elsewhere)
    adapter = workspace.algorithms / "plain" / "adapter.py"
    text = adapter.read_text(encoding="utf-8")
    adapter.write_text(text.replace("self.targets =", "print('fitted')\n        self.targets ="))
    names = ("rc-circuit", "autocatalysis")
    options = RunOptions(("plain",), "ode", names, result_dir=workspace.root / "r", n_jobs=1)
    records = execute(make_plan(options, workspace), runtime, Quiet()).records
    assert [record.status for record in records] == [Status.OK, Status.OK]
    for record in records:
        assert record.log is not None
        assert (workspace.root / "r" / record.log).read_text(encoding="utf-8") == "fitted\n"


def test_containers_of_the_dead_are_removed(runtime: Runtime, method: Method) -> None:
    image = runtime.prepare(method).command[0]
    code = "from mdbench.runtimes.processes import owner; print(owner())"
    dead = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
    assert is_orphan(dead)
    assert not is_orphan(owner())
    command = ["docker", "run", "-d", "--init", "--network", "none"]
    names = [
        subprocess.run(
            [*command, "--label", f"mdbench.owner={name}", image, "sleep", "1000"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for name in (dead, owner(), "another-machine 1 1")
    ]
    try:
        open_flavour("docker", HOME).probe()
        listed = subprocess.run(
            ["docker", "ps", "-aq", "--no-trunc"], capture_output=True, text=True, check=True
        ).stdout.split()
        assert [name in listed for name in names] == [False, True, True]
    finally:
        subprocess.run(["docker", "rm", "-f", *names], capture_output=True, check=False)


@pytest.mark.parametrize("size", [1, 3, 7, 8, 1000])
def test_frames_are_put_together_however_they_come(size: int) -> None:
    sent = b"\1\0\0\0\0\0\0\5hello" + b"\2\0\0\0\0\0\0\0" + b"\2\0\0\0\0\0\0\3log" + b"\1\0\0"

    class Source:
        def __init__(self) -> None:
            self.left = sent

        def recv(self, most: int) -> bytes:
            cut = min(most, size)
            block, self.left = self.left[:cut], self.left[cut:]
            return block

    frames = Frames(Source())  # type: ignore[arg-type]
    heard = {1: b"", 2: b""}
    while (frame := frames.next()) is not None:
        heard[frame[0]] += frame[1]
    assert heard == {1: b"hello", 2: b"log"}


def test_the_identity_is_known_without_building(runtime: Runtime, method: Method) -> None:
    before = runtime.identity(method)
    assert before == runtime.identity(method)
    (method.folder / "adapter.py").write_text("class Adapter: ...\n", encoding="utf-8")
    assert runtime.identity(method) == before  # the adapter has a part of its own in the key
    method.lock.write_text(numpy_lock() + "# nothing\n", encoding="utf-8")
    assert runtime.identity(method) == before
    lines = numpy_lock().splitlines()
    method.lock.write_text("\n".join([*lines[:-1], lines[-1].rstrip(" \\")]), encoding="utf-8")
    assert set(runtime.identity(method)) == {"image"}


def test_without_an_engine_a_job_has_an_identity_all_the_same(
    method: Method, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent.sock")
    assert DockerRuntime(tmp_path).identity(method)["image"].startswith("unavailable")
