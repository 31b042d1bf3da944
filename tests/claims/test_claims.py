"""Claims: when records confirm, contradict or cannot say; and files of claims that are wrong."""

from __future__ import annotations

import json
import math
import re
import tomllib
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
from harness import ROOT
from hypothesis import given
from hypothesis import strategies as st
from reporting import result

from mdbench.claims.judge import (
    ALIKE,
    Agreement,
    Budget,
    Measured,
    Outcome,
    Verdict,
    agreement_of,
    budget_of,
    decide,
    judge,
)
from mdbench.claims.read import CASES, Claim, Paper, Table, read_paper, read_papers
from mdbench.cli import main
from mdbench.cli.options import Exit
from mdbench.datatypes.ode.data_type import Ode
from mdbench.errors import DataError
from mdbench.reports.comparison import papers_of_sets, read_published, read_published_sets
from mdbench.reports.statistics import wilson

if TYPE_CHECKING:
    from pathlib import Path

    from mdbench.records import Record

SPECS = {spec.name: spec for spec in Ode.metrics}
SYSTEMS = [f"system-{number}" for number in range(20)]
CONDITIONS = {"place": "Table 1", "protocol": "strict", "limit_s": 100.0}


def claim(**changes: Any) -> Claim:
    own: dict[str, Any] = {"method": "sindy", "data_type": "ode", "set": "twenty"}
    own |= {"metric": "identified", "value": 0.5, "cases": 20, **CONDITIONS}
    return Claim(**{**own, **changes})


def records(
    identified: int = 10,
    *,
    timeout_s: float = 100.0,
    used: float = 90.0,
    of: int = 20,
    algorithm: str = "sindy",
    **changes: Any,
) -> list[Record]:
    """Make a record of each system; the first so many are identified."""
    budget = {"timeout_s": timeout_s, "threads": 1}
    made = {"snr_db": None, "options": {}, "dataset_path": None, "budget": budget, **changes}
    return [
        result(
            algorithm,
            name,
            wall_s=used,
            scores={"identified": float(number < identified)},
            **made,
        ).model_copy(update={"measured": measured(used)})
        for number, name in enumerate(SYSTEMS[:of])
    ]


def measured(used: float) -> Any:
    own = result("sindy", "any").measured
    return own.model_copy(update={"wall_s": used, "cpu_s": used, "work_s": None})


def verdict(one: Claim, ones: list[Record]) -> Verdict:
    return judge(one, ones, SPECS.get(one.metric), SYSTEMS, {"sindy"})


@pytest.mark.parametrize("identified", range(len(SYSTEMS) + 1))
def test_code_of_our_own_neither_confirms_nor_contradicts(identified: int) -> None:
    one = claim()
    judged = judge(
        one, records(identified), SPECS.get(one.metric), SYSTEMS, {"sindy"}, own_code={"sindy"}
    )
    assert judged.outcome is Outcome.CANNOT_SAY
    assert judged.measured == pytest.approx(identified / len(SYSTEMS))  # shown all the same
    assert "own" in judged.reason
    package = verdict(one, records(identified))
    assert package.outcome is not Outcome.CANNOT_SAY


CURVES = st.lists(st.integers(0, 20), min_size=5, max_size=5).map(sorted)


@given(CURVES, st.integers(0, 4), st.integers(0, 4), st.integers(0, 20), st.booleans())
def test_no_verdict_is_false_of_a_method_that_becomes_no_worse_with_time(
    curve: list[int], own: int, there: int, value: int, reaches: bool
) -> None:
    """Without any error of sampling a verdict follows from the order of times and values."""
    budget = Budget.ALIKE if own == there else Budget.LESS if own < there else Budget.MORE
    here = curve[own]
    agreement = (
        Agreement.ALIKE if here == value else Agreement.BETTER if here > value else Agreement.WORSE
    )
    outcome, reason = decide(budget, agreement, reaches=reaches)
    is_true = curve[there] >= value if reaches else curve[there] == value
    assert reason
    if outcome is Outcome.CONTRADICTED:
        assert not is_true
    if outcome is Outcome.CONFIRMED and (reaches or own == there):
        assert is_true
    if own == there:
        assert outcome is not Outcome.CANNOT_SAY


