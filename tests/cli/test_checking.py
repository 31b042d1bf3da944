"""``mdbench check`` of several methods: one's fault is its own, and a table says what each does."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from harness import add_method, children

from mdbench.cli import main

if TYPE_CHECKING:
    from mdbench.workspace import Workspace

GOOD = """
import numpy as np

class Adapter:
    def __init__(self, *, seed, threads):
        self.value = float(np.random.default_rng(seed).normal())
    def fit(self, problem):
        if not np.isfinite(problem.X).all():
            raise ValueError("not finite")
        self.targets = len(problem.targets)
    def predict(self, problem):
        return np.full((len(problem.X), self.targets), self.value)
    def equations(self):
        return [repr(self.value)] * self.targets
"""
UNAVAILABLE = "from mdbench.worker import Unavailable\nraise Unavailable('put weights there')\n"
ADAPTERS = {
    "good": GOOD,
    "crashes": "raise RuntimeError('no')\n",
    "exits": "import os\nos._exit(3)\n",
    "lies": GOOD.replace("[repr(self.value)]", "['5.0']"),
    "away": UNAVAILABLE,
}
CONTRACTS = {
    "away": "not here",
    "crashes": "breaks",
    "exits": "breaks",
    "good": "keeps",
    "lies": "breaks",
    "misspelt": "breaks",
}
"""What the check of all gives, by method."""


@pytest.fixture
def methods(command_line: Workspace) -> Workspace:
    """Return a workspace with a good method and several that are broken, each in its own way."""
    for name, adapter in ADAPTERS.items():
        add_method(command_line, name, adapter)
    toml = add_method(command_line, "misspelt", GOOD) / "method.toml"
    toml.write_text(f"tunning = 1\n{toml.read_text(encoding='utf-8')}", encoding="utf-8")
    return command_line


@pytest.mark.parametrize("at_a_time", [pytest.param(1, marks=pytest.mark.slow), 3])
@pytest.mark.usefixtures("methods")
def test_all_are_checked_whatever_one_of_them_does(
    at_a_time: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "--all", "--n-jobs", str(at_a_time)]) == 1
    printed = capsys.readouterr().out
    rows = [line.split() for line in printed.splitlines() if line.startswith("  ")]
    table = {row[0]: " ".join(row[1:]) for row in rows if row and row[0] in CONTRACTS}
    assert list(table) == sorted(CONTRACTS)
    for name, contract in CONTRACTS.items():
        assert table[name].startswith(contract), name
    words = " ".join(printed.split())
    assert "1 of 6 keep their contract; 1 could not be tried here (away);" in words
    assert "4 broke a point (crashes, exits, lies, misspelt)" in words
    for explanation in ("put weights there", "RuntimeError", "tunning"):
        assert explanation in words
    assert not children()


@pytest.mark.usefixtures("methods")
def test_the_findings_of_several_are_those_of_each(capsys: pytest.CaptureFixture[str]) -> None:
    alone = {}
    for name in ("good", "lies"):
        main(["check", name, "--json"])
        alone[name] = json.loads(capsys.readouterr().out)
    assert main(["check", "lies", "goo*", "--json"]) == 1
    together = json.loads(capsys.readouterr().out)
    assert [one["method"] for one in together["methods"]] == ["lies", "good"]
    for one in together["methods"]:
        assert {key: one[key] for key in ("keeps", "findings")} == {
            key: alone[one["method"]][key] for key in ("keeps", "findings")
        }


@pytest.mark.usefixtures("methods")
def test_what_keeps_and_what_is_not_here_is_no_failure(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["check", "good", "away"]) == 0
    assert "1 of 2 keep their contract; 1 could not be tried here" in capsys.readouterr().out
    assert main(["check", "away"]) == 0
    assert "away could not be tried here" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("check", "mdbench check --all"),
        ("check good --all", "methods and --all"),
        ("check godo good", "'godo'"),
        ("check x*", "'x*'"),
        ("check good lies --n-jobs 0", "--n-jobs"),
        ("check good lies --snr 20", "mdbench check --help"),
    ],
)
@pytest.mark.usefixtures("methods")
def test_what_cannot_be_checked_is_said(
    line: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(line.split()) == 2
    assert words in " ".join(capsys.readouterr().err.split())
