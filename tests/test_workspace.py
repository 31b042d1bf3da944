"""Paths on the user's machine: what is refused, what is in the key, and what a method sees."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from flavours import open_flavour
from harness import ROOT, Quiet, add_method, execute, make_workspace
from pydantic import BaseModel

import mdbench.workspace
from mdbench.data.descriptions import read_description
from mdbench.datatypes.equations.files import read_table
from mdbench.datatypes.srsd.laws import read_problem
from mdbench.datatypes.surface.problem import read_surface
from mdbench.errors import DataError, MethodError, UsageError
from mdbench.records import Record, Status
from mdbench.runs.plan import make_plan
from mdbench.runs.study import RunOptions
from mdbench.runtimes.environments.uv import STAMP, find_made
from mdbench.workspace import (
    FOLDER_VARIABLE,
    LARGEST_TOML,
    Workspace,
    fingerprint,
    is_trusted,
    read_paths,
    read_toml,
    refuse_copied_environment,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "settings"
    folder.mkdir()
    monkeypatch.setenv(FOLDER_VARIABLE, str(folder))
    return folder


def test_without_a_file_there_are_none(settings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_paths("m", ["weights"]) == {}
    (settings / "m.toml").write_text("", encoding="utf-8")
    assert read_paths("m", ["weights"]) == {}
    monkeypatch.delenv(FOLDER_VARIABLE)
    assert read_paths("m", ["weights"]) == {}


def test_a_folder_and_a_file(settings: Path, tmp_path: Path) -> None:
    file = settings / "m.toml"
    file.write_text(f'[paths]\na = "{tmp_path}"\nb = "{file}"\n', encoding="utf-8")
    assert read_paths("m", ["a", "b", "c"]) == {"a": tmp_path.resolve(), "b": file.resolve()}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("[paths", "m.toml cannot be read"),
        ("path = 1", "unknown key 'path'"),
        ("paths = 1", "key 'paths' is 1"),
        ('[paths]\nweight = "/"', "unknown key 'paths.weight'(.|\n)*Did you mean weights"),
        ("[paths]\nweights = 3", "key 'paths.weights' is 3(.|\n)*absolute path"),
        ('[paths]\nweights = "here"', "is 'here'(.|\n)*absolute path"),
        ('[paths]\nweights = "/"\ncode = "/"', "two names have one path"),
        ('[paths]\nweights = "/no/such/place"', "'/no/such/place', which does not exist"),
    ],
)
def test_what_is_wrong_is_named(settings: Path, content: str, words: str) -> None:
    (settings / "m.toml").write_text(content, encoding="utf-8")
    with pytest.raises(MethodError, match=words):
        read_paths("m", ["weights", "code"])


def test_the_fingerprint_is_of_the_content(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for folder in (one, two):
        (folder / "sub").mkdir(parents=True)
        (folder / "sub" / "w").write_bytes(b"123")
        (folder / "link").symlink_to("sub/w")
    known = fingerprint({"a": one})
    assert known == fingerprint({"a": two})
    assert known != fingerprint({"b": one})
    (two / "sub" / "w").write_bytes(b"1234")
    assert known != fingerprint({"a": two})
    (one / "link").unlink()
    assert known != fingerprint({"a": one})
    assert fingerprint({"a": one / "sub" / "w"}) != fingerprint({"a": two / "sub" / "w"})


READS = """
import os
import numpy as np
from mdbench.worker import Unavailable, paths

if "weights" not in paths:
    raise Unavailable("no weights")
PLACE = paths["weights"]

class Adapter:
    def __init__(self, *, seed, threads):
        self.value = float((PLACE / "w").read_text())
        print("it lies at", PLACE)
    def fit(self, problem):
        if str(PLACE).startswith("/mdbench/"):  # in a sandbox
            try:
                (PLACE / "new").write_text("x")
            except OSError:
                return
            raise RuntimeError(f"{PLACE} can be written to")
    def predict(self, problem):
        return np.full((len(problem.X), 1), self.value)
    def equations(self):
        return [repr(self.value)]
