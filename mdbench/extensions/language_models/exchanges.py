"""The exchanges of a job with a language model, and their log.

The log has one JSON line a completion, written as it comes, from which a replay answers.  A line
never holds a header, so no key.  A completion is known by the hash of its request and by how often
the same was asked before.  So a replay answers each request as it was answered then.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mdbench.errors import UnavailableError, first_fault
from mdbench.workspace import write_whole

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mdbench.extensions.language_models.accounts import Charge

SUFFIX = ".llm.ndjson"
"""End of the name of a log of exchanges."""
_LONGEST_LINE = 2**24
JOB_ENDED: Final = "the job had ended"
NO_SECONDS: Final = "the seconds of the budget are used up"
NO_BUDGET: Final = "the budget has too little for another attempt at it"
BY_THE_JOB: Final = {JOB_ENDED, NO_SECONDS}
"""Errors of exchanges that say nothing of the endpoint."""


class Usage(BaseModel):
    """Tokens that a completion took; `estimated` where the endpoint did not count them.

    Those of the model's reasoning are a part of those of the completion; None where unknown.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    prompt_tokens: int = Field(ge=0)
    completion_tokens: int = Field(ge=0)
    reasoning_tokens: int | None = Field(default=None, ge=0)
    estimated: bool = False

    def plus(self, other: Usage) -> Usage:
        """Return the sum with what another request took."""
        reasoned = [use.reasoning_tokens for use in (self, other)]
        counted = [number for number in reasoned if number is not None]
        return Usage(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            reasoning_tokens=sum(counted) if counted else None,
            estimated=self.estimated or other.estimated,
        )


NOTHING: Final = Usage(prompt_tokens=0, completion_tokens=0)


class Completion(BaseModel):
    """One answer of the model."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str
    finish_reason: str


class Exchange(BaseModel):
    """One completion that was asked for, and its result.

    Attributes
    ----------
    number
        Its place among those of the job, from 1, in the order in which they were asked for; 0 and
        below of what an earlier attempt at the job has sent, which was paid and not answered.
    hash
        SHA-256 of the request.
    occurrence
        How often the same had been asked before.
    reply
        None where there was none; `error` has the reason.
    usage
        What all attempts have taken together, with those that were not answered.
    model, fingerprint
        As the endpoint reports them.
    latency_s
        Seconds that the endpoint took for the attempt that it answered.
    attempts
        How often it was sent.
    ended
        Whether the job ended here, since nobody was answered any more; it is not counted.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_number: Literal[1, 2] = Field(default=2, alias="schema")
    number: int
    hash: str = Field(pattern="^[0-9a-f]{64}$")
    occurrence: int = Field(ge=0)
    request: dict[str, Any]
    reply: Completion | None = None
    error: str = ""
    usage: Usage
    model: str | None = None
    fingerprint: str | None = None
    latency_s: float = Field(ge=0)
    attempts: int = Field(ge=0)
    ended: bool = False


