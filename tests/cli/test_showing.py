"""The answers to take home: as text, as code that runs, and integrated from another start."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import sympy
from harness import add_method

from mdbench.cli import main

if TYPE_CHECKING:
    from mdbench.workspace import Workspace

Output = pytest.CaptureFixture[str]
T = np.linspace(0, 8, 80)

SPRING = """
import numpy as np

class Adapter:
    def __init__(self, *, seed, threads): ...
    def fit(self, problem):
        self.problem = problem
    def predict(self, problem):
        return np.stack([problem.X[:, 1], {wind} - {k!r}*problem.X[:, 0]], axis=1)
    def equations(self):
        return ["u1", "{text}"]
"""


def spring(k: float, *, driven: bool = False) -> str:
    text = f"v0 - {k!r}*u0" if driven else f"-{k!r}*u0"
    return SPRING.format(k=k, text=text, wind="problem.X[:, 2]" if driven else "0.0")


@pytest.fixture
def workspace(command_line: Workspace) -> Workspace:
    return command_line


@pytest.fixture
def results(workspace: Workspace, capsys: Output) -> None:
    rows = ["t,place [cm],speed"]
    rows += [f"{t!r},{float(np.cos(t))!r},{float(-np.sin(t))!r}" for t in T.tolist()]
    Path("weight.csv").write_text("\n".join(rows) + "\n")
    add_method(workspace, "near", spring(1.0000001234567))
    add_method(workspace, "far", spring(1.5))
    line = ["--data-type", "ode", "--dataset-path", "weight.csv", "--algorithm", "near", "far"]
    assert main(["run", *line]) == 0
    capsys.readouterr()


@pytest.mark.usefixtures("results")
def test_the_best_answer_is_shown_in_the_users_words(capsys: Output) -> None:
    assert main(["show"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("weight: near, NMSE ")
    assert "dplace/dt = speed\ndspeed/dt = -place\n" in out
    assert "far" not in out
    assert main(["show", "weight", "--all", "--digits", "9"]) == 0
    out = capsys.readouterr().out
    assert "dspeed/dt = -1.00000012*place" in out
    assert "dspeed/dt = -1.5*place" in out
    assert main(["show", "results", "--algorithm", "far"]) == 0
    assert capsys.readouterr().out.startswith("weight: far")


@pytest.mark.usefixtures("results")
def test_code_runs_as_it_is_printed(capsys: Output) -> None:
    assert main(["show", "--as", "python"]) == 0
    scope: dict[str, Any] = {}
    exec(capsys.readouterr().out, scope)
    assert scope["equations"](2.0, 3.0) == (3.0, -2 * 1.0000001234567)
    assert main(["show", "--as", "sympy"]) == 0
    scope = {}
    exec(capsys.readouterr().out, scope)
    slope = scope["speed_t"].diff(sympy.Symbol("place", real=True))
    assert float(slope) == pytest.approx(-1.0000001234567, rel=1e-14)
    for language, words in {
        "julia": ["function equations(place, speed)", "return place_t, speed_t\nend"],
        "c": ["#include <math.h>", "result[1] = -1.0000001234567*place;  /* speed_t */"],
        "latex": [r"\frac{\mathrm{d} \mathrm{place}}{\mathrm{d} t} &= \mathrm{speed} \\"],
    }.items():
        assert main(["show", "--as", language]) == 0
        out = capsys.readouterr().out
        assert all(word in out for word in words), out


@pytest.mark.usefixtures("results")
def test_a_found_system_is_integrated_from_another_start(capsys: Output) -> None:
    line = ["predict", "--start", "speed=2, place=0", "--until", "3", "--points", "7"]
    line += ["-o", "prediction.csv"]
    assert main(line) == 0
    assert "7 rows by near's equations in prediction.csv" in capsys.readouterr().out
    with Path("prediction.csv").open() as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["t", "place", "speed"]
    t, place, speed = np.array(rows[1:], dtype=float).T
    np.testing.assert_allclose(t, np.linspace(0, 3, 7))
    np.testing.assert_allclose(place, 2 * np.sin(t), atol=1e-3)
    np.testing.assert_allclose(speed, 2 * np.cos(t), atol=1e-3)


@pytest.mark.extension("laboratory")
@pytest.mark.usefixtures("results")
def test_rivals_of_an_answer_are_shown_in_the_users_words(capsys: Output) -> None:
    assert main(["lab", "rivals", "--seconds", "0"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("weight: near, NMSE ")
    words = " ".join(out.split())
    assert "dplace/dt = 1 ± " in words
    assert "dspeed/dt = -1 ± " in words
    assert "not decided for want of time" in out
    assert "is as likely" not in out
    assert "u0" not in out
    assert main(["lab", "rivals", "weight", "--algorithm", "near", "--seconds", "0", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert [term["text"] for term in found["terms"]] == ["u1", "u0"]
    assert all(term["error"] < 1e-4 for term in found["terms"])
    assert found["method"] == "near"
    assert found["left"] > 0


@pytest.mark.extension("laboratory")
@pytest.mark.usefixtures("results")
def test_rivals_are_shown_from_any_folder(capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    results = Path("results").resolve()
    elsewhere = Path("a") / "b"
    elsewhere.mkdir(parents=True)
    monkeypatch.chdir(elsewhere)
    for place in (results, os.path.relpath(results)):
        assert main(["lab", "rivals", str(place), "--seconds", "0"]) == 0
        assert "dplace/dt = 1 ± " in " ".join(capsys.readouterr().out.split())
    (results.parent / "weight.csv").unlink()
    assert main(["lab", "rivals", str(results), "--seconds", "0"]) == 2
    assert "weight.csv" in capsys.readouterr().err


@pytest.mark.extension("laboratory")
@pytest.mark.usefixtures("results")
def test_rivals_are_refused_where_the_data_have_changed(capsys: Output) -> None:
    file = Path("weight.csv")
    file.write_text(file.read_text().replace("1.0,", "1.01,", 1))
    assert main(["lab", "rivals"]) == 2
    assert "Run the method again." in capsys.readouterr().err
    assert main(["lab", "rivals", "wait"]) == 2
    assert "Did you mean weight?" in capsys.readouterr().err


MISSING = [
    (["show", "wait"], "Did you mean weight?"),
    (["show", "--as", "jullia"], "Did you mean julia?"),
    (["show", "nowhere", "--results", "nowhere"], "no folder nowhere"),
    (["show", "--algorithm", "nar"], "near"),
    (["predict"], "predict got no last time"),
    (["predict", "--until", "3"], "--start place=1.0,speed=1.0"),
    (["predict", "--until", "-3"], "a positive number"),
    (["predict", "--until", "3", "--start", "place=1"], "speed is missing"),
    (["predict", "--until", "3", "--start", "place=1,sped=2"], "Did you mean speed?"),
    (["predict", "--until", "3", "--start", "place=1,speed=two"], "speed is 'two'"),
    (["predict", "--until", "3", "--given", "weight.csv"], "Give one of them"),
    (["predict", "--given", "none.csv", "--start", "place=1,speed=2"], "cannot be read"),
]


@pytest.mark.usefixtures("results")
def test_what_is_missing_is_said(capsys: Output) -> None:
    for words, message in MISSING:
        assert main(words) == 2
        assert message in capsys.readouterr().err


def test_inputs_are_given_for_a_prediction(workspace: Workspace, capsys: Output) -> None:
    rows = ["t,wind,place,speed"]
    wind = 1 + T / 8
    place, speed = wind - np.cos(T) - np.sin(T) / 8, 1 / 8 + np.sin(T) - np.cos(T) / 8
    columns = np.stack([T, wind, place, speed], axis=1)
    rows += [",".join(map(repr, row)) for row in columns.tolist()]
    Path("sail.csv").write_text("\n".join(rows) + "\n")
    add_method(workspace, "sail", spring(1.0, driven=True))
    line = ["--data-type", "ode", "--dataset-path", "sail.csv", "--algorithm", "sail"]
    assert main(["run", *line, "--inputs", "wind"]) == 0
    assert main(["predict", "--start", "place=0,speed=0", "--until", "2"]) == 2
    assert "--given FILE" in capsys.readouterr().err
    Path("wind.csv").write_text("time;wind\n0;2,0\n1;2,0\n2;2,0\n")
    assert main(["predict", "--start", "place=0,speed=0", "--given", "wind.csv"]) == 0
    last = capsys.readouterr().out.splitlines()[-1].split(",")
    assert float(last[1]) == pytest.approx(2 * (1 - np.cos(2.0)), abs=1e-3)


CUBE = """
class Adapter:
    def __init__(self, *, seed, threads): ...
    def fit(self, problem): ...
    def predict(self, problem):
        return -0.5*problem.X[:, :1] + 0.8*problem.X[:, 1:]**3
    def equations(self):
        return ["-0.5*u0 + 0.8*v0**3"]
