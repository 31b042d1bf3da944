"""Throw-away workspaces and methods for the tests, made from strings."""

from __future__ import annotations

import importlib
import os
import platform
import re
import shutil
import subprocess
import sys
import time
import tomllib
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import pytest

from mdbench.backends.local import LocalBackend
from mdbench.methods import SHARED
from mdbench.runs import execute as _execute
from mdbench.runs.exchange import JobExchange
from mdbench.runs.plan import make_plan
from mdbench.runs.study import RunOptions
from mdbench.runtimes import venv
from mdbench.runtimes.base import Prepared
from mdbench.runtimes.venv import VenvRuntime
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import ModuleType

    from mdbench.methods import Method
    from mdbench.records import Record
    from mdbench.runs.execute import Backend, Observer, Summary
    from mdbench.runs.plan import Plan
    from mdbench.runs.session import JobSession
    from mdbench.runs.spec import JobSpec
    from mdbench.runtimes.base import Runtime
    from mdbench.runtimes.protocol import Message

_Known = TypeVar("_Known")

ROOT = Path(__file__).resolve().parents[2]

METHOD = """
schema = 1
name = "{name}"
title = "a throw-away method"
family = "baseline"
view = "table"
data_types = ["ode"]
tuning = "{tuning}"
seedable = true
licence = "MIT"
{more}
"""

ZERO = """
import numpy as np

class Adapter:
    def __init__(self, *, seed, threads): ...
    def fit(self, problem):
        self.targets = len(problem.targets)
    def predict(self, problem):
        return np.zeros((len(problem.X), self.targets))
    def equations(self):
        return ["0"] * self.targets
"""
"""A method that says zero; the simplest legal answer."""


class HereRuntime(VenvRuntime):
    """Runs workers by the interpreter of the tests: no environment is made."""

    name: ClassVar[str] = "venv"

    def __init__(self, *, wrapped: bool | None = None) -> None:
        super().__init__(Path("/nonexistent"), wrapped=wrapped)

    def prepare(self, method: Method) -> Prepared:
        return Prepared((sys.executable,), method.lock_sha256(), platform.python_version())


def execute(
    plan: Plan, runtime: Runtime, observer: Observer, backend: Backend | None = None
) -> Summary:
    """Run a plan by a backend; in threads of this process unless it is said otherwise."""
    return _execute.execute(plan, runtime, observer, backend or LocalBackend())


class Quiet:
    """An observer that remembers."""

    def __init__(self) -> None:
        self.messages: list[str] = []
        self.started: list[JobSpec] = []
        self.ended: list[Record] = []
        self.counts = (0, 0)

    def message(self, text: str) -> None:
        self.messages.append(text)

    def prepared(self, to_run: int, done: int) -> None:
        self.counts = (to_run, done)

    def job_started(self, job: JobSpec) -> None:
        self.started.append(job)

    def job_ended(self, job: JobSpec, record: Record) -> None:
        assert job in self.started
        self.ended.append(record)


def copy_of_clone(root: Path, *, compiled: bool = False) -> Path:
    """Put there what a clone would hold once the work tree is committed as it is.

    Parameters
    ----------
    compiled
        Whether what was compiled of the packages is put there, too, for commands to begin sooner.
    """
    listed = subprocess.check_output(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT
    )
    for name in filter(None, listed.decode().split("\0")):
        if (ROOT / name).is_file():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, root / name)
    for package in ("eqverdict", "mdbench") if compiled else ():
        for file in (ROOT / package).rglob("*.pyc"):
            there = root / file.relative_to(ROOT)
            if there.parent.parent.is_dir():
                there.parent.mkdir(exist_ok=True)
                shutil.copy2(file, there)
    return root


