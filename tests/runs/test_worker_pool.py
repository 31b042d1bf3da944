"""A full disk stops a run with a clear error, and what was recorded stays."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import numpy as np
import pytest
from harness import HereRuntime, Quiet, add_method, children, execute, make_workspace

from mdbench.errors import DataError
from mdbench.records import RecordStore, Status
from mdbench.runs.plan import make_plan
from mdbench.runs.study import RunOptions

if TYPE_CHECKING:
    from pathlib import Path


def test_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = make_workspace(tmp_path)
    add_method(workspace, "zero")
    options = RunOptions(
        ("zero",),
        "ode",
        ("rc-circuit", "autocatalysis", "landau-equation"),
        n_jobs=1,
        result_dir=workspace.root / "results",
    )
    plan = make_plan(options, workspace)
    observer = Quiet()

    def full(*args: object, **arrays: object) -> None:
        if observer.ended:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        savez(*args, **arrays)  # type: ignore[arg-type]

    savez = np.savez
    with monkeypatch.context() as patch:
        patch.setattr(np, "savez", full)
        with pytest.raises(DataError, match="No space left on device"):
            execute(plan, HereRuntime(), observer)
    assert not children()
    stored = RecordStore(plan.files["zero-ode"]).read()
    # A second job may have begun by then, and even ended; that it cannot go on is its record,
    # which stays.  One that was cut off is run again.
    assert stored[0].status is Status.OK
    told = [(record.dataset, record.status, record.reason) for record in stored]
    assert {status for _, status, _ in told[1:]} <= {
        Status.OK,
        Status.CRASHED,
        Status.INTERRUPTED,
    }, told
    there = sum(record.status is not Status.INTERRUPTED for record in stored)
    assert there < len(options.datasets), told
    summary = execute(plan, HereRuntime(), Quiet())
    assert (summary.ran, summary.skipped, summary.left) == (3 - there, there, 0)


def test_a_disk_that_is_full_while_a_job_runs_ends_that_job_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = make_workspace(tmp_path)
    add_method(workspace, "zero")
    names = ("rc-circuit", "autocatalysis")
    options = RunOptions(("zero",), "ode", names, n_jobs=1, result_dir=workspace.root / "results")
    calls: list[object] = []

    def full(*args: object, **arrays: object) -> None:
        if "X" in arrays and "Y" not in arrays and not calls:  # the first job's test inputs
            calls.append(args)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        savez(*args, **arrays)  # type: ignore[arg-type]

    savez = np.savez
    monkeypatch.setattr(np, "savez", full)
    filled, after = execute(make_plan(options, workspace), HereRuntime(), Quiet()).records
    assert filled.status is Status.CRASHED
    assert "no space is left" in filled.reason
    assert after.status is Status.OK
