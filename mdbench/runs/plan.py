"""From what the user asks for to the list of jobs; nothing is run, made or written here."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from mdbench import datatypes, methods
from mdbench.data.noise import SNR_LEVELS_DB
from mdbench.datatypes.base import Protocol
from mdbench.errors import MethodError, UsageError, did_you_mean
from mdbench.runs.recall import Recall
from mdbench.runtimes.base import OUTPUT_MB, PROCESSES, Limits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mdbench.datatypes.base import DataType, Source
    from mdbench.methods import Method
    from mdbench.records import Status
    from mdbench.workspace import Workspace

__all__ = ["NOISE_LEVELS", "Job", "Plan", "RunOptions", "make_plan", "select_names", "slots"]

_T = TypeVar("_T")

NOISE_LEVELS: tuple[float | None, ...] = (None, *SNR_LEVELS_DB)
"""The levels of ``--with-noise``: clean, then SNR in dB (MDBench, section 4)."""


@dataclass(frozen=True)
class RunOptions:
    """What ``mdbench run`` was asked for, one attribute an option."""

    algorithms: tuple[str, ...]
    data_type: str
    datasets: tuple[str, ...] = ()
    dataset_path: Path | None = None
    result_dir: Path = Path("results")
    with_noise: bool = False
    snr: tuple[float | None, ...] = ()
    n_jobs: int | None = None
    timeout: float | None = None
    seeds: tuple[int, ...] = (0,)
    save_pareto: bool = False
    protocol: Protocol = Protocol.STRICT
    threads: int | None = None
    memory_mb: int | None = None
    processes: int = PROCESSES
    output_mb: int = OUTPUT_MB
    variant: str | None = None
    max_rows: int | None = None
    rerun: frozenset[Status] = frozenset()
    special: tuple[str, ...] = ()
    """Words that only the data type understands: its own options with their values."""


@dataclass(frozen=True)
class Job:
    """Method x dataset x noise level x seed under one budget."""

    algorithm: str
    data_type: str
    dataset: str
    snr_db: float | None
    seed: int
    protocol: Protocol
    timeout_s: float
    threads: int
    save_pareto: bool
    memory_mb: int | None = None
    processes: int = PROCESSES
    output_mb: int = OUTPUT_MB

    @property
    def limits(self) -> Limits:
        """What the job may use besides time."""
        return Limits(self.threads, self.memory_mb, self.processes, self.output_mb)

    variant: str | None = None
    max_rows: int | None = None

    @property
    def noise(self) -> str:
        """The noise level in words."""
        return "clean" if self.snr_db is None else f"{self.snr_db:g} dB"

    def __str__(self) -> str:
        return f"{self.algorithm} · {self.dataset} · {self.noise} · seed {self.seed}"

    @property
    def file_name(self) -> str:
        """A name for the job's files: the dataset's own name, its noise and its seed.

        Of names that no file could have, what matters is left; a key makes it unique.
        """
        noise = "" if self.snr_db is None else f"_snr_{self.snr_db:g}"
        plain = "".join(letter if letter.isprintable() else "-" for letter in self.dataset)
        short = plain.replace("/", "-").encode()[:100].decode(errors="ignore")
        return f"{short}{noise}_seed_{self.seed}"


@dataclass(frozen=True)
class Plan:
    """All jobs of one command, and how they are to be run."""

    jobs: tuple[Job, ...]
    methods: dict[str, Method]
    data_type: DataType = field(compare=False)
    source: Source = field(compare=False)
    dataset_path: Path | None
    result_dir: Path
    n_jobs: int
    rerun: frozenset[Status]
    recall: Recall = field(default_factory=Recall, compare=False, repr=False)

    def result_file(self, algorithm: str) -> Path:
        """The file that a method's records go to."""
        return self.result_dir / f"{algorithm}-{self.data_type.name}.jsonl"


