"""The code on the pages for authors of runtimes and backends runs as it stands."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from harness import ROOT, HereRuntime, add_method, make_workspace, section_of

from eqverdict.tree import CONSTANTS, FUNCTIONS
from mdbench import worker
from mdbench.records import RecordStore, Status
from mdbench.runs.plan import make_plan
from mdbench.runs.study import RunOptions
from mdbench.runtimes.array_exchange import ArrayExchangeError, read_predictions

if TYPE_CHECKING:
    from pathlib import Path


AUTHORS = (ROOT / "docs" / "adding-a-method.md").read_text(encoding="utf-8")


def test_every_function_that_an_equation_may_use_is_listed_and_no_other() -> None:
    listed: dict[str, int] = {}
    for number, words in (("one", 1), ("two", 2)):
        (row,) = re.findall(rf"^\| {number} \| `([^`]+)` \| `([^`]+)` \|$", AUTHORS, re.MULTILINE)
        listed |= dict.fromkeys(" ".join(row).split(), words)
    assert listed == {name: function.arity for name, function in FUNCTIONS.items()}
    for name in CONSTANTS:
        assert f"`{name}`" in AUTHORS


def test_what_an_adapter_imports_is_shown_and_is_there() -> None:
    names = set(re.findall(r"from mdbench\.worker import ([A-Za-z, ]+)", AUTHORS))
    shown = {name.strip() for line in names for name in line.split(",")}
    assert shown >= {"Candidate", "Unavailable", "Unsupported", "paths"}
    assert all(hasattr(worker, name) for name in shown)


@pytest.mark.parametrize(
    ("given", "wanted", "each", "told"),
    [
        ((31, 1), (30, 1), False, r"shape \(31, 1\); \(30, 1\) expected"),
        ((2, 3), (2, 30, 1), True, r"shape \(3,\); \(30, 1\) expected"),
        ((), (2, 30, 1), True, r"shape \(\); \(2, 30, 1\) expected"),
    ],
)
def test_shape_errors_name_what_the_author_returned(
    tmp_path: Path, given: tuple[int, ...], wanted: tuple[int, ...], each: bool, told: str
) -> None:
    np.save(tmp_path / "a.npy", np.zeros(given))
    with pytest.raises(ArrayExchangeError, match=told):
        read_predictions(tmp_path / "a.npy", wanted, np.dtype(float), per_target=each)


def code_of(title: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", section_of("extending.md", title), re.DOTALL)


def test_a_runtime_of_one_s_own(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    add_method(workspace, "zero")
    plan = make_plan(RunOptions(("zero",), "ode", ("rc-circuit",)), workspace)
    scope: dict[str, Any] = {
        "spec": plan.jobs[0],
        "home": workspace.home,
        "workspace": workspace,
        "results": tmp_path / "results",
    }
    for code in code_of("Adding a runtime"):
        exec(code, scope)
    record = scope["record"]
    assert (record.status, record.runtime.name) == (Status.OK, "module")
    assert record.key_parts["python"] == sys.executable


HINTED = """
import numpy as np


class Adapter:
    def __init__(self, *, seed, threads):
        pass

    def fit(self, problem):
        print("hint:", problem.description)
        self.targets = problem.targets

    def equations(self):
        return ["0"] * len(self.targets)

    def predict(self, problem):
        return np.zeros((len(problem.X), len(self.targets)))
"""


def test_a_service_of_one_s_own(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    add_method(workspace, "hinted", HINTED, more="[access]\nhints = true")
    add_method(workspace, "zero", HINTED)
    extension = tmp_path / "more" / "hints"
    extension.mkdir(parents=True)
    (code,) = code_of("Adding a service")
    (extension / "service.py").write_text(code, encoding="utf-8")
    named = "[mdbench.services]\nhints = hints.service:Hints\n"
    (extension / "entry_points.txt").write_text(named, encoding="utf-8")
    start = (
        "import sys\nfrom harness import HereRuntime\nfrom mdbench.runtimes import venv\n"
        "venv.VenvRuntime = lambda *_, **__: HereRuntime()\n"
        "from mdbench.cli import main\nsys.exit(main(sys.argv[1:]))"
    )
    environment = {
        **os.environ,
        "MDBENCH_ROOT": str(workspace.root),
        "MDBENCH_HOME": str(workspace.home),
        "MDBENCH_RUNTIME": "venv",
        "MDBENCH_EXTENSIONS": str(tmp_path / "more"),
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests" / "support")]),
    }

    def typed(*words: str) -> subprocess.CompletedProcess[str]:
        line = [sys.executable, "-c", start, *words]
        return subprocess.run(
            line, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
        )

    jobs = ["--data-type", "ode", "--dataset", "rc-circuit", "--algorithm", "hinted", "zero"]
    refused = typed("run", *jobs)
    assert (refused.returncode, "Give --hint TEXT." in refused.stderr) == (2, True)
    done = typed("run", *jobs, "--hint", "one term")
    assert done.returncode == 0, done.stderr
    hinted, plain = (
        RecordStore(tmp_path / "results" / f"{name}-ode.jsonl").read()[0]
        for name in ("hinted", "zero")
    )
    assert (hinted.key_parts["hint"], hinted.options["hint"]) == ("one term", "one term")
    assert "hint" not in plain.key_parts
    assert (hinted.runtime.details["network"], plain.runtime.details.get("network")) == (
        "one endpoint",
        None,
    )
    logs = [(tmp_path / "results" / str(one.log)).read_text("utf-8") for one in (hinted, plain)]
    assert ["hint: one term" in text for text in logs] == [True, False]
    assert "nothing that is due" not in typed("plan", *jobs, "--hint", "another").stdout
    assert "1 to run" in typed("plan", *jobs, "--hint", "another").stdout
    assert "Hints:" in typed("run", "--help").stdout


@pytest.mark.slow
def test_a_backend_of_one_s_own(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    add_method(workspace, "zero")
    (code,) = code_of("Adding a backend")
    # The tests' own interpreter has what the method needs; nothing is built here.
    runtime = 'open_runtime("venv", workspace.home)'
    assert runtime in code
    file = tmp_path / "results" / "zero-ode.jsonl"
    call = f'run_everywhere("zero", "ode", ("lorenz*", "rc-circuit"), {str(file)!r})'
    (tmp_path / "backend.py").write_text(
        code.replace(runtime, "HereRuntime()")
        + f"\nfrom harness import HereRuntime\nif __name__ == '__main__':\n    {call}\n",
        encoding="utf-8",
    )
    # In a process of its own, as what multiprocessing starts stays until its parent ends.
    told = {"MDBENCH_ROOT": str(workspace.root), "MDBENCH_HOME": str(workspace.home)}
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests" / "support")])
    subprocess.run(
        [sys.executable, tmp_path / "backend.py"],
        env=os.environ | told | {"PYTHONPATH": path},
        check=True,
        timeout=1800,
    )
    records = RecordStore(file).read()
    assert len(records) == 4
    assert {record.status for record in records} == {Status.OK}
    assert HereRuntime.name == records[0].runtime.name
