"""The methods, data types and datasets that specifications name, each opened once.

What a dataset is known by is remembered on the disk, so that a plan need not make it again.  It
holds for one context: the code of the bench, the installed packages, the machine's kind, and files.
The data type's own count by their bytes, the user's by what the file system has about them.  Where
any of these differs, nothing is remembered.  A job makes its dataset anyway, and what it then is
counts (`mdbench.runs.job`).
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import threading
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, is_dataclass
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

import numpy as np

from mdbench import datatypes, methods
from mdbench.datatypes.base import with_fewer_rows
from mdbench.errors import DataError, UnavailableError
from mdbench.runtimes.environments.venvs import prepare
from mdbench.workspace import bench_hash, write_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from mdbench.datatypes.base import Dataset, DataType, Source, Task
    from mdbench.methods import Method
    from mdbench.runs.plan import ResolvedJob
    from mdbench.runs.spec import JobSpec
    from mdbench.workspace import Workspace


class Catalog:
    """A workspace, as jobs see it; may be used from several threads.

    Parameters
    ----------
    on_progress
        Called with messages while data are made that take long.
    """

    def __init__(
        self, workspace: Workspace, on_progress: Callable[[str], None] | None = None
    ) -> None:
        self.workspace = workspace
        self._methods: dict[str, Method] = {}
        self._kinds: dict[str, DataType[Any, Any]] = {}
        self._sources: dict[tuple[str, Path | None], Source[Any]] = {}
        self._datasets: SizedCache[Dataset] = SizedCache()
        self._tasks: SizedCache[Task[Any]] = SizedCache()
        self._facts: dict[tuple[str, Path | None], DatasetInfoCache] = {}
        self._on_progress = on_progress

    def method(self, name: str) -> Method:
        """Return a method; raises as `mdbench.methods.find`."""
        if name not in self._methods:
            self._methods[name] = methods.find(name, self.workspace.algorithms)
        return self._methods[name]

    def data_type(self, name: str) -> DataType[Any, Any]:
        """Return a data type; raises as `mdbench.datatypes.find`."""
        if name not in self._kinds:
            place = self.workspace
            self._kinds[name] = datatypes.find(name, place.datasets / name, place.arrays / name)
            self._kinds[name].packages = self._packages
            if self._on_progress is not None:
                self._kinds[name].on_progress = self._on_progress
        return self._kinds[name]

    def _packages(self, lock: Path) -> Path:
        """Return the folder of the packages of a lock; an environment of them is made once."""
        say = self._on_progress or (lambda _: None)
        try:
            made = prepare("data", lock, ">=3.11", self.workspace.home, on_line=say)
        except UnavailableError as error:
            raise DataError(
                f"The packages in which data lie cannot be had: {error.message}", error.hint
            ) from error
        return next(made.prefix.glob("lib/python3*/site-packages"))

    def set_progress(self, on_progress: Callable[[str], None]) -> None:
        """Set the function that is called with messages while data are made."""
        self._on_progress = on_progress
        for kind in self._kinds.values():
            kind.on_progress = on_progress

    def source(self, data_type: str, path: Path | None) -> Source[Any]:
        """Open the project's systems of a data type, or the user's data."""
        if (data_type, path) not in self._sources:
            self._sources[data_type, path] = self.data_type(data_type).source(path)
        return self._sources[data_type, path]

    def load(self, job: JobSpec) -> Dataset:
        """Make or read a job's dataset.

        Raises
        ------
        DataError
            If the data cannot be used.
        """
        source = self.source(job.data_type, job.dataset_path)
        dataset = self._datasets.get(
            job.data,
            lambda: source.load(
                job.dataset,
                snr_db=job.snr_db,
                seed=job.seed,
                protocol=job.protocol,
                options=job.options,
            ),
        )
        self._known(job).remember(job.data, DatasetInfo.from_dataset(dataset))
        return dataset

    def info(self, job: JobSpec) -> DatasetInfo:
        """Return what a plan needs of a job's dataset, which is made only where that is not cached.

        Raises
        ------
        DataError
            If the data cannot be used.
        """
        return self._known(job).get(job.data) or DatasetInfo.from_dataset(self.load(job))

    def save(self) -> None:
        """Write down what is remembered of datasets."""
        for each in self._facts.values():
            each.save()

    def _known(self, job: JobSpec) -> DatasetInfoCache:
        key = job.data_type, job.dataset_path
        if key not in self._facts:
            context = context_of(self.data_type(job.data_type), job.dataset_path)
            folder = self.workspace.home / "fingerprints"
            self._facts[key] = DatasetInfoCache(folder, job.data_type, context)
        return self._facts[key]

    def task(self, one: ResolvedJob, dataset: Dataset) -> Task[Any]:
        """Cut a job's dataset for its method; equal data of other seeds are cut once."""
        job, spec, kind = one.job, one.method.spec, one.data_type
        # Where the data type has an option for it, it has drawn the rows itself.
        own = [option.key for option in kind.options if option.method_key == "max_rows"]
        most = None if own or spec.view != "table" else spec.most_rows(job.data_type)

        def make() -> Task[Any]:
            with np.errstate(all="ignore"):  # what is not finite no method is given: see the job
                task: Task[Any] = kind.task(dataset, spec.view, job.protocol)
                if most is not None:
                    task = with_fewer_rows(task, most, job.seed)
                return task if spec.equations else kind.predicted(task)

        # Equal data may be cut in other ways: by options, such as a fold, and by drawn rows.
        draws = most is not None or any(key in job.options for key in own)
        asked = (job.data_type, job.dataset_path, job.dataset, dataset.fingerprint, job.option_text)
        by = (spec.view, spec.equations, job.protocol, most, job.seed if draws else None)
        return self._tasks.get((*asked, *by), make)


