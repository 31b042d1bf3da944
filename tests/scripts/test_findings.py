"""Findings and tables of what was identified: by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from findings import compared, finding_of_work, median_work, recovered_table
from reporting import result

from mdbench.records import Status

if TYPE_CHECKING:
    from mdbench.records import Record


def job(
    method: str, system: str, found: float | None, snr_db: float | None = None, seed: int = 0
) -> Record:
    scores = {"identified": found}
    budget = {"timeout_s": 110.0, "work_s": 5.0, "threads": 1}
    return result(method, system, scores=scores, snr_db=snr_db, seed=seed, budget=budget)


def campaign() -> list[Record]:
    """Two methods on five systems at two levels with two seeds; `good` finds all clean ones."""
    ones = []
    for place in range(5):
        for seed in (0, 1):
            ones += [
                job("good", f"s{place}", 1.0, seed=seed),
                job("bad", f"s{place}", float(place == seed), seed=seed),
                job("good", f"s{place}", float(place == 0), 30.0, seed),
                job("bad", f"s{place}", 0.0, 30.0, seed),
            ]
    return ones


def test_counts_intervals_and_seeds_that_disagree() -> None:
    head, _, first, second = recovered_table(campaign()).splitlines()
    assert head == "| method | clean | 30 dB | all | seeds disagree | work |"
    cells = [cell.strip() for cell in first.strip("|").split("|")]
    assert cells[0] == "good"
    assert cells[1] == "10 of 10 [48% … 100%]"  # exact: five systems, 0.025**(1/5)
    assert cells[2].startswith("2 of 10 [0% … ")
    assert cells[3].startswith("12 of 20 [")
    assert cells[4] == "0 of 10"
    # Systems 0 and 1 were each identified with one seed of two.
    assert [cell.strip() for cell in second.strip("|").split("|")][4] == "2 of 10"
    assert "| bad | 2 of 10 [" in second


def test_the_work_of_an_even_number_of_jobs_is_between_the_middle_two() -> None:
    ones = [job("good", f"s{place}", 1.0) for place in range(4)]
    measured = [
        one.model_copy(update={"measured": one.measured.model_copy(update={"work_s": work_s})})
        for one, work_s in zip(ones, (8.0, 1.0, 2.0, 3.0), strict=True)
    ]
    assert recovered_table(measured).endswith("| 2.50 s |")


def test_work_is_that_of_the_jobs_whose_shares_stand_beside_it() -> None:
    alone, shared = job("good", "only-good-has-it", 1.0), job("good", "s0", 1.0)
    ones = [
        one.model_copy(update={"measured": one.measured.model_copy(update={"work_s": work_s})})
        for one, work_s in ((alone, 8.0), (shared, 1.0), (job("bad", "s0", 0.0), 2.0))
    ]
    assert median_work(ones, compared(ones)) == {"good": 1.0, "bad": 2.0}
    assert [line.split("|")[-2] for line in recovered_table(ones).splitlines()[2:]] == [
        " 1.00 s ",
        " 2.00 s ",
    ]


def test_methods_designed_here_have_a_sign() -> None:
    table = recovered_table([job("integral", "s0", 1.0), job("operon", "s0", 0.0)])
    names = [line.split("|")[1].strip() for line in table.splitlines()[2:]]
    assert names == ["integral ‡", "operon"]


def test_only_jobs_of_all_methods_count_and_a_failure_is_a_miss() -> None:
    ones = campaign()
    ones[0] = ones[0].model_copy(update={"status": Status.TIMEOUT, "metrics": {}})
    ones[1] = ones[1].model_copy(update={"status": Status.UNAVAILABLE})  # no attempt
    ones.append(job("good", "more", 1.0))
    ones.append(job("truth", "s0", 1.0))
    found = compared(ones)
    assert list(found) == ["good", "bad"]
    assert {len(each) for each in found.values()} == {19}
    assert sum(found["good"].values()) == 11  # the job that failed is the one `bad` lacks
    undecided = [job("a", "s0", None), job("b", "s0", 1.0)]
    assert compared(undecided) == {"a": {}, "b": {}}


def test_the_finding_names_the_best_the_second_and_the_last() -> None:
    text = finding_of_work(campaign())
    assert text.startswith("**Of 2 methods with the same budget (work 5.0 s a job), ")
    assert "on clean data `good` identifies 10 of 10, then `bad` 2" in text
    assert "at 30 dB `good` identifies 2 of 10, then `bad` 0" in text
    assert "the 20 of 20 cases" in text
    assert finding_of_work([]) == "No record is here yet."
    apart = [job("a", "s0", 1.0), job("b", "s1", 1.0)]
    assert finding_of_work(apart) == "No job has a record of every method yet."
