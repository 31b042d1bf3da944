"""Without an extension, or a data type, all else works, and the rest is said not to be there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from harness import ROOT

if TYPE_CHECKING:
    from pathlib import Path

EXTENSIONS = sorted(
    path.parent.name for path in (ROOT / "mdbench" / "extensions").glob("*/entry_points.txt")
)


DATA_TYPES = sorted(
    path.parent.name for path in (ROOT / "mdbench" / "datatypes").glob("*/data_type.py")
)


def project_without(folder: Path, *parts: str) -> Path:
    """Copy the project without one folder of the package."""
    shutil.copytree(
        ROOT / "mdbench", folder / "mdbench", ignore=shutil.ignore_patterns("__pycache__")
    )
    for name in ("eqverdict", "algorithms", "datasets", "docker"):
        (folder / name).symlink_to(ROOT / name)
    shutil.rmtree(folder.joinpath("mdbench", *parts))
    return folder


@pytest.fixture(params=EXTENSIONS)
def without(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path]:
    """The project without one extension: its name, and the folder."""
    return request.param, project_without(tmp_path, "extensions", request.param)


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "PYTHONPATH": str(folder),
        "MDBENCH_ROOT": str(folder),
        "MDBENCH_HOME": str(folder / "home"),
    }
    return subprocess.run(
        [sys.executable, "-m", "mdbench", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_verbs_that_are_left_work(without: tuple[str, Path]) -> None:
    name, folder = without
    assert run(folder, "--help").returncode == 0
    assert json.loads(run(folder, "list", "--json").stdout)["methods"]
    runtimes = {
        row["runtime"] for row in json.loads(run(folder, "probe", "--json").stdout)["runtimes"]
    }
    assert ({"podman", "apptainer"} & runtimes == set()) is (name == "engines")
    assert runtimes >= {"venv", "docker"}
    planned = run(
        folder,
        "plan",
        "--algorithm",
        "sindy",
        "--data-type",
        "ode",
        "--runtime",
        "venv",
        "--dataset",
        "rc-circuit",
    )
    assert planned.returncode == 0, planned.stderr
    scored = run(folder, "score", "x0", "x0")
    assert "identified" in scored.stdout, scored.stderr


ADDS = {
    "clusters": (
        "run --algorithm sindy --data-type ode --backend dask",
        "--backend is 'dask'.",
    ),
    "engines": (
        "run --algorithm sindy --data-type ode --runtime podman",
        "--runtime is 'podman'.",
    ),
    "community": ("registry board x", "No such command 'registry'."),
    "laboratory": ("lab rivals", "No such command 'lab'."),
    "language_models": (
        "run --algorithm llmsr --data-type ode --llm-model m",
        "llmsr asks the service 'llm', which is not here",
    ),
}
"""What is typed to use an extension, and what is said without it."""


def test_what_it_added_is_said_not_to_be_there(without: tuple[str, Path]) -> None:
    name, folder = without
    line, says = ADDS[name]
    shown = run(folder, *line.split())
    assert shown.returncode == 2
    assert says in shown.stderr.replace("\n", " ")
    assert "Traceback" not in shown.stderr


def test_records_of_language_models_are_read_without_them(tmp_path: Path) -> None:
    folder = project_without(tmp_path, "extensions", "language_models")
    results = folder / "results"
    results.mkdir()
    shutil.copy(ROOT / "docs" / "results" / "mock-models-ode.jsonl.xz", results)
    shown = run(folder, "report", "results", "--text", "--out", "page.html")
    assert "llmsr (mock-knows-the-law, anon)" in shown.stdout, shown.stderr
    assert "llmsr (mock-knows-the-law, anon)" in (folder / "page.html").read_text("utf-8")
    assert run(folder, "combine", "results", "--out", "all.csv").returncode == 0
    head = (folder / "all.csv").read_text("utf-8").partition("\n")[0].split(",")
    assert {"llm.model", "llm.prompt", "llm.calls"} <= {*head}
    again = run(folder, "rescore", "results/mock-models-ode.jsonl.xz", "--dry-run")
    assert "60 of 60 records scored again, and 0 would change" in again.stdout, again.stderr
    control = run(folder, "plan", "--algorithm", "llmsr_nollm", "--data-type", "ode")
    assert "llmsr_nollm is the control of llmsr, which asks the service 'llm'" in control.stderr


@pytest.mark.parametrize("name", DATA_TYPES)
def test_a_data_type_can_be_taken_away(name: str, tmp_path: Path) -> None:
    """All modules that are left can be imported, and verbs work with another data type."""
    folder = project_without(tmp_path, "datatypes", name)
    code = (
        "import importlib, pkgutil, mdbench\n"
        "for module in pkgutil.walk_packages(mdbench.__path__, 'mdbench.'):\n"
        "    if not {'template', '__main__'} & {*module.name.split('.')}:\n"
        "        importlib.import_module(module.name)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    shown = json.loads(run(folder, "list", "--json").stdout)
    assert [kind["name"] for kind in shown["data_types"]] == [k for k in DATA_TYPES if k != name]
    other, dataset = ("ode", "rc-circuit") if name != "ode" else ("srsd", "feynman-i.12.1")
    asked = ("--algorithm", "mean", "--runtime", "venv")
    planned = run(folder, "plan", *asked, "--data-type", other, "--dataset", dataset)
    assert planned.returncode == 0, planned.stderr
    refused = run(folder, "plan", *asked, "--data-type", name)
    assert refused.returncode == 2
    assert f"There is no data type {name!r}." in refused.stderr
    assert "identified" in run(folder, "score", "x0", "x0").stdout
    read = run(folder, "report", str(ROOT / "tests" / "golden" / "records"), "--text")
    assert "Traceback" not in read.stderr


@pytest.mark.nightly
@pytest.mark.parametrize("name", EXTENSIONS)
def test_the_tests_of_the_core_pass_without_an_extension(name: str, tmp_path: Path) -> None:
    tracked = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\0")
    for file in filter(None, tracked):
        if not file.startswith((f"mdbench/extensions/{name}/", "tests/extensions/")):
            (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / file, tmp_path / file, follow_symlinks=False)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--fast", "-q", "-n", "2", "tests"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:]
