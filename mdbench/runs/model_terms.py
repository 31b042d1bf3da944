"""What is asked for of a language model: the fields of specifications and commands that say it."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from mdbench.errors import UsageError, did_you_mean
from mdbench.language_models.budget import PROMPTS, Allowance, Talk
from mdbench.runs.kept import Kept, declared, short
from mdbench.runs.options import Typed, read_path, read_seconds

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["USUAL_CALLS", "ModelRoute", "ModelTerms"]

USUAL_CALLS: Final = 1000
"""Completions that a job may ask for where nobody says it: SurfaceBench's budget."""
_ACCESS = "llm"


def _count(option: str, text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,12}", text) or int(text) == 0:
        raise UsageError(f"{option} is {text!r}.", "Give a whole number from 1 on.")
    return int(text)


def _amount(option: str, text: str) -> float:
    value = _number(text)
    if not (math.isfinite(value) and value > 0):
        raise UsageError(f"{option} is {text!r}.", "Give a number above 0, e.g. 2.5.")
    return value


def _price(option: str, text: str) -> tuple[float, float]:
    found = [_number(part) for part in text.split("/")]
    if len(found) != 2 or not all(math.isfinite(each) and each >= 0 for each in found):  # noqa: PLR2004
        raise UsageError(
            f"{option} is {text!r}.",
            "Give the prices of a million prompt tokens and of a million completion tokens, "
            "e.g. 0.15/0.60.",
        )
    return found[0], found[1]


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _prompt(option: str, text: str) -> str:
    if text not in PROMPTS:
        raise UsageError(f"{option} is {text!r}.", did_you_mean(text, PROMPTS))
    return text


_PINNED = ("model", "messages", "n", "stream", "tools", "functions")
_TOKENS = ("max_tokens", "max_completion_tokens")


def _settings(option: str, text: str) -> str | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise UsageError(
            f"{option} is {text!r}.", """Give a JSON object, e.g. '{"top_p": 0.9, "seed": null}'."""
        )
    if pinned := [name for name in _PINNED if name in found]:
        raise UsageError(
            f"{option} says {pinned[0]!r}.", f"These are the bench's: {', '.join(_PINNED)}."
        )
    for name in _TOKENS:
        value = found.get(name)
        if value is not None and (type(value) is not int or value < 1):
            raise UsageError(
                f"{option} says {name} = {value!r}.", "It is a whole number from 1 on."
            )
    return json.dumps(found, sort_keys=True) if found else None


def _limit(name: str, typed: str, help_: str, read: Callable[[str, str], Any], **more: Any) -> Any:
    """Declare a field that limits what a job may ask for."""
    return field(
        default=None,
        metadata=declared(
            Kept(f"llm_{name}", left_out=None, record=f"llm.budget.{name}", access=_ACCESS, **more),
            Typed(typed, help_, read),
        ),
    )


@dataclass(frozen=True, kw_only=True)
class ModelTerms:
    """What a job is told and may use of a language model; None of all for a method without.

    Attributes
    ----------
    llm_settings
        A JSON object, with sorted names.
    llm_price
        Of a million prompt tokens, and of a million completion tokens.
    """

    llm_model: str | None = field(
        default=None,
        metadata=declared(
            Kept("llm_model", left_out=None, record="llm.model", access=_ACCESS),
            Typed("--llm-model NAME", "The language model, as its endpoint calls it."),
        ),
    )
    llm_settings: str | None = field(
        default=None,
        metadata=declared(
            Kept("llm_settings", left_out=None, record="llm.settings", access=_ACCESS),
            Typed("--llm-settings JSON", "Fields of every request to it, as JSON.", _settings),
        ),
    )
    prompt: str | None = field(
        default=None,
        metadata=declared(
            Kept("prompt", left_out=None, record="llm.prompt", access=_ACCESS, usual=PROMPTS[0]),
            Typed(
                "--prompt NAME",
                f"What a prompt may tell: {', '.join(PROMPTS)}.  Default: {PROMPTS[0]}.",
                _prompt,
            ),
        ),
    )
    llm_calls: int | None = _limit(
        "calls",
        "--llm-calls N",
        f"Completions a job may ask for.  Default of a run: {USUAL_CALLS}.",
        _count,
        usual=USUAL_CALLS,
    )
    llm_prompt_tokens: int | None = _limit(
        "prompt_tokens", "--llm-prompt-tokens N", "Tokens of all prompts of a job.", _count
    )
    llm_completion_tokens: int | None = _limit(
        "completion_tokens", "--llm-completion-tokens N", "Tokens of all its completions.", _count
    )
    llm_seconds: float | None = _limit(
        "seconds",
        "--llm-seconds SECONDS",
        "Time that the model may take for a job.",
        read_seconds,
        text=short,
    )
    llm_money: float | None = _limit(
        "money", "--llm-money AMOUNT", "What a job may cost, by --llm-price.", _amount, text=short
    )
    llm_price: tuple[float, float] | None = field(
        default=None,
        metadata=declared(
            Kept(
                "llm_price",
                lambda price: "/".join(map(short, price)),
                left_out=None,
                record="llm.price",
                access=_ACCESS,
                back=tuple,
            ),
            Typed(
                "--llm-price IN/OUT",
                "Price of a million tokens of prompts, and of completions.",
                _price,
            ),
        ),
    )

    @property
    def talk(self) -> Talk | None:
        """What is the same for all questions of a job; None where no model is named."""
        if self.llm_model is None:
            return None
        allowance = Allowance(
            self.llm_calls,
            self.llm_prompt_tokens,
            self.llm_completion_tokens,
            self.llm_seconds,
            self.llm_money,
            self.llm_price,
        )
        settings = {} if self.llm_settings is None else json.loads(self.llm_settings)
        return Talk(self.llm_model, settings, allowance)


@dataclass(frozen=True, kw_only=True)
class ModelRoute:
    """How a run reaches the language model: nothing of it is in a key or a record."""

    llm_url: str | None = field(
        default=None,
        metadata=declared(
            Typed(
                "--llm-url URL",
                "Its OpenAI-compatible address, e.g. http://localhost:8000/v1.",
                envvar="MDBENCH_LLM_URL",
                of_run=True,
            )
        ),
    )
    llm_key_env: str | None = field(
        default=None,
        metadata=declared(
            Typed(
                "--llm-key-env NAME",
                "The environment's variable that holds its key.",
                of_run=True,
            )
        ),
    )
    llm_key_file: Path | None = field(
        default=None,
        metadata=declared(
            Typed("--llm-key-file FILE", "Or the file that holds it.", read_path, of_run=True)
        ),
    )
    llm_replay: Path | None = field(
        default=None,
        metadata=declared(
            Typed(
                "--llm-replay PATH",
                "Answer from logs of an earlier run: a file, or its results; no network.",
                read_path,
                of_run=True,
            )
        ),
    )
