"""Language models: what a job may ask, what is counted, written down and said again."""

from __future__ import annotations

import json
import os
import socket
import ssl
import threading
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any

import pytest
from harness import ROOT
from hypothesis import given
from hypothesis import strategies as st
from model_modes import MODES
from model_server import Stub

from mdbench.errors import UnavailableError, UsageError
from mdbench.extensions.language_models.accounts import (
    BudgetAccount,
    LlmLimits,
    LlmSettings,
    TokenUse,
)
from mdbench.extensions.language_models.availability import CircuitBreaker
from mdbench.extensions.language_models.chat_requests import ChatRequest, RefusedError, request_hash
from mdbench.extensions.language_models.conversation import Conversation
from mdbench.extensions.language_models.endpoint import CERTIFICATES, Endpoint, EndpointError
from mdbench.extensions.language_models.exchanges import (
    Exchange,
    ExchangeLog,
    ExchangeReplay,
)
from mdbench.extensions.language_models.keys import NO_KEY, Key, read_key
from mdbench.extensions.language_models.proxy import NAME, Proxy
from mdbench.extensions.language_models.responder import LiveResponder
from mdbench.worker import BudgetSpent, LanguageModel, LanguageModelError, Unavailable
from mdbench.worker.api import SOCKET_VARIABLE, language_model

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KEY = "sk-test-5f3a9c81d2e47b60"
HELLO = [{"role": "user", "content": "Variables: x0, x1"}]
QUICK = 0.001
AT_ONCE = 4
HEAD = b"POST /v1/chat/completions HTTP/1.1\r\n"


@contextmanager
def talking(
    folder: Path,
    stub: Stub | Path,
    *,
    seconds: float = 30.0,
    most_seconds: float | None = None,
    patience: float = 0.02,
    **allowed: Any,
) -> Iterator[tuple[LanguageModel, Conversation]]:
    """Listen in a folder, as in a job's, and give what a method would have of it."""
    folder.mkdir(exist_ok=True)
    endpoint = Endpoint(stub.url, Key(KEY), seconds=seconds) if isinstance(stub, Stub) else None
    breaker = CircuitBreaker(patience, QUICK)
    responder = LiveResponder(endpoint, breaker=breaker) if endpoint else ExchangeReplay(stub)  # type: ignore[arg-type]
    talk = LlmSettings("pinned", {}, LlmLimits(seconds=most_seconds, **allowed))
    conversation = Conversation(responder, talk, ExchangeLog(folder / "log.llm.ndjson"))
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with closing(conversation):
            proxy = Proxy(descriptor, conversation.answer)
            try:
                yield LanguageModel(str(folder / NAME)), conversation
            finally:
                conversation.end()
                proxy.close()
    finally:
        os.close(descriptor)
        if endpoint is not None:
            endpoint.close()
        (folder / NAME).unlink()


def lines(folder: Path) -> list[Exchange]:
    text = (folder / "log.llm.ndjson").read_text(encoding="utf-8")
    return [Exchange.model_validate_json(line) for line in text.splitlines()]


def test_a_method_gets_texts_and_what_they_cost(tmp_path: Path) -> None:
    with Stub() as stub, talking(tmp_path, stub) as (llm, conversation):
        one, two = llm.chat(HELLO, n=2, temperature=0.5, max_tokens=99, seed=7)
        assert "x" in one.text
        assert one.finish_reason == two.finish_reason == "stop"
        assert one.prompt_tokens > 0
        asked = conversation.asked()
    assert asked.calls == 2
    assert asked.failed == 0
    assert asked.prompt_tokens == one.prompt_tokens + two.prompt_tokens
    assert asked.completion_tokens == one.completion_tokens + two.completion_tokens
    assert asked.models == ("stub-2026-11",)
    assert asked.fingerprints == ("stub-0",)
    assert asked.money is None
    assert [each["seed"] for each in stub.requests].count(7) == 1
    assert all(
        set(each) == {"model", "messages", "max_tokens", "temperature", "seed"}
        for each in stub.requests
    )
    assert {each["model"] for each in stub.requests} == {"pinned"}
    assert [each["Authorization"] for each in stub.headers] == [f"Bearer {KEY}"] * 2


