"""The code on the pages for authors of runtimes and backends runs as it stands."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from house import ROOT, HereRuntime, add_method, workspace

from mdbench.records import RecordStore, Status
from mdbench.runs.plan import RunOptions, make_plan

if TYPE_CHECKING:
    from pathlib import Path


def code_of(page: str) -> list[str]:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def test_a_runtime_of_one_s_own(tmp_path: Path) -> None:
    place = workspace(tmp_path)
    add_method(place, "zero")
    plan = make_plan(RunOptions(("zero",), "ode", ("rc-circuit",)), place)
    scope: dict[str, Any] = {
        "spec": plan.jobs[0],
        "home": place.home,
        "workspace": place,
        "results": tmp_path / "results",
    }
    for code in code_of("adding-a-runtime.md"):
        exec(code, scope)
    record = scope["record"]
    assert (record.status, record.runtime.name) == (Status.OK, "module")
    assert record.key_parts["python"] == sys.executable


@pytest.mark.slow
def test_a_backend_of_one_s_own(tmp_path: Path) -> None:
    place = workspace(tmp_path)
    add_method(place, "zero")
    (code,) = code_of("adding-a-backend.md")
    # The tests' own interpreter has what the method needs; nothing is built here.
    runtime = 'open_runtime("venv", workspace.home)'
    assert runtime in code
    file = tmp_path / "results" / "zero-ode.jsonl"
    call = f'run_everywhere("zero", "ode", ("lorenz*", "rc-circuit"), {str(file)!r})'
    (tmp_path / "backend.py").write_text(
        code.replace(runtime, "HereRuntime()")
        + f"\nfrom house import HereRuntime\nif __name__ == '__main__':\n    {call}\n",
        encoding="utf-8",
    )
    # In a process of its own, as what multiprocessing starts stays until its parent ends.
    told = {"MDBENCH_ROOT": str(place.root), "MDBENCH_HOME": str(place.home)}
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    subprocess.run(
        [sys.executable, tmp_path / "backend.py"],
        env=os.environ | told | {"PYTHONPATH": path},
        check=True,
        timeout=120,
    )
    records = RecordStore(file).read()
    assert len(records) == 4
    assert {record.status for record in records} == {Status.OK}
    assert HereRuntime.name == records[0].runtime.name
