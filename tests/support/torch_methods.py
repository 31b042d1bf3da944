"""The methods on PyTorch: their modules in this process, or all of them in one environment."""

from __future__ import annotations

import importlib
import sys
import tomllib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from harness import ROOT
from inside import SECONDS, inside

from mdbench.runtimes.environments.venvs import prepare
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from inside import Inside

ALGORITHMS = ROOT / "algorithms"
NAMES = ("dsr", "udsr", "eql")
"""Those that share the lock of deepmod, and so its environment."""


def specification(name: str) -> dict[str, Any]:
    """Read a method's method.toml."""
    return tomllib.loads((ALGORITHMS / name / "method.toml").read_text(encoding="utf-8"))


def folders(name: str) -> list[Path]:
    """Return a method's folder and those of the modules that it shares."""
    shared = specification(name).get("uses", ())
    return [ALGORITHMS / name, *(ALGORITHMS / "shared" / folder for folder in shared)]


@contextmanager
def modules(*places: Path) -> Iterator[Any]:
    """Yield a function that imports modules of these folders, and forget them afterwards."""
    paths = [str(place) for place in places]
    before = set(sys.modules)
    sys.path[:0] = paths
    try:
        yield importlib.import_module
    finally:
        for path in paths:
            sys.path.remove(path)
        for name in set(sys.modules) - before:
            file = getattr(sys.modules[name], "__file__", None) or ""
            if any(file.startswith(path) for path in paths):
                del sys.modules[name]


@contextmanager
def torch_inside(name: str, *, seconds: float = SECONDS) -> Iterator[Inside]:
    """Start a method in the one environment that all on PyTorch are tested in.

    No run may take longer than so many seconds.
    """
    lock = ALGORITHMS / "deepmod" / "requirements.lock"
    python = prepare(
        "deepmod", lock, specification("deepmod")["python"], Workspace.find().home
    ).python
    with inside(python, [*folders(name), ROOT], seconds=seconds) as process:
        yield process
