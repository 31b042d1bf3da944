"""What the newcomer's script types, page by page; and on bare Debians, each night."""

from __future__ import annotations

import os
import shutil
import subprocess

import newcomer
import pytest
from harness import ROOT
from newcomer import Step, steps


def test_a_block_of_commands_is_typed_line_by_line() -> None:
    text = "Type:\n\n    ./run.sh --algorithm sindy   # a comment\n    .venv/bin/mdbench list\n\n"
    assert steps(text) == [
        Step("", "./run.sh --algorithm sindy   # a comment"),
        Step("", ".venv/bin/mdbench list"),
    ]


def test_what_is_printed_is_not_typed() -> None:
    assert steps("It prints\n\n    1/1 sindy ok\n    Results: results\n\n") == []


def test_python_is_written_and_run() -> None:
    assert steps("\n\n    import mdbench\n\n    mdbench.load()\n\n") == [
        Step("snippet.py", "import mdbench\n\nmdbench.load()\n"),
        Step("", ".venv/bin/python snippet.py"),
    ]


def test_a_page_may_change_the_folder() -> None:
    text = "```console\n$ mkdir a && cd a\n$ ls\nfile\n$ cd ..\n$ pwd\n```\n"
    assert steps(text) == [
        Step("", "mkdir a && cd a", "", "."),
        Step("", "ls", "file\n", "a"),
        Step("", "cd ..", "", "a"),
        Step("", "pwd", "", "."),
    ]


def test_a_file_has_its_name_before_it() -> None:
    assert steps("Write `a/b.toml`:\n\n```toml\nx = 1\n```\n") == [Step("a/b.toml", "x = 1\n")]
    with pytest.raises(ValueError, match="which file is this"):
        steps("Write:\n\n```toml\nx = 1\n```\n")


@pytest.mark.parametrize("page", newcomer.PAGES)
def test_every_page_has_something_to_type(page: str) -> None:
    found = steps((ROOT / page).read_text(encoding="utf-8"))
    assert sum(bool(step.text) and not step.name for step in found) > 5


@pytest.mark.nightly
@pytest.mark.build
@pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("mmdebstrap") or not shutil.which("bwrap"),
    reason="needs root, mmdebstrap and bubblewrap",
)
@pytest.mark.parametrize("suite", ["bookworm", "trixie"])
def test_a_newcomer_gets_through_on_a_bare_debian(suite: str) -> None:
    done = subprocess.run([ROOT / "scripts" / "newcomer", suite], check=False, capture_output=True)
    assert done.returncode == 0, done.stdout.decode()
