"""What becomes of a field of a specification: its part of the key, its place in the record."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from mdbench.runs.options import Typed

__all__ = ["ALWAYS", "Kept", "declared", "level", "plain", "portable", "short"]

ALWAYS: Final = object()
"""No value of a field is left out of the key."""


def plain(value: Any) -> str:
    """Write a value in a key: texts and whole numbers as they are, all else as JSON."""
    if isinstance(value, str) or type(value) is int:  # of these there are very many
        return str(value)
    return json.dumps(value, sort_keys=True)


def short(value: float) -> str:
    """Write a number with six digits at most."""
    return f"{value:g}"


def portable(path: str | Path) -> Path:
    """Give a path from here on: a record tells nothing of the folders above."""
    return Path(os.path.relpath(path) if Path(path).is_absolute() else path)


def level(value: float | None) -> str:
    """Write a noise level."""
    return "clean" if value is None else short(value)


@dataclass(frozen=True)
class Kept:
    """What becomes of a field of a specification.

    Attributes
    ----------
    key
        The name of its part of the job's key; None where it cannot change the result.
    text
        Writes its value in the key.
    left_out
        A value that is not written: what nobody asks for changes no key.
    record
        Where its value stands in a record, with points between names; empty: in ``options``,
        under the field's own name.
    written
        Whether it is written there; else something else there tells of it.
    back
        Makes the value of what the record says there, unless that is null.
    asks
        Whether it belongs to the question: other values of the rest answer the same one.
    method
        The attribute of a `MethodSpec` whose value counts where there is none.
    access
        The access of a `MethodSpec` without which it has no value, whatever was asked for.
    usual
        What counts where a method has that access, and nothing was asked for.
    """

    key: str | None = None
    text: Callable[[Any], str] = plain
    left_out: Any = ALWAYS
    record: str = ""
    written: bool = True
    back: Callable[[Any], Any] = lambda value: value
    asks: bool = False
    method: str = ""
    access: str = ""
    usual: Any = None


def declared(*parts: Kept | Typed) -> dict[str, Any]:
    """Say in a field's metadata what becomes of it, and how it is typed."""
    return {type(part).__name__: part for part in parts}
