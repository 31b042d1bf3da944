"""A server that speaks as a language model's does, and is none: for tests, and to try a set-up.

What it answers follows from the request and the server's seed, so that the same run gives the same
answers.  Its modes are the ways in which real endpoints answer, and fail to.
"""

from __future__ import annotations

import hashlib
import http.server
import json
import math
import random
import re
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Self

from mdbench.errors import UsageError, did_you_mean
from mdbench.extensions.language_models.stub_modes import CUT, MODES, REFUSALS, SHAPES, TEXTS, Draft

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType

_FUNCTIONS = ("sin", "cos", "exp", "log", "sqrt")
_PIECE = b" " * 2**16


@dataclass(frozen=True)
class _Form:
    """The form of an equation for one kind of prompt."""

    asked: Callable[[str], bool]
    write: Callable[[str, list[str]], str]


@dataclass
class Stub:
    """The server; it runs as long as its context lasts.

    Parameters
    ----------
    mode
        One of `MODES`.
    seed
        Of all that is drawn.
    answer
        An equation that it knows, in the names of the prompt; empty for none.
    knows
        With which probability a request is answered by it.
    delay
        Seconds that the mode ``slow`` takes.
    first
        The number of requests that are answered well before the mode begins.
    failures
        Requests that fail according to the mode before the rest are answered well; None for all.
    write
        Gives the text for a request and an equation; None for the forms that are built in.

    Attributes
    ----------
    port
        Where it listens.
    requests
        The bodies of all requests, parsed, in order.
    headers
        The headers of all requests.
    """

    mode: str = "good"
    seed: int = 0
    answer: str = ""
    knows: float = 0.0
    delay: float = 0.2
    first: int = 0
    failures: int | None = None
    write: Callable[[dict[str, Any], str], str] | None = None
    port: int = 0
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    keeps: bool = True

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise UsageError(f"--mode is {self.mode!r}.", did_you_mean(self.mode, MODES))
        self._lock = threading.Lock()
        self._over = threading.Event()
        self.count = 0

    @property
    def url(self) -> str:
        """The address of its endpoint."""
        return f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> Self:
        self._server = _Listening(("127.0.0.1", self.port), partial(_Answering, self))
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        )
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

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
        text = json.dumps(request, sort_keys=True)
        digest = hashlib.sha256(f"{self.seed}\0{text}".encode()).digest()
        draw = random.Random(digest)  # noqa: S311 - no secret
        prompt = "\n".join(each.get("content", "") for each in request.get("messages", []))
        names = _names(prompt)
        known = bool(self.answer) and draw.random() < self.knows
        equation = self.answer if known else _equation(draw, names)
        if self.write is not None:
            text = self.write(request, equation)
        else:
            form = next((f for f in _FORMS if f.asked(prompt)), _FORMS[-1])
            text = form.write(equation, names)
        _, change = TEXTS.get(mode, TEXTS["good"])
        changed = change(Draft(text, equation, names, draw))
        return changed, "length" if mode in CUT else "stop"

    def is_flaky(self) -> bool:
        """Whether the next request of a flaky server fails: three of ten, evenly spread."""
        return self.count % 10 in {2, 5, 9}


def _names(prompt: str) -> list[str]:
    """Find the variables that a prompt speaks of: x0, x1 and so on, or what it lists."""
    listed = re.search(r"[Vv]ariables?[^:\n]*:\s*([A-Za-z_]\w*(?:\s*,\s*[A-Za-z_]\w*)*)", prompt)
    if listed:
        return re.split(r"\s*,\s*", listed[1])
    found = dict.fromkeys(re.findall(r"\bx\d+\b", prompt))
    return sorted(found) or ["x0"]


def _equation(draw: random.Random, names: list[str], depth: int = 2) -> str:
    """Draw an equation."""
    if depth == 0 or draw.random() < 0.2:  # noqa: PLR2004
        return draw.choice([*names, f"{draw.uniform(-3, 3):.3f}"])
    left = _equation(draw, names, depth - 1)
    if draw.random() < 0.25:  # noqa: PLR2004
        return f"{draw.choice(_FUNCTIONS[:3])}({left})"
    return f"({left} {draw.choice('+-*')} {_equation(draw, names, depth - 1)})"


def _as_function(equation: str, names: list[str]) -> str:
    body = re.sub(rf"\b({'|'.join(_FUNCTIONS)})\(", r"np.\1(", equation)
    arguments = ", ".join([*names, "params"])
    return f"```python\ndef equation({arguments}):\n    return {body}\n```"


