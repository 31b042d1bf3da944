"""From what the user asks for to the list of jobs; nothing is run, made or written here."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from mdbench import datatypes, methods
from mdbench.data.noise import SNR_LEVELS_DB
from mdbench.datatypes.base import Answer
from mdbench.errors import (
    MOST_SHOWN,
    AnswerError,
    DataError,
    MdbenchError,
    MethodError,
    UsageError,
    did_you_mean,
    families,
)
from mdbench.records import key_of
from mdbench.runs.catalog import Catalog
from mdbench.runs.options import parse_words, portable, typed_fields
from mdbench.runs.services import service_of, services
from mdbench.runs.spec import JobSpec
from mdbench.runs.study import RETRIES, RunOptions, Study
from mdbench.workspace import fingerprint

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from mdbench.datatypes.base import Dataset, DataType, Source
    from mdbench.datatypes.facts import Protocol
    from mdbench.methods import Method
    from mdbench.records import Status
    from mdbench.runs.catalog import DatasetInfo
    from mdbench.runs.services import Connection
    from mdbench.runtimes.base import Runtime
    from mdbench.workspace import Workspace

_OPTIONS = [option.name for option, _ in typed_fields(RunOptions).values()]
TASKS = 16
"""Tasks of a cluster at a time, unless another number is given."""
NOISE_LEVELS: tuple[float | None, ...] = (None, *SNR_LEVELS_DB)
"""The levels of ``--with-noise``: clean, then SNR in dB (MDBench, section 4)."""


_GLOB = {"*", "?", "["}
"""Characters of patterns."""
MOST_JOBS = 100_000
"""Jobs of one run: a plan of so many takes 0.3 GB, and a run of them more."""


@dataclass(frozen=True)
class Plan:
    """All jobs of one command, and how they are to be run.

    Attributes
    ----------
    memory_total_mb
        MiB that all jobs that run at a time may need together; None for no limit.
    connections
        How services are reached, by their names.
    n_asking
        Jobs that ask a service and run at a time; None for `n_jobs` of all kinds.
    record_dir
        Where the results files are; in `result_dir`, below which logs are, unless it is given.
    """

    jobs: tuple[JobSpec, ...]
    catalog: Catalog = field(compare=False, repr=False)
    result_dir: Path
    n_jobs: int
    rerun: Collection[Status] = ()
    fresh_sandbox: bool = False
    connections: Mapping[str, Connection] = field(default_factory=dict)
    retries: int = RETRIES
    memory_total_mb: int | None = None
    record_dir: Path | None = None
    n_asking: int | None = None

    @property
    def files(self) -> dict[str, Path]:
        """The files that records go to, by `JobSpec.results`."""
        names = dict.fromkeys(job.results for job in self.jobs)
        folder = self.record_dir or self.result_dir
        return {name: folder / f"{name}.jsonl" for name in names}

    def parts(self) -> Iterator[tuple[str, Plan]]:
        """Return for each file of `files` the plan of its jobs."""
        jobs: dict[str, list[JobSpec]] = {}
        for job in self.jobs:
            jobs.setdefault(job.results, []).append(job)
        for name, own in jobs.items():
            yield name, replace(self, jobs=tuple(own))


def make_plan(options: RunOptions | Study, workspace: Workspace) -> Plan:
    """Turn options into jobs, in the order: grid of a study, method, noise level, seed, dataset.

    A job that several grids ask for is there once.

    Raises
    ------
    UsageError
        If a name does not exist or options contradict each other.
    MethodError
        If a method's folder is broken or does not do this data type.
    DataError
        If the user's own data cannot be read.
    """
    catalog = Catalog(workspace)
    study = options if isinstance(options, Study) else Study((options,))
    jobs: dict[JobSpec, None] = {}
    threads = 1
    for number, written in enumerate(study.grids):
        with study.named(number):
            grid = _with_all_methods(written, catalog)
            asked = _jobs(grid, catalog)
            jobs |= dict.fromkeys(asked)
            _refuse_many(len(jobs))
        own = (catalog.method(name).spec.threads for name in grid.algorithms)
        threads = max(threads, grid.threads or max(own))
    whole = study.grids[0]
    connections = {name: service.connect(whole) for name, service in services().items()}
    asking = [service.at_a_time(whole) for service in services().values()]
    return Plan(
        tuple(jobs),
        catalog,
        whole.result_dir,
        whole.n_jobs or TASKS
        if whole.backend == "slurm"
        else jobs_at_a_time(whole.n_jobs, threads),
        whole.rerun,
        whole.fresh_sandbox,
        {name: reached for name, reached in connections.items() if reached is not None},
        whole.retries,
        whole.memory_total_mb,
        n_asking=max(filter(None, asking), default=None),
    )


ALL_METHODS = "all"
"""In place of a method: all that `methods_for` names."""


def _with_all_methods(grid: RunOptions, catalog: Catalog) -> RunOptions:
    if ALL_METHODS not in grid.algorithms:
        return grid
    named = [name for name in grid.algorithms if name != ALL_METHODS]
    return replace(grid, algorithms=(*named, *methods_for(grid.data_type, catalog)))


def methods_for(data_type: str, catalog: Catalog) -> list[str]:
    """Return the methods for a data type that need nothing else: no model, and not the truth."""
    known = methods.discover(catalog.workspace.algorithms)
    return [
        name
        for name, method in known.items()
        if isinstance(method, methods.Method)
        and data_type in method.spec.data_types
        and not method.spec.service
        and "truth" not in method.spec.given
    ]


def _refuse_many(count: int) -> None:
    if count > MOST_JOBS:
        raise UsageError(
            f"These are {count:,} jobs; a run may have {MOST_JOBS:,}.",
            "Give several runs a part each, by --dataset, --snr or --seeds; they may share the "
            "folder of results.",
        )


def _jobs(options: RunOptions, catalog: Catalog) -> tuple[JobSpec, ...]:
    if options.dataset_path is not None:
        options = replace(options, dataset_path=portable(options.dataset_path))
    data_type = catalog.data_type(options.data_type)
    if not options.algorithms:
        raise UsageError("No method was given.", "Name one, e.g. --algorithm operon")
    chosen = [catalog.method(name) for name in dict.fromkeys(options.algorithms)]
    for method in chosen:  # first: without a service its options are not known either
        _refuse_without_service(method, catalog)
    folder_values = {
        **options.options,
    }
    if words := options.special:
        folder_values |= parse_words(words, data_type.options, data_type.name, _OPTIONS)
    for method in chosen:
        _check_method(method, data_type, folder_values)
    for name, service in services().items():
        service.check(options, [each.name for each in chosen if each.spec.service == name])
    names = _dataset_names(options, data_type, catalog)
    levels = _noise_levels(options, data_type)
    if options.seed and options.seeds:
        raise UsageError("--seed and --seeds were both given.", "Use one: --seeds 0,1,2.")
    seeds = tuple(dict.fromkeys(options.seeds or options.seed or (0,)))
    _refuse_many(len(chosen) * len(levels) * len(seeds) * len(names))
    jobs: list[JobSpec] = []
    for method in chosen:  # what is the same for all jobs of a method is made once
        common = options.for_method(method.spec, data_type.work)
        asked = data_type.expand_options(names, folder_options(method, data_type) | folder_values)
        jobs += (
            JobSpec(
                algorithm=method.name,
                data_type=data_type.name,
                dataset=name,
                snr_db=snr_db,
                seed=seed,
                **{**common, "options": options_of_name},
            )
            for snr_db in levels
            for seed in seeds
            for name, options_of_name in asked
        )
    return tuple(jobs)


def _dataset_names(
    options: RunOptions, data_type: DataType[Any, Any], catalog: Catalog
) -> list[str]:
    """Return the names of the datasets that are asked for; each is text that a record can have."""
    source = catalog.source(data_type.name, options.dataset_path)

    def elsewhere(pattern: str) -> str:
        place = catalog.workspace
        return "" if options.dataset_path else _of_other_types(pattern, data_type.name, place)

    names = list(options.datasets)
    # Only the order of several, and what matches a pattern, need a look into all files.
    if len(names) != 1 or _GLOB & {*names[0]} or names[0] not in source:
        groups = source.groups() if names else {}  # which takes a look into all files
        names = select_names(source.names(), names, groups, elsewhere)
    for name in names:
        try:
            name.encode()
        except UnicodeEncodeError:
            raise UsageError(
                f"The name of the dataset {name!r} is no text in UTF-8.",
                "Rename the file, in letters of UTF-8 or plain ASCII.",
            ) from None
    return names


def _of_other_types(pattern: str, asked: str, workspace: Workspace) -> str:
    """Return which data type has datasets of a name; empty for none, and where it is near here."""
    for name in datatypes.names():
        if name == asked:
            continue
        with suppress(MdbenchError):  # one whose files are not there
            own = datatypes.own_names(name, workspace.datasets / name, workspace.arrays / name)
            if found := [each for each in own if pattern.lower() in each]:
                shown = " or ".join(families(pattern, found)[:3])
                return f"It is in {name}: --data-type {name} --dataset {shown}."
    return ""


def select_names(
    names: Sequence[str],
    patterns: Sequence[str],
    groups: Mapping[str, Sequence[str]] | None = None,
    elsewhere: Callable[[str], str] | None = None,
) -> list[str]:
    """Pick the names that a pattern names or matches, in their own order.

    Parameters
    ----------
    names
        The names that are meant without a pattern.
    patterns
        Names, globs, or names of groups; none for all of `names`.
    groups
        The names in each group; those that are not among `names` are picked by their own name or
        by the group's, and globs that match none of `names` are tried on them.
    elsewhere
        Gives, for a pattern that matches nothing, an advice that comes before near names; empty
        for none.

    Raises
    ------
    UsageError
        If a pattern matches nothing; shows near names.
    """
    if not patterns:
        return list(names)
    groups = groups or {}
    every = list(dict.fromkeys([*names, *(name for group in groups.values() for name in group)]))
    picked: set[str] = set()
    for pattern in patterns:
        matching = [name for name in names if name == pattern or fnmatchcase(name, pattern)]
        matching = matching or list(groups.get(pattern, ()))
        # Datasets under conditions, such as +samples=20, are meant by patterns that have one.
        matching = matching or [
            name
            for name in every
            if fnmatchcase(name, pattern) and ("+" in pattern or "+" not in name)
        ]
        if not matching:
            family = families(pattern, names)[:3]
            near = f"Did you mean {' or '.join(family)}?" if family else ""
            advice = elsewhere(pattern) if elsewhere else ""
            near = advice or near or did_you_mean(pattern, [*every, *groups])
            raise UsageError(
                f"--dataset {pattern!r} matches none of the {len(names)} datasets.",
                f"{near} To see all: mdbench list --datasets",
            )
        picked.update(matching)
    return [name for name in every if name in picked]


def _check_method(
    method: Method, data_type: DataType[Any, Any], options: Mapping[str, Any]
) -> None:
    view = method.spec.view
    if data_type.name not in method.spec.data_types:
        raise UsageError(
            f"{method.name} does not do {data_type.name}; its method.toml has "
            f"data_types = {list(method.spec.data_types)}.",
            "To see which method does what: mdbench list",
        )
    if view not in data_type.views:
        raise MethodError(
            f"{method.folder / 'method.toml'}: key 'view' is {view!r}, "
            f"but {data_type.name} has only: {', '.join(data_type.views)}."
        )
    for option in data_type.options:
        if option.key in options and option.views and view not in option.views:
            raise UsageError(
                f"{option.name} does not go with {method.name}, which is given {data_type.name} "
                f"as {view}; it goes with: {', '.join(option.views)}.",
                "Leave it out.",
            )


def _refuse_without_service(method: Method, catalog: Catalog) -> None:
    """Refuse a method whose service nothing here provides, and so the control of such a method."""
    if method.spec.service:
        service_of(method.spec.service, method.name)
    if original := method.spec.control_of:
        try:
            service = catalog.method(original).spec.service
        except (MethodError, UsageError):  # the control alone is here
            return
        if service:
            service_of(service, f"{method.name} is the control of {original}, which")


def folder_options(method: Method, data_type: DataType[Any, Any]) -> dict[str, Any]:
    """Return the values of the data type's options that the method's own folder gives."""
    spec = method.spec
    own = spec.on(data_type.name)
    values = {
        option.key: getattr(own, option.method_key, None) or getattr(spec, option.method_key)
        for option in data_type.options
        if option.method_key and (not option.views or spec.view in option.views)
    }
    return {key: value for key, value in values.items() if value is not None}


def _noise_levels(options: RunOptions, data_type: DataType[Any, Any]) -> tuple[float | None, ...]:
    noisy = options.with_noise or any(level is not None for level in options.snr)
    if noisy and not data_type.snr_levels:
        own = [option.name for option in data_type.options]
        raise UsageError(
            f"{data_type.name} has no noise levels in dB, as --with-noise and --snr ask for.",
            f"It has options of its own: {', '.join(own)}." if own else "Leave them out.",
        )
    if options.with_noise and options.snr:
        raise UsageError(
            "--with-noise and --snr were both given.",
            "--with-noise means clean, 40, 30, 20 and 10 dB; --snr names single levels, "
            "e.g. --snr clean --snr 25.",
        )
    levels = options.snr or (NOISE_LEVELS if options.with_noise else (None,))
    return tuple(dict.fromkeys(levels))


def balanced(jobs: Iterable[JobSpec]) -> list[JobSpec]:
    """Sort jobs so that all methods have done the same cases, wherever a run ends.

    Seeds come one after the other, as they are what is left out first.  Of a seed the cases are in
    the order of a hash, so that those done are a sample of all; the methods and conditions of a
    case follow each other as they were.
    """
    known: dict[tuple[object, ...], bytes] = {}

    def place(job: JobSpec) -> tuple[int, bytes]:
        case = job.data_type, job.dataset_path, job.dataset, job.snr_db, job.seed
        if case not in known:  # many methods share a case
            path = None if job.dataset_path is None else str(job.dataset_path)
            text = json.dumps([job.data_type, path, job.dataset, job.snr_db, job.seed])
            known[case] = hashlib.sha256(text.encode()).digest()
        return job.seed, known[case]

    return sorted(jobs, key=place)


def jobs_at_a_time(n_jobs: int | None, threads: int) -> int:
    """Return how many jobs run at a time: as asked for, or as many as fit the cores."""
    return n_jobs or max(1, len(os.sched_getaffinity(0)) // threads)


MOST_DESCRIBED = 3
"""Datasets that are described."""


def seed_remarks(study: Study) -> Iterator[str]:
    """Yield a remark on `--seeds` with one number, which is a seed and not how many there are."""
    for grid in study.grids:
        if len(grid.seeds) == 1 and (seed := grid.seeds[0]):
            several = f" {seed} seeds are: --seeds 0-{seed - 1}" * (seed > 1)
            yield f"--seeds {seed} is one seed, number {seed}.{several}"


def describe_own_data(plan: Plan) -> Iterator[str]:
    """Describe the user's own data, in a few lines for each of the first datasets."""
    own = {job.data: job for job in plan.jobs if job.dataset_path is not None}
    first = {(job.data_type, job.dataset): job for job in reversed(own.values())}
    jobs = list(reversed(first.values()))
    for job in jobs[:MOST_DESCRIBED]:
        kind = plan.catalog.data_type(job.data_type)
        if not hasattr(kind, "advice"):
            continue
        try:
            dataset = plan.catalog.load(job)
        except DataError:  # which is said where the jobs are resolved
            continue
        view = plan.catalog.method(job.algorithm).spec.view
        yield from describe_dataset(kind, dataset, view, job.protocol)
    if len(jobs) > MOST_DESCRIBED:
        yield f"... and {len(jobs) - MOST_DESCRIBED} more."


