"""Programs that make environments: heard of while they work, and gone when they are to end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest
from harness import ROOT, add_method, is_running, make_workspace, wait_until

from mdbench import methods
from mdbench.errors import UnavailableError
from mdbench.runtimes.environments import base_images
from mdbench.runtimes.environments.base_images import Base, Target
from mdbench.runtimes.environments.docker_cli import docker, follow
from mdbench.runtimes.environments.images import Images
from mdbench.runtimes.environments.subprocesses import (
    SubprocessRegistry,
    running,
    with_heartbeat,
    with_package_count,
)
from mdbench.runtimes.environments.uv import file_lock
from mdbench.runtimes.job_folder import PREFIX

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SLEEPER = """\
#!/bin/sh
# Never ends, and has a child.
sleep 600 &
echo "$$ $!" > "{pids}.part"
mv "{pids}.part" "{pids}"
wait
"""
LONG = 60.0


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


def pids(path: Path) -> list[int]:
    assert wait_until(path.exists, LONG)
    return [int(word) for word in path.read_text(encoding="ascii").split()]


def all_gone(found: list[int]) -> bool:
    return wait_until(lambda: not any(is_running(pid) for pid in found), LONG)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_program_ends_with_its_block(tmp_path: Path, error: type[BaseException]) -> None:
    sleeper = program(tmp_path / "sleeper", SLEEPER.format(pids=tmp_path / "pids"))
    with pytest.raises(error), running([str(sleeper)]):  # noqa: PT012 - it takes its time
        found = pids(tmp_path / "pids")
        raise error
    assert all_gone(found)


def run_apart(
    work: Callable[[], object], programs: SubprocessRegistry
) -> tuple[threading.Thread, list[str]]:
    """Do something in a thread whose programs are the given ones."""
    ends: list[str] = []

    def inside() -> None:
        try:
            with programs.track():
                work()
            ends.append("done")
        except UnavailableError as error:
            ends.append(str(error))

    thread = threading.Thread(target=inside)
    thread.start()
    return thread, ends


def test_all_are_ended_from_another_thread_and_none_is_begun_then(tmp_path: Path) -> None:
    sleeper = program(tmp_path / "sleeper", SLEEPER.format(pids=tmp_path / "pids"))
    programs = SubprocessRegistry()

    def work() -> None:
        follow([str(sleeper)], environment={}, failure="It failed", hint="", on_line=print)

    thread, ends = run_apart(work, programs)
    found = pids(tmp_path / "pids")
    programs.end()
    thread.join(LONG)
    assert all_gone(found)
    assert "It was stopped." in ends[0]
    (tmp_path / "pids").unlink()
    for again in (work, lambda: docker(["version"], "It fails")):
        thread, ends = run_apart(again, programs)
        thread.join(LONG)
        assert "It was stopped." in ends[0]
    assert not (tmp_path / "pids").exists()
    programs.resume()  # another run
    with programs.track(), running(["true"]) as process:
        assert process.wait() == 0


def test_who_waits_for_another_process_can_be_stopped(tmp_path: Path) -> None:
    programs, said = SubprocessRegistry(), list[str]()

    def work() -> None:
        with file_lock(tmp_path / "env", said.append):
            pass

    with file_lock(tmp_path / "env", said.append):
        thread, ends = run_apart(work, programs)
        assert wait_until(lambda: bool(said), LONG)
        programs.end()
        thread.join(LONG)
    assert ends == ["It was stopped.\n  The same command goes on from here."]


def test_an_image_build_that_is_stopped_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = make_workspace(tmp_path)
    add_method(workspace, "zero")
    (workspace.algorithms / "zero" / "requirements.lock").write_text(
        "numpy==2.0.0 \\\n    --hash=sha256:12\n", encoding="utf-8"
    )
    build = SLEEPER.format(pids=tmp_path / "pids").partition("\n")[2]
    program(
        tmp_path / "bin" / "docker",
        f'#!/bin/sh\necho "$1" >> {tmp_path}/asked\ncase $1 in\n'
        f"image) echo 'no such image' >&2; exit 1 ;;\nbuild) {build} ;;\nesac\n",
    )
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    target = Target("3.11.2", "cp", "cp311", ("manylinux_2_17_x86_64",), {})
    found = Base("base", "sha256:1", "3", target, ("sha256:2",))
    monkeypatch.setattr(base_images, "find", lambda *_: found)
    monkeypatch.setattr(base_images, "download", lambda *_: None)
    programs, said = SubprocessRegistry(), list[str]()
    images = Images(tmp_path / "home", said.append)
    method = methods.find("zero", workspace.algorithms)
    thread, ends = run_apart(lambda: images.build(method), programs)
    children = pids(tmp_path / "pids")
    assert [one.name for one in tmp_path.glob(f"{PREFIX}*")]
    programs.end()
    thread.join(LONG)
    assert all_gone(children)
    assert "It was stopped." in ends[0]
    assert not [one.name for one in tmp_path.glob(f"{PREFIX}*")]
    # No engine is asked to clear up, which may take long: the next build does.
    assert (tmp_path / "asked").read_text(encoding="ascii").split()[-1] == "build"


RUN = """\
import sys
from mdbench.cli import main
from mdbench.runtimes import bubblewrap
from mdbench.runtimes.environments import venvs
venvs.find_uv_bin = lambda: {uv!r}
sys.exit(main({line!r}))
"""


@pytest.mark.parametrize(("number", "verb"), [(signal.SIGTERM, "run"), (signal.SIGINT, "install")])
def test_a_command_that_is_stopped_while_an_environment_is_made(
    tmp_path: Path, number: int, verb: str
) -> None:
    workspace = make_workspace(tmp_path)
    add_method(workspace, "zero")
    (workspace.algorithms / "zero" / "requirements.lock").write_text(
        "numpy==2.0.0 \\\n    --hash=sha256:12\n", encoding="utf-8"
    )
    uv = program(tmp_path / "uv", SLEEPER.format(pids=tmp_path / "pids"))
    line = {
        "run": "run --algorithm zero --data-type ode --dataset glider --json",
        "install": "install zero",
    }[verb]
    (tmp_path / "tmp").mkdir()
    script = RUN.format(uv=str(uv), line=[*line.split(), "--runtime", "venv"])
    with subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={
            "MDBENCH_ROOT": str(workspace.root),
            "MDBENCH_HOME": str(workspace.home),
            "PYTHONPATH": str(ROOT),
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "TMPDIR": str(tmp_path / "tmp"),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        children = pids(tmp_path / "pids")
        process.send_signal(number)
        try:
            out, err = process.communicate(timeout=LONG)
        except subprocess.TimeoutExpired:
            process.kill()  # else it would be waited for
            raise
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert all_gone(children)
    assert list((tmp_path / "tmp").glob("mdbench-*")) == []
    if verb == "run":
        told = json.loads(out)
        assert (told["interrupted"], told["statuses"]) == (True, {"interrupted": 1})


def test_a_sign_of_life_is_given_while_nothing_is_said() -> None:
    lines: list[str] = []
    with with_heartbeat(lines.append, lambda: "making it", silence=0.05) as say:
        say("begun")
        assert wait_until(lambda: len(lines) >= 3, LONG)
    assert lines[0] == "begun"
    assert all(line.startswith("making it, ") and line.endswith(" s so far") for line in lines[1:])


def test_an_environment_states_how_it_fills(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mdbench.runtimes.environments.subprocesses.SILENCE", 0.05)
    lock = tmp_path / "a.lock"
    lock.write_text(
        "a==1 \\\n    --hash=sha256:1\n    # via b\nb==2 ; x \\\n    --hash=sha256:2\nc==3\n",
        encoding="utf-8",
    )
    lines: list[str] = []

    def make(say: Callable[[str], None]) -> None:
        say("begun")
        for count, name in enumerate(["a-1", "b-2"], start=1):
            (tmp_path / f"env/lib/python3.11/site-packages/{name}.dist-info").mkdir(parents=True)
            wanted = f"making env: installed {count} of 3 packages"
            assert wait_until(lambda wanted=wanted: any(wanted in line for line in lines), LONG)

    with_package_count(make, "making env", tmp_path / "env", lock, lines.append)()


SET_UP = """\
import signal, sys, time
from pathlib import Path
sys.path.insert(0, {scripts!r})
import bootstrap
from mdbench.runtimes.environments import subprocesses
subprocesses.SILENCE = 0.05
bootstrap.ROOT = Path({root!r})

