"""Programs that make environments and images: how they are run, ended and reported on.

Needs the standard library only, as the set-up of the core environment (scripts/bootstrap.py) runs
before anything is installed.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
import time
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from mdbench.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path


class SubprocessRegistry:
    """The programs of one runtime, which can all be ended, whatever thread waits for them."""

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[str]] = set()
        self._lock = threading.Lock()
        self._stopped = False

    @contextmanager
    def track(self) -> Iterator[None]:
        """Register what this thread runs meanwhile."""
        before = _OURS.set(self)
        try:
            yield
        finally:
            _OURS.reset(before)

    def end(self) -> None:
        """Kill all of them with what they have started, and let no other one begin for now."""
        with self._lock:
            self._stopped = True
            running = list(self._running)
        for process in running:
            kill_group(process)

    def resume(self) -> None:
        """Allow programs to start again."""
        with self._lock:
            self._stopped = False

    def check(self) -> None:
        """Refuse to go on once they were ended.

        Raises
        ------
        UnavailableError
            Then.
        """
        if self._stopped:
            raise UnavailableError("It was stopped.", "The same command goes on from here.")

    def start(self, command: Sequence[str], options: dict[str, Any]) -> subprocess.Popen[str]:
        """Start one, unless they were ended."""
        with self._lock:
            self.check()
            process = subprocess.Popen(command, start_new_session=True, text=True, **options)
            self._running.add(process)
        return process

    def forget(self, process: subprocess.Popen[str]) -> None:
        """Remove a program that has ended."""
        with self._lock:
            self._running.discard(process)


_OURS: ContextVar[SubprocessRegistry | None] = ContextVar("programs", default=None)


def check_stopped() -> None:
    """Refuse to go on where the programs of this thread were ended.

    Raises
    ------
    UnavailableError
        Then.
    """
    if (ours := _OURS.get()) is not None:
        ours.check()


@contextmanager
def running(command: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[str]]:
    """Run a program in a session of its own; it has ended when the block has.

    Where the block ends by an exception, such as Ctrl-C, the program is killed with all that it
    has started.

    Parameters
    ----------
    command
        The program and its arguments.
    **options
        Of `subprocess.Popen`.

    Raises
    ------
    UnavailableError
        If the programs of this thread were ended (`SubprocessRegistry.track`).
    OSError
        If there is no such program.
    """
    ours = _OURS.get() or SubprocessRegistry()
    process = ours.start(command, {"encoding": "utf-8", "errors": "replace", **options})
    try:
        with process:
            try:
                yield process
            except BaseException as error:
                if not isinstance(error, Exception):
                    ours.end()
                kill_group(process)
                process.wait()
                raise
        check_stopped()
    finally:
        ours.forget(process)


def kill_group(process: subprocess.Popen[str]) -> None:
    """Kill a program that `running` started, with all that it has started in its session."""
    if process.poll() is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


SILENCE = 4.0
"""Seconds after which a sign of life is given."""


@contextmanager
def with_heartbeat(
    report: Callable[[str], None], doing: Callable[[], str], silence: float | None = None
) -> Iterator[Callable[[str], None]]:
    """Report what is being done and for how long, whenever nothing was reported for a while.

    Parameters
    ----------
    report
        Called with lines of text; from another thread, too.
    doing
        Returns in a few words what is being done.
    silence
        Seconds; default: `SILENCE`.

    Yields
    ------
    callable
        To be used instead of `report` meanwhile.
    """
    longest = SILENCE if silence is None else silence
    start = last = time.monotonic()
    done = threading.Event()

    def report_now(text: str) -> None:
        nonlocal last
        last = time.monotonic()
        report(text)

    def beat() -> None:
        while not done.wait(max(last + longest - time.monotonic(), 0.01)):
            now = time.monotonic()
            if now - last >= longest:
                report_now(f"{doing()}, {now - start:.0f} s so far")

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield report_now
    finally:
        done.set()
        thread.join()


def with_package_count(
    make: Callable[[Callable[[str], None]], None],
    what: str,
    prefix: Path,
    lock: Path,
    report: Callable[[str], None],
) -> Callable[[], None]:
    """Return a function that makes a virtual environment and reports how many packages are in.

    A lock holds the packages of every platform, so that not all of them need come.
    """

    def telling() -> None:
        with with_heartbeat(report, doing) as report_now:
            make(report_now)

    locked = re.findall(r"^[A-Za-z0-9]\S*==", lock.read_text("utf-8", "replace"), re.MULTILINE)

    def doing() -> str:
        count = sum(1 for _ in prefix.glob("lib/python*/site-packages/*.dist-info"))
        return f"{what}: {count} of up to {len(set(locked))} packages are in"

    return telling
