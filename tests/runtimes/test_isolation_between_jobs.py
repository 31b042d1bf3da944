"""What one job of a method could tell another, and what it says that it has cost."""

from __future__ import annotations

import os
import re
import sys
import tempfile
import time
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pytest
from flavours import FLAVOURS, IN_TURN, traces
from harness import ROOT, known, make_workspace
from isolated import HOME, Bench

from mdbench.records import Status
from mdbench.runs import session
from mdbench.runtimes import usage, venv
from mdbench.runtimes.processes import JOB_UIDS

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.slow, IN_TURN]

WHISPERER = """
import contextlib
import ctypes
import mmap
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
import numpy as np

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mq_open.restype = ctypes.c_int

{at_import}

class Adapter:
    def __init__(self, *, seed, threads):
        self.seed = seed
        self.heard = 0
    def fit(self, problem):
        self.targets = len(problem.targets)
        with contextlib.suppress(OSError):
            if self.seed == 0:
                tell()
            else:
                self.heard = int(bool(hear()))
    def predict(self, problem):
        return np.full((len(problem.X), self.targets), float(self.heard))
    def equations(self):
        return [str(self.heard)] * self.targets
"""

WAYS = {
    "system_v": """
        def tell():
            print(LIBC.shmget(0x6D6462, 8, 0o1666))
        def hear():
            return LIBC.shmget(0x6D6462, 8, 0o666) >= 0
    """,
    "message_queue": """
        def tell():
            print(LIBC.mq_open(b"/mdbench-test", 0o102, 0o600, None))
        def hear():
            return LIBC.mq_open(b"/mdbench-test", 0o2) >= 0
    """,
    "files": """
        PLACES = [Path("/tmp"), Path("/dev/shm"), Path("/var/tmp"), Path(os.environ["HOME"])]
        PLACES += [Path(__file__).parent, Path(np.__file__).parent]
        PLACES += [Path(sys.prefix), *map(Path, sys.path)]
        def tell():
            for place in [*PLACES, Path.cwd(), Path.cwd().parent]:
                with contextlib.suppress(OSError):
                    (place / "mdbench-test-whisper").write_text("x")
                    print(place)
        def hear():
            everywhere = [*PLACES, Path.cwd(), Path.cwd().parent]
            return [place for place in everywhere if (place / "mdbench-test-whisper").exists()]
    """,
    "memory_of_the_worker": """
        def tell(): ...
        def hear():
            for pid in {os.getppid(), *map(int, filter(str.isdigit, os.listdir("/proc")))}:
                if pid not in (os.getpid(), 0):
                    status = Path(f"/proc/{pid}/cmdline").read_bytes()
                    if b"mdbench.worker" in status:
                        with contextlib.suppress(OSError), open(f"/proc/{pid}/mem", "rb+"):
                            return True
    """,
    "thread": """
        ends = os.pipe()
        shared = mmap.mmap(-1, 1)
        def listen():
            shared[:] = os.read(ends[0], 1)
        threading.Thread(target=listen, daemon=True).start()
        def tell():
            os.write(ends[1], b"x")
            time.sleep(0.1)
        def hear():
            return shared[0]
    """,
    "pipe": """
        ends = os.pipe()
        os.set_blocking(ends[0], False)
        def tell():
            os.write(ends[1], b"x")
        def hear():
            return os.read(ends[0], 1)
    """,
    "shared_memory": """
        shared = mmap.mmap(-1, 1)
        def tell():
            shared[:] = b"x"
        def hear():
            return shared[0]
    """,
    "process": """
        code = "import os; f = os.memfd_create('x'); input()"
        child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE)
        os.set_inheritable(child.stdin.fileno(), True)
        def tell():
            child.kill()
        def hear():
            return not os.path.exists(f"/proc/{child.pid}/exe")
    """,
    "open_file": """
        file = open(__file__, "rb")
        def tell():
            os.lseek(file.fileno(), 7, 0)
        def hear():
            return os.lseek(file.fileno(), 0, 1)
    """,
}
AT_IMPORT = {"thread", "pipe", "shared_memory", "process", "open_file"}