@pytest.mark.parametrize("agreement", list(Agreement))
@pytest.mark.parametrize("reaches", [True, False])
def test_nothing_follows_where_the_papers_time_is_unknown(
    agreement: Agreement, reaches: bool
) -> None:
    assert decide(Budget.UNKNOWN, agreement, reaches=reaches)[0] is Outcome.CANNOT_SAY


@pytest.mark.parametrize("share", [0.05, 0.3, 0.5, 0.9])
@pytest.mark.parametrize(("here", "there"), [(20, 20), (63, 30), (10, 130)])
def test_two_samples_of_one_share_disagree_in_about_a_twentieth_of_all_pairs(
    share: float, here: int, there: int
) -> None:
    """Counted out over all pairs of samples, each with its probability."""

    def chance(number: int, of: int) -> float:
        return math.comb(of, number) * share**number * (1 - share) ** (of - number)

    disagree = sum(
        chance(own, here) * chance(other, there)
        for own, other in product(range(here + 1), range(there + 1))
        if agreement(own / here, here, other / there, there) is not Agreement.ALIKE
    )
    assert disagree < 0.085


def agreement(own: float, here: int, value: float, there: int | None) -> Agreement:
    names = tuple(map(str, range(here)))
    found = Measured(own, *wilson(own, here), names, flag=True)
    return agreement_of(value, there, found, SPECS["identified"])


def test_shares_far_apart_disagree_and_more_cases_see_smaller_differences() -> None:
    assert agreement(0.9, 20, 0.2, 20) is Agreement.BETTER
    assert agreement(0.2, 20, 0.9, 20) is Agreement.WORSE
    assert agreement(0.5, 20, 0.7, 20) is Agreement.ALIKE
    assert agreement(0.5, 2000, 0.7, 2000) is Agreement.WORSE


@given(st.integers(1, 130), st.integers(1, 130))
def test_a_value_agrees_with_itself(number: int, of: int) -> None:
    share = min(number, of) / of
    assert agreement(share, of, share, of) is Agreement.ALIKE
    assert agreement(share, of, share, None) is Agreement.ALIKE


BOUND: dict[str, Any] = {"status": "partial", "used": 99.0}


@pytest.mark.parametrize(
    ("identified", "made", "outcome"),
    [
        (10, {}, Outcome.CONFIRMED),
        (10, {"timeout_s": 10.0, **BOUND}, Outcome.CONFIRMED),
        (10, {"timeout_s": 1000.0, **BOUND}, Outcome.CANNOT_SAY),
        (1, {}, Outcome.CONTRADICTED),
        (1, {"timeout_s": 10.0, **BOUND}, Outcome.CANNOT_SAY),
        (1, {"timeout_s": 1000.0, **BOUND}, Outcome.CONTRADICTED),
        (20, {}, Outcome.CONTRADICTED),
        (20, {"timeout_s": 10.0, **BOUND}, Outcome.CONTRADICTED),
        (20, {"timeout_s": 1000.0, **BOUND}, Outcome.CANNOT_SAY),
        # What ends by itself would have ended so under the claim's budget, too.
        (1, {"timeout_s": 10.0, "used": 1.0}, Outcome.CONTRADICTED),
        (10, {"timeout_s": 1000.0, "used": 1.0}, Outcome.CONFIRMED),
        # ... unless it needs more than that was.
        (10, {"timeout_s": 5000.0, "used": 2000.0}, Outcome.CANNOT_SAY),
    ],
)
def test_a_shorter_budget_confirms_and_a_longer_one_contradicts(
    identified: int, made: dict[str, Any], outcome: Outcome
) -> None:
    found = verdict(claim(), records(identified, **made))
    assert (found.outcome, bool(found.reason)) == (outcome, True)
    assert found.measured == pytest.approx(identified / 20)


