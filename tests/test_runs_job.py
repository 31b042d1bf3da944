"""One job from its specification alone, here or in another process."""

from __future__ import annotations

import pickle
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from house import ROOT, HereRuntime, Quiet, add_method, children, workspace

from mdbench.errors import UsageError
from mdbench.records import Record, Status, comparable
from mdbench.runs.execute import execute
from mdbench.runs.job import run_job
from mdbench.runs.plan import RunOptions, make_plan

if TYPE_CHECKING:
    from pathlib import Path

    from mdbench.workspace import Workspace

CHILD = """
import pickle, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from house import HereRuntime
from mdbench.runs.job import run_job
from mdbench.workspace import Workspace
job, root, home = pickle.load(sys.stdin.buffer)
record = run_job(job, HereRuntime(), workspace=Workspace(root, home), result_dir=root / "logs")
print(record.to_line())
"""


@pytest.fixture
def place(tmp_path: Path) -> Workspace:
    made = workspace(tmp_path)
    add_method(made, "zero")
    add_method(made, "limited", more='[[limits]]\nreason = "never"')
    return made


def test_a_record_follows_from_the_specification(place: Workspace) -> None:
    names = ("rc-circuit", "autocatalysis")
    where = place.root / "results"
    plan = make_plan(
        RunOptions(("zero", "limited"), "ode", names, snr=(20.0,), result_dir=where), place
    )
    together = execute(plan, HereRuntime(), Quiet()).records
    alone = [run_job(job, HereRuntime(), workspace=place, result_dir=where) for job in plan.jobs]
    assert [comparable(record) for record in alone] == [comparable(record) for record in together]
    assert [record.status for record in alone] == [Status.OK] * 2 + [Status.UNSUPPORTED] * 2
    assert not children()


def test_a_job_runs_wherever_it_is_sent(place: Workspace) -> None:
    options = RunOptions(("zero",), "ode", ("rc-circuit",), result_dir=place.root / "logs")
    (job,) = make_plan(options, place).jobs
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(ROOT / "tests")],
        input=pickle.dumps((job, place.root, place.home)),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        check=True,
    )
    here = run_job(job, HereRuntime(), workspace=place, result_dir=place.root / "logs")
    assert comparable(Record.model_validate_json(done.stdout)) == comparable(here)


def test_what_does_not_exist_is_an_error(place: Workspace) -> None:
    options = RunOptions(("zero",), "ode", ("rc-circuit",))
    (job,) = make_plan(options, place).jobs
    (place.algorithms / "zero").rename(place.algorithms / "one")
    with pytest.raises(UsageError, match="There is no method 'zero'"):
        run_job(job, HereRuntime(), workspace=place)
