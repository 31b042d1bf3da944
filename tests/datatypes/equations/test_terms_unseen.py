"""Terms that nobody can see are neither missing nor required."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from mdbench.datatypes.equations.terms import compare_with_truth, without_unseen

NAMES = ("u0", "u0_x", "u0_xx")
TRUTH = ["-u0*u0_x + 0.001*u0_xx", "2*u0"]
UNSEEN = (("u0_t", "u0_xx"),)


@dataclass
class _Task:
    """As much of a task as is looked at."""

    dataset: Any
    variables: tuple[str, ...] = NAMES
    targets: tuple[str, ...] = ("u0_t", "u1_t")

    def __post_init__(self) -> None:
        columns = dict(zip(NAMES, np.random.default_rng(0).random((3, 50)), strict=True))
        self.test = self.refit = SimpleNamespace(columns=columns, targets=np.ones((50, 2)))


def scores(*answer: str, unseen: Any = UNSEEN) -> Any:
    return compare_with_truth(TRUTH, answer, _Task(SimpleNamespace(unseen_terms=unseen)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("first", "named"),
    [
        ("-u0*u0_x", True),
        ("-u0*u0_x + 0.001*u0_xx", False),
        ("-0.97*u0*u0_x + 0.0017*u0_xx", True),
        ("u0*(0.0*u0 - u0_x)", True),
    ],
)
def test_an_answer_may_have_them_or_not(first: str, named: bool) -> None:
    found = scores(first, "2*u0")
    assert found.metrics["identified"] == 1.0
    assert found.metrics["f1"] == 1.0
    assert "missing" not in found.notes
    assert found.notes.get("unseen") == (["u0_t: 0.001*u0_xx"] if named else None)


def test_all_else_counts_as_ever() -> None:
    assert scores("-u0*u0_x", "u0").metrics["identified"] == 0.0
    assert scores("-u0*u0_x + 0.3*u0_xx", "2*u0").metrics["one_term_off"] == 1.0
    assert scores("-u0*u0_x", "2*u0 + u0_xx").metrics["one_term_off"] == 1.0
    assert scores("-u0*u0_x", "2*u0", unseen=()).metrics["identified"] == 0.0
    plain = compare_with_truth(TRUTH, TRUTH, _Task(SimpleNamespace()))  # type: ignore[arg-type]
    assert plain.metrics["identified"] == 1.0


def test_what_is_too_large_stays_as_it_is() -> None:
    large = "(u0 + u0_x + u0_xx + 1)**24*(u0 + u0_x + u0_xx + 2)**24"
    args = (("u0_t",), (("u0_t", "u0"),), NAMES)
    assert without_unseen([large], ["u0"], *args) == ([large], ["u0"], [])
    # A term that is named and is not there is nothing.
    assert without_unseen(["u0_x"], ["u0"], *args) == (["u0_x"], ["u0"], [])
