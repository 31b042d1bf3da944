"""How mdbench was installed, as a clone or as a package, and what a user types and reads then."""

from __future__ import annotations

from pathlib import Path
from typing import Final

PACKAGE: Final = Path(__file__).resolve().parent
"""The folder of the code that runs."""
BUNDLED: Final = PACKAGE / "bundled"
"""The clone's folders inside an installed package: methods, datasets, pages, Dockerfiles."""


def is_clone(folder: Path) -> bool:
    """Return whether a folder is a clone: one with folders of the same names may be anybody's."""
    return all((folder / name).exists() for name in ("run.sh", "algorithms", "datasets"))


CLONE: Final = PACKAGE.parent if is_clone(PACKAGE.parent) else None
"""The clone whose code runs; None for an installed package, whatever lies next to that."""
_AS_A_PACKAGE: Final = {
    "./run.sh": "mdbench run",
    "./install.sh --cluster": "pip install 'mdbench-eqd[cluster]'",
    "./install.sh": "mdbench install",
    "scripts/lock": "mdbench install --lock",
    "scripts/base-image": f"sh {BUNDLED / 'scripts' / 'base-image'}",
}


def resource(name: str) -> Path:
    """Return a file or folder of a clone, or what an installed package has of it."""
    return (CLONE or BUNDLED) / name


def page(name: str) -> str:
    """Return the file of a page of the documentation, as a message names it."""
    return f"docs/{name}.md" if CLONE else str(BUNDLED / "docs" / f"{name}.md")


def command(line: str, *, clone: Path | None = CLONE) -> str:
    """Return a command of a clone as the user can type it.

    Examples
    --------
    >>> command("./install.sh --runtime docker", clone=None)
    'mdbench install --runtime docker'
    >>> command("./install.sh --cluster", clone=None)
    "pip install 'mdbench-eqd[cluster]'"
    """
    if clone is None:
        for own, packaged in _AS_A_PACKAGE.items():
            if line == own or line.startswith(f"{own} "):
                return packaged + line.removeprefix(own)
    return line
