"""The answers of endpoints, read: a completion, or a fault and whose it is.

Whether the server, the user's settings or the request is at fault follows from what the endpoint
says, and from its status code only where it says nothing: some send errors with status 200, some
send 429 for a bill that was not paid, and a web page may come with any code.
"""

from __future__ import annotations

import http.client
import json
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from mdbench.extensions.language_models.exchanges import Completion, Usage

if TYPE_CHECKING:
    from mdbench.extensions.language_models.endpoint import HttpReply
    from mdbench.extensions.language_models.exchanges import Exchange
    from mdbench.extensions.language_models.keys import Key


class FaultKind(StrEnum):
    """What a fault is about, and so what helps."""

    REQUEST = "request"
    """This request alone: another one may be answered."""
    PASSING = "passing"
    """The server, for now: it may answer later."""
    LASTING = "lasting"
    """The account: nobody will be answered until the user has done something."""
    SETUP = "setup"
    """Address, key, model or settings, where nothing was ever answered; else it may pass."""
    UNCLEAR = "unclear"
    """Settings, where nothing was ever answered; else this request."""


@dataclass(frozen=True)
class Fault:
    """An answer that is no completion.

    Attributes
    ----------
    reason
        In words, with what the user can do; without any part of the key.
    retry_after
        Seconds that the endpoint asks to wait.
    """

    kind: FaultKind
    reason: str
    retry_after: float | None = None


_LONGEST_REASON = 300
_LONGEST_NAME = 200
_LETTERS_A_TOKEN = 4
_MOST_COUNTED = 10**9
_CODES = range(400, 600)
_BAD_REQUEST = (400, 422)
_TOO_LARGE = 413
_SETUP = {*range(300, 400), 401, 403, 404, 405, 406, 407, 410, 501, 505}
_PAYMENT = 402
_SPENT = re.compile(
    r"insufficient[_ ](quota|balance|credit|fund)|exceeded your current quota"
    r"|billing[_ ](hard|not)|credit balance is too low|out of credits|payment required"
    r"|monthly (limit|quota|spend)|quota (is )?(exhausted|spent|used up)"
)
_COMES_BACK = re.compile(r"(try again|retry) (in|after)|per[_ -]?(minute|min|second|hour|day)")
_TOO_LONG = re.compile(
    r"context[_ ](length|window|size)|maximum context|prompt is too long"
    r"|input is too long|longer than the (model|maximum)|reduce the length|request too large"
)
_FILTERED = re.compile(r"content[_ ](filter|policy|management)|responsibleai|flagged|moderation")
_NO_MODEL = re.compile(
    r"model[_ ]not[_ ]found|model .{0,120}(does not exist|not found|not available|not supported)"
    r"|no such model|unknown model"
)
_NOT_TAKEN = re.compile(
    r"unsupported|unrecognized|unrecognised|unknown|not supported|not allowed|not permitted"
    r"|extra inputs|unexpected|invalid|does not support|must be|only .{0,40}supported"
    r"|too large|at most|less than|greater than|deprecated|instead"
)
_NO_SYSTEM = re.compile(
    r"system.{0,40}(role|message|prompt|instruction)|roles must alternate"
    r"|(role|message|instruction).{0,40}system"
)
_USE_NEWER = re.compile(r"max_tokens.{0,120}max_completion_tokens")
_TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
_PAGE = re.compile(rb"\s*<(!doctype|html|head|body|\?xml)", re.IGNORECASE)
_THOUGHT = "reasoning_tokens"


def read_reply(begun: Exchange, reply: HttpReply, key: Key) -> Exchange | Fault:
    """Return a request with its completion, or the fault that an endpoint's answer is.

    Parameters
    ----------
    key
        No part of it is left in what is returned.
    """
    phrase = f"the endpoint answered {reply.status} {_phrase(reply.status)}".rstrip()
    if _PAGE.match(reply.body):
        return _judge_page(reply, phrase, key)
    try:
        content = json.loads(key.hidden(reply.body.decode()))
    except (ValueError, RecursionError):
        content = None
    ok = reply.status == http.client.OK
    if ok and isinstance(content, dict) and not _error_in(content):
        try:
            return _read_completion(begun, content)
        except (ValueError, LookupError, TypeError, AttributeError):
            return _no_completion(content)
    error = _error_in(content) if isinstance(content, dict) else ""
    status = reply.status
    if ok:
        if not error:
            return Fault(FaultKind.PASSING, "the endpoint's answer is no chat completion")
        phrase = "the endpoint answered 200 OK with an error"
        status = _code_in(content) or int(http.client.SERVICE_UNAVAILABLE)
    said = _one_line(error or _text_of(content))
    reason = f"{phrase}: {said}" if said else phrase
    return _judged(begun, status, said, reason, reply.retry_after)