"""


def test_of_a_column_of_two_values_other_values_are_warned_of(
    workspace: Workspace, capsys: Output
) -> None:
    fan = (T // 2) % 2
    flow = [0.0]
    for k in range(len(T) - 1):
        rest = 1.6 * float(fan[k])
        flow.append(rest + (flow[-1] - rest) * float(np.exp(-0.5 * (T[k + 1] - T[k]))))
    rows = [f"{t!r},{x!r},7,{v!r}" for t, x, v in zip(T.tolist(), flow, fan.tolist(), strict=True)]
    Path("fan.csv").write_text("\n".join(["t,flow,year,fan", *rows]) + "\n")
    add_method(workspace, "cube", CUBE)
    line = ["--data-type", "ode", "--dataset-path", "fan.csv", "--algorithm", "cube"]
    assert main(["run", *line, "--inputs", "fan", "--hold", "zero"]) == 0
    said = capsys.readouterr().out
    assert "year: 7 in all rows, and left out" in said
    assert "fan: 2 values (0, 1)" in said
    assert main(["show"]) == 0
    shown = capsys.readouterr().out
    assert "dflow/dt = -0.5*flow + 0.8*fan\n" in shown
    assert "as the method printed it: flow_t: -0.5*flow + 0.8*fan**3" in shown
    assert "the solution from the first sample stays with the data" in shown
    for value, warned in ((1, False), (2, True), (0.5, True)):
        Path("given.csv").write_text(f"t,fan\n0,0\n1,{value}\n9,{value}\n")
        assert main(["predict", "--start", "flow=0", "--given", "given.csv"]) == 0
        told = capsys.readouterr()
        assert ("what it does there is not known" in told.err) == warned
        assert told.out.startswith("t,flow\n")  # what is printed is the table alone


def test_an_answer_that_explains_only_the_end_is_marked(
    workspace: Workspace, capsys: Output
) -> None:
    level = np.exp(-0.4 * T) - np.exp(-3 * T)
    rows = [f"{t!r},{x!r}" for t, x in zip(T.tolist(), level.tolist(), strict=True)]
    Path("level.csv").write_text("\n".join(["t,level", *rows]) + "\n")
    late = CUBE.replace("0.8*problem.X[:, 1:]**3", "0.1*problem.X").replace("0.8*v0**3", "0.1*u0")
    add_method(workspace, "late", late)
    line = ["--data-type", "ode", "--dataset-path", "level.csv", "--algorithm", "late"]
    assert main(["run", *line]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "⚠ at NMSE: explains only a part of the data" in said
    assert main(["show"]) == 0
    shown = capsys.readouterr().out
    assert "(explains only a part of the data)" in shown
    assert "⚠ level_t explains nothing of what changes in all samples" in shown
    assert "leaves the data at t = " in shown
    assert main(["report"]) == 0
    assert "explains nothing of what changes" in Path("report.html").read_text()


def test_a_state_that_grows_without_end_is_reported(workspace: Workspace, capsys: Output) -> None:
    Path("grow.csv").write_text("t,x\n" + "".join(f"{t!r},{1 / (10 - t)!r}\n" for t in T.tolist()))
    add_method(workspace, "square", SQUARE)
    line = ["--data-type", "ode", "--dataset-path", "grow.csv", "--algorithm", "square"]
    assert main(["run", *line]) == 0
    assert (
        main(
            [
                "predict",
                "--start",
                "x=1",
                "--until",
                "3",
                "--points",
                "31",
                "--output=prediction.csv",
            ]
        )
        == 0
    )
    assert "It stopped early at t = " in capsys.readouterr().out
    assert len(Path("prediction.csv").read_text().splitlines()) < 20


SQUARE = """
class Adapter:
    def __init__(self, *, seed, threads): ...
    def fit(self, problem): ...
    def predict(self, problem):
        return problem.X**2
    def equations(self):
        return ["u0**2"]
"""


@pytest.mark.usefixtures("results")
def test_leaderboards_methods_and_runtimes_are_given_as_json(capsys: Output) -> None:
    assert main(["report", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    board = told["data_types"]["ode"]
    assert (told["results"], board["primary"]) == (2, "nmse")
    assert [row["method"] for row in board["rows"]] == ["near", "far"]
    assert board["rows"][0]["values"]["nmse"]["value"] < board["rows"][1]["values"]["nmse"]["value"]
    assert not Path("report.html").exists()
    assert main(["list", "--json", "--data-type", "ode"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert {one["name"]: one["broken"] for one in told["methods"]} == {"near": None, "far": None}
    assert len(told["data_types"][0]["datasets"]) == 63
    assert main(["check", "near", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["findings"][0] == {
        "point": "method.toml is valid",
        "passed": True,
        "explanation": "",
        "note": "",
    }
    assert told["keeps"] is False
    assert main(["probe", "--json"]) == 0
    runtimes = [row["runtime"] for row in json.loads(capsys.readouterr().out)["runtimes"]]
    assert runtimes[:2] == ["venv", "docker"]
    assert {*runtimes[2:]} <= {"podman", "apptainer"}
