"""A threshold is a constant like others: no strip between two of them is left unseen."""

from __future__ import annotations

import pytest

from eqverdict.fidelity.compare import compare
from eqverdict.notations import in_core_notation

DOMAIN = {"x0": (-3.0, 3.0), "x1": (-2.0, 4.0)}
NAMES = tuple(DOMAIN)
SIZES = ("6e-6", "1e-4", "0.003", "0.03", "0.1", "0.3", "0.5", "1.7", "2.5")
SHAPES = (
    "where(x0 > {c}, x0, 0)",
    "where(x0 < {c}, exp(x0), 1)",
    "x0 if x0 > {c} else x0**2",
    "Piecewise((x0**3, x0 > {c}), (1, True))",
    "max(x0, {c})",
    "max(x0 - {c}, 0)",
    "min(x0, {c})",
    "abs(x0 - {c})",
    "x0*sign(x0 - {c})",
    "(1 + sign(x0 - {c}))/2*sin(x0)",
    "where(x0 + x1 > {c}, x0, x1)",
    "where(x0**2 + x1**2 > {c}, x1, 0)",
    "max(x0*x1, {c})",
    "where(x0 > {c} and x1 > 1, x0, x1)",
    "where(x0**3 - x0 > {c}, x0, 0)",
)
WITHOUT = (
    ("max(x0, 0)", "where(x0 > {c}, x0, 0)"),
    ("max(x0, 0)", "max(x0 - {c}, 0)"),
    ("max(x0, 0)", "max(x0, {c})"),
    ("abs(x0)", "where(x0 > {c}, x0, -x0)"),
    ("sign(x0)", "where(x0 > {c}, 1, -1)"),
    ("max(x0, x1)", "where(x0 - x1 > {c}, x0, x1)"),
    ("abs(x0*x1)", "where(x0*x1 > {c}, x0*x1, -x0*x1)"),
    ("x0**2", "where(abs(x0) > {c}, x0**2, 0)"),
    ("x0", "where(x0 > {c} and x0 < 1.001*{c}, 5, x0)"),
    ("x0 + x1", "where((x0 - 1)**2 + (x1 - 1)**2 < {c}**2, 5, x0 + x1)"),
)


def verdict(truth: str, answer: str) -> str:
    texts = [in_core_notation(text, NAMES) for text in (truth, answer)]
    return str(compare(texts[:1], texts[1:], NAMES, domain=DOMAIN).verdict)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_threshold_is_right_within_five_percent(shape: str) -> None:
    for number, size in enumerate(SIZES):
        shift = (0.0, 0.01, 0.04, -0.04, 0.06, -0.06, 0.2)[number % 7]
        pair = [shape.format(c=repr(float(size) * factor)) for factor in (1.0, 1 + shift)]
        for truth, answer in (pair, pair[::-1]):
            right = verdict(truth, answer) == "identified"
            assert right is (abs(shift) < 0.05), (truth, answer)


@pytest.mark.parametrize(("truth", "shape"), WITHOUT)
def test_no_threshold_is_right_where_the_truth_has_zero(truth: str, shape: str) -> None:
    for size in SIZES:
        answer = shape.format(c=size)
        assert verdict(truth, answer) != "identified", answer
        assert verdict(answer, truth) != "identified", answer


def test_at_a_single_point_a_switch_may_have_either_value() -> None:
    assert verdict("where(x0 > 1, 2, x0)", "where(x0 >= 1, 2, x0)") == "identified"
    # ... and a region in which a condition is zero is no single point
    assert verdict("sign(max(x0, 0))", "sign(max(x0, 0)) - 1 + sign(exp(x0))") == "identified"
    assert verdict("sign(max(x0, 0))", "(1 + sign(x0))/2") == "identified"
    assert verdict("sign(max(x0, 0))", "where(x0 > 0, 1, x0)") != "identified"


def test_a_whole_division_is_compared_at_its_steps() -> None:
    assert verdict("x0//2", "floor(0.5*x0)") == "identified"
    assert verdict("x1*floor(x0)", "1.02*x1*floor(x0)") == "identified"
    assert verdict("floor(x0)", "floor(x0 - 1e-6)") != "identified"
    assert verdict("x0 - floor(x0)", "x0 - floor(x0) + 0.1*floor(x0/7)") != "identified"
    assert verdict("floor(x0)", "x0 - 0.5") != "identified"


def test_a_multiple_is_searched_like_the_law_itself() -> None:
    peak = "exp(-1e7*(x0 - 1.2345)**2)"
    assert verdict("sin(x0) + 2", "1.02*sin(x0) + 2.04") == "identified"
    assert verdict("sin(x0) + 2", f"1.02*sin(x0) + 2.04 + {peak}") != "identified"
    assert verdict("sin(x0) + 2", f"1.02*(sin(x0) + 2)*(1 + {peak})") != "identified"


@pytest.mark.parametrize("width", ["1e-6", "1e-3", "0.2"])
def test_a_window_is_no_idle_part(width: str) -> None:
    window = f"max(sign(x0 - 0.7), 0)*max(sign(0.7 + {width} - x0), 0)"
    assert verdict("x0*x1", f"x0*x1*(1 - {window})") != "identified"
    box = f"{window}*max(sign(x1 - 1.3), 0)*max(sign(1.3 + {width} - x1), 0)"
    assert verdict("x0*x1", f"x0*x1*(1 - {box})") != "identified"
