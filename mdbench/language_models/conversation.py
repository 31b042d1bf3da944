"""The requests that a job makes to a language model: checked, counted, answered and written down.

What comes from a sandbox is untrusted: the size, the form and the values of a request are checked
here, before anything is counted, sent or written down.
"""

from __future__ import annotations

import hashlib
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from mdbench.language_models.exchanges import (
    BudgetAccount,
    Exchange,
    RequestCounter,
    TokenUse,
    Usage,
    dumped,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from mdbench.language_models.exchanges import ExchangeLog, LlmSettings

MOST_BYTES: Final = 2**20
"""Bytes of a request."""
_MOST_MESSAGES = 256
_MOST_COMPLETIONS = 64
_MOST_TOKENS = 8192
"""Tokens of a completion: more are not asked for."""
_USUAL_TOKENS = 1024
"""Completion tokens that are asked for where a method sets no number."""
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
    def read(cls, body: bytes, model: str, settings: dict[str, Any]) -> ChatRequest:
        """Read the body of a request.

        Parameters
        ----------
        model
            Whose completions these are, whatever the method states.
        settings
            What the user has set for all requests of a run; null leaves a field out.

        Raises
        ------
        RefusedError
            If it is no request that may be answered; with the reason.
        """
        given = _object(body)
        for name in _REFUSED:
            if given.get(name):
                raise RefusedError(400, "not_allowed", f"{name} may not be used")
        if given.get("stream") not in (None, False):
            raise RefusedError(400, "not_allowed", "stream may not be used")
        messages = _messages(given.get("messages"))
        n = _whole(given, "n", 1, 1, _MOST_COMPLETIONS)
        tokens = min(_whole(given, "max_tokens", _USUAL_TOKENS, 1, _LARGEST_SEED), _MOST_TOKENS)
        request: dict[str, Any] = {"model": model, "messages": messages, "max_tokens": tokens}
        for name, (least, most) in _NUMBERS.items():
            if given.get(name) is not None:
                request[name] = _number(given, name, least, most)
        if given.get("seed") is not None:
            request["seed"] = _whole(given, "seed", 0, -_LARGEST_SEED, _LARGEST_SEED)
        if given.get("stop") is not None:
            request["stop"] = _stops(given["stop"])
        request, tokens = _with(settings, request, tokens)
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


def _with(
    settings: dict[str, Any], request: dict[str, Any], tokens: int
) -> tuple[dict[str, Any], int]:
    """Return a request with the user's settings, which win, and how long a completion may be.

    The method asks for as many tokens as its answers take; that a model thinks before, and how
    long, is known to the user.
    """
    found = {name: value for name, value in {**request, **settings}.items() if value is not None}
    newer = settings.get("max_completion_tokens")  # the name of the field in newer interfaces
    if newer is not None:
        found.pop("max_tokens", None)
    return found, newer or settings.get("max_tokens") or tokens


def _object(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise RefusedError(400, "malformed", "the request is no JSON") from None
    if not isinstance(found, dict):
        raise RefusedError(400, "malformed", "the request is no JSON object")
    return found


def _no_constant(name: str) -> float:
    raise ValueError(name)


def _messages(given: Any) -> list[dict[str, str]]:
    if not isinstance(given, list) or not 0 < len(given) <= _MOST_MESSAGES:
        raise RefusedError(
            400, "malformed", f"messages is no list of 1 to {_MOST_MESSAGES} messages"
        )
    found = []
    for each in given:
        if not isinstance(each, dict) or each.get("role") not in _ROLES:
            raise RefusedError(400, "malformed", f"a message has a role: {', '.join(_ROLES)}")
        if not isinstance(each.get("content"), str):
            raise RefusedError(400, "malformed", "a message's content is a text")
        found.append({"role": each["role"], "content": _encodable(each["content"])})
    return found


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
    found = [given] if isinstance(given, str) else given
    if (
        not isinstance(found, list)
        or not 0 < len(found) <= _MOST_STOPS
        or not all(isinstance(each, str) and each for each in found)
    ):
        raise RefusedError(400, "malformed", f"stop is a text, or 1 to {_MOST_STOPS} texts")
    return [_encodable(each) for each in found]


_AT_A_TIME = 8
"""Completions of one job that are under way at once."""
_END_SECONDS = 2.0
"""Seconds for which the end of requests that are under way is waited for."""
_NOTHING = Usage(prompt_tokens=0, completion_tokens=0)


class Responder(Protocol):
    """Source of answers for one job: an endpoint, or a log, which needs no endpoint."""

    @property
    def trouble(self) -> str:
        """Why nothing is answered, where that is no doing of the method's."""

    @property
    def missed(self) -> str:
        """The request that a replay does not have; empty for none."""

    def complete(self, begun: Exchange, left: Callable[[], float | None]) -> Exchange:
        """Return a request with its answer, or with the reason why there is none."""

    def hang_up(self) -> None:
        """Cancel what is under way."""

    def close(self) -> None:
        """Release all that is held."""


@dataclass(frozen=True)
class ModelUse:
    """The requests of a job, and what they used.

    Attributes
    ----------
    calls
        Completions that were asked for, with those that could not be had.
    failed
        Those that could not be had.
    refused
        Whether more was asked for than the budget had.
    estimated
        Whether the endpoint did not count some of the tokens.
    money
        By the price that was given; None where none was.
    models, fingerprints
        As the endpoint reports them, each once, in order.
    seconds
        That the endpoint took.
    trouble
        Why none was ever answered, where that is no doing of the method's.
    missed
        What a replay did not have.
    """

    calls: int = 0
    failed: int = 0
    refused: bool = False
    prompt_tokens: int = 0
    completion_tokens: int = 0
    estimated: bool = False
    money: float | None = None
    models: tuple[str, ...] = ()
    fingerprints: tuple[str, ...] = ()
    seconds: float = 0.0
    trouble: str = ""
    missed: str = ""


class Conversation:
    """Answers the questions of one job; may be used from several threads.

    Parameters
    ----------
    responder
        Who answers; closed with this.
    log
        Where each exchange is written; closed with this.
    """

    def __init__(self, responder: Responder, talk: LlmSettings, log: ExchangeLog) -> None:
        self._responder = responder
        self._talk = talk
        self._log = log
        self._account = BudgetAccount(talk.allowance)
        self._occurrences = RequestCounter()
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(_AT_A_TIME, thread_name_prefix="mdbench-llm")
        self._models: set[str] = set()
        self._fingerprints: set[str] = set()
        self._quiet = threading.Condition()
        self._under_way = 0
        self._failed = 0
        self._refused = self._estimated = False

    @property
    def calls(self) -> int:
        """Completions that are over."""
        return self._account.spent.calls

    def answer(self, body: bytes) -> bytes:
        """Answer a request with as many of the completions as the budget has and could be had.

        Raises
        ------
        RefusedError
            If there is none; with the reason.
        """
        question = ChatRequest.read(body, self._talk.model, self._talk.settings)
        if question.n == 1:
            begun = self._begin(question, 0)
            exchanges = [] if begun is None else [self._complete(*begun)]
        else:
            waiting = []
            for index in range(question.n):
                if (begun := self._begin(question, index)) is None:
                    break
                # At once: the next one may have to wait for what this one leaves of the budget.
                waiting.append(self._pool.submit(self._complete, *begun))
            exchanges = [each.result() for each in waiting]
        if not exchanges:
            raise RefusedError(429, "budget_spent", "the budget of this job is used up")
        answered = [each for each in exchanges if each.reply is not None]
        if not answered:
            raise RefusedError(502, "no_completion", exchanges[0].error)
        return dumped(_as_answer(self._talk.model, answered))

    def _begin(self, question: ChatRequest, index: int) -> tuple[Exchange, TokenUse] | None:
        wanted = self._account.reserve(question.prompt_tokens, question.completion_tokens)
        if wanted is None:
            self._refused = True
            return None
        request = question.single(index)
        hash_ = request_hash(request)
        number, occurrence = self._occurrences.next(hash_)
        begun = Exchange(
            number=number,
            hash=hash_,
            occurrence=occurrence,
            request=request,
            usage=_NOTHING,
            latency_s=0.0,
            attempts=0,
        )
        return begun, wanted

    def _complete(self, begun: Exchange, wanted: TokenUse) -> Exchange:
        """Return a request with its answer; log it, and charge the account."""
        with self._quiet:
            self._under_way += 1
        try:
            return self._completed(begun, wanted)
        finally:
            with self._quiet:
                self._under_way -= 1
                self._quiet.notify_all()

    def _completed(self, begun: Exchange, wanted: TokenUse) -> Exchange:
        used = TokenUse(calls=1)
        try:
            found = self._responder.complete(begun, self._account.seconds_left)
            usage = found.usage
            used = TokenUse(1, usage.prompt_tokens, usage.completion_tokens, found.latency_s)
            self._log.write(found)
        except OSError as error:  # what is not written down is not given to a method
            reason = f"the log of exchanges cannot be written: {error.strerror}"
            found = begun.model_copy(update={"error": reason})
        finally:
            self._account.settle(wanted, used)
        self._note(found)
        return found

    def _note(self, found: Exchange) -> None:
        with self._lock:
            self._failed += found.reply is None
            self._estimated |= found.usage.estimated
            if found.model is not None:
                self._models.add(found.model)
            if found.fingerprint is not None:
                self._fingerprints.add(found.fingerprint)

    def asked(self) -> ModelUse:
        """Return what was asked for up to now."""
        allowance = self._talk.allowance
        with self._lock:
            spent = self._account.spent
            return ModelUse(
                calls=spent.calls,
                failed=self._failed,
                refused=self._refused,
                prompt_tokens=spent.prompt_tokens,
                completion_tokens=spent.completion_tokens,
                estimated=self._estimated,
                money=None
                if allowance.price is None
                else allowance.cost(spent.prompt_tokens, spent.completion_tokens),
                models=tuple(sorted(self._models)),
                fingerprints=tuple(sorted(self._fingerprints)),
                seconds=spent.seconds,
                trouble=self._responder.trouble if spent.calls == self._failed else "",
                missed=self._responder.missed,
            )

    def hang_up(self) -> None:
        """Answer nothing more: what is under way is given up, and written down as that."""
        self._account.close()
        self._responder.hang_up()

    def close(self) -> None:
        """Release all that is held; nobody asks any more.

        What cannot be given up at once, such as a connection that is being made, goes unrecorded.
        """
        self.hang_up()
        with self._quiet:
            self._quiet.wait_for(lambda: not self._under_way, _END_SECONDS)
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._responder.close()
        self._log.close()


def _as_answer(model: str, answered: list[Exchange]) -> dict[str, Any]:
    """Write completions as a chat completion, each choice with its own usage next to the sum."""
    choices = [
        {
            "index": index,
            "message": {"role": "assistant", "content": each.reply.text},
            "finish_reason": each.reply.finish_reason,
            "usage": _total([each.usage]),
        }
        for index, each in enumerate(answered)
        if each.reply is not None
    ]
    return {
        "id": f"chatcmpl-{answered[0].number}",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": choices,
        "usage": _total([each.usage for each in answered]),
    }


def _total(usages: list[Usage]) -> dict[str, int]:
    prompt = sum(each.prompt_tokens for each in usages)
    completion = sum(each.completion_tokens for each in usages)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }
