"""The worker: imports an adapter once, then serves jobs, each in a forked child.

The parent never computes, so that every job starts from the same pristine state.  It keeps
the protocol's descriptors for itself: what a method prints goes to the standard error stream,
which the host writes to the job's log.
"""

from __future__ import annotations

import argparse
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
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from .api import Unavailable, paths
from .job import Channel, Connection, describe, error_line, run_job, warm_up
from .leftovers import shared_memory
from .program import Program, become, find_program
from .sandbox import (
    Sandbox,
    deny_namespaces,
    deny_signals_to,
    drop_most_capabilities,
    drop_privileges,
    install_filter,
    run_container_init,
    set_dumpable,
)
from .supervisor import Supervisor, children, set_pdeathsig


def import_adapter(folder: Path, uses: list[str]) -> type:
    """Return the class ``Adapter`` of a method's folder.

    Raises
    ------
    ImportError, TypeError
        If there is none; and whatever else the import of a method may raise.
    """
    methods = folder.parent
    shared = {name: methods / "shared" / name for name in uses}
    # What is not shared code is another method.
    used = [str(at if at.is_dir() else methods / name) for name, at in shared.items()]
    sys.path[:0] = [str(folder), *used]
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


def open_files() -> set[int]:
    """Return the descriptors that are open: devices, too, whose flags jobs would share."""
    paths = set()
    names: list[str] = []
    with suppress(OSError):
        names = os.listdir("/proc/self/fd")
    for name in names:
        with suppress(OSError):
            os.fstat(int(name))
            paths.add(int(name))
    return paths


def detect_leaks(before: set[int]) -> str:
    """Return what would go from job to job after the import of an adapter; empty for nothing.

    Threads of native libraries are none of it: they are not there after a fork.

    Parameters
    ----------
    before
        The files that were open before it.
    """
    leaks = {
        "thread": len(sys._current_frames()) - 1,  # noqa: SLF001 - those of no module, too
        "process": len(children()),
        "open file": len(open_files() - before),
        "shared memory": shared_memory(),
    }
    return ", ".join(f"{name} ({number})" for name, number in leaks.items() if number)


PROTOCOL = 4
"""Version of the protocol between host and worker (docs/protocol.md)."""

_MOST_IN_VAIN = 10
"""Children in a row that may die before they are given a job."""


def main(arguments: list[str]) -> int:
    """Serve jobs until the host closes the worker's standard input.

    Returns
    -------
    int
        0, or 1 if the adapter cannot be imported.
    """
    run_container_init()
    options = _parse(arguments)
    paths.update((name, Path(place)) for name, _, place in (p.partition("=") for p in options.path))
    environment = dict(os.environ)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    channel = _take_standard_streams(options.pipes)
    if options.user is not None:
        drop_privileges(options.user, own_mounts=options.own_pids and os.getppid() == 1)
    set_pdeathsig()  # not before: it is forgotten when the user changes
    drop_most_capabilities()
    install_filter()
    set_dumpable(dumpable=False)
    supervisor = Supervisor(
        channel.read_fd,
        own_pids=options.own_pids,
        folder=options.jobs,
        streams=(0, 1, 2, *channel.descriptors),
    )
    fork = not options.no_fork
    adapter = None
    if fork:
        before = open_files()
        adapter = _import_or_report(options, channel)
        if adapter is None:
            return 1
        if left := detect_leaks(before):
            supervisor.clear(all_=True)
            _restart_without_fork(arguments, environment, channel, left)
        _send_hello(options, channel, namespaces=supervisor.sandbox.possible)
        gc.collect()
        gc.freeze()  # a child's garbage collector would else touch, and so copy, every page
    set_pdeathsig(signal.SIGTERM)  # which the supervisor takes, and first ends all others
    in_vain = 0
    child = partial(_run_child, options, adapter, channel, sandbox=supervisor.sandbox)
    while in_vain < _MOST_IN_VAIN:
        ended = supervisor.run(child, has_next=fork)
        if ended is None:
            return 0
        status, job = ended
        if job:
            _report_end(channel, job, status)
        if not fork or not (job or status):
            return 0 if job or not status else 1
        in_vain = 0 if job else in_vain + 1
    return 1


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="mdbench.worker")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--uses", action="append", default=[])
    parser.add_argument("--path", action="append", default=[])
    parser.add_argument("--program", action="append", default=[])
    parser.add_argument("--no-fork", action="store_true")
    parser.add_argument("--left", default="")
    parser.add_argument("--own-pids", action="store_true")
    parser.add_argument("--jobs", default=None)
    parser.add_argument("--user", type=int, default=None)
    parser.add_argument("--output-mb", type=int, default=None)
    parser.add_argument("--pipes", type=Path, default=None)
    return parser.parse_args(arguments)


