"""What an endpoint bills, by its own log, is what records have; and no limit is passed by it."""

from __future__ import annotations

import json
import threading
import time
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any

import pytest
from asking_bench import ASKER, Bench
from billing_server import BEHAVIOURS, COMPLETION, BillingServer
from harness import known, make_workspace, out_of_time
from isolated import HOME

from mdbench.extensions.language_models.accounts import LlmLimits, LlmSettings, Purse
from mdbench.extensions.language_models.availability import CircuitBreaker
from mdbench.extensions.language_models.chat_requests import RefusedError
from mdbench.extensions.language_models.conversation import Conversation
from mdbench.extensions.language_models.endpoint import Endpoint
from mdbench.extensions.language_models.exchanges import (
    Exchange,
    ExchangeLog,
    ExchangeReplay,
    set_aside,
)
from mdbench.extensions.language_models.responder import LiveResponder
from mdbench.records import Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from mdbench.extensions.language_models.use import ModelUse
    from mdbench.records import Record

PRICE = (1.0, 2.0)
MAX_TOKENS = 64
REPORTED = [name for name, behaviour in BEHAVIOURS.items() if behaviour.is_known]
UNREPORTED = [name for name in BEHAVIOURS if name not in REPORTED]


def money(tokens: tuple[int, int]) -> float:
    return LlmLimits(price=PRICE).cost(*tokens)


def tokens(records: Sequence[Record]) -> tuple[int, int]:
    uses = [known(record.llm) for record in records]
    prompts = sum(known(use.prompt_tokens) for use in uses)
    return prompts, sum(known(use.completion_tokens) for use in uses)


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Bench]:
    made = Bench("plain", make_workspace(tmp_path, HOME), ASKER)
    made.make_front()
    yield made
    made.runtime.close()


def ask(bench: Bench, server: BillingServer, **changes: Any) -> list[Record]:
    usual: dict[str, Any] = {
        "llm_url": server.url,
        "llm_price": PRICE,
        "llm_settings": json.dumps({"max_tokens": MAX_TOKENS}),
        "patience": 60.0,
    }
    return bench.ask(None, **{**usual, **changes})


def test_there_are_at_least_25_behaviours() -> None:
    assert len(BEHAVIOURS) >= 25
    assert len(UNREPORTED) == 6


def test_the_log_of_an_endpoint_of_all_behaviours_equals_the_records(here: Bench) -> None:
    with BillingServer(REPORTED) as server:
        records = ask(here, server, seeds=(1, 2, 3), llm_calls=len(REPORTED))
    assert {record.status for record in records} == {Status.OK}
    assert tokens(records) == server.billed
    paid = sum(known(known(record.llm).money) for record in records)
    assert paid == pytest.approx(money(server.billed), rel=1e-12)
    assert not any(known(record.llm).estimated for record in records)


@pytest.mark.parametrize("name", BEHAVIOURS)
def test_each_behaviour_is_billed_within_the_limit(here: Bench, name: str) -> None:
    limit = money((400, 6 * MAX_TOKENS))
    with BillingServer([name]) as server:
        (record,) = ask(here, server, llm_calls=20, llm_money=limit)
    use = known(record.llm)
    prompts, completions = server.billed
    assert known(use.completion_tokens) == completions
    if name in REPORTED:
        assert known(use.prompt_tokens) == prompts
    else:
        assert use.estimated
        assert known(use.prompt_tokens) >= prompts
    assert 0 < money(server.billed) <= known(use.money) <= limit
    assert known(use.money) > limit / 3  # it is used


def test_answers_without_text_end_a_job_at_its_limit(here: Bench) -> None:
    """The worst case: each of a thousand calls takes all that it may, and answers nothing."""
    with BillingServer(["cut before any text"]) as server:
        limit = {"llm_completion_tokens": 300, "llm_money": money((10**6, 300))}
        (record,) = ask(here, server, llm_calls=1000, **limit)
    use = known(record.llm)
    calls = (300 - MAX_TOKENS) // COMPLETION + 1
    assert (use.calls, use.completion_tokens, use.spent) == (calls, calls * COMPLETION, True)
    assert use.no_answer == {"length": calls}


NO_TEXT = {
    "cut before any text": "length",
    "null": "stop",
    "empty": "stop",
    "no content": "stop",
    "refusal": "refusal",
    "filter": "content_filter",
    "tool without arguments": "tool_calls",
    "no choices": "no_choices",
    "choices missing": "no_choices",
    "a number": "unreadable",
    "no message": "unreadable",
}
GIVES_UP = ASKER.replace(
    "self.found = self.found or", "assert self.found, 'no formula'\n        _ ="
)


