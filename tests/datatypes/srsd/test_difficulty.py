"""SRSD's difficulty against the numbers of the released generator, for all 120 laws."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import pytest
from harness import ROOT

from eqverdict.difficulty import HARD, LIMITS, difficulty, read_ranges
from mdbench.cli import main
from mdbench.datatypes.srsd.data_type import Srsd
from mdbench.datatypes.srsd.laws import read_problem
from mdbench.errors import EquationError, UsageError

FILE = Path(__file__).with_name("difficulty.csv")
"""Operations and ranges that the released generator counts; with its labels."""
SRSD = Srsd(ROOT / "datasets" / "srsd", Path("unused"))
OTHER_RANGE = "feynman-iii.21.20"
"""Hard by the paper's range of rho, 1e27 to 1e29; the released one makes it an easy law."""
MISSED_BOUND = "feynman-iii.17.37"
"""The released code looks at a variable's largest value only where its smallest is not the least
so far, and so misses the 2 pi of the angle: 16 in the place of 0.8 powers of ten."""
WRITTEN_OTHERWISE = {
    "feynman-i.39.10": 1,
    "feynman-i.6.20": 3,
    "feynman-i.6.20b": 3,
    "feynman-iii.9.52": 2,
    "feynman-bonus.5": 1,
    "feynman-bonus.6": 1,
}
"""Operations that our formula has more: 3/2 where theirs has 1.5, sqrt(sigma**2), and the squares
that two of theirs lack.  None of these moves a law into another set."""


def rows() -> list[dict[str, str]]:
    with FILE.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def test_all_laws_have_the_label_that_the_rule_gives_but_two() -> None:
    assert len(rows()) == 120
    found = {row["name"]: SRSD.difficulty(row["name"]) for row in rows()}
    other = {row["name"] for row in rows() if found[row["name"]].set != row["set"]}
    assert other == {OTHER_RANGE, MISSED_BOUND}
    more = {
        row["name"]: found[row["name"]].operations - int(row["operations"])
        for row in rows()
        if found[row["name"]].operations != int(row["operations"])
    }
    assert more == WRITTEN_OTHERWISE
    for row in rows():
        problem = read_problem(ROOT / "datasets" / "srsd" / f"{row['name']}.toml")
        bounds = [(one.low, one.high) for one in problem.spreads.values()]
        assert as_released(bounds) == pytest.approx(float(row["range"]), abs=1e-5), row
        if found[row["name"]].domain_range != pytest.approx(as_released(bounds), abs=1e-5):
            assert found[row["name"]].set == row["set"] or row["name"] == MISSED_BOUND


def as_released(bounds: list[tuple[float, float]]) -> float:
    """Return the range with the slip of the released code: see `MISSED_BOUND`."""
    least, most = bounds[0]
    for low, high in bounds[1:]:
        if low < least:
            least = low
        elif high > most:
            most = high
    return abs(math.log10(most - least))


def test_a_law_of_the_paper() -> None:
    found = difficulty("8987742437.98822*x0/x1**2", {"x0": (0.1, 10.0), "x1": (0.1, 10.0)})
    assert found.domain_range == pytest.approx(0.995635, abs=1e-6)
    assert (found.ceiling, found.set) == (1, "easy")
    # The larger range, of whichever variable, makes it harder.
    assert difficulty("x0*x1", {"x0": (0.1, 1e5), "x1": (1.0, 2.0)}).set == "medium"
    assert difficulty("x0*x1", {"x0": (1.0, 2.0), "x1": (1e-3, 1e25)}).set == HARD
    assert difficulty("x0*x1", {"x0": (1e-30, 2e-30), "x1": (1e-30, 1e-29)}).set == HARD
    assert difficulty("sin(x0)*cos(x0) + x0**2*exp(x0)", {"x0": (0.1, 1.0)}).set == "medium"


def test_more_operations_are_never_easier() -> None:
    order = [*LIMITS, HARD]
    for span in (1.0, 10.0, 1e5, 1e30):
        law, sets = "x0", []
        for number in range(10):
            law = f"sin({law})" if number % 2 else f"({law} + {number + 2})"
            sets.append(order.index(difficulty(law, {"x0": (0.5, 0.5 + span)}).set))
        assert sets == sorted(sets)


