"""What ``mdbench score`` prints."""

from __future__ import annotations

import json
import re

import pytest

from mdbench.cli import main

Output = pytest.CaptureFixture[str]


def scored(capsys: Output, *arguments: str) -> dict[str, str]:
    """Give the rows that are printed, by their names."""
    assert main(["score", *arguments]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    rows = [re.split(r" {2,}", line.strip(), maxsplit=1) for line in captured.out.splitlines()]
    return {row[0]: row[1] for row in rows if len(row) == 2}


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


def test_all_measures_are_shown(capsys: Output) -> None:
    rows = scored(capsys, "m*r*v*sin(theta)", "2*m*r*v*sin(theta)")
    assert rows["normalized edit distance"].split(maxsplit=1) == [
        "0.167",
        "1 edits, 6 nodes in the truth",
    ]
    assert rows["symbolic solution"].split(maxsplit=1) == ["yes", "constant ratio"]
    assert rows["SRBench's solution"].split(maxsplit=1) == ["yes", "constant ratio"]
    assert rows["complexity"].split(maxsplit=1) == ["7", "truth 6"]
    assert rows["simplified complexity"].split(maxsplit=1) == ["7", "truth 6"]


def test_columns_may_be_more_than_the_truth_has(capsys: Output) -> None:
    rows = scored(capsys, "x0", "x0 + x1")
    assert "unknown name 'x1'" in rows["symbolic solution"]
    rows = scored(capsys, "x0", "x0 + x1", "--columns", "x0,x1")
    assert rows["normalized edit distance"].startswith("1.000")
    assert rows["complexity"].startswith("3")


def test_columns_are_positive_unless_told_otherwise(capsys: Output) -> None:
    assert scored(capsys, "abs(a)", "a")["symbolic solution"].startswith("yes")
    rows = scored(capsys, "abs(a)", "a", "--any-sign", "a")
    assert rows["symbolic solution"].startswith("no")


def test_a_prediction_may_begin_with_a_sign(capsys: Output) -> None:
    rows = scored(capsys, "1e-3*x0", "-x0")
    assert rows["symbolic solution"].startswith("yes")


def test_r2_is_for_srbenchs_rule(capsys: Output) -> None:
    rows = scored(capsys, "x0", "x0", "--r2", "0.4")
    assert rows["symbolic solution"].startswith("yes")
    assert rows["SRBench's solution"].startswith("no")


@pytest.mark.parametrize(
    ("prediction", "reason"),
    [
        ("x0 +", "found the end of 'x0 +'"),
        ("[red]x0", "found '[red]x0'"),
        ("", "found the end"),
        pytest.param(
            "(x0-x0+9)**((x0-x0+9)**((x0-x0+9)**(x0-x0+9)))",
            "it took too long",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_bad_prediction_has_a_score_and_a_reason(
    capsys: Output, prediction: str, reason: str
) -> None:
    rows = scored(capsys, "x0", prediction, "--timeout", "1")
    undecided = "too long" in reason
    assert rows["normalized edit distance"].startswith("undecided" if undecided else "1.000")
    assert rows["symbolic solution"].startswith("undecided" if undecided else "no")
    for name in ("normalized edit distance", "symbolic solution", "SRBench's solution"):
        assert reason in rows[name]
    assert rows["simplified complexity"].startswith("-")


def test_a_constant_has_a_score(capsys: Output) -> None:
    rows = scored(capsys, "x0*x1", "3")
    assert rows["normalized edit distance"].startswith("1.000")
    assert rows["symbolic solution"] == "no"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["x0 +", "x0"], "found the end of 'x0 +'"),
        (["x0*y", "x0", "--columns", "x0"], "unknown name 'y'"),
        (["x0", "x0", "--any-sign", "y"], "--any-sign names 'y'"),
        (["x0"], "PREDICTION"),
        (["x0", "x0", "--r2", "good"], "--r2"),
        (["x0", "x0", "--timeout", "0"], "--timeout"),
    ],
)
def test_a_bad_question_is_an_error(capsys: Output, arguments: list[str], words: str) -> None:
    assert main(["score", *arguments]) == 2
    captured = capsys.readouterr()
    assert words in captured.err
    assert "Traceback" not in captured.err


def test_the_verdict_stands_first(capsys: Output) -> None:
    rows = scored(capsys, "2*x*y - x", "2.3*x*y - 1.01*x")
    assert rows["verdict"].startswith("different")
    assert rows["verdict"].endswith("all terms are right; constants are off by up to 15 %")
    rows = scored(capsys, "2*x*y - x", "2.01*x*y")
    assert rows["verdict"].split(maxsplit=3) == ["one", "term", "off", "missing: -x"]
    assert scored(capsys, "2*x", "2.01*x")["verdict"].startswith("identified")


def test_all_of_it_is_given_as_json(capsys: Output) -> None:
    assert main(["score", "2*x*y - x", "2.01*x*y - x + y**2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["verdict"], found["extra"], found["missing"]) == ("one_term_off", ["y**2"], [])
    assert found["solution"] is False
    assert found["true_complexity"] == 8
