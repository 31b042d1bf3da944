"""A server that speaks as a language model's does, and is none: to try a set-up without one.

What it answers follows from the request and the server's seed, so that the same run gives the same
answers.
"""

from __future__ import annotations

import hashlib
import http.server
import json
import random
import re
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from mdbench.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType

_FUNCTIONS = ("sin", "cos", "exp", "log", "sqrt")


@dataclass(frozen=True)
class _Form:
    """The form of an equation for one kind of prompt."""

    asked: Callable[[str], bool]
    write: Callable[[str, list[str]], str]


@dataclass(frozen=True)
class Draft:
    """A good answer, before a mode changes it.

    Attributes
    ----------
    text
        In the form that the prompt asks for.
    equation, names
        What it says, and the variables that it may use.
    """

    text: str
    equation: str
    names: Sequence[str]
    draw: random.Random


@dataclass(frozen=True)
class Refusal:
    """An answer that is no completion.

    Attributes
    ----------
    headers
        Besides the usual ones; called for each answer.
    """

    does: str
    status: int
    body: str
    headers: Callable[[], dict[str, str]] = dict


def error_body(message: str, code: str | None = None, **more: Any) -> str:
    """Write an error as endpoints do."""
    return json.dumps({"error": {"message": message, "type": "stub", "code": code, **more}})


REFUSALS: Final = {
    "401": Refusal("a key that is refused", 401, error_body("Incorrect key {key}")),
    "quota": Refusal(
        "a quota that is spent",
        429,
        error_body("You exceeded your current quota, please check your plan", "insufficient_quota"),
    ),
    "429": Refusal("too many requests", 429, error_body("Rate limit reached")),
    "500": Refusal("a server's error", 500, error_body("Incorrect key {key}")),
}
"""Modes that answer every request in the same way."""
MODES: Final = {
    "good": "an equation, drawn at random, in the form that is asked for",
    "prose": "prose without any equation",
    "slow": "a good answer, late",
    **{name: refusal.does for name, refusal in REFUSALS.items()},
}
"""All modes, and what each does."""
_WORDS = 40


def prose(draft: Draft) -> str:
    """Write words that say nothing."""
    return " ".join(draft.draw.choice(["the", "law", "is", "unknown"]) for _ in range(_WORDS))


@dataclass
class Stub:
    """The server; it runs as long as its context lasts.

    Parameters
    ----------
    mode
        One of `modes`.
    seed
        The seed of all random numbers.
    answer
        An equation that it knows, in the names of the prompt; empty for none.
    knows
        With which probability a request is answered by it.
    delay
        Seconds that the mode ``slow`` takes.

    Attributes
    ----------
    port
        The port that the server listens on.
    count
        How many requests have come.
    """

    mode: str = "good"
    seed: int = 0
    answer: str = ""
    knows: float = 0.0
    delay: float = 0.2
    port: int = 0
    modes: ClassVar[Mapping[str, str]] = MODES
    handler: ClassVar[type[Answering]]

    def __post_init__(self) -> None:
        if self.mode not in self.modes:
            raise UsageError(f"--mode is {self.mode!r}.", did_you_mean(self.mode, self.modes))
        self._lock = threading.Lock()
        self._over = threading.Event()
        self.count = 0

    @property
    def url(self) -> str:
        """The address of its endpoint."""
        return f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> Self:
        self._server = _Listening(("127.0.0.1", self.port), partial(self.handler, self))
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
        """Count a request; return the mode in which it is answered."""
        del request, headers
        with self._lock:
            self.count += 1
        return self.mode

    def reply(self, request: dict[str, Any], mode: str) -> tuple[str, str]:
        """Return the text of an answer, and why it ends; the same for the same request."""
        draft = self.draft(request)
        return prose(draft) if mode == "prose" else draft.text, "stop"

    def draft(self, request: dict[str, Any]) -> Draft:
        """Return a good answer to a request."""
        text = json.dumps(request, sort_keys=True)
        digest = hashlib.sha256(f"{self.seed}\0{text}".encode()).digest()
        draw = random.Random(digest)  # noqa: S311 - no secret
        prompt = prompt_of(request)
        names = _names(prompt)
        known = bool(self.answer) and draw.random() < self.knows
        equation = self.answer if known else _equation(draw, names)
        form = next((f for f in _FORMS if f.asked(prompt)), _FORMS[-1])
        return Draft(form.write(equation, names), equation, names, draw)


def prompt_of(request: Mapping[str, Any]) -> str:
    """Return the texts of a request's messages."""
    return "\n".join(each.get("content", "") for each in request.get("messages", []))


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
    first = _equation(draw, names, depth - 1)
    if draw.random() < 0.25:  # noqa: PLR2004
        return f"{draw.choice(_FUNCTIONS[:3])}({first})"
    return f"({first} {draw.choice('+-*')} {_equation(draw, names, depth - 1)})"


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


class Answering(http.server.BaseHTTPRequestHandler):
    """Answers one connection's requests."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True

    def __init__(self, of: Any, *arguments: Any) -> None:
        self.of = of
        super().__init__(*arguments)

    def log_message(self, *_: Any) -> None:
        """Print nothing."""

    def do_GET(self) -> None:
        """List the models, as clients like to ask."""
        self.send(200, json.dumps({"object": "list", "data": [{"id": "stub"}]}).encode())

    def do_POST(self) -> None:
        """Answer a request according to the mode."""
        length = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(length)
        try:
            request = json.loads(body)
        except ValueError:
            self.send(400, b'{"error": {"message": "no JSON"}}')
            return
        mode = self.of.take(request, dict(self.headers))
        with suppress(OSError):
            self.answer(request, mode)

    def answer(self, request: dict[str, Any], mode: str) -> None:
        """Send an answer."""
        if (refusal := REFUSALS.get(mode)) is not None:
            self.refuse(refusal)
            return
        if mode == "slow":
            time.sleep(self.of.delay)
        self.send(200, json.dumps(self.completion(request, mode)).encode())

    def refuse(self, refusal: Refusal) -> None:
        """Send what is no completion; it may have the key in it, as that of some servers."""
        body = refusal.body.replace("{key}", self.headers.get("Authorization", "")[:20])
        self.send(refusal.status, body.encode(), refusal.headers())

    def completion(self, request: dict[str, Any], mode: str) -> dict[str, Any]:
        """Return a chat completion."""
        text, reason = self.of.reply(request, mode)
        prompt = prompt_of(request)
        choices = [
            {
                "index": index,
                "message": {"role": "assistant", "content": text},
                "finish_reason": reason,
            }
            for index in range(request.get("n", 1))
        ]
        used = {"prompt_tokens": len(prompt) // 4 + 1, "completion_tokens": len(text) // 4 + 1}
        return {
            "id": "stub",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": "stub-2026-11",
            "system_fingerprint": f"stub-{self.of.seed}",
            "choices": choices,
            "usage": {**used, "total_tokens": sum(used.values())},
        }

    def send(
        self,
        status: int,
        body: bytes,
        headers: Mapping[str, str] | None = None,
        *,
        length: int | None = None,
    ) -> None:
        """Send a status, headers and a body; `length` where another one is claimed."""
        usual = {"Content-Type": "application/json", "Content-Length": str(length or len(body))}
        with suppress(OSError):
            self.send_response(status)
            for name, value in {**usual, **(headers or {})}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)


Stub.handler = Answering
