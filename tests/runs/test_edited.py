"""Results that somebody has edited by hand: what the bench says of them, and does."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from harness import HereRuntime, Quiet, add_method, execute

from mdbench.errors import RecordsError
from mdbench.records import RecordStore
from mdbench.runs.due import explain
from mdbench.runs.plan import make_plan
from mdbench.runs.study import RunOptions

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mdbench.runs.execute import Summary
    from mdbench.runs.plan import Plan
    from mdbench.workspace import Workspace

SYSTEMS = ("rc-circuit", "population-growth-naive")


@pytest.fixture
def workspace(workspace: Workspace) -> Workspace:
    add_method(workspace, "zero")
    run(workspace)
    return workspace


def plan(workspace: Workspace) -> Plan:
    options = RunOptions(("zero",), "ode", result_dir=workspace.root / "r", datasets=SYSTEMS)
    return make_plan(options, workspace)


def run(workspace: Workspace) -> Summary:
    return execute(plan(workspace), HereRuntime(wrapped=False), Quiet())


def edit(workspace: Workspace, change: Callable[[list[str]], list[str]]) -> Path:
    file = workspace.root / "r" / "zero-ode.jsonl"
    lines = file.read_text(encoding="utf-8").splitlines()
    file.write_text("".join(f"{line}\n" for line in change(lines)), encoding="utf-8")
    return file


def changed(line: str, **values: Any) -> str:
    return json.dumps({**json.loads(line), **values})


def test_a_record_that_is_no_longer_its_keys_is_made_again(workspace: Workspace) -> None:
    def other_seed(line: str) -> str:
        return changed(line, key_parts={**json.loads(line)["key_parts"], "seed": "7"})

    edit(workspace, lambda lines: [other_seed(lines[0]), lines[1]])
    reasons = [reason for _, reason in explain(plan(workspace), HereRuntime(wrapped=False))]
    assert sum("edited" in reason for reason in reasons) == reasons.count("") == 1
    assert ((again := run(workspace)).ran, again.skipped) == (1, 1)
    assert run(workspace).skipped == 2


def test_a_record_of_no_job_is_left_alone_and_its_job_is_run(workspace: Workspace) -> None:
    file = edit(workspace, lambda lines: [changed(lines[0], key="0" * 64), lines[1]])
    before = file.read_bytes()
    assert ((again := run(workspace)).ran, again.skipped) == (1, 1)
    assert file.read_bytes().startswith(before)


def test_a_value_of_the_wrong_kind_is_refused_and_named(workspace: Workspace) -> None:
    file = edit(workspace, lambda lines: [lines[0], changed(lines[1], status="splendid")])
    before = file.read_bytes()
    with pytest.raises(RecordsError, match=r"zero-ode\.jsonl, line 2 is damaged: status"):
        run(workspace)
    assert file.read_bytes() == before


def test_a_line_torn_in_the_middle_is_refused_and_named(workspace: Workspace) -> None:
    file = edit(workspace, lambda lines: [lines[0][:200], lines[1]])
    before = file.read_bytes()
    with pytest.raises(RecordsError, match=r"zero-ode\.jsonl, line 1 is damaged"):
        run(workspace)
    assert file.read_bytes() == before


def test_of_two_records_of_a_job_the_last_counts(workspace: Workspace) -> None:
    file = edit(workspace, lambda lines: [*lines, changed(lines[0], reason="by hand")])
    summary = run(workspace)
    assert (summary.ran, summary.skipped) == (0, 2)
    assert "by hand" in [record.reason for record in summary.records]
    assert len(RecordStore(file).read()) == 3
