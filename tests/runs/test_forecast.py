"""What a plan says it will take."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from harness import HereRuntime, Quiet, add_method, execute

from mdbench.cli import main
from mdbench.cli.run import plan_json
from mdbench.errors import RecordsError
from mdbench.records import RecordStore, Status
from mdbench.runs.due import explain, read_summaries
from mdbench.runs.forecast import COVERAGE, DRAWS, Forecast, _Total, forecast
from mdbench.runs.plan import make_plan
from mdbench.runs.study import RunOptions

if TYPE_CHECKING:
    from mdbench.records import Record
    from mdbench.workspace import Workspace

FILE = Path("results/zero-ode.jsonl")
ONE = RunOptions(("zero",), "ode", ("rc-circuit",), timeout_s=100.0, n_jobs=1)


@pytest.fixture
def workspace(command_line: Workspace) -> Workspace:
    add_method(command_line, "zero")
    return command_line


def run(workspace: Workspace, asked: RunOptions) -> list[Record]:
    return list(execute(make_plan(asked, workspace), HereRuntime(), Quiet()).records)


def took(seconds: list[float], **changes: Any) -> None:
    """Return the records with these times, in their order."""
    times = iter(seconds)

    def change(record: Record) -> Record:
        own = {"wall_s": next(times), "cpu_s": 1.0, "peak_memory_mb": 50.0}
        measured = record.measured.model_copy(update=own)
        return record.model_copy(update={**changes, "measured": measured})

    RecordStore(FILE).rewrite(partial(map, change))


def forecast_of(workspace: Workspace, asked: RunOptions) -> Forecast:
    return forecast(make_plan(asked, workspace), HereRuntime())


def test_without_records_the_budget_counts(workspace: Workspace) -> None:
    found = forecast_of(
        workspace, replace(ONE, seeds=(0, 1, 2), threads=2, memory_mb=512, n_jobs=2)
    )
    (cost,) = found.costs
    assert (cost.jobs, cost.done, cost.to_run, cost.basis) == (3, 0, 3, {"budget": 3})
    assert (found.wall_s.low, found.wall_s.value, found.wall_s.high) == (0.0, 150.0, 150.0)
    assert cost.cpu_s is not None
    assert cost.cpu_s.high == 3 * 100.0 * 2
    assert found.memory_mb is not None
    assert found.memory_mb.high == 2 * 512
    assert found.disk_mb is None
    assert found.reasons == {"it has no record": 3}
    assert forecast_of(workspace, ONE).memory_mb is None  # there is no limit
    assert not Path("results").exists()


def test_records_of_the_dataset_then_of_its_size_then_of_the_method(workspace: Workspace) -> None:
    run(workspace, replace(ONE, seeds=(0, 1, 2)))
    took([1.0, 2.0, 3.0])
    names = ("rc-circuit", "autocatalysis", "lorenz-equations-chaotic")  # 1, 1 and 3 equations
    found = forecast_of(workspace, replace(ONE, datasets=names, seeds=(3,), n_jobs=2))
    assert {one.job.dataset: one.basis for one in found.due} == dict(
        zip(names, ("dataset", "size", "method"), strict=True)
    )
    assert {one.records for one in found.due} == {3}
    for one in found.due:
        assert (one.wall_s.low, one.wall_s.value, one.wall_s.high) == pytest.approx((1.1, 2, 2.9))
    (cost,) = found.costs
    assert cost.wall_s is not None
    assert cost.wall_s.low < 6.0 < cost.wall_s.high
    assert cost.wall_s.value == pytest.approx(6.0, rel=0.1)
    assert found.wall_s.value == pytest.approx(3.0, rel=0.1)
    assert cost.memory_mb is not None
    assert cost.memory_mb.value == 50.0
    assert found.disk_mb is not None
    line = FILE.stat().st_size / 3 / 2**20
    assert found.disk_mb.value >= 3 * line * 0.99


def test_two_records_are_too_few(workspace: Workspace) -> None:
    run(workspace, replace(ONE, seeds=(0, 1)))
    assert forecast_of(workspace, replace(ONE, seeds=(2,))).due[0].basis == "budget"


def test_a_time_limit_states_nothing_about_longer_ones(workspace: Workspace) -> None:
    run(workspace, replace(ONE, seeds=(0, 1, 2)))
    took([100.0, 100.0, 100.0], status=Status.TIMEOUT, equations=None)
    seeds = replace(ONE, seeds=(3,))
    assert forecast_of(workspace, replace(seeds, timeout_s=1000.0)).wall_s.value == 1000.0
    assert forecast_of(workspace, replace(seeds, timeout_s=100.0)).wall_s.value == pytest.approx(
        100.0
    )
    assert forecast_of(workspace, replace(seeds, timeout_s=10.0)).wall_s.value == pytest.approx(
        10.0
    )


def test_what_is_done_costs_nothing_and_why_states_the_same(workspace: Workspace) -> None:
    run(workspace, ONE)
    done = forecast_of(workspace, ONE)
    assert (done.jobs, len(done.due), done.wall_s.value, done.memory_mb) == (1, 0, 0.0, None)
    asked = replace(ONE, seeds=(0, 1), timeout_s=7.0)
    found = forecast_of(workspace, asked)
    assert found.reasons == {"timeout_s changed": 1, "it has no record": 1}
    plan = make_plan(asked, workspace)
    whys = [(job, why) for job, why in explain(plan, HereRuntime()) if why]
    assert [(one.job, one.why) for one in found.due] == whys


def test_the_interval_holds_as_often_as_it_states() -> None:
    rng = np.random.default_rng(1)
    hits, tries = 0, 300
    for _ in range(tries):
        total = _Total()
        total.draw(rng.gamma(4.0, 1.0, size=30), 20, 1e9, rng)
        interval = total.expected()
        hits += interval.low <= rng.gamma(4.0, 1.0, size=20).sum() <= interval.high
    assert hits / tries == pytest.approx(COVERAGE, abs=0.06)
    assert DRAWS >= 100


def test_the_same_plan_states_the_same(workspace: Workspace) -> None:
    run(workspace, replace(ONE, seeds=(0, 1, 2)))
    asked = replace(ONE, seeds=tuple(range(9)))
    assert plan_json(forecast_of(workspace, asked), None) == plan_json(
        forecast_of(workspace, asked), None
    )


def test_damaged_and_old_records(workspace: Workspace) -> None:
    run(workspace, ONE)
    plan = make_plan(ONE, workspace)
    (whole,) = read_summaries(plan.files)["zero-ode"]
    text = FILE.read_text("utf-8")
    FILE.write_text(text + text[:40], "utf-8")  # torn
    (again,) = read_summaries(plan.files)["zero-ode"]
    assert again.key == whole.key
    for damage in ("null\n", "{}\n", "[]\n", '{"schema": 99}\n', "\udcff\n"):
        FILE.write_text(text + damage + text, "utf-8", errors="surrogateescape")
        with pytest.raises(RecordsError, match="line 2"):
            forecast(plan, HereRuntime())


@pytest.mark.parametrize(
    ("more", "most"),
    [
        ([], "1,000 completions, any number of tokens of prompts, 16,384,000 tokens of compl"),
        (["--llm-calls", "7", "--llm-price", "1/2"], "0.2294 of money for completions"),
        (["--llm-price", "1/2", "--llm-money", "3"], "3.0 of money"),
        (["--llm-completion-tokens", "20000"], " 20,000 tokens of completions"),
        (["--llm-settings", '{"max_tokens": 10}', "--llm-calls", "3"], " 30 tokens of completions"),
    ],
)
@pytest.mark.extension("language_models")
def test_plan_prints_what_may_be_asked_at_most(
    workspace: Workspace, more: list[str], most: str, capsys: pytest.CaptureFixture[str]
) -> None:
    add_method(workspace, "asks", more="[access]\nllm = true")
    line = ["--algorithm", "asks", "--data-type", "ode", "--dataset", "rc-circuit"]
    line += ["--runtime", "venv", "--llm-model", "m", "--llm-url", "http://127.0.0.1:9/v1"]
    assert main(["plan", *line, *more]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Language model: 1 job, at most " in said
    assert most in said


@pytest.mark.usefixtures("workspace")
def test_plan_prints_and_gives_json(capsys: pytest.CaptureFixture[str]) -> None:
    line = ["--algorithm", "zero", "--data-type", "ode", "--dataset", "rc-circuit"]
    line += ["--runtime", "venv", "--timeout", "3600"]
    assert main(["plan", *line]) == 0
    text = capsys.readouterr().out
    assert "zero · ode: 1 job, 0 done, 1 to run; time unknown, at most 1 h a job" in text
    assert "estimated from the time limit: 1" in text
    assert "of cases" not in text
    assert "1 job: 0 done, 1 to run. Nothing was done." in text
    assert main(["plan", *line, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["jobs"], found["to_run"], found["study"]) == (1, 1, None)
    assert found["due"][0]["dataset"] == "rc-circuit"
    assert found["wall_s"] == {"low": 0.0, "value": 3600.0, "high": 3600.0}
    assert not Path("results").exists()
