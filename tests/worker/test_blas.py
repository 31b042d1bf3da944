"""The kernel that a worker says is the one that it was told to use."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from harness import ROOT, HereRuntime, Quiet, add_method, execute, make_workspace

from mdbench.runs.plan import make_plan
from mdbench.runs.study import RunOptions
from mdbench.worker.serve import _libraries, kernel_and_threads

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = """
from mdbench.worker.serve import kernel_and_threads
print(*kernel_and_threads())
"""


def asked(**environment: str) -> list[str]:
    """Ask in a process of its own: a kernel is chosen once."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=ROOT,
        env=os.environ | environment,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.split()


def test_the_library_is_asked() -> None:
    kernel, threads = kernel_and_threads()
    assert _libraries()
    assert kernel
    assert threads
    assert threads >= 1


def test_the_kernel_and_the_threads_are_those_in_use() -> None:
    assert asked(OPENBLAS_CORETYPE="Nehalem", OPENBLAS_NUM_THREADS="1") == ["Nehalem", "1"]
    assert asked(OPENBLAS_CORETYPE="Haswell", OPENBLAS_NUM_THREADS="1") == ["Haswell", "1"]


def test_where_there_is_no_such_library_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mdbench.worker.serve._libraries", lambda: ["/nonexistent/libblas.so"])
    assert kernel_and_threads() == (None, None)


@pytest.mark.parametrize("forks", [True, False])
@pytest.mark.parametrize("kernel", ["Nehalem", "Haswell"])
def test_records_say_the_methods_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kernel: str, forks: bool
) -> None:
    monkeypatch.setenv("OPENBLAS_CORETYPE", kernel)
    workspace = make_workspace(tmp_path)
    add_method(workspace, "zero", more="" if forks else "fork_safe = false")
    options = RunOptions(
        algorithms=("zero",),
        data_type="ode",
        datasets=("rc-circuit",),
        result_dir=tmp_path / "results",
        n_jobs=1,
        threads=2,
    )
    (record,) = execute(make_plan(options, workspace), HereRuntime(), Quiet()).records
    most = min(2, len(os.sched_getaffinity(0)))  # it takes no more threads than there are cores
    assert (record.measured.blas_kernel, record.measured.blas_threads) == (kernel, most)


def test_a_method_that_cannot_be_imported_has_no_kernel(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    add_method(workspace, "broken", "import no_such_package")
    options = RunOptions(
        algorithms=("broken",),
        data_type="ode",
        datasets=("rc-circuit",),
        result_dir=tmp_path / "results",
        n_jobs=1,
    )
    (record,) = execute(make_plan(options, workspace), HereRuntime(), Quiet()).records
    assert (record.measured.blas_kernel, record.measured.blas_threads) == (None, None)
