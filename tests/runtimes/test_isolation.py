"""Methods that do what methods should not, in every way in which they can be isolated."""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import isolated
import numpy as np
import pytest
from flavours import FLAVOURS, IN_TURN, open_flavour, traces
from harness import ROOT, has_written, is_running, known, make_workspace, out_of_time, wait_until
from isolated import HOME

import mdbench
from mdbench.methods import find
from mdbench.records import RecordStore, Status
from mdbench.runs import exchange, session
from mdbench.runs.scoring import CandidatePool
from mdbench.runtimes import processes
from mdbench.runtimes.base import Limits, Prepared
from mdbench.runtimes.job_folder import LOCK_FILE, PREFIX
from mdbench.runtimes.usage import can_make
from mdbench.runtimes.venv import VenvWorker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mdbench.records import Record
    from mdbench.runs.execute import Summary
    from mdbench.runtimes.worker import Worker
    from mdbench.workspace import Workspace

pytestmark = [pytest.mark.slow, IN_TURN]

ADAPTER = ROOT / "tests" / "support" / "nasty" / "adapter.py"


def deeds() -> list[str]:
    spec = importlib.util.spec_from_file_location("nasty_adapter", ADAPTER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    names: list[str] = module.NAMES
    return names


DEEDS = deeds()


OF_THE_JOBS_OWN = pytest.mark.where(
    says=lambda given: given["namespaces"] or given["bench"] == "plain"
)
"""What runs in bubblewrap or a container needs no namespaces of the job's own."""


@pytest.fixture(params=FLAVOURS)
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    made = Bench(request.param, make_workspace(tmp_path, HOME))
    yield made
    made.runtime.close()
    assert traces() == []


class Bench(isolated.Bench):
    """With the nasty method; what it does is named."""

    def __init__(self, flavour: str, workspace: Workspace) -> None:
        super().__init__(flavour, workspace, ADAPTER.read_text(encoding="utf-8"))

    def run(self, *names: str, **changes: Any) -> Summary:
        return self.run_seeds(*(DEEDS.index(name) for name in names), **changes)

    def each(self, *names: str, **changes: Any) -> dict[str, tuple[Record, Record]]:
        """Run what is named in one worker, an honest job after each; return both records."""
        order = [DEEDS.index(deed) for name in names for deed in (name, "nothing")]
        self.add(self.text.replace("DEEDS[seed]", f"DEEDS[{order}[seed]]"))
        records = self.run_seeds(*range(len(order)), **changes).records
        return dict(zip(names, zip(records[::2], records[1::2], strict=True), strict=True))

    def one(self, name: str, **changes: Any) -> Record:
        (record,) = self.run(name, **changes).records
        return record


def apart(record: Record) -> dict[str, Any]:
    jobs = record.runtime.details["jobs"]
    assert isinstance(jobs, dict)
    return jobs


def test_a_native_loop_that_ignores_signals_is_killed(bench: Bench) -> None:
    bench.one("nothing")
    record = bench.one("native_loop", timeout=1.0)
    assert record.status is Status.TIMEOUT, record.reason
    assert record.reason == "ran longer than 1 s"  # how soon: benchmarks/bench_isolation.py


def test_what_a_job_leaves_running_is_ended(bench: Bench) -> None:
    for deed, (first, second) in bench.each("daemon", "straggler").items():
        assert first.status is Status.OK, (deed, first.reason)
        assert second.status is Status.OK, (deed, second.reason)


@pytest.mark.parametrize("deed", ["fork_bomb", "fork_bomb_of_a_user"])
def test_a_fork_bomb_is_ended_and_the_next_job_runs(bench: Bench, deed: str) -> None:
    # In a container the kernel holds it at its limit, until its time is up.
    timeout = 3.0 if bench.flavour == "docker" else 100.0
    bomb, *_ = bench.run(deed, timeout=timeout, processes=100).records
    after = bench.one("nothing")
    if bench.flavour == "docker":
        assert bomb.status is Status.TIMEOUT, bomb.reason
    else:
        assert bomb.status is Status.CRASHED, bomb.reason
        assert "100 are allowed" in bomb.reason
    assert after.status is Status.OK, after.reason


def test_a_gigabyte_of_output_is_capped_and_costs_no_memory(bench: Bench) -> None:
    before = peak_mb()
    record = bench.one("gigabyte")
    assert record.status is Status.OK, record.reason
    log = bench.log(record)
    assert len(log) < 1.1 * 2**20
    assert log.endswith(b"more bytes were printed and dropped]\n")
    assert peak_mb() - before < 150


def test_a_spike_of_memory_is_seen(bench: Bench) -> None:
    record = bench.one("spike", memory_mb=300)
    assert record.status is Status.OUT_OF_MEMORY, record.reason
    assert "300 MiB" in record.reason
    assert bench.one("spike").status is Status.OK


def test_out_of_memory_is_distinguished_from_all_else(bench: Bench) -> None:
    ended = bench.each("hungry", "hungry_grandchild", memory_mb=300)
    for deed, (hungry, after) in ended.items():
        assert hungry.status is Status.OUT_OF_MEMORY, (deed, hungry.reason)
        assert after.status is Status.OK, (deed, after.reason)


def test_each_death_has_its_own_reason(bench: Bench) -> None:
    reasons = {
        "exit_137": "ended with exit status 137 before its answer",
        "kill_9": "killed by signal 9 (SIGKILL)",
        "segfault": "killed by signal 11 (SIGSEGV)",
        "abort": "killed by signal 6 (SIGABRT)",
    }
    for deed, (record, after) in bench.each(*reasons, memory_mb=1000).items():
        assert (record.status, record.reason) == (Status.CRASHED, reasons[deed])
        assert after.status is Status.OK, deed


def test_printed_messages_are_not_believed(bench: Bench) -> None:
    record = bench.one("forged")
    assert record.status is Status.OK, record.reason
    assert record.equations == ("0",)
    assert b"forged" in bench.log(record)


def test_answers_that_cannot_be_used(bench: Bench) -> None:
    words = {"says_nan": "not finite", "five_megabytes": "characters", "no_utf8": "", "nested": ""}
    for deed, (record, after) in bench.each(*words).items():
        assert record.status is Status.INVALID_OUTPUT, (deed, record.reason)
        assert words[deed] in record.reason
        assert after.status is Status.OK, deed


def test_jobs_share_no_random_state_and_can_be_repeated(bench: Bench) -> None:
    text = ADAPTER.read_text(encoding="utf-8")
    bench.add(text.replace("DEEDS[seed]", "draws"))
    said = {
        key: [
            r.equations for r in bench.run("nothing", seeds=(1, 2), rerun=frozenset(Status)).records
        ]
        for key in ("first", "second")
    }
    assert said["first"] == said["second"]
    assert said["first"][0] != said["first"][1]


@pytest.mark.parametrize("deed", ["writes_much", "writes_one_large_file"])
def test_output_has_a_limit(bench: Bench, deed: str) -> None:
    record = bench.one(deed, output_mb=20)
    if deed == "writes_much":
        assert record.status is Status.CRASHED, record.reason
        assert "20 MiB are allowed" in record.reason
    else:
        assert record.status is Status.FAILED, record.reason
        assert "File too large" in record.reason


@pytest.mark.parametrize("namespaces", [True, False])
@OF_THE_JOBS_OWN
def test_a_job_cannot_end_its_worker(
    bench: Bench, namespaces: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    held_within(bench, namespaces, monkeypatch)
    record, after = bench.run("kills_its_worker", "nothing").records
    assert (record.status, record.reason) == (Status.FAILED, "RuntimeError: all refused")
    assert after.status is Status.OK


def test_nothing_is_left_for_the_next_job(bench: Bench) -> None:
    left, found = bench.run("leaves_files", "finds_files").records
    Path("/tmp/left-behind").unlink(missing_ok=True)
    Path("/dev/shm/left-behind").unlink(missing_ok=True)
    Path("/left-behind").unlink(missing_ok=True)
    assert left.status is found.status is Status.OK, (left.reason, found.reason)
    if bench.flavour != "plain":
        assert found.equations == ("0",)


def held_within(bench: Bench, namespaces: bool, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether a job can write nothing but its folder; plain ones as on another kernel, too."""
    if bench.flavour != "plain":
        return True
    if not namespaces:
        honest = VenvWorker._plain_command

        def without(*given: Any) -> tuple[list[str], dict[str, str]]:
            command, environment = honest(*given)
            return [each for each in command if not each.startswith("--jobs=")], environment

        monkeypatch.setattr(VenvWorker, "_plain_command", without)
    return namespaces


@pytest.mark.parametrize("namespaces", [True, False])
@OF_THE_JOBS_OWN
def test_a_link_in_place_of_the_jobs_folder_leads_the_bench_nowhere(
    bench: Bench, tmp_path: Path, namespaces: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = held_within(bench, namespaces, monkeypatch)
    target = tmp_path / "target"
    target.mkdir(mode=0o777)
    np.save(target / "predictions.npy", np.ones((30, 1)))
    before = (target / "predictions.npy").stat().st_uid
    text = ADAPTER.read_text(encoding="utf-8")
    bench.add(text.replace('TARGET = "/"', f"TARGET = {str(target)!r}"))
    swapped, after = bench.run("swaps_its_folder", "nothing").records
    assert [path.name for path in target.iterdir()] == ["predictions.npy"]
    assert (target / "predictions.npy").stat().st_uid == before
    assert after.status is Status.OK, after.reason
    if not held:
        assert swapped.status is not Status.OK
        assert b"swapped" in bench.log(swapped)
    else:
        assert swapped.status is Status.OK, swapped.reason
        assert swapped.log is None


@pytest.mark.parametrize("namespaces", [True, False])
@OF_THE_JOBS_OWN
def test_a_job_without_a_folder_is_its_own_trouble(
    bench: Bench, namespaces: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = held_within(bench, namespaces, monkeypatch)
    removed, after = bench.run("removes_its_folder", "nothing").records
    if not held:
        assert removed.status is Status.INVALID_OUTPUT, removed.reason
    else:
        assert removed.status is Status.FAILED, removed.reason
        assert re.search(r"/job(/\w+)?'", removed.reason)  # its place may not be written
    assert after.status is Status.OK, after.reason


def test_the_disk_is_not_walked_for_a_jobs_folder(bench: Bench) -> None:
    record, *_ = bench.run("becomes_the_disk", timeout=4.0).records
    after = bench.one("nothing")
    assert record.status is Status.TIMEOUT, record.reason  # else it has written too much
    assert after.status is Status.OK, after.reason


def test_folders_in_folders_stop_nobody(bench: Bench) -> None:
    if bench.flavour != "plain":
        text = ADAPTER.read_text(encoding="utf-8")
        bench.add(text.replace("ROOM_FOR_FILES = ()", 'ROOM_FOR_FILES = ("/tmp", "/dev/shm")'))
    nested, *after = bench.run("nests", "nothing", "finds_files").records
    assert nested.status in {Status.OK, Status.CRASHED}, nested.reason
    assert [record.status for record in after] == [Status.OK, Status.OK], after[0].reason


def test_what_is_planted_is_found_by_nobody_else(bench: Bench) -> None:
    planted, *after = bench.run("plants", "nothing", "finds_files").records
    assert planted.status is Status.INVALID_OUTPUT, planted.reason
    assert "changed its job's folder" in planted.reason
    assert [record.status for record in after] == [Status.OK, Status.OK], after[0].reason


def test_what_the_import_plants_is_in_nobodys_way(bench: Bench) -> None:
    text = ADAPTER.read_text(encoding="utf-8")
    bench.add(text.replace("PLANTS = False", "PLANTS = True"))
    bench.add(name="honest")
    hindered, honest = bench.run("nothing", algorithms=("nasty", "honest")).records
    assert hindered.status is Status.OK, hindered.reason  # its folder was made after the import
    assert honest.status is Status.OK, honest.reason


def test_a_job_that_only_states_that_it_ended_is_not_there_in_the_next(bench: Bench) -> None:
    forger, after = bench.run("forges_its_end", "nothing").records
    assert forger.status is Status.CRASHED, forger.reason
    assert after.status is Status.OK, after.reason


@pytest.mark.parametrize("namespaces", [True, False])
@OF_THE_JOBS_OWN
def test_nothing_is_written_next_to_the_jobs_folder(
    bench: Bench, namespaces: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = held_within(bench, namespaces, monkeypatch)
    record = bench.one("writes_beside")
    assert record.equations == ("0" if held else "1",), record.reason
    if bench.flavour == "plain":
        assert apart(record)["namespaces"] is held


STREAMING_WRITER = """
import time
from mdbench.worker import Candidate

class Adapter:
    def __init__(self, *, seed, threads): ...
    def fit(self, p): ...
    def candidates(self):
        for number in range(100_000):
            with open(f"file-{number}", "wb") as file:
                file.write(b"x" * 2**20)
            time.sleep(0.02)
            yield Candidate((f"{number} + 0*u0",), None)
"""


def test_output_is_looked_at_while_messages_come(bench: Bench) -> None:
    bench.add(STREAMING_WRITER)
    bench.make_front()
    record = bench.one("nothing", output_mb=20)
    assert record.status is Status.CRASHED, record.reason
    assert "20 MiB are allowed" in record.reason


COMPUTES_ON = """
import os
import threading
import time
import numpy as np
from mdbench.worker import Candidate

def tick():
    last = time.monotonic()
    while True:
        now = time.monotonic()
        with open("gaps", "a") as file:
            file.write(f"{now - last} ")
        last = now
        time.sleep(0.01)

class Adapter:
    def __init__(self, *, seed, threads): ...
    def fit(self, p):
        if os.fork() == 0:
            os.setsid()
            tick()
    def candidates(self):
        threading.Thread(target=tick, daemon=True).start()
        yield Candidate(("0",), None)
    def choose(self, indices): ...
    def equations(self):
        time.sleep(0.1)
        with open("gaps") as file:
            gaps = sorted(map(float, file.read().split()))
        print("gaps", gaps[-1], gaps[-2], flush=True)
        return ["0"]
    def predict(self, p): return np.zeros((len(p.X), 1))
"""


class Clock:
    """A clock that is put forward."""

    ahead = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self.ahead


def test_while_the_clock_stands_the_job_stands(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = CandidatePool.evaluate
    clock = Clock()
    stood = threading.Event()

    class Watched(exchange.PausedJob):
        """Lets a quarter of an hour go by while the job stands."""

        def __init__(self, worker: Worker) -> None:
            super().__init__(worker)
            wait = self._over.wait

            def longer(timeout: float | None = None) -> bool:
                over = wait(timeout)
                if timeout == exchange._CHECK_SECONDS and not clock.ahead and worker.is_paused():
                    clock.ahead = 900.0
                    stood.set()
                return over

            monkeypatch.setattr(self._over, "wait", longer)

    def weigh(found: CandidatePool, seconds: float, stopped: Callable[[], bool]) -> None:
        assert stood.wait(100)
        time.sleep(1.0)
        honest(found, seconds, stopped)

    monkeypatch.setattr(CandidatePool, "evaluate", weigh)
    monkeypatch.setattr(session, "PausedJob", Watched)
    monkeypatch.setattr(exchange, "time", clock)
    bench.add(COMPUTES_ON)
    bench.make_front()
    record = bench.one("nothing", timeout=100.0)  # less than the weighing takes
    assert record.status is Status.OK, record.reason
    gaps = re.findall(rb"[0-9.]+", bench.log(record))
    assert [float(gap) >= 1.0 for gap in gaps] == [True, True], gaps  # thread and process


def test_memory_of_a_large_bench_is_not_the_jobs(bench: Bench) -> None:
    large = np.ones(100 * 2**20)  # 800 MiB
    record = bench.one("nothing")
    assert large[-1] == 1.0
    assert record.measured.peak_memory_mb is not None
    assert 5 < record.measured.peak_memory_mb < 100


def test_the_network_is_out_of_reach(bench: Bench) -> None:
    if bench.flavour == "plain":
        assert bench.runtime.probe().levels["network"] == "none"
        return
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        text = ADAPTER.read_text(encoding="utf-8")
        bench.add(text.replace("PORT = 1 ", f"PORT = {port} "))
        record = bench.one("calls_out")
    assert record.status is Status.OK, record.reason
    assert record.equations == ("0",)
    assert bench.log(record).strip() == b"interfaces []"


def test_test_targets_are_nowhere_to_be_found(bench: Bench, tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    t, u, du = np.linspace(0, 1, 100), rng.normal(size=(100, 1)), rng.normal(size=(100, 1))
    mine = tmp_path / "mine.npz"
    np.savez(mine, t=t, u=u, du=du)
    text = ADAPTER.read_text(encoding="utf-8").replace("SINCE = 0.0", f"SINCE = {time.time() - 2}")
    if bench.flavour == "plain":  # it can see the whole disk, and says so
        assert bench.runtime.probe().levels["files"] == "none"
        text = text.replace('EVERYWHERE = "/"', "EVERYWHERE = '.'")
    wanted = (du[80:, 0] * 3.0).tolist()
    # What it is given is smoothed; it looks for numbers times three, so as not to find its own.
    given = mdbench.dataset("mine", "ode", dataset_path=mine)["table"].refit["X"]
    seen = (given[:, 0] * 3.0).tolist()
    where = {"datasets": ("mine",), "dataset_path": mine}
    bench.add(text.replace("WANTED = np.array([])", f"WANTED = np.array({seen})"))
    known = bench.one("finds_targets", **where)
    assert int((known.equations or ("0",))[0]) >= 2, "the search does not find what is there"
    bench.add(text.replace("WANTED = np.array([])", f"WANTED = np.array({wanted})"))
    sealed = bench.one("finds_targets", **where)
    assert sealed.status is Status.OK, sealed.reason
    assert bench.log(sealed).strip() == b"found []"


def test_a_library_that_no_fork_survives(bench: Bench) -> None:
    text = ADAPTER.read_text(encoding="utf-8").replace("HELD = False", "HELD = os.getpid()")
    bench.add(text.replace("time.sleep(0.05)", "os.register_at_fork(before=LOCK.acquire)"))
    hung = bench.one("works_in_threads", timeout=1.0)
    assert hung.status is Status.TIMEOUT, hung.reason
    bench.add(more="fork_safe = false")
    assert bench.one("works_in_threads").status is Status.OK


def test_the_launching_thread_may_end(bench: Bench) -> None:
    method = find("nasty", bench.workspace.algorithms)
    prepared = bench.runtime.prepare(method)
    started = []

    def start() -> None:
        started.append(bench.runtime.start(method, prepared, Limits()))

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    with started[0] as worker:
        time.sleep(0.3)
        assert worker.alive


def test_kill_9_of_the_bench_leaves_nothing_and_costs_nothing(bench: Bench) -> None:
    done = bench.one("nothing")
    code = (
        "import sys; sys.path[:0] = [sys.argv[1], sys.argv[1] + '/../runtimes']\n"
        "from pathlib import Path\n"
        "from test_isolation import Bench, DEEDS\n"
        "from mdbench.workspace import Workspace\n"
        "bench = Bench(sys.argv[2], Workspace(Path(sys.argv[3]), Path(sys.argv[4])))\n"
        "bench.run('nothing', 'daemon_and_wait')\n"
    )
    workspace = bench.workspace
    running = subprocess.Popen(
        [
            sys.executable,
            "-c",
            code,
            str(ROOT / "tests" / "support"),
            bench.flavour,
            workspace.root,
            workspace.home,
        ],
    )
    logs = workspace.root / "results" / "logs" / "nasty-ode"

    def began() -> bool:
        return any(log.read_bytes().startswith(b"started") for log in logs.glob("*.log"))

    def daemons() -> list[int]:
        tree = processes.tree(running.pid)
        return [pid for pid in tree if b"time.sleep(1000)" in command_line(pid)]

    try:
        assert wait_until(began)
        assert wait_until(lambda: len(daemons()) == (bench.flavour != "docker"))
        tree = processes.tree(running.pid)
        folders = held_folders(running.pid)
    finally:
        running.kill()
        running.wait()
    assert folders
    assert wait_until(lambda: not any(is_running(pid) for pid in tree))
    if bench.flavour == "docker":
        assert wait_until(lambda: str(running.pid) not in owners())
    stored = RecordStore(workspace.root / "results" / "nasty-ode.jsonl").read()
    assert [record.key for record in stored] == [done.key]
    again = bench.run("nothing", "daemon")
    assert (again.skipped, again.ran) == (1, 1)
    open_flavour(bench.flavour, workspace.home).probe()  # clears up what the dead one has left
    assert [path for path in folders if path.exists()] == []


SLEEPS = """
import time

class Adapter:
    def __init__(self, *, seed, threads): ...
    def fit(self, problem):
        print("started", flush=True)
        time.sleep(1000)
"""


def hold_pipes(pid: int) -> list[int]:
    """Open the pipes of a process for writing, as a job could that runs as the bench's user."""
    held = []
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):
            if str(descriptor.readlink()).startswith("pipe:"):
                held.append(os.open(descriptor, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC))
    return held


def test_kill_9_of_the_bench_ends_a_job_where_somebody_holds_its_pipes(tmp_path: Path) -> None:
    bench = Bench("plain", make_workspace(tmp_path, HOME))
    bench.add(SLEEPS)
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from pathlib import Path\n"
        "from harness import HereRuntime, Quiet\n"
        "from harness import execute\n"
        "from mdbench.runs.plan import make_plan\n"
        "from mdbench.runs.study import RunOptions\n"
        "from mdbench.runtimes.venv import VenvWorker\n"
        "from mdbench.workspace import Workspace\n"
        "honest = VenvWorker._plain_command\n"
        "def without(*given):\n"
        "    command, environment = honest(*given)\n"
        "    return [one for one in command if not one.startswith('--jobs=')], environment\n"
        "VenvWorker._plain_command = without\n"
        "place = Workspace(Path(sys.argv[2]), Path(sys.argv[3]))\n"
        "options = RunOptions(('nasty',), 'ode', ('rc-circuit',), result_dir=place.root / 'r')\n"
        "execute(make_plan(options, place), HereRuntime(wrapped=False), Quiet())\n"
    )
    workspace = bench.workspace
    running = subprocess.Popen(
        [
            sys.executable,
            "-c",
            code,
            str(ROOT / "tests" / "support"),
            str(workspace.root),
            str(workspace.home),
        ]
    )
    logs = workspace.root / "r" / "logs" / "nasty-ode"
    try:
        assert wait_until(lambda: any(log.stat().st_size for log in logs.glob("*.log")))
        tree = processes.tree(running.pid)
        below = [pid for pid in tree if b"mdbench.worker" in command_line(pid)]
        held = hold_pipes(running.pid)
    finally:
        running.kill()
        running.wait()
    try:
        assert len(below) > 1
        assert held
        assert wait_until(lambda: not any(is_running(pid) for pid in below))
    finally:
        for descriptor in held:
            os.close(descriptor)
        for pid in filter(is_running, below):
            os.kill(pid, signal.SIGKILL)


def test_kill_9_of_the_bench_ends_a_job_that_is_held(bench: Bench) -> None:
    bench.add(COMPUTES_ON)
    bench.make_front()
    code = (
        "import sys, time; sys.path.insert(0, sys.argv[1])\n"
        "from pathlib import Path\n"
        "from flavours import open_flavour\n"
        "from harness import Quiet\n"
        "from mdbench.runs.scoring import CandidatePool\n"
        "from harness import execute\n"
        "from mdbench.runs.plan import make_plan\n"
        "from mdbench.runs.study import RunOptions\n"
        "from mdbench.workspace import Workspace\n"
        "CandidatePool.evaluate = lambda *_: time.sleep(1000)\n"
        "place = Workspace(Path(sys.argv[3]), Path(sys.argv[4]))\n"
        "options = RunOptions(('nasty',), 'ode', ('rc-circuit',), result_dir=place.root / 'r')\n"
        "execute(make_plan(options, place), open_flavour(sys.argv[2], place.home), Quiet())\n"
    )
    workspace = bench.workspace
    running = subprocess.Popen(
        [
            sys.executable,
            "-c",
            code,
            str(ROOT / "tests" / "support"),
            bench.flavour,
            workspace.root,
            workspace.home,
        ],
    )

    def held() -> list[int]:
        docker = bench.flavour == "docker"
        roots = first_of_containers(running.pid) if docker else [running.pid]
        tree = [pid for root in roots for pid in processes.tree(root)]
        return [pid for pid in tree if state(pid) == "T"]

    try:
        # The job, and what it has started; with namespaces two more that look after them.
        assert wait_until(lambda: len(held()) in {2, 4})
        stopped = held()
    finally:
        running.kill()
        running.wait()
    assert wait_until(lambda: not any(is_running(pid) for pid in stopped))
    if bench.flavour == "docker":
        assert wait_until(lambda: str(running.pid) not in owners())


def first_of_containers(owner: int) -> list[int]:
    """Return the first processes of the containers that a process runs."""
    form = '{{.ID}} {{.Label "mdbench.owner"}}'
    listed = subprocess.run(
        ["docker", "ps", "--format", form], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    names = [line.split()[0] for line in listed if str(owner) in line.split()[1:]]
    if not names:
        return []
    done = subprocess.run(
        ["docker", "inspect", "--format", "{{.State.Pid}}", *names],
        capture_output=True,
        text=True,
        check=False,
    )
    return [int(pid) for pid in done.stdout.split()]


def state(pid: int) -> str:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return text.rpartition(")")[2].split()[0]


def held_folders(pid: int) -> list[Path]:
    """Return the folders whose locks a process holds open; others' come and go meanwhile."""
    folders = []
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):
            file = descriptor.readlink()
            if file.name == LOCK_FILE and file.parent.name.startswith(PREFIX):
                folders.append(file.parent)
    return folders


def owners() -> str:
    done = subprocess.run(
        ["docker", "ps", "-a", "--format", '{{.Label "mdbench.owner"}}'],
        capture_output=True,
        text=True,
        check=True,
    )
    return " ".join(line.split()[1] for line in done.stdout.splitlines() if line)


def command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def peak_mb() -> float:
    text = Path("/proc/self/status").read_text(encoding="ascii")
    return int(known(re.search(r"VmHWM:\s+(\d+)", text))[1]) / 1024


SLOW_FRONT = """
import time
import numpy as np
from mdbench.worker import Candidate

class Adapter:
    def __init__(self, *, seed, threads):
        self.seed = seed
    def fit(self, p):
        self.p, self.found = p, []
        end = time.monotonic() + 1000
        while time.monotonic() < end:
            self.found.append(Candidate((f"{len(self.found)} + 0*u0",), np.ones((len(p.X), 1))))
            time.sleep(0.01)
            if len(self.found) == 20:
                open("ready", "w").close()
                if self.seed:
                    sum(range(10**15))
    def candidates(self):
        return self.found[:10]
    def choose(self, indices): ...
    def predict(self, p): return np.ones((len(p.X), 1))
    def equations(self): return ["1"]
"""


def test_a_job_whose_time_is_up_is_asked_for_its_candidates(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.add(SLOW_FRONT)
    bench.make_front()
    out_of_time(monkeypatch, lambda attempt: has_written(attempt, "ready"))
    (stuck,) = bench.run("nothing", seeds=(1,)).records
    # The limit is for jobs that might never end.
    monkeypatch.setattr(exchange, "_LAST_WORDS_SECONDS", 100.0)
    (listens,) = bench.run("nothing", seeds=(0,)).records
    assert listens.status is Status.PARTIAL, listens.reason
    assert "from the best of 10 candidates" in listens.reason
    assert stuck.status is Status.TIMEOUT, stuck.reason


def test_every_record_states_what_was_enforced(bench: Bench) -> None:
    record = bench.one("nothing", memory_mb=500)
    memory = "hard" if "memory" in can_make() else "soft"
    levels = {
        "plain": {"network": "none", "files": "none", "memory": memory, "processes": "soft"},
        "bubblewrap": {"network": "hard", "files": "hard", "memory": memory, "processes": "soft"},
        "docker": dict.fromkeys(("network", "files", "memory", "processes"), "hard"),
    }
    assert record.runtime.details["enforces"] == levels[bench.flavour]
    assert record.budget.memory_mb == 500
    assert record.budget.processes == 256
    assert record.runtime.name == ("docker" if bench.flavour == "docker" else "venv")
    if bench.flavour == "docker":
        assert str(record.runtime.details["image"]).startswith("sha256:")
        assert record.key_parts["image"]
    else:
        assert "image" not in record.key_parts


def test_nothing_is_written_next_to_the_method(bench: Bench) -> None:
    folder = bench.workspace.algorithms / "nasty"
    folder.chmod(0o555)
    assert bench.one("nothing").status is Status.OK
    assert not (folder / "__pycache__").exists()
    folder.chmod(0o755)


@pytest.mark.parametrize(
    ("place", "own"), [("shared/words", False), ("words", False), ("shared/words", True)]
)
def test_shared_code_and_that_of_another_method_are_found(
    bench: Bench, place: str, own: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shared code of the project is there for a method in a folder of the user's, too."""
    shared = bench.workspace.algorithms / place
    shared.mkdir(parents=True)
    (shared / "known_words.py").write_text("WORD = '42'\n", encoding="utf-8")
    text = ADAPTER.read_text(encoding="utf-8")
    text = text.replace("import numpy as np\n", "import numpy as np\nimport known_words\n", 1)
    bench.add(text.replace('"""Behave."""', "return known_words.WORD"), 'uses = ["words"]')
    if own:
        (tmp_path / "mine").mkdir()
        (bench.workspace.algorithms / "nasty").rename(tmp_path / "mine" / "nasty")
        monkeypatch.setenv("MDBENCH_METHODS", str(tmp_path / "mine"))
    before = bench.one("nothing")
    assert before.equations == ("42",), before.reason
    (shared / "known_words.py").write_text("WORD = '43'\n", encoding="utf-8")
    assert bench.one("nothing").equations == ("43",)


def test_an_interpreter_that_has_gone_is_not_the_methods_fault(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    if bench.flavour == "docker":
        return  # an image that has gone is tested with the runtime
    gone = Prepared(("/nonexistent/bin/python",), "none", "3.11")
    monkeypatch.setattr(type(bench.runtime), "prepare", lambda *_: gone)
    record = bench.one("nothing")
    assert record.status is Status.UNAVAILABLE
    assert "/nonexistent/bin/python has gone" in record.reason
