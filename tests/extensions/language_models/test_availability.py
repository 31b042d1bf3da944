"""Outages, quotas and odd answers of an endpoint: whose fault it is, and how a job goes on."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from contextlib import closing
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from model_modes import REFUSALS

from mdbench.backends.turns import WaitingTime
from mdbench.extensions.language_models.accounts import LlmLimits, LlmSettings, Purse
from mdbench.extensions.language_models.answers import Fault, FaultKind, advice, read_reply
from mdbench.extensions.language_models.availability import CircuitBreaker
from mdbench.extensions.language_models.chat_requests import RefusedError
from mdbench.extensions.language_models.conversation import Conversation
from mdbench.extensions.language_models.endpoint import HttpReply, _pause
from mdbench.extensions.language_models.exchanges import (
    Exchange,
    ExchangeLog,
    ExchangeReplay,
    Usage,
    forget_attempts,
    set_aside,
)
from mdbench.extensions.language_models.keys import NO_KEY
from mdbench.extensions.language_models.responder import SUSPECT, LiveResponder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CALLS = 50
QUICK = 1e-6


def good(body: bytes) -> HttpReply:
    """Answer with a text that follows from the request."""
    text = hashlib.sha256(body).hexdigest()
    answer = {
        "choices": [{"message": {"content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5},
    }
    return HttpReply(200, json.dumps(answer).encode())


def refusal(mode: str) -> HttpReply:
    one = REFUSALS[mode]
    return HttpReply(one.status, one.body.encode(), _pause(one.headers().get("Retry-After"), None))


class ScriptedEndpoint:
    """An endpoint in this process.

    Parameters
    ----------
    fault
        Gives, for the number of a request and its body, the answer that is none; None to answer.
    """

    key = NO_KEY

    def __init__(self, fault: Callable[[int, bytes], HttpReply | None] = lambda *_: None) -> None:
        self._fault = fault
        self._lock = threading.Lock()
        self.count = 0
        self.answered = 0

    def ask(self, body: bytes, *, over: object = None, seconds: float | None = None) -> HttpReply:
        del over, seconds
        with self._lock:
            number = self.count
            self.count += 1
            found = self._fault(number, body)
            self.answered += found is None
        return good(body) if found is None else found

    def abort(self, over: object) -> None: ...


def responder(endpoint: Any, patience: float = 60.0, **more: Any) -> LiveResponder:
    return LiveResponder(endpoint, breaker=CircuitBreaker(patience, QUICK), **more)


def job(responder: Any, log: Path, calls: int = CALLS, n: int = 1) -> tuple[list[str], Any]:
    """Ask a number of questions, one after the other, and return the answers and their use."""
    texts: list[str] = []
    talk = LlmSettings("m", {}, LlmLimits(calls=calls))
    with closing(Conversation(responder, talk, ExchangeLog(log))) as conversation:
        while True:
            asked = {"messages": [{"role": "user", "content": f"{len(texts)} {texts[-1:]}"}]}
            try:
                answer = json.loads(conversation.answer(json.dumps({**asked, "n": n}).encode()))
            except RefusedError as refused:
                if refused.code == "budget_spent":
                    break
                texts.append(f"lost: {refused}")
                continue
            texts += [choice["message"]["content"] for choice in answer["choices"]]
        return texts, conversation.asked()


def said(log: Path) -> list[tuple[int, str, Any]]:
    lines = log.read_text(encoding="utf-8").splitlines()
    found = [Exchange.model_validate_json(line) for line in lines]
    return [(each.number, each.hash, each.reply) for each in found if each.number > 0]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], list[Any]]:
    """The job without any outage."""
    log = tmp_path_factory.mktemp("whole") / "a.llm.ndjson"
    texts, asked = job(responder(ScriptedEndpoint()), log)
    assert asked.calls == CALLS == len(texts)
    return texts, said(log)


ENDS = ["401", "402", "404", "quota", "200-quota", "503", "502-page", "login-page", "bad-json"]


@pytest.mark.parametrize("point", range(CALLS))
def test_a_job_that_an_outage_ended_goes_on_from_its_log_and_pays_nothing_twice(
    tmp_path: Path, whole: Any, point: int
) -> None:
    mode = ENDS[point % len(ENDS)]
    log = tmp_path / "a.llm.ndjson"
    down = ScriptedEndpoint(lambda number, _: refusal(mode) if number >= point else None)
    texts, asked = job(responder(down, patience=0), log)
    assert texts == whole[0][:point]
    assert (asked.calls, asked.failed, bool(asked.ended)) == (point, 0, True)
    assert asked.refused is False
    # A replay ends at the same place, for the same reason.
    again, replayed = job(ExchangeReplay(log), tmp_path / "again.llm.ndjson")
    assert (again, replayed.ended, replayed.missed) == (texts, asked.ended, "")
    before = set_aside(log)
    up = ScriptedEndpoint()
    earlier = None if before is None else ExchangeReplay(before)
    texts, asked = job(responder(up, earlier=earlier), log)
    assert (texts, said(log)) == whole
    assert (asked.calls, asked.resumed, up.count, asked.ended) == (CALLS, point, CALLS - point, "")
    forget_attempts(log)
    assert [path.name for path in tmp_path.iterdir() if "before" in path.name] == []


@pytest.mark.parametrize("point", range(0, CALLS, 7))
def test_an_outage_that_passes_changes_nothing(tmp_path: Path, whole: Any, point: int) -> None:
    log = tmp_path / "a.llm.ndjson"
    modes = ["503", "429", "429-date", "bad-json", "502-page", "200-error"]
    kinds = [refusal(mode) for mode in modes]
    bad = ScriptedEndpoint(
        lambda number, _: kinds[number % len(kinds)] if point <= number < point + 6 else None
    )
    texts, asked = job(responder(bad), log)
    assert (texts, said(log)) == whole
    assert (asked.calls, asked.failed, asked.ended) == (CALLS, 0, "")
    assert bad.count == CALLS + 6
    assert asked.waited_s > 0


def test_a_third_of_errors_costs_no_completion(tmp_path: Path, whole: Any) -> None:
    flaky = ScriptedEndpoint(lambda number, _: refusal("500") if number % 3 == 2 else None)
    texts, asked = job(responder(flaky), tmp_path / "a.llm.ndjson")
    assert texts == whole[0]
    assert asked.failed == 0


def test_a_request_that_breaks_the_server_is_lost_and_the_run_goes_on(tmp_path: Path) -> None:
    """Of one request alone the endpoint may answer nothing, and still be there for all others."""
    messages: list[str] = []

    def fault(_: int, body: bytes) -> HttpReply | None:
        return refusal("500") if b'"7 ' in body else None

    breaker = CircuitBreaker(60.0, QUICK, messages.append)
    endpoint: Any = ScriptedEndpoint(fault)
    texts, asked = job(LiveResponder(endpoint, breaker=breaker), tmp_path / "a.llm.ndjson", 12)
    assert [text.startswith("lost: the endpoint answered 500") for text in texts].index(True) == 7
    assert (asked.calls, asked.failed, asked.ended, breaker.gone) == (12, 1, "", "")
    assert endpoint.count == 12 + SUSPECT + 1  # with the question of one word
    assert "waits" not in messages


def test_all_jobs_wait_for_one_outage(tmp_path: Path) -> None:
    """Eight jobs ask an endpoint that is down for a while: one at a time tries it."""
    messages: list[str] = []
    breaker = CircuitBreaker(60.0, 0.002, messages.append)
    down = threading.Event()
    down.set()
    tries: list[float] = []

    def fault(_: int, __: bytes) -> HttpReply | None:
        if down.is_set():
            tries.append(time.monotonic())
            if len(tries) == 14:
                down.clear()
            return refusal("503")
        return None

    endpoint: Any = ScriptedEndpoint(fault)
    found: list[Any] = []

    def one(number: int) -> None:
        each = LiveResponder(endpoint, breaker=breaker)
        found.append(job(each, tmp_path / f"{number}.llm.ndjson", 5)[1])

    threads = [threading.Thread(target=one, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [each.calls for each in found] == [5] * 8
    assert all(each.ended == "" and each.failed == 0 for each in found)
    assert endpoint.answered == 40 + (endpoint.count - 14 - 40)  # but for questions of one word
    assert len([text for text in messages if "does not answer" in text]) == 1
    assert len([text for text in messages if "answers again" in text]) == 1


def test_what_is_given_up_is_given_up_for_all(tmp_path: Path) -> None:
    messages: list[str] = []
    breaker = CircuitBreaker(0.0, QUICK, messages.append)
    endpoint: Any = ScriptedEndpoint(lambda *_: refusal("503"))
    for number in range(5):
        each = LiveResponder(endpoint, breaker=breaker)
        texts, asked = job(each, tmp_path / f"{number}.llm.ndjson")
        assert texts == []
        assert "503 Service Unavailable: Loading model" in asked.ended
    assert endpoint.count == 2  # with the question of one word
    assert len([text for text in messages if "given up" in text]) == 1


@pytest.mark.parametrize(
    ("header", "date", "seconds"),
    [
        ("7", None, 7.0),
        ("3600", None, 3600.0),
        ("0.5", None, 0.5),
        ("Thu, 26 Nov 2026 12:00:30 GMT", "Thu, 26 Nov 2026 12:00:00 GMT", 30.0),
        ("Thu, 26 Nov 2026 13:00:00 GMT", "Thu, 26 Nov 2026 12:00:00 GMT", 3600.0),
        ("Thu, 26 Nov 2026 11:00:00 GMT", "Thu, 26 Nov 2026 12:00:00 GMT", 0.0),
        ("soon", None, None),
        ("-3", None, None),
        ("", None, None),
        (None, None, None),
    ],
)
def test_when_to_come_back(header: str | None, date: str | None, seconds: float | None) -> None:
    assert _pause(header, date) == seconds


def test_a_wait_that_is_asked_for_is_kept_in_full_or_the_endpoint_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = [1000.0]
    monkeypatch.setattr(
        "mdbench.extensions.language_models.availability.time.monotonic", lambda: clock[0]
    )
    breaker = CircuitBreaker(600.0, 0.5)
    over = threading.Event()
    assert not breaker.fail(1000.0, 599.0, "429", asked_to_wait=True)
    assert breaker.is_open
    clock[0] += 598.9
    waiting = threading.Thread(target=breaker.admit, args=(over,))
    waiting.start()
    assert waiting.is_alive()
    clock[0] += 0.2
    breaker.wake()
    waiting.join(5.0)
    assert not waiting.is_alive()
    breaker.succeed()
    assert breaker.fail(clock[0], 601.0, "429", asked_to_wait=True)  # longer than our patience


def test_pauses_grow_up_to_a_minute() -> None:
    breaker = CircuitBreaker()
    pauses = [breaker.pause_after(attempt) for attempt in range(1, 12)]
    assert pauses == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0, 60.0]


BEGUN = Exchange(
    number=1,
    hash="0" * 64,
    occurrence=0,
    request={
        "model": "m",
        "messages": [{"role": "system", "content": "a"}, {"role": "user", "content": "b"}],
        "max_tokens": 100,
        "seed": 1,
        "temperature": 0.8,
    },
    usage=Usage(prompt_tokens=0, completion_tokens=0),
    latency_s=0,
    attempts=0,
)
UNKNOWN = Usage(prompt_tokens=50, completion_tokens=100, estimated=True)


@pytest.mark.parametrize(
    ("mode", "kind", "words"),
    [
        ("401", FaultKind.SETUP, "401 Unauthorized"),
        ("402", FaultKind.LASTING, "Insufficient Balance"),
        ("403", FaultKind.SETUP, "may not use"),
        ("404", FaultKind.SETUP, "is --llm-model what"),
        ("quota", FaultKind.LASTING, "exceeded your current quota"),
        ("200-quota", FaultKind.LASTING, "200 OK with an error"),
        ("no-seed", FaultKind.UNCLEAR, """leave it out: --llm-settings '{"seed": null}'"""),
        ("object-error", FaultKind.UNCLEAR, """leave it out: --llm-settings '{"seed": null}'"""),
        ("no-system", FaultKind.UNCLEAR, "--llm-no-system"),
        ("newer-tokens", FaultKind.UNCLEAR, '{"max_completion_tokens": 100}'),
        ("validation", FaultKind.UNCLEAR, '{"temperature": null}'),
        ("context-length", FaultKind.REQUEST, "maximum context length"),
        ("moderation", FaultKind.REQUEST, "content management"),
        ("429", FaultKind.PASSING, "Rate limit"),
        ("500", FaultKind.PASSING, "500"),
        ("502-page", FaultKind.PASSING, "with a web page, '502 Bad Gateway'"),
        ("503", FaultKind.PASSING, "Loading model"),
        ("529", FaultKind.PASSING, "Overloaded"),
        ("login-page", FaultKind.SETUP, "'Log in': is --llm-url the address"),
        ("200-error", FaultKind.PASSING, "200 OK with an error: Internal server error"),
        ("bad-json", FaultKind.PASSING, "no chat completion"),
        ("empty-body", FaultKind.PASSING, "no chat completion"),
        ("redirect", FaultKind.SETUP, "302 Found"),
    ],
)
def test_whose_fault_an_answer_is_follows_from_what_it_says(
    mode: str, kind: FaultKind, words: str
) -> None:
    found = read_reply(BEGUN, refusal(mode), NO_KEY, UNKNOWN)
    assert isinstance(found, Fault)
    assert found.kind is kind
    assert words in found.reason


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        # a limit for each minute is no quota that is spent, whatever it is called
        (429, "You exceeded your current quota. Please retry in 31.2 s.", FaultKind.PASSING),
        (429, "Quota exceeded: requests per minute. Add a payment method.", FaultKind.PASSING),
        (400, "Your credit balance is too low to access the API", FaultKind.LASTING),
        (403, "insufficient_quota", FaultKind.LASTING),
        (500, "the model `m` is not found in memory, loading", FaultKind.PASSING),
        (400, "request (9000 tokens) exceeds the available context size", FaultKind.REQUEST),
        (413, "", FaultKind.REQUEST),
        (418, "", FaultKind.PASSING),
    ],
)
def test_words_count_more_than_codes(status: int, message: str, kind: FaultKind) -> None:
    body = json.dumps({"error": {"message": message}}).encode()
    found = read_reply(BEGUN, HttpReply(status, body), NO_KEY, UNKNOWN)
    assert isinstance(found, Fault)
    assert found.kind is kind


@given(
    st.integers(200, 599),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=20),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["error", "message", "choices", "content", "code", "usage", "object"]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    ),
)
def test_whatever_an_endpoint_answers_is_a_completion_or_a_fault(status: int, body: Any) -> None:
    found = read_reply(BEGUN, HttpReply(status, json.dumps(body).encode()), NO_KEY, UNKNOWN)
    if isinstance(found, Fault):
        assert found.reason
        assert len(found.reason) < 700
    else:
        assert status == 200
        assert found.reply is not None


@pytest.mark.parametrize(
    ("said", "advised"),
    [
        ("Unrecognized request argument supplied: temperature", '{"temperature": null}'),
        ("temperature: Only the default (1) value is supported", '{"temperature": null}'),
        ("max_tokens is too large: 100", '{"max_tokens": 4096}'),
        ("Conversation roles must alternate user/assistant", "--llm-no-system"),
        ("something is wrong", ""),
        ("unknown field: logprobs", ""),
    ],
)
def test_a_refusal_names_the_setting_that_removes_it(said: str, advised: str) -> None:
    found = advice(BEGUN.request, said)
    assert advised in found
    assert bool(found) == bool(advised)


def test_the_money_of_a_run_is_shared_and_never_passed() -> None:
    purse = Purse(1.0, LlmLimits(price=(0.0, 1.0)))
    counts = [0] * 6

    def spend(place: int) -> None:
        while purse.reserve((0, 125_000)):
            counts[place] += 1
            purse.settle((0, 125_000), (0, 62_500))

    threads = [threading.Thread(target=spend, args=(place,)) for place in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(counts) == 15  # 15 x 0.0625, and 0.125 more would be too much
    assert purse.spent == 0.9375


def test_a_run_without_money_ends_its_jobs_like_an_endpoint(tmp_path: Path) -> None:
    purse = Purse(0.01656, LlmLimits(price=(0.0, 1.0)))
    # each is allowed 16,384 tokens, and takes 5
    texts, asked = job(responder(ScriptedEndpoint(), purse=purse), tmp_path / "a.llm.ndjson")
    assert len(texts) == 36
    assert "--llm-money-total" in asked.ended
    assert purse.spent <= 0.01656


def test_a_run_with_money_for_less_than_one_completion_says_so(tmp_path: Path) -> None:
    purse = Purse(0.016383, LlmLimits(price=(0.0, 1.0)))
    texts, asked = job(responder(ScriptedEndpoint(), purse=purse), tmp_path / "a.llm.ndjson")
    assert texts == []
    assert "less than one completion may take, 16,384 tokens" in asked.ended


@given(st.lists(st.tuples(st.floats(0, 100), st.floats(0, 20)), max_size=12))
def test_time_that_several_wait_is_counted_once(spans: list[tuple[float, float]]) -> None:
    waiting = WaitingTime()
    for start, length in spans:
        waiting.end(waiting.begin(start), start + length)
    edges = sorted({end for start, length in spans for end in (start, start + length)})
    inside = sum(
        after - before
        for before, after in pairwise(edges)
        if any(start <= before and after <= start + length for start, length in spans)
    )
    assert waiting.seconds() == pytest.approx(inside)
