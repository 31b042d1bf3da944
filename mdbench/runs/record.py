"""Makes the record of a job, with the machine that it ran on and how fast and busy that was."""

from __future__ import annotations

import os
import platform
import subprocess
import time
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mdbench import __version__
from mdbench.data.columns import OwnNames
from mdbench.errors import UnavailableError
from mdbench.installation import CLONE
from mdbench.metrics.spec import best_by_complexity
from mdbench.records import (
    ANSWERED,
    FrontEntry,
    Isolation,
    Machine,
    Measured,
    OtherEquation,
    Provenance,
    Record,
    Selection,
    SmallerBudget,
    key_of,
)
from mdbench.runtimes.base import not_held

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from mdbench.datatypes.base import DataType, ScoredCandidate, Task
    from mdbench.runs.plan import ResolvedJob
    from mdbench.runs.scoring import JobResult, ScoredResult
    from mdbench.runtimes.base import Prepared, Runtime

POWERCAP: Final = Path("/sys/class/powercap")


def load_average() -> float | None:
    """Return the processes that wanted a core, the mean of the last minute."""
    with suppress(OSError):
        return os.getloadavg()[0]
    return None


def energy_meter(path: Path = POWERCAP) -> Callable[[], float | None]:
    """Begin to measure the energy that the processor's packages use, by their counters (RAPL).

    The counters are the whole machine's, count in steps of microjoules and start again at a range
    that they name.  Of most machines only root may read them, and of virtual ones nobody.

    Parameters
    ----------
    path
        The folder of the counters.

    Returns
    -------
    function
        Returns the joules used since then; None where they cannot be measured.
    """
    start = {counter: _read_int(counter / "energy_uj") for counter in _counters(path)}

    def joules() -> float | None:
        total = 0
        for counter, before in start.items():
            now = _read_int(counter / "energy_uj")
            if before is None or now is None:
                return None
            if now < before:  # it started again
                now += _read_int(counter / "max_energy_range_uj") or 0
            total += now - before
        return total / 1e6 if start and total >= 0 else None

    return joules


@cache
def _counters(place: Path) -> tuple[Path, ...]:
    """Find the packages' counters that may be read; parts of a package are in it."""
    found = sorted(place.glob("intel-rapl:[0-9]*"))
    packages = [path for path in found if path.name.count(":") == 1]
    return tuple(path for path in packages if _read_int(path / "energy_uj") is not None)


def _read_int(file: Path) -> int | None:
    try:
        return int(file.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


_TRIES = 3
"""How often git is asked for the commit where signals end it."""
_CORE_PACKAGES = ("numpy", "scipy", "sympy", "mpmath", "findiff")


class Stopwatch:
    """When a job began and how long it has taken."""

    def __init__(self) -> None:
        self.started = datetime.now(UTC)
        self._start = time.monotonic()

    def restart(self) -> None:
        """Start again: what was before is not the job's time."""
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
    job: ResolvedJob,
    task: Task[Any],
    scored: ScoredResult,
    *,
    runtime: Runtime,
    prepared: Prepared | None,
    log: str | None,
    exchanges: str | None,
    answers: str | None = None,
    started: datetime,
    wall_s: float,
    conditions: Mapping[str, Any] | None = None,
) -> Record:
    """Put together the one line that a job leaves."""
    outcome, choice = scored.outcome, scored.outcome.selection
    names = OwnNames(task.dataset.names)
    recorded = job.job.recorded()
    if outcome.use is not None:
        recorded |= outcome.use.recorded(recorded, outcome)
    return Record(
        mdbench=__version__,
        key=key_of(job.parts),
        key_parts=dict(job.parts),
        **recorded,
        given=job.method.spec.given,
        system=job.job.system(job.data_type.options),
        part=job.job.part(job.data_type.options),
        **dataset_fields(task),
        log=log,
        exchanges=exchanges,
        answers=answers,
        **score_fields(job.data_type, task, scored),
        selection=None
        if choice is None
        else Selection(
            loss=choice.loss,
            fitness=choice.fitness,
            candidates=outcome.n_candidates,
            invalid=outcome.n_invalid,
        ),
        alternatives=tuple(
            OtherEquation(
                target=alternative.target,
                equation=names.own(alternative.equation),
                worse=alternative.worse,
                log_likelihood=alternative.log_likelihood,
            )
            for alternative in outcome.alternatives
            if outcome.status in ANSWERED
        ),
        front=None if outcome.front is None else tuple(_front(outcome.front, names)),
        runtime=Isolation(name=runtime.name, details=_details(runtime, prepared, outcome)),
        provenance=Provenance(
            python=None if prepared is None else prepared.python,
            packages={} if prepared is None else dict(prepared.packages),
            lock_sha256=job.parts["environment"],
            environment=None if prepared is None else prepared.identity,
            core=core_versions() | commit_of_clone(),
            scorer=job.parts["scorer"],
            machine=this_machine(),
        ),
        measured=Measured(
            started=started,
            wall_s=wall_s,
            fit_s=outcome.fit_s,
            predict_s=outcome.predict_s,
            cpu_s=outcome.costs.cpu_s,
            work_s=outcome.work_s,
            evaluations=outcome.evaluations,
            import_s=outcome.import_s,
            speed=outcome.speed,
            speed_before=outcome.speed_before,
            peak_memory_mb=outcome.costs.peak_memory_mb,
            by=outcome.costs.by,
            blas_kernel=outcome.blas_kernel,
            blas_threads=outcome.blas_threads,
            retries=outcome.retries,
            anytime=scored.anytime,
            smaller_budgets=tuple(in_own_names(one, names) for one in scored.smaller_budgets),
            **({} if outcome.use is None else outcome.use.measured()),
            **(conditions or {}),
        ),
    )


