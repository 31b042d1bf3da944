"""Start a worker: ``python .../mdbench/worker ADAPTER_FOLDER [--no-fork]``.

Run by the interpreter of a method's environment, where mdbench is not installed.  This folder
is therefore loaded as ``mdbench.worker`` below an empty ``mdbench``, so that an adapter imports
its types by the same name as everywhere else, and finds nothing else of mdbench.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType


def _load_as_mdbench_worker(folder: Path) -> None:
    parent = ModuleType("mdbench")
    parent.__path__ = []
    sys.modules["mdbench"] = parent
    spec = importlib.util.spec_from_file_location(
        "mdbench.worker", folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    if spec is None or spec.loader is None:
        raise SystemExit(f"mdbench worker: {folder} is incomplete")
    package = importlib.util.module_from_spec(spec)
    sys.modules["mdbench.worker"] = package
    parent.worker = package  # type: ignore[attr-defined]
    spec.loader.exec_module(package)


if __name__ == "__main__":
    here = Path(__file__).resolve().parent
    sys.path[:] = [entry for entry in sys.path if entry and Path(entry).resolve() != here]
    _load_as_mdbench_worker(here)

    from mdbench.worker.serve import main

    sys.exit(main(sys.argv[1:]))
