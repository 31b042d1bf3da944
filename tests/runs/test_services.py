"""Services that a package adds, and that cannot be used: only methods that ask them are refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from harness import ROOT, add_method, make_workspace
from sweeps import sampled

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Typed = Callable[..., subprocess.CompletedProcess[str]]

GOOD = """
from dataclasses import dataclass
from mdbench.runs.services import Service

@dataclass(frozen=True, kw_only=True)
class Options:
    pass

class Odd(Service):
    title = "Odd"
    job_options = run_options = Options

    def connect(self, options):
        return None

    def replay(self, logs):
        return None
"""
BROKEN = {
    "import": (
        GOOD.replace("from dataclasses", "import gone\nfrom dataclasses"),
        "gone",
    ),
    "abstract": (GOOD.replace("def connect", "def connects"), "abstract"),
    "without options": (GOOD.replace("job_options = ", ""), "job_options"),
    "not frozen": (GOOD.replace("frozen=True, ", ""), "frozen=True and kw_only=True"),
    "by place": (
        GOOD.replace(", kw_only=True", "").replace("    pass", "    odd: int = 0"),
        "frozen=True and kw_only=True",
    ),
    "no dataclass": (GOOD.replace("@dataclass(frozen=True, kw_only=True)", ""), "dataclass"),
    "no class": (GOOD.replace("class Odd(Service)", "class Other(Service)"), "Odd"),
}


@pytest.fixture
def typed(tmp_path: Path) -> Typed:
    """Run a command line with a service in `odd.py`, and methods that ask it, or nobody."""
    workspace = make_workspace(tmp_path)
    add_method(workspace, "asks", more="[access]\nodd = true")
    add_method(workspace, "zero")
    folder = tmp_path / "more" / "odd_package"
    folder.mkdir(parents=True)
    entry = "[mdbench.services]\nodd = odd_package.odd:Odd\n"
    (folder / "entry_points.txt").write_text(entry, encoding="utf-8")
    environment = {
        **os.environ,
        "MDBENCH_ROOT": str(workspace.root),
        "MDBENCH_HOME": str(workspace.home),
        "MDBENCH_EXTENSIONS": str(tmp_path / "more"),
        "PYTHONPATH": str(ROOT),
    }

    def run(code: str, *words: str) -> subprocess.CompletedProcess[str]:
        (folder / "odd.py").write_text(code, encoding="utf-8")
        line = [sys.executable, "-m", "mdbench", *words]
        return subprocess.run(line, env=environment, capture_output=True, text=True, check=False)

    return run


@pytest.mark.parametrize("case", sampled(BROKEN))
def test_a_service_that_cannot_be_used_hinders_nobody_else(typed: Typed, case: str) -> None:
    code, reason = BROKEN[case]
    jobs = ["--data-type", "ode", "--dataset", "rc-circuit", "--runtime", "venv", "--algorithm"]
    listed = typed(code, "list", "--json")
    assert {"asks", "zero"} <= {each["name"] for each in json.loads(listed.stdout)["methods"]}
    refused = typed(code, "run", *jobs, "asks")
    assert refused.returncode == 2
    assert "asks asks the service 'odd', which is not here" in refused.stderr
    assert reason in refused.stderr
    assert "Traceback" not in refused.stderr


def test_a_run_without_a_connection_is_refused_before_any_job(typed: Typed) -> None:
    jobs = ["--data-type", "ode", "--dataset", "rc-circuit", "--runtime", "venv", "--algorithm"]
    refused = typed(GOOD, "run", *jobs, "asks")
    assert refused.returncode == 2
    assert "asks a service, and no option says how it is reached" in refused.stderr
