"""One job, one specification: a field is declared once, and all else follows from it.

What a field is on the command line and in the help, in a job's key, in its record and in what
``mdbench plan --why`` shows is taken from its declaration.  A new option of all data types is a
field of `CommonOptions`; one of a single data type is an `Option` of it, and no field at all.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from mdbench.datatypes.facts import Choice, Protocol
from mdbench.errors import UsageError, did_you_mean
from mdbench.runs.options import (
    NOTHING,
    SMALLEST_MEMORY_MB,
    FieldOption,
    level,
    metadata,
    option,
    plain,
    portable,
    read_path,
    read_protocol,
    read_seconds,
    read_size,
    read_whole,
    read_work,
    short,
)
from mdbench.runs.services import options_of
from mdbench.runtimes.base import OUTPUT_MB, PROCESSES, Limits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from mdbench.datatypes.facts import Option
    from mdbench.records import Record


def backstop_s(work_s: float) -> float:
    """Return the wall time after which a job with a work limit is ended, unless one is given.

    It is for methods that wait, such as for a service. It is also for machines that are so
    busy or so slow that a job gets a tenth of the reference core.
    """
    return 10.0 * work_s + 60.0


def _read_choice(option: str, text: str) -> Choice:
    if text not in {*Choice}:
        raise UsageError(f"{option} is {text!r}.", did_you_mean(text, list(map(str, Choice))))
    return Choice(text)


if TYPE_CHECKING:

    class ServiceOptions:
        """The options of jobs that services have; which these are depends on what is here."""
else:
    ServiceOptions = options_of("job_options")


@dataclass(frozen=True, kw_only=True)
class CommonOptions(ServiceOptions):
    """Options that a job and a command that asks for many have in common.

    Attributes
    ----------
    options
        The values of the data type's own options, by their keys; JSON can hold them.
    timeout_s, work_s
        Seconds of wall time, and reference seconds of work; whichever ends first ends a job.
    memory_mb
        None for all that the machine has.
    study
        SHA-256 of the study file that asks for it; None where a command line does.
    """

    dataset_path: Path | None = option(
        "--dataset-path PATH",
        "Your own data: a table or a file of arrays, such as CSV or NPZ, or a folder of them.",
        read_path,
        record="dataset_path",
        from_record=portable,
        question=True,
    )
    protocol: Protocol = option(
        "--protocol NAME",
        "strict or published.",
        read_protocol,
        default=Protocol.STRICT,
        key="protocol",
        record="protocol",
        from_record=Protocol,
        question=True,
    )
    choice: Choice = option(
        "--choice WHO",
        "Who chooses among a method's candidates: benchmark (the default), or own, the method.",
        _read_choice,
        default=Choice.BENCHMARK,
        key="choice",
        omitted=Choice.BENCHMARK,
        from_record=Choice,
    )
    timeout_s: float | None = option(
        "--timeout SECONDS",
        "Seconds a job may take.  Default: the method's own, or those of the data type's work.",
        read_seconds,
        key="timeout_s",
        to_key=short,
        record="budget.timeout_s",
        method="timeout",
    )
    work_s: float | None = option(
        "--work SECONDS",
        "Work that a job may do, in reference seconds: CPU time at the speed of a reference core.  "
        "Default: the method's own, else that of the data type.",
        read_work,
        key="work_s",
        to_key=short,
        omitted=None,
        record="budget.work_s",
        method="work",
    )
    threads: int | None = option(
        "--threads N",
        "Threads a job may use.  Default: the method's own.",
        read_whole,
        key="threads",
        record="budget.threads",
        method="threads",
    )
    memory_mb: int | None = option(
        "--memory SIZE",
        "Memory a job may use, e.g. 4G.",
        read_size(SMALLEST_MEMORY_MB),
        key="memory_mb",
        omitted=None,
        record="budget.memory_mb",
        method="memory_mb",
    )
    processes: int = option(
        "--max-processes N",
        f"Processes and threads of a job.  Default: {PROCESSES}.",
        read_whole,
        default=PROCESSES,
        key="processes",
        omitted=PROCESSES,
        record="budget.processes",
    )
    output_mb: int = option(
        "--max-output SIZE",
        "What a job may write.  Default: 2G.",
        read_size(1),
        default=OUTPUT_MB,
        key="output_mb",
        omitted=OUTPUT_MB,
        record="budget.output_mb",
    )
    save_pareto: bool = option(
        "--save-pareto",
        "Keep the front of candidates in the records.",
        default=False,
        record="front",
        stored=False,
        from_record=lambda front: front is not None,
    )
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    study: str | None = option(record="study")


@dataclass(frozen=True, kw_only=True)
class JobSpec(CommonOptions):
    """Method x dataset x noise level x seed under one budget: all that a job is."""

    # Of the method the key has what it consists of.
    algorithm: str = field(metadata=metadata(record="algorithm"))
    data_type: str = field(metadata=metadata(key="data_type", record="data_type", question=True))
    dataset: str = field(metadata=metadata(key="name", record="dataset", question=True))
    snr_db: float | None = field(
        metadata=metadata(key="snr_db", to_key=level, record="snr_db", question=True)
    )
    seed: int = field(metadata=metadata(key="seed", record="seed", question=True))
    if TYPE_CHECKING:  # the fields of `CommonOptions`, which of a job are known
        timeout_s: float
        threads: int

    @property
    def usual_s(self) -> float:
        """The wall time that it may take on a machine that is like the reference, and not busy."""
        return self.timeout_s if self.work_s is None else min(self.timeout_s, self.work_s)

    @property
    def limit_text(self) -> str:
        """The limit of its time or its work, in words."""
        if self.work_s is None:
            return f"limit of {self.timeout_s:g} s"
        return f"work limit of {self.work_s:g} reference seconds"

    @property
    def limits(self) -> Limits:
        """The job's limits besides time."""
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
        """The question of a job, without method, limits and options."""
        return tuple([getattr(self, name) for name in _in_question(type(self))])

    @classmethod
    def question_in(cls, record: Mapping[str, Any] | Record) -> tuple[Any, ...]:
        """Return the `question` of the job that left a record, which may be given as it was read.

        Raises
        ------
        KeyError, ValueError
            If the record does not have it.
        """
        values = ((_value_at(record, path), read) for path, read in _question_in_record(cls))
        return tuple([None if value is None else read(value) for value, read in values])

    @property
    def data(self) -> tuple[Any, ...]:
        """All that the job's dataset follows from."""
        return (*self.question, self.option_text)

    @property
    def option_text(self) -> str:
        """The options of the data type as JSON, equal for equal ones."""
        return json.dumps(dict(self.options), sort_keys=True) if self.options else "{}"

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
        """Return its parts of the job's key, by name."""
        parts = {name: plain(value) for name, value in self.options.items()}
        for name, key, key_of_field in _in_key(type(self)):
            value = getattr(self, name)
            if key_of_field.omitted is NOTHING or value != key_of_field.omitted:
                parts[key] = key_of_field.to_key(value)
        return parts

    def recorded(self) -> dict[str, Any]:
        """Return its part of the record: JSON values in nested objects."""
        values: dict[str, Any] = {"options": dict(self.options)}
        for name, key in _declared(type(self)):
            *path, last = (key.record or f"options.{name}").split(".")
            value = getattr(self, name)
            if key.access and value is None:
                continue
            if not key.record and value == key.omitted:
                continue  # `options` holds what was asked for
            table = values
            for part in path:
                table = table.setdefault(part, {})
            if key.stored:
                table[last] = str(value) if isinstance(value, Path | str) else value
        return values

    @classmethod
    def of(cls, record: Record) -> Self:
        """Return the specification of the job that left a record.

        Raises
        ------
        UsageError
            If the record does not have all that it takes to run the job.
        """
        options = dict(record.options)
        values: dict[str, Any] = {}
        for name, key in _declared(cls):
            value = _value_at(record, key.record) if key.record else options.pop(name, None)
            if value is not None:
                values[name] = key.from_record(value)
            elif key.method and key.omitted is NOTHING:
                raise UsageError(f"The record of {record.dataset} has no {name}.")
        return cls(**{"snr_db": None, **values}, options=options)


