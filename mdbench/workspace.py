"""The folders of methods, systems and what is made from them; files written whole or not at all."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from mdbench.errors import DataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Workspace:
    """The folders that a run reads and writes.

    Attributes
    ----------
    root
        The repository, or any folder with ``algorithms/`` and ``datasets/``.
    home
        Where environments and generated arrays are kept; nothing in it is irreplaceable.
    """

    root: Path
    home: Path

    @property
    def algorithms(self) -> Path:
        """The folder of methods."""
        return self.root / "algorithms"

    @property
    def datasets(self) -> Path:
        """The folder of systems, one folder a data type."""
        return self.root / "datasets"

    @property
    def arrays(self) -> Path:
        """The folder of generated arrays, one folder a data type."""
        return self.home / "data"

    @classmethod
    def find(cls) -> Workspace:
        """Find the workspace: ``$MDBENCH_ROOT``, else around this package, else from here up.

        Raises
        ------
        UsageError
            If there is none.
        """
        named = os.environ.get("MDBENCH_ROOT")
        here = Path.cwd()
        places = [Path(named)] if named else [Path(__file__).parent.parent, here, *here.parents]
        for place in places:
            if (place / "algorithms").is_dir() and (place / "datasets").is_dir():
                root = place.resolve()
                return cls(root, Path(os.environ.get("MDBENCH_HOME") or root / ".mdbench"))
        raise UsageError(
            f"No folder with algorithms/ and datasets/ at {places[0]}.",
            "Set MDBENCH_ROOT to the folder of the mdbench repository.",
        )


def write_whole(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Write a file under another name, and rename it when it is complete.

    Raises
    ------
    DataError
        If the folder cannot be made or written to.
    """
    unfinished = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with unfinished.open("xb") as file:
            write(file)
        unfinished.replace(path)
    except OSError as error:
        raise DataError(
            f"{path} cannot be written: {error.strerror or error}",
            "Name a folder that can be written to, with space on its disk.",
        ) from error
    finally:
        with suppress(OSError):
            unfinished.unlink()
