"""Seeds that change nothing are not run: their jobs take the record of the one that was."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from harness import HereRuntime, Quiet, add_method, execute

from mdbench.records import RecordStore, Status
from mdbench.reports.entries import run_conditions
from mdbench.runs.catalog import Catalog
from mdbench.runs.due import REPEATED, explain, read_summaries, rerun_reasons
from mdbench.runs.forecast import forecast
from mdbench.runs.plan import Plan, make_plan, resolve_jobs
from mdbench.runs.study import RunOptions

if TYPE_CHECKING:
    from mdbench.records import Record
    from mdbench.runs.execute import Summary
    from mdbench.runs.spec import JobSpec
    from mdbench.workspace import Workspace

COUNTED = """
import numpy as np

class Adapter:
    def __init__(self, *, seed, threads):
        print("run with seed", seed)
    def fit(self, problem):
        {fit}
        self.targets = len(problem.targets)
    def predict(self, problem):
        return np.zeros((len(problem.X), self.targets))
    def equations(self):
        return ["0"] * self.targets
"""


def add(workspace: Workspace, *, seedable: str = "false", fit: str = "", **keys: str) -> None:
    """Add a method that prints the seeds that it is run with."""
    folder = add_method(workspace, "m", COUNTED.format(fit=fit or "pass"))
    file = folder / "method.toml"
    text = re.sub(r"seedable = .*", f"seedable = {seedable}", file.read_text(encoding="utf-8"))
    more = "".join(f"{key} = {value}\n" for key, value in keys.items())
    file.write_text(more + text, encoding="utf-8")


def plan(workspace: Workspace, **changes: Any) -> Plan:
    options = RunOptions(
        ("m",),
        "ode",
        ("rc-circuit",),
        seeds=(0, 1, 2),
        result_dir=workspace.root / "results",
        n_jobs=1,
    )
    return make_plan(replace(options, **changes), workspace)


def run(workspace: Workspace, **changes: Any) -> tuple[Summary, Quiet]:
    observer = Quiet()
    return execute(plan(workspace, **changes), HereRuntime(wrapped=False), observer), observer


def seeds(workspace: Workspace) -> list[int]:
    """Return the seeds that the method was run with, by the logs that its jobs left."""
    logs = sorted((workspace.root / "results" / "logs").rglob("*.log"))
    found = [re.findall(r"run with seed (\d+)", log.read_text(encoding="utf-8")) for log in logs]
    return sorted(int(seed) for log in found for seed in log)


def of_seeds(summary: Summary) -> list[tuple[int, int | None]]:
    return [(one.seed, one.measured.of_seed) for one in summary.records]


def test_one_seed_of_clean_data_is_run(workspace: Workspace) -> None:
    add(workspace)
    summary, observer = run(workspace)
    assert seeds(workspace) == [0]
    assert of_seeds(summary) == [(0, None), (1, 0), (2, 0)]
    assert (summary.ran, summary.skipped, summary.left) == (3, 0, 0)
    assert observer.counts == (3, 0)
    assert any("2 jobs of m will not be run" in each for each in observer.messages)
    [first, *others] = summary.records
    for one in others:
        assert one.key != first.key
        assert one.key_parts == {**first.key_parts, "seed": str(one.seed)}
        own, theirs = (
            json.loads(each.model_copy(update={"measured": first.measured}).to_line())
            for each in (one, first)
        )
        for name in ("key", "key_parts", "seed"):
            del own[name], theirs[name]
        assert own == theirs
    # What is on the disk is what was handed over, and nothing is due any more.
    file = workspace.root / "results" / "m-ode.jsonl"
    assert {one.key for one in RecordStore(file).latest().values()} == {
        one.key for one in summary.records
    }
    again, _ = run(workspace)
    assert (again.ran, again.skipped) == (0, 3)


def test_a_seed_that_comes_later_takes_the_record_that_is_there(workspace: Workspace) -> None:
    add(workspace)
    run(workspace, seeds=(4,))
    summary, _ = run(workspace, seeds=(5, 6))
    assert seeds(workspace) == [4]
    assert of_seeds(summary) == [(5, 4), (6, 4)]
    # That of one that took it is as good, and names the seed that was run.
    summary, _ = run(workspace, seeds=(7,))
    assert of_seeds(summary) == [(7, 4)]


@pytest.mark.parametrize(
    ("method", "changes"),
    [
        ({"seedable": "true"}, {}),
        ({"seedable": '"no argument"'}, {}),
        ({"repeatable": "false"}, {}),
        ({}, {"snr": (20.0,)}),
        ({"max_rows": "10"}, {}),
    ],
    ids=["draws", "no seed", "stops by the clock", "noisy data", "rows are drawn"],
)
def test_every_seed_is_run_where_one_may_change_the_answer(
    workspace: Workspace, method: dict[str, str], changes: dict[str, Any]
) -> None:
    add(workspace, **method)
    summary, observer = run(workspace, **changes)
    assert seeds(workspace) == [0, 1, 2]
    assert of_seeds(summary) == [(0, None), (1, None), (2, None)]
    assert not any("will not be run" in each for each in observer.messages)


def test_clean_and_noisy_data_of_one_run(workspace: Workspace) -> None:
    add(workspace)
    summary, _ = run(workspace, snr=(None, 20.0), seeds=(0, 1))
    assert seeds(workspace) == [0, 0, 1]
    assert [
        (one.snr_db, *of) for one, of in zip(summary.records, of_seeds(summary), strict=True)
    ] == [
        (None, 0, None),
        (None, 1, 0),
        (20.0, 0, None),
        (20.0, 1, None),
    ]


@pytest.mark.parametrize(
    ("fit", "ends", "runs"),
    [
        ("raise RuntimeError('now and then')", Status.FAILED, 3),
        (
            "from mdbench.worker import Unsupported; raise Unsupported('never')",
            Status.UNSUPPORTED,
            1,
        ),
    ],
)
def test_an_end_that_another_try_may_change_is_not_taken(
    workspace: Workspace, fit: str, ends: Status, runs: int
) -> None:
    add(workspace, fit=fit)
    summary, _ = run(workspace)
    assert [one.status for one in summary.records] == [ends] * 3
    assert len(seeds(workspace)) == runs
    assert (summary.ran, summary.left) == (3, 0)


def test_rerun_runs_one_seed_again(workspace: Workspace) -> None:
    add(workspace)
    before, _ = run(workspace)
    started = before.records[0].measured.started
    after, _ = run(workspace, rerun=(Status.OK,))
    assert seeds(workspace) == [0]
    assert of_seeds(after) == [(0, None), (1, 0), (2, 0)]
    assert all(one.measured.started > started for one in after.records)


def test_a_record_without_the_front_is_not_taken_where_it_is_asked_for(
    workspace: Workspace,
) -> None:
    add(workspace)
    run(workspace, seeds=(0,))
    run(workspace, seeds=(1,), save_pareto=True)
    assert seeds(workspace) == [0, 1]


def test_an_edited_method_is_run(workspace: Workspace) -> None:
    add(workspace)
    run(workspace, seeds=(0,))
    adapter = workspace.algorithms / "m" / "adapter.py"
    adapter.write_text(adapter.read_text(encoding="utf-8") + "\n# a word\n", encoding="utf-8")
    summary, _ = run(workspace, seeds=(1,))
    assert seeds(workspace) == [0, 1]
    assert of_seeds(summary) == [(1, None)]


def test_plans_say_so(workspace: Workspace) -> None:
    add(workspace)
    asked = plan(workspace)
    assert [reason == REPEATED for _, reason in explain(asked, HereRuntime())] == [
        False,
        True,
        True,
    ]
    found = forecast(asked, HereRuntime())
    assert (found.jobs, len(found.due), found.repeated) == (3, 1, 2)
    (cost,) = found.costs  # what is said of a method adds up to what is said of all
    assert (cost.jobs, cost.done, cost.to_run, cost.repeated) == (3, 0, 1, 2)
    assert found.wall_s.value == found.due[0].wall_s.value
    execute(asked, HereRuntime(wrapped=False), Quiet())
    found = forecast(asked, HereRuntime())
    assert (len(found.due), found.repeated) == (0, 0)
    (cost,) = found.costs
    assert (cost.jobs, cost.done, cost.to_run, cost.repeated) == (3, 3, 0, 0)


def test_plans_make_only_data_that_reasons_need(workspace: Workspace) -> None:
    made: list[tuple[float | None, int]] = []

    class Watched(Catalog):
        def load(self, job: JobSpec) -> Any:
            made.append((job.snr_db, job.seed))
            return super().load(job)

    def reasons(asked: Plan) -> list[str]:
        """Return those with the data of all jobs, which those of a plan have to equal."""
        past = read_summaries(asked.files)
        jobs = resolve_jobs(asked, HereRuntime())
        return [reason for _, reason in rerun_reasons(jobs, past, asked)]

    def planned(**changes: Any) -> list[str]:
        made.clear()
        asked = replace(plan(workspace, **changes), catalog=Watched(workspace))
        return [reason for _, reason in explain(asked, HereRuntime())]

    add(workspace)
    levels = {"snr": (None, 20.0)}
    remembered = workspace.home / "fingerprints"
    without_records = planned(**levels)
    assert {*made} == {(None, 0), (None, 1), (None, 2)}  # of which one may be enough
    assert without_records == reasons(plan(workspace, **levels))
    assert without_records.count(REPEATED) == 2
    shutil.rmtree(remembered)
    assert planned(seeds=(0,), **levels) == ["it has no record"] * 2
    assert not made
    execute(plan(workspace, seeds=(0,), **levels), HereRuntime(wrapped=False), Quiet())
    shutil.rmtree(remembered)
    with_records = planned(**levels)
    assert len({*made}) == 6  # keys are compared
    assert with_records == reasons(plan(workspace, **levels))
    assert with_records.count("") == 2


def test_reports_say_so(workspace: Workspace) -> None:
    def said(records: list[Record]) -> dict[str, str]:
        return {one.name: one.value for one in run_conditions(records)}

    name = "run by another seed, which changes nothing"
    add(workspace)
    one, _ = run(workspace, seeds=(0,))
    assert name not in said(list(one.records))
    all_, _ = run(workspace)
    assert said(list(all_.records))[name] == "seed 0 (2 results); none (1 result)"
