"""The mock server of ``mdbench llm stub``: each of its modes, as a client sees it."""

from __future__ import annotations

import json
import time
from http.client import HTTPConnection
from typing import Any

import pytest
from model_server import Stub as FullStub

from mdbench.errors import UsageError
from mdbench.extensions.language_models.stub import MODES, Stub

REQUEST = {
    "model": "m",
    "messages": [{"role": "user", "content": "Variables: u0, u1. Give json."}],
}


def answered(stub: Stub, request: dict[str, Any] = REQUEST) -> tuple[int, Any]:
    connection = HTTPConnection("127.0.0.1", stub.port, timeout=60)
    connection.request("POST", "/v1/chat/completions", json.dumps(request))
    response = connection.getresponse()
    body = json.loads(response.read())
    connection.close()
    return response.status, body


STATUSES = {
    "good": 200,
    "prose": 200,
    "slow": 200,
    "401": 401,
    "429": 429,
    "500": 500,
    "quota": 429,
}


@pytest.mark.parametrize(("mode", "status"), STATUSES.items())
def test_every_mode_answers_as_it_says(mode: str, status: int) -> None:
    with Stub(mode=mode, delay=0.05) as stub:
        start = time.monotonic()
        answer, body = answered(stub)
        seconds = time.monotonic() - start
        assert stub.count == 1
    assert answer == status
    assert ("choices" in body) == (status == 200)
    assert seconds >= (0.05 if mode == "slow" else 0.0)
    if mode == "quota":
        assert body["error"]["code"] == "insufficient_quota"
    if mode == "prose":
        assert "```" not in body["choices"][0]["message"]["content"]


def test_all_modes_are_tried() -> None:
    assert MODES.keys() == STATUSES.keys()


def test_the_same_request_has_the_same_answer_and_n_is_kept() -> None:
    with Stub(answer="u0*u1", knows=1.0) as stub, FullStub(answer="u0*u1", knows=1.0) as full:
        (_, first), (_, second) = answered(stub, REQUEST | {"n": 3}), answered(stub)
        (_, third) = answered(full)
    texts = [choice["message"]["content"] for choice in first["choices"]]
    assert len(texts) == 3
    assert "u0*u1" in texts[0]
    assert second["choices"] == third["choices"]
    assert second["usage"]["total_tokens"] == sum(
        second["usage"][name] for name in ("prompt_tokens", "completion_tokens")
    )


def test_a_mistyped_mode_is_answered_with_the_one_that_is_meant() -> None:
    with pytest.raises(UsageError, match="--mode is 'quotas'") as caught:
        Stub(mode="quotas")
    assert "quota" in caught.value.hint
