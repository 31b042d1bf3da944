"""What reports read of records: the keys that they show, from files of any age."""

from __future__ import annotations

import json
import math
from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from mdbench.drawing.numbers import cleanest_first, fixed
from mdbench.errors import RecordsError, UsageError
from mdbench.records import ANSWERED, RERUN_ALWAYS, SCHEMA, Status, upgrade

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

__all__ = [
    "CurvePoint",
    "Effort",
    "ModelAsked",
    "Result",
    "SoFar",
    "content_of",
    "measurements",
    "read_folder",
    "records_in",
    "report_order",
    "results_files",
    "standing",
    "studies",
]

Finite = Annotated[float, AfterValidator(lambda value: value if math.isfinite(value) else None)]


class _Section(BaseModel):
    # What a report does not show may be there, be missing, or come with a later version.
    model_config = ConfigDict(frozen=True, extra="ignore")


class CurvePoint(_Section):
    """After how many calls the best loss was better than before."""

    calls: int
    loss: Finite | None = None


class ModelAsked(_Section):
    """What a method was told, and has used, of a language model."""

    model: str | None = None
    prompt: str | None = None
    calls: int | None = None
    failed: int | None = None
    spent: bool | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    money: Finite | None = None
    curve: tuple[CurvePoint, ...] | None = None


class SoFar(_Section):
    """What the best answer up to a share of the budget scores."""

    share: float
    score: Finite | str | None


class Effort(_Section):
    """What a job took."""

    started: str = ""
    wall_s: Finite | None = None
    fit_s: Finite | None = None
    cpu_s: Finite | None = None
    peak_memory_mb: Finite | None = None
    llm_s: Finite | None = None
    speed: Finite | None = None
    anytime: tuple[SoFar, ...] = ()


class Allowed(_Section):
    """What a job was allowed to use."""

    timeout_s: Finite | None = None
    threads: int | None = None


class RunBy(_Section):
    """How a method was isolated."""

    name: str = ""


class Computer(_Section):
    """The machine of a job."""

    cpu: str = ""
    cores: int | None = None
    memory_mb: int | None = None
    os: str = ""

    @property
    def says(self) -> str:
        """The machine in words, as far as it is known."""
        parts = [self.cpu]
        if self.cores:
            parts.append(f"{self.cores} {'core' if self.cores == 1 else 'cores'}")
        if self.memory_mb:
            parts.append(f"{fixed(self.memory_mb / 1024)} GiB")
        return ", ".join(filter(None, [*parts, self.os]))


class MadeWith(_Section):
    """The versions and the machine that a result was made with."""

    python: str | None = None
    core: dict[str, str] = {}
    machine: Computer = Computer()


class Result(_Section):
    """A record, as far as reports show it; the keys are those of the record.

    A method that asks another language model, or is told otherwise, is another method to reports:
    its `algorithm` says so, and `folder` is the method's own name.
    """

    schema_number: int = Field(alias="schema")
    key: str
    key_parts: dict[str, str] = {}
    algorithm: str
    folder: str = ""
    data_type: str
    dataset: str
    dataset_path: str | None = None
    dim: int | None = None
    system: str
    part: str = ""
    options: dict[str, Any] = {}
    snr_db: Finite | None = None
    seed: int
    protocol: str
    study: str | None = None
    targets: tuple[str, ...] = ()
    truth: tuple[str, ...] | None = None
    names: dict[str, str] = {}
    status: Status
    reason: str = ""
    equations: tuple[str, ...] | None = None
    judged_by: tuple[str, ...] = ()
    metrics: dict[str, Finite | str | None] = {}
    floor: Finite | None = None
    notes: dict[str, tuple[str, ...]] = {}
    llm: ModelAsked | None = None
    measured: Effort = Effort()
    mdbench: str = ""
    budget: Allowed = Allowed()
    runtime: RunBy = RunBy()
    provenance: MadeWith = MadeWith()

    @model_validator(mode="before")
    @classmethod
    def _with_its_model(cls, data: Any) -> Any:
        if not isinstance(data, dict) or "folder" in data or "algorithm" not in data:
            return data
        name = data["algorithm"]
        told = data.get("llm") or {}
        words = [told.get("model"), told.get("prompt")]
        shown = ", ".join(word for word in words if isinstance(word, str))
        return {**data, "folder": name, "algorithm": f"{name} ({shown})" if shown else name}

    @property
    def answered(self) -> bool:
        """Whether there is an answer with scores."""
        return self.status in ANSWERED

    @property
    def attempted(self) -> bool:
        """Whether the job says something about the method."""
        return self.status not in RERUN_ALWAYS

    @property
    def question(self) -> tuple[object, ...]:
        """What was asked of whom: a later record with the same question stands for it."""
        return (
            self.data_type,
            self.algorithm,
            self.system,
            self.part,
            self.snr_db,
            self.seed,
            self.protocol,
        )


