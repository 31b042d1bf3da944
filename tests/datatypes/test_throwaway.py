"""The interface of data types, tried by two that nobody knows: each is one module."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from flavours import each_run, numpy_lock, open_flavour
from harness import (
    HereRuntime,
    Quiet,
    add_method,
    execute,
    make_workspace,
    out_of_time,
    section_of,
)

from mdbench import datatypes
from mdbench.cli.main import main
from mdbench.records import RecordStore, Status
from mdbench.runs.due import explain
from mdbench.runs.plan import make_plan
from mdbench.runs.reproduce import RESULT, differences, plans_of
from mdbench.runs.study import RunOptions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mdbench.records import Record
    from mdbench.runtimes.base import Runtime
    from mdbench.workspace import Workspace

KINDS = Path(__file__).parents[1] / "support" / "kinds"

RULER = """
import numpy as np

class Adapter:
    '''Labels by one letter, by whichever rule the labels of the training follow best.'''
    def __init__(self, *, seed, threads, rule):
        self.rule = rule
    def fit(self, problem):
        self.seen = {}
        for word, label in zip(problem.words, problem.labels[:, 0]):
            self.seen.setdefault(self.key(word), []).append(str(label))
        every = [label for labels in self.seen.values() for label in labels]
        self.usual = max(sorted(set(every)), key=every.count)
    def key(self, word):
        return word[0] if self.rule == "first" else len(word)
    def predict(self, problem):
        found = [self.seen.get(self.key(word), [self.usual]) for word in problem.words]
        return np.array([[max(sorted(set(one)), key=one.count)] for one in found])
"""
RIGHT = """
import numpy as np
from mdbench.worker import Candidate

SURFACES = [
    ("u", "v", "0.5*u - v"), ("u", "v", "u*v"), ("u", "v", "u*v + 0.0*sin(u)"), ("0", "0", "0")
]

class Adapter:
    '''Knows some surfaces, of which the bench may choose.'''
    def __init__(self, *, seed, threads): ...
    def fit(self, problem): ...
    def candidates(self):
        for texts in SURFACES:
            yield Candidate(texts)
            {wait}
    def choose(self, indices):
        self.texts = SURFACES[indices[0]]
    def predict(self, problem):
        u, v = problem.X.T
        scope = {{"u": u, "v": v, "sin": np.sin}}
        return np.stack([eval(t, scope) + 0 * u for t in self.texts], axis=-1)
    def equations(self):
        return list(self.texts)
"""
CRASH = """
import os

class Adapter:
    def __init__(self, *, seed, threads): ...
    def fit(self, problem):
        os._exit(3)
"""
SLEEP = """
import time

class Adapter:
    def __init__(self, *, seed, threads): ...
    def fit(self, problem):
        time.sleep(1000)
"""
EARLY = """
import numpy as np

class Adapter:
    stopped_early = True
    def __init__(self, *, seed, threads): ...
    def fit(self, problem):
        self.label = problem.labels[0, 0]
    def predict(self, problem):
        return np.full((len(problem.words), 1), self.label)
"""
STRANGER = EARLY.replace("problem.labels[0, 0]", "'a stranger'").replace("True", "False")


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `MDBENCH_DATATYPES=tests/support/kinds` does in a new process."""
    monkeypatch.setattr(datatypes, "__path__", [*datatypes.__path__, str(KINDS)])


def add(workspace: Workspace, name: str, adapter: str, kind: str, *, tuning: str = "none") -> None:
    grid = '[grid]\nrule = ["length", "first"]' if tuning == "grid" else ""
    folder = add_method(workspace, name, adapter, tuning=tuning, more=grid)
    toml = folder / "method.toml"
    text = toml.read_text().replace('["ode"]', f'["{kind}"]')
    if kind == "labels":
        text = text.replace('"table"', '"words"').replace('"baseline"', '"classifier"')
    toml.write_text(text)
    (folder / "requirements.lock").write_text(numpy_lock(), encoding="utf-8")


def options(workspace: Workspace, kind: str, *names: str, **more: Any) -> RunOptions:
    asked = RunOptions(
        names, kind, result_dir=workspace.root / "results", n_jobs=2, timeout_s=100.0
    )
    return replace(asked, **more)


@pytest.fixture
def runtime(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Runtime]:
    opened = open_flavour(request.param, tmp_path / "home")
    yield opened
    opened.close()


def by_name(records: Sequence[Record]) -> dict[tuple[str, str], Record]:
    return {(record.algorithm, record.system): record for record in records}


