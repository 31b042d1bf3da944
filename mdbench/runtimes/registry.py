"""The choice of a runtime by its name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mdbench.doors import RUNTIMES
from mdbench.errors import UnavailableError
from mdbench.runtimes.base import LEVELS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from mdbench.runtimes.base import Level, Runtime

AUTOMATIC = "auto"
"""The name that takes ``venv`` where that keeps methods apart, else ``docker`` where it works."""


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
        One of `mdbench.doors.RUNTIMES`, or `AUTOMATIC`: ``venv`` where it keeps network and files
        from methods (bubblewrap); else ``docker`` where an engine answers and its base image is
        there; else ``venv`` all the same.  Reports which, why, and what another choice changes.
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
    RUNTIMES.refuse_unknown("--runtime", name, AUTOMATIC)
    why = ""
    if name == AUTOMATIC:
        runtime, why = _automatic(home, on_line)
    else:
        runtime = _open(name, home, on_line)
    try:
        enforcement = runtime.probe()
        _check(runtime.name, enforcement.levels, enforcement.how, require or {})
    except BaseException:
        runtime.close()
        raise
    if why and on_line is not None:
        on_line(f"Runtime: {runtime.name}, chosen by itself ({enforcement.how}). {why}")
    return runtime


def _open(name: str, home: Path, on_line: Callable[[str], None] | None) -> Runtime:
    runtime: Runtime = RUNTIMES.load(name)(home, on_line)
    return runtime


def _automatic(home: Path, on_line: Callable[[str], None] | None) -> tuple[Runtime, str]:
    """Return a runtime, and why it is this one."""
    venv = _open("venv", home, on_line)
    levels = venv.probe().levels
    if levels["network"] == levels["files"] == "hard":
        return venv, f"It keeps network and files from methods, as containers do. {_CONTAINERS}"
    from mdbench.runtimes.environments.docker_cli import engine_address  # noqa: PLC0415 - its SDK takes 0.2 s

    docker = None
    try:
        engine_address()
        docker = _open("docker", home, on_line)
        docker.probe()
        reason = docker.missing()
    except UnavailableError as error:
        reason = error.message
    if docker is not None and not reason:
        venv.close()
        return docker, (
            "Without bubblewrap, virtual environments would keep neither network nor files from "
            f"methods. {_CONTAINERS} --runtime venv goes without."
        )
    if docker is not None:
        docker.close()
    return venv, (
        "Neither network nor files are kept from methods, as Docker would, which is chosen once it "
        f"works: {reason.rstrip('.')}. {_CONTAINERS} --runtime venv keeps this choice."
    )


_CONTAINERS = (
    "With --runtime docker records have other keys, so that jobs are run again, and each job waits "
    "for a container of its own."
)


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
