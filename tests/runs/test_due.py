"""Why a job is run, or not."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from house import HereRuntime, Quiet, add_method, execute

from mdbench.datatypes.facts import Protocol
from mdbench.datatypes.ode.data_type import Ode
from mdbench.records import Status, key_of
from mdbench.runs.due import explain
from mdbench.runs.plan import Plan, make_plan
from mdbench.runs.study import RunOptions

if TYPE_CHECKING:
    from mdbench.workspace import Workspace


@pytest.fixture
def place(place: Workspace) -> Workspace:
    add_method(place, "zero")
    return place


def plan(place: Workspace, **changes: Any) -> Plan:
    options = RunOptions(("zero",), "ode", ("rc-circuit",), result_dir=place.root / "results")
    return make_plan(replace(options, **changes), place)


def why(place: Workspace, **changes: Any) -> str:
    ((_, reason),) = explain(plan(place, **changes), HereRuntime())
    return reason


def test_a_job_without_record_and_one_with(place: Workspace) -> None:
    assert why(place) == "it has no record"
    execute(plan(place), HereRuntime(), Quiet())
    assert why(place) == ""
    assert why(place, datasets=("autocatalysis",)) == "it has no record"
    assert why(place, snr=(20.0,)) == "it has no record"
    assert why(place, protocol=Protocol.PUBLISHED) == "it has no record"


def test_what_changed_is_named(place: Workspace) -> None:
    execute(plan(place), HereRuntime(), Quiet())
    assert why(place, timeout_s=7.0).startswith(
        "timeout_s changed (43200 -> 7) since its record of "
    )
    adapter = place.algorithms / "zero" / "adapter.py"
    adapter.write_text(adapter.read_text(encoding="utf-8") + "\n# a word\n", encoding="utf-8")
    assert why(place).startswith("adapter changed (")
    (place.algorithms / "zero" / "requirements.lock").write_text("# new\n", encoding="utf-8")
    reason = why(place)
    assert "adapter changed" in reason
    assert "environment changed" in reason


def test_the_scorer_versions_are_named(place: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ode, "scorer_version", 1)
    execute(plan(place), HereRuntime(), Quiet())
    assert why(place) == ""
    monkeypatch.setattr(Ode, "scorer_version", 2)
    assert why(place).startswith("scored by scorer version 1; now it is 2 since its record of ")


@pytest.mark.parametrize(("version", "reason"), [(1, ""), (2, "scored by scorer version 1")])
def test_a_record_with_a_hash_is_of_version_1(
    place: Workspace, monkeypatch: pytest.MonkeyPatch, version: int, reason: str
) -> None:
    monkeypatch.setattr(Ode, "scorer_version", version)
    execute(plan(place), HereRuntime(), Quiet())
    [file] = (place.root / "results").glob("*.jsonl")
    data = json.loads(file.read_text(encoding="utf-8"))
    assert data["key_parts"]["scorer"] == str(version)
    parts = {**data["key_parts"], "scorer": "4d" * 32}
    old = {**data, "schema": 4, "key_parts": parts, "key": key_of(parts)}
    file.write_text(json.dumps(old) + "\n", encoding="utf-8")
    assert why(place).startswith(reason)
    assert bool(why(place)) == bool(reason)


def test_rerun_and_front(place: Workspace) -> None:
    folder = place.algorithms / "zero" / "adapter.py"
    folder.write_text("raise RuntimeError('no')", encoding="utf-8")
    execute(plan(place), HereRuntime(), Quiet())
    assert why(place) == ""
    assert why(place, rerun=frozenset({Status.TIMEOUT})) == ""
    assert "--rerun asks for" in why(place, rerun=frozenset({Status.FAILED}))


def test_explaining_writes_no_results(place: Workspace) -> None:
    why(place)
    assert not (place.root / "results").exists()
