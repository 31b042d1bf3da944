"""The host's side of the protocol against the golden conversations, and against nonsense."""

from __future__ import annotations

import json
import unicodedata
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdbench.runtimes import protocol

GOLDEN = Path(__file__).parents[1] / "golden" / "protocol"
SAMPLES = {
    "<number>": 1.5,
    "<pid>": 42,
    "<python>": "3.11.7",
    "<kernel>": "SkylakeX",
    "<threads>": 1,
    "<folder>": "/job",
}
HOST = {
    "job": protocol.JobOrder,
    "refit": protocol.Refit,
    "describe": protocol.Describe,
    "predict": protocol.Predict,
}


def lines(speaker: str) -> list[dict[str, Any]]:
    found = []
    for file in sorted(GOLDEN.glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            for who, message in json.loads(line).items():
                if who == speaker:
                    found.append(
                        {
                            k: SAMPLES.get(v, v) if isinstance(v, str) else v
                            for k, v in message.items()
                        }
                    )
    return found


@pytest.mark.parametrize("message", lines("worker"), ids=lambda m: m["type"])
def test_accepts_the_golden_lines_of_a_worker(message: dict[str, Any]) -> None:
    parsed = protocol.parse_message(json.dumps(message).encode())
    assert json.loads(parsed.model_dump_json()) == message


@pytest.mark.parametrize("message", lines("host"), ids=lambda m: m["type"])
def test_writes_the_golden_lines_of_the_host(message: dict[str, Any]) -> None:
    model = HOST[message["type"]](**message)
    assert json.loads(model.model_dump_json()) == message


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"hello",
        b"\xff\xfe",
        b"[]",
        b"3",
        b'{"type":"no such type"}',
        b'{"type":"started","job":"a"}',
        b'{"type":"started","job":"a","pid":1,"more":2}',
        b'{"type":"ended","job":"a","exit":NaN}',
        b'{"type":"candidates","job":"a","items":[],"predictions":"../../etc/passwd"}',
        b'{"type":"predicted","job":"a","predictions":"other.npy","seconds":1}',
        b'{"type":"described","job":"a","equations":"u0"}',
        b'{"type":"failed","job":"a","kind":"ok","error":""}',
        b"[" * 100_000,
        b'{"type":' * 50_000,
    ],
)
def test_refuses_what_is_no_message(line: bytes) -> None:
    with pytest.raises(protocol.ProtocolError):
        protocol.parse_message(line)


def test_refuses_a_line_that_is_too_long() -> None:
    with pytest.raises(protocol.ProtocolError, match="at most"):
        protocol.parse_message(b" " * (protocol.MAX_LINE + 1))


@given(st.binary(max_size=200) | st.text().map(lambda t: json.dumps({"type": t}).encode()))
def test_nonsense_never_raises_anything_else(line: bytes) -> None:
    with pytest.raises(protocol.ProtocolError):
        protocol.parse_message(line)


def test_refuses_a_message_of_too_many_parts() -> None:
    parts = b",".join([b"[]"] * 600_000)
    line = b'{"type":"candidates","job":"a","items":[%s],"predictions":null}' % parts
    assert len(line) < protocol.MAX_LINE
    with pytest.raises(protocol.ProtocolError, match="1000000 parts"):
        protocol.parse_message(line)


def test_refuses_large_hyperparameters() -> None:
    item = {"equations": ["u0"], "hyperparameters": {"a": "x" * 30_000}, "target": None}
    line = {"type": "candidates", "job": "a", "items": [item], "predictions": None}
    with pytest.raises(protocol.ProtocolError, match="20000 characters"):
        protocol.parse_message(json.dumps(line).encode())


@given(st.text())
def test_what_is_received_can_be_printed(text: str) -> None:
    for line in (
        json.dumps({"type": "failed", "job": "a", "kind": "failed", "error": text}),
        json.dumps(
            {"type": "failed", "job": "a", "kind": "failed", "error": text}, ensure_ascii=False
        ),
    ):
        with suppress(UnicodeEncodeError):
            message = protocol.parse_message(line.encode())
            assert isinstance(message, protocol.Failed)
            assert all(
                each.isprintable() or each in "\n\t" or unicodedata.category(each) == "Zs"
                for each in message.error
            )
