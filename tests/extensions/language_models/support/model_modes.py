"""The ways in which endpoints answer, and fail to: the modes of the tests' mock server."""

from __future__ import annotations

import json
import re
from email.utils import formatdate
from typing import TYPE_CHECKING, Any, Final

from mdbench.extensions.language_models import stub
from mdbench.extensions.language_models.stub import Draft, Refusal, error_body

if TYPE_CHECKING:
    from collections.abc import Callable

_FUNCTIONS = ("sin", "cos", "exp", "log", "sqrt")


def _other_fence(draft: Draft) -> str:
    bare = re.sub(r"```\w*\n?", "", draft.text)
    return f"Sure! Here is what I found:\n~~~\n{bare}\n~~~\nI hope that helps."


def _two_fences(draft: Draft) -> str:
    return f"The data look like this:\n```\n1.0, 2.0\n```\nSo:\n\n{draft.text}\n"


def _example_after(draft: Draft) -> str:
    usage = "```python\nprint(equation(1.0, 2.0))\n```"
    return f"{draft.text}\n\nYou would call it like this:\n{usage}\n"


def _bare(draft: Draft) -> str:
    return re.sub(r"```\w*\n?", "", draft.text)


def _lambda(draft: Draft) -> str:
    body = re.sub(rf"\b({'|'.join(_FUNCTIONS)})\(", r"np.\1(", draft.equation)
    return f"```python\nequation = lambda {', '.join([*draft.names, 'params'])}: {body}\n```"


def _signs(draft: Draft) -> str:
    text = re.sub(r"(?<=[\w)\]]) \* (?=[\w(])", " × ", draft.text)
    return text.replace(" - ", " − ")


def _loop(_: Draft) -> str:
    return "```python\ndef equation(*args):\n    while True:\n        pass\n```"


def _import(_: Draft) -> str:
    return "```python\nimport os\n\ndef equation(*args):\n    return os.environ\n```"


def _not_a_number(draft: Draft) -> str:
    return draft.text.replace(draft.equation, "np.nan * np.inf") if draft.equation else draft.text


def _other_language(draft: Draft) -> str:
    body = f"function equation({', '.join(draft.names)}) {{ return Math.sin({draft.names[0]}); }}"
    return f"```javascript\n{body}\n```"


def _latex(draft: Draft) -> str:
    return rf"The law is \[ y = \frac{{{draft.names[0]}}}{{2}} \], as one sees."


def _invented(draft: Draft) -> str:
    return draft.text.replace(draft.names[0], "viscosity")


def _enormous(draft: Draft) -> str:
    return draft.text.replace(draft.equation, " + ".join([draft.equation] * 2000))


def _thought(draft: Draft) -> str:
    return f"<think>\nPerhaps ```python\ndef equation(): pass\n``` or not.\n</think>\n{draft.text}"


