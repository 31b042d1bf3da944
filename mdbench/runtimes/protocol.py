"""The host's side of the protocol between mdbench and worker (docs/protocol.md).

What a worker sends is untrusted: every line is bounded and validated here before anyone
looks at it.
"""

from __future__ import annotations

import json
import threading
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
)

from mdbench.errors import printable

PROTOCOL = 4
"""Version of the protocol; a worker with another one is refused."""

MAX_LINE = 16 * 2**20
"""Bytes that one message of a worker may have."""
_MOST_PARTS = 1_000_000
"""Lists, objects and values that one message may have: each takes some hundred bytes here."""
_MOST_ITEMS = 10_000
_LARGEST_SETTING = 20_000
"""Characters of a candidate's hyperparameters."""
_MOST_ALTERNATIVES, _LONGEST_ALTERNATIVE = 100, 10_000
"""Equations other than the answer's, and characters of one."""
_LONG_LINE = 2**20
_PARSING = threading.Lock()
"""Held while a long message is read, so that one at a time takes its memory."""


class ProtocolError(Exception):
    """A worker sent something that is no message of the protocol."""


class _Message(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class JobOrder(_Message):
    """Host: fit.  The job's folder holds ``train.npz`` (and ``validation.npz`` for a grid).

    `equations` is whether an answer has some, `compares` whether it matters what candidates
    predict.  `work` is how many reference seconds there are, `speed` how many of them a CPU second
    has, `language_model` which socket in the folder asks one.  `scaled` and `held` are those of the
    `Problem`.
    """

    type: Literal["job"] = "job"
    job: str
    folder: str
    view: str
    variables: tuple[str, ...]
    targets: tuple[str, ...]
    equations: bool
    compares: bool
    tuning: Literal["grid", "front", "none"]
    hyperparameters: dict[str, Any]
    grid: list[dict[str, Any]]
    seed: int
    threads: int
    time_limit: float | None
    work: float | None = None
    speed: float | None = None
    truth: tuple[str, ...] | None = None
    units: dict[str, tuple[float, ...]] | None = None
    description: str | None = None
    language_model: str | None = None
    scaled: bool = False
    held: bool = False


class Refit(_Message):
    """Host: fit the chosen setting on ``refit.npz``."""

    type: Literal["refit"] = "refit"
    job: str
    hyperparameters: dict[str, Any]


class Describe(_Message):
    """Host: give the equations, after choosing from the front where there is one."""

    type: Literal["describe"] = "describe"
    job: str
    choose: list[int] | None = None


class Predict(_Message):
    """Host: predict on ``test.npz``, which was not there before the equations were given."""

    type: Literal["predict"] = "predict"
    job: str


class Hello(_Message):
    """Worker: the adapter is imported, jobs may come; `left` is why it does not fork for them.

    `namespaces` is whether each job will have its own.
    """

    type: Literal["hello"]
    protocol: int
    python: str = Field(max_length=50)
    pid: int
    forks: bool
    left: str = Field(default="", max_length=500)
    namespaces: bool = False
    blas_kernel: str | None = Field(default=None, max_length=50)
    blas_threads: int | None = None


class Broken(_Message):
    """Worker: the adapter cannot be imported, or raises then that it is unavailable."""

    type: Literal["broken"]
    kind: Literal["failed", "unavailable"] = "failed"
    error: str = Field(max_length=1000)


class Started(_Message):
    """Worker: the job has a process of its own."""

    type: Literal["started"]
    job: str
    pid: int


def _refuse_if_large(setting: dict[str, Any]) -> dict[str, Any]:
    if len(json.dumps(setting)) > _LARGEST_SETTING:
        raise ValueError(f"more than {_LARGEST_SETTING} characters")
    return setting


class CandidateItem(_Message):
    """One candidate; its predictions are one slice of its message's array."""

    equations: Annotated[tuple[str, ...], Field(max_length=1000)]
    hyperparameters: Annotated[dict[str, Any], AfterValidator(_refuse_if_large)]
    target: Annotated[int, Field(ge=0, le=10_000)] | None


class Candidates(_Message):
    """Worker: candidates, and where it matters the file with what they predict."""

    type: Literal["candidates"]
    job: str
    items: Annotated[list[CandidateItem], Field(max_length=_MOST_ITEMS)]
    predictions: Annotated[str, Field(pattern=r"^candidates-[0-9]{1,9}\.npy$")] | None = None


class Fitted(_Message):
    """Worker: a fit or refit is done; `failed` settings of a grid raised, the first `failure`.

    `evaluations` is how many expressions the method has evaluated, where it counts them.
    """

    type: Literal["fitted"]
    job: str
    seconds: float
    stopped_early: bool
    evaluations: Annotated[int, Field(ge=0, le=2**62)] | None = None
    failed: Annotated[int, Field(ge=0)]
    failure: str = Field(max_length=5000)


class AlternativeItem(_Message):
    """An equation that by the method's word fits nearly as well as that of the answer."""

    target: Annotated[int, Field(ge=0, le=10_000)]
    equation: Annotated[str, Field(max_length=_LONGEST_ALTERNATIVE)]
    worse: float
    log_likelihood: float | None = None


class Described(_Message):
    """Worker: the equations of the answer, one a target; none where it has none."""

    type: Literal["described"]
    job: str
    equations: Annotated[tuple[str, ...], Field(max_length=1000)]
    alternatives: Annotated[tuple[AlternativeItem, ...], Field(max_length=_MOST_ALTERNATIVES)] = ()


class Predicted(_Message):
    """Worker: the prediction is in the file."""

    type: Literal["predicted"]
    job: str
    predictions: Literal["predictions.npy"]
    seconds: float


class Failed(_Message):
    """Worker: the adapter raised."""

    type: Literal["failed"]
    job: str
    kind: Literal["failed", "unsupported", "unavailable", "out_of_memory"]
    error: str = Field(max_length=5000)


class Ended(_Message):
    """Worker: the job's process has ended; `exit` is minus the signal that killed it."""

    type: Literal["ended"]
    job: str
    exit: int


Message = Annotated[
    Hello | Broken | Started | Candidates | Fitted | Described | Predicted | Failed | Ended,
    Field(discriminator="type"),
]

_MESSAGE: TypeAdapter[Message] = TypeAdapter(Message)


def parse_message(line: bytes) -> Message:
    """Read one line of a worker.

    Raises
    ------
    ProtocolError
        If it is too long, no JSON, or no message of the protocol.
    """
    if len(line) > MAX_LINE:
        raise ProtocolError(f"a message of {len(line)} bytes; at most {MAX_LINE} are allowed")
    if len(line) > _LONG_LINE:
        if sum(map(line.count, (b",", b"[", b"{"))) > _MOST_PARTS:
            raise ProtocolError(f"a message of more than {_MOST_PARTS} parts")
        with _PARSING:
            return _parse(line)
    return _parse(line)


def _parse(line: bytes) -> Message:
    try:
        content = json.loads(line.decode(), parse_constant=_refuse_constant)
        if b"\\" in line or not line.isascii() or b"\x7f" in line:
            content = _printable(content)
        return _MESSAGE.validate_python(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ProtocolError(
            f"a message that breaks the protocol at {printable(where, 200)}: {first['msg']}"
        ) from None
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"a line that is no JSON ({error}): {line[:80]!r}") from None


def _printable(value: Any) -> Any:
    """Return what was sent with all its texts as `printable` has them."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, list):
        return [_printable(part) for part in value]
    if isinstance(value, dict):
        return {_printable(name): _printable(part) for name, part in value.items()}
    return value


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")