def dataset_fields(task: Task[Any]) -> dict[str, Any]:
    """Return the keys of a record that follow from the dataset and what is asked of it."""
    dataset, names = task.dataset, OwnNames(task.dataset.names)
    return {
        "dim": dataset.dim,
        "view": task.view,
        "targets": names.all_own(task.targets),
        "truth": None if dataset.truth is None else names.all_own(dataset.truth),
        "target_source": dataset.target_source,
        "names": dict(dataset.names),
        "measured_in": dict(dataset.measured_in),
    }


def score_fields(
    data_type: DataType[Any, Any], task: Task[Any], scored: ScoredResult
) -> dict[str, Any]:
    """Return the keys of a record that hold the answer and its scores."""
    outcome, names = scored.outcome, OwnNames(task.dataset.names)
    notes = {"data": task.remarks, **scored.scores.notes}
    return {
        "status": outcome.status,
        "reason": names.own(outcome.reason),
        "equations": None if scored.equations is None else names.all_own(scored.equations),
        "hyperparameters": outcome.hyperparameters if outcome.status in ANSWERED else None,
        "judged_by": data_type.metric_names(task),
        "metrics": dict(scored.scores.metrics),
        "floor": task.dataset.floor,
        "notes": {n: names.all_own(texts) for n, texts in notes.items() if texts},
    }


def in_own_names(scored: SmallerBudget, names: OwnNames) -> SmallerBudget:
    """Write the equations in the names of the data's columns."""
    if scored.equations is None:
        return scored
    return scored.model_copy(update={"equations": tuple(names.all_own(scored.equations))})


def _details(runtime: Runtime, prepared: Prepared | None, outcome: JobResult) -> dict[str, Any]:
    try:
        enforced = runtime.probe().details()
    except UnavailableError as error:
        enforced = {"unavailable": error.message}
    jobs: dict[str, Any] = {}
    if outcome.isolation:
        ways = not_held(enforced.get("enforces", {}), outcome.isolation)
        jobs = {"jobs": {**outcome.isolation, "not_held": ways}}
    if outcome.use is not None:
        jobs["network"] = outcome.use.network
    return enforced | jobs | ({} if prepared is None else dict(prepared.details))


def _front(scored: list[ScoredCandidate], names: OwnNames) -> Iterable[FrontEntry]:
    """Yield the best at each complexity that no simpler one beats, target by target."""
    for target in dict.fromkeys(one.candidate.target for one in scored):
        group = [one for one in scored if one.candidate.target == target]
        lowest = float("inf")
        for index in best_by_complexity([o.loss for o in group], [o.complexity for o in group]):
            candidate = group[index]
            if candidate.loss >= lowest:
                continue
            lowest = candidate.loss
            yield FrontEntry(
                equations=names.all_own(candidate.candidate.equations),
                target=target,
                hyperparameters=dict(candidate.candidate.hyperparameters),
                loss=candidate.loss,
                complexity=candidate.complexity,
                fitness=candidate.fitness,
            )


@cache
def core_versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that the core computes with."""
    return {"python": platform.python_version()} | {
        name: metadata.version(name) for name in _CORE_PACKAGES
    }


@cache
def commit_of_clone() -> dict[str, str]:
    """Return the commit of the clone whose code runs, with ``-dirty`` where files were changed.

    Returns
    -------
    dict
        Empty for an installed package, whose release says what it is, and without git.
    """
    if CLONE is None:
        return {}
    line = ["git", "-C", str(CLONE), "describe", "--always", "--abbrev=40", "--dirty"]
    with suppress(OSError, subprocess.SubprocessError):
        for _ in range(_TRIES):
            done = subprocess.run(
                [*line, "--exclude=*"], capture_output=True, check=False, text=True, timeout=60
            )
            if done.returncode == 0:
                return {"commit": done.stdout.strip()}
            if done.returncode > 0:
                break
            # A signal to all processes of a job ended git, too; the job goes on to its record.
    return {}


@cache
def this_machine() -> Machine:
    """Return the machine that this runs on."""
    cpu = ""
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        cpu = next((x.partition(":")[2].strip() for x in lines if "model name" in x), cpu)
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return Machine(
        cpu=cpu or platform.processor(),
        cores=len(os.sched_getaffinity(os.getpid())),
        memory_mb=pages // 2**20,
        os=f"{platform.system()} {platform.machine()}",
    )
