"""The exchanges of a job with a language model: counted, answered and written down."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Protocol

from mdbench.extensions.language_models.accounts import BudgetAccount, Charge, TokenUse
from mdbench.extensions.language_models.answers import why_no_answer
from mdbench.extensions.language_models.chat_requests import ChatRequest, RefusedError, request_hash
from mdbench.extensions.language_models.exchanges import (
    BY_THE_JOB,
    NOTHING,
    Exchange,
    RequestCounter,
    dumped,
)
from mdbench.extensions.language_models.use import ModelUse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mdbench.extensions.language_models.accounts import LlmSettings
    from mdbench.extensions.language_models.exchanges import ExchangeLog, Usage
    from mdbench.runs.services import Turn

_AT_A_TIME = 8
"""Completions of one job that are under way at once."""
_END_SECONDS = 2.0
"""Seconds for which the end of requests that are under way is waited for."""


class Responder(Protocol):
    """Source of answers for one job: an endpoint, or a log, which needs no endpoint."""

    @property
    def missed(self) -> str:
        """The request that a replay does not have; empty for none."""

    @property
    def waited_s(self) -> float:
        """Seconds of the job that faults of an endpoint have taken."""

    @property
    def resumed(self) -> int:
        """Completions of an earlier attempt at the job."""

    @property
    def unanswered(self) -> Sequence[Exchange]:
        """What an earlier attempt at the job has paid and has no answer to."""

    def complete(self, begun: Exchange, charge: Charge) -> Exchange:
        """Return a request with its answer, or with the reason why there is none.

        Parameters
        ----------
        charge
            Takes down what each attempt has used, before anything else is decided.
        """

    def hang_up(self) -> None:
        """Cancel what is under way."""

    def close(self) -> None:
        """Release all that is held."""


class Conversation:
    """Answers the questions of one job; may be used from several threads.

    Parameters
    ----------
    responder
        Who answers; closed with this.
    log
        Where each exchange is written; closed with this.
    turn
        The job's turn on the cores, which it leaves to others while it waits; None for its own.
    """

    def __init__(
        self,
        responder: Responder,
        talk: LlmSettings,
        log: ExchangeLog,
        turn: Turn | None = None,
    ) -> None:
        self._responder = responder
        self._turn = turn
        self._talk = talk
        self._log = log
        self._account = BudgetAccount(talk.allowance)
        self._occurrences = RequestCounter()
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(_AT_A_TIME, thread_name_prefix="mdbench-llm")
        self._models: set[str] = set()
        self._fingerprints: set[str] = set()
        self._no_answer: Counter[str] = Counter()
        self._quiet = threading.Condition()
        self._under_way = 0
        self._failed = 0
        self._reasoned: int | None = None
        self._refused = self._estimated = self._over = False
        self._trouble = self._end = self._too_small = ""
        for exchange in responder.unanswered:
            usage = exchange.usage
            self._account.settle(
                TokenUse(), TokenUse(0, usage.prompt_tokens, usage.completion_tokens)
            )
            self._estimated |= usage.estimated
            log.write(exchange)

    @property
    def waited_s(self) -> float:
        """Seconds of the job in which it waited for a failing endpoint, or for its turn."""
        return self._responder.waited_s + (0.0 if self._turn is None else self._turn.waited_s)

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
        question = ChatRequest.read(body, self._talk)
        with nullcontext() if self._turn is None else self._turn.lent():
            answer = self._answered(question)
        return dumped({**answer, "waited_s": self.waited_s})

    def _answered(self, question: ChatRequest) -> dict[str, Any]:
        if self._end:
            raise self._ended()
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
            if self._end:
                raise self._ended()
            raise RefusedError(502, "no_completion", exchanges[0].error)
        return _as_answer(self._talk.model, answered)

    def _ended(self) -> RefusedError:
        """Return the refusal for a method whose model answers nobody any more: it ends here."""
        return RefusedError(429, "budget_spent", f"nothing more can be asked: {self._end}")

    def _begin(self, question: ChatRequest, index: int) -> tuple[Exchange, Charge] | None:
        most = question.prompt_tokens, question.completion_tokens
        if not self._account.reserve(TokenUse(1, *most)):
            self._refused |= not self._over
            if not self._account.allows(question.prompt_tokens, question.completion_tokens):
                self._too_small = self._too_small or _too_small(question)
            return None
        request = question.single(index)
        hash_ = request_hash(request)
        number, occurrence = self._occurrences.next(hash_)
        begun = Exchange(
            number=number,
            hash=hash_,
            occurrence=occurrence,
            request=request,
            usage=NOTHING,
            latency_s=0.0,
            attempts=0,
        )
        with self._quiet:
            self._under_way += 1
        return begun, Charge(self._account, most)

    def _complete(self, begun: Exchange, charge: Charge) -> Exchange:
        """Return a request with its answer; log it, and charge the account."""
        try:
            return self._completed(begun, charge)
        finally:
            with self._quiet:
                self._under_way -= 1
                self._quiet.notify_all()

    def _completed(self, begun: Exchange, charge: Charge) -> Exchange:
        exchange = None
        try:
            exchange = self._responder.complete(begun, charge)
            self._log.write(exchange)
        except OSError as error:  # what is not written down is not given to a method
            reason = f"the log of exchanges cannot be written: {error.strerror}"
            usage = charge.usage if exchange is None else exchange.usage
            exchange = begun.model_copy(update={"error": reason, "usage": usage})
        finally:
            charge.end(exchange)
        self._note(exchange)
        with self._lock:
            self._refused |= charge.refused and exchange.error not in BY_THE_JOB
        return exchange

    def _note(self, exchange: Exchange) -> None:
        with self._lock:
            self._estimated |= exchange.usage.estimated
            if exchange.ended:
                self._end = self._end or exchange.error
                return
            if exchange.reply is None:
                self._failed += 1
                if exchange.error not in BY_THE_JOB:
                    self._trouble = self._trouble or exchange.error
            elif reason := why_no_answer(exchange.reply):
                self._no_answer[reason] += 1
            if (reasoned := exchange.usage.reasoning_tokens) is not None:
                self._reasoned = (self._reasoned or 0) + reasoned
            if exchange.model is not None:
                self._models.add(exchange.model)
            if exchange.fingerprint is not None:
                self._fingerprints.add(exchange.fingerprint)

    def asked(self) -> ModelUse:
        """Return what was asked for up to now."""
        allowance = self._talk.allowance
        with self._lock:
            spent = self._account.spent
            return ModelUse(
                calls=spent.calls,
                failed=self._failed,
                no_answer=dict(sorted(self._no_answer.items())),
                refused=self._refused,
                prompt_tokens=spent.prompt_tokens,
                completion_tokens=spent.completion_tokens,
                reasoning_tokens=self._reasoned,
                estimated=self._estimated,
                money=None
                if allowance.price is None
                else allowance.cost(spent.prompt_tokens, spent.completion_tokens),
                models=tuple(sorted(self._models)),
                fingerprints=tuple(sorted(self._fingerprints)),
                seconds=spent.seconds,
                waited_s=self.waited_s,
                resumed=self._responder.resumed,
                ended=self._end,
                trouble=self._trouble if spent.calls == self._failed else "",
                missed=self._responder.missed,
                too_small="" if spent.calls else self._too_small,
            )

    def end(self) -> None:
        """Answer nothing more: what is under way is given up, charged and written down.

        A connection that is being made cannot be given up at once; nothing was sent over it.
        """
        self._over = True
        self._responder.hang_up()
        self._account.close()
        if self._turn is not None:
            self._turn.hang_up()
        with self._quiet:
            self._quiet.wait_for(lambda: not self._under_way, _END_SECONDS)

    def close(self) -> None:
        """Release all that is held; nobody asks any more."""
        self.end()
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._responder.close()
        self._log.close()


def _too_small(question: ChatRequest) -> str:
    return (
        f"the budget has less than one completion may take: {question.completion_tokens:,} tokens, "
        f"after a prompt of {question.prompt_tokens:,} at most; give it more (--llm-money, "
        "--llm-prompt-tokens, --llm-completion-tokens), or have shorter ones: "
        """--llm-settings '{"max_tokens": 1024}'"""
    )


def _as_answer(model: str, answered: list[Exchange]) -> dict[str, Any]:
    """Write completions as a chat completion, each choice with its own usage next to the sum."""
    choices = [
        {
            "index": index,
            "number": exchange.number,
            "message": {"role": "assistant", "content": exchange.reply.text},
            "finish_reason": exchange.reply.finish_reason,
            "usage": _total([exchange.usage]),
        }
        for index, exchange in enumerate(answered)
        if exchange.reply is not None
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
