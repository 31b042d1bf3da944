"""An engine that is killed in the middle of a run: one of the test's own, beside the machine's."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import warnings
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from flavours import numpy_lock, traces, why_no_engine
from harness import Quiet, add_method, execute, is_running, make_workspace, wait_until
from isolated import HOME

from mdbench.records import Status
from mdbench.runs.plan import make_plan
from mdbench.runs.study import RunOptions
from mdbench.runtimes import processes
from mdbench.runtimes.docker import DockerRuntime

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mdbench.runs.execute import Summary
    from mdbench.workspace import Workspace

pytestmark = [pytest.mark.slow, pytest.mark.engine]


class Engine:
    """A second Docker engine, with folders and a socket of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.host = f"unix://{folder}/socket"
        self.process: subprocess.Popen[bytes] | None = None
        self.starts = 0

    def start(self) -> None:
        for left in ("pid", "socket"):
            (self.folder / left).unlink(missing_ok=True)
        self.starts += 1  # what a killed one was executing is in the way of the next
        own = [f"--data-root={self.folder}/data", f"--exec-root={self.folder}/exec{self.starts}"]
        no_network = ["--bridge=none", "--iptables=false", "--ip6tables=false", "--ip-masq=false"]
        # Without a bridge an engine takes away the machine's: it gets a network of its own.
        alone = ["unshare", "--net", "--"]
        self.process = subprocess.Popen(
            [
                *alone,
                "dockerd",
                *own,
                f"--pidfile={self.folder}/pid",
                f"--host={self.host}",
                *no_network,
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        if not wait_until(self.answers):
            self.kill()
            pytest.skip("a second engine cannot be started here")

    def answers(self) -> bool:
        return self.docker("version").returncode == 0

    def docker(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["docker", "--host", self.host, *arguments],
            capture_output=True,
            text=True,
            check=False,
        )

    def kill(self) -> None:
        """Kill the engine and all that it has started, but for the containers' processes."""
        assert self.process is not None
        for pid in (self.process.pid, *processes.children(self.process.pid)):
            os.kill(pid, signal.SIGKILL)
        self.process.wait()

    def end(self) -> None:
        assert self.process is not None
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(20)
        for entry in Path("/proc").glob("[0-9]*/cmdline"):  # what looked after killed containers
            with suppress(OSError):
                if str(self.folder).encode() in entry.read_bytes():
                    os.kill(int(entry.parent.name), signal.SIGKILL)
        for mount in reversed(Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()):
            if (place := mount.split()[1]).startswith(str(self.folder)):
                subprocess.run(["umount", "--lazy", place], check=False)
        shutil.rmtree(self.folder, ignore_errors=True)


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    if trouble := why_no_engine():
        pytest.skip(f"no Docker engine: {trouble}")
    if os.getuid() != 0 or shutil.which("dockerd") is None:
        pytest.skip("only root can start a second engine")
    # A socket's name is short, and pytest's folders have long ones.
    made = Engine(Path(tempfile.mkdtemp(prefix="mdbench-engine-")))
    with subprocess.Popen(["docker", "save", "mdbench-base"], stdout=subprocess.PIPE) as saved:
        made.start()
        subprocess.run(
            ["docker", "--host", made.host, "load"],
            stdin=saved.stdout,
            check=True,
            stdout=subprocess.DEVNULL,
        )
    monkeypatch.setenv("DOCKER_HOST", made.host)
    yield made
    made.end()
    with warnings.catch_warnings():  # docker's client leaves a socket open that found nobody
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


SLOW_AT_TWO = """
import time
import numpy as np

class Adapter:
    def __init__(self, *, seed, threads):
        self.seed = seed
    def fit(self, problem):
        if self.seed == 2:
            print("started", flush=True)
            time.sleep(8)
    def predict(self, problem):
        return np.zeros((len(problem.X), 1))
    def equations(self):
        return ["0"]
"""


def run(workspace: Workspace) -> Summary:
    options = RunOptions(
        ("slow",),
        "ode",
        ("rc-circuit",),
        seeds=(1, 2, 3),
        n_jobs=1,
        result_dir=workspace.root / "r",
    )
    runtime = DockerRuntime(workspace.home)
    try:
        return execute(make_plan(options, workspace), runtime, Quiet())
    finally:
        runtime.close()


# The engine's library leaves a socket open that cannot be connected, until it is collected.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_engine_that_is_killed_costs_a_run_nothing_but_time(
    engine: Engine, tmp_path: Path
) -> None:
    workspace = make_workspace(tmp_path, HOME)
    folder = add_method(workspace, "slow", SLOW_AT_TWO)
    (folder / "requirements.lock").write_text(numpy_lock(), encoding="utf-8")
    logs = workspace.root / "r" / "logs" / "slow-ode"
    workers: list[int] = []

    def kill() -> None:
        if wait_until(lambda: any(log.stat().st_size for log in logs.glob("*.log"))):
            names = engine.docker("ps", "--quiet").stdout.split()
            told = engine.docker("inspect", "--format={{.State.Pid}}", *names).stdout
            workers.extend(int(pid) for first in told.split() for pid in processes.tree(int(first)))
            engine.kill()

    killer = threading.Thread(target=kill)
    killer.start()
    first, second, third = run(workspace).records
    killer.join()
    assert workers
    assert first.status is Status.OK, first.reason
    for lost in (second, third):
        assert lost.status is Status.UNAVAILABLE, lost.reason
        assert "engine" in lost.reason
    # No engine ends the container: it goes with the bench's end of the pipes.
    assert wait_until(lambda: not any(map(is_running, workers)))
    engine.start()
    again = run(workspace)
    assert (again.skipped, again.ran) == (1, 2)
    assert [record.status for record in again.records] == [Status.OK] * 3
    assert engine.docker("ps", "--all", "--quiet").stdout == ""
    assert not [each for each in traces() if each.startswith("/")]
