"""SymPy in a process of its own, so that no equation can take the bench's time or memory.

Some short texts keep SymPy busy for ever, or ask for all memory there is, inside native code
that no thread can interrupt.  So SymPy counts in a child process with limits that the kernel
keeps: when it exceeds one it ends, and the equation is refused.  The child is started at the
first question, serves all further ones, and ends with its parent.

One question a line: ``{"text": ..., "variables": [...]}``; one answer a line:
``{"complexity": ...}`` or ``{"error": ...}``.
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
from pathlib import Path
from signal import SIGXCPU
from typing import Any

from mdbench.errors import EquationError

from .grammar import read

__all__ = ["MAX_BYTES", "MAX_SECONDS", "complexity", "serve"]

MAX_SECONDS = 5
"""CPU time for one equation; the kernel counts in whole seconds, and may give one more."""
MAX_BYTES = 2 << 30
"""Address space of the child."""


def complexity(text: str, variables: tuple[str, ...]) -> int:
    """Count the nodes of the SymPy expression of a text that `grammar.read` has accepted.

    Raises
    ------
    EquationError
        If SymPy fails, or needs more than `MAX_SECONDS` or `MAX_BYTES`.
    """
    answer = _child.ask({"text": text, "variables": variables})
    if "complexity" not in answer:
        raise EquationError(
            f"SymPy cannot count the nodes of {text[:40]!r}{'...' if text[40:] else ''}: "
            f"{answer['error']}",
            f"An equation may take {MAX_SECONDS} s and {MAX_BYTES >> 30} GiB of memory.",
        )
    return int(answer["complexity"])


class _Child:
    """The process that counts; it is asked one question at a time."""

    def __init__(self, seconds: int = MAX_SECONDS) -> None:
        self.seconds = seconds
        self.lock = threading.Lock()
        self.process: subprocess.Popen[str] | None = None

    def ask(self, question: dict[str, Any]) -> dict[str, Any]:
        with self.lock:
            if self.process is None or self.process.poll() is not None:
                self.end()
                self.process = _start(self.seconds)
            try:
                answer = _exchange(self.process, json.dumps(question))
            except BaseException:
                # An answer that nobody waits for would be taken for that to the next question.
                self.end()
                raise
            if answer:
                return dict(json.loads(answer))
            status = self.process.wait()
            late = status == -SIGXCPU
            return {"error": "it took too long" if late else f"it ended with status {status}"}

    def end(self) -> None:
        if self.process is None:
            return
        self.process.kill()
        self.process.communicate()
        self.process = None

    def forget(self) -> None:
        """Leave the process to the parent that we were forked from."""
        self.lock = threading.Lock()
        self.process = None


def _start(seconds: int) -> subprocess.Popen[str]:
    environment = dict(os.environ)
    # The child finds this very package, installed or not, and nothing in the working directory.
    package = str(Path(__file__).parents[2])
    environment["PYTHONPATH"] = os.pathsep.join(
        [package, *filter(None, [environment.get("PYTHONPATH")])]
    )
    environment["OPENBLAS_NUM_THREADS"] = "1"
    return subprocess.Popen(
        [sys.executable, "-P", "-c", f"from {__name__} import serve; serve({seconds})"],
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


def serve(seconds: int) -> None:
    """Answer the questions on standard input until it ends: the child's side."""
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_AS, MAX_BYTES)
    for line in sys.stdin:
        _limit(resource.RLIMIT_CPU, int(time.process_time()) + 1 + seconds)
        sys.stdout.write(json.dumps(_answer(json.loads(line))) + "\n")
        sys.stdout.flush()


def _limit(kind: int, most: int) -> None:
    """Set a soft limit, as far as the hard one allows."""
    _, hard = resource.getrlimit(kind)
    resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def _answer(question: dict[str, Any]) -> dict[str, Any]:
    from sympy import Symbol  # noqa: PLC0415 - the parent does without

    from .symbolic import nodes, to_sympy  # noqa: PLC0415 - as above

    variables = question["variables"]
    try:
        tree = read(question["text"], variables)
        return {"complexity": nodes(to_sympy(tree, {name: Symbol(name) for name in variables}))}
    except MemoryError:
        raise  # ends the child: the next question had better find a fresh one
    except Exception as error:  # noqa: BLE001 - whatever SymPy runs into, the bench goes on
        return {"error": f"{type(error).__name__}: {str(error)[:200]}"}


_child = _Child()
atexit.register(_child.end)
os.register_at_fork(after_in_child=_child.forget)