def studies(results: Iterable[Result]) -> list[tuple[str, int]]:
    """Name the studies that asked for results by their SHA-256, with how many; most first.

    An empty name stands for the results that a command line asked for; where all are so, there
    is nothing to name.
    """
    counts = Counter(result.study or "" for result in results)
    return counts.most_common() if any(counts) else []


def results_files(folder: Path) -> list[Path]:
    """Find the results files of a folder, and of the folders in it.

    Parameters
    ----------
    folder
        A folder, or one results file.

    Raises
    ------
    UsageError
        If there is no such folder, or no results file in it.
    """
    if folder.is_file():
        return [folder]
    if not folder.is_dir():
        raise UsageError(
            f"There is no folder {folder}.", "Name the folder given to run as --result-dir."
        )
    files = [path for path in folder.rglob("*.jsonl") if path.is_file()]
    found = sorted(path for path in files if "logs" not in path.relative_to(folder).parts)
    if not found:
        raise UsageError(
            f"{folder} has no results file (*.jsonl).",
            "Results come from: mdbench run --result-dir DIR",
        )
    return found


def read_folder(folder: Path) -> list[tuple[Path, dict[str, Any]]]:
    """Read all records of a folder as JSON objects of the current schema, with their files.

    Of records with one key the newest counts.  A last line that is being written, or that was
    torn, is passed over.

    Raises
    ------
    UsageError
        As `results_files`.
    RecordsError
        If a file cannot be read, or if a line is no record or one of a newer schema.
    """
    newest: dict[tuple[Path, str], tuple[Path, dict[str, Any]]] = {}
    for path in results_files(folder):
        for data in records_in(path, content_of(path)):
            newest[path, str(data.get("key"))] = path, data
    return list(newest.values())


def measurements(results: Iterable[Result]) -> bool:
    """Tell whether all results to whose data no noise was added are of the user's measurements."""
    plain = [one for one in results if one.snr_db is None]
    return bool(plain) and all(one.dataset_path and one.truth is None for one in plain)


def report_order(result: Result) -> tuple[str, str, float, str, str, int, str]:
    """Sort results as reports do: by data type and system, the cleanest first.

    The order is part of the numbers, as it says which systems the bootstrap draws.
    """
    noise = cleanest_first(result.snr_db)
    return (
        result.data_type,
        result.system,
        noise,
        result.protocol,
        result.algorithm,
        result.seed,
        result.part,
    )


def standing(records: Iterable[tuple[Path, dict[str, Any]]]) -> list[Result]:
    """Give the results that stand: of several answers to one question the newest.

    Jobs that were interrupted, or whose environment could not be made, stand only where there
    is nothing else, as they say nothing about the method.

    Raises
    ------
    RecordsError
        If a record lacks a key, or if a key has a value of the wrong type.
    """
    newest: dict[tuple[object, ...], Result] = {}
    for path, data in records:
        try:
            result = Result.model_validate(data)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(map(str, first["loc"]))
            raise RecordsError(
                f"{path}: a record of {data.get('dataset')!r} is damaged: {where}: {first['msg']}",
                "Mend the line, or delete it (after a copy of the file).",
            ) from None
        other = newest.get(result.question)
        if other is None or _weight(result) >= _weight(other):
            newest[result.question] = result
    return list(newest.values())


def _weight(result: Result) -> tuple[bool, str]:
    return result.attempted, result.measured.started


def content_of(path: Path) -> bytes:
    """Read a results file.

    Raises
    ------
    RecordsError
        If it cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise RecordsError(f"{path} cannot be read: {error.strerror}") from None


def records_in(path: Path, content: bytes) -> Iterator[dict[str, Any]]:
    """Read the records of a results file, which is named in errors, as it was.

    Raises
    ------
    RecordsError
        If a line is no record, or one of a newer schema.
    """
    *lines, tail = content.split(b"\n")
    for number, line in enumerate([*lines, tail], start=1):
        if not line.strip(b" \t\r\0"):
            continue
        try:
            data = json.loads(line)
            if not isinstance(data, dict):
                raise ValueError("no object")  # noqa: TRY301, TRY004 - told of with the others
        except ValueError:
            if number > len(lines) and line.startswith(b"{"):
                continue  # torn, or still being written
            raise RecordsError(
                f"{path}, line {number} is no record: {line[:40]!r}",
                "Mend the line or delete it, or move the file away if it has no records.",
            ) from None
        if data.get("schema") != SCHEMA:
            try:
                data = upgrade(data)
            except RecordsError as error:
                raise RecordsError(f"{path}, line {number}: {error.message}", error.hint) from None
        yield data
