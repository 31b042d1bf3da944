"""One function has one verdict, however it and the truth are written."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

import pytest
from harness import ROOT
from rewritings import DOMAIN, NAMES, TEMPLATES, drawn, writings
from sweeps import sampled

from eqverdict.fidelity.compare import Verdict, compare

if TYPE_CHECKING:
    from collections.abc import Iterator

PAIRS = 300


def verdicts(seed: int) -> Iterator[tuple[str, str, str]]:
    """Compare all writings of an answer with the truth, and the answer with all of the truth."""
    pair = drawn(seed)
    truths, answers = writings(pair.truth), writings(pair.answer)
    for truth, answer in [(truths[0], each) for each in answers] + [
        (each, answers[0]) for each in truths[1:]
    ]:
        found = compare([truth], [answer], NAMES, domain=DOMAIN).verdict
        yield found.value, truth, answer


def one_verdict(seed: int) -> None:
    """Compare all writings of a pair, which have one verdict, and the right one."""
    pair = drawn(seed)
    found = list(verdicts(seed))
    assert len({verdict for verdict, _, _ in found}) == 1, (pair.change, found)
    if pair.identified is not None:
        assert (found[0][0] == "identified") is pair.identified, (pair.change, found[0])


@pytest.mark.parametrize("seed", sampled(range(len(TEMPLATES)), share=0.5))
def test_a_verdict_does_not_depend_on_the_writing(seed: int) -> None:
    one_verdict(seed)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(len(TEMPLATES), PAIRS))
def test_no_verdict_depends_on_the_writing(seed: int) -> None:
    one_verdict(seed)


def test_the_pairs_are_of_all_kinds() -> None:
    kinds = {drawn(seed).change for seed in range(len(TEMPLATES))}
    assert kinds == {"same", "near", "far", "term", "leak", "little"}


PAGE = (ROOT / "docs" / "fidelity.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(
    r"(?m)^\| `(.+?)` \| `(.+?)` \| ([a-z ]+?) \| (.+?) \|$", PAGE.partition("<!-- examples -->")[2]
)


def test_the_page_has_its_examples() -> None:
    assert len(EXAMPLES) == 35


@pytest.mark.parametrize(("truth", "answer", "verdict", "why"), EXAMPLES)
def test_an_example_of_the_page(truth: str, answer: str, verdict: str, why: str) -> None:
    domain = {"u0": (0.1, 3.0), "u1": (-1.0, 1.0)}
    found = compare([truth], [answer], ("u0", "u1"), domain=domain)
    assert found.verdict.value.replace("_", " ") == verdict
    assert found.by_equation[0].extra_structure is why.endswith(": noted")


@pytest.mark.parametrize(
    ("truth", "answer", "constant"),
    [
        (
            "x0/(4*pi*x4*x1**2)*(4*pi*x4*x2*x3 - x0*x3*x1**3/(x1**2 - x3**2)**2)",
            "x0*x2*x3/x1**2 - {}*x0**2*x1*x3/x4/(x1**2 - x3**2)**2",
            1 / (4 * math.pi),
        ),
        ("pi*x0/(x0 - x1)**3 + x1", "x1 + {}*x0/(x0 - x1)**3", math.pi),
        ("x0/(x1**2 - x2**2)**2/pi**2 + x1", "x1 + {}*x0/(x1**2 - x2**2)**2", math.pi**-2),
    ],
)
@pytest.mark.parametrize("digits", [2, 5, 8, 9, 12, 14])
def test_a_constant_of_any_number_of_digits_is_the_constant_next_to_a_pole(
    truth: str, answer: str, constant: float, digits: int
) -> None:
    # Next to a pole the last digits of all constants that may move change values by much.
    names = [f"x{place}" for place in range(5)]
    found = compare([truth], [answer.format(f"{constant:.{digits}g}")], names)
    assert found.verdict is Verdict.IDENTIFIED


@pytest.mark.parametrize("share", [0.06, 0.2, -0.1])
def test_another_constant_is_another_one_next_to_a_pole(share: float) -> None:
    truth, answer = "pi*x0/(x0 - x1)**3 + x1", "x1 + {}*x0/(x0 - x1)**3"
    found = compare([truth], [answer.format(math.pi * (1 + share))], ["x0", "x1"])
    assert found.verdict is Verdict.DIFFERENT