T = TypeVar("T")

_LARGEST = 2**20
"""Bytes of one of them beyond which it is made or read again."""
_ALL_TOGETHER = 128 * 2**20
"""Bytes of all that are remembered together."""


class SizedCache(Generic[T]):
    """Data by what they are asked for with; may be used from several threads."""

    def __init__(self) -> None:
        self._known: dict[Hashable, T] = {}
        self._left = _ALL_TOGETHER

    def get(self, asked: Hashable, make: Callable[[], T]) -> T:
        """Return what was asked for, making it where it is not remembered."""
        known = self._known.get(asked)
        if known is not None:
            return known
        made = make()
        size = _bytes_of(made)
        if size <= min(_LARGEST, self._left):
            self._left -= size
            self._known[asked] = made
        return made


def _bytes_of(value: Any) -> int:
    """Count the bytes of all arrays in it; what is no array and holds none counts nothing.

    Arrays that are made only when they are asked for are not looked at, so what holds them is
    taken for large.
    """
    if value is None or isinstance(value, _NO_ARRAYS):  # most of what there is
        return 0
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, dict):
        return sum(_bytes_of(part) for part in value.values())
    if isinstance(value, list | tuple):
        return sum(_bytes_of(part) for part in value)
    if is_dataclass(value) and not isinstance(value, type):
        return sum(_bytes_of(getattr(value, each.name)) for each in fields(value))
    return _LARGEST + 1


_NO_ARRAYS = str, int, float, bool, Path


_MOST_FILES = 10_000
"""The user's files beyond which nothing is remembered."""
_KEPT = 8
"""Contexts of a data type that are kept, the newest."""


@dataclass(frozen=True)
class DatasetInfo:
    """The facts of a dataset that a plan needs."""

    fingerprint: str
    target_source: str
    dim: int
    units: str = ""
    """SHA-256 of the units; empty where none are given."""

    @classmethod
    def from_dataset(cls, dataset: Dataset) -> Self:
        """Return those of a dataset."""
        units = "" if dataset.units is None else json.dumps(dataset.units, sort_keys=True)
        return cls(
            dataset.fingerprint,
            dataset.target_source,
            dataset.dim,
            units and hashlib.sha256(units.encode()).hexdigest(),
        )


