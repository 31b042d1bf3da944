"""The requests that a method makes to a language model, read and checked.

What comes from a sandbox is untrusted: the size, the form and the values of a request are checked
here, before anything is counted, sent or written down.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from mdbench.extensions.language_models.accounts import COMPLETION_TOKENS

if TYPE_CHECKING:
    from mdbench.extensions.language_models.accounts import LlmSettings

MOST_BYTES: Final = 2**20
"""Bytes of a request."""
_MOST_MESSAGES = 256
_MOST_COMPLETIONS = 64
_PER_MESSAGE = 16
"""Tokens that a message may take in addition to its text, at most."""
_ROLES = ("system", "user", "assistant")
_REFUSED = ("tools", "tool_choice", "functions", "function_call", "modalities", "audio")
_NUMBERS = {
    "temperature": (0.0, 5.0),
    "top_p": (0.0, 1.0),
    "frequency_penalty": (-2.0, 2.0),
    "presence_penalty": (-2.0, 2.0),
}
_MOST_STOPS = 4
_LARGEST_SEED = 2**63 - 1
_SEEDS = 2**31


class RefusedError(Exception):
    """A request that is not answered.

    Attributes
    ----------
    status
        Of HTTP.
    code
        A word for the reason.
    """

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


@dataclass(frozen=True)
class ChatRequest:
    """A request of a method, read.

    Attributes
    ----------
    request
        What is sent for each completion, without ``n``; see `single`.
    n
        How many completions are wanted.
    prompt_tokens
        The most that the prompt can take: a token has at least one byte.
    completion_tokens
        The most that a completion can take.
    """

    request: dict[str, Any]
    n: int
    prompt_tokens: int
    completion_tokens: int

    @classmethod
    def read(cls, body: bytes, talk: LlmSettings) -> ChatRequest:
        """Read the body of a request.

        Parameters
        ----------
        talk
            The model, whatever the method states, and what the user has set for all requests.

        Raises
        ------
        RefusedError
            If it is no request that may be answered; with the reason.
        """
        body_fields = _object(body)
        for name in _REFUSED:
            if body_fields.get(name):
                raise RefusedError(400, "not_allowed", f"{name} may not be used")
        if body_fields.get("stream") not in (None, False):
            raise RefusedError(400, "not_allowed", "stream may not be used")
        messages = _messages(body_fields.get("messages"))
        if talk.no_system:
            messages = _without_system(messages)
        n = _whole(body_fields, "n", 1, 1, _MOST_COMPLETIONS)
        tokens = _whole(body_fields, "max_tokens", COMPLETION_TOKENS, 1, _LARGEST_SEED)
        tokens = min(tokens, COMPLETION_TOKENS)
        request: dict[str, Any] = {"model": talk.model, "messages": messages, "max_tokens": tokens}
        for name, (least, most) in _NUMBERS.items():
            if body_fields.get(name) is not None:
                request[name] = _number(body_fields, name, least, most)
        if body_fields.get("seed") is not None:
            request["seed"] = _whole(body_fields, "seed", 0, -_LARGEST_SEED, _LARGEST_SEED)
        if body_fields.get("stop") is not None:
            request["stop"] = _stops(body_fields["stop"])
        request, tokens = _with_settings(talk.settings, request, tokens)
        size = sum(len(each["content"].encode()) + _PER_MESSAGE for each in messages)
        return cls(request, n, size + _PER_MESSAGE, tokens)

    def single(self, index: int) -> dict[str, Any]:
        """Return the request of one completion: each but the first has a seed of its own."""
        if index == 0 or "seed" not in self.request:
            return self.request
        text = f"{self.request['seed']}:{index}"
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") % _SEEDS
        return {**self.request, "seed": seed}


def request_hash(request: dict[str, Any]) -> str:
    """Return the SHA-256 of a request, as JSON with sorted names."""
    text = json.dumps(request, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _with_settings(
    settings: dict[str, Any], request: dict[str, Any], tokens: int
) -> tuple[dict[str, Any], int]:
    """Return a request with the user's settings, which win, and how long a completion may be.

    The method asks for as many tokens as its answers take; that a model thinks before, and how
    long, is known to the user.
    """
    fields = {name: value for name, value in {**request, **settings}.items() if value is not None}
    newer = settings.get("max_completion_tokens")  # the name of the field in newer interfaces
    if newer is not None:
        fields.pop("max_tokens", None)
    return fields, newer or settings.get("max_tokens") or tokens


def _object(body: bytes) -> dict[str, Any]:
    try:
        content = json.loads(body, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise RefusedError(400, "malformed", "the request is no JSON") from None
    if not isinstance(content, dict):
        raise RefusedError(400, "malformed", "the request is no JSON object")
    return content


def _no_constant(name: str) -> float:
    raise ValueError(name)


def _messages(items: Any) -> list[dict[str, str]]:
    if not isinstance(items, list) or not 0 < len(items) <= _MOST_MESSAGES:
        raise RefusedError(
            400, "malformed", f"messages is no list of 1 to {_MOST_MESSAGES} messages"
        )
    messages = []
    for message in items:
        if not isinstance(message, dict) or message.get("role") not in _ROLES:
            raise RefusedError(400, "malformed", f"a message has a role: {', '.join(_ROLES)}")
        if not isinstance(message.get("content"), str):
            raise RefusedError(400, "malformed", "a message's content is a text")
        messages.append({"role": message["role"], "content": _encodable(message["content"])})
    return messages


def _without_system(messages: list[dict[str, str]]) -> list[dict[str, str]]:
    """Put the text of system messages before that of the next user's, for models without any."""
    others: list[dict[str, str]] = []
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "system":
            waiting.append(message["content"])
        elif message["role"] == "user":
            others.append({"role": "user", "content": "\n\n".join([*waiting, message["content"]])})
            waiting = []
        else:
            others.append(message)
    if waiting:
        others.append({"role": "user", "content": "\n\n".join(waiting)})
    return others


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _whole(given: dict[str, Any], name: str, usual: int, least: int, most: int) -> int:
    value = given.get(name)
    if value is None:
        return usual
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise RefusedError(400, "malformed", f"{name} is a whole number from {least} to {most}")
    return value


def _number(given: dict[str, Any], name: str, least: float, most: float) -> float:
    value = given[name]
    good = isinstance(value, int | float) and not isinstance(value, bool)
    if not good or not least <= value <= most:
        raise RefusedError(400, "malformed", f"{name} is a number from {least:g} to {most:g}")
    return float(value)


def _stops(given: Any) -> list[str]:
    stops = [given] if isinstance(given, str) else given
    if (
        not isinstance(stops, list)
        or not 0 < len(stops) <= _MOST_STOPS
        or not all(isinstance(each, str) and each for each in stops)
    ):
        raise RefusedError(400, "malformed", f"stop is a text, or 1 to {_MOST_STOPS} texts")
    return [_encodable(each) for each in stops]
