"""Constants that are moved: one function has one verdict in every writing."""

from __future__ import annotations

import random
from itertools import product

import pytest
from harness import benchmark
from sweeps import paired

from eqverdict.fidelity.compare import Verdict, compare

MOVED = benchmark("moved_constants")
DOMAIN = {"x": (0.1, 5.0), "y": (0.2, 3.0)}
NAMES = ("x", "y")

LAWS = 20
"""Drawn from all suites; `benchmarks/bench_scorer.py --moved` takes more."""
PAIRS = 30


def verdict(truth: str, answer: str) -> Verdict:
    return compare([truth], [answer], NAMES, domain=DOMAIN).verdict


def writings_of_bose(k: float, sign: str, above: float, below: float) -> list[str]:
    """Return twelve writings of ``above/(exp(k*x) + below)``, or with a minus."""
    s = "-" if sign == "+" else "+"
    return [
        f"{above}/(exp({k}*x) {sign} {below})",
        f"{above}*exp(-{k}*x)/(1 {sign} {below}*exp(-{k}*x))",
        f"{2 * above}/(2*exp({k}*x) {sign} {2 * below})",
        f"1/(exp({k}*x)/{above} {sign} {below / above!r})",
        f"{above}*(exp({k}*x) {sign} {below})**(-1)",
        f"{above}/(exp({k / 2!r}*x)**2 {sign} {below})",
        f"-{above}/(-exp({k}*x) {s} {below})",
        f"{above}/(1/exp(-{k}*x) {sign} {below})",
        f"{above}/(cosh({k}*x) + sinh({k}*x) {sign} {below})",
        f"{above / 3!r}/(exp({k}*x)/3 {sign} {below / 3!r})",
        f"{above}*exp(-{k / 2!r}*x)/(exp({k / 2!r}*x) {sign} {below}*exp(-{k / 2!r}*x))",
        f"{above}*y/(y*exp({k}*x) {sign} {below}*y)",
    ]


@pytest.mark.parametrize(("k", "sign"), paired((0.5, 1.0, 2.0, 7.3), "+-"))
def test_planck_bose_and_fermi_are_found_in_every_writing(k: float, sign: str) -> None:
    truths = writings_of_bose(k, sign, 1.0, 1.0)
    near = writings_of_bose(round(1.03 * k, 6), sign, 1.02, 1.03)
    for truth, answer in zip(truths, near[1:] + near[:1], strict=True):
        assert verdict(truth, truths[0]) is Verdict.IDENTIFIED, truth
        assert verdict(truths[0], answer) is Verdict.IDENTIFIED, answer
        assert verdict(truth, answer) is Verdict.IDENTIFIED, (truth, answer)
    for far in ((1.08 * k, 1.0, 1.0), (k, 1.08, 1.0), (k, 1.0, 1.09)):
        answers = writings_of_bose(round(far[0], 6), sign, *far[1:])
        for truth, answer in zip(truths, answers, strict=True):
            assert verdict(truth, answer) is Verdict.DIFFERENT, (truth, answer)


def writings_of_log(a: float, c: float) -> list[str]:
    """Return twelve writings of ``a*log(x) + c``."""
    return [
        f"{a}*log(x) + {c}",
        f"{c} + {a}*log(x)",
        f"{c} - {a}*log(1/x)",
        f"{a / 2!r}*log(x**2) + {c}",
        f"{2 * a!r}*log(sqrt(x)) + {c}",
        f"{a}*(log(x) + {c / a!r})",
        f"{a}*log(x*exp({c / a!r}))",
        f"{a}*log(3*x) - {a}*log(3) + {c}",
        f"{a}*log(x*y) - {a}*log(y) + {c}",
        f"{a * 2.302585092994046!r}*(log(x)/log(10)) + {c}",
        f"-({-c} - {a}*log(x))",
        f"{a}*log(x/y) + {a}*log(y) + {c}",
    ]


@pytest.mark.parametrize(("a", "c"), [(100.0, 2.0), (3.0, 0.2), (-40.0, 1.0), (2.0, -7.0)])
def test_an_intercept_beside_a_logarithm_is_a_term_with_its_own_share(a: float, c: float) -> None:
    truths = writings_of_log(a, c)
    for i, truth in enumerate(truths):
        answers = writings_of_log(round(1.03 * a, 6), round(0.97 * c, 6))
        assert verdict(truth, answers[(i + 1) % 12]) is Verdict.IDENTIFIED, truth
        for other in (3 * c, -c, 1.1 * c):
            answer = writings_of_log(a, round(other, 6))[(i + 1) % 12]
            assert verdict(truth, answer) is Verdict.DIFFERENT, (truth, answer)
        assert verdict(truth, writings_of_log(a, 0.0)[0]) is Verdict.ONE_TERM_OFF


