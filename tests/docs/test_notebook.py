"""docs/python.md as a notebook: run by nbconvert, each cell shows what the page has."""

from __future__ import annotations

import doctest
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any, Final

import pytest
from harness import ROOT

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.build, pytest.mark.slow]

FLAGS: Final = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
SHOWN: Final = "mdbench.load('results')"
RUN: Final = "mdbench.run('linear', 'ode', dataset='rc-circuit', result_dir='bar', n_jobs=1)"


def cell(source: str) -> dict[str, Any]:
    tags = {"tags": ["raises-exception"]}
    made = {"cell_type": "code", "metadata": tags, "source": source, "outputs": []}
    return made | {"execution_count": None, "id": f"c{abs(hash(source)):x}"[:60]}


def printed(outputs: list[dict[str, Any]]) -> str:
    """Return what a cell shows as text, as an interpreter would."""
    texts = []
    for output in outputs:
        match output["output_type"]:
            case "stream":
                texts.append("".join(output["text"]))
            case "display_data":
                assert "<progress" in "".join(output["data"]["text/html"])
            case "execute_result":
                texts.append("".join(output["data"]["text/plain"]) + "\n")
            case "error":
                texts.append(f"{output['ename']}: {output['evalue']}\n")
    return "".join(texts)


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    folder: Path = tmp_path_factory.mktemp("notebook")
    text = (ROOT / "docs" / "python.md").read_text(encoding="utf-8").replace("```", "")
    examples = doctest.DocTestParser().get_examples(text)
    notebook = {
        "cells": [cell(source) for source in [*(each.source for each in examples), SHOWN, RUN]],
        "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    (folder / "page.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    own = {"MDBENCH_ROOT": str(ROOT), "MDBENCH_HOME": str(folder / "home")}
    own |= {"MDBENCH_RUNTIME": "venv", "IPYTHONDIR": str(folder), "JUPYTER_NO_CONFIG": "1"}
    variables = {name: value for name, value in os.environ.items() if "PYTEST" not in name} | own
    ready = [sys.executable, "-m", "mdbench", "install", "--runtime", "venv", "sindy"]
    subprocess.run(ready, cwd=folder, env=variables, check=True, capture_output=True)
    convert = ["-m", "nbconvert", "--to", "notebook", "--execute", "--output", "run.ipynb"]
    done = subprocess.run(
        [sys.executable, *convert, "page.ipynb"],
        cwd=folder,
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    ran = json.loads((folder / "run.ipynb").read_text(encoding="utf-8"))["cells"]
    for one, example in zip(ran, examples, strict=False):
        one["example"] = example
    return list(ran)


def test_each_cell_shows_what_the_page_has(cells: list[dict[str, Any]]) -> None:
    wrong = []
    for one in cells[:-2]:
        wanted = one["example"].want
        if "Traceback" in wanted:
            wanted = wanted.partition("\n")[2].partition("eqverdict.errors.")[2]
        found = printed(one["outputs"])
        if not doctest.OutputChecker().check_output(
            wanted.replace("<BLANKLINE>", ""), found, FLAGS
        ):
            wrong.append(f"{one['example'].source}shows\n{found}and the page has\n{wanted}")
    assert not wrong, "\n".join(wrong)


def test_a_result_is_a_small_table_and_a_run_shows_a_bar(cells: list[dict[str, Any]]) -> None:
    (shown,) = cells[-2]["outputs"]
    page = "".join(shown["data"]["text/html"])
    assert page.count("<tr") >= 8
    assert page.count("<th") < 30
    *bar, table = cells[-1]["outputs"]
    assert "1 of 1" in "".join(bar[0]["data"]["text/html"])
    assert "text/html" in table["data"]


def test_an_error_has_two_lines(cells: list[dict[str, Any]]) -> None:
    errors = [out for one in cells for out in one["outputs"] if out["output_type"] == "error"]
    assert errors
    for error in errors:
        assert len(error["traceback"]) <= 2, error["traceback"]
