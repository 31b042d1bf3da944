"""The terms of exchanges with a language model: limits and their account, and the log.

The log has one JSON line a completion, written as it comes, from which a replay answers.  A line
never holds a header, so no key.  A completion is known by the hash of its request and by how often
the same was asked before.  So a replay answers each request as it was answered then.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mdbench.errors import UnavailableError, first_fault
from mdbench.workspace import write_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SUFFIX = ".llm.ndjson"
"""End of the name of a log of exchanges."""
_LONGEST_LINE = 2**24
JOB_ENDED: Final = "the job had ended"
NO_SECONDS: Final = "the seconds of the budget are used up"
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
        Its place among those of the job, from 1, in the order in which they were asked for.
    hash
        SHA-256 of the request.
    occurrence
        How often the same had been asked before.
    reply
        None where there was none; `error` has the reason.
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
        line = exchange.model_dump_json(by_alias=True).encode() + b"\n"
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
                found = self._read(line, number)
                self._places[found.hash, found.occurrence] = position, len(line)
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

    def complete(
        self,
        begun: Exchange,
        left: Callable[[], float | None],  # noqa: ARG002 - of the protocol
        most: tuple[int, int] = (0, 0),  # noqa: ARG002
    ) -> Exchange:
        """Return the earlier answer, or note that there was none."""
        found = self.get(begun.hash, begun.occurrence)
        if found is not None:
            return found.model_copy(update={"number": begun.number})
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
    """Move the answers of an attempt that did not end its job out of the way of the next one.

    Those of attempts before that are kept: a line of each request that was answered.

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
        lines: dict[tuple[str, int], bytes] = {}
        for file in (before, path):
            for line, found in _answered_lines(file):
                lines[found.hash, found.occurrence] = line
        write_whole(before, lambda stream: stream.writelines(lines.values()))
        path.unlink()
    return before if before.exists() else None


def _answered_lines(file: Path) -> Iterator[tuple[bytes, Exchange]]:
    with suppress(FileNotFoundError), file.open("rb") as stream:
        for line in stream:
            with suppress(ValidationError):  # a torn line was never answered
                found = Exchange.model_validate_json(line)
                if found.reply is not None and line.endswith(b"\n"):
                    yield line, found


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


_MILLION = 1e6


@dataclass(frozen=True)
class LlmLimits:
    """Limits of what a job may use; None where there is no limit.

    Attributes
    ----------
    calls
        Completions: an answer with four of them counts four, and one that could not be had one.
    prompt_tokens, completion_tokens
        As the endpoint counts them.
    seconds
        That the endpoint has taken for its answers, added up.
    money
        By `price`.
    price
        Of a million prompt tokens and a million completion tokens, in whatever currency.
    """

    calls: int | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    seconds: float | None = None
    money: float | None = None
    price: tuple[float, float] | None = None

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Return what tokens cost; 0 where no price was given."""
        prompt, completion = self.price or (0.0, 0.0)
        return (prompt_tokens * prompt + completion_tokens * completion) / _MILLION


@dataclass(frozen=True)
class LlmSettings:
    """The settings that are the same for all questions of a job.

    Attributes
    ----------
    model
        The model that is asked.
    settings
        Fields that are put into each request.
    allowance
        What the job may use.
    no_system
        Whether the text of system messages is put into the user's.
    """

    model: str
    settings: dict[str, Any] = field(default_factory=dict)
    allowance: LlmLimits = field(default_factory=LlmLimits)
    no_system: bool = False

    @property
    def completion_tokens(self) -> int:
        """The most tokens that a completion may take, whatever a method asks for."""
        set_ = self.settings.get("max_completion_tokens") or self.settings.get("max_tokens")
        return int(set_ or COMPLETION_TOKENS)


COMPLETION_TOKENS: Final = 16_384
"""Tokens of a completion: what is asked for where a method sets no number, and the most where the
user sets none.  A model that thinks first takes thousands before its answer begins."""


@dataclass(frozen=True)
class TokenUse:
    """Tokens that were used, or are set aside for a call that has no answer yet."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0

    def __add__(self, other: TokenUse) -> TokenUse:
        return TokenUse(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.seconds + other.seconds,
        )

    def __sub__(self, other: TokenUse) -> TokenUse:
        return self + TokenUse(
            -other.calls, -other.prompt_tokens, -other.completion_tokens, -other.seconds
        )