def test_a_claim_of_eight_hours_is_not_contradicted_by_ten_seconds() -> None:
    eight_hours = claim(limit_s=28800.0, value=0.3)
    short: dict[str, Any] = {"timeout_s": 10.0, "status": "partial", "used": 10.0}
    assert verdict(eight_hours, records(0, **short)).outcome is Outcome.CANNOT_SAY
    assert "10 s here, 8.0 h there" in verdict(eight_hours, records(0, **short)).reason.replace(
        "\xa0", " "
    )
    assert verdict(eight_hours, records(6, **short)).outcome is Outcome.CONFIRMED


@pytest.mark.parametrize(
    ("changes", "made", "reason"),
    [
        ({"unlike": "by eye"}, {}, "by eye"),
        ({"metric": "beauty"}, {}, "no such metric"),
        ({"method": "operon"}, {}, "this benchmark has no such method"),
        ({}, {"algorithm": "esindy"}, "no record of this method"),
        ({"snr_db": 20.0}, {}, "other noise: clean"),
        ({}, {"snr_db": 20.0}, "other noise: 20 dB"),
        ({"protocol": "published"}, {}, "other protocol: strict"),
        ({"variant": "released"}, {}, "other version of the data: made here"),
        ({}, {"options": {"variant": "released"}}, "other version of the data: released"),
        ({}, {"options": {"derivatives": "fd"}}, "other derivatives"),
        ({"choice": "own"}, {}, "other choice among candidates: benchmark"),
        ({"choice": "benchmark"}, {"options": {"choice": "own"}}, "other choice"),
        ({}, {"dataset_path": "mine.csv"}, "no record on these data"),
        ({}, {"status": "unsupported"}, "not attempted"),
        ({"metric": "follows_unseen"}, {}, "not scored by this metric"),
        ({"limit_s": None}, BOUND, "the paper's time is not known"),
        ({}, {"of": 19}, "records of 19 of 20 cases"),
    ],
)
def test_what_is_not_alike_says_nothing_and_why(
    changes: dict[str, Any], made: dict[str, Any], reason: str
) -> None:
    found = verdict(claim(**changes), records(**made))
    assert found.outcome is Outcome.CANNOT_SAY
    assert found.reason.startswith(reason)


@pytest.mark.parametrize("condition", ["protocol", "variant", "choice", "snr_db", "method"])
def test_each_condition_that_is_alike_lets_records_speak(condition: str) -> None:
    options = {"variant": "released", "choice": "own"}
    ones = records(snr_db=20.0, protocol="published", options=options)
    alike: dict[str, Any] = {"protocol": "published", "snr_db": 20.0, **options}
    assert verdict(claim(**alike), ones).outcome is Outcome.CONFIRMED
    alike.pop(condition, None)
    other = {"protocol": "strict", "choice": "benchmark", "method": "other"}.get(condition)
    changed = alike | ({condition: other} if other else {})
    assert verdict(claim(**changed), ones).outcome is Outcome.CANNOT_SAY


def test_where_a_paper_prints_each_case_the_same_cases_are_compared() -> None:
    by_case = {name: float(number < 10) for number, name in enumerate(SYSTEMS)}
    one = claim(by_case=by_case)
    found = verdict(one, records(10, of=12))
    assert (found.outcome, found.cases, found.claimed) == (Outcome.CONFIRMED, 12, 10 / 12)
    assert "12 of 20" in found.reason
    assert verdict(one, records(0, of=12)).outcome is Outcome.CONTRADICTED
    assert verdict(one, records(0, of=3)).outcome is Outcome.CANNOT_SAY


