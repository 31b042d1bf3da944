"""The runtime ``venv``: each method in a virtual environment of its own.

Where bubblewrap works, its workers run in a sandbox of their own (`bubblewrap`); else as plain
processes, whose descendants are found and ended, and which can see the machine.
"""

from __future__ import annotations

import os
import secrets
import select
import signal
import subprocess
import threading
import uuid
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from mdbench.errors import UnavailableError
from mdbench.installation import command
from mdbench.runtimes import bubblewrap, processes
from mdbench.runtimes.base import Breach, Enforcement, Prepared, Runtime, WorkerGoneError
from mdbench.runtimes.environments import venvs
from mdbench.runtimes.environments.subprocesses import SubprocessRegistry
from mdbench.runtimes.job_folder import Scratch, folder_mb, remove_left_over
from mdbench.runtimes.usage import (
    POLLED,
    Watchdog,
    can_make,
    can_stop_forks,
    make_group,
    remove_left_groups,
)
from mdbench.runtimes.worker import (
    JOB,
    WORKER_COMMAND,
    WORKER_PACKAGE,
    Worker,
    await_hello,
    can_drop_privileges,
    inside_paths,
    lay_out_worker,
    path_options,
    run_in_launcher_thread,
    worker_environment,
    worker_options,
)
from mdbench.worker.leftovers import memory_files, shared_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from mdbench.methods import Method
    from mdbench.runtimes.base import Level, Limits
    from mdbench.runtimes.usage import Group