def describe_dataset(
    kind: DataType[Any, Any], dataset: Dataset, view: str, protocol: Protocol
) -> Iterator[str]:
    """Describe one dataset in lines; none where its data type has no checks."""
    advice: Callable[[Dataset], Sequence[str]] | None = getattr(kind, "advice", None)
    if advice is None:
        return
    try:
        with np.errstate(all="ignore"):  # of values too large to be squared
            first, *lines = advice(dataset)
    except (ArithmeticError, ValueError, MemoryError, np.linalg.LinAlgError) as error:
        # A description that fails is no reason not to run.
        first, lines = f"nothing is known of it beforehand: {error}", []
    yield f"{dataset.name}: {first}"
    score = constant_score(kind, dataset, view, protocol)
    if score is not None:
        meaning = "an answer has to be better" if score > 0 else "these data show no law"
        lines.append(f"a constant scores {kind.metrics[0].title} {score:.2g}: {meaning}")
    yield from (f"  {line}" for line in lines)


def constant_score(
    kind: DataType[Any, Any], dataset: Dataset, view: str, protocol: Protocol
) -> float | None:
    """Score the means of the training targets as if they were an answer; None for no score."""
    try:
        with np.errstate(all="ignore"):
            task = kind.task(dataset, view, protocol)
            targets = task.refit.targets
            if not task.has_equations or targets.dtype.kind != "f":
                return None
            means = np.mean(targets.reshape(-1, targets.shape[-1]), axis=0)
            answer = kind.read_answer(task, Answer(tuple(repr(float(mean)) for mean in means)))
            score = kind.primary_score(task, answer)
    except (AnswerError, UsageError):
        return None
    return float(score) if isinstance(score, int | float) else None