def test_each_completion_is_one_line_and_no_line_has_the_key(tmp_path: Path) -> None:
    with Stub(mode="echo") as stub, talking(tmp_path, stub) as (llm, _):
        replies = llm.chat(HELLO, n=3, seed=1)
    found = lines(tmp_path)
    assert sorted(each.number for each in found) == [1, 2, 3]
    assert {each.reply.text for each in found if each.reply} == {each.text for each in replies}
    assert all("Bearer ***" in each.text for each in replies)
    assert KEY not in (tmp_path / "log.llm.ndjson").read_text()
    assert all(each.hash == request_hash(each.request) for each in found)
    assert all(each.attempts == 1 and each.latency_s > 0 for each in found)


@pytest.mark.parametrize(
    ("mode", "status", "once"),
    [
        ("429", "the endpoint answered 429 Too Many Requests", False),
        ("500", "the endpoint answered 500", False),
        ("401", "the endpoint answered 401 Unauthorized", True),
        ("redirect", "the endpoint answered 302 Found", True),
        ("bad-json", "no chat completion", False),
        ("huge", "an answer of more than", False),
    ],
)
def test_an_endpoint_that_answers_nobody_ends_the_job(
    tmp_path: Path, mode: str, status: str, once: bool
) -> None:
    with Stub(mode=mode) as stub, talking(tmp_path, stub) as (llm, conversation):
        for _ in range(2):
            with pytest.raises(BudgetSpent, match=status):
                llm.chat(HELLO)
        assert (stub.count == 1) == once
        asked = conversation.asked()
    assert (asked.calls, asked.failed) == (0, 0)
    assert status in asked.ended
    (line,) = lines(tmp_path)
    assert line.reply is None
    assert line.ended
    assert status in line.error


def test_an_endpoint_that_recovers_is_asked_again(tmp_path: Path) -> None:
    with (
        Stub(mode="500", failures=3) as stub,
        talking(tmp_path, stub, patience=60) as (llm, conversation),
    ):
        (reply,) = llm.chat(HELLO)
        assert reply.text
        assert conversation.asked().ended == ""
    assert lines(tmp_path)[0].attempts == 4


def test_an_answer_that_never_ends_is_cut(tmp_path: Path) -> None:
    with (
        Stub(mode="never-ends") as stub,
        talking(tmp_path, stub, seconds=0.4) as (llm, _),
        pytest.raises(BudgetSpent, match="no answer in time"),
    ):
        llm.chat(HELLO)
    assert lines(tmp_path)[0].ended


def test_nobody_at_the_address(tmp_path: Path) -> None:
    stub = Stub()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        stub.port = taken.getsockname()[1]
        with talking(tmp_path, stub) as (llm, conversation):
            with pytest.raises(BudgetSpent, match="nobody listens"):
                llm.chat(HELLO)
            assert "nobody listens" in conversation.asked().ended


def test_a_wrong_number_of_choices(tmp_path: Path) -> None:
    with Stub(mode="wrong-n") as stub, talking(tmp_path, stub) as (llm, conversation):
        came = 0
        for number in range(20):
            came += len(llm.chat([{"role": "user", "content": f"x0 {number}"}]))
        told = conversation.asked()
    assert (told.calls, told.failed, came) == (20, 0, 20)
    assert 0 < told.no_answer["no_choices"] < 20


@pytest.mark.parametrize("mode", ["good", "fence", "prose", "loop", "import", "truncated", "slow"])
def test_the_same_question_has_the_same_answer(mode: str, tmp_path: Path) -> None:
    texts = []
    for name in ("one", "two"):
        with Stub(mode=mode, delay=0.01) as stub, talking(tmp_path / name, stub) as (llm, _):
            texts.append([each.text for each in llm.chat(HELLO, n=3, seed=3)])
    assert texts[0] == texts[1]
    with Stub(mode=mode, seed=1, delay=0.01) as stub, talking(tmp_path / "x", stub) as (llm, _):
        reply = llm.chat(HELLO, seed=3)[0]
    assert reply.finish_reason == ("length" if mode == "truncated" else "stop")


def test_a_stub_knows_as_often_as_it_should() -> None:
    stub = Stub(answer="x0*x1", knows=0.1, write=lambda _, equation: equation)
    said = [
        stub.reply({"messages": [{"content": f"x0 x1 {n}"}]}, "good")[0] == "x0*x1"
        for n in range(2000)
    ]
    assert 150 < sum(said) < 250
    with pytest.raises(UsageError, match="Did you mean good"):
        Stub(mode="god")
    assert "good" in MODES


# The budget.


