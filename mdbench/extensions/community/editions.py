"""Editions of a board: what it was made of, and what differs between two."""

from __future__ import annotations

import csv
import hashlib
import json
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from mdbench import __version__
from mdbench.errors import UsageError
from mdbench.runs.record import commit_of_clone

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from mdbench.records import Record

EDITION: Final = "edition.json"
TABLE: Final = "records.csv"
FORMAT: Final = 1
_FOLDERS: Final = ("bundles", "audits", "withdrawals")
_ALONE: Final = ("allowed_signers", "study.toml")
_WHICH: Final = ("data_type", "method", "system", "part", "snr_db", "seed", "division", "bundles")
_WHAT: Final = ("trust", "status", "score", "data")


def edition_of(registry: Path, records: Iterable[Record]) -> dict[str, Any]:
    """Return what a board is made of: files, data, scorers and code.

    Parameters
    ----------
    registry
        The folder.
    records
        All records of the board.
    """
    data: dict[str, set[str]] = defaultdict(set)
    scorers: dict[str, set[str]] = defaultdict(set)
    for record in records:
        data[record.data_type].add(f"{record.system} {record.key_parts.get('dataset', '')}")
        scorers[record.data_type].add(record.provenance.scorer or "unknown")
    names = [path.name for folder in _FOLDERS for path in (registry / folder).glob("*.*")]
    pairs = [
        (path.name, _sha256(path.read_bytes()))
        for path in map(registry.joinpath, _ALONE)
        if path.is_file()
    ]
    return {
        "schema": FORMAT,
        "mdbench": __version__,
        "commit": commit_of_clone().get("commit", ""),
        "scorers": {name: " ".join(sorted(own)) for name, own in sorted(scorers.items())},
        "data": {n: _sha256("\n".join(sorted(own)).encode()) for n, own in sorted(data.items())},
        "settings": dict(pairs),
        "files": sorted(names),
    }


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@dataclass(frozen=True)
class Difference:
    """What differs between two editions of a board.

    Attributes
    ----------
    pins
        What they were made of, by name: before and after.
    added, removed
        The files of the registry.
    results
        By method and what happened to it, how many results: ``added``, ``removed``, and of those
        that both have which of class, status, score and data is another.
    """

    pins: Mapping[str, tuple[str, str]]
    added: Sequence[str]
    removed: Sequence[str]
    results: Mapping[tuple[str, str], int]

    def lines(self) -> list[str]:
        """Return all of it as lines to read."""
        return [
            *(
                f"{name}: {old or 'none'} -> {new or 'none'}"
                for name, (old, new) in self.pins.items()
            ),
            *(f"added {name}" for name in self.added),
            *(f"removed {name}" for name in self.removed),
            *(f"{method}: {number} {what}" for (method, what), number in self.results.items()),
        ]


def difference(before: Path, after: Path) -> Difference:
    """Compare two editions of a board.

    Parameters
    ----------
    before, after
        The folders of two sites.

    Raises
    ------
    UsageError
        If one of them is none.
    """
    old, new = _read(before), _read(after)
    pins = {
        name: (old_pins.get(name, ""), new_pins.get(name, ""))
        for old_pins, new_pins in [(_pins(old), _pins(new))]
        for name in sorted(old_pins.keys() | new_pins.keys())
        if old_pins.get(name) != new_pins.get(name)
    }
    rows = _rows(before), _rows(after)
    results: Counter[tuple[str, str]] = Counter()
    for which in rows[0].keys() | rows[1].keys():
        sides = [sorted(side.get(which, [])) for side in rows]
        method = which[1]
        if not sides[0] or not sides[1]:
            results[method, "added" if sides[1] else "removed"] += max(map(len, sides))
            continue
        for one, other in zip(*sides, strict=False):
            for name, value, later in zip(_WHAT, one, other, strict=True):
                results[method, f"with another {name}"] += value != later
    files = {*old["files"]}, {*new["files"]}
    return Difference(
        pins,
        sorted(files[1] - files[0]),
        sorted(files[0] - files[1]),
        {key: number for key, number in sorted(results.items()) if number},
    )


def _read(site: Path) -> dict[str, Any]:
    hint = "Name the folders of two sites of mdbench registry board."
    try:
        content: dict[str, Any] = json.loads((site / EDITION).read_bytes())
        if content["schema"] != FORMAT:
            raise UsageError(f"{site} has an edition of format {content['schema']}.", hint)
        _pins(content), {*content["files"]}
    except OSError as error:
        raise UsageError(f"{site} has no {EDITION}: {error.strerror}.", hint) from None
    except (ValueError, LookupError, TypeError, AttributeError):
        raise UsageError(f"{site / EDITION} is damaged.", hint) from None
    return content


def _pins(edition: Mapping[str, Any]) -> dict[str, str]:
    """Return what an edition pins, by name."""
    pins = {name: str(edition[name]) for name in ("mdbench", "commit")}
    for group, what in (("scorers", "scorer of"), ("data", "data of"), ("settings", "")):
        pins |= {f"{what} {name}".strip(): str(value) for name, value in edition[group].items()}
    return pins


def _rows(site: Path) -> dict[tuple[str, ...], list[tuple[str, ...]]]:
    rows: dict[tuple[str, ...], list[tuple[str, ...]]] = defaultdict(list)
    try:
        with (site / TABLE).open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                rows[tuple(row[name] for name in _WHICH)].append(tuple(row[n] for n in _WHAT))
    except (OSError, ValueError, LookupError, csv.Error) as error:
        raise UsageError(f"{site / TABLE} cannot be read: {error}.") from None
    return rows
