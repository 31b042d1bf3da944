"""Small datasets, and what is cut of them for jobs, are remembered: others will need them again."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

T = TypeVar("T")

__all__ = ["Recall"]

_LARGEST = 2**20
"""Bytes of one of them beyond which it is made or read again."""
_ROOM = 128 * 2**20
"""Bytes of all that are remembered together."""


class Recall(Generic[T]):
    """Data by what they are asked for with; may be used from several threads."""

    def __init__(self) -> None:
        self._known: dict[Hashable, T] = {}
        self._left = _ROOM

    def get(self, asked: Hashable, make: Callable[[], T]) -> T:
        """Give what was asked for, making it where it is not remembered."""
        known = self._known.get(asked)
        if known is not None:
            return known
        made = make()
        size = _bytes_of(made)
        if size <= min(_LARGEST, self._left):
            self._left -= size
            self._known[asked] = made
        return made


def _bytes_of(value: Any) -> int:
    """Count the bytes of all arrays in it; what is no array and holds none counts nothing.

    Arrays that are made only when they are asked for are not looked at, so what holds them is
    taken for large.
    """
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, dict):
        return sum(_bytes_of(part) for part in value.values())
    if isinstance(value, list | tuple):
        return sum(_bytes_of(part) for part in value)
    if is_dataclass(value) and not isinstance(value, type):
        return sum(_bytes_of(getattr(value, each.name)) for each in fields(value))
    if value is None or isinstance(value, str | int | float | bool | Path):
        return 0
    return _LARGEST + 1
