"""How the worker's code gets into a method's environment."""

from __future__ import annotations

from pathlib import Path

__all__ = ["WORKER_COMMAND", "lay_out_worker"]

WORKER_COMMAND = ("-s", "-B", "-m", "mdbench.worker")
"""Arguments of the method's Python: no user site, no bytecode written, and the worker's module."""

_WORKER = Path(__file__).resolve().parent.parent / "worker"


def lay_out_worker(folder: Path) -> Path:
    """Make a folder for PYTHONPATH from which ``mdbench.worker`` is imported, and nothing else.

    It is a real folder, so that processes which a method starts find the module too.
    """
    path = folder / "path"
    package = path / "mdbench"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "worker").symlink_to(_WORKER)
    return path