def ask_until_spent(llm: LanguageModel, first: int, n: int = 1, **more: int) -> int:
    count = 0
    while True:
        try:
            asked = [{"role": "user", "content": f"x0 {first} {count}"}]
            count += len(llm.chat(asked, n=n, seed=count, **more))
        except BudgetSpent:
            return count


@pytest.mark.parametrize("n", [1, 3, 8])
def test_exactly_the_calls_that_are_allowed_are_answered(tmp_path: Path, n: int) -> None:
    with Stub() as stub, talking(tmp_path, stub, calls=50) as (llm, conversation):
        with ThreadPoolExecutor(AT_ONCE) as pool:
            counts = list(pool.map(lambda k: ask_until_spent(llm, k, n), range(AT_ONCE)))
        with pytest.raises(BudgetSpent, match="budget of this job is used up"):
            llm.chat(HELLO)
        asked = conversation.asked()
    assert sum(counts) == stub.count == asked.calls == len(lines(tmp_path)) == 50
    assert asked.refused


def test_a_caller_that_dies_in_mid_call_costs_its_call_and_no_more(tmp_path: Path) -> None:
    with (
        Stub(mode="slow", delay=0.05) as stub,
        talking(tmp_path, stub, calls=20) as (llm, conversation),
    ):
        body = json.dumps({"messages": HELLO}).encode()
        with socket.socket(socket.AF_UNIX) as gone:
            gone.connect(str(tmp_path / NAME))
            gone.sendall(
                b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(body)
                + body
            )
        while not stub.count:
            time.sleep(0.005)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            counts = list(pool.map(lambda k: ask_until_spent(llm, k), range(AT_ONCE)))
        assert conversation.asked().calls == 20
    assert sum(counts) == 19
    assert stub.count == len(lines(tmp_path)) == 20


def test_tokens_and_money_are_never_passed(tmp_path: Path) -> None:
    price = (1.0, 2.0)
    cases: dict[str, dict[str, Any]] = {
        "prompt": {"prompt_tokens": 400},
        "completion": {"completion_tokens": 300},
        "money": {"money": 0.0005, "price": price},
    }
    for name, allowed in cases.items():
        with Stub() as stub, talking(tmp_path / name, stub, **allowed) as (llm, conversation):
            count = ask_until_spent(llm, 0, max_tokens=100)
            asked = conversation.asked()
        assert asked.calls == count > 1
        assert asked.prompt_tokens <= allowed.get("prompt_tokens", 10**9)
        assert asked.completion_tokens <= allowed.get("completion_tokens", 10**9)
        if asked.money is not None:
            used = asked.prompt_tokens * 1e-6 + asked.completion_tokens * 2e-6
            assert asked.money == pytest.approx(used)
            assert asked.money <= 0.0005


def test_seconds_end_a_budget(tmp_path: Path) -> None:
    with (
        Stub(mode="slow", delay=0.05) as stub,
        talking(tmp_path, stub, most_seconds=0.08) as (llm, conversation),
    ):
        with suppress(LanguageModelError):  # what takes longer than is left is cut
            ask_until_spent(llm, 0)
        with pytest.raises(BudgetSpent):
            llm.chat(HELLO)
        assert conversation.asked().seconds >= 0.08
    assert stub.count <= 2


limits = st.one_of(st.none(), st.integers(1, 200))


@given(
    calls=limits,
    prompt=limits,
    completion=limits,
    wishes=st.lists(
        st.tuples(st.integers(1, 60), st.integers(1, 60), st.floats(0, 1)), max_size=40
    ),
)
def test_an_account_never_passes_a_limit(
    calls: int | None,
    prompt: int | None,
    completion: int | None,
    wishes: list[tuple[int, int, float]],
) -> None:
    account = BudgetAccount(LlmLimits(calls, prompt, completion))
    for most_in, most_out, share in wishes:
        wanted = TokenUse(1, most_in, most_out)
        if not account.reserve(wanted):
            fits = (
                (calls is None or account.spent.calls + 1 <= calls)
                and (prompt is None or account.spent.prompt_tokens + most_in <= prompt)
                and (completion is None or account.spent.completion_tokens + most_out <= completion)
            )
            assert not fits
            continue
        used = TokenUse(1, int(share * most_in), int(share * most_out))
        account.settle(wanted, used)
    assert calls is None or account.spent.calls <= calls
    assert prompt is None or account.spent.prompt_tokens <= prompt
    assert completion is None or account.spent.completion_tokens <= completion


