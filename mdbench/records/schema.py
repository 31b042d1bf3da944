"""The record: one model for writing, planning and reporting, and the JSON line that it becomes.

Every key is explained in ``docs/records.md``; a test keeps the document and the model alike.
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
from datetime import UTC
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self, TypeAlias

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    model_validator,
)

from mdbench import __version__
from mdbench.errors import RecordsError, printable

if TYPE_CHECKING:
    from collections.abc import Mapping

SCHEMA: Final = 1
"""The number of the format.  The next is 10: others had 1 to 9 before the first release."""
_LAST_UNRELEASED, _FIRST_ALONE = 9, "complexity"
"""The last number from before the first release, and a key that its first format alone has."""
_READER = "mdbench 0.2.0 at commit d6caca33"
"""The last that reads records from before the first release."""

LONGEST_REASON = 500
"""Characters of a reason that are kept; the job's log has the whole story."""


LARGEST = sys.float_info.max
"""Number that is written for an infinite score."""


class Status(StrEnum):
    """Why a job ended."""

    OK = "ok"
    """The method answered within its budget, and the answer was scored."""
    PARTIAL = "partial"
    """The budget ran out, and the best of the answers given by then was scored."""
    TIMEOUT = "timeout"
    """The bench stopped the method at its limit of time or work, and there was no answer."""
    OUT_OF_MEMORY = "out_of_memory"
    """The job used more memory than it may, or reported that none was left."""
    CRASHED = "crashed"
    """The method's process ended by a signal, or left without an answer."""
    FAILED = "failed"
    """The method raised an error, or cannot be imported."""
    INVALID_OUTPUT = "invalid_output"
    """The method answered, and nothing in the answer may be scored."""
    UNSUPPORTED = "unsupported"
    """The method declares that it cannot do this problem."""
    UNAVAILABLE = "unavailable"
    """The method's environment cannot be made here, its runtime is gone, or it declares that."""
    INTERRUPTED = "interrupted"
    """The run was stopped by its user before the job had ended."""

    __hash__ = str.__hash__  # an Enum's own is Python, and reports look statuses up all the time

    word: str
    """What people read: ``ok`` is "finished", as it does not mean a right answer."""


for _status in Status:
    _status.word = "finished" if _status is Status.OK else _status.replace("_", " ")


ANSWERED: Final = frozenset({Status.OK, Status.PARTIAL})
"""The statuses of records with an answer and scores."""

FEWEST_EVALUATIONS: Final = 10_000
"""Evaluations below which a job that a limit of work ended says nothing of its method."""
_NEARLY_ALL, _HALF = 0.9, 0.5
"""Shares of the work from which on a method that fails without an answer has used it up, and from
which on one that ends early may do so for want of work."""

RERUN_ALWAYS: Final = frozenset({Status.INTERRUPTED, Status.UNAVAILABLE})
"""Statuses that are run again without being asked: they mean nothing for the method."""


def _finite(value: float) -> float | None:
    # float() turns NumPy's subclass into the plain number that reading the line gives back.
    return float(value) if math.isfinite(value) else None


def _bounded(value: float) -> float | None:
    # Null means that the scorer could not decide; what is too large for a float is known to be bad.
    if -LARGEST <= value <= LARGEST:
        return float(value)
    return None if math.isnan(value) else float(math.copysign(LARGEST, value))


def _printable(value: Any) -> Any:
    # Names of files may hold halves of surrogates, which UTF-8 has not; a record may be anybody's.
    return value if not isinstance(value, str) or value.isprintable() else printable(value)


def _one_line(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    line = _printable(" ".join(value.split()))
    return line if len(line) <= LONGEST_REASON else line[: LONGEST_REASON - 1] + "…"


def _strict_json(value: Any) -> Any:
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, float):
        return _finite(value)
    if isinstance(value, dict):
        return {_printable(name): _strict_json(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_strict_json(part) for part in value]
    return value


# A record must be written whatever a method did, so these replace what JSON cannot hold.
Number: TypeAlias = Annotated[float, AfterValidator(_finite)] | None
Name: TypeAlias = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_.+-]{0,79}$")]
"""A name that mdbench gave or asked for: of a method, a data type, a protocol."""
Text: TypeAlias = Annotated[str, BeforeValidator(_printable)]
Bounded: TypeAlias = Annotated[float, AfterValidator(_bounded)] | None
Score: TypeAlias = Bounded | Text
Line: TypeAlias = Annotated[str, BeforeValidator(_one_line)]
JsonObject: TypeAlias = Annotated[dict[str, JsonValue], BeforeValidator(_strict_json)]
Utc: TypeAlias = Annotated[AwareDatetime, AfterValidator(lambda time: time.astimezone(UTC))]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Selection(_Model):
    """The selection of the answer among the candidates."""

    loss: Number
    fitness: Number
    candidates: int
    invalid: int


class FrontEntry(_Model):
    """One of the candidates that the answer was chosen from."""

    equations: tuple[Text, ...]
    target: int | None = None
    hyperparameters: JsonObject | None = None
    loss: Number
    complexity: int | None
    fitness: Number


