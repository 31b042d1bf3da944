"""What a new method can begin with: each start keeps the contract, and can be ranked."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest
from harness import METHOD, ROOT, HereRuntime

from mdbench import methods
from mdbench.authoring import STARTS, make_method
from mdbench.authoring.check import Finding, check_method
from mdbench.cli import main

if TYPE_CHECKING:
    from pathlib import Path

    from mdbench.workspace import Workspace


@pytest.mark.parametrize("start", ["front", "trajectory"])
def test_a_start_keeps_the_contract_without_a_warning(workspace: Workspace, start: str) -> None:
    folder = make_method("mine", workspace.algorithms, start)
    assert not [file for file in folder.iterdir() if "@NAME@" in file.read_text("utf-8")]
    findings = list(check_method("mine", workspace, HereRuntime()))
    assert [finding for finding in findings if not finding.passed or finding.note] == []
    (within,) = [finding.point for finding in findings if "2 reference seconds" in finding.point]
    assert within.endswith("2 of 2 problems have an answer")


def test_a_program_begins_with_the_example_in_c_under_its_own_name(workspace: Workspace) -> None:
    folder = make_method("mine", workspace.algorithms, "program")
    example = ROOT / "examples" / "methods" / "linear_c"
    assert {file.name for file in folder.iterdir()} == {file.name for file in example.iterdir()}
    assert not [file for file in folder.iterdir() if "linear_c" in file.read_text("utf-8")]
    spec = methods.find("mine", workspace.algorithms).spec
    assert (spec.name, spec.program) == ("mine", ("linear_fit",))


def test_one_start_can_be_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "mine", "--front", "--scikit-learn"]) == 2
    assert "--front and --scikit-learn were given" in capsys.readouterr().err
    assert {"", "front", "trajectory", "program", "scikit_learn", "torch"} == {*STARTS}


CARELESS = f"""\
#!{sys.executable}
import json, sys
import numpy as np

order = json.load(open("job.json"))

def send(type_, **content):
    print(json.dumps({{"type": type_, "job": order["job"], **content}}), flush=FLUSH)

with np.errstate(invalid="ignore"):
    mean = np.nan_to_num(np.load("train.npz")["Y"].mean(axis=0))
send("fitted", seconds=0, stopped_early=False, evaluations=None, failed=0, failure="")
for line in sys.stdin:
    if json.loads(line)["type"] == "describe":
        send("described", equations=[f"{{each:DIGITS}}" for each in mean])
    else:
        rows = len(np.load("test.npz")["X"])
        np.save("predictions.npy", np.tile(mean, (rows, 1)))
        send("predicted", predictions="predictions.npy", seconds=0)
        break
"""
"""A program that takes data with NaN, and hyperparameters that there are not."""


def careless(workspace: Workspace, flush: str, digits: str, seconds: float) -> list[Finding]:
    folder = workspace.algorithms / "guest"
    folder.mkdir()
    toml = METHOD.format(name="guest", tuning="none", more='program = ["./answer"]')
    (folder / "method.toml").write_text(toml, encoding="utf-8")
    for file in ("requirements.in", "requirements.lock"):
        (folder / file).write_text("# nothing\n", encoding="utf-8")
    text = dedent(CARELESS).replace("FLUSH", flush).replace("DIGITS", digits)
    (folder / "answer").write_text(text, encoding="utf-8")
    (folder / "answer").chmod(0o755)
    findings = check_method("guest", workspace, HereRuntime(), lambda _: None, seconds=seconds)
    return [finding for finding in findings if not finding.passed]


def test_advice_for_a_program_is_not_python_s(workspace: Workspace) -> None:
    broken = careless(workspace, "True", ".17g", 20.0)
    assert {finding.point for finding in broken} == {
        "ode: data with NaN are refused",
        "ode: an unknown hyperparameter is refused",
    }
    for finding in broken:
        assert 'send {"type":"failed"' in finding.explanation
        assert not re.search("__init__|raise|Unsupported", finding.explanation)


def test_few_digits_of_a_program(workspace: Workspace) -> None:
    broken = careless(workspace, "True", ".3g", 20.0)
    (mismatch, *_) = [finding for finding in broken if "mismatch" in finding.point]
    assert "all their digits (%.17g)" in mismatch.explanation


def test_a_program_that_does_not_flush_is_not_told_to_take_more_time_alone(
    workspace: Workspace,
) -> None:
    broken = careless(workspace, "False", ".17g", 1.0)
    assert broken
    for finding in broken:
        assert "timeout" in finding.explanation
        assert "fflush(stdout)" in finding.explanation


def test_what_is_printed_of_a_program_is_not_python_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MDBENCH_METHODS", str(tmp_path))
    assert main(["new", "compiled", "--program"]) == 0
    printed = capsys.readouterr().out
    assert "What compiles it is" in printed
    assert not re.search("requirements|adapter", printed)
    assert main(["new", "plain"]) == 0
    assert f"Name its packages in {tmp_path}/plain/requirements.in" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.build
@pytest.mark.parametrize("start", ["front", "trajectory", "program"])
def test_an_author_s_afternoon(tmp_path: Path, start: str) -> None:
    """From nothing to a rank, as docs/adding-a-method.md has it typed."""
    if start == "program" and shutil.which("cc") is None:
        pytest.skip("no C compiler (cc)")
    environment = {**os.environ, "MDBENCH_METHODS": str(tmp_path / "methods"), "COLUMNS": "160"}
    environment |= {"PYTHONPATH": str(ROOT), "DOCKER_HOST": "unix:///nonexistent"}

    def typed(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "mdbench", *words],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    (tmp_path / "methods").mkdir()
    assert "a method that can be run as it is" in typed("new", "mine", f"--{start}")
    said = typed("check", "mine")
    assert "mine keeps its contract." in said
    assert "How good is it?" in said
    assert "--algorithm mine --data-type ode --work 2, then mdbench place mine" in said
    systems = "rc-circuit,harmonic-oscillator"
    data = ("--data-type", "ode", "--dataset", systems, "--snr", "clean")
    typed("run", "--algorithm", "mine", *data, "--work", "2")
    rank = r"ode, work 2.0 s, strict, clean: rank \d+ of \d+, \d of 2"
    assert re.search(rank, typed("place", "mine"))
    assert "clean: rank" in typed("check", "mine")
