"""The scorer is a library: it needs three packages, nothing of mdbench, and works alone."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from zipfile import ZipFile

import pytest
from harness import ROOT

import eqverdict

FOLDER = ROOT / "eqverdict"
NEEDED = {"flint", "numpy", "sympy"}
OF_SYMPY = {"mpmath"}
PAIRS = [
    ("2*x0*x1", "x1*(x0 + x0*1.001)"),
    ("2*x0*x1", "x0*x1 + x0"),
    ("sin(x0)**2", "1 - cos(x0)**2"),
    ("x0/(1 + x0)", "1 - 1/(1 + x0)"),
    ("x0*x1", "__import__('os').system('true')"),
    ("exp(-x0)*x1", "x1/exp(x0)"),
]


def test_it_imports_nothing_else() -> None:
    imported = set()
    for path in FOLDER.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {name.name.partition(".")[0] for name in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                imported.add(str(node.module).partition(".")[0])
    foreign = {name for name in imported if name not in sys.stdlib_module_names}
    assert foreign == NEEDED | OF_SYMPY | {"eqverdict"}


def test_its_metadata_name_what_it_needs() -> None:
    project = tomllib.loads((FOLDER / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {re.split("[<>=]", text)[0] for text in project["dependencies"]}
    assert names == {"numpy", "python-flint", "sympy"}
    assert project["version"] == eqverdict.__version__


def test_the_public_names_are_there() -> None:
    assert set(dir(eqverdict)) == set(eqverdict.__all__)
    assert all(getattr(eqverdict, name) for name in eqverdict.__all__)
    with pytest.raises(AttributeError, match="no attribute 'judge'"):
        eqverdict.judge  # noqa: B018


def make_wheel(folder: Path) -> Path:
    build = f"from hatchling.build import build_wheel; print(build_wheel({str(folder)!r}))"
    built = subprocess.run(
        [sys.executable, "-c", build], cwd=FOLDER, check=True, capture_output=True, text=True
    )
    return folder / built.stdout.strip()


def test_its_wheel_has_the_licence(tmp_path: Path) -> None:
    with ZipFile(make_wheel(tmp_path)) as wheel:
        [licence] = [name for name in wheel.namelist() if name.endswith("licenses/LICENSE")]
        assert wheel.read(licence) == (ROOT / "LICENSE").read_bytes()
        [metadata] = [name for name in wheel.namelist() if name.endswith("/METADATA")]
        assert b"License-File: LICENSE\n" in wheel.read(metadata)


@pytest.mark.slow
@pytest.mark.build
def test_its_wheel_works_alone(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path)
    python = tmp_path / "alone" / "bin" / "python"
    settings = {k: v for k, v in os.environ.items() if k not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    for arguments in (
        ["-m", "venv", str(tmp_path / "alone")],
        ["-m", "pip", "--python", str(python), "install", "--quiet", str(wheel)],
    ):
        subprocess.run([sys.executable, *arguments], check=True, env=settings)
    (code,) = re.findall(
        r"```python\n(.*?)```", (FOLDER / "README.md").read_text(encoding="utf-8"), re.DOTALL
    )
    program = f"""
import json, sys
{code}
print(eqverdict.__file__)
pairs = {PAIRS!r}
print(json.dumps([eqverdict.compare(*pair).verdict for pair in pairs]))
print(json.dumps([name for name in ("mdbench", "pandas", "scipy") if name in sys.modules]))
"""
    shown, place, verdicts, others = subprocess.run(
        [python, "-c", program],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
        env=settings,
    ).stdout.splitlines()
    assert shown == "identified True 0.0"
    assert Path(place).is_relative_to(tmp_path)
    assert json.loads(verdicts) == [eqverdict.compare(*pair).verdict for pair in PAIRS]
    assert json.loads(others) == []