@pytest.mark.parametrize(
    ("truth", "answer", "is_identified"),
    [
        ("2*log(x) + 3*log(y) + 1", "2*log(x) + 3*log(y) + 1.04", True),
        ("2*log(x) + 3*log(y) + 1", "log(x**2*y**3) + 1.04", True),
        ("2*log(x) + 3*log(y) + 1", "2*log(x) + 3*log(y) - 1", False),
        ("2*log(x) + 3*log(y) + 1", "2*log(x*exp(-1)) + 3*log(y) + 1", False),
        ("2*log(x*y) + 1", "2*log(x) + 2*log(y) + 1.2", False),
        ("2*log(x*y) + 1", "2*log(x) + 2*log(y) + 1.03", True),
        ("2*log(3*x)", "2*log(3.1*x)", True),
        ("2*log(3*x)", "2*log(3.3*x)", False),
        ("log(1 + x**2 + y**2)", "log(0.97 + x**2 + y**2)", True),
        ("log(1 + x**2 + y**2)", "log(0.92 + x**2 + y**2)", False),
        ("x*log(y) + 0.5*x", "x*log(y) - 0.5*x", False),
        ("x*log(y) + 0.5*x", "x*log(y) + 0.52*x", True),
        ("20*log(x) + x**1.5 + 0.5", "20*log(x) + x**1.5 - 0.5", False),
        ("20*log(x) + exp(-x) + 0.5", "20*log(x) + exp(-x) + 0.52", True),
        ("exp(0.5*x + 2)", "exp(0.51*x + 2.05)", True),
        ("exp(0.5*x + 2)", "-exp(0.5*x + 2)", False),
        ("3*exp(0.5*x)", "exp(0.5*x + log(3.1))", True),
        ("3*exp(0.5*x)", "exp(0.5*x - log(3))", False),
        ("3*x**1.7", "3.1*x**1.7", True),
        ("3*x**1.7", "exp(1.7*log(x) + log(3.3))", False),
    ],
)
def test_logarithms_powers_and_exponentials_beside_constants(
    truth: str, answer: str, *, is_identified: bool
) -> None:
    assert (verdict(truth, answer) is Verdict.IDENTIFIED) is is_identified


@pytest.mark.parametrize("most", [0.0, 5e-324, 1e-310, 1e-3])
def test_powers_beside_a_variable_that_is_mostly_zero(most: float) -> None:
    domain = {"x": (-most, most), "y": (1.0, 5.0)}
    for answer, wanted in (("3.1*y**1.72", True), ("3.5*y**1.62", False)):
        found = compare(["3*y**1.7 + x"], [f"{answer} + x"], NAMES, domain=domain).verdict
        assert (found is Verdict.IDENTIFIED) is wanted


def test_poles_that_hang_on_ratios_are_no_difference() -> None:
    domain = {"x": (1.0, 2.0), "y": (3.0, 20.0)}
    answer = compare(["x/sqrt(1 - x**2/y**2)"], ["x/sqrt(0.999 - x**2/y**2)"], NAMES, domain=domain)
    assert answer.verdict is Verdict.IDENTIFIED


def test_a_part_that_cannot_be_seen_beside_others_moves_with_all_digits() -> None:
    law, moved = (f"x*y + sqrt({c}*(x - 1e3*y)**2*9e16 + z**2*8e33)" for c in ("1", "0.97"))
    domain = {"x": (-1e-7, 1e-7), "y": (-1e-9, 1e-9), "z": (1e-30, 1e-28)}
    found = compare([law], [moved], ("x", "y", "z"), domain=domain)
    assert found.verdict is Verdict.IDENTIFIED


