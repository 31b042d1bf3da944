from __future__ import annotations

import random

import mpmath
import numpy as np
import pytest
import sympy

from eqverdict import parse
from eqverdict.expand import expand
from eqverdict.fidelity.compare import Verdict, compare
from eqverdict.fidelity.constant_match import ConstantMatcher, Equivalence
from eqverdict.fidelity.models import Model, fit_model
from eqverdict.fidelity.points import points
from eqverdict.grammar import read
from eqverdict.interval_eval import DIGITS, known_value

NAMES = ("x0", "x1", "x2")
POSITIVE = {"x0": (0.1, 10.0), "x1": (0.1, 10.0)}

# Each is the truth in another writing, constants within 5 %.
SAME = [
    ("1/(1+1/(1+x0))", "1/(1+1/(1+x0))"),
    ("x0/(1+x1/(1+x2))", "x0/(1 + x1/(1 + x2))"),
    ("1/(1/(1+x0)+1/(1+x1))", "1/(1/(1+x0)+1/(1+x1))"),
    ("1/(1+0.5/(2.1+x0**2))", "1/(1+0.5/(2.1+x0**2))"),
    ("1/(1+1/(1+x0))", "(1+x0)/(2+x0)"),
    ("x0/(1+x1/(1+x2))", "x0*(1+x2)/(1+x2+x1)"),
    ("1/(1/(1+x0)+1/(1+x1))", "(1+x0)*(1+x1)/(2+x0+x1)"),
    ("tanh(1.3*x0)", "sinh(1.3*x0)/cosh(1.3*x0)"),
    ("sinh(x0)", "0.5*exp(x0)-0.5*exp(-x0)"),
    ("cosh(x0)", "0.51*exp(x0)+0.51*exp(-x0)"),
    ("1/(1+exp(-x0))", "0.5+0.5*tanh(x0/1.97)"),
    ("sin(x0/2)**2", "(1-cos(x0))/2"),
    ("2*cos(x0/2)**2", "1+cos(x0)"),
    ("sin(x0)+sin(x1)", "2*sin((x0+x1)/2)*cos((x0-x1)/2)"),
    ("asinh(x0)", "log(x0+sqrt(x0**2+1))"),
    ("x0*x1", "x0*x1*(sin(x2)**2+cos(x2)**2)"),
    ("tan(x0/2)", "sin(x0)/(1+cos(x0))"),
    ("4*x0*sin(x1*x2/2)**2", "2*x0*(1-cos(x1*x2))"),
    ("1.2/(1+exp(1-2*x1))", "1.2005*(1-1/(1+exp(1.9995*x1-1.0005)))"),
    ("atan(x0)", "asin(x0/sqrt(1+x0**2))"),
    ("max(x0,x1)", "(x0+x1+abs(x0-x1))/2"),
    ("5*sin(x0+0.93)", "3*sin(x0)+4*cos(x0)"),
    ("2**x0", "exp(0.6931471805599453*x0)"),
    ("tanh(x0+x1)", "(tanh(x0)+tanh(x1))/(1+tanh(x0)*tanh(x1))"),
]
# None of these is.
OTHER = [
    ("x0**2", "x0**2.08"),
    ("x0**3", "x0**2.9"),
    ("x0**2.1", "x0**2"),
    ("x0", "x0+1e6*x1-1000000.0001*x1"),
    ("log(x0**2)", "2*log(x0)"),
    ("sqrt(x0*x1)", "sqrt(x0)*sqrt(x1)"),
    ("x0", "x0+max(0,x0-9.5)"),
    ("x0", "x0-max(0,x0-1e5)"),
    ("x0", "min(x0,9.9)"),
    ("x0*x1", "x0*x1+abs(x0-9)+x0-9"),
    ("x0", "sqrt(x0**2)"),
    ("tanh(x0)", "sinh(x0)/cosh(x0)+1e-11*x0"),
    ("tanh(x0)", "sinh(1.1*x0)/cosh(1.1*x0)"),
    ("exp(x0)", "1+x0+x0**2/2"),
    ("x0+x1", "x0+x1*tanh(1e9*x0**2)"),
    ("x0/(1+x1)", "x0/(1+x1)+1e-12*x2"),
]


@pytest.mark.parametrize(("truth", "prediction"), SAME)
def test_identities_are_identified(truth: str, prediction: str) -> None:
    assert compare([truth], [prediction], NAMES).verdict == "identified"
    if "0.51" not in prediction:  # cosh and sinh apart, there are more terms than the truth has
        assert compare([prediction], [truth], NAMES).verdict == "identified"


@pytest.mark.parametrize(("truth", "prediction"), OTHER)
def test_what_differs_is_not_identified(truth: str, prediction: str) -> None:
    assert compare([truth], [prediction], NAMES).verdict in {"one_term_off", "different"}


@pytest.mark.parametrize(
    ("truth", "prediction"),
    [
        ("log(x0**2)", "2*log(x0)"),
        ("sqrt(x0*x1)", "sqrt(x0)*sqrt(x1)"),
        ("abs(x0)", "x0"),
        ("x0", "sqrt(x0**2)"),
    ],
)
def test_signs_are_those_of_the_data(truth: str, prediction: str) -> None:
    assert compare([truth], [prediction], NAMES).verdict == "different"
    assert compare([truth], [prediction], NAMES, domain=POSITIVE).verdict == "identified"


