from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from harness import add_method

from mdbench.cli import main

if TYPE_CHECKING:
    from mdbench.workspace import Workspace

CONSTANT = """
import numpy as np

class Adapter:
    def __init__(self, *, seed, threads):
        self.value = {value}
    def fit(self, p): ...
    def predict(self, p):
        return np.full((len(p.X), 1), self.value)
    def equations(self):
        return [repr(float(self.value))]
"""


MEAN = """
import numpy as np

class Adapter:
    def __init__(self, *, seed, threads): ...
    def fit(self, p):
        self.value = float(p.Y.mean())
    def predict(self, p):
        return np.full((len(p.X), 1), self.value)
    def equations(self):
        return [repr(self.value)]
"""


@pytest.fixture
def workspace(command_line: Workspace) -> Workspace:
    return command_line


def run(*more: str) -> None:
    line = ["--algorithm", "m", "--data-type", "ode", "--dataset", "rc-circuit", "autocatalysis"]
    assert main(["run", *line, *more]) == 0


def last_lines(capsys: pytest.CaptureFixture[str], code: int, *more: str) -> str:
    capsys.readouterr()
    assert main(["reproduce", "results/m-ode.jsonl", *more]) == code
    return capsys.readouterr().out


def test_the_same_again(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    add_method(workspace, "m", CONSTANT.format(value="seed"))
    run("--with-noise", "--seeds", "0,3", "--timeout", "9")
    text = last_lines(capsys, 0)
    assert "20 of 20 records reproduced." in text
    assert "another" not in text


def test_another_result_is_shown(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    folder = add_method(workspace, "m", CONSTANT.format(value="0.5"))
    run()
    (folder / "adapter.py").write_text(CONSTANT.format(value="0.25"), encoding="utf-8")
    text = last_lines(capsys, 1, "--dataset", "rc-circuit")
    assert "rc-circuit · clean · seed 0  another result" in text
    assert "equations: ['0.5'] -> ['0.25']" in text
    assert re.search(r"made with another: key, key_parts", text)
    assert "0 of 1 record reproduced." in text


def test_another_environment_with_the_same_result(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = add_method(workspace, "m", CONSTANT.format(value="0.5"))
    run()
    (folder / "requirements.lock").write_text("# newer\n", encoding="utf-8")
    text = last_lines(capsys, 0)
    assert "2 of 2 records reproduced." in text
    assert "made with another: key, key_parts, provenance" in text


def test_nothing_to_reproduce(capsys: pytest.CaptureFixture[str], workspace: Workspace) -> None:
    add_method(workspace, "m", CONSTANT.format(value="0.5"))
    run()
    for arguments, words in (
        (["nowhere.jsonl"], "There is no results file nowhere.jsonl"),
        (["results/m-ode.jsonl", "--dataset", "glider"], "'glider' matches none"),
    ):
        assert main(["reproduce", *arguments]) == 2
        assert words in capsys.readouterr().err


def test_variant_and_rows_are_those_of_the_record(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = add_method(workspace, "m", MEAN)
    toml = folder / "method.toml"
    toml.write_text(toml.read_text(encoding="utf-8").replace('["ode"]', '["pde"]'), "utf-8")
    line = ["run", "--algorithm", "m", "--data-type", "pde", "--dataset", "advection_diffusion_2d"]
    for more in ([], ["--variant", "released"], ["--max-rows", "40"]):
        assert main([*line, *more]) == 0
    lines = Path("results/m-pde.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(text) for text in lines]
    assert len({record["equations"][0] for record in records}) == 3
    capsys.readouterr()
    assert main(["reproduce", "results/m-pde.jsonl"]) == 0
    assert "3 of 3 records reproduced." in capsys.readouterr().out
    assert main([*line, "--max-rows", "none"]) == 2
    assert "--max-rows is 'none'" in capsys.readouterr().err
