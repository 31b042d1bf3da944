"""What a job uses is counted as its own, and what the machine does to it is not."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from flavours import FLAVOURS, IN_TURN, traces
from harness import make_workspace
from isolated import HOME, Bench

from mdbench.records import Status
from mdbench.runs import session
from mdbench.runs.worker_pool import EnvironmentCache
from mdbench.runtimes.usage import can_make, can_stop_forks, make_group
from mdbench.runtimes.venv import VenvWorker

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mdbench.records import Record

pytestmark = [pytest.mark.slow, IN_TURN]

ADAPTER = """
import os
import time
import numpy as np
{at_import}

class Adapter:
    def __init__(self, *, seed, threads): ...
    def fit(self, problem):
        self.words = "0"
        {at_fit}
    def predict(self, problem): return np.full((len(problem.X), 1), float(self.words))
    def equations(self): return [self.words]
"""
BURNS = """
end = time.process_time() + 1.0
while time.process_time() < end:
    pass
import threading
threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
"""


def adapter(at_fit: str = "pass", at_import: str = "") -> str:
    lines = at_fit.replace("\n", "\n        ")
    return ADAPTER.format(at_fit=lines, at_import=at_import)


@pytest.fixture(params=FLAVOURS)
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    made = Bench(request.param, make_workspace(tmp_path, HOME), adapter())
    yield made
    made.runtime.close()
    assert traces() == []


def test_no_job_takes_more_cores_than_it_was_given(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # where nobody else has claimed a core
    monkeypatch.setattr(tempfile, "tempdir", None)
    code = """
before = os.sched_getaffinity(0)
try:
    os.sched_setaffinity(0, range(1024))
except OSError as error:
    self.words = str(error.errno)
assert os.sched_getaffinity(0) == before
self.words += f"{len(before):02}"
"""
    bench.add(adapter(code, "try:\n    os.sched_setaffinity(0, range(1024))\nexcept OSError: ..."))
    (record,) = bench.run_seeds(0, work_s=10.0).records
    assert record.status is Status.OK, record.reason
    assert record.equations == ("101",)  # EPERM, on one core
    assert len(record.measured.cores) == 1


def test_what_an_import_takes_beyond_the_first_one_is_a_jobs_work(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.add(adapter("pass", BURNS))
    honest = EnvironmentCache.start_beyond_first
    quick = 0.3

    def after_a_quick_one(cache: EnvironmentCache, method: Any, start_s: float) -> float:
        cache._starts.setdefault(method.name, quick)
        return honest(cache, method, start_s)

    first, second = bench.run_seeds(0, 1).records
    assert first.status is second.status is Status.OK, (first.reason, second.reason)
    assert cpu_s(first) < 0.8
    assert cpu_s(second) < 0.8  # as long as the first one
    monkeypatch.setattr(EnvironmentCache, "start_beyond_first", after_a_quick_one)
    records = bench.run_seeds(2, 3).records
    assert [record.status for record in records] == [Status.OK, Status.OK]
    assert all(cpu_s(record) > 0.8 for record in records)
    # Whatever of it is charged, all of it is counted apart.
    imports = [one.measured.import_s or 0.0 for one in (first, second, *records)]
    assert min(imports) > 0.8, imports


def cpu_s(record: Record) -> float:
    used = record.measured.cpu_s
    assert used is not None
    return used


def test_a_child_that_memory_killed_is_no_answer(bench: Bench) -> None:
    if bench.flavour != "docker" and "memory" not in can_make():
        pytest.skip("no groups can be made here")
    code = """
if os.fork() == 0:
    x = bytearray(b"1") * (1000 * 2**20)
    os._exit(0)