def _as_list(equation: str, _: list[str]) -> str:
    return f"Thinking about it.\n```json\n{json.dumps([equation] * 5)}\n```"


def _as_text(equation: str, _: list[str]) -> str:
    return f"```\n{equation}\n```"


def _as_class(equation: str, names: list[str]) -> str:
    body = re.sub(rf"\b({'|'.join(_FUNCTIONS)})\(", r"torch.\1(", equation)
    return (
        "### Plan\nThis law.\n\n### Code\n```python\nclass Law(nn.Module):\n"
        "    def __init__(self):\n        super().__init__()\n\n"
        f"    def forward({', '.join(['self', *names])}):\n        return {body}\n```"
    )


def _as_verdict(words: tuple[str, str], equation: str) -> str:
    # It knows nothing: what it draws as an equation has an odd number of letters, or an even one.
    return f"Answer: {words[len(equation) % 2]}"


_FORMS: Final = (
    _Form(
        lambda prompt: '"Answer: right"' in prompt,
        lambda equation, _: _as_verdict(("wrong", "right"), equation),
    ),
    _Form(
        lambda prompt: '"Answer: yes"' in prompt,
        lambda equation, _: _as_verdict(("no", "yes"), equation),
    ),
    _Form(lambda prompt: "class Law(nn.Module)" in prompt, _as_class),
    _Form(lambda prompt: "def equation" in prompt, _as_function),
    _Form(lambda prompt: "json" in prompt.lower(), _as_list),
    _Form(lambda _: True, _as_text),
)


class _Listening(http.server.ThreadingHTTPServer):
    """Reports no clients that hang up."""

    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_: Any) -> None:
        """Print nothing."""


class _Answering(http.server.BaseHTTPRequestHandler):
    """Answers one connection's requests."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True

    def __init__(self, of: Stub, *arguments: Any) -> None:
        self.of = of
        super().__init__(*arguments)

    def log_message(self, *_: Any) -> None:
        """Print nothing."""

    def do_GET(self) -> None:
        """List the models, as clients like to ask."""
        self._send(200, json.dumps({"object": "list", "data": [{"id": "stub"}]}).encode())

    def do_POST(self) -> None:
        """Answer a request according to the mode."""
        length = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(length)
        try:
            request = json.loads(body)
        except ValueError:
            self._send(400, b'{"error": {"message": "no JSON"}}')
            return
        mode = self.of.take(request, dict(self.headers))
        with suppress(OSError):
            self._answer(request, mode)

    def _answer(self, request: dict[str, Any], mode: str) -> None:
        if mode == "flaky":
            mode = "500" if self.of.is_flaky() else "good"
        if (refusal := REFUSALS.get(mode)) is not None:
            body = refusal.body.replace("{key}", self.headers.get("Authorization", "")[:20])
            self._send(refusal.status, body.encode(), refusal.headers())
        elif mode == "hang-up":
            self.close_connection = True
        elif mode in {"never-ends", "huge"}:
            self._flood(endless=mode == "never-ends")
        else:
            if mode == "slow":
                time.sleep(self.of.delay)
            body = json.dumps(self._completion(request, mode))
            if mode == "half-body":
                self.close_connection = True
                self._send(200, body[: len(body) // 2].encode(), {}, length=len(body))
            else:
                self._send(200, body.encode())

    def _completion(self, request: dict[str, Any], mode: str) -> dict[str, Any]:
        text, reason = self.of.reply(request, mode)
        if mode == "echo":
            text = json.dumps(dict(self.headers))
        prompt = "\n".join(each.get("content", "") for each in request.get("messages", []))
        n = request.get("n", 1)
        if mode == "wrong-n":
            n = 3 * (hashlib.sha256(prompt.encode()).digest()[0] % 2)
        choices = [
            {
                "index": index,
                "message": {"role": "assistant", "content": text},
                "finish_reason": reason,
            }
            for index in range(n)
        ]
        used = {"prompt_tokens": len(prompt) // 4 + 1, "completion_tokens": len(text) // 4 + 1}
        answer = {
            "id": "stub",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": "stub-2026-11",
            "system_fingerprint": f"stub-{self.of.seed}",
            "choices": choices,
            "usage": {**used, "total_tokens": sum(used.values())},
        }
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

    def _send(
        self,
        status: int,
        body: bytes,
        headers: Mapping[str, str] | None = None,
        *,
        length: int | None = None,
    ) -> None:
        usual = {"Content-Type": "application/json", "Content-Length": str(length or len(body))}
        with suppress(OSError):
            self.send_response(status)
            for name, value in {**usual, **(headers or {})}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)
