"""The identity of what scores: all code and all packages that lie between answer and score."""

from __future__ import annotations

import ast
import hashlib
import sys
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mdbench.data.cache import write_whole
from mdbench.errors import DataError
from mdbench.one_reader import READING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mdbench.datatypes.base import DataType

__all__ = ["digest", "scorer_of", "sources"]

_PACKAGES = ("mpmath", "numpy", "python-flint", "scipy", "sympy")
_ROOMS = ("expressions", "metrics", "data", "solvers", "datatypes/seam", "datatypes/shared")
_MODULES = (
    "children",
    "datatypes/base",
    "runs/anytime",
    "runs/attempt",
    "runs/choice",
    "runs/handover",
    "runs/judgement",
)
_DATATYPES = "mdbench.datatypes."
_HERE = Path(__file__).resolve().parent.parent


def scorer_of(kind: type[DataType[Any, Any]], home: Path) -> str:
    """Hash the source that scores answers of a data type, and the versions of what it uses.

    Comments, docstrings and layout make no difference.

    Parameters
    ----------
    home
        Where what was worked out is kept: it is looked up by the files' bytes.
    """
    with READING:
        return _scorer_of(kind, home)


@cache
def _scorer_of(kind: type[DataType[Any, Any]], home: Path) -> str:
    files = [(path.name, path.read_bytes()) for path in sources(kind)]
    raw = hashlib.sha256(repr(files).encode()).hexdigest()
    kept = home / "scorers" / raw
    try:
        code = kept.read_text(encoding="ascii")
    except OSError:
        code = digest(text for _, text in files)
        with suppress(DataError):
            write_whole(kept, lambda file: file.write(code.encode()))
    versions = "".join(f" {name}={metadata.version(name)}" for name in _PACKAGES)
    return hashlib.sha256(f"{code}{versions}".encode()).hexdigest()


def sources(kind: type[DataType[Any, Any]]) -> list[Path]:
    """List the files with the code that scores answers of a data type."""
    found = [
        path for room in (*_ROOMS, *kind.rooms) for path in sorted((_HERE / room).rglob("*.py"))
    ]
    found += [path for name in _MODULES if (path := _HERE / f"{name}.py").exists()]
    for each in kind.__mro__:  # a data type may be made from another
        name = getattr(sys.modules.get(each.__module__), "__file__", None)
        if name and each.__module__.startswith(_DATATYPES) and Path(name) not in found:
            found.append(Path(name))
    return found


def digest(texts: Iterable[bytes]) -> str:
    """Hash what the modules say, but for comments, docstrings and layout."""
    words: list[str] = []
    for text in texts:
        _spell(ast.parse(text), words)
    return hashlib.sha256("\0".join(words).encode("utf-8", "replace")).hexdigest()


def _spell(node: Any, words: list[str]) -> None:
    # Not by ast.dump, which differs between versions of Python: empty parts are passed over.
    if isinstance(node, ast.AST):
        words.append(type(node).__name__)
        for name, value in ast.iter_fields(node):
            if name != "kind" and value is not None and value != []:
                words.append(name)
                _spell(value, words)
    elif isinstance(node, list):
        for part in node:
            if not _is_docstring(part):
                _spell(part, words)
        words.append(";")
    else:
        words.append(repr(node))


def _is_docstring(node: Any) -> bool:
    match node:
        case ast.Expr(value=ast.Constant(value=str())):
            return True
    return False
