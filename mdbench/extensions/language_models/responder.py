"""Has the requests of one job answered by an endpoint, through its outages."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from mdbench.backends.turns import WaitingTime
from mdbench.extensions.language_models.answers import Fault, FaultKind, read_reply
from mdbench.extensions.language_models.availability import CircuitBreaker
from mdbench.extensions.language_models.endpoint import EndpointError
from mdbench.extensions.language_models.exchanges import (
    JOB_ENDED,
    NO_BUDGET,
    NO_SECONDS,
    NOTHING,
    dumped,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mdbench.extensions.language_models.accounts import Charge, Purse
    from mdbench.extensions.language_models.endpoint import Endpoint
    from mdbench.extensions.language_models.exchanges import Exchange, ExchangeReplay

SUSPECT: Final = 8
"""Attempts after which it is found out whether the endpoint refuses this request alone."""
_TEST = "Answer with the word yes."
_TEST_TOKENS = 16
_TOKEN_FIELDS = ("max_tokens", "max_completion_tokens")
_NO_MONEY = "the run's --llm-money-total is used up"


def _too_little(most: tuple[int, int]) -> str:
    return (
        f"the run's --llm-money-total has less than one completion may take, {most[1]:,} tokens "
        f"after a prompt of {most[0]:,} at most; give it more, or have shorter ones: "
        """--llm-settings '{"max_tokens": 1024}'"""
    )


class _SentRequest:
    """A request that is sent until it is answered.

    Attributes
    ----------
    answers
        How many requests had been answered when it was refused for the last time; None before.
    attempts
        How often it was sent.
    suspected
        Whether others would have been answered where it was not.
    """

    def __init__(self) -> None:
        self.answers: int | None = None
        self.attempts = 0
        self.suspected = False
        self._body: bytes | None = None
        self._wait: int | None = None

    def others_were_answered(self, breaker: CircuitBreaker) -> bool:
        """Whether others were answered since it was refused for the last time."""
        return self.answers is not None and breaker.answers != self.answers

    def body(self, begun: Exchange) -> bytes:
        """Return what is sent."""
        if self._body is None:
            self._body = dumped(begun.request)
        return self._body

    def wait_since(self, waiting: WaitingTime, start: float) -> None:
        """Count the time from the first fault on as none of the job's."""
        if self._wait is None:
            self._wait = waiting.begin(start)

    def stop_waiting(self, waiting: WaitingTime, until: float) -> None:
        """Count it up to the attempt that was answered."""
        if self._wait is not None:
            waiting.end(self._wait, until)
            self._wait = None


