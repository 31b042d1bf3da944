"""Nothing that the kernel keeps when a job has ended is found by the next one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import kept_state
import pytest
from flavours import FLAVOURS, IN_TURN
from harness import ZERO, make_workspace
from isolated import HOME, Bench
from kept_table import BEGIN, COLUMNS, DOCUMENT, END, measured

from mdbench.records import Status
from mdbench.workspace import FOLDER_VARIABLE

if TYPE_CHECKING:
    from pathlib import Path


@IN_TURN
@pytest.mark.slow
@pytest.mark.parametrize("flavour", FLAVOURS)
def test_nothing_that_is_kept_passes(tmp_path: Path, flavour: str) -> None:
    bench = Bench(flavour, make_workspace(tmp_path, HOME), "")
    found = measured(bench)
    bench.runtime.close()
    places = {place.name: place.per for place in kept_state.PLACES}
    passed = {name for name, whether in found.items() if whether}
    assert {name for name in passed if places[name] != kept_state.MACHINE} == set()


def test_the_document_has_what_was_measured_of_each_place() -> None:
    table = DOCUMENT.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]
    assert [row[:2] for row in rows] == [[each.name, each.per] for each in kept_state.PLACES]
    for row in rows:
        assert set(row[2:]) <= {"nothing", "**passes**"}
        assert len(row) == 2 + len(COLUMNS)
        assert row[1] == kept_state.MACHINE or set(row[2:]) == {"nothing"}


def test_the_bits_are_found_where_nothing_separates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The adapter itself, twice in one process: what it tries would be seen if it passed."""
    monkeypatch.chdir(tmp_path)
    for name in (
        "rights of the job's folder",
        "times of the job's folder",
        "size of the job's folder",
    ):
        place = next(each for each in kept_state.PLACES if each.name == name)
        for bit in (0, 1):
            place.put(bit)
            assert place.get() == bit


ASKS = """
import fcntl
import os
import resource
import socket
import struct
import ctypes
import numpy as np

LIBC = ctypes.CDLL(None, use_errno=True)

def works():
    file = os.open(np.__file__, os.O_RDONLY)
    for name, call in {
        "flock": lambda: fcntl.flock(file, fcntl.LOCK_SH),
        "a query of locks": lambda: fcntl.fcntl(file, fcntl.F_GETLK, bytes(64)),
        "a lease": lambda: fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK),
        "a watched folder": lambda: fcntl.fcntl(file, fcntl.F_NOTIFY, fcntl.DN_ACCESS),
        "rare sockets": lambda: socket.socket(9, socket.SOCK_SEQPACKET),
        "a connection": lambda: socket.create_connection(("127.0.0.1", 9), timeout=5),
        "priority of all": lambda: os.setpriority(os.PRIO_USER, os.getuid(), 19),
        "a cookie": lambda: socket.socket().getsockopt(socket.SOL_SOCKET, 57, 8),
    }.items():
        try:
            call()
        except OSError:
            continue
        yield name
    for name in ("inotify_init", "fanotify_init"):
        if getattr(LIBC, name)(0, 0) >= 0:
            yield name

class Adapter:
    def __init__(self, *, seed, threads): ...
    def fit(self, problem):
        self.targets = len(problem.targets)
        print(sorted(works()), flush=True)
        own = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, own)  # what is its own it may set
        with open("own", "wb") as file:
            fcntl.lockf(file, fcntl.LOCK_EX)
    def predict(self, problem):
        return np.zeros((len(problem.X), self.targets))
    def equations(self):
        return ["0"] * self.targets
"""


@IN_TURN
@pytest.mark.slow
@pytest.mark.parametrize("flavour", FLAVOURS)
def test_jobs_at_one_time_have_nothing_to_speak_through(tmp_path: Path, flavour: str) -> None:
    bench = Bench(flavour, make_workspace(tmp_path, HOME), ASKS)
    (record,) = bench.run_seeds(0).records
    bench.runtime.close()
    assert record.status is Status.OK, record.reason
    assert bench.log(record).strip() == b"[]"


@pytest.mark.slow
def test_an_environment_below_the_temporary_folder_costs_no_namespaces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "libraries").mkdir()
    (tmp_path / "libraries" / "there").touch()
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path / "libraries"))  # shown where it is
    bench = Bench("bubblewrap", make_workspace(tmp_path, HOME), "")
    bench.add(LISTS.replace("PLACE", repr(str(tmp_path))))
    first, second = bench.run_seeds(0, 1).records
    bench.runtime.close()
    for record in (first, second):
        assert record.status is Status.OK, record.reason
        assert bench.log(record).strip() == b"['libraries'] ['there']"
        jobs = record.runtime.details["jobs"]
        assert isinstance(jobs, dict)
        assert jobs["namespaces"]


LISTS = """
import os
from pathlib import Path
import numpy as np

class Adapter:
    def __init__(self, *, seed, threads): ...
    def fit(self, problem):
        self.targets = len(problem.targets)
        print(os.listdir(PLACE), os.listdir(PLACE + "/libraries"), flush=True)
        Path(PLACE, "left").touch()
    def predict(self, problem):
        return np.zeros((len(problem.X), self.targets))
    def equations(self):
        return ["0"] * self.targets
"""


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.parametrize("trusted", [False, True])
def test_a_container_serves_one_job_unless_the_user_trusts_the_method(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trusted: bool
) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    (tmp_path / "nasty.toml").write_text(f"trusted = {str(trusted).lower()}", encoding="utf-8")
    bench = Bench("docker", make_workspace(tmp_path, HOME), ZERO)
    records = bench.run_seeds(0, 1).records
    bench.runtime.close()
    for record in records:
        assert record.status is Status.OK, record.reason
        jobs = record.runtime.details["jobs"]
        assert isinstance(jobs, dict)
        wanted = "forked from one import" if trusted else "a new sandbox for each job"
        assert jobs["process"] == wanted
