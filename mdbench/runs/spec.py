"""One job, one specification: a field is declared once, and all else follows from it.

What a field is on the command line and in the help, in a job's key, in its record and in what
``mdbench why`` says is taken from its declaration.  A new option of all data types is a field of
`Terms`; one of a single data type is an `Option` of it, and no field at all.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from mdbench.errors import UsageError
from mdbench.protocols import Protocol
from mdbench.runs.kept import ALWAYS, Kept, declared, level, plain, portable, short
from mdbench.runs.model_terms import ModelRoute, ModelTerms
from mdbench.runs.options import (
    SMALLEST_MEMORY_MB,
    Typed,
    names,
    option_key,
    read,
    read_backend,
    read_command,
    read_count,
    read_jobs,
    read_pair,
    read_path,
    read_protocol,
    read_require,
    read_rerun,
    read_seconds,
    read_seeds,
    read_size,
    read_snr,
    read_whole,
    typed_fields,
    words_of,
)
from mdbench.runtimes.base import OUTPUT_MB, PROCESSES, Limits

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from mdbench.datatypes.facts import Option
    from mdbench.methods import MethodSpec
    from mdbench.records import Record, Status
    from mdbench.runtimes.base import Level

__all__ = ["RETRIES", "JobSpec", "Kept", "RunOptions", "Terms", "declared", "portable"]


RETRIES: Final = 2
"""Times that what may pass is tried again, unless it is said otherwise."""


@dataclass(frozen=True, kw_only=True)
class Terms(ModelTerms):
    """What a job and a command that asks for many have in common.

    Attributes
    ----------
    options
        The values of the data type's own options, by their keys; JSON can hold them.
    memory_mb
        None for all that the machine has.
    study
        SHA-256 of the study file that asks for it; None where a command line does.
    """

    dataset_path: Path | None = field(
        default=None,
        metadata=declared(
            Kept(record="dataset_path", back=portable, asks=True),
            Typed(
                "--dataset-path PATH",
                "Your own data: a CSV or NPZ (fields: NPZ, .mat, .nc), or a folder of them.",
                read_path,
            ),
        ),
    )
    protocol: Protocol = field(
        default=Protocol.STRICT,
        metadata=declared(
            Kept("protocol", record="protocol", back=Protocol, asks=True),
            Typed("--protocol NAME", "strict or published.", read_protocol),
        ),
    )
    timeout_s: float | None = field(
        default=None,
        metadata=declared(
            Kept("timeout_s", short, record="budget.timeout_s", method="timeout"),
            Typed(
                "--timeout SECONDS",
                "Seconds a job may take.  Default: the method's own.",
                read_seconds,
            ),
        ),
    )
    threads: int | None = field(
        default=None,
        metadata=declared(
            Kept("threads", record="budget.threads", method="threads"),
            Typed("--threads N", "Threads a job may use.  Default: the method's own.", read_whole),
        ),
    )
    memory_mb: int | None = field(
        default=None,
        metadata=declared(
            Kept("memory_mb", left_out=None, record="budget.memory_mb", method="memory_mb"),
            Typed("--memory SIZE", "Memory a job may use, e.g. 4G.", read_size(SMALLEST_MEMORY_MB)),
        ),
    )
    processes: int = field(
        default=PROCESSES,
        metadata=declared(
            Kept("processes", left_out=PROCESSES, record="budget.processes"),
            Typed(
                "--max-processes N",
                f"Processes and threads of a job.  Default: {PROCESSES}.",
                read_whole,
            ),
        ),
    )
    output_mb: int = field(
        default=OUTPUT_MB,
        metadata=declared(
            Kept("output_mb", left_out=OUTPUT_MB, record="budget.output_mb"),
            Typed("--max-output SIZE", "What a job may write.  Default: 2G.", read_size(1)),
        ),
    )
    save_pareto: bool = field(
        default=False,
        metadata=declared(
            Kept(record="front", written=False, back=lambda front: front is not None),
            Typed("--save-pareto", "Keep the front of candidates in the records."),
        ),
    )
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    study: str | None = field(default=None, metadata=declared(Kept(record="study")))


@dataclass(frozen=True, kw_only=True)
class JobSpec(Terms):
    """Method x dataset x noise level x seed under one budget: all that a job is."""

    # Of the method the key has what it consists of.
    algorithm: str = field(metadata=declared(Kept(record="algorithm")))
    data_type: str = field(metadata=declared(Kept("data_type", record="data_type", asks=True)))
    dataset: str = field(metadata=declared(Kept("name", record="dataset", asks=True)))
    snr_db: float | None = field(
        metadata=declared(Kept("snr_db", level, record="snr_db", asks=True))
    )
    seed: int = field(metadata=declared(Kept("seed", record="seed", asks=True)))
    if TYPE_CHECKING:  # the fields of `Terms`, which of a job are known
        timeout_s: float
        threads: int

    @property
    def limits(self) -> Limits:
        """What the job may use besides time."""
        return Limits(self.threads, self.memory_mb, self.processes, self.output_mb)

    @property
    def noise(self) -> str:
        """The noise level in words."""
        return "clean" if self.snr_db is None else f"{self.snr_db:g} dB"

    def __str__(self) -> str:
        return f"{self.algorithm} · {self.dataset} · {self.noise} · seed {self.seed}"

    @property
    def results(self) -> str:
        """A name for what all jobs of its method and data type share: their file of records."""
        return f"{self.algorithm}-{self.data_type}"

    @property
    def file_name(self) -> str:
        """A name for the job's files: the dataset's own name, its noise and its seed.

        Of names that no file could have, what matters is left; a key makes it unique.
        """
        noise = "" if self.snr_db is None else f"_snr_{self.snr_db:g}"
        plain = "".join(letter if letter.isprintable() else "-" for letter in self.dataset)
        short = plain.replace("/", "-").encode()[:100].decode(errors="ignore")
        return f"{short}{noise}_seed_{self.seed}"

    @property
    def question(self) -> tuple[Any, ...]:
        """What is asked, whoever answers it and within whatever limits; options aside."""
        return tuple(getattr(self, name) for name, _ in _asking(type(self)))

    @classmethod
    def question_in(cls, record: Mapping[str, Any] | Record) -> tuple[Any, ...]:
        """Give the `question` of the job that left a record, which may be given as it was read.

        Raises
        ------
        KeyError, ValueError
            If the record does not say it.
        """
        found = []
        for name, each in _asking(cls):
            value: Any = record
            for part in (each.record or f"options.{name}").split("."):
                value = value[part] if isinstance(value, dict) else getattr(value, part)
            found.append(None if value is None else each.back(value))
        return tuple(found)

    @property
    def data(self) -> tuple[Any, ...]:
        """All that the job's dataset follows from."""
        options = json.dumps(dict(self.options), sort_keys=True) if self.options else "{}"
        return (*self.question, options)

    def system(self, options: Iterable[Option]) -> str:
        """Name the ground truth: the dataset, and the options of the data type that ask another."""
        asked = [
            _shown(option, self.options[option.key])
            for option in options
            if option.changes_system and option.key in self.options
        ]
        return f"{self.dataset} ({', '.join(asked)})" if asked else self.dataset

    def part(self, options: Iterable[Option]) -> str:
        """Name the part of the question, by the options of the data type that have parts."""
        return ", ".join(
            _shown(option, self.options[option.key])
            for option in options
            if option.is_fold and option.key in self.options
        )

    def key_parts(self) -> dict[str, str]:
        """Give its parts of the job's key, by name."""
        parts = {name: plain(value) for name, value in self.options.items()}
        for name, each in _kept(self):
            value = getattr(self, name)
            if each.key is not None and (each.left_out is ALWAYS or value != each.left_out):
                parts[each.key] = each.text(value)
        return parts

    def recorded(self) -> dict[str, Any]:
        """Give what its record says of it: JSON values in nested objects."""
        found: dict[str, Any] = {"options": dict(self.options)}
        for name, each in _kept(self):
            *path, last = (each.record or f"options.{name}").split(".")
            value = getattr(self, name)
            if each.access and value is None:
                continue
            place = found
            for part in path:
                place = place.setdefault(part, {})
            if each.written:
                place[last] = str(value) if isinstance(value, Path | str) else value
        return found

    @classmethod
    def of(cls, record: Record) -> Self:
        """Give the specification of the job that left a record.

        Raises
        ------
        UsageError
            If the record does not say all that it takes to run the job.
        """
        options = dict(record.options)
        found: dict[str, Any] = {}
        for name, each in _kept(cls):
            value = _at(record, each.record) if each.record else options.pop(name, None)
            if value is not None:
                found[name] = each.back(value)
            elif each.method and each.left_out is ALWAYS:
                raise UsageError(f"The record of {record.dataset} has no {name}.")
        return cls(**{"snr_db": None, **found}, options=options)


