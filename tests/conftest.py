"""What holds for all tests.

On a CI machine a test is skipped for a stated reason, or fails.  The fast lane leaves out what
needs a container engine, a browser or the build of an environment, and what is slow: that is the
slow lane.  Whole sweeps, of which both lanes have a seeded part, are the nightly lane.
"""

from __future__ import annotations

import gc
import os
import signal
import zlib
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

from mdbench.startup import use_common_arithmetic

if TYPE_CHECKING:
    from collections.abc import Generator

    from mdbench.workspace import Workspace

# As `mdbench.cli` does, and for the same reason: what is computed in this process is compared with
# what other processes compute, to the last digit.  NumPy reads it when it is loaded.
use_common_arithmetic()

# A shell starts what it runs in the background with Ctrl-C ignored, and children inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

ALLOWED_SKIPS = (
    "no image registry",
    "no Julia",
    "no model hub",
    "no GPU",
    "no Podman",
    "no Apptainer",
)
"""How the reason of a skip may begin: what a CI machine cannot be expected to have."""

_Report = TypeVar("_Report", pytest.TestReport, pytest.CollectReport)


settings.register_profile("mdbench", deadline=None, derandomize=True)
settings.load_profile("mdbench")  # the same examples each time, however busy the machine is

EXTENSIONS = Path(__file__).parent.parent / "mdbench" / "extensions"
NOT_FAST = ("slow", "engine", "browser", "build")
"""The marks of what the fast lane leaves out."""

MARKED = {
    "--slow": ("mark.slow", "mark.engine", "mark.browser", "mark.build", "from flavours"),
    "--nightly": ("mark.nightly", "mark.in_turn", "from sweeps", "from flavours"),
}
"""What stands in a file that has a test of a lane: other files are not even imported."""


def pytest_addoption(parser: pytest.Parser) -> None:
    marks = ", ".join(NOT_FAST)
    lane = parser.getgroup("lanes")
    lane.addoption("--fast", action="store_true", help=f"leave out what is marked {marks}")
    lane.addoption("--slow", action="store_true", help=f"only what is marked {marks}")
    lane.addoption("--nightly", action="store_true", help="only what is marked nightly")
    lane.addoption("--share", type=float, default=1.0, help="a seeded share, from 0 to 1, of these")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out files that have no test of the lane: to import all takes 20 s."""
    if collection_path.suffix != ".py" or collection_path.name == "conftest.py":
        return None
    text = collection_path.read_text(encoding="utf-8", errors="replace")
    lanes = [words for lane, words in MARKED.items() if config.getoption(lane)]
    return True if any(not any(word in text for word in words) for words in lanes) else None


def pytest_configure() -> None:
    gc.disable()  # while tests are collected, of which all live as long as the session


def pytest_collection_finish() -> None:
    gc.freeze()  # what was collected is not looked through again, which takes 0.3 s each time
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Look for examples in docstrings of the packages alone, not in those of the tests."""
    return [file for file in (yield) if not isinstance(file, DoctestModule)]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    lanes = {True: config.getoption("--slow"), False: config.getoption("--fast")}
    nightly = config.getoption("--nightly")
    share = config.getoption("--share")
    items[:] = [item for item in items if _has_something_to_try(item)]
    out_of_turn = _out_of_turn(items)
    left_out = [
        item
        for item in items
        if (item.get_closest_marker("nightly") is None and item not in out_of_turn) == nightly
        or zlib.crc32(item.nodeid.encode()) >= share * 2**32
        or lanes[not any(map(item.get_closest_marker, NOT_FAST))]
        or any(not (EXTENSIONS / mark.args[0]).is_dir() for mark in item.iter_markers("extension"))
    ]
    config.hook.pytest_deselected(items=left_out)
    gone = set(map(id, left_out))
    items[:] = [item for item in items if id(item) not in gone]


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling | None:
    """Give whole groups of slow tests to one process.

    The groups of pytest-xdist 3.8 itself have no effect with pytest 9.2.
    """
    return _Grouped(config, log) if config.getvalue("dist") == "loadgroup" else None


