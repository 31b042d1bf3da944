"""Results of several places: folders, bundles and files of several people, read as one.

Of one results file the newest record of a case counts, as a run that goes on writes it.  Two files
may be of two clones: if a method was not the same in both, it is two methods to reports.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from mdbench import datatypes
from mdbench.errors import RecordsError, UsageError
from mdbench.records import PACKED, read_folder
from mdbench.reports.bundle import opened_all

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from mdbench.records import Record

Version = tuple[str, str]
"""The fingerprints of a method's folder and of its environment."""
_PART = re.compile(rf"(\.\d+)?{re.escape(PACKED)}$")


def read_places(places: Sequence[Path]) -> list[tuple[Path, Record]]:
    """Return all records of several places with their files, versions of a method apart.

    Raises
    ------
    UsageError
        As `read_folder`; or if the scores of two files are by different versions of the scorer.
    RecordsError
        As `read_folder` and `opened`; or if a score is none that a scorer gives.
    """
    with opened_all(places) as found:
        rows = []
        for asked_path, folder in found.items():
            base = folder if folder.is_dir() else folder.parent
            for path, record in read_folder(folder):
                # A bundle's files are gone when they are read: they are named by the bundle.
                inside = path.relative_to(base)
                rows.append((asked_path / inside if asked_path != folder else path, record))
    _refuse_impossible(rows)
    return distinguish(rows)


def _refuse_impossible(rows: Sequence[tuple[Path, Record]]) -> None:
    """Refuse scores that no scorer gives: results may be anybody's."""
    here = {record.data_type for _, record in rows if datatypes.is_known(record.data_type)}
    specs = {
        kind.name: {spec.name: spec for spec in kind.metrics} for kind in datatypes.classes(here)
    }
    for path, record in rows:
        known = specs.get(record.data_type, {})
        for name, value in record.metrics.items():
            if name in known and (why := known[name].why_impossible(value)):
                raise RecordsError(
                    f"{path}: the record {record.key[:8]} of {record.algorithm} on "
                    f"{record.dataset} has {name} = {value!r}; {why}.",
                    "It was not written by mdbench: remove this line, or the file.",
                )


def distinguish(rows: Sequence[tuple[Path, Record]]) -> list[tuple[Path, Record]]:
    """Name the versions of a method apart, where files have different ones.

    The version of a file is that of its newest record of the method: in one file a newer version
    replaces an older one.  The parts of a packed bundle (``NAME.jsonl.xz``, ``NAME.2.jsonl.xz``,
    ...) are one file.

    Raises
    ------
    UsageError
        If the scores of two files are by different versions of the scorer.
    """
    newest: dict[tuple[str, str], dict[Path, Record]] = defaultdict(dict)
    for path, record in rows:
        files, bundle = newest[record.data_type, record.algorithm], _bundle(path)
        other = files.get(bundle)
        if other is None or record.measured.started >= other.measured.started:
            files[bundle] = record
    if all(len(files) == 1 for files in newest.values()):
        return list(rows)
    _refuse_other_scorers(newest)
    labels = {
        (*names, path): label
        for names, files in newest.items()
        for path, label in _labels({path: _version(one) for path, one in files.items()}).items()
    }
    named = []
    for path, record in rows:
        label = labels[record.data_type, record.algorithm, _bundle(path)]
        named.append((path, record.as_version(label) if label else record))
    return named


def _bundle(path: Path) -> Path:
    return path.with_name(_PART.sub(PACKED, path.name))


def _version(record: Record) -> Version:
    parts = record.key_parts
    return parts.get("adapter", ""), parts.get("environment", "")


def _labels(versions: Mapping[Path, Version]) -> dict[Path, str]:
    """Return for each file a short name of its version; empty where all have the same."""
    if len({*versions.values()}) == 1:
        return dict.fromkeys(versions, "")
    return {
        path: hashlib.sha256(" ".join(version).encode()).hexdigest()[:7]
        for path, version in versions.items()
    }


def _refuse_other_scorers(newest: Mapping[tuple[str, str], Mapping[Path, Record]]) -> None:
    scorers: dict[str, dict[str, Path]] = defaultdict(dict)
    for (data_type, _), files in newest.items():
        for path, record in files.items():
            if record.answered:
                scorers[data_type].setdefault(record.provenance.scorer or "unknown", path)
    for data_type, found in scorers.items():
        if len(found) > 1:
            by = " and ".join(f"{path} by {scorer}" for scorer, path in sorted(found.items()))
            raise UsageError(
                f"Scores of {data_type} are of different versions of the scorer: {by}.",
                "Score the older ones by this version: mdbench rescore FOLDER (a bundle is "
                "unpacked with unzip before).",
            )


def versions(rows: Iterable[tuple[Path, Record]]) -> list[str]:
    """Return for each version of a method that is named apart which files it is of."""
    files: dict[str, set[str]] = defaultdict(set)
    for path, record in rows:
        if record.version:
            files[f"{record.algorithm} @{record.version}"].add(str(path))
    return [f"{name} is of {', '.join(sorted(of))}" for name, of in sorted(files.items())]


def conflicts(records: Iterable[Record]) -> list[str]:
    """Return what does not fit together in records that are shown as one.

    These are cases whose data differ, so that methods were not given the same.
    """
    data: dict[tuple[object, ...], set[str]] = defaultdict(set)
    for record in records:
        if "dataset" in record.key_parts:
            case = (
                record.data_type,
                record.dataset,
                record.snr_db,
                record.seed,
                record.protocol,
                *_given(record),
            )
            data[case].add(record.key_parts["dataset"])
    names = sorted({f"{case[1]}" for case, sums in data.items() if len(sums) > 1})
    if not names:
        return []
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")  # noqa: PLR2004 - names shown
    return [f"Records differ in their data, so that methods were not given the same: {shown}."]


def _given(record: Record) -> tuple[object, ...]:
    return record.view, repr(sorted(record.options.items()))


def other_scorers(records: Iterable[Record]) -> list[str]:
    """Return a remark for each data type whose scores are of several versions of the scorer."""
    answers: dict[str, Counter[str]] = defaultdict(Counter)
    for record in records:
        if record.answered:
            answers[record.data_type][record.provenance.scorer or "unknown"] += 1
    return [
        f"Scores of {data_type} are of different versions of the scorer: "
        f"{', '.join(f'{scorer} ({n})' for scorer, n in sorted(of.items()))}. "
        "To score all by this version: mdbench rescore FOLDER"
        for data_type, of in answers.items()
        if len(of) > 1
    ]