def _at(record: Record, place: str) -> Any:
    """Give what stands somewhere in a record; None where an object on the way is null."""
    value: Any = record
    for part in place.split("."):
        value = None if value is None else getattr(value, part)
    return value


def _kept(spec: JobSpec | type[JobSpec]) -> list[tuple[str, Kept]]:
    return [(each.name, each.metadata["Kept"]) for each in fields(spec) if "Kept" in each.metadata]


def _asking(spec: type[JobSpec]) -> tuple[tuple[str, Kept], ...]:
    if spec not in _ASKING:
        _ASKING[spec] = tuple((name, each) for name, each in _kept(spec) if each.asks)
    return _ASKING[spec]


_ASKING: dict[type[JobSpec], tuple[tuple[str, Kept], ...]] = {}


def _shown(option: Option, value: Any) -> str:
    if isinstance(value, str):
        return value
    return option.key if value is True else f"{option.key}={plain(value)}"


@dataclass(frozen=True)
class RunOptions(Terms, ModelRoute):
    """What ``mdbench run`` was asked for, one attribute an option."""

    algorithms: tuple[str, ...] = field(
        metadata=declared(Typed("--algorithm NAME...", "Method; several allowed.", names))
    )
    data_type: str = field(
        metadata=declared(Typed("--data-type NAME", "Kind of problem, e.g. ode."))
    )
    datasets: tuple[str, ...] = field(
        default=(),
        metadata=declared(
            Typed("--dataset NAME...", "Exact name or glob; several allowed.  Default: all.", names)
        ),
    )
    result_dir: Path = field(
        default=Path("results"),
        metadata=declared(
            Typed(
                "--result-dir DIR",
                "Where records and logs go.  Default: results.",
                read_path,
                of_run=True,
            )
        ),
    )
    with_noise: bool = field(
        default=False, metadata=declared(Typed("--with-noise", "Clean and 40, 30, 20, 10 dB."))
    )
    snr: tuple[float | None, ...] = field(
        default=(),
        metadata=declared(
            Typed("--snr DB...", "Noise level in dB, or 'clean'; several allowed.", read_snr)
        ),
    )
    n_jobs: int | None = field(
        default=None,
        metadata=declared(
            Typed(
                "--n-jobs N", "Jobs at a time; -1: one a core, the default.", read_jobs, of_run=True
            )
        ),
    )
    seed: tuple[int, ...] = field(
        default=(),
        metadata=declared(Typed("--seed N", "Seed of noise and method.  Default: 0.", read_seeds)),
    )
    seeds: tuple[int, ...] = field(
        default=(),
        metadata=declared(Typed("--seeds N...", "Several seeds: 0,1,2 or 0-9.", read_seeds)),
    )
    rerun: Collection[Status] = field(
        default=(),
        metadata=declared(
            Typed(
                "--rerun STATUS...",
                "Run again what ended so: e.g. timeout,failed; or all.",
                read_rerun,
                of_run=True,
            )
        ),
    )
    retries: int = field(
        default=RETRIES,
        metadata=declared(
            Typed(
                "--retries N",
                "Times that a job is tried again whose environment, engine or worker was lost.  "
                f"Default: {RETRIES}.",
                read_count,
                of_run=True,
            )
        ),
    )
    backend: str = field(
        default="local",
        metadata=declared(
            Typed(
                "--backend NAME",
                "Where jobs run: local, dask, slurm or submitit-local; see docs/scale.md.",
                read_backend,
                of_run=True,
            )
        ),
    )
    scheduler: str | None = field(
        default=None,
        metadata=declared(
            Typed(
                "--scheduler ADDRESS", "A Dask scheduler that runs: tcp://host:8786.", of_run=True
            )
        ),
    )
    slurm: tuple[tuple[str, str], ...] = field(
        default=(),
        metadata=declared(
            Typed(
                "--slurm KEY=VALUE...",
                "Options for sbatch, e.g. partition=long; time in minutes.",
                read_pair,
                of_run=True,
            )
        ),
    )
    memory_total_mb: int | None = field(
        default=None,
        metadata=declared(
            Typed(
                "--memory-total SIZE",
                "Memory that all jobs that run at a time may need together, e.g. 16G.",
                read_size(SMALLEST_MEMORY_MB),
                of_run=True,
            )
        ),
    )
    fresh_rooms: bool = field(
        default=False,
        metadata=declared(
            Typed("--fresh-rooms", "A new room, container or process for every job.", of_run=True)
        ),
    )
    runtime: str = field(
        default="auto",
        metadata=declared(
            Typed("--runtime NAME", "auto, venv or docker.", envvar="MDBENCH_RUNTIME", of_run=True)
        ),
    )
    require: tuple[tuple[str, Level], ...] = field(
        default=(),
        metadata=declared(
            Typed(
                "--require WHAT=LEVEL...",
                "Refuse to run with less, e.g. network=hard.",
                read_require,
                of_run=True,
            )
        ),
    )
    notify: tuple[str, ...] = field(
        default=(),
        metadata=declared(
            Typed(
                "--notify CMD",
                "Run a program at the end, told what came of it: see docs/watching.md.",
                read_command,
                of_run=True,
            )
        ),
    )
    special: tuple[str, ...] = ()
    """Words that only the data type understands: its own options with their values."""

    @classmethod
    def of(cls, given: Mapping[str, Any], study: str | None = None) -> Self:
        """Read what was given by the options' names with underscores, as from Python or a `study`.

        Raises
        ------
        UsageError
            If a value cannot be read; options that are not known here are left for the data type.
        """
        own = {option_key(is_.name): name for name, (is_, _) in typed_fields(cls).items()}
        found = {own[key]: value for key, value in given.items() if key in own}
        for name, (option, _) in typed_fields(cls).items():
            if option.several and isinstance(found.get(name), str | int | float):
                found[name] = [found[name]]
        others = {key: value for key, value in given.items() if key not in own}
        return read(cls, found, special=tuple(words_of(others)), study=study)

    def for_method(self, spec: MethodSpec) -> dict[str, Any]:
        """Give the terms of a method's jobs: as asked for, or else as the method says."""
        found = {}
        for each in fields(Terms):
            value = getattr(self, each.name)
            kept_ = each.metadata.get("Kept", Kept())
            if kept_.access and not getattr(spec.access, kept_.access):
                value = None
            elif value is None:
                value = getattr(spec, kept_.method) if kept_.method else kept_.usual
            found[each.name] = value
        return found