@dataclass(frozen=True, eq=False)
class ResolvedJob:
    """A job with all that its names refer to; made once, and passed on.

    Attributes
    ----------
    parts
        The parts of the job's key, by name: what differs is why it is run again.
    dim
        The number of equations.
    """

    job: JobSpec
    method: Method
    data_type: DataType[Any, Any]
    source: Source[Any]
    parts: Mapping[str, str]
    dim: int | None = None

    @cached_property
    def key(self) -> str:
        """The key of the record that the job leaves."""
        return key_of(self.parts)

    def with_dataset(self, dataset: DatasetInfo) -> ResolvedJob:
        """Return the job with the parts of its key on what it is given and scored on."""
        spec = self.method.spec
        parts = {**self.parts, **scorer_key(self.data_type, dataset)}
        if spec.asks_for_units and dataset.units:
            parts["told"] = dataset.units
        if spec.service:
            service = service_of(spec.service, self.method.name)
            parts |= service.key_parts(self.job, self.source.background(self.job.dataset))
        return ResolvedJob(self.job, self.method, self.data_type, self.source, parts, dataset.dim)


def resolve_job(
    job: JobSpec, catalog: Catalog, environment: Mapping[str, str], *, with_data: bool = True
) -> ResolvedJob:
    """Look up what a job names, and make the parts of its key.

    Parameters
    ----------
    environment
        The `environment_key` of the job's method.
    with_data
        Without, the parts of the key on data are missing, and no dataset is made.

    Raises
    ------
    DataError
        If the job's data cannot be used.
    """
    method = catalog.method(job.algorithm)
    data_type = catalog.data_type(job.data_type)
    source = catalog.source(job.data_type, job.dataset_path)
    parts = {**environment, **job.key_parts(), "view": method.spec.view}
    resolved = ResolvedJob(job, method, data_type, source, parts)
    return resolved.with_dataset(catalog.info(job)) if with_data else resolved