def _restart_without_fork(
    arguments: list[str], environment: dict[str, str], channel: Channel, leftovers: str
) -> NoReturn:
    """Become another worker, which forks before the import: what was left goes with this one."""
    channel.hand_over()
    done = ("--pipes", "--user")
    kept = [each for each in arguments if not each.startswith(done)]
    again = ["-s", "-B", "-m", "mdbench.worker", *kept, "--no-fork", f"--left={leftovers}"]
    _flush()
    for each in open_files() - {0, 1, 2}:
        os.close(each)
    os.execve(sys.executable, [sys.executable, *again], environment)  # noqa: S606 - no shell


def _run_child(
    options: argparse.Namespace,
    adapter: type | Program | None,
    channel: Channel,
    start_fd: int,
    name_fd: int,
    *,
    sandbox: Sandbox,
) -> NoReturn:
    """Wait for a job, send its name to the parent, do it, and end; nothing runs on from here.

    The child is there before its job: what a fork costs is paid while the last job still runs, or
    while the host scores it.
    """
    status = 1
    try:
        os.setsid()
        set_pdeathsig()
        _limit_output(options.output_mb)
        set_dumpable(dumpable=True)  # a job may read what is its own
        deny_signals_to(os.getppid())
        _prefer_for_oom_kill()
        if alone := adapter is None:
            sandbox.show(None)
            deny_namespaces()
            adapter = _import_or_report(options, channel)
            if adapter is None:
                os._exit(1)
            _send_hello(options, channel, namespaces=sandbox.possible)
        warm_up()
        if not os.read(start_fd, 1):
            os._exit(0)  # the worker has gone
        os.close(start_fd)
        message = channel.receive()
        while message is not None and message["type"] != "job":
            message = channel.receive()  # it was for a job that has died meanwhile
        if message is not None:
            os.write(name_fd, message["job"].encode())
            os.close(name_fd)
            if not alone:
                message["folder"] = sandbox.show(message["folder"])
                deny_namespaces()
            host = Connection(channel, message)
            if isinstance(adapter, Program):
                become(adapter, host)
            else:
                run_job(adapter, host)
        status = 0
    except SystemExit as error:
        traceback.print_exc()
        code: object = error.code  # whatever the method's code gave
        status = code & 0xFF if isinstance(code, int) else int(code is not None)
    except BaseException:  # noqa: BLE001 - nothing may run on in a copy of the parent
        traceback.print_exc()
    finally:
        _flush()
        os._exit(status)


def _report_end(channel: Channel, job: str, status: int) -> None:
    _flush()
    os.write(2, end_of_log(job))
    channel.send(type="ended", job=job, exit=status)


def end_of_log(job: str) -> bytes:
    """Return the mark that ends a job's output on the standard error stream."""
    return b"\x00end of " + job.encode() + b"\x00\n"


