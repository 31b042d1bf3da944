"""Hostile answers end within the limit, without a traceback, and with the reason."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from eqverdict import parse
from eqverdict.errors import EquationError
from eqverdict.fidelity import limited
from eqverdict.fidelity.compare import Verdict, compare

if TYPE_CHECKING:
    from collections.abc import Callable

TRUTH = "x0*x1 + sin(x0)"
NAMES = ("x0", "x1")
DOMAIN = {"x0": (0.5, 3.0), "x1": (-2.0, 4.0)}


def nested(step: Callable[[str, int], str], depth: int) -> str:
    text = "x0"
    for number in range(depth):
        text = step(text, number)
    return text


HOSTILE = {
    "max": nested(lambda x, i: f"max({x}, x1 - {i})", 60),
    "min": nested(lambda x, i: f"min({x} + 1, x1*{i + 1})", 60),
    "abs": nested(lambda x, i: f"abs({x} - {i + 1})", 60),
    "tangents": nested(lambda x, _: f"tan({x})", 50),
    "waves": nested(lambda x, i: f"sin({x} + cos(x1*{i + 1}))", 30),
    "powers of sines": "*".join(f"sin({i + 1}*x0)**9" for i in range(12)),
    "exponentials": nested(lambda x, _: f"exp({x})", 20),
    "tower": "x0" + "**x1" * 25,
    "roots": nested(lambda x, _: f"sqrt({x} + x1)", 60),
    "logarithms": nested(lambda x, i: f"log({x} + {i + 2})", 60),
    "fractions": nested(lambda x, _: f"1/({x} + x1)", 60),
    "long product": "*".join(f"(x0 + x1 + x0*x1 + {i})" for i in range(40)),
    "power": "(x0 + x1 + 1)**999",
    "factorials": "x0! + x1!!",
    "gamma": "gamma(x0)*factorial(x1)",
    "whole number": "x0*" + "9" * 5000,
    "terms": "+".join(f"{i}*x0" for i in range(100_000)),
    "brackets": "(" * 5000 + "x0" + ")" * 5000,
    "choices": nested(lambda x, i: f"where(x0 > {i}, x1, {x})", 60),
    "conditions": nested(lambda x, i: f"where({x} > {i}, x0, x1)", 60),
    "Piecewise": f"Piecewise({', '.join(f'(x0 + {i}, x0 < {i})' for i in range(500))}, (0, True))",
    "cube roots": nested(lambda x, _: f"cbrt({x})", 40),
    "letters": "x₀²·√(x₁) + ∑x",
    "no width": "x0\u200b + x1",
    "half a pair": "x0 + \ud800",
    "pi": "*".join(["pi"] * 900) + "*x0",
    "digits": "9" * 90 + "*x0**999",
}
SECONDS = 1


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_answer_ends_with_a_reason(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limited, "SECONDS", SECONDS)
    text = ""
    with suppress(EquationError):
        text = parse(HOSTILE[kind], NAMES).text
    if not text:
        return  # an answer that is refused at once
    scores = limited.score_terms([TRUTH], [text], NAMES, domain=DOMAIN, skeleton=True)
    assert not scores.identified
    assert not scores.skeleton
    if scores.reason:
        assert scores.verdict is Verdict.NOT_IDENTIFIED
        assert scores.reason.startswith("no verdict: ")
        assert "reference seconds" in scores.reason


def test_what_takes_too_long_is_not_identified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limited, "SECONDS", SECONDS)
    text = HOSTILE["powers of sines"] + " + x1"
    scores = limited.score_terms([TRUTH], [text], NAMES, domain=DOMAIN)
    assert scores.identified is False
    assert scores.reason == (
        "no verdict: it took too long; an answer may take 1 reference seconds and 1 GiB of memory"
    )
    # ... and the next answer has a new process
    assert limited.score_terms([TRUTH], [TRUTH], NAMES, domain=DOMAIN).identified


@pytest.mark.parametrize(
    "answer",
    [
        TRUTH,
        "x1*x0 + 1.02*sin(x0)",
        "x0*x1",
        "x0*x1 + 2*sin(x0)",
        "x0*x1 + cos(x0 - 1.57)",
        "exp(x0)",
        "x0*x1 + sin(x0)*tanh(1e7*x0)",
    ],
)
def test_within_the_limit_nothing_differs(answer: str) -> None:
    found = limited.score_terms([TRUTH], [answer], NAMES, domain=DOMAIN, skeleton=True)
    wanted = compare([TRUTH], [answer], NAMES, domain=DOMAIN)
    assert not found.reason
    for name in ("verdict", "identified", "f1", "precision", "recall", "edit_distance"):
        assert getattr(found, name) == getattr(wanted, name)
    for name in ("coefficient_error", "constants_off", "matched", "missing", "extra"):
        assert getattr(found, name) == getattr(wanted, name)
    assert found.numerical == wanted.findings.numerical.value
    assert list(found.explanations) == [each.explanation for each in wanted.by_equation]
    assert list(found.extra_structure) == [each.extra_structure for each in wanted.by_equation]


def test_a_truth_that_cannot_be_read_is_an_error() -> None:
    with pytest.raises(EquationError, match="unknown name"):
        limited.score_terms(["y"], ["x0"], NAMES)
