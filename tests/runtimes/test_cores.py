from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING

import pytest
from harness import ROOT

from mdbench.runtimes.processes import Cores

if TYPE_CHECKING:
    from pathlib import Path

ALL = len(os.sched_getaffinity(0))


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)


def test_no_core_is_claimed_twice() -> None:
    claims = [Cores(1) for _ in range(ALL)]
    assert {c.numbers[0] for c in claims} == os.sched_getaffinity(0)
    assert Cores(1).numbers == ()
    claims[0].release()
    again = Cores(1)
    assert again.numbers
    for each in [*claims, again]:
        each.release()


def test_all_or_none() -> None:
    assert Cores(ALL + 1).numbers == ()
    whole = Cores(ALL)
    assert len(whole.numbers) == ALL
    whole.release()


def test_the_dead_hold_no_core() -> None:
    code = f"import os; from mdbench.runtimes.processes import Cores; c = Cores({ALL}); os._exit(9)"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False)
    whole = Cores(ALL)
    assert len(whole.numbers) == ALL
    whole.release()


def test_a_folder_that_cannot_be_used_costs_nothing(tmp_path: Path) -> None:
    (tmp_path / f"mdbench-cores-{os.getuid()}").write_text("", encoding="ascii")
    assert Cores(1).numbers == ()
