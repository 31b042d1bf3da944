"""What is known of a data type without importing its code.

A data type's own code brings solvers and more, which takes a second to import.  To list methods
and datasets, to check a ``method.toml`` and to print a help, its facts are enough: the module
``facts`` of its folder has them as ``FACTS``, and the data type's class takes them from there.
"""

from __future__ import annotations

import tomllib
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from mdbench.datatypes.seam.questions import Option

__all__ = ["TypeFacts", "names_in"]


@dataclass(frozen=True)
class TypeFacts:
    """What a data type is for those that have only its name.

    Attributes
    ----------
    views, families, options
        As `mdbench.datatypes.base.DataType` has them.
    order
        Gives what the systems in the data type's own folder are sorted by: of a file's name
        without its ending, and of the keys above the file's first table.  None where the names of
        its datasets do not follow from the files alone.
    alone
        Endings of files that are systems without a TOML file, too.
    """

    views: tuple[str, ...]
    families: tuple[str, ...] = ()
    options: tuple[Option, ...] = ()
    order: Callable[[str, Mapping[str, Any]], tuple[Any, ...]] | None = None
    alone: tuple[str, ...] = ()


def names_in(folder: Path, facts: TypeFacts) -> list[str] | None:
    """Give the names of the systems in a folder, in order; of the files only the heads are read.

    None where that does not say it: the data type's own code then knows what is wrong, if anything.
    """
    if facts.order is None:
        return None
    keys = {}
    try:
        for file in (
            each for ending in (*facts.alone, ".toml") for each in folder.glob(f"*{ending}")
        ):
            name = unicodedata.normalize("NFC", file.stem)
            said = _head(file.read_text(encoding="utf-8")) if file.suffix == ".toml" else {}
            keys[name] = facts.order(name, said)
        return sorted(keys, key=keys.__getitem__)
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None


def _head(text: str) -> dict[str, Any]:
    """Read what stands above the first table of a TOML file."""
    try:
        return tomllib.loads(text.partition("\n[")[0])
    except tomllib.TOMLDecodeError:  # the bracket was inside a text or a list
        return tomllib.loads(text)
