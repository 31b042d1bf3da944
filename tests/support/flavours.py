"""The ways in which workers are isolated, for tests that must hold for all of them."""

from __future__ import annotations

import os
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from harness import ROOT, HereRuntime, children

from mdbench.runtimes import bubblewrap
from mdbench.runtimes.docker import DockerRuntime
from mdbench.runtimes.environments.images import Images
from mdbench.runtimes.environments.locks import split_requirements
from mdbench.runtimes.job_folder import LOCK_FILE, PREFIX

if TYPE_CHECKING:
    from mdbench.runtimes.base import Runtime

FLAVOURS = ("plain", "bubblewrap", pytest.param("docker", marks=pytest.mark.engine))
"""Plain processes, bubblewrap's sandboxes, and containers."""
IN_TURN = pytest.mark.in_turn(among=FLAVOURS[:2])
"""The mark of tests that each run tries in containers, and in one of the other two."""


def each_run(flavour: str) -> list[Any]:
    """Return the ways of isolation, of which one without containers is tried in every run."""
    nightly = pytest.mark.nightly
    others = [pytest.param(each, marks=nightly) for each in FLAVOURS[:2] if each != flavour]
    return [flavour, *others, FLAVOURS[2]]


def numpy_lock() -> str:
    """Return a lock with NumPy alone."""
    whole = (ROOT / "algorithms" / "sindy" / "requirements.lock").read_text(encoding="utf-8")
    return split_requirements(whole)["numpy"]


def open_flavour(name: str, home: Path) -> Runtime:
    """Return a runtime of this flavour; the test is skipped where the machine has it not."""
    if name == "plain":
        return HereRuntime(wrapped=False)
    if name == "bubblewrap":
        if trouble := bubblewrap.why_unavailable():
            pytest.skip(f"no bubblewrap: {trouble}")
        return HereRuntime(wrapped=True)
    if no_engine := why_no_engine():
        pytest.skip(f"no Docker engine: {no_engine}")
    return DockerRuntime(home)


@cache
def why_no_engine() -> str | None:
    """Return why containers cannot be used here."""
    images = Images(Path(tempfile.gettempdir()))
    trouble = images.why_unavailable()
    if trouble is None and not images.has_local_base():
        return "no base image; type scripts/base-image"
    return trouble


def traces() -> list[str]:
    """Return what this process should not have left: processes, folders, containers, claims."""
    found = [f"process {pid}" for pid in children()]
    found += [
        str(path) for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*") if _is_ours(path)
    ]
    if why_no_engine() is None:
        import docker  # noqa: PLC0415 - only where there is an engine

        client = docker.from_env()
        for one in client.containers.list(
            all=True, filters={"label": "mdbench.owner"}, ignore_removed=True
        ):
            if f" {os.getpid()} " in one.labels["mdbench.owner"]:
                found.append(f"container {one.name}")
        client.close()
    return found


def _is_ours(path: Path) -> bool:
    """Whether this process holds the folder's claim; others' come and go meanwhile."""
    try:
        inode = (path / LOCK_FILE).stat().st_ino
    except OSError:
        return False
    for descriptor in Path("/proc/self/fd").iterdir():
        try:
            if descriptor.stat().st_ino == inode:
                return True
        except OSError:
            continue
    return False
