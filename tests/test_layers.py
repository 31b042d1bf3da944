"""No package imports one of a layer above it (CONTRIBUTING.md)."""

from __future__ import annotations

import ast
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from house import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PACKAGE = ROOT / "mdbench"
TEMPLATE = PACKAGE / "authoring" / "template"

FLOORS = (
    {"errors", "worker"},
    {"limited_process", "workspace"},
    {"metrics", "data", "expressions"},
    {"drawing"},
    {"datatypes"},
    {"methods", "records"},
    {"runtimes", "language_models"},
    {"runs", "reports"},
    {"backends"},
    {"authoring", "api", "derivations"},
    {"cli"},
)
"""The packages, from the lowest; those of one layer do not know each other."""

DOORS = {
    "__init__": "the package's own names are those of its interface, got on first use",
    "__main__": "python -m mdbench is the command",
}
"""Modules in no room, and why they may import what they do."""

FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}


@cache
def trees(folder: Path) -> dict[Path, ast.Module]:
    return {
        path: ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(folder.rglob("*.py"))
        if not path.is_relative_to(TEMPLATE)
    }


def imported(path: Path, tree: ast.Module) -> Iterator[str]:
    """Give all that a module imports, by its full name."""
    package = path.relative_to(ROOT).parent.parts
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join((*above, *filter(None, [node.module])))
            yield from (f"{module}.{each.name}" for each in node.names)


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def own_imports() -> Iterator[tuple[Path, str]]:
    """Give each module, and what it imports of mdbench's rooms, without ``mdbench.``."""
    for path, tree in trees(PACKAGE).items():
        for name in imported(path, tree):
            package, _, rest = name.partition(".")
            if package == "mdbench" and rest not in {"", "__version__"}:
                yield path, rest


def test_nothing_private_is_imported_by_another_module() -> None:
    for path, tree in trees(PACKAGE).items():
        for name in imported(path, tree):
            private = [
                word for word in name.split(".") if word.startswith("_") and word.strip("_") == word
            ]
            assert not private, f"{path.relative_to(ROOT)} imports {name}"


def test_every_room_has_its_floor() -> None:
    assert {room(path) for path in trees(PACKAGE)} == set(FLOOR) | set(DOORS)
    for lower, upper in pairwise(FLOORS):
        assert not lower & upper


def test_no_room_imports_a_higher_one() -> None:
    found = [
        f"{path.relative_to(ROOT)} imports mdbench.{name}"
        for path, name in own_imports()
        if room(path) not in DOORS
        and room(path) != (other := name.partition(".")[0])
        and FLOOR.get(other, len(FLOORS)) >= FLOOR[room(path)]
    ]
    assert found == []


def test_the_worker_needs_nothing_of_the_house() -> None:
    needed = {name.partition(".")[0] for path, name in own_imports() if room(path) == "worker"}
    assert needed <= {"worker"}


@pytest.mark.parametrize(
    ("place", "text", "names"),
    [
        (
            "runs/a.py",
            "from mdbench.data import csv, field",
            ["mdbench.data.csv", "mdbench.data.field"],
        ),
        ("runs/a.py", "import mdbench.api as b", ["mdbench.api"]),
        ("runs/a.py", "from .spec import JobSpec", ["mdbench.runs.spec.JobSpec"]),
        ("runs/a.py", "def f():\n    from .. import api", ["mdbench.api"]),
        ("datatypes/ode/a.py", "from ..base import _x", ["mdbench.datatypes.base._x"]),
    ],
)
def test_all_ways_to_import_are_seen(place: str, text: str, names: list[str]) -> None:
    assert list(imported(PACKAGE / place, ast.parse(text))) == names