_PASSED_ON = ("PATH", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH")
_JOB = f"{bubblewrap.INSIDE}/job"
"""The folder that holds those of the jobs, in a sandbox."""
_STOP_SECONDS = 0.5
_BEYOND = 64
"""Processes and threads beyond those of a job that the kernel lets a worker have: its own, those
that look after a job, and those of the next one."""


def enforcement_of(by: str, *, walls: Level) -> Enforcement:
    """Return what is enforced for processes of this machine.

    Parameters
    ----------
    by
        What isolates them, for people.
    walls
        How network and files are kept from them.
    """
    counted = can_make()
    memory: Level = "hard" if "memory" in counted else "soft"
    polled = "processes" if memory == "hard" else "memory and processes"
    how = f"limits on {polled} {POLLED}"
    if counted:
        how += f"; a cgroup counts {counted}"
    if can_stop_forks():
        how += f"; the kernel lets nobody have more than {_BEYOND} processes beyond the limit"
    levels: dict[str, Level] = {
        "network": walls,
        "files": walls,
        "memory": memory,
        "processes": "soft",
    }
    return Enforcement(levels, f"{by}; {how}")


class VenvRuntime(Runtime):
    """Runs workers in virtual environments made by uv from each method's lock.

    Parameters
    ----------
    home
        Folder below which the environments are made.
    on_line
        Called with each line on what is being done.
    wrapped
        Whether to use bubblewrap; None for where it works.
    """

    name: ClassVar[str] = "venv"

    def __init__(
        self,
        home: Path,
        on_line: Callable[[str], None] | None = None,
        *,
        wrapped: bool | None = None,
    ) -> None:
        self._home = home
        self._on_line = on_line
        self._programs = SubprocessRegistry()
        self._wrapped = not bubblewrap.why_unavailable() if wrapped is None else wrapped
        remove_left_over(on_line)
        remove_left_groups()

    def probe(self) -> Enforcement:
        plain = f"plain processes ({bubblewrap.why_unavailable() or 'bubblewrap not wanted'})"
        if self._wrapped:
            return enforcement_of("bubblewrap", walls="hard")
        return enforcement_of(plain, walls="none")

    def identity(self, method: Method) -> dict[str, str]:  # noqa: ARG002 - of the interface
        return {}

    def prepare(self, method: Method) -> Prepared:
        with self._programs.track():
            made = venvs.prepare(
                method.name,
                method.lock,
                method.spec.python,
                self._home,
                build=method.spec.build,
                fetch=method.fetch,
                sources=method.sources,
                on_line=self._on_line,
            )
            checkouts = {}
            if method.spec.checkouts:
                from mdbench.runtimes.environments.checkouts import get_checkouts  # noqa: PLC0415 - few have any

                checkouts = get_checkouts(method, self._home, self._on_line)
        return Prepared(
            command=(str(made.python),),
            identity=f"{made.lock_sha256} python {made.python_version}",
            python=made.python_version,
            packages=made.packages,
            checkouts=checkouts,
        )

    def interrupt(self) -> None:
        self._programs.end()

    def resume(self) -> None:
        self._programs.resume()

    def size_mb(self, prepared: Prepared) -> float:
        return folder_mb(Path(prepared.command[0]).parent.parent)

    def start(
        self,
        method: Method,
        prepared: Prepared,
        limits: Limits,
        *,
        on_launch: Callable[[Worker], None] | None = None,
    ) -> VenvWorker:
        worker = self._worker(
            prepared,
            {method.place_of(each): each for each in (method.folder, *method.used)},
            worker_options(method, limits.output_mb),
            limits,
            {**method.paths, **prepared.checkouts},
        )
        if on_launch is not None:
            on_launch(worker)
        await_hello(worker, method)
        return worker

    def _worker(
        self,
        prepared: Prepared,
        folders: Mapping[str, Path],
        options: Sequence[str],
        limits: Limits,
        paths: Mapping[str, Path],
    ) -> VenvWorker:
        """Start a worker; its adapter is not yet imported."""
        return VenvWorker(
            prepared.command,
            folders,
            options,
            limits,
            paths=paths,
            wrapped=self._wrapped,
            report=self._on_line,
        )


class VenvWorker(Worker):
    """A worker process on this machine.

    Parameters
    ----------
    python
        The command of the environment's interpreter.
    folders
        The folders of the method and of its shared code, each by its path among methods.
    options
        Further options of the worker.
    limits
        What its jobs may use.
    paths
        Folders and files of the user's that it may read, by name.
    wrapped
        Whether it gets a sandbox of its own.
    report
        Called with a message about files that cannot be removed.

    Raises
    ------
    UnavailableError
        If it cannot be started at all.
    """

    def __init__(
        self,
        python: Sequence[str],
        folders: Mapping[str, Path],
        options: Sequence[str],
        limits: Limits,
        *,
        paths: Mapping[str, Path] | None = None,
        wrapped: bool,
        report: Callable[[str], None] | None = None,
    ) -> None:
        self._paths = dict(paths or {})
        seen = [*folders.values(), *self._paths.values(), WORKER_PACKAGE]
        interpreter = self._interpreter(python[0])
        self._nobody = self._may_become_nobody(seen, interpreter, wrapped=wrapped)
        self._uid = secrets.choice(processes.JOB_UIDS)
        self._user = [f"--user={self._uid}"] if self._nobody else []
        scratch = Scratch(report)
        places = dict.fromkeys(interpreter, "python")
        places[Path(python[0]).parent.parent] = "environment"
        method, *used = folders.values()
        places |= {method.parent: "algorithms", WORKER_PACKAGE.parent: "mdbench"}
        places |= {
            folder.parent: f"algorithms/{folder.parent.name}"
            for folder in used
            if not folder.is_relative_to(method.parent)
        }
        places |= {path: f"paths/{name}" for name, path in self._paths.items()}
        super().__init__(
            scratch,
            _JOB if wrapped else str(scratch.path / JOB),
            places,
            output_mb=limits.output_mb,
        )
        self._wrapped = wrapped
        self._mark = uuid.uuid4().hex
        self._own_group = make_group()
        self._hard = bool(
            self._own_group and limits.memory_mb and self._own_group.limit(limits.memory_mb)
        )
        # More than a job may have, so that one that tries is seen and ended.
        self._most_processes = limits.processes + _BEYOND + 2 * limits.threads
        if self._own_group is not None:
            self._own_group.limit_processes(self._most_processes)
        self._most_mb = limits.memory_mb
        self._found: int | None = None
        self._interrupted = False
        self._passed_on = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        self._passed_on[processes.TREE_MARK] = self._mark
        command, environment = (self._sandboxed_command if wrapped else self._plain_command)(
            python, folders, options, limits.threads
        )
        if self._own_group is not None:
            command = self._own_group.joining(command)
        try:
            self._process = run_in_launcher_thread(
                lambda: subprocess.Popen(
                    command,
                    bufsize=0,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    cwd=scratch.path,
                    env=environment,
                    start_new_session=True,
                )
            )
        except OSError as error:
            self._remove_files()
            raise UnavailableError(
                f"{command[0]} cannot be started: {error.strerror}.", passing=True
            ) from error
        assert self._process.stdin is not None  # noqa: S101 - for the type checker
        assert self._process.stdout is not None  # noqa: S101
        assert self._process.stderr is not None  # noqa: S101
        self._input = self._process.stdin.fileno()
        self._output = self._process.stdout.fileno()
        # The pump has a descriptor of its own: it may outlive the worker, where a process that
        # the method left behind still holds the other end.
        log = os.dup(self._process.stderr.fileno())
        self._pump = threading.Thread(target=self.log.pump, args=(log,), daemon=True)
        self._pump.start()
        self._watchdog = Watchdog(self._root, limits, self.kill_job, self.meter)
        self._watchdog.start()

    def _interpreter(self, python: str) -> list[Path]:
        """Return the folders of this machine that an interpreter needs."""
        if not Path(python).exists():
            raise UnavailableError(
                f"The interpreter {python} has gone.",
                f"Remove the environments ({command('./install.sh --clean')}), and give the same "
                "command again.",
            )
        return _interpreter_folders(python)

    def _may_become_nobody(
        self, used: Sequence[Path], interpreter: Sequence[Path], *, wrapped: bool
    ) -> bool:
        """Whether root lets somebody without rights do the work."""
        return can_drop_privileges(used, interpreter, same_place=not wrapped)

    def _sandboxed_command(
        self,
        python: Sequence[str],
        folders: Mapping[str, Path],
        options: Sequence[str],
        threads: int,
    ) -> tuple[list[str], dict[str, str]]:
        inside = bubblewrap.INSIDE
        method = {f"{inside}/method/{place}": folder for place, folder in folders.items()}
        return self._wrap(
            [
                *(
                    *python,
                    *WORKER_COMMAND,
                    next(iter(method)),
                    "--own-pids",
                    f"--jobs={_JOB}",
                    *self._user,
                    *options,
                ),
                *path_options(inside_paths(inside, self._paths)),
            ],
            read_only={
                f"{inside}/path": lay_out_worker(self._scratch.path, linked=False),
                f"{inside}/path/mdbench/worker": WORKER_PACKAGE,
                **method,
                **{p: self._paths[name] for name, p in inside_paths(inside, self._paths).items()},
            },
            writable={_JOB: self._scratch.path / JOB},
            environment=worker_environment(threads, home="/tmp", path=f"{inside}/path"),  # noqa: S108
        )

    def _wrap(
        self,
        command: list[str],
        *,
        read_only: Mapping[str, Path],
        writable: Mapping[str, Path],
        environment: Mapping[str, str],
    ) -> tuple[list[str], dict[str, str]]:
        """Return the command that runs another one in a sandbox, and its own environment.

        Parameters
        ----------
        read_only, writable
            What is to be seen inside, by its name there.
        environment
            The variables inside, besides those that are passed on.
        """
        wrapped = bubblewrap.wrap(
            command,
            read_only=read_only,
            writable=writable,
            environment={**self._passed_on, **environment},
            same_place=_interpreter_folders(command[0]),
            becomes_nobody=self._nobody,
        )
        return wrapped, self._passed_on

    def _plain_command(
        self,
        python: Sequence[str],
        folders: Mapping[str, Path],
        options: Sequence[str],
        threads: int,
    ) -> tuple[list[str], dict[str, str]]:
        path = str(self._scratch.path)
        if self._nobody:
            self._scratch.path.chmod(0o711)  # for the way to the folder of the jobs
        environment = self._passed_on | worker_environment(
            threads, home=path, path=str(lay_out_worker(self._scratch.path))
        )
        shown = {name: str(place) for name, place in self._paths.items()}
        own = [f"--jobs={self._inside}", *self._user, *path_options(shown)]
        method, *used = folders.values()
        # Shared code of the project is not next to a method of another folder.
        own += [f"--uses={each}" for each in used if not each.is_relative_to(method.parent)]
        return [*python, *WORKER_COMMAND, str(method), *own, *options], environment

    def _grant(self, folder: int) -> None:
        if self._nobody:
            os.fchown(folder, self._uid, self._uid)

    @property
    def keeps_jobs_apart(self) -> bool:
        if not self._wrapped:  # what plain processes do not keep, another one would not either
            return not self._shares_memory
        seen = self._isolation.get("namespaces", True)  # from outside, once a job has begun
        if self.hello is None or not self.hello.namespaces or not seen:
            return False
        return not self._shares_memory

    @cached_property
    def _shares_memory(self) -> bool:
        """Whether the import has left memory that jobs would share, whatever the worker says."""
        root = self._root()
        if root is None:
            return True
        try:
            return bool(shared_memory(root) or memory_files(root))
        except OSError:
            return False  # this user may not look: the worker has looked at itself

    @property
    def alive(self) -> bool:
        return not (self._interrupted or self._is_unusable) and self._process.poll() is None

    def begin_log(self, path: Path, job: str) -> None:
        self._watchdog.breach = None
        super().begin_log(path, job)

    def ask_to_finish(self) -> None:
        root = self._root()
        if root is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(root, signal.SIGUSR1)

    def kill_job(self) -> None:
        root = self._root()
        if root is not None:
            with self._without_forks():
                processes.kill_tree(root)

    @contextmanager
    def _without_forks(self) -> Iterator[None]:
        """Let the kernel make no process of the worker's meanwhile, or a bomb outruns its end."""
        group = self._own_group
        if group is not None:
            group.limit_processes(0)
        try:
            yield
        finally:
            if group is not None:
                group.limit_processes(self._most_processes)

    def breach(self) -> Breach | None:
        if self.meter.killed_for_memory():
            allowed = f"the {self._most_mb} MiB that are allowed" if self._hard else "there is here"
            return Breach("memory", f"used more than {allowed}")
        seen, most = self.meter.seen_mb, self._most_mb
        if self._watchdog.breach is None and most is not None and seen > most:
            return Breach("memory", f"used {seen:.0f} MiB of memory; {most} MiB are allowed")
        return self._watchdog.breach

    def _group(self) -> Group | None:
        return self._own_group

    def interrupt(self) -> None:
        self._interrupted = True
        if self._process.poll() is not None:
            return  # its number may be another process's by now
        if self._wrapped:
            # With the first process of a sandbox the kernel ends all the others.
            first = processes.children(self._process.pid)
            for pid in first or [self._process.pid]:
                _kill(pid)
            return
        _kill(self._process.pid, signal.SIGSTOP)
        with self._without_forks():
            processes.kill_tree(self._process.pid)
            _kill(self._process.pid)

    def close(self) -> None:
        try:
            assert self._process.stdin is not None  # noqa: S101 - for the type checker
            self._process.stdin.close()  # the worker's lease: it ends all that is left
            self._process.wait(timeout=_STOP_SECONDS)
        except (OSError, subprocess.TimeoutExpired):
            pass
        self._watchdog.stop()
        self.interrupt()
        self._process.wait()
        if not self._wrapped:
            processes.kill_marked(self._mark)
        self._pump.join(0.5)
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()
        self._remove_files()

    def _remove_files(self) -> None:
        if self._own_group is not None:
            self._own_group.remove()
        super()._remove_files()

    def _root(self) -> int | None:
        """Return the worker's own process, which is below bubblewrap's two where it is used."""
        if self._process.poll() is not None:
            return None
        if not self._wrapped:
            return self._process.pid
        if self._found is None:
            for first in processes.children(self._process.pid):
                self._found = next(iter(processes.children(first)), None)
        return self._found

    def _write(self, data: memoryview) -> int:
        return os.write(self._input, data)

    def _read(self, seconds: float) -> bytes | None:
        if not select.select([self._output], [], [], seconds)[0]:
            return None
        return os.read(self._output, 2**20)

    def _has_ended(self) -> bool:
        return self._process.poll() is not None

    def _exit_error(self) -> WorkerGoneError:
        try:
            code = self._process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            return WorkerGoneError("the worker closed its output")
        self._pump.join(1.0)  # its last words
        if self._wrapped and code > 128:  # noqa: PLR2004 - as a shell gives a signal
            code = 128 - code
        return WorkerGoneError(f"the worker ended with exit status {code}", code)


def _interpreter_folders(python: str) -> list[Path]:
    """Return the folders that an interpreter needs: its environment, and the Python below it."""
    prefix = Path(python).parent.parent
    base = Path(python).resolve().parent.parent
    libraries = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    found = [prefix, base, *map(Path, filter(None, libraries))]
    return [path for path in dict.fromkeys(found) if path.is_dir() and path != Path("/usr")]


def _kill(pid: int, number: int = signal.SIGKILL) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)
