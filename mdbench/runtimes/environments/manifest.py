"""What is in an environment that was made: written down, made read-only, and looked at before use.

The list lies beside the environment.  A look compares names, sizes and times, of which the last
change of a file's status cannot be set back; what differs there is hashed.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["change", "forget", "seal", "unseal"]


def seal(prefix: Path, *, but: str) -> None:
    """Take the right to write from all in an environment, and list it.

    Parameters
    ----------
    prefix
        The environment.
    but
        The name of a file at its top that is none of it.
    """
    for entry in _entries(prefix, but, folders=True):
        if not entry.is_symlink():
            mode = entry.stat().st_mode
            os.chmod(entry.path, stat.S_IMODE(mode) & ~0o222)  # noqa: PTH101 - of a DirEntry
    found = {_name(entry, prefix): [*_look(entry), _hash(entry)] for entry in _entries(prefix, but)}
    _write(prefix, found)


def change(prefix: Path, *, but: str) -> str:
    """Say how an environment differs from what was made; empty if it does not."""
    try:
        listed: dict[str, list[Any]] = json.loads(_list(prefix).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return "there is no list of what was made"
    touched = False
    missing = set(listed)
    for entry in _entries(prefix, but):
        name = _name(entry, prefix)
        if name not in listed:
            return f"{name} was added"
        missing.discard(name)
        *known, content = listed[name]
        now = _look(entry)
        if now != known:
            if _hash(entry) != content:
                return f"{name} was changed"
            touched = True
            listed[name] = [*now, content]
    if missing:
        return f"{min(missing)} is missing"
    if touched:
        with suppress(OSError):
            _write(prefix, listed)
    return ""


def unseal(prefix: Path) -> None:
    """Let its owner write the folders of an environment again, so that it can be removed."""
    for folder, _, _ in os.walk(prefix):
        with suppress(OSError):
            os.chmod(folder, os.stat(folder).st_mode | 0o700)  # noqa: PTH101, PTH116


def forget(prefix: Path) -> None:
    """Remove the list."""
    _list(prefix).unlink(missing_ok=True)


def _list(prefix: Path) -> Path:
    return prefix.with_name(f"{prefix.name}.files")


def _write(prefix: Path, found: dict[str, list[Any]]) -> None:
    new = _list(prefix).with_suffix(f".{os.getpid()}")
    new.write_text(json.dumps(found), encoding="utf-8")
    new.replace(_list(prefix))


def _entries(prefix: Path, but: str, *, folders: bool = False) -> Iterator[os.DirEntry[str]]:
    pending = [str(prefix)]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                if entry.name == but and os.path.dirname(entry.path) == str(prefix):  # noqa: PTH120
                    continue
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
                    if folders:
                        yield entry
                else:
                    yield entry


def _name(entry: os.DirEntry[str], prefix: Path) -> str:
    return os.path.relpath(entry.path, prefix).encode("utf-8", "replace").decode()


def _look(entry: os.DirEntry[str]) -> list[int]:
    status = entry.stat(follow_symlinks=False)
    return [status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]


def _hash(entry: os.DirEntry[str]) -> str:
    if entry.is_symlink():
        return f"-> {os.readlink(entry.path)}"  # noqa: PTH115
    if not entry.is_file(follow_symlinks=False):
        return "no file"
    with Path(entry.path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
