"""Whether methods have the order that SRBench published: by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from findings import known
from rank_correlation import METHODS, Pair, chance_of_goal, correlation, pairs, ranks_text
from reporting import EXAMPLE, result

if TYPE_CHECKING:
    from mdbench.records import Record

PUBLISHED = {"aifeynman": 0.5578, "afp_fe": 0.2698, "gp_gomea": 0.2683, "afp": 0.2112}


def solved(method: str, place: int, right: bool, **changes: Any) -> Record:
    changes = {"dataset": f"srbench-feynman-i.{place}", "data_type": "srsd"} | changes
    return result(method, **changes, scores={"srbench_solution": float(right)})


def jobs(**counts: int) -> list[Record]:
    """Make ten laws for each method, of which it solves as many as asked."""
    return [solved(name, n, n < count) for name, count in counts.items() for n in range(10)]


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({"aifeynman": 9, "afp_fe": 5, "gp_gomea": 4, "afp": 1}, 1.0),
        ({"aifeynman": 1, "afp_fe": 4, "gp_gomea": 5, "afp": 9}, -1.0),
        ({"aifeynman": 0, "afp_fe": 5, "gp_gomea": 4, "afp": 1}, -0.2),  # 1 - 6*12/60
        ({"aifeynman": 9, "afp_fe": 5}, None),
        ({"aifeynman": 3, "afp_fe": 3, "afp": 3}, None),
    ],
)
def test_the_correlation_is_that_of_the_ranks(
    counts: dict[str, int], expected: float | None
) -> None:
    found = pairs(jobs(**counts))
    assert {one.method: one.published for one in found} == {
        name: pytest.approx(PUBLISHED[name], abs=5e-5) for name in counts
    }
    assert correlation(found) == (None if expected is None else pytest.approx(expected))


def test_the_chance_of_the_goal_is_that_of_all_outcomes() -> None:
    methods = [("aifeynman", 0.6), ("afp_fe", 0.3), ("afp", 0.2)]
    one = [Pair(name, 0.0, share, 1, 0) for name, share in methods]
    # Of eight outcomes only the first alone, and the first with the second, reach 0.7 (0.87).
    assert chance_of_goal(one) == pytest.approx(0.6 * (1 - 0.2), abs=0.02)
    many = [pair._replace(jobs=10_000) for pair in one]
    assert chance_of_goal(many) == 1.0
    alike = [pair._replace(published=0.0) for pair in one]
    assert chance_of_goal(alike) == 0.0


def test_only_clean_laws_that_all_methods_have_count_under_strict() -> None:
    ones = jobs(aifeynman=9, afp_fe=5, afp=1)
    ones += [
        solved("afp", 11, True),  # of afp alone
        solved("afp", 0, False, dataset="srbench-strogatz-vdp1"),
        solved("afp", 1, False, snr_db=20.0),
        solved("afp", 1, False, protocol="published"),
        solved("afp", 1, False, dataset="srbench-feynman-i.1+noise=0.01"),
        solved("afp", 1, False, data_type="surface"),
        solved("screening", 1, True),
    ]
    assert [(one.method, one.here, one.jobs) for one in pairs(ones)] == [
        ("aifeynman", 0.9, 10),
        ("afp_fe", 0.5, 10),
        ("afp", 0.1, 10),
    ]


def test_what_was_not_measured_is_counted_and_left_out_of_the_second_number() -> None:
    ones = jobs(afp_fe=5, gp_gomea=4, afp=1)
    early = EXAMPLE["budget"] | {"work_s": 2.0}
    ones += [solved("aifeynman", n, False, status="timeout", budget=early) for n in range(10)]
    text = ranks_text(ones)
    assert "of 4 methods is **-0.20**" in text
    assert (
        "Of 1 of these most jobs were ended too early to be measured; without them it is 1.00"
        in text
    )
    assert "| aifeynman | 0.0% [0% … 28%] | 55.8% | 10 | 10 |" in text
    assert "| afp § | 10.0% [2% … 40%] | 21.1% | 10 | 0 |" in text
    assert ranks_text([]).startswith("No three of these methods")


def test_the_methods_are_here() -> None:
    assert len(METHODS) == 8
    assert set(METHODS) <= {one.name for one in known()}
