from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from mdbench.runtimes.base import Limits
from mdbench.runtimes.usage import UsageMeter, Watchdog

if TYPE_CHECKING:
    from collections.abc import Iterator

USES_MUCH = "import time; x = bytearray(b'1') * (200 * 2**20); time.sleep(1000)"
HAS_MANY = """
import threading, time
for _ in range(20): threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
time.sleep(1000)
"""


@pytest.fixture
def below(request: pytest.FixtureRequest) -> Iterator[int]:
    parent = subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"import subprocess, sys; subprocess.run([sys.executable, '-c', {request.param!r}])",
        ],
        start_new_session=True,
    )
    yield parent.pid
    os.killpg(parent.pid, 9)
    parent.wait()


def watch(root: int | None, limits: Limits) -> tuple[Watchdog, threading.Event]:
    killed = threading.Event()
    meter = UsageMeter(lambda: root, lambda: None)
    meter.begin()
    dog = Watchdog(lambda: root, limits, killed.set, meter)
    dog.start()
    return dog, killed


@pytest.mark.parametrize(
    ("below", "limits", "limit", "words"),
    [
        (USES_MUCH, Limits(memory_mb=150), "memory", "150 MiB are allowed"),
        (HAS_MANY, Limits(processes=10), "processes", "10 are allowed"),
    ],
    indirect=["below"],
)
def test_a_limit_that_is_broken(below: int, limits: Limits, limit: str, words: str) -> None:
    dog, killed = watch(below, limits)
    assert killed.wait(120)
    dog.stop()
    assert dog.breach is not None
    assert dog.breach.limit == limit
    assert words in dog.breach.reason
    dog.breach = None
    assert dog.breach is None


@pytest.mark.parametrize("below", [USES_MUCH], indirect=True)
def test_who_keeps_the_limits_is_left_alone(below: int) -> None:
    dog, killed = watch(below, Limits(memory_mb=400, processes=20))
    assert not killed.wait(1.0)
    dog.stop()
    assert dog.breach is None


def test_no_worker_no_limits() -> None:
    dog, killed = watch(None, Limits(memory_mb=1, processes=1))
    assert not killed.wait(0.2)
    dog.stop()
    assert dog.breach is None
