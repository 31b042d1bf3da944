"""Why a job is run, or not."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from harness import HereRuntime, Quiet, add_method, execute

from mdbench.datatypes.facts import Protocol
from mdbench.datatypes.ode.data_type import Ode
from mdbench.metrics.spec import MetricSpec
from mdbench.records import RecordStore, Status
from mdbench.reports.leaderboard import boards
from mdbench.runs.catalog import Catalog
from mdbench.runs.due import explain
from mdbench.runs.plan import Plan, make_plan
from mdbench.runs.reproduce import rescored
from mdbench.runs.study import RunOptions

if TYPE_CHECKING:
    from mdbench.workspace import Workspace


@pytest.fixture
def workspace(workspace: Workspace) -> Workspace:
    add_method(workspace, "zero")
    return workspace


def plan(workspace: Workspace, **changes: Any) -> Plan:
    options = RunOptions(("zero",), "ode", ("rc-circuit",), result_dir=workspace.root / "results")
    return make_plan(replace(options, **changes), workspace)


def why(workspace: Workspace, **changes: Any) -> str:
    ((_, reason),) = explain(plan(workspace, **changes), HereRuntime())
    return reason


def test_a_job_without_record_and_one_with(workspace: Workspace) -> None:
    assert why(workspace) == "it has no record"
    execute(plan(workspace), HereRuntime(), Quiet())
    assert why(workspace) == ""
    assert why(workspace, datasets=("autocatalysis",)) == "it has no record"
    assert why(workspace, snr=(20.0,)) == "it has no record"
    assert why(workspace, protocol=Protocol.PUBLISHED) == "it has no record"


def test_what_changed_is_named(workspace: Workspace) -> None:
    execute(plan(workspace), HereRuntime(), Quiet())
    assert why(workspace, timeout_s=7.0).startswith(
        "timeout_s changed (43200 -> 7) since its record of "
    )
    adapter = workspace.algorithms / "zero" / "adapter.py"
    adapter.write_text(adapter.read_text(encoding="utf-8") + "\n# a word\n", encoding="utf-8")
    assert why(workspace).startswith("adapter changed (")
    (workspace.algorithms / "zero" / "requirements.lock").write_text("# new\n", encoding="utf-8")
    reason = why(workspace)
    assert "adapter changed" in reason
    assert "environment changed" in reason


def test_the_scorer_versions_are_named(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Ode, "scorer_version", 1)
    execute(plan(workspace), HereRuntime(), Quiet())
    assert why(workspace) == ""
    monkeypatch.setattr(Ode, "scorer_version", 2)
    assert why(workspace).startswith("scored by scorer version 1; now it is 2 since its record of ")


def test_a_metric_that_is_added_makes_no_record_due(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    execute(plan(workspace), HereRuntime(), Quiet())
    spec = MetricSpec(name="letters", title="letters", explanation="of the equations", digits=0)
    own = Ode.own_scores
    monkeypatch.setattr(Ode, "metrics", (*Ode.metrics, spec))
    monkeypatch.setattr(
        Ode,
        "own_scores",
        lambda self, task, answer, known: (
            own(self, task, answer, known) | {"letters": float(sum(map(len, answer.equations)))}
        ),
    )
    assert why(workspace) == ""
    [file] = (workspace.root / "results").glob("*.jsonl")
    [before] = RecordStore(file).read()
    done = rescored(before, Catalog(workspace))
    assert done.changes == {"letters": (None, 1.0)}
    assert done.after.key == before.key
    [made] = boards([done.after], {}, {"ode": Ode.metrics}).values()
    assert made.rows[0].values["letters"].value == 1.0


def test_rerun_and_front(workspace: Workspace) -> None:
    folder = workspace.algorithms / "zero" / "adapter.py"
    folder.write_text("raise RuntimeError('no')", encoding="utf-8")
    execute(plan(workspace), HereRuntime(), Quiet())
    assert why(workspace) == ""
    assert why(workspace, rerun=frozenset({Status.TIMEOUT})) == ""
    assert "--rerun asks for" in why(workspace, rerun=frozenset({Status.FAILED}))


def test_explaining_writes_no_results(workspace: Workspace) -> None:
    why(workspace)
    assert not (workspace.root / "results").exists()