def _value_at(record: Mapping[str, Any] | Record, path: str) -> Any:
    """Return a value in a record; None where an object on the way is null."""
    value: Any = record
    for part in path.split("."):
        if value is not None:
            value = value[part] if isinstance(value, dict) else getattr(value, part)
    return value


_declared: Callable[[Any], tuple[tuple[str, FieldOption], ...]] = cache(
    lambda spec: tuple((f.name, f.metadata["option"]) for f in fields(spec) if f.metadata)
)
"""The fields of a specification that are declared, by name."""
_in_key: Callable[[Any], tuple[tuple[str, str, FieldOption], ...]] = cache(
    lambda spec: tuple((n, each.key, each) for n, each in _declared(spec) if each.key is not None)
)
"""The fields that are part of a job's key: name, name in the key, and option."""
_in_question: Callable[[Any], tuple[str, ...]] = cache(
    lambda spec: tuple(name for name, each in _declared(spec) if each.question)
)
"""The names of the fields that are part of a job's question."""
_question_in_record: Callable[[Any], tuple[tuple[str, Callable[[Any], Any]], ...]] = cache(
    lambda spec: tuple(
        (each.record or f"options.{name}", each.from_record)
        for name, each in _declared(spec)
        if each.question
    )
)
"""Where each of these fields is in a record, and what reads its value."""


def _shown(option: Option, value: Any) -> str:
    if isinstance(value, str):
        return value
    return option.key if value is True else f"{option.key}={plain(value)}"
