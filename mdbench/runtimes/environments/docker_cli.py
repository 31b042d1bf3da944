"""Programs that are run to make images, the command line of Docker or Podman first of all.

Images are built by the command line and not by the engine's API, which knows the older of the
two builders only.  Podman's command line takes the same words.  A failure is an UnavailableError
with the command to type next.
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
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

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
_STEP = re.compile(r"^(Step \d+/\d+ :|#\d+ \[[^]]*\]|(\[\d+/\d+\] )?STEP \d+/\d+:) (RUN|COPY)")
"""Lines by which the builders announce their next step."""
_NO_IMAGE = re.compile(r"no such image|image not known", re.IGNORECASE)
Program: TypeAlias = Literal["docker", "podman"]
"""The engine's command line."""
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


def why_no_engine(program: Program = "docker") -> str | None:
    """Return why no engine can be used and what to type, or None where one answers."""
    question = ["version", "--format", "{{.Server.Version}}"] if program == "docker" else ["info"]
    try:
        docker(question, f"No {program.title()} engine answers", program=program)
    except UnavailableError as error:
        return str(error)
    return None


def docker(
    arguments: Sequence[str],
    failure: str,
    *,
    timeout: float = ANSWER_SECONDS,
    program: Program = "docker",
) -> str:
    """Run one command of Docker or Podman and give what it prints.

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
            [program, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=os.environ | _PLAIN,
        ) as process:
            printed, complained = process.communicate(timeout=timeout)
    except OSError as error:
        raise _no_program(program, error) from None
    except subprocess.TimeoutExpired:
        raise UnavailableError(
            f"{failure}: the {program.title()} engine was silent for {timeout:.0f} s.",
            f"See whether it answers: {program} info",
            passing=True,
        ) from None
    if process.returncode != 0:
        lines = [redact(line) for line in complained.splitlines() if line.strip()]
        raise _failed(failure, program, lines[-_TAIL_LINES:])
    return str(printed)


def image(reference: str, *, program: Program = "docker") -> dict[str, Any] | None:
    """Return what the engine knows of an image, or None where it does not have it.

    Raises
    ------
    UnavailableError
        If no engine answers.
    """
    try:
        failure = f"{reference} cannot be inspected"
        (details,) = json.loads(docker(["image", "inspect", reference], failure, program=program))
    except UnavailableError as error:
        if _NO_IMAGE.search(error.message):
            return None
        raise
    except ValueError:
        raise UnavailableError(
            f"{program.title()}'s description of {reference} cannot be read."
        ) from None
    return dict(details)


def build(
    context: Path,
    tag: str,
    *,
    target: str = "",
    arguments: Mapping[str, str],
    network: bool,
    proxies: Mapping[str, str],
    on_line: Callable[[str], None],
    program: Program = "docker",
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
        [program, "build", *options, str(context)],
        environment=environment,
        failure=f"The image {tag} cannot be built",
        hint=f"If there is no space left: {program} system df",
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
            raise _no_program(command[0], error) from None

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
        program = command[0] if command[0] in {"docker", "podman"} else "pip"
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


def _no_program(program: str, error: OSError) -> UnavailableError:
    what = "Podman" if program == "podman" else "Docker Engine"
    package = "podman" if program == "podman" else "docker.io"
    return UnavailableError(
        f"The program {'podman' if program == 'podman' else 'docker'} cannot be run: "
        f"{error.strerror}.",
        f"Install {what} (on Debian and Ubuntu: sudo apt install {package}).",
    )


ENGINE_SECONDS = 30
"""Seconds that the engine may take to answer."""
START_IT = "Start the engine: sudo systemctl start docker. Without it: --runtime venv"
"""Advice where there is no engine."""


def engine_address() -> str:
    """Return the address of the Docker engine that the command line talks to; it was connected to.

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
    if trouble := why_silent(host):
        raise no_engine(host, trouble)
    return host


def why_silent(host: str) -> str:
    """Return why nobody answers at a local address; empty where somebody does."""
    try:
        # Tried by hand: the library leaves a socket open that cannot be connected.
        with socket.socket(socket.AF_UNIX) as trial:
            trial.connect(host.removeprefix("unix://"))
    except OSError as error:
        return error.strerror or str(error)
    return ""


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
