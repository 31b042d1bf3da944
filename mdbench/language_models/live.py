"""Completions from an endpoint: asked for again where that may help, and read with suspicion."""

from __future__ import annotations

import http.client
import json
import threading
import time
from typing import TYPE_CHECKING, Any, Final

from mdbench.language_models.endpoint import EndpointError
from mdbench.language_models.exchanges import Completion, Usage, dumped

if TYPE_CHECKING:
    from collections.abc import Callable

    from mdbench.language_models.endpoint import Endpoint, Said
    from mdbench.language_models.exchanges import Exchange

__all__ = ["PAUSES", "Live"]

_ATTEMPTS: Final = 4
"""How often a request is sent: once, and again three times."""
PAUSES: Final = (0.5, 1.0, 2.0)
"""Seconds before each further attempt, at least."""
_LONGEST_PAUSE = 30.0
_AGAIN = {408, 425, 429, 500, 502, 503, 504, 529}
_NOT_OURS = {401, 402, 403, 404, 405, 410}
"""With these no request will ever be answered, whatever it asks."""
_EXPLAINS = {400, 404, 413, 422}
"""With these an endpoint says what it does not take."""
_LONGEST_REASON = 300
_LONGEST_NAME = 200
_LETTERS_A_TOKEN = 4
_MOST_COUNTED = 10**9


class Live:
    """Has the requests of one job answered by an endpoint.

    Parameters
    ----------
    pauses
        Seconds before each further attempt at a request, at least.

    Attributes
    ----------
    trouble
        Why the endpoint answers nobody; empty where it does, or did.
    missed
        Always empty: of a replay.
    """

    missed = ""

    def __init__(self, endpoint: Endpoint, *, pauses: tuple[float, ...] = PAUSES) -> None:
        self._endpoint = endpoint
        self._pauses = pauses
        self._over = threading.Event()
        self._answered = False
        self.trouble = ""

    def complete(self, begun: Exchange, left: Callable[[], float | None]) -> Exchange:
        """Have a request answered, or say why it could not be.

        Parameters
        ----------
        left
            Gives the seconds that the endpoint may take; None for no limit.
        """
        body = dumped(begun.request)
        found, attempt, took = begun, 0, 0.0
        while not self._over.is_set():
            attempt += 1
            most = left()
            start = time.monotonic()
            found, again, pause = self._try(begun, body, None if most is None else most - took)
            took += time.monotonic() - start
            found = found.model_copy(update={"latency_s": took, "attempts": attempt})
            if not again or attempt == _ATTEMPTS or (most is not None and took >= most):
                break
            least = self._pauses[min(attempt, len(self._pauses)) - 1]
            self._over.wait(min(_LONGEST_PAUSE, max(least, pause or 0.0)))
        if self._over.is_set() and found.reply is None:
            return found.model_copy(update={"error": "the job had ended"})
        return found

    def _try(
        self, begun: Exchange, body: bytes, seconds: float | None
    ) -> tuple[Exchange, bool, float | None]:
        """Ask once; tell whether to ask again, and after how long."""
        try:
            said = self._endpoint.ask(body, owner=self, seconds=seconds)
        except EndpointError as error:
            if not self._over.is_set():
                self._despair(f"the endpoint of --llm-url does not answer: {error}")
            return begun.model_copy(update={"error": f"no answer: {error}"}), True, None
        if said.status == http.client.OK:
            return self._read(begun, said), False, None
        reason = f"the endpoint said {said.status} {_phrase(said.status)}".rstrip()
        if said.status in _EXPLAINS and (why := _explanation(said.body)):
            reason += f": {self._endpoint.key.hidden(why)}"
        if said.status in _NOT_OURS:
            self._despair(reason)
        again = said.status in _AGAIN
        return begun.model_copy(update={"error": reason}), again, said.retry_after

    def _read(self, begun: Exchange, said: Said) -> Exchange:
        try:
            text = self._endpoint.key.hidden(said.body.decode())
            found = _read_completion(begun, json.loads(text))
        except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
            error = "the endpoint's answer is no chat completion"
            return begun.model_copy(update={"error": error})
        self._answered = True
        self.trouble = ""
        return found

    def _despair(self, why: str) -> None:
        if not self._answered:
            self.trouble = why

    def hang_up(self) -> None:
        """Give up what is under way."""
        self._over.set()
        self._endpoint.abort(self)

    def close(self) -> None:
        """Do nothing: the connections serve other jobs."""


def _phrase(status: int) -> str:
    return http.client.responses.get(status, "")


def _explanation(body: bytes) -> str:
    try:
        error = json.loads(body)["error"]
        text = error["message"] if isinstance(error, dict) else error
    except (ValueError, RecursionError, LookupError, TypeError):
        return ""
    return _encodable(" ".join(str(text).split()))[:_LONGEST_REASON]


def _read_completion(begun: Exchange, answer: dict[str, Any]) -> Exchange:
    """Take what is known of a chat completion; raises all that a wrong shape may."""
    choice = answer["choices"][0]
    content = choice["message"].get("content")
    text = "" if content is None else _text(content)
    usage = answer.get("usage") or {}
    counted: list[Any] = [usage.get("prompt_tokens"), usage.get("completion_tokens")]
    estimated = not all(isinstance(n, int) and 0 <= n <= _MOST_COUNTED for n in counted)
    if estimated:
        prompt = sum(len(each["content"]) for each in begun.request["messages"])
        counted = [-(-prompt // _LETTERS_A_TOKEN), -(-len(text) // _LETTERS_A_TOKEN)]
    return begun.model_copy(
        update={
            "reply": Completion(text=text, finish_reason=_name(choice.get("finish_reason")) or ""),
            "usage": Usage(
                prompt_tokens=int(counted[0]),
                completion_tokens=int(counted[1]),
                estimated=estimated,
            ),
            "model": _name(answer.get("model")),
            "fingerprint": _name(answer.get("system_fingerprint")),
        }
    )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    return _encodable(value)


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _name(value: Any) -> str | None:
    return None if value is None else _text(value)[:_LONGEST_NAME]
