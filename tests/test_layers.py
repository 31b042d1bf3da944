"""No package imports one of a layer above it (CONTRIBUTING.md)."""

from __future__ import annotations

import ast
import importlib.util
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from harness import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PACKAGE = ROOT / "mdbench"
TEMPLATE = PACKAGE / "authoring" / "template"

LAYERS = (
    {"errors", "installation", "startup", "worker"},
    {"doors", "workspace"},
    {"metrics", "data"},
    {"drawing"},
    {"datatypes"},
    {"method_spec", "records"},
    {"methods"},
    {"runtimes"},
    {"runs", "reports"},
    {"backends"},
    {"authoring", "api"},
    {"cli"},
    {"extensions"},
)
"""The packages, from the lowest; those of one layer do not import each other."""

ENTRY_POINTS = {
    "__init__": "the names of the public interface, imported on first use",
    "__main__": "python -m mdbench is the command",
}
"""Modules in no layer, and why they may import what they do."""

LAYER = {package: number for number, packages in enumerate(LAYERS) for package in packages}


@cache
def trees(folder: Path) -> dict[Path, ast.Module]:
    return {
        path: ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(folder.rglob("*.py"))
        if not path.is_relative_to(TEMPLATE)
    }


def imported(path: Path, tree: ast.Module) -> Iterator[str]:
    """Yield the full name of all that a module imports."""
    package = path.relative_to(ROOT).parent.parts
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join((*above, *filter(None, [node.module])))
            yield from (f"{module}.{each.name}" for each in node.names)


def package_of(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def own_imports() -> Iterator[tuple[Path, str]]:
    """Yield each module and the names that it imports from mdbench, without ``mdbench.``."""
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


def test_every_package_is_in_one_layer() -> None:
    assert {package_of(path) for path in trees(PACKAGE)} == set(LAYER) | set(ENTRY_POINTS)
    for lower, upper in pairwise(LAYERS):
        assert not lower & upper


def test_no_package_imports_from_its_own_layer_or_a_higher_one() -> None:
    found = [
        f"{path.relative_to(ROOT)} imports mdbench.{name}"
        for path, name in own_imports()
        if package_of(path) not in ENTRY_POINTS
        and package_of(path) != (other := name.partition(".")[0])
        and LAYER.get(other, len(LAYERS)) >= LAYER[package_of(path)]
    ]
    assert found == []


def test_the_worker_imports_nothing_else_of_mdbench() -> None:
    needed = {
        name.partition(".")[0] for path, name in own_imports() if package_of(path) == "worker"
    }
    assert needed <= {"worker"}


@pytest.mark.parametrize(
    ("module", "text", "names"),
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
def test_all_ways_to_import_are_seen(module: str, text: str, names: list[str]) -> None:
    assert list(imported(PACKAGE / module, ast.parse(text))) == names


def test_no_modules_import_each_other_in_a_circle() -> None:
    spec = importlib.util.spec_from_file_location(
        "bench_structure", ROOT / "benchmarks" / "bench_structure.py"
    )
    assert spec is not None
    assert spec.loader is not None
    structure = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(structure)
    assert structure.circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [{"a", "b", "c"}]
    graph = structure.imports()
    assert "mdbench.runs.job" in graph["mdbench.backends.local"]
    assert structure.circles(graph) == []


def test_nothing_imports_an_extension_nor_does_another() -> None:
    found = [
        f"{path.relative_to(ROOT)} imports mdbench.{name}"
        for path, name in own_imports()
        if name.startswith("extensions.")
        and name.split(".")[:2] != list(path.relative_to(PACKAGE).parts[:2])
    ]
    assert found == []
