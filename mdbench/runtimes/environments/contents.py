"""What may be in an environment that strangers have filled, looked at without running any of it.

A wheel, a build and a program that fetches may write what they like there.  The machine itself
then reads the tree, hashes it and shows it to workers, so nothing in it may lead out of it.

Needs the standard library only, as `mdbench.runtimes.environments.uv` does.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING
from unicodedata import category

from mdbench.errors import UnavailableError
from mdbench.installation import page

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_SETTINGS = "pyvenv.cfg"
_HIDDEN = {"Cc", "Cf", "Zl", "Zp"}
"""Kinds of characters that change how a terminal shows a name."""


@dataclass(frozen=True)
class Skeleton:
    """An environment as it was made, before any package was in it.

    Attributes
    ----------
    prefix
        Its folder.
    base
        The interpreter of the machine to which its own is a link.
    links
        Where its links led, by their paths.
    settings
        The content of its ``pyvenv.cfg``.
    """

    prefix: Path
    base: Path
    links: Mapping[str, str]
    settings: bytes

    @classmethod
    def read(cls, prefix: Path) -> Skeleton:
        """Read an environment that nobody else has written to.

        Raises
        ------
        UnavailableError
            If its interpreter is no link to one of the machine.
        """
        python = prefix / "bin" / "python"
        base = python.resolve()
        if not python.is_symlink() or base.is_relative_to(prefix.resolve()) or not base.is_file():
            raise UnavailableError(f"{python} is no link to an interpreter of this machine.")
        links = {
            entry.path: os.readlink(entry.path)  # noqa: PTH115 - of a DirEntry
            for entry in _walk(prefix)
            if entry.is_symlink()
        }
        return cls(prefix, base, links, (prefix / _SETTINGS).read_bytes())

    def check(self, who: str) -> None:
        """Refuse an environment in which something leads out of it.

        Its interpreter must be the link that it was, and its settings what they were.  All else is
        plain files, folders and links that stay inside, with names that can be printed.

        Parameters
        ----------
        who
            What is to blame, for the error.

        Raises
        ------
        UnavailableError
            Then; another try would end in the same way.
        """
        try:
            trouble = self._trouble()
        except OSError as error:
            trouble = f"it cannot be read: {error}"
        if trouble:
            raise UnavailableError(
                f"The environment of {who} is refused: {trouble}.",
                "Its packages, or the program that fetches for it, write what no environment may "
                f"have ({page('isolation')}, Environments).",
            )

    def _trouble(self) -> str:
        for path, target in self.links.items():
            if not os.path.islink(path) or os.readlink(path) != target:  # noqa: PTH114, PTH115
                return f"{os.path.relpath(path, self.prefix)} was replaced"
        settings = self.prefix / _SETTINGS
        if settings.is_symlink() or settings.read_bytes() != self.settings:
            return f"{_SETTINGS} was changed"
        return find_trap(self.prefix, self.links)


def find_trap(prefix: Path, links: Mapping[str, str] | None = None) -> str:
    """Return what in an environment is no plain file, folder or link inside; empty if nothing is.

    Parameters
    ----------
    links
        Links that may lead outside, by their paths; None to look at no links.
    """
    top = os.path.realpath(prefix)
    for entry in _walk(prefix):
        name = entry.path[len(str(prefix)) + 1 :]
        if not entry.name.isprintable() and _HIDDEN.intersection(map(category, entry.name)):
            return f"the name of {name!r} has control characters"
        mode = entry.stat(follow_symlinks=False).st_mode
        if stat.S_ISLNK(mode):
            if links is None or entry.path in links:
                continue
            if not f"{os.path.realpath(entry.path)}/".startswith(f"{top}/"):
                return f"the link {name} leads out of it"
        elif stat.S_ISREG(mode):
            if mode & (stat.S_ISUID | stat.S_ISGID):
                return f"{name} would run as another user (set-uid)"
        elif not stat.S_ISDIR(mode):
            return f"{name} is no file (but a pipe, socket or device)"
    return ""


def remove_bytecode(prefix: Path) -> None:
    """Remove the bytecode that packages brought along, which need not be of their sources."""
    for entry in list(_walk(prefix / "lib")):
        if entry.name.endswith(".pyc") and f"{os.sep}__pycache__{os.sep}" in entry.path:
            os.unlink(entry.path)  # noqa: PTH108 - of a DirEntry


def _walk(folder: Path) -> Iterator[os.DirEntry[str]]:
    """Return all entries below a folder; no link is followed."""
    pending = [str(folder)]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
                yield entry