class OtherEquation(_Model):
    """An equation that by the method's own word fits nearly as well as that of the answer."""

    target: int
    equation: Text
    worse: Number
    log_likelihood: Number = None


class WeightedScores(_Model):
    """Equations chosen by the likelihood of measurements with standard errors, and their scores."""

    equations: tuple[Text, ...]
    values: int
    chi2: Number
    r2: Number


class Budget(_Model):
    """Limits of what a job may use."""

    timeout_s: Number
    work_s: Number = None
    threads: int
    memory_mb: int | None = None
    processes: int | None = None
    output_mb: int | None = None


class LlmBudget(_Model):
    """Limits of what a job may use of a language model; null: no limit."""

    calls: int | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    seconds: Number = None
    money: Number = None


class LlmPoint(_Model):
    """After how many calls the best candidate was better than before, and its loss."""

    calls: int
    loss: Number


class LlmUse(_Model):
    """The language model of a job: its prompt, its budget, and what was used."""

    model: Text | None = None
    settings: Text | None = None
    no_system: bool | None = None
    prompt: str | None = None
    budget: LlmBudget = LlmBudget()
    price: tuple[float, ...] | None = None
    calls: int | None = None
    failed: int | None = None
    no_answer: dict[Text, int] | None = None
    spent: bool | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    estimated: bool | None = None
    money: Number = None
    ended: Line = ""
    found: bool | None = None
    answered_by: tuple[Text, ...] = ()
    fingerprints: tuple[Text, ...] = ()
    curve: tuple[LlmPoint, ...] | None = None


class Isolation(_Model):
    """The runtime that isolated the method."""

    name: Name
    details: JsonObject = Field(default_factory=dict)


class Machine(_Model):
    """Where the job ran."""

    cpu: Text
    cores: int
    memory_mb: int
    os: Text


class Provenance(_Model):
    """Versions behind a result: the method's environment, the core's and the machine."""

    python: Text | None = None
    packages: dict[Text, Text] = Field(default_factory=dict)
    lock_sha256: Text | None = None
    environment: Text | None = None
    core: dict[Text, Text] = Field(default_factory=dict)
    scorer: Text | None = None
    machine: Machine


class ScoreSoFar(_Model):
    """Score of the best answer up to some part of the budget, and when that answer had come."""

    share: float
    score: Score
    time_s: Number = None
    work_s: Number = None


class SmallerBudget(_Model):
    """What the benchmark would have chosen after less work, and its scores."""

    work_s: float
    equations: tuple[Text, ...] | None = None
    metrics: dict[Text, Score] = Field(default_factory=dict)


class Measured(_Model):
    """All that may differ between two runs of the same job."""

    started: Utc
    of_seed: int | None = None
    wall_s: Number = None
    fit_s: Number = None
    predict_s: Number = None
    cpu_s: Number = None
    work_s: Number = None
    evaluations: int | None = None
    import_s: Number = None
    peak_memory_mb: Number = None
    by: Text | None = None
    blas_kernel: Text | None = None
    blas_threads: int | None = None
    llm_s: Number = None
    llm_waited_s: Number = None
    llm_resumed: int | None = None
    retries: int = 0
    cores: tuple[int, ...] = ()
    load: Number = None
    speed: Number = None
    speed_before: Number = None
    speed_after: Number = None
    energy_j: Number = None
    anytime: tuple[ScoreSoFar, ...] = ()
    smaller_budgets: tuple[SmallerBudget, ...] = ()


