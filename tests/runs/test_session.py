"""What a worker hands over is untrusted: adapters here reach into the worker and forge it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from harness import (
    ZERO,
    HereRuntime,
    Quiet,
    add_method,
    children,
    execute,
    make_workspace,
    one_worker,
)

from mdbench.records import Record, Status
from mdbench.runs.plan import make_plan
from mdbench.runs.study import RunOptions

if TYPE_CHECKING:
    from mdbench.workspace import Workspace

FORGER = """
import io
import os
import numpy as np
import mdbench.worker.job as job

class Adapter:
    def __init__(self, *, seed, threads): ...
    def fit(self, problem): ...
    def predict(self, problem):
        return np.zeros((len(problem.X), 1))
    def equations(self):
        return ["0"]

def forge(self, file, array):
    path = self.folder / file
    {forge}
    return file

job.Connection.save = forge
"""

TALKER = """
import os
import numpy as np
import mdbench.worker.job as job

class Adapter:
    def __init__(self, *, seed, threads): ...
    def fit(self, problem): ...
    def predict(self, problem):
        return np.zeros((len(problem.X), 1))
    def equations(self):
        return ["0"]

honest = job.Connection.send

def send(self, type_, **content):
    {talk}
    honest(self, type_, **content)

job.Connection.send = send
"""


FILES = (
    ("os.symlink('/etc/passwd', path)", "cannot be read"),
    ("os.mkfifo(path)", "no plain file"),
    ("os.mkdir(path)", "no plain file"),
    ("pass", "cannot be read"),
    ("path.write_bytes(b'')", "no array of numbers"),
    ("path.write_bytes(b'hello' * 100)", "no array of numbers"),
    ("np.save(path, array.astype(np.float32))", "no array of float64"),
    ("np.save(path, array.astype(complex))", "no array of float64"),
    ("np.save(path, np.array([object()] * 118)[:, None])", "no array of float64"),
    ("np.save(path, array); os.truncate(path, os.stat(path).st_size - 8)", "cut short"),
    ("np.save(path, array); os.truncate(path, 2**30)", "holds more than its array"),
    (r"path.write_bytes(b'\x93NUMPY\x01\x00\x02\x00{(')", "no array of numbers"),
    ("np.save(path, np.zeros((118, 2)))", "shape (118, 2); (118, 1) expected"),
    ("np.save(path, np.zeros(()))", "shape (); (118, 1) expected"),
)
"""What a job leaves for its predictions, and why they are refused."""
LINES = (
    ("os.write(self._channel._write_fd, b'nonsense\\n')", "no JSON"),
    ("os.write(self._channel._write_fd, b'\\xff\\xfe\\n')", "no JSON"),
    ("honest(self, 'hello')", "breaks the protocol"),
    ("honest(self, type_, **content, extra=1)", "breaks the protocol"),
    ("self.order = {**self.order, 'job': 'another'}", "of another job"),
    ("honest(self, 'ended', exit=0)", "exit status 0"),
    (
        r"content = content | {'equations': ['\udcff']} if 'equations' in content else content",
        "",
    ),
    ("os.write(self._channel._write_fd, b'x' * (33 * 2**20))", "more than"),
)
"""What a job sends, and why it is refused."""


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Record, Record]]:
    """The record of each case, and that of an honest job after it, all of one worker."""
    cases = {forge: FORGER.format(forge=forge) for forge, _ in FILES}
    cases |= {talk: TALKER.format(talk=talk) for talk, _ in LINES}
    texts = [text for case in cases.values() for text in (case, ZERO)]
    ended = one_worker(make_workspace(tmp_path_factory.mktemp("session")), texts, timeout_s=20.0)
    return dict(zip(cases, zip(ended[::2], ended[1::2], strict=True), strict=True))


@pytest.mark.parametrize(("forge", "reason"), FILES)
def test_files_that_are_no_predictions(
    records: dict[str, tuple[Record, Record]], forge: str, reason: str
) -> None:
    liar, honest = records[forge]
    assert liar.status is Status.INVALID_OUTPUT
    assert reason in liar.reason
    assert liar.metrics == {}
    assert honest.status is Status.OK


@pytest.mark.parametrize(("talk", "reason"), LINES)
def test_lines_that_are_no_messages(
    records: dict[str, tuple[Record, Record]], talk: str, reason: str
) -> None:
    liar, honest = records[talk]
    assert liar.status in {Status.INVALID_OUTPUT, Status.CRASHED}
    assert reason in liar.reason
    assert liar.metrics == {}
    assert honest.status is Status.OK


def test_the_process_that_is_killed_is_never_another_ones(workspace: Workspace) -> None:
    # The job names a process of ours as its own, and then runs out of time.
    talk = f"content = {{**content, 'pid': {os.getpid()}}} if type_ == 'started' else content"
    adapter = TALKER.format(talk=talk).replace(
        "fit(self, problem): ...", "fit(self, problem):\n        import time; time.sleep(60)"
    )
    add_method(workspace, "liar", adapter)
    options = RunOptions(
        ("liar",), "ode", ("rc-circuit",), timeout_s=0.5, result_dir=workspace.root / "r"
    )
    (record,) = execute(make_plan(options, workspace), HereRuntime(), Quiet()).records
    assert record.status is Status.TIMEOUT
    assert not children()
