"""Problems that nobody has seen: drawn by a seed whose hash can be published before it is."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from typing import TYPE_CHECKING, Any

from mdbench import datatypes, methods
from mdbench.datatypes.equations.counted import counts_text
from mdbench.datatypes.facts import FRESH
from mdbench.errors import DataError, MethodError, UsageError
from mdbench.workspace import write_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from mdbench.workspace import Workspace

GRAMMARS = (1, 2)
"""A new one is added whenever the same seed gives other problems; the last is the default."""
MANIFEST = "manifest.json"
_SEED = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")


def commitment(seed: str, grammar: int) -> str:
    """Return the hash that stands for a seed before it is shown: SHA-256 in hexadecimal digits.

    Raises
    ------
    UsageError
        If it is no seed, or there is no such grammar.
    """
    if grammar not in GRAMMARS:
        raise UsageError(f"--grammar is {grammar}.", f"Give {' or '.join(map(str, GRAMMARS))}.")
    if not _SEED.fullmatch(seed):
        raise UsageError(
            f"--seed is {seed!r}.",
            "Give up to 64 small letters, digits and hyphens, such as 2026-12.",
        )
    return hashlib.sha256(f"mdbench fresh {grammar}\n{seed}".encode()).hexdigest()


def commit(seed: str, grammar: int, workspace: Workspace) -> dict[str, Any]:
    """Return what is published first: hashes of the seed, the counts, and methods with their locks.

    Raises
    ------
    UsageError
        If it is no seed, or there is no such grammar.
    """
    frozen: dict[str, str] = {}
    for name, method in methods.discover(workspace.algorithms).items():
        with contextlib.suppress(MethodError):  # a broken one, which cannot be run
            if isinstance(method, methods.Method):
                whole = f"{method.fingerprint()} {method.lock_sha256()}"
                frozen[name] = hashlib.sha256(whole.encode()).hexdigest()
    hashed = {"commitment": commitment(seed, grammar)}
    if grammar > 1:
        hashed["counts"] = hashlib.sha256(counts_text().encode()).hexdigest()
    return {"schema": 1, "grammar": grammar, **hashed, "methods": frozen}


def check_commitment(
    seed: str, path: Path, workspace: Workspace, grammar: int | None = None
) -> tuple[int, list[str]]:
    """Compare a seed with what was published.

    Parameters
    ----------
    grammar
        The one that was asked for; None for that of the file.

    Returns
    -------
    int
        The grammar.
    list
        The methods that have changed since.

    Raises
    ------
    DataError
        If the file cannot be read, or is of another seed, grammar or counts.
    """
    try:
        published = json.loads(path.read_text(encoding="utf-8"))
        known, frozen = published["commitment"], dict(published["methods"])
        of_file = int(published["grammar"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"{path} is no commitment: {error!r}", "It is made by: mdbench lab fresh --commit"
        ) from None
    if grammar not in {None, of_file}:
        raise DataError(f"{path} is of grammar {of_file}.", f"Leave out --grammar {grammar}.")
    now = commit(seed, of_file, workspace)
    if known != now["commitment"]:
        raise DataError(
            f"{path} is not of the seed {seed!r} and grammar {of_file}.",
            f"Its hash is {str(known)[:16]}..., that of the seed {now['commitment'][:16]}...",
        )
    if published.get("counts") != now.get("counts"):
        raise DataError(
            f"{path} is of other counts than those of this version.",
            "Draw the problems with the version by which it was made.",
        )
    changed = (name for name, hashed in now["methods"].items() if frozen.get(name) != hashed)
    return of_file, sorted(changed)


def draw(
    seed: str,
    workspace: Workspace,
    kinds: Sequence[str],
    count: int | None,
    report: Callable[[str, int, int], None],
    *,
    grammar: int = GRAMMARS[-1],
) -> dict[str, Path]:
    """Draw the problems of some data types, and write them as suites of theirs.

    A suite that is there already is written again, byte by byte the same.

    Returns
    -------
    dict
        The folder of each data type's problems.
    """
    hashed = commitment(seed, grammar)
    folders: dict[str, Path] = {}
    for name in kinds:
        kind = datatypes.find(name, workspace.datasets / name, workspace.arrays / name)
        wanted = count or kind.fresh_problems
        folder = workspace.datasets / name / f"{FRESH}{seed}"
        files: dict[str, str] = {}
        for stem, text in kind.fresh(seed, wanted, grammar):
            files[f"{stem}.toml"] = hashlib.sha256(text.encode()).hexdigest()
            _write(folder / f"{stem}.toml", text)
            report(name, len(files), wanted)
        manifest = {"schema": 1, "grammar": grammar, "seed": seed, "commitment": hashed}
        _write(folder / MANIFEST, json.dumps(manifest | {"files": files}, indent=1) + "\n")
        for other in folder.glob("*.toml"):
            if other.name not in files:  # of a larger count before
                other.unlink()
        folders[name] = folder
    return folders


def _write(path: Path, text: str) -> None:
    write_whole(path, lambda file: file.write(text.encode()))
