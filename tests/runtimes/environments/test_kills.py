"""Whatever is killed while an environment is made: the next start makes it whole."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import sysconfig
import time
from typing import TYPE_CHECKING

import pytest
from wheels import write_wheel

from mdbench.runtimes import bubblewrap
from mdbench.runtimes.environments.uv import STAMP, detect_change
from mdbench.runtimes.environments.venvs import Environment, prepare

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.build, pytest.mark.slow]

HERE = f"=={sysconfig.get_python_version()}.*"
PACKAGES = 5
FILES = 100
MAKE = """
import sys
from pathlib import Path
from mdbench.runtimes.environments.venvs import prepare
lock, home, fetch = map(Path, sys.argv[2:])
prepare("m", lock, sys.argv[1], home, fetch=fetch if fetch.name != "none" else None)
"""
FETCH = """
import pathlib, sys, time
place = pathlib.Path(sys.prefix, "fetched")
place.mkdir()
for number in range(20):
    (place / str(number)).write_text("x")
    time.sleep(0.02)
"""


def files_of(prefix: Path) -> set[str]:
    return {
        str(path.relative_to(prefix))
        for path in prefix.rglob("*")
        if path.is_file() and path.name != STAMP
    }


@pytest.mark.parametrize(
    ("way", "kills"),
    [
        ("wheels", 4),
        pytest.param("wheels", 20, marks=pytest.mark.nightly),
        pytest.param("fetch", 10, marks=pytest.mark.nightly),
    ],
)
def test_what_was_killed_is_made_whole_by_the_next_start(
    way: str, kills: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if way == "fetch" and (trouble := bubblewrap.why_unavailable()):
        pytest.skip(f"no bubblewrap: {trouble}")
    for name in os.environ:
        if name.startswith(("PIP_", "UV_")):
            monkeypatch.delenv(name)
    wheels, method = tmp_path / "wheels", tmp_path / "m"
    wheels.mkdir()
    method.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
    pins = {
        name: write_wheel(
            wheels, name, {f"{name}/m{number}.py": "x = 1\n" * 100 for number in range(FILES)}
        )
        for name in ("numpy", *(f"other{number}" for number in range(PACKAGES)))
    }
    lock, program = method / "requirements.lock", method / "fetch_it.py"
    lock.write_text("".join(f"{n}==1.0 --hash=sha256:{sha}\n" for n, sha in pins.items()))
    program.write_text(FETCH, encoding="utf-8")
    fetch = program if way == "fetch" else None

    def make(home: Path) -> Environment:
        return prepare("m", lock, HERE, home, fetch=fetch)

    start = time.monotonic()
    reference = files_of(make(tmp_path / "reference").prefix)
    longest = time.monotonic() - start
    assert sum(name.endswith(".pyc") for name in reference) > PACKAGES * FILES
    draw = random.Random(1)
    home = tmp_path / "home"
    killed = 0
    for number in range(kills):
        process = subprocess.Popen(
            [sys.executable, "-c", MAKE, HERE, lock, home, fetch or "none"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while not (home / "envs").is_dir():  # it has begun
            time.sleep(0.01)
        time.sleep(draw.uniform(0.0, longest))
        process.send_signal((signal.SIGKILL, signal.SIGINT)[number % 2])
        killed += process.wait() != 0
        made = make(home)
        assert files_of(made.prefix) == reference, number
        assert detect_change(made.prefix, but=STAMP) == ""
        # Nothing but the environment, its list, its size and its lock.
        assert len(list((home / "envs").iterdir())) == 4, sorted((home / "envs").iterdir())
        subprocess.run(["rm", "-rf", home], check=True)
    assert killed > kills // 3
