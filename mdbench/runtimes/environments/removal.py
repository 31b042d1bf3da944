"""Removes all environments and images that were made here.

``./install.sh --clean`` uses this module where nothing is installed: standard library only.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from mdbench.errors import UnavailableError
from mdbench.runtimes.environments.docker_cli import docker
from mdbench.runtimes.environments.uv import discard, method_environments

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_LABEL = "--filter=label=mdbench=1"


def remove_all(home: Path, report: Callable[[str], None]) -> None:
    """Remove the methods' environments, our containers, and our images where Docker answers."""
    remove_environments(sorted(method_environments(home).glob("*")), report)
    if containers := _ask_docker("ps", "--all", "--quiet", _LABEL):
        _ask_docker("rm", "--force", "--volumes", *containers)
    # Labels are inherited: an image that somebody made from ours, under a name of theirs, stays.
    images = _ask_docker("image", "ls", _LABEL, "--format={{.Repository}}:{{.Tag}}")
    ours = [name for name in images if name.startswith("mdbench-")]
    for name in sorted(ours, key=_height):
        if _ask_docker("image", "rm", name):
            report(f"removed the image {name}")
    if images:
        _ask_docker("image", "prune", "--force", _LABEL)
    shutil.rmtree(home / "images", ignore_errors=True)  # what was learned of base images


def remove_environments(folders: list[Path], report: Callable[[str], None]) -> None:
    """Remove those folders that are environments of ours."""
    for folder in folders:
        if discard(folder, report):
            report(f"removed {folder}")


def _height(name: str) -> tuple[bool, bool]:
    """Sort a method's image before its environment, and that before the base under both."""
    return name.startswith("mdbench-base:"), name.startswith("mdbench-env-")


def _ask_docker(*arguments: str) -> list[str]:
    """Run a docker command and return the words that it prints, none where it fails."""
    try:
        return docker(list(arguments), "").split()
    except UnavailableError:
        return []
