"""Work that may never end, in a process of its own that can be killed.

Some short texts keep SymPy busy for ever, and some equations an integrator, or ask for all memory
there is, inside native code that no thread can interrupt.  So they work in child processes with
limits that the kernel keeps: a child that exceeds one ends, and the question has no answer.  One
that somebody else kills is replaced, and asked once more.  A child is started at the first
question, serves all further ones, and ends with its parent.

One question a line, as a JSON object with the key ``seconds``; one answer a line, an object too:
with the key ``error`` where there is none, and the CPU time that it took in ``cpu_s``.
"""

from __future__ import annotations

import atexit
import json
import os
import resource
import subprocess
import sys
import threading
import time
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from signal import SIGKILL, SIGTERM, SIGXCPU
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["MAX_BYTES", "Child", "serve"]

MAX_BYTES = 2 << 30
"""Address space of a child."""
_KILLED = {-SIGKILL, -SIGTERM}
_AGAIN_S = 2.0
"""What is waited before a child that somebody has killed is asked again."""


class Child:
    """The process that works; it is asked one question at a time.

    Parameters
    ----------
    module
        The name of the module whose function ``answer`` the child calls with each question.
    seconds
        CPU time for one question; the kernel counts in whole seconds, and may give one more.
    environment
        Variables that it is given besides those of this process.
    """

    def __init__(
        self, module: str, seconds: int, environment: Mapping[str, str] | None = None
    ) -> None:
        self.module = module
        self.seconds = seconds
        self.environment = dict(environment or {})
        self.lock = threading.Lock()
        self.process: subprocess.Popen[str] | None = None
        atexit.register(self.end)
        os.register_at_fork(after_in_child=self.forget)

    def ask(self, question: dict[str, Any], seconds: int | None = None) -> dict[str, Any]:
        """Put a question; where it has no answer, the key ``error`` says why.

        Parameters
        ----------
        question
            A JSON object.
        seconds
            CPU time for this question; default: the child's own.

        Returns
        -------
        dict
            The answer, with ``cpu_s``, the CPU time that it took.
        """
        line = json.dumps(question | {"seconds": seconds or self.seconds})
        with self.lock:
            answer, status = self._put(line)
            if status in _KILLED:
                # Not by its own limits, so that it says nothing of the question.  If all
                # processes here are being killed, this one does not live to ask again.
                time.sleep(_AGAIN_S)
                answer, status = self._put(line)
            if answer:
                return dict(json.loads(answer))
            late = status == -SIGXCPU
            reason = "it took too long" if late else f"it ended with status {status}"
            return {"error": reason, "cpu_s": float(seconds or self.seconds)}

    def _put(self, line: str) -> tuple[str, int]:
        """Put a question once; give the answer, or how the process ended instead."""
        if self.process is None or self.process.poll() is not None:
            self.end()
            self.process = _start(self.module, self.environment)
        try:
            answer = _exchange(self.process, line)
        except BaseException:
            # An answer that nobody waits for would be taken for that to the next question.
            self.end()
            raise
        return answer, 0 if answer else self.process.wait()

    def start(self) -> None:
        """Start the process, without waiting for it; a question would do so, too."""
        if not self.lock.acquire(blocking=False):
            return  # somebody asks it
        try:
            if self.process is None:
                self.process = _start(self.module, self.environment)
        finally:
            self.lock.release()

    def end(self) -> None:
        """Kill the process, if there is one."""
        if self.process is None:
            return
        self.process.kill()
        self.process.communicate()
        self.process = None

    def forget(self) -> None:
        """Leave the process to the parent that we were forked from."""
        self.lock = threading.Lock()
        self.process = None


def _start(module: str, further: Mapping[str, str]) -> subprocess.Popen[str]:
    environment = {**os.environ, **further}
    # The child finds this very package, installed or not, and nothing in the working directory.
    package = str(Path(__file__).parents[1])
    environment["PYTHONPATH"] = os.pathsep.join(
        [package, *filter(None, [environment.get("PYTHONPATH")])]
    )
    environment["OPENBLAS_NUM_THREADS"] = "1"
    return subprocess.Popen(
        [sys.executable, "-P", "-c", f"from {__name__} import serve; serve({module!r})"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        text=True,
        # Ctrl-C is for the bench, which ends its child itself.
        start_new_session=True,
    )


def _exchange(process: subprocess.Popen[str], line: str) -> str:
    """Send a line and wait for one; empty if the process ended instead."""
    if process.stdin is None or process.stdout is None:
        raise AssertionError("the process was started with pipes")
    with suppress(BrokenPipeError):
        process.stdin.write(line + "\n")
        process.stdin.flush()
    return process.stdout.readline()


def serve(module: str) -> None:
    """Answer the questions on standard input until it ends: the child's side."""
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_AS, MAX_BYTES)
    work = import_module(module)
    for line in sys.stdin:
        question = json.loads(line)
        seconds = question.pop("seconds")
        # Each question has its own time, whatever the process has used so far.
        begin = time.process_time()
        _limit(resource.RLIMIT_CPU, int(begin) + 1 + seconds)
        answer = _answer(work.answer, question)
        answer["cpu_s"] = time.process_time() - begin
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def _answer(answer: Any, question: dict[str, Any]) -> dict[str, Any]:
    try:
        return dict(answer(question))
    except MemoryError:
        raise  # ends the child: the next question had better find a fresh one
    except Exception as error:  # noqa: BLE001 - whatever SymPy runs into, the bench goes on
        return {"error": f"{type(error).__name__}: {str(error)[:200]}"}


def _limit(kind: int, most: int) -> None:
    """Set a soft limit, as far as the hard one allows."""
    _, hard = resource.getrlimit(kind)
    resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
