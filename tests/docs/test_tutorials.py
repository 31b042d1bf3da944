"""The tutorials, followed to the letter in a clean folder."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import newcomer
import pytest
from harness import ROOT, copy_of_clone
from newcomer import shown_as

if TYPE_CHECKING:
    from pathlib import Path

    from newcomer import Step

pytestmark = [pytest.mark.build, pytest.mark.slow]

TUTORIALS = ("tutorial-data.md", "tutorial-method.md", "tutorial-package.md", "tutorial-paper.md")
TYPED = (*TUTORIALS, "sharing.md")
SET_UP = """\
#!/bin/sh
# Plays an interpreter: the environment that it makes is the one that the tests run in, which is
# made from the same locks; tests/scripts/test_first_run.py makes one from nothing.
case $1 in -c) exec '{python}' "$@" ;; esac
root=$(dirname "$1")/..
mkdir -p "$root/$2/bin"
for name in python mdbench; do
    {{
        echo '#!/bin/sh'
        echo "export PYTHONPATH='$root'"
        [ $name = python ] && echo "exec '{python}' \\"\\$@\\"" ||
            echo "exec '{python}' -m mdbench \\"\\$@\\""
    }} >"$root/$2/bin/$name"
    chmod +x "$root/$2/bin/$name"
done
printf %s "$4" >"$root/$2/.mdbench-stamp"
"""


def steps(page: str) -> list[Step]:
    return newcomer.steps((ROOT / "docs" / page).read_text(encoding="utf-8"))


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    root = copy_of_clone(tmp_path / "mdbench", compiled=True)
    python = tmp_path / "python3"
    python.write_text(SET_UP.format(python=sys.executable), encoding="utf-8")
    python.chmod(0o755)
    return root


@pytest.mark.parametrize("page", TYPED)
def test_a_page_states_what_is_printed(page: str, clone: Path) -> None:
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("MDBENCH_", "PYTEST_"))
    }
    own = {"MDBENCH_PYTHON": str(clone.parent / "python3"), "COLUMNS": "120"}
    own["DOCKER_HOST"] = "unix:///nonexistent"  # images take a minute; test_isolation makes one
    for step in steps(page):
        if page not in TUTORIALS and step.shown is None:
            continue  # a line of a reference, which has nothing to show
        if step.name:
            (clone / step.name).write_text(step.text, encoding="utf-8")
            continue
        command, shown = step.text, step.shown
        done = subprocess.run(
            ["sh", "-c", f"{command} 2>&1"],
            cwd=clone / step.folder,
            env=kept | own,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}"
        assert shown is not None
        assert shown_as(done.stdout, shown), f"{command}\nprints\n{done.stdout}\nnot\n{shown}"


def test_a_scientist_has_an_equation_in_three_commands() -> None:
    found = steps("tutorial-data.md")
    commands = [step.text for step in found]
    first = next(i for i, step in enumerate(found) if "dFleas/dt = " in (step.shown or ""))
    assert (
        len([text for text in commands[: first + 1] if "mdbench" in text or "run.sh" in text]) <= 3
    )


@pytest.mark.parametrize(
    ("printed", "shown", "same"),
    [
        ("a\nb\nc\n", "a\n...\nc\n", True),
        ("a\nc\n", "a\n...\nc\n", True),
        ("b\nc\n", "...\nc\n", True),
        ("c\n", "...\nc\n", True),
        ("a\nb\n", "b\n", False),
        ("a\nb\n", "a\n", False),
        ("a\nb\n", "a\n...\n", True),
        ("a\n", "a\n...\n", True),
        ("ok 1.5 s\n", "ok 20 ms\n", True),
        ("ok 1.5 \n", "ok 1.6\n", False),
        ("a  1.0 b\n", "a 1.0 ...\n", True),
        ("abc\n", "bc\n", False),
    ],
)
def test_what_is_shown_is_compared(printed: str, shown: str, same: bool) -> None:
    assert shown_as(printed, shown) is same
