"""Code that runs in a method's own environment: imported once, then a fresh fork for each run."""

from __future__ import annotations

import json
import os
import select
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SECONDS = 1800.0
"""How long an import or a run may take.  A machine with other work needs minutes for PyTorch."""

_SERVER = """
import gc, importlib, json, os, sys, traceback
settings = json.loads(sys.stdin.readline())
sys.path[:0] = settings["path"]
importlib.import_module("adapter")
gc.freeze()
print("ready", flush=True)
for line in sys.stdin:
    order = json.loads(line)
    pid = os.fork()
    if pid == 0:
        for number, name in enumerate(("input", "output", "errors")):
            opened = os.open(os.path.join(order["folder"], name), os.O_RDWR | os.O_CREAT, 0o600)
            os.dup2(opened, number)
        sys.stdin = open(0)
        sys.stdout, sys.stderr = open(1, "w"), open(2, "w")
        status = 1
        try:
            exec(compile(order["code"], "<driver>", "exec"), {"__name__": "__main__"})
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


class Inside:
    """A process that has imported a method's adapter."""

    def __init__(self, process: subprocess.Popen[str], seconds: float) -> None:
        self._process, self._seconds = process, seconds

    def run(self, code: str, given: Any = None) -> subprocess.CompletedProcess[str]:
        """Run a program, with something as JSON on its standard input, in a fork."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "input").write_text(json.dumps(given), encoding="utf-8")
            status = int(self.ask({"folder": name, "code": code}))
            output, errors = (
                (folder / each).read_text(encoding="utf-8") for each in ("output", "errors")
            )
        return subprocess.CompletedProcess(["inside"], status, output, errors)

    def ask(self, order: dict[str, Any]) -> str:
        """Send a line and wait for one."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        answered = select.select([self._process.stdout], [], [], self._seconds)[0]
        assert answered, f"no answer from inside in {self._seconds:g} s"
        line = self._process.stdout.readline()
        assert line, f"the process inside ended with status {self._process.wait()}"
        return line


@contextmanager
def inside(
    python: Path, folders: Sequence[Path], *options: str, seconds: float = SECONDS
) -> Iterator[Inside]:
    """Start an interpreter, and import the adapter that is found first in the folders."""
    with subprocess.Popen(
        [python, *options, "-c", _SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
    ) as process:
        try:
            made = Inside(process, seconds)
            assert made.ask({"path": [str(folder) for folder in folders]}) == "ready\n"
            yield made
        finally:
            process.kill()
