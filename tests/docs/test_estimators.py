"""The page and the notebook of estimators: run, they show what they have."""

from __future__ import annotations

import doctest
import json
import os
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from harness import ROOT, copy_of_clone

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.build, pytest.mark.slow, pytest.mark.extension("estimators")]
METHODS = ("linear", "sindy", "pdefind")


@pytest.fixture(scope="module")
def variables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("estimators")
    own = {"MDBENCH_ROOT": str(ROOT), "MDBENCH_HOME": str(folder / "home"), "PYTHONPATH": str(ROOT)}
    own |= {"MDBENCH_RUNTIME": "venv", "IPYTHONDIR": str(folder), "JUPYTER_NO_CONFIG": "1"}
    made = {name: value for name, value in os.environ.items() if "PYTEST" not in name} | own
    ready = [sys.executable, "-m", "mdbench", "install", "--runtime", "venv", *METHODS]
    subprocess.run(ready, cwd=folder, env=made, check=True, capture_output=True)
    return made


def test_the_page_shows_what_is_printed(variables: dict[str, str], tmp_path: Path) -> None:
    page = (ROOT / "docs" / "estimators.md").read_text(encoding="utf-8").replace("```", "")
    (tmp_path / "page.txt").write_text(page, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "doctest", "-o", "NORMALIZE_WHITESPACE", "page.txt"],
        cwd=tmp_path,
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert len(doctest.DocTestParser().get_examples(page)) > 12
    assert done.returncode == 0, done.stdout


def shown(cell: dict[str, Any]) -> str:
    """Return what a cell shows as text, but for bars."""
    texts = []
    for output in cell["outputs"]:
        if output["output_type"] == "stream":
            texts.append("".join(output["text"]))
        elif output["output_type"] == "execute_result":
            texts.append("".join(output["data"]["text/plain"]))
    return "\n".join(texts).strip()


def test_the_notebook_shows_what_it_has(variables: dict[str, str], tmp_path: Path) -> None:
    path = ROOT / "examples" / "estimators.ipynb"
    convert = ["-m", "nbconvert", "--to", "notebook", "--execute", "--output", "run.ipynb"]
    done = subprocess.run(
        [sys.executable, *convert, "--output-dir", str(tmp_path), str(path)],
        cwd=tmp_path,
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    before = json.loads(path.read_text(encoding="utf-8"))["cells"]
    after = json.loads((tmp_path / "run.ipynb").read_text(encoding="utf-8"))["cells"]
    codes = [k for k, cell in enumerate(before) if cell["cell_type"] == "code"]
    assert len(codes) > 7
    for k in codes:
        assert shown(after[k]) == shown(before[k]), "".join(before[k]["source"])
    pictures = [cell for cell in after if "<svg" in json.dumps(cell.get("outputs", []))]
    assert len(pictures) == 2


def test_each_command_for_assistants_runs(tmp_path: Path, variables: dict[str, str]) -> None:
    clone = copy_of_clone(tmp_path / "mdbench", compiled=True)
    text = (ROOT / "docs" / "faq.md").read_text(encoding="utf-8")
    block = text.partition("```shell\n")[2].partition("```")[0]
    commands = [line.partition("#")[0].strip() for line in block.splitlines()]
    assert len(commands) == 10
    ours = f"{shlex.quote(sys.executable)} -m mdbench"
    run = {**variables, "MDBENCH_ROOT": str(clone), "PYTHONPATH": str(clone)}
    for command in commands:
        line = command.replace(".venv/bin/mdbench", ours).replace("./run.sh", f"{ours} run")
        done = subprocess.run(
            ["sh", "-c", line], cwd=clone, env=run, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        assert done.stdout.strip(), command
