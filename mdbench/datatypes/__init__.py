"""The kinds of problems, found by looking at the folders in this one.

A folder with a module ``data_type`` is a data type of the folder's name; the module's ``DATA_TYPE``
is the class.  The folders that ``$MDBENCH_DATATYPES`` names (separated as in ``$PATH``) are looked
at, too.  What all data types share whose answers are equations is in ``equations``.
"""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mdbench.datatypes.facts import TypeFacts, names_in
from mdbench.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mdbench.datatypes.base import DataType

__all__ = ["classes", "facts_of", "find", "names", "own_names"]

__path__ = [*__path__, *filter(None, os.environ.get("MDBENCH_DATATYPES", "").split(os.pathsep))]


def names() -> list[str]:
    """Return the names of all data types, without importing any."""
    return list(_names(tuple(__path__)))


@cache
def _names(places: tuple[str, ...]) -> list[str]:
    return sorted(
        file.parent.name for place in places for file in Path(place).glob("*/data_type.py")
    )


def facts_of(name: str) -> TypeFacts:
    """Return the facts of a data type; its code is imported only if its folder has no ``FACTS``.

    Parameters
    ----------
    name
        One of `names`.
    """
    facts: TypeFacts | None = getattr(import_module(f"{__name__}.{name}"), "FACTS", None)
    if facts is not None:
        return facts
    kind = _class(name)
    return TypeFacts(kind.views, kind.families, kind.options)


def own_names(name: str, systems: Path, cache: Path) -> Sequence[str]:
    """Return the names of a data type's own datasets, as its source does.

    Where they follow from the files' names and heads it is not imported, and the rest of the files
    is not read.

    Raises
    ------
    UsageError
        If there is no such data type; as `find`.
    DataError
        If there are no systems, or if they cannot be read.
    """
    known = names_in(systems, facts_of(name)) if name in names() else None
    return known or find(name, systems, cache).source().names()


def classes(wanted: Iterable[str] | None = None) -> list[type[DataType[Any, Any]]]:
    """Return the classes of the data types that are wanted, or of all, in the order of their names.

    They are imported, and SciPy with them.
    """
    return [_class(name) for name in sorted(names() if wanted is None else wanted)]


def find(name: str, systems: Path, cache: Path) -> DataType[Any, Any]:
    """Open a data type by its name.

    Parameters
    ----------
    name
        One of `names`.
    systems
        The folder with the data files of its systems.
    cache
        A folder for arrays that are made on first use; need not exist yet.

    Raises
    ------
    UsageError
        If there is no such data type; shows near names.
    """
    if name not in names():
        raise UsageError(f"There is no data type {name!r}.", did_you_mean(name, names()))
    return _class(name)(systems, cache)


def _class(name: str) -> type[DataType[Any, Any]]:
    module = import_module(f"{__name__}.{name}.data_type")
    data_type: type[DataType[Any, Any]] = module.DATA_TYPE
    return data_type