class Record(_Model):
    """The one line that a job leaves, whatever happened.

    Numbers that are not finite become None, but a score that is infinite becomes `LARGEST`; text
    becomes valid Unicode, and `reason` one line of at most 500 characters: a record that is made
    is a record that can be written.

    Raises
    ------
    pydantic.ValidationError
        If a key is missing, unknown or of the wrong type, or if there is not one equation for
        each target.
    """

    schema_number: Literal[1] = Field(default=SCHEMA, alias="schema")
    mdbench: Text
    key: str = Field(pattern="^[0-9a-f]{64}$")
    key_parts: dict[str, str]
    algorithm: Name
    data_type: Name
    dataset: Text
    dataset_path: Text | None = None
    dim: int | None = None
    system: Text
    part: Text = ""
    options: JsonObject = Field(default_factory=dict)
    snr_db: Number = None
    seed: int
    protocol: Name
    study: Text | None = None
    view: Name
    given: tuple[Name, ...] = ()
    targets: tuple[Text, ...] = ()
    truth: tuple[Text, ...] | None = None
    target_source: Text | None = None
    names: dict[Text, Text] = Field(default_factory=dict)
    measured_in: dict[Text, Text] = Field(default_factory=dict)

    status: Status
    reason: Line = ""
    log: Text | None = None
    exchanges: Text | None = None
    answers: Text | None = None
    equations: tuple[Text, ...] | None = None
    alternatives: tuple[OtherEquation, ...] = ()
    hyperparameters: JsonObject | None = None
    judged_by: tuple[Text, ...] = ()
    metrics: dict[Text, Score] = Field(default_factory=dict)
    floor: Bounded = None
    notes: dict[Text, tuple[Text, ...]] = Field(default_factory=dict)
    selection: Selection | None = None
    front: tuple[FrontEntry, ...] | None = None
    weighted: WeightedScores | None = None

    llm: LlmUse | None = None
    budget: Budget
    runtime: Isolation
    provenance: Provenance
    measured: Measured

    @model_validator(mode="after")
    def _one_equation_per_target(self) -> Self:
        if self.equations is not None and len(self.equations) != len(self.targets):
            raise ValueError(f"{len(self.equations)} equations for the targets {self.targets}")
        return self

    @property
    def version(self) -> str:
        """The name of the method's version, where there are several; see `as_version`."""
        # No private attribute of Pydantic's: these take a tenth of the time of a large report.
        found: str = self.__dict__.get("_version", "")
        return found

    @property
    def method(self) -> str:
        """The method as reports name it: with its language model, its prompt and its version.

        The same method with another model or prompt, or of another version, is another method to
        reports.
        """
        name, version = self.algorithm, self.version
        if self.llm is not None:
            shown = ", ".join(word for word in (self.llm.model, self.llm.prompt) if word)
            name = f"{name} ({shown})" if shown else name
        return f"{name} @{version}" if version else name

    def as_version(self, version: str) -> Record:
        """Return the record as one of a version of its method, which reports name apart."""
        copy = self.model_copy()
        copy.__dict__["_version"] = version
        return copy

    @property
    def answered(self) -> bool:
        """Whether there is an answer with scores."""
        return self.status in ANSWERED

    @property
    def attempted(self) -> bool:
        """Whether the job counts as an attempt of the method."""
        return self.status not in RERUN_ALWAYS

    @property
    def cut_off(self) -> bool:
        """Whether a limit of time or work ended the job, with an answer or without."""
        return self.status in {Status.PARTIAL, Status.TIMEOUT}

    @property
    def not_measured(self) -> bool:
        """Whether the limit of work ended the job too early to say anything of its method.

        It had no answer by then, or had evaluated fewer than `FEWEST_EVALUATIONS` expressions by
        its own count without identifying the truth (docs/budgets.md).  Who ends early with half of
        the work unused is measured.
        """
        limit, used = self.budget.work_s, self.measured.work_s or 0.0
        if limit is None:
            return False
        if not self.answered:
            spent = self.status is Status.FAILED and used >= _NEARLY_ALL * limit
            return self.status is Status.TIMEOUT or spent
        count = self.measured.evaluations
        few = count is not None and count < FEWEST_EVALUATIONS and used >= _HALF * limit
        return self.cut_off and few and self.metrics.get("identified") != 1

    @property
    def identity(self) -> tuple[str, str]:
        """What no two records of one file share: a key alone says nothing of the method's name."""
        return self.algorithm, self.key

    @property
    def results(self) -> str:
        """The name of the file that it belongs in, as `mdbench.runs.spec.JobSpec.results`."""
        return f"{self.algorithm}-{self.data_type}"

    @property
    def case(self) -> tuple[object, ...]:
        """The method and the problem: of several records of one case the newest counts."""
        return (
            self.data_type,
            self.method,
            self.system,
            self.part,
            self.snr_db,
            self.seed,
            self.protocol,
        )

    def to_line(self) -> str:
        """Return the record as one line of strict JSON, without the newline."""
        return self.model_dump_json(by_alias=True)


def key_of(key_parts: Mapping[str, str]) -> str:
    """Hash all that could change a result.

    Returns
    -------
    str
        SHA-256, in hexadecimal, of the parts as JSON with sorted names; the order in which they
        are given makes no difference.
    """
    text = json.dumps(dict(key_parts), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def check_schema(data: Mapping[str, Any]) -> None:
    """Check that the keys of a record, as they were read, are in the format of this version.

    Raises
    ------
    RecordsError
        If there is no schema number, or if the record is in a newer format or in one from before
        the first release.
    """
    number = data.get("schema")
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise RecordsError(
            f"this is no record of mdbench: its schema number is {number!r}",
            "Is this a results file? Choose another folder with --result-dir if it is not.",
        )
    if number == SCHEMA and _FIRST_ALONE not in data:
        return
    writer = f"this record has schema {number} (mdbench {data.get('mdbench', 'unknown')})"
    if number > _LAST_UNRELEASED:
        raise RecordsError(
            f"{writer}, and mdbench {__version__} knows schema {SCHEMA}",
            "Update mdbench, or choose another folder with --result-dir. The file was not changed.",
        )
    hint = f"It is read by {_READER}. Or choose another folder with --result-dir."
    if number == _LAST_UNRELEASED:
        hint += ' Only the number differs: sed -i \'s/^{"schema":9,/{"schema":1,/\' FILE'
    raise RecordsError(f"{writer} from before the first release, and is no longer read", hint)


def comparable(record: Record) -> dict[str, Any]:
    """Return all of a record that must be equal when the same job is run twice.

    Returns
    -------
    dict
        The record as JSON values, without the section ``measured``.
    """
    return record.model_dump(mode="json", by_alias=True, exclude={"measured"})
