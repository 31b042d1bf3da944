"""The mock server of language models with all ways in which real endpoints answer, and fail to."""

from __future__ import annotations

import hashlib
import json
import math
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from model_modes import CUT, MODES, REFUSALS, SHAPES, TEXTS

from mdbench.extensions.language_models import stub

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_PIECE = b" " * 2**16


@dataclass
class Stub(stub.Stub):
    """The server.

    Parameters
    ----------
    first
        The number of requests that are answered well before the mode begins.
    failures
        Requests that fail according to the mode before the rest are answered well; None for all.
    write
        Gives the text for a request and an equation; None for the forms that are built in.
    keeps
        Whether requests are remembered.

    Attributes
    ----------
    requests
        The bodies of all requests, parsed, in order.
    headers
        The headers of all requests.
    """

    first: int = 0
    failures: int | None = None
    write: Callable[[dict[str, Any], str], str] | None = None
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    keeps: bool = True
    modes: ClassVar[Mapping[str, str]] = MODES

    def take(self, request: dict[str, Any], headers: dict[str, str]) -> str:
        """Note a request; return the mode in which it is answered."""
        with self._lock:
            self.count += 1
            if self.keeps:
                self.requests.append(request)
                self.headers.append(headers)
            number = self.count - self.first
        last = math.inf if self.failures is None else self.failures
        return self.mode if 0 < number <= last else "good"

    def wait(self, seconds: float) -> bool:
        """Wait, unless the server ends; return whether it does."""
        return self._over.wait(seconds)

    def reply(self, request: dict[str, Any], mode: str) -> tuple[str, str]:
        """Return the text of an answer, and why it ends; the same for the same request."""
        draft = self.draft(request)
        if self.write is not None:
            draft = replace(draft, text=self.write(request, draft.equation))
        _, change = TEXTS.get(mode, TEXTS["good"])
        return change(draft), "length" if mode in CUT else "stop"

    def is_flaky(self) -> bool:
        """Whether the next request of a flaky server fails: three of ten, evenly spread."""
        return self.count % 10 in {2, 5, 9}


class _Answering(stub.Answering):
    def answer(self, request: dict[str, Any], mode: str) -> None:
        """Answer a request according to the mode."""
        if mode == "flaky":
            mode = "500" if self.of.is_flaky() else "good"
        if (refusal := REFUSALS.get(mode)) is not None:
            self.refuse(refusal)
        elif mode == "hang-up":
            self.close_connection = True
        elif mode in {"never-ends", "huge"}:
            self._flood(endless=mode == "never-ends")
        else:
            if mode == "slow":
                time.sleep(self.of.delay)
            body = json.dumps(self.completion(request, mode))
            if mode == "half-body":
                self.close_connection = True
                self.send(200, body[: len(body) // 2].encode(), {}, length=len(body))
            else:
                self.send(200, body.encode())

    def completion(self, request: dict[str, Any], mode: str) -> dict[str, Any]:
        """Return a chat completion, changed by some modes."""
        if mode == "wrong-n":
            prompt = stub.prompt_of(request).encode()
            answer = super().completion(
                {**request, "n": 3 * (hashlib.sha256(prompt).digest()[0] % 2)}, mode
            )
        else:
            answer = super().completion(request, mode)
        if mode == "echo":
            for choice in answer["choices"]:
                choice["message"]["content"] = json.dumps(dict(self.headers))
        if mode in SHAPES:
            SHAPES[mode][1](answer)
        return answer

    def _flood(self, *, endless: bool) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(2**40 if endless else 2**30))
        self.end_headers()
        sent = 0
        while sent < 2**30 and not self.of.wait(0.05 if endless else 0.0):
            self.wfile.write(b" " if endless else _PIECE)
            self.wfile.flush()
            sent += 1 if endless else len(_PIECE)


Stub.handler = _Answering
