"""A search path that a module system has set for another Python ends no command."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BROKEN = "raise ImportError('of another Python')\n"
MODULES = ("numpy", "typer", "rich", "pydantic", "scipy", "typing_extensions")


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    """A folder of packages that cannot be loaded here."""
    folder = tmp_path / "lib/python3.9/site-packages"
    for name in MODULES:
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text(BROKEN, encoding="utf-8")
    return folder


def command(path: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("mdbench")
    return subprocess.run(
        [program, *arguments],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )


def test_packages_of_another_python_are_not_loaded(foreign: Path) -> None:
    done = command(f"{foreign}:{foreign.parent}", "list", "--data-type", "ode")
    assert done.returncode == 0, done.stderr
    assert "sindy" in done.stdout


@pytest.mark.build
@pytest.mark.parametrize("script", ["run.sh", "install.sh"])
def test_the_scripts_start_no_python_with_it(foreign: Path, script: str) -> None:
    (foreign / "sitecustomize.py").write_text("raise SystemExit(99)\n", encoding="utf-8")
    done = subprocess.run(
        [ROOT / script, "--help"],
        env={**os.environ, "PYTHONPATH": str(foreign), "PYTHONHOME": "/nowhere"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_a_folder_that_holds_this_package_stays(tmp_path: Path) -> None:
    asks = "import mdbench.cli, os, sys; print(os.environ.get('PYTHONPATH')); print(*sys.path)"
    done = subprocess.run(
        [sys.executable, "-c", asks],
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{tmp_path}"},
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    kept, path = done.stdout.splitlines()
    assert kept == str(ROOT)
    assert str(tmp_path) not in path.split()[1:]