def test_what_was_set_aside_and_not_used_is_waited_for() -> None:
    account = BudgetAccount(LlmLimits(completion_tokens=10))
    wanted = TokenUse(1, 1, 8)
    assert account.reserve(wanted)
    got: list[bool] = []
    waits = threading.Thread(target=lambda: got.append(account.reserve(wanted)))
    waits.start()
    account.settle(wanted, TokenUse(1, 1, 1))
    waits.join()
    assert got == [True]
    assert not account.reserve(TokenUse(1, 1, 10))  # more than there ever was left
    account.close()
    assert not account.reserve(TokenUse(1, 1, 1))


# The replay.


def test_a_replay_states_the_same_and_asks_nobody(tmp_path: Path) -> None:
    with Stub() as stub, talking(tmp_path / "live", stub, calls=12) as (llm, conversation):
        said = [each.text for _ in range(3) for each in llm.chat(HELLO, n=3)]
        said += [llm.chat(HELLO, seed=5)[0].text]
        before = conversation.asked()
    log = tmp_path / "live" / "log.llm.ndjson"
    with talking(tmp_path / "again", log, calls=12) as (llm, conversation):
        again = [each.text for _ in range(3) for each in llm.chat(HELLO, n=3)]
        again += [llm.chat(HELLO, seed=5)[0].text]
        after = conversation.asked()
    assert again == said
    assert after == before
    assert stub.count == 10
    key = lambda each: each.number  # noqa: E731
    assert sorted(lines(tmp_path / "again"), key=key) == sorted(lines(tmp_path / "live"), key=key)


def test_the_budget_holds_in_a_replay(tmp_path: Path) -> None:
    with Stub() as stub, talking(tmp_path / "live", stub, calls=5) as (llm, _):
        assert ask_until_spent(llm, 0, n=2) == 5
    log = tmp_path / "live" / "log.llm.ndjson"
    with talking(tmp_path / "again", log, calls=5) as (llm, conversation):
        assert ask_until_spent(llm, 0, n=2) == 5
        assert conversation.asked().refused


def test_a_miss_is_an_error_and_never_a_call(tmp_path: Path) -> None:
    with Stub() as stub, talking(tmp_path / "live", stub) as (llm, _):
        llm.chat(HELLO)
    with talking(tmp_path / "again", tmp_path / "live" / "log.llm.ndjson") as (llm, conversation):
        llm.chat(HELLO)
        with pytest.raises(LanguageModelError, match="replay has no answer"):
            llm.chat(HELLO)
        assert "asked 1 times before" in conversation.asked().missed
    assert stub.count == 1


@pytest.mark.parametrize("mode", ["500", "context-length"])
def test_failures_are_replayed_as_failures(tmp_path: Path, mode: str) -> None:
    with (
        Stub(mode=mode) as stub,
        talking(tmp_path / "live", stub) as (llm, _),
        pytest.raises((LanguageModelError, BudgetSpent)) as first,
    ):
        llm.chat(HELLO)
    with talking(tmp_path / "again", tmp_path / "live" / "log.llm.ndjson") as (llm, conversation):
        with pytest.raises(type(first.value)) as second:
            llm.chat(HELLO)
        assert conversation.asked().missed == ""
    assert str(second.value) == str(first.value)


def test_a_log_that_breaks_off_is_read_up_to_there(tmp_path: Path) -> None:
    with Stub() as stub, talking(tmp_path / "live", stub) as (llm, _):
        llm.chat(HELLO, n=2, seed=1)
    log = tmp_path / "live" / "log.llm.ndjson"
    whole = log.read_bytes()
    log.write_bytes(whole[:-20])
    with closing(ExchangeReplay(log)) as replay:
        assert len(replay._places) == 1
    log.write_bytes(whole + b'{"no": "exchange"}\n')
    with pytest.raises(UnavailableError, match="line 3"):
        ExchangeReplay(log)
    with pytest.raises(UnavailableError, match="cannot be read"):
        ExchangeReplay(tmp_path / "none")