def environment_key(method: Method, runtime: Runtime) -> dict[str, str]:
    """Return the parts of a key that all jobs of a method share under a runtime.

    Raises
    ------
    MethodError
        If the method has no lock, or if its paths cannot be read.
    """
    parts = {"adapter": method.fingerprint(), "environment": method.lock_sha256()}
    if paths := method.paths:
        parts["paths"] = fingerprint(paths)
    return parts | runtime.identity(method)


def scorer_key(data_type: DataType[Any, Any], dataset: Dataset | DatasetInfo) -> dict[str, str]:
    """Return the parts of a key on the data and the scorer of an answer."""
    return {
        "dataset": dataset.fingerprint,
        "target_source": dataset.target_source,
        "scorer": str(data_type.scorer_version),
    }


def resolve_jobs(
    plan: Plan,
    runtime: Runtime,
    say: Callable[[str], None] = lambda _: None,
    with_data: Callable[[JobSpec], bool] = lambda _: True,
) -> list[ResolvedJob]:
    """Resolve the jobs of a plan; every dataset whose fingerprint is not cached is made.

    Parameters
    ----------
    with_data
        Whether a job's data are needed, as in `resolve_job`.
    say
        Called with the reason for each file of a folder that is left out, as it cannot be used,
        while others can.

    Raises
    ------
    DataError, MethodError
        If data or a method's folder cannot be used.
    """
    methods = dict.fromkeys(job.algorithm for job in plan.jobs)
    shared = {name: environment_key(plan.catalog.method(name), runtime) for name in methods}
    jobs = []
    errors: dict[str, DataError] = {}
    of_folders = True
    for job in plan.jobs:
        try:
            environment = shared[job.algorithm]
            jobs.append(resolve_job(job, plan.catalog, environment, with_data=with_data(job)))
        except DataError as error:
            errors.setdefault(error.message, error)
            of_folders &= job.dataset_path is not None and job.dataset_path.is_dir()
    plan.catalog.save()
    if errors and not (jobs and of_folders):
        raise _all_of(list(errors.values()))
    for one in errors.values():
        say(f"Left out: {one.message}  {one.hint}")
    return jobs


def _all_of(errors: list[DataError]) -> DataError:
    """Return one error with the messages of all, so that they can be corrected at once."""
    if len(errors) == 1:
        return errors[0]
    lines = "".join(f"\n  {error.message}" for error in errors[:MOST_SHOWN])
    return DataError(
        f"{len(errors)} datasets cannot be used:{lines}",
        "Mend them, or name the others with --dataset.",
    )
