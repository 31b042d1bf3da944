"""One thread at a time has text read as Python."""

from __future__ import annotations

import threading

__all__ = ["READING"]

READING = threading.RLock()
"""Held while text is turned into Python's syntax tree, by whichever library.

NumPy reads the header of an ``.npy`` or ``.npz`` file as a Python literal, packaging so reads
the strings in a requirement's markers, and the systems' equations are parsed by ``ast``.  Two
threads that do so at once may both get a SystemError (CPython issue 106905, mended in 3.11.8 and
3.12.2).
"""