# What comes from a sandbox is untrusted.


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET /v1/chat/completions HTTP/1.1\r\n\r\n", 405),
        (b"POST /v1/embeddings HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}", 404),
        (b"POST http://elsewhere/v1/chat/completions HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}", 404),
        (b"POST /v1/chat/completions/../models HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}", 404),
        (HEAD + b"\r\n", 411),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 411),
        (
            HEAD + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
            411,
        ),
        (
            HEAD + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
            411,
        ),
        (HEAD + b"Content-Length: +2\r\n\r\n{}", 411),
        (HEAD + b"Content-Length: 0x2\r\n\r\n{}", 411),
        (HEAD + b"Content-Length: 2, 2\r\n\r\n{}", 411),
        (HEAD + b"Content-Length : 2\r\n\r\n{}", 400),
        (HEAD + b"A: b\r\n c\r\nContent-Length: 2\r\n\r\n{}", 400),
        (HEAD + b"A: b\nContent-Length: 2\r\n\r\n{}", 400),
        (HEAD + b"Content-Length: 99999999999\r\n\r\n{}", 413),
        (HEAD + b"A: " + b"b" * 40_000 + b"\r\n\r\n", 431),
        (b"POST /v1/chat/completions HTTP/2.0\r\nContent-Length: 2\r\n\r\n{}", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", 400),
        (
            2 * (HEAD + b"Content-Length: 2\r\n\r\n{}"),
            400,
        ),
    ],
)
def test_all_but_one_kind_of_request_is_refused(tmp_path: Path, sent: bytes, status: int) -> None:
    with Stub() as stub, talking(tmp_path, stub):
        assert raw(tmp_path, sent).startswith(f"HTTP/1.1 {status} ".encode())
        assert stub.count == 0


def raw(folder: Path, sent: bytes) -> bytes:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(folder / NAME))
        with suppress(BrokenPipeError):
            connection.sendall(sent)
        said = b""
        while block := connection.recv(65536):
            said += block
    return said


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"nonsense",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"messages": NaN}',
        b'{"messages": []}',
        b'{"messages": [{"role": "tool", "content": "a"}]}',
        b'{"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}',
        b'{"messages": [{"role": "user", "content": "a"}], "stream": true}',
        b'{"messages": [{"role": "user", "content": "a"}], "tools": [{}]}',
        b'{"messages": [{"role": "user", "content": "a"}], "functions": [{}]}',
        b'{"messages": [{"role": "user", "content": "a"}], "n": 0}',
        b'{"messages": [{"role": "user", "content": "a"}], "n": 65}',
        b'{"messages": [{"role": "user", "content": "a"}], "n": true}',
        b'{"messages": [{"role": "user", "content": "a"}], "n": 1.5}',
        b'{"messages": [{"role": "user", "content": "a"}], "max_tokens": -1}',
        b'{"messages": [{"role": "user", "content": "a"}], "seed": 1e3}',
        b'{"messages": [{"role": "user", "content": "a"}], "temperature": 1' + b"0" * 400 + b"}",
        b'{"messages": [{"role": "user", "content": "a"}], "temperature": 1' + b"0" * 5000 + b"}",
        b'{"messages": [{"role": "user", "content": "a"}], "stop": ["a", 1]}',
        b'{"messages": [{"role": "user", "content": "a"}], "stop": ["a", "b", "c", "d", "e"]}',
    ],
)
def test_requests_of_another_form_are_refused(body: bytes) -> None:
    with pytest.raises(RefusedError) as caught:
        ChatRequest.read(body, LlmSettings("m"))
    assert caught.value.status == 400


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_nothing_breaks_the_reader(body: bytes) -> None:
    with pytest.raises(RefusedError):
        ChatRequest.read(body, LlmSettings("m"))


def test_only_what_is_known_goes_on() -> None:
    told = {
        "messages": [{"role": "user", "content": "a\ud800", "name": "x", "tool_calls": [1]}],
        "model": "another",
        "api_key": "x",
        "user": "me",
        "max_tokens": 10**9,
        "temperature": 1,
        "stop": "end",
        "logit_bias": {"1": 100},
        "tools": [],
        "stream": False,
    }
    question = ChatRequest.read(
        json.dumps(told).encode(), LlmSettings("pinned", {"top_k": 5, "temperature": None})
    )
    assert question.request == {
        "model": "pinned",
        "messages": [{"role": "user", "content": "a?"}],
        "max_tokens": 16_384,
        "stop": ["end"],
        "top_k": 5,
    }
    newer = ChatRequest.read(
        json.dumps(told).encode(), LlmSettings("m", {"max_completion_tokens": 50})
    )
    assert newer.request["max_completion_tokens"] == newer.completion_tokens == 50
    assert "max_tokens" not in newer.request


