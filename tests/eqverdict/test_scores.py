"""An equation compared with the true one: one verdict, whatever way it is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from harness import ROOT

import mdbench
from eqverdict.scores import compare
from mdbench.datatypes import find
from mdbench.datatypes.equations.terms import compare_with_truth
from mdbench.datatypes.facts import Protocol
from mdbench.errors import EquationError

if TYPE_CHECKING:
    from pathlib import Path

TRUTH = "1.5*u0 - 2*u0*u1"
WRITINGS = (
    "1.5*u0 - 2*u0*u1",
    "u0*(1.5 - 2*u1)",
    "-u0*(2*u1 - 1.5)",
    "-2*u1*u0 + 1.5*u0",
    "1.5*(u0 - u0*u1/0.75)",
    "u0*1.5 - u0*u1 - u1*u0",
    "3*u0/2 - u1/(1/(2*u0))",
    "(3*u0 - 4*u0*u1)/2",
    "1.5*u0 + 0*u1 - 2*u0*u1",
    "exp(log(u0))*(1.5 - 2*u1)",
    "u0*(sin(u1)^2 + cos(u1)^2)*1.5 - 2*u0*u1",
    "1.5*u0 - (u0 + u1)**2 + u0**2 + u1**2",
)
"""Twelve writings of one equation."""


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ("{}", "identified"),
        ("1.04*({})", "identified"),
        ("1.2*({})", "different"),
        ("{} + u1", "one_term_off"),
    ],
)
def test_twelve_writings_have_one_verdict_which_is_that_of_records(
    tmp_path: Path, change: str, verdict: str
) -> None:
    ode = find("ode", ROOT / "datasets" / "ode", tmp_path)
    data = ode.source().load("lotka-volterra-simple", snr_db=None, seed=0, protocol=Protocol.STRICT)
    task = ode.task(data, "table", Protocol.STRICT)
    for writing in WRITINGS if change == "{}" else WRITINGS[1::3]:
        answer = change.format(writing)
        found = compare(TRUTH, answer)
        assert (found.verdict, found.identified) == (verdict, verdict == "identified"), answer
        recorded = compare_with_truth([TRUTH, "u1"], [answer, "u1"], task).metrics
        assert recorded["identified"] == float(verdict == "identified"), answer


@pytest.mark.parametrize("answer", [None, 5, ["x0"], b"x0", "x0 +", "erf(x0)", " \n", "x0*y"])
def test_what_cannot_be_read_has_nothing_but_a_reason(answer: Any) -> None:
    found = mdbench.compare("x0", answer)
    known = {name for name, value in vars(found).items() if value is not None}
    assert known == {"verdict", "reasons"}
    assert found.verdict == "unreadable"
    assert all(why.startswith("the answer cannot be read: ") for why in found.reasons.values())


@pytest.mark.parametrize("truth", [None, 5, ["x0"], b"x0", "x0 +", "erf(x0)", " \n", "nan"])
def test_a_truth_that_cannot_be_read_is_refused(truth: Any) -> None:
    with pytest.raises(EquationError):
        mdbench.compare(truth, "x0")


def test_what_is_too_large_is_undecided_and_no_failure() -> None:
    large = "*".join(f"(1 + x0**{power})" for power in range(1, 400)) + "+0*x0" * 2_000
    found = compare(large, large + "+1", seconds=1)
    assert found.verdict != "unreadable"
    assert (found.normalized_edit_distance, found.solution) == (None, None)
    assert "numbers, names and signs" in found.reasons["normalized_edit_distance"]
    assert found.identified is None or found.verdict in {
        "identified",
        "different",
        "not identified",
    }


@pytest.mark.parametrize(
    ("truth", "answer", "reason"),
    [
        ("u0", "2", "1 edit, 1 node in the truth"),
        ("u0 + u1", "u0 + 1", "2 edits, 3 nodes in the truth"),
        ("u0*u1", "u0*u1", "0 edits, 3 nodes in the truth"),
    ],
)
def test_what_is_counted_is_named_in_the_right_number(truth: str, answer: str, reason: str) -> None:
    assert mdbench.compare(truth, answer).reasons["normalized_edit_distance"] == reason


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("answer", ["1e308*x*1e308", "x + 1/(x - x)", "x/0", "log(-x)"])
def test_answers_without_a_value_give_no_warning(answer: str) -> None:
    assert mdbench.compare("x*1e300*1e300", answer).identified is not True
