"""Apptainer: its arguments, by a stand-in that takes nothing else; and the real one where it is.

The stand-in checks every argument, and then runs the worker by bubblewrap where that works, with
what was asked to be seen and nothing else of this project.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
import shutil
import stat
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from flavours import numpy_lock
from harness import Quiet, add_method, children, execute, make_workspace

from mdbench.errors import UnavailableError
from mdbench.extensions.engines import apptainer
from mdbench.extensions.engines.apptainer import ApptainerRuntime, mount_of
from mdbench.methods import discover
from mdbench.runs.plan import make_plan
from mdbench.runs.study import RunOptions
from mdbench.runtimes import bubblewrap
from mdbench.runtimes.environments import docker_cli
from mdbench.runtimes.environments.images import Images, MethodImage
from mdbench.runtimes.registry import open_runtime

if TYPE_CHECKING:
    from mdbench.records import Record
    from mdbench.workspace import Workspace

STAND_IN = """#!{python}
import csv, json, os, subprocess, sys

def refuse(why):
    sys.exit(f"FATAL:   {{why}}")

words = sys.argv[1:]
with open({log!r}, "a") as log:
    print(json.dumps(words), file=log)
if words == ["--version"]:
    print("apptainer version 1.3.4")
    sys.exit()
if words[0] == "build":
    if words[1] != "--force" or len(words) != 4 or not words[3].startswith("docker-archive:"):
        refuse(f"build {{words}}")
    source = words[3].removeprefix("docker-archive:")
    os.makedirs(words[2])
    os.rename(source, words[2] + "/archive")
    sys.exit()
if words[0] != "exec":
    refuse(f"unknown command {{words[0]}}")
words = words[1:]
flags, mounts, seen = {{"--containall", "--no-home", "--net", "--no-privs"}}, [], set()
while words and words[0].startswith("-"):
    word = words.pop(0)
    name, _, value = word.partition("=")
    if word in flags:
        if word in seen:
            refuse(f"twice: {{word}}")
        seen.add(word)
    elif word == "--network":
        if words.pop(0) != "none":
            refuse("a network")
        seen.add(word)
    elif word == "--pwd":
        if words.pop(0) != "/tmp":
            refuse("another folder")
    elif name == "--mount":
        (fields,) = csv.reader([value])
        parts = dict(field.partition("=")[::2] for field in fields)
        if parts.pop("type") != "bind" or set(parts) - {{"source", "destination", "ro"}}:
            refuse(f"mount {{fields}}")
        if not os.path.exists(parts["source"]) or not parts["destination"].startswith("/mdbench/"):
            refuse(f"mount {{fields}}")
        mounts.append(("ro" in parts, parts["source"], parts["destination"]))
    else:
        refuse(f"unknown flag: {{word}}")
if seen != flags | {{"--network"}}:
    refuse(f"left out: {{sorted((flags | {{'--network'}}) - seen)}}")
image, *command = words
if not os.path.exists(image) or command[0] != "/opt/env/bin/python":
    refuse(f"image {{image}}, command {{command}}")
inside = {{name.removeprefix("APPTAINERENV_"): value for name, value in os.environ.items()
          if name.startswith("APPTAINERENV_")}}
usual = {{"PATH", "HOME", "USER", "LANG", "TMPDIR", "XDG_RUNTIME_DIR"}}
usual |= {{"LC_CTYPE", "PWD", "OLDPWD", "SHLVL", "_"}}  # what shells and Python set
if set(os.environ) - usual - {{f"APPTAINERENV_{{name}}" for name in inside}}:
    refuse(f"variables {{sorted(os.environ)}}")
if not {wrapped}:
    os.execve({real!r}, [{real!r}, "-c", "pass"], inside)
prefix, base = {prefix!r}, {base!r}
line = ["bwrap", "--unshare-all", "--die-with-parent", "--clearenv", "--cap-drop", "ALL"]
for name, value in inside.items():
    line += ["--setenv", name, value]
for place in ("/usr", "/bin", "/lib", "/lib64", "/sbin"):
    line += ["--symlink", os.readlink(place), place] if os.path.islink(place) else [
        "--ro-bind-try", place, place]
line += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--ro-bind", base, base]
line += ["--ro-bind", prefix, "/opt/env"]
for only, source, destination in sorted(mounts, key=lambda each: each[2]):
    line += ["--ro-bind" if only else "--bind", source, destination]
