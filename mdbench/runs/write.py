"""Makes a record of what a job came to."""

from __future__ import annotations

import os
import platform
import time
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mdbench import __version__
from mdbench.errors import UnavailableError
from mdbench.metrics.selection import best_by_complexity
from mdbench.records import (
    Budget,
    Fidelity,
    FrontEntry,
    Machine,
    Measured,
    Provenance,
    Record,
    Runtime,
    Selection,
    key_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mdbench.datatypes._fidelity import Fidelity as Found
    from mdbench.datatypes.base import Dataset
    from mdbench.runs.attempt import Outcome
    from mdbench.runs.choice import Offer
    from mdbench.runs.plan import Job
    from mdbench.runtimes.base import Prepared
    from mdbench.runtimes.base import Runtime as IsolatedBy

__all__ = ["Stopwatch", "make_record"]

_CORE_PACKAGES = ("numpy", "scipy", "sympy", "findiff")


class Stopwatch:
    """When a job began and how long it has taken."""

    def __init__(self) -> None:
        self.started = datetime.now(UTC)
        self._start = time.monotonic()

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Leave out what is done meanwhile."""
        begin = time.monotonic()
        try:
            yield
        finally:
            self._start += time.monotonic() - begin

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._start


def make_record(
    job: Job,
    dataset: Dataset,
    outcome: Outcome,
    *,
    key_parts: dict[str, str],
    targets: tuple[str, ...],
    dataset_path: Path | None,
    runtime: IsolatedBy,
    prepared: Prepared | None,
    log: str | None,
    started: datetime,
    wall_s: float,
    fidelity: Found | None = None,
) -> Record:
    """Put together the one line that a job leaves."""
    choice = outcome.choice
    return Record(
        mdbench=__version__,
        key=key_of(key_parts),
        key_parts=key_parts,
        algorithm=job.algorithm,
        data_type=job.data_type,
        dataset=job.dataset,
        dataset_path=None if dataset_path is None else str(dataset_path),
        dim=dataset.dim,
        snr_db=job.snr_db,
        seed=job.seed,
        protocol=job.protocol.value,
        view=key_parts["view"],
        targets=targets,
        truth=dataset.truth,
        target_source=dataset.target_source,
        status=outcome.status,
        reason=outcome.reason,
        log=log,
        equations=_texts(outcome),
        hyperparameters=outcome.hyperparameters,
        metrics=_with_floor(outcome.metrics, dataset.nmse_floor),
        complexity=outcome.complexity,
        selection=None
        if choice is None
        else Selection(
            loss=choice.loss,
            fitness=choice.fitness,
            candidates=outcome.came,
            invalid=outcome.invalid,
        ),
        agreement=outcome.agreement,
        fidelity=None if fidelity is None else Fidelity.model_validate(fidelity.as_json()),
        front=None if outcome.front is None else tuple(_front(outcome.front)),
        budget=Budget(
            timeout_s=job.timeout_s,
            threads=job.threads,
            memory_mb=job.memory_mb,
            processes=job.processes,
            output_mb=job.output_mb,
        ),
        runtime=Runtime(name=runtime.name, details=_details(runtime, prepared)),
        provenance=Provenance(
            python=None if prepared is None else prepared.python,
            packages={} if prepared is None else dict(prepared.packages),
            lock_sha256=key_parts["environment"],
            environment=None if prepared is None else prepared.identity,
            core=_core_versions(),
            machine=_machine(),
        ),
        measured=Measured(
            started=started,
            wall_s=wall_s,
            fit_s=outcome.fit_s,
            predict_s=outcome.predict_s,
            cpu_s=outcome.cpu_s,
            peak_memory_mb=outcome.peak_memory_mb,
            blas_kernel=outcome.blas_kernel,
            blas_threads=outcome.blas_threads,
        ),
    )


def _details(runtime: IsolatedBy, prepared: Prepared | None) -> dict[str, Any]:
    try:
        enforced = runtime.probe().details()
    except UnavailableError as error:
        enforced = {"unavailable": error.message}
    return enforced | ({} if prepared is None else dict(prepared.details))


def _with_floor(metrics: dict[str, float], floor: float | None) -> dict[str, float | None]:
    known = floor is not None and "nmse" in metrics
    return {**metrics, "nmse_floor": floor} if known else dict(metrics)


def _texts(outcome: Outcome) -> tuple[str, ...] | None:
    return None if outcome.equations is None else tuple(e.text for e in outcome.equations)


def _front(offers: list[Offer]) -> Iterable[FrontEntry]:
    """Keep the best at each complexity that no simpler one beats, target by target."""
    for target in dict.fromkeys(offer.target for offer in offers):
        group = [offer for offer in offers if offer.target == target]
        lowest = float("inf")
        for index in best_by_complexity([o.loss for o in group], [o.complexity for o in group]):
            offer = group[index]
            if offer.loss >= lowest:
                continue
            lowest = offer.loss
            yield FrontEntry(
                equations=tuple(e.text for e in offer.equations),
                target=offer.target,
                hyperparameters=offer.hyperparameters,
                loss=offer.loss,
                complexity=offer.complexity,
                fitness=offer.fitness,
            )


@cache
def _core_versions() -> dict[str, str]:
    return {"python": platform.python_version()} | {
        name: metadata.version(name) for name in _CORE_PACKAGES
    }


@cache
def _machine() -> Machine:
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return Machine(
        cpu=_cpu_name(),
        cores=len(os.sched_getaffinity(0)),
        memory_mb=pages // 2**20,
        os=f"{platform.system()} {platform.machine()}",
    )


def _cpu_name() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in text.splitlines() if "model name" in line]
    return names[0] if names else platform.processor()
