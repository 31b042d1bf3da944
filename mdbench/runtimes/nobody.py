"""Whether what root has made can be used by a user without rights, as whom jobs then run."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["NOBODY", "may_be_nobody"]

NOBODY = 65534
"""The number of the user, and of the group, that own nothing."""

_READ = stat.S_IROTH
_ENTER = stat.S_IROTH | stat.S_IXOTH
_PASS = stat.S_IXOTH


def may_be_nobody(whole: Iterable[Path], roots: Iterable[Path], *, same_place: bool) -> bool:
    """Tell whether root should let somebody without rights do the work.

    Parameters
    ----------
    whole
        Small folders, of which all is looked at.
    roots
        Environments, of which the top is looked at.
    same_place
        Whether they are found below the same folders then, which must let others pass.
    """
    if os.getuid() != 0:
        return False
    folders = [*whole, *roots]
    if same_place and not all(_has(each, _PASS) for one in folders for each in _above(one)):
        return False
    return all(map(_can_read_all, whole)) and all(
        _has(each, _ENTER) for one in roots for each in (one, one / "lib") if each.exists()
    )


def _above(folder: Path) -> set[Path]:
    return {*folder.absolute().parents, *folder.resolve().parents}


def _can_read_all(folder: Path) -> bool:
    for place, _, files in os.walk(folder):
        if not _has(place, _ENTER):
            return False
        if not all(_has(os.path.join(place, name), _READ) for name in files):  # noqa: PTH118
            return False
    return True


def _has(path: str | Path, rights: int) -> bool:
    with suppress(OSError):
        return os.stat(path).st_mode & rights == rights  # noqa: PTH116
    return False
