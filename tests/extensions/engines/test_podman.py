"""Podman: what it enforces with and without root, its service, and real containers where it is."""

from __future__ import annotations

import json
import os
import shutil
import socket
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from flavours import numpy_lock
from harness import Quiet, add_method, execute, make_workspace, number

from mdbench.errors import UnavailableError
from mdbench.extensions.engines.podman import PodmanRuntime, Service
from mdbench.runs.plan import make_plan
from mdbench.runs.study import RunOptions
from mdbench.runtimes.environments import docker_cli
from mdbench.runtimes.registry import open_runtime

STAND_IN = """#!{python}
import json, socket, sys, time
words = sys.argv[1:]
if words[0] == "info":
    print(json.dumps({info}))
elif words[:2] == ["system", "service"]:
    assert words[2].startswith("--time="), words
    place = words[3].removeprefix("unix://")
    if {broken}:
        sys.exit("no user namespaces")
    server = socket.socket(socket.AF_UNIX)
    server.bind(place)
    server.listen()
    time.sleep(60)
else:
    sys.exit("Error: x: image not known")
"""


def info(*, rootless: bool, controllers: list[str] | None, cgroup: str = "v2") -> dict[str, Any]:
    host = {"security": {"rootless": rootless}, "cgroupVersion": cgroup}
    return {"host": {**host, "cgroupControllers": controllers}, "version": {"Version": "4.3.1"}}


def stand_in(
    folder: Path, monkeypatch: pytest.MonkeyPatch, found: dict[str, Any], *, broken: bool = False
) -> None:
    programs = folder / "bin"
    programs.mkdir()
    program = programs / "podman"
    text = STAND_IN.format(python=sys.executable, info=repr(found), broken=broken)
    program.write_text(text, encoding="utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    monkeypatch.delenv("CONTAINER_HOST", raising=False)


@pytest.mark.parametrize(
    ("found", "memory", "processes"),
    [
        (info(rootless=False, controllers=None, cgroup="v1"), "hard", "hard"),
        (info(rootless=True, controllers=["memory", "pids"]), "hard", "hard"),
        (info(rootless=True, controllers=["pids"]), "soft", "hard"),
        (info(rootless=True, controllers=[]), "soft", "soft"),
        (info(rootless=True, controllers=None, cgroup="v1"), "soft", "soft"),
    ],
)
def test_limits_are_hard_only_where_podman_has_the_controller(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    found: dict[str, Any],
    memory: str,
    processes: str,
) -> None:
    stand_in(tmp_path, monkeypatch, found)
    runtime = PodmanRuntime(tmp_path)
    enforced = runtime.read_enforcement()
    assert enforced.levels == {
        "network": "hard",
        "files": "hard",
        "memory": memory,
        "processes": processes,
    }
    assert ("polled" in enforced.how) == ("soft" in {memory, processes})
    assert ("without root" in enforced.how) == runtime.rootless


def test_a_service_is_started_once_started_again_when_it_went_and_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(tmp_path, monkeypatch, info(rootless=True, controllers=[]))
    service = Service()
    address = service.address()
    assert service.address() == address
    assert docker_cli.why_silent(address) == ""
    first = service.process
    assert first is not None
    first.kill()
    first.wait()
    place = Path(address.removeprefix("unix://"))
    place.unlink()  # as Podman does
    assert service.address() == address
    assert docker_cli.why_silent(address) == ""
    service.end()
    assert docker_cli.why_silent(address) != ""
    assert not place.parent.exists()


def test_the_users_own_service_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path, monkeypatch, {}, broken=True)
    place = tmp_path / "podman" / "podman.sock"
    place.parent.mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(place))
        server.listen()
        assert Service().address() == f"unix://{place}"


def test_a_service_that_does_not_start_says_what_podman_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(tmp_path, monkeypatch, {}, broken=True)
    service = Service()
    with pytest.raises(UnavailableError, match="no user namespaces"):
        service.address()
    service.end()
    monkeypatch.setenv("CONTAINER_HOST", "ssh://elsewhere")
    with pytest.raises(UnavailableError, match="another machine"):
        service.address()


def test_without_podman_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UnavailableError) as error:
        open_runtime("podman", tmp_path)
    assert "program podman cannot be run" in error.value.message
    assert "apt install podman" in error.value.hint


def test_an_image_that_podman_does_not_know_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(tmp_path, monkeypatch, {})
    assert docker_cli.image("x", program="podman") is None


def why_no_podman() -> str:
    if shutil.which("podman") is None:
        return "it is not installed"
    trouble = docker_cli.why_no_engine("podman")
    if trouble is None and docker_cli.image("mdbench-base", program="podman") is None:
        return "it has no base image; type MDBENCH_ENGINE=podman scripts/base-image"
    if trouble is None:
        asked = ["podman", "run", "--rm", "--network=none", "mdbench-base", "true"]
        ran = subprocess.run(asked, capture_output=True, text=True, timeout=1800, check=False)
        trouble = ran.stderr.strip()[-200:] if ran.returncode else None
    return trouble or ""


@pytest.mark.engine
def test_real_containers_keep_a_job_from_network_and_files(tmp_path: Path) -> None:
    """As an ordinary user it is a test of rootless containers, as root one of others."""
    if trouble := why_no_podman():
        pytest.skip(f"no Podman: {trouble}")
    workspace = make_workspace(tmp_path)
    folder = add_method(workspace, "snoop", SNOOP)
    (folder / "requirements.lock").write_text(numpy_lock(), encoding="utf-8")
    options = RunOptions(
        ("snoop",), "ode", ("rc-circuit",), result_dir=tmp_path / "results", timeout_s=60.0
    )
    runtime = open_runtime("podman", tmp_path / "home")
    (record,) = execute(make_plan(options, workspace), runtime, Quiet()).records
    assert (record.status, record.runtime.name) == ("ok", "podman"), record.reason
    text = (tmp_path / "results" / str(record.log)).read_text("utf-8")
    found = json.loads(next(line for line in text.splitlines() if line.startswith("{")))
    assert found == {"network": False, "home": False, "written": False, "capabilities": 0}
    assert number(record.measured.cpu_s) < 50  # of the job and not of the machine


SNOOP = f"""
import json, os, socket
import numpy as np

class Adapter:
    def __init__(self, *, seed, threads): ...
    def fit(self, problem):
        self.value = problem.Y.mean(axis=0)
        found = {{"network": True, "written": True}}
        found["home"] = os.path.exists({str(Path(__file__).parent)!r})
        try:
            socket.create_connection(("192.0.2.1", 80), 2)
        except OSError:
            found["network"] = False
        try:
            open("/opt/x", "w")
        except OSError:
            found["written"] = False
        status = open("/proc/self/status").read()
        found["capabilities"] = int(status.split("CapEff:")[1].split()[0], 16)
        print(json.dumps(found), flush=True)
    def predict(self, problem):
        return np.tile(self.value, (len(problem.X), 1))
    def equations(self):
        return [repr(float(each)) for each in self.value]
"""
