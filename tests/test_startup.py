"""How NumPy adds up is set before it is loaded, and the same on all processors since 2013."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mdbench.startup import UNFIT, common_kernels, use_common_arithmetic, why_unfit

WIDE = "X86_V4 AVX512_ICL AVX512_SPR"


@pytest.mark.parametrize(
    ("flags", "kernel", "disabled"),
    [
        ("fpu sse2 avx fma avx2 bmi2", "Haswell", None),
        ("fpu sse2 avx fma avx2 avx512f avx512vl", "Haswell", WIDE),
        ("fpu sse2 avx", None, None),
        ("fpu sse2 avx2", None, None),
        ("fpu avx2_of_another_name fma", None, None),
    ],
)
def test_the_kernels_are_what_both_processors_can_run(
    tmp_path: Path, flags: str, kernel: str | None, disabled: str | None
) -> None:
    file = tmp_path / "cpuinfo"
    block = f"processor\t: 0\nmodel name\t: made up\nflags\t\t: {flags}\n"
    file.write_text(2 * block)
    found = common_kernels(file)
    assert found.get("OPENBLAS_CORETYPE") == kernel
    assert found.get("NPY_DISABLE_CPU_FEATURES") == disabled


@pytest.mark.parametrize("text", [None, "", "Features\t: fp asimd aes\n", "flags"])
def test_other_machines_are_left_as_they_are(tmp_path: Path, text: str | None) -> None:
    file = tmp_path / "cpuinfo"
    if text is not None:
        file.write_text(text)
    assert common_kernels(file) == {}


def test_what_somebody_has_set_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Nehalem")
    monkeypatch.delenv("OMP_NUM_THREADS")
    use_common_arithmetic()
    assert os.environ["OPENBLAS_NUM_THREADS"] == "3"
    assert os.environ["OPENBLAS_CORETYPE"] == "Nehalem"
    assert os.environ["OMP_NUM_THREADS"] == "1"


def stand_in(folder: Path, body: str) -> str:
    """Make an interpreter that does something else."""
    program = folder / "python"
    program.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    program.chmod(0o755)
    return str(program)


def test_the_routines_are_tried_in_a_process_of_their_own(tmp_path: Path) -> None:
    assert why_unfit(sys.executable) == ""
    for body, reason in (
        ("kill -SEGV $$", "it died by SIGSEGV"),
        ("kill -ILL $$", "it died by SIGILL"),
        ("echo wrong results for 888 rows >&2; exit 1", "wrong results for 888 rows"),
        ("exit 3", "it failed"),
    ):
        assert why_unfit(stand_in(tmp_path, body)) == reason
    assert "No such file" in why_unfit(str(tmp_path / "nothing"))


def test_the_test_runs_with_the_routines_that_it_is_about(tmp_path: Path) -> None:
    asks = 'echo "$OPENBLAS_CORETYPE $OPENBLAS_NUM_THREADS" >&2; exit 1'
    expected = f"{common_kernels().get('OPENBLAS_CORETYPE', '')} 1".strip()
    assert why_unfit(stand_in(tmp_path, asks)).strip() == expected


def test_where_they_failed_the_processors_own_are_used(tmp_path: Path) -> None:
    file = tmp_path / "cpuinfo"
    file.write_text("flags\t\t: avx2 fma avx512f\n")
    assert common_kernels(file, tmp_path)
    (tmp_path / UNFIT).write_text("it died by SIGSEGV\n")
    assert common_kernels(file, tmp_path) == {}


@pytest.mark.parametrize("module", ["mdbench.cli", "scripts.edition"])
def test_it_is_set_before_numpy_is_loaded(module: str) -> None:
    """With it set too late, the library would have taken kernels and threads of the machine."""
    root = Path(__file__).parents[1]
    asks = f"""
import sys
sys.path[:0] = [{str(root)!r}, {str(root / "scripts")!r}]
class Watch:
    def find_spec(self, name, path=None, target=None):
        if name == "numpy":
            import os
            print(*(os.environ.get(x) for x in ("OPENBLAS_NUM_THREADS", "OPENBLAS_CORETYPE")))
            sys.exit()
sys.meta_path.insert(0, Watch())
import {module}, numpy
"""
    dropped = {"OPENBLAS_NUM_THREADS", "OPENBLAS_CORETYPE"}
    unset = {name: value for name, value in os.environ.items() if name not in dropped}
    done = subprocess.run(
        [sys.executable, "-c", asks], env=unset, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["1", str(common_kernels().get("OPENBLAS_CORETYPE"))], done.stderr


@pytest.mark.parametrize("order", ["mdbench, numpy", "numpy, mdbench"])
def test_a_program_that_loads_numpy_first_is_warned(order: str) -> None:
    names = {"OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS", *common_kernels()}
    asks = (
        f"import os, {order}; mdbench.run; mdbench.load; mdbench.dataset; mdbench.run; "
        f"print(*map(os.environ.get, {names}))"
    )
    unset = {name: value for name, value in os.environ.items() if name not in names}
    root = Path(__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-W", "always", "-c", asks],  # but once a process
        env=unset | {"PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=True,
    )
    late = order.startswith("numpy")
    assert ("None" in done.stdout) == late
    assert done.stderr.count("UserWarning: NumPy was loaded before mdbench") == late
    assert all((name in done.stderr) == late for name in names)
