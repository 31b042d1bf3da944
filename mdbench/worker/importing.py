"""Imports an adapter, and looks at what its import has left behind.

A child that is forked from a worker shares the worker's open files, the memory that it shares with
others, and what its threads do: by these, one job could tell another what it knows.
"""

from __future__ import annotations

import importlib.util
import os
import stat
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from .supervise import children

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["import_adapter", "open_files", "what_it_left"]


def import_adapter(folder: Path, uses: list[str]) -> type:
    """Give the class ``Adapter`` of a method's folder.

    Raises
    ------
    ImportError, TypeError
        If there is none; and whatever else the import of a method may raise.
    """
    shared = folder.parent / "shared"
    sys.path[:0] = [str(folder), *(str(shared / name) for name in uses)]
    spec = importlib.util.spec_from_file_location("adapter", folder / "adapter.py")
    if spec is None or spec.loader is None:
        raise ImportError(f"{folder / 'adapter.py'} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    sys.modules["adapter"] = module
    spec.loader.exec_module(module)
    try:
        adapter = module.Adapter
    except AttributeError:
        raise ImportError(f"{folder / 'adapter.py'} has no class Adapter") from None
    if not isinstance(adapter, type):
        raise TypeError(f"Adapter in {folder / 'adapter.py'} is no class")
    return adapter


def open_files() -> set[int]:
    """Give the descriptors that are open, but for devices, which remember nothing."""
    found = set()
    names: list[str] = []
    with suppress(OSError):
        names = os.listdir("/proc/self/fd")
    for name in names:
        with suppress(OSError):
            if not stat.S_ISCHR(os.fstat(int(name)).st_mode):
                found.add(int(name))
    return found


def what_it_left(before: set[int]) -> str:
    """Say what would go from job to job after the import of an adapter; empty for nothing.

    Threads of native libraries are none of it: they are not there after a fork.

    Parameters
    ----------
    before
        The files that were open before it.
    """
    found = {
        "thread": len(sys._current_frames()) - 1,  # noqa: SLF001 - those of no module, too
        "process": len(children()),
        "open file": len(open_files() - before),
        "shared memory": _shared_memory(),
    }
    return ", ".join(f"{name} ({number})" for name, number in found.items() if number)


def _shared_memory() -> int:
    """Count the pieces of memory that a fork goes on sharing; those of devices are none."""
    with suppress(OSError), open("/proc/self/maps", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
        shared = [line.split(maxsplit=5) for line in file if line.split(maxsplit=2)[1] == "rw-s"]
        device = ("/dev/", "anon_inode:")
        memory = ("/dev/shm", "/dev/zero")  # noqa: S108 - as the kernel calls it
        return sum(
            not parts[5:] or not parts[5].startswith(device) or parts[5].startswith(memory)
            for parts in shared
        )
    return 0