def test_failures_count_and_seeds_are_merged_before_cases() -> None:
    failed = records(20, status="failed", used=1.0)
    assert verdict(claim(), failed).measured == 0.0
    seeds = [*records(20, seed=0), *records(0, seed=1)]
    assert verdict(claim(), seeds).measured == pytest.approx(0.5)
    assert verdict(claim(), seeds).cases == 20


def test_what_the_scorer_could_not_decide_widens_the_interval() -> None:
    ones = [
        one.model_copy(update={"metrics": {"identified": None}}) if number < 10 else one
        for number, one in enumerate(records(0))
    ]
    found = verdict(claim(value=0.4), ones)
    assert found.outcome is Outcome.CONFIRMED
    assert (found.low, found.high) == (wilson(0.0, 20)[0], wilson(0.5, 20)[1])
    none = [one.model_copy(update={"metrics": {"identified": None}}) for one in records()]
    assert verdict(claim(), none).outcome is Outcome.CANNOT_SAY


def test_two_budgets_that_disagree_say_nothing() -> None:
    both = [*records(10), *records(1, timeout_s=150.0, **BOUND)]
    assert "disagree" in verdict(claim(), both).reason
    # What cannot say anything does not silence what can.
    shorter = [*records(10), *records(1, timeout_s=1.0, **BOUND)]
    assert verdict(claim(), shorter).outcome is Outcome.CONFIRMED


@pytest.mark.parametrize("worse", [1e3, math.inf])
def test_of_numbers_means_and_medians_have_intervals_over_cases(worse: float) -> None:
    def of(values: list[float]) -> list[Record]:
        return [
            one.model_copy(update={"metrics": {"nmse": value}, "judged_by": ("nmse",)})
            for one, value in zip(records(), values, strict=True)
        ]

    low = of([0.01 * number for number in range(1, 21)])
    about = claim(metric="nmse", value=0.1, median=True)
    assert verdict(about, low).outcome is Outcome.CONFIRMED
    assert verdict(about.model_copy(update={"value": 0.5}), low).outcome is Outcome.CONTRADICTED
    assert verdict(about.model_copy(update={"value": 0.5, "relation": "reaches"}), low).reason
    high = of([min(worse, 1e300)] * 20)
    assert verdict(about, high).reason.startswith("not reached")
    reached = about.model_copy(update={"value": 0.5, "relation": "reaches"})
    assert verdict(reached, low).outcome is Outcome.CONFIRMED


@given(st.floats(0.01, 1e6), st.floats(0.01, 1e6))
def test_budgets_are_compared_by_their_ratio(own: float, there: float) -> None:
    ones = records(timeout_s=own, status="partial", used=own)[:1]
    found = budget_of(claim(limit_s=there), ones)
    if own > ALIKE * there:
        assert found is Budget.MORE
    elif own < there / ALIKE:
        assert found is Budget.LESS
    else:
        assert found is Budget.ALIKE


def test_what_a_job_used_is_in_the_unit_of_its_limit() -> None:
    """Reference seconds of work, on a slow machine few, say nothing of a limit by the clock."""
    ones = records(20, timeout_s=100.0, used=99.0, status="failed")
    slow = ones[0].measured.model_copy(update={"work_s": 20.0})
    ones = [one.model_copy(update={"measured": slow}) for one in ones]
    assert budget_of(claim(limit_s=1e4), ones) is Budget.LESS
    assert verdict(claim(limit_s=1e4), ones).outcome is Outcome.CANNOT_SAY
    by_work = [
        one.model_copy(update={"budget": one.budget.model_copy(update={"work_s": 100.0})})
        for one in ones
    ]
    assert budget_of(claim(limit_s=1e4), by_work) is Budget.ALIKE


def test_cores_count_in_the_papers_budget() -> None:
    ones = records(timeout_s=100.0, **BOUND)
    assert budget_of(claim(limit_s=100.0), ones) is Budget.ALIKE
    assert budget_of(claim(limit_s=100.0, cores=24), ones) is Budget.LESS


