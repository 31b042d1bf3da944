"""All modules that a method's adapter and its packages import and that its environment lacks."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from eqverdict.limited_process import PARSER_LOCK

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mdbench.methods import Method
    from mdbench.runtimes.base import Prepared

_MOST = 5_000
"""Modules that are looked at."""


def missing_modules(method: Method, prepared: Prepared) -> list[str]:
    """Return the top-level names that are imported and not there, in one pass.

    Modules are read and not run: those that the adapter imports when it is imported, those that
    these import, and so on.  Imports inside of functions, and those that a ``try`` expects to fail,
    do not count.

    Parameters
    ----------
    method
        The method.
    prepared
        Its environment; of one that is no folder here, such as a container's, nothing is known.

    Returns
    -------
    list of str
        In the order in which they would be met.
    """
    python = Path(prepared.command[0])
    folders = sorted((python.parent.parent / "lib").glob("python*/site-packages"))
    if not folders:
        return []
    return list(dict.fromkeys(_missing(method, folders[0])))


def _missing(method: Method, packages: Path) -> Iterator[str]:
    places = [method.folder, *method.used, packages]
    waiting = [(method.adapter, "")]
    seen = {method.adapter}
    while waiting and len(seen) < _MOST:
        file, package = waiting.pop(0)
        for name in _imports(file, package):
            top = name.partition(".")[0]
            if top in sys.stdlib_module_names or top == "mdbench":
                continue
            paths = _find(name, places)
            if not paths:
                yield top
            for path in paths:
                if path[0] not in seen:
                    seen.add(path[0])
                    waiting.append(path)


def _find(name: str, places: Sequence[Path]) -> list[tuple[Path, str]]:
    """Return the files of a module and of the packages that it is in; none if it is not there."""
    parts = name.split(".")
    for search_path in places:
        paths = []
        folder = search_path
        for depth, part in enumerate(parts):
            inner = ".".join(parts[: depth + 1])
            if (init := folder / part / "__init__.py").is_file():
                paths.append((init, inner))
            elif (folder / f"{part}.py").is_file():
                paths.append((folder / f"{part}.py", inner.rpartition(".")[0]))
            elif not depth and ((folder / part).is_dir() or any(folder.glob(f"{part}.*.so"))):
                return [(search_path / part, inner)]  # compiled, or without an __init__
            folder /= part
        if paths:
            return paths
        if any(search_path.glob(f"{parts[0]}.*so")):
            return [(search_path / parts[0], parts[0])]
    return []


def _imports(file: Path, package: str) -> Iterator[str]:
    """Yield the full names of the modules that a file imports when it is imported."""
    try:
        with PARSER_LOCK:
            tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return
    waiting: list[ast.stmt] = list(tree.body)
    while waiting:
        statement = waiting.pop(0)
        match statement:
            case ast.Import(names=names):
                yield from (each.name for each in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                above = package.split(".")[: len(package.split(".")) - level + 1] if level else []
                base = ".".join([*above, *([module] if module else [])])
                if base:
                    yield base
                    yield from (f"{base}.{each.name}" for each in names if level and not module)
            case ast.If(body=body, orelse=orelse) if not _for_types(statement.test):
                waiting = [*body, *orelse, *waiting]
            case ast.With(body=body) | ast.ClassDef(body=body):
                waiting = [*body, *waiting]


def _for_types(test: ast.expr) -> bool:
    """Whether a condition is that of imports for type checkers alone."""
    return "TYPE_CHECKING" in ast.dump(test)
