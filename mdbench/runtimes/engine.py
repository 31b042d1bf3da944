"""A container engine on this machine: connection, what it enforces, removal of left containers."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import requests
from docker.errors import APIError, DockerException

import docker
from mdbench.errors import UnavailableError
from mdbench.owners import is_orphan
from mdbench.runtimes.base import Enforcement
from mdbench.runtimes.environments.docker_cli import ENGINE_SECONDS, START_IT, no_engine

if TYPE_CHECKING:
    from mdbench.runtimes.base import Level

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
