"""A worker that is spoken to in lines, over whatever carries bytes."""

from __future__ import annotations

import time
from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from mdbench.runtimes import processes
from mdbench.runtimes.base import JobFolder, Worker, WorkerGoneError, WorkerTimeoutError
from mdbench.runtimes.job_folder import JobDirectory
from mdbench.runtimes.logs import LogSink, PathRedactor
from mdbench.runtimes.protocol import (
    MAX_LINE,
    Broken,
    Failed,
    Fitted,
    ProtocolError,
    parse_message,
)
from mdbench.runtimes.usage import UsageMeter

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pydantic import BaseModel

    from mdbench.runtimes.cgroups import Group
    from mdbench.runtimes.job_folder import Scratch
    from mdbench.runtimes.protocol import Message
    from mdbench.runtimes.usage import ResourceUsage

JOB = "job"
"""The folder of a worker's jobs, below its scratch folder."""

_LOOK_SECONDS = 1.0
"""How often a silent worker is checked."""


class JsonLinesWorker(Worker):
    """What is the same for workers of all runtimes: lines, logs and folders.

    Parameters
    ----------
    scratch
        The worker's folder, which it owns from now on.
    inside
        What the worker calls the folder of its jobs.
    places
        Folders of the machine that the worker may name, and what is written instead.

    Attributes
    ----------
    log
        Where what the method prints goes.
    meter
        Measures its jobs.
    """

    def __init__(
        self, scratch: Scratch, inside: str, places: Mapping[Path, str] | None = None
    ) -> None:
        self._redactor = PathRedactor({scratch.path: "room", **(places or {})})
        self.log = LogSink(self._redactor.redact_bytes)
        self._scratch = scratch
        self._jobs = JobDirectory(scratch.path / JOB, scratch.path / "bin", self._grant)
        self._inside = inside
        self._is_unusable = False
        self._paused: set[int] = set()
        self._job_pids: set[int] = set()
        self.meter = UsageMeter(self._root, self._group)
        self._isolation: dict[str, Any] = {}
        self._buffer = bytearray()
        self._searched = 0

    def _grant(self, folder: int) -> None:
        """Let the worker write an open folder that was made for it."""

    def _remove_files(self) -> None:
        """Remove all that was made for the worker."""
        self._jobs.close()
        self._scratch.remove()

    @abstractmethod
    def _root(self) -> int | None:
        """Return the worker's process as this machine knows it; None if it does not."""

    @abstractmethod
    def _group(self) -> Group | None:
        """Return the group in which the kernel counts the worker; None if there is none."""

    @abstractmethod
    def _write(self, data: memoryview) -> int:
        """Write some of the data to the worker's standard input; return how much.

        Raises
        ------
        OSError
            If nobody reads it any more.
        """

    @abstractmethod
    def _read(self, seconds: float) -> bytes | None:
        """Read the worker's output: None if nothing comes in time, empty if nothing will."""

    @abstractmethod
    def _has_ended(self) -> bool:
        """Whether the worker's process has ended."""

    @abstractmethod
    def _exit_error(self) -> WorkerGoneError:
        """Return how the worker ended, after waiting a little for the news."""

    def make_folder(self) -> JobFolder:
        self._job_pids = set()
        self.meter.begin()
        return JobFolder(self._jobs.descriptor, self._inside)

    def remove_folder(self, folder: JobFolder) -> None:  # noqa: ARG002 - there is one
        self._is_unusable = self._is_unusable or not (self._job_has_gone() and self._jobs.reset())

    def _job_has_gone(self) -> bool:
        """Whether the job's process has ended, whoever has reported it."""
        root = self._root()
        if root is None:
            return True
        if self._isolation.get("namespaces"):
            return bool(self._job_pids) and self._job_pids.isdisjoint(
                processes.namespaced_children(root)
            )
        return bool(self._job_pids) and self._job_pids.isdisjoint(processes.children(root))

    def pause(self) -> bool:
        root = self._root()
        if root is None:
            return False
        stopped, all_stand = processes.pause_job(root)
        self._paused |= stopped
        return all_stand

    def is_paused(self) -> bool:
        root = self._root()
        return root is not None and processes.is_job_paused(root)

    def resume(self) -> None:
        processes.resume_all(self._paused)
        self._paused = set()

    def begin_log(self, path: Path, job: str) -> None:
        self.log.begin(path, job)

    def end_log(self) -> None:
        self.log.end()

    def send(self, message: BaseModel) -> None:
        view = memoryview(message.model_dump_json().encode() + b"\n")
        try:
            while view:
                view = view[self._write(view) :]
        except OSError:
            raise self._exit_error() from None

    def receive(self, timeout: float | None) -> Message:
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            line = self._next_line()
            if line is not None:
                return self._process_message(parse_message(line))
            if len(self._buffer) > MAX_LINE:
                raise ProtocolError(f"a message of more than {MAX_LINE} bytes")
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                raise WorkerTimeoutError
            # Its output may be held open by a process that it has started: asked before the
            # reading, so that its last output is not missed.
            ended = self._has_ended()
            block = self._read(_LOOK_SECONDS if left is None else min(left, _LOOK_SECONDS))
            if block is None and not ended:
                continue
            if not block:
                raise self._exit_error()
            self._buffer += block

    def _process_message(self, message: Message) -> Message:
        if message.type == "started" and (root := self._root()) is not None:
            self._job_pids.update(
                processes.namespaced_children(root)[:1] or processes.children(root)
            )
            # The same for all jobs of a worker; one may be gone before it is looked at.
            self._isolation = processes.isolation(root) or self._isolation
        self.meter.sample()
        if isinstance(message, Failed | Broken):
            return message.model_copy(update={"error": self._redactor.redact(message.error)})
        if isinstance(message, Fitted):
            return message.model_copy(update={"failure": self._redactor.redact(message.failure)})
        return message

    def usage(self) -> ResourceUsage:
        return self.meter.end()

    def isolation(self) -> dict[str, Any]:
        if self.hello is None:
            return {}
        reason = self.hello.left or "fork_safe is false"
        process = "forked from one import" if self.hello.forks else f"imports anew: {reason}"
        return {"process": process, **self._isolation}

    def _next_line(self) -> bytes | None:
        end = self._buffer.find(b"\n", self._searched)
        if end < 0:
            self._searched = len(self._buffer)
            return None
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        self._searched = 0
        return line
