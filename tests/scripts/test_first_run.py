"""What a newcomer types, on a fresh copy of the repository in a folder with a space."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from harness import copy_of_clone

from mdbench.errors import UnavailableError

if TYPE_CHECKING:
    from types import ModuleType

pytestmark = pytest.mark.build

ROOT = Path(__file__).resolve().parents[2]
BASE_PYTHON = Path(sys._base_executable).resolve()  # type: ignore[attr-defined]
SYSTEM_PATH = f"{BASE_PYTHON.parent}:/usr/bin:/bin"

SET_UP = """\
#!/bin/sh
# Plays an interpreter whose set-up of an environment does nothing but leave its stamp.
case $1 in -c) exit 0 ;; esac
echo "set-up of $2" >&2
mkdir -p "$(dirname "$1")/../$2/bin"
cd "$(dirname "$1")/../$2"
printf '#!/bin/sh\\nprintf "<%%s>" "$@"\\n' > bin/mdbench
touch bin/python
chmod +x bin/mdbench bin/python
printf %s "$4" > .mdbench-stamp
"""
TOO_OLD = """\
#!/bin/sh
case $1 in -V) echo Python 3.9.1 ;; *) exit 1 ;; esac
"""


@dataclass
class Clone:
    """A fresh copy of the repository, and a home of its own; no Docker engine answers it."""

    root: Path
    home: Path

    def run(self, *command: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
        inherited = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("MDBENCH_", "XDG_", "UV_", "VIRTUAL_ENV"))
        }
        # --clean would remove what others have made by the engine of this machine.
        own = {"HOME": str(self.home), "PATH": SYSTEM_PATH, "DOCKER_HOST": "unix:///nonexistent"}
        return subprocess.run(
            command,
            cwd=self.home,
            env=inherited | own | environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def files(self) -> set[str]:
        return {path.name for path in self.root.iterdir()}


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    root = copy_of_clone(tmp_path / "a clone")
    home = tmp_path / "home"
    home.mkdir()
    return Clone(root, home)


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.mark.slow
def test_the_first_line_of_the_readme_works_on_a_fresh_clone(clone: Clone) -> None:
    before = clone.files()
    results = clone.root / "results"
    line = [str(clone.root / "run.sh"), "--algorithm", "sindy", "--data-type", "ode"]
    line += ["--dataset", "rc-circuit", "--result-dir", str(results)]
    first = clone.run(*line)
    assert first.returncode == 0, first.stderr
    assert "making .venv" in first.stderr
    records = (results / "sindy-ode.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(record)["status"] for record in records] == ["ok"]
    # Nothing was written but what can be thrown away.
    assert clone.files() - before == {".venv", ".venv.lock", ".mdbench", "results"}
    assert {str(path.relative_to(clone.home)) for path in clone.home.glob(".*/*")} <= {
        ".cache/pip",
        ".cache/uv",
    }

    second = clone.run(*line)
    assert second.returncode == 0, second.stderr
    assert "making" not in second.stderr
    assert (results / "sindy-ode.jsonl").read_text(encoding="utf-8").splitlines() == records

    cleaned = clone.run(clone.root / "install.sh", "--clean")
    assert cleaned.returncode == 0, cleaned.stderr
    assert clone.files() - before == {".mdbench", "results"}
    assert list((clone.root / ".mdbench").glob("envs/*")) == []


def test_every_argument_gets_through_from_anywhere(clone: Clone) -> None:
    fake = program(clone.home / "bin" / "python3", SET_UP)
    link = clone.home / "link"
    link.symlink_to(clone.root / "run.sh")
    done = clone.run(link, "--dataset", "a b", "*", "", MDBENCH_PYTHON=str(fake))
    assert done.returncode == 0, done.stderr
    assert done.stdout == "<run><--dataset><a b><*><>"


def test_the_environment_is_set_up_once_and_again_when_what_it_is_made_from_changes(
    clone: Clone,
) -> None:
    fake = program(clone.home / "bin" / "python3", SET_UP)

    def set_ups() -> int:
        done = clone.run(clone.root / "run.sh", MDBENCH_PYTHON=str(fake))
        assert done.returncode == 0, done.stderr
        return done.stderr.count("set-up of .venv")

    assert [set_ups(), set_ups()] == [1, 0]
    for name in ("requirements.lock", "pyproject.toml"):
        with (clone.root / name).open("a", encoding="utf-8") as file:
            file.write("\n")
        assert [set_ups(), set_ups()] == [1, 0], name
    (clone.root / ".venv/bin/python").unlink()
    assert [set_ups(), set_ups()] == [1, 0]
    (clone.root / ".venv/.mdbench-stamp").write_text("", encoding="utf-8")  # interrupted
    assert [set_ups(), set_ups()] == [1, 0]
    fake = program(clone.home / "other" / "python3", SET_UP)
    assert [set_ups(), set_ups()] == [1, 0]


def test_a_python_that_is_too_old_is_explained(clone: Clone) -> None:
    folder = clone.home / "bin"
    for name in ("python3", *(f"python3.{minor}" for minor in range(11, 16)), "uv"):
        program(folder / name, TOO_OLD)
    done = clone.run(clone.root / "run.sh", PATH=f"{folder}:/usr/bin:/bin")
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "mdbench: no Python 3.11 or newer was found (python3 here: Python 3.9.1).",
        "  Install one, or set where it is: MDBENCH_PYTHON=/path/to/python3.12 ./run.sh ...",
    ]
    assert not (clone.root / ".venv").exists()


def test_a_python_that_is_named_must_be_one(clone: Clone) -> None:
    old = program(clone.home / "bin" / "python3", TOO_OLD)
    done = clone.run(clone.root / "run.sh", MDBENCH_PYTHON=str(old))
    assert done.returncode == 2
    assert f"MDBENCH_PYTHON is '{old}', which is no Python 3.11 or newer" in done.stderr


@pytest.mark.parametrize("script", ["run.sh", "install.sh"])
def test_an_environment_of_the_users_own_is_left_alone(clone: Clone, script: str) -> None:
    own = clone.root / ".venv" / "pyvenv.cfg"
    own.parent.mkdir()
    own.touch()
    done = clone.run(clone.root / script, MDBENCH_PYTHON=str(BASE_PYTHON))
    assert done.returncode == 2
    assert "was not made by mdbench" in done.stderr
    assert clone.run(clone.root / "install.sh", "--clean").returncode == 0
    assert own.is_file()


def test_clean_removes_what_is_broken_too(clone: Clone) -> None:
    before = clone.files()
    for folder in (".venv", ".mdbench/envs/m-0123456789ab"):
        (clone.root / folder / "lib").mkdir(parents=True)
        (clone.root / folder / ".mdbench-stamp").touch()
    done = clone.run(clone.root / "install.sh", "--clean")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("removed") == 2
    assert clone.files() == before | {".mdbench"}
    assert list((clone.root / ".mdbench" / "envs").iterdir()) == []


def test_clean_removes_containers_then_images_and_only_ours(clone: Clone) -> None:
    log = clone.home / "log"
    folder = program(
        clone.home / "bin" / "docker",
        f"""#!/bin/sh
