"""Locks: packages with version, marker and hashes, one after the other, and nothing else.

uv and pip take much more in such a file: options that name another index, addresses, paths, other
files.  A method's lock is a stranger's, so each line is matched as a whole, and a line that is not
known ends it.

The set-up of the core environment (scripts/bootstrap.py) uses this module, too, before anything is
installed, so it needs the standard library only.
"""

from __future__ import annotations

import re

from mdbench.errors import MethodError
from mdbench.installation import command

_HASH = r"--hash=sha(?:256|384|512):[0-9a-f]+"
_MARKER = r"(?:[\w.,~=!<>()'\"*+]|-(?!-)| (?!-))+"
"""Letters, numbers, quotes, comparisons and brackets: no address, no comment and no option."""
_PIN = re.compile(
    r"(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)"
    r"(?:\[[A-Za-z0-9._, -]+\])?==[A-Za-z0-9][A-Za-z0-9.!+_-]*"
    rf"(?: *; ?{_MARKER})?(?: {_HASH})*(?P<goes_on> \\)?",
    re.ASCII,
)
_HASH_LINE = re.compile(rf" +{_HASH}(?P<goes_on> \\)?", re.ASCII)
_COMMENT = re.compile(r" *(?:#[ -~]*)?")
"""A line of its own: behind a package a comment could hide what another reader does not take for
one."""


def split_requirements(text: str, where: str = "A lock") -> dict[str, str]:
    r"""Split the text of a lock into its requirements with their hashes, by package.

    A package that is pinned differently for different Pythons keeps all its requirements.

    Parameters
    ----------
    where
        What the text is of, for the error.

    Raises
    ------
    MethodError
        If a line is neither a package with version, marker and hashes nor a comment.

    Examples
    --------
    >>> split_requirements("numpy==2.0.0 \\\n    --hash=sha256:12\n    # via scipy\n")
    {'numpy': 'numpy==2.0.0 \\\n    --hash=sha256:12\n'}
    """
    if (strange := find_strange_line(text)) is not None:
        number, line = strange
        raise MethodError(
            f"{where}, line {number}: {line[:200]!r} is no package with version, marker and "
            "hashes.",
            "A lock has NAME==VERSION ; MARKER --hash=sha256:..., comments in lines of their own, "
            "and no options, addresses or paths. It is not written by hand: "
            f"{command('scripts/lock METHOD')}",
        )
    requirements: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in text.splitlines(keepends=True):
        if pin := _PIN.fullmatch(line.rstrip("\n")):
            lines = requirements.setdefault(pin["name"].lower(), [])
        if not _COMMENT.fullmatch(line.rstrip("\n")):
            lines.append(line)
    return {name: "".join(lines) for name, lines in requirements.items()}


def find_strange_line(text: str) -> tuple[int, str] | None:
    """Return the first line that does not belong into a lock, and its number from 1; else None."""
    goes_on = False
    number, line = 0, ""
    for number, line in enumerate(text.split("\n"), 1):
        match = _HASH_LINE.fullmatch(line) if goes_on else _PIN.fullmatch(line)
        if match is None and (goes_on or not _COMMENT.fullmatch(line)):
            return number, line
        goes_on = match is not None and match["goes_on"] is not None
    return (number, line) if goes_on else None
