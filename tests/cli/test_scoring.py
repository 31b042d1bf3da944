"""What ``mdbench score`` prints."""

from __future__ import annotations

import json
import re
import threading
from typing import TYPE_CHECKING, Any

import pytest
from sweeps import paired

from eqverdict.scores import compare
from mdbench.cli import main, score

if TYPE_CHECKING:
    from eqverdict.scores import Comparison

Output = pytest.CaptureFixture[str]


def scored(capsys: Output, *arguments: str) -> dict[str, str]:
    """Return the rows that are printed, by their names."""
    assert main(["score", *arguments]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    rows = [re.split(r" {2,}", line.strip(), maxsplit=1) for line in captured.out.splitlines()]
    return {row[0]: row[1] for row in rows if len(row) == 2}


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(score, "_SECONDS_IN_SILENCE", 3600.0)  # on the slowest machine


def test_all_measures_are_shown(capsys: Output) -> None:
    rows = scored(capsys, "m*r*v*sin(theta)", "2*m*r*v*sin(theta)")
    assert rows["normalized edit distance"].split(maxsplit=1) == [
        "0.167",
        "1 edit, 6 nodes in the truth",
    ]
    assert rows["symbolic solution"].split(maxsplit=1) == ["yes", "constant ratio"]
    assert rows["SRBench's solution"].split(maxsplit=1) == ["yes", "constant ratio"]
    assert rows["complexity"].split(maxsplit=1) == ["7", "truth 6"]
    assert rows["simplified complexity"].split(maxsplit=1) == ["7", "truth 6"]


def test_columns_may_be_more_than_the_truth_has(capsys: Output) -> None:
    assert main(["score", "x0", "x0 + x1"]) == 2
    captured = capsys.readouterr()
    assert captured.out.split() == ["verdict", "unreadable"]
    assert "unknown name 'x1' at position 6" in captured.err
    assert "--columns x0,x1" in captured.err
    rows = scored(capsys, "x0", "x0 + x1", "--columns", "x0,x1")
    assert rows["normalized edit distance"].startswith("1.000")
    assert rows["complexity"].startswith("3")


def test_columns_are_positive_unless_declared_otherwise(capsys: Output) -> None:
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


@pytest.mark.slow
def test_what_takes_too_long_is_undecided_and_reports_it(capsys: Output) -> None:
    prediction = "(x0-x0+9)**((x0-x0+9)**((x0-x0+9)**(x0-x0+9)))"
    rows = scored(capsys, "x0", prediction, "--timeout", "1")
    for name in ("normalized edit distance", "symbolic solution", "SRBench's solution"):
        assert rows[name].startswith("undecided")
        assert "it took too long" in rows[name]
    assert rows["simplified complexity"].startswith("-")


UNREADABLE = [
    ("x0 +", "found the end of 'x0 +'"),
    ("[red]x0", "unknown name 'red' at position 2"),
    ("", "found the end"),
    ("  \t ", "found the end"),
    ("2.0*square(x0)+erf(x0)", "unknown function 'erf' at position 16"),
    ("x0 + y", "unknown name 'y' at position 6"),
    ("nan*x0", "unknown name 'nan' at position 1"),
    ("x0 - inf", "unknown name 'inf' at position 6"),
    ("1e999*x0", "too large for a number is '1e999*x0'"),
    ("x0 + 1/0", "no finite real value"),
    ("x0" + "+x0" * 20_000, "is too long"),
    ("(" * 100 + "x0" + ")" * 100, "nested too deep"),
    ("x0 == 1", "can be an equation and a comparison"),
    ("x0\u017f", "is not ASCII"),
    ("sin", "sin is not called"),
    ("max(x0)", "max is given 1 argument in"),
    ("x0; x0", "found '; x0'"),
]
"""What cannot be read, and what is said of it."""


@pytest.mark.parametrize(("where", "unreadable"), paired(["truth", "answer", "both"], UNREADABLE))
def test_what_cannot_be_read_has_no_metrics(
    capsys: Output, where: str, unreadable: tuple[str, str]
) -> None:
    text, reason = unreadable
    pair = {"truth": (text, "x0"), "answer": ("x0", text), "both": (text, text)}[where]
    given = ["score", *pair, "--columns", "x0"]
    assert main([*given, "--json"]) == 2
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    assert reason in found["reasons"]["verdict"]
    assert {name for name, value in found.items() if value is not None} == {
        "schema",
        "verdict",
        "reasons",
    }
    assert found["verdict"] == "unreadable"
    assert reason in captured.err
    assert ("PREDICTION" if where == "answer" else "TRUTH") in captured.err
    assert main(given) == 2
    assert capsys.readouterr().out.split() == ["verdict", "unreadable"]


@pytest.mark.parametrize(
    ("writing", "same"),
    [
        ("inv(x)", "1/x"),
        ("log10(x)", "log(x)/log(10)"),
        ("Sin(x)", "sin(x)"),
        ("y = 2x²", "2*x**2"),
    ],
)
def test_other_notations_are_read(capsys: Output, writing: str, same: str) -> None:
    for pair in ((writing, same), (same, writing)):
        assert main(["score", *pair, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["verdict"] == "identified"


def test_a_constant_is_a_readable_answer(capsys: Output) -> None:
    assert main(["score", "x0*x1", "3", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["verdict"], found["identified"], found["solution"]) == ("different", False, False)


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


def test_a_long_comparison_says_that_it_goes_on(
    capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(*texts: str, **options: Any) -> Comparison:
        for timer in threading.enumerate():
            if isinstance(timer, threading.Timer):
                timer.join()
        return compare(*texts, **options)

    monkeypatch.setattr(score, "_SECONDS_IN_SILENCE", 0.0)
    monkeypatch.setattr(score, "compare", slow)
    assert main(["score", "x", "x", "--timeout", "7", "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["verdict"] == "identified"
    assert captured.err.startswith("Still comparing.  Each step may take 7 s of CPU time")


def test_the_verdict_is_first(capsys: Output) -> None:
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
    assert found["identified"] is False
    assert found["solution"] is False
    assert found["true_complexity"] == 8