echo "$*" >> '{log}'
case "$1 $2" in
    "ps --all") echo c1 c2 ;;
    "image ls") printf '%s\\n' mdbench-base:latest mdbench-env-a:12 someones-own:1 mdbench-zz:34 ;;
    "image rm") echo Untagged ;;
esac
""",
    ).parent
    (clone.root / ".mdbench" / "images").mkdir(parents=True)
    done = clone.run(clone.root / "install.sh", "--clean", PATH=f"{folder}:{SYSTEM_PATH}")
    assert done.returncode == 0, done.stderr
    assert [
        line for line in log.read_text(encoding="utf-8").splitlines() if " ls " not in line
    ] == [
        "ps --all --quiet --filter=label=mdbench=1",
        "rm --force --volumes c1 c2",
        "image rm mdbench-zz:34",
        "image rm mdbench-env-a:12",
        "image rm mdbench-base:latest",
        "image prune --force --filter=label=mdbench=1",
    ]
    assert done.stderr.count("removed the image") == 3
    assert not (clone.root / ".mdbench" / "images").exists()


@pytest.fixture
def bootstrap() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bootstrap", ROOT / "scripts" / "bootstrap.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def play(bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch, missing: set[str]) -> list[str]:
    """Replace the running of programs by a machine that lacks some; give what was run."""
    ran: list[str] = []

    def run(command: list[str]) -> subprocess.CompletedProcess[str]:
        line = " ".join(command)
        ran.append(line)
        if command[0] in {"virtualenv", "uv"}:
            needs = command[0]
        elif line.startswith(OUTSIDE):
            needs = "pip"
        else:
            needs = command[2] if command[2] != "pip" else "what a way has put there"
        fails = needs in missing or (" install " in line and "index" in missing)
        return subprocess.CompletedProcess(command, int(fails), "https://u:p@a.example refuses")

    monkeypatch.setattr(bootstrap, "run", run)
    return ran


ENVIRONMENT = ("/env", "/usr/bin/python3.11", "/env/uv.lock")
OUTSIDE = f"{sys.executable} -m pip --python /env/bin/python "
INSIDE = "/env/bin/python -m pip "


@pytest.mark.parametrize(
    ("missing", "way", "installer"),
    [
        (set(), "-m venv --without-pip", OUTSIDE),
        ({"pip"}, "-m ensurepip", INSIDE),
        ({"pip", "ensurepip"}, "virtualenv", INSIDE),
        ({"venv"}, "virtualenv", INSIDE),
        ({"pip", "ensurepip", "virtualenv"}, "uv venv", "uv pip "),
        ({"venv", "virtualenv"}, "uv venv", "uv pip "),
    ],
)
def test_uv_is_fetched_in_the_first_way_that_there_is(
    bootstrap: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    missing: set[str],
    way: str,
    installer: str,
) -> None:
    ran = play(bootstrap, monkeypatch, missing)
    bootstrap.install_uv(*ENVIRONMENT)
    assert any(way in line for line in ran)
    assert ran[-1].startswith(f"{installer}install ")
    assert "--require-hashes" in ran[-1]


def test_a_machine_without_any_way_is_shown_what_to_install(
    bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(bootstrap, monkeypatch, {"pip", "ensurepip", "virtualenv", "uv"})
    with pytest.raises(UnavailableError, match="apt install python3-venv"):
        bootstrap.install_uv(*ENVIRONMENT)


def test_an_index_that_fails_is_no_reason_to_try_another_way(
    bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = play(bootstrap, monkeypatch, {"index"})
    with pytest.raises(UnavailableError, match=r"https://\*\*\*@a\.example refuses"):
        bootstrap.install_uv(*ENVIRONMENT)
    assert sum(" install " in line for line in ran) == 1
