"""The options of language models: of jobs, in their keys and records, and of runs."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from mdbench.errors import UsageError, did_you_mean
from mdbench.extensions.language_models import PROMPTS
from mdbench.runs.options import (
    metadata,
    names,
    option,
    read_amount,
    read_path,
    read_patience,
    read_seconds,
    read_seeds,
    read_whole,
    short,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from mdbench.extensions.language_models.accounts import LlmSettings

USUAL_CALLS: Final = 1000
"""Completions that a job may ask for unless another number is given: SurfaceBench's budget."""
ACCESS: Final = "llm"
"""The name of the service: the access that a method needs."""


def _read_count(option: str, text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,12}", text) or int(text) == 0:
        raise UsageError(f"{option} is {text!r}.", "Give a whole number from 1 on.")
    return int(text)


def _read_price(option: str, text: str) -> tuple[float, float]:
    prices = [_float_or_nan(part) for part in text.split("/")]
    if len(prices) != 2 or not all(math.isfinite(each) and each >= 0 for each in prices):  # noqa: PLR2004
        raise UsageError(
            f"{option} is {text!r}.",
            "Give the prices of a million prompt tokens and of a million completion tokens, "
            "e.g. 0.15/0.60.",
        )
    return prices[0], prices[1]


def _float_or_nan(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _read_prompt(option: str, text: str) -> str:
    if text not in PROMPTS:
        raise UsageError(f"{option} is {text!r}.", did_you_mean(text, PROMPTS))
    return text


_PINNED = ("model", "messages", "n", "stream", "tools", "functions")
_TOKENS = ("max_tokens", "max_completion_tokens")


def _read_settings(option: str, text: str) -> str | None:
    try:
        settings = json.loads(text)
    except (ValueError, RecursionError):
        settings = None
    if not isinstance(settings, dict):
        raise UsageError(
            f"{option} is {text!r}.",
            """Give a JSON object, e.g. '{"top_p": 0.9, "seed": null}'.""",
        )
    if pinned := [name for name in _PINNED if name in settings]:
        raise UsageError(
            f"{option} has {pinned[0]!r}.", f"These are the bench's: {', '.join(_PINNED)}."
        )
    for name in _TOKENS:
        value = settings.get(name)
        if value is not None and (type(value) is not int or value < 1):
            raise UsageError(f"{option} has {name} = {value!r}.", "It is a whole number from 1 on.")
    return json.dumps(settings, sort_keys=True) if settings else None


def _limit(name: str, typed: str, help_: str, read: Callable[[str, str], Any], **more: Any) -> Any:
    """Declare a field that limits what a job may ask for."""
    return option(
        typed,
        help_,
        read,
        key=f"llm_{name}",
        omitted=None,
        record=f"llm.budget.{name}",
        access=ACCESS,
        of_controls=True,
        **more,
    )


@dataclass(frozen=True, kw_only=True)
class LlmOptions:
    """Options of language models: settings and limits; all None for a method without one.

    Attributes
    ----------
    llm_settings
        A JSON object, with sorted names.
    llm_price
        Of a million prompt tokens, and of a million completion tokens.
    """

    llm_model: str | None = option(
        "--llm-model NAME",
        "The language model, as its endpoint calls it.",
        key="llm_model",
        omitted=None,
        record="llm.model",
        access=ACCESS,
    )
    llm_settings: str | None = option(
        "--llm-settings JSON",
        "Fields of every request to it, as JSON.",
        _read_settings,
        key="llm_settings",
        omitted=None,
        record="llm.settings",
        access=ACCESS,
        of_controls=True,
    )
    prompt: str | None = option(
        "--prompt NAME",
        f"What a prompt may show: {', '.join(PROMPTS)}.  Default: {PROMPTS[0]}.",
        _read_prompt,
        key="prompt",
        omitted=None,
        record="llm.prompt",
        access=ACCESS,
        fallback=PROMPTS[0],
    )
    llm_calls: int | None = _limit(
        "calls",
        "--llm-calls N",
        f"Completions a job may ask for.  Default of a run: {USUAL_CALLS}.",
        _read_count,
        fallback=USUAL_CALLS,
    )
    llm_prompt_tokens: int | None = _limit(
        "prompt_tokens", "--llm-prompt-tokens N", "Tokens of all prompts of a job.", _read_count
    )
    llm_completion_tokens: int | None = _limit(
        "completion_tokens",
        "--llm-completion-tokens N",
        "Tokens of all its completions.",
        _read_count,
    )
    llm_seconds: float | None = _limit(
        "seconds",
        "--llm-seconds SECONDS",
        "Time that the model may take for a job.",
        read_seconds,
        to_key=short,
    )
    llm_money: float | None = _limit(
        "money",
        "--llm-money AMOUNT",
        "What a job may cost, by --llm-price.",
        read_amount,
        to_key=short,
    )
    llm_no_system: bool | None = option(
        "--llm-no-system",
        "Put the text of system messages into the user's, for models without any.",
        key="llm_no_system",
        omitted=None,
        record="llm.no_system",
        access=ACCESS,
    )
    llm_price: tuple[float, float] | None = option(
        "--llm-price IN/OUT",
        "Price of a million tokens of prompts, and of completions.",
        _read_price,
        key="llm_price",
        to_key=lambda price: "/".join(map(short, price)),
        omitted=None,
        record="llm.price",
        access=ACCESS,
        of_controls=True,
        from_record=tuple,
    )

    @property
    def control_budget(self) -> dict[str, Any]:
        """The limits of what a job may ask for, by name, for a control to keep them.

        With them is ``longest``, the tokens that a completion may take, where the user has set it.
        """
        settings = {} if self.llm_settings is None else json.loads(self.llm_settings)
        limits = {
            "calls": self.llm_calls,
            "prompt_tokens": self.llm_prompt_tokens,
            "completion_tokens": self.llm_completion_tokens,
            "seconds": self.llm_seconds,
            "money": self.llm_money,
            "price": None if self.llm_price is None else list(self.llm_price),
            "longest": next((settings[name] for name in _TOKENS[::-1] if settings.get(name)), None),
        }
        return {name: value for name, value in limits.items() if value is not None}

    @property
    def talk(self) -> LlmSettings | None:
        """The settings for all questions of a job; None where no model is named."""
        if self.llm_model is None:
            return None
        from mdbench.extensions.language_models.accounts import (  # noqa: PLC0415 - few jobs ask
            LlmLimits,
            LlmSettings,
        )

        allowance = LlmLimits(
            self.llm_calls,
            self.llm_prompt_tokens,
            self.llm_completion_tokens,
            self.llm_seconds,
            self.llm_money,
            self.llm_price,
        )
        settings = {} if self.llm_settings is None else json.loads(self.llm_settings)
        return LlmSettings(self.llm_model, settings, allowance, bool(self.llm_no_system))


@dataclass(frozen=True, kw_only=True)
class LlmEndpointOptions:
    """Options of the endpoint of a language model: nothing of them is in a key or a record."""

    llm_url: str | None = option(
        "--llm-url URL",
        "Its OpenAI-compatible address, e.g. http://localhost:8000/v1.",
        envvar="MDBENCH_LLM_URL",
        of_run=True,
    )
    llm_key_env: str | None = option(
        "--llm-key-env NAME", "The environment's variable that holds its key.", of_run=True
    )
    llm_key_file: Path | None = option(
        "--llm-key-file FILE", "Or the file that holds it.", read_path, of_run=True
    )
    llm_replay: Path | None = option(
        "--llm-replay PATH",
        "Answer from logs of an earlier run: a file, or its results; no network.",
        read_path,
        of_run=True,
    )
    llm_patience: float | None = option(
        "--llm-patience SECONDS",
        "How long a failing endpoint is waited for before the run gives it up.  Default: 600.",
        read_patience,
        of_run=True,
    )
    llm_money_total: float | None = option(
        "--llm-money-total AMOUNT",
        "What all jobs of a run may cost together, by --llm-price.",
        read_amount,
        of_run=True,
    )


@dataclass(frozen=True, kw_only=True)
class LlmRunOptions(LlmEndpointOptions):
    """Options of the language model of a run."""

    llm_concurrency: int | None = option(
        "--llm-concurrency N",
        "Jobs that ask a language model at a time; of all jobs --n-jobs compute at a time.  "
        "Default: as --n-jobs.",
        read_whole,
        of_run=True,
    )


@dataclass(frozen=True, kw_only=True)
class AllOptions(LlmOptions, LlmRunOptions):
    """What a run has of language models."""


def asked_of(options: object) -> AllOptions:
    """Return a job, or the options of a run, as what it has of language models."""
    return cast("AllOptions", options)


@dataclass(frozen=True, kw_only=True)
class ProbeOptions(LlmOptions, LlmEndpointOptions):
    """Options of ``mdbench llm probe``, one attribute each."""

    data_type: str = field(metadata=metadata("--data-type NAME", "Kind of problem, e.g. srsd."))
    datasets: tuple[str, ...] = option(
        "--dataset NAME...",
        "Exact name or glob; several allowed.  Default: all.",
        names,
        default=(),
    )
    samples: int = option(
        "--samples N", "Completions a question.  Default: 5.", read_whole, default=5
    )
    seed: tuple[int, ...] = option(
        "--seed N", "Seed of rows and units.  Default: 0.", read_seeds, default=(0,)
    )
    result_dir: Path = option(
        "--result-dir DIR",
        "Where results go.  Default: results.",
        read_path,
        default=Path("results"),
    )


@dataclass(frozen=True)
class JudgeOptions(LlmOptions, LlmEndpointOptions):
    """Options of ``mdbench llm judge``, one attribute each."""

    records: tuple[str, ...] = field(
        metadata=metadata("--records PATH...", "Folders of results, or bundles.", names)
    )
    answers: int = option(
        "--answers N", "Answers that are judged.  Default: 200.", read_whole, default=200
    )
    seed: tuple[int, ...] = option(
        "--seed N", "Seed of the draw of answers.  Default: 0.", read_seeds, default=(0,)
    )
    result_dir: Path = option(
        "--result-dir DIR",
        "Where the judgements go.  Default: results.",
        read_path,
        default=Path("results"),
    )