class DatasetInfoCache:
    """Facts of a data type's datasets, kept on disk; may be used from several threads.

    Parameters
    ----------
    folder
        Where they are kept.
    name
        Of the data type.
    context
        The key of all that the data depend on; None if they may not be cached.
    """

    def __init__(self, folder: Path, name: str, context: str | None) -> None:
        self._file = None if context is None else folder / f"{name}-{context[:32]}.json"
        self._others = f"{name}-*.json"
        self._lock = threading.Lock()
        self._known = self._read()
        self._new: dict[str, DatasetInfo] = {}

    def get(self, asked: Hashable) -> DatasetInfo | None:
        """Return what is known of the dataset that is asked for so; None for nothing."""
        return self._known.get(_short(asked)) if self._known or self._new else None

    def remember(self, asked: Hashable, info: DatasetInfo) -> None:
        """Store the facts of a dataset that was made."""
        name = _short(asked)
        if self._file is not None and self._known.get(name) != info:
            with self._lock:
                self._known[name] = self._new[name] = info

    def save(self) -> None:
        """Add the new facts to those that others wrote meanwhile; a failure does no harm."""
        with self._lock:
            if self._file is None or not self._new:
                return
            self._known = {**self._read(), **self._known}
            self._new = {}
            kept = {name: list(asdict(info).values()) for name, info in self._known.items()}
        text = json.dumps(kept, separators=(",", ":")).encode()
        with suppress(DataError, OSError):
            write_whole(self._file, lambda file: file.write(text))
            files = self._file.parent.glob(self._others)
            for old in sorted(files, key=lambda file: file.stat().st_mtime)[:-_KEPT]:
                old.unlink()

    def _read(self) -> dict[str, DatasetInfo]:
        if self._file is None:
            return {}
        try:
            found = json.loads(self._file.read_bytes())
            infos = {name: DatasetInfo(*values) for name, values in found.items()}
        except (OSError, ValueError, TypeError, AttributeError):
            return {}
        texts = (text for i in infos.values() for text in (i.fingerprint, i.target_source, i.units))
        whole = all(isinstance(text, str) for text in texts)
        return infos if whole and all(type(i.dim) is int for i in infos.values()) else {}


def _short(asked: Hashable) -> str:
    return hashlib.sha256(repr(asked).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def context_of(kind: DataType[Any, Any], path: Path | None) -> str | None:
    """Hash all that the datasets of a data type follow from, besides what is asked for.

    Returns
    -------
    str or None
        SHA-256 in hexadecimal; None where it is not known, or would take long.
    """
    if not kind.from_files:
        return None
    try:
        own = [(str(f), f.read_bytes()) for f in _files_in(kind.systems)]
        theirs = [] if path is None else [_file_state(f) for f in _files_in(path)]
        modules = sorted(
            {
                str(sys.modules[each.__module__].__file__)
                for each in type(kind).__mro__
                if hasattr(sys.modules.get(each.__module__), "__file__")
            }
        )
        code = [Path(name).read_bytes() for name in modules if name != "None"]
    except (OSError, _TooManyError):
        return None
    parts = (bench_hash(), code, own, None if path is None else str(path.absolute()), theirs)
    return hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()


class _TooManyError(Exception):
    """More files than are looked at."""


def _files_in(root: Path) -> list[Path]:
    if root.is_file():
        describing = root.parent.glob(f"{escape(root.stem)}.*")  # files that describe it
        return sorted({root, *(file for file in describing if file.is_file())})
    files: list[Path] = []
    for folder, folders, names in os.walk(root, followlinks=True):
        folders.sort()
        files += [Path(folder, name) for name in sorted(names)]
        if len(files) > _MOST_FILES:
            raise _TooManyError
    return [file for file in files if file.is_file()]


def _file_state(file: Path) -> tuple[str, int, int, int, int]:
    # The last of these changes with every change of the file, whatever the second is set to.
    is_ = file.stat()
    return str(file), is_.st_size, is_.st_ino, is_.st_mtime_ns, is_.st_ctime_ns
