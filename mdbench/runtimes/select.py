"""Which runtime isolates a run: the one asked for, or the strongest that works here."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mdbench.errors import UnavailableError, UsageError, did_you_mean
from mdbench.runtimes.base import ENFORCED, LEVELS
from mdbench.runtimes.environments.docker_cli import engine_address
from mdbench.runtimes.venv import VenvRuntime

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from mdbench.runtimes.base import Level, Runtime

RUNTIMES = ("auto", "venv", "docker")
"""What ``--runtime`` may be."""


def open_runtime(
    name: str,
    home: Path,
    on_line: Callable[[str], None] | None = None,
    *,
    require: Mapping[str, Level] | None = None,
) -> Runtime:
    """Return the runtime of a run; never a weaker one than was asked for.

    Parameters
    ----------
    name
        One of `RUNTIMES`; ``auto`` takes ``docker`` where an engine answers and its base image
        is at hand, else ``venv``, and says why.
    home
        Folder below which environments are made.
    on_line
        Called with each line on what is being done.
    require
        The least that has to be enforced, by `ENFORCED`.

    Raises
    ------
    UsageError
        If there is no such runtime.
    UnavailableError
        If it does not work here, or does not enforce what is required.
    """
    if name not in RUNTIMES:
        raise UsageError(
            f"--runtime is {name!r}.", f"{did_you_mean(name, RUNTIMES)} All: {', '.join(RUNTIMES)}"
        )
    runtime = _automatic(home, on_line) if name == "auto" else _named(name, home, on_line)
    try:
        enforcement = runtime.probe()
        _check(runtime.name, enforcement.levels, enforcement.how, require or {})
    except BaseException:
        runtime.close()
        raise
    if name == "auto" and on_line is not None:
        on_line(f"Runtime: {runtime.name} ({enforcement.how}).")
    return runtime


def parse_requirements(texts: Sequence[str]) -> dict[str, Level]:
    """Read values of ``--require``, such as ``network=hard``.

    Raises
    ------
    UsageError
        If one is not of that form.
    """
    found: dict[str, Level] = {}
    for text in texts:
        match = re.fullmatch(r"(\w+)=(\w+)", text)
        level = next((level for level in LEVELS if match and level == match[2]), None)
        if match is None or match[1] not in ENFORCED or level is None:
            raise UsageError(
                f"--require is {text!r}.",
                f"Give one of {', '.join(ENFORCED)} and how hard it is to be kept "
                f"({', '.join(LEVELS)}), e.g. --require network=hard.",
            )
        found[match[1]] = level
    return found


def _named(name: str, home: Path, on_line: Callable[[str], None] | None) -> Runtime:
    if name == "docker":
        from mdbench.runtimes.docker import DockerRuntime  # noqa: PLC0415 - its SDK takes 0.2 s

        return DockerRuntime(home, on_line)
    return VenvRuntime(home, on_line)


def _automatic(home: Path, on_line: Callable[[str], None] | None) -> Runtime:
    docker = None
    try:
        engine_address()
        docker = _named("docker", home, on_line)
        docker.probe()
        reason = docker.missing()
    except UnavailableError as error:
        reason = error.message
    if docker is not None:
        if not reason:
            return docker
        docker.close()
    if on_line is not None:
        on_line(f"Not docker: {reason}")
    return VenvRuntime(home, on_line)


def _check(name: str, levels: Mapping[str, Level], how: str, require: Mapping[str, Level]) -> None:
    weak = [
        f"{what} ({levels[what]}; {level} is required)"
        for what, level in require.items()
        if LEVELS.index(levels[what]) < LEVELS.index(level)
    ]
    if weak:
        raise UnavailableError(
            f"The runtime {name} does not keep a method from: {', '.join(weak)}. It is: {how}.",
            "Use --runtime docker, install bubblewrap (on Debian and Ubuntu: apt install "
            "bubblewrap), or ask for less.",
        )