os.wait()
"""
    bench.add(adapter(code))
    (record,) = bench.run_seeds(0, memory_mb=300).records
    assert record.status is Status.OUT_OF_MEMORY, record.reason
    assert "300 MiB" in record.reason


def test_a_temporary_folder_that_goes_is_no_fault_of_the_method(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setattr(tempfile, "tempdir", None)
    honest = session.JobSession._wait_for_fit

    def removed(attempt: session.JobSession) -> None:
        honest(attempt)
        shutil.rmtree(place)

    monkeypatch.setattr(session.JobSession, "_wait_for_fit", removed)
    (record,) = bench.run_seeds(0).records
    assert record.status is Status.UNAVAILABLE, record.reason
    assert "was removed" in record.reason
    monkeypatch.undo()
    monkeypatch.setattr(tempfile, "tempdir", None)
    (again,) = bench.run_seeds(0).records
    assert again.status is Status.OK, again.reason


@pytest.mark.parametrize("deed", ["mine", "others"])
def test_a_disk_that_is_too_small_is_no_fault_of_the_method(
    bench: Bench, deed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "temporary"
    place.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m,mode=1777", "none", place], check=False
    )
    if done.returncode:
        pytest.skip("no disk can be mounted here")
    try:
        monkeypatch.setenv("TMPDIR", str(place))
        monkeypatch.setattr(tempfile, "tempdir", None)
        honest = session.JobSession._send_fit

        def filled(attempt: session.JobSession) -> None:
            honest(attempt)
            (place / "others").write_bytes(b"x" * 2**23)

        if deed == "others":
            monkeypatch.setattr(session.JobSession, "_send_fit", lambda s: _tolerant(filled, s))
        bench.add(adapter("time.sleep(0.5)\nopen('large', 'wb').write(b'x' * 2**24)"))
        (record,) = bench.run_seeds(0).records
        assert record.status is Status.UNAVAILABLE, record.reason
        assert "MiB" in record.reason
    finally:
        monkeypatch.undo()
        tempfile.tempdir = None
        subprocess.run(["umount", "-l", place], check=True)


def _tolerant(call: Any, attempt: session.JobSession) -> None:
    with suppress(OSError):  # it is full, as wanted
        call(attempt)


LIMITED = """
import resource
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from isolated import Bench
from harness import make_workspace
from mdbench.workspace import Workspace
bench = Bench(sys.argv[2], Workspace(Path(sys.argv[3]), Path(sys.argv[4])), sys.argv[5])
bench.runtime.prepare(__import__("mdbench.methods").methods.find(
    "nasty", bench.workspace.algorithms))
size = 4 * 2**20
resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
(record,) = bench.run_seeds(0).records
bench.runtime.close()
print(record.status, record.reason)
"""


def test_a_limit_on_files_of_the_machine_is_no_fault_of_the_method(bench: Bench) -> None:
    if bench.flavour == "docker":
        return  # a container has its engine's limits
    support = Path(__file__).parent.parent / "support"
    place = bench.workspace

    def run(deed: str) -> str:
        arguments = [support, bench.flavour, place.root, place.home, adapter(deed)]
        command = [sys.executable, "-c", LIMITED, *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert run("pass").startswith("ok"), run("pass")
    said = run("open('large', 'wb').write(b'x' * 2**23)")
    assert said.startswith("unavailable"), said
    assert "ulimit -f" in said


def test_the_kernel_stops_what_forks_without_end() -> None:
    group = make_group()
    if group is None or not group.limit_processes(20):
        pytest.skip("the kernel counts no processes here")
    code = (
        "import os, signal\n"
        "made = []\n"
        "for _ in range(100):\n"
        "    try:\n"
        "        pid = os.fork()\n"
        "    except OSError:\n"
        "        break\n"
        "    if pid == 0:\n"
        "        signal.pause()\n"
        "    made.append(pid)\n"
        "for pid in made:\n"
        "    os.kill(pid, signal.SIGKILL)\n"
        "print(len(made))\n"
    )
    try:
        said = subprocess.check_output(group.joining([sys.executable, "-c", code]), text=True)
    finally:
        group.remove()
    assert int(said) == 19
    assert not any(folder.exists() for folder in group.folders)


def test_a_fork_bomb_is_held_by_the_kernel_until_it_is_ended(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    if bench.flavour == "docker":
        return  # its engine does the same
    if not can_stop_forks():
        pytest.skip("the kernel counts no processes here")
    honest = VenvWorker.kill_job
    counts: list[int] = []

    def counted(worker: VenvWorker) -> None:
        group = worker._own_group
        assert group is not None
        assert group.pids is not None
        counts.append(int((group.pids / "pids.current").read_text(encoding="ascii")))
        honest(worker)
        assert int((group.pids / "pids.max").read_text(encoding="ascii")) == 20 + 64 + 2

    monkeypatch.setattr(VenvWorker, "kill_job", counted)
    bomb = "while True:\n    try:\n        os.fork()\n    except OSError:\n        pass"
    bench.add(adapter(bomb))
    (record,) = bench.run_seeds(0, processes=20).records
    assert record.status is Status.CRASHED, record.reason
    assert "20 are allowed" in record.reason
    assert counts
    assert max(counts) <= 20 + 64 + 2