def drawn(generator: random.Random, depth: int) -> str:
    """Draw an equation that is defined everywhere."""
    if depth == 0:
        return generator.choice([*NAMES, "0.7", "1.9", "2"])
    a, b = (drawn(generator, depth - 1) for _ in "ab")
    form = generator.choice(
        ["{a}+{b}", "{a}*({b})", "({a})/(3+({b})**2)", "sin({a})", "exp(-({a})**2)", "tanh({a})",
         "sqrt(1+({a})**2)", "atan({a})", "max({a}, {b})", "abs({a})", "(1.1+abs({a}))**1.3"]
    )  # fmt: skip
    return f"({form.format(a=a, b=b)})"


@pytest.mark.parametrize("seed", range(20))
def test_values_are_those_of_sympy(seed: int) -> None:
    generator = random.Random(seed)
    text = drawn(generator, 3)
    numbers = {name: generator.randrange(-3000, 3000) for name in NAMES}
    found = known_value(read(text, NAMES), {name: n / 1024 for name, n in numbers.items()})
    with mpmath.workdps(DIGITS):
        exact = sympy.sympify(text, {"max": sympy.Max, "abs": sympy.Abs}, rational=True).subs(
            {name: sympy.Rational(number, 1024) for name, number in numbers.items()}
        )
        wanted = mpmath.mpf(str(exact.evalf(DIGITS)))
        middle = mpmath.mpf(found.mid().str(DIGITS, radius=False))
        assert abs(middle - wanted) <= abs(wanted) * mpmath.mpf(10) ** (10 - DIGITS)


@pytest.mark.parametrize("seed", range(20))
def test_slopes_are_those_of_differences(seed: int) -> None:
    text = drawn(random.Random(seed), 3)
    model = Model(expand(text, NAMES))
    columns = points(NAMES, ())
    still = np.zeros(len(model.moving))
    values, sizes = model.dual(columns, still)
    direct = parse(text, NAMES).evaluate(columns)
    np.testing.assert_allclose(values[0] / sizes, direct / sizes, atol=1e-9)
    step = 1e-6
    for k in range(len(still)):
        ahead, behind = (model.dual(columns, still + s * np.eye(len(still))[k])[0][0]
                         for s in (step, -step))  # fmt: skip
        slope = (ahead - behind) / (2 * step)
        # At a branch there is no slope.
        right = np.abs(values[1 + k] - slope) <= 1e-4 * (sizes + np.abs(slope))
        assert right.mean() > 0.9


@pytest.mark.parametrize(
    ("truth", "answer"),
    [
        ("2*sin(3*x0 + 0.4)*x1 - 0.3*x2", "2.05*sin(2.95*x0 + 0.42)*x1 - 0.29*x2"),
        ("x0/(2.1 + x1**2) + 0.5*x2**1.3", "0.97*x0/(2.06 + x1**2) + 0.49*x2**1.33"),
        ("1.2/(1 + exp(2*x0 - 1))", "1.18/(1 + exp(2.03*x0 - 0.99))"),
    ],
)
def test_constants_that_have_moved_are_found(truth: str, answer: str) -> None:
    columns = points(NAMES, ())
    values = parse(answer, NAMES).evaluate(columns)
    fit = fit_model(Model(expand(truth, NAMES)), columns, values)
    assert fit is not None
    assert fit.residual < 1e-9
    error = compare([truth], [answer], NAMES).coefficient_error
    assert error == pytest.approx(np.abs(fit.shifts).max(), abs=0.02)
    found = ConstantMatcher(truth, answer, NAMES, NAMES, ()).relation(expand(truth, NAMES))
    assert found.relation is Equivalence.SAME


def test_points_are_on_both_sides_of_branches() -> None:
    values = ConstantMatcher("x0", "x0 + max(0, x0 - 95.5)", NAMES, NAMES, ())
    assert (values.columns["x0"] > 95.5).sum() >= 2
    low, high = 1.0, 3.0
    x0 = points(("x0",), (("x0", low, high),))["x0"]
    assert 0 < x0.min() < low
    assert high < x0.max() <= 1.5 * high


def test_points_keep_the_signs_of_the_data() -> None:
    columns = points(NAMES, (("x0", -2.0, -1.0), ("x1", 0.0, 5.0), ("x2", 7.0, 7.0)))
    assert columns["x0"].max() < 0
    assert columns["x1"].min() > 0
    assert np.ptp(columns["x2"]) > 1


@pytest.mark.parametrize(
    ("truth", "prediction"),
    [
        ("x0/8.854e-12*1/(1 + x1)", "112943302462.0*x0/(x1 + cos(x0/(58701.89116854539 + x0)))"),
        ("x0", "1.0000000000001*x0 + 1e-11*x1"),
        ("x0*x1", "1.0000000000001*x0*x1*exp(1e-11*x1)"),
        ("sin(x0)", "sin(x0 + 1.2345678901234e-11*x1**3)"),
    ],
)
def test_a_part_that_rounded_numbers_cannot_show_is_there_all_the_same(
    truth: str, prediction: str
) -> None:
    assert compare([truth], [prediction], ["x0", "x1"]).verdict is not Verdict.IDENTIFIED


@pytest.mark.parametrize(
    ("truth", "prediction"),
    [
        ("2**x0", "exp(0.6931471805599453*x0)"),
        ("tanh(x0)", "1.0000000000012*sinh(x0)/cosh(x0)"),
        ("x0*x1", "1.0123456789012*x0*x1*(sin(x0)**2 + cos(x0)**2)"),
        ("x0*x1", "1.0123456789012*x0*(x1 + x0 - x0)"),
    ],
)
def test_a_part_that_is_a_number_with_all_digits_hides_nothing(truth: str, prediction: str) -> None:
    assert compare([truth], [prediction], ["x0", "x1"]).verdict is Verdict.IDENTIFIED