@pytest.fixture(params=FLAVOURS)
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    made = Bench(request.param, make_workspace(tmp_path, HOME), "")
    yield made
    made.runtime.close()
    assert traces() == []


def whisperer(way: str) -> str:
    return WHISPERER.replace("{at_import}", dedent(WAYS[way]))


@pytest.mark.parametrize("way", WAYS)
def test_no_job_can_send_anything_to_the_next_one(bench: Bench, way: str) -> None:
    bench.add(whisperer(way))
    told, heard = bench.run_seeds(0, 1).records
    assert told.status is heard.status is Status.OK, (told.reason, heard.reason)
    jobs: Any = heard.runtime.details["jobs"]
    assert jobs["system_calls"]
    # a container has no namespaces for its jobs, and serves one alone
    kept = "a new sandbox for each job" if bench.flavour == "docker" else "forked"
    assert jobs["process"].startswith("imports again" if way in AT_IMPORT else kept)
    if heard.equations != ("0",):
        assert way == "files"
        assert "files outside the job's folder" in jobs["not_held"]


@pytest.mark.parametrize("way", ["files", "pipe"])
def test_each_job_can_have_a_new_sandbox(bench: Bench, way: str) -> None:
    bench.add(whisperer(way))
    records = bench.run_seeds(0, 1, 2, fresh_sandbox=True).records
    assert [record.status for record in records] == [Status.OK] * 3, records[-1].reason
    assert [record.equations for record in records[1:]] == [("0",), ("0",)]
    jobs: Any = records[0].runtime.details["jobs"]
    assert "a new sandbox" in jobs["process"]


HIDES_ITS_COSTS = """
import os
import signal
import sys
import time
import numpy as np

honest = time.monotonic
start = honest()

def use():
    array = np.ones(200 * 2**17)
    end = time.process_time() + 0.8
    while time.process_time() < end:
        array[:1000].sum()

for name, module in list(sys.modules.items()):
    if name.startswith("mdbench.worker"):
        for function in ("_report_end", "end_of_log"):
            if hasattr(module, function):
                was = getattr(module, function)
                setattr(module, function, lambda *args, was=was: was(*args))
time.monotonic = lambda: 2 * start - honest()

class Adapter:
    def __init__(self, *, seed, threads): ...
    def fit(self, problem):
        self.targets = len(problem.targets)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        for _ in range(2):
            if os.fork() == 0:
                if os.fork() == 0:
                    os.setsid()
                    use()
                    open("done", "a").write("x")
                    os._exit(0)
                os._exit(0)
        while not os.path.exists("done") or os.path.getsize("done") < 2:
            time.sleep(0.01)
    def predict(self, problem):
        return np.zeros((len(problem.X), self.targets))
    def equations(self):
        return ["0"] * self.targets
"""


