"""What one job asks of a language model, from its first question to its end."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from mdbench.language_models.budget import Account, Spent
from mdbench.language_models.exchanges import Exchange, Occurrences, Usage, dumped
from mdbench.language_models.question import Question, RefusedError, request_hash

if TYPE_CHECKING:
    from collections.abc import Callable

    from mdbench.language_models.budget import Talk
    from mdbench.language_models.exchanges import ExchangeLog

__all__ = ["Answerer", "Conversation", "ModelUse"]

_AT_A_TIME = 8
"""Completions of one job that are under way at once."""
_END_SECONDS = 2.0
"""How long the end of what is under way is waited for."""
_NOTHING = Usage(prompt_tokens=0, completion_tokens=0)


class Answerer(Protocol):
    """Who answers the requests of one job: an endpoint, or a recording, which asks nobody."""

    @property
    def trouble(self) -> str:
        """Why nothing is answered, where that is no doing of the method's."""

    @property
    def missed(self) -> str:
        """What a replay does not have; empty for nothing."""

    def complete(self, begun: Exchange, left: Callable[[], float | None]) -> Exchange:
        """Have a request answered, or say why it could not be."""

    def hang_up(self) -> None:
        """Give up what is under way."""

    def close(self) -> None:
        """Let go of all."""


@dataclass(frozen=True)
class ModelUse:
    """What a job has asked for, and used.

    Attributes
    ----------
    calls
        Completions that were asked for, with those that could not be had.
    failed
        Those that could not be had.
    refused
        Whether more was asked for than the budget had.
    estimated
        Whether the endpoint did not count some of the tokens.
    money
        By the price that was said; None where none was.
    models, fingerprints
        As the endpoint says them, each once, in order.
    seconds
        That the endpoint took.
    trouble
        Why none was ever answered, where that is no doing of the method's.
    missed
        What a replay did not have.
    """

    calls: int = 0
    failed: int = 0
    refused: bool = False
    prompt_tokens: int = 0
    completion_tokens: int = 0
    estimated: bool = False
    money: float | None = None
    models: tuple[str, ...] = ()
    fingerprints: tuple[str, ...] = ()
    seconds: float = 0.0
    trouble: str = ""
    missed: str = ""


class Conversation:
    """Answers the questions of one job; may be used from several threads.

    Parameters
    ----------
    answerer
        Who answers; closed with this.
    log
        Where each exchange is written; closed with this.
    """

    def __init__(self, answerer: Answerer, talk: Talk, log: ExchangeLog) -> None:
        self._answerer = answerer
        self._talk = talk
        self._log = log
        self._account = Account(talk.allowance)
        self._occurrences = Occurrences()
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(_AT_A_TIME, thread_name_prefix="mdbench-llm")
        self._models: set[str] = set()
        self._fingerprints: set[str] = set()
        self._quiet = threading.Condition()
        self._under_way = 0
        self._failed = 0
        self._refused = self._estimated = False

    @property
    def calls(self) -> int:
        """Completions that are over."""
        return self._account.spent.calls

    def answer(self, body: bytes) -> bytes:
        """Answer a request with as many of the completions as the budget has and could be had.

        Raises
        ------
        RefusedError
            If there is none; says why.
        """
        question = Question.read(body, self._talk.model, self._talk.settings)
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
            raise RefusedError(502, "no_completion", exchanges[0].error)
        return dumped(_as_answer(self._talk.model, answered))

    def _begin(self, question: Question, index: int) -> tuple[Exchange, Spent] | None:
        wanted = self._account.reserve(question.prompt_tokens, question.completion_tokens)
        if wanted is None:
            self._refused = True
            return None
        request = question.single(index)
        hash_ = request_hash(request)
        number, occurrence = self._occurrences.next(hash_)
        begun = Exchange(
            number=number,
            hash=hash_,
            occurrence=occurrence,
            request=request,
            usage=_NOTHING,
            latency_s=0.0,
            attempts=0,
        )
        return begun, wanted

    def _complete(self, begun: Exchange, wanted: Spent) -> Exchange:
        """Have a request answered, write it down, and put down what it used."""
        with self._quiet:
            self._under_way += 1
        try:
            return self._completed(begun, wanted)
        finally:
            with self._quiet:
                self._under_way -= 1
                self._quiet.notify_all()

    def _completed(self, begun: Exchange, wanted: Spent) -> Exchange:
        used = Spent(calls=1)
        try:
            found = self._answerer.complete(begun, self._account.seconds_left)
            usage = found.usage
            used = Spent(1, usage.prompt_tokens, usage.completion_tokens, found.latency_s)
            self._log.write(found)
        except OSError as error:  # what is not written down is not given to a method
            reason = f"the log of exchanges cannot be written: {error.strerror}"
            found = begun.model_copy(update={"error": reason})
        finally:
            self._account.settle(wanted, used)
        self._note(found)
        return found

    def _note(self, found: Exchange) -> None:
        with self._lock:
            self._failed += found.reply is None
            self._estimated |= found.usage.estimated
            if found.model is not None:
                self._models.add(found.model)
            if found.fingerprint is not None:
                self._fingerprints.add(found.fingerprint)

    def asked(self) -> ModelUse:
        """Give what was asked for up to now."""
        allowance = self._talk.allowance
        with self._lock:
            spent = self._account.spent
            return ModelUse(
                calls=spent.calls,
                failed=self._failed,
                refused=self._refused,
                prompt_tokens=spent.prompt_tokens,
                completion_tokens=spent.completion_tokens,
                estimated=self._estimated,
                money=None
                if allowance.price is None
                else allowance.cost(spent.prompt_tokens, spent.completion_tokens),
                models=tuple(sorted(self._models)),
                fingerprints=tuple(sorted(self._fingerprints)),
                seconds=spent.seconds,
                trouble=self._answerer.trouble if spent.calls == self._failed else "",
                missed=self._answerer.missed,
            )

    def hang_up(self) -> None:
        """Answer nothing more: what is under way is given up, and written down as that."""
        self._account.close()
        self._answerer.hang_up()

    def close(self) -> None:
        """Let go of all; nobody asks any more.

        What cannot be given up at once, such as a connection that is being made, goes unrecorded.
        """
        self.hang_up()
        with self._quiet:
            self._quiet.wait_for(lambda: not self._under_way, _END_SECONDS)
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._answerer.close()
        self._log.close()


def _as_answer(model: str, answered: list[Exchange]) -> dict[str, Any]:
    """Write completions as a chat completion, each choice with its own usage beside the sum."""
    choices = [
        {
            "index": index,
            "message": {"role": "assistant", "content": each.reply.text},
            "finish_reason": each.reply.finish_reason,
            "usage": _total([each.usage]),
        }
        for index, each in enumerate(answered)
        if each.reply is not None
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