def make_plan(options: RunOptions, workspace: Workspace) -> Plan:
    """Turn options into jobs, in the order: method, noise level, seed, dataset.

    Raises
    ------
    UsageError
        If a name does not exist or options contradict each other.
    MethodError
        If a method's folder is broken or does not do this data type.
    DataError
        If the user's own data cannot be read.
    """
    data_type = datatypes.find(
        options.data_type,
        workspace.datasets / options.data_type,
        workspace.arrays / options.data_type,
    )
    data_type.use_variant(options.variant)
    if not options.algorithms:
        raise UsageError("No method was given.", "Say which: --algorithm operon")
    chosen = {name: methods.find(name, workspace.algorithms) for name in options.algorithms}
    for method in chosen.values():
        _check_method(method, data_type)
        _check_rows(method, data_type, options.max_rows)
    source = data_type.source(options.dataset_path)
    names = data_type.with_options(
        select_names(source.names(), options.datasets, source.groups()),
        _special(options.special, data_type),
    )
    levels = _noise_levels(options, data_type)
    threads = options.threads or max(method.spec.threads for method in chosen.values())
    jobs = tuple(
        Job(
            algorithm=method.name,
            data_type=data_type.name,
            dataset=name,
            snr_db=snr_db,
            seed=seed,
            protocol=options.protocol,
            timeout_s=method.spec.timeout if options.timeout is None else options.timeout,
            threads=options.threads or method.spec.threads,
            save_pareto=options.save_pareto,
            memory_mb=options.memory_mb or method.spec.memory_mb,
            processes=options.processes,
            output_mb=options.output_mb,
            variant=options.variant,
            max_rows=_max_rows(method, data_type, options.max_rows),
        )
        for method in chosen.values()
        for snr_db in levels
        for seed in _unique(options.seeds)
        for name in names
    )
    return Plan(
        jobs=jobs,
        methods=chosen,
        data_type=data_type,
        source=source,
        dataset_path=options.dataset_path,
        result_dir=options.result_dir,
        n_jobs=slots(options.n_jobs, threads),
        rerun=options.rerun,
    )


def select_names(
    names: Sequence[str],
    patterns: Sequence[str],
    groups: Mapping[str, Sequence[str]] | None = None,
) -> list[str]:
    """Pick the names that a pattern names or matches, in their own order.

    Parameters
    ----------
    names
        All names there are.
    patterns
        Names, globs, or names of groups; none for all.
    groups
        The names in each group.

    Raises
    ------
    UsageError
        If a pattern matches nothing; shows near names.
    """
    if not patterns:
        return list(names)
    picked: set[str] = set()
    for pattern in patterns:
        matching = [name for name in names if name == pattern or fnmatchcase(name, pattern)]
        if not matching and groups:
            matching = list(groups.get(pattern, ()))
        if not matching:
            near = did_you_mean(pattern, [*names, *(groups or ())])
            raise UsageError(
                f"--dataset {pattern!r} matches none of the {len(names)} datasets.",
                f"{near} To see all: mdbench list --datasets",
            )
        picked.update(matching)
    return [name for name in names if name in picked]


def _check_method(method: Method, data_type: DataType) -> None:
    if data_type.name not in method.spec.data_types:
        raise UsageError(
            f"{method.name} does not do {data_type.name}; its method.toml says "
            f"data_types = {list(method.spec.data_types)}.",
            "To see which method does what: mdbench list",
        )
    if method.spec.view not in data_type.views:
        raise MethodError(
            f"{method.folder / 'method.toml'}: key 'view' is {method.spec.view!r}, "
            f"but {data_type.name} has only: {', '.join(data_type.views)}."
        )


def _check_rows(method: Method, data_type: DataType, max_rows: int | None) -> None:
    if max_rows is not None and method.spec.view not in data_type.subsampled_views:
        raise UsageError(
            f"--max-rows does not go with {method.name}: of {data_type.name} as "
            f"{method.spec.view} a method needs all samples.",
            "Leave it out.",
        )


def _max_rows(method: Method, data_type: DataType, asked: int | None) -> int | None:
    """Give what was asked for, or else the method's own limit where rows can be left out."""
    if method.spec.view not in data_type.subsampled_views:
        return None
    return method.spec.max_rows if asked is None else asked


def _special(words: Sequence[str], data_type: DataType) -> dict[str, str]:
    """Read the options of the data type."""
    known = {option.name: option for option in data_type.options}
    given: dict[str, str] = {}
    left = list(words)
    while left:
        name, equals, value = left.pop(0).partition("=")
        name = name.replace("_", "-")
        if name not in known:
            raise UsageError(
                f"{name!r} is no option of a run, nor of the data type {data_type.name}.",
                f"Options of {data_type.name}: {', '.join(known) or 'none'}.  "
                "To see all others: mdbench run --help",
            )
        if name in given:
            raise UsageError(f"{name} was given more than once.", "Give it once.")
        if known[name].takes_value:
            if not equals and (not left or left[0].startswith("--")):
                raise UsageError(f"{name} needs a value.", f"E.g. {name}=VALUE")
            given[name] = value if equals else left.pop(0)
        elif equals:
            raise UsageError(f"{name} takes no value, and was given {value!r}.")
        else:
            given[name] = ""
    return given


def _noise_levels(options: RunOptions, data_type: DataType) -> tuple[float | None, ...]:
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
    return tuple(_unique(levels))


def _unique(values: Sequence[_T]) -> list[_T]:
    return list(dict.fromkeys(values))


def slots(n_jobs: int | None, threads: int) -> int:
    """Give how many jobs run at a time: as asked for, or as many as fit the cores."""
    return n_jobs or max(1, len(os.sched_getaffinity(0)) // threads)
