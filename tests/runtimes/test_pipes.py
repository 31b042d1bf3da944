"""Named pipes between host and worker: both ways, for as long as both are there."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from harness import ROOT

from mdbench.runtimes.engine import Pipes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ECHO = """
import sys
from pathlib import Path
from mdbench.worker.serve import _open_pipes
channel = _open_pipes(Path(sys.argv[1]))
if channel is None:
    sys.exit("nobody there")
while message := channel.receive():
    print("heard", len(message["text"]), file=sys.stderr, flush=True)
    channel.send(**message)
"""


@contextmanager
def echo(folder: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", ECHO, str(folder)]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture
def pipes(tmp_path: Path) -> Iterator[Pipes]:
    made = Pipes(tmp_path / "pipes")
    yield made
    made.close()


def line_from(pipes: Pipes, descriptor: int) -> bytes:
    found = b""
    while not found.endswith(b"\n"):
        assert select.select([descriptor], [], [], 20)[0], found[:80]
        found += pipes.read(descriptor)
    return found


@pytest.mark.parametrize("size", [1, 1_000_000])
def test_lines_of_any_length_go_both_ways(pipes: Pipes, size: int) -> None:
    line = json.dumps({"text": "x" * size}, separators=(",", ":")).encode() + b"\n"
    with echo(pipes.folder) as worker:
        rest = memoryview(line)
        while rest:
            sent = pipes.send(rest, 20)
            assert sent
            rest = rest[sent:]
        assert line_from(pipes, pipes.answers) == line
        assert line_from(pipes, pipes.log) == f"heard {size}\n".encode()
        pipes.close_orders()
        assert worker.wait(20) == 0


def test_an_empty_pipe_reads_nothing_and_a_full_one_sends_nothing(pipes: Pipes) -> None:
    assert pipes.read(pipes.answers) == b""
    full = memoryview(b"x" * 2**20)
    while pipes.send(full, 0):
        pass
    assert pipes.send(full, 0.01) == 0


def test_without_a_host_the_worker_does_not_wait(tmp_path: Path) -> None:
    for name in ("orders", "answers", "log"):
        os.mkfifo(tmp_path / name)
    with echo(tmp_path) as worker:
        assert worker.wait(20) == 1
        assert worker.stderr is not None
        assert worker.stderr.read() == "nobody there\n"