def use_on_command_line(
    workspace: Workspace, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Have the command line find a workspace and run its methods here, from a folder."""
    for name, value in (
        *(("MDBENCH_ROOT", workspace.root), ("MDBENCH_HOME", workspace.home), ("COLUMNS", 120)),
        ("MDBENCH_RUNTIME", "venv"),
    ):
        monkeypatch.setenv(name, str(value))
    # It has a subclass of what is replaced.
    with suppress(ImportError):
        importlib.import_module("mdbench.extensions.engines.apptainer")
    monkeypatch.setattr(venv, "VenvRuntime", lambda *_, **__: HereRuntime())
    monkeypatch.chdir(folder)


def make_workspace(tmp_path: Path, home: Path | None = None) -> Workspace:
    """Make a workspace with the project's systems and no methods."""
    root = tmp_path / "root"
    (root / "algorithms").mkdir(parents=True)
    (root / "datasets").symlink_to(ROOT / "datasets")
    return Workspace(root, home or tmp_path / "home")


def section_of(page: str, title: str) -> str:
    """Return a section of the second level of a page of the documents."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def add_method(
    workspace: Workspace, name: str, adapter: str = ZERO, *, tuning: str = "none", more: str = ""
) -> Path:
    """Add a method whose adapter is the given text."""
    folder = workspace.algorithms / name
    folder.mkdir()
    toml = METHOD.format(name=name, tuning=tuning, more=dedent(more))
    (folder / "method.toml").write_text(toml, encoding="utf-8")
    (folder / "adapter.py").write_text(dedent(adapter), encoding="utf-8")
    (folder / "requirements.in").write_text("# nothing\n", encoding="utf-8")
    (folder / "requirements.lock").write_text("# nothing\n", encoding="utf-8")
    return folder


_CASES = """
TEXTS = {texts!r}

class Adapter:
    def __new__(cls, *, seed, threads):
        names = {{"__name__": "adapter"}}
        exec(TEXTS[seed], names)
        return names["Adapter"](seed=seed, threads=threads)
"""


def one_worker(workspace: Workspace, texts: Sequence[str], **changes: Any) -> list[Record]:
    """Run the adapters of many cases in jobs of one worker; return the record of each.

    The seed of a job is the place of its text.  What a text does to the worker's modules ends with
    its job, as each is a process of its own.
    """
    add_method(workspace, "cases", _CASES.format(texts=list(texts)))
    options = RunOptions(
        ("cases",),
        "ode",
        ("rc-circuit",),
        seeds=tuple(range(len(texts))),
        result_dir=workspace.root / "results",
        n_jobs=1,
        timeout_s=100.0,
    )
    plan = make_plan(replace(options, **changes), workspace)
    records = execute(plan, HereRuntime(), Quiet()).records
    assert not children()
    return sorted(records, key=lambda record: record.seed)


def benchmark(name: str) -> ModuleType:
    """Import a benchmark, which imports others by their bare names."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "benchmarks")
        return importlib.import_module(name)


def known(value: _Known | None) -> _Known:
    """Return a value that must not be None."""
    assert value is not None
    return value


def number(score: float | str | None) -> float:
    """Return a score that must be a number."""
    assert isinstance(score, float | int)
    return score


def is_running(pid: int) -> bool:
    """Whether a process is alive (a zombie is not)."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def wait_until(condition: object, seconds: float = 120.0) -> bool:
    """Poll a condition; tell whether it came true before nobody would wait any more."""
    assert callable(condition)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return bool(condition())


@contextmanager
def calls() -> Iterator[list[int]]:
    """Count the calls of functions: work, as it is the same on every machine."""
    made = [0]

    def count(_frame: object, event: str, _argument: object) -> None:
        made[0] += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        yield made
    finally:
        sys.setprofile(before)


def out_of_time(monkeypatch: pytest.MonkeyPatch, so_far: Callable[[JobSession], bool]) -> None:
    """Let a job's time run out once it has come so far, however slow the machine is.

    The limit that the job is given is then a guard only.
    """
    honest = JobExchange._receive

    def watched(self: JobExchange, timeout: float) -> Message:
        session: JobSession = self._collect.__self__  # type: ignore[attr-defined]
        if self.deadline > time.monotonic() and so_far(session):
            self.deadline = time.monotonic()
        return honest(self, min(timeout, 0.05))

    monkeypatch.setattr(JobExchange, "_receive", watched)


def has_written(attempt: JobSession, name: str) -> bool:
    """Whether a file is in a job's folder."""
    return name in os.listdir(attempt._folder.descriptor)  # noqa: PTH208 - it is open


_SERVES = re.compile(
    rb"eqverdict\.limited_process|multiprocessing\.resource_tracker|podman\0system\0service"
)


def children() -> set[int]:
    """Return the processes that this one has started and that still run.

    Not those that serve until this one ends: those in which SymPy works, Podman's service, and the
    one by which multiprocessing keeps count of what is shared.
    """
    me = os.getpid()
    found = set()
    for task in Path(f"/proc/{me}/task").iterdir():
        try:
            text = (task / "children").read_text(encoding="ascii")
        except OSError:
            continue
        found |= {int(pid) for pid in text.split()}
    return {pid for pid in found if is_running(pid) and not _SERVES.search(_words(pid))}


def _words(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


@contextmanager
def imported(method: str) -> Iterator[Any]:
    """Import the adapter of one of the project's methods as the worker does.

    No module of any method is there before, or left behind.
    """
    folder = ROOT / "algorithms" / method
    content = tomllib.loads((folder / "method.toml").read_text(encoding="utf-8"))
    shared = {name: folder.parent / SHARED / name for name in content.get("uses", ())}
    used = [at if at.is_dir() else folder.parent / name for name, at in shared.items()]
    folders = [folder, *used]
    before = sys.path[:]
    sys.path[:0] = map(str, folders)
    _forget_methods()
    try:
        yield importlib.import_module("adapter")
    finally:
        sys.path[:] = before
        _forget_methods()


def _forget_methods() -> None:
    """Forget all modules of methods: several have modules of one name, such as ``library``."""
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None) or "").startswith(f"{ROOT}/algorithms/"):
            del sys.modules[name]


def nest(folder: Path, depth: int) -> None:
    """Make a folder in a folder in a folder, deeper than any path may be long."""
    code = (
        "import os, sys\n"
        "os.chdir(sys.argv[1])\n"
        "for _ in range(int(sys.argv[2])):\n"
        "    os.mkdir('d'); os.chdir('d')\n"
        "open('file', 'w').close()\n"
    )
    subprocess.run([sys.executable, "-c", code, folder, str(depth)], check=True)
