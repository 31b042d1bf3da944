"""Jobs of methods that only predict: their records, and the inputs that they are given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from harness import HereRuntime, Quiet, add_method, execute, make_workspace

from mdbench.backends.local import LocalBackend
from mdbench.cli.report import leaderboards_of
from mdbench.records import Status
from mdbench.runs.plan import make_plan
from mdbench.runs.study import RunOptions

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mdbench.records import Record
    from mdbench.workspace import Workspace

LINE = """
import numpy as np

class Adapter:
    def __init__(self, *, seed, threads, shift=0.0):
        self.shift = shift
    def fit(self, problem):
        self.X, self.Y = problem.X, problem.Y
        print("fit on", len(self.X))
        assert not hasattr(self, "asked")
    def predict(self, problem):
        assert problem.arrays.keys() == {"X"}  # without targets
        line = np.polyfit(self.X[:, 0], self.Y[:, 0], 1)
        return np.polyval(line, problem.X) + self.shift
    def equations(self):
        raise AssertionError("nobody asks for equations")
"""
GRID = """
[grid]
shift = [0.3, 0.0, -0.2]
"""


def add_predictor(workspace: Workspace, name: str, text: str, **more: str) -> None:
    folder = add_method(workspace, name, text, **more)
    file = folder / "method.toml"
    content = file.read_text(encoding="utf-8")
    content = content.replace('family = "baseline"', 'family = "predictor"\nequations = false')
    file.write_text(content.replace('["ode"]', '["ode", "surface", "real"]'), encoding="utf-8")


def run(
    workspace: Workspace, names: tuple[str, ...], data_type: str, dataset: str
) -> Sequence[Record]:
    options = RunOptions(
        names,
        data_type,
        (dataset,),
        result_dir=workspace.root / "results",
        n_jobs=1,
        timeout_s=60.0,
    )
    return execute(make_plan(options, workspace), HereRuntime(), Quiet()).records


def test_a_record_has_scores_and_no_equations(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    add_predictor(workspace, "line", LINE)
    add_method(workspace, "nothing")
    records = run(workspace, ("line", "nothing"), "ode", "rc-circuit")
    record = next(one for one in records if one.method == "line")
    assert record.status is Status.OK, record.reason
    assert record.equations is None
    assert set(record.metrics) == set(record.judged_by) == {"nmse"}
    assert record.metrics["nmse"] < 1e-3  # type: ignore[operator]
    assert record.measured.predict_s is not None
    # It is the better one by far, and no method is behind it.
    [board] = leaderboards_of(records, workspace).values()
    rows = {row.method: row for row in board.rows}
    assert rows["line"].standing == "predictor"
    assert rows["line"].rank is None
    assert board.ranked == ()


@pytest.mark.parametrize("tuning", ["none", "grid"])
def test_max_rows_and_grids_are_honoured(tmp_path: Path, tuning: str) -> None:
    workspace = make_workspace(tmp_path)
    more = "max_rows = 40\n" + GRID * (tuning == "grid")
    add_predictor(workspace, "line", LINE, tuning=tuning, more=more)
    [record] = run(workspace, ("line",), "ode", "rc-circuit")
    assert record.status is Status.OK, record.reason
    assert record.metrics["nmse"] < 1e-2  # type: ignore[operator]
    if tuning == "grid":
        assert record.hyperparameters == {"shift": 0.0}
    log = (workspace.root / "results" / str(record.log)).read_text(encoding="utf-8")
    assert "fit on 40" in log


def test_data_types_that_score_equations_alone_are_unsupported(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    add_predictor(workspace, "line", LINE)
    [record] = run(workspace, ("line",), "surface", "EBS4")
    assert record.status is Status.UNSUPPORTED
    assert "surface scores equations alone" in record.reason


CLOCK = """
import time
import numpy as np

class Adapter:
    def __init__(self, *, seed, threads): ...
    def fit(self, problem):
        time.sleep(0.05)
        self.targets = len(problem.targets)
        print("fit", time.monotonic(), flush=True)
    def predict(self, problem):
        print("predict", time.monotonic(), flush=True)
        return np.zeros((len(problem.X), self.targets))
    def equations(self):
        return ["0"] * self.targets
"""


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_predictions_come_after_all_fits_of_their_case(workspace: Workspace, n_jobs: int) -> None:
    """Whatever a prediction passes on, no fit of the same problem comes after it."""
    for name in ("early", "late"):
        add_predictor(workspace, name, CLOCK)
    add_method(workspace, "equations", CLOCK)
    options = RunOptions(
        ("early", "equations", "late"),
        "ode",
        ("rc-circuit", "lotka-volterra-simple"),
        snr=(None, 20.0),
        seeds=(0, 1),
        result_dir=workspace.root / "results",
        n_jobs=n_jobs,
    )
    summary = execute(make_plan(options, workspace), HereRuntime(), Quiet())
    assert {record.status for record in summary.records} == {Status.OK}
    for case in options.datasets:
        fits, predictions = [], []
        for record in summary.records:
            if record.dataset != case:
                continue
            assert record.log is not None
            log = (workspace.root / "results" / record.log).read_text(encoding="utf-8")
            marks = dict(line.split(maxsplit=1) for line in log.splitlines())
            fits.append(float(marks["fit"]))
            if record.algorithm != "equations":
                predictions.append(float(marks["predict"]))
                jobs: Any = record.runtime.details["jobs"]
                assert jobs["new_sandbox"] is True  # which serves no fit afterwards
        assert (len(fits), len(predictions)) == (12, 8)
        assert max(fits) < min(predictions)


def test_an_error_or_an_end_before_the_prediction_keeps_nobody_waiting(
    workspace: Workspace,
) -> None:
    add_predictor(workspace, "fails", LINE.replace('print("fit on"', 'raise OSError("fit on"'))
    add_predictor(workspace, "line", LINE)
    options = RunOptions(
        ("fails", "line"),
        "ode",
        ("rc-circuit",),
        seeds=(0, 1),
        result_dir=workspace.root / "results",
    )
    records = execute(make_plan(options, workspace), HereRuntime(), Quiet()).records
    assert sorted(str(record.status) for record in records) == ["failed"] * 2 + ["ok"] * 2


def test_no_job_is_begun_that_may_end_after_the_time_of_the_run(workspace: Workspace) -> None:
    add_predictor(workspace, "line", LINE)
    options = RunOptions(
        ("line",),
        "ode",
        ("rc-circuit",),
        seeds=(0, 1),
        timeout_s=50.0,
        result_dir=workspace.root / "results",
    )
    plan = make_plan(options, workspace)
    short = execute(plan, HereRuntime(), Quiet(), LocalBackend(seconds=60.0))
    assert (short.ran, short.left) == (0, 2)
    whole = execute(plan, HereRuntime(), Quiet(), LocalBackend(seconds=600.0))
    assert (whole.ran, whole.left) == (2, 0)
