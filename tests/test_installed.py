"""A wheel of mdbench in a bare environment, where the lines of the README can be typed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from harness import ROOT
from newcomer import packaged_steps

if TYPE_CHECKING:
    from pathlib import Path

DROPPED = re.compile(r"MDBENCH_|PYTHONPATH$|VIRTUAL_ENV$|PYTHONHOME$")
FEW = re.compile(r"mdbench run(?!.*--dataset)(?=.*--data-type ode)")
"""Lines that run all systems of a suite: one of them is enough here."""


@dataclass(frozen=True)
class Installed:
    """An environment with the wheel, and a folder that somebody works in."""

    bin: Path
    here: Path

    def run(self, line: str) -> subprocess.CompletedProcess[str]:
        kept = {name: value for name, value in os.environ.items() if not DROPPED.match(name)}
        kept |= {
            "PATH": f"{self.bin}:{os.environ['PATH']}",
            "XDG_CACHE_HOME": str(self.here.parent / "cache"),
            "COLUMNS": "200",
        }
        return subprocess.run(
            ["sh", "-c", line],
            cwd=self.here,
            env=kept,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )

    def type(self, line: str) -> str:
        """Return what a command prints, which has to succeed."""
        done = self.run(line)
        assert done.returncode == 0, f"{line}\n{done.stdout}"
        assert "Traceback" not in done.stdout, done.stdout
        return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the wheels of both packages, and return that of the benchmark."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    for project in (ROOT, ROOT / "eqverdict"):
        subprocess.run(build, cwd=project, check=True, capture_output=True)
    (file,) = folder.glob("mdbench*.whl")
    return file


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Install the wheels and what they need, and nothing else."""
    folder = tmp_path_factory.mktemp("installed")
    made = Installed(folder / "venv" / "bin", folder / "here")
    made.here.mkdir()
    made.type(f"{sys.executable} -m venv {folder / 'venv'}")
    # What is imported is compiled then, and most of what is installed is not.
    made.type(f"python -m pip install --quiet --no-compile --find-links {wheel.parent} {wheel}")
    return made


def test_a_wheel_has_methods_datasets_and_pages(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        names = set(opened.namelist())
    needed = ["algorithms", "datasets", "docker", "docs/*.md", "docs/data", "scripts/base-image"]
    listed = ["git", "ls-files", "-z", "--", *(f":(glob){name}" for name in needed if "*" in name)]
    listed += [name for name in needed if "*" not in name]
    tracked = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True)
    files = tracked.stdout.split("\0")[:-1]
    assert len(files) > 1000
    assert {f"mdbench/bundled/{name}" for name in files} <= names
    assert not [name for name in names if "/share/" in name]


def test_two_wheels_share_no_file_and_the_scorer_is_of_the_same_version(wheel: Path) -> None:
    (scorer,) = wheel.parent.glob("eqverdict*.whl")
    version = scorer.name.split("-")[1]
    with zipfile.ZipFile(wheel) as opened, zipfile.ZipFile(scorer) as other:
        assert not {*opened.namelist()} & {*other.namelist()}
        (metadata,) = (name for name in opened.namelist() if name.endswith("/METADATA"))
        asked = opened.read(metadata).decode()
    assert f"\nRequires-Dist: eqverdict=={version}\n" in asked
    assert f"\nVersion: {version}\n" in asked


@pytest.mark.slow
@pytest.mark.build
def test_the_lines_of_the_readme_can_be_typed(installed: Installed) -> None:
    shutil.copytree(ROOT / "docs" / "data", installed.here / "docs" / "data")
    (installed.here / "datasets").mkdir()  # somebody's own folder of that name
    engine = installed.run("docker image inspect mdbench-base").returncode == 0
    typed = []
    for step in packaged_steps((ROOT / "README.md").read_text(encoding="utf-8")):
        if step.name:
            (installed.here / step.name).write_text(step.text, encoding="utf-8")
        elif engine or not step.needs_engine:
            text = step.text
            command = re.sub(r"--timeout \d+", "--timeout 5", text.partition("  #")[0].rstrip())
            runtime = " --runtime venv" if re.match(r"mdbench (run|check)\b", command) else ""
            runtime = "" if "--runtime" in command else runtime
            few = " --dataset rc-circuit" if FEW.match(command) and "--dataset" not in text else ""
            installed.type(f"{command}{few}{runtime}")
            typed.append(command)
    assert len(typed) >= 12
    assert (installed.here / "algorithms" / "mymethod" / "adapter.py").is_file()
    assert (installed.here / "results").is_dir()
    inside = next((installed.bin.parent / "lib").glob("python*/site-packages/mdbench"))
    assert not (inside / "bundled" / "algorithms" / "mymethod").exists()


@pytest.mark.slow
@pytest.mark.build
def test_advice_in_a_package_can_be_followed(installed: Installed) -> None:
    made = installed.type("mdbench new adviser")
    assert "4. mdbench run --algorithm adviser" in made
    other = installed.type(f"PATH=/usr/bin:/bin {installed.bin}/python -m mdbench new started")
    assert "3. python -m mdbench check started" in other
    assert "4. python -m mdbench run --algorithm started" in other
    (locking,) = re.findall(r"mdbench install --lock adviser", made)
    folder = installed.here / "algorithms" / "adviser"
    (folder / "requirements.lock").unlink()
    refused = installed.run("mdbench run --algorithm adviser --data-type ode --runtime venv").stdout
    assert locking in refused
    assert "adviser: ready" in installed.type(f"{locking} --runtime venv")
    assert "numpy==" in (folder / "requirements.lock").read_text(encoding="utf-8")
    assert "adviser" in installed.type("mdbench list")
    (installed.here / "wrong.toml").write_text("jobs = [", encoding="utf-8")
    wrong = installed.run("mdbench run --study wrong.toml")
    assert wrong.returncode == 2
    (named,) = re.findall(r"See (\S+/studies\.md)", wrong.stdout)
    assert "# " in installed.type(f"cat {named}")
    script = installed.type(
        "python -c 'from mdbench.installation import command as c; "
        """print(c("scripts/base-image"))'"""
    )
    installed.type(f"sh -n {script.split()[1]}")
    assert "removed" in installed.type(
        "PATH=$(dirname $(command -v mdbench)) mdbench install --clean"
    )
    assert installed.run("mdbench install --clean adviser").returncode == 2


@pytest.mark.slow
@pytest.mark.build
@pytest.mark.parametrize(
    ("name", "command", "seen"),
    [
        ("author", "./check", r"rank \d+ of \d+, 2 of 2 jobs identified"),
        ("lab", "./run", r"dupper/dt = 0\.(89|90)\d* - 0\.3[45]\d*\*upper"),
    ],
)
def test_the_examples_of_repositories_run(
    installed: Installed, name: str, command: str, seen: str
) -> None:
    folder = installed.here / name
    shutil.copytree(ROOT / "examples" / name, folder)
    shown = installed.type(f"cd {name} && MDBENCH_RUNTIME=venv {command}")
    assert re.search(seen, shown), shown