SHAPES = {
    "sawtooth": "{a}/pi*atan(tan(pi*(x*y - {b})/5)) + {c}",
    "steep": "{c} - {a}*y**1.25*(tanh(2200*(x - {b})) + 1)",
    "limited": "{a}*x - {c}*min(0.3*x/({b} + y), 0.7*y/(0.2 + x))",
    "pole": "{c}*x*(1 - {b}*y**2)/(1 + {a}*x*cos(y))",
    "far peak": "{c}*exp(-0.5*((x - 451.5*{b}/1.5)/{a})**2)",
}
"""Laws whose constants values hardly show, or show at a few points only."""
RANGES = {"far peak": {"x": (400.0, 500.0), "y": (0.2, 3.0)}}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("moved", "abc")
def test_constants_beside_jumps_poles_and_steep_parts_are_compared(shape: str, moved: str) -> None:
    constants = {"a": 2.3, "b": 1.5, "c": 3.7}
    truth = SHAPES[shape].format(**constants)
    domain = RANGES.get(shape, DOMAIN)
    shares = (0.999, 1.0002) if (shape, moved) == ("far peak", "b") else (0.999, 1.03)
    if (shape, moved) == ("far peak", "a"):
        shares = (0.999, 1.02)  # its square counts
    for share in (*shares, 1.08):
        other = constants | {moved: round(share * constants[moved], 7)}
        answer = SHAPES[shape].format(**other)
        writings = (answer, f"1/(1/({answer}))", f"0.5*({answer}) + ({answer})/2")
        for text in writings[: 1 if shape == "far peak" else None]:
            found = compare([truth], [text], NAMES, domain=domain).verdict
            assert (found is Verdict.IDENTIFIED) is (share < 1.05), (share, text)


@pytest.mark.parametrize("digits", [4, 5, 6, 9, 13, 17])
def test_ratios_that_printing_has_lost_are_whole(digits: int) -> None:
    def n(value: float) -> str:
        return f"{value:.{digits}g}"

    a, w = 1.17045981889897, 0.50546212293919
    truth = f"{a!r}*sin({w!r}*x) + 0.6*y"
    for text in (
        f"{n(4 * a)}*sin({n(w / 4)}*x)*cos({n(w / 4)}*x)*cos({n(w / 2)}*x) + 0.6*y",
        f"{n(2 * a)}*sin({n(w / 2)}*x)*cos({n(w / 2)}*x) + 0.6*y",
        f"{n(2 * a)}*tan({n(w / 2)}*x)/(1 + tan({n(w / 2)}*x)**2) + 0.6*y",
        f"{n(a)}*(2*sin({n(w / 4)}*x)*cos({n(w / 4)}*x)*cos({n(w / 2)}*x)*2) + 0.6*y",
    ):
        assert verdict(truth, text) is Verdict.IDENTIFIED, text
    other = f"{4 * a!r}*sin({w / 4!r}*x)*cos({w / 4!r}*x)*cos({1.002 * w / 2!r}*x) + 0.6*y"
    assert verdict(truth, other) is not Verdict.IDENTIFIED


@pytest.mark.parametrize("answer", ["x/0.0", "2*x/0", "x/(y - y)", "sin(x)/0.0 + y", "x/sin(0.0)"])
@pytest.mark.parametrize("truth", ["x + sin(y)", "x*y", "exp(x)/y"])
def test_what_divides_by_zero_is_another_equation(truth: str, answer: str) -> None:
    assert verdict(truth, answer) is Verdict.DIFFERENT


@pytest.mark.parametrize(
    ("law", "constant", "share", "is_same"),
    [
        # As many numbers have 2*sin(x/2)**2 + 0.634*cos(x/2)**2 and 1.317 - 0.683*cos(x).
        ("1 - cos(x) + 0.317*(1 + cos(x))", 0.317, 1.08, {True, False}),
        ("-0.84*x + 0.58*(y - x) + 0.73*(y - x)**3", -0.84, 1.08, {True, False}),
        ("-0.84*x + 0.58*(y - x) + 2", -0.84, 1.08, {True}),
        ("-0.84*x + 0.58*(y - x) + 0.73*(y - x)**3", 0.73, 1.08, {False}),
        ("(3*x)**2", 3.0, 1.03, {False}),
        ("sqrt(3*x)", 3.0, 1.08, {True}),
        ("(cos(x)**2 + 0.1*sin(x)**2)*y", 0.1, 1.08, {True, False}),
        ("2 + 3*sin(4*x)", 4.0, 1.08, {False}),
        ("2 + 3*sin(4*x)", 4.0, 1.03, {True}),
        # An offset of the exponent, or the factor exp(-4.37), which is 12 % off.
        ("exp(2.3*(x - 1.9))", -1.9, 1.03, {True, False}),
        ("2*x/(3 + x)", 3.0, 1.08, {False}),
        # 1.03 + exp(0.37) is 1 + exp(0.34), or 1.03 + 1.45*exp(0).
        ("1.5/(1 + exp(0.37 - 4.7*x))", 1.0, 1.03, {True, False}),
        ("1.5/(1 + exp(0.37 - 4.7*x))", 4.7, 1.03, {True}),
        ("1.5/(1 + exp(0.37 - 4.7*x))", 4.7, 1.08, {False}),
    ],
)
def test_labels_are_of_merged_terms(
    law: str, constant: float, share: float, is_same: set[bool]
) -> None:
    truth = MOVED.parametrize(MOVED.read(law, NAMES), named=False)
    layouts = MOVED.Layouts(truth.tree, len(truth.start))
    moved = [share * c if c == constant else c for c in truth.start]
    assert moved != list(truth.start)
    changes = layouts.changes(truth.start, moved)
    assert {change <= MOVED.SAME for change in changes} == is_same