def install_uv(prefix, base, lock):
    (Path(prefix) / "bin").mkdir()
    uv = Path(prefix) / "bin" / "uv"
    uv.write_text({sleeper!r})
    uv.chmod(0o755)

bootstrap.install_uv = install_uv
bootstrap.read_pip_settings = lambda python: {{"x": "y"}}
sys.exit(bootstrap.main([".venv", "a.lock", "key"]))
"""


def test_the_set_up_is_reported_and_can_be_stopped(tmp_path: Path) -> None:
    (tmp_path / "a.lock").write_text("uv==1\nnumpy==2\n", encoding="utf-8")
    script = SET_UP.format(
        scripts=str(ROOT / "scripts"),
        root=str(tmp_path),
        sleeper=SLEEPER.format(pids=tmp_path / "pids"),
    )
    with subprocess.Popen(
        [sys.executable, "-c", dedent(script)],
        env={"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        children = pids(tmp_path / "pids")
        lines = []
        for line in process.stderr:
            lines.append(line)
            if "making .venv: installed 0 of 2 packages" in line:
                break
        process.send_signal(signal.SIGTERM)
        rest = process.stderr.read()
        assert process.wait(LONG) == 130
    assert any("2 of 3: the packages" in line for line in lines)
    assert "interrupted; the same command starts again" in rest
    assert "Traceback" not in rest
    assert all_gone(children)


def test_run_sh_passes_on_what_is_to_end_it(tmp_path: Path) -> None:
    python = program(
        tmp_path / "python",
        f"#!/bin/sh\ncase $1 in -c) exit 0 ;; esac\necho $$ > {tmp_path}/part\n"
        f"mv {tmp_path}/part {tmp_path}/pids\nexec sleep 600\n",
    )
    (tmp_path / "scripts").mkdir()
    for name in ("run.sh", "scripts/environment.sh", "scripts/bootstrap.py"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    for name in ("requirements.lock", "pyproject.toml"):
        (tmp_path / name).touch()
    (tmp_path / "run.sh").chmod(0o755)
    with subprocess.Popen(
        [str(tmp_path / "run.sh"), "--help"],
        env={"PATH": "/usr/bin:/bin", "MDBENCH_PYTHON": str(python)},
    ) as process:
        children = pids(tmp_path / "pids")
        process.send_signal(signal.SIGTERM)
        assert process.wait(LONG) == 128 + signal.SIGTERM
    assert all_gone(children)
