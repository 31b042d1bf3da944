"""The key of an endpoint, which is kept out of all that is written."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from mdbench.errors import UsageError

if TYPE_CHECKING:
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
        found: list[str] = []
        for i, letter in enumerate(text):
            if i not in covered:
                found.append(letter)
            elif i - 1 not in covered:
                found.append(_HIDDEN)
        return "".join(found)


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
        text = os.environ.get(variable, "").strip()
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
