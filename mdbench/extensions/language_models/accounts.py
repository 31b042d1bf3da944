"""What a job may use of a language model, and the accounts that keep it within that.

Whatever an endpoint reports as used is charged as soon as it is known, whether or not the answer
can be used.  What was sent, and has no report, is charged as the most that it may have taken.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from mdbench.extensions.language_models.exchanges import NOTHING, Usage

if TYPE_CHECKING:
    from mdbench.extensions.language_models.exchanges import Exchange

_MILLION = 1e6


@dataclass(frozen=True)
class LlmLimits:
    """Limits of what a job may use; None where there is no limit.

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
        """Return what tokens cost; 0 where no price was given."""
        prompt, completion = self.price or (0.0, 0.0)
        return (prompt_tokens * prompt + completion_tokens * completion) / _MILLION


@dataclass(frozen=True)
class LlmSettings:
    """The settings that are the same for all questions of a job.

    Attributes
    ----------
    model
        The model that is asked.
    settings
        Fields that are put into each request.
    allowance
        What the job may use.
    no_system
        Whether the text of system messages is put into the user's.
    """

    model: str
    settings: dict[str, Any] = field(default_factory=dict)
    allowance: LlmLimits = field(default_factory=LlmLimits)
    no_system: bool = False

    @property
    def completion_tokens(self) -> int:
        """The most tokens that a completion may take, whatever a method asks for."""
        set_ = self.settings.get("max_completion_tokens") or self.settings.get("max_tokens")
        return int(set_ or COMPLETION_TOKENS)


COMPLETION_TOKENS: Final = 16_384
"""Tokens of a completion: what is asked for where a method sets no number, and the most where the
user sets none.  A model that thinks first takes thousands before its answer begins."""


@dataclass(frozen=True)
class TokenUse:
    """Tokens that were used, or are set aside for a call that has no answer yet."""

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
    """The account that keeps a job within its limits, also with several requests at a time.

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

    def allows(self, prompt_tokens: int, completion_tokens: int) -> bool:
        """Whether a completion fits into the limits, if nothing was used before."""
        return self._fits(TokenUse(1, prompt_tokens, completion_tokens))

    def reserve(self, wanted: TokenUse) -> bool:
        """Set aside what a call may take; return whether so much is left.

        Where it would be left if calls that are under way took less than was set aside for them,
        their end is waited for.
        """
        with self._changed:
            while not self._closed:
                if self._fits(self.spent + self._pending + wanted):
                    self._pending += wanted
                    return True
                # Calls are never given back: nothing to wait for where these have run out.
                fewest = TokenUse(self._pending.calls)
                none_under_way = not self._pending.prompt_tokens
                if none_under_way or not self._fits(self.spent + fewest + wanted):
                    return False
                self._changed.wait()
            return False

    def settle(self, reserved: TokenUse, used: TokenUse) -> None:
        """Charge what a call has used, in place of what was set aside for it."""
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


class Purse:
    """The money of a run, which all its jobs share; may be used from several threads.

    Parameters
    ----------
    total
        What may be spent.
    limits
        Has the price.

    Attributes
    ----------
    total
        What may be spent.
    spent
        What the calls have cost that are over.
    """

    def __init__(self, total: float, limits: LlmLimits) -> None:
        self.total = total
        self._cost = limits.cost
        self._changed = threading.Condition()
        self._pending: list[float] = []
        self.spent = 0.0

    def allows(self, most: tuple[int, int]) -> bool:
        """Whether a call of so many tokens fits, if nothing was spent before."""
        return self._cost(*most) <= self.total

    def reserve(self, most: tuple[int, int]) -> bool:
        """Set aside the most that a call can cost, by its tokens; False where that is not left.

        Where it would be left if calls that are under way cost less, their end is waited for.
        """
        cost = self._cost(*most)
        with self._changed:
            while self.spent + sum(self._pending) + cost > self.total:
                if not self._pending or self.spent + cost > self.total:
                    return False
                self._changed.wait()
            self._pending.append(cost)
            return True

    def settle(self, most: tuple[int, int], used: tuple[int, int]) -> None:
        """Charge what a call has used, in place of what was set aside for it."""
        with self._changed:
            self._pending.remove(self._cost(*most))
            self.spent += self._cost(*used)
            self._changed.notify_all()


class Charge:
    """What one completion has used, over all attempts at it, and what the next one may.

    Parameters
    ----------
    account
        Of the job; what one attempt may take was set aside there.
    most
        The most tokens that the prompt and the completion of an attempt can take.

    Attributes
    ----------
    usage
        What the attempts up to now have used.
    refused
        Whether another attempt was wanted and the budget had nothing left for it.
    """

    def __init__(self, account: BudgetAccount, most: tuple[int, int]) -> None:
        self._account = account
        self._reserved = TokenUse(1, *most)
        self.most = most
        self.usage = NOTHING
        self.refused = False

    @property
    def unknown(self) -> Usage:
        """What an attempt is charged whose use nobody reports: the most that it may have taken."""
        prompt, completion = self.most
        return Usage(prompt_tokens=prompt, completion_tokens=completion, estimated=True)

    def seconds_left(self) -> float | None:
        """Return the seconds that the endpoint may still take; None for no limit."""
        return self._account.seconds_left()

    def renew(self) -> bool:
        """Return whether another attempt may be made: what it may take is then set aside."""
        if self._reserved.prompt_tokens:
            return True
        wanted = TokenUse(0, *self.most)
        self.refused = not self._account.reserve(wanted)
        if not self.refused:
            self._reserved += wanted
        return not self.refused

    def add(self, usage: Usage) -> None:
        """Charge what an attempt has used, in place of what was set aside for it."""
        if usage == NOTHING:
            return
        self.usage = self.usage.plus(usage)
        call = TokenUse(self._reserved.calls)
        used = TokenUse(0, usage.prompt_tokens, usage.completion_tokens)
        self._account.settle(self._reserved - call, used)
        self._reserved = call

    def end(self, exchange: Exchange | None) -> None:
        """Charge the call, and what an earlier attempt at the job has paid for its answer.

        Parameters
        ----------
        exchange
            The result; None where there is none to be written down.
        """
        used = TokenUse(1)
        if exchange is not None:
            prompt = exchange.usage.prompt_tokens - self.usage.prompt_tokens
            completion = exchange.usage.completion_tokens - self.usage.completion_tokens
            used = TokenUse(0 if exchange.ended else 1, prompt, completion, exchange.latency_s)
        self._account.settle(self._reserved, used)