@pytest.mark.parametrize(("name", "reason"), NO_TEXT.items())
def test_a_model_without_an_answer_is_no_outage_and_is_not_asked_again(
    here: Bench, name: str, reason: str
) -> None:
    here.add(GIVES_UP)
    here.make_front()
    with BillingServer([name]) as server:
        (record,) = ask(here, server, llm_calls=4)
        assert record.status is Status.FAILED, record.reason
        assert known(record.llm).no_answer == {reason: 4}
        assert known(record.llm).failed == 0
        words = {"stop": "4 empty", "refusal": "4 refused", "length": "4 cut off"}.get(reason, "4 ")
        assert f"(of 4 completions: {words}" in record.reason
        (again,) = ask(here, server, llm_calls=4)
    assert again.key == record.key
    assert len(server.log) == 4


@contextmanager
def conversation(
    server: BillingServer, log: Path, *, limits: LlmLimits | None = None, **more: Any
) -> Iterator[Conversation]:
    breaker = CircuitBreaker(60.0, 1e-6)
    talk = LlmSettings("m", {"max_tokens": MAX_TOKENS}, limits or LlmLimits(price=PRICE))
    with closing(Endpoint(server.url)) as endpoint:
        responder = LiveResponder(endpoint, breaker=breaker, **more)
        with closing(Conversation(responder, talk, ExchangeLog(log))) as talking:
            yield talking


def question(text: str, n: int = 1) -> bytes:
    return json.dumps({"messages": [{"role": "user", "content": text}], "n": n, "seed": 1}).encode()


def used(use: ModelUse) -> tuple[int, int]:
    return use.prompt_tokens, use.completion_tokens


def logged(log: Path) -> tuple[int, int]:
    lines = [Exchange.model_validate_json(line) for line in log.read_bytes().splitlines()]
    usages = [line.usage for line in lines]
    return sum(u.prompt_tokens for u in usages), sum(u.completion_tokens for u in usages)


class Silent(BillingServer):
    """Bills each request after the first ones, and answers none of them."""

    silent_after = 2

    def answer(self, body: bytes) -> Any:
        result = super().answer(body)
        if len(self.log) > self.silent_after:
            self.over.wait(30)
        return result

    def __enter__(self) -> Any:
        self.over = threading.Event()
        return super().__enter__()

    def __exit__(self, *_: object) -> None:
        self.over.set()
        super().__exit__(*_)


def interrupted(server: Silent, log: Path, earlier: Path | None) -> ModelUse:
    """Ask twice, one after the other, then five at once; end the conversation meanwhile."""
    replay = None if earlier is None else ExchangeReplay(earlier)
    with conversation(server, log, earlier=replay) as talk:
        for number in range(2):
            talk.answer(question(f"u0 {number}"))
        billed = len(server.log)
        asking = threading.Thread(target=_quietly, args=(talk, question("u0", 5)))
        asking.start()
        while len(server.log) < billed + 5:
            time.sleep(0.002)
        talk.end()
        use = talk.asked()
        asking.join()
    return use


def _quietly(talk: Conversation, body: bytes) -> None:
    with suppress(RefusedError):
        talk.answer(body)


def test_requests_that_are_in_flight_at_the_end_are_counted_and_once(tmp_path: Path) -> None:
    """They are an estimate; the job that goes on from its log has them, however often it ends."""
    log = tmp_path / "a.llm.ndjson"
    prompt = len("u0") + 16 + 16  # the most that it can take
    with Silent(["good"]) as server:
        answered = server.billed
        for times in (1, 2, 3):
            use = interrupted(server, log, set_aside(log))
            answered = (2 * len("u0 0"), 2 * COMPLETION)
            in_flight = 5 * times * prompt, 5 * times * MAX_TOKENS
            expected = tuple(a + b for a, b in zip(answered, in_flight, strict=True))
            assert used(use) == expected
            assert used(use) == logged(log)
            assert (use.calls, use.failed, use.estimated) == (7, 5, True)
            assert not use.refused
    with BillingServer(["good"]) as server:
        before = set_aside(log)
        assert before is not None
        with conversation(server, log, earlier=ExchangeReplay(before)) as talk:
            for number in range(2):
                talk.answer(question(f"u0 {number}"))
            talk.answer(question("u0", 5))
            use = talk.asked()
        assert server.billed == (5 * len("u0"), 5 * COMPLETION)
    whole = expected[0] + server.billed[0], expected[1] + server.billed[1]
    assert used(use) == whole == logged(log)
    assert (use.calls, use.failed, use.resumed) == (7, 0, 2)
    settings = LlmSettings("m", {"max_tokens": MAX_TOKENS}, LlmLimits(price=PRICE))
    copy = ExchangeLog(tmp_path / "b.llm.ndjson")
    with closing(Conversation(ExchangeReplay(log), settings, copy)) as replayed:
        for number in range(2):
            replayed.answer(question(f"u0 {number}"))
        replayed.answer(question("u0", 5))
        again = replayed.asked()
    assert (used(again), again.estimated, again.missed) == (whole, True, "")


