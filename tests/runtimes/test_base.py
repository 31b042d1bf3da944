from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from mdbench.doors import RUNTIMES
from mdbench.errors import UnavailableError, UsageError
from mdbench.runtimes import bubblewrap
from mdbench.runtimes.base import ENFORCED, Enforcement, parse_requirements
from mdbench.runtimes.docker import DockerRuntime
from mdbench.runtimes.environments import docker_cli
from mdbench.runtimes.registry import open_runtime
from mdbench.runtimes.venv import VenvRuntime

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent.sock")


CHANGES = "other keys, so that jobs are run again, and each job waits for a container of its own"


@pytest.fixture
def no_bubblewrap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bubblewrap, "why_unavailable", lambda: "bubblewrap is not installed")


@pytest.mark.usefixtures("no_engine", "no_bubblewrap")
def test_without_an_engine_auto_is_venv_and_shows_why(tmp_path: Path) -> None:
    said: list[str] = []
    runtime = open_runtime("auto", tmp_path, said.append)
    assert runtime.name == "venv"
    (line,) = said
    assert line.startswith("Runtime: venv, chosen by itself (plain processes (bubblewrap is not in")
    assert "Neither network nor files are kept from methods, as Docker would" in line
    assert "once it works: No Docker engine answers" in line
    assert CHANGES in line
    assert "--runtime venv keeps this choice" in line


class EngineWithImage(DockerRuntime):
    """Docker as on a machine that has an engine and a base image."""

    def probe(self) -> Enforcement:
        return Enforcement(dict.fromkeys(ENFORCED, "hard"), "an engine")

    def missing(self) -> str:
        return ""


@pytest.mark.parametrize(("why_plain", "choice"), [("", "venv"), ("it is missing", "docker")])
def test_auto_takes_containers_only_where_processes_are_not_kept_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why_plain: str, choice: str
) -> None:
    loaded = {"docker": EngineWithImage, "venv": VenvRuntime}
    monkeypatch.setattr(bubblewrap, "why_unavailable", lambda: why_plain)
    monkeypatch.setattr(docker_cli, "engine_address", lambda: "")
    monkeypatch.setattr(RUNTIMES, "load", loaded.__getitem__)
    said: list[str] = []
    with closing(open_runtime("auto", tmp_path, said.append)) as runtime:
        assert runtime.name == choice
    (line,) = said
    assert line.startswith(f"Runtime: {choice}, chosen by itself (")
    assert CHANGES in line


@pytest.mark.usefixtures("no_engine")
def test_without_an_engine_its_library_is_not_loaded(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from mdbench.runtimes.registry import open_runtime\n"
        "open_runtime('auto', Path(sys.argv[1])).close(); print('docker' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"


@pytest.mark.usefixtures("no_engine")
def test_docker_that_was_asked_for_is_never_replaced(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match="No Docker engine answers") as caught:
        open_runtime("docker", tmp_path)
    assert "--runtime venv" in caught.value.hint


def test_an_engine_elsewhere_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://192.0.2.1:2375")
    with pytest.raises(UnavailableError, match="may be on another machine"):
        DockerRuntime(tmp_path).probe()


def test_an_unknown_runtime_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="'doker'") as caught:
        open_runtime("doker", tmp_path)
    assert "Did you mean docker" in caught.value.hint


def test_less_than_was_required_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bubblewrap, "why_unavailable", lambda: "bubblewrap is not installed")
    runtime = open_runtime("venv", tmp_path, require={"memory": "soft", "network": "none"})
    assert runtime.name == "venv"
    with pytest.raises(UnavailableError, match=r"network \(none; hard is required\)") as caught:
        open_runtime("venv", tmp_path, require={"memory": "soft", "network": "hard"})
    assert "bubblewrap is not installed" in caught.value.message
    assert "--runtime docker" in caught.value.hint


def test_requirements_are_read() -> None:
    assert parse_requirements(["network=hard", "memory=soft"]) == {
        "network": "hard",
        "memory": "soft",
    }


@pytest.mark.parametrize("text", ["network", "network=", "net=hard", "network=very", "=hard", ""])
def test_requirements_that_are_none(text: str) -> None:
    with pytest.raises(UsageError, match="--require") as caught:
        parse_requirements([text])
    assert "network=hard" in caught.value.hint
