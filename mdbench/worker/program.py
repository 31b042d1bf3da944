"""A program, in any language, that does a method's jobs in the place of an adapter.

The worker is the same: it makes the job's process, its sandbox and its end.  Only the job's process
becomes the program, which has the protocol's streams as its standard ones, and the order of the job
in the file `ORDER` of its folder (docs/adding-a-method.md).
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from .api import SOCKET_VARIABLE, Unavailable, paths
from .job import describe, move_into

if TYPE_CHECKING:
    from .job import Connection

ORDER = "job.json"
"""The file in a job's folder that holds the host's order."""


@dataclass(frozen=True)
class Program:
    """A command that does jobs.

    Attributes
    ----------
    command
        The program's file, and its arguments.
    """

    command: tuple[str, ...]


def find_program(folder: Path, words: list[str]) -> Program:
    """Find the program that a method names.

    Parameters
    ----------
    folder
        The method's folder.
    words
        The command of ``method.toml``.  The first word is a file of the method's folder, of the
        folder ``fetched`` of its environment, or a program on ``PATH``.  Other words that name
        files of the method's folder mean these.

    Raises
    ------
    Unavailable
        If there is no such program here.
    """
    own = [folder / words[0], *(_fetched() / part / words[0] for part in ("", "bin"))]
    program = next((str(file) for file in own if file.is_file()), None) or shutil.which(words[0])
    if program is None:
        raise Unavailable(
            f"the program {words[0]} is neither in the method's folder nor in {_fetched()} nor on "
            "PATH; install it, or have the program of 'fetch' make it"
        )
    files = (folder / word for word in words[1:])
    rest = (str(f) if f.is_file() else w for f, w in zip(files, words[1:], strict=True))
    return Program((program, *rest))


def _fetched() -> Path:
    return Path(sys.prefix) / "fetched"


def become(program: Program, host: Connection) -> None:
    """Become the program, which does the job; return where it cannot be started.

    What the program ignores and what it does not is as for any program, with one exception. It
    ignores SIGUSR1, by which the host says that the time is up, until it has a handler of its own.
    """
    move_into(host.folder)
    if (socket := host.order.get("language_model")) is not None:
        os.environ[SOCKET_VARIABLE] = str(host.folder / socket)
    host.send("started", pid=os.getpid())
    try:
        _write_order(host.order)
        _execute(program, host)
    except OSError as error:
        host.send("failed", kind="failed", error=f"{program.command[0]}: {describe(error)}")


def _write_order(order: dict[str, Any]) -> None:
    given = order | {"paths": {name: str(place) for name, place in paths.items()}}
    with open(ORDER, "w", encoding="utf-8") as file:  # noqa: PTH123 - the working directory's
        json.dump(given, file, allow_nan=False)
        file.write("\n")


def _execute(program: Program, host: Connection) -> NoReturn:
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and so would the program
    host.hand_over()
    os.execv(program.command[0], program.command)  # noqa: S606 - no shell
