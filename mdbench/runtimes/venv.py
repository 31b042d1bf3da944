"""The runtime ``venv``: each method in a virtual environment of its own."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from mdbench.errors import MethodError
from mdbench.runtimes import environments
from mdbench.runtimes.base import (
    Prepared,
    Runtime,
    Worker,
    WorkerGoneError,
    WorkerTimeoutError,
)
from mdbench.runtimes.launch import WORKER_COMMAND, lay_out_worker
from mdbench.runtimes.logs import LogSink
from mdbench.runtimes.protocol import (
    MAX_LINE,
    PROTOCOL,
    Broken,
    Hello,
    ProtocolError,
    Stop,
    parse_message,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import BaseModel

    from mdbench.methods import Method
    from mdbench.runtimes.protocol import Message

__all__ = ["VenvRuntime", "VenvWorker"]

_START_SECONDS = 120.0
"""How long an adapter may take to be imported."""
_LOOK_SECONDS = 1.0
"""How often a worker that says nothing is looked at."""
_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
_PASSED_ON = ("PATH", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH")


class VenvRuntime(Runtime):
    """Runs workers in virtual environments made by uv from each method's lock.

    Parameters
    ----------
    home
        Folder below which the environments are made.
    on_line
        Told what is being done, a line at a time.
    """

    name: ClassVar[str] = "venv"

    def __init__(self, home: Path, on_line: Callable[[str], None] | None = None) -> None:
        self._home = home
        self._on_line = on_line

    def prepare(self, method: Method) -> Prepared:
        made = environments.prepare(
            method.name, method.lock, method.spec.python, self._home, on_line=self._on_line
        )
        return Prepared(
            command=(str(made.python),),
            identity=f"{made.lock_sha256} python {made.python_version}",
            python=made.python_version,
            packages=made.packages,
        )

    def start(
        self,
        method: Method,
        prepared: Prepared,
        *,
        threads: int,
        on_launch: Callable[[Worker], None] | None = None,
    ) -> VenvWorker:
        command = [*prepared.command, *WORKER_COMMAND, str(method.folder)]
        if not method.spec.fork_safe:
            command.append("--no-fork")
        worker = VenvWorker(command, threads=threads)
        if on_launch is not None:
            on_launch(worker)
        try:
            message = worker.receive(_START_SECONDS)
        except WorkerTimeoutError:
            worker.close()
            raise MethodError(
                f"{method.adapter} was not imported within {_START_SECONDS:.0f} s",
                "Move slow work from import time into fit().",
            ) from None
        except (WorkerGoneError, ProtocolError) as error:
            worker.close()
            raise MethodError(
                f"{method.adapter} cannot be imported: {error}{worker.last_words()}",
                f"Try it: {prepared.command[0]} {method.adapter}",
            ) from None
        if isinstance(message, Broken):
            worker.close()
            raise MethodError(
                f"{method.adapter} cannot be imported: {message.error}",
                f"Mend the adapter, then: mdbench check {method.name}",
            )
        if not isinstance(message, Hello) or message.protocol != PROTOCOL:
            worker.close()
            raise MethodError(f"{method.adapter}: its worker speaks another protocol: {message!r}")
        return worker


class VenvWorker(Worker):
    """A worker process on this machine, in a session of its own."""

    def __init__(self, command: list[str], *, threads: int) -> None:
        # A process that a method left behind may still write there while it is removed.
        self._scratch = tempfile.TemporaryDirectory(
            prefix="mdbench-worker-", ignore_cleanup_errors=True
        )
        environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        environment |= dict.fromkeys(_THREAD_VARIABLES, str(threads))
        environment |= {
            "HOME": self._scratch.name,
            "TMPDIR": self._scratch.name,
            "PYTHONPATH": str(lay_out_worker(Path(self._scratch.name))),
            "PYTHONHASHSEED": "0",
            "PYTHONUTF8": "1",
        }
        self._process = subprocess.Popen(
            command,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self._scratch.name,
            env=environment,
            start_new_session=True,
        )
        assert self._process.stdin is not None  # noqa: S101 - for the type checker
        assert self._process.stdout is not None  # noqa: S101
        assert self._process.stderr is not None  # noqa: S101
        self._input = self._process.stdin.fileno()
        self._output = self._process.stdout.fileno()
        self._buffer = bytearray()
        self._log = LogSink()
        self._interrupted = False
        # The pump has a descriptor of its own: it may outlive the worker, where a process that
        # the method left behind still holds the other end.
        log = os.dup(self._process.stderr.fileno())
        self._pump = threading.Thread(target=self._log.pump, args=(log,), daemon=True)
        self._pump.start()

    @property
    def alive(self) -> bool:
        return not self._interrupted and self._process.poll() is None

    def begin_log(self, path: Path, job: str) -> None:
        self._log.begin(path, job)

    def end_log(self) -> None:
        self._log.end()

    def last_words(self) -> str:
        """Give the last lines that the worker printed outside of any job."""
        self._pump.join(1.0)
        tail = self._log.stray.decode(errors="replace").strip()
        return f"\n{tail}" if tail else ""

    def send(self, message: BaseModel) -> None:
        line = message.model_dump_json().encode() + b"\n"
        view = memoryview(line)
        try:
            while view:
                view = view[os.write(self._input, view) :]
        except OSError:
            raise self._gone() from None

    def receive(self, timeout: float | None) -> Message:
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            line, found, rest = self._buffer.partition(b"\n")
            if found:
                self._buffer = rest
                return parse_message(bytes(line))
            if len(self._buffer) > MAX_LINE:
                raise ProtocolError(f"a message of more than {MAX_LINE} bytes")
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                raise WorkerTimeoutError
            if not self._readable(_LOOK_SECONDS if left is None else min(left, _LOOK_SECONDS)):
                # Its output may be held open by a process that it has started.
                if self._process.poll() is not None and not self._readable(0):
                    raise self._gone()
                continue
            block = os.read(self._output, 2**20)
            if not block:
                raise self._gone()
            self._buffer += block

    def _readable(self, seconds: float) -> bool:
        return bool(select.select([self._output], [], [], seconds)[0])

    def kill_job(self, pid: int) -> None:
        if pid in _children_of(self._process.pid):  # a job may name any process as its own
            _kill_group(pid)
        else:
            self.interrupt()

    def interrupt(self) -> None:
        self._interrupted = True
        if self._process.poll() is not None:
            return  # its number may be another process's by now
        for pid in _children_of(self._process.pid):
            _kill_group(pid)
        _kill_group(self._process.pid)

    def close(self) -> None:
        try:
            self.send(Stop())
            self._process.wait(timeout=0.5)
        except (WorkerGoneError, subprocess.TimeoutExpired):
            pass
        self.interrupt()
        self._process.wait()
        self._pump.join(0.5)
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()
        self._scratch.cleanup()

    def _gone(self) -> WorkerGoneError:
        try:
            code = self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            return WorkerGoneError("the worker closed its output")
        return WorkerGoneError(f"the worker ended with exit status {code}", code)


def _kill_group(pid: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _children_of(pid: int) -> list[int]:
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    except OSError:
        return []
    return [int(child) for child in text.split()]
