"""A server of language models that keeps its own log of what it bills, however it answers."""

from __future__ import annotations

import http.server
import json
import threading
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

COMPLETION = 48
"""Tokens that a whole answer of this server takes."""
TEXT = "```\nx0\n```"


def answer(message: Any = TEXT, reason: str = "stop", **more: Any) -> dict[str, Any]:
    """Return a chat completion without a count of tokens."""
    content = message if isinstance(message, dict) else {"content": message}
    return {"choices": [{"message": content, "finish_reason": reason}], "model": "m", **more}


def counted(prompt: int, completion: int) -> dict[str, Any]:
    """Return the usual count of tokens."""
    total = prompt + completion
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": total,
    }


@dataclass(frozen=True)
class Behaviour:
    """A way in which the server answers.

    Attributes
    ----------
    body
        Gives the answer, but for its count of tokens.
    usage
        Gives the count for the tokens of prompt and completion; None where it reports none.
    status
        Of HTTP.
    passes
        How often it answers a request so, before it answers it well; None for always.
    bills
        Whether it bills the completion; one that is unreported is billed as long as it may be.
    ends
        The connection: ``whole``, ``half`` a body, or ``none`` at all.
    """

    body: Callable[[], Any]
    usage: Callable[[int, int], Any] | None = counted
    status: int = 200
    passes: int | None = None
    bills: bool = True
    ends: str = "whole"

    @property
    def is_known(self) -> bool:
        """Whether it reports what it bills, or bills nothing."""
        return self.usage is not None or not self.bills


def _error(message: str) -> Callable[[], Any]:
    return lambda: {"error": {"message": message}}


def _tool(arguments: str) -> dict[str, Any]:
    return {"content": None, "tool_calls": [{"function": {"name": "f", "arguments": arguments}}]}


BEHAVIOURS: Final[dict[str, Behaviour]] = {
    "good": Behaviour(answer),
    "cut before any text": Behaviour(lambda: answer({"content": None}, "length")),
    "cut in its text": Behaviour(lambda: answer("```\nx0 +", "length")),
    "null": Behaviour(lambda: answer({"content": None})),
    "empty": Behaviour(lambda: answer("")),
    "no content": Behaviour(lambda: answer({"role": "assistant"})),
    "refusal": Behaviour(lambda: answer({"content": None, "refusal": "I cannot help with that."})),
    "filter": Behaviour(lambda: answer({"content": None}, "content_filter")),
    "filter in its text": Behaviour(lambda: answer("The law", "content_filter")),
    "tool": Behaviour(lambda: answer(_tool('{"code": "x0"}'), "tool_calls")),
    "tool without arguments": Behaviour(lambda: answer(_tool("{}"), "tool_calls")),
    "no choices": Behaviour(lambda: {"choices": []}),
    "choices missing": Behaviour(lambda: {"model": "m"}),
    "a number": Behaviour(lambda: answer({"content": 5})),
    "no message": Behaviour(lambda: {"choices": [{}]}),
    "three choices": Behaviour(lambda: {"choices": answer()["choices"] * 3}),
    "thoughts": Behaviour(
        lambda: answer({"content": TEXT, "reasoning_content": "Hm. " * 8}),
        lambda p, c: {**counted(p, c), "completion_tokens_details": {"reasoning_tokens": 8}},
    ),
    "thoughts apart": Behaviour(
        answer, lambda p, c: {**counted(p, c), "completion_tokens": c - 40}
    ),
    "other names": Behaviour(answer, lambda p, c: {"input_tokens": p, "output_tokens": c}),
    "numbers as text": Behaviour(
        answer, lambda p, c: {"prompt_tokens": str(p), "completion_tokens": float(c)}
    ),
    "a total and the prompt": Behaviour(
        answer, lambda p, c: {"prompt_tokens": p, "total_tokens": p + c}
    ),
    "error under 200": Behaviour(_error("Internal server error"), passes=1),
    "error 500": Behaviour(_error("Internal server error"), status=500, passes=2),
    "prompt filtered": Behaviour(_error("content_filter: flagged"), status=400),
    "overloaded": Behaviour(_error("Rate limit reached"), None, status=429, passes=2, bills=False),
    "gateway": Behaviour(
        lambda: "<html><title>502</title></html>", None, status=502, passes=1, bills=False
    ),
    "half an error": Behaviour(
        _error("Internal server error"), None, status=500, passes=1, bills=False, ends="half"
    ),
    # Whatever it bills for these, it does not say how much.
    "half a body": Behaviour(answer, None, passes=1, ends="half"),
    "no answer": Behaviour(answer, None, passes=1, ends="none"),
    "no JSON": Behaviour(lambda: '{"choices": [{"message"', None, passes=1),
    "nothing": Behaviour(lambda: "", None, passes=1),
    "null, uncounted": Behaviour(lambda: answer({"content": None}), None),
    "cut, uncounted": Behaviour(lambda: answer("```\nx0 +", "length"), None),
}
"""Ways to answer; the last six bill what they do not report."""


@dataclass
class BillingServer:
    """The server; it runs as long as its context lasts.

    Parameters
    ----------
    names
        Of the behaviours, one for each new request in turn.

    Attributes
    ----------
    log
        The tokens of prompts and of completions that were billed, a pair for each request.
    """

    names: Sequence[str]
    log: list[tuple[int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: dict[bytes, str] = {}
        self._times: Counter[bytes] = Counter()
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(_Answer, self))

    @property
    def url(self) -> str:
        """The address of its endpoint."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @property
    def billed(self) -> tuple[int, int]:
        """The tokens of all prompts and of all completions."""
        return sum(prompt for prompt, _ in self.log), sum(completion for _, completion in self.log)

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, body: bytes) -> tuple[Behaviour, bytes]:
        """Bill a request; return how it is answered."""
        request = json.loads(body)
        with self._lock:
            name = self._seen.setdefault(body, self.names[len(self._seen) % len(self.names)])
            behaviour = BEHAVIOURS[name]
            self._times[body] += 1
            if behaviour.passes is not None and self._times[body] > behaviour.passes:
                behaviour = BEHAVIOURS["good"]
            prompt = sum(len(message["content"]) for message in request["messages"])
            used = prompt, min(COMPLETION, request["max_tokens"])
            if not behaviour.is_known:
                used = prompt, request["max_tokens"]
            if behaviour.bills:
                self.log.append(used)
        content = behaviour.body()
        if isinstance(content, dict) and behaviour.usage is not None:
            content = {**content, "usage": behaviour.usage(*used)}
        text = content if isinstance(content, str) else json.dumps(content)
        return behaviour, text.encode()


class _Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def __init__(self, of: BillingServer, *arguments: Any) -> None:
        self.of = of
        super().__init__(*arguments)

    def log_message(self, *_: Any) -> None:
        """Print nothing."""

    def do_POST(self) -> None:
        """Answer a request."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        behaviour, content = self.of.answer(body)
        self.close_connection = behaviour.ends != "whole"
        if behaviour.ends == "none":
            return
        self.send_response(behaviour.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) // 2] if behaviour.ends == "half" else content)
