"""What datasets are known by is remembered, and never against the facts."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from harness import ROOT, HereRuntime, Quiet, add_method, execute

from mdbench.datatypes import classes, find
from mdbench.runs.catalog import Catalog, DatasetInfo, DatasetInfoCache, context_of
from mdbench.runs.due import explain
from mdbench.runs.plan import ResolvedJob, make_plan, resolve_jobs
from mdbench.runs.study import RunOptions

if TYPE_CHECKING:
    from mdbench.workspace import Workspace

ASKED = RunOptions(("zero",), "ode", ("rc-circuit",), snr=(None, 20.0), seed=(0, 1))


@pytest.fixture
def workspace(workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    (workspace.root / "datasets").unlink()
    (workspace.root / "datasets").mkdir()
    shutil.copytree(ROOT / "datasets" / "ode", workspace.root / "datasets" / "ode")
    add_method(workspace, "zero")
    monkeypatch.chdir(tmp_path)
    return workspace


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the datasets that were made or read."""
    found: list[str] = []
    load = Catalog.load

    def listening(self: Catalog, job: object) -> object:
        found.append(job.dataset)  # type: ignore[attr-defined]
        return load(self, job)  # type: ignore[arg-type]

    monkeypatch.setattr(Catalog, "load", listening)
    return found


def keys(workspace: Workspace, asked: RunOptions = ASKED) -> list[tuple[str, int | None]]:
    ready: list[ResolvedJob] = resolve_jobs(make_plan(asked, workspace), HereRuntime())
    return [(one.key, one.dim) for one in ready]


def test_a_second_plan_makes_no_dataset_and_has_the_same_keys(
    workspace: Workspace, loads: list[str]
) -> None:
    first = keys(workspace)
    assert len(loads) == 4
    assert keys(workspace) == first
    assert len(loads) == 4
    keys(workspace, replace(ASKED, seed=(2,)))
    assert len(loads) == 6  # what was not asked before
    assert keys(workspace) == first
    assert len(loads) == 6


def test_what_data_follow_from_is_seen(workspace: Workspace, loads: list[str]) -> None:
    before = keys(workspace)
    (file,) = (workspace.root / "datasets" / "ode").glob("*rc-circuit.toml")
    text = file.read_text("utf-8")
    file.write_text(text.replace("0.7", "0.8"), "utf-8")
    assert text != file.read_text("utf-8")
    after = keys(workspace)
    assert {key for key, _ in before}.isdisjoint(key for key, _ in after)
    file.write_text(text, "utf-8")
    loads.clear()
    assert keys(workspace) == before
    assert not loads


def test_the_users_files_are_seen_whatever_their_times_say(
    workspace: Workspace, tmp_path: Path
) -> None:
    file = tmp_path / "data" / "mine.csv"
    file.parent.mkdir()
    t = np.linspace(0, 1, 50)
    asked = replace(ASKED, datasets=(), dataset_path=Path("data"))

    def write(rate: float) -> None:
        np.savetxt(
            file, np.column_stack([t, np.exp(-rate * t)]), "%.6f", ",", header="t,x", comments=""
        )

    write(1.0)
    is_ = file.stat()
    before = keys(workspace, asked)
    assert keys(workspace, asked) == before
    write(2.0)
    os.utime(file, ns=(is_.st_atime_ns, is_.st_mtime_ns))
    assert file.stat().st_size == is_.st_size
    assert keys(workspace, asked) != before


def test_a_wrong_memory_cannot_make_a_wrong_record(workspace: Workspace) -> None:
    right = keys(workspace)
    (kept,) = (workspace.home / "fingerprints").iterdir()
    good = kept.read_text("utf-8")
    (system,) = {fact.fingerprint[:8] for fact in [facts(workspace)]}
    kept.write_text(good.replace(system, "00000000"), "utf-8")
    assert keys(workspace) != right
    summary = execute(make_plan(ASKED, workspace), HereRuntime(), Quiet())
    assert summary.ran == 4
    assert kept.read_text("utf-8") == good  # mended by the jobs
    assert not any(why for _, why in explain(make_plan(ASKED, workspace), HereRuntime()))
    assert execute(make_plan(ASKED, workspace), HereRuntime(), Quiet()).ran == 0


def facts(workspace: Workspace) -> DatasetInfo:
    plan = make_plan(ASKED, workspace)
    return DatasetInfo.from_dataset(plan.catalog.load(plan.jobs[0]))


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b'{"a": 1}', b'{"a": [1, 2, 3]}', b"\xff"])
def test_a_damaged_memory_is_none(content: bytes, workspace: Workspace) -> None:
    right = keys(workspace)
    (kept,) = (workspace.home / "fingerprints").iterdir()
    kept.write_bytes(content)
    assert keys(workspace) == right


def test_two_writers_keep_what_both_know(tmp_path: Path) -> None:
    one, two = (DatasetInfoCache(tmp_path, "ode", "c" * 64) for _ in range(2))
    one.remember("a", DatasetInfo("f", "equations", 1))
    two.remember("b", DatasetInfo("g", "file", 2))
    one.save()
    two.save()
    both = DatasetInfoCache(tmp_path, "ode", "c" * 64)
    assert (both.get("a"), both.get("b"), both.get("c")) == (
        *(DatasetInfo("f", "equations", 1), DatasetInfo("g", "file", 2), None),
    )
    for number in range(20):
        other = DatasetInfoCache(tmp_path, "ode", f"{number:064}"[::-1])
        other.remember("a", DatasetInfo("f", "equations", 1))
        other.save()
    assert len(list(tmp_path.iterdir())) <= 8


def test_nothing_is_kept_where_it_is_not_known_what_data_follow_from(tmp_path: Path) -> None:
    nothing = DatasetInfoCache(tmp_path, "mine", None)
    nothing.remember("a", DatasetInfo("f", "file", 1))
    nothing.save()
    assert nothing.get("a") is None
    assert not list(tmp_path.iterdir())


def test_contexts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = find("ode", ROOT / "datasets" / "ode", tmp_path)
    plain = context_of(kind, None)
    assert plain == context_of(kind, None)
    assert context_of(kind, tmp_path) not in (plain, None)
    for number in range(20):
        (tmp_path / f"{number}.csv").touch()
    monkeypatch.setattr("mdbench.runs.catalog._MOST_FILES", 10)
    assert context_of(kind, tmp_path) is None
    monkeypatch.setattr(type(kind), "from_files", False)
    assert context_of(kind, None) is None


def test_all_data_types_of_the_project_are_remembered() -> None:
    assert all(kind.from_files for kind in classes())
