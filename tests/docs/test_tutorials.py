"""The tutorials, followed to the letter in a clean folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

import pytest
from harness import ROOT, copy_of_clone

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.build, pytest.mark.slow]

TUTORIALS = ("tutorial-data.md", "tutorial-method.md", "tutorial-paper.md")
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
NAMED = re.compile(r"`([\w./-]+)`:\s*\Z")
"""The last thing said before a file's text."""
TIME = re.compile(r"(?<![\w.])[\d.]+ (?:s|ms|min)\b")

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


class Step(NamedTuple):
    """A file to write (`name`), or a command to run and what it prints."""

    name: str
    text: str


def steps(page: str) -> list[Step]:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    found = []
    for fence in FENCE.finditer(text):
        if fence[1] == "console":
            found += [
                Step("", one) for one in re.split(r"^(?=\$ )", fence[2], flags=re.MULTILINE) if one
            ]
        else:
            named = NAMED.search(text[: fence.start()])
            assert named, f"{page}: which file is this?\n{fence[2]}"
            found.append(Step(named[1], fence[2]))
    return found


def shown_as(printed: str, shown: str) -> bool:
    """Tell whether a page shows what was printed: ``...`` is anything, times are any times."""

    def plain(text: str) -> list[str]:
        lines = (" ".join(TIME.sub("TIME", line).split()) for line in text.splitlines())
        return [line for line in lines if line]

    pattern = "".join(
        r"(?:[^\n]*\n)*" if line == "..." else re.escape(line).replace(r"\.\.\.", r"[^\n]*") + r"\n"
        for line in plain(shown)
    )
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in plain(printed))) is not None


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    root = copy_of_clone(tmp_path / "mdbench")
    python = tmp_path / "python3"
    python.write_text(SET_UP.format(python=sys.executable), encoding="utf-8")
    python.chmod(0o755)
    return root


@pytest.mark.parametrize("page", TUTORIALS)
def test_a_tutorial_states_what_is_printed(page: str, clone: Path) -> None:
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("MDBENCH_", "PYTEST_"))
    }
    own = {"MDBENCH_PYTHON": str(clone.parent / "python3"), "COLUMNS": "120"}
    own["DOCKER_HOST"] = "unix:///nonexistent"  # images take a minute; test_isolation makes one
    for step in steps(page):
        if step.name:
            (clone / step.name).write_text(step.text, encoding="utf-8")
            continue
        command, _, shown = step.text.removeprefix("$ ").partition("\n")
        done = subprocess.run(
            ["sh", "-c", f"{command} 2>&1"],
            cwd=clone,
            env=kept | own,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}"
        assert shown_as(done.stdout, shown), f"{command}\nprints\n{done.stdout}\nnot\n{shown}"


def test_a_scientist_has_an_equation_in_three_commands() -> None:
    commands = [step.text for step in steps("tutorial-data.md")]
    first = next(i for i, text in enumerate(commands) if "dFleas/dt = " in text)
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
