"""Which kernel NumPy's BLAS chose for this processor, and how many threads it uses.

The last digits of whatever is multiplied hang on both.  A package for this is in few
environments, so the library that NumPy has loaded is asked itself.
"""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from typing import Any

import numpy as np

__all__ = ["kernel_and_threads"]

_PREFIXES = ("scipy_openblas", "openblas")
_SUFFIXES = ("64_", "")


def kernel_and_threads() -> tuple[str | None, int | None]:
    """Ask NumPy's OpenBLAS; None and None where it is another library, which tells nobody.

    It takes a millisecond.
    """
    for path in _libraries():
        with suppress(OSError, UnicodeDecodeError):
            library = ctypes.CDLL(path)
            for name in (f"{prefix}_get_{{}}{end}" for prefix in _PREFIXES for end in _SUFFIXES):
                kernel = getattr(library, name.format("corename"), None)
                threads = getattr(library, name.format("num_threads"), None)
                if kernel is not None and threads is not None:
                    return _text(kernel), int(threads())
    return None, None


def _text(function: Any) -> str:
    function.restype = ctypes.c_char_p
    return str(function().decode("ascii"))[:50]


def _libraries() -> list[str]:
    """Give the BLAS libraries that this process has loaded; NumPy's own come first."""
    found: dict[str, None] = {}
    with suppress(OSError), open("/proc/self/maps", encoding="utf-8") as file:  # noqa: PTH123
        for line in file:
            path = line.split(maxsplit=5)[5:]
            if path and "blas" in os.path.basename(path[0]).lower():  # noqa: PTH119
                found[path[0].strip()] = None
    own = os.path.dirname(os.path.dirname(np.__file__))  # noqa: PTH120
    return sorted(found, key=lambda path: not path.startswith(f"{own}/numpy"))
