"""The worker: imports an adapter once, then serves jobs, each in a forked child.

The parent never computes, so that every job starts from the same pristine state.  It keeps
the protocol's descriptors for itself: what a method prints goes to the standard error stream,
which the host writes to the job's log.
"""

from __future__ import annotations

import ctypes
import gc
import importlib.util
import os
import platform
import resource
import signal
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from .channel import Channel
from .job import Connection, describe, rehearse, run_job

__all__ = ["PROTOCOL", "main"]

PROTOCOL = 1
"""Version of the protocol between host and worker (docs/protocol.md)."""

_PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> int:
    """Serve jobs until the host closes the worker's standard input.

    Returns
    -------
    int
        0, or 1 if the adapter cannot be imported.
    """
    _die_with_parent()
    folder = Path(arguments[0])
    fork = "--no-fork" not in arguments[1:]
    channel = _take_over_standard_streams()
    try:
        adapter = _import_adapter(folder)
    except BaseException as error:  # noqa: BLE001 - a method may raise anything at import
        traceback.print_exc()
        channel.send(type="broken", error=describe(error))
        return 1
    channel.send(
        type="hello",
        protocol=PROTOCOL,
        python=platform.python_version(),
        pid=os.getpid(),
        forks=fork,
    )
    if not fork:
        _serve_here(adapter, channel)
        return 0
    gc.collect()
    gc.freeze()  # a child's garbage collector would else touch, and so copy, every page
    while _serve_in_child(adapter, channel):
        pass
    return 0


def _serve_in_child(adapter: type, channel: Channel) -> bool:
    """Fork the child that waits for the next job and does it; tell whether there was one.

    The child is there before its job: what a fork costs is paid while the host still scores
    the last job.
    """
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read_end)
        _be_the_child(adapter, channel, write_end)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as pipe:
        job = pipe.read().decode()
    _, wait_status, usage = os.wait4(pid, 0)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)  # what the job started and left behind
    code = os.waitstatus_to_exitcode(wait_status)
    if job:
        cpu_s = usage.ru_utime + usage.ru_stime
        _report_end(channel, job, code, cpu_s=cpu_s, peak_kb=usage.ru_maxrss)
    return bool(job) or code != 0


def _be_the_child(adapter: type, channel: Channel, told: int) -> NoReturn:
    """Wait for a job, tell the parent its name, do it, and end; nothing runs on from here."""
    status = 1
    try:
        os.setsid()
        _die_with_parent()
        rehearse()
        message = channel.receive()
        while message is not None and message["type"] not in {"job", "stop"}:
            message = channel.receive()  # it was for a job that has died meanwhile
        if message is not None and message["type"] == "job":
            os.write(told, message["job"].encode())
            os.close(told)
            run_job(adapter, Connection(channel, message))
        status = 0
    except BaseException:  # noqa: BLE001 - nothing may run on in a copy of the parent
        traceback.print_exc()
    finally:
        _flush()
        os._exit(status)


def _serve_here(adapter: type, channel: Channel) -> None:
    message = channel.receive()
    if message is None or message["type"] != "job":
        return
    run_job(adapter, Connection(channel, message))
    own = resource.getrusage(resource.RUSAGE_SELF)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    _report_end(
        channel,
        message["job"],
        0,
        cpu_s=own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime,
        peak_kb=max(own.ru_maxrss, children.ru_maxrss),
    )


def _report_end(channel: Channel, job: str, exit_code: int, *, cpu_s: float, peak_kb: int) -> None:
    _flush()
    os.write(2, end_of_log(job))
    channel.send(type="ended", job=job, exit=exit_code, cpu_s=cpu_s, peak_memory_mb=peak_kb / 1024)


def end_of_log(job: str) -> bytes:
    """Give the mark that ends a job's output on the standard error stream."""
    return b"\x00end of " + job.encode() + b"\x00\n"


def _take_over_standard_streams() -> Channel:
    """Keep the protocol's streams; let everything else read nothing and print to the log."""
    channel = Channel(os.dup(0), os.dup(1))
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", errors="backslashreplace", buffering=1)
    return channel


def _import_adapter(folder: Path) -> type:
    sys.path.insert(0, str(folder))
    spec = importlib.util.spec_from_file_location("adapter", folder / "adapter.py")
    if spec is None or spec.loader is None:
        raise ImportError(f"{folder / 'adapter.py'} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    sys.modules["adapter"] = module
    spec.loader.exec_module(module)
    try:
        adapter = module.Adapter
    except AttributeError:
        raise ImportError(f"{folder / 'adapter.py'} has no class Adapter") from None
    if not isinstance(adapter, type):
        raise TypeError(f"Adapter in {folder / 'adapter.py'} is no class")
    return adapter


def _die_with_parent() -> None:
    """Ask the kernel (Linux) to end this process when the one that started it ends."""
    parent = os.getppid()
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    except (OSError, AttributeError):
        return
    if os.getppid() != parent:
        os._exit(1)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
