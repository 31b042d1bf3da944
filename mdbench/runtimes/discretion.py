"""Keeps where things lie on the user's machine out of what is handed on: logs and reasons."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Discretion"]


class Discretion:
    """Puts words in the place of the machine's folders.

    Parameters
    ----------
    names
        What to write for each folder; the user's own is ``~``.

    Examples
    --------
    >>> Discretion({Path("/opt/bench/algorithms"): "algorithms"}).text(
    ...     "/opt/bench/algorithms/sindy/adapter.py: no luck"
    ... )
    'algorithms/sindy/adapter.py: no luck'
    """

    def __init__(self, names: Mapping[Path, str]) -> None:
        pairs = {}
        for folder, name in {Path.home(): "~", **names}.items():
            for path in {str(folder.absolute()), os.path.realpath(folder)} - {"/"}:
                pairs[path] = name
        # The longest first, lest a folder above it is put in its place.
        self._pairs = sorted(pairs.items(), key=lambda pair: -len(pair[0]))

    def text(self, said: str) -> str:
        """Give a text without the folders' places."""
        for path, name in self._pairs:
            said = said.replace(path, name)
        return said

    def data(self, said: bytes) -> bytes:
        """Give bytes without the folders' places."""
        for path, name in self._pairs:
            said = said.replace(os.fsencode(path), name.encode())
        return said
