"""Who chooses among candidates: the benchmark by its rule, or the method."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from harness import HereRuntime, Quiet, add_method, execute, known, make_workspace, out_of_time

from mdbench.datatypes.facts import Choice, Protocol
from mdbench.errors import UsageError
from mdbench.records import Status
from mdbench.reports.classes import class_of
from mdbench.runs.plan import make_plan
from mdbench.runs.spec import JobSpec
from mdbench.runs.study import RunOptions

if TYPE_CHECKING:
    from pathlib import Path

    from mdbench.records import Record
    from mdbench.workspace import Workspace

FRONT = """
import time
import numpy as np
from mdbench.worker import Candidate

SLOPES = (0.5, -0.36, 2.0)

class Adapter:
    def __init__(self, *, seed, threads):
        self.slope = {own}
    def fit(self, p):
        print("fit on", len(p.X))
        self.X = p.X
    def candidates(self):
        for slope in SLOPES:
            yield Candidate((f"{{slope}}*u0",), slope * self.X)
        time.sleep({pause})
    def choose(self, indices):
        self.slope = SLOPES[indices[0]]
    def predict(self, p):
        return self.slope * p.X
    def equations(self):
        return [f"{{self.slope}}*u0"]
"""
GRID = """
import numpy as np

class Adapter:
    # The state falls from 10 to 1.35, in the last fifth from 1.76: the one equation is nearly
    # right at all times, the other is the truth at the end, and far off before.
    TEXTS = {"short": "-0.37*u0 + 0.303", "long": "(0.7-u0/1.2)/2.31 + max(u0-4, 0)"}
    def __init__(self, *, seed, threads, kind):
        self.text = self.TEXTS[kind]
    def fit(self, p):
        print("fit on", len(p.X))
    def predict(self, p):
        print("predict", len(p.X))
        u0 = p.X[:, :1]
        return eval(self.text, {"u0": u0, "max": np.maximum}) + 0 * u0
    def equations(self):
        return [self.text]
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path)


def run(workspace: Workspace, algorithm: str, choice: str, **changes: Any) -> Record:
    options = RunOptions(
        (algorithm,),
        "ode",
        ("rc-circuit",),
        choice=Choice(choice),
        result_dir=workspace.root / "results",
        n_jobs=1,
        timeout_s=100.0,
    )
    plan = make_plan(replace(options, **changes), workspace)
    (record,) = execute(plan, HereRuntime(), Quiet()).records
    return record


def log(workspace: Workspace, record: Record) -> list[str]:
    return (workspace.root / "results" / known(record.log)).read_text("utf-8").splitlines()


def test_own_takes_what_the_method_answers_when_nothing_was_chosen(workspace: Workspace) -> None:
    add_method(workspace, "front", FRONT.format(own=2.0, pause=0), tuning="front")
    best, own = (run(workspace, "front", choice) for choice in ("benchmark", "own"))
    assert (best.equations, own.equations) == (("-0.36*u0",), ("2.0*u0",))
    assert own.selection is None
    assert known(best.selection).candidates == 3
    assert own.metrics["nmse"] != best.metrics["nmse"]
    assert {each.score for each in own.measured.anytime} == {own.metrics["nmse"]}


def test_own_keeps_the_front_where_it_is_asked_for(workspace: Workspace) -> None:
    add_method(workspace, "front", FRONT.format(own=2.0, pause=0), tuning="front")
    own = run(workspace, "front", "own", save_pareto=True)
    assert own.equations == ("2.0*u0",)
    assert ("-0.36*u0",) in [entry.equations for entry in known(own.front)]


def test_own_is_of_another_key_class_and_record_and_the_usual_is_not(workspace: Workspace) -> None:
    add_method(workspace, "front", FRONT.format(own=0.5, pause=0), tuning="front")
    best, own = (run(workspace, "front", choice) for choice in ("benchmark", "own"))
    assert best.key != own.key
    assert "choice" not in best.key_parts
    assert own.key_parts["choice"] == "own"
    assert (best.options, own.options) == ({}, {"choice": "own"})
    assert class_of(best) == class_of(own)._replace(choice="benchmark")
    assert class_of(best).title == "limit 100 s, strict"
    assert class_of(own).title == "limit 100 s, strict, choice own"
    assert JobSpec.of(own).choice is Choice.OWN
    assert JobSpec.of(best).choice is Choice.BENCHMARK
    assert JobSpec.of(own).options == {}
    assert own.system == best.system == "rc-circuit"


def test_a_method_that_has_no_choice_of_its_own_fails_and_says_so(workspace: Workspace) -> None:
    text = FRONT.format(own="None", pause=0).replace(
        'return [f"', 'assert self.slope, "nothing was chosen"\n        return [f"'
    )
    add_method(workspace, "front", text, tuning="front")
    assert run(workspace, "front", "benchmark").status is Status.OK
    own = run(workspace, "front", "own")
    assert own.status is Status.FAILED
    assert "nothing was chosen" in own.reason


@pytest.mark.parametrize("protocol", list(Protocol))
def test_own_takes_the_setting_of_a_grid_with_the_least_error_on_the_last_fifth(
    workspace: Workspace, protocol: Protocol
) -> None:
    more = '[grid]\nkind = ["short", "long"]'
    add_method(workspace, "grid", GRID, tuning="grid", more=more)
    best, own = (
        run(workspace, "grid", choice, protocol=protocol) for choice in ("benchmark", "own")
    )
    assert own.hyperparameters == {"kind": "long"}
    assert best.hyperparameters == {"kind": "short"}
    # 120 samples before the test, of which smoothing leaves out the first and the last one.
    rows, part = (118, 95) if protocol is Protocol.STRICT else (120, 96)
    fits = [line for line in log(workspace, own) if line.startswith("fit")]
    assert fits == [f"fit on {part}", f"fit on {part}", f"fit on {rows}"]


def test_own_has_the_candidate_of_least_error_where_the_time_ran_out(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_method(workspace, "slow", FRONT.format(own=2.0, pause=1000), tuning="front")
    out_of_time(monkeypatch, lambda attempt: attempt._pool.count == 3)
    record = run(workspace, "slow", "own")
    assert record.status is Status.PARTIAL
    assert record.equations == ("-0.36*u0",)


def test_a_mistyped_choice_names_both() -> None:
    given = {"algorithm": "sindy", "data_type": "ode"}
    assert RunOptions.of(given).choice is Choice.BENCHMARK
    assert RunOptions.of({**given, "choice": "own"}).choice is Choice.OWN
    with pytest.raises(UsageError, match=r"--choice is 'owm'") as refused:
        RunOptions.of({**given, "choice": "owm"})
    assert "own" in known(refused.value.hint)