def test_the_same_laws_with_srbenchs_ranges() -> None:
    """Those are within one or two powers of ten, so that operations alone decide."""
    found = {name: SRSD.difficulty(name) for name in SRSD.source().groups()["srbench-feynman"][:20]}
    assert all(one.domain_range < 2 for one in found.values())
    assert SRSD.difficulty("srbench-strogatz-bacres1") is not None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x0", "'x0'"),
        ("x0=1", "'x0=1'"),
        ("x0=a:b", "'x0=a:b'"),
        ("x0=2:1", "below the second"),
        ("x0=1:1", "below the second"),
        ("x0=0:inf", "below the second"),
        ("", "No variable"),
    ],
)
def test_ranges_that_cannot_be_are_refused(text: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        difficulty("x0", read_ranges(text))
    assert words in f"{caught.value} {caught.value.hint}"


def test_a_law_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(EquationError):
        difficulty("x0*x7", {"x0": (0.0, 1.0)})


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(["score", *arguments])
    out, err = capsys.readouterr()
    return status, out, err


@pytest.mark.usefixtures("workspace")
def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(
        capsys, "m*g*z", "--difficulty", "--ranges", "m=1:5,g=9:10,z=0.1:2", "--json"
    )
    (law,) = json.loads(out)["laws"]
    assert status == 0
    assert (law["law"], law["operations"], law["set"]) == ("m*g*z", 2, "easy")
    status, out, _ = run(capsys, "feynman-i.12.?", "--difficulty")
    assert status == 0
    assert {line.split()[0] for line in out.splitlines() if "feynman" in line} == {
        *("feynman-i.12.1", "feynman-i.12.2", "feynman-i.12.4", "feynman-i.12.5"),
    }
    for arguments, words in (
        (["feynman-i.12.11x", "--difficulty"], "Did you mean feynman-i.12.11"),
        (["x0", "x0", "--difficulty"], "of one law"),
        (["x0", "x0", "--ranges", "x0=1:2"], "of one law"),
        (["x0"], "PREDICTION is missing"),
        (["x0", "--difficulty", "--ranges", "x0=1"], "--ranges x0=1:5"),
    ):
        status, _, err = run(capsys, *arguments)
        assert status == 2
        assert words in err


def scores(capsys: pytest.CaptureFixture[str], truth: str, answer: str) -> Any:
    assert main(["score", truth, answer, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("truth", "answer", "distance", "other"),
    [
        ("x0*x1", "x1*x0", 0.0, 0.0),
        ("sqrt(x0*x1)", "sqrt(x0)*sqrt(x1)", None, 0.0),
        ("exp(x0 + 1)", "2.718281828459045*exp(x0)", None, 0.0),
        ("x0*x1", "2*x0*x1", None, None),
        ("x0*x1", "x0*x1 + 3", None, None),
        ("1 - cos(x0)", "2*sin(x0/2)**2", None, 0.0),
    ],
)
@pytest.mark.usefixtures("workspace")
def test_the_distance_of_what_is_proved_equal_is_0(
    truth: str,
    answer: str,
    distance: float | None,
    other: float | None,
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = scores(capsys, truth, answer)
    plain, unless_equal = found["normalized_edit_distance"], found["distance_unless_equal"]
    if distance is not None:
        assert plain == distance
    # What differs by a term or a factor is a solution, and not equal.
    assert unless_equal == (plain if other is None else other)
    if other is None:
        assert plain > 0


@pytest.mark.parametrize(
    ("truth", "answer", "distance"),
    [
        # Tables S13 and S14: all numbers have one label, so any values do.
        ("8987742437.98822*x1/x2**2", "tan(x2/sqrt(x2**1.7) + 0.3)", 1.0),
        (
            "8987742437.98822*x1/x2**2",
            "x1*(x1 + 1.3*exp((2.1*cos(x2 + 0.7) + 3.7)/x2))*exp(-x2)",
            1.0,
        ),
        ("8987742437.98822*x1/x2**2", "1.7*x2**2.3", 0.167),
        ("9.807*x1*x2", "9.7*x1*x2", 0.0),
        ("9.807*x1*x2", "x1*x2*(1.3 - (2.7*x2 + 0.7*log(cos(x2))))*(-x1 + x2 + 3.1)/x2", 1.0),
        ("9.807*x1*x2", "x1*x2", 0.25),
    ],
)
@pytest.mark.usefixtures("workspace")
def test_worked_examples_of_the_paper(
    truth: str, answer: str, distance: float, capsys: pytest.CaptureFixture[str]
) -> None:
    found = scores(capsys, truth, answer)["normalized_edit_distance"]
    assert found == pytest.approx(distance, abs=5e-4)
