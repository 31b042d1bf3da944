"""Where sequences come from: configurations of a generator, or files of examples."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
from abc import abstractmethod
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import sympy

from eqverdict.limited_process import PARSER_LOCK
from mdbench.data.descriptions import refuse_other_files
from mdbench.datatypes.base import NO_OPTIONS, Dataset, Source
from mdbench.datatypes.derivation.datasets import MadeExamples, make_all, read_all
from mdbench.datatypes.derivation.scores import SETS, SequenceRows
from mdbench.datatypes.derivation.settings import GENERATORS, GeneratorSettings, read_settings
from mdbench.errors import DataError, UsageError, did_you_mean
from mdbench.installation import page
from mdbench.workspace import read_toml, write_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from mdbench.datatypes.facts import Protocol

_SPLITS = ("train", "validation", "test")
_FURTHER_FILES = ("examples.json.gz", "classes.json")


@dataclass(frozen=True, eq=False)
class Sequences(Dataset):
    """All sequences of a configuration, each split in an order without information.

    Attributes
    ----------
    classes
        By set, the class of each example: of what both candidates begin with.  The perturbed sets
        have those of the static one.
    file
        The compressed records of its examples.
    """

    settings: GeneratorSettings
    rows: Mapping[str, SequenceRows] = field(repr=False)
    classes: Mapping[str, Sequence[str]] = field(repr=False)
    file: Path = field(repr=False)


def open_source(path: Path, cache: Path, report: Callable[[str], None]) -> Source[Sequences]:
    """Open configurations, or files of examples.

    Parameters
    ----------
    path
        A configuration or a folder of them; a file of examples, ``.jsonl`` or ``.jsonl.gz``, or a
        folder with such files for the splits.
    cache
        A folder for what is made.
    report
        Called with messages on the progress.

    Raises
    ------
    DataError
        If it is another file.
    """
    files = _example_files(path)
    if files:
        return _Examples(path, files, cache, report)
    refuse_other_files(path)
    return _Configurations(path, cache, report)


def _example_files(path: Path) -> dict[str, Path]:
    """Return the files of examples by their splits, or one under no name; empty where none is."""
    if path.is_file() and path.name.endswith((".jsonl", ".jsonl.gz")):
        return {"": path}
    return {
        split: file
        for split in _SPLITS
        for ending in (".jsonl.gz", ".jsonl")
        if (file := path / f"{split}{ending}").is_file()
    }


class _CachedSource(Source[Sequences]):
    """Sequences that are made once, and kept."""

    def __init__(self, path: Path, cache: Path, report: Callable[[str], None]) -> None:
        self._path, self._cache, self._report = path, cache, report

    @abstractmethod
    def _folder(self, name: str, seed: int) -> Path:
        """Return the folder of data; another one for other data."""

    @abstractmethod
    def _made(self, name: str, seed: int) -> tuple[GeneratorSettings, MadeExamples]:
        """Make the data."""

    def is_cached(self, name: str, options: Mapping[str, Any]) -> bool:  # noqa: ARG002 - none
        return (self._folder(name, 0) / "rows.npz").exists()

    def load(
        self,
        name: str,
        *,
        snr_db: float | None,
        seed: int,
        protocol: Protocol,  # noqa: ARG002 - the sequences are the same
        options: Mapping[str, Any] = NO_OPTIONS,  # noqa: ARG002 - there are none
    ) -> Sequences:
        if snr_db is not None:
            raise UsageError("derivation has no noise levels.", "Leave --snr-db out.")
        folder = self._folder(name, seed)
        arrays = _read_arrays(folder / "rows.npz")
        if arrays is None or not all((folder / file).exists() for file in _FURTHER_FILES):
            self._report(f"{name}: sequences are made, once")
            try:
                _keep(folder, *self._made(name, seed))
            except DataError as error:
                raise DataError(f"{name}: {error.message}", error.hint) from None
            arrays = _read_arrays(folder / "rows.npz")
        if arrays is None:
            raise DataError(f"{folder / 'rows.npz'} cannot be read.", "Delete it, and try again.")
        further = json.loads((folder / "classes.json").read_text(encoding="utf-8"))
        settings = GeneratorSettings(**further["settings"])
        sha256 = hashlib.sha256(repr(settings.identity).encode())
        for key in sorted(arrays):
            sha256.update(f"{key}\n".encode() + arrays[key].tobytes())
        return Sequences(
            name=name,
            dim=1,
            snr_db=None,
            truth=None,
            target_source="equations",
            fingerprint=sha256.hexdigest(),
            settings=settings,
            rows={split: _rows_of(arrays, split) for split in _SPLITS},
            classes=further["classes"],
            file=folder / "examples.json.gz",
        )


class _Configurations(_CachedSource):
    """The configurations in a folder, or one in a file."""

    @cached_property
    def _files(self) -> dict[str, Path]:
        if not self._path.exists():
            raise DataError(f"There is nothing at {self._path}.")
        files = [self._path] if self._path.is_file() else sorted(self._path.glob("*.toml"))
        if not files:
            raise DataError(
                f"{self._path} has no configurations: no file ends in .toml",
                f"Give a configuration, or a folder of them: see {page('derivation')}.",
            )
        return {file.stem: file for file in files}

    def names(self) -> list[str]:
        """Return the small ones first."""
        return sorted(self._files, key=lambda name: (self._settings(name).train, name))

    def groups(self) -> dict[str, list[str]]:
        """Group by the size that the file states."""
        groups: dict[str, list[str]] = {}
        for name in self.names():
            if group := self._read(name).get("group"):
                groups.setdefault(str(group), []).append(name)
        return groups

    def title(self, name: str) -> str:
        return str(self._read(name)["title"])

    def _read(self, name: str) -> dict[str, Any]:
        if name not in self._files:
            raise UsageError(f"There is no dataset {name!r}.", did_you_mean(name, self._files))
        file = self._files[name]
        try:
            content = read_toml(file)
        except (OSError, ValueError) as error:
            raise DataError(f"{file} is no valid TOML: {error}") from None
        if not isinstance(content.get("title"), str):
            raise DataError(f"{file}: key 'title' is missing.", "Give a title of a few words.")
        return content

    def _settings(self, name: str, seed: int = 0) -> GeneratorSettings:
        content = {k: v for k, v in self._read(name).items() if k not in {"title", "group"}}
        try:
            settings = read_settings(content)
        except DataError as error:
            raise DataError(f"{self._files[name]}: {error.message}", error.hint) from None
        if not (settings.train and settings.validation and settings.test):
            raise DataError(f"{self._files[name]}: every split needs sequences.")
        # A seed of a run is one of the data: 0 has those that the file's own seed gives.
        return replace(settings, seed=settings.seed + seed)

    def _folder(self, name: str, seed: int) -> Path:
        """Return the folder of the data of these settings, this generator and this SymPy."""
        settings = self._settings(name, seed)
        version = GENERATORS[settings.task]
        made_by = json.dumps([settings.identity, version, sympy.__version__], sort_keys=True)
        return self._cache / f"{name}-{hashlib.sha256(made_by.encode()).hexdigest()[:16]}"

    def _made(self, name: str, seed: int) -> tuple[GeneratorSettings, MadeExamples]:
        settings = self._settings(name, seed)
        return settings, make_all(settings, self._report)


class _Examples(_CachedSource):
    """The examples in a file, or in files of their splits."""

    def __init__(
        self, path: Path, files: Mapping[str, Path], cache: Path, report: Callable[[str], None]
    ) -> None:
        super().__init__(path, cache, report)
        self._files = files

    @cached_property
    def _name(self) -> str:
        return self._path.resolve().name.partition(".")[0]

    def names(self) -> list[str]:
        return [self._name]

    def title(self, name: str) -> str:
        return f"examples of {name}"

    def _folder(self, name: str, seed: int) -> Path:
        if name != self._name:
            raise UsageError(f"There is no dataset {name!r}.", did_you_mean(name, [self._name]))
        content = hashlib.sha256(f"{seed} {sympy.__version__} {_READERS}".encode())
        for split, file in self._files.items():
            content.update(split.encode() + hashlib.sha256(file.read_bytes()).digest())
        return self._cache / f"{name}-{content.hexdigest()[:16]}"

    def _made(self, name: str, seed: int) -> tuple[GeneratorSettings, MadeExamples]:  # noqa: ARG002
        return read_all(self._files, seed)


_READERS = 1
"""The version of what is made of files, raised when they give other sequences."""


def _keep(folder: Path, settings: GeneratorSettings, made: MadeExamples) -> None:
    """Write what was made."""
    arrays: dict[str, NDArray[Any]] = {}
    for split in _SPLITS:
        rows = [row for row in made.rows if row.split == split]
        # In an order that shows no pairs or sets.
        seed = int.from_bytes(hashlib.sha256(f"{settings.seed}:{split}".encode()).digest()[:8])
        rows = [rows[n] for n in np.random.default_rng(seed).permutation(len(rows))]
        arrays[f"{split}_texts"] = _bytes("\n".join(row.text for row in rows))
        arrays[f"{split}_trees"] = _bytes("\n".join(row.tree for row in rows))
        arrays[f"{split}_labels"] = np.array([row.label for row in rows], np.int8)
        arrays[f"{split}_sets"] = np.array([SETS.index(row.set) for row in rows], np.int8)
        arrays[f"{split}_pairs"] = np.array([row.pair for row in rows], np.int32)
    examples = {"splits": made.records, "skipped": made.skipped}

    def write_examples(file: IO[bytes]) -> None:
        with gzip.GzipFile(fileobj=file, mode="wb", mtime=0, filename="") as packed:
            packed.write(json.dumps(examples).encode())

    # Those of derivations of fewer steps, and in one variable, are sets of their own.
    classes = {"static" if k == "test" else k: v for k, v in made.classes.items()}
    further = json.dumps({"settings": settings.identity, "classes": classes})
    write_whole(folder / "classes.json", lambda file: file.write(further.encode()))
    write_whole(folder / "examples.json.gz", write_examples)
    write_whole(
        folder / "rows.npz",
        lambda file: np.savez_compressed(file, allow_pickle=False, **arrays),
    )


def _bytes(text: str) -> NDArray[np.uint8]:
    return np.frombuffer(text.encode("ascii"), np.uint8)


def _read_arrays(path: Path) -> dict[str, NDArray[Any]] | None:
    """Read the arrays of a file; None if it is not there or damaged."""
    try:
        with PARSER_LOCK, np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except Exception:  # noqa: BLE001 - a damaged archive raises this and that; it is made again
        return None


def _rows_of(arrays: Mapping[str, NDArray[Any]], split: str) -> SequenceRows:
    texts, trees = (
        arrays[f"{split}_{what}"].tobytes().decode("ascii").split("\n")
        for what in ("texts", "trees")
    )
    return SequenceRows(
        texts,
        trees,
        arrays[f"{split}_labels"],
        np.array(SETS)[arrays[f"{split}_sets"]],
        arrays[f"{split}_pairs"],
    )


def read_examples(file: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the records of examples, by split and set.

    Raises
    ------
    DataError
        If they cannot be read.
    """
    try:
        with gzip.open(file, "rt", encoding="utf-8") as packed:
            return dict(json.load(packed)["splits"])
    except (OSError, EOFError, ValueError, KeyError) as error:
        raise DataError(f"{file} cannot be read: {error}", "Delete it: it is made again.") from None