line += ["--chdir", "/tmp", "--", "/bin/sh", "-c", 'exec "$@"', "appinit", *command]
sys.exit(subprocess.run(line, env={{"PATH": os.environ["PATH"]}}).returncode)
"""


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put the stand-in on the path, without an engine; return the file of its arguments."""
    programs, told = tmp_path / "bin", tmp_path / "told"
    programs.mkdir()
    for name, text in {
        "apptainer": STAND_IN.format(
            python=sys.executable,
            log=str(told),
            wrapped=not bubblewrap.why_unavailable(),
            real=sys.executable,
            prefix=sys.prefix,
            base=str(Path(sys.executable).resolve().parent.parent),
        ),
        "docker": "#!/bin/sh\necho 'Cannot connect to the Docker daemon' >&2\nexit 1\n",
        "podman": "#!/bin/sh\nexit 1\n",
    }.items():
        (programs / name).write_text(text, encoding="utf-8")
        (programs / name).chmod((programs / name).stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    return told


SEEN = """
import json, os, socket
import numpy as np

class Adapter:
    def __init__(self, *, seed, threads): ...
    def fit(self, problem):
        self.value = problem.Y.mean(axis=0)
        try:
            network = bool(socket.create_connection(("192.0.2.1", 80), 2))
        except OSError:
            network = False
        variables = sorted(name for name in os.environ if "SECRET" in name)
        print(json.dumps({"network": network, "project": os.path.exists(PROJECT),
                          "variables": variables, "home": os.environ["HOME"]}), flush=True)
    def predict(self, problem):
        return np.tile(self.value, (len(problem.X), 1))
    def equations(self):
        return [repr(float(each)) for each in self.value]
""".replace("PROJECT", repr(str(Path(__file__).parent)))
SLOW = SEEN.replace("self.value = problem", "import time; time.sleep(100); self.value = problem")
GREEDY = SEEN.replace("        try:", "        self.kept = b'1' * 2**29\n        try:", 1)


def describe(workspace: Workspace, name: str, **changes: Any) -> Path:
    """Make the image of a method, a folder, as one that was copied from another machine."""
    folder = workspace.home / "apptainer"
    folder.mkdir(parents=True, exist_ok=True)
    lock = (workspace.algorithms / name / "requirements.lock").read_bytes()
    content: dict[str, Any] = {
        "method": name,
        "lock": hashlib.sha256(lock).hexdigest(),
        "identity": "ab" * 32,
    }
    content |= {"python": "3.11.2", "packages": {"numpy": "2"}, "base": "debian", **changes}
    file = folder / f"{name}-abababababab.json"
    file.write_text(json.dumps(content), encoding="utf-8")
    file.with_suffix("").mkdir(exist_ok=True)
    return file


def run(tmp_path: Path, adapter: str = SEEN, **options: Any) -> tuple[Record, str]:
    workspace = make_workspace(tmp_path)
    folder = add_method(workspace, "seen", adapter)
    (folder / "requirements.lock").write_text(numpy_lock(), encoding="utf-8")
    describe(workspace, "seen")
    given = {"timeout_s": 30.0, "result_dir": tmp_path / "results", **options}
    plan = make_plan(RunOptions(("seen",), "ode", ("rc-circuit",), **given), workspace)
    runtime = open_runtime("apptainer", workspace.home)
    (record,) = execute(plan, runtime, Quiet()).records
    printed = tmp_path / "results" / str(record.log)
    return record, printed.read_text("utf-8") if printed.is_file() else ""


def needs_bubblewrap() -> None:
    if trouble := bubblewrap.why_unavailable():
        pytest.skip(f"no bubblewrap: {trouble}")


@pytest.mark.slow
def test_a_job_runs_and_finds_nothing_of_the_machine(
    tmp_path: Path, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs_bubblewrap()
    monkeypatch.setenv("MY_SECRET", "x")
    monkeypatch.setenv("APPTAINER_BIND", "/")
    monkeypatch.setenv("APPTAINERENV_MY_SECRET", "x")
    record, printed = run(tmp_path)
    assert (record.status, record.reason) == ("ok", "")
    found = json.loads(next(line for line in printed.splitlines() if line.startswith("{")))
    home = found.pop("home")
    assert home.startswith("/mdbench/job/")
    assert home.endswith("/scratch")
    assert found == {"network": False, "project": False, "variables": []}
    assert record.runtime.name == "apptainer"
    enforced = record.runtime.details["enforces"]
    assert isinstance(enforced, dict)
    assert (enforced["network"], enforced["files"]) == ("hard", "hard")
    assert "apptainer version 1.3.4 (tried)" in str(record.runtime.details["how"])
    assert record.key_parts["image"] == "ab" * 32
    assert record.provenance.packages == {"numpy": "2"}
    assert any(json.loads(line)[0] == "exec" for line in log.read_text("utf-8").splitlines())
    assert not children()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("adapter", "options", "status"),
    [
        (SLOW, {"timeout_s": 2.0}, "timeout"),
        (GREEDY, {"memory_mb": 200}, "out_of_memory"),
    ],
)
def test_limits_are_kept_and_nothing_is_left(
    tmp_path: Path, log: Path, adapter: str, options: dict[str, Any], status: str
) -> None:
    needs_bubblewrap()
    record, _ = run(tmp_path, adapter, **options)
    assert record.status == status, record.reason
    end = time.monotonic() + 20
    while children() and time.monotonic() < end:
        time.sleep(0.1)
    assert not children()
    assert log.exists()


@pytest.mark.usefixtures("log")
def test_without_images_and_engine_it_is_unavailable_and_says_what_to_copy(
    tmp_path: Path,
) -> None:
    workspace = make_workspace(tmp_path)
    add_method(workspace, "seen", SEEN)
    runtime = ApptainerRuntime(workspace.home)
    method = discover(workspace.algorithms)["seen"]
    assert "no images" in runtime.missing()
    assert not isinstance(method, Exception)
    assert runtime.identity(method)["image"].startswith("unavailable")
    with pytest.raises(UnavailableError) as error:
        runtime.prepare(method)
    assert "apptainer/seen-*" in error.value.hint

    describe(workspace, "seen")
    assert runtime.missing() == ""
    assert runtime.identity(method) == {"image": "ab" * 32}
    assert runtime.prepare(method).command[1].endswith("seen-abababababab")


@pytest.mark.usefixtures("log")
@pytest.mark.parametrize("changes", [{"lock": "0" * 64}, {"method": "other"}])
def test_an_image_of_another_lock_is_not_taken(tmp_path: Path, changes: dict[str, str]) -> None:
    workspace = make_workspace(tmp_path)
    add_method(workspace, "seen", SEEN)
    describe(workspace, "seen", **changes)
    method = discover(workspace.algorithms)["seen"]
    assert not isinstance(method, Exception)
    with pytest.raises(UnavailableError, match="with this lock"):
        ApptainerRuntime(workspace.home).prepare(method)
    file = workspace.home / "apptainer" / "seen-abababababab.json"
    for broken in ("", "{", "[]", '{"method": "seen"}'):
        file.write_text(broken, encoding="utf-8")
        with pytest.raises(UnavailableError):
            ApptainerRuntime(workspace.home).prepare(method)


def test_an_image_is_built_from_the_engines_archive(
    tmp_path: Path, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of both engines; what they are asked to save is what Apptainer gets."""
    workspace = make_workspace(tmp_path)
    add_method(workspace, "seen", SEEN)
    made = MethodImage("id", "mdbench-env-seen:abc", "cd" * 32, "3.11.2", {"numpy": "2"}, 1.0, "b")
    asked: list[list[str]] = []

    def save(arguments: list[str], _: str, **__: Any) -> str:
        asked.append(arguments)
        Path(arguments[arguments.index("--output") + 1]).write_text("archive", "utf-8")
        return ""

    monkeypatch.setattr(Images, "build_environment", lambda *_: made)
    monkeypatch.setattr(docker_cli, "docker", save)
    method = discover(workspace.algorithms)["seen"]
    assert not isinstance(method, Exception)
    for engine, words in (("docker", ["save"]), ("podman", ["save", "--format", "docker-archive"])):
        monkeypatch.setattr(apptainer, "_engine", lambda engine=engine: engine)
        runtime = ApptainerRuntime(workspace.home)
        prepared = runtime.prepare(method)
        assert prepared.identity == "cd" * 32
        assert (Path(prepared.command[1]) / "archive").read_text("utf-8") == "archive"
        assert asked.pop()[: len(words)] == words
        assert runtime.prepare(method).command == prepared.command
        assert not asked  # it is there
        shutil.rmtree(workspace.home / "apptainer")
    assert '"build"' in log.read_text("utf-8")


def test_without_apptainer_the_error_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UnavailableError, match="not on the path"):
        open_runtime("apptainer", tmp_path)


@pytest.mark.parametrize("name", ["plain", "with space", "com,ma", 'quo"te', "co:lon", "ümlaut"])
def test_any_folder_can_be_mounted(name: str) -> None:
    (row,) = csv.reader([mount_of("rw", Path("/data") / name, "/mdbench/job")])
    assert row == ["type=bind", f"source=/data/{name}", "destination=/mdbench/job"]


@pytest.mark.engine
def test_the_real_apptainer_runs_a_job(tmp_path: Path) -> None:
    if not any(map(shutil.which, apptainer.PROGRAMS)):
        pytest.skip("no Apptainer: it is not on the path")
    workspace = make_workspace(tmp_path)
    folder = add_method(workspace, "seen", SEEN)
    (folder / "requirements.lock").write_text(numpy_lock(), encoding="utf-8")
    options = RunOptions(("seen",), "ode", ("rc-circuit",), result_dir=tmp_path / "results")
    runtime = open_runtime("apptainer", workspace.home)
    (record,) = execute(make_plan(options, workspace), runtime, Quiet()).records
    assert record.status == "ok", record.reason