def _half(draft: Draft) -> str:
    return draft.text[: len(draft.text) // 2]


def _whole_then_cut(draft: Draft) -> str:
    return f"{draft.text}\n\nThis works because the"


TEXTS: Final[dict[str, tuple[str, Callable[[Draft], str]]]] = {
    "good": ("an equation, drawn at random, in the form that is asked for", lambda d: d.text),
    "fence": ("it in the wrong kind of fence, with prose around it", _other_fence),
    "two-fences": ("a block of data first, then the equation's", _two_fences),
    "example-after": ("the equation, then a block that calls it", _example_after),
    "bare": ("the equation without any fence", _bare),
    "lambda": ("the equation as a lambda", _lambda),
    "signs": ("the equation with × and − for its signs", _signs),
    "prose": (stub.MODES["prose"], stub.prose),
    "latex": ("a formula in LaTeX", _latex),
    "other-language": ("a function in JavaScript", _other_language),
    "invented-names": ("an equation with a name that no variable has", _invented),
    "not-a-number": ("an equation that has no finite value", _not_a_number),
    "enormous": ("an equation of thousands of terms", _enormous),
    "loop": ("code that never ends", _loop),
    "import": ("code that imports what it may not", _import),
    "empty": ("an empty text", lambda _: ""),
    "think": ("the equation after thoughts in tags", _thought),
    "think-cut": ("thoughts that never end, cut off for their length", lambda _: "<think>\nHm, a"),
    "truncated": ("half an equation, cut off for its length", _half),
    "cut-after": ("a whole equation, and a sentence that is cut off", _whole_then_cut),
}
"""Modes that change what the model writes; `CUT` of them end for their length."""
CUT: Final = {"think-cut", "truncated", "cut-after"}


def _parts(answer: dict[str, Any]) -> None:
    message = answer["choices"][0]["message"]
    text = message["content"]
    half = len(text) // 2
    message["content"] = [{"type": "text", "text": part} for part in (text[:half], text[half:])]


def _tool_call(answer: dict[str, Any]) -> None:
    message = answer["choices"][0]["message"]
    code = re.sub(r"```\w*\n?", "", message["content"])
    function = {"name": "python", "arguments": json.dumps({"code": code})}
    message["content"] = None
    message["tool_calls"] = [{"id": "1", "type": "function", "function": function}]
    answer["choices"][0]["finish_reason"] = "tool_calls"


def _reasoning(answer: dict[str, Any]) -> None:
    answer["choices"][0]["message"]["reasoning_content"] = "It may be a product. " * 20
    answer["usage"]["completion_tokens"] += 100
    answer["usage"]["completion_tokens_details"] = {"reasoning_tokens": 100}


def _no_usage(answer: dict[str, Any]) -> None:
    del answer["usage"]


def _wrong_usage(answer: dict[str, Any]) -> None:
    answer["usage"] = {"prompt_tokens": "12", "completion_tokens": -5}


def _null(answer: dict[str, Any]) -> None:
    answer["choices"][0]["message"]["content"] = None


def _filtered(answer: dict[str, Any]) -> None:
    _null(answer)
    answer["choices"][0]["finish_reason"] = "content_filter"


def _no_choices(answer: dict[str, Any]) -> None:
    answer["choices"] = []


SHAPES: Final[dict[str, tuple[str, Callable[[dict[str, Any]], None]]]] = {
    "parts": ("the text as a list of parts", _parts),
    "tool-call": ("the code as the argument of a tool that nobody offered", _tool_call),
    "reasoning": ("thoughts apart from the answer, and counted", _reasoning),
    "no-usage": ("no count of tokens", _no_usage),
    "wrong-usage": ("counts of tokens that are none", _wrong_usage),
    "null": ("null for a text", _null),
    "filtered": ("null for a text, since a filter took it", _filtered),
    "no-choices": ("an empty list of choices", _no_choices),
}
"""Modes that change the form of a good answer."""


def _page(title: str) -> str:
    return f"<!DOCTYPE html>\n<html><head><title>{title}</title></head><body></body></html>"


_HTML = {"Content-Type": "text/html"}
REFUSALS: Final = {
    **stub.REFUSALS,
    "402": Refusal("an account without credit", 402, error_body("Insufficient Balance")),
    "403": Refusal("a key that may not", 403, error_body("Your key may not use this model")),
    "404": Refusal(
        "a model that is not there",
        404,
        error_body("The model `m` does not exist", "model_not_found"),
    ),
    "no-seed": Refusal(
        "a field that is not known", 400, error_body("Unsupported parameter: 'seed'", param="seed")
    ),
    "no-system": Refusal(
        "a model without system messages", 400, error_body("System role not supported")
    ),
    "newer-tokens": Refusal(
        "a model that names the length otherwise",
        400,
        error_body(
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
            "'max_completion_tokens' instead."
        ),
    ),
    "validation": Refusal(
        "a refusal in FastAPI's form",
        422,
        json.dumps({"detail": [{"loc": ["body", "temperature"], "msg": "Extra inputs"}]}),
    ),
    "context-length": Refusal(
        "prompts that are too long",
        400,
        error_body("This model's maximum context length is 8 tokens", "context_length_exceeded"),
    ),
    "moderation": Refusal(
        "prompts that a filter refuses",
        400,
        error_body("The prompt triggered our content management policy", "content_filter"),
    ),
    "429-seconds": Refusal(
        "too many requests, and when to come back, in seconds",
        429,
        error_body("Rate limit reached"),
        lambda: {"Retry-After": "0.01"},
    ),
    "429-date": Refusal(
        "too many requests, and when to come back, as a date",
        429,
        error_body("Rate limit reached"),
        lambda: {"Retry-After": formatdate(usegmt=True)},
    ),
    "502-page": Refusal("a gateway's page", 502, _page("502 Bad Gateway"), lambda: _HTML),
    "503": Refusal("a server that is starting", 503, error_body("Loading model")),
    "529": Refusal(
        "a server that is overloaded", 529, error_body("Overloaded", "overloaded_error")
    ),
    "login-page": Refusal("a page to log in, with status 200", 200, _page("Log in"), lambda: _HTML),
    "200-error": Refusal("an error with status 200", 200, error_body("Internal server error")),
    "object-error": Refusal(
        "an error in vLLM's form",
        400,
        json.dumps({"object": "error", "message": "Unsupported parameter: 'seed'", "code": 400}),
    ),
    "200-quota": Refusal(
        "a spent quota with status 200",
        200,
        error_body("You exceeded your current quota", "insufficient_quota"),
    ),
    "bad-json": Refusal("a body that is no JSON", 200, '{"choices": [{"message"'),
    "empty-body": Refusal("an empty body", 200, ""),
    "redirect": Refusal(
        "another address", 302, "", lambda: {"Location": "http://127.0.0.1:9/elsewhere"}
    ),
}
"""Modes that answer every request in the same way."""
SERVERS: Final = {
    "slow": "a good answer, late",
    "wrong-n": "no choice at all, or three",
    "flaky": "a server's error three times of ten, else a good answer",
    "hang-up": "a connection that is closed without an answer",
    "half-body": "a body that breaks off",
    "never-ends": "a body that never ends",
    "huge": "a body of a gigabyte",
    "echo": "the request's headers, with the key",
}
"""Modes of the server itself."""
MODES: Final = {
    **{name: does for name, (does, _) in TEXTS.items()},
    **{name: does for name, (does, _) in SHAPES.items()},
    **{name: refusal.does for name, refusal in REFUSALS.items()},
    **SERVERS,
}
"""All modes, and what each does."""