@pytest.mark.parametrize("grouped", [True, False])
@pytest.mark.where(says=lambda given: given["grouped"] or given["bench"] != "docker")
def test_costs_are_measured_from_outside(
    bench: Bench, grouped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not grouped:
        monkeypatch.setattr(venv, "make_group", lambda: None)
    elif bench.flavour != "docker" and not usage.can_make():
        pytest.skip("no groups can be made here")
    bench.add(HIDES_ITS_COSTS)
    (record,) = bench.run_seeds(0).records
    assert record.status is Status.OK, record.reason
    measured = record.measured
    assert measured.by == ("cgroup" if grouped else "samples")
    assert 1.4 < known(measured.cpu_s) < 20.0
    assert 350 < known(measured.peak_memory_mb) < 700
    assert known(measured.fit_s) > 0.7
    assert known(measured.predict_s) >= 0.0
    assert known(measured.fit_s) + known(measured.predict_s) <= known(measured.wall_s)


TELLS_WHERE_IT_IS = """
import os
import sys
import numpy as np

class Adapter:
    def __init__(self, *, seed, threads): ...
    def fit(self, problem):
        print(__file__, os.getcwd(), sys.prefix, np.__file__, os.__file__)
        raise ValueError(f"at {__file__} in {os.getcwd()} with {np.__file__}")
"""


def test_records_and_logs_name_no_folder_of_the_user(bench: Bench) -> None:
    bench.add(TELLS_WHERE_IT_IS)
    (record,) = bench.run_seeds(0).records
    assert record.status is Status.FAILED
    said = record.to_line() + bench.log(record).decode()
    for place in (
        ROOT,
        bench.workspace.root,
        Path.home(),
        Path(sys.base_prefix),
        tempfile.gettempdir(),
    ):
        assert not re.search(rf"(?<!\w){re.escape(str(place))}/", said), place
    bench.add("raise ImportError(__file__)")
    (record,) = bench.run_seeds(1).records
    assert record.status is Status.FAILED
    assert str(bench.workspace.root) not in record.reason


CALLS = """
import ctypes
import os
import socket
import numpy as np

LIBC = ctypes.CDLL(None, use_errno=True)

def works():
    yield "user namespace", LIBC.unshare(0x10000000) == 0
    yield "mount", LIBC.mount(b"none", b"/tmp", b"tmpfs", 0, None) == 0
    yield "ptrace", LIBC.ptrace(0, 0, 0, 0) == 0
    yield "shared memory", LIBC.shmget(0, 8, 0o1600) >= 0
    yield "semaphores", LIBC.semget(0, 1, 0o1600) >= 0
    yield "messages", LIBC.msgget(0, 0o1600) >= 0
    if os.uname().machine == "x86_64":
        yield "keys", LIBC.syscall(250, 0, -3, 1) >= 0
        yield "other ABI", LIBC.syscall(0x40000000 + 39) >= 0
    try:
        socket.socket(40, socket.SOCK_STREAM).close()
        yield "virtual machine", True
    except OSError:
        pass

class Adapter:
    def __init__(self, *, seed, threads): ...
    def fit(self, problem):
        self.targets = len(problem.targets)
        print([name for name, found in works() if found], os.getuid(), flush=True)
        socket.socket().close()
        assert os.waitstatus_to_exitcode(os.system("true")) == 0
    def predict(self, problem):
        return np.zeros((len(problem.X), self.targets))
    def equations(self):
        return ["0"] * self.targets
"""


def test_what_no_method_needs_is_refused(bench: Bench) -> None:
    bench.add(CALLS)
    (record,) = bench.run_seeds(0).records
    assert record.status is Status.OK, record.reason
    found, _, user = bench.log(record).decode().strip().rpartition(" ")
    assert found == "[]"
    jobs: Any = record.runtime.details["jobs"]
    assert jobs["nobody"] is (int(user) in JOB_UIDS)
    if os.getuid() == 0 and bench.flavour != "plain":
        assert jobs["nobody"]


DEEDS = """
import contextlib
import os
import signal
import time
import numpy as np
from mdbench.worker import Candidate

def kills_all():
    # Only with a process namespace to itself: without, this would be all that runs on the machine.
    # (That the machine is itself a container says nothing.)
    numbers = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    inside = os.getcwd().startswith("/mdbench/job")
    if inside or (os.getppid() == 1 and max(numbers) < 100):
        with contextlib.suppress(OSError):
            os.kill(-1, signal.SIGKILL)

def sparse():
    with open("sparse", "wb") as file:
        file.truncate(2**40)

def fills_temporary_folders():
    for folder in ("/tmp", "/dev/shm"):
        with contextlib.suppress(OSError), open(f"{folder}/full", "wb") as file:
            while True:
                file.write(b"x" * 2**20)

def sets_the_clock():
    with contextlib.suppress(OSError, PermissionError):
        time.clock_settime(time.CLOCK_REALTIME, 0)

class Adapter:
    def __init__(self, *, seed, threads):
        self.deed = [lambda: None, kills_all, sparse, fills_temporary_folders, sets_the_clock][seed]
    def fit(self, problem):
        self.targets = len(problem.targets)
        self.deed()
    def predict(self, problem):
        return np.zeros((len(problem.X), self.targets))
    def equations(self):
        return ["0"] * self.targets
"""


@pytest.mark.parametrize(
    ("seed", "statuses"),
    [
        (1, {Status.OK, Status.CRASHED}),
        (2, {Status.FAILED}),
        (3, {Status.OK, Status.OUT_OF_MEMORY}),
        (4, {Status.OK}),
    ],
)
def test_what_one_job_does_to_the_machine_the_next_does_not_feel(
    bench: Bench, seed: int, statuses: set[Status]
) -> None:
    bench.add(DEEDS)
    before = time.time() - time.monotonic()
    deed, after = bench.run_seeds(seed, 0, memory_mb=1000).records
    assert deed.status in statuses, deed.reason
    assert after.status is Status.OK, after.reason
    assert abs(time.time() - time.monotonic() - before) < 3600  # the clock was not set


MILLION = """
from mdbench.worker import Candidate

class Adapter:
    def __init__(self, *, seed, threads): ...
    def fit(self, problem): ...
    def candidates(self):
        for number in range(1_000_000):
            yield Candidate((f"{number}*u0",), None)
    def choose(self, indices): ...
    def predict(self, problem): return 0 * problem.X
    def equations(self): return ["0"]
"""


@pytest.mark.where(says=lambda given: given["bench"] == "plain")  # the host's side is the same
def test_a_million_candidates_cost_the_job_and_nobody_else(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "_EVALUATION_SECONDS", 5.0)
    bench.add(MILLION)
    bench.make_front()
    (record,) = bench.run_seeds(0, timeout=5.0).records
    assert record.status in {Status.PARTIAL, Status.TIMEOUT, Status.INVALID_OUTPUT}, record.reason


TELLS_ITS_ENVIRONMENT = """
import contextlib
import os
import numpy as np

class Adapter:
    def __init__(self, *, seed, threads): ...
    def fit(self, problem):
        print(sorted(os.environ.items()))
        for pid in ("self", os.getppid(), 1):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/environ", "rb") as file:
                print(file.read())
            with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
                print(file.read())
        raise ValueError(str(sorted(os.environ.items())))
"""


def test_the_password_of_an_index_is_nowhere(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.add(TELLS_ITS_ENVIRONMENT)
    bench.run_seeds(0)  # what is made on first use is made
    for name in ("PIP_INDEX_URL", "UV_DEFAULT_INDEX", "https_proxy"):
        monkeypatch.setenv(name, "https://me:hunter2@mirror.invalid/simple")
    (record,) = bench.run_seeds(1).records
    assert record.status is Status.FAILED
    said = bench.log(record).decode(errors="replace")
    assert "PYTHONHASHSEED" in said
    for text in (said, record.to_line()):
        assert "hunter2" not in text
        assert "mirror.invalid" not in text


HIDES_MEMORY = """
import mmap
import os
import sys
import numpy as np

shared = mmap.mmap(-1, 4096)  # which a fork goes on sharing
worker = sys.modules["__main__"]
for name in ("detect_leaks", "shared_memory"):
    for module in [worker, *sys.modules.values()]:
        if hasattr(module, name):
            setattr(module, name, (lambda *_: "") if name == "detect_leaks" else (lambda *_: 0))

class Adapter:
    def __init__(self, *, seed, threads):
        self.seed = seed
    def fit(self, problem):
        self.targets = len(problem.targets)
        print("found", shared[0], flush=True)
        shared[0] = 7
    def predict(self, problem):
        return np.zeros((len(problem.X), self.targets))
    def equations(self):
        return ["0"] * self.targets
"""


def test_memory_that_a_patched_check_hides_passes_nothing(bench: Bench) -> None:
    """The host looks from outside; only a user who may not look has to believe the worker."""
    bench.add(HIDES_MEMORY)
    records = bench.run_seeds(0, 1, 2, 3).records
    assert {record.status for record in records} == {Status.OK}, records[0].reason
    found = {bench.log(record).decode().strip() for record in records}
    if os.getuid() == 0 or bench.flavour == "docker":
        assert found == {"found 0"}
