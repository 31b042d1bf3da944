"""What a wheel has besides the package: methods, datasets and Dockerfiles; see pyproject.toml."""

from __future__ import annotations

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ProjectFiles(BuildHookInterface):  # type: ignore[type-arg]
    """Puts the project's folders below ``share/mdbench``; an editable install has the clone."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the folders, and where they are installed."""
        if version == "standard":
            for folder in ("algorithms", "datasets", "docker"):
                build_data["shared_data"][folder] = f"share/mdbench/{folder}"
