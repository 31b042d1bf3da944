"""The runtime ``podman``: containers as those of ``docker``, by Podman, which needs no root.

Podman speaks Docker's API at a socket.  Where nobody listens at the user's, as on most clusters, a
service is started for this process; it ends with it, or when nobody has asked it for a while.
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import subprocess
import tempfile
import threading
import time
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from mdbench.errors import UnavailableError
from mdbench.runtimes.base import Enforcement
from mdbench.runtimes.docker import DockerRuntime
from mdbench.runtimes.environments.docker_cli import ENGINE_SECONDS, Program, docker, why_silent
from mdbench.runtimes.usage import POLLED

if TYPE_CHECKING:
    from mdbench.runtimes.base import Level

_IDLE_SECONDS = 300
"""Seconds after which a service that nobody asks ends by itself."""


class PodmanRuntime(DockerRuntime):
    """Runs workers in containers of Podman on this machine, with or without root.

    Without root, Podman can limit memory and processes only where the user has those controllers
    of cgroups version 2; else jobs are looked at, as those of the runtime ``venv``.
    """

    name: ClassVar[str] = "podman"
    program: ClassVar[Program] = "podman"

    def address(self) -> str:
        return _SERVICE.address()

    @property
    def rootless(self) -> bool:
        return bool(self._host["security"]["rootless"])

    @cached_property
    def _host(self) -> dict[str, Any]:
        text = docker(["info", "--format", "json"], "Podman does not work here", program="podman")
        try:
            found = json.loads(text)
            return dict(found["host"], version=found["version"]["Version"])
        except (ValueError, KeyError, TypeError):
            raise UnavailableError("What podman info says cannot be read.") from None

    def read_enforcement(self) -> Enforcement:
        host = self._host
        controllers = host.get("cgroupControllers") or ()

        def kept(controller: str) -> Level:
            return "hard" if not self.rootless or controller in controllers else "soft"

        levels: dict[str, Level] = {
            "network": "hard",
            "files": "hard",
            "memory": kept("memory"),
            "processes": kept("pids"),
        }
        how = f"Podman {host['version']}, {'without root, ' if self.rootless else ''}"
        how += f"cgroup {host.get('cgroupVersion', '')}"
        soft = [name for name, level in levels.items() if level == "soft"]
        if soft:
            how += f"; limits on {' and '.join(soft)} {POLLED}"
        return Enforcement(levels, how)


class Service:
    """Podman's API at a socket: the user's own, or one that is started.

    Attributes
    ----------
    process
        The service, where one was started.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.process: subprocess.Popen[bytes] | None = None
        self._folder: Path | None = None

    def address(self) -> str:
        """Return the address of a service that answers.

        Raises
        ------
        UnavailableError
            If there is none and none can be started, or if the named one is another machine's.
        """
        named = os.environ.get("CONTAINER_HOST", "")
        if named and not named.startswith("unix://"):
            raise UnavailableError(
                f"Podman at {named} may be on another machine, and so cannot read the files of "
                "jobs.",
                "Unset CONTAINER_HOST, or use --runtime venv.",
            )
        usual = Path(os.environ.get("XDG_RUNTIME_DIR", "/run")) / "podman" / "podman.sock"
        for host in filter(None, [named or f"unix://{usual}"]):
            if not why_silent(host):
                return host
        with self._lock:
            host = f"unix://{self._folder}/podman.sock"
            if self._folder is None or why_silent(host):
                host = self._start()
            return host

    def _start(self) -> str:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="mdbench-podman-"))
            atexit.register(self.end)
        host = f"unix://{self._folder}/podman.sock"
        log = self._folder / "log"
        try:
            with log.open("wb") as output:
                self.process = subprocess.Popen(
                    ["podman", "system", "service", f"--time={_IDLE_SECONDS}", host],
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
        except OSError as error:
            raise UnavailableError(
                f"The program podman cannot be run: {error.strerror}.",
                "Install Podman (on Debian and Ubuntu: sudo apt install podman uidmap).",
            ) from None
        end = time.monotonic() + ENGINE_SECONDS
        while why_silent(host):
            if self.process.poll() is not None or time.monotonic() > end:
                said = log.read_text("utf-8", errors="replace").strip().splitlines()
                raise UnavailableError(
                    f"Podman's service does not start: {said[-1] if said else 'it says nothing'}",
                    "See whether Podman works: podman info",
                )
            time.sleep(0.05)
        return host

    def end(self) -> None:
        """End the service that was started."""
        if self.process is not None:
            self.process.terminate()
            self.process.wait(ENGINE_SECONDS)
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
        self.process = self._folder = None


_SERVICE = Service()
