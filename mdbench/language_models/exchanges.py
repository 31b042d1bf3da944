"""What was said, one JSON line a completion: written as it comes, and read to be said again.

A line never holds a header, so no key.  A completion is known by the hash of its request and by
how often the same was asked before, so that a replay gives each request what it was given then.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mdbench.errors import UnavailableError, first_fault

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SUFFIX = ".llm.ndjson"
"""How the name of a log of exchanges ends."""
_LONGEST_LINE = 2**24


class Usage(BaseModel):
    """Tokens that a completion took; `estimated` where the endpoint did not count them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    prompt_tokens: int = Field(ge=0)
    completion_tokens: int = Field(ge=0)
    estimated: bool = False


class Completion(BaseModel):
    """What the model said."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str
    finish_reason: str


class Exchange(BaseModel):
    """One completion that was asked for, and what came of it.

    Attributes
    ----------
    number
        Its place among those of the job, from 1, in the order in which they were asked for.
    hash
        SHA-256 of the request.
    occurrence
        How often the same had been asked before.
    reply
        None where there was none; `error` says why.
    model, fingerprint
        As the endpoint says them.
    latency_s
        Seconds that the endpoint took, over all attempts.
    attempts
        How often it was sent.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_number: Literal[1] = Field(default=1, alias="schema")
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
    """What was said once, to be said again.

    Parameters
    ----------
    path
        A log of exchanges.

    Attributes
    ----------
    missed
        The first request that it had no answer to; empty for none.
    trouble
        Always empty: of an endpoint.

    Raises
    ------
    UnavailableError
        If it cannot be read, or is none.
    """

    trouble = ""

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
        place = 0
        for number, line in enumerate(iter(lambda: self._file.readline(_LONGEST_LINE), b""), 1):
            if line.endswith(b"\n"):  # a torn last line was never answered
                found = self._read(line, number)
                self._places[found.hash, found.occurrence] = place, len(line)
            place += len(line)

    def _read(self, line: bytes, number: int) -> Exchange:
        try:
            return Exchange.model_validate_json(line)
        except ValidationError as error:
            raise UnavailableError(
                f"{self._path}, line {number}: {first_fault(error)}",
                f"A replay is a file *{SUFFIX} that a run has left beside its logs.",
            ) from None

    def get(self, hash_: str, occurrence: int) -> Exchange | None:
        """Return the exchange of a request that was asked for so often before; None without one."""
        place = self._places.get((hash_, occurrence))
        if place is None:
            return None
        with self._lock:
            self._file.seek(place[0])
            line = self._file.read(place[1])
        return self._read(line, 0)

    def complete(self, begun: Exchange, left: Callable[[], float | None]) -> Exchange:  # noqa: ARG002 - of the protocol
        """Say again what was said, or note that nothing was."""
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


class RequestCounter:
    """Numbers requests: all of them, and those that are the same."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()
        self._count = 0
        self._lock = threading.Lock()

    def next(self, hash_: str) -> tuple[int, int]:
        """Return the place of a request among all, from 1, and how often it came before."""
        with self._lock:
            self._count += 1
            self._seen[hash_] += 1
            return self._count, self._seen[hash_] - 1


def dumped(value: object) -> bytes:
    """Write JSON as it is sent."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()