def _judge_page(reply: HttpReply, phrase: str, key: Key) -> Fault:
    """Judge a web page: of a gateway, which may be down, or that wants somebody to log in."""
    title = _TITLE.search(reply.body[:_MOST_SEARCHED].decode(errors="replace"))
    named = _one_line(key.hidden(title[1])) if title else ""
    reason = f"{phrase} with a web page" + (f", {named!r}" if named else "")
    if reply.status in {408, 425, 429, 500, 502, 503, 504, 529}:
        return Fault(FaultKind.PASSING, reason, reply.retry_after)
    hint = "is --llm-url the address of the interface, and does the network ask for a login?"
    return Fault(FaultKind.SETUP, f"{reason}: {hint}", reply.retry_after)


_MOST_SEARCHED = 2**14


def _judged(
    begun: Exchange, status: int, said: str, reason: str, retry_after: float | None
) -> Fault:
    """Decide whose fault an error is, by its words first."""
    words = said.lower()
    refused = status in _BAD_REQUEST or status == _TOO_LARGE
    spent = _SPENT.search(words)
    comes_back = "insufficient_quota" not in words and (retry_after or _COMES_BACK.search(words))
    kind, hint = FaultKind.PASSING, ""
    if status == _PAYMENT or (spent and not comes_back):
        kind = FaultKind.LASTING
        hint = "the account's credit is used up; add some, and give the same command again"
    elif status == _TOO_LARGE or _TOO_LONG.search(words) or (refused and _FILTERED.search(words)):
        kind = FaultKind.REQUEST
    elif _NO_MODEL.search(words) and status not in _PASSING:
        kind, hint = FaultKind.SETUP, "is --llm-model what this server calls it?"
    elif refused:
        kind, hint = FaultKind.UNCLEAR, advice(begun.request, said)
    elif status in _SETUP:
        kind = FaultKind.SETUP
    return Fault(kind, f"{reason} ({hint})" if hint else reason, retry_after)


_PASSING = {408, 409, 423, 425, 429, 500, 502, 503, 504, 529}


def advice(request: dict[str, Any], said: str) -> str:
    r"""Return the option that avoids an error: the field that it names, set or left out.

    Examples
    --------
    >>> advice({"seed": 1, "messages": []}, "Unsupported parameter: 'seed'")
    'the field is seed; leave it out: --llm-settings \'{"seed": null}\''
    """
    words = said.lower()
    roles = {each.get("role") for each in request.get("messages", ())}
    if "system" in roles and _NO_SYSTEM.search(words):
        return "the field is the role system; put its text into the user's: --llm-no-system"
    if not _NOT_TAKEN.search(words):
        return ""
    if _USE_NEWER.search(words):
        most = request.get("max_tokens", 1024)
        return f"the field is max_tokens; {_setting({'max_completion_tokens': most})}"
    named = [
        name
        for name in sorted(request, key=len, reverse=True)
        if name not in {"model", "messages"} and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", said)
    ]
    if not named:
        return ""
    name = named[0]
    if name in {"max_tokens", "max_completion_tokens"}:
        return f"the field is {name}; give fewer: {_setting({name: 4096})}"
    return f"the field is {name}; leave it out: {_setting({name: None})}"


def _setting(fields: dict[str, Any]) -> str:
    return f"--llm-settings '{json.dumps(fields)}'"


def _phrase(status: int) -> str:
    return http.client.responses.get(status, "")


def _error_in(answer: dict[str, Any]) -> str:
    """Return the message of an error in one of its usual forms; empty where there is none.

    These are ``{"error": {"message": ...}}``, ``{"error": "..."}``, and ``{"object": "error",
    "message": ...}`` of vLLM, ``{"detail": ...}`` of FastAPI and ``{"message": ...}`` of gateways.
    """
    if answer.get("choices"):
        return ""
    error = answer.get("error")
    if error is None and answer.get("object") == "error":
        error = answer
    if error is None and "choices" not in answer:
        error = answer.get("detail") or answer.get("message")
    if isinstance(error, dict):
        parts = [error.get("message"), error.get("code"), error.get("type"), error.get("param")]
        found = [str(part) for part in parts if isinstance(part, str | int) and part]
        return ", ".join(dict.fromkeys(found)) or json.dumps(error)
    return "" if error is None else _text_of(error)


