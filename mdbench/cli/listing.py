"""``mdbench list``: the methods and the datasets."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rich import box
from rich.markup import escape
from rich.table import Table

from mdbench import datatypes, methods
from mdbench.errors import MethodError

if TYPE_CHECKING:
    from rich.console import Console

    from mdbench.workspace import Workspace

__all__ = ["show", "show_json"]


def show(workspace: Workspace, console: Console, data_type: str | None, *, names: bool) -> None:
    """Print all methods, then the datasets of each data type (by name if `names`)."""
    table = Table(box=box.SIMPLE_HEAD, title="Methods", title_justify="left")
    origins = methods.folders(workspace.algorithms)
    elsewhere = len(origins) > 1
    for column in ("name", "what it is", "data types", "view", "tuning", *["from"] * elsewhere):
        table.add_column(column)
    for name, method in methods.discover(workspace.algorithms).items():
        if isinstance(method, MethodError):
            table.add_row(escape(name), f"[red]broken:[/] {escape(str(method))}")
        elif data_type is None or data_type in method.spec.data_types:
            spec = method.spec
            origin = origins.get(method.folder.parent) or workspace.algorithms.name
            cells = (name, spec.title, ", ".join(spec.data_types), spec.view, spec.tuning, origin)
            table.add_row(*map(escape, cells[: len(table.columns)]))
    console.print(table)
    for kind in datatypes.names() if data_type is None else [data_type]:
        place = kind, workspace.datasets / kind, workspace.arrays / kind
        found = datatypes.own_names(*place)
        console.print(f"[bold]Datasets of data type {kind}:[/] {len(found)}")
        if names:
            source = datatypes.find(*place).source()
            grid = Table(box=None, show_header=False, padding=(0, 2))
            for name in found:
                grid.add_row(escape(name), escape(source.title(name)))
            console.print(grid)
        else:
            console.print(escape(", ".join(found)))


def show_json(workspace: Workspace, data_type: str | None) -> None:
    """Print all methods and datasets as JSON."""
    found: dict[str, Any] = {"schema": 1, "methods": [], "data_types": []}
    for name, method in methods.discover(workspace.algorithms).items():
        if isinstance(method, MethodError):
            found["methods"].append({"name": name, "broken": str(method)})
        elif data_type is None or data_type in method.spec.data_types:
            told = method.spec.model_dump(mode="json", by_alias=True, exclude={"schema_"})
            found["methods"].append(told | {"broken": None})
    for kind in datatypes.names() if data_type is None else [data_type]:
        source = datatypes.find(kind, workspace.datasets / kind, workspace.arrays / kind).source()
        named = [{"name": name, "title": source.title(name)} for name in source.names()]
        groups = {name: list(members) for name, members in source.groups().items()}
        found["data_types"].append({"name": kind, "datasets": named, "groups": groups})
    print(json.dumps(found, allow_nan=False))
