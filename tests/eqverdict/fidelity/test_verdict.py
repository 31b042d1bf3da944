"""Three verdicts on an answer, and the rule that makes one of them."""

from __future__ import annotations

from itertools import product

import pytest

from eqverdict.fidelity.compare import Verdict, compare
from eqverdict.fidelity.verdict import (
    EquivalenceChecks,
    Numerical,
    Structural,
    Symbolic,
    combine,
    identified,
)

NAMES = ("u0", "u1", "u2")
HUGE = "(u0 + u1 + u2 + 1)**20*(u0 - u1 + u2)**15"


@pytest.mark.parametrize(
    ("truth", "answer", "wanted"),
    [
        ("1/(1 + 1/(1 + u0))", "1/(1 + 1/(1 + u0))", ("equal", "equal", "same", True)),
        ("u0*(1 - u1)", "u0 - u1*u0", ("equal", "equal", "same", True)),
        ("2*u0 + u1", "2.04*u0 + u1", ("unequal", "apart", "same", True)),
        ("2*u0 + u1", "2.2*u0 + u1", ("unequal", "apart", "other", False)),
        ("2*u0 + u1", "2*u0", ("unequal", "apart", "one term off", False)),
        ("exp(u0)*u1", "u1*exp(u0)", ("equal", "equal", "same", True)),
        ("tanh(u0)", "sinh(u0)/cosh(u0)", ("equal", "equal", "same", True)),
        ("tanh(u0)", "1.02*sinh(u0)/cosh(u0)", ("not proved", "near", "same", True)),
        ("sin(2*u0)", "sin(2.2*u0)", ("not proved", "apart", "other", False)),
        (HUGE, "u0 + u1", ("not proved", "unknown", "unknown", None)),
    ],
)
def test_what_is_said_of_an_answer(
    truth: str, answer: str, wanted: tuple[str, str, str, bool | None]
) -> None:
    found = compare([truth], [answer], NAMES)
    said = found.findings
    assert (said.symbolic, said.numerical, said.structural, identified(said)) == wanted
    assert not said.contradictions
    [told] = [each.explanation for each in found.by_equation]
    assert told.startswith({"equal": ("equal to 90 digits", "the same text")}.get(
        wanted[1], ("apart by", ""))), told  # fmt: skip


def test_a_point_is_named_where_the_two_differ() -> None:
    [said] = compare(["u0*exp(u1)"], ["u0*exp(u1)*1.2"], NAMES).by_equation
    assert said.explanation.startswith("apart by 0.0909 at u0=") or said.explanation.startswith(
        "apart by 0.09 "
    )
    [said] = compare(["u0 + 1e6*u1"], ["u0 + 1e6*u1 + 1e-40*u1"], NAMES).by_equation
    assert said.explanation.startswith("apart by ")


def test_structure_without_effect_is_noted() -> None:
    domain = {"u0": (0.5, 1.5), "u1": (280.0, 320.0)}
    for answer in (
        "u0 + 1e-90*u1",
        "u0 + 1e-20*u1",
        "u0/(1 - 4e-15*u0)",
        "u0/(1 - 4.000000000000001e-15*u0)",
        "u0*tanh(1e7*u0)",
        "u0 + exp(-u1)",
        "max(u0, -100)",
        "max(u0, 0.0)",
    ):
        found = compare(["u0"], [answer], NAMES, domain=domain)
        assert found.verdict is Verdict.IDENTIFIED, answer
        [said] = found.by_equation
        assert not said.contradictions
        assert said.extra_structure, answer
    for answer in (
        "u0 + 1e-12*u1",
        "u0/(1 - 4e-11*u0)",
        "u0*tanh(1e1*u0)",
        "u0 + exp(-u1/10)",
        "max(u0, 0.4)",
    ):
        found = compare(["u0"], [answer], NAMES, domain=domain)
        assert found.verdict is not Verdict.IDENTIFIED, answer
        assert not found.by_equation[0].extra_structure


def test_verdicts_that_exclude_each_other_are_reported() -> None:
    same = Structural.SAME
    assert EquivalenceChecks.of(Symbolic.EQUAL, Numerical.APART, same).contradictions == (
        "proved equal, and different by values",
    )
    assert EquivalenceChecks.of(Symbolic.UNEQUAL, Numerical.EQUAL, same).contradictions == (
        "proved unequal, and equal by values",
    )
    for symbolic, numerical in product(Symbolic, Numerical):
        excluded = (symbolic, numerical) in {
            (Symbolic.EQUAL, Numerical.APART),
            (Symbolic.UNEQUAL, Numerical.EQUAL),
        }
        assert bool(EquivalenceChecks.of(symbolic, numerical, same).contradictions) is excluded


def test_rounded_numbers_contradict_nothing() -> None:
    said = compare(["u0/(4*pi)"], ["0.0795774715459*u0"], NAMES).findings
    assert (said.symbolic, said.numerical, said.contradictions) == ("unequal", "apart", ())
    said = compare(["log(u0**2)"], ["2*log(u0)"], NAMES).findings
    assert (said.symbolic, said.numerical, said.contradictions) == ("not proved", "apart", ())
    said = compare(["log(u0**2)"], ["2*log(u0)"], NAMES, domain={"u0": (0.1, 2.0)}).findings
    assert (said.symbolic, said.numerical, said.contradictions) == ("equal", "equal", ())


def test_a_part_that_rounding_hides_is_there_if_all_digits_are_equal() -> None:
    truth = "112943302462.0*u0/(u1 + cos(u0/(58701.89116854539 - u1 + u0)))"
    half = "sin(u0/(58701.89116854539 - u1 + u0)/2)"
    answer = f"112943302462.0*u0/(u1 + 1 - 2*{half}**2)"
    domain = {"u0": (0.1, 10.0), "u1": (0.1, 10.0)}
    for factor, wanted in (("1", "identified"), ("1.03", "identified"), ("1.2", "different")):
        found = compare([truth], [f"{factor}*({answer})"], NAMES, domain=domain)
        assert found.verdict.value == wanted


def test_of_a_system_its_worst_equation_is_reported() -> None:
    good = EquivalenceChecks(Symbolic.EQUAL, Numerical.EQUAL, Structural.SAME)
    bad = EquivalenceChecks(Symbolic.UNEQUAL, Numerical.APART, Structural.OTHER, "", ("no",))
    both = combine([good, bad], Structural.OTHER)
    assert (both.symbolic, both.numerical, both.contradictions) == ("unequal", "apart", ("no",))
    assert combine([good, good], Structural.SAME) == good
    found = compare(["u0", "u1"], ["u0", "u1 + u0"], NAMES)
    assert found.verdict is Verdict.ONE_TERM_OFF
    assert found.findings.structural is Structural.ONE_TERM_OFF
