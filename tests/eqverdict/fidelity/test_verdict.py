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


@pytest.mark.parametrize("share", [1e-17, 1e-16, 3e-15])
def test_what_cancels_to_double_precision_contradicts_nothing(share: float) -> None:
    # In the terms nothing is left of it, in the values there is.
    for extra in (f"0.3*u0*(1 + {share!r}) - 0.3*u0", f"0.7 + {share!r} - 0.7"):
        for truth in ("u0/u1", "u0*u1", "u0**2 - u1"):
            [said] = compare([truth], [f"{truth} + {extra}"], NAMES).by_equation
            assert (said.contradictions, said.numerical) in {((), "near"), ((), "equal")}


@pytest.mark.parametrize(
    "one", ["exp(log(4096*u2))/4096", "u2*exp(log(3))/3", "log(exp(3*u2))/3", "1/exp(-log(u2))"]
)
def test_numbers_that_leave_a_function_are_not_proved_to_be_others(one: str) -> None:
    domain = {"u0": (1.0, 9.0), "u1": (1.0, 2.0), "u2": (1e-5, 0.1)}
    truth, answer = "1.380649e-23*u0*u1/u2", f"1.380649e-23*u0*(u1/({one}))"
    found = compare([truth], [answer], NAMES, domain=domain)
    assert (found.verdict, found.findings.contradictions) == (Verdict.IDENTIFIED, ())
    assert found.findings.symbolic is not Symbolic.UNEQUAL


@pytest.mark.parametrize("size", [1e-3, 1e-6, 1e-9, 5e-12])
def test_a_small_part_that_is_written_is_no_rounding(size: float) -> None:
    truth, domain = "exp(-u0**2/2)/sqrt(2*pi)", {"u0": (-9.98, 9.998)}
    bell = "0.3989422804*exp(-0.5*u0*u0)"
    answers = [
        f"{bell} + {size!r}",
        f"0.3989422804*sqrt(log(exp(exp(-u0*u0)))) + {size!r}",
        f"0.3989422804/(exp(u0**2/2) + {size!r})",
        f"0.3989422804*(1 - tanh(u0**2/4))/(1 + tanh(u0**2/4)) + {size!r}*tanh(u0**2/4)",
        f"(0.3989422804 + {size!r}*cosh(u0**2/2))/exp(u0**2/2)",
    ]
    for answer in (bell, *answers):
        found = compare([truth], [answer], NAMES, domain=domain).verdict
        assert (found is Verdict.IDENTIFIED) is (answer == bell), answer


@pytest.mark.parametrize("digits", [4, 5, 7, 9, 12, 15])
def test_numbers_that_were_printed_and_should_have_cancelled_are_rounding(digits: int) -> None:
    truth, third = "0.56/(1 + exp(-2*u0))", float(f"{0.56 / 3:.{digits}g}")
    for answer in (
        f"{3 * third!r} - {3 * third * (1 - 10.0**-digits)!r}/(1 + exp(2*u0))",
        f"{third!r} + {2 * third!r} - {3 * third!r}/(1 + exp(2*u0))",
        f"0.28 + {1.5 * third!r}*tanh(u0)",
        f"{third!r}*(3 - 3/(1 + exp(2*u0)))",
    ):
        found = compare([truth], [answer], NAMES, domain={"u0": (-3.0, 3.0)}).verdict
        assert found is Verdict.IDENTIFIED, answer


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
