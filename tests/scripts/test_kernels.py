"""The numerical tests under other kernels: which are run, which not, and what a failure gives."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

import pytest
from harness import ROOT

from mdbench.worker.serve import kernel_and_threads

if TYPE_CHECKING:
    from pathlib import Path

TEST = """
import os

def test_kernel():
    assert os.environ["OPENBLAS_CORETYPE"] == {kernel!r}
"""


@pytest.fixture
def script() -> Any:
    path = ROOT / "scripts" / "test_kernels.py"
    spec = importlib.util.spec_from_file_location("kernels_script", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("kernel", ["Nehalem", "Penryn"])
def test_each_kernel_but_the_own_is_run_if_it_can_be(
    script: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    kernel: str,
) -> None:
    passes = kernel == "Nehalem"
    own, _ = kernel_and_threads()
    kernels = {"mine": ("fpu", own), "Nehalem": ("fpu", "Nehalem"), "future": ("avx9999", "x")}
    monkeypatch.setattr(script, "KERNELS", kernels)
    path = tmp_path / "test_it.py"
    path.write_text(TEST.format(kernel=kernel), encoding="utf-8")
    assert script.main([str(path)]) == (not passes)
    said = capsys.readouterr().out
    assert "mine: scripts/test has used it" in said
    assert "future: not tested, since this processor has no avx9999" in said
    assert said.index("Nehalem:\n") < said.index("1 passed" if passes else "1 failed")
