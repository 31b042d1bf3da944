"""What reports of questions to a language model have in common."""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict

PROBE_FOLDER: Final = "llm-probes"
JUDGE_FOLDER: Final = "llm-judgements"
"""The folders below the results in which the reports of probes and of judges lie."""


class QuestionReport(BaseModel):
    """Questions to a language model: who was asked, and what it cost.

    Attributes
    ----------
    model, answered_by
        The model that was named, and those that the endpoint says have answered.
    settings
        What was sent with each question.
    calls, failed
        How many questions were answered, and how many requests failed.
    money
        In the currency of the price; None where no price was given.
    """

    model_config = ConfigDict(extra="forbid")

    schema_number: Literal[1] = 1
    mdbench: str
    model: str
    answered_by: tuple[str, ...] = ()
    seed: int
    settings: dict[str, Any] = {}
    calls: int
    failed: int
    prompt_tokens: int
    completion_tokens: int
    money: float | None = None