def test_moved_constants_of_the_truths_of_all_suites() -> None:
    """Some pairs of some laws, the same ones each time; the benchmark has all."""
    generator = random.Random("moved constants")
    laws = list(MOVED.truths())
    pairs = []
    for suite, law in generator.sample(laws, LAWS):
        if len(law.text) > 120:  # these take long
            continue
        for move in MOVED.moves(suite, law, random.Random(law.name)):
            if move.effect is MOVED.Effect.SEEN:
                pairs += MOVED.written(move, random.Random(move.text))
    chosen = generator.sample(pairs, PAIRS)
    assert {pair.identified for pair in chosen} == {True, False}
    for pair in chosen:
        law = pair.law
        answer = compare([law.text], [pair.prediction], law.names, domain=law.ranges).verdict
        assert (answer is Verdict.IDENTIFIED) is pair.identified, (law.text, pair.prediction)


AS_WRITTEN = {
    "0.7*({a} + x)/({b} + x) - 0.4*x/(0.3 + x)": (1.0, 1.19),
    "{a} - tanh(x**2 + {b}*y**2 - 4)": (1.0, 1.5),
    "sin({a}*x) + 0.5*sin({b}*x) + 0.3*sin(8*x)": (2.0, 4.0),
    "({a} + y*cos({b}*x))*sin(x)": (5.0, 0.5),
    "sqrt({a} + (x*y*x**{b})**2)*y": (0.29, 1.7),
    "0.43 - 1.87*(x - {a})/(1 + exp(0.37 - {b}*x)) - 2.3*y*(x + 0.79)": (1.31, 4.7),
    "1/(1 + exp(-{a}*(x - {b})))": (2.69, 0.877),
}
"""Laws with constants that their shortest form does not have."""


@pytest.mark.parametrize("law", AS_WRITTEN)
def test_the_constants_of_a_law_as_it_is_written_count(law: str) -> None:
    a, b = AS_WRITTEN[law]
    truth = law.format(a=a, b=b)
    for first, second in product((0.97, 1.0, 1.03), repeat=2):
        answer = law.format(a=round(a * first, 9), b=round(b * second, 9))
        assert verdict(truth, answer) is Verdict.IDENTIFIED, (truth, answer)
    for first, second in ((1.12, 1.0), (1.0, 1.12)):
        answer = law.format(a=round(a * first, 9), b=round(b * second, 9))
        assert verdict(truth, answer) is not Verdict.IDENTIFIED, (truth, answer)


def test_a_law_of_many_constants_is_compared_as_it_is_written() -> None:
    law = (
        "{}*exp(-{}*x)*sin({}*y) + {}/({} + x**2) + {}*cos({}*x*y) + {}*tanh({}*y - {})"
        " + {}*sqrt({} + x*y) + {}*y**2 - {}"
    )
    numbers = [0.3, 0.61, 2.3, 1.7, 0.45, 0.82, 1.9, 3.1, 1.4, 2.2, 0.77, 0.53, 0.91, 4.6]
    truth = law.format(*numbers)
    for k, (share, same) in product((1, 9, 11), ((1.001, True), (1.03, True), (1.12, False))):
        moved = [round(c * share, 9) if i == k else c for i, c in enumerate(numbers)]
        assert (verdict(truth, law.format(*moved)) is Verdict.IDENTIFIED) is same, (k, share)


def test_constants_that_stand_in_for_others_do_not_count_as_they_are_written() -> None:
    # 0.5*(x + 2*y) and 0.522*(x + 1.92*y): multiplied out both constants are within 5 %.
    assert verdict("0.5*(sin(x) + 2*y)", "0.522*(sin(x) + 1.92*y)") is Verdict.IDENTIFIED
    assert verdict("0.5*(x + 2*y*x)", "0.54*x + 1.04*y*x") is Verdict.DIFFERENT
    assert verdict("(0.5*x + 1)/(1 + x)", "(0.54*x + 1.08)/(1.08 + 1.08*x)") is Verdict.IDENTIFIED


def test_a_truth_that_divides_by_zero_is_scored() -> None:
    assert verdict("x/(0.0*y) + sin(y)", "x + sin(y)") is not Verdict.IDENTIFIED
