"""bubblewrap: a sandbox without network, other processes or other people's files.

Inside, the method's folder, the worker's code and the folder of the job lie below `INSIDE`.  The
parts of the machine that a program needs to run are there, too, and cannot be written.
"""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

INSIDE = "/mdbench"
"""The folder that holds what is ours, inside."""

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_SETTINGS = (
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/alternatives",
    "/etc/localtime",
    "/etc/passwd",
    "/etc/group",
    "/etc/nsswitch.conf",
    "/etc/ssl",
    "/etc/fonts",
    "/etc/R",  # to which links of Debian's R lead
)
_ROOM_FOR_FILES = 256 * 2**20
"""Bytes that may be written outside of a job's folder, which is memory."""
_TRY_SECONDS = 10.0


@cache
def why_unavailable() -> str:
    """Return why bubblewrap cannot be used here; empty if it can.

    Tried once, with all that a worker is given.
    """
    program = shutil.which("bwrap")
    if program is None:
        return "bubblewrap (bwrap) is not installed"
    command = wrap(["/bin/sh", "-c", ":"], read_only={}, writable={}, environment={})
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=_TRY_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"bubblewrap does not start: {error}"
    if done.returncode == 0:
        return ""
    output = done.stdout.strip().splitlines()
    return f"bubblewrap does not work here: {output[-1] if output else done.returncode}"


def wrap(
    command: list[str],
    *,
    read_only: Mapping[str, Path],
    writable: Mapping[str, Path],
    environment: Mapping[str, str],
    same_place: Iterable[Path] = (),
    becomes_nobody: bool = False,
    network: bool = False,
) -> list[str]:
    """Return the command that runs another one in a sandbox of its own.

    Parameters
    ----------
    command
        What to run, as it is named inside.
    read_only, writable
        Folders of the machine, by what they are called inside.
    environment
        All variables that the command is to have.
    same_place
        Folders that may be read and are called inside as they are outside.
    becomes_nobody
        Whether it is started by root and goes on as another user by itself, and so needs the
        right to, until then.
    network
        Whether it may reach the network.
    """
    options = ["--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    if becomes_nobody:
        options += [f"--unshare-{each}" for each in ("ipc", "pid", "net", "uts", "cgroup-try")]
        for each in ("SYS_ADMIN", "SETUID", "SETGID"):
            options += ["--cap-add", f"CAP_{each}"]
    else:
        options.append("--unshare-all")
    if network:
        options.append("--share-net")
    options += ["--clearenv"]
    for name, value in environment.items():
        options += ["--setenv", name, value]
    options += _machine()
    options += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", INSIDE]
    for mount_point in ("/dev/shm", "/tmp"):  # noqa: S108 - the sandbox's own
        options += ["--perms", "1777", "--size", str(_ROOM_FOR_FILES), "--tmpfs", mount_point]
    same = {str(path): path for path in same_place}
    above = {str(up) for path in (*same, *read_only, *writable) for up in Path(path).parents}
    for folder in sorted(above - {"/"}):
        options += ["--dir", folder]  # else only who starts the sandbox could pass them
    mounts = [("--ro-bind", str(path), inside) for inside, path in (same | dict(read_only)).items()]
    mounts += [("--bind", str(path), inside) for inside, path in writable.items()]
    for mount in sorted(mounts, key=lambda mount: len(Path(mount[2]).parts)):
        options += mount  # what lies in another one comes after it, or would be covered
    for mount_point in (INSIDE, "/dev", "/"):
        options += ["--remount-ro", mount_point]
    options += ["--chdir", "/tmp"]  # noqa: S108
    return [shutil.which("bwrap") or "bwrap", *options, "--", *command]


def _machine() -> list[str]:
    """Show what a program needs of the machine, to be read only."""
    options: list[str] = []
    for path in _SYSTEM:
        if Path(path).is_symlink():
            options += ["--symlink", str(Path(path).readlink()), path]
        else:
            options += ["--ro-bind-try", path, path]
    options += ["--dir", "/etc"]  # else only who starts the sandbox could read what is in it
    for path in _SETTINGS:
        options += ["--ro-bind-try", path, path]
    return options
