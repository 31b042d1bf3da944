"""Without an extension, or a data type, all else works, and the rest is said not to be there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

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


def halves(names: list[str]) -> list[Any]:
    """Return two sets that are taken away in every run; each alone is in the nightly lane.

    What imports another of its own half is found by `tests/test_layers.py`.
    """
    alone = (pytest.param([name], marks=pytest.mark.nightly, id=name) for name in names)
    return [*(pytest.param(half, id="-".join(half)) for half in (names[::2], names[1::2])), *alone]


def project_without(folder: Path, *parts: str) -> Path:
    """Copy the project without some folders of the package; with what was compiled of the others.

    Parameters
    ----------
    parts
        Their paths, from the package's.
    """
    shutil.copytree(ROOT / "mdbench", folder / "mdbench")
    for name in ("eqverdict", "algorithms", "datasets", "docker"):
        (folder / name).symlink_to(ROOT / name)
    for part in parts:
        shutil.rmtree(folder / "mdbench" / part)
    return folder


class Shown(NamedTuple):
    """What a command has given."""

    returncode: int
    stdout: str
    stderr: str


TYPED = """
import contextlib, io, json, sys
from mdbench.cli import main

shown = []
for line in json.loads(sys.argv[1]):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(line)
    shown.append((status, out.getvalue(), err.getvalue()))
print(json.dumps(shown))
"""


def run(folder: Path, *lines: str, first: str = "") -> list[Shown]:
    """Type lines, one after the other, in one process; which may do something first."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(folder),
        "MDBENCH_ROOT": str(folder),
        "MDBENCH_HOME": str(folder / "home"),
    }
    done = subprocess.run(
        [sys.executable, "-c", first + TYPED, json.dumps([line.split() for line in lines])],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [Shown(*shown) for shown in json.loads(done.stdout)]


IMPORT_ALL = """
import importlib, pkgutil, mdbench
for module in pkgutil.walk_packages(mdbench.__path__, "mdbench."):
    if not {"template", "__main__"} & {*module.name.split(".")}:
        importlib.import_module(module.name)
"""


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
    "estimators": ("refit pond new.csv", "No such command 'refit'."),
    "laboratory": ("lab rivals", "No such command 'lab'."),
    "live": ("watch", "No such command 'watch'."),
    "papers": ("export --csv", "No such command 'export'."),
    "site": ("report results --site out", "There is no form of the report 'site'."),
    "standings": ("place sindy", "No such command 'place'."),
    "language_models": (
        "run --algorithm llmsr --data-type ode --llm-model m",
        "llmsr asks the service 'llm', which is not here",
    ),
}
"""What is typed to use an extension, and what is said without it."""


@pytest.mark.parametrize("names", halves(EXTENSIONS))
def test_without_an_extension_the_verbs_that_are_left_work(
    names: list[str], tmp_path: Path
) -> None:
    folder = project_without(tmp_path, *(f"extensions/{name}" for name in names))
    head, listed, probed, planned, scored, *refused = run(
        folder,
        "--help",
        "list --json",
        "probe --json",
        "plan --algorithm sindy --data-type ode --runtime venv --dataset rc-circuit",
        "score x0 x0",
        *(ADDS[name][0] for name in names),
    )
    assert head.returncode == 0
    assert json.loads(listed.stdout)["methods"]
    runtimes = {row["runtime"] for row in json.loads(probed.stdout)["runtimes"]}
    assert ({"podman", "apptainer"} & runtimes == set()) is ("engines" in names)
    assert runtimes >= {"venv", "docker"}
    assert planned.returncode == 0, planned.stderr
    assert "identified" in scored.stdout, scored.stderr
    # What each added is said not to be there.
    for name, shown in zip(names, refused, strict=True):
        assert shown.returncode == 2, name
        assert ADDS[name][1] in shown.stderr.replace("\n", " ")


def test_records_of_language_models_are_read_without_them(tmp_path: Path) -> None:
    folder = project_without(tmp_path, "extensions/language_models")
    results = folder / "results"
    results.mkdir()
    shutil.copy(ROOT / "docs" / "results" / "mock-models-ode.jsonl.xz", results)
    reported, combined, again, control = run(
        folder,
        "report results --text --out page.html",
        "combine results --out all.csv",
        "rescore results/mock-models-ode.jsonl.xz --dry-run",
        "plan --algorithm llmsr_nollm --data-type ode",
    )
    assert "llmsr (mock-knows-the-law, anon)" in reported.stdout, reported.stderr
    assert "llmsr (mock-knows-the-law, anon)" in (folder / "page.html").read_text("utf-8")
    assert combined.returncode == 0, combined.stderr
    head = (folder / "all.csv").read_text("utf-8").partition("\n")[0].split(",")
    assert {"llm.model", "llm.prompt", "llm.calls"} <= {*head}
    assert "60 of 60 records scored again, and 0 would change" in again.stdout, again.stderr
    assert "llmsr_nollm is the control of llmsr, which asks the service 'llm'" in control.stderr


@pytest.mark.parametrize("names", halves(DATA_TYPES))
def test_a_data_type_can_be_taken_away(names: list[str], tmp_path: Path) -> None:
    """All modules that are left can be imported, and verbs work with another data type."""
    folder = project_without(tmp_path, *(f"datatypes/{name}" for name in names))
    other, dataset = ("srsd", "feynman-i.12.1") if "ode" in names else ("ode", "rc-circuit")
    asked = "plan --algorithm mean --runtime venv --data-type"
    listed, planned, scored, read, *refused = run(
        folder,
        "list --json",
        f"{asked} {other} --dataset {dataset}",
        "score x0 x0",
        f"report {ROOT / 'tests' / 'golden' / 'records'} --text",
        *(f"{asked} {name}" for name in names),
        first=IMPORT_ALL,
    )
    types = json.loads(listed.stdout)["data_types"]
    assert [kind["name"] for kind in types] == [k for k in DATA_TYPES if k not in names]
    assert planned.returncode == 0, planned.stderr
    for name, shown in zip(names, refused, strict=True):
        assert shown.returncode == 2
        assert f"There is no data type {name!r}." in shown.stderr
    assert "identified" in scored.stdout
    assert "Traceback" not in read.stderr


@pytest.mark.nightly
@pytest.mark.parametrize("name", EXTENSIONS)
def test_the_tests_of_the_core_pass_without_an_extension(name: str, tmp_path: Path) -> None:
    tracked = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\0")
    # Scripts make the pages of the whole project, and use all extensions.
    apart = (f"mdbench/extensions/{name}/", "tests/extensions/", "tests/scripts/")
    for file in filter(None, tracked):
        if not file.startswith(apart):
            (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / file, tmp_path / file, follow_symlinks=False)
    for command in (("init", "--quiet"), ("add", "--all")):  # a test reads which files are tracked
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--fast", "-q", "-n", "2", "tests"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:]