class LiveResponder:
    """Has the requests of one job answered by an endpoint, or by the job's own earlier log.

    A request is sent again as long as the endpoint's fault may pass.  A completion is lost where
    the endpoint refuses this request alone; where it answers nobody any more, the job has ended.

    Parameters
    ----------
    breaker
        Shared by all jobs of a run.
    earlier
        The answers that the job has had in an attempt that was not its last; None for none.
    purse
        The money of the run; None for no limit.

    Attributes
    ----------
    missed
        Always empty: of a replay.
    resumed
        Completions that came from the earlier log.
    """

    missed = ""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        breaker: CircuitBreaker | None = None,
        earlier: ExchangeReplay | None = None,
        purse: Purse | None = None,
    ) -> None:
        self._endpoint = endpoint
        self._breaker = breaker or CircuitBreaker()
        self._earlier = earlier
        self._purse = purse
        self._over = threading.Event()
        self._waiting = WaitingTime()
        self.resumed = 0

    @property
    def waited_s(self) -> float:
        """Seconds of the job that faults of the endpoint have taken."""
        return self._waiting.seconds()

    @property
    def unanswered(self) -> Sequence[Exchange]:
        """What an earlier attempt at the job has paid and has no answer to."""
        return () if self._earlier is None else self._earlier.unanswered

    def complete(self, begun: Exchange, charge: Charge) -> Exchange:
        """Return a request with its answer, or with the reason why there is none.

        Parameters
        ----------
        charge
            Takes down what each attempt has used, before anything else is decided.
        """
        if self._earlier is not None:
            exchange = self._earlier.get(begun.hash, begun.occurrence)
            if exchange is not None and exchange.reply is not None:
                self.resumed += 1
                return exchange.model_copy(update={"number": begun.number})
        sent = _SentRequest()
        exchange = self._live(begun, charge, sent)
        return exchange.model_copy(update={"usage": charge.usage, "attempts": sent.attempts})

    def _live(self, begun: Exchange, charge: Charge, sent: _SentRequest) -> Exchange:
        """Send a request until it is answered, lost, or nobody is answered any more."""
        fault = ""
        try:
            while True:
                with self._set_aside(charge) as refusal:
                    if refusal and not self._over.is_set():
                        why = "; ".join(filter(None, [fault, refusal["error"]]))
                        return begun.model_copy(update={**refusal, "error": why})
                    if refusal or not self._breaker.admit(self._over):
                        return self._ended(begun)
                    sent.attempts += 1
                    start, limit = time.monotonic(), charge.seconds_left()
                    attempt = self._try(begun, sent.body(begun), charge, limit)
                took = time.monotonic() - start
                if not isinstance(attempt, Fault):
                    self._breaker.succeed()
                    sent.stop_waiting(self._waiting, start)
                    return attempt.model_copy(update={"latency_s": took})
                if self._over.is_set():
                    return self._ended(begun)
                if limit is not None and took >= limit:
                    self._breaker.leave()
                    return begun.model_copy(update={"error": NO_SECONDS, "latency_s": took})
                sent.wait_since(self._waiting, start)
                fault = attempt.reason
                if self._is_lost(begun, charge, sent, attempt, start):
                    return begun.model_copy(update={"error": fault})
        except BaseException:
            self._breaker.leave()
            raise
        finally:
            sent.stop_waiting(self._waiting, time.monotonic())

    @contextmanager
    def _set_aside(self, charge: Charge) -> Iterator[dict[str, Any]]:
        """Set aside what an attempt may take, of the job's budget and of the run's money.

        Yields
        ------
        dict
            What a request becomes that cannot be sent for want of it; empty where it can.
        """
        before = charge.usage
        if not charge.renew():
            yield {"error": NO_BUDGET}
        elif self._purse is None:
            yield {}
        elif not self._purse.reserve(charge.most):
            poor = not self._purse.allows(charge.most)
            yield {"error": _too_little(charge.most) if poor else _NO_MONEY, "ended": True}
        else:
            try:
                yield {}
            finally:
                used = charge.usage
                self._purse.settle(
                    charge.most,
                    (
                        used.prompt_tokens - before.prompt_tokens,
                        used.completion_tokens - before.completion_tokens,
                    ),
                )

    def _is_lost(
        self, begun: Exchange, charge: Charge, sent: _SentRequest, fault: Fault, start: float
    ) -> bool:
        """Whether a fault is of this request alone; else wait, or give the endpoint up."""
        breaker, kind = self._breaker, self._kind(fault)
        if kind is FaultKind.REQUEST:
            breaker.succeed()
            return True
        if kind is FaultKind.LASTING:
            breaker.give_up(fault.reason)
            return False
        asked = fault.retry_after is not None
        pause = max(breaker.pause_after(sent.attempts), fault.retry_after or 0.0)
        gives_up = breaker.fail(start, pause, fault.reason, asked_to_wait=asked)
        if sent.suspected:  # others were answered since, or would have been
            return True
        if sent.attempts >= SUSPECT or gives_up:
            sent.suspected = sent.others_were_answered(breaker) or self._answers_others(
                begun, charge
            )
            if gives_up and not sent.suspected:
                breaker.give_up(fault.reason)
                return False
        sent.answers = breaker.answers
        if not sent.suspected and (asked or not breaker.is_open):
            self._over.wait(pause)
        return False

    def _try(
        self, begun: Exchange, body: bytes, charge: Charge, seconds: float | None
    ) -> Exchange | Fault:
        """Send a request once; what that has used is charged before anything else is decided."""
        attempt: Exchange | Fault
        try:
            reply = self._endpoint.ask(body, over=self._over, seconds=seconds)
        except EndpointError as error:
            reason = f"the endpoint of --llm-url does not answer: {error}"
            attempt = Fault(FaultKind.PASSING, reason)
            charge.add(charge.unknown if error.sent else NOTHING)
        else:
            attempt = read_reply(begun, reply, self._endpoint.key, charge.unknown)
            charge.add(attempt.usage)
        return attempt

    def _kind(self, fault: Fault) -> FaultKind:
        """Return what a fault is about, by whether anything was ever answered."""
        if fault.kind is FaultKind.SETUP:
            return FaultKind.PASSING if self._breaker.answers else FaultKind.LASTING
        if fault.kind is FaultKind.UNCLEAR:
            return FaultKind.REQUEST if self._breaker.answers else FaultKind.LASTING
        return fault.kind

    def _answers_others(self, begun: Exchange, charge: Charge) -> bool:
        """Ask for a word, at the cost of this completion; whether the endpoint gives it."""
        request: dict[str, Any] = {
            **begun.request,
            "messages": [{"role": "user", "content": _TEST}],
            **{name: _TEST_TOKENS for name in _TOKEN_FIELDS if name in begun.request},
        }
        asked = begun.model_copy(update={"request": request})
        with self._set_aside(charge) as refusal:
            if refusal or isinstance(self._try(asked, dumped(request), charge, None), Fault):
                return False
        self._breaker.succeed()
        return True

    def _ended(self, begun: Exchange) -> Exchange:
        why = self._breaker.gone
        if why and not self._over.is_set():
            return begun.model_copy(update={"error": why, "ended": True})
        return begun.model_copy(update={"error": JOB_ENDED})

    def hang_up(self) -> None:
        """Cancel what is under way."""
        self._over.set()
        self._endpoint.abort(self._over)
        self._breaker.wake()

    def close(self) -> None:
        """Close the earlier log; the connections serve other jobs."""
        if self._earlier is not None:
            self._earlier.close()
