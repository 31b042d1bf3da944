"""Where the Docker engine listens, and whether it answers; without its library, which is slow."""

from __future__ import annotations

import os
import socket
import subprocess
from contextlib import suppress

from mdbench.errors import UnavailableError

__all__ = ["ENGINE_SECONDS", "START_IT", "engine_address", "no_engine"]

ENGINE_SECONDS = 30
"""How long the engine may take to answer."""
START_IT = "Start the engine: sudo systemctl start docker. Without it: --runtime venv"
"""What to do where there is no engine."""


def engine_address() -> str:
    """Give the address of the engine that the command line talks to, once it was connected to.

    Raises
    ------
    UnavailableError
        If it does not answer, or is another machine's.
    """
    host = _host()
    if not host.startswith("unix://"):
        raise UnavailableError(
            f"The Docker engine at {host} may be on another machine, and so cannot read the files "
            "of jobs.",
            "Unset DOCKER_HOST (or: docker context use default), or use --runtime venv.",
        )
    try:
        # Tried by hand: the library leaves a socket open that cannot be connected.
        with socket.socket(socket.AF_UNIX) as trial:
            trial.connect(host.removeprefix("unix://"))
    except OSError as error:
        raise no_engine(host, str(error)) from None
    return host


def no_engine(host: str, why: str) -> UnavailableError:
    """Say that no engine answers at an address."""
    why = " ".join(why.split())[:300].rstrip(".")
    return UnavailableError(f"No Docker engine answers at {host}: {why}.", START_IT, passing=True)


def _host() -> str:
    named = os.environ.get("DOCKER_HOST")
    if named:
        return named
    question = ["docker", "context", "inspect", "--format", "{{.Endpoints.docker.Host}}"]
    with suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(
            question, capture_output=True, text=True, timeout=ENGINE_SECONDS, check=True
        )
        if done.stdout.strip():
            return done.stdout.strip()
    return "unix:///var/run/docker.sock"
