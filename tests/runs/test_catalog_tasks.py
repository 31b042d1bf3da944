"""Every job has a task of its own options and seed, also where a process keeps tasks of others."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from harness import HereRuntime, add_method

from mdbench.datatypes.facts import Protocol
from mdbench.runs.catalog import Catalog
from mdbench.runs.plan import make_plan, resolve_jobs
from mdbench.runs.study import RunOptions

if TYPE_CHECKING:
    from pathlib import Path

    from mdbench.datatypes.base import Split, Task
    from mdbench.workspace import Workspace

PARTS = ("train", "validation", "refit", "test")


def method(workspace: Workspace, name: str, more: str = "") -> None:
    add_method(workspace, name, more=more)
    toml = workspace.algorithms / name / "method.toml"
    text = toml.read_text(encoding="utf-8").replace('["ode"]', '["ode", "pde", "real", "srsd"]')
    toml.write_text(text, encoding="utf-8")


def own_field(folder: Path) -> Path:
    t, x = np.linspace(0, 1, 20), np.linspace(0, 6, 12)
    u = np.sin(x[:, None] - t)[..., None]
    np.savez(folder / "wave.npz", t=t, x=x, u=u, du=-np.cos(x[:, None] - t)[..., None])
    return folder / "wave.npz"


def own_series(folder: Path) -> Path:
    t = np.linspace(0, 4, 40)
    np.savetxt(
        folder / "decay.csv",
        np.column_stack([t, 1e3 + np.exp(-t)]),
        delimiter=",",
        header="t,x",
        comments="",
    )
    return folder / "decay.csv"


ASKED: dict[str, dict[str, Any]] = {
    "folds": {"data_type": "real", "datasets": ("kepler-binaries",)},
    "seeds of drawn rows": {"data_type": "pde", "special": ("--max-rows", "30")},
    "smoothing": {"data_type": "pde", "special": ()},
    "rows of a table": {"data_type": "srsd", "datasets": ("feynman-i.12.1",)},
    "a series": {"data_type": "ode"},
}


def arrays(part: Split) -> dict[str, Any]:
    return {**part.inputs, part.target_name: part.targets}


def same(one: Task[Any], other: Task[Any]) -> bool:
    pairs = [(arrays(getattr(one, part)), arrays(getattr(other, part))) for part in PARTS]
    return all(
        a.keys() == b.keys() and all(np.array_equal(a[name], b[name]) for name in a)
        for a, b in pairs
    )


@pytest.mark.parametrize("protocol", ["strict", "published"])
@pytest.mark.parametrize("kind", ASKED)
def test_a_task_is_the_one_that_a_process_of_its_own_would_cut(
    workspace: Workspace, tmp_path: Path, kind: str, protocol: str
) -> None:
    method(workspace, "all-rows")
    method(workspace, "few-rows", "max_rows = 25")
    asked = RunOptions(
        ("all-rows", "few-rows"), seeds=(0, 1), protocol=Protocol(protocol), **ASKED[kind]
    )
    if asked.data_type == "pde":
        asked = replace(asked, dataset_path=own_field(tmp_path))
    if asked.data_type == "ode":
        asked = replace(asked, dataset_path=own_series(tmp_path))
    plan = make_plan(asked, workspace)
    ready = resolve_jobs(plan, HereRuntime())
    kept = [plan.catalog.task(one, plan.catalog.load(one.job)) for one in ready]
    for one, task in zip(ready, kept, strict=True):
        alone = Catalog(workspace)
        assert same(task, alone.task(one, alone.load(one.job))), one.job


def test_the_folds_of_a_run_hold_out_every_row_once(workspace: Workspace) -> None:
    method(workspace, "any")
    plan = make_plan(RunOptions(("any",), "real", ("kepler-binaries",)), workspace)
    tasks = [
        plan.catalog.task(one, plan.catalog.load(one.job))
        for one in resolve_jobs(plan, HereRuntime())
    ]
    asked = np.concatenate([task.test.inputs["X"] for task in tasks])
    whole = np.concatenate([tasks[0].refit.inputs["X"], tasks[0].test.inputs["X"]])
    assert np.array_equal(np.sort(asked, axis=0), np.sort(whole, axis=0))
    for task in tasks:
        given, out = ({*map(tuple, part.inputs["X"])} for part in (task.refit, task.test))
        assert not given & out
