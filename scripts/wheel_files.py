"""What a wheel has besides the code: methods, datasets, pages; and its scorer's version."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDERS = ("algorithms", "datasets", "docker", "examples/methods/linear_c")


class ProjectFiles(BuildHookInterface):  # type: ignore[type-arg]
    """Puts the project's folders below ``mdbench/bundled``, and asks for the scorer's distribution.

    An editable install has the clone, where the scorer lies next to the package.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the folders and files, and where they are installed."""
        if version == "standard":
            root = Path(self.root)
            build_data["dependencies"].append(f"eqverdict=={self.metadata.version}")
            pages = [path.relative_to(root) for path in sorted((root / "docs").glob("*.md"))]
            for path in map(str, (*FOLDERS, *pages, "docs/data", "scripts/base-image")):
                build_data["force_include"][str(root / path)] = f"mdbench/bundled/{path}"