def goes_on(
    workspace: Workspace,
    runtime: Runtime,
    asked: RunOptions,
    records: dict[tuple[str, str], Record],
) -> None:
    """The same command does nothing; `why` says so; `reproduce` gives the same."""
    plan = make_plan(asked, workspace)
    again = execute(plan, runtime, Quiet())
    assert (again.ran, again.skipped) == (0, len(plan.jobs))
    assert {reason for _, reason in explain(plan, runtime)} == {""}
    (reason,) = {
        reason for _, reason in explain(make_plan(replace(asked, seed=(1,)), workspace), runtime)
    }
    assert "it has no record" in reason
    for _, other in plans_of(
        [record for record in records.values() if record.status is not Status.TIMEOUT],
        (),
        workspace,
        result_dir=workspace.root / "again",
        n_jobs=2,
    ):
        for record in execute(other, runtime, Quiet()).records:
            before = records[record.algorithm, record.system]
            changed = differences(before, record).keys() & RESULT
            assert not changed, changed


def is_reported(
    workspace: Workspace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> tuple[str, str, str, str]:
    """Return the page, the leaderboard in text, the LaTeX and the table of all records."""
    monkeypatch.setenv("MDBENCH_ROOT", str(workspace.root))
    results, page, table = (workspace.root / name for name in ("results", "page.html", "all.csv"))
    assert main(["report", str(results), "--out", str(page)]) == 0
    capsys.readouterr()
    assert main(["report", str(results), "--text"]) == 0
    text = capsys.readouterr().out
    assert main(["export", str(results), "--latex"]) == 0
    latex = capsys.readouterr().out
    assert main(["combine", str(results), "--out", str(table)]) == 0
    capsys.readouterr()
    return page.read_text(encoding="utf-8"), text, latex, table.read_text(encoding="utf-8")


@pytest.mark.extension("papers")
@pytest.mark.parametrize("runtime", each_run("bubblewrap"), indirect=True)
def test_labels_that_are_no_equations(
    tmp_path: Path,
    runtime: Runtime,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    workspace = make_workspace(tmp_path)
    add(workspace, "ruler", RULER, "labels", tuning="grid")
    for name, adapter in (
        ("crash", CRASH), ("sleep", SLEEP), ("early", EARLY), ("stranger", STRANGER),
    ):  # fmt: skip
        add(workspace, name, adapter, "labels")
    names = ("ruler", "crash", "early", "stranger")
    asked = options(workspace, "labels", *names, special=("--words", "200"))
    records = by_name(execute(make_plan(asked, workspace), runtime, Quiet()).records)
    late = options(workspace, "labels", "sleep", datasets=("vowels",), timeout_s=1.0)
    records |= by_name(execute(make_plan(late, workspace), runtime, Quiet()).records)
    found = {place_: record.status for place_, record in records.items()}
    assert found == {
        **{("ruler", f"{rule} (words=200)"): Status.OK for rule in ("vowels", "lengths", "coins")},
        **{("crash", f"{r} (words=200)"): Status.CRASHED for r in ("vowels", "lengths", "coins")},
        **{("early", f"{r} (words=200)"): Status.PARTIAL for r in ("vowels", "lengths", "coins")},
        **{
            ("stranger", f"{r} (words=200)"): Status.INVALID_OUTPUT
            for r in ("vowels", "lengths", "coins")
        },
        ("sleep", "vowels"): Status.TIMEOUT,
    }
    best = records["ruler", "vowels (words=200)"]
    assert best.hyperparameters == {"rule": "first"}
    assert best.metrics["accuracy"] == 1.0
    assert (best.equations, best.options, best.floor) == (None, {"words": 200}, 1.0)
    assert best.judged_by == ("accuracy", "macro_f1")
    assert records["crash", "vowels (words=200)"].judged_by == ("accuracy", "macro_f1")
    assert "'a stranger' is no label" in records["stranger", "vowels (words=200)"].reason
    goes_on(workspace, runtime, asked, {k: v for k, v in records.items() if k[0] != "sleep"})
    page, text, latex, table = is_reported(workspace, capsys, monkeypatch)
    for shown in (page, text, latex):
        assert "accuracy" in shown
        assert "NMSE" not in shown
    assert "metrics.macro_f1" in table.splitlines()[0]
    # A coin's labels tell nobody apart: its case ranks no method.
    assert "coins (words=200)" in page[page.index("labels-unfit") :]


@pytest.mark.extension("papers")
@pytest.mark.parametrize("runtime", each_run("plain"), indirect=True)
def test_clouds_with_a_loss_and_a_choice_of_their_own(
    tmp_path: Path,
    runtime: Runtime,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    workspace = make_workspace(tmp_path)
    add(workspace, "right", RIGHT.format(wait="pass"), "clouds", tuning="front")
    slow = "import time; time.sleep(0.0 if texts[2] == SURFACES[0][2] else 1000.0)"
    add(workspace, "slow", RIGHT.format(wait=slow), "clouds", tuning="front")
    add(workspace, "never", SLEEP, "clouds")
    add(workspace, "crash", CRASH, "clouds")
    asked = options(workspace, "clouds", "right", "crash")
    records = by_name(execute(make_plan(asked, workspace), runtime, Quiet()).records)
    late = options(workspace, "clouds", "never", datasets=("saddle",), timeout_s=1.0)
    records |= by_name(execute(make_plan(late, workspace), runtime, Quiet()).records)
    with monkeypatch.context() as patch:
        out_of_time(patch, lambda attempt: attempt._pool.count == 2)
        late = options(workspace, "clouds", "slow", datasets=("saddle",))
        records |= by_name(execute(make_plan(late, workspace), runtime, Quiet()).records)
    found = {place_: record.status for place_, record in records.items()}
    assert found == {
        **{("right", name): Status.OK for name in ("plane", "saddle", "tube")},
        **{("crash", name): Status.CRASHED for name in ("plane", "saddle", "tube")},
        ("slow", "saddle"): Status.PARTIAL,
        ("never", "saddle"): Status.TIMEOUT,
    }
    saddle = records["right", "saddle"]
    assert saddle.equations == ("u", "v", "u*v")  # the simpler of two that are as good
    assert saddle.metrics["chamfer"] == pytest.approx(0.0, abs=1e-12)
    assert saddle.metrics["identified"] == 1.0
    assert saddle.metrics["agreement"] == pytest.approx(0.0, abs=1e-20)
    assert records["right", "tube"].metrics["identified"] == 0.0
    assert records["slow", "saddle"].equations == ("u", "v", "u*v")
    goes_on(
        workspace, runtime, asked, {k: v for k, v in records.items() if k[0] in {"right", "crash"}}
    )
    page, text, latex, table = is_reported(workspace, capsys, monkeypatch)
    for shown in (page, text, latex):
        assert "Chamfer" in shown
        assert "NMSE" not in shown
    assert "metrics.chamfer" in table.splitlines()[0]
    stored = RecordStore(workspace.root / "results" / "right-clouds.jsonl").read()
    assert [record.floor for record in stored] == [0.0, 0.0, 0.0]


def test_the_data_type_of_the_page_for_authors_works_as_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = section_of("extending.md", "Adding a data type")
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (tmp_path / "kinds" / "pendulums").mkdir(parents=True)
    (tmp_path / "kinds" / "pendulums" / "data_type.py").write_text(code, encoding="utf-8")
    monkeypatch.setattr(datatypes, "__path__", [*datatypes.__path__, str(tmp_path / "kinds")])
    workspace = make_workspace(tmp_path)
    known = RIGHT.format(wait="pass").replace("u, v = problem.X.T", "u = v = q = problem.X[:, 0]")
    known = known.replace('"u": u', '"q": q, "u": u')
    known = re.sub(
        r"SURFACES = \[.*?\]", 'SURFACES = [("0",), ("-39.24*sin(q)",)]', known, flags=re.DOTALL
    )
    add(workspace, "right", known, "pendulums", tuning="front")
    asked = options(workspace, "pendulums", "right")
    records = execute(make_plan(asked, workspace), HereRuntime(), Quiet()).records
    monkeypatch.delitem(sys.modules, "mdbench.datatypes.pendulums.data_type")
    monkeypatch.delitem(sys.modules, "mdbench.datatypes.pendulums")
    assert [record.status for record in records] == [Status.OK] * 2
    assert [record.metrics["identified"] for record in records] == [1.0, 0.0]


def test_each_is_one_folder_that_a_new_process_finds(tmp_path: Path) -> None:
    script = "import mdbench.datatypes as kinds; print(*kinds.names(), len(kinds.classes()))"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"MDBENCH_DATATYPES": f"{KINDS}{os.pathsep}{tmp_path}"},
        capture_output=True,
        text=True,
        check=True,
    )
    *names, count = done.stdout.split()
    assert {"clouds", "labels", "ode"} <= set(names)
    assert int(count) == len(names)
