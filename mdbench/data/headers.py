"""One thread at a time reads NumPy's headers."""

from __future__ import annotations

import threading

__all__ = ["READING"]

READING = threading.RLock()
"""Held while an ``.npy`` or ``.npz`` file is read.

NumPy parses a header as a Python literal, and two threads that do so at once may both get a
SystemError (CPython issue 106905, mended in 3.11.8 and 3.12.2).
"""