"""


@pytest.mark.parametrize("flavour", ["plain", "bubblewrap"])
def test_a_method_reads_it_and_no_record_shows_where_it_is(
    settings: Path, tmp_path: Path, flavour: str
) -> None:
    runtime = open_flavour(flavour, tmp_path / "home")  # skips where there is no bubblewrap
    (tmp_path / "place").mkdir()
    workspace = make_workspace(tmp_path / "place")
    add_method(workspace, "m", READS, more='paths = ["weights"]')
    weights = tmp_path / "somewhere"
    weights.mkdir()
    (weights / "w").write_text("0.25", encoding="utf-8")
    results = tmp_path / "results"

    def run() -> Record:
        options = RunOptions(
            algorithms=("m",),
            data_type="ode",
            datasets=("rc-circuit",),
            result_dir=results,
            n_jobs=1,
            timeout_s=20.0,
        )
        plan = make_plan(options, workspace)
        (record,) = execute(plan, runtime, Quiet()).records
        return record

    assert run().status is Status.UNAVAILABLE
    (settings / "m.toml").write_text(f'[paths]\nweights = "{weights}"\n', encoding="utf-8")
    first = run()
    assert (first.status, first.equations) == (Status.OK, ("0.25",)), first.reason
    (weights / "w").write_text("0.5", encoding="utf-8")
    second = run()
    assert second.equations == ("0.5",)
    assert first.key_parts["paths"] != second.key_parts["paths"]
    assert first.key_parts["adapter"] == second.key_parts["adapter"]
    for file in results.rglob("*"):
        if file.is_file():
            assert b"somewhere" not in file.read_bytes(), file


@pytest.mark.parametrize(("text", "trusted"), [("", False), ("trusted = true", True)])
def test_a_method_is_trusted_by_the_user_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, trusted: bool
) -> None:
    assert not is_trusted("m")
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    assert not is_trusted("m")
    (tmp_path / "m.toml").write_text(text, encoding="utf-8")
    assert is_trusted("m") is trusted
    (tmp_path / "m.toml").write_text("trusted = 1", encoding="utf-8")
    with pytest.raises(MethodError, match="true or false"):
        is_trusted("m")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"x = " + b"[" * 9000 + b"]" * 9000, "too deep"),
        (b"x = " + b"{a = " * 9000 + b"1" + b"}" * 9000, "too deep"),
        (b"#" + b"x" * LARGEST_TOML, "more than 1 MiB"),
        (b"\xff\xfe", "utf-8"),
        (b"x = ", "Invalid value"),
    ],
)
def test_a_toml_file_of_any_content_is_a_value_error(
    tmp_path: Path, content: bytes, says: str
) -> None:
    path = tmp_path / "a.toml"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=says):
        read_toml(path)


@pytest.mark.parametrize(
    "read",
    [
        lambda path: read_description(path, BaseModel, ""),
        read_table,
        read_problem,
        read_surface,
    ],
)
def test_each_reader_of_toml_files_refuses_what_nests_too_deep(
    tmp_path: Path, read: Callable[[Path], object]
) -> None:
    path = tmp_path / "a.toml"
    path.write_text("x = " + "[" * 9000 + "]" * 9000, encoding="utf-8")
    with pytest.raises(DataError, match=r"a\.toml .* too deep"):
        read(path)


def test_a_clone_that_the_user_may_not_write_has_its_home_in_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "clone"
    for folder in ("algorithms", "datasets"):
        (root / folder).mkdir(parents=True)
    monkeypatch.setenv("MDBENCH_ROOT", str(root))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("MDBENCH_HOME", raising=False)
    assert Workspace.find().home == root / ".mdbench"

    # The tests may run as root, who may write everything.
    monkeypatch.setattr("mdbench.workspace.os.access", lambda path, _: root not in path.parents)
    assert Workspace.find().home == root / ".mdbench"  # the clone itself may be written
    (root / ".mdbench").mkdir()
    first, second = Workspace.find().home, Workspace.find().home
    assert first == second
    assert first.parent == tmp_path / "cache" / "mdbench"
    made = root / ".mdbench" / "envs" / "env-1"
    (made / "bin").mkdir(parents=True)
    (made / "bin" / "python").touch()
    (made / STAMP).write_text("key", encoding="utf-8")
    assert find_made(first, "env-1", "key") == made
    assert find_made(first, "env-1", "another") == first / "envs" / "env-1"
    assert find_made(first, "env-2", "key") == first / "envs" / "env-2"
    monkeypatch.setenv("MDBENCH_HOME", str(tmp_path / "own"))
    assert Workspace.find().home == tmp_path / "own"
    assert find_made(tmp_path / "own", "env-1", "key") == tmp_path / "own" / "envs" / "env-1"


def test_folders_of_a_user_are_no_workspace_of_an_installed_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundled, here, clone = (tmp_path / name for name in ("bundled", "here", "clone"))
    for folder in (bundled, here, clone):
        for name in ("algorithms", "datasets"):
            (folder / name).mkdir(parents=True)
    (clone / "run.sh").touch()
    monkeypatch.delenv("MDBENCH_ROOT", raising=False)
    monkeypatch.setattr(mdbench.workspace, "CLONE", None)
    monkeypatch.setattr(mdbench.workspace, "BUNDLED", bundled)
    monkeypatch.chdir(here)
    assert Workspace.find().root == bundled
    monkeypatch.chdir(clone / "algorithms")
    assert Workspace.find().root == clone
    monkeypatch.setenv("MDBENCH_ROOT", str(here))
    assert Workspace.find().root == here


def test_outside_of_a_clone_the_error_is_the_line_to_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MDBENCH_ROOT", str(tmp_path))
    with pytest.raises(UsageError) as caught:
        Workspace.find()
    assert str(tmp_path) in caught.value.message
    assert "export MDBENCH_ROOT=/path/to/mdbench" in caught.value.hint


def clone_with_environment(folder: Path, environment: str = ".venv") -> Path:
    """Make what a clone is known by, with an environment in it; return its program."""
    for name in ("algorithms", "datasets", f"{environment}/bin"):
        (folder / name).mkdir(parents=True)
    (folder / "run.sh").touch()
    (folder / environment / "pyvenv.cfg").touch()
    program = folder / environment / "bin" / "mdbench"
    program.touch()
    return program


@pytest.mark.parametrize("environment", [".venv", ".venv-dev", "env"])
def test_an_environment_of_a_copied_clone_is_refused(tmp_path: Path, environment: str) -> None:
    original, copy = tmp_path / "a", tmp_path / "b"
    own, copied = (clone_with_environment(each, environment) for each in (original, copy))
    nowhere = str(tmp_path / "x.py")
    with pytest.raises(UsageError, match=f"belongs to {original}") as caught:
        refuse_copied_environment(str(copied), None, clone=original)
    assert caught.value.hint == f"To make one for {copy}, type there: ./install.sh"
    # By `python -m` it may as well be that of another clone: then nothing was copied.
    with pytest.raises(UsageError, match=f"the code that runs is that of {original}") as caught:
        refuse_copied_environment(nowhere, str(copied.parent.parent), clone=original)
    assert "copied" not in caught.value.message
    assert f"To make one for {copy}, type there: ./install.sh.  For the code" in caught.value.hint
    for script, prefix in ((str(own), None), (str(own), str(own.parent.parent)), (nowhere, None)):
        refuse_copied_environment(script, prefix, clone=original)
    refuse_copied_environment(str(copied), None, clone=None)  # an installed package
    (tmp_path / "link").symlink_to(original)
    linked = tmp_path / "link" / environment / "bin" / "mdbench"
    refuse_copied_environment(str(linked), None, clone=original)


def test_a_copied_clone_writes_nothing_into_the_original(tmp_path: Path) -> None:
    program = clone_with_environment(tmp_path / "copy")
    start = "from mdbench.__main__ import start\nraise SystemExit(start())\n"
    program.write_text(f"#!{sys.executable}\n{start}", encoding="utf-8")
    program.chmod(0o755)
    methods_there = sorted((ROOT / "algorithms").iterdir())
    done = subprocess.run(
        [program, "new", "copied-method"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=tmp_path / "copy",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert f"this environment belongs to {ROOT}" in done.stderr
    assert "./install.sh" in done.stderr
    assert sorted((ROOT / "algorithms").iterdir()) == methods_there
