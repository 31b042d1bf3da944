"""A container engine on this machine: connection, limits, left containers, what is sent to one."""

from __future__ import annotations

import os
import select
import struct
from contextlib import suppress
from typing import TYPE_CHECKING

import requests
from docker.errors import APIError, DockerException

import docker
from mdbench.errors import UnavailableError
from mdbench.runtimes.base import Enforcement
from mdbench.runtimes.environments.docker_cli import ENGINE_SECONDS, START_IT, no_engine
from mdbench.runtimes.processes import is_orphan

if TYPE_CHECKING:
    import socket
    from pathlib import Path

    from mdbench.runtimes.base import Level

_HEADER = struct.Struct(">BxxxL")
OWNER = "mdbench.owner"
"""The label that names the process for which a container runs."""
UNREACHABLE = (requests.exceptions.RequestException, DockerException, OSError)
"""Errors of the engine's library when the engine does not answer; some are not its own."""


def connect(host: str) -> docker.APIClient:
    """Connect to the engine at an address.

    Raises
    ------
    UnavailableError
        If it does not answer.
    """
    try:
        return docker.APIClient(base_url=host, timeout=ENGINE_SECONDS)
    except UNREACHABLE as error:
        raise no_engine(host, explain(error)) from None


def read_enforcement(client: docker.APIClient) -> Enforcement:
    """Ask the engine what it enforces, and end the connection.

    Raises
    ------
    UnavailableError
        If it does not answer.
    """
    try:
        info = client.info()
    except UNREACHABLE as error:
        raise UnavailableError(
            f"No Docker engine answers: {explain(error)}.", START_IT, passing=True
        ) from None
    finally:
        client.close()

    def kept(name: str) -> Level:
        return "hard" if info.get(name) else "none"

    return Enforcement(
        {
            "network": "hard",
            "files": "hard",
            "memory": kept("MemoryLimit"),
            "processes": kept("PidsLimit"),
        },
        f"Docker Engine {info.get('ServerVersion', '')}, cgroup v{info.get('CgroupVersion', 1)}",
    )


def remove_orphans(client: docker.APIClient) -> None:
    """Remove containers of runs on this machine that have died, and end the connection."""
    try:
        for container in client.containers(all=True, filters={"label": OWNER}):
            if is_orphan(container["Labels"].get(OWNER, "")):
                with suppress(*UNREACHABLE):
                    client.remove_container(container["Id"], force=True)
    except UNREACHABLE:
        pass
    finally:
        client.close()


def explain(error: BaseException) -> str:
    """Return the engine's own words, or else the library's, in one line."""
    if isinstance(error, APIError) and error.explanation:
        return str(error.explanation).strip().rstrip(".")
    return " ".join(str(error).split())[:300].rstrip(".")


class Frames:
    """The two streams that the engine sends over one connection, in frames."""

    def __init__(self, source: socket.socket) -> None:
        self._source = source
        self._left = 0
        self._kind = 0

    def next(self) -> tuple[int, bytes] | None:
        """Return the number of a stream and some bytes of it; None at the end."""
        try:
            if not self._left:
                header = self._exactly(_HEADER.size)
                if header is None:
                    return None
                self._kind, self._left = _HEADER.unpack(header)
                if not self._left:
                    return self._kind, b""
            data = self._source.recv(min(self._left, 2**20))
        except OSError:
            return None
        if not data:
            return None
        self._left -= len(data)
        return self._kind, data

    def _exactly(self, size: int) -> bytes | None:
        data = b""
        while len(data) < size:
            block = self._source.recv(size - len(data))
            if not block:
                return None
            data += block
        return data


# A job can read what is for the worker and write what is the worker's, as it can without pipes;
# it cannot speak as the host does.
_MODES = {"orders": 0o444, "answers": 0o222, "log": 0o222}


class Pipes:
    """The host's ends: ``orders`` to the worker, ``answers`` and the ``log`` from it.

    Parameters
    ----------
    folder
        Is made; the worker gets it to read only, so that nothing in it can be changed.

    Attributes
    ----------
    answers, log
        Descriptors to read from, which never block and never end.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        opened = {}
        for name, mode in _MODES.items():
            os.mkfifo(folder / name, 0o600)
            # Both ends, as the other side comes later, and is not waited for.
            opened[name] = os.open(folder / name, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
            (folder / name).chmod(mode)
        folder.chmod(0o755)
        self._orders = opened["orders"]
        self.answers = opened["answers"]
        self.log = opened["log"]

    def send(self, data: memoryview, seconds: float) -> int:
        """Write some of the data; return how much, which is 0 if the pipe is full for so long."""
        if not select.select([], [self._orders], [], seconds)[1]:
            return 0
        return os.write(self._orders, data)

    def read(self, descriptor: int) -> bytes:
        """Read what is there; empty for nothing."""
        try:
            return os.read(descriptor, 2**20)
        except BlockingIOError:
            return b""

    def close_orders(self) -> None:
        """Close the pipe of orders, by which the worker's lease ends."""
        if self._orders >= 0:
            os.close(self._orders)
            self._orders = -1

    def close(self) -> None:
        """Close all; once."""
        self.close_orders()
        os.close(self.answers)
        os.close(self.log)
