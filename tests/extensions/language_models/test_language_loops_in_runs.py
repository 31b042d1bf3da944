"""The loops that ask a language model, through the bench: budget, statuses and replay."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from asking_bench import with_model
from harness import ROOT, HereRuntime, Quiet, execute, known, make_workspace
from language_loops import LOOPS
from model_answers import BY_THE_SERVER, row, run_mode
from model_modes import MODES
from model_server import Stub
from sweeps import sampled

from mdbench.extensions.language_models.availability import CircuitBreaker
from mdbench.records import comparable
from mdbench.runs.plan import make_plan
from mdbench.runs.study import RunOptions

if TYPE_CHECKING:
    from pathlib import Path

    from mdbench.records import Record


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def workspace(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("MDBENCH_METHODS", str(ROOT / "algorithms"))
    return make_workspace(tmp_path, home)


def run(workspace: Any, results: Path, **more: Any) -> list[Record]:
    options = RunOptions(
        LOOPS, "ode", datasets=("rc-circuit",), result_dir=results, n_jobs=1, **more
    )
    plan = make_plan(options, workspace)
    plan = with_model(plan, breaker=CircuitBreaker(0.1, 0.001))
    with closing(plan.connections["llm"]):
        return list(execute(plan, HereRuntime(), Quiet()).records)


@pytest.mark.slow
def test_a_replay_gives_the_same_records(workspace: Any, tmp_path: Path) -> None:
    given: dict[str, Any] = {"llm_model": "stub", "llm_calls": 30}
    with Stub(answer="1.5*x0", knows=0.1) as stub:
        live = run(workspace, tmp_path / "live", llm_url=stub.url, **given)
    assert [record.status for record in live] == ["ok"] * len(LOOPS)
    for record in live:
        log = tmp_path / "live" / known(record.exchanges)
        lines = log.read_text(encoding="utf-8").splitlines()
        assert len(lines) == known(known(record.llm).calls)
        assert len(lines) <= 30
    replay = run(workspace, tmp_path / "replay", llm_replay=tmp_path / "live", **given)
    assert [comparable(record) for record in replay] == [comparable(record) for record in live]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["prose", "bad-json"])
def test_replies_that_are_none_end_in_the_right_status(
    workspace: Any, tmp_path: Path, mode: str
) -> None:
    with Stub(mode=mode) as stub:
        records = run(workspace, tmp_path / mode, llm_model="stub", llm_url=stub.url, llm_calls=20)
    statuses = {record.algorithm: str(record.status) for record in records}
    reasons = {record.algorithm: record.reason for record in records}
    if mode == "prose":
        assert statuses == dict.fromkeys(LOOPS, "ok") | {"direct": "failed"}
        assert "none of 20 replies has a formula for y" in known(reasons["direct"])
        assert {known(record.llm).calls for record in records} == {20}
    else:
        assert set(statuses.values()) == {"unavailable"}
        assert all("no chat completion" in known(reason) for reason in reasons.values())


PAGE = ROOT / "docs" / "results" / "language-model-answers.md"


def test_the_page_of_answers_has_each_mode_and_no_job_failed_by_a_server() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    rows = {cells[1].strip(" `"): cells for line in lines if len(cells := line.split("|")) > 8}
    assert rows.keys() - {"mode", "---"} == MODES.keys()
    assert [mode for mode in BY_THE_SERVER if " failed " in rows[mode]] == []


@pytest.mark.slow
@pytest.mark.parametrize("mode", sampled(MODES, share=0.05))
def test_the_page_of_answers_is_what_happens(workspace: Any, tmp_path: Path, mode: str) -> None:
    found = row(mode, run_mode(mode, workspace, tmp_path / mode))
    assert found in PAGE.read_text(encoding="utf-8").splitlines()
