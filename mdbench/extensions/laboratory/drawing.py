"""Problems that nobody has seen: drawn by a seed whose hash can be published before it is."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from typing import TYPE_CHECKING, Any

import eqverdict
import mdbench
from mdbench import datatypes, methods
from mdbench.datatypes.equations.counted import counts_text
from mdbench.datatypes.facts import FRESH
from mdbench.errors import DataError, MethodError, UsageError
from mdbench.workspace import code_fingerprint, write_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
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
    _check_grammar(grammar)
    if not _SEED.fullmatch(seed):
        raise UsageError(
            f"--seed is {seed!r}.",
            "Give up to 64 small letters, digits and hyphens, such as 2026-12.",
        )
    return hashlib.sha256(f"mdbench fresh {grammar}\n{seed}".encode()).hexdigest()


def _check_grammar(grammar: int) -> None:
    if grammar not in GRAMMARS:
        raise UsageError(f"--grammar is {grammar}.", f"Give {' or '.join(map(str, GRAMMARS))}.")


def commit(
    seed: str | None, grammar: int, workspace: Workspace, event: str | None = None
) -> dict[str, Any]:
    """Return what is published first: hashes of the seed, the counts, and methods with their locks.

    Parameters
    ----------
    seed
        None where it is made later, from a number that nobody here controls.
    event
        The public event that this number comes from, in words.  Then the hash of the code of
        mdbench is published, too.

    Raises
    ------
    UsageError
        If it is no seed, or there is no such grammar.
    """
    frozen: dict[str, str] = {}
    for name, method in methods.discover(workspace.algorithms).items():
        with contextlib.suppress(MethodError):  # a broken one, which cannot be run
            if isinstance(method, methods.Method):
                frozen[name] = frozen_hash(method.fingerprint(), method.lock_sha256())
    if seed is None:
        _check_grammar(grammar)
        hashed = {"event": event, "code": code_fingerprint(mdbench, eqverdict)}
    else:
        hashed = {"commitment": commitment(seed, grammar)}
    if grammar > 1:
        hashed["counts"] = hashlib.sha256(counts_text().encode()).hexdigest()
    return {"schema": 1, "grammar": grammar, **hashed, "methods": frozen}


def frozen_hash(files: str, lock: str) -> str:
    """Return the hash by which a commitment names a method: of its files' and its lock's."""
    return hashlib.sha256(f"{files} {lock}".encode()).hexdigest()


def read_commitment(path: Path) -> dict[str, Any]:
    """Return what a file of ``--commit`` has.

    Raises
    ------
    DataError
        If it cannot be read, or is none.
    """
    try:
        published = json.loads(path.read_text(encoding="utf-8"))
        published["event" if "event" in published else "commitment"]  # one of them is there
        published["methods"] = dict(published["methods"])
        published["grammar"] = int(published["grammar"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(
            f"{path} is no commitment: {error!r}", "It is made by: mdbench lab fresh --commit"
        ) from None
    made: dict[str, Any] = published
    return made


def seed_of(path: Path, number: str | None) -> str:
    """Return the seed of a commitment to an event: 16 digits of a SHA-256.

    Parameters
    ----------
    number
        Of the event.  None until it is known: the seed is that of the file alone, which those who
        made the file could choose.
    """
    text = path.read_bytes() + ("" if number is None else f"\n{number.strip()}").encode()
    return hashlib.sha256(text).hexdigest()[:16]


def check_commitment(
    seed: str | None,
    path: Path,
    workspace: Workspace,
    grammar: int | None = None,
    number: str | None = None,
) -> tuple[str, int, list[str]]:
    """Compare a seed with what was published, or make it from that.

    Parameters
    ----------
    seed
        None where the file names an event.
    grammar
        The one that was asked for; None for that of the file.
    number
        Of the event.

    Returns
    -------
    str
        The seed.
    int
        The grammar.
    list
        What has changed since: methods, and `the code of mdbench`.

    Raises
    ------
    DataError
        If the file cannot be read, or is of another seed, grammar or counts.
    UsageError
        If there is no seed, or one next to an event, or a number without one.
    """
    published = read_commitment(path)
    of_file = published["grammar"]
    if grammar not in {None, of_file}:
        raise DataError(f"{path} is of grammar {of_file}.", f"Leave out --grammar {grammar}.")
    if "event" in published:
        if seed is not None:
            raise UsageError(
                f"{path} names an event, whose number makes the seed.",
                "Leave out --seed; give --number once it is known.",
            )
        seed, known = seed_of(path, number), None
        now = commit(None, of_file, workspace, published["event"])
    else:
        if seed is None or number is not None:
            raise UsageError(f"{path} is of a seed and names no event.", "Give --seed alone.")
        known = published["commitment"]
        now = commit(seed, of_file, workspace)
    if known != now.get("commitment"):
        raise DataError(
            f"{path} is not of the seed {seed!r} and grammar {of_file}.",
            f"Its hash is {str(known)[:16]}..., that of the seed {now['commitment'][:16]}...",
        )
    if published.get("counts") != now.get("counts"):
        raise DataError(
            f"{path} is of other counts than those of this version.",
            "Draw the problems with the version by which it was made.",
        )
    changed = _changed(published["methods"], now["methods"])
    if published.get("code") != now.get("code"):
        changed.append("the code of mdbench")
    return seed, of_file, changed


def _changed(frozen: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    return sorted(name for name, hashed in now.items() if frozen.get(name) != hashed)


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
