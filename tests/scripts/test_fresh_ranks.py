"""Ranks on fresh problems compared with those on others, against counts by hand."""

from __future__ import annotations

import random
from typing import Any

import pytest
from fresh_ranks import ranks_finding, ranks_of, ranks_table
from reporting import result
from scipy.stats import kendalltau, spearmanr

SHARES = {"a": (0.9, 0.8), "b": (0.6, 0.7), "c": (0.3, 0.1), "d": (0.3, 0.2)}
SYSTEMS = 20


def records(shares: dict[str, tuple[float, float]] = SHARES) -> list[Any]:
    """Return records in which a method identifies that share of the systems of each suite."""
    return [
        result(
            method,
            f"{name}-{number:02}",
            scores={"identified": float(number < share * SYSTEMS)},
        )
        for method, both in shares.items()
        for name, share in zip(("fresh-x", "known"), both, strict=True)
        for number in range(SYSTEMS)
    ]


def test_correlations_are_those_of_the_shares() -> None:
    found = ranks_of(records())
    fresh, known = zip(*SHARES.values(), strict=True)
    assert found.spearman == pytest.approx(spearmanr(fresh, known).statistic)
    assert found.kendall == pytest.approx(kendalltau(fresh, known).statistic)
    assert -1 <= found.low <= found.spearman <= found.high <= 1
    turned = {method: (both[0], 1 - both[0]) for method, both in SHARES.items()}
    assert ranks_of(records(turned)).spearman == pytest.approx(-1)


def test_laws_have_the_name_of_their_suite_and_no_second_start() -> None:
    laws = [one.model_copy(update={"data_type": "srsd"}) for one in records()]
    text = ranks_finding(laws)
    assert "on laws that nobody had seen and on SRSD have" in text
    assert "First on fresh laws: `a` (18 of 20); on SRSD: `a` (16 of 20)" in text
    head, _, first, *_ = ranks_table(laws).splitlines()
    assert [cell.strip() for cell in head.strip("|").split("|")] == [
        "method",
        *("fresh: identified", "rank"),
        *("SRSD: identified", "rank"),
    ]
    assert len(first.split("|")) == len(head.split("|"))


def test_only_cases_count_that_all_methods_have() -> None:
    ones = records()
    lacking = [one for one in ones if (one.method, one.system) != ("a", "known-00")]
    found = ranks_of(lacking)
    assert {len(each) for each in found.known.values()} == {SYSTEMS - 1}
    assert {len(each) for each in found.fresh.values()} == {SYSTEMS}


def test_the_order_of_records_does_not_matter() -> None:
    ones = records()
    mixed = random.Random(1).sample(ones, len(ones))
    assert ranks_finding(mixed) == ranks_finding(ones)


def test_ties_have_their_mean_rank_and_are_both_first() -> None:
    text = ranks_table(records())
    lines = {line.split("|")[1].strip(): line.split("|") for line in text.splitlines()[2:]}
    assert lines["a"][3].strip() == "1"
    assert {lines[method][3].strip() for method in "cd"} == {"3.5"}
    assert lines["c"][2].strip().startswith("6 of 20")
    same = {"a": (0.5, 0.5), "b": (0.5, 0.5), "c": (0.1, 0.2)}
    assert "First on fresh systems: `a` and `b` (10 of 20)" in ranks_finding(records(same))