@pytest.mark.parametrize("own", [{}, {"max_tokens": 10}, {"max_tokens": 2048}])
@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
@pytest.mark.parametrize("tokens", [1, 1024, 32_768])
def test_the_length_that_the_user_sets_wins(own: dict[str, int], name: str, tokens: int) -> None:
    """A model that thinks needs more than a method asks for, and a budget may want less."""
    body = json.dumps({"messages": [{"role": "user", "content": "a"}], **own}).encode()
    thinking = {"chat_template_kwargs": {"enable_thinking": True}, "reasoning_effort": "low"}
    question = ChatRequest.read(body, LlmSettings("m", {name: tokens, **thinking}))
    lengths = {key: value for key, value in question.request.items() if key.startswith("max_")}
    assert lengths == {name: tokens}
    assert question.completion_tokens == tokens
    assert thinking.items() <= question.request.items()


@given(st.text(max_size=300), st.integers(0, 2**31))
def test_a_prompt_has_no_more_tokens_than_are_set_aside(text: str, seed: int) -> None:
    body = json.dumps({"messages": [{"role": "user", "content": text}], "seed": seed, "n": 3})
    question = ChatRequest.read(body.encode(), LlmSettings("m"))
    sent = question.request["messages"][0]["content"]
    assert question.prompt_tokens >= len(sent.encode())
    hashes = {request_hash(question.single(index)) for index in range(3)}
    assert len(hashes) == 3
    assert question.single(0)["seed"] == seed


def test_many_silent_clients_do_not_keep_others_waiting(tmp_path: Path) -> None:
    with Stub() as stub, talking(tmp_path, stub) as (llm, _):
        idle = []
        for _ in range(60):
            connection = socket.socket(socket.AF_UNIX)
            connection.connect(str(tmp_path / NAME))
            idle.append(connection)
        threads = threading.active_count()
        for connection in idle:
            connection.close()
        assert llm.chat(HELLO)
    assert threads < 60


def test_who_waits_for_an_answer_is_let_go_at_the_end(tmp_path: Path) -> None:
    ends: list[str] = []
    with Stub(mode="never-ends") as stub, talking(tmp_path, stub) as (llm, _):

        def ask() -> None:
            try:
                llm.chat(HELLO)
            except LanguageModelError as error:
                ends.append(str(error))

        asks = threading.Thread(target=ask)
        asks.start()
        while not stub.count:
            time.sleep(0.005)
    asks.join()
    assert len(ends) == 1
    (line,) = lines(tmp_path)
    assert line.error == "the job had ended"


def test_many_calls_leave_no_memory_behind(tmp_path: Path) -> None:
    with Stub(keeps=False) as stub, talking(tmp_path, stub) as (_, conversation):
        body = json.dumps({"messages": HELLO, "seed": 1}).encode()

        def ask(times: int) -> int:
            for _ in range(times):
                conversation.answer(body)
            return tracemalloc.get_traced_memory()[0]

        tracemalloc.start()
        try:
            before = ask(50)
            after = ask(400)
        finally:
            tracemalloc.stop()
        assert conversation.calls == 450
    assert after - before < 100_000
    assert len(lines(tmp_path)) == 450


# The key, and the endpoint.


def test_the_key_comes_from_one_place_and_shows_itself_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", f" {KEY}\n")
    file = tmp_path / "key"
    file.write_text(f"{KEY}\n")
    for key in (read_key("MY_KEY", None), read_key(None, file)):
        assert key.headers() == {"Authorization": f"Bearer {KEY}"}
        assert KEY not in repr(key) + str(key) + repr(vars(Endpoint("http://a", key)))
    assert read_key(None, None) is NO_KEY
    assert NO_KEY.headers() == {}
    for variable, place, words in [
        ("MY_KEY", file, "both given"),
        ("NO_SUCH_KEY", None, "no such variable"),
        (None, tmp_path / "none", "cannot be read"),
    ]:
        with pytest.raises(UsageError, match=words) as caught:
            read_key(variable, place)
        assert KEY not in str(caught.value)
    for content in ("", "two words", "ünlike"):
        file.write_text(content)
        with pytest.raises(UsageError):
            read_key(None, file)


@given(st.text(max_size=40), st.integers(0, 16), st.integers(8, 24))
def test_no_piece_of_a_key_is_left(around: str, start: int, length: int) -> None:
    piece = KEY[start : start + length]
    hidden = Key(KEY).hidden(f"{around}{piece}{around}")
    if len(piece) >= 8:
        assert piece not in hidden
    assert Key("").hidden(piece) == piece


