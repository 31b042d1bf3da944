"""Plain processes of a bench that root has started: where all can read what they need."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from harness import HereRuntime, Quiet, execute, make_workspace
from isolated import HOME, Bench
from uv import find_uv_bin

from mdbench.records import Status
from mdbench.runs.plan import make_plan
from mdbench.runs.study import RunOptions
from mdbench.runtimes.base import Prepared
from mdbench.runtimes.processes import JOB_UIDS
from mdbench.runtimes.worker import WORKER_PACKAGE, can_drop_privileges

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mdbench.methods import Method

pytestmark = [pytest.mark.slow, pytest.mark.build]

SYSTEM_PYTHON = Path("/usr/bin/python3")


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Yield a folder that everybody may pass; pytest's own are root's alone."""
    made = Path(tempfile.mkdtemp(prefix="mdbench-open-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


TELLS_WHO_IT_IS = """
import os
import numpy as np

class Adapter:
    def __init__(self, *, seed, threads): ...
    def fit(self, problem):
        print(os.getuid(), os.getgid(), os.getgroups(), os.stat("scratch").st_uid, flush=True)
        open("mine", "w").close()
    def predict(self, problem):
        return np.zeros((len(problem.X), 1))
    def equations(self):
        return ["0"]
"""


def test_jobs_of_root_run_as_nobody(open_folder: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can be somebody else")
    if not SYSTEM_PYTHON.exists():
        pytest.skip(f"no {SYSTEM_PYTHON}, which everybody may run")
    bench = Bench("plain", make_workspace(open_folder, HOME), TELLS_WHO_IT_IS)
    lock = bench.workspace.algorithms / "nasty" / "requirements.lock"
    environment = open_folder / "env"
    python = environment / "bin" / "python"
    for arguments in (
        ["venv", "--quiet", "--python", str(SYSTEM_PYTHON), str(environment)],
        ["pip", "install", "--quiet", "--python", str(python), "--requirement", str(lock)],
    ):
        done = subprocess.run(
            [find_uv_bin(), *arguments], capture_output=True, text=True, check=False
        )
        if done.returncode:
            pytest.skip(f"no environment can be made: {done.stderr[-200:]}")
    if not can_drop_privileges([WORKER_PACKAGE], [environment], same_place=True):
        pytest.skip(f"{WORKER_PACKAGE} cannot be read by everybody")

    class There(HereRuntime):
        def prepare(self, method: Method) -> Prepared:
            return Prepared((str(python),), method.lock_sha256(), "3.11")

    options = RunOptions(
        ("nasty",), "ode", ("rc-circuit",), seeds=(1, 2), result_dir=open_folder / "r"
    )
    records = execute(make_plan(options, bench.workspace), There(wrapped=False), Quiet()).records
    for record in records:
        assert record.status is Status.OK, record.reason
        jobs: Any = record.runtime.details["jobs"]
        assert jobs["nobody"]
        assert record.log is not None
        said = (open_folder / "r" / record.log).read_text(encoding="utf-8")
        user, group, groups, owner = said.split()
        assert user == group == owner
        assert (int(user) in JOB_UIDS, groups) == (True, "[]")
