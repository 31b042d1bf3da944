"""The notification at the end of a run: the user's command, and programs that read its JSON."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from harness import ZERO, add_method, is_running, wait_until
from rich.console import Console
from rich.progress import TaskID

import mdbench
from mdbench.cli import main, run
from mdbench.errors import DataError, UsageError
from mdbench.records import RecordStore
from mdbench.runs.execute import notify_at_end
from mdbench.runs.options import read_command

if TYPE_CHECKING:
    from mdbench.runs.spec import JobSpec
    from mdbench.workspace import Workspace

Output = pytest.CaptureFixture[str]
LINE = "run --algorithm zero --data-type ode --dataset rc-circuit glider"

TELLER = """\
import json, os, sys
variables = {name: value for name, value in os.environ.items() if name.startswith("MDBENCH_")}
with open("notifications.jsonl", "a") as file:
    file.write(json.dumps([json.load(sys.stdin), variables]) + "\\n")
print("nothing for standard output")
sys.exit(3)
"""


@pytest.fixture
def workspace(command_line: Workspace) -> Workspace:
    add_method(command_line, "zero")
    Path("tell.py").write_text(TELLER, encoding="utf-8")
    return command_line


def tell(*more: str) -> list[str]:
    return [*LINE.split(), "--notify", f"'{sys.executable}' tell.py", *more]


def notifications() -> list[tuple[dict[str, Any], dict[str, str]]]:
    if not Path("notifications.jsonl").exists():
        return []
    return [
        json.loads(line) for line in Path("notifications.jsonl").read_text("utf-8").splitlines()
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("notify-send done", ("notify-send", "done")),
        ("a 'b c' \"d $E\" f\\ g", ("a", "b c", "d $E", "f g")),
        ("sh -c 'x && y | z > w; v'", ("sh", "-c", "x && y | z > w; v")),
        ("a '' *.csv ~ # b", ("a", "", "*.csv", "~", "#", "b")),
    ],
)
def test_a_command_is_split_and_nothing_else(text: str, words: tuple[str, ...]) -> None:
    assert read_command("--notify", text) == words


@pytest.mark.parametrize("text", ["a && b", "a|b", "a; b", "a > b", "a &", "$(a)", "'a", "", " "])
def test_what_takes_a_shell_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--notify"):
        read_command("--notify", text)


@pytest.mark.usefixtures("workspace")
def test_a_finished_run_is_notified(capfd: Output) -> None:
    assert main(tell()) == 0
    captured = capfd.readouterr()
    assert "nothing for standard output" not in captured.out
    assert "nothing for standard output" in captured.err
    # It failed, which is said, and changes nothing.
    assert "tell.py: it ended with exit status 3" in captured.out
    ((stdin, variables),) = notifications()
    assert stdin["schema"] == 1
    assert stdin["event"] == variables["MDBENCH_EVENT"] == "finished"
    assert stdin["folder"] == variables["MDBENCH_FOLDER"] == str(Path("results").absolute())
    assert stdin["statuses"] == {"ok": 2}
    counts = {
        name: stdin[name] for name in ("jobs", "ran", "skipped", "left", "answered", "failed")
    }
    assert counts == {"jobs": 2, "ran": 2, "skipped": 0, "left": 0, "answered": 2, "failed": 0}
    assert variables["MDBENCH_JOBS"] == "2"
    assert float(variables["MDBENCH_SECONDS"]) == stdin["seconds"] > 0
    assert "notify" not in Path("results/zero-ode.jsonl").read_text(encoding="utf-8")


def test_failures_are_counted(workspace: Workspace) -> None:
    (workspace.algorithms / "zero" / "adapter.py").write_text(
        "class Adapter:\n    def __init__(self, *, seed, threads): raise ValueError('no')\n",
        encoding="utf-8",
    )
    assert main(tell()) == 0
    ((stdin, _),) = notifications()
    assert (stdin["event"], stdin["answered"], stdin["failed"]) == ("finished", 0, 2)


@pytest.mark.usefixtures("workspace")
def test_a_run_that_cannot_be_done_is_notified(capfd: Output) -> None:
    assert main([*tell(), "--dataset-path", "nowhere.csv"]) == 2
    ((stdin, variables),) = notifications()
    assert stdin["event"] == "failed"
    assert "nowhere.csv" in stdin["reason"]
    assert stdin["jobs"] is None
    assert variables["MDBENCH_JOBS"] == ""
    assert "nowhere.csv" in capfd.readouterr().err


def test_an_interrupted_run_is_notified(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, capfd: Output
) -> None:
    (workspace.algorithms / "zero" / "adapter.py").write_text(
        ZERO.replace(
            "def fit(self, problem):", "def fit(self, problem):\n        time.sleep(600)\n"
        ).replace("import numpy as np", "import time\nimport numpy as np"),
        encoding="utf-8",
    )
    started = run.Display.job_started

    def stop(self: run.Display, job: JobSpec) -> None:
        started(self, job)
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(run.Display, "job_started", stop)
    before = signal.getsignal(signal.SIGTERM)
    try:
        assert main(tell("--n-jobs", "1")) == 130
    finally:
        signal.signal(signal.SIGTERM, before)
    ((stdin, _),) = notifications()
    assert (stdin["event"], stdin["left"]) == ("interrupted", 2)
    assert "2 of 2 jobs left" in capfd.readouterr().out


@pytest.mark.usefixtures("workspace")
def test_a_missing_program_is_refused_before_anything_is_run(capsys: Output) -> None:
    assert main([*LINE.split(), "--notify", "no-such-program x"]) == 2
    assert "there is no program 'no-such-program'" in capsys.readouterr().err
    assert not Path("results").exists()


@pytest.mark.usefixtures("workspace")
def test_a_study_notifies_for_the_whole_run() -> None:
    study = ["study", "--init", "study.toml", *tell()[1:]]
    assert main(study) == 0
    assert notifications() == []
    assert main(["run", "--study", "study.toml"]) == 0
    assert [stdin["event"] for stdin, _ in notifications()] == ["finished"]


@pytest.mark.usefixtures("workspace")
def test_python_notifies_too() -> None:
    lines: list[str] = []
    mdbench.run("zero", "ode", dataset="glider", say=lines.append, notify=tell()[-1])
    assert [stdin["ran"] for stdin, _ in notifications()] == [1]
    assert any("exit status 3" in line for line in lines)


def test_a_command_that_does_not_end_is_ended_with_its_children(tmp_path: Path) -> None:
    lines: list[str] = []
    script = f"sleep 600 & echo $! > {tmp_path}/pid; wait"
    with notify_at_end(["sh", "-c", script], tmp_path, lines.append, seconds=1.0):
        pass
    (line,) = lines
    assert line.endswith("it was ended after 1 s")
    pid = int((tmp_path / "pid").read_text(encoding="ascii"))
    assert wait_until(lambda: not is_running(pid))


def test_whatever_happens_the_run_s_own_error_comes_through(tmp_path: Path) -> None:
    lines: list[str] = []
    with (
        pytest.raises(DataError, match="ours"),
        notify_at_end(["sh", "-c", "kill -9 $$"], tmp_path, lines.append),
    ):
        raise DataError("ours")
    assert lines == ["--notify sh -c 'kill -9 $$': it was ended by signal 9"]
    # One that does not read its input is no failure, however long that is.
    lines.clear()
    with pytest.raises(DataError), notify_at_end(["true"], tmp_path, lines.append):
        raise DataError("long " * 100_000)
    assert len(lines) <= 1
    (tmp_path / "text").write_text("no program", encoding="utf-8")
    (tmp_path / "text").chmod(0o755)
    with notify_at_end([str(tmp_path / "text")], tmp_path, lines.append):
        pass
    assert "it cannot be run" in lines[-1]


@pytest.mark.usefixtures("workspace")
def test_json_of_a_run_is_alone_on_standard_output(capfd: Output) -> None:
    assert main([*LINE.split(), "--json"]) == 0
    captured = capfd.readouterr()
    found = json.loads(captured.out)
    assert (found["schema"], found["jobs"], found["ran"]) == (1, 2, 2)
    assert found["statuses"] == {"ok": 2}
    assert "zero · rc-circuit" in captured.err
    assert "Results: results/zero-ode.jsonl" in captured.err
    kept = RecordStore(Path(found["files"][0])).latest()
    for one in found["records"]:
        record = json.loads(kept[one["key"]].to_line())
        assert one.pop("wall_s") == record["measured"]["wall_s"]
        assert one == {name: record[name] for name in one}
    assert main([*LINE.split(), "--json"]) == 0
    again = json.loads(capfd.readouterr().out)
    assert (again["ran"], again["skipped"]) == (0, 2)
    assert [one["key"] for one in again["records"]] == [one["key"] for one in found["records"]]


@pytest.mark.usefixtures("workspace")
def test_json_of_a_dry_run_is_that_of_plan(capfd: Output) -> None:
    assert main([*LINE.split(), "--json", "--dry-run"]) == 0
    dry = json.loads(capfd.readouterr().out)
    assert main(["plan", *LINE.split()[1:], "--json"]) == 0
    assert dry == json.loads(capfd.readouterr().out)
    assert not Path("results").exists()


@pytest.mark.usefixtures("workspace")
def test_json_of_an_error_is_nothing(capfd: Output) -> None:
    for more in (["--dataset", "no-such"], ["--runtime", "lxc"]):
        words = [word for word in LINE.split() if word not in {"rc-circuit", "glider", "--dataset"}]
        assert main([*words, "--json", *more]) == 2
        captured = capfd.readouterr()
        assert captured.out == ""
        assert captured.err.startswith("error:")


def test_without_colour_the_bar_stays() -> None:
    text = io.StringIO()
    console = Console(file=text, force_terminal=True, no_color=True, width=80, _environ={})
    plan: Any = SimpleNamespace(jobs=(), catalog=None)
    with run.Display(console, plan) as display:
        display.prepared(2, 0)
        display._progress.advance(display._task or TaskID(0))
        display._progress.refresh()
    shown = text.getvalue()
    assert "━" in shown
    assert "1/2" in shown
    assert re.search(r"\x1b\[[0-9;]*m", shown) is None
