"""The answers of endpoints, read: a completion, or a fault and whose it is.

Whether the server, the user's settings or the request is at fault follows from what the endpoint
says, and from its status code only where it says nothing: some send errors with status 200, some
send 429 for a bill that was not paid, and a web page may come with any code.
"""

from __future__ import annotations

import http.client
import json
import re
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from mdbench.extensions.language_models.exchanges import NOTHING, Completion, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    usage
        What it has taken all the same.
    """

    kind: FaultKind
    reason: str
    retry_after: float | None = None
    usage: Usage = NOTHING


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


def read_reply(begun: Exchange, reply: HttpReply, key: Key, unknown: Usage) -> Exchange | Fault:
    """Return a request with its completion, or the fault that an endpoint's answer is.

    An answer with status 200 and choices, or with a count of tokens, is what the model did, with or
    without a text: it is final.  Anything else is a fault of the endpoint's.

    Parameters
    ----------
    key
        No part of it is left in what is returned.
    unknown
        What is charged where the model has worked, and the endpoint does not say how much.
    """
    phrase = f"the endpoint answered {reply.status} {_phrase(reply.status)}".rstrip()
    if _PAGE.match(reply.body):
        return _judge_page(reply, phrase, key)
    try:
        content = json.loads(key.hidden(reply.body.decode()))
    except (ValueError, RecursionError):
        content = None
    ok = reply.status == http.client.OK
    error = _error_in(content) if isinstance(content, dict) else ""
    reported = _usage_in(content)
    if ok and not error:
        if isinstance(content, dict) and (reported or isinstance(content.get("choices"), list)):
            return _read_completion(begun, content, reported, unknown)
        what = "the endpoint's answer is no chat completion"
        return Fault(FaultKind.PASSING, what, usage=unknown)
    status = reply.status
    if ok:
        phrase = "the endpoint answered 200 OK with an error"
        status = _code_in(content) or int(http.client.SERVICE_UNAVAILABLE)
    said = _one_line(error or _text_of(content))
    reason = f"{phrase}: {said}" if said else phrase
    fault = _judged(begun, status, said, reason, reply.retry_after)
    return replace(fault, usage=reported or NOTHING)


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


def _text_of(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value)


def _one_line(text: str) -> str:
    return _encodable(" ".join(text.split()))[:_LONGEST_REASON]


def _read_completion(
    begun: Exchange, answer: dict[str, Any], reported: Usage | None, unknown: Usage
) -> Exchange:
    """Read a chat completion, whatever form it has; what cannot be read is no text."""
    text = thoughts = ""
    choices = answer.get("choices")
    try:
        choice = choices[0]  # type: ignore[index] # whatever is wrong with it is caught
        message = choice["message"] if "message" in choice else {"content": choice["text"]}
        reason = _name(choice.get("finish_reason"))
        thoughts = _thoughts(message)
        text = _content(message)
        refusal = message.get("refusal")
        if not text.strip() and isinstance(refusal, str) and refusal.strip():
            text, reason = _encodable(refusal), _REFUSAL
    except (ValueError, LookupError, TypeError, AttributeError):
        reason = _UNREADABLE if choices else _NO_CHOICES
    usage = reported
    if usage is None and text.strip() and reason != _LENGTH:
        prompt = sum(len(message["content"]) for message in begun.request["messages"])
        written = -(-(len(text) + len(thoughts)) // _LETTERS_A_TOKEN)
        usage = Usage(
            prompt_tokens=-(-prompt // _LETTERS_A_TOKEN), completion_tokens=written, estimated=True
        )
    usage = usage or unknown
    if usage.reasoning_tokens is None and thoughts:
        usage = usage.model_copy(update={"reasoning_tokens": -(-len(thoughts) // _LETTERS_A_TOKEN)})
    return begun.model_copy(
        update={
            "reply": Completion(text=text, finish_reason=reason),
            "usage": usage,
            "model": _name(answer.get("model")) or None,
            "fingerprint": _name(answer.get("system_fingerprint")) or None,
        }
    )


_LENGTH, _REFUSAL, _NO_CHOICES, _UNREADABLE = "length", "refusal", "no_choices", "unreadable"
_NO_ANSWERS = {
    _LENGTH: "cut off for their length before any text, which --llm-settings "
    """'{"max_tokens": 32768}' makes longer""",
    "content_filter": "taken by the endpoint's filter",
    _REFUSAL: "refused by the model",
    "tool_calls": "calls of tools that nobody offered",
    _NO_CHOICES: "without any choice",
    _UNREADABLE: "of a form that cannot be read",
    "stop": "empty",
}
"""Reasons why a completion has no answer, as records have them, and in words."""


def why_no_answer(reply: Completion) -> str:
    """Return why a completion has no answer; empty where it has one."""
    reason = reply.finish_reason
    if reason != _REFUSAL and reply.text.strip():
        return ""
    reason = {"function_call": "tool_calls"}.get(reason, reason)
    return reason if reason in _NO_ANSWERS else "stop"


def no_answers_text(counts: Mapping[str, int]) -> str:
    """Write how many completions had no answer, and why."""
    return ", ".join(f"{count:,} {_NO_ANSWERS[reason]}" for reason, count in counts.items())


def _usage_in(answer: Any) -> Usage | None:
    """Return the tokens that an endpoint reports, with an error, too; None where it reports none.

    A total that is more than both parts has tokens of thoughts in it that are in neither: they are
    paid like those of the completion.  So is a total without parts.
    """
    usage = answer.get("usage") if isinstance(answer, dict) else None
    if not isinstance(usage, dict):
        return None
    prompt, completion, total = (
        next((number for name in names if (number := _count(usage.get(name))) is not None), None)
        for names in (_PROMPT, _COMPLETION, ("total_tokens",))
    )
    if total is not None:
        prompt = max(0, total - (completion or total)) if prompt is None else prompt
        completion = max(completion or 0, total - prompt)
    if prompt is None or completion is None:
        return None
    details = next((usage[name] for name in _DETAILS if isinstance(usage.get(name), dict)), usage)
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        reasoning_tokens=_count(details.get(_THOUGHT)),
    )


_PROMPT = ("prompt_tokens", "input_tokens")
_COMPLETION = ("completion_tokens", "output_tokens")
_DETAILS = ("completion_tokens_details", "output_tokens_details")


def _count(value: Any) -> int | None:
    """Read a number of tokens; None where it is none."""
    if (isinstance(value, float) and value.is_integer()) or (
        isinstance(value, str) and re.fullmatch("[0-9]{1,10}", value)
    ):
        value = int(value)
    return value if type(value) is int and 0 <= value <= _MOST_COUNTED else None


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


def _name(value: Any) -> str:
    return _encodable(value)[:_LONGEST_NAME] if isinstance(value, str) else ""


def without_thoughts(text: str) -> str:
    """Return what a model says after its thoughts; empty where they never end."""
    said = text.rpartition("</think>")[2]
    return said.partition("<think>")[0]
