"""Locks, read: packages with version, marker and hashes, one after the other, and nothing else.

uv and pip take much more in such a file: options that name another index, addresses, paths, other
files.  A method's lock is a stranger's, so each line is matched as a whole, and a line that is not
known ends it.

The set-up of the core environment (scripts/bootstrap.py) uses this module, too, before anything is
installed, so it needs the standard library only.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mdbench.errors import MethodError
from mdbench.installation import command
from mdbench.workspace import read_toml

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

UV_FILE = "uv.toml"
"""In the lock's folder: what a package does not declare and uv has to know."""
_UV_KEYS = {"dependency-metadata", "extra-build-dependencies", "override-dependencies"}
_PLACE = re.compile(r"[@/\\]|\.(?:whl|gz|zip)\b", re.IGNORECASE)
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


def read_lock(method_name: str, lock: Path) -> bytes:
    """Read a method's lock, and check it.

    Raises
    ------
    MethodError
        As `lock_content` and `check_lock`.
    """
    content = lock_content(method_name, lock)
    check_lock(method_name, lock, content)
    return content


def lock_content(method_name: str, lock: Path) -> bytes:
    """Read a method's lock.

    Raises
    ------
    MethodError
        If it is missing.
    """
    try:
        return lock.read_bytes()
    except FileNotFoundError:
        source = lock.with_suffix(".in")
        type_this = f"type: {command(f'scripts/lock {method_name}')}"
        raise MethodError(
            f"{lock} is missing.",
            f"To make it from {source.name}, {type_this}"
            if source.is_file()
            else f"Write a package a line into {source}, numpy among them; then {type_this}",
        ) from None


def check_lock(method_name: str, lock: Path, content: bytes) -> None:
    """Refuse a lock of which no environment is made.

    Raises
    ------
    MethodError
        If it has no hashes, or lacks NumPy, which the worker needs.
    """
    if "numpy" not in read_pins(method_name, lock, content):
        raise MethodError(
            f"{lock} has no numpy, which the worker of every method needs.",
            f"Add numpy to {lock.with_suffix('.in').name}; then type: "
            f"{command(f'scripts/lock {method_name}')}",
        )


def read_pins(method_name: str, lock: Path, content: bytes) -> dict[str, str]:
    """Return the requirements in a lock's content by package, each with its hashes."""
    requirements = split_requirements(content.decode("utf-8", "replace"), str(lock))
    if bare := [name for name, lines in requirements.items() if "--hash=" not in lines]:
        raise MethodError(
            f"{lock} has no hashes for {', '.join(bare)}.",
            f"A lock is made from {lock.with_suffix('.in').name}, not written by hand; type: "
            f"{command(f'scripts/lock {method_name}')}",
        )
    return requirements


def uv_file(sibling: Path) -> Path | None:
    """Find the method's own settings for uv, if any; only a few are allowed.

    Parameters
    ----------
    sibling
        Its lock, or its requirements.

    Raises
    ------
    MethodError
        If it cannot be read, or sets what is the user's to set.
    """
    file = sibling.absolute().with_name(UV_FILE)
    project = file.with_name("pyproject.toml")
    if project.is_file() and project != sibling.absolute() and _sets_uv(project):
        raise MethodError(
            f"{project} has settings for uv (tool.uv), such as an index, which are the user's.",
            f"Remove them; what uv has to know of packages is in {UV_FILE}.",
        )
    try:
        content = read_toml(file)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise MethodError(f"{file} cannot be read: {error}.") from None
    if others := content.keys() - _UV_KEYS:
        raise MethodError(
            f"{file}: unknown key {min(others)!r}.",
            f"Allowed are {', '.join(sorted(_UV_KEYS))}; all else, such as an index, is the "
            "user's to set.",
        )
    if places := [text for text in _texts(content) if _PLACE.search(text)]:
        raise MethodError(
            f"{file}: {places[0]!r} is an address or a path.",
            "Name packages of the index alone, such as 'numpy>=2'.",
        )
    return file


def _sets_uv(project: Path) -> bool:
    try:
        return "uv" in read_toml(project).get("tool", {})
    except (OSError, ValueError, AttributeError):
        return True  # nobody knows what uv makes of it


def _texts(value: object) -> Iterator[str]:
    """Return all texts in what a TOML file holds."""
    if isinstance(value, dict):
        value = [*value, *value.values()]
    if isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, str):
        yield value
