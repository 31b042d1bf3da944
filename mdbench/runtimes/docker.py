"""The runtime ``docker``: each method in an image of its own, each worker in a container.

Images are built by `images`; here containers are run, through the engine's API.  A container is
warm: it serves one job after the other, spoken to over its standard streams.  It goes when its
standard input is closed, so a run that is killed leaves none.
"""

from __future__ import annotations

import math
import os
import secrets
import select
import signal
import socket
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from docker.errors import ImageNotFound, NotFound
from docker.types import LogConfig, Ulimit

from mdbench.errors import UnavailableError
from mdbench.installation import command
from mdbench.runtimes import processes
from mdbench.runtimes.base import Breach, Enforcement, Prepared, Runtime, WorkerGoneError
from mdbench.runtimes.engine import (
    OWNER,
    UNREACHABLE,
    Frames,
    Pipes,
    connect,
    explain,
    read_enforcement,
    remove_orphans,
)
from mdbench.runtimes.environments.checkouts import get_checkouts
from mdbench.runtimes.environments.docker_cli import (
    ENGINE_SECONDS,
    START_IT,
    Program,
    engine_address,
)
from mdbench.runtimes.environments.images import (
    IMAGE_PYTHON,
    METHODS_IN_IMAGE,
    PATH_IN_IMAGE,
    Images,
)
from mdbench.runtimes.environments.subprocesses import SubprocessRegistry
from mdbench.runtimes.job_folder import Scratch, remove_left_over
from mdbench.runtimes.processes import JOB_UIDS, Cores, owner, worker_cores
from mdbench.runtimes.protocol import MAX_LINE
from mdbench.runtimes.usage import Watchdog, group_of
from mdbench.runtimes.worker import (
    JOB,
    WORKER_COMMAND,
    Worker,
    await_hello,
    inside_paths,
    path_options,
    worker_environment,
    worker_options,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mdbench.methods import Method
    from mdbench.runtimes.base import Limits
    from mdbench.runtimes.usage import Group


_ROOM = "/mdbench"
_JOB = "/mdbench/job"
"""The folder that holds those of the jobs, inside."""
_PIPES = "/mdbench/pipes"
"""The folder of the pipes, inside."""
_TMP_MB = 256
"""Bytes that may be written outside of a job's folder, which is memory."""
_STOP_SECONDS = 1.0
_SEEK_SECONDS = 0.2
"""Seconds between two looks for a worker's process, which is not there at once."""
_NEWS_SECONDS = 0.5
"""Seconds that the engine may take to report an event, such as that memory ran out."""
_CHECK_SECONDS = 1.0
"""Seconds between two checks of a worker that reads nothing."""
_STDERR = 2


class DockerRuntime(Runtime):
    """Runs workers in containers of a Docker engine on this machine.

    Parameters
    ----------
    home
        Folder for what is kept of images.
    on_line
        Called with each line on what is being done.
    """

    name: ClassVar[str] = "docker"
    program: ClassVar[Program] = "docker"

    def __init__(self, home: Path, on_line: Callable[[str], None] | None = None) -> None:
        self._home = home
        self._images = Images(home, on_line, self.program)
        self._on_line = on_line
        self._programs = SubprocessRegistry()
        self._enforcement: Enforcement | None = None
        self._sizes: dict[str, float] = {}

    @property
    def rootless(self) -> bool:
        """Whether root in a container is the user outside."""
        return False

    def address(self) -> str:
        """Return the address of the engine.

        Raises
        ------
        UnavailableError
            If it does not answer, or is another machine's.
        """
        return engine_address()

    def read_enforcement(self) -> Enforcement:
        """Ask the engine what it enforces.

        Raises
        ------
        UnavailableError
            If it does not answer.
        """
        return read_enforcement(connect(self.address()))

    def probe(self) -> Enforcement:
        if self._enforcement is None:
            self._enforcement = self.read_enforcement()
            remove_left_over(self._on_line)
            remove_orphans(connect(self.address()))
        return self._enforcement

    def missing(self) -> str:
        if self._images.has_local_base():
            return ""
        return (
            "Docker runs here, and the image that containers of methods start from was not made "
            f"yet: {command('scripts/base-image')} makes it"
        )

    def identity(self, method: Method) -> dict[str, str]:
        try:
            made_of = self._images.identity(
                method.name,
                method.lock,
                method.spec.system_packages,
                method.fetch,
                method.sources,
            )
        except UnavailableError as error:
            made_of = f"unavailable: {error.message}"[:200]
        return {"image": made_of}

    def prepare(self, method: Method) -> Prepared:
        with self._programs.track():
            made = self._images.build(method)
            checkouts = get_checkouts(method, self._home, self._on_line)
        self._sizes[made.id] = made.size_mb
        return Prepared(
            command=(made.id,),
            identity=made.id,
            python=made.python,
            packages=made.packages,
            details={"image": made.id, "image_tag": made.tag, "base_image": made.base},
            checkouts=checkouts,
        )

    def interrupt(self) -> None:
        self._programs.end()

    def resume(self) -> None:
        self._programs.resume()

    def size_mb(self, prepared: Prepared) -> float:
        return self._sizes[prepared.command[0]]

    def save(self, made: Sequence[Prepared], path: Path) -> None:
        if made:
            self._images.save([prepared.details["image_tag"] for prepared in made], path)

    def start(
        self,
        method: Method,
        prepared: Prepared,
        limits: Limits,
        *,
        on_launch: Callable[[Worker], None] | None = None,
    ) -> DockerWorker:
        levels = self.probe().levels
        worker = DockerWorker(
            prepared.command[0],
            [f"{METHODS_IN_IMAGE}/{method.name}", *worker_options(method, limits.output_mb)],
            limits,
            address=self.address(),
            rootless=self.rootless,
            watched="soft" in {levels["memory"], levels["processes"]},
            paths={**method.paths, **prepared.checkouts},
            report=self._on_line,
        )
        if on_launch is not None:
            on_launch(worker)
        await_hello(worker, method)
        return worker


class DockerWorker(Worker):
    """A worker in a container.

    Parameters
    ----------
    image
        The image's id.
    arguments
        The worker's arguments.
    limits
        What its jobs may use.
    address
        That of the engine.
    rootless
        Whether it runs as root of the container, who is the user outside.
    watched
        Whether the limits are kept by looking at the jobs, as the engine cannot keep them.
    paths
        Folders and files of the user's that it may read, by name.
    report
        Called with a message about files that cannot be removed.

    Raises
    ------
    UnavailableError
        If the container cannot be started.
    """

    def __init__(
        self,
        image: str,
        arguments: list[str],
        limits: Limits,
        *,
        address: str,
        rootless: bool = False,
        watched: bool = False,
        paths: Mapping[str, Path] | None = None,
        report: Callable[[str], None] | None = None,
    ) -> None:
        self._client = connect(address)  # before anything is made that would be left behind
        scratch = Scratch(report)
        self._pipes = Pipes(scratch.path / "pipes")
        self._pumps: list[threading.Thread] = []
        self._piped = False
        # To be waited for together with pipes; the second is never taken back.
        self._heard, self._over = (os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC) for _ in "ab")
        own = secrets.choice(JOB_UIDS)
        self._uid = 0 if rootless else os.getuid() or own
        self._gid = 0 if rootless else os.getgid() or own
        super().__init__(scratch, _JOB, output_mb=limits.output_mb)
        self._limits = limits
        self._paths = dict(paths or {})
        self._found: int | None = None
        self._has_group = False
        self._seek_at = 0.0
        given = worker_cores()
        self._own_cores = Cores(limits.threads) if given is None else None
        self._cores = given or (self._own_cores.numbers if self._own_cores is not None else ())
        self._said = bytearray()
        self._ended = False
        self._interrupted = False
        self._began = time.time()
        self._changed = threading.Condition()
        self._calls = threading.Lock()
        self._id = ""
        self._watchdog: Watchdog | None = None
        self._streams: list[Any] = []
        try:
            self._id = self._create(image, arguments)
            self._socket = self._attach()
            self._client.start(self._id)
        except ImageNotFound as error:
            self._abandon()
            raise UnavailableError(
                f"The image {image[:19]} is not there any more.",
                f"Build it again: {command('./install.sh --runtime docker')}",
            ) from error
        except UNREACHABLE as error:
            self._abandon()
            raise UnavailableError(
                f"A container cannot be started: {explain(error)}.", START_IT, passing=True
            ) from error
        self._pumps = [
            threading.Thread(target=each, daemon=True) for each in (self._drain, self._drain_log)
        ]
        for pump in self._pumps:
            pump.start()
        if watched:
            self._watchdog = Watchdog(self._root, limits, self.kill_job, self.meter)
            self._watchdog.start()

    def _create(self, image: str, arguments: list[str]) -> str:
        limits = self._limits
        memory = None if limits.memory_mb is None else limits.memory_mb * 2**20
        output = limits.output_mb * 2**20
        cores = self._cores
        places = inside_paths(_ROOM, self._paths)
        created = self._client.create_container(
            image,
            command=[
                *(IMAGE_PYTHON, *WORKER_COMMAND, *arguments, "--own-pids", f"--pipes={_PIPES}"),
                *path_options(places),
            ],
            environment=worker_environment(limits.threads, home="/tmp", path=PATH_IN_IMAGE),  # noqa: S108
            user=f"{self._uid}:{self._gid}",
            working_dir="/tmp",  # noqa: S108
            stdin_open=True,
            labels={"mdbench": "1", OWNER: owner()},
            host_config=self._client.create_host_config(
                auto_remove=True,
                network_mode="none",
                read_only=True,
                binds={
                    str(self._scratch.path / JOB): {"bind": _JOB, "mode": "rw"},
                    str(self._pipes.folder): {"bind": _PIPES, "mode": "ro"},
                    **{
                        str(self._paths[name]): {"bind": place, "mode": "ro"}
                        for name, place in places.items()
                    },
                },
                tmpfs={"/tmp": f"size={_TMP_MB}m,mode=1777,nosuid,nodev"},  # noqa: S108
                shm_size=f"{_TMP_MB}m",
                cap_drop=["ALL"],
                security_opt=["no-new-privileges"],
                pids_limit=limits.processes,
                mem_limit=memory,
                memswap_limit=memory,
                cpuset_cpus=",".join(map(str, cores)) or None,
                nano_cpus=None if cores else limits.threads * 10**9,
                ulimits=[
                    Ulimit(name="fsize", soft=output, hard=output),
                    Ulimit(name="core", soft=0, hard=0),
                ],
                log_config=LogConfig(type="none"),
            ),
        )
        return str(created["Id"])

    def _attach(self) -> socket.socket:
        attached = self._client.attach_socket(
            self._id, params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
        )
        plain: socket.socket = getattr(attached, "_sock", attached)
        self._streams = [attached, plain]
        plain.settimeout(None)
        return plain

    @property
    def keeps_jobs_apart(self) -> bool:
        return False  # jobs of one container share its network, its /tmp and its process numbers

    @property
    def alive(self) -> bool:
        return not (self._interrupted or self._is_unusable or self._ended)

    def begin_log(self, path: Path, job: str) -> None:
        self._began = time.time()
        if self._watchdog is not None:
            self._watchdog.breach = None
        super().begin_log(path, job)

    def ask_to_finish(self) -> None:
        self._signal("SIGUSR1")

    def kill_job(self) -> None:
        root = self._root()
        if root is None:
            self._signal("SIGUSR2")
        else:  # a signal takes its time, and could meet the next job
            processes.kill_tree(root)

    def breach(self) -> Breach | None:
        if self._watchdog is not None:
            return self._watchdog.breach
        if self._limits.memory_mb is None:
            return None
        if not self._awaited("oom"):
            return None
        # The mark stays with the container: the next job gets another one.
        self._interrupted = True
        return Breach("memory", f"used more than the {self._limits.memory_mb} MiB that are allowed")

    def interrupt(self) -> None:
        self._interrupted = True
        self._signal("SIGKILL")

    def close(self) -> None:
        if self._watchdog is not None:
            self._watchdog.stop()
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)  # the worker's lease
        self._pipes.close_orders()
        with self._changed:
            self._changed.wait_for(lambda: self._ended, _STOP_SECONDS)
        if not self._ended:
            self.interrupt()
        self._await_removal()
        for pump in self._pumps:
            pump.join(_STOP_SECONDS)
        self._abandon()

    def _await_removal(self) -> None:
        try:
            with self._calls:
                self._client.wait(self._id, timeout=ENGINE_SECONDS, condition="removed")
        except NotFound:
            pass
        except UNREACHABLE:
            with suppress(*UNREACHABLE), self._calls:
                self._client.remove_container(self._id, force=True)

    def _abandon(self) -> None:
        """Release all but the container, and that too if it was never started."""
        for stream in self._streams:
            with suppress(OSError):
                stream.close()
        if self._id:
            with suppress(*UNREACHABLE):
                self._client.remove_container(self._id, force=True)
        with suppress(*UNREACHABLE):
            self._client.close()
        if not any(pump.is_alive() for pump in self._pumps):  # they would use what comes next
            self._pipes.close()
            for descriptor in (self._heard, self._over):
                os.close(descriptor)
        if self._own_cores is not None:
            self._own_cores.release()
        self._remove_files()

    def _grant(self, folder: int) -> None:
        """Make a folder writable for the container's user, where that is not this one."""
        if os.getuid() == 0:
            os.fchown(folder, self._uid, self._gid)

    def _root(self) -> int | None:
        """Return the worker's process, below the container's first; None where it is elsewhere.

        The engine may count processes otherwise than mdbench does, which then must not touch
        what has that number here.
        """
        if self._ended:
            return None
        if self._found is None and time.monotonic() >= self._seek_at:
            self._seek_at = time.monotonic() + _SEEK_SECONDS
            try:
                with self._calls:
                    first = int(self._client.inspect_container(self._id)["State"]["Pid"])
                groups = Path(f"/proc/{first}/cgroup").read_text(encoding="utf-8")
                own = groups + _watcher_of(first)
            except (*UNREACHABLE, KeyError, ValueError):
                return None
            if self._id not in own:
                self._seek_at = math.inf  # it is in another count of processes, and stays there
            else:
                self._found = next(iter(processes.children(first)), None)
                self._has_group = self._id in groups
        return self._found

    def _group(self) -> Group | None:
        root = self._root()  # without a group of its own it is in one with others
        return group_of(root) if root is not None and self._has_group else None

    def _signal(self, name: str) -> None:
        with suppress(*UNREACHABLE), self._calls:
            self._client.kill(self._id, signal=name)

    def _awaited(self, event: str) -> list[dict[str, Any]]:
        """Ask the engine until it knows of an event, for a while."""
        end = time.monotonic() + _NEWS_SECONDS
        while not (known := self._news(event)) and time.monotonic() < end:
            time.sleep(0.02)
        return known

    def _news(self, event: str) -> list[dict[str, Any]]:
        """Ask the engine what has happened to the container since the job began."""
        try:
            with self._calls:
                # To the microsecond, which the engine takes and the types do not know.
                events = self._client.events(  # type: ignore[call-overload]
                    since=f"{self._began - 0.001:.6f}",
                    until=f"{time.time():.6f}",
                    filters={"container": self._id, "event": event},
                    decode=True,
                )
                return list(events)
        except UNREACHABLE:
            return []

    def _write(self, data: memoryview) -> int:
        if not self._piped:
            return self._socket.send(data)
        while not (sent := self._pipes.send(data, _CHECK_SECONDS)):
            if self._ended:
                raise BrokenPipeError
        return sent

    def _read(self, seconds: float) -> bytes | None:
        """Read from the pipe; or what arrived through the engine, where pipes do not reach."""
        ears = [self._pipes.answers, self._heard, self._over]
        select.select(ears, [], [], max(0.0, seconds))
        ended = self._ended
        if block := self._pipes.read(self._pipes.answers):
            self._piped = True
            return block
        with self._changed:
            with suppress(BlockingIOError):
                os.eventfd_read(self._heard)
            block = bytes(self._said)
            self._said.clear()
        if block:
            return block
        return b"" if ended else None

    def _has_ended(self) -> bool:
        return self._ended

    def _exit_error(self) -> WorkerGoneError:
        with self._changed:
            self._changed.wait_for(lambda: self._ended, 2.0)
        try:
            with self._calls:
                self._client.ping()
        except UNREACHABLE:
            return WorkerGoneError("the Docker engine does not answer any more", lost=True)
        if not (died := self._awaited("die")):
            return WorkerGoneError("the worker's container was lost", lost=True)
        said = died[-1]["Actor"]["Attributes"]
        code = int(said.get("exitCode") or said.get("containerExitCode") or "0")
        if code > 128:  # noqa: PLR2004 - as a shell gives a signal
            code = 128 - code
        # Only who asks the engine to kill it leaves this: neither the job nor the kernel does.
        # The engine writes it down after the signal, so that the death may be known before.
        if code == -signal.SIGKILL and not self._interrupted and self._awaited("kill"):
            return WorkerGoneError("the worker's container was killed from outside", lost=True)
        return WorkerGoneError(f"the worker ended with exit status {code}", code)

    def _drain(self) -> None:
        """Read both streams to their end, always: an engine that cannot write cannot kill."""
        stream = Frames(self._socket)
        while (frame := stream.next()) is not None:
            kind, data = frame
            if kind == _STDERR:
                self.log.feed(data)
                continue
            with self._changed:
                if len(self._said) <= 2 * MAX_LINE:
                    self._said += data
                os.eventfd_write(self._heard, 1)
                flooded = len(self._said) > 2 * MAX_LINE and not self._interrupted
            if flooded:
                self.interrupt()
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        os.eventfd_write(self._over, 1)

    def _drain_log(self) -> None:
        """Read the log's pipe until the container has ended, and all that is in it then."""
        log = self._pipes.log
        ended = False
        while True:
            if block := self._pipes.read(log):
                self.log.feed(block)
            elif ended:
                break
            else:
                ended = self._over in select.select([log, self._over], [], [])[0]
        self.log.close()


def _watcher_of(first: int) -> str:
    """Return the command of the process above a container's first, which names the container.

    Without root a container may have no group of its own by which it could be told.
    """
    stat = Path(f"/proc/{first}/stat").read_text(encoding="utf-8")
    above = int(stat.rpartition(")")[2].split()[1])
    return Path(f"/proc/{above}/cmdline").read_text(encoding="utf-8", errors="replace")