LONGEST = (
    *("sandboxes", "tests/docs/", "tests/runtimes/environments/"),
    *("tests/scripts/", "tests/algorithms/"),
)
"""How the names of the groups begin that take longest: they begin first, so that none is left to
one process at the end."""


class _Grouped(LoadScopeScheduling):  # type: ignore[misc]  # it has no types
    """Gives a group of tests to one process: at most one of them runs at a time."""

    def _split_scope(self, nodeid: str) -> str:
        return _group(nodeid.partition("::")[0])

    def _assign_work_unit(self, node: Any) -> None:
        self.workqueue.move_to_end(min(self.workqueue, key=_place), last=False)
        super()._assign_work_unit(node)


def _place(group: str) -> int:
    """Return which of `LONGEST` a group is; of equals the scheduler's own order holds."""
    return next((i for i, name in enumerate(LONGEST) if group.startswith(name)), len(LONGEST))


@cache
def _group(file: str) -> str:
    """Return the group of the tests of a file.

    That is the file, which makes its environment once; or all that uses sandboxes and an engine,
    which looks for what others have left on the machine.  Environments without an engine are not
    such.
    """
    text = (Path(__file__).parent.parent / file).read_text(encoding="utf-8")
    if file.startswith("tests/runtimes/environments/") and "mark.engine" not in text:
        return file
    sandboxed = file.startswith("tests/runtimes/") or "from flavours import" in text
    return "sandboxes" if sandboxed else file


def _out_of_turn(items: list[pytest.Item]) -> set[pytest.Item]:
    """Return the tests whose turn it is not: see the marker ``in_turn``."""
    groups = defaultdict(list)
    for item in items:
        marker = item.get_closest_marker("in_turn")
        callspec = getattr(item, "callspec", None)
        if marker is None or callspec is None or item.get_closest_marker("nightly"):
            continue
        among = [name for name, value in callspec.params.items() if value in marker.kwargs["among"]]
        others = [f"{name} {value}" for name, value in callspec.params.items() if name not in among]
        groups["".join((item.nodeid.partition("[")[0], *sorted(others)))].append(item)
    return {
        item
        for group in groups.values()
        for number, item in enumerate(group)
        if number != zlib.crc32(group[0].nodeid.encode()) % len(group)
    }


def _has_something_to_try(item: pytest.Item) -> bool:
    """Whether a test has something to try with its parameters: see the marker ``where``."""
    marker = item.get_closest_marker("where")
    callspec = getattr(item, "callspec", None)
    return marker is None or callspec is None or bool(marker.kwargs["says"](callspec.params))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    return _refuse_unstated_skip((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    return _refuse_unstated_skip((yield))


def _refuse_unstated_skip(report: _Report) -> _Report:
    if os.environ.get("CI") != "true" or not report.skipped or hasattr(report, "wasxfail"):
        return report
    assert isinstance(report.longrepr, tuple)
    reason = report.longrepr[2].removeprefix("Skipped: ")
    if not reason.startswith(ALLOWED_SKIPS):
        report.outcome = "failed"
        report.longrepr = (
            f"skipped on a CI machine: {reason}\n"
            f"The reason of a skip must begin with one of: {', '.join(ALLOWED_SKIPS)}."
        )
    return report


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """Return a workspace with the project's systems and no methods."""
    from harness import make_workspace  # noqa: PLC0415 - after the number of threads is set

    return make_workspace(tmp_path)


@pytest.fixture
def command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """Return a workspace that the command line finds, and whose methods run without a sandbox."""
    from harness import make_workspace, use_on_command_line  # noqa: PLC0415 - likewise

    made = make_workspace(tmp_path)
    use_on_command_line(made, tmp_path, monkeypatch)
    return made
