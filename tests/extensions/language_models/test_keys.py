"""The file by which other machines get the key: gone however the command ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from mdbench.extensions.language_models.keys import Key, hidden_variable, read_key, remove_left_keys
from mdbench.runtimes.processes import owner

if TYPE_CHECKING:
    from pathlib import Path

KEY = "sk-test-5f3a9c81d2e47b60"
HOLDS = """
import os, sys, time
from pathlib import Path
from mdbench.extensions.language_models.keys import Key
with Key(os.environ.pop("GIVEN")).in_file(Path(sys.argv[1])) as file:
    print(file, flush=True)
    time.sleep(600)
"""


def test_it_is_for_the_user_alone_and_goes_with_the_context(tmp_path: Path) -> None:
    with Key(KEY).in_file(tmp_path / "new") as file:
        assert file.read_text().strip() == KEY
        assert file.stat().st_mode & 0o777 == 0o600
        remove_left_keys(file.parent)  # another command of this machine
        assert file.exists()
    assert not list(file.parent.iterdir())


@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGTERM])
def test_it_goes_where_the_command_is_killed(tmp_path: Path, by: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(tmp_path)],
        stdout=subprocess.PIPE,
        env=os.environ | {"GIVEN": KEY},
    ) as command:
        assert command.stdout is not None
        command.stdout.readline()
        (file,) = tmp_path.iterdir()
        command.send_signal(by)
        command.wait()
    end = time.monotonic() + 60
    while file.exists() and time.monotonic() < end:
        time.sleep(0.01)
    assert not file.exists()


def test_what_killed_commands_have_left_is_removed_by_the_next(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    machine, _, mine_now = owner().split()
    mine = {
        f"llm-key-{machine}_{ended.pid}_{mine_now}_a",  # its number is nobody's
        f"llm-key-{machine}_{os.getpid()}_1_b",  # and that of a process that began later
    }
    others = {
        f"llm-key-elsewhere_{ended.pid}_1_a",
        f"llm-key-{machine}_x_1_b",
        "llm-key-",
        "llm-key-0123456789abcdef",
        "a_b_c_d",
    }
    for name in mine | others:
        (tmp_path / name).write_text("x")
    remove_left_keys(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == others


def test_a_folder_that_cannot_be_written_is_an_error_and_leaves_no_guard(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="exists"), Key(KEY).in_file(tmp_path / "file"):
        pass


def test_processes_that_are_started_meanwhile_do_not_have_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MY_SECRET", KEY)
    shown = [sys.executable, "-c", "import os; print(os.environ.get('MY_SECRET'))"]
    with hidden_variable("MY_SECRET"), hidden_variable("MY_SECRET"), hidden_variable(None):
        assert subprocess.run(shown, capture_output=True, text=True, check=True).stdout == "None\n"
        assert read_key("MY_SECRET", None).headers()["Authorization"].endswith(KEY)
    assert os.environ["MY_SECRET"] == KEY
    with hidden_variable("NO_SUCH_VARIABLE"):
        pass
    assert "NO_SUCH_VARIABLE" not in os.environ
