from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest
from harness import is_running, wait_until

from mdbench.runtimes import processes

FAMILY = """
import os, sys, time
if os.fork() == 0:
    if os.fork() == 0:
        os.setsid()
    time.sleep(1000)
time.sleep(1000)
"""


@pytest.fixture
def family() -> subprocess.Popen[bytes]:
    mark = {**os.environ, processes.TREE_MARK: uuid.uuid4().hex}
    root = subprocess.Popen([sys.executable, "-c", FAMILY], env=mark)
    assert wait_until(lambda: len(processes.tree(root.pid)) == 2)
    return root


def test_a_tree_is_all_that_descends(family: subprocess.Popen[bytes]) -> None:
    child, grandchild = processes.tree(family.pid)
    assert processes.children(family.pid) == [child]
    assert processes.children(child) == [grandchild]
    assert family.pid in processes.children(os.getpid())
    processes.kill_tree(family.pid)
    assert not is_running(child)
    assert not is_running(grandchild)
    assert is_running(family.pid)
    family.kill()
    family.wait()


def test_a_mark_finds_those_whose_parent_has_gone(family: subprocess.Popen[bytes]) -> None:
    below = processes.tree(family.pid)
    environ = Path(f"/proc/{family.pid}/environ").read_bytes().split(b"\0")
    (mark,) = [v for v in environ if v.startswith(processes.TREE_MARK.encode())]
    family.kill()
    family.wait()
    assert all(map(is_running, below))
    processes.kill_marked(mark.decode().partition("=")[2])
    assert not any(map(is_running, below))


def test_a_tree_is_stopped_and_goes_on(family: subprocess.Popen[bytes]) -> None:
    below = set(processes.tree(family.pid))
    assert len(below) == 2
    assert not processes.is_job_paused(family.pid)
    assert processes.pause_job(family.pid) == (below, True)
    assert processes.is_job_paused(family.pid)
    assert processes.pause_job(family.pid) == (set(), True)
    os.kill(min(below), signal.SIGCONT)
    assert wait_until(lambda: not processes.is_job_paused(family.pid))
    assert processes.pause_job(family.pid) == ({min(below)}, True)
    processes.resume_all(below)
    assert wait_until(lambda: not processes.is_job_paused(family.pid))
    processes.kill_tree(family.pid)
    family.kill()
    family.wait()


def test_a_process_whose_first_thread_has_ended_is_stopped_too() -> None:
    # Its state is a zombie's while the others run.
    code = (
        "import ctypes, os, threading, time\n"
        "pid = os.fork()\n"
        "if pid: os.waitpid(pid, 0)\n"
        "def work():\n"
        "    while True: sum(range(1000))\n"
        "threading.Thread(target=work).start()\n"
        "ctypes.CDLL(None).pthread_exit(None)\n"
    )
    root = subprocess.Popen([sys.executable, "-c", code])
    assert wait_until(lambda: [_state(pid) for pid in processes.tree(root.pid)] == ["Z"])
    assert not processes.is_job_paused(root.pid)
    stopped, stand = processes.pause_job(root.pid)
    assert len(stopped) == 1
    assert stand
    (pid,) = stopped
    os.kill(pid, signal.SIGKILL)
    root.kill()
    root.wait()


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]


def test_what_a_process_uses() -> None:
    before = processes.memory_mb(os.getpid())
    block = bytearray(b"1") * (64 * 2**20)
    assert 60 < processes.memory_mb(os.getpid()) - before < 80
    del block
    assert processes.threads(os.getpid()) >= 1


def test_who_has_gone_uses_nothing() -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    time.sleep(0.01)
    assert processes.memory_mb(gone.pid) == 0.0
    assert processes.threads(gone.pid) == 0
    assert processes.children(gone.pid) == []
