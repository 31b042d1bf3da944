"""The key of an endpoint, which is kept out of all that is written.

Processes of other machines get it by a file that only the user can read.  The file is removed by
the command that made it; by a small process that waits for that command's end, where it is killed;
and by the next command, where both were killed.
"""

from __future__ import annotations

import os
import subprocess
import uuid
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from mdbench.errors import UsageError
from mdbench.runtimes.processes import is_orphan, owner

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_LONGEST: Final = 10_000
_PIECE: Final = 8
"""Letters of a key that show too much: endpoints like to repeat its beginning."""
_HIDDEN = "***"


class Key:
    """A key that shows itself to nobody but the endpoint.

    Parameters
    ----------
    text
        The key; empty for an endpoint that needs none.

    Examples
    --------
    >>> key = Key("sk-abcdefghijkl")
    >>> key
    Key(***)
    >>> key.hidden("Incorrect API key: sk-abcdefgh***")
    'Incorrect API key: ******'
    """

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return f"Key({_HIDDEN})" if self._text else "Key()"

    def __bool__(self) -> bool:
        return bool(self._text)

    def __reduce__(self) -> str:
        raise TypeError("a key is not written down")

    def headers(self) -> dict[str, str]:
        """Return the headers for the endpoint."""
        return {"Authorization": f"Bearer {self._text}"} if self._text else {}

    @contextmanager
    def in_file(self, folder: Path) -> Iterator[Path]:
        """Return a new file in a folder that has it as long as the context, or this process, lasts.

        Raises
        ------
        OSError
            If the file cannot be made.
        """
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{_PREFIX}{owner().replace(' ', '_')}_{uuid.uuid4().hex}"
        with _removed_at_the_end(file):
            self.write(file)
            yield file

    def write(self, path: Path) -> None:
        """Write it into a new file that nobody but the user can read.

        Raises
        ------
        OSError
            If it cannot be made, or if there is one already.
        """
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(self._text + "\n")

    def hidden(self, text: str) -> str:
        """Return a text without any piece of the key."""
        if not self._text:
            return text
        text = text.replace(self._text, _HIDDEN)
        if len(self._text) < _PIECE:
            return text
        pieces = {self._text[i : i + _PIECE] for i in range(len(self._text) - _PIECE + 1)}
        bad = [i for i in range(len(text) - _PIECE + 1) if text[i : i + _PIECE] in pieces]
        if not bad:
            return text
        covered = {i + k for i in bad for k in range(_PIECE)}
        parts: list[str] = []
        for i, letter in enumerate(text):
            if i not in covered:
                parts.append(letter)
            elif i - 1 not in covered:
                parts.append(_HIDDEN)
        return "".join(parts)


NO_KEY: Final = Key("")


def read_key(variable: str | None, file: Path | None) -> Key:
    """Read the key from a variable of the environment, or from a file.

    Raises
    ------
    UsageError
        If both are named, or if there is no key in the one that is.
    """
    if variable and file is not None:
        raise UsageError("--llm-key-env and --llm-key-file were both given.", "Give one of them.")
    if variable:
        text = os.environ.get(variable, _hidden.get(variable, "")).strip()
        if not text:
            raise UsageError(
                f"--llm-key-env is {variable!r}, and there is no such variable, or it is empty.",
                f"Set it: export {variable}=...  It is the variable's name that is given here, "
                "never the key.",
            )
    elif file is not None:
        text = _content(file)
    else:
        return NO_KEY
    if not (text.isascii() and text.isprintable()) or " " in text:
        raise UsageError("The key has letters that no key has.", "It is one word of plain letters.")
    return Key(text)


def _content(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            text = stream.read(_LONGEST + 1).decode().strip()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise UsageError(f"--llm-key-file {file} cannot be read: {why}.") from None
    if not text or len(text) > _LONGEST:
        raise UsageError(f"--llm-key-file {file} holds no key.", "It has one line, the key.")
    return text


_hidden: dict[str, str] = {}
"""Variables that are not in the environment for now, with their values."""


@contextmanager
def hidden_variable(name: str | None) -> Iterator[None]:
    """Take a variable out of the environment as long as the context lasts.

    Processes that are started meanwhile do not have it: a cluster writes the environment of a task
    to its disk.
    """
    value = None if name is None else os.environ.pop(name, None)
    if name is None or value is None:
        yield
        return
    _hidden[name] = value
    try:
        yield
    finally:
        os.environ[name] = _hidden.pop(name)


_PREFIX: Final = "llm-key-"
_GUARD: Final = 'cat; rm -f -- "$1"'
"""Waits for the end of whoever holds the other end of the pipe, and removes a file."""


@contextmanager
def _removed_at_the_end(file: Path) -> Iterator[None]:
    """Remove a file at the end of the context, or of this process, however it ends."""
    guard = subprocess.Popen(
        ["/bin/sh", "-c", _GUARD, "mdbench", str(file)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={"PATH": os.defpath},
        start_new_session=True,  # Ctrl-C is for the command alone
    )
    try:
        yield
    finally:
        file.unlink(missing_ok=True)
        if guard.stdin is not None:
            guard.stdin.close()
        guard.wait()


def remove_left_keys(folder: Path) -> None:
    """Remove the files of commands of this machine that were killed with their guards."""
    for file in folder.glob(f"{_PREFIX}*"):
        name = file.name.removeprefix(_PREFIX).rpartition("_")[0]
        if is_orphan(name.replace("_", " ")):
            with suppress(OSError):
                file.unlink()
