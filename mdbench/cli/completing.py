"""What a shell offers behind an option: names of methods, data types and datasets."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import typer  # noqa: TC002 - it reads these functions' annotations

from mdbench.errors import MdbenchError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["COMPLETIONS"]

_MOST = 500
"""Names that are offered."""


def _beginning(names: Iterable[str], with_: str) -> list[str]:
    return [name for name in names if name.startswith(with_)][:_MOST]


def _methods(context: typer.Context, incomplete: str) -> list[str]:
    del context
    from mdbench.methods import discover
    from mdbench.workspace import Workspace

    with suppress(MdbenchError):  # outside of a project there are none
        return _beginning(discover(Workspace.find().algorithms), incomplete)
    return []


def _data_types(context: typer.Context, incomplete: str) -> list[str]:
    del context
    from mdbench.datatypes import names

    return _beginning(names(), incomplete)


def _datasets(context: typer.Context, incomplete: str) -> list[str]:
    """Offer the names and groups of the data type that was given before."""
    from mdbench import datatypes
    from mdbench.workspace import Workspace

    given = context.params.get("data_type")
    with suppress(MdbenchError):
        place = Workspace.find()
        kinds = [given] if isinstance(given, str) else given or datatypes.names()
        found: list[str] = []
        for name in kinds:
            kind = datatypes.find(name, place.datasets / name, place.arrays / name)
            source = kind.source()
            found += [*source.groups(), *source.names()]
        return _beginning(dict.fromkeys(found), incomplete)
    return []


def _runtimes(context: typer.Context, incomplete: str) -> list[str]:
    del context
    return _beginning(("auto", "venv", "docker"), incomplete)


def _protocols(context: typer.Context, incomplete: str) -> list[str]:
    del context
    from mdbench.protocols import Protocol

    return _beginning(Protocol, incomplete)


def _languages(context: typer.Context, incomplete: str) -> list[str]:
    del context
    from mdbench.expressions.languages import LANGUAGES

    return _beginning(LANGUAGES, incomplete)


COMPLETIONS: dict[str, Callable[[typer.Context, str], list[str]]] = {
    "algorithm": _methods,
    "algorithms": _methods,
    "data_type": _data_types,
    "dataset": _datasets,
    "datasets": _datasets,
    "language": _languages,
    "runtime": _runtimes,
    "protocol": _protocols,
}
"""By the name of the parameter."""
