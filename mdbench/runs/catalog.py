"""What specifications name, each opened once: methods, data types and datasets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mdbench import datatypes, methods
from mdbench.runs.fingerprints import Facts, Fingerprints, context_of
from mdbench.runs.recall import Recall

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mdbench.datatypes.base import Dataset, DataType, Source, Task
    from mdbench.methods import Method
    from mdbench.runs.spec import JobSpec
    from mdbench.workspace import Workspace

__all__ = ["Inventory"]


class Inventory:
    """A workspace, as jobs see it; may be used from several threads.

    Parameters
    ----------
    say
        Told how the making of data that takes long goes on.
    """

    def __init__(self, workspace: Workspace, say: Callable[[str], None] | None = None) -> None:
        self.workspace = workspace
        self._methods: dict[str, Method] = {}
        self._kinds: dict[str, DataType[Any, Any]] = {}
        self._sources: dict[tuple[str, Path | None], Source[Any]] = {}
        self._datasets: Recall[Dataset] = Recall()
        self._tasks: Recall[Task[Any]] = Recall()
        self._facts: dict[tuple[str, Path | None], Fingerprints] = {}
        self._say = say

    def method(self, name: str) -> Method:
        """Give a method; raises as `mdbench.methods.find`."""
        if name not in self._methods:
            self._methods[name] = methods.find(name, self.workspace.algorithms)
        return self._methods[name]

    def data_type(self, name: str) -> DataType[Any, Any]:
        """Give a data type; raises as `mdbench.datatypes.find`."""
        if name not in self._kinds:
            place = self.workspace
            self._kinds[name] = datatypes.find(name, place.datasets / name, place.arrays / name)
            if self._say is not None:
                self._kinds[name].on_progress = self._say
        return self._kinds[name]

    def listen(self, say: Callable[[str], None]) -> None:
        """Have somebody told how the making of data goes on."""
        self._say = say
        for kind in self._kinds.values():
            kind.on_progress = say

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
        self._known(job).remember(job.data, Facts.of(dataset))
        return dataset

    def facts(self, job: JobSpec) -> Facts:
        """Say what a job's dataset is known by; it is made only where nobody remembers.

        Raises
        ------
        DataError
            If the data cannot be used.
        """
        return self._known(job).get(job.data) or Facts.of(self.load(job))

    def save(self) -> None:
        """Write down what is remembered of datasets."""
        for each in self._facts.values():
            each.save()

    def _known(self, job: JobSpec) -> Fingerprints:
        place = job.data_type, job.dataset_path
        if place not in self._facts:
            context = context_of(self.data_type(job.data_type), job.dataset_path)
            folder = self.workspace.home / "fingerprints"
            self._facts[place] = Fingerprints(folder, job.data_type, context)
        return self._facts[place]

    def task(self, job: JobSpec, dataset: Dataset) -> Task[Any]:
        """Cut a job's dataset for its method; equal data of other seeds are cut once."""
        kind, view = self.data_type(job.data_type), self.method(job.algorithm).spec.view
        asked = (job.data_type, job.dataset_path, job.dataset, dataset.fingerprint)

        def make() -> Task[Any]:
            with np.errstate(all="ignore"):  # what is not finite no method is given: see the job
                task: Task[Any] = kind.task(dataset, view, job.protocol)
                return task

        return self._tasks.get((*asked, view, job.protocol), make)

    def scorer(self, data_type: str) -> str:
        """Give the version of what makes scores of a data type's answers."""
        return str(self.data_type(data_type).scorer_version)
