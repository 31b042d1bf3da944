"""The cases of edition 2's long table are those that its seed draws."""

from __future__ import annotations

import tomllib
from collections import Counter

import pytest
from edition_draw import drawn, draws
from harness import ROOT

STUDY = tomllib.loads((ROOT / "studies" / "edition-2-long.toml").read_text(encoding="utf-8"))


def test_the_study_has_the_cases_that_are_drawn() -> None:
    lists = draws()
    assert [grid["dataset"] for grid in STUDY["grid"]] == [
        lists[name]
        for name in (
            "systems",
            "laws",
            "laws with 300 reference seconds",
            "surfaces",
            "fields",
            "tables",
        )
    ]
    assert [len(cases) for cases in lists.values()] == [20, 30, 15, 20, 6, 8, 7, 10, 7, 2, 3, 15]
    assert set(lists["laws with 300 reference seconds"]) < set(lists["laws"])
    order = tomllib.loads((ROOT / "studies" / "srbench-order.toml").read_text(encoding="utf-8"))
    for grid in order["grid"]:
        assert grid["dataset"] == lists["laws for the order of SRBench"]


def test_noise_and_second_seeds_are_of_the_drawn_cases() -> None:
    lists = draws()
    noise, seeds = (
        tomllib.loads((ROOT / "studies" / f"edition-2-{name}.toml").read_text(encoding="utf-8"))
        for name in ("noise", "seeds")
    )
    assert [grid["dataset"] for grid in noise["grid"]] == [
        lists[name] for name in ("laws", "laws", "systems", "fields")
    ]
    assert [grid["dataset"] for grid in seeds["grid"]] == [
        lists[f"{name} with a second seed"]
        for name in ("systems", "laws", "surfaces", "fields", "tables")
    ]
    # Methods and budgets of second seeds are those of the long table.
    by_type = {grid["data_type"]: grid for grid in reversed(STUDY["grid"]) if grid["work"] != 300}
    for grid in seeds["grid"]:
        for key in ("algorithm", "work"):
            assert grid[key] == by_type[grid["data_type"]][key]


@pytest.mark.parametrize("count", [1, 3, 7, 20, 36])
def test_each_stratum_has_its_share(count: int) -> None:
    strata = {f"case {number}": "abcd"[number % 9 % 4] for number in range(36)}
    whole = Counter(strata.values())
    chosen = Counter(strata[case] for case in drawn(strata, count))
    assert chosen.total() == count
    for stratum, size in whole.items():
        assert abs(chosen[stratum] - count * size / len(strata)) < 1


def test_the_draw_is_by_seed_and_name_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    strata = {f"case {number}": "one" for number in range(20)}
    cases = drawn(strata, 5)
    assert drawn(dict(reversed(strata.items())), 5) == cases
    # One more case in a stratum changes one of those drawn at most.
    assert len({*cases} - {*drawn(strata | {"another": "one"}, 5)}) <= 1
    monkeypatch.setattr("edition_draw.SEED", "another seed")
    assert drawn(strata, 5) != cases