@pytest.mark.parametrize(
    "url",
    ["ftp://a", "http://", "http://a:b", "http://me:pw@a/v1", "http://a/v1?key=1", "http://a/ v"],
)
def test_addresses_that_cannot_be_asked(url: str) -> None:
    with pytest.raises(UsageError, match="--llm-url"):
        Endpoint(url)


@pytest.mark.parametrize("end", ["", "/", "/v1", "/v1/", "/v1/chat/completions"])
def test_an_address_may_be_written_in_several_ways(end: str) -> None:
    with Stub() as stub, closing(Endpoint(stub.url.removesuffix("/v1") + end)) as endpoint:
        body = json.dumps({"messages": HELLO}).encode()
        assert [endpoint.ask(body).status for _ in range(3)] == [200] * 3


def test_a_connection_is_used_again_and_a_stale_one_replaced(tmp_path: Path) -> None:
    with Stub() as stub, closing(Endpoint(stub.url)) as endpoint:
        body = json.dumps({"messages": HELLO}).encode()
        endpoint.ask(body)
        (idle,) = endpoint._idle
        endpoint.ask(body)
        assert endpoint._idle == [idle]
        assert idle.sock is not None
        idle.sock.shutdown(socket.SHUT_RDWR)
        assert endpoint.ask(body).status == 200
    assert tmp_path.exists()


def test_the_environments_proxy_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with Stub() as stub:
        monkeypatch.setenv("http_proxy", f"http://me:secret@127.0.0.1:{stub.port}")
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        with closing(Endpoint("http://far.example:8000/v1")) as endpoint:
            endpoint.ask(b"{}")
        assert stub.headers[0]["Host"] == "far.example:8000"
        assert stub.headers[0]["Proxy-Authorization"].startswith("Basic ")
        monkeypatch.setenv("no_proxy", "far.example")
        with closing(Endpoint("http://far.example:8000/v1", seconds=2.0)) as endpoint:
            assert endpoint._proxy is None


def test_certificates_are_asked_for_and_may_be_the_users_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        Stub() as stub,
        closing(Endpoint(f"https://127.0.0.1:{stub.port}/v1", seconds=60.0)) as endpoint,
        pytest.raises(EndpointError, match=r"TLS failed|connection failed"),
    ):
        endpoint.ask(b"{}")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))
    with pytest.raises(UsageError, match="certificates"):
        Endpoint("https://far.example/v1")


def test_an_endpoint_behind_the_users_own_certificate_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = ROOT / "tests" / "golden" / "tls" / "server.pem"  # a key that nothing else trusts
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(own)
    body = json.dumps({"messages": HELLO}).encode()
    with Stub() as stub:
        listening = stub._server
        listening.socket = tls.wrap_socket(listening.socket, server_side=True)
        url = f"https://localhost:{stub.port}/v1"
        for name in CERTIFICATES:
            monkeypatch.delenv(name, raising=False)
        with (
            closing(Endpoint(url, seconds=60.0)) as endpoint,
            pytest.raises(EndpointError, match="TLS failed"),
        ):
            endpoint.ask(body)
        monkeypatch.setenv("SSL_CERT_FILE", str(own))
        with closing(Endpoint(url, seconds=60.0)) as endpoint:
            assert endpoint.ask(body).status == 200
        elsewhere = url.replace("localhost", "127.0.0.1")  # a name that is not in it
        with (
            closing(Endpoint(elsewhere, seconds=60.0)) as endpoint,
            pytest.raises(EndpointError, match="TLS failed"),
        ):
            endpoint.ask(body)


def test_a_method_without_a_socket_is_shown_what_to_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(SOCKET_VARIABLE, raising=False)
    with pytest.raises(Unavailable, match="--llm-model"):
        language_model()
    monkeypatch.setenv(SOCKET_VARIABLE, str(tmp_path / "none"))
    with pytest.raises(Unavailable, match="cannot be reached"):
        language_model()
    with pytest.raises(LanguageModelError, match="did not answer"):
        LanguageModel(str(tmp_path / "none")).chat(HELLO)


def test_a_long_path_is_no_trouble(tmp_path: Path) -> None:
    folder = tmp_path / ("a" * 120)
    with Stub() as stub, talking(folder, stub) as (llm, _):
        assert llm.chat(HELLO)
