"""The kinds of problems, found by looking at the folders in this one.

A folder with a module ``data_type`` is a data type of the folder's name; the module's ``DATA_TYPE``
is the class.  The folders that ``$MDBENCH_DATATYPES`` names (separated as in ``$PATH``) are looked
at, too.  Extensions and installed packages name theirs in the group ``mdbench.datatypes`` of their
entry points: ``waves = my_package.waves.data_type:DATA_TYPE``.  What all data types share whose
answers are equations is in ``equations``.
"""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mdbench.datatypes.facts import TypeFacts, names_in
from mdbench.doors import Door

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mdbench.datatypes.base import DataType

__all__ = ["classes", "facts_of", "find", "is_known", "names", "own_names"]

__path__ = [*__path__, *filter(None, os.environ.get("MDBENCH_DATATYPES", "").split(os.pathsep))]


def names() -> list[str]:
    """Return the names of all data types, without importing any."""
    return sorted(_door(tuple(__path__)).names())


def is_known(name: str) -> bool:
    """Return whether there is a data type of this name; sooner than by `names`."""
    return name in _door(tuple(__path__))


@cache
def _door(folders: tuple[str, ...]) -> Door:
    own = {
        file.parent.name: f"{__name__}.{file.parent.name}.data_type:DATA_TYPE"
        for folder in folders
        for file in sorted(Path(folder).glob("*/data_type.py"))
    }
    return Door("mdbench.datatypes", "data type", own)


def facts_of(name: str) -> TypeFacts:
    """Return the facts of a data type; its code is imported only if its folder has no ``FACTS``.

    Parameters
    ----------
    name
        One of `names`.
    """
    reference = _door(tuple(__path__)).reference(name)
    package = f"{reference}".partition(":")[0].rpartition(".")[0]
    facts: TypeFacts | None = getattr(import_module(package), "FACTS", None) if package else None
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
    known = names_in(systems, facts_of(name)) if is_known(name) else None
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
    return _class(name)(systems, cache)


def _class(name: str) -> type[DataType[Any, Any]]:
    data_type: type[DataType[Any, Any]] = _door(tuple(__path__)).load(name)
    return data_type
