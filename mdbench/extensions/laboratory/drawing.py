"""Problems that nobody has seen: drawn by a seed whose hash can be published before it is."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from typing import TYPE_CHECKING, Any

from mdbench import datatypes, methods
from mdbench.datatypes.facts import FRESH
from mdbench.errors import DataError, MethodError, UsageError
from mdbench.workspace import write_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from mdbench.workspace import Workspace

GRAMMAR = 1
"""To be raised whenever the same seed gives other problems."""
MANIFEST = "manifest.json"
_SEED = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")


def commitment(seed: str) -> str:
    """Return the hash that stands for a seed before it is shown: SHA-256 in hexadecimal digits.

    Raises
    ------
    UsageError
        If it is no seed.
    """
    if not _SEED.fullmatch(seed):
        raise UsageError(
            f"--seed is {seed!r}.",
            "Give up to 64 small letters, digits and hyphens, such as 2026-12.",
        )
    return hashlib.sha256(f"mdbench fresh {GRAMMAR}\n{seed}".encode()).hexdigest()


def commit(seed: str, workspace: Workspace) -> dict[str, Any]:
    """Return what is published first: the seed's hash, and those of all methods and their locks."""
    frozen: dict[str, str] = {}
    for name, method in methods.discover(workspace.algorithms).items():
        with contextlib.suppress(MethodError):  # a broken one, which cannot be run
            if isinstance(method, methods.Method):
                whole = f"{method.fingerprint()} {method.lock_sha256()}"
                frozen[name] = hashlib.sha256(whole.encode()).hexdigest()
    return {"schema": 1, "grammar": GRAMMAR, "commitment": commitment(seed), "methods": frozen}


def check_commitment(seed: str, path: Path, workspace: Workspace) -> list[str]:
    """Compare a seed with what was published, and return the methods that have changed since.

    Raises
    ------
    DataError
        If the file cannot be read, or is of another seed or grammar.
    """
    try:
        published = json.loads(path.read_text(encoding="utf-8"))
        known, frozen = published["commitment"], dict(published["methods"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"{path} is no commitment: {error!r}", "It is made by: mdbench lab fresh --commit"
        ) from None
    now = commit(seed, workspace)
    if known != now["commitment"]:
        raise DataError(
            f"{path} is not of the seed {seed!r} and grammar {GRAMMAR}.",
            f"Its hash is {str(known)[:16]}..., that of the seed {now['commitment'][:16]}...",
        )
    return sorted(name for name, hashed in now["methods"].items() if frozen.get(name) != hashed)


def draw(
    seed: str,
    workspace: Workspace,
    kinds: Sequence[str],
    count: int | None,
    report: Callable[[str, int, int], None],
) -> dict[str, Path]:
    """Draw the problems of some data types, and write them as suites of theirs.

    A suite that is there already is written again, byte by byte the same.

    Returns
    -------
    dict
        The folder of each data type's problems.
    """
    hashed = commitment(seed)
    folders: dict[str, Path] = {}
    for name in kinds:
        kind = datatypes.find(name, workspace.datasets / name, workspace.arrays / name)
        wanted = count or kind.fresh_problems
        folder = workspace.datasets / name / f"{FRESH}{seed}"
        files: dict[str, str] = {}
        for stem, text in kind.fresh(seed, wanted):
            files[f"{stem}.toml"] = hashlib.sha256(text.encode()).hexdigest()
            _write(folder / f"{stem}.toml", text)
            report(name, len(files), wanted)
        manifest = {"schema": 1, "grammar": GRAMMAR, "seed": seed, "commitment": hashed}
        _write(folder / MANIFEST, json.dumps(manifest | {"files": files}, indent=1) + "\n")
        for other in folder.glob("*.toml"):
            if other.name not in files:  # of a larger count before
                other.unlink()
        folders[name] = folder
    return folders


def _write(path: Path, text: str) -> None:
    write_whole(path, lambda file: file.write(text.encode()))
