"""What a job may ask of a language model, and the account that is kept of it."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

PROMPTS = ("anon", "named", "prior", "wrong-prior")
"""What a prompt may tell of a problem: see `mdbench.language_models.views`."""

_MILLION = 1e6


@dataclass(frozen=True)
class LlmLimits:
    """What a job may use; None where there is no limit.

    Attributes
    ----------
    calls
        Completions: an answer with four of them counts four, and one that could not be had one.
    prompt_tokens, completion_tokens
        As the endpoint counts them.
    seconds
        That the endpoint has taken for its answers, added up.
    money
        By `price`.
    price
        Of a million prompt tokens and a million completion tokens, in whatever currency.
    """

    calls: int | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    seconds: float | None = None
    money: float | None = None
    price: tuple[float, float] | None = None

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Return what tokens cost; 0 where nobody has said a price."""
        prompt, completion = self.price or (0.0, 0.0)
        return (prompt_tokens * prompt + completion_tokens * completion) / _MILLION


@dataclass(frozen=True)
class LlmSettings:
    """What is the same for all questions of a job.

    Attributes
    ----------
    model
        Whose completions are asked for.
    settings
        Fields that are put into each request.
    allowance
        What the job may use.
    """

    model: str
    settings: dict[str, Any] = field(default_factory=dict)
    allowance: LlmLimits = field(default_factory=LlmLimits)


@dataclass(frozen=True)
class TokenUse:
    """What was used, or is set aside for a call that has no answer yet."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0

    def __add__(self, other: TokenUse) -> TokenUse:
        return TokenUse(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.seconds + other.seconds,
        )

    def __sub__(self, other: TokenUse) -> TokenUse:
        return self + TokenUse(
            -other.calls, -other.prompt_tokens, -other.completion_tokens, -other.seconds
        )


class BudgetAccount:
    """Keeps a job within its allowance, whatever it asks for at a time.

    The most that a call can take is set aside before it is made, and what it has taken is put
    down afterwards: so no limit but that of the seconds is ever passed.

    Attributes
    ----------
    spent
        What was used by the calls that are over.
    """

    def __init__(self, allowance: LlmLimits) -> None:
        self._allowance = allowance
        self._pending = TokenUse()
        self._changed = threading.Condition()
        self._closed = False
        self.spent = TokenUse()

    def reserve(self, prompt_tokens: int, completion_tokens: int) -> TokenUse | None:
        """Set aside what one completion may take; None if that is not left.

        Where it would be left if calls that are under way took less than was set aside for them,
        their end is waited for.
        """
        wanted = TokenUse(1, prompt_tokens, completion_tokens)
        with self._changed:
            while not self._closed:
                if self._fits(self.spent + self._pending + wanted):
                    self._pending += wanted
                    return wanted
                # Calls are never given back: nothing to wait for where these have run out.
                fewest = TokenUse(self._pending.calls)
                if not self._pending.calls or not self._fits(self.spent + fewest + wanted):
                    return None
                self._changed.wait()
            return None

    def settle(self, reserved: TokenUse, used: TokenUse) -> None:
        """Put down what a call has used, in place of what was set aside for it."""
        with self._changed:
            self._pending -= reserved
            self.spent += used
            self._changed.notify_all()

    def seconds_left(self) -> float | None:
        """Return the seconds that the endpoint may still take; None for no limit."""
        most = self._allowance.seconds
        return None if most is None else max(0.0, most - self.spent.seconds)

    def close(self) -> None:
        """Set nothing aside any more; whoever waits for it is refused."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _fits(self, would: TokenUse) -> bool:
        most = self._allowance
        cost = most.cost(would.prompt_tokens, would.completion_tokens)
        return (
            (most.calls is None or would.calls <= most.calls)
            and (most.prompt_tokens is None or would.prompt_tokens <= most.prompt_tokens)
            and (
                most.completion_tokens is None or would.completion_tokens <= most.completion_tokens
            )
            and (most.money is None or cost <= most.money)
            and (most.seconds is None or would.seconds < most.seconds)
        )