# Files of claims.

GOOD = """
title = "On equations"
authors = "Doe"
year = 2020
where = "a journal"

[[claim]]
method = "sindy"
data_type = "ode"
set = "odebench"
metric = "identified"
value = 0.5
cases = 63
place = "Table 2"
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "doe-2020.toml"
    path.write_text(text, encoding="utf-8")
    return path


def keys_of(model: type[Any]) -> list[str]:
    return [name for name, field in model.model_fields.items() if not field.exclude]


@pytest.mark.parametrize(
    ("model", "head"), [(Paper, ""), (Claim, "[[claim]]\n"), (Table, "[[table]]\n")]
)
def test_a_key_that_is_mistyped_is_named_with_the_one_that_was_meant(
    tmp_path: Path, model: type[Any], head: str
) -> None:
    for key in keys_of(model):
        wrong = key[0] + key[2:] if len(key) > 3 else key + "s"
        line = f"{wrong} = 1\n"
        text = GOOD.strip() + f"\n{head}{line}" if head else line + GOOD
        with pytest.raises(DataError) as error:
            read_paper(write(tmp_path, text))
        assert f"{wrong}' is not known" in str(error.value)
        assert re.search(rf"Did you mean [^?]*\b{key}\b", str(error.value)), (wrong, error.value)
        assert all(each in str(error.value) for each in keys_of(model))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("year = 2020", "", "'year' is missing"),
        ('place = "Table 2"', "", "'claim.0.place' is missing"),
        ('place = "Table 2"', 'place = ""', "at least 1 character"),
        ("value = 0.5", 'value = "half"', "'claim.0.value' is 'half'"),
        ("value = 0.5", "value = nan", "finite"),
        ("value = 0.5", "value = inf", "finite"),
        ("cases = 63", "cases = 0", "greater than 0"),
        ("cases = 63", 'protocol = "srbench"', "'strict' or 'published'"),
        ("cases = 63", 'choice = "mine"', "'benchmark' or 'own'"),
        ("cases = 63", "limit_s = -1", "greater than 0"),
        ("cases = 63", 'relation = "about"', "'equal' or 'reaches'"),
        ("[[claim]]", "[claim]", "claim"),
        ("[[claim]]", '[[table]]\nname = "srsb"\nplace = "x"\n[[claim]]', "srbench"),
        ("year = 2020", "year = ", "no readable TOML"),
    ],
)
def test_a_file_that_is_wrong_is_refused_with_what_is_allowed(
    tmp_path: Path, old: str, new: str, words: str
) -> None:
    assert old in GOOD
    with pytest.raises(DataError, match=re.escape(words)) as error:
        read_paper(write(tmp_path, GOOD.replace(old, new)))
    assert "doe-2020.toml" in str(error.value)


def test_a_paper_without_claims_says_why(tmp_path: Path) -> None:
    head = GOOD.partition("[[claim]]")[0]
    with pytest.raises(DataError, match="no claims"):
        read_paper(write(tmp_path, head))
    assert read_paper(write(tmp_path, head + 'unread = "a scan"\n')).unread == "a scan"
    with pytest.raises(DataError, match="No such file"):
        read_paper(tmp_path / "nothing.toml")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"identified"', '"identifed"', "Did you mean identified"),
        ('"odebench"', '"odebanch"', "Did you mean odebench"),
        ('"ode"', '"odes"', "Did you mean ode"),
        ("value = 0.5", "value = 50", "between 0 and 1"),
        ('"identified"', '"symbolic"', "A label has no value"),
        ("value = 0.5", "value = 0.5\nmedian = true", "median of shares"),
    ],
)
def test_a_name_that_the_benchmark_does_not_have_is_refused(
    tmp_path: Path, old: str, new: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, GOOD.replace(old, new))
    assert main(["claims", "--claims", str(path), "--paper", "doe-2020"]) == Exit.ERROR
    assert words in capsys.readouterr().err


# The papers of this benchmark.


def test_fifteen_papers_are_read_and_each_has_claims_or_the_reason() -> None:
    papers = read_papers()
    assert len(papers) == 15
    for paper in papers:
        assert bool(paper.claims()) != bool(paper.unread), paper.cite
        assert str(paper.year) in paper.cite
        for one in paper.claims():
            assert len(one.place) > 5


def test_each_published_number_is_in_one_place_and_a_claim_of_one_paper() -> None:
    tables = [table.name for paper in read_papers() for table in paper.table]
    assert sorted(set(tables)) == sorted([CASES, *papers_of_sets()])
    assert {name: tables.count(name) for name in papers_of_sets()} == dict.fromkeys(
        papers_of_sets(), 1
    )
    numbers = sum(
        len(values)
        for paper in papers_of_sets()
        for rows in read_published_sets(paper).values.values()
        for row in rows.values()
        for values in row.values()
    )
    claims = [one for paper in read_papers() for one in paper.claims()]
    columns = sum(
        len({name for row in systems.values() for name in row})
        for systems in read_published().marks.values()
    )
    written = sum(len(paper.claim) for paper in read_papers())
    assert len(claims) == numbers + columns + written
    subjects = [
        (paper.cite, one.model_dump(exclude={"value"}))
        for paper in read_papers()
        for one in paper.claims()
    ]
    assert len(set(map(str, subjects))) == len(subjects)


def test_the_shares_of_mdbench_are_counted_from_its_table() -> None:
    (paper,) = [one for one in read_papers() if one.cite == "mdbench-2026"]
    found = {(one.data_type, one.method): one for one in paper.claims()}
    sindy = found["ode", "sindy"]
    text = (ROOT / "mdbench" / "reports" / "published.toml").read_text("utf-8")
    rows = tomllib.loads(text)["ode"].values()
    assert sindy.value == sum(row["sindy"] == "identified" for row in rows) / 63 == 10 / 63
    assert sindy.core_seconds == 12 * 3600 * 24


RESULTS = str(ROOT / "docs" / "results" / "ode-published.jsonl.xz")


@pytest.mark.slow
def test_the_records_of_this_repository_are_held_against_the_paper_that_they_repeat(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    assert main(["claims", RESULTS, "--json"]) == Exit.DONE
    claims = json.loads(capsys.readouterr().out)["claims"]
    decided = {(one["paper"], one["method"]): one for one in claims if one["measured"]}
    assert decided["mdbench-2026", "sindy"]["outcome"] == "cannot say"  # our own code
    assert decided["mdbench-2026", "sindy"]["measured"]["value"] == pytest.approx(10 / 63)
    assert {one["outcome"] for one in claims} == {"cannot say"}

    out = tmp_path / "claims.tex"
    assert (
        main(["claims", RESULTS, "--paper", "mdbench-2026", "--all", "--latex", "--out", str(out)])
        == 0
    )
    text = out.read_text("utf-8")
    assert r"\cite{mdbench-2026} & sindy & ode & identified & 0.1587" in text
    assert text.count(r"\begin{longtable}") == text.count(r"\end{longtable}") == 1

    packages = str(ROOT / "docs" / "results" / "edition-1.jsonl.xz")
    assert main(["claims", packages, "--method", "operon"]) == Exit.DONE
    printed = capsys.readouterr().out
    assert "confirmed mdbench-2026: operon, identified, ode: 0.3333, here 0.333" in printed


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--paper", "mdbench"], "Did you mean mdbench-2026"),
        (["--method", "sindi"], "Did you mean sindy"),
        (["--latex", "--json"], "exclude each other"),
        (["nowhere"], "nowhere"),
    ],
)
def test_wrong_options_are_refused(
    words: list[str], error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["claims", *words]) == Exit.ERROR
    assert error in capsys.readouterr().err
