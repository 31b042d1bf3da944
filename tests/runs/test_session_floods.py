"""Jobs that send without end: each ends at its limit, with what was valid and in time."""

from __future__ import annotations

from textwrap import dedent
from typing import TYPE_CHECKING

import pytest
from harness import HereRuntime, Quiet, add_method, execute, make_workspace

from mdbench.records import Record, Status
from mdbench.runs.plan import make_plan
from mdbench.runs.study import RunOptions

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

ADAPTER = """
import gc
import json
import os
from itertools import count
from mdbench.worker import Candidate
from mdbench.worker.job import Connection

def send(**message):
    (host,) = (each for each in gc.get_objects() if isinstance(each, Connection))
    line = memoryview(json.dumps({{"job": host.order["job"], **message}}).encode() + b"\\n")
    while line:
        line = line[os.write(host._channel._write_fd, line):]

class Adapter:
    def __init__(self, *, seed, threads): ...
    def fit(self, problem):
        if {raw}:
            flood()
    def candidates(self):
        yield from flood()
    def choose(self, indices): ...
    def predict(self, problem): return 0 * problem.X
    def equations(self): return ["0"]

def flood():
{flood}
"""
FLOODS = {
    "candidates": (
        "for number in count(): yield Candidate((f'{number}*u0',))",
        {Status.PARTIAL},
        "ran longer|more than 100000 candidates",
    ),
    "long candidates": (
        "for number in count(): yield Candidate((f'{number}*u0' + '+ u0' * 5000,))",
        {Status.PARTIAL},
        "ran longer|more than 64 MiB",
    ),
    "large settings": (
        "for n in count(): yield Candidate(('u0',), hyperparameters={'a': [n] * 999})",
        {Status.PARTIAL},
        "ran longer|more than 64 MiB|100000",
    ),
    "started": (
        "while True: send(type='started', pid=1)",
        {Status.INVALID_OUTPUT},
        "'started' where",
    ),
    "a line without an end": (
        "while True: send(type='x' * 2**20)",
        {Status.INVALID_OUTPUT},
        "breaks the protocol",
    ),
    "the log": ("while True: os.write(2, b'x' * 2**16)", {Status.TIMEOUT}, "ran longer"),
}


def run(tmp_path: Path, text: str) -> Record:
    workspace = make_workspace(tmp_path)
    raw = "yield" not in text
    flood = dedent(text).replace("\n", "\n    ")
    add_method(workspace, "floods", ADAPTER.format(raw=raw, flood=f"    {flood}"), tuning="front")
    options = RunOptions(
        ("floods",),
        "ode",
        ("rc-circuit",),
        result_dir=workspace.root / "results",
        n_jobs=1,
        timeout_s=1.5,
    )
    (record,) = execute(make_plan(options, workspace), HereRuntime(), Quiet()).records
    return record


@pytest.mark.parametrize("name", FLOODS)
def test_a_flood_ends_at_a_limit(tmp_path: Path, name: str) -> None:
    text, statuses, reason = FLOODS[name]
    record = run(tmp_path, text)
    assert record.status in statuses, record.reason
    assert any(each in record.reason for each in reason.split("|")), record.reason


def test_what_is_shown_of_an_error_can_be_shown(tmp_path: Path) -> None:
    record = run(tmp_path, "raise ValueError('\\x1b[2J\\x00 \\u202e' + 'x' * 10**6)")
    assert record.status is Status.FAILED
    assert record.reason.startswith("ValueError: \\x1b[2J\\x00 \\u202ex")
    assert record.reason.isprintable()
    assert len(record.reason) <= 520
