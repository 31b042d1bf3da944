"""Programs that are run to make images, the Docker command line first of all.

Images are built by the command line and not by the engine's API, which knows the older of the
two builders only.  A failure is an UnavailableError with the command to type next.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import threading
from collections import deque
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any

from mdbench.errors import UnavailableError
from mdbench.runtimes.environments.subprocesses import kill_group, redact, running

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path


ANSWER_SECONDS = 60.0
"""Seconds that the engine may take for what is no build."""
BUILD_SECONDS = 3600.0
"""Seconds that a build may take."""

_TAIL_LINES = 12
_STEP = re.compile(r"^(Step \d+/\d+ :|#\d+ \[[^]]*\]) (RUN|COPY)")
"""Lines by which the two builders announce their next step."""
_SHOWN = 100
_BUILDER = {"BUILDKIT_PROGRESS": "plain", "BUILDX_BUILDER": "default"}
"""Another builder than the engine's own would not see the images that are here."""
_PLAIN = {"BUILDX_NO_DEFAULT_ATTESTATIONS": "1", "DOCKER_CLI_HINTS": "false", "NO_COLOR": "1"}
_NO_ENGINE = re.compile(
    r"cannot connect|permission denied|dial (tcp|unix)|error during connect|is the docker daemon",
    re.IGNORECASE,
)
_NETWORK = re.compile(
    r"timed? ?out|connection (reset|refused|broken)|name resolution|no such host|"
    r"network is unreachable|temporary failure|too many requests|\b50[234]\b",
    re.IGNORECASE,
)


def why_no_engine() -> str | None:
    """Return why no Docker engine can be used and what to type, or None where one answers."""
    try:
        docker(["version", "--format", "{{.Server.Version}}"], "No Docker engine answers")
    except UnavailableError as error:
        return str(error)
    return None


def docker(arguments: Sequence[str], failure: str, *, timeout: float = ANSWER_SECONDS) -> str:
    """Run one docker command and give what it prints.

    Parameters
    ----------
    arguments
        Its arguments.
    failure
        What it means if the command fails, for the error.
    timeout
        Seconds that it may take.

    Raises
    ------
    UnavailableError
        If it fails, if there is no such program, or if no engine answers.
    """
    try:
        with running(
            ["docker", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=os.environ | _PLAIN,
        ) as process:
            printed, complained = process.communicate(timeout=timeout)
    except OSError as error:
        raise _no_program(error) from None
    except subprocess.TimeoutExpired:
        raise UnavailableError(
            f"{failure}: the Docker engine was silent for {timeout:.0f} s.",
            "See whether it answers: docker info",
            passing=True,
        ) from None
    if process.returncode != 0:
        lines = [redact(line) for line in complained.splitlines() if line.strip()]
        raise _failed(failure, "docker", lines[-_TAIL_LINES:])
    return str(printed)


def image(reference: str) -> dict[str, Any] | None:
    """Return what the engine knows of an image, or None where it does not have it.

    Raises
    ------
    UnavailableError
        If no engine answers.
    """
    try:
        text = docker(["image", "inspect", reference], f"{reference} cannot be inspected")
        (found,) = json.loads(text)
    except UnavailableError as error:
        if "no such image" in error.message.lower():
            return None
        raise
    except ValueError:
        raise UnavailableError(f"Docker's description of {reference} cannot be read.") from None
    return dict(found)


def build(
    context: Path,
    tag: str,
    *,
    target: str = "",
    arguments: Mapping[str, str],
    network: bool,
    proxies: Mapping[str, str],
    on_line: Callable[[str], None],
) -> None:
    """Build an image from a folder that holds all that goes into it.

    Parameters
    ----------
    context
        The folder, with its ``Dockerfile``.
    tag
        The image's tag.
    target
        The stage that is the image; the last one if empty.
    arguments
        Build arguments; they can be read off the image.
    network
        Whether the build may reach the network.
    proxies
        Variables such as ``http_proxy`` of a build with network; the builders keep
        them out of the image, and they are on no command line.
    on_line
        Called with each step.

    Raises
    ------
    UnavailableError
        If it cannot be built; holds the last lines that the builder printed.
    """
    options = ["--tag", tag, "--force-rm"]
    if target:
        options += ["--target", target]
    for name, value in arguments.items():
        options += ["--build-arg", f"{name}={value}"]
    environment = dict(_BUILDER)
    if network:
        environment |= proxies
        for name in proxies:
            options += ["--build-arg", name]
    else:
        options += ["--network", "none"]
    follow(
        ["docker", "build", *options, str(context)],
        environment=environment,
        failure=f"The image {tag} cannot be built",
        hint="If there is no space left: docker system df",
        on_line=lambda line: on_line(line[:_SHOWN]) if _STEP.match(line) else None,
    )


def follow(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    failure: str,
    hint: str,
    on_line: Callable[[str], None],
    timeout: float = BUILD_SECONDS,
) -> None:
    """Run a program that takes long and pass on each line that it prints, without passwords.

    Raises
    ------
    UnavailableError
        If it fails or takes longer than `timeout` seconds; holds the last lines.
    """
    tail: deque[str] = deque(maxlen=_TAIL_LINES)
    late = threading.Event()
    with ExitStack() as stack:
        try:
            process = stack.enter_context(
                running(
                    command,
                    env={**os.environ, **_PLAIN, **environment},
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                )
            )
        except OSError as error:
            raise _no_program(error) from None

        def end() -> None:
            late.set()
            kill_group(process)

        timer = threading.Timer(timeout, end)
        timer.daemon = True
        timer.start()
        stack.callback(timer.cancel)
        assert process.stdout is not None  # noqa: S101 - for the type checker
        for line in process.stdout:
            if shown := redact(line.rstrip()):
                tail.append(shown)
                on_line(shown)
        process.wait()
    if late.is_set():
        tail.append(f"it was ended after {timeout:.0f} s")
    if process.returncode != 0:
        program = "docker" if command[0] == "docker" else "pip"
        raise _failed(failure, program, list(tail), hint)


def _failed(failure: str, program: str, lines: Sequence[str], hint: str = "") -> UnavailableError:
    passing = any(map(_NETWORK.search, lines))
    if program == "docker" and any(_NO_ENGINE.search(line) for line in lines[-1:]):
        refused = "permission denied" in lines[-1].lower()
        passing = not refused
        hint = (
            "Add yourself to the group of those who may use it, then log in again: "
            "sudo usermod -aG docker $USER"
            if refused
            else "Start the engine: sudo systemctl start docker (another one: DOCKER_HOST=...)"
        )
    message = "\n    ".join([f"{failure}; {program} reports:", *lines])
    return UnavailableError(message, hint, passing=passing)


def _no_program(error: OSError) -> UnavailableError:
    return UnavailableError(
        f"The program docker cannot be run: {error.strerror}.",
        "Install Docker Engine (on Debian and Ubuntu: sudo apt install docker.io).",
    )


ENGINE_SECONDS = 30
"""Seconds that the engine may take to answer."""
START_IT = "Start the engine: sudo systemctl start docker. Without it: --runtime venv"
"""Advice where there is no engine."""


def engine_address() -> str:
    """Return the address of the engine that the command line talks to, once it was connected to.

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
    """Return the error that no engine answers at an address."""
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