class BudgetAccount:
    """The account that keeps a job within its limits, also with several requests at a time.

    The most that a call can take is set aside before it is made, and what it has taken is put
    down afterwards: so no limit but that of the seconds is ever passed.

    Attributes
    ----------
    spent
        What was used by the calls that are over.
    """

    def __init__(self, allowance: LlmLimits) -> None:
        self._allowance = allowance
        self._pending = TokenUse()
        self._changed = threading.Condition()
        self._closed = False
        self.spent = TokenUse()

    def allows(self, prompt_tokens: int, completion_tokens: int) -> bool:
        """Whether a completion fits into the limits, if nothing was used before."""
        return self._fits(TokenUse(1, prompt_tokens, completion_tokens))

    def reserve(self, prompt_tokens: int, completion_tokens: int) -> TokenUse | None:
        """Set aside what one completion may take; None if that is not left.

        Where it would be left if calls that are under way took less than was set aside for them,
        their end is waited for.
        """
        wanted = TokenUse(1, prompt_tokens, completion_tokens)
        with self._changed:
            while not self._closed:
                if self._fits(self.spent + self._pending + wanted):
                    self._pending += wanted
                    return wanted
                # Calls are never given back: nothing to wait for where these have run out.
                fewest = TokenUse(self._pending.calls)
                if not self._pending.calls or not self._fits(self.spent + fewest + wanted):
                    return None
                self._changed.wait()
            return None

    def settle(self, reserved: TokenUse, used: TokenUse) -> None:
        """Charge what a call has used, in place of what was set aside for it."""
        with self._changed:
            self._pending -= reserved
            self.spent += used
            self._changed.notify_all()

    def seconds_left(self) -> float | None:
        """Return the seconds that the endpoint may still take; None for no limit."""
        most = self._allowance.seconds
        return None if most is None else max(0.0, most - self.spent.seconds)

    def close(self) -> None:
        """Set nothing aside any more; whoever waits for it is refused."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _fits(self, would: TokenUse) -> bool:
        most = self._allowance
        cost = most.cost(would.prompt_tokens, would.completion_tokens)
        return (
            (most.calls is None or would.calls <= most.calls)
            and (most.prompt_tokens is None or would.prompt_tokens <= most.prompt_tokens)
            and (
                most.completion_tokens is None or would.completion_tokens <= most.completion_tokens
            )
            and (most.money is None or cost <= most.money)
            and (most.seconds is None or would.seconds < most.seconds)
        )


class Purse:
    """The money of a run, which all its jobs share; may be used from several threads.

    Parameters
    ----------
    total
        What may be spent.
    limits
        Has the price.

    Attributes
    ----------
    total
        What may be spent.
    spent
        What the calls have cost that are over.
    """

    def __init__(self, total: float, limits: LlmLimits) -> None:
        self.total = total
        self._cost = limits.cost
        self._changed = threading.Condition()
        self._pending: list[float] = []
        self.spent = 0.0

    def allows(self, most: tuple[int, int]) -> bool:
        """Whether a call of so many tokens fits, if nothing was spent before."""
        return self._cost(*most) <= self.total

    def reserve(self, most: tuple[int, int]) -> bool:
        """Set aside the most that a call can cost, by its tokens; False where that is not left.

        Where it would be left if calls that are under way cost less, their end is waited for.
        """
        cost = self._cost(*most)
        with self._changed:
            while self.spent + sum(self._pending) + cost > self.total:
                if not self._pending or self.spent + cost > self.total:
                    return False
                self._changed.wait()
            self._pending.append(cost)
            return True

    def settle(self, most: tuple[int, int], used: tuple[int, int]) -> None:
        """Charge what a call has used, in place of what was set aside for it."""
        with self._changed:
            self._pending.remove(self._cost(*most))
            self.spent += self._cost(*used)
            self._changed.notify_all()