class ExchangeLog:
    """Writes a job's exchanges into its file, a line each, whole as soon as it is known.

    Parameters
    ----------
    path
        The file; made with the first line, and without those of an earlier attempt.

    Attributes
    ----------
    written
        How many lines there are.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[bytes] | None = None
        self._lock = threading.Lock()
        self._closed = False
        self.written = 0
        with suppress(FileNotFoundError):
            path.unlink()

    def write(self, exchange: Exchange) -> None:
        """Add a line.

        Raises
        ------
        OSError
            If it cannot be written: what is not written down is not given to a method.
        """
        line = _as_line(exchange)
        with self._lock:
            if self._closed:
                return
            if self._file is None:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._file = self._path.open("wb", buffering=0)
            self._file.write(line)
            self.written += 1

    def close(self) -> None:
        """Close the file; what comes later is left out."""
        with self._lock:
            self._closed = True
            if self._file is not None:
                self._file.close()


class ExchangeReplay:
    """The answers of an earlier log, by request.

    Parameters
    ----------
    path
        A log of exchanges.

    Attributes
    ----------
    missed
        The first request that it had no answer to; empty for none.
    unanswered
        What was paid in an earlier attempt at the job and has no answer: each counts as it is.
    waited_s, resumed
        Always 0: of an endpoint.

    Raises
    ------
    UnavailableError
        If it cannot be read, or is none.
    """

    waited_s = 0.0
    resumed = 0

    def __init__(self, path: Path) -> None:
        self.missed = ""
        self.unanswered: list[Exchange] = []
        self._places: dict[tuple[str, int], tuple[int, int]] = {}
        self._path = path
        self._lock = threading.Lock()
        try:
            self._file = path.open("rb")
        except OSError as error:
            raise UnavailableError(f"The replay {path} cannot be read: {error.strerror}.") from None
        try:
            self._index()
        except BaseException:
            self._file.close()
            raise

    def _index(self) -> None:
        position = 0
        for number, line in enumerate(iter(lambda: self._file.readline(_LONGEST_LINE), b""), 1):
            if line.endswith(b"\n"):  # a torn last line was never answered
                exchange = self._read(line, number)
                if exchange.number > 0:
                    self._places[exchange.hash, exchange.occurrence] = position, len(line)
                else:
                    self.unanswered.append(exchange)
            position += len(line)

    def _read(self, line: bytes, number: int) -> Exchange:
        try:
            return Exchange.model_validate_json(line)
        except ValidationError as error:
            raise UnavailableError(
                f"{self._path}, line {number}: {first_fault(error)}",
                f"A replay is a file *{SUFFIX} that a run has left next to its logs.",
            ) from None

    def get(self, hash_: str, occurrence: int) -> Exchange | None:
        """Return the exchange of a request that was asked for so often before; None without one."""
        span = self._places.get((hash_, occurrence))
        if span is None:
            return None
        with self._lock:
            self._file.seek(span[0])
            line = self._file.read(span[1])
        return self._read(line, 0)

    def complete(self, begun: Exchange, charge: Charge) -> Exchange:  # noqa: ARG002 - no attempt
        """Return the earlier answer, or note that there was none."""
        exchange = self.get(begun.hash, begun.occurrence)
        if exchange is not None:
            return exchange.model_copy(update={"number": begun.number})
        self.missed = self.missed or (
            f"the replay has no answer to request {begun.number}, {begun.hash[:12]}, "
            f"asked {begun.occurrence} times before"
        )
        return begun.model_copy(update={"error": "the replay has no answer to it"})

    def hang_up(self) -> None:
        """Do nothing: nothing is under way for long."""

    def close(self) -> None:
        """Close the file."""
        self._file.close()


BEFORE: Final = ".before"
"""End of the name of a log of attempts that did not end a job, from which it goes on."""


def set_aside(path: Path) -> Path | None:
    """Move the exchanges of an attempt that did not end its job out of the way of the next one.

    Those of attempts before that are kept: a line of each request that was answered, and one of
    each that was paid without an answer, by numbers from 0 down.

    Returns
    -------
    Path or None
        Their file; None where there are none.

    Raises
    ------
    OSError
        If the files cannot be read or written.
    """
    before = path.with_name(path.name + BEFORE)
    if path.exists():
        answered: dict[tuple[str, int], Exchange] = {}
        paid: dict[int, Exchange] = {}
        new: list[Exchange] = []
        for exchange in (*_exchanges_in(before), *_exchanges_in(path)):
            if exchange.reply is not None:
                answered[exchange.hash, exchange.occurrence] = exchange
            elif exchange.number <= 0:  # once in `before`, and copied from there into `path`
                paid[exchange.number] = exchange
            elif exchange.usage != NOTHING:
                new.append(exchange)
        start = min(paid, default=1) - 1
        for index, exchange in enumerate(new):
            paid[start - index] = exchange.model_copy(update={"number": start - index})
        lines = [_as_line(exchange) for exchange in (*paid.values(), *answered.values())]
        write_whole(before, lambda stream: stream.writelines(lines))
        path.unlink()
    return before if before.exists() else None


def _as_line(exchange: Exchange) -> bytes:
    return exchange.model_dump_json(by_alias=True).encode() + b"\n"


def _exchanges_in(file: Path) -> Iterator[Exchange]:
    with suppress(FileNotFoundError), file.open("rb") as stream:
        for line in stream:
            with suppress(ValidationError):  # a torn line was never answered
                if line.endswith(b"\n"):
                    yield Exchange.model_validate_json(line)


def forget_attempts(path: Path) -> None:
    """Remove the answers that `set_aside` has kept: the job has ended."""
    path.with_name(path.name + BEFORE).unlink(missing_ok=True)


class RequestCounter:
    """Numbers requests: all of them, and those that are the same."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()
        self._count = 0
        self._lock = threading.Lock()

    def next(self, hash_: str) -> tuple[int, int]:
        """Return the place of a request among all, from 1, and how often it was sent before."""
        with self._lock:
            self._count += 1
            self._seen[hash_] += 1
            return self._count, self._seen[hash_] - 1


def dumped(value: object) -> bytes:
    """Write JSON as it is sent."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()
