"""Where things are: the methods, the systems, and what is made from them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from mdbench.errors import UsageError


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
