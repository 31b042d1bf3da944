"""The service of language models: what a run has to know of them before one is asked.

This module is imported by every run, for the options; the others when a model is asked.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from mdbench.errors import UsageError, counted
from mdbench.extensions.language_models.options import (
    LlmOptions,
    LlmRunOptions,
    asked_of,
)
from mdbench.installation import page
from mdbench.runs.services import Service

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from mdbench.datatypes.base import Background
    from mdbench.extensions.language_models.connection import LlmConnection
    from mdbench.records import Record
    from mdbench.runs.spec import JobSpec
    from mdbench.runs.study import RunOptions


class LanguageModels(Service):
    """Language models behind endpoints of the OpenAI form, or logs of them."""

    title = "Language models"
    job_options = LlmOptions
    run_options = LlmRunOptions

    def check(self, options: RunOptions, methods: Sequence[str]) -> None:
        """Refuse methods that ask without a model, and limits of money without a price."""
        asked = asked_of(options)
        if methods and asked.llm_model is None:
            raise UsageError(
                f"{methods[0]} asks a language model, and none was named.",
                f"Give --llm-model NAME and --llm-url URL ({page('language-models')}).",
            )
        if asked.llm_money is not None and asked.llm_price is None:
            raise UsageError(
                "--llm-money was given without --llm-price.",
                "Give the price of tokens, e.g. --llm-price 0.15/0.60.",
            )
        elsewhere = options.backend != "local" or options.scheduler is not None
        if asked.llm_concurrency is not None and elsewhere:
            raise UsageError(
                "--llm-concurrency is of jobs of this machine: elsewhere a job has cores of its "
                "own.",
                f"Give the number as --n-jobs {asked.llm_concurrency}.",
            )

    def connect(self, options: RunOptions) -> LlmConnection | None:
        """Return the connection to the endpoint that was named, or to logs."""
        asked = asked_of(options)
        if not (asked.llm_url or asked.llm_replay or asked.llm_key_env or asked.llm_key_file):
            return None
        from mdbench.extensions.language_models.connection import (  # noqa: PLC0415 - brings HTTP
            LlmConnection,
        )

        return LlmConnection.from_options(asked, asked.llm_price)

    def replay(self, logs: Mapping[JobSpec, Path]) -> LlmConnection:
        """Return a connection that answers from logs of exchanges."""
        from mdbench.extensions.language_models.connection import (  # noqa: PLC0415 - brings HTTP
            LlmConnection,
        )

        return LlmConnection(replays=logs)

    def unreachable(self, job: JobSpec) -> UsageError:
        """Return the error of a job whose model has no endpoint."""
        return UsageError(
            f"{job.algorithm} asks {asked_of(job).llm_model}, and no endpoint was named.",
            "Give its address, e.g. --llm-url http://localhost:8000/v1, or --llm-replay PATH to "
            f"answer from logs ({page('language-models')}).",
        )

    def key_parts(self, job: JobSpec, background: Background) -> dict[str, str]:
        """Return the hash of what a prompt may show."""
        from mdbench.extensions.language_models.views import described  # noqa: PLC0415 - NumPy

        return {"described": described(asked_of(job).prompt, background)}

    def control_settings(self, job: JobSpec) -> dict[str, Any]:
        """Return the limits that the control of a method keeps."""
        return {"control_budget": asked_of(job).control_budget}

    def at_a_time(self, options: RunOptions) -> int | None:
        """Return the number of jobs that ask, where it was given."""
        return asked_of(options).llm_concurrency

    def ended(self, record: Record | dict[str, Any]) -> bool:
        """Whether the endpoint ended a job, which then goes on from its log."""
        if isinstance(record, dict):
            return bool((record["llm"] or {}).get("ended"))
        return record.llm is not None and bool(record.llm.ended)

    def forecast(self, jobs: Sequence[JobSpec]) -> str:
        """Write what jobs may ask of a language model at most; empty for none that asks."""
        asking = [asked_of(job) for job in jobs if asked_of(job).llm_model]
        if not asking:
            return ""
        completions = [_most_completed(job) for job in asking]
        money = [job.llm_money for job in asking]
        parts = [
            _total([job.llm_calls for job in asking], "completions"),
            _total([job.llm_prompt_tokens for job in asking], "tokens of prompts"),
            _total(completions, "tokens of completions"),
        ]
        prices = [job.llm_price for job in asking]
        if None in money and None not in prices and None not in completions:
            cost = sum(
                price[1] * (most or 0)
                for price, most in zip(prices, completions, strict=True)
                if price
            )
            parts.append(f"{cost / 1e6:,.4g} of money for completions")
        else:
            parts.append(_total(money, "of money"))
        of = counted(len(asking), "job")
        return f"Language model: {of}, at most {', '.join(parts)}."

    def summary(self, records: Iterable[Record]) -> str:
        """Write what the jobs of a run have used; empty where none has asked."""
        uses = [record.llm for record in records if record.llm is not None]
        used = [use for use in uses if use.calls or use.prompt_tokens]
        if not used:
            return ""
        paid = [use.money for use in used if use.money is not None]
        ended = sum(bool(use.ended) for use in used)
        text = (
            f"Language model: {sum(use.calls or 0 for use in used):,} completions, "
            f"{sum(use.prompt_tokens or 0 for use in used):,} tokens of prompts, "
            f"{sum(use.completion_tokens or 0 for use in used):,} of completions"
        )
        text += f", {sum(paid):.4g} of money" if paid else ""
        if any(use.estimated for use in used):
            text += ", some of it estimated (`llm.estimated` in the records)"
        if no_answer := sum((Counter(use.no_answer or {}) for use in used), Counter[str]()):
            from mdbench.extensions.language_models.answers import (  # noqa: PLC0415 - few ask
                no_answers_text,
            )

            text += f"; without an answer: {no_answers_text(no_answer)}"
        if ended:
            text += f"; the endpoint ended {counted(ended, 'job')}, and the same command goes on"
        return f"{text}."


def _most_completed(job: LlmOptions) -> int | None:
    """Return the most tokens that a job's completions may take; None for no limit."""
    if job.llm_calls is None or job.talk is None:
        return job.llm_completion_tokens
    most = job.llm_calls * job.talk.completion_tokens
    return min(most, job.llm_completion_tokens or most)


def _total(most: Sequence[float | None], of: str) -> str:
    known = [number for number in most if number is not None]
    return f"{sum(known):,} {of}" if len(known) == len(most) else f"any number of {of}"