def test_the_record_of_a_job_that_was_ended_has_what_was_in_flight(
    here: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Silent(["good"]) as server:
        server.silent_after = 0
        out_of_time(monkeypatch, lambda _: len(server.log) >= 4)
        (record,) = ask(here, server)
    assert record.status is Status.TIMEOUT
    use = known(record.llm)
    assert (use.calls, use.completion_tokens, use.estimated) == (4, 4 * MAX_TOKENS, True)
    assert known(use.money) >= money(server.billed)


def test_what_an_earlier_attempt_has_paid_counts_in_the_limit(tmp_path: Path) -> None:
    log = tmp_path / "a.llm.ndjson"
    with Silent(["good"]) as server:
        interrupted(server, log, None)
    before = set_aside(log)
    assert before is not None
    limits = LlmLimits(completion_tokens=5 * MAX_TOKENS + MAX_TOKENS - 1)
    earlier = ExchangeReplay(before)
    with (
        BillingServer(["good"]) as server,
        conversation(server, log, earlier=earlier, limits=limits) as talk,
    ):
        with pytest.raises(RefusedError, match="used up"):
            talk.answer(question("u0 0", 1))
        assert server.log == []


@pytest.mark.parametrize("name", ["error 500", "half a body", "no answer", "no JSON"])
def test_attempts_that_are_billed_and_repeated_stay_within_all_limits(
    tmp_path: Path, name: str
) -> None:
    """Many at once, of several jobs that share the money of a run: nobody waits for ever."""
    total = money((700, 30 * MAX_TOKENS))
    limits = LlmLimits(price=PRICE, money=total / 2)
    purse = Purse(total, limits)
    uses: list[ModelUse] = []

    def job(number: int) -> None:
        log = tmp_path / f"{number}.llm.ndjson"
        with conversation(server, log, purse=purse, limits=limits) as talk:
            for count in range(40):
                try:
                    talk.answer(question(f"u0 {number} {count}", 4))
                except RefusedError as refused:
                    if refused.code == "budget_spent":
                        break
            uses.append(talk.asked())

    with BillingServer([name, "good"]) as server:
        threads = [threading.Thread(target=job, args=(number,)) for number in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()
        assert money(server.billed) <= purse.spent <= total
    assert purse.spent == pytest.approx(sum(known(use.money) for use in uses))
    assert sum(use.completion_tokens for use in uses) == server.billed[1]
    assert all(known(use.money) <= limits.money for use in uses if limits.money is not None)
    assert purse.spent > total / 2


def test_a_question_that_tests_the_endpoint_is_paid(tmp_path: Path) -> None:
    """A request that breaks the server alone is found out by another one, which costs, too."""

    class Breaks(BillingServer):
        def answer(self, body: bytes) -> Any:
            if b"u0 1" in body:
                return BEHAVIOURS["overloaded"], b"{}"
            return super().answer(body)

    with Breaks(["good"]) as server:
        with conversation(server, tmp_path / "a.llm.ndjson") as talk:
            talk.answer(question("u0 0"))
            with pytest.raises(RefusedError):
                talk.answer(question("u0 1"))
            assert used(talk.asked()) == server.billed
        assert len(server.log) == 2


def test_a_connection_that_was_closed_while_nobody_used_it_costs_nothing() -> None:
    with BillingServer(["good"]) as server:
        endpoint = Endpoint(server.url)
        body = json.dumps({"messages": [{"content": "u0"}], "max_tokens": 9}).encode()
        assert endpoint.ask(body).status == 200
        for connection in endpoint._idle:
            connection.sock.shutdown(0)  # its end is there to be read, as of one that was closed
        assert endpoint.ask(body).status == 200
        assert len(endpoint._idle) == 1
        endpoint.close()