def _limit_output(megabytes: int | None) -> None:
    """Limit the size of each file; a write beyond it fails, with errno EFBIG."""
    if megabytes is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        _, most = resource.getrlimit(resource.RLIMIT_FSIZE)  # the machine's: not to be raised
        size = megabytes * 2**20 if most < 0 else min(most, megabytes * 2**20)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def _prefer_for_oom_kill() -> None:
    """Make the kernel end this process, and neither worker nor host, where memory runs out."""
    with suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:  # noqa: PTH123
        file.write("1000")


def _take_standard_streams(pipes: Path | None) -> Channel:
    """Keep the protocol's streams; let everything else read nothing and print to the log."""
    channel = (pipes and _open_pipes(pipes)) or Channel(os.dup(0), os.dup(1))
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", errors="backslashreplace", buffering=1)
    return channel


def _open_pipes(pipes: Path) -> Channel | None:
    """Use a folder of pipes for all three streams; None where nobody is at their other ends."""
    opened: list[int] = []
    try:
        # Without waiting: there is a host behind a pipe only where both run on one kernel.
        for name, way in (("log", os.O_WRONLY), ("answers", os.O_WRONLY), ("orders", os.O_RDONLY)):
            opened.append(os.open(pipes / name, way | os.O_NONBLOCK | os.O_CLOEXEC))
    except OSError:
        for descriptor in opened:
            os.close(descriptor)
        return None
    for descriptor in opened:
        os.set_blocking(descriptor, True)
    log, answers, orders = opened
    os.dup2(log, 2)
    os.close(log)
    return Channel(orders, answers)


def _import_or_report(options: argparse.Namespace, channel: Channel) -> type | Program | None:
    """Import the adapter, or find the program in its place; or report why that cannot be done."""
    try:
        if options.program:
            return find_program(options.folder, options.program)
        return import_adapter(options.folder, options.uses)
    except BaseException as error:  # noqa: BLE001 - a method may raise anything at import
        if isinstance(error, Unavailable):
            channel.send(type="broken", kind="unavailable", error=error_line(error))
            return None
        traceback.print_exc()
        channel.send(type="broken", kind="failed", error=describe(error))
        return None


def _send_hello(options: argparse.Namespace, channel: Channel, *, namespaces: bool) -> None:
    kernel, threads = kernel_and_threads()
    channel.send(
        type="hello",
        protocol=PROTOCOL,
        python=platform.python_version(),
        pid=os.getpid(),
        forks=not options.no_fork,
        left=options.left,
        namespaces=namespaces,
        blas_kernel=kernel,
        blas_threads=threads,
    )


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()


_PREFIXES = ("scipy_openblas", "openblas")
_SUFFIXES = ("64_", "")


def kernel_and_threads() -> tuple[str | None, int | None]:
    """Ask NumPy's OpenBLAS; None and None where it is another library, which does not report it.

    It takes a millisecond.
    """
    for path in _libraries():
        with suppress(OSError, UnicodeDecodeError):
            library = ctypes.CDLL(path)
            for name in (f"{prefix}_get_{{}}{end}" for prefix in _PREFIXES for end in _SUFFIXES):
                kernel = getattr(library, name.format("corename"), None)
                threads = getattr(library, name.format("num_threads"), None)
                if kernel is not None and threads is not None:
                    return _text(kernel), int(threads())
    return None, None


def _text(function: Any) -> str:
    function.restype = ctypes.c_char_p
    return str(function().decode("ascii"))[:50]


def _libraries() -> list[str]:
    """Return the BLAS libraries that this process has loaded; NumPy's own come first."""
    libraries: dict[str, None] = {}
    with suppress(OSError), open("/proc/self/maps", encoding="utf-8") as file:  # noqa: PTH123
        for line in file:
            path = line.split(maxsplit=5)[5:]
            if path and "blas" in os.path.basename(path[0]).lower():  # noqa: PTH119
                libraries[path[0].strip()] = None
    own = os.path.dirname(os.path.dirname(np.__file__))  # noqa: PTH120
    return sorted(libraries, key=lambda path: not path.startswith(f"{own}/numpy"))