def _code_in(answer: dict[str, Any]) -> int:
    """Return the status code that an error itself states; 0 where it states none."""
    error = answer.get("error")
    for part in (error, answer):
        if isinstance(part, dict):
            for name in ("code", "status", "status_code"):
                value = part.get(name)
                number = int(value) if isinstance(value, str) and value.isdigit() else value
                if isinstance(number, int) and number in _CODES:
                    return number
    return 0


def _no_completion(answer: dict[str, Any]) -> Fault:
    if answer.get("choices") == []:
        return Fault(FaultKind.REQUEST, "the endpoint's answer is no chat completion: no choices")
    return Fault(FaultKind.PASSING, "the endpoint's answer is no chat completion")


def _text_of(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value)


def _one_line(text: str) -> str:
    return _encodable(" ".join(text.split()))[:_LONGEST_REASON]


def _read_completion(begun: Exchange, answer: dict[str, Any]) -> Exchange | Fault:
    """Read a chat completion; raises whatever a wrong shape causes."""
    choice = answer["choices"][0]
    message = choice["message"] if "message" in choice else {"content": choice["text"]}
    text = _content(message)
    if not text and choice.get("finish_reason") == "content_filter":
        return Fault(FaultKind.REQUEST, "the endpoint's filter took the text of the answer")
    if not text and message.get("content") is None and not _thoughts(message):
        return Fault(FaultKind.REQUEST, "the endpoint's answer has no text")
    usage = answer.get("usage") or {}
    counted: list[Any] = [usage.get("prompt_tokens"), usage.get("completion_tokens")]
    estimated = not all(type(n) is int and 0 <= n <= _MOST_COUNTED for n in counted)
    thoughts = _thoughts(message)
    if estimated:
        prompt = sum(len(each["content"]) for each in begun.request["messages"])
        written = len(text) + len(thoughts)
        counted = [-(-prompt // _LETTERS_A_TOKEN), -(-written // _LETTERS_A_TOKEN)]
    details = usage.get("completion_tokens_details")
    thought = details.get(_THOUGHT) if isinstance(details, dict) else usage.get(_THOUGHT)
    if type(thought) is not int or not 0 <= thought <= _MOST_COUNTED:
        thought = -(-len(thoughts) // _LETTERS_A_TOKEN) if thoughts else None
    return begun.model_copy(
        update={
            "reply": Completion(text=text, finish_reason=_name(choice.get("finish_reason")) or ""),
            "usage": Usage(
                prompt_tokens=int(counted[0]),
                completion_tokens=int(counted[1]),
                reasoning_tokens=thought,
                estimated=estimated,
            ),
            "model": _name(answer.get("model")),
            "fingerprint": _name(answer.get("system_fingerprint")),
        }
    )


def _content(message: dict[str, Any]) -> str:
    """Return the text of a message: of its parts, or of the calls of tools that it makes instead.

    A model that was shown no tool, and calls one all the same, writes its code as its argument.
    """
    content = message.get("content")
    if isinstance(content, list):
        parts = [each if isinstance(each, str) else each.get("text") for each in content]
        content = "".join(part for part in parts if isinstance(part, str))
    if content is not None and not isinstance(content, str):
        raise TypeError("no text")
    if content and content.strip():
        return _encodable(content)
    calls = message.get("tool_calls") or []
    if isinstance(message.get("function_call"), dict):
        calls = [*calls, {"function": message["function_call"]}]
    return _encodable("\n".join(filter(None, map(_argument, calls))) or content or "")


def _argument(call: dict[str, Any]) -> str:
    """Return what a tool would have been given: its longest text, as a block of code."""
    arguments = call["function"].get("arguments")
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except ValueError:
            return f"```\n{arguments}\n```"
    texts = [value for value in arguments.values() if isinstance(value, str)] if arguments else []
    return f"```\n{max(texts, key=len)}\n```" if texts else ""


def _thoughts(message: dict[str, Any]) -> str:
    """Return what a model has thought, where the server keeps it apart from the answer."""
    for name in ("reasoning_content", "reasoning"):
        if isinstance(message.get(name), str):
            return str(message[name])
    return ""


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _name(value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise TypeError("no text")
    return None if value is None else _encodable(value)[:_LONGEST_NAME]


def without_thoughts(text: str) -> str:
    """Return what a model says after its thoughts; empty where they never end."""
    said = text.rpartition("</think>")[2]
    return said.partition("<think>")[0]
